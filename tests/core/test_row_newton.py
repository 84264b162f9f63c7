"""Newton's method by passes over the rows, in the core, reaches what the Python solver does."""

import math

import numpy as np
import pytest

from gapless._ground import core
from gapless._ground.design import Design
from gapless._ground.threads import threads
from gapless.losses import Gamma, Logistic, Poisson
from gapless.penalties import L2
from gapless.problem import Parameters, Problem
from gapless.solvers import row_newton, solve

LOSSES = [Logistic(), Poisson(), Gamma()]


def problem_of(rng, loss, n=150, d=4, *, l2=0.5, weights=None, fit_bias=True, dtype=float):
    X = rng.normal(size=(n, d)) * rng.uniform(0.1, 10, d) + rng.normal(size=d)
    z = X @ (rng.normal(size=d) / (np.std(X, axis=0) * math.sqrt(d)))
    z += rng.normal(size=n)
    y = np.where(z > 0, 1.0, -1.0)
    if not isinstance(loss, Logistic):
        y = rng.poisson(np.exp(z)) + (0.0 if isinstance(loss, Poisson) else 0.1)
    weights = np.ones(n) if weights is None else weights
    return Problem(Design(X.astype(dtype)), y, loss, L2(l2), weights, fit_bias)


def last_point(problem, start=None):
    start = problem.null if start is None else start
    return list(row_newton.row_newton(problem, start))[-1]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("fit_bias", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_core_reaches_the_optimum_of_the_python_solver(rng, loss, fit_bias, dtype):
    weights = rng.integers(0, 4, 150).astype(float)
    problem = problem_of(rng, loss, weights=weights, fit_bias=fit_bias, dtype=dtype)
    assert row_newton.is_taken(problem)
    point = last_point(problem)
    expected = solve(problem, "newton_cholesky", tol=1e-14)
    scale = np.max(np.abs(expected.parameters.w))
    np.testing.assert_allclose(point.w, expected.parameters.w, atol=1e-7 * scale)
    assert point.primal == pytest.approx(problem.primal(point.w, point.b), rel=1e-12)
    np.testing.assert_allclose(point.theta, -problem.derivative(point.z), atol=1e-10)
    np.testing.assert_allclose(
        point.product, problem.design.transposed_times(point.theta), atol=1e-7 * problem.scale
    )


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_a_sample_of_the_rows_is_a_start_and_not_an_end(rng, loss):
    problem = problem_of(rng, loss, n=9000, d=3, l2=1e-3)
    index = np.arange(row_newton.SAMPLE_STEP // 2, problem.n, row_newton.SAMPLE_STEP)
    assert len(index) >= row_newton.FEWEST_ROWS
    found = list(row_newton.row_newton(problem, problem.null))
    assert found[0].primal < problem.primal(problem.null.w, problem.null.b)
    expected = solve(problem, "newton_cholesky", tol=1e-14).parameters
    np.testing.assert_allclose(found[-1].w, expected.w, atol=1e-8 * np.max(np.abs(expected.w)))


def test_threads_do_not_change_a_bit(rng):
    problem, found = problem_of(rng, Poisson(), n=20_000, d=12), []
    for count in (1, 3):
        with threads(count):
            found.append(last_point(problem))
    assert np.array_equal(found[0].w, found[1].w) and np.array_equal(found[0].z, found[1].z)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_every_step_from_far_away_brings_the_objective_down(rng, loss):
    problem = problem_of(rng, loss, l2=1e-3)
    start = Parameters(np.full(problem.d, 2.0) / np.std(problem.design.X, axis=0), np.array(-5.0))
    found = [point.primal for point in row_newton.row_newton(problem, start)]
    assert len(found) > 3
    assert np.all(np.diff(found) <= 1e-12 * found[0])
    assert found[-1] == pytest.approx(last_point(problem).primal, rel=1e-9)


def test_columns_that_no_penalty_holds_apart_are_left_to_the_python_solver(rng):
    problem = problem_of(rng, Poisson(), l2=0.0)
    X = np.column_stack([problem.design.X, np.full(problem.n, 7.0)])
    constant = Problem(Design(X), problem.y, Poisson(), L2(0.0), problem.weights)
    assert len(list(row_newton.row_newton(constant, constant.null))) == 1
    found = solve(constant, "newton")
    assert found.status == "optimal" and found.solver == "newton_cholesky"
    assert found.primal == pytest.approx(solve(problem, "newton").primal, rel=1e-9)


@pytest.mark.parametrize(
    "change, said",
    [
        ({"X": np.ones((6, 2), order="F")}, "C order"),
        ({"center": np.ones(3)}, "center must have one entry per column"),
        ({"y": np.ones(5)}, "one entry per row"),
        ({"weights": np.ones(5)}, "one entry per row"),
        ({"l2": np.ones(3)}, "one entry per column"),
    ],
)
def test_wrong_arrays_are_refused(change, said):
    given = {"X": np.ones((6, 2)), "center": None, "y": np.ones(6), "weights": None}
    given |= {"l2": np.ones(2)} | change
    with pytest.raises(ValueError, match=said):
        core.RowNewton(core.SmoothLoss.poisson, *given.values(), True, 1.0)
