"""
Irrelevant and redundant columns, and who suffers from them
===========================================================

Four measurements tell the species of iris flowers. On the left, columns of noise are added to them,
on the same scale: to nearest neighbours all columns count alike, so a hundred of noise drown four
that matter. On the right, copies of the column that says least, the width of the sepal: naive Bayes
takes each copy for new evidence, and to neighbours it becomes the only column.

A tree picks its columns; a linear model gives each a weight, and under a penalty on Σ|w| most of
them are exactly 0. Each point is the mean accuracy over five folds.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler

from gapless import DecisionTreeClassifier, GaussianNB, KNeighborsClassifier, LogisticRegression
from gapless.evaluation import k_fold
from gapless.plots.style import ACCENT, FAINT, INK, finished

X, y = load_iris(return_X_y=True)
X = StandardScaler().fit_transform(X)
noise = np.random.default_rng(0).normal(size=(len(X), 100))
added = {"irrelevant columns": noise, "copies of one column": np.repeat(X[:, [1]], 100, axis=1)}
models = {
    "logistic, penalty Σ|w|": (LogisticRegression(l1_ratio=1), ACCENT, "o-"),
    "tree": (DecisionTreeClassifier(), INK, "s:"),
    "naive Bayes": (GaussianNB(), FAINT, "^-"),
    "5 neighbours": (KNeighborsClassifier(5), ACCENT, "D--"),
}
counts = [0, 5, 10, 20, 50, 100]
figure, panels = plt.subplots(1, 2, figsize=(9, 3.9), sharey=True, layout="constrained")
for axes, (what, columns) in zip(panels, added.items()):
    for name, (model, color, style) in models.items():
        scores = [k_fold(model, np.hstack([X, columns[:, :k]]), y).unseen for k in counts]
        axes.plot(range(len(counts)), scores, style, color=color, markersize=5, label=name)
        print(f"{what:>20}, {name}: {scores[0]:.2f} → {scores[-1]:.2f}")
    axes.set_xticks(range(len(counts)), [str(k) for k in counts])
    finished(axes, f"{what} beside the four of iris")
panels[0].set_ylabel("accuracy on unseen rows")
panels[1].legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
plt.show()
