"""Kernel ridge regression of the lecture: α = (K + λI)⁻¹y, and its primal twin."""

import numpy as np
import pytest

import gapless


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_coefficients_are_the_formula(rng, kernel):
    X, y = rng.standard_normal((12, 3)), rng.standard_normal(12)
    model = gapless.KernelRidge(alpha=0.5, kernel=kernel, gamma=0.3).fit(X, y)
    K = model.kernel_.gram(X)
    np.testing.assert_allclose(model.dual_coef_, np.linalg.inv(K + 0.5 * np.eye(12)) @ y)
    new = rng.standard_normal((4, 3))
    np.testing.assert_allclose(model.predict(new), model.kernel_.gram(new, X) @ model.dual_coef_)


def test_the_linear_kernel_equals_primal_ridge(rng):
    """w = (XᵀX + λI)⁻¹Xᵀy = Xᵀα."""
    X, y = rng.standard_normal((12, 3)), rng.standard_normal(12)
    model = gapless.KernelRidge(alpha=0.5).fit(X, y)
    w = np.linalg.solve(X.T @ X + 0.5 * np.eye(3), X.T @ y)
    np.testing.assert_allclose(X.T @ model.dual_coef_, w)
    np.testing.assert_allclose(model.predict(X), X @ w)


def test_a_gaussian_process_has_the_same_mean(rng):
    X, y = rng.standard_normal((12, 3)), rng.standard_normal(12)
    kernel = gapless.kernels.Gaussian(0.3)
    ridge = gapless.KernelRidge(alpha=0.5, kernel=kernel).fit(X, y)
    process = gapless.GaussianProcessRegressor(kernel, alpha=0.5, optimizer=None).fit(X, y)
    np.testing.assert_allclose(process.predict(X), ridge.predict(X))
    np.testing.assert_allclose(process.alpha_, ridge.dual_coef_)
