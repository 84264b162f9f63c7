"""The support vector machines of the lecture on linear models, by their estimators."""

import numpy as np
import pytest
from test_004 import POINTS

import gapless
from gapless import SVC


@pytest.mark.parametrize("C", [1e3, np.inf])
def test_two_support_vectors_have_equal_multipliers_and_margin_0_1747(C):
    X, y = POINTS[:, :2], POINTS[:, 2]
    model = SVC(C=C, kernel="linear", tol=1e-8).fit(X, y)
    # 65.5261 in the lecture, from points with more digits than it prints.
    assert np.abs(model.dual_coef_).round(4).tolist() == [[65.5502, 65.5502]]
    assert sorted(model.support_) == [0, 1]
    assert round(model.margin_, 4) == 0.1747
    np.testing.assert_allclose(y[:2] * model.decision_function(X)[:2], 1.0, rtol=1e-6)
    assert np.all(y[2:] * model.decision_function(X)[2:] > 1)
    assert model.kkt_status_.tolist() == ["on margin"] * 2 + ["inactive"] * 6
    assert gapless.certify(model, X, y).kind == "optimal"


def circles():
    """Points inside and outside the circle of radius 0.2 around (½, ½), as near on either side."""
    angles = np.linspace(0, 2 * np.pi, 8, endpoint=False)
    ring = np.column_stack([np.cos(angles), np.sin(angles)])
    X = 0.5 + np.vstack([np.sqrt(0.03) * ring, np.sqrt(0.05) * ring])
    return X, np.where(np.hypot(*(X - 0.5).T) > 0.2, 1, -1)


def test_the_border_of_the_circle_is_as_printed():
    X, y = circles()
    features = np.column_stack([X**2, np.sqrt(2) * X])
    model = SVC(C=np.inf, kernel="linear", tol=1e-6).fit(features, y)
    w, b = model.coef_[0], model.intercept_[0]
    # w₄x₁² + w₃x₂² + w₂√2x₁ + w₁√2x₂ + w₀ = 0 is x₁² − x₁ + x₂² − x₂ = −0.46.
    np.testing.assert_allclose(w / w[0], [1, 1, -np.sqrt(0.5), -np.sqrt(0.5)], rtol=1e-5)
    assert b / w[0] == pytest.approx(0.46, rel=1e-5)


def test_the_quadratic_kernel_finds_the_circle():
    X, y = circles()
    model = SVC(C=np.inf, kernel="poly", degree=2, gamma=1.0, coef0=1.0).fit(X, y)
    angles = np.linspace(0, 2 * np.pi, 50)
    for radius, side in ((0.19, -1), (0.21, 1)):
        ring = 0.5 + radius * np.column_stack([np.cos(angles), np.sin(angles)])
        assert np.all(model.predict(ring) == side)
