"""
Gradient boosting, stage by stage
=================================

Boosting starts from a constant and adds small trees, each fitted to what the sum so far has left
over: for the squared loss the residuals y − F(x), for other losses the negative gradient. Every
tree is shortened by the learning rate.

One round makes a step, ten a rough curve, a hundred follow the wave, and a thousand the noise of
single points. On the right, the loss by rounds: that of training rows falls for ever, that of rows
held out has its best (the dot) long before.
"""

import matplotlib.pyplot as plt
import numpy as np

from gapless import GradientBoostingRegressor, plots

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 10, 240))
y = np.sin(x) + 0.3 * rng.normal(size=240)
train = rng.permutation(240) < 120
model = GradientBoostingRegressor(n_estimators=1000, learning_rate=0.1, max_depth=2, random_state=0)
model.fit(x[train, None], y[train])

grid = np.linspace(0, 10, 500)
stages = list(model.staged_predict(grid[:, None]))
figure = plt.figure(figsize=(9, 4.6), layout="constrained")
left, right = figure.subfigures(1, 2, width_ratios=[3, 2])
for axes, rounds in zip(left.subplots(2, 2, sharex=True, sharey=True).flat, (1, 10, 100, 1000)):
    axes.plot(x[train], y[train], ".", color=plots.style.FAINT, markersize=4)
    axes.plot(grid, np.sin(grid), linewidth=1.0, color=plots.style.INK, linestyle=":")
    axes.plot(grid, stages[rounds - 1], color=plots.style.ACCENT, linewidth=1.6)
    plots.style.finished(axes, title=f"{rounds} round{'s' if rounds > 1 else ''}")
left.supxlabel("x", fontsize="medium")


def losses(rows):
    """The mean squared error of some rows, before the first round and after each."""
    answers = [np.full(rows.sum(), y[train].mean()), *model.staged_predict(x[rows, None])]
    return [np.mean((y[rows] - answer) ** 2) for answer in answers]


held_out = losses(~train)
axes = plots.rounds(losses(train), held_out, axes=right.subplots())
plots.style.with_logarithms(axes, "x", [1, 1000])
axes.set(xlim=(0.8, 6000), ylabel="mean squared error")
best = int(np.argmin(held_out))
for rounds in (1, 10, best, 100, 1000):
    print(f"rounds {rounds:4}: mean squared error of held-out rows {held_out[rounds]:.3f}")
plt.show()
