"""Pooling: each window of an image becomes one number for each channel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...._ground import core
from ...._ground.docstrings import described
from ...._ground.interrupt import deadline
from ...._ground.threads import thread_count
from ._base import Layer, Shape, check_rows, check_whole

WINDOWS = """
size : int
    Height and width of a window, at most 128.
stride : int or None
    The distance of neighbouring windows; None is their size, so that none overlap. Rows and columns
    at the end that fill no window are left out.
"""


@dataclass(frozen=True)
class Pooling(Layer):
    """What both kinds share: windows of a size, at a distance."""

    size: int = 2
    stride: int | None = None

    def __post_init__(self):
        check_whole(self, "size", *(() if self.stride is None else ("stride",)))

    @property
    def distance(self) -> int:
        """Of neighbouring windows."""
        return self.stride or self.size

    def shape_after(self, shape: Shape) -> Shape:
        """The shape of a row of windows."""
        check_rows(self, shape, 3)
        if min(shape[:2]) < self.size:
            raise ValueError(
                f"a window of {self.size} × {self.size} does not fit into an image of {shape[0]} × "
                f"{shape[1]}; use a smaller size or fewer layers."
            )
        height, width = ((side - self.size) // self.distance + 1 for side in shape[:2])
        return (height, width, shape[2])


@described(WINDOWS)
@dataclass(frozen=True)
class MaxPool2D(Pooling):
    """The largest number of each window; its derivative goes to the first place that has it."""

    def forward(self, x, parameters, mode):
        x = np.ascontiguousarray(x)
        y = np.empty((len(x), *self.shape_after(x.shape[1:])), x.dtype)
        place = np.empty(y.shape, np.int16)
        core.pool_largest(x, self.size, self.distance, y, place, thread_count(), deadline())
        return y, (place, x.shape)

    def backward(self, dy, kept, parameters):
        place, shape = kept
        dx, dy = np.empty(shape, dy.dtype), np.ascontiguousarray(dy)
        core.pool_largest_back(dy, place, self.size, self.distance, dx, thread_count(), deadline())
        return dx


@described(WINDOWS)
@dataclass(frozen=True)
class AveragePool2D(Pooling):
    """The mean of each window."""

    def forward(self, x, parameters, mode):
        x = np.ascontiguousarray(x)
        y = np.empty((len(x), *self.shape_after(x.shape[1:])), x.dtype)
        core.pool_mean(x, self.size, self.distance, y, thread_count(), deadline())
        return y, x.shape

    def backward(self, dy, shape, parameters):
        dx, dy = np.empty(shape, dy.dtype), np.ascontiguousarray(dy)
        core.pool_mean_back(dy, self.size, self.distance, dx, thread_count(), deadline())
        return dx
