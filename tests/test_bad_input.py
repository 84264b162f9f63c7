"""Bad input: a fit, or an error that says what is wrong, where, and what to do; never a hang."""

import datetime
import re
import time
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.utils._param_validation import InvalidParameterError

import gapless
from gapless.kernels import Spectrum
from gapless.losses import Hinge
from gapless.models.svm._base import SupportVectorMachine
from gapless.penalties import L1
from in_one_test import for_each
from public_estimators import public_estimators

ESTIMATORS = [
    cls
    for cls in public_estimators(base=(ClassifierMixin, RegressorMixin))
    if cls is not gapless.BayesDecision  # of a model: tests/contracts/test_decision.py
    and cls().__sklearn_tags__().input_tags.two_d_array  # texts: tests/contracts/test_text.py
]
every_estimator = for_each(ESTIMATORS)
SECONDS = 10.0


def make_data(cls, n=30, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    score = X @ rng.normal(size=(d, 2)) + 0.5 * rng.normal(size=(n, 2))
    if takes_counts(cls):
        X = np.round(np.exp(X))
    if is_classifier(cls()):
        return X, (score[:, 0] > 0).astype(int)
    if cls().__sklearn_tags__().target_tags.positive_only:
        return X, np.exp(0.3 * score[:, 0])
    return X, score if cls.__name__.startswith("MultiTask") else score[:, 0]


def chooses(cls):
    """Whether the model chooses a parameter by default."""
    # None for the width of a local regression chooses one, too.
    is_local = cls is gapless.KernelRegression
    return is_local or cls.__name__.endswith("CV") or "loo" in cls().get_params().values()


def has_bias(cls):
    """Whether the model can be any constant; a process of mean 0 with noise is drawn to 0."""
    is_process = cls is gapless.GaussianProcessRegressor
    return not is_process and cls().get_params().get("fit_intercept", True)


def takes_counts(cls):
    """Whether numbers below 0 are a mistake."""
    return cls().__sklearn_tags__().input_tags.positive_only


def takes_sparse(cls):
    return cls().__sklearn_tags__().input_tags.sparse


def limited(cls):
    """The model with a limit of its time and of its members, where its fits may be long."""
    limits = {"time_limit": 0.5, "n_estimators": 10}
    return cls(**{name: limits[name] for name in limits.keys() & cls().get_params().keys()})


def takes_missing(cls):
    """Whether NaN is a value that is missing, and no mistake."""
    return cls().__sklearn_tags__().input_tags.allow_nan


def takes_categories(cls):
    """Whether columns of text are read as they are, by the model or by its learners."""
    model = cls()
    learner = getattr(model, "_learner", getattr(model, "_get_estimator", cls))()
    parameters = learner.get_params()
    return "categorical_features" in parameters and parameters.get("metric", "mixed") == "mixed"


def is_ensemble(cls):
    """Whether the model is of many, so that at most a bound of its loss is known."""
    return cls.__module__.split(".")[2] in ("bagging", "forests", "boosting", "adaboost")


def stops_near(cls):
    """Whether the steps end near the optimum, not at it."""
    return cls.__module__.startswith("gapless.models.stochastic") or is_network(cls)


def is_network(cls):
    """Whether few epochs may end far from the best network, which nobody knows."""
    return cls.__module__.startswith("gapless.models.networks")


def is_lazy(cls):
    """Whether the model is its data, so that nothing is minimised."""
    return cls.__module__.startswith("gapless.models.neighbors")


def fit_or_error(model, X, y, **more):
    """The fitted model, or the ValueError it raised; in bounded time, and all numbers finite."""
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)  # of NumPy's: an overflow we let happen
        try:
            model.fit(X, y, **more)
        except ValueError as error:
            result = error
        else:
            assert np.all(np.isfinite(getattr(model, "coef_", 0.0)))
            assert np.all(np.isfinite(getattr(model, "intercept_", 0.0)))
            assert not np.isnan(model.certificate_.gap)
            assert np.all(np.isfinite(model.predict(X))) if not is_classifier(model) else True
            result = model
    assert time.process_time() - began < SECONDS
    return result


