"""Every public linear estimator, in every form of its objective, keeps every promise."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

import gapless
from gapless._ground import interrupt
from gapless._ground.threads import threads
from gapless.kernels import Matern
from gapless.losses import Huber
from gapless.models.linear._base import LinearModel
from gapless.penalties import L1, Box, ElasticNet, Group
from public_estimators import public_estimators

# Those that stop near the optimum, not at it, are held to less in test_stochastic.py.
ESTIMATORS = public_estimators("linear", "risk", "kernel_machines", base=LinearModel)

# What scikit-learn's LogisticRegressionCV will do by default.
NEW = {"l1_ratios": (0,), "scoring": "neg_log_loss", "use_legacy_attributes": False}
# Every form of objective that a class has; the optima are unique, so coefficients can be compared.
FORMS = {
    "LinearRegression": [{}, {"positive": True}, {"fit_intercept": False}],
    "Ridge": [{}, {"positive": True}, {"fit_intercept": False, "alpha": 0.1}, {"solver": "cg"}],
    "RidgeClassifier": [{}, {"class_weight": "balanced"}],
    "Lasso": [
        {"alpha": 0.1},
        {"alpha": 0.05, "positive": True},
        {"alpha": 0.1, "fit_intercept": False},
    ],
    "ElasticNet": [{"alpha": 0.1}, {"alpha": 0.1, "l1_ratio": 0.9}],
    "MultiTaskLasso": [{"alpha": 0.1}],
    "LogisticRegression": [
        {},
        {"C": np.inf},
        {"l1_ratio": 1.0, "C": 0.5},
        {"l1_ratio": 0.5},
        {"class_weight": "balanced", "fit_intercept": False},
    ],
    "KernelLogisticRegression": [
        {},
        {"approximation": "nystroem", "class_weight": "balanced", "fit_intercept": False},
        {"approximation": "random_features", "n_components": 10},
    ],
    "QuantileRegressor": [{"alpha": 0.1}, {"quantile": 0.8, "alpha": 0.05}],
    "PoissonRegressor": [{}, {"alpha": 0.01, "fit_intercept": False}],
    "GammaRegressor": [{"alpha": 0.1}],
    "TweedieRegressor": [{}, {"power": 1.5, "alpha": 0.1}],
    "HuberRegressor": [{}, {"epsilon": 1.1, "alpha": 1.0, "fit_intercept": False}],
    "LinearSVC": [{}, {"loss": "hinge"}, {"penalty": "l1", "C": 0.5}, {"fit_intercept": False}],
    "LinearSVR": [{"epsilon": 0.1}, {"loss": "squared_epsilon_insensitive", "epsilon": 0.1}],
    # Of strengths so far apart that the choice does not depend on how the folds fall.
    "RidgeCV": [{}, {"alphas": [0.5, 5.0], "fit_intercept": False, "cv": 3}],
    "RidgeClassifierCV": [{}, {"class_weight": "balanced"}],
    "LassoCV": [{"alphas": [0.05, 5.0], "cv": 4}, {"alphas": [0.05, 5.0], "positive": True}],
    "ElasticNetCV": [{"alphas": [0.05, 5.0]}],
    "MultiTaskLassoCV": [{"alphas": [0.05, 5.0]}],
    "LogisticRegressionCV": [
        {"Cs": [1e-4, 1.0], **NEW},
        {"Cs": [0.01, 1.0], "cv": "loo", **NEW},
        {"Cs": [1e-4, 1.0], "cv": 3, "use_legacy_attributes": True, "scoring": "neg_log_loss"},
    ],
    "RiskRegressor": [
        {},
        {"loss": Huber(0.5), "penalty": L1(2.0)},
        {"loss": "huber", "penalty": Box(-0.5, 0.5)},
        {"loss": "squared", "penalty": Group(3.0, groups=[0, 0, 1, 1, 1])},
        {"loss": Huber(0.5), "kernel": Matern(2.0)},
    ],
    "RiskClassifier": [
        {},
        {"loss": "softmax", "penalty": ElasticNet(2.0)},
        {"loss": "squared_hinge", "penalty": L1(2.0)},
        {"loss": "squared", "penalty": "l2"},
        {"loss": "hinge", "penalty": "l2"},
        {"loss": "squared_hinge", "kernel": "rbf"},
    ],
}
# Strengths for the checks of scikit-learn, which fit every class dozens of times.
FEW = {
    "LassoCV": {"alphas": 8, "cv": 3},
    "ElasticNetCV": {"alphas": 8, "cv": 3},
    "MultiTaskLassoCV": {"alphas": 8, "cv": 3},
    "LogisticRegressionCV": {"Cs": 2},
}
CASES = [
    pytest.param(cls, form, id=f"{cls.__name__}{'-' if form else ''}{_short}")
    for cls in ESTIMATORS
    for form in FORMS[cls.__name__]
    for _short in ["-".join(f"{k}={v}" for k, v in form.items())]
]
every_form = pytest.mark.parametrize("cls, form", CASES)
every_class = pytest.mark.parametrize("cls", ESTIMATORS)


@pytest.fixture
def seed():
    return 20240607


def make_data(cls, seed, n=60, d=5, classes=3):
    """Features of different size, and targets or overlapping classes that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * [1.0, 0.5, 2.0, 1.0, 1.0] + [0, 1, 0, -1, 0]
    score = X @ rng.normal(size=(d, 3)) + 3.0 * rng.normal(size=(n, 3))
    if is_classifier(cls()):
        y = np.argmax(score[:, :classes] * [1.0, 1.2, 0.8][:classes], axis=1)
        return X, np.array(["apple", "pear", "quince"])[y]
    if cls.__name__.startswith("MultiTask"):
        return X, score[:, :2]
    is_positive = cls in (
        gapless.PoissonRegressor,
        gapless.GammaRegressor,
        gapless.TweedieRegressor,
    )
    return X, np.exp(0.3 * score[:, 0]) if is_positive else score[:, 0]


