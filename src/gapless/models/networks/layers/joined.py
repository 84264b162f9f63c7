"""Neighbouring layers as one: the same numbers in fewer passes over memory.

`joined` replaces layers of a network by these. They have the parameters of the first layer that
they stand for, in the same order, and are no part of a description.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...._ground import core
from ...._ground.interrupt import deadline
from ...._ground.threads import thread_count
from ._base import Array, Layer, Shape
from .activations import ReLU
from .convolution import Conv2D
from .dense import Dense
from .pooling import MaxPool2D


def joined(layers: Sequence[Layer]) -> tuple[Layer, ...]:
    """The layers, with those that are faster together as one."""
    made: list[Layer] = []
    left = list(layers)
    while left:
        match left:
            case [Conv2D() as first, ReLU(), MaxPool2D(size=2, stride=2 | None), *left]:
                made.append(ConvReLUPool(first))
            case [Dense() as first, ReLU(), *left]:
                made.append(DenseReLU(first))
            case [first, *left]:
                made.append(first)
    return tuple(made)


@dataclass(frozen=True)
class Joined(Layer):
    """Layers of which the first has parameters. All derivatives are computed at once."""

    first: Any
    penalised: ClassVar[int] = 1

    def initial(self, shape, random):
        return self.first.initial(shape, random)

    @abstractmethod
    def derivatives(self, dy, kept, parameters, out, needs_dx):
        """dx if it is needed; the gradient is written into `out`."""

    def backward(self, dy, kept, parameters):
        out = [np.empty_like(array) for array in parameters]
        return self.derivatives(dy, kept, parameters, out, True)

    def gradient(self, dy, kept, parameters):
        out = [np.empty_like(array) for array in parameters]
        self.derivatives(dy, kept, parameters, out, False)
        return out


@dataclass(frozen=True)
class DenseReLU(Joined):
    """max(0, xW + b)."""

    def shape_after(self, shape: Shape) -> Shape:
        return self.first.shape_after(shape)

    def forward(self, x, parameters, mode):
        y, kept = self.first.bent(x, parameters, True)
        return y, (kept, y)

    def derivatives(self, dy, kept, parameters, out, needs_dx):
        of_dense, y = kept
        dz = np.empty_like(y)
        core.bend_back(np.ascontiguousarray(dy), y, dz, out[1])
        self.first.weights_gradient(dz, of_dense, out[0])
        return self.first.backward(dz, of_dense, parameters) if needs_dx else None


@dataclass(frozen=True)
class ConvReLUPool(Joined):
    """The largest of 2 × 2 pixels of max(0, convolution), of which only these are stored."""

    def shape_after(self, shape: Shape) -> Shape:
        return MaxPool2D().shape_after(self.first.shape_after(shape))

    def forward(self, x, parameters, mode):
        x = np.ascontiguousarray(x)
        y = np.empty((len(x), *self.shape_after(x.shape[1:])), x.dtype)
        place = np.empty(y.shape, np.uint8)
        steps = self.first.stride, self.first.margin
        core.convolve_and_pool(x, *parameters, *steps, y, place, thread_count(), deadline())
        return y, (x, place)

    def derivatives(self, dy, kept, parameters, out, needs_dx) -> Array | None:
        x, place = kept
        dx = np.empty_like(x) if needs_dx else None
        dy, steps = np.ascontiguousarray(dy), (self.first.stride, self.first.margin)
        core.convolve_and_pool_back(
            x, parameters[0], dy, place, *steps, dx, *out, thread_count(), deadline()
        )
        return dx
