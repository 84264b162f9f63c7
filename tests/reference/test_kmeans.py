"""k-means against plain Lloyd steps in NumPy, all partitions of tiny data, and scikit-learn."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.cluster

from gapless import KMeans
from gapless._ground.design import Design
from gapless._ground.threads import threads
from gapless.models.clustering.kmeans_bound import lower_bound
from gapless.models.clustering.lloyd import ClusterRows, lloyd


def squares(X, centers):
    return ((X[:, None].astype(float) - centers[None].astype(float)) ** 2).sum(axis=2)


def plain_lloyd(X, centers, weights=None, steps=100):
    """Labels, centres and the objective after each step, without any bound."""
    weights = np.ones(len(X)) if weights is None else weights
    labels, objective = None, []
    for _ in range(steps):
        found = squares(X, centers).argmin(axis=1)
        if labels is not None and np.array_equal(found, labels):
            break
        labels = found
        means = [
            np.average(X[labels == j], axis=0, weights=weights[labels == j])
            if np.any(labels == j)
            else centers[j]
            for j in range(len(centers))
        ]
        centers = np.array(means)
        objective.append(weights @ squares(X, centers)[np.arange(len(X)), labels])
    return labels, centers, np.array(objective)


def rows_of(X, weights=None):
    return ClusterRows(Design(X), np.ones(X.shape[0]) if weights is None else weights)


@pytest.fixture(params=[0, 1, 2])
def seed(request):
    return request.param


SHAPES = [(300, 2, 5), (200, 17, 9), (150, 50, 12), (120, 90, 3), (60, 1, 4)]


@pytest.mark.parametrize("n, d, k", SHAPES)
@pytest.mark.parametrize("by_groups", [False, True])
def test_steps_are_those_of_plain_lloyd(n, d, k, by_groups, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 3 * rng.normal(size=(4, d))[rng.integers(4, size=n)]
    weights = rng.integers(1, 4, size=n).astype(float)
    start = X[rng.choice(n, k, replace=False)]
    run = lloyd(rows_of(X, weights), start, max_iter=100, tol=0.0, by_groups=by_groups)
    labels, centers, objective = plain_lloyd(X, start, weights)
    np.testing.assert_array_equal(run.labels, labels)
    np.testing.assert_allclose(run.centers, centers, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(run.trace.objective[: len(objective)], objective, rtol=1e-10)
    assert np.all(np.diff(run.trace.objective) <= 0)


def test_groups_of_centres_give_the_same_labels(seed):
    # More centres than a quarter of the columns: bounds are kept for groups of them.
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(400, 8))
    start = X[:60]
    run = lloyd(rows_of(X), start, max_iter=30, tol=0.0, by_groups=True)
    assert run.solver == "yinyang"
    other = lloyd(rows_of(X), start, max_iter=30, tol=0.0, by_groups=False)
    np.testing.assert_array_equal(run.labels, other.labels)


@pytest.mark.parametrize("by_groups", [False, True])
def test_float32_rows_far_from_0_find_their_clusters(by_groups, seed):
    rng = np.random.default_rng(seed)
    X = (1000 + rng.normal(size=(300, 6))).astype(np.float32)
    start = X[:4]
    run = lloyd(rows_of(X), start, max_iter=5, tol=0.0, by_groups=by_groups)
    nearest = squares(X, run.centers)
    assert run.centers.dtype == np.float32
    chosen = nearest[np.arange(300), run.labels]
    np.testing.assert_allclose(chosen, nearest.min(axis=1), rtol=1e-12)


def test_ties_go_to_the_first_centre():
    X = np.array([[0.0], [1.0], [2.0], [1.0]])
    for by_groups in (False, True):
        run = lloyd(rows_of(X), X[[0, 2]], max_iter=1, tol=np.inf, by_groups=by_groups)
        assert run.labels[1] == run.labels[3] == 0


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array])
def test_sparse_rows_are_as_dense_ones(kind, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 30)) * (rng.random((150, 30)) < 0.2)
    start = X[:5]
    one = KMeans(5, init=start, tol=0.0).fit(X)
    other = KMeans(5, init=start, tol=0.0).fit(kind(X))
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_allclose(other.cluster_centers_, one.cluster_centers_, atol=1e-12)
    np.testing.assert_allclose(other.inertia_, one.inertia_, rtol=1e-10)
    np.testing.assert_allclose(other.transform(kind(X)), one.transform(X), atol=1e-7)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_from_the_same_start_scikit_learn_ends_there_too(kind, seed):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(500, 5)) + 4 * rng.integers(3, size=(500, 1))).astype(kind)
    start = X[:6]
    ours = KMeans(6, init=start, tol=0.0).fit(X)
    theirs = sklearn.cluster.KMeans(6, init=start, n_init=1, tol=0.0).fit(X)
    np.testing.assert_allclose(ours.inertia_, theirs.inertia_, rtol=1e-5)
    if kind is np.float64:
        np.testing.assert_array_equal(ours.labels_, theirs.labels_)
        assert ours.n_iter_ == theirs.n_iter_


@pytest.mark.parametrize("k", [2, 3])
def test_the_bound_is_below_the_best_of_all_partitions(k, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(7, 4))
    weights = rng.integers(1, 4, size=7).astype(float)
    rows = rows_of(X, weights)
    labels = np.array(list(product(range(k), repeat=7)))
    best = np.inf
    for partition in np.eye(k)[labels]:  # which row is in which cluster, (7, k)
        totals = np.maximum(partition.T @ weights, 1e-300)
        means = (partition.T * weights) @ X / totals[:, None]
        best = min(best, weights @ ((X - partition @ means) ** 2).sum(axis=1))
    bound, error = lower_bound(rows, k)
    assert 0 < bound <= best
    model = KMeans(k, n_init=20, random_state=0, tol=0.0).fit(X, sample_weight=weights)
    assert model.certificate_.dual <= best <= model.inertia_ * (1 + 1e-12)
    np.testing.assert_allclose(model.inertia_, best, rtol=1e-9)  # 20 starts find it
    # As a difference of the trace and the largest eigenvalues.
    mean = np.average(X, axis=0, weights=weights)
    values = np.linalg.svd((X - mean) * np.sqrt(weights)[:, None], compute_uv=False) ** 2
    np.testing.assert_allclose(bound + error, values[k - 1 :].sum(), rtol=1e-9)


def test_the_bound_of_wide_rows_is_that_of_their_inner_products(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 40))
    weights = rng.uniform(0.5, 2, size=12)
    bound, error = lower_bound(rows_of(X, weights), 3)
    mean = np.average(X, axis=0, weights=weights)
    values = np.linalg.svd((X - mean) * np.sqrt(weights)[:, None], compute_uv=False) ** 2
    np.testing.assert_allclose(bound + error, values[2:].sum(), rtol=1e-9)


def test_an_empty_cluster_gets_the_farthest_row():
    X = np.array([[0.0], [1.0], [2.0], [30.0]])
    model = KMeans(3, init=np.array([[0.0], [1.0], [-500.0]]), tol=0.0).fit(X)
    assert sorted(model.cluster_centers_.ravel()) == [0.5, 2.0, 30.0] or sorted(
        model.cluster_centers_.ravel()
    ) == [0.0, 1.5, 30.0]
    assert model.inertia_ == 0.5


def test_the_number_of_threads_changes_no_bit():
    rng = np.random.default_rng(3)
    for X, k in ((rng.normal(size=(9000, 6)), 7), (rng.normal(size=(4000, 70)), 9)):
        found = []
        for count in (1, 2, 3):
            with threads(count):
                found.append(KMeans(k, random_state=0, max_iter=10).fit(X))
        for other in found[1:]:
            assert other.inertia_ == found[0].inertia_
            np.testing.assert_array_equal(other.cluster_centers_, found[0].cluster_centers_)
            np.testing.assert_array_equal(other.labels_, found[0].labels_)


def test_ctrl_c_just_after_a_step_keeps_labels_and_centres_of_one_step():
    class Interrupted(ClusterRows):
        calls = 0

        def step(self, state, is_first):
            moved = super().step(state, is_first)
            self.calls += 1
            if self.calls == 3:
                raise KeyboardInterrupt
            return moved

    X = np.random.default_rng(0).uniform(size=(200, 3))
    run = lloyd(Interrupted(Design(X), np.ones(200)), X[:6], max_iter=50, tol=0.0)
    assert run.status == "interrupted" and run.steps == 2
    np.testing.assert_array_equal(run.labels, squares(X, run.centers).argmin(axis=1))
    own = squares(X, run.centers)[np.arange(200), run.labels]
    np.testing.assert_allclose(run.inertia, own.sum())
