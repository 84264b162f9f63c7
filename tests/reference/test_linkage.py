"""Hierarchical clustering against SciPy, and against the definition, computed slowly."""

import numpy as np
import pytest
from scipy.cluster import hierarchy
from scipy.spatial.distance import cdist, cityblock, pdist, squareform
from sklearn.metrics.pairwise import manhattan_distances

import gapless.models.clustering.linkages as linkages
from gapless import AgglomerativeClustering, DivisiveClustering
from gapless._ground import core
from gapless.models.clustering.distances import METRICS
from gapless.models.clustering.splitting import splinter

LINKAGES = ("ward", "complete", "average", "single", "centroid")
every_linkage = pytest.mark.parametrize("linkage", LINKAGES)


def fitted(X, linkage, weights=None, **options):
    return AgglomerativeClustering(linkage=linkage, **options).fit(X, sample_weight=weights)


def distance(X, weights, A, B, linkage):
    """The distance of two clusters, by its definition."""
    D, s = cdist(X[A], X[B]), np.outer(weights[A], weights[B])
    if linkage in ("single", "complete"):
        return D.min() if linkage == "single" else D.max()
    if linkage == "average":
        return (s * D).sum() / s.sum()
    a, b = weights[A].sum(), weights[B].sum()
    between = np.linalg.norm(weights[A] @ X[A] / a - weights[B] @ X[B] / b)
    return between if linkage == "centroid" else np.sqrt(2 * a * b / (a + b)) * between


def slow_heights(X, weights, linkage):
    """Every merge by comparing all pairs of clusters; of equal ones the first."""
    clusters = [[i] for i in range(len(X))]
    heights = []
    while len(clusters) > 1:
        found = [
            (distance(X, weights, clusters[i], clusters[j], linkage), i, j)
            for i in range(len(clusters))
            for j in range(i + 1, len(clusters))
        ]
        least = min(found)[0]
        height, i, j = next(pair for pair in found if pair[0] <= least * (1 + 1e-12))
        heights.append(height)
        clusters[i] += clusters.pop(j)
    return np.array(heights)


def same_clusters(one, other):
    """Whether two labellings are the same but for the names."""
    pairs = np.unique(np.column_stack([one, other]), axis=0)
    return len(pairs) == len(np.unique(one)) == len(np.unique(other))


@every_linkage
@pytest.mark.parametrize("n, d", [(2, 1), (7, 1), (60, 2), (150, 5), (90, 40), (700, 3)])
def test_the_table_is_scipys(linkage, n, d, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, d))
    table = fitted(X, linkage, n_clusters=1).merge_table_
    expected = hierarchy.linkage(X, linkage)
    np.testing.assert_array_equal(table[:, [0, 1, 3]], expected[:, [0, 1, 3]])
    np.testing.assert_allclose(table[:, 2], expected[:, 2], rtol=1e-10)
    assert hierarchy.is_valid_linkage(table)


@every_linkage
def test_a_matrix_in_float32_gives_the_same_table(linkage, monkeypatch):
    monkeypatch.setattr(linkages, "SMALL_MATRIX", 0)
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 6)) + 50 * rng.integers(0, 4, size=(400, 1))
    table = fitted(X, linkage, n_clusters=1).merge_table_
    expected = hierarchy.linkage(X, linkage)
    np.testing.assert_array_equal(table[:, [0, 1, 3]], expected[:, [0, 1, 3]])
    np.testing.assert_allclose(table[:, 2], expected[:, 2], rtol=1e-6)


@pytest.mark.parametrize("linkage", ["complete", "average"])
@pytest.mark.parametrize("is_single", [False, True])
def test_chains_between_clusters_give_scipys_table(linkage, is_single, monkeypatch):
    """In a chain of growing steps two clusters alone are each other's nearest at any time."""
    if is_single:
        monkeypatch.setattr(linkages, "SMALL_MATRIX", 0)
    rng = np.random.default_rng(0)
    chain = np.column_stack([1.05 ** np.arange(200), np.zeros(200)])
    X = rng.permutation(np.vstack([chain, rng.normal(size=(200, 2)) - 5]))
    table = fitted(X, linkage, n_clusters=1).merge_table_
    expected = hierarchy.linkage(X, linkage)
    np.testing.assert_allclose(table[:, 2], expected[:, 2], rtol=1e-6 if is_single else 1e-12)
    np.testing.assert_array_equal(table[:, [0, 1, 3]], expected[:, [0, 1, 3]])


def edges(tree, n):
    """The rows of all edges, in order, and their lengths."""
    tree.advance(n, 2, np.inf)
    pairs, lengths = np.empty((n - 1, 2), dtype=np.int64), np.empty(n - 1)
    tree.take(pairs, lengths)
    return np.sort(pairs, axis=1), lengths


