"""The searches of the core find what looking at all rows finds, to the last bit."""

import numpy as np
import pytest

from gapless._ground import core
from gapless._ground.interrupt import TimeLimit
from gapless._ground.threads import single_blas

METRICS = {"euclidean": 2.0, "manhattan": 1.0, "chebyshev": 1.0, "minkowski": 3.0}
NOW = 2, np.inf


def distance_of(metric):
    return core.Distance(getattr(core.Metric, metric), METRICS.get(metric, 2.0))


def by_hand(metric, X, Q, k):
    apart = np.abs(Q[:, None].astype(float) - X.astype(float))
    distances = {
        "euclidean": lambda: np.sqrt(np.sum(apart**2, axis=2)),
        "manhattan": lambda: np.sum(apart, axis=2),
        "chebyshev": lambda: np.max(apart, axis=2),
        "minkowski": lambda: np.sum(apart**3, axis=2) ** (1 / 3),
        "hamming": lambda: np.mean(apart != 0, axis=2),
    }[metric]()
    rows = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(distances, rows, axis=1), rows


def ask(search, Q, k, own=None, labels=None):
    found = np.empty((len(Q), k)), np.empty((len(Q), k), dtype=np.int64)
    with single_blas():
        search(Q, own, labels, *found, *NOW)
    return found


def scan(metric, X):
    return lambda Q, *rest: core.scan_nearest(distance_of(metric), X, Q, *rest)


def lists_of(found, count):
    counts = np.empty(count, dtype=np.int64)
    found.count(counts)
    distances, rows = np.empty(counts.sum()), np.empty(counts.sum(), dtype=np.int64)
    found.take(distances, rows)
    return counts, distances, rows


