"""
Polynomials of order 1 to 9 through noisy points of a parabola
==============================================================

Ten noisy points of y = (x − 3)², and least squares with the features x, x², …, xᵏ. Order 1 is too
rigid: it under-fits. Order 2 finds the parabola. From then on the training error keeps falling
while the curve learns the noise: the error on new points of the same parabola rises. Order 9
passes through every point, and is the worst of all. It is the test error that counts.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from gapless import LinearRegression, plots

rng = np.random.default_rng(4)
x = np.linspace(0, 6, 10)
y = (x - 3) ** 2 + rng.normal(0, 1.5, 10)
grid = np.linspace(0, 6, 241)
truth = (grid - 3) ** 2

figure, panels = plt.subplots(
    3, 3, figsize=(9, 7.2), sharex=True, sharey=True, layout="constrained"
)
for order, axes in enumerate(panels.flat, start=1):
    features = make_pipeline(PolynomialFeatures(order, include_bias=False), StandardScaler())
    model = make_pipeline(features, LinearRegression()).fit(x[:, None], y)
    curve = model.predict(grid[:, None])
    train = np.mean((model.predict(x[:, None]) - y) ** 2)
    test = np.mean((curve - truth) ** 2) + 1.5**2  # the mean over new points with new noise
    title = f"order {order}: training {train:.2f}, test {test:.2f}"
    plots.fitted_curves(grid, {"": curve}, (x, y), truth=truth, title=title, axes=axes)
    print(title)
for axes in panels.flat:
    axes.label_outer()
plt.show()
