"""Silhouettes and the adjusted Rand index: scikit-learn's values, weights as repeats, intervals."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.metrics as theirs

from gapless.metrics import adjusted_rand, clusters, silhouette, silhouettes


@pytest.fixture
def data():
    rng = np.random.default_rng(5)
    labels = np.array(["a", "b", "c"])[rng.integers(3, size=80)]
    X = rng.normal(size=(80, 2)) + 2.0 * (labels == "a")[:, None]
    labels[0] = "d"  # alone
    return X, labels


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_silhouettes_are_those_of_scikit_learn(data, metric):
    X, labels = data
    expected = theirs.silhouette_samples(X, labels, metric=metric)
    found = silhouettes(X, labels, metric=metric)
    np.testing.assert_allclose(found.values, expected, atol=1e-12)
    assert found.mean.low < found.mean.value < found.mean.high
    np.testing.assert_allclose(found.mean.value, expected.mean(), atol=1e-12)
    np.testing.assert_array_equal(found.labels, labels)


def test_sparse_rows_and_distances_give_the_same(data):
    X, labels = data
    value = float(silhouette(X, labels))
    assert float(silhouette(sp.csr_array(X), labels)) == pytest.approx(value, abs=1e-9)
    distances = theirs.pairwise_distances(X)
    assert float(silhouette(distances, labels, metric="precomputed")) == pytest.approx(value)


def test_weights_are_repeats(data):
    X, labels = data
    other = np.roll(labels, 3)
    weights = np.random.default_rng(0).integers(0, 4, size=80)
    rows = np.repeat(np.arange(80), weights)
    for one, two in (
        (silhouette(X, labels, sample_weight=weights), silhouette(X[rows], labels[rows])),
        (
            adjusted_rand(labels, other, sample_weight=weights),
            adjusted_rand(labels[rows], other[rows]),
        ),
    ):
        np.testing.assert_allclose(
            [one.value, one.low, one.high, one.n], [two.value, two.low, two.high, two.n], rtol=1e-9
        )


def test_of_many_rows_a_sample_is_judged_and_said(data, monkeypatch):
    X, labels = data
    monkeypatch.setattr(clusters, "MOST_DISTANCES", 80 * 60)
    monkeypatch.setattr(clusters, "LEAST_ROWS", 10)
    found = silhouettes(X, labels)
    assert len(found.values) == 60 and "a sample of 80 rows" in found.mean.method
    every = theirs.silhouette_samples(X, labels)
    np.testing.assert_allclose(found.values, every[found.rows], atol=1e-12)
    order = np.random.default_rng(1).permutation(80)
    again = silhouettes(X[order], labels[order])
    np.testing.assert_allclose(again.mean.value, found.mean.value, rtol=1e-12)


def test_the_adjusted_rand_index_is_that_of_scikit_learn():
    rng = np.random.default_rng(2)
    one, two = rng.integers(4, size=60), rng.integers(3, size=60)
    for other in (two, one, np.where(rng.random(60) < 0.7, one, two)):
        found = adjusted_rand(one, other)
        assert found.value == pytest.approx(theirs.adjusted_rand_score(one, other), abs=1e-12)
        assert found.low <= found.value <= found.high
    assert adjusted_rand([0, 0, 0], [1, 1, 1]).value == 1.0


def test_the_standard_error_of_agreement_is_that_of_the_jackknife():
    rng = np.random.default_rng(3)
    one = rng.integers(3, size=400)
    two = np.where(rng.random(400) < 0.8, one, rng.integers(3, size=400))
    left = [adjusted_rand(np.delete(one, i), np.delete(two, i)).value for i in range(0, 400, 8)]
    jackknife = np.sqrt(8 * 399 / 400 * np.sum((left - np.mean(left)) ** 2))
    found = adjusted_rand(one, two)
    assert (found.high - found.low) / 2 == pytest.approx(1.966 * jackknife, rel=0.15)


def test_one_cluster_is_refused(data):
    with pytest.raises(ValueError, match="one cluster"):
        silhouette(data[0], np.zeros(80))


def test_the_picture_has_a_bar_for_each_row(data):
    X, labels = data
    axes = silhouettes(X, labels).plot()
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["a", "b", "c", "d"]
    drawn = np.concatenate([patch.get_data().values for patch in axes.patches])
    expected = theirs.silhouette_samples(X, labels)
    np.testing.assert_allclose(np.sort(drawn[drawn != 0]), np.sort(expected[expected != 0]))