def make_rows(n, d, dtype, is_grid, rng):
    X = rng.integers(0, 4, size=(n, d)) if is_grid else rng.normal(size=(n, d)) + 100.0
    return np.ascontiguousarray(X, dtype=dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("is_grid", [True, False], ids=["grid", "normal"])
@pytest.mark.parametrize("metric", METRICS)
def test_tree_finds_what_a_scan_finds(metric, is_grid, dtype):
    rng = np.random.default_rng(0)
    for n, d in ((1, 1), (32, 2), (33, 3), (520, 2), (700, 9), (1500, 16)):
        X, Q = (make_rows(size, d, dtype, is_grid, rng) for size in (n, 40))
        tree = core.kd_tree(X, distance_of(metric), *NOW)
        for k in (1, min(n, 7), n):
            found = ask(tree.nearest, Q, k)
            expected = ask(scan(metric, X), Q, k)
            np.testing.assert_array_equal(found[1], expected[1])
            np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_allclose(found[0], by_hand(metric, X, Q, n)[0], rtol=1e-12)
        if metric != "minkowski":
            exact = (X - X[:1], Q - X[:1]) if is_grid else (X, Q)
            np.testing.assert_array_equal(
                ask(scan(metric, X), Q, 1)[1], by_hand(metric, *exact, 1)[1]
            )


def clouds(n, d, dtype, rng, scale=1.0):
    """Rows that vary along ten directions, and a little along all."""
    X = rng.normal(size=(n, 10)) @ rng.normal(size=(10, d)) + 0.3 * rng.normal(size=(n, d)) + 3
    return np.ascontiguousarray(scale * X, dtype=dtype)


def frames(X, rng):
    """All columns, main directions, random ones that carry little information."""
    centred = (X - X.mean(axis=0, dtype=float)) / np.max(np.abs(X))
    for basis in (None, np.linalg.svd(centred)[2][:12], rng.normal(size=(5, X.shape[1]))):
        if basis is None:
            yield None, 0.0
        else:
            basis = np.ascontiguousarray(np.linalg.qr(basis.T)[0].T)
            yield basis, float(np.linalg.norm(basis @ basis.T - np.eye(len(basis)))) + 1e-12


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_projections_find_what_a_scan_finds(dtype):
    rng = np.random.default_rng(1)
    for n, d in ((1, 20), (1024, 30), (2100, 70)):
        X, Q = clouds(n, d, dtype, rng), clouds(50, d, dtype, rng)
        Q[:20] = X[: min(n, 20)][np.arange(20) % n]  # distances of 0
        for basis, defect in frames(X, rng):
            rows = core.projected_rows(X, X.mean(axis=0, dtype=float), basis, defect, *NOW)
            for k in (1, min(n, 6)):
                found, expected = ask(rows.nearest, Q, k), ask(scan("euclidean", X), Q, k)
                np.testing.assert_array_equal(found[1], expected[1])
                np.testing.assert_array_equal(found[0], expected[0])


def test_equal_distances_across_tiles_keep_the_order_of_rows():
    """Rows and queries are searched in another order than theirs, and queries in several lots."""
    rng = np.random.default_rng(8)
    X, Q = make_rows(3000, 3, np.float32, True, rng), make_rows(17_000, 3, np.float32, True, rng)
    rows = core.projected_rows(X, X.mean(axis=0, dtype=float), None, 0.0, *NOW)
    found, expected = ask(rows.nearest, Q, 5), ask(scan("euclidean", X), Q, 5)
    np.testing.assert_array_equal(found[1], expected[1])
    np.testing.assert_array_equal(found[0], expected[0])


def hard_rows(n, d, dtype, rng):
    """Groups that are far apart, sorted, each with rows that are equal, and all far from 0."""
    groups = 30 * rng.normal(size=(8, d))
    X = groups[np.arange(n) * 8 // n] + clouds(n, d, float, rng) + 1000
    X[1::3] = X[::3][: len(X[1::3])]
    return np.ascontiguousarray(X, dtype=dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_candidates_that_wait_are_found(dtype):
    """More directions than products are taken with, and more candidates than may wait."""
    rng = np.random.default_rng(7)
    n, d = 6000, 90
    X = hard_rows(n, d, dtype, rng)
    Q = np.vstack([X[::300], hard_rows(20, d, dtype, rng), np.full((1, d), 1e18, dtype)])
    mean = X.mean(axis=0, dtype=float)
    own, labels = np.arange(len(Q)), np.arange(n) % 50
    for basis in (np.linalg.svd(X - mean, full_matrices=False)[2][:80], rng.normal(size=(80, d))):
        basis = np.ascontiguousarray(np.linalg.qr(basis.T)[0].T.astype(float))
        defect = float(np.linalg.norm(basis @ basis.T - np.eye(80))) + 1e-12
        rows = core.projected_rows(X, mean, basis, defect, *NOW)
        for k, hidden in ((1, ()), (7, (own, labels)), (400, ())):
            found = ask(rows.nearest, Q, k, *hidden)
            expected = ask(scan("euclidean", X), Q, k, *hidden)
            np.testing.assert_array_equal(found[1], expected[1])
            np.testing.assert_array_equal(found[0], expected[0])
        radius = expected[0][:, 99].copy()
        near = lists_of(rows.within(Q, radius, None, None, *NOW), len(Q))
        scanned = core.scan_within(distance_of("euclidean"), X, Q, radius, None, None, *NOW)
        for one, other in zip(near, lists_of(scanned, len(Q))):
            np.testing.assert_array_equal(one, other)


def many_shapes(rng):
    """Rows and queries: several tiles, ties, an outlier, groups tighter than float resolves."""
    for n, d in ((1023, 17), (2500, 20), (3100, 130)):
        X = rng.normal(size=(n, d))
        yield X, rng.normal(size=(30, d))
    X = rng.integers(0, 3, size=(2500, 6)).astype(float)
    yield X, X[:40]
    X = rng.normal(size=(2500, 20))
    X[5] *= 1e6
    yield X, np.vstack([X[:20], np.full((1, 20), 1e15), np.full((1, 20), 1e30)])
    X = 1e-5 * rng.normal(size=(2500, 18)) + rng.integers(0, 2, size=(2500, 1))
    yield X, X[::100]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [1, 2, 60, 100, 300, 1000])
def test_products_with_all_columns_find_what_a_scan_finds(k, dtype):
    rng = np.random.default_rng(9)
    for X, Q in many_shapes(rng):
        X, Q = np.ascontiguousarray(X, dtype=dtype), np.ascontiguousarray(Q, dtype=dtype)
        rows = core.projected_rows(X, X.mean(axis=0, dtype=float), None, 0.0, *NOW)
        own, labels = np.arange(len(Q)) % 3, np.arange(len(X)) % 3
        for hidden in ((), (own, labels)):
            found = ask(rows.nearest, Q, k, *hidden)
            expected = ask(scan("euclidean", X), Q, k, *hidden)
            np.testing.assert_array_equal(found[1], expected[1])
            np.testing.assert_array_equal(found[0], expected[0])


@pytest.mark.parametrize("k", [1, 100])
def test_products_with_all_columns_leave_little_more_than_the_neighbours(k):
    """They give distances up to rounding, so that hardly another row is measured in full."""
    rng = np.random.default_rng(10)
    X, Q = rng.normal(size=(5000, 20)), rng.normal(size=(50, 20))
    rows = core.projected_rows(X, X.mean(axis=0), None, 0.0, *NOW)
    found = np.empty((50, k)), np.empty((50, k), dtype=np.int64)
    with single_blas():
        measured = rows.nearest(Q, None, None, *found, *NOW)
    assert 50 * k <= measured <= 50 * (k + 1)


def test_neighbours_do_not_depend_on_the_number_of_threads():
    rng = np.random.default_rng(11)
    X, Q = rng.normal(size=(2500, 30)), rng.normal(size=(300, 30))
    rows = core.projected_rows(X, X.mean(axis=0), None, 0.0, *NOW)
    answers = []
    for threads in (1, 2, 5):
        found = np.empty((300, 20)), np.empty((300, 20), dtype=np.int64)
        with single_blas():
            rows.nearest(Q, None, None, *found, threads, np.inf)
        answers.append(found)
    for one in answers[1:]:
        np.testing.assert_array_equal(one, answers[0])


@pytest.mark.parametrize("scale", [1e120, 1e-120, 1e-300])
def test_numbers_of_any_size(scale):
    rng = np.random.default_rng(2)
    X = clouds(300, 12, float, rng, scale)
    X[7] *= 1e15  # an outlier
    Q = np.vstack([clouds(20, 12, float, rng, scale), 1e15 * X[:2], np.zeros((1, 12))])
    tree = core.kd_tree(X, distance_of("euclidean"), *NOW)
    rows = core.projected_rows(X, X.mean(axis=0), None, 0.0, *NOW)
    expected = ask(scan("euclidean", X), Q, 4)
    for search in (tree, rows):
        found = ask(search.nearest, Q, 4)
        np.testing.assert_array_equal(found[1], expected[1])
        np.testing.assert_array_equal(found[0], expected[0])


def test_rows_far_from_the_origin_keep_their_digits():
    rng = np.random.default_rng(3)
    X = 1e8 + 1e-3 * rng.normal(size=(500, 6))
    found = ask(core.kd_tree(X, distance_of("euclidean"), *NOW).nearest, X[:30], 5)
    expected = by_hand("euclidean", X, X[:30], 5)
    np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("metric", METRICS)
def test_within_a_radius(metric):
    rng = np.random.default_rng(4)
    X, Q = (make_rows(size, 3, float, True, rng) for size in (400, 30))
    radius = rng.choice([0.0, 1.0, 2.0], size=30)
    tree = core.kd_tree(X, distance_of(metric), *NOW)
    counts, distances, rows = lists_of(tree.within(Q, radius, None, None, *NOW), 30)
    scanned = core.scan_within(distance_of(metric), X, Q, radius, None, None, *NOW)
    for one, other in zip((counts, distances, rows), lists_of(scanned, 30)):
        np.testing.assert_array_equal(one, other)
    every = by_hand(metric, X, Q, 400)[0]
    np.testing.assert_array_equal(counts, np.sum(every <= radius[:, None] + 1e-9, axis=1))


@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e29])
@pytest.mark.parametrize("metric", METRICS)
def test_rows_at_the_radius_itself_are_within(metric, scale):
    X = scale * np.random.default_rng(0).normal(size=(40, 1))
    tree = core.kd_tree(X, distance_of(metric), *NOW)
    distances, rows = ask(tree.nearest, X, 20)
    found = tree.within(X, np.ascontiguousarray(distances[:, -1]), None, None, *NOW)
    counts, _, within = lists_of(found, len(X))
    assert counts.tolist() == [20] * 40
    np.testing.assert_array_equal(within.reshape(rows.shape), rows)


