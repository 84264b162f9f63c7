"""Convolution of images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ...._ground import core
from ...._ground.interrupt import deadline
from ...._ground.threads import thread_count
from ._base import Layer, check_rows, check_whole, glorot


@dataclass(frozen=True)
class Conv2D(Layer):
    """y[i, j, k] = b[k] + Σ x[i·s + p, j·s + q, c]·W[p, q, c, k] over windows (p, q), channels c.

    The same weights at every place of the image. x is padded with zeros around.

    Parameters
    ----------
    filters : int
        The number of channels of y, at least 1.
    size : int, default=3
        Height and width of the window, at most 128.
    stride : int, default=1
        s, the distance of neighbouring windows.
    padding : {"same", "valid"}, default="same"
        "valid" takes only windows inside the image. "same" pads it such that with stride 1 y is as
        large as x, which needs an odd size.
    spread : float, default=6.0
        The first weights and biases are uniform between ±√(spread/(fan in + fan out)).
    """

    filters: int
    size: int = 3
    stride: int = 1
    padding: Literal["same", "valid"] = "same"
    spread: float = 6.0
    penalised: ClassVar[int] = 1

    def __post_init__(self):
        check_whole(self, "filters", "size", "stride")
        if self.padding not in ("same", "valid"):
            raise ValueError(f'padding must be "same" or "valid", got {self.padding!r}.')
        if self.padding == "same" and self.size % 2 == 0:
            raise ValueError(
                f'padding="same" needs an odd size, got size={self.size}; use "valid".'
            )

    @property
    def margin(self) -> int:
        """How many zeros are put on each side."""
        return self.size // 2 if self.padding == "same" else 0

    def shape_after(self, shape):
        check_rows(self, shape, 3)
        if min(shape[:2]) + 2 * self.margin < self.size:
            raise ValueError(
                f"a window of {self.size} × {self.size} does not fit into an image of "
                f"{shape[0]} × {shape[1]}; use a smaller size, fewer layers, or padding='same'."
            )
        sides = ((side + 2 * self.margin - self.size) // self.stride + 1 for side in shape[:2])
        return (*sides, self.filters)

    def initial(self, shape, random):
        area = self.size * self.size
        window = (self.size, self.size, shape[2], self.filters)
        fan = area * shape[2], area * self.filters
        return [glorot(random, size, *fan, self.spread) for size in (window, (self.filters,))]

    def forward(self, x, parameters, mode):
        W, b = parameters
        x = np.ascontiguousarray(x)
        y = np.empty((len(x), *self.shape_after(x.shape[1:])), x.dtype)
        _call(
            core.convolve,
            x,
            np.ascontiguousarray(W),
            np.ascontiguousarray(b),
            self.stride,
            self.margin,
            y,
        )
        return y, x

    def backward(self, dy, x, parameters):
        dx = np.empty_like(x)
        dy, W = np.ascontiguousarray(dy), np.ascontiguousarray(parameters[0])
        _call(core.convolve_back, dy, W, self.stride, self.margin, dx)
        return dx

    def gradient(self, dy, x, parameters):
        W, b = parameters
        dW, db = np.empty(W.shape, W.dtype), np.empty(b.shape, b.dtype)
        dy = np.ascontiguousarray(dy)
        _call(core.convolve_weights, x, dy, self.stride, self.margin, dW, db)
        return [dW, db]


def _call(function, *arguments) -> None:
    function(*arguments, thread_count(), deadline())
