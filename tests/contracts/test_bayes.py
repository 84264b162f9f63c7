"""Every Bayes classifier, in every form, keeps every promise."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.covariance import ShrunkCovariance
from sklearn.utils.estimator_checks import check_estimator

import gapless
from gapless._ground.threads import threads
from gapless.models import bayes

# Rows that are held out may have categories, and folds too few rows, that are warned of elsewhere.
pytestmark = pytest.mark.filterwarnings("ignore:.*not seen", "ignore:.*has no inverse")

OFFERED = [getattr(bayes, name) for name in bayes.__all__ if name != "BayesDecision"]
CLASSES = [cls for cls in OFFERED if issubclass(cls, BaseEstimator)]
FORMS = {
    "GaussianNB": [{}, {"var_smoothing": 0.01, "smooth_prior": True}, {"priors": [0.5, 0.3, 0.2]}],
    "MultinomialNB": [{}, {"alpha": 0.1, "smooth_prior": True}, {"alpha": 0.0, "fit_prior": False}],
    "ComplementNB": [{}, {"norm": True, "alpha": 0.5}],
    "BernoulliNB": [{}, {"alpha": 0.1, "binarize": 1.0, "smooth_prior": True}],
    "CategoricalNB": [{}, {"alpha": 0.2, "min_categories": 9, "class_prior": [0.2, 0.4, 0.4]}],
    "NaiveBayes": [
        {},
        {"numbers": "kernel", "smooth_prior": True},
        {"categorical_features": [1, 3], "alpha": 0.3, "var_smoothing": 0.01},
    ],
    "LinearDiscriminantAnalysis": [
        {},
        {"solver": "lsqr", "shrinkage": 0.2},
        {"solver": "eigen"},
        {"solver": "lsqr", "shrinkage": "auto"},
        {"priors": [0.5, 0.3, 0.2], "store_covariance": True},
        {"solver": "lsqr", "covariance_estimator": ShrunkCovariance()},
    ],
    "QuadraticDiscriminantAnalysis": [
        {},
        {"reg_param": 0.1, "store_covariance": True},
        {"solver": "eigen", "shrinkage": 0.3},
        {"solver": "eigen", "shrinkage": "auto", "priors": [0.5, 0.3, 0.2]},
    ],
}
CASES = [
    pytest.param(cls, form, id=f"{cls.__name__}-{'-'.join(f'{k}={v}' for k, v in form.items())}")
    for cls in CLASSES
    for form in FORMS[cls.__name__]
]
every_form = pytest.mark.parametrize("cls, form", CASES)
every_class = pytest.mark.parametrize("cls", CLASSES)
OF_PARTS = [cls for cls in CLASSES if hasattr(cls, "partial_fit")]
# Forms that leave rows out by subtracting them.
BY_FORMULA = [
    case
    for case in CASES
    if case.values[1].get("shrinkage") != "auto" and "covariance_estimator" not in case.values[1]
]


def make_data(n=60, seed=20240607):
    """Small counts, which are numbers and categories too, in three overlapping classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, size=n)
    X = rng.poisson(1.0 + rng.permutation([0.2, 1.0, 1.5])[y][:, None] * [1.0, 0.0, 0.5, 1.0])
    return X.astype(float), np.array(["apple", "pear", "quince"])[y]


PROBES = make_data(40, seed=1)[0]


def assert_same_model(one, other, X=PROBES):
    np.testing.assert_allclose(other.predict_proba(X), one.predict_proba(X), rtol=1e-8, atol=1e-12)


def test_every_classifier_is_public_and_has_its_forms():
    assert {cls.__name__ for cls in CLASSES} == set(FORMS)
    assert all(getattr(gapless, cls.__name__) is cls for cls in CLASSES)


