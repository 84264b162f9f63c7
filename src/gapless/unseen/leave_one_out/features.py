"""One Newton step in the coefficients, for predictions not coupled by the loss.

With slopes g = s·ℓ′ and curvatures A = s·ℓ″ at the full fit, and the Hessian H = X̃ᵀAX̃ + Λ in the
coefficients that move and the bias, the model without the rows G is one step away:

    z₍₋G₎ = z_G + J_GG(I − A_G J_GG)⁻¹ g_G,    J = X̃H⁻¹X̃ᵀ.

References
----------
Allen (1974), Technometrics 16: exact for least squares and ridge.
Rad and Maleki (2020), J. R. Stat. Soc. B 82: approximate for other losses and penalties.
"""

from __future__ import annotations

import numpy as np

from ..._ground.design import Design
from ..._ground.memory import blocks
from ..._ground.threads import single_blas
from ...solvers import EPS, Curved, drop_constants
from ._base import LARGEST_SYSTEM, Array, NotAvailable, block_step, members, whiten


class InFeatures:
    """Leave rows out of a fit, given by its predictions z, slopes g, both (n, K), and A.

    `penalty` is the curvature of the penalty in the columns of the design: a matrix or its
    diagonal. A (n,) is shared by the K columns of g and z. `known` are the mean of the rows under A
    and X̃ᵀAX̃ with the bias eliminated, if a fit has computed them.
    """

    def __init__(
        self,
        design: Design,
        penalty: Array,
        A: Array,
        g: Array,
        z: Array,
        fit_bias: bool,
        known: tuple[Array, Array] | None = None,
    ):
        if design.d > LARGEST_SYSTEM:
            raise NotAvailable(f"{design.d} coefficients are too many for one dense system")
        total = float(A.sum())
        if fit_bias:
            if not total > 0:
                raise NotAvailable("the loss has no curvature at any row")
            mean = design.transposed_times(A / total) if known is None else known[0]
            design = design.shifted(mean)
        self.design, self.A, self.g, self.z = design, A, g, z
        self.of_bias = 1 / total if fit_bias else 0.0
        H = design.gram(A) if known is None else known[1].copy()
        if penalty.ndim == 2:
            H += penalty
        else:
            H[np.diag_indices(len(H))] += penalty
            if design.center is not None:
                drop_constants(H, penalty, total * design.center**2, design.n)
        self.W, self.condition = whiten(H)

    @classmethod
    def around(cls, design: Design, penalty: Array, at: Curved, fit_bias: bool) -> InFeatures:
        """The same for one prediction per row, given the loss at the solution."""
        known = at.mean, at.gram
        return cls(design, penalty, at.curvature, at.slope[:, None], at.z[:, None], fit_bias, known)

    def settle(self, l2: Array, w: Array) -> None:
        """Move z and g to the minimum of ½Σ A(z − y)² + ½Σ l2ⱼwⱼ², from parameters near it."""
        slope = self.design.transposed_times(self.g) + l2[:, None] * w
        with single_blas():
            step = self.W @ (self.W.T @ slope)
        moved = self.design.times(step) + self.of_bias * self.g.sum(axis=0)
        self.z, self.g = self.z - moved, self.g - self.A[:, None] * moved

    def lost(self, leverage: Array) -> float:
        """The rounding error of the results."""
        digits = self.condition * (1 - float(np.max(leverage, initial=0.0)))
        return self.design.d * EPS / digits if digits > 0 else np.inf

    def leave(self, groups: Array | None) -> tuple[Array, Array]:
        """Each row predicted without itself or its group, and the leverages."""
        return self.leave_each() if groups is None else self.leave_groups(groups)

    def leave_each(self) -> tuple[Array, Array]:
        """Each row predicted without itself, and the leverages."""
        J = np.empty(len(self.z))
        for rows in blocks(len(self.z), self.W.shape[1]):
            B = self.design.rows(rows).times(self.W)
            J[rows] = np.einsum("ij,ij->i", B, B)
        J += self.of_bias
        leverage = self.A * J
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.z + (J / (1 - leverage))[:, None] * self.g, leverage

    def leave_groups(self, groups: Array) -> tuple[Array, Array]:
        """Each row predicted without its group, and the leverages of the groups."""
        held, leverage = self.z.copy(), np.empty(len(self.z))
        for rows in members(groups):
            B = self.design.rows(rows).times(self.W)
            B = np.column_stack([B, np.full(len(B), np.sqrt(self.of_bias))])
            T = np.sqrt(self.A[rows])[:, None] * B
            step, leverage[rows] = block_step(B, T, self.g[rows])
            held[rows] += step
        return held, leverage
