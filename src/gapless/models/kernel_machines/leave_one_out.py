"""Kernel ridge regression without some of its rows: exactly, from one inverse.

Rows of one x are one row with the mean of their targets. With P the inverse of K + λS⁻¹ off the
bias, y₍₋ᵢ₎ = yᵢ − cᵢ/Pᵢᵢ, for groups y_G − P_GG⁻¹c_G. The model without row i predicts
f(x) − (k(x)ᵀP + Qᵀ)ᵢ cᵢ/Pᵢᵢ for a new x, where Q moves the bias. Called by `unseen`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..._ground.design import Design
from ..._ground.threads import single_blas
from ...unseen import (
    Answer,
    MergedRows,
    Model,
    NotAvailable,
    Refittable,
    counted_labels,
    kernel_dial,
    members,
    sums_by,
)
from .least_squares import Array, Coefficients, KernelSquares

# Up to this many distinct x an inverse takes a few seconds; beyond, folds are faster.
MOST_ROWS = 5000


@dataclass(frozen=True, eq=False)
class Pulls:
    """How targets of one strength move when rows are left out.

    `columns` (n, r) and `of_bias` (r,) are P and Q of these rows, `pull` (r, K) is cᵢ/Pᵢᵢ.
    """

    targets: Array
    columns: Array
    of_bias: Array
    pull: Array


class KernelFit(Refittable):
    """A kernel ridge regression, and how to do it again.

    Parameters
    ----------
    design, y, weights
        As in `Refittable`.
    kernel : Kernel
        With all its parameters numbers.
    strengths : ndarray of shape (K,)
        λ of each target.
    fit_bias : bool
        Whether there is a bias.
    found : Coefficients, optional
        Those of all rows, where the model is fitted already.
    noise : ndarray of shape (n,), optional
        By what the strength of each row is multiplied.
    offset : ndarray of shape (K,), optional
        What is subtracted from the targets first, and not fitted.
    """

    def __init__(
        self,
        design: Design,
        y: Array,
        weights: Array,
        kernel: Any,
        strengths: Array,
        fit_bias: bool,
        found: Coefficients | None = None,
        noise: Array | None = None,
        offset: Array | float = 0.0,
    ):
        super().__init__(design, y, weights)
        self.kernel, self.strengths, self.fit_bias = kernel, strengths, fit_bias
        self.found, self.noise, self.offset = found, noise, offset
        # A row with less noise counts for more.
        self.trust = weights if noise is None else weights / noise

    def squares(self, distinct: MergedRows) -> KernelSquares:
        """The objective with the rows of one x as one."""
        rows = None if distinct.is_everything else distinct.first
        y = distinct.means(self._targets, self.trust)
        return KernelSquares(self.kernel, self.design.X, rows, y, distinct.weights, self.fit_bias)

    @property
    def _targets(self) -> Array:
        return self.y.reshape(len(self.y), -1) - self.offset

    @cached_property
    def labels(self) -> Array:
        """Rows that differ in their noise are not equal."""
        y = self.y.reshape(len(self.y), -1)
        return self.design.equal_rows(y if self.noise is None else np.column_stack([y, self.noise]))

    @property
    def model(self) -> Model:
        """The fitted model, or one that is fitted now."""
        if self.found is None:
            return self.fit_to(np.flatnonzero(self.is_counted))
        rows = np.flatnonzero(np.any(self.found.c != 0, axis=1))
        return self._model(rows, replace(self.found, c=self.found.c[rows]))

    def fit_to(self, rows):
        """The same kernel and strengths on some rows."""
        y, trust = self._targets[rows], self.trust[rows]
        part = KernelSquares(self.kernel, self.design.X, rows, y, trust, self.fit_bias)
        return self._model(rows, solve_each(part, self.strengths))

    def _model(self, rows: Array, found: Coefficients) -> Model:
        """A function that predicts new rows from the coefficients of some rows."""
        base = base_rows(self.kernel, self.design, rows)

        def predict(design: Design) -> Array:
            return self.kernel.times(design.X, base, found.c) + found.b + self.offset

        return predict

    def held_out(self, groups):
        """Exact, from one inverse for each strength."""
        labels = self.units
        if groups is not None:
            pairs = groups * (labels.max(initial=0) + 1) + labels
            labels = np.unique(pairs, return_inverse=True)[1]
        distinct = MergedRows.of(labels, self.trust)
        groups = None if groups is None else groups[distinct.first]
        squares = self.squares(distinct)
        held = np.empty_like(squares.y)
        for strength in np.unique(self.strengths):
            targets = self.strengths == strength
            answer = self._inverse(squares, strength)
            held[:, targets] = _without_groups(answer.P, squares.y[:, targets], groups)
        held += self.offset
        return distinct.spread(held, np.zeros((len(self.y), held.shape[1])))

    def without_each(self, rows):
        """Exact, from the columns of P that belong to the rows."""
        distinct = MergedRows.of(self.units, self.trust)
        squares = self.squares(distinct)
        order = np.argsort(self.units[distinct.first])
        at = order[np.searchsorted(self.units[distinct.first], self.units[rows], sorter=order)]
        parts = [self._pulls(squares, strength, at) for strength in np.unique(self.strengths)]
        held = squares.y[at].copy()
        for part in parts:
            held[:, part.targets] -= part.pull
        held += self.offset
        base = base_rows(self.kernel, self.design, distinct.first)
        full = self.model

        def predict(design: Design) -> Array:
            k = self.kernel.gram(design.X, base)
            z = np.repeat(full(design)[:, None, :], len(rows), axis=1)
            for part in parts:
                with single_blas():
                    moved = k @ part.columns + part.of_bias
                z[:, :, part.targets] -= moved[:, :, None] * part.pull
            return z

        return held, predict

    def _pulls(self, squares: KernelSquares, strength: float, at: Array) -> Pulls:
        answer, targets = self._inverse(squares, strength), self.strengths == strength
        with single_blas():
            c = answer.P[at] @ squares.y[:, targets]
        pull = c / np.diag(answer.P)[at, None]
        return Pulls(targets, answer.P[:, at], answer.Q[at].sum(axis=1), pull)

    def scaled(self, factor):
        """All strengths times `factor`."""
        if not np.all(self.strengths > 0):
            return None
        return self._with(self.kernel, factor * self.strengths)

    def simpler(self):
        """A stronger penalty, or a wider kernel."""
        return [*super().simpler(), kernel_dial(self.kernel, self._of_kernel, 0.1)]

    def richer(self):
        """A weaker penalty, or a narrower kernel."""
        return [*super().richer(), kernel_dial(self.kernel, self._of_kernel, 10.0)]

    @property
    def is_limited(self):
        """Whether the kernel has a fixed shape."""
        return self.kernel.is_limited

    @property
    def plain_rows(self):
        """The rows, unless they are a kernel matrix."""
        return self.design if self.kernel.name != "precomputed" else None

    def _of_kernel(self, kernel: Any) -> KernelFit:
        return self._with(kernel, self.strengths)

    def _with(self, kernel: Any, strengths: Array) -> KernelFit:
        return KernelFit(
            self.design,
            self.y,
            self.weights,
            kernel,
            strengths,
            self.fit_bias,
            noise=self.noise,
            offset=self.offset,
        )

    def _inverse(self, squares: KernelSquares, strength: float) -> Answer:
        if squares.n > MOST_ROWS:
            raise NotAvailable(f"{squares.n} rows are too many for one dense system")
        K = squares.new_gram()
        K[np.diag_indices(squares.n)] += strength / squares.weights
        free = np.ones((squares.n, int(self.fit_bias)))
        return Answer.of(K, free)


class ConstantFit(Refittable):
    """What is left of a model whose time was up before its equations were solved: f = 0.

    Its bias, if any, is the mean of the targets.
    """

    def __init__(self, design: Design, y: Array, weights: Array, fit_bias: bool):
        super().__init__(design, y, weights)
        self.fit_bias = fit_bias

    @property
    def model(self) -> Model:
        """The mean of all rows, or 0."""
        return self.fit_to(np.flatnonzero(self.is_counted))

    def fit_to(self, rows):
        """The mean of some rows, or 0."""
        y = self.y.reshape(len(self.y), -1)[rows]
        b = np.average(y, axis=0, weights=self.weights[rows])
        b = b if self.fit_bias else np.zeros_like(b)
        return lambda design: np.tile(b, (design.n, 1))

    def held_out(self, groups):
        """The mean of the other units, or 0."""
        units = self.units if groups is None else counted_labels(groups, self.is_counted)
        y, kept = self.y.reshape(len(self.y), -1), np.flatnonzero(self.is_counted)
        held = np.zeros(y.shape)
        if self.fit_bias:
            sums = sums_by(units[kept], (self.weights[:, None] * y)[kept])
            totals = np.bincount(units[kept], self.weights[kept])[:, None]
            if len(totals) < 2:
                raise NotAvailable("nothing would be left to learn from")
            held[kept] = ((sums.sum(axis=0) - sums) / (totals.sum() - totals))[units[kept]]
        return held

    def without_each(self, rows):
        """Not available in a form that is cheaper than folds."""
        raise NotAvailable("leaving a row out takes refits, so folds are used")


def base_rows(kernel: Any, design: Design, rows: Array) -> Any:
    """The rows of a model, as the kernel needs them to predict others."""
    return rows if kernel.name == "precomputed" else design.rows(rows).X


def solve_each(squares: KernelSquares, strengths: Array) -> Coefficients:
    """The coefficients of all targets, each with its own strength."""
    if np.all(strengths == strengths[0]):
        return squares.solve(float(strengths[0]))
    found = [
        replace(squares, y=squares.y[:, [k]]).solve(float(strength))
        for k, strength in enumerate(strengths)
    ]
    c, Kc = (np.hstack([getattr(part, name) for part in found]) for name in ("c", "Kc"))
    b = np.concatenate([part.b for part in found])
    return Coefficients(c, b, Kc, all(part.is_solved for part in found))


def _without_groups(P: Array, y: Array, groups: Array | None) -> Array:
    """Each row predicted without itself or its group, for targets (n, K)."""
    with single_blas():
        c = P @ y
        if groups is None:
            return y - c / np.diag(P)[:, None]
        held = y.copy()
        for rows in members(groups):
            held[rows] -= np.linalg.solve(P[np.ix_(rows, rows)], c[rows])
    return held
