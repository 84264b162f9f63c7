"""
Too few neighbours, too many
============================

A row gets the class of most of its k nearest neighbours. With k = 1 every mislabelled row has an
island of its own: the training error is 0, and unseen rows suffer from the noise. With very many
neighbours the vote includes rows from far away, and the border forgets the shape of the classes.

Below, the accuracy on rows left out, by k: between the two ends there is a wide choice.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from gapless import KNeighborsClassifier, validation_curve
from gapless.evaluation import decision_grid

X, y = make_moons(200, noise=0.35, random_state=1)
figure = plt.figure(figsize=(9, 6), layout="constrained")
above, below = figure.subfigures(2, 1, height_ratios=[5, 6])
panels = above.subplots(1, 3, sharey=True)
for axes, k, words in zip(panels, (1, 15, 150), ("too few", "about right", "too many")):
    model = KNeighborsClassifier(k).fit(X, y)
    decision_grid(model, X, y, resolution=120).plot(axes)
    axes.set_title(f"k = {k}, {words}", fontsize="small", loc="left")
    axes.get_legend().remove()
    for points in axes.collections[1:]:
        points.set_sizes([6])
    print(f"k = {k}: {model.generalization_.verdict}")

values = [1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 75, 100, 125, 150]
curve = validation_curve(KNeighborsClassifier(), X, y, "n_neighbors", values)
curve.plot(axes=below.subplots())
below.axes[0].set(xlabel="k, the number of neighbours")
plt.show()
