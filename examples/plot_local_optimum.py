"""
A local optimum
===============

Least squares of a single weight with the penalty λ√|w|, which is not convex. Its kink at 0 is a
local minimum, and there is a second minimum, the lower one, at the bottom of the bowl beside it.
Descent goes downhill from where it starts and ends in its own valley. The certificate of such a
fit therefore says "stationary" and never "optimal".

With the penalty λ|w| on the right the objective is convex. Every local minimum is the global one,
all starts end at the same point, and the duality gap proves that it is the best.
"""

import matplotlib.pyplot as plt
import numpy as np

from gapless import RiskRegressor, plots
from gapless.penalties import L1, Bridge
from gapless.plots.style import INK, look

STRENGTH = 3.0

rng = np.random.default_rng(0)
x = np.linspace(-1, 1, 20)[:, None]
y = x[:, 0] + rng.normal(0, 0.2, 20)
w = np.linspace(-0.3, 1.3, 641)


def descend(penalty, at, step=0.04):
    """Proximal gradient descent: down the slope of the squares, then the penalty's own step."""
    way = [at]
    while len(way) < 2 or abs(way[-1] - way[-2]) > 1e-6:
        slope = np.sum((x[:, 0] * way[-1] - y) * x[:, 0])
        way.append(penalty.prox(np.array([way[-1] - step * slope]), step)[0])
    return np.array(way)


def objective(penalty, v):
    """Half the sum of squares, and the penalty."""
    return 0.5 * np.sum((y - x[:, 0] * v) ** 2) + penalty.value(np.array([v]))


beside = {"textcoords": "offset points", "ha": "center", "fontsize": "small"}
figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
penalties = {"λ√|w|": Bridge(STRENGTH, power=0.5), "λ|w|": L1(STRENGTH)}
for (name, penalty), axes in zip(penalties.items(), panels, strict=True):
    curve = [objective(penalty, v) for v in w]
    plots.functions(w, {"": curve}, names=("w", "objective"), axes=axes)
    for k, start in enumerate((-0.25, 0.45, 1.2)):
        way = descend(penalty, start)
        heights = [objective(penalty, v) for v in way]
        axes.plot(
            way, heights, linewidth=1, markersize=4, alpha=0.8, **{**look(k + 1), "linestyle": "-"}
        )
        axes.plot(way[-1], heights[-1], "o", color=INK, markersize=9, mfc="none")
        print(f"{name}: from {start:5.2f} to w = {way[-1]:.3f}, objective {heights[-1]:.3f}")
    model = RiskRegressor(penalty=penalty, fit_intercept=False).fit(x, y)
    kind = model.certificate_.kind
    minima = {"global minimum": (model.coef_[0], 14)}
    if name == "λ√|w|":
        minima["local minimum"] = (0.0, -20)
    for words, (at, shift) in minima.items():
        axes.annotate(words, (at, objective(penalty, at)), (0, shift), **beside)
    axes.set_title(f"{name}: {kind}", fontsize="small", loc="left")
    print(f"{name}: gapless finds w = {model.coef_[0]:.3f}, {kind}")
plt.show()