@every_estimator
def test_nan_is_named_with_row_and_column(cls):
    X, y = make_data(cls)
    X[17, 2] = np.nan
    if takes_missing(cls):
        assert len(fit_or_error(cls(), X, y).predict(X)) == len(X)
        return
    message = "X has NaN in row 17, column 2; drop the row or impute it, e.g. with SimpleImputer"
    with pytest.raises(ValueError, match=message):
        cls().fit(X, y)
    expected = (ValueError, message) if takes_sparse(cls) else (TypeError, "[Ss]parse")
    with pytest.raises(expected[0], match=expected[1]):
        cls().fit(sp.csr_matrix(X), y)
    names = ["age", "height", "weight", "income"]
    for table in (pd.DataFrame(X, columns=names), pl.DataFrame(dict(zip(names, X.T)))):
        with pytest.raises(ValueError, match="X has NaN in row 17, column 'weight'"):
            cls().fit(table, y)


@every_estimator
def test_infinity_is_named_with_row_and_column(cls):
    X, y = make_data(cls)
    X[3, 1] = -np.inf
    if getattr(cls, "_takes_infinity", False):
        assert len(cls().fit(X, y).predict(X)) == len(X)
        return
    with pytest.raises(ValueError, match="X has inf in row 3, column 1; drop the row or clip"):
        cls().fit(X, y)
    model = cls().fit(*make_data(cls))
    with pytest.raises(ValueError, match="X has inf in row 3, column 1"):
        model.predict(X)


@every_estimator
def test_nan_in_the_target_is_named(cls):
    X, y = make_data(cls)
    y = y.astype(float)
    y[5] = np.nan
    with pytest.raises(ValueError, match="y has NaN in row 5"):
        cls().fit(X, y)


def test_missing_label_is_named():
    X, _ = make_data(gapless.LogisticRegression)
    y = np.array(["a", "b"] * 15, dtype=object)
    y[4] = None
    with pytest.raises(ValueError, match="no label in row 4"):
        gapless.LogisticRegression().fit(X, y)


def test_categories_beside_booleans_are_named():
    # pandas has other words for these than for categories alone.
    table = pd.DataFrame({"city": pd.Categorical(["Rome", "Oslo"] * 5), "new": [True, False] * 5})
    with pytest.raises(ValueError, match="X has 'Rome' in row 0, column 'city'"):
        gapless.LogisticRegression().fit(table, [0, 1] * 5)


@every_estimator
def test_text_is_named_with_row_and_column(cls):
    X, y = make_data(cls, d=2)
    columns = {"age": X[:, 0], "city": ["1.5"] * 3 + ["Rome"] * 27, "note": ["none"] * 30}
    encoder = "OrdinalEncoder" if cls is gapless.CategoricalNB else "OneHotEncoder"
    message = f"X has 'Rome' in row 3, column 'city', which is not a number; .* {encoder}"
    for table in (pd.DataFrame(columns), pl.DataFrame(columns)):
        if takes_categories(cls):
            assert len(cls().fit(table, y).predict(table)) == 30
            continue
        with pytest.raises(ValueError, match=message):
            cls().fit(table, y)
        if isinstance(table, pd.DataFrame):
            with pytest.raises(ValueError, match="X has 'Rome' in row 3, column 'city'"):
                cls().fit(table.astype({"city": "category"}), y)
    objects = pd.DataFrame(columns).to_numpy()
    if cls in (gapless.C45Classifier, gapless.ID3Classifier):
        assert len(cls().fit(objects, y).predict(objects)) == 30
    else:
        with pytest.raises(ValueError, match="X has 'Rome' in row 3, column 1"):
            cls().fit(objects, y)
    with pytest.raises(ValueError, match=r"X has 'a text' in row 0.* TfidfVectorizer"):
        cls().fit(["a text"] * 30, y)


@pytest.mark.parametrize(
    "model, cure",
    [
        (
            gapless.DecisionTreeClassifier(),
            "pass X as a pandas or polars table, whose text columns are categories",
        ),
        (gapless.RandomForestClassifier(), "pass X as a pandas or polars table"),
        (gapless.NaiveBayes(), "pass X as a pandas or polars table"),
        (gapless.CategoricalNB(), r"OrdinalEncoder\(\)"),
        (gapless.GaussianNB(), r"OneHotEncoder\(\)"),
    ],
)
def test_the_cure_for_text_is_one_that_the_model_takes(model, cure):
    with pytest.raises(ValueError, match=rf"X has 'a' in row 0, column 0, .*{cure}"):
        model.fit(np.array([["a", "b"], ["c", "d"]] * 5), [0, 1] * 5)


