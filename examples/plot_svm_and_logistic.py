"""
Support vector machine and logistic regression, side by side
============================================================

Both minimise a loss of the margin t·z plus a penalty, and both losses lie above the errors that
they stand for. The hinge is 0 beyond the margin, the logistic loss nowhere: so few rows pull at a
support vector machine, and every row pulls at logistic regression, the more the less it is sure
of the row's class.

The scores of logistic regression are log-odds: of the rows to which it gives 80 %, about 80 % are
in the class. The scores of a support vector machine are distances in units of the margin. Put
through the same function 1/(1 + exp(−z)), they are no probabilities.
"""

import matplotlib.pyplot as plt
import numpy as np

from gapless import SVC, LogisticRegression, plots
from gapless.losses import Hinge, Logistic
from gapless.plots.style import STYLES, finished

rng = np.random.default_rng(1)
y = rng.integers(0, 2, 20_300)
X = rng.normal(size=(len(y), 2)) + 0.9 * np.array([[-1.0, -0.5], [1.0, 0.5]])[y]
train, test = slice(0, 300), slice(300, None)
svm = SVC(C=1.0, kernel="linear").fit(X[train], y[train])
logistic = LogisticRegression(C=1.0).fit(X[train], y[train])

# %%
# The losses, and how strongly each row pulls: the derivative of its loss.

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(9, 3.4), layout="constrained")
margin = np.linspace(-2, 3, 501)
ones = np.ones_like(margin)
left.plot(margin, margin <= 0, color="0.3", drawstyle="steps-mid", label="0-1 error")
left.plot(margin, Hinge().value(ones, margin), label="hinge", **STYLES[0])
left.plot(margin, Logistic(base2=True).value(ones, margin), label="logistic", **STYLES[2])
finished(left, "margin t·z", "loss", title="loss").legend(frameon=False, fontsize="small")

t = 2 * y[train] - 1
pulls = {
    "SVM": svm.alpha_ / svm.C,
    "logistic": -t * Logistic().gradient(t, logistic.decision_function(X[train])),
}
for (name, pull), style in zip(pulls.items(), (STYLES[0], STYLES[2]), strict=True):
    middle.plot(np.sort(pull)[::-1], label=f"{name}: {np.sum(pull > 1e-9)} rows", **style)
    print(f"{name}: {np.sum(pull > 1e-9)} of {len(t)} rows have a part in w")
finished(middle, "row, by its pull", "pull", title="sparsity: which rows pull")
middle.legend(frameon=False, fontsize="small", loc="center right")

# %%
# What the scores mean: shares of the class among new rows of about the same 1/(1 + exp(−z)).

for name, model, style in (("SVM", svm, STYLES[0]), ("logistic", logistic, STYLES[2])):
    p = 1 / (1 + np.exp(-model.decision_function(X[test])))
    bins = np.clip((10 * p).astype(int), 0, 9)
    known = [k for k in range(10) if np.sum(bins == k) >= 50]
    mean, share = np.array([(p[bins == k].mean(), y[test][bins == k].mean()) for k in known]).T
    right.plot(mean, share, marker="o", markersize=4, label=name, **style)
    print(f"{name}: shares are off by {100 * np.mean(np.abs(share - mean)):.1f} points on average")
right.plot([0, 1], [0, 1], **plots.style.GUIDE)
finished(right, "1/(1 + exp(−z))", "share of the class", title="meaning of the score")
right.legend(frameon=False)
plt.show()
