"""Handwritten digits with noise, cleaned by PCA and by kernel PCA.

    python examples/plot_kernel_pca_denoising.py digits.png

Both learn from noisy digits alone: 1,400 of scikit-learn's, and clean the other 397. PCA keeps the
digits near a plane, kernel PCA near a curved surface: the pre-image of a projection in the feature
space of a Gaussian kernel is an average of similar digits. The number of components and the width
of the kernel are chosen on some of the digits that were learned from, at each level of noise.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from gapless import KernelPCA
from gapless.plots import image_rows

LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
SHOWN = 0.4
COUNTS, GAMMAS = (8, 16, 32, 64), (0.01, 0.03)


def by_pca(count, learned, noisy):
    """Rows projected onto the plane of the first components."""
    model = PCA(count, random_state=0).fit(learned)
    return model.inverse_transform(model.transform(noisy))


def by_kernel_pca(count, gamma, learned, noisy):
    """Pre-images of their projections in feature space."""
    return KernelPCA(count, kernel="rbf", gamma=gamma, random_state=0).fit(learned).denoise(noisy)


def error(found, clean):
    """The mean squared error of a pixel."""
    return float(np.mean((found - clean) ** 2))


def best(ways, learned, noisy, clean):
    """What the best of several ways, as measured on the last digits learned from, makes of rows."""
    scores = [error(way(learned[:-200], learned[-200:]), clean) for way in ways]
    return ways[int(np.argmin(scores))](learned, noisy)


def cleaned(clean, level, split=1400):
    """Noisy digits, and what either way makes of them."""
    noisy = clean + level * np.random.default_rng(0).normal(size=clean.shape)
    known, unseen = noisy[:split], noisy[split:]
    flat = [lambda a, b, k=k: by_pca(k, a, b) for k in COUNTS]
    curved = [lambda a, b, k=k, g=g: by_kernel_pca(k, g, a, b) for k in COUNTS for g in GAMMAS]
    of_known = clean[split - 200 : split]
    return {
        "clean": clean[split:],
        "noisy": unseen,
        "PCA": best(flat, known, unseen, of_known),
        "kernel PCA": best(curved, known, unseen, of_known),
    }


def main(path="kernel_pca_denoising.png"):
    """Print the errors, and draw them below some of the digits."""
    clean = load_digits().data / 16
    results = {level: cleaned(clean, level) for level in LEVELS}
    errors = {
        name: [error(found[name], found["clean"]) for found in results.values()]
        for name in ("noisy", "PCA", "kernel PCA")
    }
    for name, values in errors.items():
        print(f"{name:>10}  " + "  ".join(f"{value:.4f}" for value in values))

    figure = plt.figure(figsize=(8.2, 6.4))
    grid = figure.add_gridspec(5, 1, height_ratios=[1, 1, 1, 1, 5], left=0.13, right=0.87, top=0.97)
    shown = {name: rows[:12] for name, rows in results[SHOWN].items()}
    at = LEVELS.index(SHOWN)
    notes = {name: f"error {values[at]:.3f}" for name, values in errors.items()}
    image_rows(shown, (8, 8), notes=notes, axes=[figure.add_subplot(grid[k]) for k in range(4)])
    axes = figure.add_subplot(grid[4])
    for (name, values), style in zip(errors.items(), (":", "--", "-"), strict=True):
        axes.plot(LEVELS, values, style, marker="o", markersize=4, label=name, color="#1f5fa8")
    axes.set(xlabel="standard deviation of the noise", ylabel="mean squared error", yscale="log")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)
    return errors


if __name__ == "__main__":
    main(*sys.argv[1:])
