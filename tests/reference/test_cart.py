"""Exact trees are scikit-learn's where no two splits tie, and keep what trees should keep."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import tree as peer

from gapless import DecisionTreeClassifier, DecisionTreeRegressor

# Leaves of some size: of few rows, two columns often part the same ones, and the splits tie.
LIMITS = [
    {"min_samples_leaf": 6},
    {"min_samples_leaf": 6, "max_depth": 4},
    {"min_samples_leaf": 6, "max_leaf_nodes": 9},
    {"min_samples_leaf": 7, "min_impurity_decrease": 0.002},
    {"min_weight_fraction_leaf": 0.06},
    {"min_samples_leaf": 0.05, "min_samples_split": 0.2},
    {"min_samples_leaf": 6, "ccp_alpha": 0.01},
]


def make_data(n=300, d=5, seed=0):
    """Numbers in single precision, as scikit-learn sees them, and weights whose sums are exact.

    Where they are not, scikit-learn splits some nodes of one class.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    z = X[:, 0] * X[:, 1] + np.abs(X[:, 2]) + 0.3 * rng.normal(size=n)
    return X, z, rng.integers(512, 1024, size=n) / 1024


def assert_same_tree(ours, theirs, X):
    one, other = ours.tree_, theirs.tree_
    np.testing.assert_array_equal(ours.apply(X), theirs.apply(X))
    for name in ("children_left", "children_right", "feature", "n_node_samples"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    for name in ("threshold", "impurity", "weighted_n_node_samples", "value"):
        expected = getattr(other, name)
        room = 1e-7 * (1 + np.abs(expected).max())
        np.testing.assert_allclose(getattr(one, name), expected, atol=room, err_msg=name)
    np.testing.assert_allclose(
        ours.feature_importances_, theirs.feature_importances_, atol=1e-7, err_msg="importances"
    )
    assert (one.max_depth, one.n_leaves) == (other.max_depth, other.n_leaves)
    paths = ours.decision_path(X) != theirs.decision_path(X)
    assert paths.nnz == 0


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("limits", LIMITS, ids=repr)
def test_classes(criterion, limits):
    X, z, weights = make_data()
    y = np.digitize(z, [0.2, 1.0])
    options = {"criterion": criterion, "random_state": 0, **limits}
    ours = DecisionTreeClassifier(**options).fit(X, y, sample_weight=weights)
    theirs = peer.DecisionTreeClassifier(**options).fit(X, y, sample_weight=weights)
    assert_same_tree(ours, theirs, X)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-7)


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
@pytest.mark.parametrize("limits", LIMITS, ids=repr)
def test_numbers(criterion, limits):
    X, z, weights = make_data()
    y = z - z.min() if criterion == "poisson" else z
    options = {"criterion": criterion, "random_state": 0, **limits}
    ours = DecisionTreeRegressor(**options).fit(X, y, sample_weight=weights)
    theirs = peer.DecisionTreeRegressor(**options).fit(X, y, sample_weight=weights)
    assert_same_tree(ours, theirs, X)


def test_several_outputs():
    X, z, weights = make_data()
    Y = np.column_stack([z, X[:, 3] + 0.1 * z])
    options = {"random_state": 0, "min_samples_leaf": 6}
    ours = DecisionTreeRegressor(**options).fit(X, Y, sample_weight=weights)
    theirs = peer.DecisionTreeRegressor(**options).fit(X, Y, sample_weight=weights)
    assert_same_tree(ours, theirs, X)
    labels = np.column_stack([np.digitize(z, [0.2, 1.0]), X[:, 3] > 0])
    ours = DecisionTreeClassifier(**options).fit(X, labels, sample_weight=weights)
    theirs = peer.DecisionTreeClassifier(**options).fit(X, labels, sample_weight=weights)
    assert_same_tree(ours, theirs, X)


