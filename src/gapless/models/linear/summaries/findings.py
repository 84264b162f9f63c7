"""What is to be known about the columns of a fit: which are collinear, and which separate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.optimize
import scipy.sparse as sp

from ...._ground.percent import percent
from ....problem import Parameters, Problem, eigenvectors

Array = np.ndarray

# A column of which others explain all but this part is nearly a combination of them: a variance
# inflation factor of 100. Below the second part only rounding is left.
NEARLY, EXACTLY = 0.01, 1e-10
# Parts of a combination smaller than this, in standard deviations, are not mentioned.
SMALL_PART = 0.05
# With more columns, or entries of a linear programme, the search takes too long.
MOST_COLUMNS, MOST_ENTRIES = 1000, 1_000_000
MOST_NAMED = 5
# A score at which a loss has reached its asymptote, as in `certificates`.
FAR, FLAT = 60.0, 1e-12
# Rows with a smaller part of the largest slope may be separated; directions with a smaller part of
# the largest eigenvalue do not move the others.
LIVE, IDLE = 1e-2, 1e-9


@dataclass(frozen=True)
class Combination:
    """A column that others make up: column ≈ Σ factor·other, and the part that is left."""

    column: int
    terms: tuple[tuple[int, float], ...]
    left: float


def collinear(problem: Problem) -> list[Combination]:
    """The columns that are nearly a combination of others, up to a constant if there is a bias."""
    s, design = problem.weights, problem.design
    squares = design.column_square_sums(s)
    if problem.fit_bias:
        design = design.shifted(design.transposed_times(s) / s.sum())
    G = design.gram(s)
    spread = np.sqrt(np.maximum(np.diag(G), 0.0))
    varies = spread > 1e-7 * np.sqrt(squares)
    found = [Combination(int(j), (), 0.0) for j in np.flatnonzero(~varies)]
    unit = np.divide(1.0, spread, out=np.zeros_like(spread), where=varies)
    R = G * np.multiply.outer(unit, unit)
    chosen, left = _independent(R, np.flatnonzero(varies))
    for j in np.setdiff1d(np.flatnonzero(varies), chosen):
        part = np.linalg.solve(R[np.ix_(chosen, chosen)], R[chosen, j])
        terms = [
            (int(k), float(a * spread[j] / spread[k]))
            for k, a in zip(chosen, part)
            if abs(a) > SMALL_PART
        ]
        found.append(Combination(int(j), tuple(sorted(terms)), float(max(left[j], 0.0))))
    return sorted(found, key=lambda one: one.column)


def _independent(R: Array, candidates: Array) -> tuple[Array, Array]:
    """Columns that explain all others but for a small part, and what is left of each.

    Cholesky's factor with pivots: the next column is the one that is least explained so far.
    """
    left, chosen = np.diag(R).copy(), []
    factor = np.zeros((len(R), 0))
    while len(candidates):
        j = int(candidates[np.argmax(left[candidates])])
        if left[j] < NEARLY:
            break
        column = (R[:, j] - factor @ factor[j]) / np.sqrt(left[j])
        factor = np.column_stack([factor, column])
        left = left - column**2
        chosen.append(j)
        candidates = candidates[candidates != j]
    return np.array(sorted(chosen), dtype=int), left


def collinearity_in_words(problem: Problem, names: Sequence[str]) -> list[str]:
    """What is to be said of collinear columns."""
    rows = int(np.sum(problem.weights > 0))
    is_free = len(problem.free) == problem.d
    if problem.d > MOST_COLUMNS:
        return [f"{problem.d} columns were not searched for combinations of each other."]
    if rows - problem.fit_bias < problem.d:
        which = "the smallest coefficients were taken" if is_free else "the penalty decides"
        return [
            f"{rows} rows cannot tell {problem.d} columns apart: many coefficients give the same "
            f"scores, and {which}."
        ]
    found = collinear(problem)
    sentences = [_in_words(one, names, problem.fit_bias, is_free) for one in found[:MOST_NAMED]]
    more = len(found) - MOST_NAMED
    return sentences + ([f"and {more} more columns are collinear."] if more > 0 else [])


def _in_words(found: Combination, names: Sequence[str], has_bias: bool, is_free: bool) -> str:
    name = repr(names[found.column])
    if not found.terms:
        return f"{name} is constant{', like the bias' if has_bias else ''}."
    terms = ""
    for k, factor in found.terms:
        sign = " − " if factor < 0 else " + " if terms else ""
        size = "" if np.isclose(abs(factor), 1.0) else f"{abs(factor):.4g}·"
        terms += f"{sign}{size}{names[k]!r}"
    constant = " + constant" if has_bias else ""
    if found.left <= EXACTLY:
        result = "their coefficients are not unique" if is_free else "the penalty decides on them"
        return f"{name} = {terms.strip()}{constant}: collinear, so {result}."
    return (
        f"{name} ≈ {terms.strip()}{constant}, all but {percent(found.left, 2)} of its variance: "
        "nearly collinear, so their coefficients are hard to tell apart."
    )


# ---- separation ----------------------------------------------------------------------------------


def may_be_separated(problem: Problem, at: Parameters) -> bool:
    """Whether a direction is left along which scores may run away.

    Rows that the loss still pulls on do not move along such a direction, so there is none if these
    rows determine all coefficients.
    """
    columns = problem.free_columns
    if not columns.m or not problem.loss.has_curvature or columns.m > MOST_COLUMNS:
        return False
    pull = np.abs(problem.derivative(problem.predictions(at.w, at.b))).reshape(problem.n, -1)
    units = np.multiply.outer(columns.units, columns.units)
    for of_score in pull.T:
        is_live = of_score > LIVE * of_score.max()
        values = eigenvectors(columns.gram(is_live.astype(float)) * units)[0]
        if values[0] <= IDLE * values[-1]:
            return True
    return False


def separating(problem: Problem, most_entries: int = MOST_ENTRIES) -> Array | None:
    """The columns along which the objective falls for ever, as few as suffice; None if none do.

    A direction d of the free columns and the bias, with X d ≥ 0 in rows whose loss falls as the
    score rises, ≤ 0 where it falls as the score sinks, and 0 in others: the one of least Σ|dⱼ| in
    units of the columns, by linear programming (Konis 2007). None also for problems that are too
    large for that.
    """
    columns = problem.free_columns
    rows = np.flatnonzero(problem.weights > 0)
    K = problem.outputs or 1
    is_coupled = problem.loss.task == "multiclass"
    if not is_coupled and K > 1:
        return None
    if len(rows) * K * columns.m * max(K - 1, 1) > most_entries:
        return None
    A = columns.dense(slice(None))[rows] * columns.units
    conditions = _leads(A, problem.y[rows], K) if is_coupled else _moves(problem, A, rows)
    direction = _least_direction(*conditions, columns.columns.d, K)
    if direction is None:
        return None
    sizes = np.abs(direction.reshape(K, columns.m)[:, : columns.columns.d]).max(axis=0)
    return problem.free[sizes > 1e-6 * np.max(np.abs(direction), initial=1e-300)]


def _moves(problem: Problem, A: Array, rows: Array) -> tuple[Array, Array]:
    """Rows times the sign in which their loss falls for ever, and those that must not move."""
    y = problem.y[rows]
    far = np.full(np.shape(y), FAR)
    may_rise = problem.loss.gradient(y, far) <= FLAT
    may_sink = problem.loss.gradient(y, -far) >= -FLAT
    sign = may_rise.astype(float) - may_sink
    return sign[sign != 0][:, None] * A[sign != 0], A[~may_rise & ~may_sink]


def _leads(A: Array, y: Array, K: int) -> tuple[Array, Array]:
    """By how much the score of a row's own class leads each other one, for weights (K·m,)."""
    n, m = A.shape
    leads = np.zeros((n, K - 1, K, m))
    for own in range(K):
        is_own = np.flatnonzero(y == own)
        for place, other in enumerate(k for k in range(K) if k != own):
            leads[is_own, place, own] = A[is_own]
            leads[is_own, place, other] = -A[is_own]
    return leads.reshape(n * (K - 1), K * m), np.zeros((0, K * m))


