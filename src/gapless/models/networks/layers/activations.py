"""Activations: a function of each number by itself, without parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._base import Layer


@dataclass(frozen=True)
class Identity(Layer):
    """y = x: a linear network."""

    def forward(self, x, parameters, mode):
        return x, None

    def backward(self, dy, kept, parameters):
        return dy


@dataclass(frozen=True)
class ReLU(Layer):
    """y = max(0, x), with slope 1 above 0 and 0 elsewhere."""

    def forward(self, x, parameters, mode):
        y = np.maximum(x, 0)
        return y, y

    def backward(self, dy, y, parameters):
        return dy * (y > 0)


@dataclass(frozen=True)
class Tanh(Layer):
    """y = tanh x, with slope 1 − y²."""

    def forward(self, x, parameters, mode):
        y = np.tanh(x)
        return y, y

    def backward(self, dy, y, parameters):
        return dy * (1 - y * y)


@dataclass(frozen=True)
class Sigmoid(Layer):
    """y = 1/(1 + exp(−x)), with slope y(1 − y)."""

    def forward(self, x, parameters, mode):
        y = 0.5 * (1 + np.tanh(0.5 * x))  # nothing overflows
        return y, y

    def backward(self, dy, y, parameters):
        return dy * y * (1 - y)
