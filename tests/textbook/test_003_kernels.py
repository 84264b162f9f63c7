"""Kernels of the lecture on the kernel trick: polynomials of degree exactly and up to d."""

import math

import numpy as np
import pytest

from gapless import KernelRidge, Ridge
from gapless.kernels import Gaussian, GaussianSeries, Polynomial, Sigmoid, mercer_check


def test_degree_two_in_the_plane_is_as_printed():
    """Φ(x) = (x₁², √2·x₁x₂, x₂²)."""
    x = np.array([[3.0, -2.0]])
    kernel = Polynomial(degree=2, coef0=0.0)
    np.testing.assert_allclose(kernel.features(x), [[9, -6 * math.sqrt(2), 4]], rtol=1e-15)
    assert kernel.gram(x, np.array([[1.0, 4.0]]))[0, 0] == pytest.approx((3 - 8) ** 2)


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("coef0", [0.0, 1.0])
def test_powers_of_inner_products_are_inner_products_of_monomials(rng, degree, coef0):
    X, Z = rng.standard_normal((2, 8, 3))
    kernel = Polynomial(degree, coef0=coef0)
    right = (X @ Z.T + coef0) ** degree
    scale = np.abs(right).max()
    np.testing.assert_allclose(kernel.gram(X, Z), right, rtol=0, atol=1e-13 * scale)
    features = kernel.features(X) @ kernel.features(Z).T
    np.testing.assert_allclose(features, right, rtol=0, atol=1e-13 * scale)
    # Exactly d: monomials of degree d. Up to d: those of one more variable, which is 1.
    variables = 3 + (coef0 > 0)
    assert kernel.features(X).shape[1] == math.comb(variables + degree - 1, degree)


def test_gaussian_has_polynomials_of_all_orders(rng):
    """exp(−‖x−z‖²/2σ²) is the sum over all degrees of scaled powers of the inner product."""
    X, Z = 0.5 * rng.standard_normal((2, 6, 2))
    gamma = 0.8
    outside = np.exp(-gamma * np.sum(X**2, axis=1))[:, None] * np.exp(-gamma * np.sum(Z**2, axis=1))
    powers = [
        Polynomial(degree, 2 * gamma, 0.0).gram(X, Z) / math.factorial(degree)
        for degree in range(25)
    ]
    np.testing.assert_allclose(Gaussian(gamma).gram(X, Z), outside * sum(powers), rtol=1e-12)


def test_mercer_holds_for_all_but_the_sigmoid(rng):
    X = rng.standard_normal((30, 2))
    assert mercer_check(Polynomial(3, coef0=0.0), X)
    assert mercer_check(Polynomial(3), X)
    assert mercer_check(Gaussian(0.5), X)
    assert not mercer_check(Sigmoid(gamma=2.0, coef0=-1.0), X)


def test_the_gaussian_kernel_is_a_series_of_polynomial_kernels(rng):
    """Slide "Kernels": polynomials of all orders, by the series of exp."""
    X, Z = rng.normal(size=(7, 3)), rng.normal(size=(5, 3))
    gamma, degree = 0.2, 6
    of_x, of_z = (np.exp(-gamma * np.sum(A**2, axis=1)) for A in (X, Z))
    polynomials = sum(
        Polynomial(p, gamma=2 * gamma, coef0=0.0).gram(X, Z) / math.factorial(p)
        for p in range(degree + 1)
    )
    series = GaussianSeries(degree, gamma)
    np.testing.assert_allclose(series.gram(X, Z), of_x[:, None] * polynomials * of_z, rtol=1e-12)
    assert series.features(X).shape == (7, math.comb(3 + degree, degree))


def test_the_rest_of_the_series_is_bounded(rng):
    X = rng.normal(size=(20, 2))
    gamma, radius2 = 0.5, np.max(np.sum(X**2, axis=1))
    exact = Gaussian(gamma).gram(X)
    for degree in range(0, 30, 3):
        missed = np.abs(GaussianSeries(degree, gamma).gram(X) - exact).max()
        bound = (2 * gamma * radius2) ** (degree + 1) / math.factorial(degree + 1)
        assert missed <= bound + 1e-12
    np.testing.assert_allclose(GaussianSeries(80, gamma).gram(X), exact, atol=1e-12)


def test_a_machine_on_the_truncated_features_is_nearly_the_kernel_machine(rng):
    X = rng.uniform(-1, 1, size=(40, 2))
    y = np.sin(3 * X[:, 0]) + X[:, 1] ** 2
    kernel = KernelRidge(alpha=0.1, kernel=Gaussian(1.0)).fit(X, y).predict(X)
    Phi = GaussianSeries(14, 1.0).features(X)
    linear = Ridge(alpha=0.1, fit_intercept=False).fit(Phi, y).predict(Phi)
    np.testing.assert_allclose(linear, kernel, atol=1e-5)
