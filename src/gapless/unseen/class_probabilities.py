"""Class probabilities from decision values, in agreement with the predictions.

A machine for two classes has p = σ(a·f), with the slope a fitted to decision values of held-out
rows (Platt 1999), and no shift: p is above ½ exactly if f is above 0. Probabilities of pairs of
classes are coupled (Wu, Lin and Weng 2004, their second method), sharpened or softened by one power
for all, and moved to the nearest distribution in which the predicted class is largest. Called by
support vector machines, linear ones too; `LaterProbabilities` gets held-out values from a fit when
they are needed, the rest works on arrays only.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from .._ground.memory import blocks
from .._ground.stored import Declaration, Flag, Nothing, Number, Numbers, Value
from .held_out import by_formula, by_refits
from .leave_one_out import NotAvailable

Array = np.ndarray

# A fit to up to this many rows is kept until its probabilities are there, also if it is saved.
KEPT_ROWS = 3000
# The least slope, at which decisions of usual size still matter: argmax p is the prediction.
LEAST_SLOPE = 1e-3
NEWTON_STEPS, ENOUGH = 50, 1e-8
# Probabilities of pairs stay this far from 0 and 1: those of all classes are then determined.
LEAST = 1e-7
# How much more the predicted class gets if it would have tied with another.
LEAD = 1e-6


@dataclass(frozen=True, eq=False)
class Probabilities:
    """How decision values of machines become probabilities of classes.

    Parameters
    ----------
    pairs : ndarray of int, shape (P, 2), or None
        For each machine, the class of a positive value, and the other one. None if there is one
        score for each class.
    slopes : ndarray of shape (P,), or (1,) without pairs
        Factors a of the decision values.
    power : float
        The power of the coupled probabilities.
    """

    _stored: ClassVar[Declaration] = {
        "pairs": Numbers("problems", 2, types="i", low=0) | Nothing(),
        "slopes": Numbers(lambda sizes: sizes.get("problems", 1)),
        "power": Number(low=0.0),
    }
    pairs: Array | None
    slopes: Array
    power: float = 1.0

    @classmethod
    def fit(
        cls, held: Array, y: Array, weights: Array, pairs: Array | None = None
    ) -> Probabilities:
        """Fit slopes, and with more than two classes the power, to held-out decision values.

        Parameters
        ----------
        held : ndarray of shape (n, P)
            Decision values of rows by machines that have not seen them.
        y : ndarray of int, shape (n,)
            The class of each row.
        weights : ndarray of shape (n,)
            How much each row counts.
        pairs : ndarray of int, shape (P, 2), optional
            The classes of each machine.
        """
        if pairs is None:
            return cls(None, np.array([_fit_power(held, y, weights)]))
        slopes = fit_slopes(held, y, weights, pairs)
        if len(pairs) == 1:
            return cls(pairs, slopes)
        coupled = couple(_of_pairs(held * slopes, pairs))
        return cls(pairs, slopes, _fit_power(np.log(coupled), y, weights))

    def of(self, decisions: Array, chosen: Array) -> Array:
        """Probabilities (n, K) of rows with decision values (n, P) and predicted classes (n,)."""
        scaled = decisions * self.slopes
        if self.pairs is None:
            p = _softmax(scaled)
        elif len(self.pairs) == 1:
            p = np.empty((len(scaled), 2))
            p[:, self.pairs[0]] = expit(scaled * [1.0, -1.0])
        else:
            p = _softmax(self.power * np.log(couple(_of_pairs(scaled, self.pairs))))
        return with_largest(p, chosen)


class LaterProbabilities:
    """Probabilities that are fitted on first use, or when a model of few rows is saved.

    Parameters
    ----------
    sides : ndarray of int, shape (problems, 2), or None
        The classes of positive and negative scores of each problem.
    is_offered : bool
        Whether `predict_proba` is available: not with probability=False.
    fitted : Fitted, Refittable or None
        The fit, if it is small enough to be kept.
    found : Probabilities or None
        The probabilities, once they are fitted.
    """

    _stored: ClassVar[Declaration] = {
        "sides": Numbers("problems", 2, types="i", low=0) | Nothing(),
        "is_offered": Flag(),
        "found": Value(Probabilities) | Nothing(),
    }

    def __init__(
        self,
        sides: Array | None,
        is_offered: bool = True,
        fitted: Any = None,
        found: Probabilities | None = None,
    ):
        self.fitted, self.sides, self.is_offered, self.found = fitted, sides, is_offered, found

    def get(self, remembered: Callable[[], Any]) -> Probabilities:
        """The probabilities; `remembered` returns the fit if it is not kept here."""
        if self.found is None:
            fitted = remembered() if self.fitted is None else self.fitted
            try:
                held = by_formula(fitted)
            except NotAvailable as reason:
                held = by_refits(fitted, fitted.units, str(reason))
            weights = np.where(np.isfinite(held.z).all(axis=1), fitted.weights, 0.0)
            self.found = Probabilities.fit(held.z, fitted.targets, weights, self.sides)
            self.fitted = None
        return self.found

    def __getstate__(self):
        # Neither a copy nor a file includes the training data, so what needs them is computed now.
        if self.fitted is not None:
            with suppress(NotAvailable):
                self.get(lambda: self.fitted)
        return vars(self) | {"fitted": None}


# ---- slopes --------------------------------------------------------------------------------------


def fit_slopes(held: Array, y: Array, weights: Array, pairs: Array) -> Array:
    """The slope of each machine, by maximum likelihood on the rows of its two classes.

    The targets are Platt's, (N + 1)/(N + 2) for the N rows of a class instead of 1, so that
    perfectly separated classes still have a finite slope.
    """
    is_there = (y[:, None, None] == pairs).any(axis=2) & (weights > 0)[:, None]
    rows, machine = np.nonzero(is_there)
    total = np.bincount(y, weights)[y[rows]]
    is_first, certain = y[rows] == pairs[machine, 0], (total + 1) / (total + 2)
    target, s = np.where(is_first, certain, 1 - certain), weights[rows]
    z = np.nan_to_num(held[rows, machine], posinf=1e6, neginf=-1e6)
    count = len(pairs)
    size = np.sqrt(np.bincount(machine, s * z**2, count) / np.bincount(machine, s, count))
    unit = np.where(size > 0, size, 1.0)
    z = z / unit[machine]

    def derivatives(a: Array) -> tuple[Array, Array]:
        p = expit(a[machine] * z)
        slope = np.bincount(machine, s * (p - target) * z, count)
        return slope, np.bincount(machine, s * p * (1 - p) * z**2, count)

    return np.maximum(_root(derivatives, np.ones(count)), LEAST_SLOPE) / unit


def _root(derivatives, a: Array) -> Array:
    """Minimisers of convex functions of one number each, by Newton's method kept in brackets."""
    low, high = np.zeros_like(a), np.full_like(a, np.inf)
    for _ in range(NEWTON_STEPS):
        slope, curvature = derivatives(a)
        low, high = np.where(slope < 0, a, low), np.where(slope > 0, a, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            new = a - slope / curvature
        # Outside the bracket: halfway, or twice as far if there is no end.
        inside = (new > low) & (new < high)
        new = np.where(inside, new, np.where(np.isfinite(high), (low + high) / 2, 2 * a))
        new = np.where(slope == 0, a, new)
        if np.all(np.abs(new - a) <= ENOUGH * np.maximum(a, LEAST_SLOPE)):
            return new
        a = new
    return a


def _fit_power(scores: Array, y: Array, weights: Array) -> float:
    """The factor of scores (n, K) whose softmax is most likely.

    The targets are (N + 1)/(N + 2) for all N rows, since all of them fit this one number.
    """
    rows = (weights > 0) & np.all(np.isfinite(scores), axis=1)
    scores, y, s = scores[rows], y[rows], weights[rows]
    if not len(y):
        return 1.0
    scores = scores - scores.mean(axis=1, keepdims=True)
    unit = float(np.sqrt(np.average(np.mean(scores**2, axis=1), weights=s))) or 1.0
    scores /= unit
    # The scores of a row add up to 0, so those of the other classes to minus its own.
    own, total = scores[np.arange(len(y)), y], float(s.sum())
    certain = (total + 1) / (total + 2)
    target = own * (certain - (1 - certain) / (scores.shape[1] - 1))

    def derivatives(a: Array) -> tuple[Array, Array]:
        p = _softmax(a * scores)
        mean = np.sum(p * scores, axis=1)
        spread = np.sum(p * scores**2, axis=1) - mean**2
        return np.array([s @ (mean - target)]), np.array([s @ spread])

    return float(max(_root(derivatives, np.ones(1))[0], LEAST_SLOPE) / unit)


# ---- several classes -----------------------------------------------------------------------------


def _of_pairs(scaled: Array, pairs: Array) -> Array:
    """r (n, K, K), the probability of class i where it is i or j, from a·f (n, P)."""
    K = int(pairs.max()) + 1
    p = np.clip(expit(scaled), LEAST, 1 - LEAST)
    r = np.zeros((len(p), K, K))
    r[:, pairs[:, 0], pairs[:, 1]] = p
    r[:, pairs[:, 1], pairs[:, 0]] = 1 - p
    return r


def couple(r: Array) -> Array:
    """p (n, K) ≥ 0 of sum 1 that minimises Σ_{i≠j} (r_ji p_i − r_ij p_j)², for r (n, K, K).

    A linear system for each row, with the sum as a further equation (Wu, Lin and Weng 2004,
    Journal of Machine Learning Research 5, theorem 2: its solution is not negative).
    """
    n, K = r.shape[:2]
    p = np.empty((n, K))
    right = np.zeros((K + 1, 1))
    right[K] = 1.0
    for rows in blocks(n, (K + 1) ** 2):
        part = r[rows]
        system = np.ones((len(part), K + 1, K + 1))
        system[:, K, K] = 0.0
        system[:, :K, :K] = -part * part.transpose(0, 2, 1)
        diagonal = np.arange(K)
        system[:, diagonal, diagonal] = np.sum(part**2, axis=1)
        p[rows] = np.linalg.solve(system, right[None])[:, :K, 0]
    p = np.maximum(p, np.finfo(float).tiny)
    return p / p.sum(axis=1, keepdims=True)


def with_largest(p: Array, chosen: Array) -> Array:
    """The nearest distributions, by least squares, in which the chosen class is the largest.

    The chosen class and all above it meet at their mean, as in isotonic regression; the chosen one
    then leads by a hair. Rows in which it already leads stay unchanged.
    """
    rows = np.flatnonzero(p.argmax(axis=1) != chosen)
    if not len(rows):
        return p
    p = p.copy()
    part, own, at = p[rows], chosen[rows], np.arange(len(rows))
    others = part.copy()
    others[at, own] = -np.inf
    others = np.sort(others, axis=1)[:, ::-1]
    sums = part[at, own][:, None] + np.cumsum(others[:, :-1], axis=1)
    means = sums / np.arange(2, part.shape[1] + 1)
    # Classes join while they lie above the mean of those that have: the largest mean of all.
    level = np.max(means, axis=1)
    part = np.minimum(part, level[:, None])
    part[at, own] = level * (1 + LEAD)
    p[rows] = part / part.sum(axis=1, keepdims=True)
    return p


def _softmax(scores: Array) -> Array:
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
