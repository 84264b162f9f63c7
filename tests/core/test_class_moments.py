"""Sums, squares and distances of classes: against NumPy, at odd shapes, with and without NaN."""

import numpy as np
import pytest

from gapless._ground import core

SHAPES = [(1, 1, 1), (5, 3, 2), (67, 65, 3), (1030, 7, 4), (0, 3, 2)]
NO_LIMIT = float("inf")


def make_data(rng, n, d, classes, dtype, order):
    X = np.asarray(rng.normal(size=(n, d)) + 5.0, dtype=dtype, order=order)
    y = rng.integers(0, classes, size=n).astype(np.int32)
    return X, y, rng.integers(0, 3, size=n).astype(float)


def sums(X, y, weights, classes, threads=1, missing=False):
    out = np.empty((classes, X.shape[1]))
    counts = np.empty_like(out) if missing else None
    core.class_sums(X, y, weights, out, counts, threads, NO_LIMIT)
    return out, counts


def squares(X, y, weights, means, threads=1):
    found, rests = np.empty_like(means), np.empty_like(means)
    core.class_squares(X, y, weights, means, found, rests, threads, NO_LIMIT)
    return found, rests


def distances(X, means, precisions, offsets=None, threads=1):
    out = np.empty((len(X), len(means)))
    core.class_distances(X, means, precisions, offsets, out, threads, NO_LIMIT)
    return out


@pytest.mark.parametrize("n, d, classes", SHAPES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_sums_squares_and_distances_are_those_of_numpy(rng, n, d, classes, dtype, order):
    X, y, weights = make_data(rng, n, d, classes, dtype, order)
    means, precisions = rng.normal(size=(classes, d)), rng.random(size=(classes, d))
    hot = np.eye(classes)[y] * weights[:, None]
    away = X.astype(float) - means[y]
    np.testing.assert_allclose(sums(X, y, weights, classes)[0], hot.T @ X.astype(float), atol=1e-9)
    found, rests = squares(X, y, weights, means)
    np.testing.assert_allclose(found, hot.T @ away**2, atol=1e-9)
    np.testing.assert_allclose(rests, hot.T @ away, atol=1e-9)
    expected = [((X.astype(float) - m) ** 2) @ p for m, p in zip(means, precisions)]
    np.testing.assert_allclose(
        distances(X, means, precisions), np.transpose(expected), rtol=1e-12, atol=1e-12
    )


def test_missing_values_add_nothing(rng):
    X, y, weights = make_data(rng, 90, 66, 3, np.float64, "C")
    X[rng.random(X.shape) < 0.2] = np.nan
    there = ~np.isnan(X)
    filled, hot = np.where(there, X, 0.0), np.eye(3)[y] * weights[:, None]
    found, counts = sums(X, y, weights, 3, missing=True)
    np.testing.assert_allclose(found, hot.T @ filled, atol=1e-9)
    np.testing.assert_allclose(counts, hot.T @ there, atol=1e-9)
    means = np.full((3, 66), 4.0)
    np.testing.assert_allclose(
        squares(X, y, weights, means)[0], hot.T @ np.where(there, (X - 4.0) ** 2, 0.0), atol=1e-9
    )
    offsets = rng.normal(size=(3, 66))
    expected = np.where(there, (X - 4.0) ** 2, 0.0).sum(axis=1)[:, None] + there @ offsets.T
    np.testing.assert_allclose(distances(X, means, np.ones((3, 66)), offsets), expected, atol=1e-9)


def test_same_bits_for_any_number_of_threads_and_order_of_memory(rng):
    X, y, weights = make_data(rng, 3000, 130, 4, np.float64, "C")
    means, precisions = rng.normal(size=(4, 130)), rng.random(size=(4, 130))
    for other in (X, np.asfortranarray(X)):
        for threads in (1, 3):
            np.testing.assert_array_equal(
                sums(other, y, weights, 4, threads)[0], sums(X, y, weights, 4)[0]
            )
            np.testing.assert_array_equal(
                squares(other, y, weights, means, threads)[0], squares(X, y, weights, means)[0]
            )
            np.testing.assert_array_equal(
                distances(other, means, precisions, threads=threads),
                distances(X, means, precisions),
            )


def test_wrong_shapes_and_classes_are_refused(rng):
    X, y, weights = make_data(rng, 5, 3, 2, np.float64, "C")
    with pytest.raises(ValueError, match="class is out of range"):
        sums(X, y + 1, weights, int(y.max()) + 1)
    with pytest.raises(ValueError, match="one entry per row"):
        sums(X, y[:4], weights, 2)
    with pytest.raises(ValueError, match="shaped like means"):
        distances(X, np.zeros((2, 3)), np.zeros((2, 2)))
