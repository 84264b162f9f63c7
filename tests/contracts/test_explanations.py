"""Explanations are the Shapley values of their definition, and add up to the predictions."""

import itertools
import warnings
from math import factorial

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn.neighbors
import sklearn.tree
from sklearn.base import BaseEstimator, RegressorMixin, is_classifier, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, OneHotEncoder, StandardScaler
from test_listing import TEXTS, fitted

import gapless
from gapless import (
    PCA,
    BaggingClassifier,
    BaggingRegressor,
    DecisionTreeClassifier,
    ExtraTreesRegressor,
    GammaRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    KMeans,
    KNeighborsClassifier,
    LinearSVC,
    LogisticRegression,
    RandomForestClassifier,
    RandomForestRegressor,
    Ridge,
    explain,
)
from gapless._ground.interrupt import TimeLimit
from gapless._ground.threads import threads
from public_estimators import public_estimators

COLUMNS = 4


@pytest.fixture
def seed(rng):
    return int(rng.integers(1 << 31))


def rows(seed, n=120):
    """Numbers with some missing, which matter to the target alone and together."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, COLUMNS))
    y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3]
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def shapley(answers, x, background, shares):
    """The definition, by all sets of columns; `answers` gives (n, K)."""
    d = len(x)
    value = {}
    for size in range(d + 1):
        for members in itertools.combinations(range(d), size):
            mixture = background.copy()
            mixture[:, list(members)] = x[list(members)]
            value[members] = shares @ np.reshape(answers(mixture), (len(background), -1))
    found = []
    for j in range(d):
        total = 0.0
        for members, own in value.items():
            if j in members:
                continue
            weight = factorial(len(members)) * factorial(d - len(members) - 1) / factorial(d)
            total = total + weight * (value[tuple(sorted((*members, j)))] - own)
        found.append(total)
    return np.array(found)


def log_of(model):
    return lambda X: np.log(model.predict(X))


TREES = [
    (RandomForestRegressor(5, random_state=0), "numbers", "predict"),
    (ExtraTreesRegressor(5, max_leaf_nodes=8, random_state=0), "two", "predict"),
    (RandomForestClassifier(5, random_state=0), "three", "predict_proba"),
    (BaggingRegressor(n_estimators=3, max_features=3, random_state=0), "numbers", "predict"),
    (BaggingClassifier(n_estimators=3, max_samples=5, random_state=0), "three", "predict_proba"),
    (DecisionTreeClassifier(max_depth=4), "three", "predict_proba"),
    (HistGradientBoostingRegressor(max_iter=10), "numbers", "predict"),
    (HistGradientBoostingRegressor(loss="poisson", max_iter=5), "positive", log_of),
    (HistGradientBoostingClassifier(max_iter=5), "three", "decision_function"),
    (GradientBoostingClassifier(n_estimators=5), "sign", "decision_function"),
    (GradientBoostingRegressor(n_estimators=5, loss="absolute_error"), "numbers", "predict"),
]


def targets(kind, y):
    return {
        "numbers": y,
        "two": np.column_stack([y, -(y**2)]),
        "three": np.digitize(y, [-1, 1]),
        "sign": y > 0,
        "positive": np.exp(y),
    }[kind]


@pytest.mark.parametrize(("model", "kind", "method"), TREES, ids=lambda v: type(v).__name__)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_trees_are_explained_as_defined(model, kind, method, dtype, seed):
    X, y = rows(seed)
    X = X.astype(dtype)
    model.fit(X, targets(kind, y))
    answers = method(model) if callable(method) else getattr(model, method)
    weights = np.random.default_rng(seed).random(70)
    weights[3] = 0
    found = explain(model, X[70:80], X[:70], sample_weight=weights)
    assert found.method == "exact" and found.standard_errors is None
    shares = weights / weights.sum()
    width = found.values.reshape(10, COLUMNS, -1)
    for i in (0, 1):
        expected = shapley(answers, X[70 + i], X[:70], shares)[:, -width.shape[2] :]
        assert np.allclose(width[i], expected, atol=1e-10)
    told = np.reshape(answers(X[70:80]), (10, -1))[:, -width.shape[2] :]
    assert np.allclose(found.predictions.reshape(told.shape), told, atol=1e-10)


def test_a_long_way_down_and_many_background_rows(seed):
    # More players than a leaf remembers, and more rows than a word has bits.
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 13))
    y = np.cumprod(np.sign(X) + 0.1 * X, axis=1).sum(axis=1)
    forest = RandomForestRegressor(3, max_features=1, random_state=0).fit(X, y)
    found = explain(forest, X[:3], X[100:230], most_background=1000)
    assert found.background_rows == 130
    assert np.allclose(found.predictions, forest.predict(X[:3]), atol=1e-10)
    pairs = [explain(forest, X[:3], X[[b]]).values for b in range(100, 230)]
    assert np.allclose(found.values, np.mean(pairs, axis=0), atol=1e-10)


def test_categories_and_missing_values_in_trees(seed):
    rng = np.random.default_rng(seed)
    city = rng.choice(["Bern", "Basel", "Genf", None], 200)
    table = pd.DataFrame({"age": rng.normal(size=200), "city": pd.Categorical(city)})
    y = table["age"] + 2.0 * (city == "Bern")
    model = HistGradientBoostingRegressor(max_iter=10, min_samples_leaf=5).fit(table, y)
    found = explain(model, table[:5], table[50:90])
    assert np.allclose(found.predictions, model.predict(table[:5]), atol=1e-10)
    others = explain(AsGiven(model, table).fit(), codes(table[:5]), codes(table[50:90]))
    assert others.method == "all sets of columns"
    assert np.allclose(found.values, others.values, atol=1e-10)


def codes(table):
    return np.column_stack([table["age"], table["city"].cat.codes])


class AsGiven(RegressorMixin, BaseEstimator):
    """A model of a table that takes an array with codes of its categories."""

    def __init__(self, model=None, table=None):
        self.model, self.table = model, table

    def fit(self, X=None, y=None):
        self.is_fitted_ = True
        return self

    def predict(self, X):
        city = pd.Categorical.from_codes(X[:, 1].astype(int), dtype=self.table["city"].dtype)
        return self.model.predict(pd.DataFrame({"age": X[:, 0], "city": city}))


def test_features_of_a_column_are_one_player(seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 4, 150), rng.normal(size=150), rng.normal(size=150)])
    X[rng.random(150) < 0.2, 1] = np.nan
    y = np.where(X[:, 0] > 1, np.nan_to_num(X[:, 1]), X[:, 2])
    parts = [
        ("levels", OneHotEncoder(), [0]),
        ("filled", make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), [1, 2]),
    ]
    for last in (
        HistGradientBoostingRegressor(max_iter=10),
        Ridge(),
        make_pipeline(PCA(3), Ridge()),
    ):
        model = make_pipeline(ColumnTransformer(parts, sparse_threshold=0), last).fit(X, y)
        found = explain(model, X[:3], X[50:90])
        assert found.method == "exact"
        for i in range(3):
            expected = shapley(model.predict, X[i], X[50:90], np.full(40, 1 / 40))[:, 0]
            assert np.allclose(found.values[i], expected, atol=1e-10)


def test_steps_that_read_whole_rows_are_not_taken_for_columns(seed):
    X, y = rows(seed)
    X = np.nan_to_num(X)
    model = make_pipeline(Normalizer(), Ridge()).fit(X, y)
    found = explain(model, X[:2], X[50:80])
    assert found.method == "all sets of columns"
    expected = shapley(model.predict, X[0], X[50:80], np.full(30, 1 / 30))[:, 0]
    assert np.allclose(found.values[0], expected, atol=1e-10)


def test_linear_models_by_their_formula(seed):
    X, y = rows(seed)
    X = np.nan_to_num(X) + 100
    weights = np.random.default_rng(seed).random(len(X))
    mean = np.average(X, axis=0, weights=weights)
    options = {"sample_weight": weights, "most_background": len(X)}
    models = [
        (Ridge(), y, "prediction"),
        (LogisticRegression(), y > 0, "log-odds"),
        (LinearSVC(), y > 0, "score"),
        (GammaRegressor(), np.exp(y), "logarithm of the prediction"),
    ]
    for model, target, scale in models:
        for given in (X, sp.csr_array(X), pl.DataFrame(X)):
            model.fit(given, target)
            found = explain(model, given[:5], given, **options)
            assert (found.scale, found.method) == (scale, "exact")
            assert np.allclose(found.values, np.ravel(model.coef_) * (X[:5] - mean), atol=1e-8)
    softmax = LogisticRegression().fit(X, np.digitize(y, [-1, 1]))
    found = explain(softmax, X[:5], X, **options)
    assert np.allclose(found.predictions, softmax.decision_function(X[:5]), atol=1e-8)
    assert found.outputs == (0, 1, 2)


def test_linear_models_in_float32_are_explained_by_their_formula(seed):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(60, 8)) * 100 + 1000).astype(np.float32)
    y = (X @ rng.normal(size=8)).astype(np.float32)
    for model in (Ridge().fit(X, y), LogisticRegression().fit(X, y > np.median(y))):
        assert model.coef_.dtype == np.float32
        found = explain(model, X[:5], X)
        assert found.method == "exact", f"seed {seed}"
        w = model.coef_.reshape(-1).astype(float)
        np.testing.assert_allclose(found.values, (X[:5] - X.mean(axis=0, dtype=float)) * w)


def test_columns_without_effect_get_nothing_and_equal_ones_the_same(seed):
    X, y = rows(seed)
    X = np.nan_to_num(X)
    X[:, 3] = X[:, 2]
    y = X[:, 2] + X[:, 0]
    forest = RandomForestRegressor(5, random_state=0).fit(X[:, :1], X[:, 0])
    both = make_pipeline(Ridge()).fit(X, y)
    assert not explain(RandomForestRegressor(5).fit(X * [1, 0, 0, 0], y), X[:9]).values[:, 1:].any()
    assert np.allclose(explain(forest, X[:5, :1]).values.sum(axis=0), 0, atol=1e-10)
    values = explain(both, X[:9]).values
    assert np.allclose(values[:, 2], values[:, 3], atol=1e-10)
    neighbours = sklearn.neighbors.KNeighborsRegressor(3).fit(X, y)
    values = explain(neighbours, X[:9]).values
    assert np.allclose(values[:, 2], values[:, 3], atol=1e-10)


def test_sampled_values_are_within_their_errors(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 7))
    y = X[:, 0] * X[:, 1] + np.sign(X[:, 2]) * X[:, 3] + X[:, 4]
    tree = sklearn.tree.DecisionTreeRegressor(random_state=0).fit(X, y)
    found = explain(tree, X[:12], X[100:110], random_state=seed)
    assert np.allclose(found.predictions, tree.predict(X[:12]), atol=1e-10)
    exact = [shapley(tree.predict, x, X[100:110], np.full(10, 0.1))[:, 0] for x in X[:12]]
    z = (found.values - exact) / found.standard_errors
    assert found.standard_errors.min() > 0
    assert np.abs(z).max() < 6 and 0.4 < np.mean(z**2) < 2.2
    more = explain(tree, X[:12], X[100:110], rounds=28, random_state=seed)
    ratio = more.standard_errors.mean() / found.standard_errors.mean()
    assert 0.4 < ratio < 0.6


def test_the_law_of_weights_for_background_rows(seed):
    X, y = rows(seed)
    X = np.nan_to_num(X)
    wide = np.column_stack([X, X**2])
    weights = np.random.default_rng(seed).integers(0, 3, len(X)).astype(float)
    repeated = np.repeat(np.arange(len(X)), weights.astype(int))[::-1]
    for model in (
        RandomForestRegressor(3, random_state=0).fit(wide, y),
        Ridge().fit(wide, y),
        gapless.KNeighborsRegressor().fit(wide, y),
    ):
        for most in (20, 100):
            one = explain(model, wide[:2], wide, sample_weight=weights, most_background=most)
            two = explain(model, wide[:2], wide[repeated], most_background=most)
            assert np.allclose(one.values, two.values, atol=1e-12)
            assert one.background_rows <= most


def test_the_same_bits_for_any_number_of_threads(seed):
    X, y = rows(seed, 300)
    forest = RandomForestClassifier(6, random_state=0).fit(X, np.digitize(y, [-1, 1]))
    found = []
    for count in (1, 3):
        with threads(count):
            found.append(explain(forest, X, X[:90]).values)
    assert np.array_equal(*found)
    assert np.array_equal(found[0][100:110], explain(forest, X[100:110], X[:90]).values)


@pytest.mark.parametrize("cls", public_estimators(), ids=lambda cls: cls.__name__)
def test_every_model_is_explained_or_says_why_not(cls):
    model = fitted(cls)
    X = np.random.default_rng(0).random((30, 3))
    if cls is gapless.TextClassifier:
        with pytest.raises(ValueError, match="X must have rows and columns"):
            explain(model, TEXTS)
        return
    if not (is_classifier(model) or is_regressor(model) or hasattr(model, "decision_function")):
        with pytest.raises(TypeError, match="predicts no target"):
            explain(model, X)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = explain(model, X[:4], X[10:20])
    assert found.values.shape[:2] == (4, 3) and np.all(np.isfinite(found.values))
    told = {
        "prediction": lambda: model.predict(X[:4]),
        "logarithm of the prediction": lambda: np.log(model.predict(X[:4])),
        "probability": lambda: model.predict_proba(X[:4])[:, 1],
        "log-odds": lambda: np.diff(model.predict_log_proba(X[:4]), axis=1)[:, 0],
        "score": lambda: model.decision_function(X[:4]),
        "share predicted": lambda: (model.predict(X[:4]) == model.classes_[1]).astype(float),
    }[found.scale]()
    assert np.allclose(found.predictions, told, rtol=1e-8, atol=1e-8)


def test_what_cannot_be_explained_says_why():
    X, y = rows(0)
    X = np.nan_to_num(X)
    with pytest.raises(TypeError, match="KMeans predicts no target"):
        explain(KMeans(2).fit(X), X)
    model = Ridge().fit(X, y)
    with pytest.raises(ValueError, match="background has 3 columns, and X has 4"):
        explain(model, X, X[:, :3])
    with pytest.raises(ValueError, match="rounds must be at least 2"):
        explain(model, X, rounds=1)
    forest = RandomForestRegressor(3).fit(X, y)
    neighbours = KNeighborsClassifier().fit(X, y > 0)
    for slow in (forest, neighbours):
        with pytest.raises(TimeLimit):
            explain(slow, X, X, time_limit=0.0)


def test_tables_of_any_kind_are_mixed_alike(seed):
    rng = np.random.default_rng(seed)
    wide = pd.DataFrame({f"c{j}": rng.normal(size=60) for j in range(8)})
    wide["c3"] = rng.integers(0, 9, 60)
    wide["c4"] = rng.random(60) < 0.5
    y = wide.sum(axis=1)
    model = gapless.KNeighborsRegressor().fit(wide, y)
    others = model.fit(wide.to_numpy(dtype=float), y)
    plain = explain(others, wide.to_numpy(dtype=float)[:3])
    for table in (wide, pl.from_pandas(wide)):
        found = explain(gapless.KNeighborsRegressor().fit(table, y), table[:3])
        assert np.allclose(found.values, plain.values, atol=1e-12)
        assert found.names == tuple(f"c{j}" for j in range(8))


def test_reasons_are_said_in_words():
    table = pl.DataFrame({"age": [20.0, 62.0, 41.0], "city": ["Bern", None, "Genf"]})
    parts = [("level", OneHotEncoder(), ["city"]), ("as it is", "passthrough", ["age"])]
    model = make_pipeline(ColumnTransformer(parts), Ridge(alpha=1e-9)).fit(table, [1.0, 3.0, 2.0])
    found = explain(model, table)
    first = found.reasons(1)[0]
    assert first.what in ("age 62", "city missing")
    assert str(first) == f"{first.what}: {first.contribution:+.3g}".replace("-", "−")
    assert len(found.reasons(1, most=1)) == 1
    assert list(found.to_dict()) == ["age", "city"]
    assert "age" in str(found) and "prediction of 3 rows" in repr(found)
    assert "<img" in found._repr_html_()
    assert found.plot(1).get_yticklabels()[0].get_text() == first.what


def test_reasons_of_several_classes_are_for_the_likeliest(seed):
    X, y = rows(seed)
    model = RandomForestClassifier(5, random_state=0).fit(X, np.digitize(y, [-1, 1]))
    found = explain(model, X[:4])
    likeliest = model.predict(X[:4])
    assert [found.output_of(i) for i in range(4)] == likeliest.tolist()
    assert found.reasons(2) == found.reasons(2, likeliest[2])
    with pytest.raises(ValueError, match="output must be one of"):
        found.reasons(0, "none")
    assert len(found.to_dict()) == 3 * COLUMNS
