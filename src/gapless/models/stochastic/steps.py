"""How long the steps of stochastic gradient descent are: η as a function of the step t = 1, 2, …"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...losses import Loss

Array = np.ndarray

# The factor by which "adaptive" shortens its steps, and the shortest ones it takes.
SHORTENING, SHORTEST = 0.2, 1e-6
SCHEDULES = ("constant", "optimal", "invscaling", "adaptive", "pa1", "pa2")


@dataclass(frozen=True)
class Schedule:
    """The lengths of the steps, by scikit-learn's names.

    ==============  =======================================================================
    kind            η of step t
    ==============  =======================================================================
    "constant"      η₀
    "adaptive"      η₀, a fifth of it whenever the objective stops falling
    "invscaling"    η₀/tᵖ, p = `power`
    "optimal"       1/(α(t₀ + t − 1)), where t₀ makes the first one α^(−¼) (Bottou 2012)
    "pa1", "pa2"    as long as the row needs: ℓ/‖x‖², at most η₀; or ℓ/(‖x‖² + 1/(2η₀))
    ==============  =======================================================================

    References
    ----------
    Bottou (2012), Stochastic gradient descent tricks, Neural Networks: Tricks of the Trade.
    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer (2006), Online passive-aggressive algorithms,
    JMLR 7.
    """

    kind: str
    eta0: float
    power: float = 0.5
    alpha: float = 0.0

    def lengths(self, first: float, count: int, length: float) -> Array:
        """η of the steps first, first + 1, …; `length` is the present one of "adaptive"."""
        if self.kind == "optimal":
            begin = 1 / (self.alpha**-0.25 * self.alpha)
            return 1 / (self.alpha * (begin + np.arange(first, first + count) - 1))
        if self.kind == "invscaling":
            return self.eta0 / np.arange(first, first + count, dtype=float) ** self.power
        return np.full(count, length)

    def shortened(self, length: float) -> float | None:
        """The next length of "adaptive" when the objective no longer falls; None if it is over."""
        is_over = self.kind != "adaptive" or length <= SHORTEST
        return None if is_over else SHORTENING * length

    @property
    def passive(self) -> tuple[float, float] | None:
        """The longest step and the slack of passive-aggressive steps; None for others."""
        return {"pa1": (self.eta0, 0.0), "pa2": (math.inf, 0.5 / self.eta0)}.get(self.kind)


def refuse_passive(kind: str, loss: Loss) -> None:
    """Passive-aggressive steps need a loss whose slope is ±1 or 0, so that ℓ/‖x‖² meets it."""
    if kind not in ("pa1", "pa2"):
        return
    ends = loss.dual_box(np.ones(1)) if loss.has_dual_box else None
    if ends is None or ends.quadratic or max(abs(ends.lower[0]), abs(ends.upper[0])) != 1:
        raise ValueError(
            f'learning_rate="{kind}" needs the loss "hinge" or "epsilon_insensitive", got '
            f'"{loss.name}"; use "optimal" or "invscaling".'
        )
