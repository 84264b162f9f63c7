"""
Costs move the threshold of a decision
======================================

The most probable class is the best decision only if all errors cost the same. With λᵢⱼ the cost of
deciding for class i when class j is true, the decision of least expected cost minimises the risk:

R(i | x) = Σⱼ λᵢⱼ P(j | x).

Here x is a measurement of healthy and of ill people, equally frequent. If missing an illness is k
times as bad as a false alarm, "ill" is decided from P(ill | x) ≥ 1/(k + 1) on: the threshold moves
into the healthy ones. On the right, what each threshold costs on average; the marks are those that
the rule chose, knowing only the probabilities.
"""

import matplotlib.pyplot as plt
import numpy as np

from gapless import BayesDecision, GaussianNB
from gapless.plots.style import ACCENT, FAINT, INK, STYLES, finished, with_logarithms

rng = np.random.default_rng(0)
x = np.concatenate([rng.normal(0, 1, 2000), rng.normal(2, 1, 2000)])
y = np.repeat(["healthy", "ill"], 2000)
ratios = (1, 5, 20)
models = {
    k: BayesDecision(GaussianNB(), {"healthy": 1.0, "ill": float(k)}).fit(x[:, None], y)
    for k in ratios
}
grid = np.linspace(-3, 5, 801)

figure, (left, right) = plt.subplots(1, 2, figsize=(8.8, 3.9), layout="constrained")
bins = np.linspace(-3, 5, 41)
for name, color, fill in (("healthy", FAINT, True), ("ill", INK, False)):
    left.hist(x[y == name], bins, density=True, histtype="stepfilled" if fill else "step",
              color=color, alpha=0.5 if fill else 1.0, label=name)  # fmt: skip
left.plot(grid, models[1].predict_proba(grid[:, None])[:, 1], color=ACCENT, label="P(ill | x)")
left.set_ylim(0, 1.2)
at_top = {"ha": "center", "fontsize": "small", "color": ACCENT}
for (k, model), style in zip(models.items(), (STYLES[j] for j in (0, 2, 4))):
    threshold = grid[np.argmax(model.predict(grid[:, None]) == "ill")]
    p = model.predict_proba([[threshold]])[0, 1]
    left.axvline(threshold, 0, 0.86, **style, linewidth=1.2)
    # Thresholds that are close have their names on different levels.
    left.text(threshold, 1.05 + 0.04 * (k == 5), f"1 : {k}", **at_top)
    missed = np.searchsorted(np.sort(x[y == "ill"]), grid) / len(x)
    alarms = 0.5 - np.searchsorted(np.sort(x[y == "healthy"]), grid) / len(x)
    costs = k * missed + alarms
    right.plot(grid, costs, **style, label=f"1 : {k}")
    right.plot(threshold, np.interp(threshold, grid, costs), "o", color=INK, zorder=3)
    print(f"costs 1 : {k:2}: ill from x = {threshold:5.2f} on, where P(ill | x) = {p:.3f}")
with_logarithms(right, "y", [0.15, 10.0])
right.legend(frameon=False, title="false alarm : missed illness", loc="upper left")
left.legend(frameon=False, fontsize="small", loc="center left")
finished(left, "measurement x", "density, or probability")
finished(right, "threshold from which on “ill” is decided", "mean cost of a row")
plt.show()
