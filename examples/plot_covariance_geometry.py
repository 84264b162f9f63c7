"""
Turn, stretch, turn back: matrices as geometry
==============================================

A covariance matrix factors into Σ = VΛVᵀ, so that Σz is computed in three steps: Vᵀz are the
coordinates of z along the components, Λ stretches each of them by its variance, and V turns the
result back. A circle becomes an ellipse whose axes are the components.

Any matrix factors into A = UΣVᵀ in the same way, but it turns back to other axes U than it came
from: v₁ ends at σ₁u₁. The two arrows follow v₁ (solid) and v₂ (dashed) through all steps.
"""

import matplotlib.pyplot as plt
import numpy as np

from gapless import PCA
from gapless.plots.style import ACCENT, FAINT, INK, finished

rng = np.random.default_rng(1)
X = rng.normal(size=(500, 2)) * [1.35, 0.7] @ [[0.87, 0.5], [-0.5, 0.87]]
model = PCA().fit(X)
V, Lambda = model.components_.T, np.diag(model.explained_variance_)
A = np.array([[1.0, 1.2], [-0.9, 0.5]])
U, sizes, Wt = np.linalg.svd(A)

angles = np.linspace(0, 2 * np.pi, 200)
circle = np.stack([np.cos(angles), np.sin(angles)])
rows = {
    "covariance": [np.eye(2), V.T, Lambda @ V.T, V @ Lambda @ V.T],
    "any matrix": [np.eye(2), Wt, np.diag(sizes) @ Wt, A],
}
titles = [
    ["z on a circle", "Vᵀz: turn", "ΛVᵀz: stretch", "VΛVᵀz = Σz: turn back"],
    ["z on a circle", "Vᵀz: turn", "ΣVᵀz: stretch", "UΣVᵀz = Az: turn to U"],
]
figure, panels = plt.subplots(2, 4, figsize=(9, 4.8), layout="constrained")
for line, (name, steps), axis, words in zip(panels, rows.items(), (V.T, Wt), titles):
    for axes, step, title in zip(line, steps, words):
        axes.plot(*(step @ circle), color=ACCENT, linewidth=1.6)
        for v, style in zip(axis, ("-", "--")):
            look = {"arrowstyle": "-|>", "color": INK, "linestyle": style, "shrinkA": 0}
            axes.annotate("", step @ v, (0, 0), arrowprops=look)
        axes.axhline(0, color=FAINT, linewidth=0.6)
        axes.axvline(0, color=FAINT, linewidth=0.6)
        axes.set(xlim=(-2.1, 2.1), ylim=(-2.1, 2.1), aspect="equal")
        finished(axes, grid="both", title=title)
    line[0].set_ylabel(name)

z = np.array([0.6, 0.8])
print("Σz   ", (np.cov(X.T) @ z).round(6))
print("VΛVᵀz", (V @ Lambda @ V.T @ z).round(6))
print("Az   ", A @ z)
print("UΣVᵀz", (U @ np.diag(sizes) @ Wt @ z).round(6))
plt.show()
