"""The Gram matrix of outputs coupled by the loss: one quadratic in all their coefficients.

Called by `quadratic_model`. The cost of coordinate descent on it does not grow with the rows, but
forming it does, more than anything else in a step; so steps share one while it predicts them well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._ground import core
from .._ground.interrupt import deadline
from ..problem import FreeColumns, Problem, joint_hessian
from .working_set import Part

Array = np.ndarray
EPS = float(np.finfo(float).eps)

# Up to this many coefficients of all outputs, the matrix costs less than sweeps over columns.
MOST_COEFFICIENTS = 1000
# Keep a matrix while P changes as its model predicts, up to this part: each step then leaves about
# that part of the way to the minimum.
FORETOLD = 0.25
# Rebuild it if that takes at most this many multiplications: saving steps is worth more.
CHEAP = 2e7
# Sweeps are so cheap compared with a step that they continue to this much smaller a gain.
TIGHTER = 0.1


def is_small(problem: Problem, part: Part, outputs: int) -> bool:
    """Whether the Gram matrix of all coefficients costs less than the sweeps it saves."""
    count = len(part.features) * outputs
    is_cheap = 0 < count <= min(MOST_COEFFICIENTS, max(4 * problem.n, 400))
    is_plain = not part.is_grouped and part.concave is None
    return is_cheap and is_plain and problem.design.density > 0.2


@dataclass(frozen=True, eq=False)
class JointGram:
    """XᵀHX of some columns, one output after another, with the free biases optimal for each w.

    Row i has the Hessian diag(aᵢ) − fᵢfᵢᵀ in its K scores. `values` is (Kp, Kp); the biases follow
    by −H_bb⁺(g_b + H_bw δw), where `inverse` is H_bb⁺ and `cross` is H_bw, 0 without biases.
    """

    features: Array
    values: Array
    inverse: Array
    cross: Array

    @classmethod
    def of(cls, problem: Problem, features: Array, a: Array, f: Array) -> JointGram:
        """The matrix for the columns of these features; a and f are (n, K), weights included."""
        columns = FreeColumns(problem.design.columns(features), problem.fit_bias)
        H = joint_hessian(a, f, columns)
        if not problem.fit_bias:
            K = a.shape[1]
            return cls(features, H, np.zeros((K, K)), np.zeros((K, len(H))))
        is_bias = np.arange(len(H)) % columns.m == columns.m - 1
        values = np.ascontiguousarray(H[np.ix_(~is_bias, ~is_bias)])
        cross = np.ascontiguousarray(H[np.ix_(is_bias, ~is_bias)])
        raw = np.diag(values).copy()
        # The same shift of all biases changes nothing, so H_bb may be singular.
        inverse = np.linalg.pinv(H[np.ix_(is_bias, is_bias)], rcond=64 * EPS, hermitian=True)
        values -= cross.T @ (inverse @ cross)
        # The remainder of a constant column is rounding.
        constant = np.diag(values) <= 64 * EPS * raw
        values[constant] = 0.0
        values[:, constant] = 0.0
        return cls(features, values, inverse, cross)

    def part(self, features: Array) -> JointGram | None:
        """The matrix of some of its columns; None if it lacks one of them."""
        if np.array_equal(features, self.features):
            return self
        places = np.searchsorted(self.features, features)
        if np.any(self.features[np.minimum(places, len(self.features) - 1)] != features):
            return None
        outputs = np.arange(len(self.inverse))[:, None] * len(self.features)
        at = (outputs + places).ravel()
        values = np.ascontiguousarray(self.values[np.ix_(at, at)])
        return JointGram(features, values, self.inverse, np.ascontiguousarray(self.cross[:, at]))

    def minimise(
        self,
        slope: Array,
        bias_slope: Array | None,
        part: Part,
        w: Array,
        tolerance: float,
        sweeps: int,
    ) -> tuple[Array, float, bool]:
        """Move w (p, K) to the minimiser; return the step of the biases, δᵀHδ, and convergence."""
        K, start = w.shape[1], w.T.ravel()
        of_biases = self.inverse @ (np.zeros(K) if bias_slope is None else bias_slope)
        g = slope.T.ravel() - self.cross.T @ of_biases
        g[np.diag(self.values) == 0] = 0.0
        arrays = tuple(np.tile(a, K) for a in part.arrays)
        x = start.copy()[:, None]
        _, converged = core.gram_descent(
            self.values, g[:, None], arrays, x, TIGHTER * tolerance, sweeps, deadline()
        )
        w[:] = x.reshape(K, -1).T
        step = x[:, 0] - start
        # δᵀHδ of both, with the biases substituted: only their slopes remain.
        curve = float(step @ (self.values @ step))
        curve += 0.0 if bias_slope is None else float(bias_slope @ of_biases)
        return -of_biases - self.inverse @ (self.cross @ step), curve, converged


class KeptGram:
    """The last Gram matrix, kept while it predicts steps well; `plain` is that of one output.

    Also the last predictions and product Xᵀr: the end of one strength is the start of the next.
    """

    def __init__(self, gram: JointGram | None = None):
        self.gram = gram
        self.plain: Any = None
        self._last: tuple[Array, Array] | None = None
        self._at: tuple[Array, Array, Array] | None = None

    def product(self, problem: Problem, r: Array) -> Array:
        """Xᵀr, not to be changed."""
        if self._last is None or not np.array_equal(self._last[0], r):
            self._last = r, problem.design.transposed_times(r)
        return self._last[1]

    def remember(self, w: Array, b: Array, z: Array) -> None:
        """Keep the predictions of an iterate."""
        self._at = w, b, z

    def predictions(self, w: Array, b: Array) -> Array | None:
        """z if this is the last iterate, with all its bits."""
        if self._at is None or not (np.array_equal(self._at[0], w) and np.all(self._at[1] == b)):
            return None
        return self._at[2]

    def of(self, problem: Problem, features: Array, a: Array, f: Array) -> JointGram:
        """The matrix of some columns: taken from the kept one, or formed at a and f."""
        is_cheap = len(a) * (len(features) * a.shape[1]) ** 2 <= CHEAP
        known = None if self.gram is None or is_cheap else self.gram.part(features)
        if known is None:
            known = self.gram = JointGram.of(problem, features, a, f)
        return known

    def judge(self, error: float) -> None:
        """Forget the matrix if P changed otherwise than predicted, by more than a part."""
        if not error <= FORETOLD:
            self.gram = None
