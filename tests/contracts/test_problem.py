"""Problem keeps its promises: null model, feasible dual points, bounds that are true."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from high_precision import minimise
from small_problems import LOSSES, PENALTIES, make

from gapless._ground.design import Design
from gapless.certificates import certify
from gapless.losses import (
    EpsilonInsensitive,
    Exponential,
    Hinge,
    Huber,
    Logistic,
    Poisson,
    Softmax,
    Squared,
)
from gapless.penalties import L1, L2, Box, ElasticNet, Group, NoPenalty
from gapless.problem.problem import Parameters, Problem
from gapless.solvers import solve

EPS = np.finfo(float).eps


def infeasibility(problem, bound):
    """By how much θ leaves its box or the complement of the free columns, in roundings."""
    theta = bound.theta
    lower, upper = problem.box()
    size = np.maximum(np.abs(theta), np.broadcast_to(problem.row_weights, theta.shape))
    outside = np.max(np.maximum(lower - theta, theta - upper) / np.where(size > 0, size, 1))
    if problem.loss.task == "multiclass":
        outside = max(outside, np.max(np.abs(theta.sum(axis=1))))
    columns = problem.design.times(np.eye(problem.d)[:, problem.free])
    if problem.fit_bias:
        columns = np.column_stack([columns, np.ones(problem.n)])
    rest = np.abs(columns.T @ theta)
    norms = np.linalg.norm(columns, axis=0) * np.linalg.norm(size)
    ratio = np.divide(
        rest.T, norms, out=np.zeros_like(rest.T), where=np.broadcast_to(norms > 0, rest.T.shape)
    )
    return max(outside, np.max(ratio, initial=0.0)) / EPS


# ---- the model without features ------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("zeros", [False, True])
def test_null_bias_minimises_the_loss(loss, zeros, seed=3):
    problem, _ = make(loss, "l2", 30, 2, np.random.default_rng(seed), zeros=zeros)
    null = problem.null
    assert not null.w.any()
    best = problem.loss_sum(problem.predictions(null.w, null.b))
    rng = np.random.default_rng(seed)
    for size in (1e-4, 1e-2, 1.0):
        for _ in range(10):
            b = null.b + size * rng.normal(size=null.b.shape)
            assert problem.loss_sum(problem.predictions(null.w, b)) >= best - 1e-13 * abs(best)
    assert problem.scale == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("loss", [Squared(), Huber(0.5), EpsilonInsensitive(0.3)])
@pytest.mark.parametrize("n", [1, 2, 50, 30_000])
def test_null_bias_of_a_regression_agrees_with_a_search(loss, n):
    rng = np.random.default_rng(n)
    y = 100 + rng.standard_t(2, size=n)
    problem = Problem(Design(np.zeros((n, 1))), y, loss, L2(1.0), np.ones(n))
    found = scipy.optimize.minimize_scalar(
        lambda b: np.sum(loss.value(y, np.full(n, b))), bracket=(99, 101), tol=1e-12
    )
    assert problem.scale == pytest.approx(found.fun, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("offset", [0.0, 1e150, -1e-150, 1e8])
def test_null_bias_has_no_scale(offset):
    y = np.array([1.0, 2.0, 4.0]) * (abs(offset) or 1.0) + offset
    for loss in (Squared(), EpsilonInsensitive(0.0)):
        problem = Problem(Design(np.zeros((3, 1))), y, loss, L2(1.0), np.ones(3))
        expected = y.mean() if loss.name == "squared" else np.median(y)
        assert float(problem.null.b) == pytest.approx(expected, rel=1e-14)


def test_null_bias_is_the_middle_of_an_interval():
    y = np.array([0.0, 0.0, 3.0, 3.0])
    for loss, middle in ((EpsilonInsensitive(0.0), 1.5), (EpsilonInsensitive(1.0), 1.5)):
        problem = Problem(Design(np.zeros((4, 1))), y, loss, L2(1.0), np.ones(4))
        assert float(problem.null.b) == pytest.approx(middle, abs=1e-12)
    labels = np.array([-1.0, 1.0, -1.0, 1.0])
    hinge = Problem(Design(np.zeros((4, 1))), labels, Hinge(), L2(1.0), np.ones(4))
    assert float(hinge.null.b) == pytest.approx(0.0, abs=1e-12)


def test_one_class_alone_has_a_finite_null_bias():
    for loss in (Hinge(), Logistic()):
        for label in (-1.0, 1.0):
            y = np.full(5, label)
            problem = Problem(Design(np.zeros((5, 1))), y, loss, L2(1.0), np.ones(5))
            assert np.isfinite(problem.null.b)
            assert problem.scale < 1e-12
    problem = Problem(
        Design(np.zeros((4, 1))), np.zeros(4, int), Softmax(), L2(1.0), np.ones(4), outputs=3
    )
    assert np.all(np.isfinite(problem.null.b)) and problem.scale < 1e-12


def test_null_respects_the_constraints():
    X = np.random.default_rng(0).normal(size=(20, 2))
    problem = Problem(Design(X), X[:, 0], Squared(), Box(1.0, 2.0), np.ones(20))
    null = problem.null
    assert null.w.tolist() == [1.0, 1.0]
    residual = X[:, 0] - X @ null.w
    assert float(null.b) == pytest.approx(residual.mean())
    assert problem.scale == pytest.approx(0.5 * np.sum((residual - residual.mean()) ** 2))


def test_weights_count_rows():
    rng = np.random.default_rng(0)
    for loss in LOSSES:
        problem, _ = make(loss, "l2", 12, 2, rng)
        times = rng.integers(0, 4, 12)
        times[:3] = 1
        repeated = np.repeat(np.arange(12), times)
        weighted = Problem(
            problem.design, problem.y, problem.loss, problem.penalty, times.astype(float),
            outputs=problem.outputs,
        )  # fmt: skip
        copied = Problem(
            problem.design.rows(repeated), problem.y[repeated], problem.loss, problem.penalty,
            np.ones(len(repeated)), outputs=problem.outputs,
        )  # fmt: skip
        assert weighted.scale == pytest.approx(copied.scale, rel=1e-12)
        z = weighted.predictions(weighted.null.w + 0.1, weighted.null.b)
        theta = -weighted.derivative(z)
        u = copied.bound(-copied.derivative(z[repeated]))
        assert weighted.bound(theta).dual == pytest.approx(u.dual, rel=1e-9, abs=1e-9)


# ---- dual points ---------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", LOSSES)
def test_bounds_are_feasible_and_below_the_minimum(loss, penalty):
    # Dense and sparse, with weights of 0 and without: each loss and each penalty meets all four.
    place = list(LOSSES).index(loss) + PENALTIES.index(penalty)
    zeros, sparse = place % 2 == 0, place // 2 % 2 == 1
    rng = np.random.default_rng(0)
    problem, case = make(loss, penalty, 9, 3, rng, zeros=zeros, sparse=sparse)
    best = float(minimise(case).value)
    shape = problem.origin.theta.shape
    w = problem.penalty.prox(rng.normal(size=problem.null.w.shape), 1e-300)
    natural = -problem.derivative(problem.predictions(w, problem.null.b))
    for theta in (natural, -natural, 100 * natural, rng.normal(size=shape), natural * np.nan):
        bound = problem.bound(theta)
        assert np.isfinite(bound.dual)
        assert bound.dual >= problem.origin.dual
        assert bound.dual <= best + 1e-12 * (1 + abs(best))
        assert infeasibility(problem, bound) <= 64 * np.sqrt(problem.n)
        v = problem.design.transposed_times(bound.theta)
        assert np.max(np.abs(v - bound.v), initial=0.0) <= 1e-12 * (1 + np.abs(v).max())
        assert problem.dual(bound.theta, bound.v) == bound.dual


def test_bound_at_theta_zero_is_the_smallest_conceivable_loss():
    for loss in LOSSES:
        problem, _ = make(loss, "l1", 9, 3, np.random.default_rng(0))
        assert problem.origin.dual == pytest.approx(0.0, abs=1e-15)


def test_elastic_net_takes_the_better_of_scaled_and_unscaled():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)), rng.normal(size=30)
    for ridge in (1e-4, 1.0, 1e4):
        penalty = Box(penalty=ElasticNet(1 + ridge, 1 / (1 + ridge)))
        problem = Problem(Design(X), y, Squared(), penalty, np.ones(30), fit_bias=False)
        theta, v = y, X.T @ y
        scales = penalty.feasible_scales(v)
        assert len(scales) == 2
        best = max(problem.dual(c * theta, c * v) for c in scales)
        assert problem.bound(theta).dual == pytest.approx(best, rel=1e-12)


def test_outside_its_domain_the_dual_is_minus_infinity():
    X, y = np.ones((3, 1)), np.array([1.0, -1.0, 1.0])
    problem = Problem(Design(X), y, Hinge(), L2(1.0), np.array([1.0, 2.0, 0.0]))
    inside = np.array([1.0, -2.0, 0.0])
    assert np.isfinite(problem.dual(inside, X.T @ inside))
    for theta in ([1.1, -2.0, 0.0], [-0.1, -2.0, 0.0], [1.0, -2.0, 0.5]):
        assert problem.dual(np.array(theta), X.T @ theta) == -np.inf


def test_nonnegative_least_squares_is_certified_near_its_solution():
    """Sign constraints alone leave nothing to scale: violated columns are held at equality."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 15)), rng.normal(size=60)
    w, norm = scipy.optimize.nnls(X, y)
    assert 0 < np.count_nonzero(w) < 15
    for data in (X, sp.csr_matrix(X)):
        problem = Problem(Design(data), y, Squared(), Box(lower=0.0), np.ones(60), fit_bias=False)
        for noise in (0.0, 1e-8, 1e-4):
            near = np.maximum(w + noise * rng.normal(size=15) * (w > 0), 0)
            bound = problem.bound(y - X @ near)
            assert 0.5 * norm**2 - bound.dual <= 1e-12 + 100 * noise**2
        assert problem.bound(rng.normal(size=60)).dual <= 0.5 * norm**2