def test_a_cluster_whose_squares_underflow_in_float():
    rng = np.random.default_rng(0)
    X = 1e-22 * rng.normal(size=(400, 15))
    X[0], X[1] = 1.0, -1.0
    tree = core.kd_tree(X, distance_of("euclidean"), *NOW)
    for one, other in zip(ask(tree.nearest, X, 5), ask(scan("euclidean", X), X, 5)):
        np.testing.assert_array_equal(one, other)


def test_rows_of_the_own_label_are_hidden():
    rng = np.random.default_rng(5)
    X = make_rows(300, 20, float, False, rng)
    labels = np.arange(300) // 3
    mean = X.mean(axis=0)
    searches = (
        scan("euclidean", X),
        core.projected_rows(X, mean, None, 0.0, *NOW).nearest,
        core.kd_tree(np.ascontiguousarray(X[:, :4]), distance_of("euclidean"), *NOW).nearest,
    )
    for search, Q in zip(searches, (X, X, np.ascontiguousarray(X[:, :4]))):
        rows = ask(search, Q, 5, labels, labels)[1]
        assert np.all(labels[rows] != labels[:, None])
        expected = ask(search, Q, 300)
        for i in (0, 17, 299):
            others = expected[1][i][labels[expected[1][i]] != labels[i]]
            np.testing.assert_array_equal(rows[i], others[:5])


