"""The rows of boosting: infinite values, numbers as text, huge weights, rows held out."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.base import clone

from gapless import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

SMALL = {"max_iter": 8, "min_samples_leaf": 3, "random_state": 0}


def make_rows(n=120, seed=20240607):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 2] + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("max_bins", [255, 10])
def test_infinite_values_are_the_ends_of_the_line(dtype, max_bins):
    X, y = make_rows()
    X = X.astype(dtype)
    X[X[:, 0] > 1, 0] = X[X[:, 0] > 1, 0].max()
    X[X[:, 0] < -1, 0] = X[X[:, 0] < -1, 0].min()
    infinite = X.copy()
    infinite[X[:, 0] == X[:, 0].max(), 0] = np.inf
    infinite[X[:, 0] == X[:, 0].min(), 0] = -np.inf
    finite = HistGradientBoostingRegressor(max_bins=max_bins, **SMALL).fit(X, y)
    model = HistGradientBoostingRegressor(max_bins=max_bins, **SMALL).fit(infinite, y)
    np.testing.assert_array_equal(model.predict(infinite), finite.predict(X))
    assert np.isfinite(model.generalization_.unseen)
    for trees in model.trees_:
        assert np.all(np.isfinite(trees[0].threshold))


def test_infinite_values_in_tables_and_sparse_matrices():
    X, y = make_rows()
    X[:7, 1] = np.inf
    X[7:30, 2] = 0.0
    expected = HistGradientBoostingRegressor(**SMALL).fit(X, y).predict(X)
    for other in (sp.csr_array(X), pd.DataFrame(X), pl.DataFrame(X)):
        model = HistGradientBoostingRegressor(**SMALL).fit(other, y)
        np.testing.assert_array_equal(model.predict(other), expected)
    table = pd.DataFrame(X, columns=list("abc")).assign(
        kind=pd.Categorical(np.where(y > 0, "a", "b"))
    )
    assert HistGradientBoostingRegressor(**SMALL).fit(table, y).score(table, y) > 0.5


def test_boosting_by_gradients_alone_names_infinite_values():
    X, y = make_rows()
    X[3, 1] = np.inf
    with pytest.raises(ValueError, match="X has inf in row 3, column 1"):
        GradientBoostingRegressor().fit(X, y)


@pytest.mark.parametrize("library", [pd, pl])
def test_text_of_many_numbers_is_a_column_of_numbers(library):
    X, y = make_rows(300)
    kind = np.where(X[:, 1] > 0, "up", "down")
    texts = library.DataFrame({"a": [repr(float(x)) for x in X[:, 0]], "kind": kind})
    numbers = library.DataFrame({"a": X[:, 0], "kind": kind})
    model = HistGradientBoostingRegressor(**SMALL).fit(texts, y)
    same = HistGradientBoostingRegressor(**SMALL).fit(numbers, y)
    np.testing.assert_array_equal(model.predict(texts), same.predict(numbers))
    assert model.is_categorical_.tolist() == [False, True]


def test_text_of_few_numbers_and_other_text_are_categories():
    X, y = make_rows(300)
    codes = pd.DataFrame({"code": np.where(X[:, 0] > 0, "01", "02")})
    model = HistGradientBoostingRegressor(**SMALL).fit(codes, y)
    assert model.is_categorical_.tolist() == [True]
    names = pd.DataFrame({"name": [f"n{i}" for i in range(300)]})
    with pytest.raises(ValueError, match="cardinality <= 255 but actually has a cardinality of"):
        HistGradientBoostingRegressor(**SMALL).fit(names, y)


def test_bins_are_those_of_the_rows_that_trees_are_grown_on():
    X, y = make_rows()
    model = HistGradientBoostingRegressor(early_stopping=True, **SMALL).fit(X, y)
    grown = model.trees_[0][0].n_node_samples[0]
    assert grown < len(X)
    assert model._bin_mapper.n_bins_non_missing_.tolist() == [grown] * 3
    # A row that is held out changes no threshold, wherever it is.
    data = model._read(X, y)
    aside = np.flatnonzero(data.aside(0.1, model._random_seed))
    kept = np.setdiff1d(np.arange(len(X)), aside)
    alone = HistGradientBoostingRegressor(early_stopping=True, **SMALL)
    alone.fit(X[kept], y[kept], X_val=X[aside], y_val=y[aside])
    np.testing.assert_array_equal(alone.predict(X), model.predict(X))


@pytest.mark.parametrize("power", [-500, -100, 100, 500])
def test_weights_of_any_size_give_the_same_trees(power):
    X, y = make_rows()
    labels = y > 0
    weights = np.random.default_rng(0).uniform(0.5, 2, len(X))
    one = HistGradientBoostingClassifier(**SMALL, class_weight={False: 1.0, True: 2.0})
    one.fit(X, labels, weights)
    scaled = {False: 2.0**power, True: 2.0 ** (power + 1)}
    other = HistGradientBoostingClassifier(**SMALL, class_weight=scaled).fit(X, labels, weights)
    np.testing.assert_allclose(
        other.decision_function(X), one.decision_function(X), rtol=1e-9, atol=1e-9
    )


def test_rows_of_huge_weights_are_counted():
    X, y = make_rows()
    model = HistGradientBoostingRegressor(early_stopping=False, **SMALL)
    model.fit(X, y, np.full(len(X), 1e12))
    assert model.trees_[0][0].n_node_samples[0] == 1e12 * len(X)


def test_columns_of_one_value_change_nothing():
    X, y = make_rows()
    wide = np.column_stack([np.ones(len(X)), X, np.full(len(X), np.nan)])
    model = HistGradientBoostingRegressor(**SMALL).fit(X, y)
    np.testing.assert_array_equal(
        HistGradientBoostingRegressor(**SMALL).fit(wide, y).predict(wide), model.predict(X)
    )
    flat = HistGradientBoostingRegressor(**SMALL).fit(np.ones((len(X), 2)), y)
    np.testing.assert_allclose(flat.predict(np.ones((1, 2))), y.mean())


def test_warm_start_names_what_has_changed():
    X, y = make_rows()
    model = HistGradientBoostingClassifier(warm_start=True, **SMALL).fit(X, y > 0)
    model.set_params(max_iter=9)
    with pytest.raises(ValueError, match=r"X has 2 features, but .* expecting 3 features"):
        model.fit(X[:, :2], y > 0)
    with pytest.raises(ValueError, match="grown with other classes"):
        model.fit(X, np.digitize(y, [-0.5, 0.5]))
    table = pd.DataFrame({"kind": np.where(y > 0, "a", "b")})
    model = HistGradientBoostingRegressor(warm_start=True, **SMALL).fit(table, y)
    model.set_params(max_iter=9)
    with pytest.raises(ValueError, match="grown with other categories"):
        model.fit(table.replace("a", "c"), y)
    assert model.fit(table, y).n_iter_ == 9


def test_early_stopping_lives_with_rare_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] > 0, "usual", "other")
    y[0], y[1], y[2] = "once", "twice", "twice"
    model = HistGradientBoostingClassifier(max_iter=20, early_stopping=True, random_state=0)
    model.fit(X, y)
    assert model.do_early_stopping_ and len(model.validation_score_)
    assert model.classes_.tolist() == ["once", "other", "twice", "usual"]
    # The row of a class that has no other is learned, and not only used to judge.
    assert np.all(np.isfinite(model.predict_proba(X))) and model.score(X, y) > 0.9


def test_a_scorer_without_early_stopping_judges_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] > 0, "yes", "no")
    plain = HistGradientBoostingClassifier(max_iter=5, early_stopping=False).fit(X, y)
    scored = clone(plain).set_params(scoring="neg_brier_score").fit(X, y)
    assert_array_equal(scored.predict_proba(X), plain.predict_proba(X))
    assert len(scored.train_score_) == 0


def test_rows_held_out_do_not_contradict_those_that_are_learned():
    """Few values, many rows: each x has rows of both classes, and all of it goes to one side."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, size=(600, 2)).astype(float)
    y = rng.random(600) < 0.2 + 0.6 * (X[:, 0] > 2)
    model = HistGradientBoostingClassifier(early_stopping=True, min_samples_leaf=5, random_state=0)
    model.fit(X, y)
    assert model.validation_score_.max() > model.validation_score_[0] + 0.05
    assert model.n_iter_ > 10
