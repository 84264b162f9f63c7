"""
Mass from height, body-mass index and age: training and test error
==================================================================

The mass of a person is bmi·height², here with noise of 3 kg; age has nothing to do with it. Least
squares on the monomials of order 1 to 4 of the three columns: the training error falls with the
order and is 0 at order 4, whose 35 monomials outnumber the 30 persons. On 1,000 new persons the
error of that model explodes. The leave-one-out error, which needs no new persons, says so in
advance. Errors are on a logarithmic axis.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from gapless import LinearRegression, plots
from gapless.data import load_builtin
from gapless.evaluation import leave_one_out

X, y = load_builtin("mass", return_X_y=True)
rng = np.random.default_rng(1)
height, bmi, age = rng.normal(1.7, 0.1, 1000), rng.normal(25, 4, 1000), rng.uniform(20, 70, 1000)
X_new = np.column_stack([height, bmi, age])
y_new = bmi * height**2 + rng.normal(0, 3, 1000)

plain = LinearRegression().fit(X, y)
weights = ", ".join(f"{w:.3g}" for w in plain.coef_)
print(f"order 1: weights of height, bmi, age: {weights}; bias {plain.intercept_:.0f}")

errors = {"30 training rows": [], "leave-one-out": [], "1,000 new rows": []}
for order in (1, 2, 3, 4):
    monomials = PolynomialFeatures(order, include_bias=False)
    model = make_pipeline(StandardScaler(), monomials, LinearRegression()).fit(X, y)
    held_out = leave_one_out(model, X, y, scoring="neg_mean_squared_error")
    errors["30 training rows"].append(np.mean((model.predict(X) - y) ** 2))
    errors["leave-one-out"].append(-held_out.unseen)
    errors["1,000 new rows"].append(np.mean((model.predict(X_new) - y_new) ** 2))
    print(f"order {order}: " + ", ".join(f"{name} {of[-1]:.3g}" for name, of in errors.items()))

axes = plots.functions(
    [1, 2, 3, 4],
    errors,
    names=("order of the polynomial", "mean squared error in kg²"),
    limits=(0.03, 1e6),
    log=True,
)
axes.set_xticks([1, 2, 3, 4])
axes.axhline(9, color="0.4", linewidth=0.8, linestyle=":")
axes.annotate("variance of the noise ", (4, 5), ha="right")
plt.show()
