"""
Are the probabilities right? Calibration
========================================

Of the rows that are given a probability of 0.8, eight in ten should be positive. Naive Bayes counts
columns that repeat each other as new evidence, and is far too sure of itself: its points lie below
the diagonal at the right and above it at the left.

``recalibrate`` corrects that with the fitted model alone: the scores that each training row gets
from the model without it are mapped to what happened. Areas of dots are numbers of rows, lines 95 %
intervals.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification

from gapless import GaussianNB, LogisticRegression
from gapless.metrics import log_loss, recalibrate, reliability_curve

X, y = make_classification(
    4000, 20, n_informative=2, n_redundant=10, flip_y=0.1, class_sep=0.7, random_state=1
)
naive = GaussianNB().fit(X[:1000], y[:1000])
models = {
    "naive Bayes": naive,
    "the same, recalibrated": recalibrate(naive),
    "logistic regression": LogisticRegression().fit(X[:1000], y[:1000]),
}
figure, panels = plt.subplots(1, 3, figsize=(9, 3.5), sharey=True, layout="constrained")
for axes, (name, model) in zip(panels, models.items()):
    p = model.predict_proba(X[1000:])
    curve, loss = reliability_curve(y[1000:], p), log_loss(y[1000:], p)
    curve.plot(axes=axes)
    title = f"{name}\ncalibration error {curve.ece.value:.3f}"
    axes.set_title(title, fontsize="small", loc="left")
    axes.set(xlabel="probability", ylabel="" if axes is not panels[0] else "observed share")
    print(f"{name}: calibration error {curve.ece.value:.3f}, log loss {loss.value:.3f}")
plt.show()
