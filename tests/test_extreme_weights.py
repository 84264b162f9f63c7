"""Weights and data at the ends of float64: a fit that works, or an error that says what to do."""

import warnings

import numpy as np
import pytest

import gapless

REGRESSORS = ["LinearRegression", "Ridge", "Lasso", "LassoCV", "LinearSVR", "SVR", "KernelRidge"]
CLASSIFIERS = ["LogisticRegression", "LinearSVC", "SVC", "KernelLogisticRegression"]
X = np.random.default_rng(3).normal(size=(24, 2))
y = X[:, 0] - 2 * X[:, 1] + np.sin(9 * X[:, 0])
FAR = {
    "large": (np.full(len(y), 1e300), "too large"),
    "0 to 1e300": (np.resize([0.0, 1.0, 1e300], len(y)), "too large"),
    "subnormal": (np.full(len(y), 5e-324), "too small"),
}


@pytest.mark.parametrize("case", FAR)
@pytest.mark.parametrize("name", REGRESSORS + CLASSIFIERS)
def test_weights_that_no_objective_can_hold_are_refused_with_the_cure(name, case):
    weights, far = FAR[case]
    target = y if name in REGRESSORS else y > 0
    with pytest.raises(ValueError, match=rf"{far} for an objective .*; rescale sample_weight"):
        getattr(gapless, name)().fit(X, target, sample_weight=weights)


def test_class_weights_are_held_to_the_same():
    with pytest.raises(ValueError, match=r"too large for an objective .*; rescale class_weight"):
        gapless.LogisticRegression(class_weight={0: 1e200, 1: 1.0}).fit(X, (y > 0).astype(int))


@pytest.mark.parametrize("name", ["Ridge", "Lasso", "LinearSVR"])
def test_a_weight_too_small_to_matter_is_as_good_as_none(name):
    weights = np.resize([1.0, 1e-300, 5e-324], len(y))
    some = getattr(gapless, name)().fit(X, y, sample_weight=weights)
    none = getattr(gapless, name)().fit(X, y, sample_weight=np.where(weights == 1, 1.0, 0.0))
    np.testing.assert_allclose(some.coef_, none.coef_, rtol=1e-7, atol=1e-9)
    assert "nan" not in f"{some.certificate_}"


@pytest.mark.parametrize("scale", [5e-324, 1e-310, 1e-160])
@pytest.mark.parametrize("name", ["LassoCV", "ElasticNetCV"])
def test_features_next_to_zero_leave_the_mean(name, scale):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = getattr(gapless, name)().fit(scale * X, scale * y)
    assert np.all(np.isfinite(model.predict(scale * X)))
    assert "nan" not in f"{model.certificate_}"