def test_missing_values():
    X, z, weights = make_data()
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    options = {"random_state": 0, "max_depth": 4, "min_samples_leaf": 10}
    ours = DecisionTreeRegressor(**options).fit(X, z, sample_weight=weights)
    theirs = peer.DecisionTreeRegressor(**options).fit(X, z, sample_weight=weights)
    assert_same_tree(ours, theirs, X)


def test_monotone_constraints():
    X, z, weights = make_data()
    options = {"random_state": 0, "min_samples_leaf": 8, "monotonic_cst": [0, 0, 1, -1, 0]}
    ours = DecisionTreeRegressor(**options).fit(X, z, sample_weight=weights)
    theirs = peer.DecisionTreeRegressor(**options).fit(X, z, sample_weight=weights)
    assert_same_tree(ours, theirs, X)


# ---- properties ----------------------------------------------------------------------------------


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), order=st.permutations(range(5)))
def test_the_order_of_columns_does_not_matter_without_ties(seed, order):
    X, z, weights = make_data(80, seed=seed)
    options = {"min_samples_leaf": 8}
    one = DecisionTreeRegressor(**options).fit(X, z, sample_weight=weights)
    other = DecisionTreeRegressor(**options).fit(X[:, order], z, sample_weight=weights)
    np.testing.assert_array_equal(one.predict(X), other.predict(X[:, order]))
    np.testing.assert_allclose(
        one.feature_importances_[order], other.feature_importances_, atol=1e-12
    )


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_monotone_changes_of_a_column_change_no_prediction_of_the_training_rows(seed):
    X, z, _ = make_data(80, seed=seed)
    X = X.astype(float)
    other = np.column_stack([np.exp(X[:, 0]), X[:, 1] ** 3, X[:, 2:]])
    one = DecisionTreeRegressor().fit(X, z).predict(X)
    np.testing.assert_array_equal(DecisionTreeRegressor().fit(other, z).predict(other), one)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), alpha=st.floats(0.001, 0.3))
def test_a_higher_price_gives_a_subtree(seed, alpha):
    X, z, _ = make_data(80, seed=seed)
    large = DecisionTreeRegressor(ccp_alpha=alpha / 3).fit(X, z)
    small = DecisionTreeRegressor(ccp_alpha=alpha).fit(X, z)
    pairs = set(zip(large.apply(X).tolist(), small.apply(X).tolist()))
    assert len(pairs) == large.get_n_leaves()  # each leaf lies in one leaf of the smaller tree


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), levels=st.integers(2, 7))
def test_the_best_subset_of_categories_is_found(seed, levels):
    """For numbers and for two classes the first split is the best of all 2ᵏ⁻¹ − 1."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, levels, size=40)
    y = rng.normal(size=levels)[x] + rng.normal(size=40)
    options = {"max_depth": 1, "categorical_features": [0]}
    tree = DecisionTreeRegressor(**options).fit(x[:, None].astype(float), y).tree_
    assert _risk(tree) == pytest.approx(_best_risk(x, y), rel=1e-9)
    classes = (y > 0).astype(float)
    tree = DecisionTreeClassifier(**options).fit(x[:, None].astype(float), classes).tree_
    # Gini's impurity of two classes is twice the variance of their indicator.
    assert _risk(tree) == pytest.approx(2 * _best_risk(x, classes), rel=1e-9, abs=1e-12)


def _risk(tree):
    leaves = tree.children_left < 0
    weight = tree.weighted_n_node_samples[leaves]
    return float(np.sum(weight * tree.impurity[leaves]) / tree.weighted_n_node_samples[0])


def _best_risk(x, y):
    """The least mean squared error of all ways to part the levels in two."""
    present = np.unique(x)
    best = np.var(y)
    for code in range(1, 2 ** (len(present) - 1)):
        left = np.isin(x, present[[bool(code >> k & 1) for k in range(len(present))]])
        parts = (y[left], y[~left])
        best = min(best, sum(len(part) * np.var(part) for part in parts) / len(y))
    return float(best)
