"""
Ridge and lasso fits of order 9, from no penalty to too much
============================================================

The same ten noisy points of y = (x − 3)² as for polynomials of growing order, but now the order
stays at 9 and a penalty restrains the weights: ½λ‖w‖² (ridge, above) or λ‖w‖₁ (lasso, below). With
hardly any penalty the curve passes through the noise; with too much it is flat. In between both
are close to the parabola, although they know nothing of its order: a rich model that is restrained
does as well as a simple one that happens to be right. The lasso needs only a few of the nine
powers.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from gapless import Lasso, Ridge, plots

rng = np.random.default_rng(4)
x = np.linspace(0, 6, 10)
y = (x - 3) ** 2 + rng.normal(0, 1.5, 10)
grid = np.linspace(0, 6, 241)
truth = (grid - 3) ** 2

figure, panels = plt.subplots(
    2, 4, figsize=(9, 4.6), sharex=True, sharey=True, layout="constrained"
)
for j, strength in enumerate((1e-6, 1e-2, 1.0, 1e2)):
    # Lasso's alpha is λ/n, as in scikit-learn.
    models = {"ridge": Ridge(strength), "lasso": Lasso(strength / len(x), max_iter=100_000)}
    for (name, last), axes in zip(models.items(), panels[:, j], strict=True):
        features = PolynomialFeatures(9, include_bias=False)
        model = make_pipeline(features, StandardScaler(), last).fit(x[:, None], y)
        curve = model.predict(grid[:, None])
        test = np.mean((curve - truth) ** 2) + 1.5**2
        title = f"{name}, λ = {strength:g}: test {test:.3g}"
        plots.fitted_curves(grid, {"": curve}, (x, y), truth=truth, title=title, axes=axes)
        axes.label_outer()
        print(f"{title}, {np.sum(last.coef_ != 0)} of 9 weights are not 0")
plt.show()
