"""
Batch, mini-batch and online
============================

Three ways to descend the same objective, that of logistic regression with two weights. *Batch*: a
step follows the gradient of all 400 rows. *Mini-batch*: of 20 rows, 20 steps for the price of one.
*Online*: of a single row, 400 steps for the same price. Small batches are much further after one
pass over the data; but their gradients are noisy, so their paths stagger, and they come to rest
only as the steps η₀/(t₀ + t) get shorter. Full batches are slow and go straight.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gapless import LogisticRegression, landscape, plots
from gapless.solvers import GradientDescent, InverseTime

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 2)) @ [[1.0, 0.5], [0.0, 1.0]]
y = rng.random(400) < 1 / (1 + np.exp(-X @ [1.5, -1.0]))

solvers = {
    "batch: 400 rows": GradientDescent(1.0, keep_iterates=True),
    "mini-batch: 20 rows": GradientDescent(InverseTime(50, 50), batch_size=20, keep_iterates=True),
    "online: 1 row": GradientDescent(InverseTime(60, 120), batch_size=1, keep_iterates=True),
}
warnings.simplefilter("ignore", ConvergenceWarning)  # six passes over the data are not enough
models = {
    name: LogisticRegression(solver=solver, max_iter=6, fit_intercept=False).fit(X, y)
    for name, solver in solvers.items()
}
best = LogisticRegression(fit_intercept=False).fit(X, y).certificate_.primal

# %%
# The objective above its minimum after each pass over the rows:
above = {}
for name, model in models.items():
    trace = model.trace_
    above[name] = [trace.primal[trace.iterations.index(k)] - best for k in range(7)]
    print(f"{name:>19}: {', '.join(f'{value:.3g}' for value in above[name])}")

figure, (top, bottom) = plt.subplots(2, 1, figsize=(7.4, 7), layout="constrained")
bowl = landscape(models, X, y)
first = {name: path[:60] for name, path in bowl.paths.items()}
plots.landscape(bowl.x, bowl.y, bowl.values, first, best=bowl.best, axes=top)
top.set_title("the first 60 steps", fontsize="small", loc="left")
passes = np.arange(7)
plots.functions(
    passes, above, names=("passes over the rows", "above the best"), log=True, axes=bottom
)
plt.show()
