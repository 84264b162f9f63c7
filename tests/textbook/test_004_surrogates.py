"""Formulas of text 004 (risk minimisation): surrogates of the 0-1 loss, pull of the penalty."""

import numpy as np

from gapless.losses import Hinge, Logistic, Squared
from gapless.penalties import L2

MARGINS = np.linspace(-3, 3, 61)
PLUS = np.ones(61)


def test_surrogates_are_the_printed_formulas():
    m = MARGINS
    np.testing.assert_allclose(Hinge().value(PLUS, m), np.maximum(0, 1 - m))
    logistic = np.log(1 + np.exp(-m)) / np.log(2)
    np.testing.assert_allclose(Logistic(base2=True).value(PLUS, m), logistic, rtol=1e-12)
    np.testing.assert_allclose(2 * Squared().value(PLUS, m), (1 - m) ** 2)


def test_surrogates_bound_the_zero_one_loss_which_counts_a_margin_of_zero_as_wrong():
    zero_one = (MARGINS <= 0).astype(float)
    for loss in (Hinge(), Logistic(base2=True)):
        assert np.all(loss.value(PLUS, MARGINS) >= zero_one)
    # Unscaled, the logistic loss is log 2 < 1 at margin 0.
    assert Logistic().value(np.ones(1), np.zeros(1))[0] == np.log(2)


def test_subgradient_of_the_hinge():
    y, z = np.array([1.0, 1.0, -1.0, -1.0]), np.array([2.0, 0.5, 0.5, -2.0])
    np.testing.assert_array_equal(Hinge().gradient(y, z), [0.0, -1.0, 1.0, 0.0])


def test_a_gradient_step_on_the_regulariser_alone_shrinks_w_by_one_minus_eta_lambda():
    """R = ½λΣw², so that w − η∇R = (1 − ηλ)w."""
    w, eta, strength = np.array([1.5, -2.0, 0.25]), 0.1, 0.4
    penalty = L2(strength)
    # R is smooth, hence ∂R(w) is one point: the distance of 0 from it is |∇R|.
    slope = penalty.subdifferential_distance(w, np.zeros(3)) * np.sign(w)
    np.testing.assert_allclose(w - eta * slope, (1 - eta * strength) * w, rtol=1e-14)
