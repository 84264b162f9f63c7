"""
Principal axes of a cloud, projections and reconstructions
==========================================================

The first component v₁ is the direction of length 1 along which the projections v₁ᵀ(x − μ) of the
rows vary most; the second is perpendicular to it. Both are eigenvectors of the covariance, Σv = λv,
and λ is the variance along them.

On the left, each row of a cloud and its reconstruction x̂ = μ + v₁v₁ᵀ(x − μ) from one number. On the
right, the coordinates c = Vᵀ(x − μ) along both components: the cloud turned, its columns
uncorrelated. Leaving out the second one loses its variance, and nothing else.
"""

import matplotlib.pyplot as plt
import numpy as np

from gapless import PCA, plots

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2)) * [2.0, 0.6] @ [[0.8, 0.6], [-0.6, 0.8]] + [3.0, 2.0]
model = PCA().fit(X)
deviations = np.sqrt(model.explained_variance_)

figure, (left, right) = plt.subplots(1, 2, figsize=(8.6, 4.2), layout="constrained")
plots.principal_axes(X, model.mean_, model.components_, deviations, axes=left)
left.set_title("rows (grey) and their reconstructions (blue)", fontsize="small", loc="left")

C = model.transform(X)
right.plot(*C.T, "o", color=plots.style.FAINT, markersize=4)
right.plot(C[:, 0], np.zeros(len(C)), ".", color=plots.style.ACCENT, markersize=4)
right.vlines(C[:, 0], 0, C[:, 1], color=plots.style.FAINT, linewidth=0.7)
right.set_aspect("equal", adjustable="datalim")
title = "coordinates; the first alone is the projection (blue)"
plots.style.finished(right, "c₁ = v₁ᵀ(x − μ)", "c₂ = v₂ᵀ(x − μ)", grid="both", title=title)

first = PCA(1).fit(X)
X_hat = first.inverse_transform(first.transform(X))
lost = np.sum((X - X_hat) ** 2) / (len(X) - 1)
print("share of the variance of each component:", model.explained_variance_ratio_.round(3))
print(f"variance along the second: {model.explained_variance_[1]:.4f}")
print(f"variance lost by the reconstruction: {lost:.4f}")
print(first.certificate_.verdict)
plt.show()
