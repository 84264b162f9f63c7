"""
ROC and precision–recall curves
===============================

A score becomes a decision by a threshold. The ROC curve shows, for all thresholds, the share of ill
people who are found against the share of healthy ones who are alarmed; the area below it is the
probability that an ill person is scored above a healthy one. The precision–recall curve shows how
many of the alarms are right instead.

Here one in twenty is ill. Both ROC curves look splendid; the precision says that of the alarms that
find 80 % of the ill, most are false. Bands are 95 % intervals of the better model, dashed
lines what scores without information would give.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from gapless import HistGradientBoostingClassifier, LogisticRegression, plots
from gapless.metrics import precision_recall_curve, roc_curve

X, y = make_classification(
    6000, 12, n_informative=6, weights=[0.95], flip_y=0.01, class_sep=1.0, random_state=3
)
X, X_test, y, y_test = train_test_split(X, y, stratify=y, random_state=0)
models = {
    "boosting": HistGradientBoostingClassifier(max_iter=60, random_state=0),
    "logistic regression": LogisticRegression(),
}
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
for style, (name, model) in enumerate(models.items()):
    p = model.fit(X, y).predict_proba(X_test)[:, 1]
    roc, pr = roc_curve(y_test, p), precision_recall_curve(y_test, p)
    band = {"band": roc.band()} if style == 0 else {}
    plots.roc(roc.fpr, roc.tpr, style=style, axes=left, **band)
    band = {"band": pr.band(), "prevalence": pr.prevalence} if style == 0 else {}
    plots.precision_recall(pr.recall, pr.precision, style=style, axes=right, **band)
    left.lines[-1].set_label(f"{name}, {roc.area.value:.3f}")
    right.lines[-1].set_label(f"{name}, {pr.area.value:.3f}")
    at = (pr.recall >= 0.8).sum() - 1
    print(f"{name}: {roc.area}")
    print(f"{name}: {pr.area}; precision {pr.precision[at]:.2f} at recall {pr.recall[at]:.2f}")
left.legend(frameon=False, loc="lower right", title="area under the curve")
right.legend(frameon=False, loc="lower left", title="average precision", bbox_to_anchor=(0, 0.08))
plt.show()
