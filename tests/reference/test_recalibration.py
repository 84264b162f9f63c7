"""Whether probabilities mean what they say, and how they are mended."""

import pickle

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.datasets import load_wine, make_classification
from sklearn.naive_bayes import GaussianNB as Theirs
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

import gapless
from gapless.metrics import RecalibratedClassifier, log_loss, recalibrate, reliability_curve
from gapless.metrics.recalibration import Sigmoid, held_out


def noisy(n=400, seed=0, classes=2):
    return make_classification(
        n, 12, n_informative=4, n_redundant=6, n_classes=classes, flip_y=0.2, random_state=seed
    )


# ---- what was said and what happened -------------------------------------------------------------


@pytest.mark.parametrize("n_bins", [1, 4, 10])
def test_bins_of_equal_width_are_those_of_scikit_learn(n_bins, rng):
    p = np.append(rng.random(200), np.repeat(np.linspace(0, 1, 11), 10))
    y = rng.random(len(p)) < p
    curve = reliability_curve(y, p, n_bins=n_bins)
    happened, said = calibration_curve(y, p, n_bins=n_bins)
    np.testing.assert_allclose(curve.happened, happened)
    np.testing.assert_allclose(curve.said, said)
    parts = curve.sizes / curve.sizes.sum()
    assert curve.ece.value == pytest.approx(parts @ np.abs(happened - said))
    assert np.all((curve.low <= curve.happened) & (curve.happened <= curve.high))


def test_bins_by_quantiles_have_equally_many_rows(rng):
    p = rng.random(1000) ** 3
    curve = reliability_curve(rng.random(1000) < p, p, strategy="quantile")
    assert curve.sizes.tolist() == [100] * 10
    assert np.all(np.diff(curve.edges) > 0) and len(curve.edges) == 11
    few = reliability_curve([0, 1, 1, 0], [0.3, 0.3, 0.9, 0.3], strategy="quantile")
    np.testing.assert_array_equal(few.sizes, [3, 1])


def test_of_several_classes_the_predicted_one_is_looked_at(rng):
    p = rng.dirichlet([1, 1, 1], size=2000)
    y = np.array([rng.choice(3, p=row) for row in p])
    curve = reliability_curve(y, p)
    assert curve.of == "the predicted class" and curve.ece.low < 0.01
    assert np.mean((curve.low <= curve.said) & (curve.said <= curve.high)) > 0.7
    sure = reliability_curve(y, np.eye(3)[np.argmax(p, axis=1)])
    assert sure.ece.value == pytest.approx(np.mean(np.argmax(p, axis=1) != y)) and sure.ece.low > 0


# ---- mending -------------------------------------------------------------------------------------


def test_check_estimator_passes_with_no_expected_failures():
    model = RecalibratedClassifier(gapless.DecisionTreeClassifier(max_depth=3))
    results = check_estimator(model, on_skip=None, on_fail=None)
    assert {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"} == {}
    assert sum(r["status"] == "passed" for r in results) > 40


MODELS = [
    gapless.LogisticRegression(C=100.0),
    gapless.LinearSVC(),
    gapless.SVC(),
    gapless.DecisionTreeClassifier(max_depth=6),
    gapless.RandomForestClassifier(n_estimators=30, random_state=0),
    Theirs(),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("classes", [2, 3])
def test_log_loss_on_new_rows_is_no_worse(model, classes):
    X, y = noisy(700, classes=classes)
    fitted = clone(model).fit(X[:350], y[:350])
    if isinstance(model, Theirs):
        better = recalibrate(fitted, X[:350], y[:350])
        assert better.held_out_ == "5-fold"
    else:
        better = recalibrate(fitted)
    after = float(log_loss(y[350:], better.predict_proba(X[350:])))
    if hasattr(fitted, "predict_proba"):
        assert after <= 1.02 * float(log_loss(y[350:], fitted.predict_proba(X[350:])))
    theirs = CalibratedClassifierCV(clone(model), ensemble=False).fit(X[:350], y[:350])
    assert after <= 1.1 * float(log_loss(y[350:], theirs.predict_proba(X[350:])))
    assert better.estimator_ is fitted
    p = better.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(better.predict(X), better.classes_[p.argmax(axis=1)])


def test_sure_probabilities_are_mended():
    X, y = noisy(1000)
    fitted = Theirs().fit(X[:500], y[:500])
    better = recalibrate(fitted, X[:500], y[:500])
    before, after = (
        reliability_curve(y[500:], m.predict_proba(X[500:])).ece for m in (fitted, better)
    )
    assert before.low > 0 and after.value < 0.5 * before.value
    assert min(better.log_losses_, key=better.log_losses_.get) == better.method_ != "none"


def test_held_out_scores_are_those_of_refits():
    X, y = noisy(60)
    model = gapless.LogisticRegression(tol=1e-9).fit(X, y)
    held = held_out(model, None, None, None)
    refits = [
        gapless.LogisticRegression(tol=1e-9)
        .fit(np.delete(X, i, axis=0), np.delete(y, i))
        .decision_function(X[[i]])[0]
        for i in range(len(y))
    ]
    np.testing.assert_allclose(np.sort(held.scores[:, 0]), np.sort(refits), atol=0.05)


def test_the_sigmoid_is_the_likeliest(rng):
    scores = rng.normal(size=4000)
    y = (rng.random(4000) < expit(2 * scores - 0.5)).astype(float)
    found = Sigmoid.fit(scores, y, np.ones(4000))
    assert (found.slope, found.shift) == pytest.approx((2, -0.5), abs=0.2)
    # For perfectly separated classes it is finite, and scores against the class carry no
    # information.
    sure = Sigmoid.fit(np.array([-1.0, 1.0] * 5), np.array([0.0, 1.0] * 5), np.ones(10))
    assert 0 < sure.slope < 10
    wrong = Sigmoid.fit(-scores, y, np.ones(4000))
    assert wrong.slope == 0 and expit(wrong.shift) == pytest.approx(y.mean(), abs=0.01)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "auto"])
