"""Duals of kernel machines: against SciPy's optimiser, against LIBSVM, whole and by parts."""

import os
import signal
import threading
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from gapless._ground import core
from gapless._ground.interrupt import time_limit
from gapless.kernels import by_name
from gapless.problem.kernel_matrix import KernelMatrix
from gapless.solvers import smo
from gapless.solvers.smo import BoxProblem, solve_box

GAMMA = 0.3


def two_classes(n, rng, noise=0.7):
    X = rng.normal(size=(n, 3))
    return X, np.where(X[:, 0] * X[:, 1] + noise * rng.normal(size=n) > 0, 1.0, -1.0)


def matrix_of(X, dtype=np.float64, **limits):
    return KernelMatrix(by_name("rbf", gamma=GAMMA), X, dtype=dtype, **limits)


def soft_margin(y, C, **more):
    return BoxProblem(-y, np.minimum(C * y, 0.0), np.maximum(C * y, 0.0), **more)


def objective(K, problem, theta):
    return 0.5 * theta @ K @ theta + problem.linear @ theta + np.sum(problem.absolute * abs(theta))


# ---- an independent optimiser --------------------------------------------------------------------


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("absolute", [0.0, 0.2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_minimum_is_that_of_a_general_optimiser(groups, absolute, dtype, rng):
    n = 14
    K = matrix_of(rng.normal(size=(n, 3))).whole()
    label = rng.permutation(np.arange(n) % groups)
    start = rng.uniform(-0.4, 0.4, n)
    lower = np.minimum(start, 0) - rng.uniform(0, 1, n)
    upper = np.maximum(start, 0) + rng.uniform(0, 1, n)
    problem = BoxProblem(rng.normal(size=n), lower, upper, absolute, groups=label, start=start)
    X = np.linalg.cholesky(K + 1e-12 * np.eye(n))
    matrix = KernelMatrix(by_name("linear"), X, dtype=dtype)
    [solution] = solve_box(matrix, [problem], tol=1e-9)
    assert solution.status == "optimal" and solution.violation <= 1e-9
    # |θ| as the sum of two parts of θ makes the objective smooth.
    ends = np.array([label == g for g in range(groups)], float)
    sums = ends @ start
    twice = np.hstack([ends, -ends])
    reference = minimize(
        lambda v: (
            objective(K, problem, v[:n] - v[n:])
            + absolute * (v.sum() - np.abs(v[:n] - v[n:]).sum())
        ),
        np.r_[np.maximum(start, 0), np.maximum(-start, 0)],
        jac=lambda v: (
            np.tile(K @ (v[:n] - v[n:]) + problem.linear, 2) * np.repeat([1.0, -1.0], n) + absolute
        ),
        bounds=[(0, max(u, 0)) for u in upper] + [(0, max(-u, 0)) for u in lower],
        constraints=[LinearConstraint(twice, sums, sums)],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    reached = objective(K, problem, solution.theta)
    assert reference.fun - 1e-7 <= reached <= reference.fun + 1e-9
    np.testing.assert_allclose(ends @ solution.theta, sums, atol=1e-12)
    np.testing.assert_allclose(solution.gradient, K @ solution.theta + problem.linear, atol=1e-9)


# ---- LIBSVM --------------------------------------------------------------------------------------


def decisions(K, theta, bias):
    return K @ theta + bias


@pytest.mark.parametrize("C", [0.5, 50.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_of_the_soft_margin_are_those_of_libsvm(C, dtype, rng):
    X, y = two_classes(150, rng)
    K = matrix_of(X).whole()
    [solution] = solve_box(matrix_of(X, dtype), [soft_margin(y, C)], tol=1e-8)
    peer = SVC(C=C, gamma=GAMMA, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(
        decisions(K, solution.theta, solution.bias), peer.decision_function(X), atol=1e-3
    )
    assert solution.violation <= 1e-8


def test_scores_of_regression_are_those_of_libsvm(rng):
    X, y = two_classes(120, rng)
    y = y + X[:, 2]
    K, limit = matrix_of(X).whole(), np.full(120, 5.0)
    problem = BoxProblem(-y, -limit, limit, absolute=0.1)
    [solution] = solve_box(matrix_of(X, np.float32), [problem], tol=1e-8)
    peer = SVR(C=5.0, epsilon=0.1, gamma=GAMMA, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(
        decisions(K, solution.theta, solution.bias), peer.predict(X), atol=1e-3
    )
    # The same problem with every row twice has the same solution.
    zero = np.zeros(120)
    twice = BoxProblem(
        np.r_[0.1 - y, -0.1 - y],
        np.r_[zero, -limit],
        np.r_[limit, zero],
        rows=np.tile(np.arange(120), 2),
    )
    [other] = solve_box(matrix_of(X, np.float32), [twice], tol=1e-8)
    np.testing.assert_allclose(other.theta[:120] + other.theta[120:], solution.theta, atol=1e-4)


def test_two_groups_give_the_scores_of_nu_svc(rng):
    X, y = two_classes(100, rng)
    K, nu = matrix_of(X).whole(), 0.4
    start = np.zeros(100)
    for sign in (1.0, -1.0):
        of, left = np.flatnonzero(y == sign), 0.5 * nu * 100
        start[of] = sign * np.clip(left - np.arange(len(of)), 0, 1)
    problem = BoxProblem(
        np.zeros(100),
        np.minimum(y, 0.0),
        np.maximum(y, 0.0),
        groups=(y < 0).astype(np.int64),
        start=start,
    )
    [solution] = solve_box(matrix_of(X), [problem], tol=1e-8)
    above, below = solution.bias
    b, rho = 0.5 * (above + below), 0.5 * (below - above)
    peer = NuSVC(nu=nu, gamma=GAMMA, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(
        decisions(K, solution.theta, b) / rho, peer.decision_function(X), atol=1e-3
    )


def test_two_groups_on_the_same_rows_give_nu_svr(rng):
    X, y = two_classes(80, rng)
    y = y + X[:, 2]
    C, nu, n = 2.0, 0.5, 80
    first = np.clip(0.5 * C * nu * n - C * np.arange(n), 0, C)
    problem = BoxProblem(
        np.r_[-y, -y],
        np.r_[np.zeros(n), np.full(n, -C)],
        np.r_[np.full(n, C), np.zeros(n)],
        rows=np.tile(np.arange(n), 2),
        groups=np.repeat([0, 1], n),
        start=np.r_[first, -first],
    )
    [solution] = solve_box(matrix_of(X), [problem], tol=1e-8)
    theta = solution.theta[:n] + solution.theta[n:]
    peer = NuSVR(C=C, nu=nu, gamma=GAMMA, tol=1e-8).fit(X, y)
    scores = decisions(matrix_of(X).whole(), theta, solution.bias.mean())
    np.testing.assert_allclose(scores, peer.predict(X), atol=1e-3)


def test_one_group_with_a_sum_gives_the_one_class_machine(rng):
    X = rng.normal(size=(90, 3))
    start = np.clip(0.3 * 90 - np.arange(90), 0, 1)
    problem = BoxProblem(np.zeros(90), np.zeros(90), np.ones(90), start=start)
    [solution] = solve_box(matrix_of(X), [problem], tol=1e-8)
    peer = OneClassSVM(nu=0.3, gamma=GAMMA, tol=1e-8).fit(X)
    scores = decisions(matrix_of(X).whole(), solution.theta, solution.bias)
    np.testing.assert_allclose(scores, peer.decision_function(X), atol=1e-3)


# ---- by parts, together, from a start ------------------------------------------------------------


@pytest.fixture
def small_parts(monkeypatch):
    """Cut even small problems into parts."""
    for name, value in {"WHOLE": 50, "FIRST_ROWS": 40, "MOST_ROWS": 120}.items():
        monkeypatch.setattr(smo, name, value)


@pytest.mark.parametrize("tol", [1e-3, 1e-8])
def test_parts_reach_the_same_solution(tol, small_parts, rng):
    X, y = two_classes(600, rng)
    K = matrix_of(X).whole()
    [solution] = solve_box(matrix_of(X, np.float32), [soft_margin(y, 3.0)], tol=tol)
    assert solution.status == "optimal" and solution.violation <= tol
    gradient = K @ solution.theta - y
    np.testing.assert_allclose(solution.gradient, gradient, atol=1e-10)
    peer = SVC(C=3.0, gamma=GAMMA, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(
        decisions(K, solution.theta, solution.bias), peer.decision_function(X), atol=5 * tol + 1e-3
    )


@pytest.mark.parametrize("is_noise", [False, True])
def test_the_whole_matrix_is_computed_where_most_rows_are_support_vectors(
    is_noise, small_parts, monkeypatch, rng
):
    monkeypatch.setattr(smo, "MOST_ROWS", 300)
    X, y = rng.standard_normal((300, 3)), rng.choice([-1.0, 1.0], 300)
    X[:, 0] += 0.0 if is_noise else 3 * y
    matrix = matrix_of(X, np.float32)
    [solution] = solve_box(matrix, [soft_margin(y, 3.0)], tol=1e-6)
    assert solution.status == "optimal" and solution.violation <= 1e-6
    assert (matrix._whole is not None) == is_noise
    gradient = matrix_of(X).whole() @ solution.theta - y
    np.testing.assert_allclose(solution.gradient, gradient, atol=1e-10)


def test_parts_of_groups_and_of_rows_that_come_twice(small_parts, rng):
    X, y = two_classes(200, rng)
    first = np.clip(50.0 - np.arange(200), 0, 1)
    problem = BoxProblem(
        np.r_[-y, -y],
        np.r_[np.zeros(200), -np.ones(200)],
        np.r_[np.ones(200), np.zeros(200)],
        rows=np.tile(np.arange(200), 2),
        groups=np.repeat([0, 1], 200),
        start=np.r_[first, -first],
    )
    [solution] = solve_box(matrix_of(X, np.float32), [problem], tol=1e-6)
    assert solution.status == "optimal"
    np.testing.assert_allclose(solution.theta[:200].sum(), 50, atol=1e-9)
    np.testing.assert_allclose(solution.theta[200:].sum(), -50, atol=1e-9)


def test_a_memory_limit_makes_parts_smaller(small_parts, rng):
    X, y = two_classes(300, rng)
    limited = matrix_of(X, np.float32, memory_limit=4 * 60**2)
    [solution] = solve_box(limited, [soft_margin(y, 1.0)], tol=1e-3)
    assert solution.status == "optimal"


def test_problems_on_one_matrix_do_not_know_of_each_other(rng):
    X, y = two_classes(120, rng)
    rows = [np.sort(rng.choice(120, 50, replace=False)) for _ in range(4)]
    problems = [soft_margin(y[some], 2.0, rows=some) for some in rows]
    together = solve_box(matrix_of(X, np.float32), problems, tol=1e-4)
    for problem, solution in zip(problems, together):
        [alone] = solve_box(matrix_of(X, np.float32), [problem], tol=1e-4)
        assert np.array_equal(alone.theta, solution.theta)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_rows_computed_from_few_features_are_those_of_the_matrix(kernel, monkeypatch, rng):
    X, y = two_classes(150, rng)
    some = [np.sort(rng.choice(150, 70, replace=False)) for _ in range(3)]
    problems = [soft_margin(y[rows], 20.0, rows=rows) for rows in some]
    matrix = KernelMatrix(by_name(kernel, gamma=GAMMA, coef0=1.0), X, dtype=np.float32)
    stored = solve_box(matrix, problems, tol=1e-5)
    monkeypatch.setattr(smo, "WHOLE", 100)
    monkeypatch.setattr(smo.core, "sum_descent", None)  # would be called for a stored matrix
    for one, other in zip(stored, solve_box(matrix, problems, tol=1e-5)):
        assert other.status == "optimal" and other.violation <= 1e-5
        np.testing.assert_allclose(other.gradient + other.bias, one.gradient + one.bias, atol=1e-3)


def test_a_solution_is_a_start_that_needs_no_step(rng):
    X, y = two_classes(100, rng)
    [solution] = solve_box(matrix_of(X), [soft_margin(y, 1.0)], tol=1e-6)
    [again] = solve_box(matrix_of(X), [soft_margin(y, 1.0, start=solution.theta)], tol=1e-6)
    assert again.steps == 0 and np.array_equal(again.theta, solution.theta)


# ---- odd problems and early ends -----------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1])
def test_nothing_can_move_in_a_problem_of_one_row(n):
    matrix = matrix_of(np.zeros((n, 2)))
    [solution] = solve_box(matrix, [BoxProblem(np.ones(n), -np.ones(n), np.ones(n))], tol=1e-3)
    assert solution.status == "optimal" and not np.any(solution.theta)


def test_a_single_class_stays_at_zero(rng):
    X = rng.normal(size=(20, 2))
    [solution] = solve_box(matrix_of(X), [soft_margin(np.ones(20), 1.0)], tol=1e-3)
    assert solution.status == "optimal" and not np.any(solution.theta)


def test_boxes_without_width_hold_their_variables(rng):
    X, y = two_classes(60, rng)
    weights = np.arange(60) % 3 > 0
    end = y * weights
    some = BoxProblem(-y, np.minimum(end, 0.0), np.maximum(end, 0.0))
    [solution] = solve_box(matrix_of(X), [some], tol=1e-6)
    assert not np.any(solution.theta[~weights])
    [without] = solve_box(matrix_of(X[weights]), [soft_margin(y[weights], 1.0)], tol=1e-6)
    np.testing.assert_allclose(solution.bias, without.bias, atol=1e-5)


def test_an_indefinite_kernel_ends_with_an_honest_status(rng):
    X, y = two_classes(80, rng)
    matrix = KernelMatrix(by_name("sigmoid", gamma=1.0, coef0=1.0), X)
    [solution] = solve_box(matrix, [soft_margin(y, 10.0)], tol=1e-3)
    assert solution.status in ("optimal", "stalled")
    assert (solution.status == "optimal") == (solution.violation <= 1e-3)


def test_a_hard_margin_on_equal_rows_is_unbounded():
    X, y = np.zeros((2, 1)), np.array([1.0, -1.0])
    [solution] = solve_box(matrix_of(X), [soft_margin(y, np.inf)], tol=1e-3)
    assert solution.status == "unbounded"


@pytest.fixture
def ctrl_c(monkeypatch):
    """Sends Ctrl-C in a tenth of a second of compiled calls.

    A process in the background would not hear it.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))

    def timed(whole):
        def call(*operands):
            if timer.ident is None:
                timer.start()
            return whole(*operands)

        return call

    for name in ("sum_descent", "sum_descent_of_rows"):
        monkeypatch.setattr(core, name, timed(getattr(core, name)))
    yield timer
    timer.cancel()
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("rows_in_memory", [None, 50], ids=["whole", "parts"])
def test_ctrl_c_in_a_compiled_call_keeps_a_point_of_the_problem(rows_in_memory, rng, ctrl_c):
    X, y = two_classes(2500, rng)
    limit = {} if rows_in_memory is None else {"memory_limit": rows_in_memory * 8 * len(X)}
    matrix, problem = matrix_of(X, **limit), soft_margin(y, 1e6)
    [solution] = solve_box(matrix, [problem], tol=1e-10)
    assert solution.status == "interrupted"
    ctrl_c.join()
    theta = solution.theta
    assert abs(theta.sum()) <= 1e-10 * (1 + np.abs(theta).sum())
    assert np.all(problem.lower <= theta) and np.all(theta <= problem.upper)
    gradient = matrix.times(theta[:, None])[:, 0] + problem.linear
    np.testing.assert_allclose(solution.gradient, gradient, atol=1e-9 * (1 + np.abs(theta).sum()))
    [again] = solve_box(matrix, [replace(problem, start=theta)], tol=1e-10, max_iter=10)
    assert again.status == "max_iter"


def test_limits_keep_a_point_of_the_problem(rng):
    X, y = two_classes(200, rng)
    matrix, problem = matrix_of(X, np.float32), soft_margin(y, 100.0)
    [stopped] = solve_box(matrix, [problem], tol=1e-8, max_iter=20)
    assert (stopped.status, stopped.steps) == ("max_iter", 20)
    with time_limit(0.0):
        [late] = solve_box(matrix, [problem], tol=1e-8)
    assert late.status == "time_limit"
    seen = []
    [told] = solve_box(matrix, [problem], tol=1e-8, callback=lambda *a: seen.append(a) or True)
    assert told.status in ("callback", "optimal") and len(seen) == 1
    for solution in (stopped, late, told):
        assert abs(solution.theta.sum()) <= 1e-10
        assert np.all(problem.lower <= solution.theta) and np.all(solution.theta <= problem.upper)
