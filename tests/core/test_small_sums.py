"""Many small problems with a fixed sum: optimality, leaving variables out, at odd shapes."""

import math

import numpy as np
import pytest

from gapless._ground import core

TOL = 1e-9


def problems_of(rng, n, count, dtype, kink=False):
    """A Gram matrix and problems on some of its rows, at θ = 0."""
    features = rng.normal(size=(n, max(n // 2, 1)))
    gram = (features @ features.T + 0.1 * np.eye(n)).astype(dtype)
    tasks = []
    for size in rng.integers(min(2, n), n + 1, count):
        rows = np.sort(rng.permutation(n)[:size]).astype(np.int64)
        signs = np.where(np.arange(size) % 2, 1.0, -1.0)
        ends = (
            (np.full(size, -1.0), np.full(size, 1.0))
            if kink
            else (np.minimum(signs, 0.0), np.maximum(signs, 0.0))
        )
        linear = rng.normal(size=size) if kink else -signs
        absolute = np.full(size, 0.1) if kink else None
        diagonal = np.diagonal(gram)[rows].astype(float)
        moving = np.zeros(size), linear.copy()
        tasks.append((rows, diagonal, linear, absolute, *ends, None, *moving, TOL, 10**6))
    return gram, tasks


def violation(task):
    """The largest slope of a θ that may fall, less the smallest of one that may grow."""
    _, _, _, absolute, lower, upper, _, theta, gradient, *_ = task
    cost = 0.0 if absolute is None else absolute
    rise = np.where(theta < upper, gradient + np.where(theta >= 0, cost, -cost), np.inf)
    fall = np.where(theta > lower, gradient + np.where(theta > 0, cost, -cost), -np.inf)
    return fall.max() - rise.min()


def check_optimal(gram, task):
    rows, _, linear, _, lower, upper, _, theta, gradient, *_ = task
    room = 1e3 * np.finfo(float).eps * np.abs(gram).max() * max(np.abs(theta).sum(), 1.0)
    block = gram[np.ix_(rows, rows)].astype(float)
    np.testing.assert_allclose(gradient, block @ theta + linear, atol=room)
    assert abs(theta.sum()) <= 1e-12 * len(theta)
    assert np.all((lower <= theta) & (theta <= upper))
    assert violation(task) <= TOL + room


@pytest.mark.parametrize("n", [1, 2, 3, 17, 90])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kink", [False, True])
def test_every_problem_is_solved(rng, n, dtype, kink):
    gram, tasks = problems_of(rng, n, 5, dtype, kink)
    core.small_sum_descent(gram, tasks, 2, math.inf)
    for task in tasks:
        check_optimal(gram, task)


@pytest.mark.parametrize("kink", [False, True])
def test_leaving_a_variable_out_is_the_problem_without_it(rng, kink):
    gram, tasks = problems_of(rng, 25, 3, np.float64, kink)
    core.small_sum_descent(gram, tasks, 2, math.inf)
    cases = [(p, v) for p, task in enumerate(tasks) for v in range(len(task[0]))]
    which, variables = np.array(cases).T.copy()
    scores = np.empty(len(cases))
    before = [task[7].copy() for task in tasks]
    core.sum_leave_out(gram, tasks, which, variables, scores, 2, math.inf)
    assert all(np.array_equal(task[7], theta) for task, theta in zip(tasks, before))
    for (p, v), score in zip(cases, scores):
        rows, diagonal, linear, absolute, lower, upper, *_ = tasks[p]
        kept = np.delete(np.arange(len(rows)), v)
        vectors = [None if a is None else a[kept] for a in (linear, absolute, lower, upper)]
        moving = np.zeros(len(kept)), linear[kept].copy()
        rest = (rows[kept], diagonal[kept], *vectors, None, *moving, TOL, 10**6)
        core.small_sum_descent(gram, [rest], 1, math.inf)
        own = gram[rows[v], rows[kept]] @ rest[7]
        # The bias may be anywhere between the slopes of those that may grow and fall.
        cost = 0.0 if absolute is None else 0.1
        grow, slopes = rest[7] < rest[5], rest[8]
        rise = slopes[grow] + np.where(rest[7][grow] >= 0, cost, -cost)
        fall = rest[7] > rest[4]
        high = slopes[fall] + np.where(rest[7][fall] > 0, cost, -cost)
        low_b, high_b = -rise.min(initial=np.inf), -high.max(initial=-np.inf)
        assert low_b - 1e-5 <= score - own <= high_b + 1e-5


@pytest.mark.parametrize("kink", [False, True])
def test_variables_of_one_unit_leave_together(rng, kink):
    gram, tasks = problems_of(rng, 24, 3, np.float64, kink)
    # Rows 2k and 2k + 1 are the same.
    gram, units = np.ascontiguousarray(gram[::2, ::2].repeat(2, 0).repeat(2, 1)), np.arange(24) // 2
    tasks = [(t[0], np.diagonal(gram)[t[0]].astype(float), *t[2:]) for t in tasks]
    core.small_sum_descent(gram, tasks, 2, math.inf)
    cases = [(p, v) for p, task in enumerate(tasks) for v in range(len(task[0]))]
    which, variables = np.array(cases).T.copy()
    scores = np.empty(len(cases))
    core.sum_leave_out(gram, tasks, which, variables, scores, 2, math.inf, units)
    for (p, v), score in zip(cases, scores):
        rows, diagonal, linear, absolute, lower, upper, *_ = tasks[p]
        kept = np.flatnonzero(units[rows] != units[rows[v]])
        vectors = [None if a is None else a[kept] for a in (linear, absolute, lower, upper)]
        moving = np.zeros(len(kept)), linear[kept].copy()
        rest = (rows[kept], diagonal[kept], *vectors, None, *moving, TOL, 10**6)
        core.small_sum_descent(gram, [rest], 1, math.inf)
        own = gram[rows[v], rows[kept]] @ rest[7]
        slopes, cost = rest[8], 0.0 if absolute is None else 0.1
        rise = np.where(rest[7] < rest[5], slopes + np.where(rest[7] >= 0, cost, -cost), np.inf)
        fall = np.where(rest[7] > rest[4], slopes + np.where(rest[7] > 0, cost, -cost), -np.inf)
        assert -rise.min() - 1e-5 <= score - own <= -fall.max() + 1e-5


def test_any_number_of_threads_gives_the_same_bits(rng):
    gram, tasks = problems_of(rng, 60, 9, np.float32)
    copies = [tuple(a.copy() if isinstance(a, np.ndarray) else a for a in task) for task in tasks]
    core.small_sum_descent(gram, tasks, 1, math.inf)
    core.small_sum_descent(gram, copies, 8, math.inf)
    assert all(np.array_equal(a[7], b[7]) for a, b in zip(tasks, copies))
    which, variables = np.zeros(30, np.int64), np.arange(30)
    which[:] = np.argmax([len(task[0]) for task in tasks])
    one, many = np.empty(30), np.empty(30)
    core.sum_leave_out(gram, tasks, which, variables, one, 1, math.inf)
    core.sum_leave_out(gram, tasks, which, variables, many, 8, math.inf)
    assert np.array_equal(one, many)


def test_nothing_to_do(rng):
    gram, tasks = problems_of(rng, 4, 1, np.float64)
    nothing = np.empty(0, np.int64)
    core.small_sum_descent(gram, [], 1, math.inf)
    core.sum_leave_out(gram, tasks, nothing, nothing, np.empty(0), 1, math.inf)


def test_bad_arrays_are_refused(rng):
    gram, tasks = problems_of(rng, 4, 1, np.float64)
    with pytest.raises(ValueError, match="variable is out of range"):
        core.sum_leave_out(
            gram, tasks, np.zeros(1, np.int64), np.array([99]), np.empty(1), 1, math.inf
        )
    with pytest.raises(ValueError, match="one entry per row of gram"):
        core.sum_leave_out(
            *(gram, tasks, np.zeros(1, np.int64), np.zeros(1, np.int64), np.empty(1), 1, math.inf),
            np.zeros(3, np.int64),
        )
    with pytest.raises(ValueError, match="square"):
        core.small_sum_descent(gram[:2], tasks, 1, math.inf)
