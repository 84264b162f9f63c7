"""
A chessboard, learned by a Gaussian and by polynomial kernels
=============================================================

The class of a point is the colour of its field on a board of 6 × 6, learned from 800 points. A
Gaussian kernel is local: each point speaks for its neighbourhood, and the board appears wherever
there are points. A polynomial bends as often as its degree allows, so that degree 3 hardly beats
a coin and degree 9 finds a few of the fields; and since it is not local, a bend in one place
moves the border in all the others. A quarter of the points is drawn.
"""

import matplotlib.pyplot as plt
import numpy as np

from gapless import SVC, plots
from gapless.evaluation import decision_grid

rng = np.random.default_rng(0)
X = rng.uniform(-3, 3, (1800, 2))
y = np.where(np.floor(X).sum(axis=1) % 2 == 0, "even field", "odd field")
train, test = slice(0, 800), slice(800, None)
machines = {
    "degree 3": SVC(C=10.0, kernel="poly", degree=3, gamma=0.5, coef0=1.0),
    "degree 9": SVC(C=10.0, kernel="poly", degree=9, gamma=0.5, coef0=1.0),
    "Gaussian": SVC(C=1000.0, kernel="rbf", gamma=2.0),
}
figure, panels = plt.subplots(1, 3, figsize=(9, 3.7), layout="constrained", sharey=True)
for axes, (name, model) in zip(panels, machines.items(), strict=True):
    accuracy = model.fit(X[train], y[train]).score(X[test], y[test])
    print(f"{name}: {accuracy:.1%} of 1000 unseen points, {len(model.support_)} support vectors")
    grid = decision_grid(model, X[train], y[train])
    plane = grid.x, grid.y, grid.regions, grid.points[::4], grid.labels[::4]
    plots.decision(*plane, classes=grid.classes, legend=False, axes=axes)
    axes.set_title(f"{name}: {accuracy:.0%} of unseen points", loc="left", fontsize="medium")
    axes.label_outer()
handles, labels = panels[0].get_legend_handles_labels()
figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
plt.show()
