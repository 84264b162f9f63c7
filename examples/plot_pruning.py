"""
Pruning a tree
==============

A tree that may grow as it likes has a leaf for every peculiarity of its training rows, noise
included. Cost-complexity pruning finds, for every price α of a leaf, the subtree that minimises the
impurity plus α · leaves: a nested sequence from the whole tree down to a single split. Rows that
were set aside say which of them to keep.

The accuracy of training rows rises with every leaf; that of validation rows has its best at a few.
Reduced-error pruning goes bottom-up instead, and makes a leaf of every split that does not help the
validation rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from gapless import DecisionTreeClassifier, plots

X, y = make_moons(900, noise=0.35, random_state=0)
X, X_val, X_test = np.split(X, [300, 600])
y, y_val, y_test = np.split(y, [300, 600])

prices = DecisionTreeClassifier().cost_complexity_pruning_path(X, y).ccp_alphas[:-1]
trees = [DecisionTreeClassifier(ccp_alpha=price).fit(X, y) for price in prices]
leaves = [tree.get_n_leaves() for tree in trees]
train = [tree.score(X, y) for tree in trees]
held_out = np.array([tree.score(X_val, y_val) for tree in trees])
errors = np.sqrt(held_out * (1 - held_out) / len(y_val))
best = int(np.argmax(held_out))
bottom_up = DecisionTreeClassifier(prune="reduced_error").fit(X, y, X_val=X_val, y_val=y_val)

figure, axes = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
plots.validation(
    leaves, train, held_out, errors, best=best, parameter="leaves", metric="accuracy", axes=axes
)
score = bottom_up.score(X_val, y_val)
axes.plot(bottom_up.get_n_leaves(), score, "*", color=plots.style.INK, markersize=11)
axes.annotate("reduced-error pruning", (bottom_up.get_n_leaves(), score), (6, 8),
              textcoords="offset points", fontsize="small")  # fmt: skip

for name, tree in {"whole": trees[0], "best": trees[best], "bottom-up": bottom_up}.items():
    print(
        f"{name:>9}: {tree.get_n_leaves():3} leaves, test accuracy {tree.score(X_test, y_test):.3f}"
    )
print(trees[best].certificate_.verdict)
plt.show()
