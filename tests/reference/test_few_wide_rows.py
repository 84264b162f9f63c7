"""Few rows with many features: a short descent in the row space begins for other solvers."""

import numpy as np
import pytest

import gapless
from gapless._ground.design import Design
from gapless._ground.interrupt import time_limit
from gapless.losses import by_name
from gapless.penalties import L2
from gapless.problem import Problem
from gapless.solvers import solve

NAMES = {"hinge": "augmented_lagrangian", "squared_hinge": "newton"}


def separable(rng, loss, l2):
    """Ten factors and noise. With hardly a penalty Newton's method alone may take 500 steps."""
    X = 3 * rng.normal(size=(40, 10)) @ rng.normal(size=(10, 400)) + rng.normal(size=(40, 400))
    y = np.where(X[:, :5].sum(axis=1) + 0.1 * rng.normal(size=40) > 0, 1.0, -1.0)
    return Problem(Design(X), y, by_name(loss), L2(l2), np.ones(40))


@pytest.mark.parametrize("l2", [1e4, 100.0])
@pytest.mark.parametrize("loss", NAMES)
def test_the_solution_is_that_of_the_solver_alone(rng, loss, l2):
    problem = separable(rng, loss, l2)
    alone = solve(problem, NAMES[loss], tol=1e-13)
    found = solve(problem, tol=1e-13)
    assert found.solver == alone.solver
    size = np.max(np.abs(alone.parameters.w))
    np.testing.assert_allclose(found.parameters.w, alone.parameters.w, atol=1e-6 * size)
    assert found.gap <= 1e-9 * found.primal


def test_separable_rows_take_few_steps(rng):
    found = solve(separable(rng, "squared_hinge", 1e-4), tol=1e-12)
    assert found.status == "optimal"
    assert found.trace.steps < 100


@pytest.mark.parametrize("max_iter", [0, 1, 3])
def test_rounds_of_the_descent_count_as_steps(rng, max_iter):
    problem = separable(rng, "squared_hinge", 0.01)
    found = solve(problem, tol=1e-14, max_iter=max_iter)
    assert found.status == "max_iter"
    assert found.trace.steps == max_iter


def test_a_time_limit_that_is_over_is_said(rng):
    problem = separable(rng, "squared_hinge", 0.01)
    with time_limit(1e-9):
        assert solve(problem, tol=1e-14).status == "time_limit"


def test_a_start_of_the_caller_is_not_replaced(rng):
    problem = separable(rng, "hinge", 1.0)
    optimal = solve(problem, tol=1e-9)
    again = solve(problem, start=optimal.parameters, tol=1e-6)
    assert again.trace.steps == 0


def test_several_classes_share_the_row_space(rng):
    X = rng.normal(size=(45, 300))
    y = np.argmax(X[:, :3], axis=1)
    model = gapless.LinearSVC(C=10.0).fit(X, y)
    assert model.certificate_.kind == "optimal"
    for k in range(3):
        one = gapless.LinearSVC(C=10.0).fit(X, y == k)
        np.testing.assert_allclose(model.coef_[k], one.coef_[0], atol=1e-9)
