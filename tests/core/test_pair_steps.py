"""The compiled pair steps in a box with fixed sums: arrays in, arrays out."""

import time

import numpy as np
import pytest

from gapless._ground import core
from gapless._ground.interrupt import TimeLimit


def kernel_matrix(n, rng, dtype=np.float64, gamma=0.5):
    X = rng.normal(size=(n, 3))
    return np.exp(-gamma * ((X[:, None] - X) ** 2).sum(axis=2)).astype(dtype)


def make_task(K, rng, *, rows=None, groups=1, absolute=0.0, tol=1e-6, steps=10**6):
    """A problem with random boxes around 0, so that every group may have the sum 0."""
    m = len(K) if rows is None else len(rows)
    label = None if groups == 1 else rng.integers(max(min(groups, m), 1), size=m)
    linear = rng.normal(size=m)
    box = -rng.uniform(0, 2, m), rng.uniform(0, 2, m)
    cost = None if absolute == 0 else np.full(m, absolute)
    diagonal = np.diag(K).astype(float)[slice(None) if rows is None else rows]
    return (rows, diagonal, linear, cost, *box, label, np.zeros(m), linear.copy(), tol, steps)


def copy(task):
    return (*task[:7], task[7].copy(), task[8].copy(), *task[9:])


def descend(K, tasks, *, slot=None, threads=1, deadline=np.inf):
    return core.sum_descent(K, slot, tasks, threads, deadline)


def violation(task, may_move=slice(None)):
    """The largest slope of a θ that may fall less that of one that may grow, within a group."""
    cost, lower, upper, label, theta, gradient = task[3:9]
    cost = 0.0 if cost is None else cost
    label = np.zeros(len(theta), int) if label is None else label
    rise = np.where(theta < upper, gradient + np.where(theta >= 0, cost, -np.asarray(cost)), np.inf)
    fall = np.where(theta > lower, gradient + np.where(theta > 0, cost, -np.asarray(cost)), -np.inf)
    worst = 0.0
    for g in np.unique(label[may_move]):
        of = label[may_move] == g
        worst = max(worst, fall[may_move][of].max() - rise[may_move][of].min())
    return worst


@pytest.mark.parametrize("n", [0, 1, 2, 15, 16, 17, 100])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("absolute", [0.0, 0.3])
def test_no_pair_is_left_that_would_improve(n, dtype, groups, absolute, rng):
    K = kernel_matrix(n, rng, dtype)
    task = make_task(K, rng, groups=groups, absolute=absolute)
    [(reported, steps, status)] = descend(K, [task])
    _, _, linear, _, lower, upper, label, theta, gradient = task[:9]
    assert status == 0 and reported <= 1e-6
    assert violation(task) == pytest.approx(reported, abs=1e-15)
    assert np.all(lower <= theta) and np.all(theta <= upper)
    sums = np.bincount(np.zeros(n, int) if label is None else label, theta, minlength=groups)
    np.testing.assert_allclose(sums, 0.0, atol=1e-14 * max(steps, 1))
    np.testing.assert_allclose(gradient, K.astype(float) @ theta + linear, atol=1e-11)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_variables_stand_for_the_rows_they_name(dtype, rng):
    K = kernel_matrix(40, rng, dtype)
    rows = rng.integers(40, size=70)
    task = make_task(K, rng, rows=rows)
    [(_, _, status)] = descend(K, [task])
    assert status == 0
    direct = (None, *copy(task)[1:7], np.zeros(70), task[2].copy(), *task[9:])
    descend(np.ascontiguousarray(K[np.ix_(rows, rows)]), [direct])
    np.testing.assert_allclose(task[8], direct[8], atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_shrinking_hides_nothing(dtype, rng):
    """Most variables end at a bound, so that the set in play is cut several times."""
    n = 3000
    X = rng.normal(size=(n, 2))
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2)).astype(dtype)
    y = np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)
    box = np.minimum(y, 0.0), np.maximum(y, 0.0)
    task = (None, np.ones(n), -y, None, *box, None, np.zeros(n), -y, 1e-7, 10**6)
    [(reported, _, status)] = descend(K, [task], threads=2)
    assert status == 0 and reported <= 1e-7
    np.testing.assert_allclose(task[8], K.astype(float) @ task[7] - y, atol=1e-9)
    assert violation(task) <= 1e-7


