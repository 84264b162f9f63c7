"""
Over-fit on purpose: can the model learn at all?
================================================

Before a new model is tuned, give it twenty rows and no penalty: a correct one that is rich enough
learns them by heart, and its training error falls to 0 (left). If it does not, something is wrong,
and no tuning will help.

On the right, ``memorise`` for four versions: the network; one that a penalty holds back; one that
by mistake is given a single pixel; and a tree that is too small. Only the first passes. That its
error on other rows is still large is no concern here: it has seen two rows of each digit.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from gapless import DecisionTreeClassifier, MLPClassifier, plots
from gapless.evaluation import memorise

X, y = load_digits(return_X_y=True)
X = X / 16
options = {"learning_rate_init": 0.01, "max_iter": 1000, "tol": 1e-3, "random_state": 0}
network = MLPClassifier(30, alpha=0.0, **options)
pixel = FunctionTransformer(lambda rows: rows[:, [20]])
models = {
    "network": network,
    "strong penalty": MLPClassifier(30, alpha=100.0, **options),
    "a single pixel": make_pipeline(pixel, network),
    "a tree of two leaves": DecisionTreeClassifier(max_depth=1),
}
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
few = np.concatenate([np.flatnonzero(y == digit)[:2] for digit in range(10)])
history = network.fit(X[few], y[few]).history_
plots.training(history, axes=left)
plots.style.with_logarithms(left, "y", history.loss)
left.get_legend().set(loc="lower right", bbox_to_anchor=(1, 1))
left.set_xlabel("epoch, on twenty digits")

for place, (name, model) in enumerate(models.items()):
    found = memorise(model, X, y)
    print(f"{name}: {found.verdict.partition(';')[0]}")
    for shift, error, color, label in (
        (-0.18, found.error, plots.style.ACCENT, "the 20 rows"),
        (0.18, found.unseen, plots.style.FAINT, "all others"),
    ):
        right.barh(place + shift, error, 0.32, color=color, label=None if place else label)
        right.text(error + 0.01, place + shift, f"{error:.2f}", va="center", fontsize="small")
right.set_yticks(range(len(models)), models)
right.set(xlim=(0, 1.1), ylim=(len(models) - 0.5, -0.5))
right.legend(frameon=False, ncols=2, loc="lower left", bbox_to_anchor=(0, 1), fontsize="small")
plots.style.finished(right, "error rate", grid="x")
plt.show()
