"""What textbook algorithms promise: steps by the book, an honest gap, a trace that does not lie.

They need not reach the gap, so they are not among the solvers of `test_solvers`; every one in the
registry is held to all of this.
"""

from dataclasses import replace

import numpy as np
import pytest

from covering import covering
from gapless._ground.design import Design
from gapless._ground.interrupt import time_limit
from gapless._ground.threads import threads
from gapless.losses import Hinge, Logistic, Loss, Squared
from gapless.penalties import L1, L2, Box, Group, NoPenalty
from gapless.problem import Parameters, Problem
from gapless.solvers import (
    LBFGS,
    Adam,
    AveragedMomentum,
    Backtracking,
    GradientDescent,
    InverseTime,
    Momentum,
    Named,
    Nesterov,
    Subgradient,
    registry,
    solve,
    solve_many,
)
from gapless.solvers._base import run

TEXTBOOK = sorted(name for name, solver in registry.items() if not solver.is_exact)
BATCHES = ("mini_batch", "online", "stochastic")
PENALTIES = {
    "none": NoPenalty(),
    "l2": L2(2.0),
    "l1": L1(2.0),
    "group": Group(1.0),
    "box": Box(-0.1, 0.3),
}


def make(loss, penalty, rng, n=20, d=3):
    """A small problem with weights 0, 1 and 2; three classes or ±1 where the loss has classes."""
    loss = Loss.registry[loss]() if isinstance(loss, str) else loss
    X = rng.normal(size=(n, d)) + 0.2
    score = X @ rng.normal(size=d) + rng.normal(size=n)
    outputs = None
    if loss.task == "binary":
        y = np.where(score > 0, 1.0, -1.0)
        y[:2] = 1.0, -1.0
    elif loss.task == "multiclass":
        y, outputs = np.digitize(score, [-0.5, 0.5]), 3
        y[:3] = 0, 1, 2
    else:
        y = score if loss.targets == "real" else np.exp(0.3 * score)
    weights = np.resize([1.0, 2.0, 1.0, 0.0], n)
    return Problem(Design(X), y, loss, penalty, weights, outputs=outputs)


def cases():
    """Solvers × losses × penalties that go together: all pairs of them are in some."""
    rng = np.random.default_rng(0)
    every = {}
    for loss in sorted(name for name, cls in Loss.registry.items() if cls.refusal is None):
        for name, penalty in PENALTIES.items():
            problem = make(loss, penalty, rng)
            for solver in TEXTBOOK:
                if registry[solver].refuses(problem) is None:
                    case = (solver, loss, name)
                    every[case] = [*enumerate(case)]
    return covering(every)


CASES = cases()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_trace_is_true_and_the_gap_honest(case, rng):
    solver, loss, penalty = case
    problem = make(loss, PENALTIES[penalty], rng)
    chosen = replace(registry[solver], keep_iterates=True)
    solution = run(chosen, problem, tol=1e-6, max_iter=3 if solver in BATCHES else 30)
    trace = solution.trace
    lengths = {len(trace.primal), len(trace.gap), len(trace.seconds), len(trace.iterations)}
    assert lengths == {len(trace.iterates)}
    assert trace.iterations == sorted(trace.iterations) and trace.iterations[0] == 0
    assert trace.iterations[-1] <= trace.steps <= 30
    for (w, b), primal in zip(trace.iterates, trace.primal):
        assert primal == pytest.approx(problem.primal(w, b), rel=1e-9)
    # The best iterate is returned, and nothing better is further away than the gap.
    assert solution.primal == pytest.approx(min(trace.primal), rel=1e-12)
    best = solve(problem, tol=1e-8)
    assert solution.primal - best.primal <= solution.gap * (1 + 1e-9) + 1e-9 * problem.scale
    assert solution.dual <= best.primal + 1e-9 * problem.scale
    assert solution.solver == solver
    assert solution.status in ("optimal", "max_iter", "stalled")
    assert (solution.status == "optimal") == (solution.gap <= 1e-6 * problem.scale * (1 + 1e-6))
    assert trace.lower_bound == pytest.approx(solution.dual, rel=1e-9, abs=1e-9 * problem.scale)


