"""Stability of clusterings: agreement with clusterings of random parts of the rows."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from gapless._ground.partitions import Agreement
from gapless.unseen import judge_stability, stability

CENTERS = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])


def groups(count, each=40, seed=0):
    rng = np.random.default_rng(seed)
    X = np.concatenate([center + rng.normal(size=(each, 2)) for center in CENTERS[:count]])
    return X, np.repeat(np.arange(count), each)


def by_nearest(X, centers):
    return np.argmin(((X[:, None] - centers) ** 2).sum(axis=2), axis=1)


def test_the_index_of_agreement_is_scikit_learns():
    rng = np.random.default_rng(1)
    for _ in range(20):
        one, other = rng.integers(0, 4, 30), rng.integers(0, 3, 30)
        own = Agreement(one, other, np.ones(30)).index
        assert own == pytest.approx(adjusted_rand_score(one, other), abs=1e-12)


def test_a_row_of_weight_two_counts_as_two_rows():
    rng = np.random.default_rng(2)
    one, other, weights = rng.integers(0, 3, 20), rng.integers(0, 3, 20), rng.integers(1, 4, 20)
    merged = Agreement(one, other, weights.astype(float)).index
    assert merged == pytest.approx(
        adjusted_rand_score(np.repeat(one, weights), np.repeat(other, weights)), abs=1e-12
    )


def test_clusters_that_are_found_again_agree_fully():
    X, labels = groups(3)
    (found,) = stability(lambda rows: by_nearest(X[rows], CENTERS), labels)
    assert found.mean == 1.0
    np.testing.assert_array_equal(found.clusters, 1.0)
    assert "none dissolves" in str(found)


def test_random_clusters_agree_by_chance_only():
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 4, 400)
    (found,) = stability(lambda rows: rng.integers(0, 4, len(rows)), labels)
    assert abs(found.mean) < 0.05
    assert np.all(found.clusters < 0.4)


def test_rows_without_weight_are_never_drawn_and_equal_rows_are_drawn_together():
    labels = np.zeros(30, dtype=int)
    weights = np.where(np.arange(30) < 10, 0.0, 1.0)
    units = np.arange(30) // 3
    seen = []

    def labels_of(rows):
        seen.append(rows)
        return labels[rows]

    stability(labels_of, labels, weights, units)
    for rows in seen:
        assert rows.min() >= 10
        counts = np.bincount(units[rows], minlength=10)[4:]
        assert set(counts.tolist()) <= {0, 3}


def test_the_verdict_names_too_many_and_too_few_clusters():
    X, _ = groups(3)
    rng = np.random.default_rng(4)

    def labels_of(rows):
        right = by_nearest(X[rows], CENTERS)
        few = (right == 0).astype(int)
        # Each true cluster is cut by a random line.
        many = 2 * right + ((X[rows] - CENTERS[right]) @ rng.normal(size=2) > 0).astype(int)
        return np.column_stack([few, right, np.unique(many, return_inverse=True)[1]])

    found = stability(labels_of, labels_of(np.arange(len(X))))
    counts, separations = (2, 3, 6), (0.5, 0.8, 0.4)
    kinds = [judge_stability(found, counts, separations, own).kind for own in range(3)]
    assert kinds == ["under-fitted", "balanced", "over-fitted"]


def test_one_cluster_says_nothing():
    found = stability(lambda rows: np.zeros(len(rows), dtype=int), np.zeros(20, dtype=int))
    result = judge_stability(found, [1], [0.0], 0)
    assert result.kind == "unknown"
    assert np.isnan(result.unseen)
