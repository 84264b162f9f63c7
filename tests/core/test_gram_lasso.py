"""The lasso on a Gram matrix: optimality, at odd shapes, with dependent columns, growing."""

import math

import numpy as np
import pytest

from gapless._ground import core
from gapless._ground.threads import single_blas


def grown(X, y, parts=1, may_rise=None, may_fall=None):
    """The columns of X joining in some parts."""
    lasso, d = core.GramLasso(), X.shape[1]
    may_rise = np.ones(d, dtype=bool) if may_rise is None else may_rise
    may_fall = np.ones(d, dtype=bool) if may_fall is None else may_fall
    for part in np.array_split(np.arange(d), parts):
        products = np.ascontiguousarray(X[:, : part[-1] + 1].T @ X[:, part])
        lasso.grow(products, X[:, part].T @ y, may_rise[part], may_fall[part])
    return lasso


def minimise(lasso, d, y, l1, l2, gap=0.0, changes=100_000):
    l1, l2, w, gradient = np.full(d, l1), np.full(d, l2), np.empty(d), np.empty(d)
    with single_blas():
        result = lasso.solve(l1, l2, w, gradient, gap, float(y @ y), 1e-9, changes, math.inf)
    return w, gradient, result


def check_optimal(X, y, w, gradient, l1, l2, rise=True, fall=True):
    """The gradient is what it says, and within l1, or l1·sign where w is not 0."""
    scale = np.max(np.abs(X.T @ y), initial=1.0)
    np.testing.assert_allclose(gradient, X.T @ (y - X @ w), atol=1e-9 * scale)
    force = gradient - l2 * w
    np.testing.assert_allclose(force[w != 0], (l1 * np.sign(w))[w != 0], atol=1e-8 * scale)
    still = force[w == 0]
    assert np.all(still <= l1 + 1e-8 * scale if rise else True)
    assert np.all(still >= -l1 - 1e-8 * scale if fall else True)


@pytest.mark.parametrize("n, d", [(1, 1), (3, 7), (30, 17), (20, 70), (200, 150)])
@pytest.mark.parametrize("ratio", [1.0, 0.3])
def test_a_path_down_and_up_is_optimal_everywhere(rng, n, d, ratio):
    X, y = rng.normal(size=(n, d)) + rng.normal(size=(n, 1)), rng.normal(size=n)
    lasso = grown(X, y, parts=min(3, d))
    largest = np.max(np.abs(X.T @ y)) / ratio
    down = np.geomspace(largest, 1e-3 * largest, 12)
    for strength in [*down, *down[::-3]]:
        l1, l2 = strength * ratio, strength * (1 - ratio)
        w, gradient, (_, converged) = minimise(lasso, d, y, l1, l2)
        assert converged
        check_optimal(X, y, w, gradient, l1, l2)


def test_dependent_columns_take_turns(rng):
    base = rng.normal(size=(25, 6))
    X = np.hstack([base, base[:, :3], base @ rng.normal(size=(6, 8)), np.zeros((25, 1))])
    y = rng.normal(size=25)
    lasso, d = grown(X, y), X.shape[1]
    for strength in np.geomspace(1.0, 1e-4, 20) * np.max(np.abs(X.T @ y)):
        w, gradient, (_, converged) = minimise(lasso, d, y, strength, 0.0)
        assert converged and np.count_nonzero(w) <= 6
        check_optimal(X, y, w, gradient, strength, 0.0)


def test_signs_are_respected(rng):
    X, y = rng.normal(size=(40, 15)), rng.normal(size=40)
    never = np.zeros(15, dtype=bool)
    lasso = grown(X, y, may_fall=never)
    for strength in (5.0, 1.0, 0.1):
        w, gradient, (_, converged) = minimise(lasso, 15, y, strength, 0.0)
        assert converged and np.all(w >= 0)
        check_optimal(X, y, w, gradient, strength, 0.0, fall=False)


@pytest.mark.parametrize("l2", [0.0, 0.7])
def test_the_gap_at_which_it_stops_bounds_the_excess(rng, l2):
    X, y = rng.normal(size=(30, 50)), rng.normal(size=30)

    def objective(w):
        return 0.5 * np.sum((y - X @ w) ** 2) + 0.5 * np.abs(w).sum() + 0.5 * l2 * w @ w

    best = objective(minimise(grown(X, y), 50, y, 0.5, l2)[0])
    for gap in (1.0, 0.1, 1e-3):
        w = minimise(grown(X, y), 50, y, 0.5, l2, gap)[0]
        assert objective(w) - best <= gap * (1 + 1e-9)


def test_it_goes_back_to_what_was_saved(rng):
    X, y = rng.normal(size=(30, 20)), rng.normal(size=30)
    lasso = grown(X[:, :15], y)
    first = minimise(lasso, 15, y, 2.0, 0.1)[0]
    lasso.save()
    minimise(lasso, 15, y, 0.01, 0.05)
    lasso.grow(X.T @ X[:, 15:], X[:, 15:].T @ y, np.ones(5, bool), np.ones(5, bool))
    lasso.restore()
    w, gradient, (_, converged) = minimise(lasso, 20, y, 2.0, 0.1)
    assert converged
    check_optimal(X, y, w, gradient, 2.0, 0.1)
    if not np.any(w[15:]):
        np.testing.assert_allclose(w[:15], first, atol=1e-10)


def test_too_few_changes_are_said(rng):
    X, y = rng.normal(size=(30, 20)), rng.normal(size=30)
    assert minimise(grown(X, y), 20, y, 1e-3, 0.0, changes=0)[2][1] is False


def test_wrong_shapes_are_refused(rng):
    lasso = core.GramLasso()
    with pytest.raises(ValueError, match="products"):
        lasso.grow(np.eye(3), np.zeros(2), np.ones(2, bool), np.ones(2, bool))
    with pytest.raises(ValueError, match="one entry per feature"):
        minimise(lasso, 3, np.zeros(3), 1.0, 0.0)
