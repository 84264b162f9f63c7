"""003, kernels in logistic regression: "derive simple gradient descent rule on αᵢ".

With w = Σαᵢφ(xᵢ), a step w ← w − η(Σℓ′ᵢφ(xᵢ) + λw) is α ← α − η(ℓ′ + λα): no φ is left, only K.
"""

import numpy as np
import pytest
from scipy.special import expit

from gapless import KernelLogisticRegression, RiskClassifier
from gapless.kernels import Gaussian
from gapless.penalties import L2
from gapless.solvers import GradientDescent, Momentum

ETA, LAMBDA, STEPS = 0.8, 0.5, 6
KERNEL = Gaussian(gamma=0.7)


def by_hand(X, y, factor):
    """The rule, with ΔW = η∇ + factor·ΔW for momentum, from α = 0 and the best bias."""
    K, n = KERNEL.gram(X, X), len(y)
    alpha, b = np.zeros(n), float(np.log(np.mean(y > 0) / np.mean(y < 0)))
    by_alpha, by_b = np.zeros(n), 0.0
    for _ in range(STEPS):
        slope = -y * expit(-y * (K @ alpha + b))
        by_alpha = ETA / n * (slope + LAMBDA * alpha) + factor * by_alpha
        by_b = ETA / n * slope.sum() + factor * by_b
        alpha, b = alpha - by_alpha, b - by_b
    return alpha, b


@pytest.mark.filterwarnings("ignore:.*stopped at relative gap")
@pytest.mark.parametrize("factor", [0.0, 0.6])
@pytest.mark.parametrize("kind", ["risk", "logistic"])
def test_descent_in_kernel_form_is_the_rule_on_alpha(kind, factor, rng):
    X = rng.normal(size=(14, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    y[:3] = 1, -1, -1
    solver = GradientDescent(step=ETA, update=Momentum(factor))
    options = {"kernel": KERNEL, "solver": solver, "max_iter": STEPS, "tol": 0.0}
    if kind == "risk":
        model = RiskClassifier(loss="logistic", penalty=L2(LAMBDA), **options)
    else:
        model = KernelLogisticRegression(C=1 / LAMBDA, **options)
    model.fit(X, y)
    alpha, b = by_hand(X, y, factor)
    rows = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in model.X_fit_]
    np.testing.assert_allclose(model.dual_coef_.ravel(), alpha[rows], atol=1e-12)
    np.testing.assert_allclose(model.intercept_, b, atol=1e-12)
    assert model.solver_ == "momentum" and np.max(model.n_iter_) == STEPS