@pytest.mark.parametrize(
    "model",
    [
        gapless.KernelLogisticRegression(kernel=Spectrum(2)),
        gapless.KernelLogisticRegression(kernel="spectrum"),
        gapless.KernelRidge(kernel=Spectrum(2)),
        gapless.RiskClassifier(kernel=Spectrum(2)),
        gapless.Nystroem(Spectrum(2)),
    ],
)
def test_machines_that_read_no_texts_name_those_that_do(model):
    with pytest.raises(ValueError, match=r"SVC.* with .*kernel.*precomputed"):
        model.fit(["banana", "kiwi"] * 3, [0, 1] * 3)


DAYS = pd.to_datetime(["2024-01-01", "2024-01-02"] * 15)
TABLES_OF_DATES = [
    pd.DataFrame({"size": np.ones(30), "day": DAYS}),
    pd.DataFrame({"day": DAYS}),
    pd.DataFrame({"day": DAYS.tz_localize("UTC")}),
    pd.DataFrame({"day": DAYS - DAYS[0]}),
    pl.DataFrame({"size": np.ones(30), "day": DAYS.to_list()}),
    DAYS.to_numpy()[:, None],
]


@every_estimator
def test_dates_are_named(cls):
    _, y = make_data(cls)
    for table in TABLES_OF_DATES:
        what = "X" if isinstance(table, np.ndarray) else "column 'day' of X"
        with pytest.raises(ValueError, match=f"{what} holds dates .* turn them into numbers"):
            cls().fit(table, y)


@every_estimator
def test_columns_of_one_name_are_named(cls):
    X, y = make_data(cls)
    table = pd.DataFrame(X, columns=["a", "b", "a", "c"])
    with pytest.raises(ValueError, match="X has 2 columns called 'a'"):
        cls().fit(table, y)


@pytest.mark.parametrize("name", ["k_fold", "bootstrap", "learning_curve"])
def test_columns_of_one_name_are_named_before_any_evaluation(name):
    X, y = make_data(gapless.Ridge)
    table = pd.DataFrame(X, columns=["a", "b", "a", "c"])
    with pytest.raises(ValueError, match="X has 2 columns called 'a'"):
        getattr(gapless.evaluation, name)(gapless.Ridge(), table, y)


@pytest.mark.parametrize(
    "values, message",
    [
        ([datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)], "'day' of X holds dates"),
        ([[1], [2]], "'day' of X holds values of type list, which cannot be categories"),
    ],
)
def test_trees_name_objects_that_are_no_categories(values, message):
    table = pd.DataFrame({"size": [1.0, 2.0], "day": pd.Series(values, dtype=object)})
    with pytest.raises(ValueError, match=message):
        gapless.DecisionTreeRegressor().fit(table, [1.0, 2.0])


def test_constraints_of_a_tree_are_a_list():
    with pytest.raises(ValueError, match="monotonic_cst must be a list of 1 numbers"):
        gapless.DecisionTreeRegressor(monotonic_cst={"x0": 1}).fit([[1.0], [2.0]], [1.0, 2.0])


def test_text_is_not_blamed_for_other_errors():
    model = gapless.Ridge().fit(pd.DataFrame({"size": [1.0, 2.0]}), [1.0, 2.0])
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(pd.DataFrame({"size": [1.0], "city": ["Rome"]}))
    with pytest.raises(TypeError, match="argument must be a string or a real number"):
        model.fit([[1.0], [{}]], [1.0, 2.0])


@for_each([cls for cls in ESTIMATORS if not is_classifier(cls())])
def test_text_in_the_target_of_a_regression_is_named(cls):
    X, y = make_data(cls)
    labels = y.astype(object)
    labels[7] = "cheap"
    with pytest.raises(ValueError, match=r"y has 'cheap' in row 7.*use a classifier"):
        cls().fit(X, labels)


