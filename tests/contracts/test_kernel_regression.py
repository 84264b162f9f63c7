"""Kernel ridge, Gaussian processes and local regression keep every promise, in every form."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import gapless
from gapless import kernels
from gapless._ground.threads import threads
from gapless.models.kernel_machines import GaussianProcessRegressor, KernelRegression, KernelRidge
from gapless.models.kernel_machines._base import KernelRegressor
from public_estimators import public_estimators

CLASSES = public_estimators("kernel_machines", base=KernelRegressor)
NOISY = 1.0 * kernels.Gaussian(0.05) + kernels.White(0.5)
FORMS = [
    (KernelRidge, {}),
    (KernelRidge, {"kernel": "rbf", "alpha": "loo", "gamma": "loo"}),
    (KernelRidge, {"kernel": "laplacian", "alpha": 0.3, "gamma": "scale", "fit_intercept": True}),
    (KernelRidge, {"kernel": "poly", "degree": 2, "alpha": 5.0}),
    (GaussianProcessRegressor, {"kernel": NOISY, "optimizer": None}),
    (GaussianProcessRegressor, {"kernel": NOISY, "optimizer": None, "normalize_y": True}),
    (KernelRegression, {}),
    (KernelRegression, {"bandwidth": 2.0, "kernel": "epanechnikov"}),
    (KernelRegression, {"degree": 1, "bandwidth": 1.5}),
    (KernelRegression, {"kernel": "rbf", "gamma": "loo"}),
    (KernelRegression, {"kernel": kernels.Laplacian(sigma=2.0), "degree": 1}),
]
CASES = [
    pytest.param(cls, form, id=f"{cls.__name__}-{'-'.join(f'{k}={v}' for k, v in form.items())}")
    for cls, form in FORMS
]
every_form = pytest.mark.parametrize("cls, form", CASES)
every_class = pytest.mark.parametrize("cls", CLASSES)
PROBES = 1.5 * np.random.default_rng(1).normal(size=(40, 3))


@pytest.fixture(autouse=True)
def far_probes():
    """Some probes are out of reach of a bounded kernel; the warning about them does not matter."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*no training row within the bandwidth")
        yield


