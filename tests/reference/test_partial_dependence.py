"""Partial dependence against its definition, for arrays and tables."""

import copy
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.svm import LinearSVC as PeerSVC

from gapless import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    Ridge,
    plots,
)
from gapless._ground.interrupt import TimeLimit
from gapless.evaluation import learning_curve, partial_dependence, permutation_importance

partial_dependence_module = sys.modules[partial_dependence.__module__]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    return X, X @ [2.0, -1.0, 0.5] + rng.normal(size=90)


def test_of_a_linear_model_is_a_line_with_its_slope(data):
    X, y = data
    model = Ridge(alpha=1e-8).fit(X, y)
    found = partial_dependence(model, X, 1, most_values=7)
    slopes = np.diff(found.means[:, 0]) / np.diff(found.values)
    np.testing.assert_allclose(slopes, model.coef_[1], rtol=1e-9)
    assert found.column == "x1" and found.rows == 90 and len(found.values) == 7


def test_equals_the_mean_of_changed_rows(data):
    X, y = data
    weights = np.random.default_rng(1).random(90)
    model = DecisionTreeRegressor(max_depth=4).fit(X, y)
    found = partial_dependence(model, X, 0, sample_weight=weights)
    for value, mean in zip(found.values, found.means[:, 0]):
        changed = X.copy()
        changed[:, 0] = value
        assert mean == pytest.approx(np.average(model.predict(changed), weights=weights))


def test_wide_tables_are_predicted_in_parts(data, monkeypatch):
    X, y = data
    model = Ridge(alpha=1.0).fit(X, y)
    whole = partial_dependence(model, X, 0)
    monkeypatch.setattr(partial_dependence_module, "MOST_CELLS", 90 * 3 * 7)
    np.testing.assert_array_equal(partial_dependence(model, X, 0).means, whole.means)


def test_a_column_that_is_mostly_one_value_is_followed_beyond_it():
    X = np.concatenate([np.zeros(900), np.arange(1.0, 101.0)])[:, None]
    model = Ridge(alpha=1.0).fit(X, X[:, 0])
    values = partial_dependence(model, X, 0, most_values=20).values
    assert 15 <= len(values) <= 20 and values[0] == 0.0 and values[-1] > 90
    assert np.diff(values).max() < 20


@pytest.mark.parametrize(("column", "says"), [("z", "name one of 'x0'"), (3, "0 to")])
def test_an_unknown_column_is_an_error_that_names_some(column, says, data):
    X, y = data
    with pytest.raises(ValueError, match=says):
        partial_dependence(Ridge().fit(X, y), X, column)


@pytest.mark.parametrize(
    "kind", [pd.DataFrame, pl.DataFrame, sp.csr_array], ids=lambda k: k.__name__
)
def test_tables_and_sparse_matrices_give_the_same(kind, data):
    X, y = data
    names = ["a", "b", "c"]
    table = kind(X) if kind is sp.csr_array else kind({n: X[:, k] for k, n in enumerate(names)})
    model = Ridge(alpha=1.0).fit(X, y)
    known = model if kind is sp.csr_array else Ridge(alpha=1.0).fit(table, y)
    found = partial_dependence(known, table, 2 if kind is sp.csr_array else "c")
    plain = partial_dependence(model, X, 2)
    assert found.values == plain.values
    np.testing.assert_allclose(found.means, plain.means, rtol=1e-9)


def test_levels_come_by_frequency_and_missing_ones_are_left_out():
    frame = pl.DataFrame(
        {"level": ["b", "a", "b", None, "c", "b", "a"], "x": [float(k) for k in range(7)]}
    )

    class ByLevel:
        def predict(self, table):
            return np.array([{"a": 1.0, "b": 2.0, "c": 3.0}[v] for v in table["level"].to_list()])

        def __sklearn_tags__(self):
            return Ridge().__sklearn_tags__()

    found = partial_dependence(ByLevel(), frame, "level", most_values=2)
    assert found.values == ("b", "a")
    np.testing.assert_array_equal(found.means[:, 0], [2.0, 1.0])


def test_classes_have_probabilities_or_shares(data):
    X, y = data
    labels = np.array(["low", "middle", "high"])[np.digitize(y, [-1, 1])]
    found = partial_dependence(Peer().fit(X, labels), X, 0, most_values=4)
    assert found.classes == ("high", "low", "middle") and found.answer == "probability"
    np.testing.assert_allclose(found.means.sum(axis=1), 1.0)
    shares = partial_dependence(PeerSVC().fit(X, labels), X, 0, most_values=4)
    assert shares.answer == "share predicted"
    np.testing.assert_allclose(shares.means.sum(axis=1), 1.0)


