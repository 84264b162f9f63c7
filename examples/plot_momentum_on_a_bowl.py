"""
Descent on an elongated bowl, with and without momentum
=======================================================

The gradient is large across a long valley, where one wants to go a short way, and small along it,
where one wants to go far. Plain gradient descent therefore zigzags between the slopes. Momentum
adds a part of the last change to the next, ΔW = λ(ε∇L) + (1 − λ)ΔW_old: what points to and fro
cancels out, and what always points the same way adds up. It also bears longer steps: with ε = 0.6
plain descent would fly out of the valley, and 0.2 is nearly the most it can take.

Both take 40 steps. The cross is the minimum, which Newton's method finds in a single step, because
it knows how long the valley is.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gapless import Ridge, landscape, plots
from gapless.solvers import AveragedMomentum, GradientDescent, Named

rng = np.random.default_rng(0)
X = rng.normal(size=(100, 2)) * [3.0, 0.5]
y = X @ [1.0, 2.0] + rng.normal(0, 0.5, 100)

solvers = {
    "plain, ε = 0.2": GradientDescent(0.2, keep_iterates=True),
    "momentum, ε = 0.6, λ = 0.3": GradientDescent(0.6, AveragedMomentum(0.3), keep_iterates=True),
    "Newton": Named("newton"),
}
warnings.simplefilter("ignore", ConvergenceWarning)  # plain descent is not there after 40 steps
models = {
    name: Ridge(0.1, fit_intercept=False, solver=solver, max_iter=40).fit(X, y)
    for name, solver in solvers.items()
}
for name, model in models.items():
    print(f"{name}: objective {min(model.trace_.primal):.4f}, steps: {model.trace_.steps}")

figure, (above, below) = plt.subplots(2, 1, figsize=(7.4, 7), layout="constrained")
landscape(models, X, y).plot(axes=above)
traces = {name: model.trace_ for name, model in models.items()}
plots.convergence(traces, against="iterations", tol=1e-4, axes=below)
below.get_legend().remove()
plt.show()
