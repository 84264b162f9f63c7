"""
Scales decide who is near
=========================

Distances add up differences whatever their units. Whether these people buy a large car depends on
their height and on their income in equal parts. In metres and dollars no height can make up for a
difference of one dollar: neighbours are people of nearly the same income, whatever their height,
and the regions are horizontal stripes. In units of the standard deviation both columns count.

``fit`` itself notices: its warning about columns without scaling is printed below.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gapless import KNeighborsClassifier
from gapless.evaluation import decision_grid

rng = np.random.default_rng(0)
Z = rng.normal(size=(400, 2))
X = np.column_stack([1.7 + 0.1 * Z[:, 0], 1000 * np.round(55 + 12 * Z[:, 1], 3)])
y = np.where(Z.sum(axis=1) + 0.3 * rng.normal(size=400) > 0, "buys", "does not")
rows = slice(0, 200)

raw = KNeighborsClassifier(7)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    raw.fit(X[rows], y[rows])
scaled = make_pipeline(StandardScaler(), KNeighborsClassifier(7)).fit(X[rows], y[rows])

figure, panels = plt.subplots(1, 2, figsize=(9, 3.9), sharey=True, layout="constrained")
models = {"in metres and dollars": raw, "in standard deviations": scaled}
for axes, (name, model) in zip(panels, models.items()):
    decision_grid(model, X[rows], y[rows]).plot(axes)
    score = model.score(X[200:], y[200:])
    axes.set_title(f"{name}: {score:.0%} of unseen rows are right", fontsize="small", loc="left")
    axes.set(xlabel="height in metres", ylabel="")
    print(f"{name}: accuracy {score:.3f}")
panels[0].get_legend().remove()
panels[0].set(ylabel="income in dollars")
print(caught[0].message)
plt.show()
