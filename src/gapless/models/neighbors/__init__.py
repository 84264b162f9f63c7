"""Nearest neighbours: exact search, and votes or means of the neighbours found.

`distances` interprets the metric and reads tables; `searches` finds rows (in the compiled core, or
by scikit-learn for distances that the core lacks); `votes` turns neighbours into predictions;
`held_out` leaves rows out and chooses the number of neighbours.
"""

from typing import TYPE_CHECKING

from ..._ground.first_use import on_first_use

if TYPE_CHECKING:
    from .classification import KNeighborsClassifier
    from .regression import KNeighborsRegressor
    from .unsupervised import NearestNeighbors

__getattr__, __dir__, __all__ = on_first_use(__name__)
