"""Few wide rows: the same problem in as many coordinates as there are rows.

The minimiser of a loss of Xw + b with ½l2‖w‖² is a sum of rows. With XXᵀ = UΛUᵀ, L = UΛ^½ and w =
XᵀUΛ^{−½}v, ‖w‖ = ‖v‖ and Xw = Lv: P, D and all θ are the same. That leaves cond(X) times the
rounding of X in Xw, so ill-conditioned rows take a slower route: X = LQᵀ with orthonormal columns
of Q, and w = Qv.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from .._ground.design import Design
from .._ground.lapack import call_lapack, eigh
from .._ground.threads import single_blas
from ..penalties import L2
from ..problem import Parameters, Problem
from .newton_steps import strengths
from .positive_definite import EPS

Array = np.ndarray
# Decomposing this many rows takes most of a second.
MOST_ROWS = 1000
# Eigenvalues of XXᵀ below this part of the largest require Q; those within rounding are dropped.
SMALLEST = 1e-6


@dataclass(frozen=True, eq=False)
class RowSpace:
    """The coordinates v of w, on the design L; `enter` maps w to v, `leave` maps v to w."""

    design: Design
    enter_by: Callable[[Array], Array]
    leave: Callable[[Array], Array]

    @classmethod
    def of(cls, design: Design) -> RowSpace:
        """The row space of a design with fewer rows than columns."""
        with single_blas():
            values, vectors = call_lapack(eigh, design.outer_gram())
        is_none = values <= len(values) * EPS * values[-1]
        if not values[-1] > 0 or np.any(values[~is_none] < SMALLEST * values[-1]):
            return cls._by_qr(design)
        root, U = np.sqrt(values[~is_none]), vectors[:, ~is_none]
        basis = U / root

        def enter(w: Array) -> Array:
            return basis.T @ design.times(w)

        def leave(v: Array) -> Array:
            return design.transposed_times(basis @ v)

        return cls(Design(np.ascontiguousarray(U * root)), enter, leave)

    @classmethod
    def _by_qr(cls, design: Design) -> RowSpace:
        Q, R = call_lapack(thin_qr, design.dense().T)
        return cls(Design(np.ascontiguousarray(R.T)), lambda w: Q.T @ w, lambda v: Q @ v)

    def problem(self, problem: Problem) -> Problem:
        """The same problem in v."""
        l2 = float(strengths(problem).flat[0])
        return replace(problem, design=self.design, penalty=L2(l2))

    def enter(self, at: Parameters) -> Parameters:
        """The v of a w, ignoring its part outside the row space."""
        with single_blas():
            return replace(at, w=self.enter_by(at.w))


def is_wide(problem: Problem) -> bool:
    """Whether the row space is smaller than X, cheap to find, and sufficient."""
    coordinates = problem.coordinates
    if coordinates is None or not coordinates.is_quadratic():
        return False
    l2 = strengths(problem)
    is_uniform = bool(np.all(l2 == l2[:1]))
    return is_uniform and problem.n < problem.d and problem.n <= MOST_ROWS * problem.design.density


def thin_qr(A: Array) -> tuple[Array, Array]:
    """Q and R of A = QR, with as many columns in Q as in A."""
    return scipy.linalg.qr(A, mode="economic", check_finite=False)
