"""ONNX: a fitted model as a graph of standard operators, for programs without Python.

`entrance` has `to_onnx` and the list of what can be exported; `graph` builds graphs. The others
write what their models compute, from fitted attributes alone: `linear`, `trees`, `kernels`,
`neighbors`, and `steps` for what comes before them in a pipeline. Nothing here imports a model.
"""

from typing import TYPE_CHECKING

from ..._ground.first_use import on_first_use

if TYPE_CHECKING:
    from .entrance import to_onnx

__getattr__, __dir__, __all__ = on_first_use(__name__)