def _least_direction(signed: Array, fixed: Array, d: int, K: int) -> Array | None:
    """The direction of least Σ|dⱼ| that moves no row the wrong way, and all by 1 in sum."""
    M = signed.shape[1]
    if not len(signed):
        return None
    # The biases cost next to nothing.
    cost = np.tile(np.append(np.ones(d), np.full(M // K - d, 1e-6)), K)
    progress = signed.mean(axis=0)[None]
    both = [np.hstack([part, -part]) for part in (signed, np.vstack([fixed, progress]))]
    found = scipy.optimize.linprog(
        np.concatenate([cost, cost]),
        A_ub=sp.csr_matrix(-both[0]),
        b_ub=np.zeros(len(signed)),
        A_eq=sp.csr_matrix(both[1]),
        b_eq=np.append(np.zeros(len(fixed)), 1.0),
        bounds=(0, None),
        method="highs",
    )
    return found.x[:M] - found.x[M:] if found.status == 0 else None


def separation_in_words(columns: Sequence[str], task: str) -> str:
    """What is to be said of columns along which the objective falls for ever."""
    named = ", ".join(map(repr, columns[:MOST_NAMED]))
    more = len(columns) - MOST_NAMED
    if more > 0:
        named += f" and {more} more"
    if not columns:
        return "the bias alone separates the data: all targets are alike."
    what = "rows whose targets are all alike" if task == "regression" else "the data"
    if len(columns) == 1:
        return f"{named} alone separates {what}; its coefficient grows without bound."
    return f"{named} together separate {what}; their coefficients grow without bound."
