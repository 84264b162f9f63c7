"""The compiled descent of one hinge for all classes: arrays in, arrays out."""

import numpy as np
import pytest

from gapless._ground import core
from gapless.losses import CrammerSinger, WestonWatkins
from gapless.models.svm.class_descent import ClassProblem

HINGES = [CrammerSinger(), WestonWatkins()]
every_hinge = pytest.mark.parametrize("loss", HINGES, ids=lambda loss: loss.name)


def make_problem(loss, n=40, K=4, dtype=np.float64, C=2.0, seed=0):
    """Overlapping classes on a Gaussian kernel, of rows that count differently."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    gram = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2)).astype(dtype)
    y = np.argmax(X @ rng.normal(size=(3, K)) + rng.normal(size=(n, K)), axis=1)
    limit = C * rng.uniform(0.5, 2, n)
    return ClassProblem(gram, y, limit, loss, K, float(limit.sum()))


def gap_of(problem, theta, b):
    """P − D of a dual point, whose feasibility is checked first."""
    box, limit = problem.loss.class_box(problem.y, problem.count), problem.limit[:, None]
    room = 1e-9 * limit
    assert np.all(theta >= -limit * box.upper - room)
    assert np.all(theta <= -limit * box.lower + room)
    np.testing.assert_allclose(theta.sum(axis=1), 0, atol=1e-10 * limit.sum())
    np.testing.assert_allclose(theta.sum(axis=0), 0, atol=1e-10 * limit.sum())
    w = problem.gram.astype(float) @ theta
    square = np.sum(theta * w)
    losses = problem.limit @ problem.loss.value(problem.y, w + b)
    return losses + square - np.sum(box.linear * theta)


@every_hinge
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("C", [1e-3, 0.1, 2.0, 20.0])
def test_descent_closes_the_gap_at_any_strength(loss, dtype, C):
    problem = make_problem(loss, dtype=dtype, C=C)
    found = problem.descend(1e-5)
    assert found.status == "optimal"
    assert gap_of(problem, found.theta, found.b) <= 1e-4 * problem.scale


@every_hinge
def test_a_start_at_the_solution_takes_few_sweeps(loss):
    problem = make_problem(loss)
    first = problem.descend(1e-4)
    again = problem.descend(1e-4, (first.theta, first.b))
    assert again.steps < 0.5 * first.steps
    np.testing.assert_allclose(again.theta, first.theta, atol=1e-2)


@every_hinge
@pytest.mark.parametrize("K", [2, 3, 17])
def test_any_number_of_classes(loss, K):
    problem = make_problem(loss, K=K)
    found = problem.descend(1e-4)
    assert gap_of(problem, found.theta, found.b) <= 1e-3 * problem.scale


@every_hinge
def test_one_row_of_one_class_stays_at_zero(loss):
    problem = ClassProblem(np.ones((1, 1)), np.array([1]), np.ones(1), loss, 3, 1.0)
    found = problem.descend(1e-3)
    assert found.theta.shape == (1, 3)
    np.testing.assert_allclose(found.theta, 0, atol=1e-12)


def test_limits_end_the_descent_with_a_dual_point():
    problem = make_problem(CrammerSinger(), n=60)
    found = problem.descend(1e-8, max_iter=2)
    assert (found.status, found.steps) == ("max_iter", 2)
    assert np.isfinite(gap_of(problem, found.theta, found.b))
    calls = []
    stopped = problem.descend(1e-12, callback=lambda trace, tol: calls.append(tol) or True)
    assert stopped.status == "callback"
    assert len(calls) == 1


def test_shapes_are_checked():
    n, K = 5, 3
    arrays = [
        np.zeros((n, n)),
        *(np.zeros((n, K)) for _ in range(4)),
        np.zeros((K, n)),
        np.zeros(K),
    ]
    numbers = (1.0, 0.1, 1e-3, 1e-3, 1, np.inf)
    core.class_descent(*arrays, *numbers)
    for k in range(6):
        wrong = arrays.copy()
        wrong[k] = np.zeros((n, K + 1))
        with pytest.raises(ValueError, match="must be"):
            core.class_descent(*wrong, *numbers)
    with pytest.raises(ValueError, match="rho must be positive"):
        core.class_descent(*arrays, 1.0, 0.0, *numbers[2:])


def test_no_rows_are_no_work():
    nothing = [
        np.zeros((0, 0)),
        *(np.zeros((0, 3)) for _ in range(4)),
        np.zeros((3, 0)),
        np.zeros(3),
    ]
    assert core.class_descent(*nothing, 1.0, 0.1, 1e-3, 1e-3, 9, np.inf)[2] == 0
