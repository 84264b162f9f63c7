"""
Support vector regression: a tube that ignores small errors
===========================================================

The ε-insensitive loss max(0, |y − f(x)| − ε) costs nothing inside a tube of half-width ε around
the curve. Only rows on its border (circles) or outside (squares, multiplier C) are support
vectors; the others could be left out. A wider tube needs fewer of them, until it is wider than
the noise and the curve goes flat.
"""

import matplotlib.pyplot as plt
import numpy as np

from gapless import SVR, plots

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(0, 6, 80))[:, None]
y = np.sin(X[:, 0]) + 0.15 * rng.normal(size=80)
x = np.linspace(0, 6, 300)
figure, panels = plt.subplots(1, 3, figsize=(9, 3.4), layout="constrained", sharey=True)
for axes, epsilon in zip(panels, (0.05, 0.2, 0.6), strict=True):
    model = SVR(C=10.0, gamma=0.5, epsilon=epsilon).fit(X, y)
    f = model.predict(x[:, None])
    bounded = np.flatnonzero(model.kkt_status_ == "bounded")
    plots.curve(
        x,
        f,
        band=(f - epsilon, f + epsilon),
        points=(X[:, 0], y),
        support=model.support_,
        bounded=bounded,
        band_label="tube",
        axes=axes,
        legend=False,
    )
    error = np.sqrt(np.mean((f - np.sin(x)) ** 2))
    counts = f"{len(model.support_):2d} support vectors, {len(bounded):2d} of them bounded"
    print(f"ε = {epsilon:<4}  {counts}; error against the true curve {error:.3f}")
    axes.set_title(f"ε = {epsilon}: {len(model.support_)} vectors", loc="left", fontsize="medium")
    axes.label_outer()
handles, labels = panels[0].get_legend_handles_labels()
figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
plt.show()
