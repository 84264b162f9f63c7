"""
The paths of ridge and lasso
============================

The nine weights of a polynomial of order 9 through noisy points of a parabola, for every strength
of the penalty from the strongest on the left, and below them the score on unseen rows. Under the
ridge penalty (left) all weights grow together and none is 0. Under the lasso (right) they enter
one by one, and most of them are exactly 0. The dashed lines mark the strengths with the best
score.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from gapless import LassoCV, RidgeCV

rng = np.random.default_rng(0)
x = np.linspace(0, 6, 30)
y = (x - 3) ** 2 + rng.normal(0, 1.5, 30)
powers = PolynomialFeatures(9, include_bias=False).fit_transform(x[:, None])
X = StandardScaler().fit_transform(powers)

figure, panels = plt.subplots(2, 2, figsize=(9, 5.6), sharex="col", layout="constrained")
models = {
    "ridge": RidgeCV(alphas=np.geomspace(1e3, 1e-5, 60)),
    "lasso": LassoCV(alphas=np.geomspace(2, 0.005, 60), cv=10),
}
for (name, model), axes in zip(models.items(), panels.T, strict=True):
    path = model.fit(X, y).path_
    path.plot(names=[f"x{power}" for power in "¹²³⁴⁵⁶⁷⁸⁹"], axes=axes)
    axes[0].set_title(name, fontsize="small", loc="left")
    weights = path.coefficients
    print(f"{name}: {np.mean(weights == 0):.0%} of the weights along the path are 0, and", end=" ")
    print(f"{np.sum(weights[path.chosen] == 0)} of 9 at the best strength, {model.alpha_:.2g}")
plt.show()
