"""
Learning and validation curves that name over- and under-fitting
================================================================

*Validation curve* (above): the error of polynomials by their order, on the rows they learned from
and on unseen ones. Left of the best order both errors are high: under-fitted. Right of it they
part: over-fitted, as the picture says. The error has a logarithmic axis, since it explodes.

*Learning curve* (below): a polynomial of order 6, with more and more rows to learn from. Few rows
are fitted too well and predicted badly; with more, the two scores approach each other from both
sides. Whether a model over-fits depends on how much data it has.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from gapless import LinearRegression, learning_curve, validation_curve

rng = np.random.default_rng(0)
x = rng.uniform(0, 6, 300)[:, None]
y = np.sin(1.5 * x[:, 0]) + 0.3 * rng.normal(size=300)
model = make_pipeline(
    PolynomialFeatures(6, include_bias=False), StandardScaler(), LinearRegression()
)

orders = validation_curve(
    model,
    x[:40],
    y[:40],
    "polynomialfeatures__degree",
    range(1, 16),
    scoring="neg_mean_squared_error",
)
rows = learning_curve(model, x, y)
print(orders)
print(rows)

figure, (above, below) = plt.subplots(2, 1, figsize=(7.4, 7.4), layout="constrained")
orders.plot(axes=above)
above.set_xlabel("order of the polynomial")
rows.plot(axes=below)
plt.show()
