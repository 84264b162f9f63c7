"""Dense layers, and what makes flat rows of images."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from ...._ground import core
from ._base import Layer, check_rows, check_whole, glorot
from .entries import Entries, entries_of


@dataclass(frozen=True)
class Dense(Layer):
    """y = xW + b: each output is a linear function of all inputs.

    Of a batch, dx = dy Wᵀ, dW = xᵀ dy, and db is the sum of the rows of dy.

    Parameters
    ----------
    units : int
        The number of outputs, at least 1.
    spread : float, default=6.0
        The first weights and biases are uniform between ±√(spread/(inputs + units)).
    """

    units: int
    spread: float = 6.0
    penalised: ClassVar[int] = 1

    def __post_init__(self):
        check_whole(self, "units")

    def shape_after(self, shape):
        check_rows(self, shape, 1)
        return (self.units,)

    def initial(self, shape, random):
        d, k = shape[0], self.units
        return [glorot(random, size, d, k, self.spread) for size in ((d, k), (k,))]

    def forward(self, x, parameters, mode):
        return self.bent(x, parameters, False)

    def backward(self, dy, kept, parameters):
        W, _ = parameters
        return dy @ W.T

    def gradient(self, dy, kept, parameters):
        dW = np.empty(parameters[0].shape, dy.dtype)
        self.weights_gradient(dy, kept, dW)
        return [dW, dy.sum(axis=0)]

    def bent(self, x, parameters, is_bent):
        """y, or max(0, y) if it is bent; and x or its entries, for `weights_gradient`."""
        W, b = parameters
        kept = None if sp.issparse(x) else entries_of(np.ascontiguousarray(x), self.units)
        y = x @ W if kept is None else kept.times(W)
        core.add_bias(y, b, is_bent)
        return y, x if kept is None else kept

    def weights_gradient(self, dy, kept, out):
        """Write dW into an array."""
        if isinstance(kept, Entries):
            kept.transposed_times(dy, out)
        elif sp.issparse(kept):
            out[...] = kept.T @ dy
        else:
            np.matmul(kept.T, dy, out=out)


@dataclass(frozen=True)
class Flatten(Layer):
    """The numbers of an image as one row."""

    def shape_after(self, shape):
        return (math.prod(shape),)

    def forward(self, x, parameters, mode):
        return x.reshape(len(x), -1), x.shape

    def backward(self, dy, shape, parameters):
        return dy.reshape(shape)
