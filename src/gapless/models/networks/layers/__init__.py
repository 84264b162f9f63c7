"""The layers of a network, each a small value with the textbook's `forward` and `backward`.

A layer is what the network is described by; its weights are arrays that the network keeps. The
contract is in `_base`; `dense`, `convolution` and `pooling` mix their inputs, `activations` bend
each number by itself, and `regularising` has what differs between learning and predicting.
"""

from typing import TYPE_CHECKING

from ...._ground.first_use import on_first_use

if TYPE_CHECKING:
    from ._base import Layer, Mode
    from .activations import Identity, ReLU, Sigmoid, Tanh
    from .convolution import Conv2D
    from .dense import Dense, Flatten
    from .pooling import AveragePool2D, MaxPool2D
    from .regularising import BatchNorm, Dropout

__getattr__, __dir__, __all__ = on_first_use(__name__)