def test_fewer_rows_than_neighbours():
    X = np.arange(6.0).reshape(3, 2)
    own = np.arange(3)
    distances, rows = ask(scan("euclidean", X), X, 4, own, own)
    assert np.all(rows[:, 2:] == -1) and np.all(np.isinf(distances[:, 2:]))


def test_shares_of_columns_that_differ():
    X = np.array([[1.0, 2.0, 3.0, 4.0], [1.0, 0.0, 0.0, 4.0]])
    distances, rows = ask(scan("hamming", X), X[:1], 2)
    np.testing.assert_array_equal(distances, [[0.0, 0.5]])
    np.testing.assert_array_equal(rows, [[0, 1]])


def test_a_deadline_ends_the_search():
    X = np.random.default_rng(0).normal(size=(3000, 40))
    found = np.empty((3000, 5)), np.empty((3000, 5), dtype=np.int64)
    with pytest.raises(TimeLimit):
        core.scan_nearest(distance_of("euclidean"), X, X, None, None, *found, 1, 0.0)


def test_shapes_are_checked():
    X = np.zeros((4, 3))
    with pytest.raises(ValueError, match="columns"):
        ask(scan("euclidean", X), np.zeros((2, 2)), 1)
    with pytest.raises(ValueError, match="both or for none"):
        ask(scan("euclidean", X), X, 1, np.arange(4))
    with pytest.raises(ValueError, match="Minkowski"):
        core.kd_tree(X, distance_of("hamming"), *NOW)
