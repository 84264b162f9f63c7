"""Held-out predictions keep their promises, for every loss with every penalty.

Those of one Newton step are compared with that step, computed the long way; how near they are to
real refits is for tests/reference.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from small_problems import LOSSES, PENALTIES, make

from gapless import losses
from gapless._ground.design import Design
from gapless._ground.threads import threads
from gapless.penalties import L1, L2, Box, ElasticNet, Group, NoPenalty, Penalty
from gapless.problem.problem import Parameters, Problem
from gapless.solvers import solve
from gapless.unseen.leave_one_out import (
    HeldOut,
    NotAvailable,
    forward,
    joint,
    leave_out,
    ridge_path,
    ridge_path_leave_out,
)
from gapless.unseen.leave_one_out._base import LARGEST_SYSTEM, refuse_large_system, whiten

SHAPES = [(24, 4), (9, 12)]
PIECEWISE_LINEAR = ("hinge", "epsilon_insensitive")
# Those of several classes with kinks have no formula: folds and refits serve them.
COMBINATIONS = [
    (loss, penalty)
    for loss in LOSSES
    for penalty in PENALTIES
    if not LOSSES[loss].has_class_box
    if loss not in PIECEWISE_LINEAR or penalty == "l2"
]
every_combination = pytest.mark.parametrize(("loss", "penalty"), COMBINATIONS)


@cache
def solved(loss, penalty, shape=SHAPES[0], seed=0, **options):
    problem, _ = make(loss, penalty, *shape, np.random.default_rng(seed), **options)
    return problem, solve(problem, tol=1e-8).parameters


def newton_step(problem, parameters, groups):
    """z of every group after one Newton step without it, in all active unknowns at once."""
    n, K = problem.n, problem.outputs or 1
    X, z = problem.design.dense(), problem.predictions(parameters.w, parameters.b)
    unknowns = [divmod(at, K) for at in np.flatnonzero(problem.penalty.active(parameters.w))]
    D = np.zeros((n, K, len(unknowns) + K * problem.fit_bias))
    for u, (j, k) in enumerate(unknowns):
        D[:, k, u] = X[:, j]
    if problem.fit_bias:
        D[:, :, len(unknowns) :] = np.eye(K)
    g = problem.derivative(z).reshape(n, K)
    A = np.empty((n, K, K))
    for k in range(K):
        along = np.broadcast_to(np.eye(K)[k], (n, K)).reshape(z.shape)
        of_loss = problem.loss.hessian_times(problem.y, z, along)
        A[:, :, k] = (problem.row_weights * of_loss).reshape(n, K)
    R = problem.penalty.hessian(parameters.w)
    held = z.reshape(n, K).copy()
    for group in np.unique(groups):
        out, rest = groups == group, groups != group
        H = np.einsum("ikp,ikl,ilq->pq", D[rest], A[rest], D[rest])
        H[: len(unknowns), : len(unknowns)] += np.diag(R) if R.ndim == 1 else R
        pull = np.einsum("ikp,ik->p", D[out], g[out])
        held[out] += D[out] @ np.linalg.lstsq(H, pull, rcond=1e-11)[0]
    return held.reshape(z.shape)


def up_to_shifts(problem, z):
    """Scores of classes without what no probability depends on."""
    return z - z.mean(axis=1, keepdims=True) if problem.loss.task == "multiclass" else z


# ---- the step ------------------------------------------------------------------------------------


@every_combination
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_it_is_the_newton_step_or_says_why_not(loss, penalty, shape):
    problem, parameters = solved(loss, penalty, shape)
    assert_newton_step(loss, penalty, problem, parameters, None)
    assert_newton_step(loss, penalty, problem, parameters, np.arange(problem.n) % 5)


def assert_newton_step(loss, penalty, problem, parameters, groups):
    """Rows, or groups, are left out by the step that follows from the loss and the penalty."""
    try:
        held = leave_out(problem, parameters, groups)
    except NotAvailable as reason:
        assert len(str(reason)) > 20
        return
    exact = loss == "squared" and penalty in ("none", "l2", "l2_free")
    assert held.z.shape == problem.predictions(parameters.w, parameters.b).shape
    assert held.leverage.shape == (problem.n,)
    assert np.all((held.leverage >= 0) & (held.leverage <= 1 + 1e-12))
    if loss in PIECEWISE_LINEAR:
        assert held.method == "span"
        return
    assert held.method == ("loo" if exact else "approximate loo")
    if np.max(held.leverage) < 0.999:
        expected = newton_step(
            problem, parameters, np.arange(problem.n) if groups is None else groups
        )
        difference = up_to_shifts(problem, held.z - expected)
        moved = np.abs(expected - problem.predictions(parameters.w, parameters.b)).max()
        # What the step starts from is a minimum up to the tolerance of the solver.
        assert np.max(np.abs(difference)) <= 1e-4 * moved


def test_most_combinations_are_available():
    # At the minimum of the perceptron loss no row has a slope or a curvature.
    chosen = [(loss, penalty) for loss, penalty in COMBINATIONS if loss != "perceptron"]
    available = 0
    for loss, penalty in chosen:
        try:
            leave_out(*solved(loss, penalty))
            available += 1
        except NotAvailable:
            pass
    assert available > 0.8 * len(chosen)


@pytest.mark.parametrize("loss", ["squared", "logistic", "huber", "softmax", "squared_hinge"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("K", [None, 3])
def test_without_a_bias_too(loss, shape, K):
    problem, parameters = solved(loss, "l2", shape, bias=False, K=K)
    held = leave_out(problem, parameters).z
    expected = newton_step(problem, parameters, np.arange(problem.n))
    np.testing.assert_allclose(held, expected, rtol=1e-4, atol=1e-4)


@every_combination
def test_groups_of_one_row_are_rows(loss, penalty):
    problem, parameters = solved(loss, penalty)
    try:
        held = leave_out(problem, parameters)
    except NotAvailable:
        return
    grouped = leave_out(problem, parameters, [f"row {i}" for i in range(problem.n)])
    np.testing.assert_allclose(grouped.z, held.z, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(grouped.leverage, held.leverage, atol=1e-8)


@every_combination
def test_sparse_and_dense_are_the_same(loss, penalty):
    problem, parameters = solved(loss, penalty, sparse=True)
    dense = replace(problem, design=Design(problem.design.dense()))
    try:
        held = leave_out(problem, parameters)
    except NotAvailable:
        with pytest.raises(NotAvailable):
            leave_out(dense, parameters)
        return
    np.testing.assert_allclose(held.z, leave_out(dense, parameters).z, rtol=1e-9, atol=1e-9)


# ---- weights -------------------------------------------------------------------------------------


@every_combination
def test_weight_two_is_the_row_twice_and_weight_zero_is_no_row(loss, penalty):
    problem, _ = make(loss, penalty, *SHAPES[0], np.random.default_rng(1))
    weights = np.arange(problem.n) % 4.0
    weighted = replace(problem, weights=weights)
    parameters = solve(weighted, tol=1e-8).parameters
    copies = np.repeat(np.arange(problem.n), weights.astype(int))
    theta = None
    if parameters.theta is not None:
        theta = (parameters.theta.T / np.maximum(weights, 1)).T[copies]
    repeated = replace(
        problem,
        design=problem.design.rows(copies),
        y=problem.y[copies],
        weights=np.ones(len(copies)),
    )
    of_copies = replace(parameters, theta=theta)
    plain = problem.predictions(parameters.w, parameters.b)[weights == 0]
    for groups in (None, np.arange(problem.n) % 7):
        groups_of_copies = None if groups is None else groups[copies]
        try:
            once = leave_out(weighted, parameters, groups)
        except NotAvailable as reason:
            with pytest.raises(NotAvailable, match=str(reason)[:20]):
                leave_out(repeated, of_copies, groups_of_copies)
            continue
        often = leave_out(repeated, of_copies, groups_of_copies)
        np.testing.assert_allclose(often.z, once.z[copies], rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(often.leverage, once.leverage[copies], atol=1e-8)
        np.testing.assert_array_equal(once.z[weights == 0], plain)
        assert not once.leverage[weights == 0].any()


@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge", "softmax"])
def test_the_order_of_the_rows_does_not_matter(loss):
    problem, parameters = solved(loss, "l2", SHAPES[1])
    order = np.random.default_rng(3).permutation(problem.n)
    moved = replace(
        problem,
        design=problem.design.rows(order),
        y=problem.y[order],
        weights=problem.weights[order],
    )
    held = leave_out(problem, parameters).z
    again = leave_out(moved, replace(parameters, theta=parameters.theta[order])).z
    np.testing.assert_allclose(again, held[order], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("loss", ["squared", "logistic", "softmax", "hinge"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_same_bits_on_any_number_of_threads(loss, shape):
    problem, parameters = solved(loss, "l2", shape, seed=2)
    try:
        first = leave_out(problem, parameters).z
    except NotAvailable:
        return
    for count in (1, 3):
        with threads(count):
            np.testing.assert_array_equal(leave_out(problem, parameters).z, first)


def test_least_squares_need_no_exact_fit():
    """Coefficients that were stored in float32 give the same held-out predictions."""
    for shape in SHAPES:
        problem, parameters = solved("squared", "l2", shape)
        rounded = Parameters(parameters.w.astype(np.float32).astype(float), parameters.b + 1e-5)
        expected = leave_out(problem, parameters).z
        np.testing.assert_allclose(leave_out(problem, rounded).z, expected, rtol=1e-9, atol=1e-9)


# ---- refusals ------------------------------------------------------------------------------------


def refused(problem, groups=None):
    with pytest.raises(NotAvailable) as error:
        leave_out(problem, solve(problem).parameters, groups)
    return str(error.value)


def regression(n, d, penalty, loss=losses.Squared(), seed=0):  # noqa: B008 - losses are values
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = X[:, 0] + rng.normal(size=n)
    y = np.where(y > 0, 1.0, -1.0) if loss.task == "binary" else y
    return Problem(Design(X), y, loss, penalty, np.ones(n))


def test_an_active_set_beyond_half_the_rows_is_refused():
    for penalty in (L1(1e-3), ElasticNet(1e-3), Group(1e-3), Box(-9, 9)):
        assert "more than half of the 20 distinct rows" in refused(regression(20, 15, penalty))


def test_a_row_that_decides_most_of_its_prediction_is_refused_on_an_active_set():
    problem = regression(30, 3, L1(0.1))
    X = problem.design.dense()
    X[4] = [0, 0, 50]
    problem = replace(problem, design=Design(X))
    assert "one row determines more than 90 % of its own prediction" in refused(problem)
    assert leave_out(replace(problem, penalty=L2(0.1)), solve(problem).parameters).method == "loo"


def test_the_span_rule_is_refused_where_it_does_not_hold():
    hinge = losses.Hinge()
    wide = regression(12, 40, L2(1.0), hinge)
    assert leave_out(wide, solve(wide).parameters).method == "span"
    assert "more than half of the 2 coefficients" in refused(regression(60, 2, L2(0.01), hinge))
    balanced = replace(wide, y=np.resize([1.0, -1.0], 12), penalty=L2(1e6))
    assert "no support vector is strictly between" in refused(balanced)
    assert "needs a penalty ½Σ l2ⱼwⱼ² on every feature" in refused(
        regression(12, 40, L1(0.1), hinge)
    )
    with pytest.raises(NotAvailable, match="needs the dual point"):
        leave_out(wide, replace(solve(wide).parameters, theta=None))
    # Three rows on a line, all at a kink: they do not determine their dual variables.
    X = np.zeros((3, 8))
    X[:, 0] = [0.0, 1.0, 2.0]
    line = Problem(Design(X), np.zeros(3), losses.EpsilonInsensitive(1.0), L2(1.0), np.ones(3))
    parameters = Parameters(np.zeros(8), np.array(1.0), np.array([0.2, -0.4, 0.2]))
    with pytest.raises(NotAvailable, match="singular"):
        leave_out(line, parameters)


def test_losses_and_penalties_without_curvature_are_refused():
    class Steps(losses.Loss):
        task = "regression"

        def value(self, y, z):
            return np.abs(z - y)

        def gradient(self, y, z):
            return np.sign(z - y)

    class Norm(Penalty):
        def value(self, w):
            return float(np.sqrt(np.sum(w**2)))

    at = Parameters(np.ones(3), np.array(0.0))
    problem = regression(10, 3, L2(1.0))
    with pytest.raises(NotAvailable, match="the steps loss has no curvature"):
        leave_out(replace(problem, loss=Steps()), at)
    with pytest.raises(NotAvailable, match="the curvature of the norm penalty is not known"):
        leave_out(replace(problem, penalty=Norm()), at)


def test_something_must_be_left():
    problem = regression(6, 2, L2(1.0))
    parameters = solve(problem).parameters
    with pytest.raises(NotAvailable, match="all rows are in one group"):
        leave_out(problem, parameters, np.zeros(6))
    weights = np.array([0.0, 0, 3, 0, 0, 0])
    with pytest.raises(NotAvailable, match="nothing would be left"):
        leave_out(replace(problem, weights=weights), parameters)
    with pytest.raises(ValueError, match=r"groups has shape \(5,\), but there are 6 rows"):
        leave_out(problem, parameters, np.zeros(5))


def test_too_many_unknowns_are_refused(monkeypatch):
    for module in ("_base", "features", "rows"):
        monkeypatch.setattr(f"gapless.unseen.leave_one_out.{module}.LARGEST_SYSTEM", 3)
    for loss, shape in (("logistic", SHAPES[0]), ("logistic", SHAPES[1]), ("softmax", SHAPES[0])):
        with pytest.raises(NotAvailable, match="too many for one dense system"):
            leave_out(*solved(loss, "l2", shape))


def test_too_many_unknowns_of_wide_data_are_refused_before_any_work(monkeypatch):
    problem, parameters = solved("softmax", "l2", SHAPES[1])
    assert problem.d > problem.n
    monkeypatch.setattr("gapless.unseen.leave_one_out._base.LARGEST_SYSTEM", 3)
    monkeypatch.setattr("gapless.unseen.leave_one_out.joint.row_space", pytest.fail)
    unknowns = problem.n * problem.outputs
    with pytest.raises(NotAvailable, match=f"{unknowns} unknowns are too many"):
        leave_out(problem, parameters)


@pytest.mark.parametrize(
    ("loss", "shape"),
    [
        ("squared", (1400, 3000)),
        ("logistic", (1400, 3000)),
        ("logistic", (3000, 1400)),
        ("hinge", (1400, 3000)),
        ("softmax", (450, 900)),
    ],
)
def test_systems_that_take_longer_than_folds_of_sparse_rows_are_refused(loss, shape):
    (n, d), K = shape, 3 if loss == "softmax" else None
    y = np.arange(n) % 3 if K else np.where(np.arange(n) % 2, 1.0, -1.0)
    rows = Design(sp.eye_array(n, d, format="csr"))
    problem = Problem(rows, y, losses.by_name(loss), L2(1.0), np.ones(n), outputs=K)
    w = np.zeros((d, K) if K else d)
    # θ = ±½ is at the kink of a hinge.
    with pytest.raises(NotAvailable, match="unknowns takes longer than folds"):
        leave_out(problem, Parameters(w, w[0], None if K else 0.5 * y))


def test_dense_rows_are_never_too_few_for_their_system():
    rows = Design(np.zeros((LARGEST_SYSTEM, LARGEST_SYSTEM), dtype=np.float32))
    y = np.zeros(LARGEST_SYSTEM)
    problem = Problem(rows, y, losses.by_name("squared"), L2(1.0), np.ones(LARGEST_SYSTEM))
    refuse_large_system(LARGEST_SYSTEM, problem)


# ---- many strengths ------------------------------------------------------------------------------

STRENGTHS = np.array([0.0, 1e-9, 1e-2, 1.0, 300.0])


def ridge_data(n, d, K, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 2
    y = rng.normal(size=(n,) if K is None else (n, K)) + X[:, :1].reshape(
        (n,) if K is None else (n, 1)
    )
    weights = rng.integers(0, 4, n).astype(float)
    return X, y, weights


@pytest.mark.parametrize("shape", [(30, 4), (12, 20)], ids=str)
@pytest.mark.parametrize("K", [None, 1, 3])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("fit_bias", [True, False], ids=["bias", "no bias"])
def test_a_ridge_path_is_leave_out_at_every_strength(shape, K, form, fit_bias):
    X, y, weights = ridge_data(*shape, K)
    design = Design(form(X))
    path = ridge_path_leave_out(design, y, weights, STRENGTHS, fit_bias=fit_bias, keep=True)
    for j, strength in enumerate(STRENGTHS):
        problem = Problem(design, y, losses.Squared(), L2(strength), weights, fit_bias, K)
        parameters = solve(problem, tol=1e-12).parameters
        held = leave_out(problem, parameters).z
        np.testing.assert_allclose(path.z[:, j], held, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(path.coefficients[j], parameters.w, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(path.intercepts[j], parameters.b, rtol=1e-8, atol=1e-8)
        squared = (held - y).reshape(len(y), -1) ** 2
        of_outputs = weights @ squared / weights.sum()
        np.testing.assert_allclose(path.errors_of_outputs[j], of_outputs, rtol=1e-8)
        rows = weights > 0
        e, s = squared.mean(axis=1)[rows], weights[rows]
        spread = np.sum(s**2 * (e - path.errors[j]) ** 2) * len(s) / (len(s) - 1)
        assert path.errors[j] == pytest.approx(of_outputs.mean())
        assert path.standard_errors[j] == pytest.approx(np.sqrt(spread) / s.sum(), rel=1e-6)


@pytest.mark.parametrize("K", [None, 2])
@pytest.mark.parametrize("fit_bias", [True, False], ids=["bias", "no bias"])
def test_the_gram_matrix_gives_what_singular_values_give(monkeypatch, K, fit_bias):
    X, y, weights = ridge_data(60, 5, K)
    X[:, 4] = X[:, 3]  # its rank does not matter where there is a penalty
    arguments = Design(X), y, weights, STRENGTHS[2:]
    slow = ridge_path_leave_out(*arguments, fit_bias=fit_bias, keep=True)
    monkeypatch.setattr(ridge_path, "CHEAP", 0)
    monkeypatch.setattr(ridge_path, "BySingularValues", None)
    fast = ridge_path_leave_out(*arguments, fit_bias=fit_bias, keep=True)
    for name in ("z", "coefficients", "intercepts", "errors", "standard_errors"):
        np.testing.assert_allclose(getattr(fast, name), getattr(slow, name), rtol=1e-8, atol=1e-8)


def test_singular_values_take_over_where_the_gram_matrix_lacks_digits(monkeypatch):
    X, y, weights = ridge_data(60, 5, None)
    X[:, 4] = X[:, 3] + 1e-7 * X[:, 0]
    X[7, 2] = 1e5
    for strengths in ([1e-12, 1.0], [1e-3, 1.0]):
        slow = ridge_path_leave_out(Design(X), y, weights, strengths, keep=True)
        with monkeypatch.context() as patch:
            patch.setattr(ridge_path, "CHEAP", 0)
            same = ridge_path_leave_out(Design(X), y, weights, strengths, keep=True)
        np.testing.assert_array_equal(same.z, slow.z)


def test_a_ridge_path_obeys_the_law_of_weights():
    X, y, weights = ridge_data(30, 4, None)
    copies = np.repeat(np.arange(30), weights.astype(int))
    once = ridge_path_leave_out(Design(X), y, weights, STRENGTHS, keep=True)
    often = ridge_path_leave_out(
        Design(X[copies]), y[copies], np.ones(len(copies)), STRENGTHS, keep=True
    )
    np.testing.assert_allclose(often.z, once.z[copies], rtol=1e-9, atol=1e-9)
    for name in ("coefficients", "intercepts", "errors", "standard_errors"):
        np.testing.assert_allclose(getattr(often, name), getattr(once, name), rtol=1e-9)
    plain = once.coefficients @ X[weights == 0].T + once.intercepts[:, None]
    np.testing.assert_allclose(once.z[weights == 0], plain.T, rtol=1e-12, atol=1e-12)


def test_another_error_can_be_asked_for():
    X, y, weights = ridge_data(30, 4, None)
    path = ridge_path_leave_out(
        Design(X), y, weights, STRENGTHS, error=lambda y, z: np.abs(z - y), keep=True
    )
    expected = weights @ np.abs(path.z - y[:, None]) / weights.sum()
    np.testing.assert_allclose(path.errors, expected)
    assert ridge_path_leave_out(Design(X), y, weights, STRENGTHS).z is None


# ---- time ----------------------------------------------------------------------------------------


def solve_from(problem, start):
    return solve(problem, start=start, tol=1e-12).parameters


def timed(n=40, d=3, seed=0):
    rng = np.random.default_rng(seed)
    problem = regression(n, d, L2(0.5), seed=seed)
    return replace(problem, weights=rng.integers(0, 3, n).astype(float)), rng.integers(0, 9, n)


def test_forward_predictions_come_from_the_past_alone():
    problem, time = timed()
    held = forward(problem, solve_from, time)
    assert isinstance(held, HeldOut) and held.method == "forward"
    first = time == time.min()
    assert np.all(np.isnan(held.z[first])) and not np.any(np.isnan(held.z[~first]))
    for moment in np.unique(time)[1:]:
        past = np.flatnonzero(time < moment)
        known = replace(
            problem,
            design=problem.design.rows(past),
            y=problem.y[past],
            weights=problem.weights[past],
        )
        at = solve(known, tol=1e-12).parameters
        now = np.flatnonzero(time == moment)
        expected = problem.design.rows(now).times(at.w) + at.b
        np.testing.assert_allclose(held.z[now], expected, rtol=1e-9, atol=1e-9)


def test_windows_are_few_and_never_split_a_moment():
    problem, _ = timed(200)
    time = np.repeat(np.arange(100.0), 2)
    refits = []

    def counted(sub, start):
        refits.append(sub.n)
        assert (start is None) == (len(refits) == 1)
        return solve_from(sub, start)

    held = forward(problem, counted, time[::-1], windows=5)
    assert len(refits) == 4 and refits == sorted(refits)
    assert all(size % 2 == 0 for size in refits)
    assert np.isnan(held.z).sum() == refits[0]
    changed = replace(problem, y=np.where(time[::-1] > 80, 1e3, problem.y))
    again = forward(changed, solve_from, time[::-1], windows=5)
    before = time[::-1] < 80
    np.testing.assert_allclose(again.z[before], held.z[before], rtol=1e-9, atol=1e-9)


def test_forward_obeys_the_law_of_weights():
    problem, time = timed(60)
    copies = np.repeat(np.arange(problem.n), problem.weights.astype(int))
    repeated = replace(
        problem,
        design=problem.design.rows(copies),
        y=problem.y[copies],
        weights=np.ones(len(copies)),
    )
    once = forward(problem, solve_from, time, windows=4).z
    often = forward(repeated, solve_from, time[copies], windows=4).z
    np.testing.assert_allclose(often, once[copies], rtol=1e-9, atol=1e-9)


def test_forward_needs_a_past():
    problem, time = timed()
    with pytest.raises(NotAvailable, match="all rows have the same time"):
        forward(problem, solve_from, np.zeros(problem.n))
    with pytest.raises(ValueError, match=r"time has shape \(3,\), but there are 40 rows"):
        forward(problem, solve_from, time[:3])


def test_no_penalty_leaves_out_by_least_norm():
    """A row that alone decides a coefficient leaves it 0."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=10), np.eye(10)[3]])
    y = rng.normal(size=10)
    problem = Problem(Design(X), y, losses.Squared(), NoPenalty(), np.ones(10))
    held = leave_out(problem, solve(problem).parameters)
    rest = np.arange(10) != 3
    slope, bias = np.polyfit(X[rest, 0], y[rest], 1)
    assert held.z[3] == pytest.approx(slope * X[3, 0] + bias, rel=1e-9)
    assert held.leverage[3] == pytest.approx(1)


