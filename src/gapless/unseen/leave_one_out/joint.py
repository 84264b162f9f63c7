"""One Newton step for outputs coupled by the loss (softmax) or by the penalty (groups).

The unknowns are the active coefficients of all outputs, in the order of w, then the biases. Row i
has a curvature Aᵢ = s(diag(a) − ffᵀ) and a block Jᵢ, both K × K, in place of numbers.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from ..._ground.memory import blocks
from ..._ground.threads import single_blas
from ...penalties import L2
from ...problem import FreeColumns, Parameters, Problem, joint_hessian
from ._base import (
    Array,
    NotAvailable,
    block_step,
    members,
    refuse_large_system,
    squares_of,
    whiten,
)
from .distinct import MergedRows
from .row_space import reduced_space, row_space

# Curvatures of rows of one x may differ by the rounding of their predictions.
ALIKE = 1e-6


def hold_out(
    problem: Problem, parameters: Parameters, units: MergedRows, groups: Array | None
) -> tuple[Array, Array]:
    """Held-out predictions of the units (m, K) and leverages."""
    z = problem.predictions(parameters.w, parameters.b)
    g, factors = units.sums(problem.derivative(z)), _hessian_factors(problem, z, units)
    problem, z = units.merged(problem), units.firsts(z)
    problem, parameters = _in_row_space(problem, parameters)
    step = JointStep(problem, parameters.w, z, g, *factors)
    return step.leave_each() if groups is None else step.leave_groups(groups)


def _hessian_factors(problem: Problem, z: Array, units: MergedRows) -> tuple[Array, Array]:
    """a and f (m, K) such that diag(a) − ffᵀ is the mean curvature of the rows of each unit."""
    a, f = problem.loss.hessian_factors(problem.y, z)
    mean = units.means(a, problem.weights)
    if f is None:
        return mean, np.zeros_like(mean)
    # The curvature of softmax is the same for all targets. A mean of different ffᵀ has no such
    # form.
    first = units.firsts(f)
    if not np.allclose(f[units.kept], first[units.inverse], rtol=ALIKE, atol=ALIKE):
        raise NotAvailable("the curvature of the loss differs among rows with the same x")
    return mean, first


def _in_row_space(problem: Problem, parameters: Parameters) -> tuple[Problem, Parameters]:
    """The same problem in as many coordinates as X has rank, if that is less, and all l2ⱼ > 0.

    Indicator columns of categories add up to ones, so many of them are redundant.
    """
    l2, design = squares_of(problem), problem.design
    if l2 is None or np.any(l2 == 0):
        return problem, parameters
    # Checked first: for wide data the new coordinates alone take longer than a fit.
    refuse_large_system(min(problem.n, problem.d) * parameters.w.shape[1], problem)
    if problem.d > problem.n:
        design, basis = row_space(design, l2)
    else:
        found = reduced_space(design, l2)
        if found is None:
            return problem, parameters
        design, basis = found
    with single_blas():
        w = basis.T @ (l2[:, None] * parameters.w)
    return replace(problem, design=design, penalty=L2(1.0)), replace(parameters, w=w)


class JointStep:
    """The Hessian in all unknowns, and the effect of leaving rows out on their K predictions."""

    def __init__(self, problem: Problem, w: Array, z: Array, g: Array, a: Array, f: Array):
        self.problem, self.z, self.K = problem, z, z.shape[1]
        active = problem.penalty.active(w)
        self.count = int(np.count_nonzero(active))
        self.size = self.count + self.K * problem.fit_bias
        refuse_large_system(self.size, problem)
        used = np.flatnonzero(active.any(axis=1))
        self.active, self.free = active[used], np.searchsorted(used, problem.free)
        self.order = np.cumsum(self.active).reshape(self.active.shape) - 1
        self.design = problem.design.columns(used) if len(used) < problem.d else problem.design
        if problem.fit_bias:
            share = problem.weights / problem.weights.sum()
            self.design = self.design.shifted(self.design.transposed_times(share))
        self.g, self.a, self.f = g, a, f
        self.W, _ = whiten(self._hessian(problem.penalty.hessian(w)))

    def _unknowns(self, k: int) -> tuple[Array, Array]:
        """The active features of output k, and the positions of its unknowns, bias last."""
        features = np.flatnonzero(self.active[:, k])
        at = self.order[features, k]
        return features, np.append(at, self.count + k) if self.problem.fit_bias else at

    # ---- the Hessian -----------------------------------------------------------------------------

    def _hessian(self, penalty: Array) -> Array:
        H = self._hessian_of_all() if self.active.all() else self._hessian_of_active()
        if penalty.ndim == 1:
            H[np.arange(self.count), np.arange(self.count)] += penalty
        else:
            H[: self.count, : self.count] += penalty
        self._hold_shifts(H)
        return H

    def _hessian_of_all(self) -> Array:
        """The Hessian of the loss, by products of all outputs at once."""
        s, columns = self.problem.weights[:, None], FreeColumns(self.design, self.problem.fit_bias)
        f = np.sqrt(s) * self.f if np.any(self.f) else None
        at = np.concatenate([self._unknowns(k)[1] for k in range(self.K)])
        H = np.empty((self.size, self.size))
        with single_blas():
            H[np.ix_(at, at)] = joint_hessian(s * self.a, f, columns)
        return H

    def _hessian_of_active(self) -> Array:
        """The same if outputs have different features, one pair of outputs at a time."""
        H = np.zeros((self.size, self.size))
        for k in range(self.K):
            features, at = self._unknowns(k)
            for j in range(k + 1):
                c = (self.a[:, k] if j == k else 0.0) - self.f[:, k] * self.f[:, j]
                others, other_at = self._unknowns(j)
                block = self._bordered_gram(self.problem.weights * c, features, others)
                H[np.ix_(at, other_at)] = block
                H[np.ix_(other_at, at)] = block.T
        return H

    def _bordered_gram(self, c: Array, features: Array, others: Array) -> Array:
        """[X, 1]ᵀ diag(c) [X, 1] between two sets of features, for c of any sign."""
        with_bias = int(self.problem.fit_bias)
        union = np.union1d(features, others)
        block = np.ix_(np.searchsorted(union, features), np.searchsorted(union, others))
        G = np.zeros((len(features) + with_bias, len(others) + with_bias))
        for sign in (1.0, -1.0):
            part = np.maximum(sign * c, 0.0)
            if part.any():
                G[: len(features), : len(others)] += sign * self.design.gram(part, union)[block]
        if with_bias:
            sums = self.design.transposed_times(c)
            G[:-1, -1], G[-1, :-1], G[-1, -1] = sums[features], sums[others], c.sum()
        return G

    def _hold_shifts(self, H: Array) -> None:
        """Make H regular if the same shift of all scores costs nothing, as for softmax.

        Such shifts change no probability, so it does not matter how they are held.
        """
        of_ones = self.a - self.f * self.f.sum(axis=1, keepdims=True)
        if np.max(np.abs(of_ones), initial=0.0) > 1e-10:
            return
        shifts = list(self.order[self.free])
        if self.problem.fit_bias:
            shifts.append(np.arange(self.count, self.size))
        for at in shifts:
            H[np.ix_(at, at)] += np.trace(H[np.ix_(at, at)]) / self.K**2

    # ---- leaving out -----------------------------------------------------------------------------

    def _answers(self, rows) -> Array:
        """B of these rows, (r, K, p): their predictions respond by Jᵢ = BᵢBᵢᵀ."""
        part = self.design.rows(rows)
        B = np.empty((part.n, self.K, self.W.shape[1]))
        for k in range(self.K):
            features, at = self._unknowns(k)
            right = np.zeros((part.d, self.W.shape[1]))
            right[features] = self.W[at[: len(features)]]
            B[:, k] = part.times(right)
            if self.problem.fit_bias:
                B[:, k] += self.W[self.count + k]
        return B

    def _moves(self, rows: slice) -> Array:
        """J of these rows, (r, K, K), one pair of outputs at a time."""
        x, d = FreeColumns(self.design, self.problem.fit_bias).dense(rows), self.design.d
        J, parts = np.empty((len(x), self.K, self.K)), []
        with single_blas():
            for k in range(self.K):
                features, at = self._unknowns(k)
                columns = np.append(features, d) if self.problem.fit_bias else features
                parts.append((x if len(columns) == x.shape[1] else x[:, columns], at))
                for j, (others, other_at) in enumerate(parts):
                    moved = parts[k][0] @ self._inverse[np.ix_(at, other_at)]
                    J[:, k, j] = J[:, j, k] = np.einsum("ni,ni->n", moved, others)
        return J

    @cached_property
    def _inverse(self) -> Array:
        """H⁻¹."""
        with single_blas():
            return self.W @ self.W.T

    def _roots(self, rows) -> Array:
        """R of these rows, (r, K, K), with Aᵢ = RᵢRᵢᵀ.

        R = diag(√(sa))(I − τuuᵀ), u = f/√a: the root of I − uuᵀ is I − τuuᵀ.
        """
        root = np.sqrt(self.a[rows])
        u = np.divide(self.f[rows], root, out=np.zeros_like(root), where=root > 0)
        length = np.minimum(np.sum(u**2, axis=1), 1.0)
        tau = 1 / (1 + np.sqrt(1 - length))
        R = np.eye(self.K) - tau[:, None, None] * u[:, :, None] * u[:, None, :]
        return (np.sqrt(self.problem.weights[rows])[:, None] * root)[:, :, None] * R

    def leave_each(self) -> tuple[Array, Array]:
        """Each row predicted without itself, and the leverages.

        The K predictions of a row move by J(g + A(I − JA)⁻¹Jg), in which AJ is similar to RᵀJR.
        """
        held, leverage = self.z.copy(), np.zeros(len(self.z))
        for rows in blocks(len(self.z), 2 * self.K * (self.K + self.design.d)):
            J, R, g = self._moves(rows), self._roots(rows), self.g[rows][:, :, None]
            with single_blas(), np.errstate(divide="ignore", invalid="ignore"):
                Rt = R.transpose(0, 2, 1)
                values, vectors = np.linalg.eigh(Rt @ J @ R)
                along = vectors.transpose(0, 2, 1) @ (Rt @ (J @ g))
                solved = vectors @ (along / (1 - values)[:, :, None])
                held[rows] += (J @ (g + R @ solved))[:, :, 0]
            leverage[rows] = values[:, -1]
        return held, leverage

    def leave_groups(self, groups: Array) -> tuple[Array, Array]:
        """Each row predicted without its group, and the leverages of the groups."""
        held, leverage = self.z.copy(), np.zeros(len(self.z))
        for rows in members(groups):
            B = self._answers(rows)
            # TTᵀ of a group is similar to AJ.
            T = self._roots(rows).transpose(0, 2, 1) @ B
            B, T = (each.reshape(len(rows) * self.K, -1) for each in (B, T))
            step, leverage[rows] = block_step(B, T, self.g[rows].reshape(-1, 1))
            held[rows] += step.reshape(len(rows), self.K)
        return held, leverage