@pytest.mark.parametrize("solver", TEXTBOOK)
def test_weight_two_is_a_repeated_row_and_weight_zero_none(solver, rng):
    problem = make("logistic", L2(1.0), rng)
    repeated = np.repeat(np.arange(problem.n), problem.weights.astype(int))
    if solver != "online":  # "online" keeps the order of the rows
        repeated = rng.permutation(repeated)
    stacked = replace(
        problem,
        design=problem.design.rows(repeated),
        y=problem.y[repeated],
        weights=np.ones(len(repeated)),
    )
    first, second = (run(registry[solver], p, tol=0.0, max_iter=4) for p in (problem, stacked))
    np.testing.assert_allclose(first.parameters.w, second.parameters.w, rtol=1e-9)
    np.testing.assert_allclose(first.parameters.b, second.parameters.b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("solver", TEXTBOOK)
def test_same_bits_again_and_for_any_number_of_threads(solver, rng):
    n = {"online": 200, "stochastic": 200, "mini_batch": 2000}.get(solver, 30_000)
    problem = make("logistic", L2(1.0), rng, n=n, d=10)
    found = []
    for count in (1, 8):
        with threads(count):
            found.append(run(registry[solver], problem, tol=0.0, max_iter=2).parameters)
    assert np.array_equal(found[0].w, found[1].w) and np.array_equal(found[0].b, found[1].b)


@pytest.mark.parametrize("solver", TEXTBOOK)
def test_time_limit_and_ctrl_c_keep_the_best_point(solver, rng):
    problem = make("logistic", L2(1.0), rng)
    with time_limit(0.0):
        solution = run(registry[solver], problem, tol=0.0)
    assert solution.status == "time_limit" and np.all(np.isfinite(solution.parameters.w))

    def interrupt(trace, target):
        if trace.steps == (1 if solver == "online" else 2):
            raise KeyboardInterrupt
        return False

    solution = run(registry[solver], problem, tol=0.0, max_iter=5, callback=interrupt)
    assert solution.status == "interrupted" and solution.gap >= 0
    assert solution.primal == pytest.approx(min(solution.trace.primal), rel=1e-12)


# ---- steps by the book ---------------------------------------------------------------------------


def bowl(curvatures, at=(1.0, 1.0)):
    """½Σ cⱼ(wⱼ − atⱼ)² as a least-squares problem without a bias, scaled so that Σs = 1."""
    X = np.diag(np.sqrt(2 * np.asarray(curvatures, float)))
    return Problem(Design(X), X @ np.asarray(at), Squared(), NoPenalty(), np.full(2, 0.5), False)


@pytest.mark.parametrize(
    ("update", "expected"),
    [
        # f = ½(w₁−1)² + ½·4(w₂−1)², ∇ = (w₁−1, 4(w₂−1)), η = 0.1, from 0.
        (None, [(0, 0), (0.1, 0.4), (0.19, 0.64)]),
        # Δ₂ = 0.1·(−0.9, −2.4) + 0.5·(−0.1, −0.4).
        (Momentum(0.5), [(0, 0), (0.1, 0.4), (0.24, 0.84)]),
        # Half of it: Δ₁ = −(0.05, 0.2), Δ₂ = ½(0.095, 0.32) + ½(0.05, 0.2).
        (AveragedMomentum(0.5), [(0, 0), (0.05, 0.2), (0.1225, 0.46)]),
        # Ahead (0.15, 0.6): Δ₂ = 0.1·(−0.85, −1.6) + 0.5·(−0.1, −0.4).
        (Nesterov(0.5), [(0, 0), (0.1, 0.4), (0.235, 0.76)]),
        (Adam(epsilon=1e-300), [(0, 0), (0.1, 0.1)]),
    ],
    ids=str,
)
def test_first_steps_are_those_computed_by_hand(update, expected):
    options = {} if update is None else {"update": update}
    chosen = GradientDescent(step=0.1, keep_iterates=True, **options)
    trace = run(chosen, bowl([1.0, 4.0]), tol=0.0, max_iter=len(expected) - 1).trace
    np.testing.assert_allclose([w for w, _ in trace.iterates], expected, rtol=1e-12, atol=1e-15)


def test_steps_with_a_bias_follow_the_mean_over_the_rows():
    """Logistic loss at z = 0 has slope −y/2; X = (1, 3), y = (1, −1), so ∇ = (½, 0) per row."""
    problem = Problem(
        Design(np.array([[1.0], [3.0]])), np.array([1.0, -1.0]), Logistic(), L2(2.0), np.ones(2)
    )
    chosen = GradientDescent(step=0.5, keep_iterates=True)
    trace = run(chosen, problem, tol=0.0, max_iter=2).trace
    w1 = -0.5 * 0.5
    slopes = [-1 / (1 + np.exp(w1)), 1 / (1 + np.exp(-3 * w1))]
    w2 = w1 - 0.5 * ((slopes[0] + 3 * slopes[1]) / 2 + w1)
    b2 = -0.5 * (slopes[0] + slopes[1]) / 2
    np.testing.assert_allclose([w[0] for w, _ in trace.iterates], [0, w1, w2], rtol=1e-12)
    np.testing.assert_allclose([b for _, b in trace.iterates], [0, 0, b2], atol=1e-15)


def test_online_descent_visits_the_rows_in_their_order():
    """w ← w − η(xᵀw − y)x, row by row: x = 1, 2 and y = 1, 0, each with weight ½."""
    problem = Problem(
        Design(np.array([[1.0], [2.0]])),
        np.array([1.0, 0.0]),
        Squared(),
        NoPenalty(),
        np.full(2, 0.5),
        False,
    )
    chosen = GradientDescent(step=0.1, batch_size=1, shuffle=False, passes=1, keep_iterates=True)
    solution = run(chosen, problem, tol=0.0)
    # 0 + 0.1·1 = 0.1; then 0.1 − 0.1·(0.2)·2 = 0.06.
    np.testing.assert_allclose([w[0] for w, _ in solution.trace.iterates], [0, 0.1, 0.06])
    assert solution.trace.iterations == [0, 0.5, 1] and solution.status == "max_iter"
    assert chosen.name == "online"


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_compiled_steps_by_rows_are_those_of_the_loss(loss, rng, monkeypatch):
    problem = replace(make(loss, L2(0.3), rng, n=30), weights=rng.integers(0, 3, 30) * 1.0)
    solvers = [GradientDescent(batch_size=1, keep_iterates=keep) for keep in (False, True)]
    compiled = [run(each, problem, tol=0.0, max_iter=3) for each in solvers]
    monkeypatch.setattr("gapless.solvers.descent.SingleRows.of", lambda batches: None)
    plain = [run(each, problem, tol=0.0, max_iter=3) for each in solvers]
    for one, other in zip(compiled, plain):
        np.testing.assert_allclose(one.parameters.w, other.parameters.w, rtol=1e-10)
        np.testing.assert_allclose(one.trace.primal, other.trace.primal, rtol=1e-12)
    paths = [np.array([w for w, _ in each.trace.iterates]) for each in (compiled[1], plain[1])]
    np.testing.assert_allclose(*paths, rtol=1e-10, atol=1e-14)


def test_subgradient_of_the_hinge_by_hand():
    """At z = 0 every row is inside the margin: g = −mean(yx) + λw/Σs; x = 2, −2, y = 1, −1."""
    problem = Problem(
        Design(np.array([[2.0], [-2.0]])), np.array([1.0, -1.0]), Hinge(), L2(1.0), np.ones(2)
    )
    chosen = Subgradient(step=InverseTime(0.2, 1.0), keep_iterates=True)
    trace = run(chosen, problem, tol=0.0, max_iter=3).trace
    # w₁ = 0.2·2 = 0.4; z = 0.8 < 1: w₂ = 0.4 − 0.1·(−2 + 0.2) = 0.58; then only the penalty.
    expected = [0, 0.4, 0.58, 0.58 - 0.2 / 3 * 0.29]
    np.testing.assert_allclose([w[0] for w, _ in trace.iterates], expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("curvature", "step", "expected"), [(1.0, 0.5, 0.5), (4.0, 0.5, 1.0), (4.0, 0.6, 1.4)]
)
def test_a_constant_step_contracts_or_expands_by_its_rate(curvature, step, expected):
    """w_{t+1} − 1 = (1 − ηc)(w_t − 1): steps beyond 2/c diverge."""
    chosen = GradientDescent(step=step, keep_iterates=True)
    problem = bowl([curvature, curvature])
    trace = run(chosen, problem, tol=0.0, max_iter=5).trace
    distance = np.abs([w[0] - 1 for w, _ in trace.iterates])
    np.testing.assert_allclose(distance[1:] / distance[:-1], expected, rtol=1e-9)


def test_steps_that_are_too_long_are_said_to_diverge_with_the_cure():
    solution = run(GradientDescent(step=10.0), bowl([1.0, 4.0]), tol=1e-6)
    assert solution.status == "diverged" and "leave step= out" in solution.cure
    assert np.all(np.isfinite(solution.parameters.w)) and solution.gap > 0
    safe = float(solution.cure.split("begin with ")[1].split(" or less")[0])
    assert 0.1 <= safe <= 0.5  # 2/c for the larger curvature
    assert run(GradientDescent(step=safe), bowl([1.0, 4.0]), tol=1e-6).status == "optimal"


@pytest.mark.parametrize(
    ("chosen", "bound"),
    [
        # (1 − 1/κ)ᵗ for plain steps of length 1/L, twice as many at most by backtracking.
        (GradientDescent(step=1 / 25), 25 * np.log(1e8)),
        (GradientDescent(), 2 * 25 * np.log(1e8)),
        # 2L‖w‖²/(t+1)² for Nesterov's method.
        (GradientDescent(step=1 / 25, update=Nesterov()), np.sqrt(2 * 25 * 2 / 1e-7)),
        (GradientDescent(step=4 / 36, update=Momentum((4 / 6) ** 2)), 6 * np.log(1e8)),
        (LBFGS(), 10),
        (Named("newton"), 3),
    ],
    ids=str,
)
def test_the_optimum_of_an_elongated_bowl_is_reached_within_the_known_number_of_steps(
    chosen, bound
):
    problem = bowl([1.0, 25.0])
    solution = run(chosen, problem, tol=1e-8)
    assert solution.status == "optimal" and solution.trace.steps <= bound
    np.testing.assert_allclose(solution.parameters.w, 1.0, atol=np.sqrt(2 * 1e-8 * problem.scale))


@pytest.mark.parametrize("step", [None, "same"])
@pytest.mark.parametrize("loss", [Squared(), Logistic()])
def test_momentum_is_ahead_of_plain_descent_on_an_elongated_bowl(loss, step, rng):
    """By name, where each rule searches its steps, and with one constant step for all."""
    X = rng.normal(size=(100, 6)) * np.geomspace(20.0, 1.0, 6)
    z = X @ np.geomspace(0.05, 1.0, 6) + rng.normal(size=100)
    problem = Problem(
        Design(X), np.sign(z) if loss.task == "binary" else z, loss, L2(0.5), np.ones(100)
    )
    best = run(registry["newton"], problem, tol=1e-12).primal
    largest = np.linalg.eigvalsh(X.T @ X / 100)[-1] * (0.25 if loss.task == "binary" else 1.0)

    def excess(name):
        solver = registry[name]
        if step is not None:
            solver = replace(solver, step=1 / (largest + 1))
        return run(solver, problem, tol=1e-14, max_iter=100).primal - best

    plain = excess("gradient_descent")
    assert excess("momentum") < 0.3 * plain
    assert excess("nesterov") < 0.3 * plain


def test_the_gap_of_the_subgradient_method_falls_as_one_over_t(rng):
    problem = replace(make("hinge", L2(2.0), rng, n=40), fit_bias=False)
    gaps = [run(Subgradient(), problem, tol=0.0, max_iter=t).gap for t in (100, 1600)]
    assert gaps[1] <= gaps[0] / 8  # 1/16, up to a logarithm


def test_batches_are_right_on_average_and_seeds_decide(rng):
    """The gradients of an epoch's batches add up to that of all rows, weighted by their sizes."""
    problem = make("logistic", L2(1.0), rng, n=23)
    everything = GradientDescent(step=0.3, batch_size=100)
    plain = GradientDescent(step=0.3)
    first = run(everything, problem, tol=0.0, max_iter=3).parameters
    np.testing.assert_allclose(first.w, run(plain, problem, tol=0.0, max_iter=3).parameters.w)
    seeds = [
        run(GradientDescent(batch_size=4, random_state=seed), problem, tol=0.0, max_iter=2)
        for seed in (1, 1, 2)
    ]
    w = [solution.parameters.w for solution in seeds]
    assert np.array_equal(w[0], w[1]) and not np.array_equal(w[0], w[2])


def test_named_solvers_keep_their_iterates(rng):
    problem = make("logistic", L2(1.0), rng)
    for name in ("newton", "lbfgs", "proximal_gradient", "coordinate_descent"):
        solution = solve(problem, Named(name), tol=1e-6)
        trace = solution.trace
        assert len(trace.iterates) == len(trace.primal) == len(trace.iterations)
        for (w, b), primal in zip(trace.iterates, trace.primal):
            assert primal == pytest.approx(problem.primal(w, b), rel=1e-9)
    with pytest.raises(ValueError, match="is not known"):
        Named("best")


def test_iterates_of_wide_problems_and_of_several_are_those_of_the_features(rng):
    X, labels = rng.normal(size=(10, 60)), np.arange(10) % 2 * 2.0 - 1
    problem = Problem(Design(X), labels, Hinge(), L2(0.5), np.ones(10))
    for name in ("augmented_lagrangian", "interior_point", "newton", "dual"):
        taken = problem if name != "newton" else replace(problem, loss=Logistic())
        for solution in solve_many([taken, taken], Named(name)):
            trace = solution.trace
            assert len(trace.iterates) == len(trace.primal) > 0
            for (w, b), primal in zip(trace.iterates, trace.primal):
                assert primal == pytest.approx(taken.primal(w, b), rel=1e-8)


def test_a_start_is_used(rng):
    problem = make("logistic", L2(1.0), rng)
    start = Parameters(np.ones(3), np.array(0.5))
    for name in ("gradient_descent", "stochastic", "subgradient"):
        trace = run(replace(registry[name], keep_iterates=True), problem, start, max_iter=1).trace
        np.testing.assert_array_equal(trace.iterates[0][0], start.w)


@pytest.mark.parametrize(
    ("make_it", "message"),
    [
        (lambda: GradientDescent(update=Adam(), step=Backtracking()), "does not step along"),
        (lambda: GradientDescent(batch_size=8, step=Backtracking()), "objective of all rows"),
        (lambda: GradientDescent(batch_size=0), "at least 1"),
        (lambda: GradientDescent(batch_size=2.5), "batch_size must be a whole number"),
        (lambda: GradientDescent(passes=1.5), "passes must be a whole number"),
        (lambda: GradientDescent(random_state=-1), "random_state must be .* at least 0"),
        (lambda: LBFGS(memory=2.5), "memory must be a whole number"),
        (lambda: GradientDescent(step=-1.0), "step must be a number above 0"),
        (lambda: GradientDescent(step="fast"), "step must be a number above 0"),
        (lambda: Subgradient(step=Backtracking()), "may go uphill"),
        (lambda: LBFGS(memory=0), "at least 1"),
    ],
)
def test_options_that_make_no_sense_are_refused_with_the_reason(make_it, message):
    with pytest.raises(ValueError, match=message):
        make_it()
    with pytest.raises(TypeError, match="update must be a rule"):
        GradientDescent(update="momentum")


def test_refusals_say_what_instead(rng):
    with pytest.raises(ValueError, match="needs a loss with a continuous derivative, got hinge"):
        solve(make("hinge", L2(1.0), rng), "momentum")
    with pytest.raises(ValueError, match="needs a penalty"):
        solve(make("squared", L1(1.0), rng), GradientDescent())
