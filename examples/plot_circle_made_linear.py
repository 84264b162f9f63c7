"""
A circle that quadratic features make straight
==============================================

Points inside and outside a circle around (½, ½): no line separates them. With the features φ(x) =
(x₁², x₂², √2x₁, √2x₂, 1), which are those of the kernel (⟨x, z⟩ + 1)² without the product x₁x₂, a
plane does. Its equation, written in x, is the circle x₁² − x₁ + x₂² − x₂ = −0.46 of radius 0.2.

Both coordinates have the same weights, so one sees the plane edge on, as a straight line, from
where u = x₁² + x₂² − x₁ − x₂ and v = x₁ + x₂ are the axes: it is u = −0.46.
"""

import matplotlib.pyplot as plt
import numpy as np

from gapless import SVC
from gapless.evaluation import decision_grid

angles = np.linspace(0, 2 * np.pi, 8, endpoint=False)
ring = np.column_stack([np.cos(angles), np.sin(angles)])
X = 0.5 + np.vstack([np.sqrt(0.03) * ring, np.sqrt(0.05) * ring])
y = np.repeat(["inside", "outside"], 8)


def features(X):
    """x₁², x₂², √2x₁ and √2x₂; the bias of the machine stands for the 1."""
    return np.column_stack([X**2, np.sqrt(2) * X])


model = SVC(C=np.inf, kernel="linear", tol=1e-8).fit(features(X), y)
w = model.coef_[0] / model.coef_[0, 0]
print(f"x₁² {w[2] * np.sqrt(2):+.2f} x₁ {w[1]:+.2f} x₂² {w[3] * np.sqrt(2):+.2f} x₂", end=" ")
print(f"= {-model.intercept_[0] / model.coef_[0, 0]:.2f}")
kernel = SVC(C=np.inf, kernel="poly", degree=2, gamma=1.0, coef0=1.0).fit(X, y)
print(f"with the kernel (⟨x, z⟩ + 1)²: {kernel.score(X, y):.0%} right")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
decision_grid(kernel, X, y).plot(left, legend=False).set_aspect("equal")
left.set_title("in x: x₁² − x₁ + x₂² − x₂ = −0.46", loc="left", fontsize="medium")

# %%
# The same points by v and u, and the machine on these two columns.

seen = np.column_stack([X.sum(axis=1), (X**2 - X).sum(axis=1)])
line = SVC(C=np.inf, kernel="linear").fit(seen, y)
decision_grid(line, seen, y).plot(right)
right.set(xlabel="v = x₁ + x₂", ylabel="u = x₁² + x₂² − x₁ − x₂")
right.set_title("in features: u = −0.46", loc="left", fontsize="medium")
plt.show()