def test_many_rows_are_drawn_and_a_column_without_values_is_an_error(data):
    X, y = data
    model = DecisionTreeRegressor(max_depth=2).fit(X, y)
    assert partial_dependence(model, X, 0, most_rows=20).rows == 20
    empty = np.column_stack([X[:, 0], np.full(90, np.nan), X[:, 2]])
    with pytest.raises(ValueError, match="missing in all rows"):
        partial_dependence(model, empty, 1)


def test_plot_draws_lines_for_numbers_and_dots_for_levels():
    axes = plots.partial_dependence([1.0, 2.0], np.array([[0.1, 0.9], [0.4, 0.6]]), ["a", "b"])
    styles = {line.get_label(): line.get_linestyle() for line in axes.lines}
    assert styles["a"] == styles["b"] == "-"
    axes = plots.partial_dependence(["u", "v"], np.array([[0.1], [0.4]]), answer="mean")
    assert {(line.get_marker(), line.get_linestyle()) for line in axes.lines} == {("o", "None")}
    assert axes.get_ylabel() == "mean"


def test_some_columns_are_shuffled_alone(data):
    X, y = data
    model = Ridge(alpha=1.0).fit(X, y)
    every = permutation_importance(model, X, y)
    some = permutation_importance(model, X, y, columns=[2, 0])
    assert some.names == ["x2", "x0"]
    np.testing.assert_array_equal(some.means, every.means[[2, 0]])
    np.testing.assert_array_equal(some.standard_errors, every.standard_errors[[2, 0]])


def test_learning_curve_ends_where_time_does(data):
    X, y = data
    with pytest.raises(TimeLimit, match="raise time_limit"):
        learning_curve(Ridge(alpha=1.0), X, y, time_limit=0.0)
    whole = learning_curve(Ridge(alpha=1.0), X, y)
    limited = learning_curve(Ridge(alpha=1.0), X, y, time_limit=600.0)
    np.testing.assert_array_equal(limited.unseen, whole.unseen)


# ---- pairs, and trees ----------------------------------------------------------------------------


def by_predictions(model, X, column, **options):
    """The same from predictions alone: whatever a model knows of its own means is hidden."""
    hidden = copy.copy(model)
    hidden.__dict__["_mean_predictions"] = None
    return partial_dependence(hidden, X, column, **options)


def some_table(kind, rng):
    """Numbers with gaps and categories: all three kinds of splits."""
    X = rng.normal(size=(80, 4)).round(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    if kind == "numbers":
        return np.nan_to_num(X)
    frame = pd.DataFrame(X, columns=list("abcd"))
    if kind == "categories":
        frame["c"] = pd.Categorical(rng.choice(["x", "y", "z", None], size=80))
    return frame


TREES = [
    DecisionTreeRegressor(max_depth=4),
    DecisionTreeClassifier(max_depth=4),
    RandomForestRegressor(5, random_state=0),
    RandomForestClassifier(5, random_state=0),
    ExtraTreesRegressor(5, random_state=0),
    GradientBoostingRegressor(n_estimators=6),
    GradientBoostingRegressor(n_estimators=6, init="zero"),
    HistGradientBoostingRegressor(max_iter=6, min_samples_leaf=3),
]


@pytest.mark.parametrize("kind", ["numbers", "missing", "categories"])
@pytest.mark.parametrize("column", [0, 2, (0, 2), (2, 1)], ids=str)
@pytest.mark.parametrize("model", TREES, ids=lambda model: type(model).__name__)
def test_trees_give_the_means_of_their_predictions_without_predicting(
    model, column, kind, monkeypatch
):
    monkeypatch.setattr(partial_dependence_module, "FEW_PREDICTIONS", 0)
    rng = np.random.default_rng(3)
    X = some_table(kind, rng)
    if kind != "numbers" and isinstance(model, GradientBoostingRegressor):
        X = some_table("numbers", rng)
    numbers = np.nan_to_num(np.asarray(X)[:, :2].astype(float))
    y = (numbers.sum(axis=1) > 0) + (rng.random(80) < 0.2)
    model.fit(X, y)
    weights = rng.integers(0, 3, size=80)
    options = {"sample_weight": weights, "most_values": 9, "most_rows": 40}
    found, slow = (f(model, X, column, **options) for f in (partial_dependence, by_predictions))
    assert model._mean_predictions(X, np.ones(80), [0], [X[:3]]) is not None
    assert found.values == slow.values and found.classes == slow.classes
    assert found.answer == slow.answer and found.rows == slow.rows
    np.testing.assert_allclose(found.means, slow.means, rtol=1e-10, atol=1e-12)


def test_levels_that_a_fit_has_not_seen_go_where_predictions_send_them(monkeypatch):
    monkeypatch.setattr(partial_dependence_module, "FEW_PREDICTIONS", 0)
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"a": rng.normal(size=60), "c": rng.choice(["x", "y", "z"], size=60)})
    frame["c"] = frame["c"].astype(pd.CategoricalDtype(list("wxyz")))
    y = np.where(frame["c"] == "x", 1.0, 0.0) + frame["a"]
    model = HistGradientBoostingRegressor(max_iter=4, min_samples_leaf=3).fit(frame, y)
    new = frame.assign(c=pd.Categorical(["w"] * 20 + list(frame["c"][20:]), list("wxyz")))
    for column in ("c", ("a", "c")):
        found, slow = (f(model, new, column) for f in (partial_dependence, by_predictions))
        assert "w" in str(found.values)
        np.testing.assert_allclose(found.means, slow.means, rtol=1e-10)


