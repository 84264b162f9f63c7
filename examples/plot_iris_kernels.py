"""
Three kernels on the petals of irises, and how many support vectors they need
=============================================================================

One kind of iris against the two others, by the length and the width of its petals: 120 flowers,
40 of each kind. A line separates them, and rests on 2 support vectors, 1.7 % of the flowers. A
cubic kernel needs as few. A narrow Gaussian kernel draws a border around every small group of
flowers, and 55 of the 120 (45.8 %) are support vectors: it has learned the flowers by heart
rather than a rule.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from gapless import SVC
from gapless.evaluation import decision_grid

X, y = load_iris(return_X_y=True)
rows = np.concatenate([np.arange(40) + 50 * k for k in range(3)])
X, y = X[rows, 2:], np.where(y[rows] == 0, "setosa", "others")
machines = {
    "linear": SVC(kernel="linear"),
    "cubic": SVC(kernel="poly", degree=3, coef0=1.0),
    "Gaussian, γ = 13": SVC(C=10, gamma=13.0, tol=1e-8),
}
figure, panels = plt.subplots(1, 3, figsize=(9, 3.6), layout="constrained", sharey=True)
for axes, (name, model) in zip(panels, machines.items(), strict=True):
    count = len(model.fit(X, y).support_)
    print(f"{name:<16}  {count:2d} support vectors ({count / len(y):.1%})")
    decision_grid(model, X, y).plot(axes, legend=False)
    axes.set(xlabel="length of the petal [cm]", ylabel="width of the petal [cm]")
    axes.set_title(f"{name}: {count} vectors", loc="left", fontsize="medium")
    axes.label_outer()
handles, labels = panels[2].get_legend_handles_labels()
figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
plt.show()
