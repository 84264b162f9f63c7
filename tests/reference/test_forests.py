"""Forests and bagging against scikit-learn's, and against what they are by definition."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.ensemble
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_friedman1

import gapless
from gapless import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from gapless._ground.columns.coded import Columns
from gapless._ground.threads import threads
from gapless.models.trees.compact import CompactTrees
from gapless.models.trees.growing import Options, Targets, grow_forest
from gapless.models.trees.packed import PackedTrees
from gapless.models.trees.tree import Tree


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


def as_tree(tree):
    """A tree of scikit-learn's under the names that packing reads."""
    names = ("feature", "threshold", "children_left", "children_right", "missing_go_to_left")
    names += ("n_node_samples",)
    parts = {name: getattr(tree, name) for name in names}
    sets = {"category_start": np.zeros(tree.node_count + 1, int), "category_bits": np.zeros(0)}
    return type("Packable", (), {**parts, **sets, "value": tree.value})


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("options", [{}, {"max_leaf_nodes": 12}])
def test_packed_trees_predict_as_those_of_scikit_learn(order, dtype, options):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1100, 5)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.where(np.isnan(X[:, 0]), 1, np.nan_to_num(X[:, 1]) > 0.3).astype(int)
    theirs = sklearn.ensemble.RandomForestClassifier(7, random_state=0, **options).fit(X, y)
    packed = PackedTrees.of([as_tree(member.tree_) for member in theirs.estimators_])
    rows = np.asarray(X, dtype=dtype, order=order)
    np.testing.assert_array_equal(packed.apply(rows), theirs.apply(X))
    np.testing.assert_allclose(packed.sum(rows) / 7, theirs.predict_proba(X), rtol=1e-12)
    full = np.nan_to_num(rows)
    np.testing.assert_array_equal(packed.apply(sp.csr_matrix(full)), packed.apply(full))


@pytest.mark.parametrize("shape", [(0, 3), (1, 3), (17, 3), (5, 1000)])
def test_packed_trees_at_odd_shapes(shape):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, shape[1]))
    theirs = sklearn.ensemble.ExtraTreesRegressor(3, random_state=0).fit(X, X[:, 0] + X[:, -1])
    packed = PackedTrees.of([as_tree(member.tree_) for member in theirs.estimators_])
    rows = rng.normal(size=shape).astype(np.float32)
    out = packed.sum(rows)
    assert out.shape == (shape[0], 1)
    if shape[0]:
        np.testing.assert_allclose(out[:, 0] / 3, theirs.predict(rows), rtol=1e-12)


@pytest.mark.parametrize("room", [{8: 2, 16: 4}, {8: 2, 16: 65_534}, {8: 254, 16: 65_534}])
def test_columns_with_more_thresholds_than_codes_are_several(monkeypatch, room):
    monkeypatch.setattr("gapless.models.trees.packed.ROOM", room)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)).astype(np.float32)
    theirs = sklearn.ensemble.ExtraTreesRegressor(40, max_depth=6, random_state=0).fit(X, X[:, 0])
    packed = PackedTrees.of([as_tree(member.tree_) for member in theirs.estimators_])
    assert (len(packed.asked.feature) > 2) == (room[16] == 4)
    rows = rng.normal(size=(500, 2)).astype(np.float32)
    np.testing.assert_array_equal(packed.apply(rows), theirs.apply(rows))


def test_sums_without_some_trees_leave_them_out():
    X = np.random.default_rng(0).normal(size=(50, 3))
    model = RandomForestRegressor(5, random_state=0).fit(X, X[:, 0])
    is_left_out = np.random.default_rng(1).random((5, 50)) < 0.5
    sums, used = PackedTrees.of(model.trees_).sum_without(X, is_left_out)
    each = np.stack([tree.predict(X)[:, 0] for tree in model.trees_])
    np.testing.assert_allclose(sums[:, 0], np.where(is_left_out, 0.0, each).sum(axis=0))
    np.testing.assert_array_equal(used, np.sum(~is_left_out, axis=0))


