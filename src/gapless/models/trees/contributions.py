"""What each column contributes to predictions by trees, exactly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._ground.distinct_rows import DistinctRows
from ..._ground.shapley import Contributions, Game
from .packed import PackedTrees

Array = np.ndarray


def contributions_of(
    packed: PackedTrees, read: Callable[[Any], Any], X: Any, game: Game, scale: str
) -> Contributions:
    """Shapley values of the columns in the sums of all trees.

    Parameters
    ----------
    packed : PackedTrees
        The trees.
    read : callable
        Turns the caller's rows into those that trees take: categories as level numbers, NaN for
        missing values.
    X : array-like of shape (n, d)
        The caller's rows.
    game : Game
        The rows to compare with, in the same form.
    scale : str
        What the sums are.

    Returns
    -------
    Contributions
    """
    F, G = read(X), read(game.background)
    distinct = DistinctRows.of(G if sp.issparse(G) else np.asarray(G), game.shares)
    G = G[distinct.first]
    own = Game(G, distinct.weights, game.players, game.player_count).dense(G)
    return Contributions(packed.shapley(F, own), own.shares @ packed.sum(own.background), scale)
