"""Layers that work otherwise while they learn: dropout and batch normalisation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ._base import Layer

# A batch all of whose weight is on one row has no spread either.
ROUNDING = 1e-3


@dataclass(frozen=True)
class Dropout(Layer):
    """While learning, y = x·m with m = 0 for a random part of the numbers and 1/(1 − part) else.

    So the mean of y is x, and predictions need no correction (Srivastava, Hinton, Krizhevsky,
    Sutskever and Salakhutdinov 2014).

    Parameters
    ----------
    part : float, default=0.5
        The part that is dropped, at least 0 and less than 1.
    """

    part: float = 0.5
    is_random: ClassVar[bool] = True

    def __post_init__(self):
        if not 0 <= self.part < 1:
            raise ValueError(f"part must be at least 0 and less than 1, got {self.part!r}.")

    def forward(self, x, parameters, mode):
        if not mode.is_learning or not self.part:
            return x, None
        if mode.random is None:
            raise ValueError("Dropout needs Mode(random=…) to learn: a Generator of NumPy.")
        kept = mode.random.random(x.shape, dtype=np.float32) >= self.part
        mask = kept * x.dtype.type(1 / (1 - self.part))
        return x * mask, mask

    def backward(self, dy, mask, parameters):
        return dy if mask is None else dy * mask


@dataclass(frozen=True)
class BatchNorm(Layer):
    """y = γ·(x − μ)/√(σ² + ε) + β, for each feature, or each channel of images.

    While learning, μ and σ² are the mean and the variance in the batch; to predict, running means
    of both (Ioffe and Szegedy 2015). With x̂ = (x − μ)/√(σ² + ε) of n numbers in the batch,
    dx = γ/√(σ² + ε)·(dy − mean(dy) − x̂·mean(dy·x̂)).

    Parameters
    ----------
    momentum : float, default=0.1
        The weight of the newest batch in the running means, more than 0 and at most 1.
    epsilon : float, default=1e-5
        ε > 0, which keeps constant features finite.
    """

    momentum: float = 0.1
    epsilon: float = 1e-5
    joins_rows: ClassVar[bool] = True

    def __post_init__(self):
        if not 0 < self.momentum <= 1:
            raise ValueError(f"momentum must be more than 0 and at most 1, got {self.momentum!r}.")
        if not self.epsilon > 0:
            raise ValueError(f"epsilon must be more than 0, got {self.epsilon!r}.")

    def initial(self, shape, random):
        return [np.ones(shape[-1:]), np.zeros(shape[-1:])]

    def running(self, shape):
        return [np.zeros(shape[-1:]), np.ones(shape[-1:])]

    def forward(self, x, parameters, mode):
        gamma, beta, mean, variance = parameters
        share = None
        if mode.is_learning:
            check_spread(x.shape)
            share = _shares(x, mode.weights)
            batch_mean = _sum(share * x)
            batch_variance = _sum(share * (x - batch_mean) ** 2)
            # The running variance is of a population, that of the batch lacks a degree of freedom.
            count = 1 / float(_sum(share * share).max())
            mean += self.momentum * (batch_mean - mean)
            if count > 1 + ROUNDING:
                variance += self.momentum * (batch_variance * (count / (count - 1)) - variance)
            mean, variance = batch_mean, batch_variance
        scale = 1 / np.sqrt(variance + x.dtype.type(self.epsilon))
        centred = (x - mean) * scale
        return gamma * centred + beta, (centred, scale, share)

    def backward(self, dy, kept, parameters):
        centred, scale, share = kept
        gamma = parameters[0]
        if share is None:
            return dy * (gamma * scale)
        # dy of a row includes its weight, and the means of the batch do, too.
        return gamma * scale * (dy - share * _sum(dy) - share * centred * _sum(dy * centred))

    def gradient(self, dy, kept, parameters):
        return [_sum(dy * kept[0]), _sum(dy)]


def check_spread(shape):
    """Refuse a batch of one number per feature, which has no variance."""
    if math.prod(shape[:-1]) == 1:
        raise ValueError(
            "BatchNorm learns from the spread of a batch, and a batch of a single row has none; "
            "raise batch_size, or add rows."
        )


def _sum(values):
    """Sums over all axes but the last."""
    return values.reshape(-1, values.shape[-1]).sum(axis=0)


def _shares(x, weights):
    """What each number of x counts in the mean of its column; all together 1."""
    weights = np.ones(len(x)) if weights is None else weights
    of_rows = weights / (weights.sum() * np.prod(x.shape[1:-1]))
    shares = of_rows.astype(x.dtype).reshape(-1, *([1] * (x.ndim - 1)))
    return np.broadcast_to(shares, (*x.shape[:-1], 1))
