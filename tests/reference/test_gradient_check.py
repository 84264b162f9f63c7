"""gradient_check finds what is wrong, says where, and takes kinks for what they are."""

import numpy as np
import pytest

from gapless.evaluation import gradient_check, numerical_gradient
from gapless.losses import Hinge, Loss, Softmax, Squared


class Doubled(Loss):
    """A loss whose gradient is twice too large above 2."""

    task = "regression"

    def value(self, y, z):
        return 0.5 * (z - y) ** 2

    def gradient(self, y, z):
        return (z - y) * np.where(z > 2, 2, 1)


def test_wrong_gradient_of_a_loss_is_found_and_located():
    found = gradient_check(Doubled(), at=[0.0, 1.0, 3.0], y=[0.5, 0.5, 0.5])
    assert not found.is_right
    assert (found.claimed, found.measured) == (5.0, pytest.approx(2.5))
    assert str(found) == (
        "wrong: gradient(y=0.5, z=3.) is 5, but finite differences give 2.5 (relative error 1)."
    )
    assert gradient_check(Doubled(), at=[0.0, 1.0], y=[0.5, 0.5]).is_right


def test_wrong_hessian_of_a_loss_is_found():
    class WithoutCross(Softmax):
        def hessian_times(self, y, z, v):
            return self.curvature(y, z) * v

    found = gradient_check(WithoutCross())
    assert not found.is_right
    assert found.where.startswith("hessian_times(y=")


def test_a_gradient_that_is_nan_is_wrong():
    found = gradient_check(lambda x: x[0] ** 2, lambda x: [np.nan], at=[1.0])
    assert not found.is_right


def test_at_a_kink_every_slope_between_the_sides_is_right():
    for slope in (-1.0, 0.0, 0.7, 1.0):
        assert gradient_check(lambda x: abs(x[0]), lambda x, s=slope: [s], at=[0.0]).is_right
    assert not gradient_check(lambda x: abs(x[0]), lambda x: [1.2], at=[0.0]).is_right
    assert gradient_check(Hinge(), at=[1.0, -1.0], y=[1.0, -1.0]).is_right


def test_points_of_any_scale_and_shape():
    assert gradient_check(Squared(), at=[[1e6, 1e-6], [0.0, -3.0]], y=np.zeros((2, 2))).is_right
    W = np.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(numerical_gradient(lambda W: np.sum(W**3), W), 3 * W**2, atol=1e-8)


def test_misuse_says_how_to_call_it():
    with pytest.raises(TypeError, match=r"gradient_check\(function, gradient, at=x\)"):
        gradient_check(lambda x: 0.0)
    with pytest.raises(TypeError, match=r"gradient_check\(loss, at=z, y=y\)"):
        gradient_check(Hinge(), at=[1.0])
    with pytest.raises(ValueError, match=r"has shape \(1,\), but x has shape \(2,\)"):
        gradient_check(lambda x: x[0], lambda x: [1.0], at=[0.0, 0.0])