@pytest.mark.parametrize(
    "model",
    [
        HistGradientBoostingRegressor(loss="poisson", max_iter=3, min_samples_leaf=3),
        HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=3),
        GradientBoostingRegressor(n_estimators=3, init=Ridge()),
    ],
)
def test_means_that_are_no_sums_of_trees_come_from_predictions(model, data, monkeypatch):
    monkeypatch.setattr(partial_dependence_module, "FEW_PREDICTIONS", 0)
    X, y = data
    model.fit(X, y > 0)
    found = partial_dependence(model, X, (0, 1), most_values=4)
    for i, a in enumerate(found.values[0]):
        for j, b in enumerate(found.values[1]):
            changed = X.copy()
            changed[:, :2] = a, b
            says = model.predict_proba if found.classes else model.predict
            means = says(changed).reshape(90, -1).mean(axis=0)
            np.testing.assert_allclose(found.means[i, j], means, rtol=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, pl.DataFrame, sp.csr_array])
def test_of_a_linear_model_and_a_pair_is_a_plane(kind, data):
    X, y = data
    model = Ridge(alpha=1.0).fit(X, y)
    found = partial_dependence(model.fit(kind(X), y), kind(X), (2, 0), most_values=5)
    first, second = (np.array(own) for own in found.values)
    slopes = first[:, None] * model.coef_[2] + second * model.coef_[0]
    rest = found.means[:, :, 0] - slopes
    np.testing.assert_allclose(rest, rest[0, 0], rtol=1e-9, atol=1e-12)
    assert repr(found) == f"<PairDependence on {' and '.join(found.columns)}: 5 × 5 values>"


@pytest.mark.parametrize("column", [(0, 0), (0, 1, 2), ()])
def test_a_pair_is_of_two_different_columns(column, data):
    X, y = data
    with pytest.raises(ValueError, match="one column or two different ones"):
        partial_dependence(Ridge().fit(X, y), X, column)


def test_plot_of_a_pair_draws_its_means():
    means = np.arange(6.0).reshape(2, 3)
    axes = plots.pair_dependence([[1, 2], ["x", "y", "z"]], means, columns=("a", "b"))
    [mesh] = axes.collections
    np.testing.assert_array_equal(mesh.get_array().reshape(3, 2), means.T)
    assert axes.get_xlabel() == "a" and [t.get_text() for t in axes.get_yticklabels()] == [*"xyz"]


def test_plot_of_a_pair_names_the_class_it_draws(data):
    X, y = data
    found = partial_dependence(DecisionTreeClassifier(max_depth=2).fit(X, y > 0), X, (0, 1))
    axes = found.plot(False)
    np.testing.assert_array_equal(
        axes.collections[0].get_array().reshape(20, 20), found.means[:, :, 0].T
    )
    assert "probability of False" in [a.get_ylabel() for a in axes.figure.axes]
    with pytest.raises(ValueError, match="label must be one of"):
        found.plot("maybe")
