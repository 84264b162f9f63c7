"""
Many lines separate two classes, one of them with the widest margin
===================================================================

All of these lines classify the eight points without a mistake. They differ in their margin, the
distance of the nearest point (dotted lines). Perceptrons stop at any line that separates, each
start at another one; the support vector machine finds the line whose nearest point is farthest
away. A line with more room is less likely to be crossed by the next point.
"""

import matplotlib.pyplot as plt

from gapless import LinearSVC, LogisticRegression, Perceptron
from gapless.data import load_builtin
from gapless.evaluation import compare_planes

X, y = load_builtin("points", return_X_y=True)
models = {
    "support vector machine": LinearSVC(C=float("inf")),
    "logistic regression": LogisticRegression(C=1e4),
    "perceptron": Perceptron(shuffle=False),
    "perceptron, shuffled": Perceptron(random_state=1),
}
planes = compare_planes({name: model.fit(X, y) for name, model in models.items()}, X, y)
print(planes)

figure, axes = plt.subplots(figsize=(7.8, 4.4), layout="constrained")
planes.plot(axes=axes).set_aspect("equal")
plt.show()
