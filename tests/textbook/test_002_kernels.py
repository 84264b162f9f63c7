"""Kernels of the lecture on support vector machines: the quadratic one and its features."""

import numpy as np
import pytest

from gapless.kernels import Gaussian, Linear, Polynomial, Quadratic


def features(x, c):
    """Φ(x) as the lecture prints it for three columns: all products, √(2c)·x, and c."""
    return np.array([*np.outer(x, x).ravel(), *(np.sqrt(2 * c) * x), c])


@pytest.mark.parametrize("c", [0.0, 0.5, 1.0, 3.0])
def test_quadratic_kernel_is_the_inner_product_of_its_features(rng, c):
    X, Z = rng.standard_normal((2, 6, 3))
    kernel = Quadratic(c)
    printed = np.array([[features(x, c) @ features(z, c) for z in Z] for x in X])
    np.testing.assert_allclose(kernel.gram(X, Z), printed, rtol=1e-12, atol=1e-13)
    ours = kernel.features(X) @ kernel.features(Z).T
    np.testing.assert_allclose(ours, printed, rtol=1e-12, atol=1e-13)
    # Each product of two different columns once, with √2, where the lecture has it twice.
    assert kernel.features(X).shape[1] == (10 if c else 6)


def test_a_quadratic_kernel_by_hand():
    x, z = np.array([[1.0, 2.0, 3.0]]), np.array([[2.0, 0.0, -1.0]])
    assert Quadratic(2.0).gram(x, z)[0, 0] == (2 - 3 + 2) ** 2
    assert Quadratic(1.0).diagonal(x)[0] == (14 + 1) ** 2
    np.testing.assert_allclose(
        Quadratic(2.0).features(np.array([[1.0, 3.0]])),
        [[1, 3 * np.sqrt(2), np.sqrt(4), 9, 3 * np.sqrt(4), 2]],
    )


def test_the_kernels_of_the_list(rng):
    """Linear, polynomial and Gaussian, the last with the minus sign that the slide lacks."""
    X, Z = rng.standard_normal((2, 5, 2))
    np.testing.assert_allclose(Linear().gram(X, Z), X @ Z.T)
    np.testing.assert_allclose(Polynomial(degree=4).gram(X, Z), (X @ Z.T + 1) ** 4)
    sigma = 0.7
    distance = np.sum((X[:, None] - Z[None]) ** 2, axis=2)
    values = Gaussian(1 / (2 * sigma**2)).gram(X, Z)
    np.testing.assert_allclose(values, np.exp(-distance / (2 * sigma**2)))
    assert np.all(values <= 1)
