"""
Two classifiers with the same errors
====================================

Two classifiers look at a picture of a dog. Both say "dog", so the 0-1 loss is 0 for both and
cannot tell them apart. Yet B is better: A is right by a hair. The cross-entropy −log p, with p the
probability given to the truth, sees the difference, and its slope shows in which direction to
improve; the 0-1 loss is a staircase.

The same happens to a model of real data: of two logistic regressions for iris flowers, one with a
penalty that is far too strong, both are wrong about equally many flowers.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from gapless import LogisticRegression, plots
from gapless.metrics import cross_entropy, error_rate, log_loss
from gapless.plots.style import ACCENT, FAINT, finished

animals, truth = ["cat", "dog", "bird"], [0.0, 1.0, 0.0]
told = {"A": [0.32, 0.36, 0.32], "B": [0.04, 0.92, 0.04]}
losses = {name: float(cross_entropy(truth, p)) for name, p in told.items()}
for name, loss in losses.items():
    print(f"classifier {name}: 0-1 loss 0, cross-entropy {loss:.3f}")

X, y = load_iris(return_X_y=True)
for strength in (0.05, 1.0):
    model = LogisticRegression(C=strength).fit(X[::2], y[::2])
    wrong = float(error_rate(y[1::2], model.predict(X[1::2])))
    entropy = float(log_loss(y[1::2], model.predict_proba(X[1::2])))
    print(f"iris, C = {strength:4}: {wrong:.3f} wrong, cross-entropy {entropy:.3f}")

figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.4), layout="constrained")
for place, (name, colour) in enumerate({"A": FAINT, "B": ACCENT}.items()):
    at = np.arange(3) + 0.36 * (place - 0.5)
    bars = left.bar(
        at, told[name], 0.34, color=colour, hatch="//" if place == 0 else "", ec="white"
    )
    left.bar_label(bars, [name] * 3)
left.set_xticks(range(3), animals)
left.set_ylim(0, 1.08)
finished(left, "", "probability", title="what A and B say about a picture of a dog")

p = np.linspace(0.02, 1, 491)
plots.functions(
    p,
    {"cross-entropy": -np.log(p), "0-1 loss": (p < 0.335).astype(float)},
    names=("probability of the truth", "loss"),
    limits=(-0.1, 3),
    axes=right,
)
for name, loss in losses.items():
    right.plot(told[name][1], loss, "o", color="0.1")
    right.annotate(name, (told[name][1], loss), xytext=(6, 5), textcoords="offset points")
plt.show()
