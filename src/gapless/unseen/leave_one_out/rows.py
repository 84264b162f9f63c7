"""The same step in the rows, if they are fewer than the coefficients or a kernel is given.

Some rows F respond when others are left out: their dual variables θ = −s·ℓ′ move, against the
stiffness of the loss. The others keep theirs. With C = K_FF + A_F⁻¹, K = XΛ⁻¹Xᵀ, and the free
columns U (a column of ones for the bias), C⁻¹ off U is P, and θ_F = P ŷ_F with ŷ = z + θ/A. So

    z₍₋ᵢ₎ = ŷᵢ − θᵢ/Pᵢᵢ  in F,        zᵢ − θᵢ(Kᵢᵢ − kᵢᵀPkᵢ)  elsewhere, except for the bias.

Nothing is the difference of nearly equal numbers, however small the penalty and the residuals.
For rows at a kink of a piecewise-linear loss A = ∞, and this is the span rule.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpocon

from ..._ground.design import Design
from ..._ground.lapack import call_lapack, potrf, potri
from ..._ground.memory import blocks
from ..._ground.threads import single_blas
from ...problem import Problem
from ...solvers import EPS, unit_diagonal
from ._base import LARGEST_SYSTEM, Array, NotAvailable, members


class LinearKernel:
    """K = X diag(inverse) Xᵀ by blocks, plus a multiple of UUᵀ, which the free columns U undo.

    Without that multiple C may be singular although the whole system is not, or its inverse may
    have a large part along U that hides the rest.
    """

    def __init__(self, design: Design, inverse: Array, free: Array):
        self.design, self.inverse, self.free = design, inverse, free
        self.lift = 0.0

    def softness(self, A: Array) -> Array:
        """1/A, and ∞ for rows with so little curvature that they might as well have none.

        Their response ŷ = z + θ/A would have lost its digits.
        """
        everything = np.arange(len(A))
        share = A * np.maximum(self.diagonal(everything), 1 / max(float(A.sum()), 1e-300))
        return np.divide(1, A, out=np.full(len(A), np.inf), where=share > 1e-8)

    def among(self, rows: Array) -> Array:
        """K of these rows; the first call determines the multiple."""
        K = self.design.rows(rows).outer_gram(self.inverse)
        U = self.free[rows]
        if not self.lift:
            size = float(np.sum(U**2))
            self.lift = max(float(np.trace(K)) / size if size else 0.0, 1e-300)
        with single_blas():
            K += self.lift * (U @ U.T)
        return K

    def between(self, rows: Array, others: Array) -> Array:
        """K of these rows (down) with others (across)."""
        part, K = self.design.rows(rows), np.empty((len(rows), len(others)))
        for columns in blocks(len(others), self.design.d):
            right = self.inverse[:, None] * self.design.rows(others[columns]).dense().T
            K[:, columns] = part.times(right)
        with single_blas():
            return K + self.lift * (self.free[rows] @ self.free[others].T)

    def diagonal(self, rows: Array) -> Array:
        """Kᵢᵢ of these rows."""
        squares = self.design.rows(rows).row_square_sums(self.inverse)
        return squares + self.lift * np.sum(self.free[rows] ** 2, axis=1)


@dataclass(frozen=True, eq=False)
class Answer:
    """The response of the rows F: [C U; Uᵀ 0]⁻¹ = [P Q; Qᵀ −M]. `condition` is that of C, 0 … 1."""

    P: Array
    Q: Array
    M: Array
    condition: float

    @classmethod
    def of(cls, C: Array, U: Array) -> Answer:
        """C is overwritten."""
        inverse, condition = _inverse(C)
        with single_blas():
            CU = inverse @ U
            M, _ = _inverse(U.T @ CU)
            Q = CU @ M
            return cls(inverse - Q @ CU.T, Q, M, condition)


def _inverse(C: Array) -> tuple[Array, float]:
    """C⁻¹ for a positive definite C, which is overwritten, and its conditioning."""
    if not len(C):
        return C, 1.0
    scale = unit_diagonal(C)
    norm = float(np.max(np.sum(np.abs(C), axis=0)))
    factor, failed = call_lapack(potrf, C.T, 1, 1, 1)
    condition = 0.0 if failed else dpocon(factor, norm, uplo="L")[0]
    if not condition > 16 * len(C) * EPS:
        raise NotAvailable("the equations of the rows that matter are singular")
    inverse, _ = call_lapack(potri, factor, 1, 1)
    lower = np.tril(inverse)
    lower += np.tril(inverse, -1).T
    return scale[:, None] * lower * scale, condition


class InRows:
    """Leave rows out of a fit, given by its predictions z and dual point θ, both (n, K).

    `softness` is 1/A: 0 for rows at a kink, ∞ for those that do not respond. With `resolve`, θ_F is
    recomputed from ŷ, which keeps digits that the given θ = −s·ℓ′(z) may have lost.
    """

    def __init__(
        self, kernel: LinearKernel, z: Array, theta: Array, softness: Array, *, resolve: bool
    ):
        self.kernel, self.z, self.theta, self.softness = kernel, z, theta.copy(), softness
        self.answers = np.flatnonzero(np.isfinite(softness))
        self.fixed = np.flatnonzero(np.isinf(softness) & np.any(theta != 0, axis=1))
        if not len(self.answers):
            raise NotAvailable("no prediction changes when a row is left out")
        if len(self.answers) > LARGEST_SYSTEM:
            raise NotAvailable(f"{len(self.answers)} rows are too many for one dense system")
        C = kernel.among(self.answers)
        C[np.diag_indices(len(C))] += softness[self.answers]
        self.answer = Answer.of(C, kernel.free[self.answers])
        self.response = z.copy()
        self.response[self.answers] += softness[self.answers, None] * theta[self.answers]
        if resolve:
            self.theta[self.answers] = self._solved()

    def lost(self, leverage: Array) -> float:
        """The rounding error of the results."""
        return len(self.answers) * EPS / self.answer.condition

    def _solved(self) -> Array:
        """θ_F from the response, given the θ of the rows that do not respond."""
        theta = self.theta[self.fixed]
        with single_blas():
            right = self.response[self.answers]
            right -= self.kernel.between(self.answers, self.fixed) @ theta
            total = self.kernel.free[self.fixed].T @ theta
            return self.answer.P @ right - self.answer.Q @ total

    def leave(self, groups: Array | None) -> tuple[Array, Array]:
        """Each row predicted without itself or its group, and the leverages."""
        return self.leave_each() if groups is None else self.leave_groups(groups)

    def leave_each(self) -> tuple[Array, Array]:
        """Each row predicted without itself, and the leverages."""
        held, leverage = self.z.copy(), np.zeros(len(self.z))
        diagonal = np.diag(self.answer.P)
        leverage[self.answers] = 1 - self.softness[self.answers] * diagonal
        pull = self.theta[self.answers] / diagonal[:, None]
        held[self.answers] = self.response[self.answers] - pull
        for block in blocks(len(self.fixed), len(self.answers)):
            rows = self.fixed[block]
            held[rows] -= self.theta[rows] * self._span(rows)[:, None]
        return held, leverage

    def _span(self, rows: Array) -> Array:
        """The distance of rows that do not respond from the span of those that do."""
        k, U = self.kernel.between(rows, self.answers), self.kernel.free[rows]
        with single_blas():
            along = np.einsum("ij,ij->i", k @ self.answer.P, k)
            across = np.einsum("ij,ij->i", k @ self.answer.Q, U)
            bias = np.einsum("ij,ij->i", U @ self.answer.M, U)
        return self.kernel.diagonal(rows) - along - 2 * across + bias

    def leave_groups(self, groups: Array) -> tuple[Array, Array]:
        """Each row predicted without its group, and the leverages of the groups."""
        held, leverage = self.z.copy(), np.zeros(len(self.z))
        position = np.full(len(self.z), -1)
        position[self.answers] = np.arange(len(self.answers))
        for rows in members(groups):
            inside, outside = rows[position[rows] >= 0], rows[position[rows] < 0]
            at = position[inside]
            held[inside], held[outside] = self._leave(at, inside, outside)
            root = np.sqrt(self.softness[inside])
            kept = root[:, None] * self.answer.P[np.ix_(at, at)] * root
            leverage[rows] = 1 - np.min(np.linalg.eigvalsh(kept), initial=1.0)
        return held, leverage

    def _leave(self, at: Array, inside: Array, outside: Array) -> tuple[Array, Array]:
        """Predictions of the responding rows of a group, at these positions, and of the others.

        Their θ become 0: of the others directly, of the responding ones by a shift of their
        response.
        """
        P, Q, M = self.answer.P, self.answer.Q, self.answer.M
        theta = self.theta[outside]
        k, U = self.kernel.between(outside, self.answers), self.kernel.free[outside]
        with single_blas():
            push, total = k.T @ theta, U.T @ theta
            change = P[at] @ push + Q[at] @ total
            shift = -np.linalg.solve(P[np.ix_(at, at)], self.theta[inside] + change)
            push[at] += shift
            moved, of_free = P @ push + Q @ total, Q.T @ push - M @ total
            others = k @ moved + U @ of_free
            if len(outside):
                others -= self.kernel.among(outside) @ theta
        return self.response[inside] + shift, self.z[outside] + others


def kernel_of(problem: Problem, l2: Array) -> LinearKernel:
    """The kernel of a problem with a penalty ½Σ l2ⱼwⱼ²; the features with l2ⱼ = 0 are free."""
    design, is_free = problem.design, l2 == 0
    if np.count_nonzero(is_free) >= min(problem.n, LARGEST_SYSTEM):
        raise NotAvailable("too many features have no penalty")
    if problem.fit_bias:
        share = problem.weights / problem.weights.sum()
        design = design.shifted(design.transposed_times(share))
    inverse = np.where(is_free, 0.0, 1 / np.where(is_free, 1.0, l2))
    free = design.columns(np.flatnonzero(is_free)).dense()
    sizes = np.sqrt(np.mean(free**2, axis=0))
    free = free[:, sizes > 0] / sizes[sizes > 0]
    if problem.fit_bias:
        free = np.column_stack([free, np.ones(problem.n)])
    return LinearKernel(design, inverse, free)
