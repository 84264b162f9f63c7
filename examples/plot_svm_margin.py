"""
The widest street between two classes rests on two points
=========================================================

A support vector machine with a hard margin minimises ½‖w‖² under tᵢ(⟨w, xᵢ⟩ + b) ≥ 1 for every
point. The constraints of two of the eight points are tight: these are the support vectors,
circled, and they alone have multipliers, α ≈ 65.55 each. Removing any other point would change
nothing. The street between the dashed lines is 2/‖w‖ = 0.1747 wide.
"""

import matplotlib.pyplot as plt

from gapless import SVC
from gapless.data import load_builtin
from gapless.evaluation import decision_grid

X, y = load_builtin("points", return_X_y=True)
model = SVC(C=float("inf"), kernel="linear", tol=1e-8).fit(X, y)
print("multipliers:", model.alpha_.round(2))
print(f"w = ({model.coef_[0, 0]:.3f}, {model.coef_[0, 1]:.3f}), b = {model.intercept_[0]:.3f}")
print(f"margin 2/‖w‖ = {model.margin_:.4f}")
print(model.certificate_)

axes = decision_grid(model, X, y).plot()
axes.set_aspect("equal")
for k in model.support_:
    place = {"xytext": (8, 6), "ha": "left"} if y[k] < 0 else {"xytext": (-8, -12), "ha": "right"}
    axes.annotate(f"α = {model.alpha_[k]:.2f}", X[k], textcoords="offset points", **place)
plt.show()
