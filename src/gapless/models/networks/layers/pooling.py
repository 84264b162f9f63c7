"""Pooling: each window of an image becomes one number for each channel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...._ground import core
from ...._ground.interrupt import deadline
from ...._ground.threads import thread_count
from ._base import Layer, Shape, check_rows, check_whole


@dataclass(frozen=True)
class MaxPool2D(Layer):
    """The largest number of each window; its derivative goes to the first place that has it.

    Parameters
    ----------
    size : int, default=2
        Height and width of a window, at most 128.
    stride : int, optional
        The distance of neighbouring windows; by default their size, so that none overlap. Rows and
        columns at the end that fill no window are left out.
    """

    size: int = 2
    stride: int | None = None

    def __post_init__(self):
        _check(self)

    def shape_after(self, shape):
        return _pooled(self, shape)

    def forward(self, x, parameters, mode):
        x = np.ascontiguousarray(x)
        y = np.empty((len(x), *self.shape_after(x.shape[1:])), x.dtype)
        place = np.empty(y.shape, np.int16)
        stride = self.stride or self.size
        core.pool_largest(x, self.size, stride, y, place, thread_count(), deadline())
        return y, (place, x.shape)

    def backward(self, dy, kept, parameters):
        place, shape = kept
        dx, dy = np.empty(shape, dy.dtype), np.ascontiguousarray(dy)
        stride = self.stride or self.size
        core.pool_largest_back(dy, place, self.size, stride, dx, thread_count(), deadline())
        return dx


@dataclass(frozen=True)
class AveragePool2D(Layer):
    """The mean of each window.

    Parameters
    ----------
    size : int, default=2
        Height and width of a window, at most 128.
    stride : int, optional
        The distance of neighbouring windows; by default their size, so that none overlap. Rows and
        columns at the end that fill no window are left out.
    """

    size: int = 2
    stride: int | None = None

    def __post_init__(self):
        _check(self)

    def shape_after(self, shape):
        return _pooled(self, shape)

    def forward(self, x, parameters, mode):
        x = np.ascontiguousarray(x)
        y = np.empty((len(x), *self.shape_after(x.shape[1:])), x.dtype)
        core.pool_mean(x, self.size, self.stride or self.size, y, thread_count(), deadline())
        return y, x.shape

    def backward(self, dy, shape, parameters):
        dx, dy = np.empty(shape, dy.dtype), np.ascontiguousarray(dy)
        core.pool_mean_back(dy, self.size, self.stride or self.size, dx, thread_count(), deadline())
        return dx


def _check(layer: MaxPool2D | AveragePool2D) -> None:
    check_whole(layer, "size", *(() if layer.stride is None else ("stride",)))


def _pooled(layer: MaxPool2D | AveragePool2D, shape: Shape) -> Shape:
    check_rows(layer, shape, 3)
    size, stride = layer.size, layer.stride or layer.size
    if min(shape[:2]) < size:
        raise ValueError(
            f"a window of {size} × {size} does not fit into an image of {shape[0]} × {shape[1]}; "
            "use a smaller size or fewer layers."
        )
    height, width = ((side - size) // stride + 1 for side in shape[:2])
    return (height, width, shape[2])
