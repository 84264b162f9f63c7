"""
The optimality conditions of a support vector machine, row by row
=================================================================

At the best multipliers each row is in one of three places (the conditions of Karush, Kuhn and
Tucker):

- α = 0, and the row is beyond the margin, t·f(x) ≥ 1;
- 0 < α < C, and the row is on the margin, t·f(x) = 1;
- α = C, and the row is inside the margin or on the wrong side, t·f(x) ≤ 1.

So all points lie on one line with two corners. A machine that was stopped too early, below,
has points beside it, and the distance is reported for each row as `kkt_violation_`.
"""

import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from gapless import SVC, plots

X, y = make_moons(200, noise=0.3, random_state=0)
t = 2 * y - 1
C = 1.0
machines = {"optimal": SVC(C=C, tol=1e-8), "after 20 steps": SVC(C=C, max_iter=20)}
figure, panels = plt.subplots(2, 1, figsize=(7.6, 6), layout="constrained", sharex=True)
for axes, (name, model) in zip(panels, machines.items(), strict=True):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # stopped on purpose
        model.fit(X, y)
    margins = t * model.decision_function(X)
    print(f"{name}: largest violation {model.kkt_violation_.max():.2g}; {model.certificate_}")
    plots.multipliers(margins, model.alpha_, model.kkt_status_, bound=C, axes=axes)
    axes.set_title(name, loc="left", fontsize="medium")
    axes.label_outer()
plt.show()