@pytest.mark.parametrize("d", [1, 2, 5, 16])
@pytest.mark.parametrize("kind", ["noise", "clusters", "lattice", "far"])
def test_both_ways_to_a_spanning_tree_find_the_same_edges(kind, d):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(700, d))
    if kind == "clusters":
        X[:300] += 40.0
    elif kind == "lattice":
        X = np.unique(rng.integers(0, 20, size=(700, d)), axis=0).astype(float)
    elif kind == "far":  # one row, so that the others are near each other in float
        X[5] = 1e9
    one, other = (make(X, 2, np.inf) for make in (core.spanning_tree, core.boruvka_tree))
    assert 0 < other.share_compared() <= 2
    for found, expected in zip(edges(other, len(X)), edges(one, len(X))):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("share", [0.0, 2.0])
def test_single_linkage_is_scipys_whichever_way_is_taken(share, monkeypatch):
    monkeypatch.setattr(linkages, "MOST_COMPARED", share)
    X = np.random.default_rng(8).normal(size=(300, 3))
    table, expected = fitted(X, "single").merge_table_, hierarchy.linkage(X, "single")
    np.testing.assert_array_equal(table[:, [0, 1, 3]], expected[:, [0, 1, 3]])
    np.testing.assert_allclose(table[:, 2], expected[:, 2], rtol=1e-12)


@pytest.mark.parametrize("linkage", ["complete", "average", "single"])
@pytest.mark.parametrize("metric", ["manhattan", "cosine", "chebyshev"])
def test_other_distances_give_scipys_table(linkage, metric):
    X = np.random.default_rng(2).normal(size=(70, 4))
    names = {"manhattan": "cityblock"}
    expected = hierarchy.linkage(pdist(X, names.get(metric, metric)), linkage)
    for given, data in (
        (metric, X),
        ("precomputed", squareform(pdist(X, names.get(metric, metric)))),
    ):
        table = fitted(data, linkage, metric=given).merge_table_
        np.testing.assert_allclose(table[:, 2], expected[:, 2], rtol=1e-9)


OURS = {
    "l1": "cityblock",
    "manhattan": "cityblock",
    "l2": "euclidean",
    "nan_euclidean": "euclidean",
}


@pytest.mark.parametrize("metric", sorted(METRICS - {"haversine"}))
def test_every_metric_is_that_of_scipy(metric):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(30, 6))
    if metric in ("dice", "jaccard", "rogerstanimoto", "sokalsneath", "yule"):
        X = np.unique((X > 0).astype(float), axis=0)
        expected = pdist(X.astype(bool), metric)
    else:
        X = np.abs(X) if metric == "jensenshannon" else X
        expected = pdist(X, OURS.get(metric, metric))
    heights = hierarchy.linkage(expected, "single")[:, 2]
    model = fitted(X, "single", metric=metric)
    np.testing.assert_allclose(model.merge_table_[:, 2], heights, rtol=1e-9, atol=1e-12)
    assert model.certificate_.kind == "exact"


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis"])
def test_variances_of_a_metric_count_weights(metric):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(12, 3))
    weights = rng.integers(0, 4, size=12)
    one = fitted(X, "average", weights, metric=metric)
    other = fitted(np.repeat(X, weights, axis=0), "average", metric=metric)
    distinct = np.count_nonzero(weights) - 1
    np.testing.assert_allclose(
        one.merge_table_[-distinct:, 2], other.merge_table_[-distinct:, 2], rtol=1e-9
    )


def test_functions_of_two_rows_and_of_a_table_are_metrics():
    X = np.random.default_rng(8).normal(size=(20, 3))
    expected = fitted(X, "average", metric="manhattan").merge_table_
    for metric in (cityblock, lambda x, z: np.abs(x - z).sum(), manhattan_distances):
        model = fitted(X, "average", metric=metric)
        np.testing.assert_allclose(model.merge_table_, expected, rtol=1e-12)
        assert model.certificate_.kind == "exact"
    with pytest.raises(ValueError, match="gives no distance between the rows"):
        fitted(np.vstack([X, np.ones(3)]), "average", metric="correlation")


@every_linkage
def test_ties_are_broken_as_the_definition_says(linkage):
    # Whole numbers: many distances are equal, to the last bit where no mean is taken.
    rng = np.random.default_rng(3)
    for _ in range(5):
        X = np.unique(rng.integers(0, 4, size=(14, 2)), axis=0).astype(float)
        own = fitted(X, linkage, n_clusters=1).merge_table_[:, 2]
        if linkage in ("complete", "single"):
            np.testing.assert_allclose(own, slow_heights(X, np.ones(len(X)), linkage), rtol=1e-12)
        model = fitted(X, linkage, n_clusters=1)
        assert model.certificate_.kind == "exact", model.certificate_


@every_linkage
def test_neither_the_order_of_rows_nor_ties_matter_together(linkage):
    rng = np.random.default_rng(4)
    X = rng.integers(0, 3, size=(40, 2)).astype(float)
    order = rng.permutation(40)
    one, other = fitted(X, linkage, n_clusters=4), fitted(X[order], linkage, n_clusters=4)
    np.testing.assert_array_equal(one.merge_table_[:, 2], other.merge_table_[:, 2])
    assert same_clusters(one.labels_[order], other.labels_)


