"""Losses ℓ(y, z): the cost of a prediction. Each file is one frozen dataclass of vectorised NumPy.

Called by `problem` and by all parts that need a loss (boosting, evaluation). Imports NumPy and
`_ground`. To add one, see docs/add_a_loss.md; the contract is in `_base.Loss`.
"""

from ._base import DualBox, Loss, by_name
from ._classes import nearest_slopes, smoothed
from .absolute import Absolute
from .crammer_singer import CrammerSinger
from .epsilon_insensitive import EpsilonInsensitive
from .exponential import Exponential
from .gamma import Gamma
from .hinge import Hinge
from .huber import Huber
from .logistic import Logistic
from .modified_huber import ModifiedHuber
from .perceptron import Perceptron
from .poisson import Poisson
from .quantile import Quantile
from .softmax import Softmax
from .squared import Squared
from .squared_epsilon_insensitive import SquaredEpsilonInsensitive
from .squared_hinge import SquaredHinge
from .tweedie import Tweedie
from .weston_watkins import WestonWatkins
from .zero_one import ZeroOne

__all__ = [
    "Absolute",
    "CrammerSinger",
    "DualBox",
    "EpsilonInsensitive",
    "Exponential",
    "Gamma",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "ModifiedHuber",
    "Perceptron",
    "Poisson",
    "Quantile",
    "Softmax",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "Tweedie",
    "WestonWatkins",
    "ZeroOne",
    "by_name",
    "nearest_slopes",
    "smoothed",
]