@every_class
def test_check_estimator_passes_with_no_expected_failures(cls):
    results = check_estimator(cls(), on_skip=None, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    passed = [r for r in results if r["status"] == "passed"]
    assert failed == {}
    assert len(passed) > 40
    assert any("sample_weight_equivalence" in r["check_name"] for r in passed)


# ---- both gaps -----------------------------------------------------------------------------------


@every_form
def test_certificate_is_exact_and_certify_agrees(cls, form):
    X, y = make_data()
    model = cls(**form).fit(X, y)
    again = gapless.certify(model, X, y)
    assert model.certificate_.kind == again.kind == "exact"
    assert again.primal == pytest.approx(model.certificate_.primal, rel=1e-12)
    assert 0 <= again.gap <= again.tolerance
    assert "closed form" in str(again)


def changed(model):
    """Copies of the model with one of its parameters changed a little."""
    for name in ("feature_log_prob_", "theta_", "var_", "means_", "scalings_", "coef_"):
        value = vars(model).get(name)
        if value is None or (name in ("means_", "scalings_") and "coef_" in vars(model)):
            continue
        other = copy.deepcopy(model)
        part = getattr(other, name)
        part = part[0] if isinstance(part, list) else part
        part *= 1.01
        yield other
    for name in ("class_log_prior_", "class_prior_", "priors_"):
        # Those of the complement are not used, and those of lines are in the biases.
        if name in vars(model) and "coef_" not in vars(model):
            other = copy.deepcopy(model)
            setattr(other, name, getattr(other, name)[::-1] * 1.1)
            yield other


@every_form
def test_a_changed_parameter_is_found(cls, form):
    X, y = make_data()
    model = cls(**form).fit(X, y)
    for other in changed(model):
        found = gapless.certify(other, X, y)
        assert found.kind == "stopped"
        assert "fit again" in str(found)


@every_form
def test_other_data_are_found(cls, form):
    X, y = make_data()
    model = cls(**form).fit(X, y)
    order = np.random.default_rng(0).permutation(len(y))
    assert gapless.certify(model, X, y[order]).kind == "stopped"
    with pytest.raises(ValueError, match="does not match these data"):
        gapless.generalize(model, X, y[order])


@pytest.mark.parametrize("cls, form", BY_FORMULA)
@pytest.mark.usefixtures("no_verdict")
def test_leave_one_out_is_what_refits_say(cls, form):
    """A row of an x is left out with all rows of that x, whatever their classes."""
    X, y = make_data()
    weights = np.random.default_rng(0).integers(0, 3, size=len(y))
    model = cls(**form).fit(X, y, sample_weight=weights)
    fitted = model._fitted_to(X, y, weights)
    held = fitted.held_out(None)
    p = np.exp(held - held.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    for unit in range(0, fitted.units.max() + 1, 2):
        rest = (fitted.units != unit) & (weights > 0)
        refit = cls(**form).fit(X[rest], y[rest], sample_weight=weights[rest])
        rows = np.flatnonzero(fitted.units == unit)
        np.testing.assert_array_equal(refit.classes_, model.classes_)
        np.testing.assert_allclose(refit.predict_proba(X[rows]), p[rows], atol=1e-9)
    assert model.generalization_.method == "loo"


@pytest.mark.parametrize(
    "model",
    [gapless.GaussianNB(), gapless.NaiveBayes(), gapless.NaiveBayes(numbers="kernel")],
    ids=["gaussian", "mixed", "kernels"],
)
@pytest.mark.parametrize("far", [1e6, 1e8, 1e12])
def test_rows_far_away_are_left_out_without_a_trace(model, far):
    """What is left of the squares without such a row is not what subtraction leaves."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(24, 2)), np.arange(24) % 2
    X[5, 1], X[6] = far, X[8]
    held = model.fit(X, y)._fitted_to(X, y).held_out(None)
    for i in (0, 5, 6):
        rest = np.any(X - X[i], axis=1)
        refit = clone(model).fit(X[rest], y[rest])
        expected = refit.predict_joint_log_proba(X[i : i + 1])[0]
        np.testing.assert_allclose(held[i], expected, rtol=1e-9)


@every_form
def test_folds_are_what_fits_without_the_rows_say(cls, form):
    X, y = make_data()
    fitted = cls(**form).fit(X, y)._fitted_to(X, y)
    rows = np.flatnonzero(np.arange(len(y)) % 3)
    held = fitted.fit_to(rows)(fitted.design)
    p = np.exp(held - held.max(axis=1, keepdims=True))
    refit = cls(**form).fit(X[rows], y[rows])
    np.testing.assert_allclose(p / p.sum(axis=1, keepdims=True), refit.predict_proba(X), atol=1e-9)


def test_a_class_of_one_row_is_not_known_without_it():
    X, y = make_data()
    y = y.copy()
    y[0] = "zucchini"
    X[0] += 20  # no other row has this x
    for cls in CLASSES:
        if cls is not bayes.QuadraticDiscriminantAnalysis:
            held = cls().fit(X, y)._fitted_to(X, y).held_out(None)
            assert np.argmin(held[0]) == 3
            assert np.all(np.isfinite(held))


# ---- weights, order, containers ------------------------------------------------------------------


@every_form
@pytest.mark.usefixtures("no_verdict")
def test_weight_two_is_the_row_repeated(cls, form):
    X, y = make_data()
    weights = np.random.default_rng(0).integers(0, 4, size=len(X))
    repeated = np.repeat(np.arange(len(X)), weights)
    weighted = cls(**form).fit(X, y, sample_weight=weights)
    plain = cls(**form).fit(X[repeated], y[repeated])
    assert_same_model(plain, weighted)
    assert weighted.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=1e-9)
    one, other = weighted.generalization_, plain.generalization_
    assert one.unseen == pytest.approx(other.unseen, rel=1e-9)
    assert one.standard_error == pytest.approx(other.standard_error, rel=1e-9)


@every_form
def test_weight_zero_is_the_row_removed(cls, form):
    X, y = make_data()
    there = np.random.default_rng(0).random(len(X)) < 0.8
    X_wild = np.where(there[:, None], X, 100 * X)
    weighted = cls(**form).fit(X_wild, y, sample_weight=there.astype(float))
    assert_same_model(cls(**form).fit(X[there], y[there]), weighted)


@every_form
@pytest.mark.usefixtures("no_verdict")
def test_row_order_does_not_matter(cls, form):
    X, y = make_data()
    order = np.random.default_rng(0).permutation(len(X))
    one, other = cls(**form).fit(X, y), cls(**form).fit(X[order], y[order])
    assert_same_model(one, other)
    assert one.generalization_.unseen == pytest.approx(other.generalization_.unseen, rel=1e-9)


@pytest.mark.parametrize("cls", OF_PARTS)
@pytest.mark.usefixtures("no_verdict")
def test_parts_are_the_whole(cls):
    X, y = make_data()
    weights = np.random.default_rng(0).random(len(X))
    model = cls()
    for rows in (slice(0, 7), slice(7, 40), slice(40, None)):
        model.partial_fit(X[rows], y[rows], np.unique(y), sample_weight=weights[rows])
    whole = cls().fit(X, y, sample_weight=weights)
    assert_same_model(whole, model)
    assert model.certificate_.kind == gapless.certify(model, X, y, weights).kind == "exact"
    with pytest.raises(AttributeError, match=r"call gapless\.generalize\(model, X, y"):
        _ = model.generalization_
    assert gapless.generalize(model, X, y, weights).unseen == whole.generalization_.unseen


@every_class
@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csc_array])
@pytest.mark.usefixtures("no_verdict")
def test_sparse_is_dense(cls, container):
    X, y = make_data()
    if not cls().__sklearn_tags__().input_tags.sparse:
        with pytest.raises(TypeError, match="Sparse data"):
            cls().fit(container(X), y)
        return
    one, other = cls().fit(X, y), cls().fit(container(X), y)
    np.testing.assert_allclose(
        other.predict_proba(container(X)), one.predict_proba(X), rtol=1e-12, atol=1e-15
    )
    assert other.generalization_.unseen == one.generalization_.unseen


@every_form
def test_float32_is_float64(cls, form):
    X, y = make_data()
    single, double = cls(**form).fit(X.astype(np.float32), y), cls(**form).fit(X, y)
    p = single.predict_proba(PROBES.astype(np.float32))
    np.testing.assert_allclose(p, double.predict_proba(PROBES), rtol=1e-4, atol=1e-5)
    assert single.certificate_.kind == "exact"


@every_class
@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_tables_give_names_and_the_same_model(cls, library):
    X, y = make_data()
    names = ["age", "height", "weight", "income"]
    table = library.DataFrame({name: X[:, j] for j, name in enumerate(names)})
    model = cls().fit(table, library.Series(y))
    assert list(model.feature_names_in_) == names
    np.testing.assert_array_equal(model.predict_proba(table), cls().fit(X, y).predict_proba(X))
    assert not hasattr(model.fit(X, y), "feature_names_in_")


# ---- the rest ------------------------------------------------------------------------------------


@every_form
def test_pickle_and_clone(cls, form):
    X, y = make_data()
    model = cls(**form).fit(X, y)
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.predict_proba(PROBES), copied.predict_proba(PROBES))
    assert str(copied.certificate_) == str(model.certificate_)
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(PROBES), model.predict_proba(PROBES))


@every_form
def test_model_rebuilt_from_its_stored_attributes_is_the_same(cls, form):
    X, y = make_data()
    model = cls(**form).fit(X, y)
    learned = {name for name in model.__getstate__() if name not in model.get_params(deep=False)}
    assert learned <= set(cls._stored)
    rebuilt = cls(**model.get_params(deep=False))
    for name in learned:
        setattr(rebuilt, name, getattr(model, name))
    np.testing.assert_array_equal(rebuilt.predict_proba(PROBES), model.predict_proba(PROBES))
    assert gapless.certify(rebuilt, X, y).gap == gapless.certify(model, X, y).gap


@every_form
def test_same_bits_for_any_number_of_threads(cls, form):
    X, y = make_data(n=400)
    models = []
    for count in (1, 3):
        with threads(count):
            models.append(cls(**form).fit(X, y))
    one, other = (model.predict_proba(PROBES) for model in models)
    np.testing.assert_array_equal(one, other)


@every_form
def test_error_leaves_the_model_as_it_was(cls, form):
    X, y = make_data()
    model = cls(**form).fit(X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="inf"):
        model.fit(np.full((len(X), 7), np.inf), y)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())


@every_form
def test_caller_arrays_are_not_written_to(cls, form):
    X, y = make_data()
    weights = np.ones(len(X))
    for array in (X, y, weights):
        array.flags.writeable = False
    _ = cls(**form).fit(X, y, sample_weight=weights).predict(X)


@every_class
def test_parameters_are_checked_by_name(cls):
    assert set(cls._parameter_constraints) == set(cls().get_params(deep=False))


@every_form
def test_probabilities_sum_to_one_and_agree_with_predictions(cls, form):
    X, y = make_data()
    model = cls(**form).fit(X, y)
    p = model.predict_proba(PROBES)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(model.classes_[np.argmax(p, axis=1)], model.predict(PROBES))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(PROBES)), p, rtol=1e-12)


@every_class
def test_sets_hold_most_classes(cls):
    X, y = make_data(n=200)
    model = cls().fit(X, y)
    sets = model.predict_set(X, coverage=0.9)
    assert sets.shape == (200, 3)
    own = sets[np.arange(200), np.searchsorted(model.classes_, y)]
    assert own.mean() > 0.85
    assert np.all(sets[np.arange(200), np.searchsorted(model.classes_, model.predict(X))])
    np.testing.assert_array_equal(sets, gapless.prediction_sets(model, X, y, X, coverage=0.9))
