"""White noise: every row has its own."""

from dataclasses import dataclass

import numpy as np

from .._ground.parameters import check_nonnegative
from ._base import Kernel
from ._rows import count_rows


@dataclass(frozen=True)
class White(Kernel):
    """k(x, z) = value ≥ 0 if x and z are the same row of the same X, else 0.

    Added to another kernel it is the variance of the noise in a Gaussian process. Rows of X and of
    another Z are never the same, even if they are equal.
    """

    is_limited = True
    value: float = 1.0
    positive_parameters = ("value",)

    def __post_init__(self):
        check_nonnegative("value", self.value)

    @property
    def noise(self):
        return float(self.value)

    def gram(self, X, Z=None):
        dtype = np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64
        if Z is not None:
            return np.zeros((count_rows(X), count_rows(Z)), dtype)
        return np.diag(np.full(count_rows(X), self.value, dtype))

    def diagonal(self, X):
        return np.full(count_rows(X), float(self.value))

    def gram_gradients(self, X):
        return [self.gram(X)]
