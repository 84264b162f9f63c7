"""Margins of a weighted vote, and the exponential loss that boosting minimises.

A vote of learners hₜ with weights αₜ gives row i the margin mᵢ = Σₜ αₜ(1[hₜ(xᵢ) = yᵢ] − 1/K), and
the loss is L = Σᵢ sᵢ exp(−mᵢ). For two classes that is exp(−y·F) with F = ½ Σ αₜhₜ (Freund and
Schapire 1997); for K it is the loss of SAMME (Zhu, Zou, Rosset and Hastie 2009). The slope of log L
in the weight of a learner h is 1/K minus its accuracy on the weights dᵢ ∝ sᵢ exp(−mᵢ), hence the
step α = log((1 − e)/e) + log(K − 1) for a learner of error e.

References
----------
Schapire and Singer (1999), Improved boosting algorithms using confidence-rated predictions, Machine
Learning 37. Shalev-Shwartz and Singer (2010), On the equivalence of weak learnability and linear
separability, Machine Learning 80.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..._ground.drawing import pictures
from ..._ground.notebook import ShownInNotebook
from ...certificates import Certificate, judged
from .weak_learners import Stumps

Array = np.ndarray

# Levels from −1 to 1 at which the distribution of the margins is stored.
LEVELS = 201
EPS = float(np.finfo(float).eps)


class Margins:
    """The state of a vote on its training rows, while learners are added.

    Parameters
    ----------
    y : ndarray of int, shape (n,)
        Classes 0 … classes − 1.
    weights : ndarray of shape (n,)
        Weights sᵢ > 0 of the rows.
    classes : int
        K, at least 2.
    """

    def __init__(self, y: Array, weights: Array, classes: int):
        self.y, self.classes = y, classes
        self.total_weight = float(weights.sum())
        self.shares = weights / self.total_weight
        self.margins = np.zeros(len(y))
        # With two classes one number is enough.
        self.votes = np.zeros((len(y), classes)) if classes > 2 else None
        self.total_vote = 0.0
        self._exponentials: Array | None = None

    def add(self, vote: float, predicted: Array) -> None:
        """Add a learner that predicts these classes, with the weight `vote`."""
        hits = predicted == self.y
        self.margins += np.where(hits, vote * (1 - 1 / self.classes), -vote / self.classes)
        if self.votes is not None:
            self.votes[np.arange(len(predicted)), predicted] += vote
        self.total_vote += vote
        self._exponentials = None

    def distribution(self) -> Array:
        """dᵢ ∝ sᵢ exp(−mᵢ), which sums to 1: the weight of each row for the next learner.

        Rows whose weight is lost to rounding keep a trace of it, in proportion to what they had.
        """
        d = np.maximum(self._relative(), EPS)
        d *= self.shares
        d /= d.sum()
        return d

    @property
    def log_loss(self) -> float:
        """log(L/Σs), without overflow."""
        return float(np.log(self.shares @ self._relative()) - self.margins.min())

    def _relative(self) -> Array:
        """exp(−mᵢ) as parts of the largest."""
        if self._exponentials is None:
            d = np.subtract(self.margins.min(), self.margins)
            self._exponentials = np.exp(d, out=d)
        return self._exponentials

    def normalised(self) -> Array:
        """Margins between −1 and 1: votes for the class minus those for its strongest rival."""
        if self.votes is None:
            return self.margins * (2 / self.total_vote)
        rows = np.arange(len(self.y))
        own, rivals = self.votes[rows, self.y], self.votes.copy()
        rivals[rows, self.y] = -np.inf
        return (own - rivals.max(axis=1)) / self.total_vote

    def error(self, normalised: Array) -> float:
        """The share of misclassified rows; a tie goes to the first class."""
        if self.votes is not None:
            return float(self.shares @ (np.argmax(self.votes, axis=1) != self.y))
        return float(self.shares @ ((normalised < 0) | ((normalised == 0) & (self.y == 1))))


class TraceKeeper:
    """Records the state of a vote after each round."""

    def __init__(self, margins: Margins):
        self.margins = margins
        self.rows: list[tuple[float, float, float]] = []
        self.shares: list[Array] = []

    def note(self, learner_error: float) -> None:
        """Record a round that added a learner with this error."""
        normalised = self.margins.normalised()
        loss, error = np.exp(self.margins.log_loss), self.margins.error(normalised)
        self.rows.append((loss, error, learner_error))
        # The lowest level that a margin does not exceed, except for rounding at the levels.
        normalised += 1
        normalised *= 0.5 * (LEVELS - 1)
        normalised -= 1e-9
        level = np.ceil(normalised, out=normalised).astype(np.int64)
        np.clip(level, 0, LEVELS - 1, out=level)
        self.shares.append(np.bincount(level, self.margins.shares, LEVELS).cumsum())

    def __len__(self) -> int:
        return len(self.rows)

    def cut(self, rounds: int) -> None:
        """Forget everything after the first `rounds` rounds."""
        del self.rows[rounds:], self.shares[rounds:]

    def __str__(self) -> str:
        loss, error, _ = self.rows[-1]
        return f"round {len(self.rows)}, exponential loss {loss:.4g}, training error {error:.4g}"

    def trace(self) -> MarginTrace:
        """The trace recorded."""
        loss, error, learner_error = np.array(self.rows).reshape(-1, 3).T
        shares = np.array(self.shares).reshape(-1, LEVELS)
        levels = np.linspace(-1, 1, LEVELS)
        return MarginTrace(loss, error, learner_error, levels, np.minimum(shares, 1.0))


@dataclass(frozen=True, eq=False)
class MarginTrace(ShownInNotebook):
    """How a vote learns, round by round, on its training rows.

    Attributes
    ----------
    loss : ndarray of shape (rounds,)
        The exponential loss, as a mean: 1 before the first round. For two classes it is never below
        the error.
    error : ndarray of shape (rounds,)
        The share of rows that the vote so far classifies wrongly.
    learner_error : ndarray of shape (rounds,)
        The error of each learner on the weights that it was given.
    levels : ndarray of shape (L,)
        Margins from −1 to 1.
    shares : ndarray of shape (rounds, L)
        The share of rows whose margin is at most each level. A margin is the part of all votes that
        are for the class of a row, minus the part for its strongest rival.
    """

    loss: Array
    error: Array
    learner_error: Array
    levels: Array
    shares: Array

    def __len__(self) -> int:
        return len(self.loss)

    def plot(self, *, axes=None):
        """Draw loss and error by round, and the distribution of the margins.

        Parameters
        ----------
        axes : pair of matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        axes : pair of matplotlib Axes
            Loss and error on the first, margins after some of the rounds on the second.
        """
        plots = pictures()
        return plots.margins(self.loss, self.error, self.levels, self.shares, axes=axes)


# ---- how far a vote of stumps can be from the best one -------------------------------------------
#
# For any weights d ≥ 0 with Σd = 1 the log-sum inequality gives, with the margins m of any vote,
#
#     log Σ s·exp(−m) ≥ Σ d·log(s/d) − Σ d·m,
#
# and Σ d·m is Σ_h α_h·(accuracy of h on d − 1/K). So no vote of stumps with total weight Σα ≤ A has
# a loss below exp(Σ d·log(s/d) − A·γ), γ being the largest accuracy of a stump on d minus 1/K, or 0
# if that is negative. This is the dual of minimising log L over votes of bounded weight
# (Shalev-Shwartz and Singer 2010), and γ is exact, since the best of all stumps can be found.


@dataclass(frozen=True)
class VoteBound:
    """A lower bound on log(L/Σs), and the edge γ behind it."""

    log_loss: float
    edge: float
    method: str


def bound_of(stumps: Stumps, margins: Margins, dual: Array | None) -> VoteBound:
    """The better of the bounds by the last weights and by stored ones, if they match the rows."""
    last = _bound(stumps, margins, margins.distribution(), "gradient")
    if dual is None or dual.shape != margins.margins.shape or not _is_distribution(dual):
        return last
    stored = _bound(stumps, margins, dual / dual.sum(), "stored")
    return max(last, stored, key=lambda bound: bound.log_loss)


def _is_distribution(dual: Array) -> bool:
    return bool(np.all(np.isfinite(dual)) and np.all(dual >= 0) and dual.sum() > 0)


def _bound(stumps: Stumps, margins: Margins, d: Array, method: str) -> VoteBound:
    edge = max(stumps.largest_accuracy(d) - 1 / margins.classes, 0.0)
    used = d > 0
    divergence = float(np.sum(d[used] * np.log(d[used] / margins.shares[used])))
    return VoteBound(-divergence - margins.total_vote * edge, edge, method)


def certificate_of_stumps(margins: Margins, bound: VoteBound) -> Certificate:
    """The certificate of a vote of stumps: its loss, and a bound for all votes as heavy."""
    scale = margins.total_weight
    loss, least = np.exp(margins.log_loss), np.exp(min(bound.log_loss, margins.log_loss))
    # A prefix sum of n weights is off by at most n roundings; the edge counts total_vote times.
    rounding = len(margins.shares) * EPS * (1 + margins.total_vote) * loss
    found = judged(
        scale * loss,
        scale * least,
        scale=scale,
        rounding=scale * rounding,
        method=bound.method,
    )
    accuracy = bound.edge + 1 / margins.classes
    verdict = (
        f"bound: the exponential loss is {loss:.4g} per row, and no vote of stumps with a total "
        f"weight up to {margins.total_vote:.4g} gets below {least:.4g}; some weighting of the "
        f"rows leaves no stump right on more than {100 * accuracy:.4g} %."
    )
    return replace(found, kind="bound", verdict=verdict)


def certificate_without_bound(margins: Margins, why: str) -> Certificate:
    """The certificate of other votes: the loss that was reached, and why there is no bound."""
    loss = float(np.exp(margins.log_loss))
    verdict = f"no bound: the exponential loss is {loss:.4g} per row, and 1 without a model; "
    return Certificate(
        kind="none",
        verdict=f"{verdict}{why}.",
        primal=margins.total_weight * loss,
        dual=-np.inf,
        gap=np.inf,
        relative_gap=np.inf,
        tolerance=0.0,
        scale=margins.total_weight,
    )
