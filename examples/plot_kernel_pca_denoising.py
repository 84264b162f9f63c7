"""
Handwritten digits with noise, cleaned by PCA and by kernel PCA
===============================================================

Both learn from noisy digits alone, 800 of them, and clean others. PCA projects a digit onto a
plane. Kernel PCA projects it onto a curved surface: the pre-image of the projection in the feature
space of a Gaussian kernel, found by a fixed-point iteration (Mika et al. 1999), is an average of
similar digits.

Above, twelve digits with noise of standard deviation 0.4 (ink is 1, paper 0). Below, the error at
several levels of noise, with 16 components for both: the noisier the digits, the more the curved
surface helps.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from gapless import PCA, KernelPCA, plots

clean = load_digits().data / 16
noise = np.random.default_rng(0).normal(size=clean.shape)
levels, shown = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], 0.4
errors = {"noisy": [], "PCA": [], "kernel PCA": []}
for level in levels:
    known, unseen = np.split((clean + level * noise)[:1100], [800])
    flat = PCA(16).fit(known)
    curved = KernelPCA(16, kernel="rbf", gamma=0.03, random_state=0).fit(known)
    versions = {
        "noisy": unseen,
        "PCA": flat.inverse_transform(flat.transform(unseen)),
        "kernel PCA": curved.denoise(unseen),
    }
    for name, rows in versions.items():
        errors[name].append(np.mean((rows - clean[800:1100]) ** 2))
    if level == shown:
        images = {"clean": clean[800:812]} | {name: rows[:12] for name, rows in versions.items()}

figure = plt.figure(figsize=(8.2, 6.4), layout="constrained")
above, below = figure.subfigures(2, 1, height_ratios=[5, 6])
notes = {name: f"error {values[levels.index(shown)]:.3f}" for name, values in errors.items()}
plots.image_rows(images, (8, 8), notes=notes, axes=above.subplots(4, 1))
axes = below.subplots()
for (name, values), style in zip(errors.items(), (plots.style.STYLES[k] for k in (3, 2, 0))):
    axes.plot(levels, values, marker="o", markersize=4, label=name, **style)
plots.style.with_logarithms(axes, "y", np.concatenate([*errors.values()]))
plots.style.finished(axes, "standard deviation of the noise", "mean squared error of a pixel")
axes.legend(frameon=False)

for name, values in errors.items():
    print(f"{name:>10}  " + "  ".join(f"{value:.4f}" for value in values))
plt.show()
