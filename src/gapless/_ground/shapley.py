"""The game of an explanation, and what a model that solves it exactly says: its columns play.

A model whose Shapley values have a closed form has a method

    _contributions(X, game) -> Contributions | None

None if they have none for these rows. `gapless.evaluation.explain` calls it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

Array = np.ndarray

# The scales on which contributions add up.
PREDICTION, LOGARITHM = "prediction", "logarithm of the prediction"
PROBABILITY, LOG_ODDS, SCORE = "probability", "log-odds", "score"


@dataclass(frozen=True, eq=False)
class Game:
    """The rows that predictions are compared with, and which columns change together.

    Parameters
    ----------
    background : array-like of shape (m, d)
        Rows in the form in which the model takes them.
    shares : ndarray of shape (m,)
        Their shares; they sum to 1.
    players : ndarray of int32, shape (d,)
        Whose column each column is.
    player_count : int
        The number of players.
    """

    background: Any
    shares: Array
    players: Array
    player_count: int

    def on(self, background: Any) -> Game:
        """The same with the rows in another form."""
        return replace(self, background=background)

    def dense(self, background: Any) -> Game:
        """The same with rows of numbers, by columns, as the core takes them."""
        whole = background.toarray() if sp.issparse(background) else background
        return self.on(np.asfortranarray(whole, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class Contributions:
    """Shapley values of rows.

    Parameters
    ----------
    values : ndarray of shape (n, players, K)
        What each player contributes to each of K numbers that the model gives a row.
    base : ndarray of shape (K,)
        What the model gives the background rows on average.
    scale : str
        What these numbers are.
    """

    values: Array
    base: Array
    scale: str

    def at(self, places: Array) -> Contributions:
        """Those to some of the numbers."""
        return replace(self, values=self.values[:, :, places], base=self.base[places])

    def among(self, places: Array, count: int) -> Contributions:
        """The same at some places of `count` numbers, the others of which are 0."""
        values = np.zeros((*self.values.shape[:2], count))
        values[:, :, places] = self.values
        base = np.zeros(count)
        base[places] = self.base
        return replace(self, values=values, base=base)

    def plus(self, other: Contributions) -> Contributions:
        """Those to the sum of two answers."""
        return replace(self, values=self.values + other.values, base=self.base + other.base)

    def over(self, count: float) -> Contributions:
        """The mean of a sum over `count` members."""
        return replace(self, values=self.values / count, base=self.base / count)