KINDS = {
    "gini": (Options(max_features=2), {"draws": 80}),
    "entropy": (Options("entropy", min_samples_leaf=4), {"draws": 80}),
    "gain_ratio": (Options("gain_ratio"), {}),
    "best first": (Options(max_leaf_nodes=9), {"draws": 80}),
    "weighted": (Options(), {"weights": np.linspace(0.0, 1.7, 90)}),
    "huge": (Options(), {"weights": np.full(90, 1e10)}),
    "numbers": (Options("squared_error", min_samples_leaf=2), {"draws": 80}),
    "medians": (Options("absolute_error", "random"), {"draws": 80}),
    "rising": (Options("squared_error", monotonic=np.array([0, 1, 0])), {}),
    "a leaf": (Options(max_depth=1, min_samples_leaf=60), {}),
}


@pytest.mark.parametrize(
    "kind, outputs", [(kind, k) for kind in KINDS for k in (1, 2) if (kind, k) != ("rising", 2)]
)
def test_compact_trees_are_the_trees_to_the_bit(monkeypatch, kind, outputs):
    options, sample = KINDS[kind]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3)).round(1)
    X[:, 0] = rng.integers(0, 40, 90)
    X[rng.random(X.shape) < 0.1] = np.nan
    columns = Columns.read(X, categorical_features=[0])
    y = rng.integers(0, 3, size=(90, outputs))
    has_classes = "error" not in options.criterion
    targets = Targets(y, [3] * outputs) if has_classes else Targets(y + rng.random(y.shape))
    monkeypatch.setattr("gapless._ground.threads.LEAST_NUMBERS", 1)
    with threads(2):
        trees = grow_forest(columns, targets, options, range(4), **sample)
        compact = CompactTrees.of(trees, options.criterion)
    assert len(compact) == 4 and len(compact[1:3]) == 2
    for tree, again in zip(trees, compact, strict=True):
        for name in Tree.__dataclass_fields__:
            ours, theirs = getattr(again, name), getattr(tree, name)
            np.testing.assert_array_equal(ours, theirs, err_msg=name)
            assert np.asarray(ours).dtype == np.asarray(theirs).dtype, name
    if kind in ("gini", "entropy", "gain_ratio", "best first"):
        assert not compact.stored


def test_forests_of_classes_take_eight_bytes_for_a_node():
    X, y = load_breast_cancer(return_X_y=True)
    model = RandomForestClassifier(60, random_state=0).fit(X, y)
    nodes = sum(tree.node_count for tree in model.trees_)
    thresholds = len(model.trees_.packed.asked.content)
    assert model.trees_.nbytes < 8 * nodes + 8 * thresholds + 2000


@pytest.mark.parametrize("name", ["RandomForest", "ExtraTrees"])
def test_forests_are_as_good_as_those_of_scikit_learn(name):
    X, y = load_breast_cancer(return_X_y=True)
    ours = getattr(gapless, f"{name}Classifier")(60, random_state=0).fit(X[::2], y[::2])
    theirs = getattr(sklearn.ensemble, f"{name}Classifier")(60, random_state=0)
    theirs.fit(X[::2], y[::2])
    assert ours.score(X[1::2], y[1::2]) > theirs.score(X[1::2], y[1::2]) - 0.02
    X, y = make_friedman1(400, random_state=0)
    ours = getattr(gapless, f"{name}Regressor")(60, random_state=0).fit(X[::2], y[::2])
    theirs = getattr(sklearn.ensemble, f"{name}Regressor")(60, random_state=0)
    theirs.fit(X[::2], y[::2])
    assert ours.score(X[1::2], y[1::2]) > theirs.score(X[1::2], y[1::2]) - 0.03


def test_a_forest_of_all_rows_and_columns_is_one_tree(diabetes):
    X, y = diabetes
    forest = RandomForestRegressor(3, bootstrap=False, max_depth=4, random_state=0).fit(X, y)
    tree = gapless.DecisionTreeRegressor(max_depth=4).fit(X, y)
    np.testing.assert_allclose(forest.predict(X), tree.predict(X), rtol=1e-12)


def test_a_tree_of_the_forest_is_that_of_its_draw(diabetes):
    X, y = diabetes
    forest = RandomForestRegressor(2, max_features=3, random_state=0).fit(X, y)
    member, rows = forest.estimators_[1], forest.estimators_samples_[1]
    again = gapless.DecisionTreeRegressor(**member.get_params()).fit(X[rows], y[rows])
    np.testing.assert_allclose(again.predict(X), member.predict(X), rtol=1e-12)


