"""What every leave-one-out method returns, and the arithmetic that several of them share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpocon

from ..._ground.lapack import call_lapack, eigh, potrf, trtri
from ..._ground.threads import single_blas
from ...problem import Problem
from ...solvers import EPS, unit_diagonal

Array = np.ndarray

# The largest dense system worth solving: it takes about a second. One of m unknowns takes m³
# operations. CHEAP_SYSTEM of them take next to no time, and SYSTEM_PER_ENTRY per entry of X cost
# less than folds: dense rows, with at least m entries each, always qualify.
LARGEST_SYSTEM = 3000
CHEAP_SYSTEM, SYSTEM_PER_ENTRY = 2e9, 4000
# Beyond these, one step on the active set is unreliable: it explodes as the active set nears n, and
# for kinks of the loss as the number of rows at one nears the number of coefficients.
LARGEST_LEVERAGE = 0.9
LARGEST_ACTIVE_SHARE = 0.5


class NotAvailable(Exception):
    """No formula can be trusted here; the message says why. The caller refits, or uses folds."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Predictions of each row by a model that never saw it.

    Parameters
    ----------
    z : ndarray, the shape of the predictions
        Predictions on the scale of the loss; NaN where there is no model (`forward`).
    leverage : ndarray of shape (n,)
        The share of its own prediction that a row, or its group, decides: 0 … 1.
    method : str
        "loo" (exact), "approximate loo" (one Newton step), "span" or "forward".
    """

    z: Array
    leverage: Array
    method: str


def refuse_large_system(unknowns: int, problem: Problem) -> None:
    """NotAvailable if a dense system would take long, or longer than folds of sparse rows."""
    design = problem.design
    if unknowns > LARGEST_SYSTEM:
        raise NotAvailable(f"{unknowns} unknowns are too many for one dense system")
    entries = design.density * design.n * design.d * (problem.outputs or 1)
    if unknowns**3 > max(CHEAP_SYSTEM, SYSTEM_PER_ENTRY * entries):
        raise NotAvailable(f"a dense system of {unknowns} unknowns takes longer than folds")


def squares_of(problem: Problem) -> Array | None:
    """The l2ⱼ of a penalty ½Σ l2ⱼwⱼ², zeros included; None for any other."""
    coordinates = problem.coordinates
    return coordinates.l2 if coordinates is not None and coordinates.is_quadratic() else None


def whiten(H: Array) -> tuple[Array, float]:
    """W with H⁻¹ = WWᵀ for H ≥ 0, which is overwritten, and its conditioning, 0 … 1.

    If H is singular, 0, and W spans its range.
    """
    m = len(H)
    if not m:
        return H, 1.0
    scale = unit_diagonal(H)
    norm = float(np.max(np.sum(np.abs(H), axis=0)))
    factor, failed = call_lapack(potrf, H.T.copy(), 1, 1)
    condition = 0.0 if failed else dpocon(factor, norm, uplo="L")[0]
    if condition > 16 * m * EPS:
        inverse, _ = call_lapack(trtri, factor, 1)
        return scale[:, None] * inverse.T, condition
    values, vectors = call_lapack(eigh, H)
    keep = values > 16 * m * EPS * max(values[-1], 0.0)
    return scale[:, None] * vectors[:, keep] / np.sqrt(values[keep]), 0.0


def members(labels: Array) -> list[Array]:
    """The rows of each label, in the order of the labels."""
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)


def block_step(B: Array, T: Array, g: Array) -> tuple[Array, float]:
    """B(I − TᵀT)⁻¹Bᵀg, the step of rows that are left out together, and their leverage.

    J = BBᵀ is the response to a pull on the rows, TᵀT = BᵀAB with A their curvature, g their
    slopes. Computed in the rows or in the columns of B, whichever are fewer.
    """
    in_rows = len(T) <= T.shape[1]
    with single_blas(), np.errstate(divide="ignore", invalid="ignore"):
        pull = B.T @ g
        right = T @ pull if in_rows else pull
        values, vectors = np.linalg.eigh(T @ T.T if in_rows else T.T @ T)
        solved = vectors @ ((vectors.T @ right) / (1 - values)[:, None])
        step = B @ (pull + T.T @ solved if in_rows else solved)
    return step, float(values[-1])
