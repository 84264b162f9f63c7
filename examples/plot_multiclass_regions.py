"""
Three classes by two-class machines, and by one machine for all
===============================================================

A support vector machine separates two classes; there are several ways to make it separate more.
*One against one* trains a machine for each pair of classes and lets them vote. *One against the
rest* trains a machine for each class, and the largest score decides. With linear machines the
class in the middle suffers: no line separates it from the two others together, its machine has
nothing to say, and its region shrinks. The *all-in-one* machines minimise one objective with a
score for each class, by the margin to the strongest rival (Crammer and Singer) or to all rivals
(Weston and Watkins), and find both borders.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs

from gapless import SVC
from gapless.evaluation import decision_grid

X, y = make_blobs(150, centers=[[-3, 0], [0, 0.5], [3, 0]], cluster_std=0.8, random_state=0)
ways = {
    "one against one": "ovo",
    "one against the rest": "ovr",
    "Crammer and Singer": "crammer_singer",
    "Weston and Watkins": "weston_watkins",
}
figure, panels = plt.subplots(2, 2, figsize=(8, 6), layout="constrained", sharex=True, sharey=True)
for axes, (name, way) in zip(panels.flat, ways.items(), strict=True):
    model = SVC(kernel="linear", multi_class=way).fit(X, y)
    count, accuracy = len(model.support_), model.score(X, y)
    print(f"{name:<20}  {accuracy:.1%} right, {count} support vectors, {model.certificate_.kind}")
    decision_grid(model, X, y).plot(axes, legend=False)
    axes.set_title(f"{name}: {accuracy:.0%} right", loc="left", fontsize="medium")
    axes.label_outer()
handles, _ = panels[0, 0].get_legend_handles_labels()
names = ["left", "middle", "right", "free support vector", "bounded support vector"]
figure.legend(handles, names, loc="outside lower center", ncols=5, frameon=False)
plt.show()
