"""
Penalties of one weight
=======================

The penalties |w|ᵖ for a single weight w. For p = 2 the slope vanishes at 0, so that small weights
are hardly pushed and none becomes exactly 0. From p = 1 downwards there is a kink at 0 that holds
weights there. Only p ≥ 1 is convex; below, large weights are shrunk less and less, and the limit p
= 0 is a price for every weight that is not 0, whatever its size. For a single weight the p-norm of
every order from 1 to ∞ is |w|; its ball differs only from two weights on.

(R₀ is the limit of Σ|wⱼ|ᵖ. The p-th root of that sum, the norm, has no such limit.)
"""

import matplotlib.pyplot as plt
import numpy as np

from gapless import plots
from gapless.penalties import L0, L1, L2, Bridge

w = np.linspace(-2, 2, 401)
penalties = {
    "p = 2: ½w²": L2(1.0),
    "p = 1, and norms up to p = ∞: |w|": L1(1.0),
    "p = 2/3": Bridge(1.0, power=2 / 3),
    "p = 0.3": Bridge(1.0, power=0.3),
    "p = 0: 1 if w ≠ 0": L0(1.0),
}
values = {name: [of.value(np.array([v])) for v in w] for name, of in penalties.items()}
for name, of in values.items():
    small, large = np.interp([0.01, 2.0], w, of)
    print(f"{name:>33}: R(0.01) = {small:.4f}, R(2) = {large:.4f}")

plots.penalties(w, values)
plt.show()
