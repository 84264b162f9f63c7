"""
A larger C makes the margin of a support vector machine harder
==============================================================

A soft margin minimises ½‖w‖² + C Σ max(0, 1 − tᵢzᵢ): each point may lie inside the margin, at a
price. With a small C the margin is wide and many points are inside it; with a large one it is
narrow.

Support vectors are of two kinds. The *free* ones (circles, 0 < α < C) lie exactly on the margin,
and each of them gives the bias. The *bounded* ones (squares, α = C) lie inside the margin or on
the wrong side.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from gapless import SVC
from gapless.evaluation import decision_grid

X, y = make_blobs(80, centers=[[-1.2, 0], [1.2, 0]], cluster_std=1.0, random_state=3)
figure, panels = plt.subplots(1, 3, figsize=(9, 3.6), layout="constrained", sharey=True)
for axes, C in zip(panels, (0.01, 0.3, 100.0), strict=True):
    model = SVC(C=C, kernel="linear").fit(X, y)
    free, bounded = (np.sum(model.kkt_status_ == kind) for kind in ("on margin", "bounded"))
    print(f"C = {C:<6g} margin {model.margin_:.2f}, {free} free and {bounded:2d} bounded vectors")
    decision_grid(model, X, y).plot(axes, legend=False)
    axes.set_title(f"C = {C:g}: margin {model.margin_:.2f}", loc="left", fontsize="medium")
    axes.label_outer()
handles, labels = panels[0].get_legend_handles_labels()
figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
plt.show()