def test_polynomial_features_without_penalty_are_certified():
    """Condition number 1e10: orthogonality beyond the precision of a Gram matrix."""
    x = np.linspace(0, 1, 200)
    X = np.vander(x, 12, increasing=True)[:, 1:]
    y = np.exp(-3 * x) + 0.01 * np.random.default_rng(0).normal(size=200)
    A = np.column_stack([X, np.ones(200)])
    assert np.linalg.cond(A) > 1e8
    solution = np.linalg.lstsq(A, y)[0]
    problem = Problem(Design(X), y, Squared(), NoPenalty(), np.ones(200))
    parameters = Parameters(solution[:-1], np.array(solution[-1]))
    z = problem.predictions(parameters.w, parameters.b)
    gap = problem.primal(parameters.w, parameters.b, z) - problem.bound(y - z).dual
    assert gap <= 1e-9 * problem.scale


def test_collinear_and_zero_free_columns_are_no_trouble():
    rng = np.random.default_rng(0)
    x = rng.normal(size=50)
    X = np.column_stack([x, 2 * x, np.zeros(50), np.ones(50), 1e-9 * rng.normal(size=50)])
    y = np.where(x + rng.normal(size=50) > 0, 1.0, -1.0)
    problem = Problem(Design(X), y, Logistic(), NoPenalty(), np.ones(50))
    bound = problem.bound(-problem.derivative(np.zeros(50)))
    assert bound.dual > 0
    assert infeasibility(problem, bound) <= 1000


