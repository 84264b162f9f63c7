"""
Kernel ridge regression and local means with the same kernel
============================================================

Both predict from the same Gaussian kernel k of width σ on the training rows. Kernel ridge
regression adds up kernels, f(x) = Σ cᵢ k(x, xᵢ) with (K + αI)c = y. The estimator of Nadaraya and
Watson takes a mean of the targets with the kernel as weights, f(x) = Σ k(x, xᵢ)yᵢ / Σ k(x, xᵢ);
nothing is solved for.

A mean lies between the smallest and the largest target: it cuts off peaks, more so with a wide
kernel, and is flat where the rows end. Kernel ridge follows the peaks even with a wide kernel,
since its coefficients may be negative.
"""

import matplotlib.pyplot as plt
import numpy as np

from gapless import KernelRegression, KernelRidge, plots
from gapless.kernels import Gaussian

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(0, 6, 60))[:, None]
y = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=60)
x = np.linspace(0, 6, 300)[:, None]
truth = np.sin(2 * x[:, 0])

figure, panels = plt.subplots(1, 3, figsize=(9, 3.4), layout="constrained", sharey=True)
for axes, sigma in zip(panels, (0.1, 0.3, 0.8), strict=True):
    kernel = Gaussian(sigma=sigma)
    models = {
        "kernel ridge": KernelRidge(alpha=0.2, kernel=kernel).fit(X, y),
        "Nadaraya–Watson": KernelRegression(kernel=kernel).fit(X, y),
    }
    errors = []
    for style, (name, model) in zip((0, 2), models.items(), strict=True):
        f = model.predict(x)
        errors.append(f"{name} {np.sqrt(np.mean((f - truth) ** 2)):.3f}")
        rows = {"points": (X[:, 0], y)} if style == 0 else {}
        plots.curve(x[:, 0], f, label=name, style=style, legend=False, axes=axes, **rows)
    axes.plot(x, truth, color="0.6", linewidth=1, linestyle=":", label="truth")
    axes.set_title(f"σ = {sigma}", loc="left", fontsize="medium")
    axes.label_outer()
    print(f"σ = {sigma}: error against the truth {', '.join(errors)}")
handles, labels = panels[0].get_legend_handles_labels()
figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
plt.show()
