"""
Why the L1 penalty is sparse
============================

Least squares with two weights. Its contours (grey) are ellipses around the solution without a
penalty (cross). A penalty allows only weights inside a ball (blue), and the best of these (dot) is
where the ball meets the lowest ellipse. The ball of ‖w‖₁ has corners on the axes, and the ellipses
mostly meet it there: w₂ is exactly 0. The ball of ‖w‖₂ is round, so they meet it beside the axis.

On the right, the solutions for all strengths of the penalty. Those of the lasso run into the axis
and stay there; those of ridge approach the origin without ever touching it.
"""

import matplotlib.pyplot as plt
import numpy as np

from gapless import Lasso, LinearRegression, Ridge, plots

rng = np.random.default_rng(1)
X = rng.normal(size=(50, 2)) @ [[1.0, 0.6], [0.0, 0.7]]
y = X @ [1.5, 0.55] + rng.normal(0, 0.3, 50)
least = LinearRegression(fit_intercept=False).fit(X, y).coef_

w = np.linspace(-0.8, 2.0, 141)
errors = np.array([[0.5 * np.sum((y - X @ [a, b]) ** 2) for a in w] for b in w])
figure, panels = plt.subplots(1, 3, figsize=(9, 3.3), layout="constrained")
models = {
    "‖w‖₁": (1, Lasso(0.7, fit_intercept=False)),
    "‖w‖₂": (2, Ridge(25.0, fit_intercept=False)),
}
for (name, (order, model)), axes in zip(models.items(), panels, strict=False):
    best = model.fit(X, y).coef_
    print(f"{name}: w = ({best[0]:.3f}, {best[1]:.3f}) instead of ({least[0]:.3f}, {least[1]:.3f})")
    # The ball through the solution, and the ellipse through it between two others.
    ball = np.linalg.norm(np.stack(np.meshgrid(w, w)), ord=order, axis=0)
    lowest, here = (0.5 * np.sum((y - X @ at) ** 2) for at in (least, best))
    plots.penalty_contours(
        w,
        w,
        ball / np.linalg.norm(best, order),
        levels=[1.0],
        name=f"the ball of {name}",
        objective=errors,
        heights=[lowest + part * (here - lowest) for part in (0.1, 0.4, 1.0, 2.0, 4.0)],
        best=best,
        free=least,
        axes=axes,
    )

# %%
# The same for many strengths:
strengths = np.geomspace(0.3, 3e3, 60)
ridge = [Ridge(alpha, fit_intercept=False).fit(X, y).coef_ for alpha in strengths]
lasso = [Lasso(alpha / 50, fit_intercept=False).fit(X, y).coef_ for alpha in strengths]
paths = {"lasso": np.array(lasso), "ridge": np.array(ridge)}
plots.landscape(w, w, errors, paths, best=tuple(least), axes=panels[2])
panels[2].set(aspect="equal", xlim=(-0.2, 2), ylim=(-0.2, 2))
panels[2].set_title("all strengths", fontsize="small", loc="left")
for name, path in paths.items():
    print(f"{name}: w₂ is exactly 0 for {np.sum(path[:, 1] == 0)} of {len(path)} strengths")
plt.show()