def test_as_many_free_columns_as_rows_leave_only_zero():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(5, 7)), rng.normal(size=5)
    problem = Problem(Design(X), y, Squared(), NoPenalty(), np.ones(5))
    assert problem.bound(y).dual == pytest.approx(0.0, abs=1e-12)


def test_very_many_free_columns_are_solved_iteratively(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 6)), rng.choice([-1.0, 1.0], 80)
    problem = Problem(Design(X), y, Logistic(), NoPenalty(), np.ones(80))
    labels = rng.integers(0, 3, 80)
    softmax = Problem(Design(X), labels, Softmax(), NoPenalty(), np.ones(80), outputs=3)
    theta = -problem.derivative(np.zeros(80))
    tilted = -softmax.derivative(np.zeros((80, 3)))
    expected = problem.bound(theta).dual, softmax.bound(tilted).dual
    monkeypatch.setattr("gapless.problem.dual_points.LARGEST_GRAM", 2)
    found = problem.bound(theta).dual, softmax.bound(tilted).dual
    assert found == pytest.approx(expected, rel=1e-6)


def test_several_outputs_are_as_many_problems():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
    joint = Problem(Design(X), Y, Huber(0.8), L1(1.5), np.ones(20), outputs=2)
    single = [Problem(Design(X), Y[:, k], Huber(0.8), L2(1.5), np.ones(20)) for k in range(2)]
    assert joint.null.b == pytest.approx([float(p.null.b) for p in single])
    assert joint.scale == pytest.approx(sum(p.scale for p in single))
    ridge = Problem(Design(X), Y, Huber(0.8), L2(1.5), np.ones(20), outputs=2)
    theta = rng.normal(size=(20, 2))
    parts = sum(p.bound(theta[:, k]).dual for k, p in enumerate(single))
    assert ridge.bound(theta).dual == pytest.approx(max(parts, 0.0), rel=1e-12)


