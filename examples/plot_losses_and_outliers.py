"""
How losses forgive an outlier
=============================

Above, one wrong value among twenty, and lines fitted by four losses. The pull of a row is the
slope of its loss: that of the squared loss grows with the distance, so the line goes to meet the
outlier. The absolute loss and Huber's pull with a constant force at most, and the other rows win.
The quantile loss for 0.8 wants a fifth of the rows above the line, however far above.

Below, scores of two classes, −1 and +1; the border is where a line crosses 0. One row of the left
class lies far inside the right one. Hinge and logistic loss grow linearly with its distance; the
exponential loss explodes, so its line turns almost flat, and its border leaves the gap between the
classes.
"""

import matplotlib.pyplot as plt
import numpy as np

from gapless import RiskClassifier, RiskRegressor, plots
from gapless.losses import Absolute, Exponential, Hinge, Huber, Logistic, Quantile, Squared
from gapless.penalties import L2

rng = np.random.default_rng(0)
x = np.linspace(0, 10, 20)
y = 1 + 0.5 * x + rng.normal(0, 0.6, 20)
y[18] -= 9
grid = np.linspace(0, 10, 101)
losses = {
    "squared": Squared(),
    "absolute": Absolute(),
    "Huber, δ = 0.5": Huber(0.5),
    "quantile 0.8": Quantile(0.8),
}
lines = {}
for name, loss in losses.items():
    model = RiskRegressor(loss, penalty="none").fit(x[:, None], y)
    lines[name] = model.predict(grid[:, None])
    print(f"{name:>14}: slope {model.coef_[0]:5.2f} (the truth is 0.50)")

# %%
# The same for classes:
position = np.concatenate([rng.uniform(-4, -1, 15), rng.uniform(1, 4, 15), [9.0]])
label = np.repeat([-1, 1, -1], [15, 15, 1])
wide = np.linspace(-5, 10, 151)
scores = {}
for loss in (Hinge(), Logistic(), Exponential()):
    model = RiskClassifier(loss, penalty=L2(0.1)).fit(position[:, None], label)
    scores[loss.name] = model.decision_function(wide[:, None])
    border = -model.intercept_[0] / model.coef_.item()
    wrong = np.sum(model.predict(position[:, None]) != label)
    print(f"{loss.name:>14}: border at {border:5.2f}, {wrong} of {len(label)} rows wrong")

figure, (left, right) = plt.subplots(2, 1, figsize=(7, 6.4), layout="constrained")
plots.fitted_curves(grid, lines, (x, y), outliers=[18], title="numbers", axes=left)
plots.fitted_curves(
    wide,
    scores,
    (position, label),
    outliers=[30],
    names=("x", "score"),
    title="classes",
    axes=right,
)
right.axhline(0, color="0.3", linewidth=0.8)
plt.show()
