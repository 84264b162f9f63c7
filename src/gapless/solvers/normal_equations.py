"""Weighted normal equations with a bias: (XᵀDX + diag(h)) dw = r, for very different weights.

Called by the interior point method and by the polish, whose weights D span many orders of
magnitude, and by the augmented Lagrangian, where most of them are 0.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from .._ground.design import Design
from .._ground.lapack import call_lapack, potrf
from .._ground.threads import single_blas
from .newton_steps import inner
from .positive_definite import unit_diagonal

Array = np.ndarray
EPS = float(np.finfo(float).eps)
TINY = float(np.finfo(float).tiny)
REFINEMENTS = 2
ACCURATE = 1e-13  # a residual this small needs no refinement


class NormalMatrix:
    """XᵀDX + diag(l2 + more), bordered by the bias, for D = diag(stiffness).

    The smaller form is factorised. The one in the rows contains 1/(l2 + more), which would swamp
    1/D as `more` goes to 0: it is used only if all l2 > 0. `bias_curvature` is added to ΣD, to keep
    the bias in place if no row does.
    """

    def __init__(
        self,
        design: Design,
        stiffness: Array,
        l2: Array,
        fit_bias: bool,
        more: Array | float = 0.0,
        bias_curvature: float = 0.0,
    ):
        self.design, self.stiffness, self.h = design, stiffness, l2 + more
        self.fit_bias, self.bias_curvature = fit_bias, bias_curvature
        form = ByRows if design.d > np.count_nonzero(stiffness) and np.all(l2 > 0) else ByColumns
        self.inverse = form(design, stiffness, self.h, fit_bias, bias_curvature)

    def solve(self, w: Array, b: float) -> tuple[Array, float]:
        """The change of w and b, refined while that helps: D and h may be twenty digits apart."""
        dw, db, last = np.zeros(self.design.d), 0.0, np.inf
        rest_w, rest_b = w, b
        size = float(np.max(np.abs(w), initial=abs(b) * self.fit_bias))
        for _ in range(1 + REFINEMENTS):
            more_w, more_b = self.inverse.solve(rest_w, rest_b)
            new_w, new_b = dw + more_w, db + more_b
            slopes = self.stiffness * (self.design.times(new_w) + new_b)
            rest_w = w - self.design.transposed_times(slopes) - self.h * new_w
            if self.fit_bias:
                rest_b = b - float(slopes.sum()) - self.bias_curvature * new_b
            left = float(np.max(np.abs(rest_w), initial=abs(rest_b) * self.fit_bias))
            if not left < 0.5 * last:
                break
            dw, db, last = new_w, new_b, left
            if left <= ACCURATE * size:
                break
        return dw, db


class ByColumns:
    """The matrix itself, d × d, after the bias is eliminated."""

    def __init__(self, design: Design, stiffness: Array, h: Array, fit_bias: bool, bias: float):
        G = design.gram(stiffness)
        G[np.diag_indices(design.d)] += h
        self.border, self.total, self.fit_bias = np.zeros(design.d), 1.0, fit_bias
        if fit_bias:
            self.border = design.transposed_times(stiffness)
            self.total = max(float(stiffness.sum()) + bias, TINY)
            G -= np.multiply.outer(self.border, self.border / self.total)
        self.factor = Factor(G)

    def solve(self, w: Array, b: float) -> tuple[Array, float]:
        """Approximate changes of w and b."""
        if not self.fit_bias:
            return self.factor.solve(w), 0.0
        dw = self.factor.solve(w - self.border * (b / self.total))
        return dw, (b - inner(self.border, dw)) / self.total


class ByRows:
    """The inverse through D⁻¹ + X diag(h)⁻¹ Xᵀ, in the rows where D is not 0."""

    def __init__(self, design: Design, stiffness: Array, h: Array, fit_bias: bool, bias: float):
        rows = np.flatnonzero(stiffness)
        self.design = design if len(rows) == design.n else design.rows(rows)
        self.inverse, self.fit_bias = 1 / h, fit_bias
        K = self.design.outer_gram(self.inverse)
        K[np.diag_indices(len(rows))] += 1 / stiffness[rows]
        self.factor = Factor(K)
        self.ones = self.factor.solve(np.ones(len(rows)))
        self.total = max(float(self.ones.sum()) + bias, TINY)

    def solve(self, w: Array, b: float) -> tuple[Array, float]:
        """Approximate changes of w and b."""
        y, db = self.factor.solve(self.design.times(self.inverse * w)), 0.0
        if self.fit_bias:
            db = (b - float(y.sum())) / self.total
            y = y + db * self.ones
        return self.inverse * (w - self.design.transposed_times(y)), db


class Factor:
    """The Cholesky factor of a positive semi-definite matrix, lifted until it exists.

    The lift is relative to the diagonal and far below the digits that matter; refinement removes
    it.
    """

    def __init__(self, A: Array):
        self.scale = unit_diagonal(A)
        self.factor, lift, failed = A, 4 * EPS, len(A) > 0
        while failed and lift < 1:
            A[np.diag_indices(len(A))] = 1 + lift
            # The transpose is in LAPACK's order, and the same matrix.
            self.factor, failed = call_lapack(potrf, A.T, 1)
            lift *= 100

    def solve(self, r: Array) -> Array:
        """A⁻¹r, approximately."""
        if not len(r):
            return np.zeros_like(r)
        with single_blas():
            x, _ = lapack.dpotrs(self.factor, self.scale * r, lower=1)
        return self.scale * x