@every_linkage
def test_weights_count_as_repeated_rows(linkage):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(25, 3))
    weights = rng.integers(0, 4, 25)
    kept = weights > 0
    merged = fitted(X, linkage, weights.astype(float), n_clusters=5)
    repeated = fitted(np.repeat(X, weights, axis=0), linkage, n_clusters=5)
    heights = repeated.merge_table_[:, 2]
    np.testing.assert_array_equal(heights[heights > 0], merged.merge_table_[:, 2])
    assert same_clusters(np.repeat(merged.labels_, weights), repeated.labels_)
    assert np.all(merged.labels_[~kept] == -1)
    removed = fitted(X[kept], linkage, weights[kept].astype(float), n_clusters=5)
    np.testing.assert_array_equal(removed.merge_table_, merged.merge_table_)


@every_linkage
def test_weights_give_the_heights_of_the_definition(linkage):
    rng = np.random.default_rng(6)
    X, weights = rng.normal(size=(12, 2)), rng.uniform(0.5, 3, 12)
    order = np.lexsort(X.T[::-1])
    expected = slow_heights(X[order], weights[order], linkage)
    own = fitted(X, linkage, weights).merge_table_[:, 2]
    np.testing.assert_allclose(own, expected, rtol=1e-10)


def test_labels_are_those_of_scipys_cuts():
    X = np.random.default_rng(7).normal(size=(50, 2))
    for linkage in LINKAGES[:4]:
        model, table = fitted(X, linkage), hierarchy.linkage(X, linkage)
        for k in (1, 2, 7, 50):
            assert same_clusters(model.cut(k), hierarchy.fcluster(table, k, "maxclust"))
        height = float(np.median(table[:, 2])) * (1 + 1e-9)
        by_height = hierarchy.fcluster(table, height, "distance")
        assert same_clusters(model.cut(height=height), by_height)


def test_centroids_may_be_inverted_and_the_certificate_says_so():
    # The centroid of two corners of a nearly equilateral triangle is nearer to the third.
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.9]])
    model = fitted(X, "centroid")
    heights = model.merge_table_[:, 2]
    assert heights[1] < heights[0]
    assert "lower than one within" in str(model.certificate_)
    # The last merge lies at 0.9 and contains one at 1.
    np.testing.assert_array_equal(model.cut(height=0.95), [0, 1, 2])


def test_cophenetic_distances_and_their_correlation_are_scipys():
    X = np.random.default_rng(8).normal(size=(40, 3))
    model = fitted(X, "average")
    expected, distances = hierarchy.cophenet(hierarchy.linkage(X, "average"), pdist(X))
    np.testing.assert_allclose(model.cophenetic_distances(), distances, rtol=1e-10)
    assert model.cophenetic_correlation() == pytest.approx(expected, rel=1e-10)
    assert model.cophenetic_correlation(X) == pytest.approx(expected, rel=1e-10)


# ---- top down ------------------------------------------------------------------------------------


def slow_splinter(D):
    """DIANA's division of one cluster, as Kaufman and Rousseeuw (1990) describe it."""
    stay, leave = list(range(len(D))), []
    farthest = max(stay, key=lambda i: D[i, [j for j in stay if j != i]].mean())
    stay.remove(farthest)
    leave.append(farthest)
    while len(stay) > 1:
        gains = [D[i, [j for j in stay if j != i]].mean() - D[i, leave].mean() for i in stay]
        best = int(np.argmax(gains))
        if gains[best] <= 0:
            break
        leave.append(stay.pop(best))
    return np.isin(np.arange(len(D)), leave)


def test_a_split_is_dianas():
    rng = np.random.default_rng(9)
    for n in (2, 3, 8, 30):
        X = rng.normal(size=(n, 2))
        D = cdist(X, X)
        np.testing.assert_array_equal(splinter(D, np.ones(n)), slow_splinter(D))


def test_the_heights_of_divisions_are_diameters():
    X = np.random.default_rng(10).normal(size=(30, 2))
    model = DivisiveClustering(n_clusters=4).fit(X)
    D = cdist(X, X)
    assert model.merge_table_[-1, 2] == D.max()
    assert hierarchy.is_valid_linkage(model.merge_table_)
    assert hierarchy.is_monotonic(model.merge_table_)
    labels = model.cut(height=1.5)
    assert all(D[np.ix_(labels == k, labels == k)].max() < 1.5 for k in range(labels.max() + 1))
    assert model.certificate_.kind == "exact"


def test_weights_of_divisions_count_as_repeated_rows():
    rng = np.random.default_rng(11)
    X, weights = rng.normal(size=(20, 2)), rng.integers(0, 3, 20)
    merged = DivisiveClustering(n_clusters=4).fit(X, sample_weight=weights)
    repeated = DivisiveClustering(n_clusters=4).fit(np.repeat(X, weights, axis=0))
    heights = repeated.merge_table_[:, 2]
    np.testing.assert_array_equal(heights[heights > 0], merged.merge_table_[:, 2])
    assert same_clusters(np.repeat(merged.labels_, weights), repeated.labels_)