@pytest.mark.parametrize("inner", [gapless.LogisticRegression(), Theirs()], ids=["ours", "theirs"])
def test_weights_are_repeats_and_order_does_not_matter(method, inner, rng):
    X, y = noisy(80)
    weights = rng.integers(0, 3, len(y))
    rows = rng.permutation(np.repeat(np.arange(len(y)), weights))
    model = RecalibratedClassifier(inner, method=method)
    one = clone(model).fit(X, y, sample_weight=weights).predict_proba(X)
    other = clone(model).fit(X[rows], y[rows]).predict_proba(X)
    np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_one_call_or_an_estimator():
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    called = recalibrate(gapless.LinearSVC().fit(X, y), method="sigmoid")
    fitted = RecalibratedClassifier(gapless.LinearSVC(), method="sigmoid").fit(X, y)
    np.testing.assert_allclose(called.predict_proba(X), fitted.predict_proba(X), rtol=1e-6)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    # A copy has no data, which can be given.
    copied = pickle.loads(pickle.dumps(gapless.LinearSVC().fit(X, y)))
    with pytest.raises(AttributeError, match=r"recalibrate\(model, X, y"):
        recalibrate(copied)
    given = recalibrate(copied, X, y, method="sigmoid")
    np.testing.assert_allclose(given.predict_proba(X), called.predict_proba(X), rtol=1e-6)


def test_errors_say_what_is_wrong():
    X, y = noisy(40)
    with pytest.raises(ValueError, match="no longer holds its training data"):
        recalibrate(Theirs().fit(X, y))
    with pytest.raises(ValueError, match="method"):
        recalibrate(gapless.LogisticRegression().fit(X, y), method="beta")
    with pytest.raises(ValueError, match="has none"):
        recalibrate(gapless.RidgeClassifier().fit(X, y), method="none")
    with pytest.raises(ValueError, match="no class has two distinct rows"):
        recalibrate(Theirs().fit(X[:2], [0, 1]), X[:2], [0, 1])


def test_classes_that_the_model_does_not_know_are_named():
    X, y = noisy(60)
    model = Theirs().fit(X, np.where(y, "yes", "no"))
    with pytest.raises(ValueError, match="not one of the classes of the model"):
        recalibrate(model, X, y)


def test_weights_reach_the_last_step_of_a_pipeline(rng):
    X, y = noisy(80)
    weights = rng.uniform(0.5, 2, len(y))
    pipeline = make_pipeline(FunctionTransformer(), Theirs())
    one, other = (
        RecalibratedClassifier(model, method="sigmoid").fit(X, y, sample_weight=weights)
        for model in (pipeline, Theirs())
    )
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X))
    with pytest.raises(ValueError, match="KNeighborsClassifier does not accept sample_weight"):
        recalibrate(KNeighborsClassifier().fit(X, y), X, y, weights)