def test_variables_without_a_row_stay_and_their_slopes_follow(rng):
    K = kernel_matrix(50, rng)
    has_row = np.arange(50) % 3 != 0
    slot = np.full(50, -1)
    slot[has_row] = rng.permutation(np.count_nonzero(has_row))
    lines = np.empty((np.count_nonzero(has_row), 50))
    lines[slot[has_row]] = K[has_row]
    task = make_task(K, rng)
    [(_, _, status)] = descend(lines, [task], slot=slot)
    assert status == 0 and violation(task, has_row) <= 1e-6
    assert not np.any(task[7][~has_row])
    np.testing.assert_allclose(task[8], K @ task[7] + task[2], atol=1e-11)


def test_same_bits_for_any_number_of_threads(rng):
    K = kernel_matrix(2500, rng, np.float32)
    tasks = [make_task(K, rng, tol=1e-3)]
    small = [np.sort(rng.choice(2500, 200, replace=False)) for _ in range(5)]
    tasks += [make_task(K, rng, rows=rows, tol=1e-5) for rows in small]
    for together in (tasks[:1], tasks):
        one, many = [copy(task) for task in together], [copy(task) for task in together]
        assert descend(K, one, threads=1) == descend(K, many, threads=8)
        for a, b in zip(one, many):
            assert np.array_equal(a[7], b[7]) and np.array_equal(a[8], b[8])


def test_steps_are_limited(rng):
    K = kernel_matrix(100, rng)
    task = make_task(K, rng, steps=7)
    [(reported, steps, status)] = descend(K, [task])
    assert (steps, status) == (7, 2)
    assert reported == pytest.approx(violation(task), abs=1e-15)


def test_indefinite_matrices_end(rng):
    A = rng.normal(size=(60, 60))
    K = A + A.T
    task = make_task(K, rng)
    [(_, _, status)] = descend(K, [task])
    assert status in (0, 1)
    np.testing.assert_allclose(task[8], K @ task[7] + task[2], atol=1e-9)
    assert np.all(task[4] <= task[7]) and np.all(task[7] <= task[5])


def test_an_objective_without_a_minimum_is_called_so():
    # Two equal rows with opposite targets, and no upper bound: a hard margin that cannot be.
    K, y = np.ones((2, 2)), np.array([1.0, -1.0])
    box = np.array([0.0, -np.inf]), np.array([np.inf, 0.0])
    task = (None, np.ones(2), -y, None, *box, None, np.zeros(2), -y, 1e-3, 1000)
    [(_, _, status)] = descend(K, [task])
    assert status == 3


def test_values_that_are_not_numbers_end_the_steps(rng):
    K = np.full((20, 20), np.nan)
    task = make_task(K, rng)
    [(_, _, status)] = descend(K, [task])
    assert status == 1
    assert np.all(task[4] <= task[7]) and np.all(task[7] <= task[5])


def test_a_passed_deadline_keeps_theta_and_gradient_together(rng):
    K = kernel_matrix(1500, rng)
    task = make_task(K, rng, tol=1e-13, steps=10**9)
    task[4][:], task[5][:] = -1e6, 1e6
    for seconds in 0.05 * 2.0 ** np.arange(10):  # a busy machine may not come to a step in time
        with pytest.raises(TimeLimit):
            descend(K, [task], deadline=time.monotonic() + seconds)
        if np.any(task[7]):
            break
    assert np.any(task[7])
    size = np.abs(K) @ np.abs(task[7])
    np.testing.assert_allclose(task[8], K @ task[7] + task[2], atol=1e-12 * size.max())


def test_arrays_that_do_not_fit_are_refused(rng):
    K = kernel_matrix(5, rng)
    task = make_task(K, rng)
    with pytest.raises(ValueError, match="one entry per variable"):
        descend(K, [(*task[:4], np.zeros(4), *task[5:])])
    with pytest.raises(ValueError, match="out of range"):
        descend(K, [(np.array([0, 1, 2, 3, 5]), *task[1:])])
    with pytest.raises(ValueError, match="square"):
        descend(K[:3], [task])
