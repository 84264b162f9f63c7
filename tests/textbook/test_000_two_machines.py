"""Text 000: a surrogate bounds the errors, and SVM and logistic regression side by side."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

import gapless
from gapless.losses import Hinge, Logistic, SquaredHinge

TRAIN, TEST = slice(0, 400), slice(400, None)


@pytest.fixture(scope="module")
def data():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit(X[TRAIN]).transform(X), y


@pytest.fixture(scope="module")
def svm(data):
    X, y = data
    return gapless.SVC(kernel="linear", tol=1e-10).fit(X[TRAIN], y[TRAIN])


@pytest.fixture(scope="module")
def logistic(data):
    X, y = data
    return gapless.LogisticRegression(tol=1e-10).fit(X[TRAIN], y[TRAIN])


@pytest.mark.parametrize("rows", [TRAIN, TEST], ids=["train", "test"])
@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge(), Logistic(base2=True)], ids=repr)
def test_the_mean_surrogate_bounds_the_share_of_errors(loss, rows, data, svm, logistic):
    X, y = data
    sign = 2.0 * y[rows] - 1
    for model in (svm, logistic):
        z = model.decision_function(X[rows])
        errors = np.mean(model.predict(X[rows]) != y[rows])
        assert 0 < errors == np.mean(sign * z <= 0)
        assert errors <= np.mean(loss.value(sign, z))


def test_few_rows_make_the_svm_and_all_make_logistic_regression(data, svm, logistic):
    """w = Σ θᵢ yᵢ xᵢ with θᵢ = 0 beyond the margin for the hinge, and θᵢ = 1 − p(yᵢ) > 0 here."""
    X, y = data[0][TRAIN], data[1][TRAIN]
    is_support = np.isin(np.arange(len(X)), svm.support_)
    assert is_support.mean() < 0.1
    margins = (2 * y - 1) * svm.decision_function(X)
    assert margins[~is_support].min() >= 1 - 1e-6 and margins[is_support].max() <= 1 + 1e-6
    pulls = y - logistic.predict_proba(X)[:, 1]
    assert np.all(pulls != 0)
    np.testing.assert_allclose(logistic.C * pulls @ X, logistic.coef_[0], rtol=1e-5, atol=1e-6)
    # Without the other rows the SVM is the same, and logistic regression another one.
    again = gapless.SVC(kernel="linear", tol=1e-10).fit(X[is_support], y[is_support])
    np.testing.assert_allclose(again.coef_, svm.coef_, atol=1e-5)
    other = gapless.LogisticRegression(tol=1e-10).fit(X[is_support], y[is_support])
    assert np.abs(other.coef_ - logistic.coef_).max() > 0.1


def test_outputs_of_logistic_regression_are_log_odds(data, logistic):
    """Those of an SVM are not probabilities: at the support vectors of the margin they are ±1."""
    X, y = data[0][TRAIN], data[1][TRAIN]
    p, z = logistic.predict_proba(X)[:, 1], logistic.decision_function(X)
    np.testing.assert_allclose(np.log(p) - np.log1p(-p), z, rtol=1e-6, atol=1e-9)
    # The bias has no penalty, so that the mean probability is the share of the class.
    assert p.mean() == pytest.approx(y.mean(), abs=1e-6)


def test_outputs_of_an_svm_at_the_margin_are_one(data, svm):
    X = data[0][TRAIN]
    is_free = np.abs(svm.dual_coef_[0]) < svm.C * (1 - 1e-6)
    at_margin = np.abs(svm.decision_function(X[svm.support_[is_free]]))
    assert len(at_margin) > 5
    np.testing.assert_allclose(at_margin, 1.0, atol=1e-5)
