"""
Bias and variance
=================

Samples are drawn from the same 20 noisy points of y = (x − 3)², and a polynomial is fitted to
each. Order 1 is stiff: its lines nearly agree, and all are wrong in the same way, which is bias.
Order 7 is flexible: its curves are nearly right on average, and each of them is wrong in its own
way, which is variance. The squared error on new points is the sum: noise + bias + variance,
exactly.

Below, these parts by order, on a logarithmic scale, since the variance explodes: the error is
lowest where the bias has vanished and the variance is still small.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from gapless import LinearRegression, bias_variance, plots


def polynomial(order):
    """A model of the powers of x up to the order."""
    powers = PolynomialFeatures(order, include_bias=False)
    return make_pipeline(powers, StandardScaler(), LinearRegression())


rng = np.random.default_rng(0)
x = np.linspace(0, 6, 20)[:, None]
y = (x[:, 0] - 3) ** 2 + rng.normal(0, 1.5, 20)
grid = np.linspace(0.2, 5.8, 113)[:, None]
truth = (grid[:, 0] - 3) ** 2
new = truth + rng.normal(0, 1.5, 113)

parts = {}
for order in range(1, 10):
    found = bias_variance(polynomial(order), x, y, X_test=grid, y_test=new, truth=truth, refits=30)
    parts[f"order {order}"] = found.to_dict()
    print(f"order {order}: {str(found).partition(';')[0]}")

figure = plt.figure(figsize=(8.4, 6.4), layout="constrained")
panels = figure.subplot_mosaic([[1, 2, 7], ["parts"] * 3], height_ratios=[1, 1.2])
for order in (1, 2, 7):
    axes = panels[order]
    plots.fitted_curves(
        grid[:, 0], {}, (x[:, 0], y), truth=truth, title=f"order {order}", axes=axes
    )
    for _ in range(20):
        drawn = rng.integers(0, 20, 20)
        curve = polynomial(order).fit(x[drawn], y[drawn]).predict(grid)
        axes.plot(grid[:, 0], curve, color=plots.style.ACCENT, linewidth=0.6, alpha=0.6)
plots.bias_variance(parts, loss="squared error on new points", log=True, axes=panels["parts"])
plt.show()
