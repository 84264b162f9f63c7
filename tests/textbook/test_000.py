"""Worked numbers of text 000 (regression, softmax, descent): gradients."""

import numpy as np

from gapless.evaluation import gradient_check, numerical_gradient
from gapless.losses import Softmax


def test_gradient_of_a_product_of_three_variables():
    """∇(x₁+2)x₂²x₃ = (x₂²x₃, 2(x₁+2)x₂x₃, (x₁+2)x₂²), which is (0, 0, 2) at (0, 1, 0)."""

    def function(x):
        return (x[0] + 2) * x[1] ** 2 * x[2]

    def gradient(x):
        return x[1] ** 2 * x[2], 2 * (x[0] + 2) * x[1] * x[2], (x[0] + 2) * x[1] ** 2

    np.testing.assert_allclose(numerical_gradient(function, (0, 1, 0)), (0, 0, 2), atol=1e-9)
    np.testing.assert_array_equal(gradient((0, 1, 0)), (0, 0, 2))
    assert gradient_check(function, gradient, at=(0, 1, 0)).is_right
    assert gradient_check(function, gradient, at=(0.3, -1.7, 2.2)).is_right


def test_slope_of_the_softmax_loss_is_the_probability_minus_the_label():
    """∂L/∂oᵢ = σᵢ − qᵢ; the text prints it with the opposite sign."""
    o, label = np.array([[0.3, -1.2, 2.0]]), np.array([1])
    sigma = np.exp(o) / np.exp(o).sum()
    q = np.eye(3)[label]
    np.testing.assert_allclose(Softmax().gradient(label, o), sigma - q, rtol=1e-14)


def test_numerical_gradient_of_the_softmax_loss_in_its_weights():
    """The 2 × 2 matrix of the text: differences of L(W) agree with (σᵢ − qᵢ)xⱼ."""
    W = np.array([[4.1, 3.3], [-1.2, 2.1]])
    x, label, softmax = np.array([0.7, -0.4]), np.array([0]), Softmax()

    def objective(W):
        return softmax.value(label, (W @ x)[None])[0]

    def gradient(W):
        return np.outer(softmax.gradient(label, (W @ x)[None]), x)

    assert gradient_check(objective, gradient, at=W).is_right
    np.testing.assert_allclose(numerical_gradient(objective, W), gradient(W), atol=1e-9)
