"""
The Gaussian kernel as a series of polynomial kernels
=====================================================

exp(−γ‖x − z‖²) = exp(−γ‖x‖²) exp(−γ‖z‖²) Σₚ (2γ⟨x, z⟩)ᵖ/p!, a sum of polynomial kernels of every
degree with weights that fall like 1/p!. Cut off after some powers it has a short list of
features, the monomials, and comes as close to the Gaussian kernel as one likes: the error is at
most (2γR²)ᵖ⁺¹/(p + 1)! for ‖x‖, ‖z‖ ≤ R.

Left, the kernel at z = 1 with more and more powers: it is right around 0 first. Right, its
largest error against the last power.
"""

import math

import matplotlib.pyplot as plt
import numpy as np

from gapless.kernels import Gaussian, GaussianSeries
from gapless.plots.style import CLASSES, DASHES, finished, with_logarithms

gamma, R = 0.5, 2.5
x = np.linspace(-R, R, 201)[:, None]
z = np.array([[1.0]])
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.plot(x, Gaussian(gamma).gram(x, z), color="0.75", linewidth=6, label="Gaussian")
for k, degree in enumerate((1, 2, 4, 8)):
    line = {"color": CLASSES[k], "linestyle": DASHES[k % len(DASHES)]}
    left.plot(x, GaussianSeries(degree, gamma).gram(x, z), label=f"up to power {degree}", **line)
finished(left, "x", "k(x, 1)").legend(frameon=False, fontsize="small")

# %%
# The error over all pairs of points, and the bound on it.

degrees = np.arange(0, 31)
exact = Gaussian(gamma).gram(x)
errors = [np.abs(GaussianSeries(int(p), gamma).gram(x) - exact).max() for p in degrees]
bounds = [(2 * gamma * R**2) ** (p + 1) / math.factorial(p + 1) for p in degrees]
for p in (4, 8, 16, 24):
    print(f"up to power {p:2d}: error {errors[p]:.1e}, bound {bounds[p]:.1e}")
right.plot(degrees, errors, "o-", color=CLASSES[0], markersize=3, label="largest error")
right.plot(degrees, bounds, linestyle=DASHES[1], color=CLASSES[1], label="bound")
with_logarithms(right, "y", [*errors, *bounds])
finished(right, "last power", "error of the kernel").legend(frameon=False)
plt.show()