@pytest.mark.parametrize("X", [np.zeros((5, 0)), np.zeros((5, 3)), np.ones((5, 2))], ids=str)
def test_without_features_it_is_the_mean_of_the_others(X):
    y = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    expected = (y.sum() - y) / 4
    for penalty in (L2(1.0), NoPenalty()):
        problem = Problem(Design(X), y, losses.Squared(), penalty, np.ones(5))
        np.testing.assert_allclose(leave_out(problem, solve(problem).parameters).z, expected)
    path = ridge_path_leave_out(Design(X), y, np.ones(5), STRENGTHS, keep=True)
    np.testing.assert_allclose(path.z, np.tile(expected[:, None], len(STRENGTHS)))


@pytest.mark.parametrize("fit_bias", [True, False])
def test_redundant_columns_change_nothing_and_cost_nothing(fit_bias, monkeypatch):
    """Columns that say which category a row has add up to ones: X has a rank below d."""
    rng = np.random.default_rng(0)
    categories = rng.integers(0, 3, (40, 3))
    X = (categories[:, :, None] == np.arange(3)).reshape(40, 9) * np.tile([1.0, 2.0, 5.0], 3)
    y = np.r_[0:3, rng.integers(0, 3, 37)]
    problem = Problem(Design(X), y, losses.Softmax(), L2(0.7), np.ones(40), fit_bias, 3)
    solution = solve(problem, tol=1e-12)
    sizes = []
    monkeypatch.setattr(joint, "whiten", lambda H: sizes.append(len(H)) or whiten(H))
    found = leave_out(problem, solution.parameters)
    # The same model in coordinates of its own: an orthonormal basis of the rows.
    values, vectors = np.linalg.eigh(X.T @ X)
    basis = vectors[:, values > 1e-9 * values[-1]]
    assert basis.shape[1] < 9
    assert sizes == [3 * (basis.shape[1] + fit_bias)]
    narrow = replace(problem, design=Design(np.ascontiguousarray(X @ basis)))
    w = basis.T @ solution.parameters.w
    expected = leave_out(narrow, replace(solution.parameters, w=w))
    np.testing.assert_allclose(found.z, expected.z, atol=1e-8)
    np.testing.assert_allclose(found.leverage, expected.leverage, atol=1e-8)
