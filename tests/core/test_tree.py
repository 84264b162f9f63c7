"""The grower on arrays: exact, the same for all orders and threads, best by brute force."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from gapless._ground.columns.coded import Columns
from gapless._ground.interrupt import TimeLimit, time_limit
from gapless._ground.threads import threads
from gapless.models.trees.growing import Options, Targets, grow, grow_forest
from gapless.unseen.population import draw_rows

ARRAYS = (
    "children_left",
    "children_right",
    "feature",
    "threshold",
    "missing_go_to_left",
    "impurity",
    "n_node_samples",
    "weighted_n_node_samples",
    "value",
    "category_start",
    "category_bits",
)
OF_CLASSES = ("gini", "entropy", "gain_ratio")
OF_NUMBERS = ("squared_error", "poisson", "absolute_error")
every_criterion = pytest.mark.parametrize("criterion", [*OF_CLASSES, *OF_NUMBERS])


def assert_equal_trees(one, other, but=()):
    for name in ARRAYS:
        if name not in but:
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def make_data(rng, n=200, missing=0.1):
    """Numbers with ties, dummies of a category, missing values."""
    level = rng.integers(0, 4, n)
    X = np.hstack([rng.normal(size=(n, 2)), rng.integers(0, 9, (n, 2)), np.eye(4)[level]])
    X[:, :3][rng.random((n, 3)) < missing] = np.nan
    z = np.nan_to_num(X[:, 0]) + 0.5 * np.nan_to_num(X[:, 2]) * (level == 1) + level
    return X, z + rng.normal(size=n)


def targets_of(criterion, z):
    if criterion in OF_CLASSES:
        return Targets(np.digitize(z, [1.0, 3.0])[:, None], [3])
    return Targets((z - z.min())[:, None])


def taken(targets, rows):
    return Targets(targets.y[rows], targets.n_classes)


# ---- columns -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (300, 9), (70_000, 2)])
def test_codes_are_ranks(rng, dtype, shape):
    X = rng.normal(size=shape).astype(dtype)
    X[:, 0] = rng.integers(-5, 6, shape[0])
    X[rng.random(shape) < 0.2] = np.nan
    columns = Columns.read(X)
    assert columns.rows == len(X) and len(columns) == X.shape[1]
    for j, x in enumerate(X.T):
        values = np.unique(x[~np.isnan(x)])
        expected = np.where(np.isnan(x), len(values), np.searchsorted(values, x))
        np.testing.assert_array_equal(columns.codes_of(j), expected)
        first = columns.values_begin[j]
        np.testing.assert_array_equal(columns.lowest[first : first + len(values)], values)
        assert columns.has_missing[j] == np.isnan(x).any()


def test_zeros_of_both_signs_are_one_value():
    X = np.array([[-0.0], [0.0], [0.5]])
    assert Columns.read(X).codes_of(0).tolist() == [0, 0, 1]
    assert Columns.read(np.float32(X) * np.float32(3)).codes_of(0).tolist() == [0, 0, 1]


def test_sparse_columns_are_those_of_the_dense_matrix(rng):
    X = rng.normal(size=(60, 21)) * (rng.random((60, 21)) < 0.2)
    dense = Columns.read(X)
    for form in (sp.csr_matrix, sp.csc_array):
        sparse = Columns.read(form(X))
        for name in ("codes", "begin", "width", "count", "lowest", "highest"):
            np.testing.assert_array_equal(getattr(sparse, name), getattr(dense, name))


def test_bins_have_about_equal_weight_and_follow_the_law_of_weights(rng):
    X = rng.normal(size=(500, 1)) ** 3
    weights = rng.integers(0, 3, 500).astype(float)
    columns = Columns.read(X, max_bins=10, weights=weights)
    share = np.bincount(columns.codes_of(0), weights) / weights.sum()
    assert columns.count[0] == 10 and share.max() < 0.13
    repeated = Columns.read(np.repeat(X, weights.astype(int), axis=0), max_bins=10)
    present = np.repeat(columns.codes_of(0), weights.astype(int))
    np.testing.assert_array_equal(repeated.codes_of(0), present)


def test_dummies_are_bundled_and_nothing_changes(rng):
    X, z = make_data(rng)
    columns = Columns.read(X)
    assert len(set(columns.bundles.of_column[4:])) == 1 and columns.bundles.of_column[4] >= 0
    # Doubled dummies meet in every row, so no two of them share a bundle.
    twice = Columns.read(np.repeat(X[:, 4:], 2, axis=1)).bundles.of_column
    assert all(twice[2 * k] != twice[2 * k + 1] for k in range(4))
    alone = [Columns.read(X[:, [j]]) for j in range(X.shape[1])]
    for criterion in ("gini", "squared_error"):
        for leaf in (1, 5):
            options = Options(criterion, max_depth=1, min_samples_leaf=leaf)
            targets = targets_of(criterion, z)
            best = grow(columns, targets, options)
            each = [grow(own, targets, options) for own in alone]
            gains = [own.compute_feature_importances(False)[0] for own in each]
            assert best.feature[0] == np.argmax(gains)
            assert_equal_trees(best, each[int(np.argmax(gains))], but=("feature",))


# ---- the best split ------------------------------------------------------------------------------


def impurity_of(criterion, y, s):
    """Σ s · impurity of some rows, by definition."""
    if criterion in OF_CLASSES:
        p = np.bincount(y, s, 3) / s.sum()
        p = p[p > 0]
        return s.sum() * (1 - np.sum(p**2) if criterion == "gini" else -np.sum(p * np.log2(p)))
    if criterion == "squared_error":
        return np.sum(s * (y - np.average(y, weights=s)) ** 2)
    if criterion == "absolute_error":
        return min(np.sum(s * np.abs(y - center)) for center in y)
    mean = np.average(y, weights=s)
    if mean == 0:
        return np.inf
    return np.sum(s * (np.where(y > 0, y * np.log(np.where(y > 0, y, 1) / mean), 0) + mean - y))


@every_criterion
@pytest.mark.parametrize("weighted", [False, True])
def test_the_first_split_is_the_best_of_all(rng, criterion, weighted):
    if criterion == "gain_ratio":
        criterion = "entropy"
    for _ in range(15):
        n = int(rng.integers(2, 14))
        X = rng.integers(0, 5, (n, 3)).astype(float)
        X[rng.random((n, 3)) < 0.15] = np.nan
        y = rng.integers(0, 3, n)
        y[0] = 1  # no deviance is distinguishable from a mean of 0
        s = rng.uniform(0.5, 2.0, n) if weighted else np.ones(n)
        targets = Targets(y[:, None], [3] if criterion in OF_CLASSES else None)
        tree = grow(Columns.read(X), targets, Options(criterion, max_depth=1), s, np.ones(n))
        weight = tree.weighted_n_node_samples * tree.impurity
        assert weight[0] == pytest.approx(impurity_of(criterion, y, s), rel=1e-9, abs=1e-12)
        best = best_impurity(criterion, X, y, s)
        if tree.node_count == 1:
            assert weight[0] <= 1e-12 or not np.isfinite(best)
        else:
            assert weight[1:].sum() == pytest.approx(best, rel=1e-9, abs=1e-9)


def best_impurity(criterion, X, y, s):
    found = np.inf
    for x in X.T:
        values = np.unique(x[~np.isnan(x)])
        for threshold, missing_left in itertools.product(values, (False, True)):
            left = np.where(np.isnan(x), missing_left, x <= threshold)
            if 0 < left.sum() < len(y):
                sides = [impurity_of(criterion, y[k], s[k]) for k in (left, ~left)]
                found = min(found, sum(sides))
    return found


def gain_and_ratio(x, y):
    """Of the split of a column that gains most, by definition: its gain and its gain ratio."""
    whole, found = impurity_of("entropy", y, np.ones(len(y))), []
    for threshold in np.unique(x)[:-1]:
        left = x <= threshold
        gain = whole - sum(impurity_of("entropy", y[k], np.ones(k.sum())) for k in (left, ~left))
        information = impurity_of("entropy", left.astype(int), np.ones(len(y)))
        found.append((gain, gain / information))
    return max(found)


def test_a_column_that_parts_one_row_does_not_win_by_its_ratio():
    """Its gain is small, and its ratio the largest (Quinlan 1993)."""
    y = np.repeat([0, 1], 20)
    X = np.column_stack([np.arange(40) == 39, y ^ (np.arange(40) % 10 < 3)])
    (_, of_one), (_, of_other) = (gain_and_ratio(x, y) for x in X.T)
    assert of_one > of_other
    options = Options("gain_ratio", max_depth=1)
    tree = grow(Columns.read(X.astype(float)), Targets(y[:, None], [2]), options)
    assert tree.feature[0] == 1


def test_the_gain_ratio_is_compared_among_columns_of_average_gain(rng):
    for _ in range(20):
        y = rng.integers(0, 2, 40)
        y[:2] = 0, 1
        X = np.column_stack([rng.random(40) < share for share in (0.05, 0.2, 0.5)])
        X = np.column_stack([X, rng.permutation(40)]).astype(float)
        X[0, :3], X[1, :3] = 0.0, 1.0
        gains, ratios = np.transpose([gain_and_ratio(x, y) for x in X.T])
        compared = np.where(gains >= gains.mean(), ratios, -np.inf)
        options = Options("gain_ratio", max_depth=1)
        tree = grow(Columns.read(X), Targets(y[:, None], [2]), options)
        # Of columns that are equally good any may be chosen.
        assert compared[tree.feature[0]] == pytest.approx(compared.max(), rel=1e-9)


# ---- what must not matter ------------------------------------------------------------------------


@every_criterion
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_order_and_repetition_of_rows_do_not_change_a_bit(criterion, seed):
    rng = np.random.default_rng(seed)
    X, z = make_data(rng, 60)
    targets = targets_of(criterion, z)
    weights = rng.integers(0, 4, 60).astype(float)
    options = Options(criterion, min_samples_leaf=2)
    one = grow(
        Columns.read(X[weights > 0]), taken(targets, weights > 0), options, weights[weights > 0]
    )
    order = rng.permutation(np.repeat(np.arange(60), weights.astype(int)))
    other = grow(Columns.read(X[order]), taken(targets, order), options)
    assert_equal_trees(one, other)
    absent = grow(Columns.read(X), targets, options, weights)
    assert_equal_trees(one, absent, but=("threshold",))


@every_criterion
@pytest.mark.parametrize("limits", [{}, {"max_leaf_nodes": 12}, {"splitter": "random"}])
def test_threads_do_not_change_a_bit(rng, criterion, limits):
    n = 3000 if criterion == "absolute_error" else 70_000
    X, z = make_data(rng, n)
    columns, targets = Columns.read(X), targets_of(criterion, z)
    options = Options(criterion, max_depth=9, **limits)
    trees = []
    for count in (1, 2, 5):
        with threads(count):
            trees.append(grow(columns, targets, options, seed=3))
    assert trees[0].node_count > 20
    for other in trees[1:]:
        assert_equal_trees(trees[0], other)


def test_weights_beyond_whole_numbers_scale_freely(rng):
    X, z = make_data(rng)
    columns, targets = Columns.read(X), targets_of("gini", z)
    weights = rng.uniform(0.1, 3.0, len(z))
    counts = np.ones(len(z))
    one = grow(columns, targets, Options("gini"), weights, counts)
    other = grow(columns, targets, Options("gini"), 0.25 * weights, counts)
    assert_equal_trees(one, other, but=("weighted_n_node_samples",))


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("criterion", ["squared_error", "poisson"])
def test_nodes_have_the_impurity_and_the_mean_of_their_rows(rng, criterion, outputs):
    X, y = rng.normal(size=(80, 3)), rng.gamma(1.0, size=(80, outputs))
    weights = rng.integers(1, 4, 80).astype(float)
    tree = grow(Columns.read(X), Targets(y), Options(criterion), weights)
    path = tree.decision_path(X).toarray().astype(bool)
    for node in range(tree.node_count):
        targets, counts = y[path[:, node]], weights[path[:, node]]
        mean = np.average(targets, axis=0, weights=counts)
        terms = (targets - mean) ** 2
        if criterion == "poisson":
            terms = targets * np.log(targets / mean)
        impurity = np.mean(np.average(terms, axis=0, weights=counts))
        np.testing.assert_allclose(tree.impurity[node], impurity, rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(tree.value[node].ravel(), mean, rtol=1e-13)
    assert np.sum(path.sum(axis=0) == 1) > 40


# ---- limits --------------------------------------------------------------------------------------


@every_criterion
def test_limits_hold(rng, criterion):
    X, z = make_data(rng, 400)
    weights = rng.integers(1, 4, 400).astype(float)
    options = Options(
        criterion, max_depth=5, min_samples_leaf=7, min_samples_split=30, min_weight_leaf=12.0
    )
    tree = grow(Columns.read(X), targets_of(criterion, z), options, weights)
    leaf = tree.children_left < 0
    assert tree.max_depth <= 5 and leaf.sum() > 4
    assert tree.n_node_samples[leaf].min() >= 12 and tree.n_node_samples[~leaf].min() >= 30
    np.testing.assert_array_equal(tree.n_node_samples, tree.weighted_n_node_samples)
    few = grow(
        Columns.read(X), targets_of(criterion, z), Options(criterion, max_leaf_nodes=6), weights
    )
    assert few.n_leaves == 6


def test_rows_reach_the_leaves_they_were_counted_in(rng):
    X, z = make_data(rng, 300)
    tree = grow(Columns.read(X), targets_of("squared_error", z), Options("squared_error"))
    leaves, counts = np.unique(tree.apply(X), return_counts=True)
    np.testing.assert_array_equal(tree.n_node_samples[leaves], counts)
    path = tree.decision_path(X)
    np.testing.assert_array_equal(np.asarray(path.sum(axis=0)).ravel(), tree.n_node_samples)


def test_binned_thresholds_part_the_bins(rng):
    X, z = rng.normal(size=(400, 3)), rng.normal(size=400)
    columns = Columns.read(X, max_bins=7)
    for splitter in ("best", "random"):
        options = Options("squared_error", splitter=splitter, max_depth=6)
        tree = grow(columns, Targets(z[:, None]), options, seed=5)
        leaves, counts = np.unique(tree.apply(X), return_counts=True)
        np.testing.assert_array_equal(tree.n_node_samples[leaves], counts)


def test_a_deadline_ends_the_growth(rng):
    X = rng.normal(size=(20_000, 20))
    columns, targets = Columns.read(X), Targets(rng.normal(size=(20_000, 1)))
    with time_limit(0.0), pytest.raises(TimeLimit):
        grow(columns, targets, Options("squared_error"))


# ---- forests -------------------------------------------------------------------------------------


def test_trees_of_a_forest_depend_on_their_seed_alone(rng):
    X, z = make_data(rng, 500)
    columns, targets = Columns.read(X), targets_of("gini", z)
    options = Options("gini", max_features=2)
    with threads(1):
        one = grow_forest(columns, targets, options, [1, 2, 3], draws=500)
    with threads(3):
        other = grow_forest(columns, targets, options, [3, 2], draws=500)
    assert_equal_trees(one[2], other[0])
    assert_equal_trees(one[1], other[1])
    counts = draw_rows(500, 500, 2)
    assert_equal_trees(
        one[1], grow(columns, targets, options, counts.astype(float), counts, seed=2)
    )


def test_draws_follow_the_chances():
    chances = np.array([0.0, 1.0, 3.0, 0.0, 4.0, 0.0])
    counts = draw_rows(6, 80_000, 7, chances)
    assert counts.sum() == 80_000 and not counts[chances == 0].any()
    np.testing.assert_allclose(counts / 10_000, chances, atol=0.06)


def test_drawn_columns_are_never_constant_in_the_node(rng):
    """One column of thirty has more than one value: it is found, whichever are drawn."""
    X = np.ones((50, 30))
    X[:, 17] = rng.permutation(50)
    targets = Targets(rng.integers(0, 2, (50, 1)), [2])
    tree = grow(Columns.read(X), targets, Options("gini", max_features=1))
    assert set(tree.feature[tree.children_left >= 0]) == {17}
    assert tree.impurity[tree.children_left < 0].max() == 0


@pytest.mark.parametrize("power", [-660, -1000, 600])
@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_the_unit_of_the_targets_does_not_change_a_tree(rng, criterion, power):
    X, y = rng.normal(size=(60, 3)), rng.integers(1, 2**20, size=(60, 1)).astype(float)
    columns, options = Columns.read(X), Options(criterion, min_samples_leaf=3)
    tree = grow(columns, Targets(y), options)
    other = grow(columns, Targets(np.ldexp(y, power)), options)
    assert tree.n_leaves > 5
    np.testing.assert_array_equal(other.feature, tree.feature)
    np.testing.assert_array_equal(other.threshold, tree.threshold)
    np.testing.assert_array_equal(other.value, np.ldexp(tree.value, power))


def test_random_thresholds_count_each_side_as_its_rows_are(rng):
    X = rng.integers(0, 9, size=(200, 4)).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    weights = rng.integers(0, 3, size=200).astype(float)
    for targets in (
        Targets(rng.integers(0, 3, size=(200, 1)), [3]),
        Targets(rng.integers(0, 40, size=(200, 1)), [40]),
        Targets(rng.normal(size=(200, 1))),
        Targets(rng.normal(size=(200, 2))),
    ):
        criterion = "gini" if targets.n_classes else "squared_error"
        options = Options(criterion, "random", min_samples_leaf=2)
        tree = grow(Columns.read(X), targets, options, weights=weights, seed=3)
        passed = tree.decision_path(X).T @ weights
        np.testing.assert_array_equal(passed, tree.weighted_n_node_samples)
        inner = np.flatnonzero(tree.children_left >= 0)
        children = [tree.children_left[inner], tree.children_right[inner]]
        below = sum(passed[c] * tree.impurity[c] for c in children)
        assert np.all(below <= passed[inner] * tree.impurity[inner] + 1e-9)
        assert tree.n_leaves > 10


def test_a_median_is_one_of_the_targets(rng):
    y = np.array([0.1, 0.3, 1.7])[:, None]
    tree = grow(Columns.read(np.zeros((3, 1))), Targets(y), Options("absolute_error"))
    assert tree.value[0, 0, 0] == 0.3


def test_huge_weights_count_as_many_rows(rng):
    level = rng.integers(0, 6, 40)
    columns, y = Columns.read(np.eye(6)[level]), (level % 2)[:, None]
    options = Options(min_samples_leaf=3)
    tree = grow(columns, Targets(y, [2]), options, np.full(40, 2.0**31))
    assert tree.n_node_samples[0] == 40 * 2**31
    np.testing.assert_array_equal(tree.predict(np.eye(6)[level])[:, 1], y[:, 0])


def test_fractions_as_weights_may_come_in_any_order(rng):
    X, z = make_data(rng)
    weights, order = rng.uniform(0.0, 1.0, len(z)) ** 9, rng.permutation(len(z))
    targets = targets_of("entropy", z)
    one = grow(Columns.read(X), targets, Options("entropy"), weights)
    other = grow(Columns.read(X[order]), taken(targets, order), Options("entropy"), weights[order])
    assert_equal_trees(one, other)
