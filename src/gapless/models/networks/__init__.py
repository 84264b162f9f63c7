"""Networks: layers with forward and backward, trained by the update rules of `solvers`.

`layers` are the parts, `composition` puts them in sequence, `engines` computes a batch (in pieces
that threads share, or by `torch_engine`), `objective` is what is minimised and certified,
`training` descends, `history` records it and `predictions` reads the outputs. `network` is a
composition of one's own, with `inputs` for what it is given and `course` for how it was trained;
`mlp` and `cnn` are the estimators, with `_base`, `parameters` and `classifier` for what they share;
`refits` is how all are judged on unseen rows.
"""

from typing import TYPE_CHECKING

from ..._ground.first_use import on_first_use

if TYPE_CHECKING:
    from . import layers
    from .augmentation import Augmentation
    from .cnn import CNNClassifier
    from .history import History
    from .mlp import MLPClassifier, MLPRegressor
    from .network import Network

__getattr__, __dir__, __all__ = on_first_use(__name__)