@every_estimator
def test_empty_input(cls):
    X, y = make_data(cls)
    with pytest.raises(ValueError, match="0 sample"):
        cls().fit(X[:0], y[:0])
    with pytest.raises(ValueError, match="0 feature"):
        cls().fit(X[:, :0], y)


@every_estimator
def test_one_row(cls):
    X, y = make_data(cls)
    result = fit_or_error(cls(n_neighbors=1) if is_lazy(cls) else cls(), X[:1], y[:1])
    if isinstance(result, ValueError) and chooses(cls):
        assert re.search("n_samples ?= ?1|at least 2 classes", str(result))
    elif isinstance(result, ValueError):
        assert is_classifier(cls())
        assert "at least 2 classes" in str(result)
    elif has_bias(cls):
        atol = 0.5 if stops_near(cls) else 1e-6
        np.testing.assert_allclose(result.predict(X[:1]), y[:1], atol=atol)


@for_each([cls for cls in ESTIMATORS if is_classifier(cls())])
def test_one_class(cls):
    """An error that says so, or a model that knows nothing else."""
    X, y = make_data(cls)
    for result in (
        fit_or_error(cls(), X, np.ones(len(y))),
        fit_or_error(cls(), X, y, sample_weight=(y == 1).astype(float)),
    ):
        if isinstance(result, ValueError):
            assert re.search(r"only one class: 1(\.0)?;", str(result))
            assert "add rows of another class" in str(result)
        else:
            np.testing.assert_array_equal(result.predict(X), 1)


@every_estimator
def test_wrong_lengths(cls):
    X, y = make_data(cls)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        cls().fit(X, y[:-1])
    with pytest.raises(ValueError, match="sample_weight"):
        cls().fit(X, y, sample_weight=np.ones(3))
    with pytest.raises(ValueError, match="4 features"):
        cls().fit(X, y).predict(X[:, :3])


@every_estimator
def test_bad_weights(cls):
    X, y = make_data(cls)
    weights = np.ones(len(X))
    weights[7] = -1
    is_machine = issubclass(cls, SupportVectorMachine)  # for which -1 is a mark, as for LIBSVM
    expected = pytest.warns(UserWarning, match="row 7") if is_machine else pytest.raises(ValueError)
    with expected as caught:
        cls().fit(X, y, sample_weight=weights)
    assert "row 7 has weight -1" in str(caught[0].message if is_machine else caught.value)
    with pytest.raises(ValueError, match="non-zero"):
        cls().fit(X, y, sample_weight=np.zeros(len(X)))
    with pytest.raises(ValueError, match='class_weight="balanced"'):
        cls().fit(X, y, sample_weight="balanced")
    with pytest.raises(ValueError, match="sample_weight has 'much' in row 2"):
        cls().fit(X, y, sample_weight=["1", "1", "much", *["1"] * 27])


@every_estimator
def test_constant_and_duplicate_columns(cls):
    X, y = make_data(cls)
    X = np.column_stack([X, np.full(len(X), 7.0), np.zeros(len(X)), X[:, 0], X[:, 0]])
    model = fit_or_error(cls(), X, y)
    assert isinstance(model, cls)
    kinds = ("bound", "none") if is_ensemble(cls) else ("optimal", "exact", "stationary")
    kinds = ("none",) if is_lazy(cls) else kinds
    kinds = ("optimal", "stopped") if stops_near(cls) else kinds
    assert model.certificate_.kind in kinds


@every_estimator
def test_constant_target(cls):
    X, y = make_data(cls)
    if not is_classifier(cls()):
        model = fit_or_error(cls(), X, np.full_like(y, 3.0))
        if has_bias(cls) and not is_network(cls):
            rtol = 0.1 if stops_near(cls) else 1e-6
            np.testing.assert_allclose(model.predict(X), 3.0, rtol=rtol)
        certificate = model.certificate_
        is_exact = certificate.kind in ("optimal", "exact") or is_ensemble(cls) or is_lazy(cls)
        is_exact |= stops_near(cls)
        assert is_exact or "the mean is exact" in str(certificate)