def test_multi_task_dual_points_share_one_scale_per_row():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
    problem = Problem(Design(X), Y, Squared(), Group(2.0), np.ones(20), outputs=2)
    bound = problem.bound(Y)
    assert np.linalg.norm(bound.v, axis=1).max() <= 2.0
    assert bound.dual > 0


def test_a_bound_is_the_same_for_any_number_of_threads():
    from gapless._ground.threads import threads

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(5000, 7)), rng.choice([-1.0, 1.0], 5000)
    weights = np.where(np.arange(7) < 3, 0.0, 1.0)
    results = []
    for count in (1, 2, 5):
        with threads(count):
            problem = Problem(Design(X), y, Logistic(), L1(3.0, weights), np.ones(5000))
            bound = problem.bound(-problem.derivative(0.1 * X[:, 0]))
            results.append((bound.dual, bound.theta.tobytes(), problem.scale))
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("loss", LOSSES)
def test_empty_features_and_single_rows_have_bounds(loss):
    for n, d, bias in [(1, 0, True), (1, 0, False), (1, 2, True), (4, 0, True)]:
        problem, _ = make(loss, "l1", n, d, np.random.default_rng(0), bias=bias)
        null = problem.null
        z = problem.predictions(null.w, null.b)
        gap = problem.primal(null.w, null.b, z) - problem.bound(-problem.derivative(z)).dual
        assert gap >= -1e-13 and np.isfinite(gap)
        assert problem.scale >= 0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("loss", [Exponential(), Poisson()], ids=str)
@pytest.mark.parametrize("penalty", [L1(0.1), L2(0.1)], ids=["l1", "l2"])
def test_rows_without_weight_may_be_infinitely_far_away(loss, penalty, rng):
    X = rng.normal(size=(30, 3))
    X[0] *= 1e6
    y = np.where(X[:, 1] > 0, 1.0, -1.0) if loss.task == "binary" else np.abs(X[:, 1])
    weights = (np.arange(30) > 0).astype(float)
    problem = Problem(Design(X), y, loss, penalty, weights)
    far = np.where(weights > 0, 0.0, 1e6)
    for z in (far, -far):
        assert problem.derivative(z)[0] == 0
    found = solve(problem)
    assert found.status == "optimal"
    rest = solve(Problem(Design(X[1:]), y[1:], loss, penalty, weights[1:]))
    np.testing.assert_allclose(found.parameters.w, rest.parameters.w, rtol=1e-4, atol=1e-6)