def build(cls, form, **more):
    """The estimator with a tolerance so small that solutions can be compared digit by digit."""
    return cls(**{"tol": 1e-12, "max_iter": 5000, **form, **more})


def fit(model, X, y, **more):
    """Fit; a gap that rounding keeps above tol = 1e-12 does not matter here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y, **more)


def assert_same_model(one, other, rtol=1e-6):
    """Coefficients, relative to the largest one."""
    scale = max(np.max(np.abs(one.coef_)), 1e-3)
    np.testing.assert_allclose(other.coef_, one.coef_, rtol=rtol, atol=rtol * scale)
    np.testing.assert_allclose(other.intercept_, one.intercept_, rtol=rtol, atol=rtol * scale)


def dense(model):
    return {name: getattr(model, name) for name in ("coef_", "intercept_", "dual_")}


def test_every_estimator_has_its_forms():
    assert len(ESTIMATORS) >= 11
    assert {cls.__name__ for cls in ESTIMATORS} <= set(FORMS)


@every_class
def test_check_estimator_passes_with_no_expected_failures(cls):
    results = check_estimator(cls(**FEW.get(cls.__name__, {})), on_skip=None, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    passed = [r for r in results if r["status"] == "passed"]
    assert failed == {}
    assert len(passed) > 40
    assert any("sample_weight_equivalence" in r["check_name"] for r in passed)


@every_form
def test_certificate_is_optimal_and_certify_agrees(cls, form, seed):
    X, y = make_data(cls, seed)
    model = fit(cls(**form), X, y)
    again = gapless.certify(model, X, y)
    assert model.certificate_.kind in ("optimal", "exact")
    assert again.kind in ("optimal", "exact")
    assert again.primal == pytest.approx(model.certificate_.primal, rel=1e-12)
    assert 0 <= again.gap <= again.tolerance


@every_form
def test_weight_two_is_the_row_repeated(cls, form, seed):
    X, y = make_data(cls, seed)
    weights = np.random.default_rng(seed).integers(0, 4, size=len(X))
    repeated = np.repeat(np.arange(len(X)), weights)
    weighted = fit(build(cls, form), X, y, sample_weight=weights)
    assert_same_model(fit(build(cls, form), X[repeated], y[repeated]), weighted)


@every_form
def test_weight_zero_is_the_row_removed(cls, form, seed):
    X, y = make_data(cls, seed)
    there = np.random.default_rng(seed).random(len(X)) < 0.7
    X_wild = np.where(there[:, None], X, 1e6 * X)
    weighted = fit(build(cls, form), X_wild, y, sample_weight=there.astype(float))
    assert_same_model(fit(build(cls, form), X[there], y[there]), weighted)


@pytest.mark.parametrize("cls", [cls for cls in ESTIMATORS if is_classifier(cls())])
def test_class_without_weight_does_not_exist(cls, seed):
    X, y = make_data(cls, seed)
    weights = (y != "pear").astype(float)
    model = fit(build(cls, {}), X, y, sample_weight=weights)
    assert list(model.classes_) == ["apple", "quince"]
    assert_same_model(fit(build(cls, {}), X[weights > 0], y[weights > 0]), model)


@every_form
def test_row_order_does_not_matter(cls, form, seed):
    X, y = make_data(cls, seed)
    order = np.random.default_rng(seed).permutation(len(X))
    assert_same_model(fit(build(cls, form), X, y), fit(build(cls, form), X[order], y[order]))


@every_form
def test_sparse_is_dense(cls, form, seed):
    X, y = make_data(cls, seed)
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    dense = fit(build(cls, form), X, y)
    for container in (sp.csr_matrix, sp.csc_array, sp.coo_matrix, sp.lil_matrix):
        model = fit(build(cls, form), container(X), y)
        assert_same_model(dense, model)
        scores = model._scores(container(X))
        np.testing.assert_allclose(dense._scores(X), scores, rtol=1e-5, atol=1e-5)


@every_form
def test_float32_stays_float32(cls, form, seed):
    X, y = make_data(cls, seed)
    X32 = X.astype(np.float32)
    single, double = fit(cls(**form), X32, y), fit(cls(**form), X32.astype(float), y)
    assert single.coef_.dtype == np.float32
    assert double.coef_.dtype == np.float64
    assert single._scores(X32).dtype == np.float32
    assert_same_model(double, single, rtol=1e-3)
    assert single.certificate_.kind in ("optimal", "exact")


@every_class
@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_tables_give_names_and_the_same_model(cls, library, seed):
    X, y = make_data(cls, seed)
    names = ["age", "height", "weight", "income", "score"]
    table = library.DataFrame({name: X[:, j] for j, name in enumerate(names)})
    target = (
        library.DataFrame({str(k): column for k, column in enumerate(y.T)})
        if y.ndim == 2
        else library.Series(y)
    )
    model = fit(cls(), table, target)
    assert list(model.feature_names_in_) == names
    plain = fit(cls(), X, y)
    assert_same_model(plain, model)
    np.testing.assert_allclose(plain._scores(X), model._scores(table), atol=1e-6)
    refitted = fit(clone(model), table, target)
    assert not hasattr(fit(refitted, X, y), "feature_names_in_")


@every_form
def test_pickle_and_clone(cls, form, seed):
    X, y = make_data(cls, seed)
    model = fit(cls(**form), X, y)
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.predict(X), copied.predict(X))
    assert str(copied.certificate_) == str(model.certificate_)
    assert_same_model(model, fit(clone(model), X, y), rtol=0)


@every_form
def test_model_rebuilt_from_its_stored_attributes_is_the_same(cls, form, seed):
    X, y = make_data(cls, seed)
    model = fit(cls(**form), X, y)
    learned = {name for name in model.__getstate__() if name not in model.get_params(deep=False)}
    assert learned <= set(cls._stored)
    rebuilt = cls(**model.get_params(deep=False))
    for name in learned:
        setattr(rebuilt, name, getattr(model, name))
    np.testing.assert_array_equal(rebuilt.predict(X), model.predict(X))
    assert gapless.certify(rebuilt, X, y).gap == gapless.certify(model, X, y).gap


@every_form
def test_warm_start_from_the_solution_stops_at_once(cls, form, seed):
    X, y = make_data(cls, seed)
    model = fit(cls(**form, warm_start=True), X, y)
    first = dense(model)
    fit(model, X, y)
    traces = model.trace_ if isinstance(model.trace_, list) else [model.trace_]
    assert max(trace.steps for trace in traces) <= 2  # one look at the start, and the polish
    np.testing.assert_allclose(model.coef_, first["coef_"], rtol=1e-4, atol=1e-4)


@every_form
def test_time_limit_keeps_an_honest_gap(cls, form, seed):
    X, y = make_data(cls, seed, n=300)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = cls(**form, time_limit=1e-9).fit(X, y)
    # Where a strength was to be chosen, for the one at which it stopped.
    best = fit(model._settled()._at(tol=1e-12, max_iter=5000, time_limit=None), X, y)
    here = gapless.certify(model, X, y)
    assert model.certificate_.gap >= (here.primal - best.certificate_.primal) * (1 - 1e-9)
    if model.certificate_.kind == "stopped":
        assert any("time_limit" in str(w.message) for w in caught)
        assert model.certificate_.gap > 0
    else:  # a closed form, or a fit that ended before the clock was checked
        assert model.certificate_.kind in ("optimal", "exact")


@every_class
def test_time_limit_holds_for_the_certificate_too(cls, monkeypatch, counted_time):
    def endless(*arguments):
        while True:
            interrupt.check()
            assert interrupt.deadline() < np.inf

    X, y = make_data(cls, 0, n=50)
    monkeypatch.setattr("gapless.models.linear._base.certify_all", endless)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = build(cls, {}).set_params(time_limit=1e5).fit(X, y)
    # The gap is the solver's own then.
    assert 0 <= model.certificate_.gap < np.inf
    assert model.solver_


@every_form
def test_same_bits_for_any_number_of_threads(cls, form, seed):
    # Large enough that the products are shared: below 1e5 operations one thread does them all.
    has_kernel = getattr(cls(**form), "kernel", None) is not None
    rows = 2_000 if "approximation" in form else 800 if has_kernel else 22_000
    X, y = make_data(cls, seed, n=rows)
    models = []
    for count in (1, 3):
        with threads(count):
            models.append(fit(cls(**form), X, y))
    for name, value in dense(models[0]).items():
        np.testing.assert_array_equal(getattr(models[1], name), value)


@every_form
def test_error_leaves_the_model_as_it_was(cls, form, seed):
    X, y = make_data(cls, seed)
    model = fit(cls(**form), X, y)
    before = dict(vars(model))
    X_wrong = np.full((len(X), 7), np.nan)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X_wrong, y)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
    fresh = cls(**form)
    with pytest.raises(ValueError, match="NaN"):
        fresh.fit(X_wrong, y)
    assert set(vars(fresh)) == set(fresh.get_params(deep=False))


@every_form
def test_caller_arrays_are_not_written_to(cls, form, seed):
    X, y = make_data(cls, seed)
    weights = np.ones(len(X))
    for array in (X, y, weights):
        array.flags.writeable = False
    fit(cls(**form), X, y, sample_weight=weights)


@pytest.mark.parametrize("cls", [cls for cls in ESTIMATORS if is_classifier(cls())])
@pytest.mark.parametrize("classes", [2, 3])
def test_scores_probabilities_and_classes_agree(cls, classes, seed):
    X, y = make_data(cls, seed, classes=classes)
    model = fit(cls(), X, y)
    scores = model.decision_function(X)
    assert scores.shape == ((len(X),) if classes == 2 else (len(X), classes))
    position = (scores > 0).astype(int) if classes == 2 else scores.argmax(axis=1)
    np.testing.assert_array_equal(model.predict(X), model.classes_[position])
    if hasattr(model, "predict_proba"):
        p = model.predict_proba(X)
        assert p.shape == (len(X), classes)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
        np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), p)


@pytest.mark.parametrize("cls", [cls for cls in ESTIMATORS if is_classifier(cls())])
def test_balanced_classes_weigh_the_same(cls, seed):
    X, y = make_data(cls, seed)
    weights = np.random.default_rng(seed).random(len(X)) + 0.5
    totals = {label: weights[y == label].sum() for label in set(y)}
    by_hand = weights * weights.sum() / (3 * np.array([totals[label] for label in y]))
    balanced = fit(build(cls, {"class_weight": "balanced"}), X, y, sample_weight=weights)
    assert_same_model(fit(build(cls, {}), X, y, sample_weight=by_hand), balanced)


@every_class
def test_parameters_are_checked_by_name(cls):
    constraints = set(cls._parameter_constraints)
    assert constraints == set(cls().get_params(deep=False))


def test_parameters_of_the_penalty_and_the_loss_can_be_searched():
    X, y = make_data(gapless.RiskRegressor, 1)
    grid = {"penalty__strength": [1.0, 1e9], "loss__delta": [0.5]}
    search = GridSearchCV(gapless.RiskRegressor("huber", "l1"), grid, cv=2).fit(X, y)
    assert search.best_estimator_.penalty.strength == 1.0
    assert search.best_estimator_.loss.delta == 0.5
    model = gapless.RiskRegressor(penalty=L1(2.0))
    assert model.get_params()["penalty__strength"] == 2.0
    with pytest.raises(ValueError, match="Invalid parameter 'strangth' for penalty=L1"):
        model.set_params(penalty__strangth=1.0)
    with pytest.raises(ValueError, match="Invalid parameter 'bias__size' for RiskRegressor"):
        model.set_params(bias__size=1.0)
