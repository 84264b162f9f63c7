"""
Logistic regression draws a border, and says how sure it is
===========================================================

Logistic regression models the log-odds of a class by a linear function, log(p/(1 − p)) = ⟨w, x⟩ +
b. Lines of equal probability are parallel, and the border of the classes is where p = 50 %. Its
distance from the lines of 5 % and 95 % says how quickly the model becomes sure: they are
±2.94/‖w‖ away, since log(0.95/0.05) = 2.94.

The two classes are drawn from normal distributions with the same covariance. For these the
log-odds are linear in truth as well, so the learned numbers can be compared with the true ones.
"""

import matplotlib.pyplot as plt
import numpy as np

from gapless import LogisticRegression, plots
from gapless.evaluation import decision_grid

rng = np.random.default_rng(0)
y = np.repeat([0, 1], 100)
X = rng.normal(size=(200, 2)) + np.array([[-1.0, -0.5], [1.0, 0.5]])[y]
model = LogisticRegression(C=np.inf).fit(X, y)
print("learned: w = ({:.2f}, {:.2f})".format(*model.coef_[0]), f"b = {model.intercept_[0]:.2f}")
print("true:    w = (2.00, 1.00) b = 0.00")
print(f"95 % is reached {np.log(0.95 / 0.05) / np.linalg.norm(model.coef_):.2f} from the border")

# %%
# The decision function on a grid of the plane gives the probabilities p = 1/(1 + exp(−z)).

grid = decision_grid(model, X, y)
p = 1 / (1 + np.exp(-grid.scores))
figure, axes = plt.subplots(figsize=(6.4, 4.8), layout="constrained")
plots.probabilities(grid.x, grid.y, p, X, y, classes=["class 0", "class 1"], axes=axes)
plt.show()
