"""Group lasso: coefficients that vanish together; with several outputs, the multi-task lasso."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._ground.parameters import check_nonnegative, check_weights
from ._base import EPS, Array, Blocks, Penalty
from .l1 import L1


@dataclass(frozen=True, eq=False)
class Group(Penalty):
    """The sum of Euclidean norms of groups of coefficients (Yuan and Lin 2006).

    R(w) = λ Σ_g ω_g‖w_g‖₂;   R*(v) = 0 where ‖v_g‖₂ ≤ λω_g for all g, else ∞.
    `groups` holds a label per feature; with None, each feature (its row of w) is a group. `weights`
    are the ω_g in the order of the sorted labels, None for 1; a group of weight 0 is free.
    """

    strength: float = 1.0
    groups: Array | None = None
    weights: Array | None = None

    def __post_init__(self):
        check_nonnegative("strength", self.strength)
        check_weights("weights", self.weights)
        if np.ndim(self.groups) != (0 if self.groups is None else 1):
            raise ValueError(
                f"groups must be a vector of labels, one for each feature, got {self.groups!r}."
            )

    def value(self, w):
        blocks = self.blocks(len(w))
        return float(blocks.strength @ _norms(w, blocks))

    def prox(self, w, step):
        blocks = self.blocks(len(w))
        return w * np.maximum(1 - step * _over_norms(w, blocks), 0)

    def subdifferential_distance(self, w, g):
        blocks = self.blocks(len(w))
        # ∂R is one point, except at a group of zeros, where it is a ball; count the part of −g
        # outside.
        point = g + w * _over_norms(w, blocks)
        ball = g * np.maximum(1 - _over_norms(g, blocks), 0)
        return np.abs(np.where(_spread(_norms(w, blocks) > 0, blocks, w), point, ball))

    def conjugate(self, v):
        blocks = self.blocks(len(v))
        outside = (_norms(v, blocks) > blocks.strength) & (blocks.strength > 0)
        return np.inf if outside.any() else 0.0

    def feasible_scales(self, v):
        blocks = self.blocks(len(v))
        norms = _norms(v, blocks)
        outside = (norms > blocks.strength) & (blocks.strength > 0)
        if not outside.any():
            return (1.0,)
        # Smaller than the quotient by the rounding of a norm, so that ‖c·v_g‖ ≤ λω_g as computed.
        rounding = (np.bincount(blocks.index).max() * v[0].size + 8) * EPS
        return (float((1 - rounding) * np.min(blocks.strength[outside] / norms[outside])),)

    def blocks(self, d):
        labels, index = self._labels if self.groups is not None else (range(d), np.arange(d))
        if len(index) != d:
            raise ValueError(f"groups has {len(index)} labels, but there are {d} features.")
        weights = np.ones(len(labels)) if self.weights is None else np.asarray(self.weights, float)
        if len(weights) != len(labels):
            raise ValueError(f"weights has {len(weights)} entries for {len(labels)} groups.")
        return Blocks(index, self.strength * weights)

    def simplest(self, d, outputs):
        blocks = self.blocks(d)
        if outputs is not None or len(blocks.strength) < d:
            return self
        return L1(1.0, blocks.strength[blocks.index])

    def free(self, d):
        blocks = self.blocks(d)
        return (blocks.strength == 0)[blocks.index]

    def active(self, w):
        blocks = self.blocks(len(w))
        is_smooth = (_norms(w, blocks) > 0) | (blocks.strength == 0)
        return np.array(np.broadcast_to(_spread(is_smooth, blocks, w), w.shape))

    def gradient(self, w):
        return w * _over_norms(w, self.blocks(len(w)))

    def hessian_times(self, w, v):
        # ∇²‖w‖ = (I − uuᵀ)/‖w‖ with u = w/‖w‖, block by block.
        blocks = self.blocks(len(w))
        norms = _spread(_norms(w, blocks), blocks, w)
        unit = np.divide(w, norms, out=np.zeros_like(w), where=norms > 0)
        along = _spread(_sums(unit * v, blocks), blocks, w)
        return _over_norms(w, blocks) * (v - along * unit)

    @cached_property
    def _labels(self):
        return np.unique(np.asarray(self.groups), return_inverse=True)


def _norms(w, blocks):
    """‖w_g‖₂ of every group, in units of the largest entry: squares neither overflow nor vanish."""
    unit = np.max(np.abs(w), initial=0.0) or 1.0
    return unit * np.sqrt(_sums((w / unit) ** 2, blocks))


def _sums(values, blocks):
    """The sum of every group."""
    per_feature = values if values.ndim == 1 else values.sum(axis=1)
    return np.bincount(blocks.index, per_feature, minlength=len(blocks.strength))


def _spread(values, blocks, w):
    """A value per group, shaped to broadcast against w."""
    return values[blocks.index] if w.ndim == 1 else values[blocks.index, None]


def _over_norms(w, blocks):
    """strength_g/‖w_g‖ spread over the coordinates, 0 where the group is 0."""
    norms = _norms(w, blocks)
    ratio = np.divide(blocks.strength, norms, out=np.zeros_like(norms), where=norms > 0)
    return _spread(ratio, blocks, w)
