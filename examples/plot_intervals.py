"""
How sure is a prediction: a Gaussian process and conformal intervals
====================================================================

A Gaussian process is kernel ridge regression with a standard deviation for each prediction. Its
band widens where there are no rows, and it is right if the kernel is. Conformal intervals around
kernel ridge regression assume nothing about the curve: they are as wide as the errors on held-out
rows, so that 9 of 10 new rows are inside, but about equally wide everywhere, also in the hole
between 3 and 5 where no row has been seen.
"""

import matplotlib.pyplot as plt
import numpy as np

from gapless import GaussianProcessRegressor, KernelRidge, plots
from gapless.kernels import Gaussian, White

rng = np.random.default_rng(5)


def draw(n):
    """Rows of a sine with noise, but none between 3 and 5."""
    X = rng.uniform(0, 8, (4 * n, 1))
    X = X[(X[:, 0] < 3) | (X[:, 0] > 5)][:n]
    return X, np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=n)


X, y = draw(80)
new, target = draw(3000)
x = np.linspace(0, 8, 300)[:, None]
process = GaussianProcessRegressor(1.0 * Gaussian(0.5) + White(0.1)).fit(X, y)
ridge = KernelRidge(alpha="loo", kernel="rbf", gamma="loo").fit(X, y)


def of_process(X):
    """The mean, and the ends of the interval of 90 % around it."""
    mean, std = process.predict(X, return_std=True)
    return mean, mean - 1.645 * std, mean + 1.645 * std


ways = {
    "Gaussian process": of_process,
    "kernel ridge, conformal": lambda X: ridge.predict(X, interval=0.9),
}
figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
for axes, (name, predict) in zip(panels, ways.items(), strict=True):
    mean, lower, upper = predict(x)
    _, low, high = predict(new)
    inside = np.mean((low <= target) & (target <= high))
    print(f"{name}: {inside:.1%} of 3000 new rows are inside their interval of 90 %")
    plots.curve(x[:, 0], mean, band=(lower, upper), points=(X[:, 0], y), legend=False, axes=axes)
    axes.set_title(f"{name}: {inside:.0%} of new rows inside", loc="left", fontsize="medium")
    axes.label_outer()
plt.show()
