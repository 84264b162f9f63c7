"""How far the exponential loss of a vote of stumps can be from the best one, proved from the data.

For any weights d ≥ 0 with Σd = 1 the log-sum inequality gives, with the margins m of any vote,

    log Σ s·exp(−m) ≥ Σ d·log(s/d) − Σ d·m,

and Σ d·m is Σ_h α_h·(accuracy of h on d − 1/K). So no vote of stumps with total weight Σα ≤ A has a
loss below exp(Σ d·log(s/d) − A·γ), γ being the largest accuracy of a stump on d minus 1/K, or 0 if
that is negative. This is the dual of minimising log L over votes of bounded weight (Shalev-Shwartz
and Singer 2010), and γ is exact, since the best of all stumps can be found.

References
----------
Schapire and Singer (1999), Improved boosting algorithms using confidence-rated predictions, Machine
Learning 37. Shalev-Shwartz and Singer (2010), On the equivalence of weak learnability and linear
separability, Machine Learning 80.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...certificates import Certificate, judged
from .margins import EPS, Margins
from .stumps import Stumps

Array = np.ndarray


@dataclass(frozen=True)
class VoteBound:
    """A lower bound of log(L/Σs), and the edge γ that it comes from."""

    log_loss: float
    edge: float
    method: str


def bound_of(stumps: Stumps, margins: Margins, dual: Array | None) -> VoteBound:
    """The better of the bounds by the last weights and by stored ones, if they fit the rows."""
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
    """The certificate of a vote of stumps: its loss, and what no vote as heavy gets below."""
    scale = margins.total_weight
    loss, least = np.exp(margins.log_loss), np.exp(min(bound.log_loss, margins.log_loss))
    # A prefix sum of n weights is wrong by at most n roundings; the edge counts total_vote times.
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
        f"weight up to {margins.total_vote:.4g} gets below {least:.4g}; there are weights of the "
        f"rows for which no stump is right on more than {100 * accuracy:.4g} %."
    )
    return replace(found, kind="bound", verdict=verdict)


def certificate_without_bound(margins: Margins, why: str) -> Certificate:
    """What is said of other votes: the loss that was reached, and why there is no bound."""
    loss = float(np.exp(margins.log_loss))
    verdict = f"no bound: the exponential loss is {loss:.4g} per row, where 1 is that of no model; "
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