@every_estimator
def test_extreme_sizes_fit_or_say_so(cls):
    """Where rounding leaves a solver nothing to hold on to, the time limit ends it."""
    X, y = make_data(cls)
    for size in (1e300, 1e150, 1e100, 1e-100, 1e-150, 1e-300):
        cases = {"all of X": (size * X, y)}
        if size in (1e300, 1e100, 1e-300):
            cases["a column"] = X * [1.0, size, 1.0, 1.0], y
            if not is_classifier(cls()):
                cases["y"] = X, size * y
        for name, (features, target) in cases.items():
            result = fit_or_error(limited(cls), features, target)
            assert not isinstance(result, ValueError) or "rescale" in str(result), (size, name)


@every_estimator
def test_extreme_weights(cls):
    X, y = make_data(cls)
    # Rows of so little weight are not even one neighbour.
    for size in (0.5, 1e200) if is_lazy(cls) else (1e-200, 1e200):
        fit_or_error(limited(cls), X, y, sample_weight=np.full(len(X), size))


@pytest.mark.parametrize(
    "model",
    [
        gapless.Ridge(alpha=-1.0),
        gapless.Lasso(alpha=-1.0),
        gapless.ElasticNet(alpha=-1.0),
        gapless.ElasticNet(l1_ratio=2.0),
        gapless.LogisticRegression(C=-1.0),
        gapless.LinearSVC(C=0.0),
        gapless.LinearSVR(C=-1.0),
        gapless.LinearSVR(epsilon=-1.0),
        gapless.LinearSVC(loss="huber"),
        gapless.LogisticRegression(penalty="l7"),
        gapless.Ridge(tol=-1.0),
        gapless.Ridge(time_limit=0.0),
        gapless.Ridge(solver=3),
        gapless.RiskRegressor(loss=3),
        gapless.RiskRegressor(penalty=None),
    ],
    ids=repr,
)
def test_parameters_out_of_range(model):
    X, y = make_data(type(model))
    with pytest.raises(InvalidParameterError, match="parameter of"):
        model.fit(X, y)


@pytest.mark.parametrize(
    "model, message",
    [
        (gapless.Ridge(alpha=[-1.0]), "alpha must be finite and ≥ 0"),
        (gapless.Ridge(solver="nonsense"), "solver='nonsense' is not known; use"),
        (gapless.RiskRegressor(loss="nonsense"), "loss='nonsense' is not known; use one of"),
        (gapless.RiskRegressor(penalty="nonsense"), "penalty='nonsense' is not known; use one of"),
        (gapless.RiskRegressor(loss=Hinge()), "needs a loss for regression, got hinge; use Risk"),
        (gapless.RiskClassifier(solver="closed_form"), 'solver="closed_form" .*; use "newton"'),
        (gapless.MultiTaskLasso(), "For mono-task outputs, use Lasso"),
    ],
    ids=lambda value: repr(value) if isinstance(value, BaseEstimator) else "",
)
def test_what_cannot_be_done_says_what_can(model, message):
    X, y = make_data(gapless.Ridge)
    if is_classifier(model):
        y = y > 0
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


def test_penalties_and_losses_refuse_bad_parameters_when_built():
    with pytest.raises(ValueError, match="strength"):
        L1(-1.0)
    with pytest.raises(ValueError, match="strength"):
        L1(np.nan)


def test_probabilities_of_a_loss_without_them():
    X, y = make_data(gapless.RiskClassifier)
    model = gapless.RiskClassifier(loss="hinge").fit(X, y)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError):
        model.predict_proba(X)


def test_certify_needs_the_data_of_the_fit():
    X, y = make_data(gapless.LogisticRegression)
    model = gapless.LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match="was fitted with"):
        gapless.certify(model, X, y + 1)
    with pytest.raises(ValueError, match="features"):
        gapless.certify(model, X[:, :2], y)
    with pytest.raises(TypeError, match="cannot be certified"):
        gapless.certify(object(), X, y)


def test_separable_classes_without_a_penalty_are_named():
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    model = gapless.LogisticRegression(C=np.inf)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, [0, 0, 1, 1])
    assert model.certificate_.kind == "none"
    assert "no minimiser exists" in str(model.certificate_)
