"""A kernel that is a user's function."""

import copy
from collections.abc import Callable as Function
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .._ground.interrupt import check
from ._base import Kernel
from ._rows import count_rows, take_rows

# Compute all pairs of this many rows at once to get the pairs of each with itself: fewer calls for
# more values.
FEW = 32


@dataclass(frozen=True)
class Callable(Kernel):
    """k(x, z) = function(X, Z) for whole matrices at once, or function(x, z) for two rows.

    Parameters
    ----------
    function : callable
        Called as function(X, Z), it returns an array with a row per row of X and a column per row
        of Z.
    of_pairs : bool, default=False
        Whether the function takes two rows and returns a number, which is slow: it is called for
        every pair.
    options : dict, default=None
        Keyword arguments of every call.
    """

    function: Function
    of_pairs: bool = False
    options: dict | None = None
    is_mercer = False

    def __post_init__(self):
        if not callable(self.function):
            raise TypeError(f"function must be callable, got {self.function!r}.")

    def __repr__(self):
        return f"Callable({getattr(self.function, '__name__', repr(self.function))})"

    def __hash__(self):
        return hash((self.function, self.of_pairs))

    def gram(self, X, Z=None):
        if not self.of_pairs:
            values = self.function(X, X if Z is None else Z, **(self.options or {}))
            return values.toarray() if sp.issparse(values) else np.asarray(values)
        if Z is None:
            return self._among(X)
        values = np.empty((count_rows(X), count_rows(Z)))
        for i in range(len(values)):
            check()
            values[i] = [self._value(X, i, Z, j) for j in range(values.shape[1])]
        return values

    def narrowed(self, factor):
        """A kernel of scikit-learn with other length scales."""
        values = self.function.get_params() if hasattr(self.function, "get_params") else {}
        scales = {k: v / factor**0.5 for k, v in values.items() if k.endswith("length_scale")}
        return (
            self.replace(function=copy.deepcopy(self.function).set_params(**scales))
            if scales
            else None
        )

    def _among(self, X):
        """All pairs of rows of X, each computed once."""
        n = count_rows(X)
        values = np.empty((n, n))
        for i in range(n):
            check()
            values[i, i:] = [self._value(X, i, X, j) for j in range(i, n)]
            values[i:, i] = values[i, i:]
        return values

    def diagonal(self, X):
        if self.of_pairs:
            return np.array([self._value(X, i, X, i) for i in range(count_rows(X))], dtype=float)
        out = np.empty(count_rows(X))
        for begin in range(0, len(out), FEW):
            chunk = slice(begin, min(begin + FEW, len(out)))
            out[chunk] = np.diagonal(self.gram(take_rows(X, chunk)))
        return out

    def _value(self, X, i, Z, j):
        x, z = (_row(X, i), _row(Z, j))
        return self.function(x, z, **(self.options or {}))


def _row(X, i):
    return X[[i]].toarray()[0] if sp.issparse(X) else X[i]
