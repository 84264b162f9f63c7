"""Model files: arrays and names, never code.

A file is a safetensors file whose metadata hold one JSON manifest. `saving` has the public
functions. `writing` and `reading` turn values into manifest and arrays and back; `names` and
`scikit_learn` list the only classes that a file can name, `fields` what values are made of;
`checks` and `tree_checks` refuse what could lead predictions astray, and `limits` what could take
for ever; `container` is the file itself; `describing` summarises its contents. `onnx` writes
graphs for other programs.
"""

from typing import TYPE_CHECKING

from .._ground.first_use import on_first_use

if TYPE_CHECKING:
    from .container import ModelFileError
    from .describing import Description, TrainingRows, describe
    from .names import MODELS
    from .onnx import to_onnx
    from .saving import load, save

__getattr__, __dir__, __all__ = on_first_use(__name__)