def test_a_known_product_serves_a_dual_point_that_need_not_be_moved(rng, monkeypatch):
    X, y = rng.normal(size=(30, 4)), rng.normal(size=30)
    problem = Problem(Design(X), y, Squared(), L1(0.5), np.ones(30))
    theta = y - y.mean()
    expected = problem.bound(theta)
    asked = []
    monkeypatch.setattr(Design, "transposed_times", lambda *given: asked.append(given))
    found = problem.bound(theta, X.T @ theta)
    assert not asked
    assert found.dual == pytest.approx(expected.dual, rel=1e-12)
    np.testing.assert_allclose(found.product, X.T @ found.theta, atol=1e-12)


def test_a_known_product_of_a_dual_point_that_is_moved_is_not_used(rng):
    X, y = rng.normal(size=(30, 4)), rng.normal(size=30) + 3.0
    problem = Problem(Design(X), y, Squared(), L1(0.5), np.ones(30))
    found = problem.bound(y, X.T @ y)
    np.testing.assert_allclose(found.product, X.T @ found.theta, atol=1e-12)
    assert found.dual == pytest.approx(problem.bound(y).dual, rel=1e-12)


# ---- products that are kept ----------------------------------------------------------------------


def test_kept_scores_are_those_of_the_coefficients_as_they_are_now(rng):
    problem, _ = make("squared", "l2", 20, 3, rng)
    problem.keep_products()
    w = rng.normal(size=3)
    problem.predictions(w, np.zeros(()))
    w[1] += 1.0
    assert np.array_equal(problem.predictions(w, np.zeros(())), problem.design.times(w))
    # Fewer digits are another question.
    few = problem.predictions(w.astype(np.float32), np.zeros((), np.float32))
    assert np.array_equal(few, problem.design.times(w.astype(np.float32)))


def test_a_kept_bound_is_that_of_the_dual_point_as_it_is_now(rng):
    problem, _ = make("squared", "l2", 20, 3, rng)
    problem.keep_products()
    fresh = Problem(problem.design, problem.y, problem.loss, problem.penalty, problem.weights)
    theta = 1e-3 * (problem.y - problem.y.mean())
    first = problem.bound(theta)
    theta *= 0.5
    assert problem.bound(theta).dual == fresh.bound(theta).dual != first.dual
    # What was handed out may be changed, too.
    first = problem.bound(theta)
    first.theta[:] *= 2.0
    assert problem.bound(first.theta).dual == fresh.bound(first.theta.copy()).dual


def test_products_are_kept_only_where_a_fit_asks_for_it(rng):
    """A certificate believes nothing: X may have changed since the solver ended."""
    X = rng.normal(size=(40, 5))
    y = rng.normal(size=40) + 5 * X[:, 0]
    for penalty in (L2(1.0), L1(1.0)):
        own = X.copy()
        problem = Problem(Design(own), y, Squared(), penalty, np.ones(40))
        solution = solve(problem)
        assert certify(problem, solution.parameters).kind != "stopped"
        own *= 2
        assert certify(problem, solution.parameters).kind == "stopped"


def test_the_product_that_a_solver_hands_over_is_not_kept(rng):
    problem, _ = make("squared", "l2", 20, 3, rng)
    theta = problem.bound(1e-3 * (problem.y - problem.y.mean())).theta
    problem.keep_products()
    true = problem.design.transposed_times(theta)
    problem.bound(theta, 2 * true)
    assert np.allclose(problem.bound(theta).product, true, rtol=1e-12)


def test_a_squared_loss_has_no_box_unless_a_row_counts_for_nothing(rng):
    problem, _ = make("squared", "l2", 20, 3, rng)
    assert not replace(problem, weights=np.ones(20)).has_box
    some = replace(problem, weights=np.arange(20) % 2 + 0.0)
    assert some.has_box
    assert not some.bound(np.ones(20)).theta[::2].any()
