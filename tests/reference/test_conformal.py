"""Intervals and sets hold what they promise: equal to real refits, and covered by simulation."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import gapless
from gapless import (
    Lasso,
    LinearRegression,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    MultiTaskLasso,
    Ridge,
    RidgeClassifier,
    RiskRegressor,
)
from gapless._ground.design import Design
from gapless.losses import Huber
from gapless.unseen.conformal import calibrate, quantiles

REGRESSORS = [
    Ridge(0.5),
    Ridge(0.5, fit_intercept=False),
    LinearRegression(),
    Lasso(0.05),
    LinearSVR(),
    RiskRegressor(loss=Huber(1.0)),
]
CLASSIFIERS = [LogisticRegression(), RidgeClassifier(), LinearSVC()]


@pytest.fixture
def rng():
    """Fixed, because shares of simulated rows are compared with what is expected of them."""
    return np.random.default_rng(0)


def names(model):
    return repr(model).replace("\n", "")


def regression(rng, n, d=3, noise=1.0):
    X = rng.standard_normal((n, d))
    return X, X[:, 0] - 0.5 * X[:, -1] + noise * rng.standard_normal(n)


def classification(rng, n, d=3, classes=3):
    X = rng.standard_normal((n, d))
    scores = 1.5 * X[:, :classes] + rng.gumbel(size=(n, classes))
    return X, scores.argmax(axis=1)


def refitted(model, X, y, X_new, weights=None):
    """Predictions of X_new by the models without each row, (new rows, n)."""
    weights = np.ones(len(y)) if weights is None else weights
    predictions = []
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        other = copy.deepcopy(model).fit(X[rest], y[rest], sample_weight=weights[rest])
        predictions.append(other.predict(X_new))
    return np.stack(predictions, axis=1)


def jackknife_plus(model, X, y, X_new, coverage):
    """The definition, with real refits: Barber et al. (2021), equation (1.6)."""
    n = len(y)
    predicted = refitted(model, X, y, np.vstack([X, X_new]))
    errors, predicted = np.abs(y - np.diag(predicted[:n])), predicted[n:]
    upper = np.sort(predicted + errors, axis=1)[:, int(np.ceil(coverage * (n + 1) - 1e-9)) - 1]
    lower = np.sort(predicted - errors, axis=1)[:, int((1 - coverage) * (n + 1) + 1e-9) - 1]
    return lower, upper


# ---- equal to the definition ---------------------------------------------------------------------


@pytest.mark.parametrize("model", REGRESSORS, ids=names)
@pytest.mark.parametrize("shape", [(24, 3), (12, 20)])
def test_intervals_are_those_of_real_refits(model, shape, rng):
    """In closed form, and with up to 40 rows also where every model is a refit."""
    X, y = regression(rng, *shape)
    X_new = rng.standard_normal((5, shape[1]))
    model = copy.deepcopy(model).set_params(tol=1e-10).fit(X, y)
    lower, upper = jackknife_plus(model, X, y, X_new, 0.8)
    found = model.predict(X_new, interval=0.8)
    np.testing.assert_array_equal(found.prediction, model.predict(X_new))
    tolerance = 1e-8 if model.certificate_.kind == "exact" else 1e-4
    np.testing.assert_allclose(found.lower, lower, rtol=0, atol=tolerance)
    np.testing.assert_allclose(found.upper, upper, rtol=0, atol=tolerance)


@pytest.mark.parametrize("alpha", [0.1, np.array([0.1, 10.0])], ids=["one alpha", "two alphas"])
def test_each_output_has_the_intervals_that_it_has_alone(alpha, rng):
    X, y = regression(rng, 30)
    Y, X_new = np.column_stack([y, rng.standard_normal(30)]), rng.standard_normal((4, 3))
    both = Ridge(alpha).fit(X, Y).predict(X_new, interval=0.9)
    for k, a in enumerate(np.broadcast_to(alpha, 2)):
        alone = Ridge(float(a)).fit(X, Y[:, k]).predict(X_new, interval=0.9)
        for found, expected in zip(both, alone):
            np.testing.assert_allclose(found[:, k], expected, atol=1e-9)


def test_outputs_that_share_their_features_have_intervals(rng):
    X, y = regression(rng, 60)
    Y = np.column_stack([y, 2 * y + 1])
    found = MultiTaskLasso(0.01, tol=1e-10).fit(X, Y).predict(X[:5], interval=0.9)
    assert found.lower.shape == (5, 2)
    np.testing.assert_allclose(found.upper[:, 1], 2 * found.upper[:, 0] + 1, atol=1e-5)


def test_sparse_data_and_single_precision_give_the_same(rng):
    X, y = regression(rng, 40)
    X[X < 0.5] = 0.0
    expected = Ridge().fit(X, y).predict(X[:5], interval=0.9)
    found = Ridge().fit(sp.csr_matrix(X), y).predict(sp.csr_matrix(X[:5]), interval=0.9)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    X = X.astype(np.float32)
    found = Ridge().fit(X, y).predict(X[:5], interval=0.9)
    assert all(part.dtype == np.float32 for part in found)
    np.testing.assert_allclose(found, expected, atol=1e-4)


# ---- the law of weights --------------------------------------------------------------------------


@pytest.mark.parametrize("model", [Ridge(0.5), Lasso(0.05)], ids=names)
@pytest.mark.parametrize("n", [20, 50])
def test_weight_2_is_the_row_twice_and_weight_0_no_row_in_any_order(model, n, rng):
    X, y = regression(rng, n)
    weights = rng.integers(0, 4, n).astype(float)
    X_new = rng.standard_normal((6, 3))
    model = model.set_params(tol=1e-10)
    expected = model.fit(X, y, sample_weight=weights).predict(X_new, interval=0.8)
    rows = rng.permutation(np.repeat(np.arange(n), weights.astype(int)))
    found = model.fit(X[rows], y[rows]).predict(X_new, interval=0.8)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_sets_obey_the_law_of_weights(rng):
    X, y = classification(rng, 60)
    weights = rng.integers(0, 3, 60).astype(float)
    model = LogisticRegression(tol=1e-10)
    expected = model.fit(X, y, sample_weight=weights).predict_set(X, 0.8)
    rows = rng.permutation(np.repeat(np.arange(60), weights.astype(int)))
    np.testing.assert_array_equal(model.fit(X[rows], y[rows]).predict_set(X, 0.8), expected)


def test_quantiles_by_weight_are_quantiles_of_the_repeated_values(rng):
    values, weights = rng.standard_normal((3, 8)), rng.integers(1, 4, 8).astype(float)
    repeated = np.repeat(values, weights.astype(int), axis=1)
    new = weights.mean()
    for coverage in (0.3, 0.5, 0.8, 0.87, 0.9):
        at = int(np.ceil(coverage * (weights.sum() + new) - 1e-9))
        short = at > repeated.shape[1]
        expected = np.inf if short else np.sort(repeated, axis=1)[:, at - 1]
        np.testing.assert_array_equal(quantiles(values, weights, coverage), expected)


def test_quantiles_of_equal_weights_do_not_depend_on_their_size(rng):
    values = rng.standard_normal((3, 9))
    for coverage in (0.1, 0.5, 0.7, 0.9):
        expected = np.sort(values, axis=1)[:, round(10 * coverage) - 1]
        for weight in (1.0, 0.1, 7.0):
            found = quantiles(values, np.full(9, weight), coverage)
            np.testing.assert_array_equal(found, expected)
        nearly = np.full(9, 1.0)
        nearly[0] += 1e-14
        np.testing.assert_array_equal(quantiles(values, nearly, coverage), expected)


# ---- coverage ------------------------------------------------------------------------------------


def share_inside(model, make, coverage, runs=40, new=100):
    """The share of new targets in their intervals, over many training sets, and its error."""
    shares = []
    for _ in range(runs):
        X, y, X_new, y_new = make(new)
        _, lower, upper = model.fit(X, y).predict(X_new, interval=coverage)
        shares.append(np.mean((lower <= y_new) & (y_new <= upper)))
    return np.mean(shares), np.std(shares) / np.sqrt(runs)


@pytest.mark.parametrize(
    ("model", "shape", "coverage"),
    [
        (Ridge(1.0), (50, 5), 0.5),
        (Ridge(1.0), (50, 5), 0.9),
        (Ridge(1.0), (25, 40), 0.5),
        (Ridge(1.0), (25, 40), 0.9),
        (LinearRegression(), (50, 5), 0.9),
        (LinearRegression(), (20, 40), 0.8),
        (Lasso(0.1), (50, 5), 0.9),
        (Lasso(0.1), (42, 60), 0.8),
    ],
)
def test_coverage_is_what_was_asked_for(model, shape, coverage, rng):
    def make(new):
        X, y = regression(rng, shape[0] + new, shape[1])
        return X[new:], y[new:], X[:new], y[:new]

    # Where no formula holds, rows are left out by refits.
    share, error = share_inside(model, make, coverage, runs=30 if isinstance(model, Ridge) else 12)
    assert share > coverage - 4 * error
    assert share < coverage + 0.07 + 4 * error


def test_heteroscedastic_noise_is_covered_on_average_but_not_everywhere(rng):
    """The guarantee is over all rows: what the guide says is lost."""

    def sample(n):
        X = rng.uniform(0, 1, (n, 1))
        return X, X[:, 0] + X[:, 0] * rng.standard_normal(n)

    inside, places = [], []
    for _ in range(60):
        model = Ridge(0.1).fit(*sample(60))
        X_new, y_new = sample(100)
        _, lower, upper = model.predict(X_new, interval=0.9)
        inside.append((lower <= y_new) & (y_new <= upper))
        places.append(X_new[:, 0])
    inside, places = np.concatenate(inside), np.concatenate(places)
    assert abs(inside.mean() - 0.9) < 0.03
    assert inside[places < 0.3].mean() > 0.98
    assert inside[places > 0.8].mean() < 0.85


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=names)
def test_sets_hold_the_class_as_often_as_asked_for(model, classes, rng):
    shares, sizes = [], []
    for _ in range(25):
        X, y = classification(rng, 200, classes=classes)
        sets = model.fit(X[:100], y[:100]).predict_set(X[100:], coverage=0.8)
        shares.append(np.mean(sets[np.arange(100), y[100:]]))
        sizes.append(sets.sum(axis=1).mean())
    error = np.std(shares) / np.sqrt(len(shares))
    assert 0.8 - 4 * error < np.mean(shares) < 0.87 + 4 * error
    assert np.mean(sizes) < 1.7


# ---- what one can count on -----------------------------------------------------------------------


def test_sets_grow_with_the_coverage_and_always_hold_the_prediction(rng):
    X, y = classification(rng, 80)
    model = LogisticRegression().fit(X, np.array(["a", "b", "c"])[y])
    small, large = model.predict_set(X, 0.5), model.predict_set(X, 0.95)
    assert np.all(small <= large) and small.sum() < large.sum()
    for sets in (small, large):
        at = np.searchsorted(model.classes_, model.predict(X))
        assert np.all(sets[np.arange(80), at])


def test_too_few_rows_for_a_coverage_give_infinite_ends(rng):
    X, y = regression(rng, 8)
    _, lower, upper = Ridge().fit(X, y).predict(X, interval=0.9)
    assert np.all(np.isneginf(lower)) and np.all(np.isposinf(upper))
    _, lower, upper = Ridge().fit(X, y).predict(X, interval=0.8)
    assert np.all(np.isfinite(lower)) and np.all(np.isfinite(upper))


def test_many_rows_are_judged_by_a_sample_of_them(rng):
    X, y = regression(rng, 3000)
    model = Ridge().fit(X, y)
    calibration = calibrate(model._fitted_to(X, y))
    assert len(calibration.held) == 2000
    _, lower, upper = model.predict(X[:10], interval=0.9)
    np.testing.assert_allclose(upper - lower, 2 * 1.645, atol=0.2)


def test_predictions_of_blocks_are_those_of_all_rows(rng, monkeypatch):
    X, y = regression(rng, 30)
    model = Ridge().fit(X, y)
    expected = model.predict(X, interval=0.9)
    monkeypatch.setattr("gapless._ground.memory.BLOCK", 100)
    np.testing.assert_allclose(model.predict(X, interval=0.9), expected, atol=1e-12)


def test_a_copy_has_no_data_and_says_what_to_call(rng):
    X, y = regression(rng, 30)
    model = Ridge().fit(X, y)
    expected = model.predict(X[:4], interval=0.9)
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        with pytest.raises(AttributeError, match=r"gapless\.intervals"):
            twin.predict(X[:4], interval=0.9)
        found = gapless.intervals(twin, X, y, X[:4], coverage=0.9)
        np.testing.assert_array_equal(found, expected)


def test_sets_of_a_copy(rng):
    X, y = classification(rng, 60)
    model = LogisticRegression().fit(X, y)
    twin = copy.deepcopy(model)
    with pytest.raises(AttributeError, match=r"gapless\.prediction_sets"):
        twin.predict_set(X)
    found = gapless.prediction_sets(twin, X, y, X, coverage=0.7)
    np.testing.assert_array_equal(found, model.predict_set(X, coverage=0.7))


def test_another_fit_forgets_the_intervals_of_the_last(rng):
    X, y = regression(rng, 30)
    model = Ridge().fit(X, y)
    narrow = model.predict(X, interval=0.9)
    wide = model.fit(X, 10 * y).predict(X, interval=0.9)
    np.testing.assert_allclose(wide, 10 * np.array(narrow), rtol=1e-9)


def test_intervals_after_the_generalization_was_asked_for(rng):
    X, y = regression(rng, 30)
    model = Ridge().fit(X, y)
    assert model.generalization_.unseen < 1
    assert np.all(np.isfinite(model.predict(X, interval=0.9).upper))


@pytest.mark.parametrize("coverage", [0.0, 1.0, 90, -0.1, np.nan])
def test_a_coverage_that_is_no_share_is_refused(coverage, rng):
    X, y = regression(rng, 30)
    with pytest.raises(ValueError, match="between 0 and 1"):
        Ridge().fit(X, y).predict(X, interval=coverage)


def test_what_cannot_be_done_says_why(rng):
    X, y = regression(rng, 30)
    with pytest.raises(ValueError, match="all rows are equal"):
        Ridge().fit(X[[0, 0, 0]], y[[0, 0, 0]]).predict(X, interval=0.9)
    with pytest.raises(TypeError, match="is not a regressor"):
        gapless.intervals(LogisticRegression().fit(X, y > 0), X, y > 0, X)
    with pytest.raises(TypeError, match="is not a classifier"):
        gapless.prediction_sets(Ridge().fit(X, y), X, y, X)


@pytest.mark.parametrize(
    "model",
    [
        RidgeClassifier(),
        gapless.DecisionTreeClassifier(max_depth=2),
        gapless.RandomForestClassifier(5, random_state=0),
        gapless.KNeighborsClassifier(3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_no_set_of_classes_stands_for_several_labels(rng, model):
    X, y = regression(rng, 30)
    labels = np.column_stack([y > 0, X[:, 0] > 0]).astype(int)
    model.fit(X, labels)
    with pytest.raises(ValueError, match="several labels"):
        model.predict_set(X)
    with pytest.raises(ValueError, match="several labels"):
        gapless.prediction_sets(model, X, labels, X)


def test_one_class_is_always_in_its_set(rng):
    X, _ = regression(rng, 10)
    assert np.all(RidgeClassifier().fit(X, np.zeros(10)).predict_set(X))


@pytest.mark.parametrize("shape", [(10, 30), (30, 10)])
@pytest.mark.parametrize("alpha", [1e-3, 0.1, 1e6])
def test_left_out_models_predict_like_refits(shape, alpha, rng):
    X, y = regression(rng, *shape)
    X_new, model = rng.standard_normal((4, shape[1])), Ridge(alpha).fit(X, y)
    fitted = model._fitted_to(X, y)
    calibration = calibrate(fitted)
    assert calibration.method == "jackknife+"
    found = calibration.models.predict(Design(X_new))[:, fitted.distinct, 0]
    np.testing.assert_allclose(found, refitted(model, X, y, X_new), atol=1e-9)
