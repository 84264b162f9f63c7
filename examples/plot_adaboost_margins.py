"""
AdaBoost: exponential loss, training error and margins by round
===============================================================

AdaBoost minimises Σᵢ exp(−yᵢF(xᵢ)) greedily, one stump at a time: each round weights rows by the
loss they have so far, fits a stump to these weights, and adds it to the vote F. The mean loss is
never below the training error, so both go down together.

On the right, the margins: the share of votes for the right class minus that for the wrong one. A
row is right if its margin is above 0. Even when hardly any row is wrong, further rounds still move
the smallest margins to the right, which is why more rounds often help unseen rows.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_gaussian_quantiles

from gapless import AdaBoostClassifier
from gapless.plots.style import INK

X, y = make_gaussian_quantiles(n_samples=1500, n_features=4, n_classes=2, random_state=0)
model = AdaBoostClassifier(n_estimators=300).fit(X[:500], y[:500])
trace = model.trace_
left, right = trace.plot()
left.figure.set_size_inches(8.8, 3.9)

unseen = [1 - score for score in model.staged_score(X[500:], y[500:])]
left.plot(range(1, 301), unseen, color=INK, linestyle=":", label="error of unseen rows")
left.legend(frameon=False, fontsize="small")
for t in (0, 9, 99, 299):
    print(
        f"round {t + 1:3}: loss {trace.loss[t]:.3f}, training error {trace.error[t]:.3f}, "
        f"unseen {unseen[t]:.3f}"
    )
print(model.certificate_.verdict)
plt.show()
