"""
Steps too small, just right and too large
=========================================

Gradient descent on the same bowl with four step sizes. Tiny steps creep, and after 25 of them are
still on their way. A step near 1/L, with L the largest curvature, goes straight down. Near 2/L it
jumps from slope to slope, and beyond 2/L each jump is longer than the last and the path leaves the
bowl: the objective explodes.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gapless import Ridge, landscape, plots
from gapless.solvers import GradientDescent

rng = np.random.default_rng(0)
X = rng.normal(size=(100, 2)) * [1.5, 0.8]
y = X @ [1.0, 2.0] + rng.normal(0, 0.5, 100)
largest = np.linalg.eigvalsh(X.T @ X / len(X))[-1]
sizes = {"too small": 0.05, "right": 1.0, "zigzag": 1.9, "too large": 2.1}
warnings.simplefilter("ignore", ConvergenceWarning)  # not all of them arrive
models = {}
for name, size in sizes.items():
    solver = GradientDescent(size / largest, keep_iterates=True)
    models[f"{size}/L: {name}"] = Ridge(
        1e-3, fit_intercept=False, solver=solver, max_iter=25, tol=1e-12
    ).fit(X, y)
best = Ridge(1e-3, fit_intercept=False).fit(X, y).certificate_.primal
above = {name: np.array(model.trace_.primal) - best for name, model in models.items()}
for name, objective in above.items():
    print(
        f"{name:>17}: from {objective[0]:.4g} to {objective[-1]:.2g} above the minimum in 25 steps"
    )

bowl = landscape({name: model for name, model in models.items() if "large" not in name}, X, y)
figure = plt.figure(figsize=(9, 5.4), layout="constrained")
names = list(models)
panels = figure.subplot_mosaic(
    [[*names[:2], "steps"], [*names[2:], "steps"]], width_ratios=[1, 1, 1.5]
)
for name, model in models.items():
    path = np.array([w for w, _ in model.trace_.iterates])
    axes = plots.landscape(
        bowl.x, bowl.y, bowl.values, {name: path}, best=bowl.best, axes=panels[name]
    )
    axes.set_title(name, fontsize="small", loc="left")
    axes.get_legend().remove()
axes = plots.functions(
    np.arange(26), above, names=("steps", "above the minimum"), log=True, axes=panels["steps"]
)
axes.get_legend().remove()
axes.set_xlim(0, 33)
for name, objective in above.items():
    axes.annotate(
        name.partition(":")[0], (25, objective[-1]), xytext=(4, 0), textcoords="offset points"
    )
plt.show()
