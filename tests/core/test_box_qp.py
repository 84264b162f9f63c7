"""The compiled coordinate descent in a box: arrays in, arrays out."""

import time

import numpy as np
import pytest
import scipy.sparse as sp

from gapless._ground import core
from gapless._ground.design import Design
from gapless._ground.interrupt import TimeLimit

MANY = 10**12  # visits, more than any test takes


def make_task(
    X,
    rng,
    *,
    sigma=0.0,
    gap=1e-12,
    epochs=10_000,
    absolute=0.0,
    quadratic=0.5,
    seed=0,
    visits=MANY,
):
    """One problem on X; theta and w start at 0."""
    n, d = X.shape
    box = (rng.normal(size=n), np.full(n, quadratic), -rng.uniform(0.5, 2, n), rng.uniform(0, 2, n))
    moving = (np.zeros(n), np.zeros(d), 0.0, sigma, np.inf)
    return (rng.uniform(0.5, 2, d), box, absolute, *moving, gap, epochs, seed, visits)


def descend(X, tasks, threads=1, deadline=np.inf):
    rows = Design(X).rows_view()
    return core.box_descent(rows, X.shape[1], tasks, threads, deadline)


def copy(task):
    return (*task[:3], task[3].copy(), task[4].copy(), *task[5:])


def violations(X, task, b):
    """How far each θ is from where its slope would put it."""
    _, (linear, quadratic, lower, upper), absolute, theta, w = task[:5]
    slope = X @ w + b + linear + quadratic * theta
    up = np.where(theta < upper, -slope - np.where(theta >= 0, absolute, -absolute), 0)
    down = np.where(theta > lower, slope + np.where(theta > 0, absolute, -absolute), 0)
    return np.maximum(np.maximum(up, down), 0)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (1, 1), (5, 0), (7, 3), (40, 5), (9, 30)])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("absolute", [0.0, 0.3])
def test_every_coordinate_ends_where_its_slope_puts_it(shape, kind, dtype, absolute, rng):
    X = (rng.normal(size=shape) * (rng.random(shape) < 0.7)).astype(dtype)
    task = make_task(X, rng, absolute=absolute)
    given = sp.csr_matrix(X) if kind == "sparse" else X
    [(gap, epochs, b, sigma, _)] = descend(given, [task])
    assert gap <= 1e-12 and epochs <= 10_000 and (b, sigma) == (0.0, 0.0)
    # A sample adds violation²/(2·curvature) to the gap, and its curvature is at most this.
    curvature = 0.5 + np.max((X.astype(float) ** 2) @ task[0], initial=0.0)
    assert np.max(violations(X.astype(float), task, 0.0), initial=0.0) <= np.sqrt(2e-12 * curvature)
    w = task[0] * (X.astype(float).T @ task[3])
    np.testing.assert_allclose(task[4], w, atol=1e-12 * (1 + np.abs(w).max(initial=0.0)))


def test_a_free_bias_makes_the_dual_sum_vanish(rng):
    X = rng.normal(size=(50, 4))
    task = make_task(X, rng, sigma=1.0, quadratic=0.0)
    [(gap, _, b, _, _)] = descend(X, [task])
    assert gap <= 1e-12
    assert abs(task[3].sum()) <= 1e-5
    assert violations(X, task, b).max() <= 1e-4


def test_the_bias_moves_until_bounds_balance(rng):
    # All θ end at a bound, where no single slope would show that their sum is not 0.
    X = np.zeros((5, 1))
    linear, width = np.array([-1.0, -1, -1, 1, 1]), np.array([1.0, 1, 1, 1, 2])
    lower, upper = np.where(linear > 0, -width, 0.0), np.where(linear > 0, 0.0, width)
    moving = (np.zeros(5), np.zeros(1), 0.0, 1.0, np.inf)
    task = (np.ones(1), (linear, np.zeros(5), lower, upper), 0.0, *moving, 1e-10, 1000, 0, MANY)
    [(gap, _, b, _, _)] = descend(X, [task])
    assert gap <= 1e-10
    assert task[3].tolist() == [1, 1, 1, -1, -2]
    assert -1 <= b <= 1


def test_several_problems_have_the_same_bits_on_any_number_of_threads(rng):
    X = sp.random_array((300, 40), density=0.2, rng=rng, format="csr")
    tasks = [make_task(X, rng, sigma=0.1 * (k % 2), gap=1e-9, seed=k) for k in range(7)]
    alone = [copy(task) for task in tasks]
    expected = [descend(X, [task])[0] for task in alone]
    for threads in (1, 2, 3, 8):
        together = [copy(task) for task in tasks]
        assert descend(X, together, threads) == expected
        for one, other in zip(alone, together):
            assert one[3].tobytes() == other[3].tobytes()
            assert one[4].tobytes() == other[4].tobytes()


def test_the_duality_gap_is_of_the_order_of_its_estimate(rng):
    # Each sample's share is taken when it is visited; the later steps of the epoch change it.
    X = rng.normal(size=(200, 10))
    for target in (1e-2, 1e-5, 1e-8):
        task = make_task(X, rng, gap=target)
        [(gap, *_)] = descend(X, [task])
        _, (linear, quadratic, lower, upper), _, theta, w = task[:5]
        z = X @ w + linear
        best = np.clip(-z / quadratic, lower, upper)
        true = np.sum((theta - best) * (z + 0.5 * quadratic * (theta + best)))
        assert gap <= target
        assert 0 <= true <= 100 * target


def test_a_descent_ends_with_the_epoch_in_which_its_visits_are_used_up(rng):
    X = rng.normal(size=(30, 5))
    for passes in (1, 2, 3):
        # Nothing is left out before the second epoch, so the first two visit every row.
        [(_, epochs, *_)] = descend(X, [make_task(X, rng, gap=0.0, visits=30 * passes - 29)])
        assert epochs == passes if passes < 3 else epochs >= passes


def test_the_deadline_ends_a_long_descent(rng):
    X = rng.normal(size=(3000, 200))
    task = make_task(X, rng, gap=0.0, epochs=10**9, quadratic=0.0)
    with pytest.raises(TimeLimit):
        descend(X, [task], deadline=time.monotonic() + 0.05)


def test_arrays_of_the_wrong_length_are_refused(rng):
    X = rng.normal(size=(6, 3))
    task = make_task(X, rng)
    with pytest.raises(ValueError, match="one entry per row of X"):
        descend(X, [(*task[:3], np.zeros(5), *task[4:])])
    with pytest.raises(ValueError, match="one entry per column of X"):
        descend(X, [(np.ones(2), *task[1:])])
