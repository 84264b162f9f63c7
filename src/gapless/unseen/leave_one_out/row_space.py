"""Problems with few wide rows, in as many coordinates as rows, where refits take no time.

Without some of its rows a model is still a sum of the others: w = Bv, where B spans all rows and
turns ½Σ l2ⱼwⱼ² into ½‖v‖². So one decomposition of X serves all refits, at any strength.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..._ground.design import Design
from ..._ground.lapack import call_lapack, eigh
from ..._ground.threads import single_blas
from ...penalties import L2
from ...problem import Parameters, Problem
from ...solvers import EPS, Cholesky, orthonormal, thin_qr, unit_diagonal
from ._base import squares_of

Array = np.ndarray
# The decomposition takes 4n²d operations, a pass over X 2nd times its density, and forty refits
# some hundred passes; it must leave NARROWER times fewer coordinates to be worth the way back, and
# its copies of X must not take much memory.
MOST_ROWS, NARROWER, MOST_ENTRIES = 400, 4, 2e7


@dataclass(frozen=True, eq=False)
class Narrow:
    """The coordinates v of w = `basis` v, on one design with the penalty ½Σ l2ⱼwⱼ²."""

    wide: Design
    design: Design
    basis: Array
    l2: Array

    @classmethod
    def of(cls, problems: Sequence[Problem]) -> Narrow | None:
        """The coordinates of problems on the same rows; None if they would save nothing."""
        wide, l2 = problems[0].design, squares_of(problems[0])
        is_wide = NARROWER * wide.n <= wide.d <= MOST_ENTRIES / wide.n
        if not is_wide or wide.n > MOST_ROWS * wide.density or l2 is None:
            return None
        if np.any(l2 == 0) or not all(_has_squares(problem, l2) for problem in problems[1:]):
            return None
        return cls(wide, *row_space(wide, l2), l2)

    def takes(self, problem: Problem) -> bool:
        """Whether a problem is on all the rows; its weights may differ."""
        return problem.design is self.wide

    def problem(self, problem: Problem) -> Problem:
        """The same problem in v. Its penalty may be stronger, by one factor for all features."""
        l2 = squares_of(problem)
        assert l2 is not None
        return replace(problem, design=self.design, penalty=L2(float(l2[0] / self.l2[0])))

    def start(self, at: Parameters) -> Parameters:
        """v of a w."""
        root = self.l2 if at.w.ndim == 1 else self.l2[:, None]
        with single_blas():
            return replace(at, w=self.basis.T @ (root * at.w))

    def back(self, at: Parameters) -> Parameters:
        """w of a v."""
        with single_blas():
            return replace(at, w=self.basis @ at.w)


def _has_squares(problem: Problem, l2: Array) -> bool:
    other = squares_of(problem)
    return other is not None and np.array_equal(l2, other)


def row_space(design: Design, l2: Array) -> tuple[Design, Array]:
    """XB and B (d, n) with which w = Bv turns ½Σ l2ⱼwⱼ² into ½‖v‖², for n < d and all l2ⱼ > 0."""
    root = np.sqrt(l2)
    Q, R = call_lapack(thin_qr, (design.dense() / root).T)
    return Design(np.ascontiguousarray(R.T)), Q / root[:, None]


def reduced_space(design: Design, l2: Array) -> tuple[Design, Array] | None:
    """The same if X has no more columns than rows but a rank below d; None if it has full rank."""
    root = np.sqrt(l2)
    G = design.gram() / np.multiply.outer(root, root)
    if Cholesky(G.copy()).is_reliable:
        return None
    scale = unit_diagonal(G)
    values, vectors = call_lapack(eigh, G)
    keep = values > 16 * len(values) * EPS * max(values[-1], 0.0)
    if np.all(keep):
        return None
    # The units of the features are restored, and the basis made orthonormal again.
    basis = orthonormal(vectors[:, keep] / scale[:, None]) / root[:, None]
    return Design(np.ascontiguousarray(design.times(basis))), basis