def test_bins_cost_no_accuracy():
    X, y = make_friedman1(1500, noise=0.5, random_state=0)
    scores = [
        RandomForestRegressor(30, max_bins=bins, random_state=0).fit(X[:700], y[:700])
        for bins in (None, 255)
    ]
    exact, binned = (model.score(X[700:], y[700:]) for model in scores)
    assert abs(exact - binned) < 0.01


# ---- quantiles, nearness, importances ------------------------------------------------------------


def test_quantiles_are_those_of_the_weighted_targets(diabetes):
    X, y = diabetes
    model = RandomForestRegressor(10, min_samples_leaf=5, random_state=0).fit(X, y)
    new, levels = X[:7] + 0.001, np.array([0.1, 0.5, 0.9])
    found = model.predict_quantiles(new, levels)
    train, here = model.apply(X), model.apply(new)
    for i in range(7):
        same = train == here[i]
        weights = (same / same.sum(axis=0)).mean(axis=1)
        order = np.argsort(y)
        sums = np.cumsum(weights[order])
        expected = y[order][np.searchsorted(sums, levels - 1e-9)]
        np.testing.assert_array_equal(found[i], expected)


def test_quantiles_cover_what_they_say():
    X, y = make_friedman1(1200, noise=1.0, random_state=0)
    model = RandomForestRegressor(50, min_samples_leaf=5, random_state=0).fit(X[:600], y[:600])
    low, high = model.predict_quantiles(X[600:], [0.05, 0.95]).T
    assert 0.85 < np.mean((low <= y[600:]) & (y[600:] <= high)) < 0.99
    with pytest.raises(ValueError, match="quantiles must be between 0 and 1"):
        model.predict_quantiles(X, [5, 95])


def test_quantiles_of_several_targets(diabetes):
    X, y = diabetes
    both = np.stack([y, -y], axis=1)
    model = ExtraTreesRegressor(5, min_samples_leaf=3, random_state=0).fit(X, both)
    found = model.predict_quantiles(X[:4], [0.5])
    assert found.shape == (4, 2, 1)


def test_proximity_is_the_share_of_common_leaves(diabetes):
    X, y = diabetes
    model = RandomForestRegressor(10, max_depth=3, random_state=0).fit(X, y)
    leaves = model.apply(X[:30])
    expected = (leaves[:, None] == leaves[None]).mean(axis=2)
    np.testing.assert_allclose(model.proximity(X[:30]).toarray(), expected)
    np.testing.assert_allclose(model.proximity(X[:5], X[:30]).toarray(), expected[:5])


def test_shuffling_finds_the_columns_that_count():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(300, 3)), rng.integers(0, 2, 300)])
    y = (X[:, 3] + 0.3 * rng.normal(size=300) > 0.5).astype(int)
    model = RandomForestClassifier(30, random_state=0).fit(X, y)
    found = model.oob_importances(n_repeats=3)
    assert np.argmax(found.importances_mean) == 3
    assert np.all(np.abs(found.importances_mean[:3]) < 0.05)
    assert found.importances.shape == (4, 3)


def test_decision_path_ends_in_the_leaves(diabetes):
    X, y = diabetes
    model = RandomForestRegressor(4, max_depth=3, random_state=0).fit(X, y)
    path, start = model.decision_path(X[:20])
    assert path.shape == (20, start[-1])
    at = model.apply(X[:20]) + start[:-1]
    assert np.all(path.toarray()[np.arange(20)[:, None], at] == 1)


@pytest.mark.parametrize("forest", [RandomForestClassifier, ExtraTreesClassifier])
def test_balanced_classes_are_those_of_the_weights_that_balance_them(forest):
    X, y = load_iris(return_X_y=True)
    X, y = X[40:], y[40:]
    given = {c: len(y) / (3 * np.sum(y == c)) for c in range(3)}
    options = {"n_estimators": 10, "max_depth": 2, "random_state": 0}
    balanced = forest(class_weight="balanced", **options).fit(X, y)
    weighted = forest(class_weight=given, **options).fit(X, y)
    plain = forest(**options).fit(X, y)
    np.testing.assert_allclose(balanced.predict_proba(X), weighted.predict_proba(X))
    assert not np.allclose(balanced.predict_proba(X), plain.predict_proba(X))
