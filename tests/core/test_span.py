"""Distances from the span of free support vectors: against least squares, at odd shapes."""

import math

import numpy as np
import pytest

from gapless._ground import core
from gapless._ground.threads import single_blas

NONE, FREE, BOUNDED = 0, 1, 2


def spans(gram, machines, noise=0.0, threads=2):
    """S² of the variables of machines (rows, support)."""
    start = np.cumsum([0, *(len(rows) for rows, _ in machines)], dtype=np.int64)
    rows = np.concatenate([rows for rows, _ in machines]).astype(np.int64)
    support = np.concatenate([support for _, support in machines]).astype(np.uint8)
    out = np.full(len(rows), np.nan)
    with single_blas():
        core.span_squares(gram, start, rows, support, noise, out, threads, math.inf)
    return np.split(out, start[1:-1])


def brute_force(features, rows, support):
    """The least ‖xᵢ − Σ λⱼxⱼ‖² over λ of sum 1 on the free vectors but i itself."""
    out = np.zeros(len(rows))
    for v in np.flatnonzero(support):
        others = features[[r for u, r in enumerate(rows) if support[u] == FREE and u != v]]
        if not len(others):
            out[v] = np.inf
            continue
        x, edges = features[rows[v]] - others[0], others[1:] - others[0]
        coefficients = np.linalg.lstsq(edges.T, x, rcond=None)[0]
        out[v] = np.sum((x - edges.T @ coefficients) ** 2)
    return out


@pytest.mark.parametrize("n", [2, 3, 17, 70, 130])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances_from_the_span_are_those_of_least_squares(rng, n, dtype):
    features = rng.normal(size=(n, 2 * n)).astype(dtype).astype(float)
    gram = (features @ features.T).astype(dtype)
    machines = []
    for size in (n, max(n // 2, 2), 2):
        rows = rng.permutation(n)[:size]
        support = rng.integers(0, 3, size)
        support[0] = FREE
        machines.append((rows, support))
    found = spans(gram, machines)
    room = 1e3 * n * np.finfo(dtype).eps
    for (rows, support), out in zip(machines, found):
        expected = brute_force(features, rows, support)
        np.testing.assert_allclose(out, expected, rtol=room, atol=room * 2 * n)


def test_any_number_of_threads_gives_the_same_bits(rng):
    features = rng.normal(size=(300, 20)).astype(np.float32)
    gram = features @ features.T
    machines = [(rng.permutation(300)[:150], rng.integers(0, 3, 150)) for _ in range(9)]
    one, many = (spans(gram, machines, 1e-6, threads) for threads in (1, 8))
    assert all(np.array_equal(a, b) for a, b in zip(one, many))


def test_machines_without_free_vectors_lose_their_own_part():
    gram = np.array([[2.0, 1.0], [1.0, 3.0]])
    (out,) = spans(gram, [([0, 1], [BOUNDED, NONE])])
    np.testing.assert_array_equal(out, [2.0, 0.0])


def test_a_singular_gram_matrix_is_said_to_be_so():
    (out,) = spans(-np.ones((3, 3)), [([0, 1, 2], [FREE, FREE, BOUNDED])])
    assert np.all(np.isnan(out))


def test_a_little_noise_makes_a_singular_matrix_regular(rng):
    features = rng.normal(size=(40, 3))
    gram = features @ features.T
    (out,) = spans(gram, [(np.arange(40), np.full(40, FREE))], noise=1e-12)
    assert np.all(np.abs(out) < 1e-6)


@pytest.mark.parametrize(
    "rows, support, start, what",
    [
        ([0, 2], [1, 1], [0, 2], "out of range"),
        ([0, 1], [1, 3], [0, 2], "support"),
        ([0, 1], [1, 1], [0, 1], "start"),
    ],
)
def test_bad_arrays_are_refused(rows, support, start, what):
    arrays = np.array(start), np.array(rows), np.array(support, dtype=np.uint8)
    with pytest.raises(ValueError, match=what):
        core.span_squares(np.eye(2), *arrays, 0.0, np.empty(2), 1, math.inf)
