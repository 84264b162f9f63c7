"""Working sets: which blocks of features are worth a solver's time, and the penalty on them alone.

A block is what the penalty treats as one: a feature, or a group of features. Called by
`prox_newton` and `face_newton`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..penalties import Blocks, Coordinates, Folded, Penalty, Powers

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Part:
    """The penalty on some features, those of a block side by side, as the arrays the core reads.

    `arrays` is (l1, l2, lower, upper) per feature, (start, strength) per block, or the penalty as
    `concave` functions of |wⱼ|.
    """

    features: Array
    arrays: tuple[Any, ...]
    concave: Folded | Powers | None = None

    @property
    def is_grouped(self) -> bool:
        """Whether the penalty is on blocks, not on coordinates."""
        return self.concave is None and len(self.arrays) == 2

    def value(self, w: Array) -> float:
        """R of these features alone, for w within its constraints; shape (p,) or (p, K)."""
        if self.concave is not None:
            return float(np.sum(self.concave.cost(np.abs(w).T)))
        if not self.is_grouped:
            l1, l2 = (a if w.ndim == 1 else a[:, None] for a in self.arrays[:2])
            return float(np.sum(l1 * np.abs(w) + 0.5 * l2 * w**2))
        start, strength = self.arrays
        squares = w**2 if w.ndim == 1 else np.sum(w**2, axis=1)
        return float(strength @ np.sqrt(_sums(squares, start)))


@dataclass(frozen=True, eq=False)
class Face:
    """The coefficients that can move without crossing a kink: neither 0 at one nor at a bound.

    `lower` and `upper` limit them: 0 if there is a kink, else the bound.
    """

    index: Array
    signs: Array
    l1: Array
    l2: Array
    lower: Array
    upper: Array

    @classmethod
    def around(cls, w: Array, l1: Array, l2: Array, lower: Array, upper: Array) -> Face:
        """The face of a penalty on coordinates around w, of shape (p,)."""
        index = np.flatnonzero(((w != 0) | (l1 == 0)) & (w > lower) & (w < upper))
        signs, l1 = np.sign(w[index]), l1[index]
        lower = np.where((l1 > 0) & (signs > 0), np.maximum(lower[index], 0.0), lower[index])
        upper = np.where((l1 > 0) & (signs < 0), np.minimum(upper[index], 0.0), upper[index])
        return cls(index, signs, l1, l2[index], lower, upper)

    def gradient(self, w: Array) -> Array:
        """∇R at coefficients on the face, given as a vector like `index`."""
        return self.l2 * w + self.l1 * self.signs

    def clip(self, w: Array) -> Array:
        """The nearest coefficients on the face or at its end."""
        return np.clip(w, self.lower, self.upper)


class BlockPenalty:
    """The blocks of a separable or block-separable penalty on d features."""

    def __init__(self, penalty: Penalty, d: int):
        self.coordinates: Coordinates | None = penalty.coordinates(d)
        self.concave: Folded | Powers | None = penalty.concave(d)
        is_scalar = self.coordinates is not None or self.concave is not None
        blocks: Blocks | None = None if is_scalar else penalty.blocks(d)
        self.d = d
        if blocks is None:
            self.count, self.order, self.start = d, np.arange(d), np.arange(d + 1)
        else:
            self.strength = np.asarray(blocks.strength, dtype=float)
            self.count = len(self.strength)
            self.order = np.argsort(blocks.index, kind="stable")
            sizes = np.bincount(blocks.index, minlength=self.count)
            self.start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.is_free = self.norms(penalty.free(d).astype(float)) > 0

    @property
    def has_kinks(self) -> bool:
        """Whether a gradient shows that a coefficient should leave 0; not if R jumps there."""
        return self.concave is None or self.concave.has_kinks

    def norms(self, v: Array) -> Array:
        """‖v_b‖₂ of every block, for v of shape (d,) or (d, K)."""
        if v.ndim == 1 and self.count == self.d:
            return np.abs(v)[self.order]
        squares = v**2 if v.ndim == 1 else np.sum(v**2, axis=1)
        return np.sqrt(_sums(squares[self.order], self.start))

    def slack(self, G: Array, curvature: Array | float = 1.0) -> Array:
        """How far each block's gradient at 0 is from moving it, if w is 0 there.

        Where it depends on the curvature of the loss, the order of the blocks is what counts.
        """
        if self.coordinates is None and self.concave is None:
            return self.strength - self.norms(G)
        largest = np.abs(G) if G.ndim == 1 else np.max(np.abs(G), axis=1, initial=0.0)
        if self.concave is not None:
            return self.concave.reluctance(largest, np.asarray(curvature))
        assert self.coordinates is not None
        return self.coordinates.l1 - largest

    def part(self, chosen: Array) -> Part:
        """The penalty on the chosen blocks."""
        if self.coordinates is not None:
            c = self.coordinates
            return Part(chosen, tuple(a[chosen] for a in (c.l1, c.l2, c.lower, c.upper)))
        if self.concave is not None:
            part = self.concave.part(chosen)
            return Part(chosen, tuple(part), part)
        sizes = np.diff(self.start)[chosen]
        start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        within = np.arange(start[-1]) - np.repeat(start[:-1], sizes)
        features = self.order[np.repeat(self.start[:-1][chosen], sizes) + within]
        return Part(features, (start, self.strength[chosen]))


def choose_blocks(kept: Array, priority: Array, extra: int, most: int) -> Array:
    """Positions of the kept blocks and of the `extra` others of the highest priority.

    If more than `most`, only those of the highest priority remain. Ties go to the first.
    """
    others = np.flatnonzero(~kept)
    chosen = np.concatenate([np.flatnonzero(kept), _largest(others, priority, extra)])
    return np.sort(_largest(chosen, priority, most))


def _largest(candidates: Array, priority: Array, count: int) -> Array:
    """The `count` candidates of the highest priority, ties to the first."""
    if len(candidates) <= count:
        return candidates
    p = priority[candidates]
    threshold = np.partition(p, len(p) - count)[len(p) - count]
    above = candidates[p > threshold]
    return np.concatenate([above, candidates[p == threshold][: count - len(above)]])


def _sums(values: Array, start: Array) -> Array:
    """Σ of each slice values[start[b]:start[b + 1]], empty ones included."""
    if len(start) == len(values) + 1 and np.all(np.diff(start) == 1):
        return values
    sums = np.zeros(len(start) - 1)
    filled = np.flatnonzero(np.diff(start))
    if len(filled):
        sums[filled] = np.add.reduceat(values, start[filled])
    return sums