def make_data(n=50, d=3, seed=20240607):
    """Features of different size, and targets that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * [1.0, 0.5, 2.0] + [0, 1, -1]
    return X, np.sin(X[:, 0]) + 0.5 * X[:, 2] + 0.3 * rng.normal(size=n)


def assert_same_model(one, other, rtol=1e-7):
    """Predictions of rows that neither has seen."""
    expected = one.predict(PROBES)
    np.testing.assert_allclose(other.predict(PROBES), expected, rtol=rtol, atol=rtol)


def test_every_class_has_its_forms():
    assert {cls for cls, _ in FORMS} == {*CLASSES}


@every_class
def test_check_estimator_passes_with_no_expected_failures(cls):
    results = check_estimator(cls(), on_skip=None, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    passed = [r for r in results if r["status"] == "passed"]
    assert failed == {}
    assert len(passed) > 40
    assert any("sample_weight_equivalence" in r["check_name"] for r in passed)


@every_form
def test_certificate_is_exact_and_certify_agrees(cls, form):
    X, y = make_data()
    model = cls(**form).fit(X, y)
    again = gapless.certify(model, X, y)
    assert model.certificate_.kind == again.kind == "exact"
    assert again.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
    assert 0 <= again.gap <= again.tolerance


@every_form
def test_weight_two_is_the_row_repeated(cls, form):
    X, y = make_data()
    weights = np.random.default_rng(0).integers(0, 4, size=len(X))
    repeated = np.repeat(np.arange(len(X)), weights)
    weighted = cls(**form).fit(X, y, sample_weight=weights)
    plain = cls(**form).fit(X[repeated], y[repeated])
    assert_same_model(plain, weighted)
    one, other = weighted.generalization_, plain.generalization_
    assert one.unseen == pytest.approx(other.unseen, rel=1e-6)
    assert one.standard_error == pytest.approx(other.standard_error, rel=1e-6)
    assert one.verdict == other.verdict


@every_form
def test_weight_zero_is_the_row_removed(cls, form):
    X, y = make_data()
    there = np.random.default_rng(0).random(len(X)) < 0.7
    X_wild = np.where(there[:, None], X, 1e6 * X)
    weighted = cls(**form).fit(X_wild, y, sample_weight=there.astype(float))
    assert_same_model(cls(**form).fit(X[there], y[there]), weighted)


@every_form
def test_row_order_does_not_matter(cls, form):
    X, y = make_data()
    order = np.random.default_rng(0).permutation(len(X))
    assert_same_model(cls(**form).fit(X, y), cls(**form).fit(X[order], y[order]))


@every_form
@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csc_array])
def test_sparse_is_dense(cls, form, container):
    X, y = make_data()
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    one, other = cls(**form).fit(X, y), cls(**form).fit(container(X), y)
    np.testing.assert_allclose(other.predict(container(X)), one.predict(X), rtol=1e-6, atol=1e-6)


@every_form
def test_float32_stays_float32(cls, form):
    X, y = make_data()
    X32 = X.astype(np.float32)
    single, double = cls(**form).fit(X32, y), cls(**form).fit(X32.astype(float), y)
    assert single.predict(X32).dtype == np.float32
    assert double.predict(X).dtype == np.float64
    np.testing.assert_allclose(single.predict(X32), double.predict(X), rtol=1e-3, atol=1e-3)
    assert single.certificate_.kind == "exact"


@every_class
@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_tables_give_names_and_the_same_model(cls, library):
    X, y = make_data()
    table = library.DataFrame({name: X[:, j] for j, name in enumerate(["age", "height", "weight"])})
    model = cls().fit(table, library.Series(y))
    assert list(model.feature_names_in_) == ["age", "height", "weight"]
    np.testing.assert_allclose(model.predict(table), cls().fit(X, y).predict(X), atol=1e-6)
    assert not hasattr(clone(model).fit(X, y), "feature_names_in_")


@every_form
def test_pickle_and_clone(cls, form):
    X, y = make_data()
    model = cls(**form).fit(X, y)
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.predict(X), copied.predict(X))
    assert str(copied.certificate_) == str(model.certificate_)
    with pytest.raises(AttributeError, match=r"call gapless\.generalize\(model, X, y"):
        copied.generalization_  # noqa: B018 - reading it is what fails
    assert_same_model(model, clone(model).fit(X, y), rtol=0)


@every_form
def test_model_rebuilt_from_its_stored_attributes_is_the_same(cls, form):
    X, y = make_data()
    model = cls(**form).fit(X, y)
    learned = {name for name in model.__getstate__() if name not in model.get_params(deep=False)}
    assert learned <= set(cls._stored)
    rebuilt = cls(**model.get_params(deep=False))
    for name in learned:
        setattr(rebuilt, name, getattr(model, name))
    np.testing.assert_array_equal(rebuilt.predict(X), model.predict(X))
    assert gapless.certify(rebuilt, X, y).gap == gapless.certify(model, X, y).gap


@every_form
def test_time_limit_keeps_an_honest_gap(cls, form):
    X, y = make_data()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = cls(**form, time_limit=1e-9).fit(X, y)
    here = gapless.certify(model, X, y)
    assert model.certificate_.gap >= here.primal - here.dual - 1e-9 * here.scale
    if model.certificate_.kind == "stopped":
        assert any("time_limit" in str(w.message) for w in caught)
    else:
        assert model.certificate_.kind == "exact"


@every_form
def test_same_bits_for_any_number_of_threads(cls, form):
    X, y = make_data(n=400)
    models = []
    for count in (1, 3):
        with threads(count):
            models.append(cls(**form).fit(X, y))
    np.testing.assert_array_equal(*(model.predict(PROBES) for model in models))


@every_form
def test_error_leaves_the_model_as_it_was(cls, form):
    X, y = make_data()
    model = cls(**form).fit(X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((len(X), 7), np.nan), y)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())


@every_form
def test_caller_arrays_are_not_written_to(cls, form):
    X, y = make_data()
    weights = np.ones(len(X))
    for array in (X, y, weights):
        array.flags.writeable = False
    cls(**form).fit(X, y, sample_weight=weights).predict(X)


@every_class
def test_parameters_are_checked_by_name(cls):
    assert set(cls._parameter_constraints) == set(cls().get_params(deep=False))


@every_form
def test_several_targets_are_as_one_by_one(cls, form):
    X, y = make_data()
    if "loo" in form.values() or not form:
        form = {**form, "alpha": 0.3, "gamma": 0.1} if cls is KernelRidge else {"bandwidth": 1.0}
    Y = np.stack([y, y**2], axis=1)
    both = cls(**form).fit(X, Y).predict(PROBES)
    for k in range(2):
        one = cls(**form).fit(X, Y[:, k]).predict(PROBES)
        np.testing.assert_allclose(both[:, k], one, rtol=1e-8, atol=1e-8)


# ---- leaving rows out ----------------------------------------------------------------------------


def without(model, X, y, rows, weights=None):
    """Predictions of rows by a model of the others, with what the full fit has chosen."""
    rest = np.setdiff1d(np.arange(len(X)), rows)
    weights = None if weights is None else weights[rest]
    return frozen(model).fit(X[rest], y[rest], weights).predict(X[rows])


def frozen(model):
    """The model with all that depends on the data given."""
    if isinstance(model, KernelRidge):
        alpha = getattr(model, "alpha_", model.alpha)
        return clone(model).set_params(kernel=model.kernel_, alpha=alpha, gamma=None)
    return clone(model)


EXACT = [case for case in CASES if case.values[0] is KernelRidge or "normalize" not in case.id]
EXACT = [case for case in EXACT if case.values[0] is not KernelRegression]


@pytest.mark.parametrize("cls, form", EXACT)
def test_held_out_predictions_are_those_of_refits(cls, form):
    X, y = make_data(n=30)
    weights = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    model = cls(**form).fit(X, y, weights)
    held = model._fitted_to(X, y, weights).held_out(None)[:, 0]
    refitted = [without(model, X, y, [i], weights)[0] for i in range(len(y))]
    np.testing.assert_allclose(held, refitted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("cls, form", EXACT)
def test_held_out_groups_are_those_of_refits(cls, form):
    X, y = make_data(n=30)
    model, groups = cls(**form).fit(X, y), np.arange(30) // 5
    held = model._fitted_to(X, y).held_out(groups)[:, 0]
    refitted = [without(model, X, y, np.flatnonzero(groups == g)) for g in range(6)]
    np.testing.assert_allclose(held, np.concatenate(refitted), rtol=1e-6, atol=1e-6)
    result = gapless.generalize(model, X, y, groups=groups)
    assert result.method.startswith("loo")
    by_time = gapless.generalize(model, X, y, time=np.arange(30))
    assert by_time.method.startswith("forward")


@pytest.mark.parametrize("cls, form", EXACT)
def test_jackknife_plus_has_the_models_without_each_row(cls, form):
    X, y = make_data(n=25)
    model = cls(**form).fit(X, y)
    fitted, rows = model._fitted_to(X, y), np.arange(25)
    held, predict = fitted.without_each(rows)
    np.testing.assert_allclose(held, fitted.held_out(None), rtol=1e-7, atol=1e-7)
    rest = [np.delete(rows, i) for i in rows]
    expected = [frozen(model).fit(X[r], y[r]).predict(PROBES[:5]) for r in rest]
    found = predict(gapless._ground.design.Design(PROBES[:5]))[:, :, 0]
    np.testing.assert_allclose(found, np.stack(expected, axis=1), rtol=1e-6, atol=1e-6)


@every_form
def test_intervals_hold_their_promise(cls, form):
    X, y = make_data(n=150)
    X_new, y_new = make_data(n=400, seed=5)
    model = cls(**form).fit(X, y)
    prediction, lower, upper = model.predict(X_new, interval=0.9)
    np.testing.assert_array_equal(prediction, model.predict(X_new))
    assert 0.82 < np.mean((lower <= y_new) & (y_new <= upper)) <= 0.97


@every_form
def test_the_unseen_score_is_near_that_of_new_data(cls, form):
    X, y = make_data(n=150)
    model = cls(**form).fit(X, y)
    result = model.generalization_
    assert result.method.startswith("loo")
    assert result.train == pytest.approx(model.score(X, y))
    new = np.mean([model.score(*make_data(n=150, seed=seed)) for seed in range(3)])
    assert abs(result.unseen - new) < 4 * result.standard_error


@every_form
def test_other_data_are_refused(cls, form):
    X, y = make_data()
    model = cls(**form).fit(X, y)
    with pytest.raises(ValueError, match=r"not (match these|the training) data"):
        gapless.generalize(model, X, y[::-1])


@every_form
def test_pure_noise_is_not_oversold(cls, form):
    X, _ = make_data(n=60)
    y = np.random.default_rng(3).normal(size=60)
    result = cls(**form).fit(X, y).generalization_
    assert result.unseen < 0.1 + 2 * result.standard_error


def test_local_models_speak_of_their_bandwidth(rng):
    x = np.linspace(0, 6, 60)[:, None]
    y = np.sin(x[:, 0]) + 0.1 * rng.normal(size=60)
    narrow, wide = (KernelRegression(bandwidth=h).fit(x, y).generalization_ for h in (0.02, 5.0))
    for found in (narrow, wide):
        assert "bandwidth" in str(found) and "penalty" not in str(found)
