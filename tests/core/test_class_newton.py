"""Newton's method for classes in the core reaches what the Python solver does."""

import math

import numpy as np
import pytest

from gapless._ground import core
from gapless._ground.design import Design
from gapless._ground.threads import single_blas
from gapless.losses import Softmax
from gapless.penalties import L2
from gapless.problem.problem import Parameters, Problem
from gapless.solvers import class_newton, solve


def problem_of(rng, n, d, classes, *, order="C", fit_bias=True, weights=None, l2=0.5):
    X = rng.normal(size=(n, d)) * rng.uniform(0.1, 30, d) + rng.normal(size=d)
    scores = X @ rng.normal(size=(d, classes)) / np.std(X) + 2 * rng.normal(size=(n, classes))
    y = np.argmax(scores, axis=1)
    y[:classes] = np.arange(classes)
    return Problem(
        Design(np.asarray(X, order=order)),
        y,
        Softmax(),
        L2(l2),
        np.ones(n) if weights is None else weights,
        fit_bias,
        classes,
    )


def last_point(problem):
    return list(class_newton.class_newton(problem, problem.null))[-1]


# The first two factor the whole Hessian, the others a block of it: in one panel, in several, and
# after steps from gradients alone.
@pytest.mark.parametrize(
    "n, d, classes", [(60, 4, 2), (70, 5, 3), (90, 30, 5), (150, 110, 4), (300, 60, 8)]
)
@pytest.mark.parametrize("fit_bias", [True, False])
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_core_reaches_the_optimum_of_the_python_solver(rng, n, d, classes, fit_bias, order):
    weights = rng.integers(0, 4, n).astype(float)
    weights[:classes] = 1.0
    problem = problem_of(rng, n, d, classes, order=order, fit_bias=fit_bias, weights=weights)
    assert class_newton.is_taken(problem)
    point = last_point(problem)
    expected = solve(problem, "newton_cg", tol=1e-14)
    scale = np.max(np.abs(expected.parameters.w))
    np.testing.assert_allclose(point.w, expected.parameters.w, atol=1e-6 * scale)
    assert point.primal == pytest.approx(expected.primal, rel=1e-12)
    assert point.primal == pytest.approx(problem.primal(point.w, point.b), rel=1e-12)
    np.testing.assert_allclose(
        point.product,
        problem.design.transposed_times(point.theta),
        atol=1e-12 * float(np.sum(np.abs(problem.design.X))),
    )


# The second is so large that it begins with steps from gradients alone.
@pytest.mark.parametrize("n, d, classes", [(80, 40, 6), (300, 60, 8)])
def test_every_step_brings_the_objective_down(rng, n, d, classes):
    problem = problem_of(rng, n, d, classes, l2=1e-3)
    found = [point.primal for point in class_newton.class_newton(problem, problem.null)]
    assert len(found) > 3
    assert np.all(np.diff(found) <= 1e-12 * found[0])


def test_nearly_dependent_columns_are_left_to_newton_steps(rng):
    # A random walk along the columns: gradients alone would take thousands of steps.
    X = np.cumsum(rng.normal(size=(300, 60)), axis=1)
    y = np.argmax(X[:, :8] + rng.normal(size=(300, 8)), axis=1)
    problem = Problem(Design(X), y, Softmax(), L2(1e-3), np.ones(300), True, 8)
    solution = solve(problem, "newton", tol=1e-9)
    assert solution.status == "optimal"
    assert solution.trace.steps < 200


def test_a_far_away_start_leads_to_the_same_optimum(rng):
    problem = problem_of(rng, 40, 3, 3)
    found = solve(problem, "newton", Parameters(3.0 * np.eye(3), np.zeros(3)))
    assert found.status == "optimal"
    assert found.primal == pytest.approx(last_point(problem).primal, rel=1e-9)


def test_what_all_classes_share_is_taken_away_at_once(rng):
    problem = problem_of(rng, 300, 60, 8)
    start = Parameters(problem.null.w + 5.0, problem.null.b)
    points = class_newton.class_newton(problem, start)
    next(points)
    np.testing.assert_allclose(next(points).w.sum(axis=1), 0.0, atol=1e-9)


def test_a_matrix_without_a_factor_is_said_to_have_none():
    # Two equal columns and hardly a penalty: the Hessian is singular up to rounding.
    x = np.linspace(-1, 1, 20)[:, None]
    X = np.ascontiguousarray(np.hstack([x, x]))
    y = (np.arange(20) % 3 == 0).astype(np.int64)
    newton = core.ClassNewton(X, y, np.ones(20), np.full(2, 1e-14), 2, True, 1.0, True, False)
    arrays = np.zeros((2, 2)), np.zeros(2), np.empty((20, 2)), np.empty((20, 2)), np.empty((2, 2))
    with single_blas():
        primal = newton.begin(*arrays, math.inf)
        assert newton.step(*arrays, primal, math.inf)[:2] == (False, primal)


@pytest.mark.parametrize(
    "change, said",
    [
        ({"y": np.full(6, 3)}, "number the classes"),
        ({"weights": np.ones(5)}, "one entry per row"),
        ({"l2": np.ones(3)}, "one entry per column"),
    ],
)
def test_wrong_arrays_are_refused(change, said):
    given = {"y": np.zeros(6, dtype=np.int64), "weights": np.ones(6), "l2": np.ones(2)} | change
    given["y"] = given["y"].astype(np.int64)
    with pytest.raises(ValueError, match=said):
        core.ClassNewton(np.ones((6, 2)), *given.values(), 3, True, 1.0, False, False)


def test_one_column_of_scores_is_refused():
    y = np.zeros(6, dtype=np.int64)
    with pytest.raises(ValueError, match="at least two classes"):
        core.ClassNewton(np.ones((6, 2)), y, np.ones(6), np.ones(2), 1, True, 1.0, False, False)
