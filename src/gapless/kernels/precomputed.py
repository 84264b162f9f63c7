"""A kernel whose values are given."""

from dataclasses import dataclass

import numpy as np

from ._base import Kernel
from ._rows import Rows


@dataclass(frozen=True)
class Precomputed(Kernel):
    """k(x, z) read from a matrix: X holds the values of its rows with all rows of the training set.

    So X is square when a model is fitted, and has one column per training row when it predicts. Z,
    if given, holds positions of training rows, as in `support_`.
    """

    is_mercer = False

    def gram(self, X, Z=None):
        X = np.asarray(X)
        return X.copy() if Z is None else X[:, np.asarray(Z)]

    def diagonal(self, X):
        X = np.asarray(X)
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"a precomputed kernel matrix must be square, got shape {X.shape}; "
                "compute it between the training rows and themselves."
            )
        return np.diagonal(X).astype(np.float64)

    def pick(self, X, positions):
        X = np.asarray(X)
        return X[positions] if X.ndim == 1 else np.arange(len(X))[positions]

    def rows(self, X, dtype=None):
        X = np.asarray(X)
        if X.ndim == 1:  # positions of training rows
            return _Positions(self, X, dtype)
        return _GivenRows(self, X, dtype)


class _Positions(Rows):
    """Training rows by their positions, which are columns of a matrix."""

    def of(self, X):
        return _GivenRows(self.kernel, np.asarray(X), self.dtype)

    def only(self, index):
        return _Positions(self.kernel, self.X[index], self.dtype)


class _GivenRows(Rows):
    """Rows of a matrix of values, and which of its columns belong to them."""

    def __init__(self, kernel, X, dtype=None, positions=None):
        super().__init__(kernel, X, dtype)
        self.positions = positions

    def of(self, X):
        return _GivenRows(self.kernel, np.asarray(X), self.dtype)

    def only(self, index):
        at = np.arange(len(self.X))[index]
        positions = at if self.positions is None else self.positions[at]
        return _GivenRows(self.kernel, self.X[at], self.dtype, positions)

    def diagonal(self):
        if self.positions is None:
            return super().diagonal()
        return self.X[np.arange(len(self)), self.positions].astype(np.float64)

    def gram(self, other=None):
        other = self if other is None else other
        columns = other.X if isinstance(other, _Positions) else other.positions
        values = self.X if columns is None else self.X[:, columns]
        return np.array(values, dtype=self.dtype, order="C")
