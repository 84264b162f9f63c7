"""Weights and data at the ends of float64: a fit that works, or an error that says what to do."""

import re
import warnings

import numpy as np
import pytest

import gapless
from gapless.certificates.certificate import judged

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


# ---- what is said --------------------------------------------------------------------------------

FINITE = (0.0, 5e-324, 1e-300, 1.0, 1e300, 1.7e308)
ENDS = (*FINITE, -1.0, -1.7e308, np.inf, -np.inf, np.nan)
# Rows enough for weights that differ; each row is left out once.
FEW = slice(8)
STRANGE = re.compile(r"\b(nan|inf)\b")


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("scale", [*FINITE, np.inf, np.nan])
@pytest.mark.parametrize("rounding", [0.0, 5e-324, 1e-12, 1e300, np.inf, np.nan])
def test_no_sentence_tells_a_number_that_is_not_finite(scale, rounding, exact):
    """Whatever the sums are: a gap in finite numbers, or that there is none."""
    options = {"scale": scale, "rounding": rounding, "exact": exact}
    made = [judged(primal, dual, **options) for primal in ENDS for dual in ENDS]
    for one, other in zip(made, [*made[1:], made[0]]):
        for certificate in (one, one + one, one + other, sum([one, other, one])):
            assert not STRANGE.search(str(certificate)), str(certificate)
            assert certificate.kind == "stopped" or np.isfinite(certificate.gap)


def test_sums_that_are_not_finite_prove_nothing():
    for primal, dual in ((np.nan, 0.0), (0.0, np.nan), (-np.inf, 0.0), (0.0, np.inf)):
        found = judged(primal, dual, scale=1.0)
        assert found.kind == "stopped" and found.gap == np.inf
        assert "gap is not finite" in found.verdict


@pytest.mark.parametrize("largest", [1e150, 1e7])
@pytest.mark.parametrize("name", REGRESSORS + CLASSIFIERS)
def test_weights_of_very_different_size_end_in_words(name, largest, capfd):
    """A fit, or an error that says what to do; LAPACK prints nothing."""
    target = (y if name in REGRESSORS else y > 0)[FEW]
    weights = np.geomspace(1 / largest, largest, len(target))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = getattr(gapless, name)().fit(X[FEW], target, sample_weight=weights)
            said = f"{model.certificate_} {model.generalization_}"
        except ValueError as error:
            said = str(error)
    assert not STRANGE.search(said), said
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("alpha", [1.0, "loo"])
def test_a_kernel_that_overflows_is_an_error_that_says_what_to_do(alpha, capfd):
    """It printed LAPACK's complaint about its arguments, and ended in an error of SciPy."""
    model = gapless.KernelRidge(alpha=alpha, kernel="poly", degree=3)
    with pytest.raises(ValueError, match="overflows float64 for some rows of X; rescale the feat"):
        model.fit(1e120 * X, y)
    assert capfd.readouterr() == ("", "")


def test_a_penalty_over_a_weight_that_overflows_is_an_error():
    weights = np.resize([1.0, 1e-140], len(y))
    with pytest.raises(ValueError, match="lower alpha, or rescale sample_weight"):
        gapless.KernelRidge(alpha=1e200).fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_an_estimate_without_numbers_prints_none(kernel):
    model = gapless.KernelRidge(kernel=kernel)
    model.fit(X, y, sample_weight=np.geomspace(1e-80, 1e80, len(y)))
    assert model.generalization_.kind == "unknown"
    assert not STRANGE.search(f"{model.certificate_} {model.generalization_}")
