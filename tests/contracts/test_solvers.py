"""What every solver promises, for every loss and penalty that it accepts.

Solvers, losses and penalties are found in their registries, so a new one is held to all of this
before its author has written a test. Textbook algorithms, which need not reach the gap, have their
own promises in `test_descent`.
"""

import time
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp

from covering import covering
from gapless._ground.design import Design
from gapless._ground.interrupt import time_limit
from gapless._ground.threads import threads
from gapless.losses import EpsilonInsensitive, Hinge, Huber, Loss, Quantile
from gapless.penalties import L1, L2, Box, ElasticNet, Group, L2Norm, NoPenalty, Penalty
from gapless.problem.problem import Parameters, Problem
from gapless.solvers import Point, registry, solve
from gapless.solvers._base import Registered, run
from gapless.solvers.dual import is_quick

# Solvers for penalties that are not convex are tested in test_not_convex.py, and with p-norms every
# loss, by its default solver, in test_loss_and_penalty.py.
NOT_CONVEX = {"branch_and_bound", "local_linear", "stepwise"}
N, D, K = 60, 6, 3
TOL = 1e-6
WEIGHTS = np.array([0.0, 1.0, 1.5, 0.5, 2.0, 1.0])

LOSSES = {name: cls for name, cls in Loss.registry.items() if cls.refusal is None}
SOLVERS = sorted(name for name, solver in registry.items() if solver.is_exact)
PENALTIES = {
    "none": NoPenalty(),
    "l2": L2(2.0),
    "l2 with a free feature": L2(2.0, WEIGHTS),
    "l1": L1(2.0),
    "l1 with a free feature": L1(2.0, WEIGHTS),
    "elastic net": ElasticNet(3.0, 0.5),
    "group": Group(3.0),
    "group of several": Group(3.0, groups=np.arange(D) // 2),
    "norm": L2Norm(3.0),
    "box": Box(-0.1, 0.3),
    "signs": Box(lower=0.0, penalty=L2(1.0)),
    "signs and l1": Box(lower=0.0, penalty=L1(1.0)),
}


def make(loss, penalty, rng, *, n=N, d=D, outputs=None, fit_bias=True, storage="dense"):
    """A small problem; with N rows it is so noisy that no plane separates the classes."""
    loss = loss() if isinstance(loss, type) else loss
    X = rng.normal(size=(n, d)) + 0.3
    if storage == "sparse":
        X *= rng.random((n, d)) < 0.6
    score = X @ (rng.normal(size=(d, K)) * (rng.random((d, 1)) < 0.5))
    score = score + 1.5 * rng.normal(size=score.shape)
    if loss.task == "regression":
        y = score[:, 0] if outputs is None else np.ascontiguousarray(score[:, :outputs])
        y = y if loss.targets == "real" else np.exp(0.3 * y)
    elif loss.task == "binary":
        y = np.where(score[:, 0] + 2 * rng.normal(size=n) > 0, 1.0, -1.0)
        y[: 2 * K] = np.resize([1.0, -1.0], 2 * K)
    else:
        y = np.argmax(score + 2 * rng.normal(size=score.shape), axis=1)
        y[: 2 * K] = np.arange(2 * K) % K
        outputs = K
    weights = rng.choice([0.0, 1.0, 2.0], n, p=[0.1, 0.6, 0.3])
    weights[: 2 * K] = 1.0
    design = Design(sp.csr_matrix(X) if storage == "sparse" else X)
    return Problem(design, y, loss, penalty, weights, fit_bias, outputs)


@dataclass(frozen=True)
class Case:
    """A solver with a loss and a penalty, and the number of outputs (None: as the loss has it)."""

    solver: str
    loss: str
    penalty: str
    outputs: int | None = None

    def __str__(self):
        several = f", {self.outputs} outputs" if self.outputs else ""
        return f"{self.solver}: {self.loss}, {self.penalty}{several}"

    @property
    def has_bias(self):
        """Whether it is one of those with a bias: neighbouring losses and penalties differ."""
        several = self.outputs is not None
        number = sorted(LOSSES).index(self.loss) + [*PENALTIES].index(self.penalty) + several
        return number % 2 == 0

    def problem(self, rng, **options):
        """A random problem of this kind."""
        options.setdefault("outputs", self.outputs)
        return make(LOSSES[self.loss], PENALTIES[self.penalty], rng, **options)


def accepted_cases():
    """Every combination that the solver does not refuse."""
    rng = np.random.default_rng(0)
    for loss in sorted(LOSSES):
        counts = (None, 2) if LOSSES[loss].task == "regression" else (None,)
        for penalty in PENALTIES:
            for outputs in counts:
                problem = make(LOSSES[loss], PENALTIES[penalty], rng, outputs=outputs)
                for solver in SOLVERS:
                    if registry[solver].refuses(problem) is None:
                        yield Case(solver, loss, penalty, outputs)


def covering_pairs(cases, *fields):
    """Some of the cases: any two values of these fields that meet in a case meet in one of them."""
    return covering(values_of(cases, *fields))


def values_of(cases, *fields):
    """The values of these fields in each case, with their names."""
    return {case: [(field, getattr(case, field)) for field in fields] for case in cases}


CASES = list(accepted_cases())
# A solver of many problems has a bias in every other one, for each loss and for each penalty.
PROBLEMS_OF = Counter(case.solver for case in CASES)
MANY = 8
# Some of the cases, in which any two properties of a case meet; all of a solver of few problems.
PAIRS = {
    *covering_pairs(CASES, "solver", "loss", "penalty", "outputs", "has_bias"),
    *(case for case in CASES if PROBLEMS_OF[case.solver] <= MANY),
}


def pytest_generate_tests(metafunc):
    """Solvers of the same problem are tested together, since they need one reference."""
    if "cases" in metafunc.fixturenames:
        every = metafunc.config.getoption("--every")
        of_problem = defaultdict(list)
        for case in CASES:
            if every or case in PAIRS:
                of_problem[str(replace(case, solver="all solvers"))].append(case)
        metafunc.parametrize("cases", list(of_problem.values()), ids=list(of_problem))


# Steps of the first order are slow to the last digit; of the others one speaks for each problem.
SECOND_ORDER = [c for c in CASES if c.solver not in ("ista", "proximal_gradient")]
# For promises on rows, which reach a solver through the loss alone.
ROWS = covering_pairs(SECOND_ORDER, "solver", "loss")
# For promises on steps, whatever is minimised.
STEPS = covering_pairs(CASES, "solver", "penalty")


def test_every_solver_loss_and_penalty_occurs():
    convex = {cls for name, cls in Penalty.registry.items() if cls.is_convex and name != "p_norm"}
    assert {case.solver for case in CASES} == set(SOLVERS) - NOT_CONVEX
    assert {case.loss for case in CASES} == set(LOSSES)
    assert {type(PENALTIES[case.penalty]) for case in CASES} == convex


def test_every_pair_occurs_among_the_chosen():
    for pair, all_of_them, some in (
        *((pair, CASES, PAIRS) for pair in combinations(("solver", "loss", "penalty"), 2)),
        (("solver", "loss"), SECOND_ORDER, ROWS),
        (("solver", "penalty"), CASES, STEPS),
    ):
        every, chosen = (
            {tuple(getattr(case, field) for field in pair) for case in cases}
            for cases in (all_of_them, some)
        )
        assert chosen == every


def assert_optimal(case, solution, problem, best):
    """The gap is met, and true: no known solution is better by more than it."""
    assert solution.status == "optimal", case
    assert -1e-12 * problem.scale <= solution.gap <= 1.001 * TOL * problem.scale, case
    w, b = solution.parameters.w, solution.parameters.b
    assert solution.primal == pytest.approx(problem.primal(w, b), rel=1e-12), case
    assert abs(solution.primal - best) <= 1.01 * TOL * problem.scale, case
    assert np.all(np.isfinite(b)) if problem.fit_bias else (b == 0).all(), case


def assert_traced(case, trace):
    """Objective, gap and time of every step are there."""
    assert len(trace.primal) == len(trace.gap) == len(trace.seconds) >= 1, case
    assert trace.seconds == sorted(trace.seconds), case
    assert np.all(np.isfinite(trace.primal)) and np.isfinite(trace.gap[-1]), case


def assert_recognised(case, solution, problem):
    """A solver that starts at the solution sees that it is one."""
    again = run(registry[case.solver], problem, solution.parameters, tol=1.01 * TOL)
    assert again.status == "optimal", case
    assert len(again.trace.primal) <= 2, case


def test_every_solver_loss_and_penalty_occurs_with_a_bias_and_without():
    many = [case for case in CASES if PROBLEMS_OF[case.solver] > MANY]
    for field in ("solver", "loss", "penalty", "outputs"):
        for fit_bias in (True, False):
            found = {getattr(c, field) for c in many if c in PAIRS and c.has_bias == fit_bias}
            assert found == {getattr(case, field) for case in many}


def test_meets_the_gap_agrees_with_the_default_solver_and_knows_a_solution(
    cases, rng, pytestconfig
):
    every = pytestconfig.getoption("--every")
    for fit_bias in (True, False):
        chosen = [
            case
            for case in cases
            if every or PROBLEMS_OF[case.solver] <= MANY or case.has_bias == fit_bias
        ]
        if not chosen:
            continue
        problem = cases[0].problem(rng, fit_bias=fit_bias)
        best = solve(problem, tol=0.01 * TOL).primal
        for case in chosen:
            if not fit_bias and registry[case.solver].refuses(problem):
                continue  # it needs a bias, and was there with one
            solution = run(registry[case.solver], problem, tol=TOL)
            assert_optimal(case, solution, problem, best)
            assert_traced(case, solution.trace)
            assert_recognised(case, solution, problem)


@pytest.mark.parametrize("case", ROWS, ids=str)
def test_sparse_data_gives_the_same_answer(case, rng):
    sparse = case.problem(rng, storage="sparse")
    dense = replace(sparse, design=Design(sparse.design.X.toarray()))
    first = run(registry[case.solver], sparse, tol=1e-8)
    second = run(registry[case.solver], dense, tol=1e-8)
    assert abs(first.primal - second.primal) <= 2e-8 * dense.scale


@pytest.mark.parametrize("case", ROWS, ids=str)
def test_weight_two_is_a_repeated_row_and_weight_zero_none(case, rng):
    problem = case.problem(rng)
    problem = replace(problem, weights=np.resize([1.0, 2.0, 0.0, 1.0, 1.0], N))
    repeated = np.repeat(np.arange(N), problem.weights.astype(int))
    stacked = replace(
        problem,
        design=problem.design.rows(repeated),
        y=problem.y[repeated],
        weights=np.ones(len(repeated)),
    )
    first, second = (run(registry[case.solver], p, tol=1e-8) for p in (problem, stacked))
    assert abs(first.primal - second.primal) <= 2e-8 * problem.scale


# Threads share products, and the rows of some losses; penalties are left to one.
SHARED = ("gamma", "logistic", "poisson", "softmax")
BY_THREADS = covering(
    {
        case: [("solver", case.solver), ("loss", case.loss if case.loss in SHARED else "other")]
        for case in CASES
    },
    together=1,
)


@pytest.mark.parametrize("case", BY_THREADS, ids=str)
def test_same_bits_for_any_number_of_threads(case, rng):
    # More entries than one task takes (2¹⁸, core/products.cpp), so that threads share products with
    # vectors, too; bits would differ from the first steps on.
    problem = case.problem(rng, n=2**18 // D + 500)
    if registry[case.solver].refuses(problem):  # a matrix of all rows has more entries, anyway
        problem = case.problem(rng, n=1500)
    results = []
    for count in (1, 8):
        with threads(count):
            results.append(run(registry[case.solver], problem, tol=TOL, max_iter=2).parameters)
    assert np.array_equal(results[0].w, results[1].w)
    assert np.array_equal(results[0].b, results[1].b)


@pytest.mark.parametrize("case", STEPS, ids=str)
def test_time_limit_of_nothing_returns_the_start(case, rng):
    problem = case.problem(rng)
    began = time.process_time()
    with time_limit(0.0):
        solution = run(registry[case.solver], problem, tol=1e-12)
    assert solution.status in ("time_limit", "optimal")
    assert np.all(np.isfinite(solution.parameters.w))
    assert time.process_time() - began < 5.0


@pytest.mark.parametrize("case", STEPS, ids=str)
def test_max_iter_is_obeyed(case, rng):
    solution = run(registry[case.solver], case.problem(rng), tol=0.0, max_iter=2)
    assert solution.trace.steps <= 2
    assert solution.status in ("max_iter", "optimal", "stalled")


def small_problem(case, n, d, rng):
    """A problem with so few rows and features; vectors per feature have another length there."""
    plain = {"l2": L2(2.0), "l1": L1(2.0), "box": Box(-0.1, 0.3)}
    name = next((p for p in plain if case.penalty.startswith(p)), None)
    problem = case.problem(rng, n=max(n, 2 * K), d=d)
    penalty = problem.penalty if name is None else plain[name]
    if case.penalty == "group of several":
        penalty = Group(3.0, groups=np.arange(d) // 2)
    design = problem.design.rows(np.arange(n))
    return replace(problem, penalty=penalty, design=design, y=problem.y[:n], weights=np.ones(n))


# A solver of many problems meets one of these numbers of rows and features in each, by turns.
SMALL = [(7, 0), (1, 3), (8, 11)]
SMALL_CASES = sorted({*ROWS, *STEPS}, key=str)


def test_every_solver_occurs_with_few_rows_and_with_few_features():
    for k in range(len(SMALL)):
        assert {case.solver for case in SMALL_CASES[k :: len(SMALL)]} >= {
            solver for solver, problems in PROBLEMS_OF.items() if problems > MANY
        }


@pytest.mark.parametrize("case", SMALL_CASES, ids=str)
def test_few_rows_or_features(case, rng, pytestconfig):
    # Without a penalty few rows are separable, or fitted exactly: there may be no minimiser.
    is_bounded = case.penalty != "none"
    every = pytestconfig.getoption("--every") or PROBLEMS_OF[case.solver] <= MANY
    turn = SMALL_CASES.index(case) % len(SMALL)
    for shape in SMALL if every else SMALL[turn : turn + 1]:
        problem = small_problem(case, *shape, rng)
        steps = None if is_bounded else 100
        solution = run(registry[case.solver], problem, tol=TOL, max_iter=steps)
        w, b = solution.parameters.w, solution.parameters.b
        assert np.all(np.isfinite(w)) and np.all(np.isfinite(b)), shape
        is_met = solution.gap <= TOL * problem.scale + 1e-12
        assert is_met or not is_bounded, shape


@pytest.mark.parametrize("solver", sorted(registry))
def test_refusals_say_why_and_what_instead(solver):
    rng = np.random.default_rng(0)
    for loss in LOSSES.values():
        for penalty in PENALTIES.values():
            problem = make(loss, penalty, rng)
            reason = registry[solver].refuses(problem)
            if reason is None:
                continue
            with pytest.raises(ValueError, match=f'solver="{solver}" ') as error:
                solve(problem, solver)
            assert reason in str(error.value) and '"auto"' in str(error.value)


def test_unknown_solver_lists_the_known_ones(rng):
    with pytest.raises(ValueError, match="prox_newton"):
        solve(make(LOSSES["squared"], L2(1.0), rng), "best")


# ---- known solutions by construction -------------------------------------------------------------


def orthonormal(rng):
    """A design with orthonormal columns, all orthogonal to the ones, and a target."""
    Q = np.linalg.qr(np.column_stack([np.ones(N), rng.normal(size=(N, D))]))[0][:, 1:]
    return np.ascontiguousarray(Q), Q @ rng.normal(size=D) + 0.1 * rng.normal(size=N) + 4.0


SQUARED = [c for c in CASES if c.loss == "squared" and c.outputs is None]


@pytest.mark.parametrize("case", SQUARED, ids=str)
def test_orthonormal_columns_have_the_proximal_map_as_solution(case, rng):
    X, y = orthonormal(rng)
    penalty = PENALTIES[case.penalty]
    problem = Problem(Design(X), y, LOSSES["squared"](), penalty, np.ones(N))
    w = run(registry[case.solver], problem, tol=1e-12).parameters.w
    np.testing.assert_allclose(w, penalty.prox(X.T @ y, 1.0), atol=1e-5)


@pytest.mark.parametrize("loss", ["squared", "logistic", "huber", "squared_hinge"])
@pytest.mark.parametrize("solver", ["prox_newton", "proximal_gradient"])
def test_doubled_features_give_the_same_fit(loss, solver, rng):
    problem = make(LOSSES[loss], L1(1.0), rng)
    X = problem.design.X
    doubled = replace(problem, design=Design(np.hstack([X, X]) / 2), penalty=L1(0.5))
    first, second = (run(registry[solver], p, tol=1e-10) for p in (problem, doubled))
    assert second.primal == pytest.approx(first.primal, rel=1e-9)
    both = second.parameters.w[:D] + second.parameters.w[D:]
    np.testing.assert_allclose(both / 2, first.parameters.w, atol=1e-4)


# ---- parts of a user's own -----------------------------------------------------------------------


@dataclass(frozen=True)
class LogCosh(Loss):
    """log cosh(z − y), without a curvature and without a conjugate."""

    task = "regression"

    def value(self, y, z):
        r = np.abs(z - y)
        return r + np.log1p(np.exp(-2 * r)) - np.log(2)

    def gradient(self, y, z):
        return np.tanh(z - y)


@dataclass(frozen=True, eq=False)
class Length(Penalty):
    """‖w‖₂, with nothing but its value and its proximal map."""

    def value(self, w):
        return float(np.linalg.norm(w))

    def prox(self, w, step):
        norm = np.linalg.norm(w)
        return w * max(0.0, 1 - step / norm) if norm > 0 else w


@pytest.mark.parametrize("solver", ["proximal_gradient", "ista"])
def test_a_loss_and_a_penalty_of_ones_own_are_minimised(solver, rng):
    problem = make(LogCosh(), Length(), rng)
    solution = run(registry[solver], problem)
    w, b = solution.parameters.w, solution.parameters.b
    slope = problem.derivative(problem.predictions(w, b))
    gradient = problem.design.transposed_times(slope)
    np.testing.assert_allclose(gradient, -w / np.linalg.norm(w), atol=1e-5)
    assert abs(slope.sum()) <= 1e-5
    assert solution.status == "stalled" and solution.dual == -np.inf


def test_prox_newton_needs_no_conjugate(rng):
    class Curved(LogCosh):
        """The same with its curvature."""

        def curvature(self, y, z):
            return 1 - np.tanh(z - y) ** 2

    problem = make(Curved(), L1(2.0), rng)
    solution = run(registry["prox_newton"], problem)
    w, b = solution.parameters.w, solution.parameters.b
    g = problem.design.transposed_times(problem.derivative(problem.predictions(w, b)))
    assert np.max(problem.penalty.subdifferential_distance(w, g)) <= 1e-8


# ---- rows and columns that say nothing -----------------------------------------------------------


@pytest.mark.parametrize("loss", ["squared", "logistic", "huber", "softmax"])
@pytest.mark.parametrize("penalty", [L1(0.5), ElasticNet(0.5), Group(0.5), L1(0.0), Box(-1.0, 1.0)])
def test_constant_zero_and_equal_columns(loss, penalty, rng):
    problem = make(LOSSES[loss], penalty, rng)
    X = problem.design.X.copy()
    X[:, 0], X[:, 1], X[:, 2] = 7.0, 0.0, X[:, 3]
    problem = replace(problem, design=Design(X))
    for solver in ("prox_newton", "proximal_gradient"):
        solution = run(registry[solver], problem, tol=TOL)
        assert solution.status == "optimal"
        if getattr(penalty, "strength", 0.0) > 0:
            np.testing.assert_allclose(solution.parameters.w[:2], 0.0, atol=1e-3)


def test_more_features_than_rows(rng):
    X = rng.normal(size=(20, 500))
    y = X[:, :3].sum(axis=1) + 0.1 * rng.normal(size=20)
    for loss in ("squared", "huber"):
        for penalty in (L1(1.0), ElasticNet(1.0), Group(1.0, groups=np.arange(500) // 4)):
            problem = Problem(Design(X), y, LOSSES[loss](), penalty, np.ones(20))
            assert run(registry["prox_newton"], problem, tol=1e-9).status == "optimal"


def test_start_outside_the_constraints_is_moved_inside(rng):
    problem = make(LOSSES["squared"], Box(-0.1, 0.3), rng)
    start = Parameters(np.full(D, 5.0), np.array(0.0))
    for solver in ("prox_newton", "proximal_gradient", "ista"):
        solution = run(registry[solver], problem, start, tol=TOL)
        assert solution.status == "optimal"
        assert np.all(solution.parameters.w >= -0.1) and np.all(solution.parameters.w <= 0.3)


@pytest.mark.parametrize("loss", [Huber(), Quantile(), EpsilonInsensitive()])
def test_wide_problems_of_several_outputs_are_solved(loss, rng):
    """A descent that cannot take them does not begin for others."""
    X, Y = rng.normal(size=(12, 80)), rng.normal(size=(12, 2))
    problem = Problem(Design(X), Y, loss, L2(0.1), np.ones(12), True, 2)
    assert solve(problem).status == "optimal"


def test_ctrl_c_in_the_descent_that_begins_keeps_what_is_known(rng, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("gapless.solvers.dual.advance", interrupted)
    X, y = rng.normal(size=(12, 80)), np.arange(12) % 2 * 2.0 - 1
    solution = solve(Problem(Design(X), y, Hinge(), L2(0.1), np.ones(12)))
    assert solution.status == "interrupted"
    assert np.all(np.isfinite(solution.parameters.w)) and solution.gap >= 0


def test_rows_without_weight_do_not_decide_how_a_fit_begins(rng):
    """Large ones would speak against a descent that the others speak for."""
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2 * 2.0 - 1
    few = Problem(Design(X), y, Hinge(), L2(100.0), np.ones(40))
    rows, labels = np.vstack([X, 1e4 * X]), np.concatenate([y, y])
    more = Problem(Design(rows), labels, Hinge(), L2(100.0), np.repeat([1.0, 0.0], 40))
    assert is_quick(few) and is_quick(more)


def test_a_solver_that_gets_stuck_returns_no_less_than_the_model_without_features(rng):
    def run_away(problem, start):
        yield Point(start.w + 1e9, start.b)

    problem = make(Hinge, L2(1.0), rng)
    solution = run(Registered("runaway", run_away, lambda problem: None, 10), problem)
    assert solution.status == "stalled"
    null = problem.null
    assert solution.primal == problem.primal(null.w, null.b)
    np.testing.assert_array_equal(solution.parameters.w, null.w)
