"""Penalties that are not convex, best subsets, and p-norms, against slow or exact computations."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.optimize
from sklearn.exceptions import ConvergenceWarning

import gapless
from gapless import RiskClassifier, RiskRegressor
from gapless._ground import core
from gapless._ground.design import Design
from gapless._ground.interrupt import TimeLimit, time_limit
from gapless.certificates import certify
from gapless.losses import Hinge, Huber, Logistic, Quantile, Squared, SquaredHinge
from gapless.penalties import L0, L1, MCP, SCAD, Box, Bridge, L2Norm, PNorm
from gapless.problem import Parameters, Problem, best_subset
from gapless.problem.best_subset import BestSubset, covers_every_subset
from gapless.solvers import registry, solve
from gapless.solvers import stepwise as stepwise_module
from gapless.solvers._base import run

CONCAVE = [
    MCP(8.0, width=0.8),
    MCP(8.0, width=0.1),
    SCAD(8.0, knee=0.2, width=1.0),
    Bridge(6.0, 0.5),
    L0(4.0),
]


def data(rng, n=60, d=8, noise=1.0):
    """Correlated features, three of which matter."""
    X = rng.normal(size=(n, d)) + 0.7 * rng.normal(size=(n, 1))
    return X, X[:, :3] @ [1.5, -1.0, 0.8] + noise * rng.normal(size=n)


def problem_of(loss, penalty, rng, **options):
    X, y = data(rng, **options)
    y = y if loss.task == "regression" else np.where(y > 0, 1.0, -1.0)
    return Problem(Design(X), y, loss, penalty, rng.choice([1.0, 2.0], len(y)))


# ---- local minima --------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", CONCAVE, ids=repr)
@pytest.mark.parametrize("loss", [Squared(), Logistic(), Huber(), Hinge(), Quantile(0.3)], ids=repr)
def test_a_fit_is_stationary_and_never_above_its_convex_start(loss, penalty, rng):
    problem = problem_of(loss, penalty, rng)
    curvature = problem.design.shifted(np.zeros(problem.d)).column_square_sums(problem.weights)
    convex = solve(problem.with_penalty(penalty.convex(curvature))).parameters
    solution = solve(problem)
    start = solve(problem, "local_linear", max_iter=0) if loss.is_piecewise_linear else None
    rounding = 1e-9 * problem.scale
    if start is not None:
        assert solution.primal <= start.primal + rounding
    if isinstance(penalty, MCP | SCAD):  # the same strength, whatever the curvature
        assert solution.primal <= problem.primal(convex.w, convex.b) + rounding
    null = problem.null
    assert solution.primal <= problem.primal(null.w, null.b) + rounding
    assert certify(problem, solution.parameters).kind in ("stationary", "optimal")


@pytest.mark.parametrize("penalty", CONCAVE, ids=repr)
@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=repr)
def test_compiled_descent_ends_at_a_minimum_in_every_coefficient(loss, penalty, rng):
    problem = problem_of(loss, penalty, rng)
    solution = solve(problem, "prox_newton")
    w, b = solution.parameters.w, solution.parameters.b
    for j in range(problem.d):
        for v in np.append(np.linspace(-3, 3, 61), 0.0):
            other = w.copy()
            other[j] = v
            assert problem.primal(other, b) >= solution.primal - 1e-7 * problem.scale


@pytest.mark.parametrize("penalty", CONCAVE, ids=repr)
def test_the_compiled_minimiser_is_the_prox(penalty, rng):
    """½c(v − w)² + slope·(v − w) + R(v) is c times the definition of prox with step 1/c."""
    for _ in range(100):
        w, slope, c = 1.5 * rng.normal(), 20 * rng.normal(), 20 * rng.random()
        at = np.array([[w]])
        core.gram_descent(
            np.array([[c]]), np.array([[slope]]), tuple(penalty.concave(1)), at, 1e-12, 1, np.inf
        )
        expected = penalty.prox(np.array([w - slope / c]), 1 / c)
        np.testing.assert_allclose(at[0], expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("penalty", CONCAVE, ids=repr)
def test_every_solver_that_accepts_a_penalty_lowers_the_objective(penalty, rng):
    problem = problem_of(Squared(), penalty, rng)
    start = solve(problem.with_penalty(L1(8.0))).parameters
    before = problem.primal(start.w, start.b)
    exact = {name: s for name, s in registry.items() if s.is_exact}
    accepted = [name for name, s in exact.items() if s.refuses(problem) is None]
    assert {"prox_newton", "proximal_gradient", "ista", "local_linear"} <= set(accepted)
    for name in accepted:
        solution = run(registry[name], problem, start, tol=1e-8)
        assert solution.primal <= before + 1e-9 * problem.scale, name
        w = solution.parameters.w
        assert problem.primal(w, solution.parameters.b) == pytest.approx(solution.primal)


def test_other_solvers_refuse_in_words(rng):
    X, y = data(rng)
    with pytest.raises(
        ValueError, match=r'"newton" needs a penalty ½Σ l2ⱼwⱼ² or none, got mcp; use'
    ):
        RiskRegressor(penalty="mcp", solver="newton").fit(X, y)
    with pytest.raises(ValueError, match="needs a penalty on the number of coefficients, got mcp"):
        RiskRegressor(penalty="mcp", solver="branch_and_bound").fit(X, y)
    with pytest.raises(ValueError, match=r"needs a penalty that is concave in \|w\|, got l1"):
        RiskRegressor(penalty="l1", solver="local_linear").fit(X, y)
    with pytest.raises(ValueError, match=r"needs a convex penalty.*got scad"):
        RiskRegressor("quantile", "scad", solver="augmented_lagrangian").fit(X, y)


def test_a_wide_mcp_is_the_lasso_and_a_narrow_one_does_not_shrink(rng):
    X, y = data(rng, noise=0.1)
    lasso = RiskRegressor(penalty=L1(5.0), tol=1e-10).fit(X, y)
    wide = RiskRegressor(penalty=MCP(5.0, width=1e9), tol=1e-10).fit(X, y)
    np.testing.assert_allclose(wide.coef_, lasso.coef_, atol=1e-6)
    narrow = RiskRegressor(penalty=MCP(5.0, width=0.3), tol=1e-10).fit(X, y)
    chosen = np.flatnonzero(narrow.coef_)
    assert list(chosen) == [0, 1, 2]
    plain = gapless.LinearRegression().fit(X[:, chosen], y)
    np.testing.assert_allclose(narrow.coef_[chosen], plain.coef_, rtol=1e-8)


def test_of_mean_is_the_textbook_form():
    w, alpha, gamma, a, n = np.array([0.05, 0.2, 0.9]), 0.1, 3.0, 3.7, 50
    mcp = np.where(w <= gamma * alpha, alpha * w - w**2 / (2 * gamma), gamma * alpha**2 / 2)
    assert MCP.of_mean(alpha, gamma, n).value(w) == pytest.approx(n * np.sum(mcp))
    middle = (2 * a * alpha * w - w**2 - alpha**2) / (2 * (a - 1))
    scad = np.where(w <= alpha, alpha * w, np.where(w <= a * alpha, middle, alpha**2 * (a + 1) / 2))
    assert SCAD.of_mean(alpha, a, n).value(w) == pytest.approx(n * np.sum(scad))


def test_separable_classes_under_a_bounded_penalty_have_no_minimiser():
    X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), [0, 0, 1, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = RiskClassifier("logistic", L0(0.1)).fit(X, y)
    assert model.certificate_.kind == "none" and "no minimiser exists" in model.certificate_.verdict


def test_a_certificate_notices_coefficients_that_were_changed(rng):
    X, y = data(rng)
    for penalty in (MCP(8.0, 0.5), L0(4.0)):
        model = RiskRegressor(penalty=penalty).fit(X, y)
        assert gapless.certify(model, X, y).kind in ("stationary", "optimal")
        model.coef_[0] += 0.1
        assert gapless.certify(model, X, y).kind == "stopped"


def test_multi_class_losses_with_kinks_become_stationary(rng):
    X, _ = data(rng)
    y = np.argmax(X[:, :3] + rng.normal(size=(60, 3)), axis=1)
    for penalty in (MCP(2.0, 1.0), Bridge(1.0)):
        model = RiskClassifier("crammer_singer", penalty).fit(X, y)
        assert model.certificate_.kind == "stationary"
        lasso = RiskClassifier("crammer_singer", L1(2.0)).fit(X, y)
        if isinstance(penalty, MCP):
            assert objective(model, X, y) <= objective(lasso, X, y, penalty) * (1 + 1e-9)


def objective(model, X, y, penalty=None):
    [(problem, parameters)] = model._certification_problem(X, y)
    problem = problem if penalty is None else problem.with_penalty(penalty)
    return problem.primal(parameters.w, parameters.b)


# ---- unseen rows ---------------------------------------------------------------------------------


def test_leave_one_out_of_mcp_agrees_with_refits(rng):
    X, y = data(rng, n=80)
    model = RiskRegressor(penalty=MCP(10.0, 0.5)).fit(X, y)
    result = model.generalization_
    held = np.empty(80)
    for i in range(80):
        rest = np.delete(np.arange(80), i)
        held[i] = RiskRegressor(penalty=MCP(10.0, 0.5)).fit(X[rest], y[rest]).predict(X[[i]])[0]
    r2 = 1 - np.sum((y - held) ** 2) / np.sum((y - y.mean()) ** 2)
    assert result.unseen == pytest.approx(r2, abs=0.02)


def test_penalties_that_jump_are_judged_by_folds(rng):
    X, y = data(rng)
    for penalty in (L0(3.0), Bridge(3.0)):
        result = RiskRegressor(penalty=penalty).fit(X, y).generalization_
        assert "fold" in result.method
        assert result.unseen < result.train


# ---- stepwise selection --------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", [L0(3.0), L0(0.0, most=2), L0(1.0, most=1)], ids=repr)
@pytest.mark.parametrize("loss", [Hinge(), Quantile(0.3), Logistic()], ids=repr)
def test_no_exchange_of_one_feature_improves_a_stepwise_selection(loss, penalty, rng):
    problem = problem_of(loss, penalty, rng, n=40, d=4, noise=3.0)
    solution = solve(problem, "stepwise")
    w = solution.parameters.w
    assert solution.status == "stationary" and certify(problem, solution.parameters).kind != "none"
    most = 4 if penalty.most is None else penalty.most
    for chosen in itertools.product([False, True], repeat=4):
        changed = np.flatnonzero(np.array(chosen) != (w != 0))
        is_exchange = len(changed) == 2 and sum(chosen) == np.count_nonzero(w)
        if sum(chosen) > most or not (len(changed) == 1 or is_exchange):
            continue
        limit = np.where(chosen, np.inf, 0.0)
        other = solve(problem.with_penalty(Box(-limit, limit)), tol=1e-9).parameters
        assert solution.primal <= problem.primal(other.w, other.b) + 1e-7 * problem.scale


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge(), Logistic()], ids=repr)
@pytest.mark.parametrize("penalty", [L0(0.5), L0(0.5, most=2)], ids=repr)
def test_one_column_that_separates_is_all_that_is_kept(loss, penalty, rng):
    X = rng.normal(size=(40, 4))
    y = np.where(X[:, 1] > 0, 1, -1)
    X[:, 1] += y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = RiskClassifier(loss, penalty).fit(X, y)
    assert np.flatnonzero(model.coef_[0]).tolist() == [1]
    assert model.certificate_.primal == pytest.approx(0.5, abs=1e-3)
    if loss == Logistic():
        assert model.certificate_.no_minimiser == "separated"
        assert "that the l0 penalty does not hold back" in model.certificate_.verdict
    else:
        assert model.certificate_.kind == "stationary"


def test_a_stepwise_selection_begins_with_the_features_of_the_start(rng):
    problem = problem_of(Hinge(), L0(0.5, most=2), rng)
    best = solve(problem).parameters
    again = solve(problem, start=Parameters(best.w, best.b), max_iter=0).parameters
    assert np.array_equal(again.w != 0, best.w != 0)


# ---- the best subset -----------------------------------------------------------------------------


def best_by_enumeration(X, y, s, price, most):
    """The least objective of all subsets, by brute force."""
    root = np.sqrt(s)[:, None]
    A, r = (
        root * (X - np.average(X, axis=0, weights=s)),
        root[:, 0] * (y - np.average(y, weights=s)),
    )
    best = 0.5 * r @ r
    for k in range(1, most + 1):
        for S in map(list, itertools.combinations(range(X.shape[1]), k)):
            rest = r - A[:, S] @ np.linalg.lstsq(A[:, S], r, rcond=None)[0]
            best = min(best, 0.5 * rest @ rest + np.sum(price[S]))
    return best


@pytest.mark.parametrize(("price", "most"), [(1.0, 9), (4.0, 9), (0.0, 3), (1.0, 2), (0.0, 0)])
@pytest.mark.parametrize("dependent", [False, True])
def test_the_best_subset_is_that_of_an_enumeration(price, most, dependent, rng):
    X, y = data(rng, n=30, d=9, noise=2.0)
    if dependent:
        X[:, 4], X[:, 5] = X[:, 0] - X[:, 1], 3.0
    s, weights = rng.choice([1.0, 2.0], 30), rng.uniform(0.5, 2.0, 9)
    model = RiskRegressor(penalty=L0(price, most, weights)).fit(X, y, s)
    expected = best_by_enumeration(X, y, s, price * weights, most)
    certificate = model.certificate_
    assert certificate.kind == "optimal" and model.solver_ == "branch_and_bound"
    assert certificate.primal == pytest.approx(expected, rel=1e-6)
    assert certificate.dual <= expected * (1 + 1e-12)
    assert np.count_nonzero(model.coef_) <= most
    assert gapless.certify(model, X, y, s).kind == "optimal"


def test_free_features_are_always_in_the_subset(rng):
    X, y = data(rng)
    model = RiskRegressor(penalty=L0(1e6, weights=[0, 0, 1, 1, 1, 1, 1, 1])).fit(X, y)
    plain = gapless.LinearRegression().fit(X[:, :2], y)
    np.testing.assert_allclose(model.coef_, [*plain.coef_, 0, 0, 0, 0, 0, 0], atol=1e-9)


def test_bounds_of_nodes_are_below_every_subset_they_contain(rng):
    X, y = data(rng, n=25, d=7, noise=2.0)
    s, price, free = np.ones(25), rng.uniform(0, 3, 7), np.zeros(7, dtype=bool)
    search = BestSubset(Design(X), y, s, True, price, 5, free)
    subsets = np.array(list(itertools.product([False, True], repeat=7)))
    values = search._squares(subsets)[0] + subsets @ price
    values[subsets.sum(axis=1) > 5] = np.inf
    for state in rng.integers(-1, 2, size=(50, 7)).astype(np.int8):
        if np.count_nonzero(state == 1) > 5:
            continue
        inside = ~np.any((state == 1) & ~subsets, axis=1) & ~np.any((state == -1) & subsets, axis=1)
        assert search.bounds(state[None])[0][0] <= values[inside].min() * (1 + 1e-12)


def test_a_search_that_is_cut_short_keeps_an_honest_gap(rng):
    X, y = data(rng, n=60, d=24, noise=5.0)
    penalty = L0(30.0)
    best = RiskRegressor(penalty=penalty).fit(X, y).certificate_
    with pytest.warns(ConvergenceWarning):
        model = RiskRegressor(penalty=penalty, max_iter=1).fit(X, y)
    certificate = model.certificate_
    assert certificate.kind == "stopped" and certificate.gap > certificate.tolerance
    assert certificate.dual <= best.primal <= certificate.primal
    assert best.kind == "optimal"


@pytest.mark.parametrize("penalty", [*CONCAVE, L0(0.0, most=2)], ids=repr)
def test_no_time_leaves_a_model_all_the_same(penalty, rng):
    problem = problem_of(Squared(), penalty, rng)
    with time_limit(0.0):
        solution = solve(problem)
    assert solution.status in ("time_limit", "stationary", "optimal")
    assert np.isfinite(solution.primal)


def test_an_interrupt_keeps_the_best_subset_so_far(rng, monkeypatch):
    X, y = data(rng, n=60, d=24, noise=5.0)
    split, calls = BestSubset.split, []

    def interrupted(self, tolerance):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        split(self, tolerance)

    monkeypatch.setattr(BestSubset, "split", interrupted)
    model = RiskRegressor(penalty=L0(8.0))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.certificate_.kind == "stopped" and np.isfinite(model.certificate_.gap)
    assert np.any(model.coef_)


@pytest.mark.parametrize("error, moment", [(TimeLimit, 2), (KeyboardInterrupt, 7)])
def test_a_split_that_is_interrupted_leaves_no_subset_out(error, moment, rng, monkeypatch):
    X, y = data(rng, n=60, d=12, noise=5.0)
    best = RiskRegressor(penalty=L0(4.0)).fit(X, y).certificate_.primal
    monkeypatch.setattr(best_subset, "ENTRIES", 12**2)  # a call for each system
    problem = Problem(Design(X), y, Squared(), L0(4.0), np.ones(60))
    search, calls = problem.best_subset, itertools.count()

    def out_of_time():
        if next(calls) == moment:
            raise error

    monkeypatch.setattr(best_subset, "check", out_of_time)
    with pytest.raises(error):
        for _ in range(moment):
            search.split(1e-9)
    assert covers_every_subset(search.leaves(), search.free)
    assert search.lower <= best * (1 + 1e-12)
    while not search.is_done(1e-9):
        search.split(1e-9)
    assert search.best == pytest.approx(best, rel=1e-9)


def test_a_certificate_without_the_time_for_all_subsets_keeps_its_bound(rng, monkeypatch):
    X, y = data(rng, n=60, d=24, noise=5.0)
    best = RiskRegressor(penalty=L0(8.0)).fit(X, y).certificate_.primal
    calls, split = itertools.count(), BestSubset.split

    def out_of_time(self, tolerance):
        if next(calls) == 2:
            raise TimeLimit
        split(self, tolerance)

    monkeypatch.setattr(BestSubset, "split", out_of_time)
    with pytest.warns(ConvergenceWarning):
        model = RiskRegressor(penalty=L0(8.0), solver="prox_newton").fit(X, y)
    assert model.certificate_.method == "subsets" and model.certificate_.kind == "stopped"
    assert model.certificate_.dual <= best <= model.certificate_.primal


def test_counting_the_nodes_of_a_search_heeds_the_time_limit():
    with time_limit(0.0), pytest.raises(TimeLimit):
        covers_every_subset(np.array([[1, 0, 0]]), np.zeros(3, dtype=bool))


def test_a_stationary_subset_that_is_not_the_best_is_told_so(rng):
    X = rng.normal(size=(30, 3))
    X[:, 2] = X[:, 0] + X[:, 1]
    worse = Problem(Design(X), X[:, 2], Squared(), L0(0.1), np.ones(30))
    two = np.array([1.0, 1.0, 0.0])
    told = certify(worse, Parameters(two, np.zeros(())))
    assert told.kind == "stopped" and "a better subset is known" in told.verdict


def test_nodes_that_leave_a_subset_out_are_noticed():
    free = np.array([True, False, False])
    assert covers_every_subset(np.array([[1, 0, 0]]), free)
    assert covers_every_subset(np.array([[1, 1, 0], [1, -1, 1], [1, -1, -1]]), free)
    assert not covers_every_subset(np.array([[1, 1, 0], [1, -1, 1]]), free)
    assert not covers_every_subset(np.array([[1, 1, 0]]), free)
    assert not covers_every_subset(np.array([[1, 1, 0], [1, 0, 1]]), free)


# ---- p-norms -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "penalty", [L2Norm(10.0), PNorm(10.0, 1.3), PNorm(10.0, 4), PNorm(10.0, np.inf)], ids=repr
)
@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=repr)
def test_p_norm_fits_agree_with_a_general_solver(loss, penalty, rng):
    """SciPy minimises loss + λt with ‖w‖_p ≤ t."""
    problem = problem_of(loss, penalty, rng)
    solution = solve(problem, tol=1e-8)
    X, d = problem.design.X, problem.d

    def objective(x):
        return problem.loss_sum(X @ x[:d] + x[d]) + penalty.strength * x[d + 1]

    def slope(x):
        g = problem.derivative(X @ x[:d] + x[d])
        return np.concatenate([X.T @ g, [g.sum(), penalty.strength]])

    start = np.concatenate([solution.parameters.w + 0.01 * rng.normal(size=d), [0.0, 10.0]])
    room = {"type": "ineq", "fun": lambda x: x[d + 1] - np.linalg.norm(x[:d], penalty.order())}
    options = {"ftol": 1e-10, "maxiter": 100}
    found = scipy.optimize.minimize(
        objective, start, jac=slope, constraints=room, method="SLSQP", options=options
    ).x
    best = problem.primal(found[:d], found[d])
    assert solution.status == "optimal"
    assert solution.dual <= best
    assert abs(solution.primal - best) <= 1e-5 * problem.scale


@pytest.mark.parametrize("p", [1.3, 2, 4, np.inf])
def test_the_gap_of_a_norm_is_true_away_from_the_optimum(p, rng):
    problem = problem_of(Logistic(), PNorm(10.0, p), rng)
    best = solve(problem, tol=1e-10)
    for size in (0.0, 1e-3, 0.1, 1.0):
        w = best.parameters.w + size * rng.normal(size=problem.d)
        b = best.parameters.b + size * rng.normal()
        found = certify(problem, Parameters(w, np.array(b)))
        assert found.gap >= problem.primal(w, b) - best.primal - 1e-9 * problem.scale
        assert (found.kind == "optimal") == (size == 0.0)


def test_the_norm_with_p_one_is_the_lasso(rng):
    problem = problem_of(Logistic(), PNorm(5.0, 1), rng)
    norm, lasso = solve(problem, tol=1e-10), solve(problem.with_penalty(L1(5.0)), tol=1e-10)
    assert norm.primal == pytest.approx(lasso.primal, rel=1e-9)
    np.testing.assert_allclose(norm.parameters.w, lasso.parameters.w, atol=1e-5)


def test_a_strong_norm_removes_everything_and_a_weaker_one_is_a_ridge(rng):
    X, y = data(rng)
    assert not RiskRegressor(penalty=L2Norm(1e6)).fit(X, y).coef_.any()
    model = RiskRegressor(penalty=L2Norm(10.0), tol=1e-10).fit(X, y)
    ridge = gapless.Ridge(alpha=10.0 / np.linalg.norm(model.coef_)).fit(X, y)
    np.testing.assert_allclose(model.coef_, ridge.coef_, atol=1e-7)


def test_the_largest_norm_makes_coefficients_equally_large(rng):
    X, y = data(rng)
    model = RiskRegressor(penalty=PNorm(40.0, np.inf)).fit(X, y)
    largest = np.abs(model.coef_).max()
    assert np.count_nonzero(np.abs(model.coef_) > (1 - 1e-6) * largest) >= 2


# ---- paths ---------------------------------------------------------------------------------------


def test_paths_are_stationary_sparse_and_no_worse_than_the_lasso(rng):
    X, y = data(rng, n=50, d=200)
    X, y = X - X.mean(axis=0), y - y.mean()
    for path, cls, shape in ((gapless.mcp_path, MCP, 3.0), (gapless.scad_path, SCAD, 3.7)):
        alphas, coefs, distances = path(X, y, alphas=20, eps=0.05)
        assert np.all(np.diff(alphas) < 0) and coefs.shape == (200, 20)
        assert np.all(distances <= 1e-6) and not coefs[:, 0].any()
        _, lasso, _ = gapless.lasso_path(X, y, alphas=alphas)
        for alpha, w, other in zip(alphas, coefs.T, lasso.T):
            penalty = cls.of_mean(alpha, shape, 50)
            values = [0.5 * np.sum((y - X @ v) ** 2) + penalty.value(v) for v in (w, other)]
            assert values[0] <= values[1] * (1 + 1e-9)


def test_path_weights_are_repeated_rows(rng):
    X, y = data(rng, n=40)
    s = rng.integers(0, 3, 40)
    alphas, first, _ = gapless.mcp_path(X, y, alphas=5, eps=0.1, sample_weight=s)
    rows = np.repeat(np.arange(40), s)
    _, second, _ = gapless.mcp_path(X[rows], y[rows], alphas=alphas)
    np.testing.assert_allclose(first, second, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gamma": 0}, "gamma"),
        ({"alphas": []}, "alphas must be finite numbers > 0"),
        ({"alphas": [1.0, -1.0]}, "alphas must be finite numbers > 0"),
        ({"tol": -1}, "tol"),
    ],
)
def test_bad_path_parameters_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        gapless.mcp_path([[1.0], [2.0]], [1.0, 2.0], **options)


def test_rows_of_weight_0_do_not_tell_copies_apart(rng):
    """They are not there: the copies of a column still share nothing."""
    x = rng.normal(size=(40, 2))
    X, y = np.c_[x, x[:, 0]], 2 * x[:, 0] - x[:, 1] + 0.3 * rng.normal(size=40)
    model = RiskRegressor("huber", penalty=L0(2.0))
    plain = model.fit(X, y).coef_
    rows, targets = np.vstack([X, [0.0, 0.0, 1.0]]), np.append(y, 5.0)
    model.fit(rows, targets, sample_weight=np.append(np.ones(40), 0.0))
    np.testing.assert_allclose(model.coef_, plain, rtol=1e-6)
    assert np.count_nonzero(plain) == 2


def test_stepwise_has_a_first_answer_at_once(rng, monkeypatch):
    """Before any convex problem is solved: interrupted there, it still has something to return."""

    def refused(problem, start):
        raise AssertionError

    monkeypatch.setattr(stepwise_module, "convex_solution", refused)
    for penalty, expected in ((L0(0.5), np.ones(8)), (L0(0.5, most=3), np.zeros(8))):
        problem = problem_of(Hinge(), penalty, rng)
        start = Parameters(np.ones(8), np.array(0.0))
        first = next(registry["stepwise"].method(problem, start))
        np.testing.assert_array_equal(first.w, expected)


def test_a_selection_that_runs_out_of_time_says_so(rng):
    X, y = data(rng, n=400, d=20)
    model = RiskClassifier("logistic", penalty=L0(1.0, most=5), time_limit=1e-9)
    with pytest.warns(ConvergenceWarning, match="reached its time_limit.*increase the time_limit"):
        model.fit(X, y > 0)
