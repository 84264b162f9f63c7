"""
Penalties of two weights, by their contours
===========================================

Where a penalty Σ|wⱼ|ᵖ, or for p = ∞ the largest |wⱼ|, equals 0.25, 0.5, 1 and 1.5; the thick line
is 1. For p = 2 it is a circle, and every direction is alike. For p = 1 it has corners on the axes,
where one of the weights is 0: these are the sparse points, and solutions like to sit there. Below
1 the set is no longer convex, and at p = 0 only the axes are left: one weight costs 1, wherever it
is, two cost 2. For p = ∞ the corners are on the diagonals, where both weights are equally large.
"""

import matplotlib.pyplot as plt
import numpy as np

from gapless import plots
from gapless.penalties import L0, L1, Bridge, PNorm

penalties = {
    "p = ∞": PNorm(1.0, p=np.inf),
    "p = 2": PNorm(1.0, p=2.0),
    "p = 1": L1(1.0),
    "p = 2/3": Bridge(1.0, power=2 / 3),
    "p = 0.3": Bridge(1.0, power=0.3),
    "p = 0": L0(1.0),
}
w = np.linspace(-1.6, 1.6, 121)
figure, panels = plt.subplots(2, 3, figsize=(8.4, 5.8), layout="constrained")
for (name, penalty), axes in zip(penalties.items(), panels.flat, strict=True):
    values = np.array([[penalty.value(np.array([a, b])) for a in w] for b in w])
    plots.penalty_contours(w, w, values, name=name, axes=axes)
    kind = "convex" if penalty.is_convex else "not convex"
    print(f"{name:>8}: {kind}, R(½, ½) = {penalty.value(np.array([0.5, 0.5])):.3f}")
plt.show()
