"""Every loss with every penalty: it runs, and says how far it is from the best that is possible.

Both registries are read, so a new loss or penalty is held to this at once. docs/guide/penalties.md
shows the same table with times.
"""

import numpy as np
import pytest
from test_solvers import make

from gapless._ground.design import Design
from gapless.certificates import certify
from gapless.losses import Loss, Tweedie
from gapless.penalties import L1, Group, L2Norm, Penalty, PNorm, by_name
from gapless.problem import Parameters, Problem
from gapless.solvers import Trace, choose, registry, solve

# The others, such as the 0-1 loss, only judge predictions.
FITTED = {name: cls for name, cls in Loss.registry.items() if cls.refusal is None}


@pytest.mark.parametrize("penalty", sorted(Penalty.registry))
@pytest.mark.parametrize("loss", sorted(FITTED))
def test_every_cell_is_solved_and_certified(loss, penalty):
    problem = make(FITTED[loss], by_name(penalty), np.random.default_rng(1))
    solution = solve(problem)
    certificate = certify(problem, solution.parameters)
    assert choose(problem) in registry and solution.solver in registry
    counted = solution.solver == "branch_and_bound"
    if problem.penalty.is_convex or counted:
        assert certificate.kind in ("optimal", "exact"), certificate
        assert certificate.gap <= certificate.tolerance
    else:
        assert certificate.kind == "stationary", certificate
        assert "not convex" in certificate.verdict


def unfriendly(loss, penalty, seed=3, n=24, far=50.0):
    """Few rows, one far out and one target too; columns of different size, repeated, or empty.

    Classes are separated but for that row, and some rows have no weight, or a large one.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    X = np.column_stack([X, X[:, 0], np.zeros(n)])
    score = X @ rng.normal(size=(7, 3)) + 0.1 * rng.normal(size=(n, 3))
    score[0] *= 1000.0
    X[1] *= far
    X = X * [1e-3, 1, 1e3, 1, 1, 1e-3, 1] + [0, 0, 0, 100, 0, 0, 0]
    weights, outputs = np.ones(n), None
    weights[2:4] = 0.0, 7.0
    if loss.task == "multiclass":
        y, outputs = np.argmax(score, axis=1), 3
    elif loss.task == "binary":
        y = np.where(score[:, 0] > 0, 1.0, -1.0)
    else:
        y = score[:, 0] if loss.targets == "real" else np.exp(np.clip(score[:, 0], -8, 8))
    return Problem(Design(X), y, loss, penalty, weights, True, outputs)


@pytest.mark.parametrize("penalty", sorted(Penalty.registry))
@pytest.mark.parametrize("loss", sorted(FITTED))
def test_every_cell_is_solved_on_unfriendly_data_or_says_why_not(loss, penalty):
    problem = unfriendly(FITTED[loss](), by_name(penalty))
    certificate = certify(problem, solve(problem).parameters)
    if certificate.no_minimiser:
        # Without a penalty (the box has no bounds), or with one that is flat far out, and a loss
        # that never ends falling.
        assert problem.penalty.name in ("none", "box", "l0", "mcp", "scad")
        assert problem.loss.task != "regression"
    elif problem.penalty.is_convex:
        assert certificate.kind in ("optimal", "exact"), certificate
    else:
        assert certificate.kind in ("stationary", "optimal"), certificate


@pytest.mark.parametrize("loss", ["absolute", "quantile", "epsilon_insensitive"])
def test_groups_reach_the_gap_where_rounding_hides_the_last_steps(loss):
    """The bound falls by P/λ times the error of a slope, which P itself no longer shows."""
    for seed in (15, 23):
        penalty = Group(1.0, np.array([0, 0, 1, 1, 2, 2, 2]))
        problem = unfriendly(FITTED[loss](), penalty, seed, 150, 1e3)
        certificate = certify(problem, solve(problem).parameters)
        assert certificate.kind == "optimal", (seed, certificate)


@pytest.mark.parametrize(
    "loss, seed, n, far",
    [*(("poisson", seed, 24, 50.0) for seed in (1, 5, 6, 8, 12)), ("logistic", 12, 150, 1e3)],
)
def test_repeated_free_columns_do_not_hide_the_bound(loss, seed, n, far):
    """Nothing but rounding is left of their difference, and it must not stand for a column."""
    problem = unfriendly(FITTED[loss](), by_name("none"), seed, n, far)
    certificate = certify(problem, solve(problem).parameters)
    assert certificate.kind == "optimal", certificate


@pytest.mark.parametrize("seed", [2, 3, 4, 8])
def test_a_fixed_point_keeps_the_dual_point_of_its_own_tangents(seed):
    problem = unfriendly(FITTED["hinge"](), by_name("mcp"), seed)
    certificate = certify(problem, solve(problem).parameters)
    assert certificate.kind == "stationary", certificate


@pytest.mark.parametrize("penalty", ["none", "l1", "l2_norm"])
def test_huber_is_solved_for_targets_far_beyond_its_width(penalty):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 6))
    y = 1e6 * (X @ rng.normal(size=6) + rng.normal(size=60))
    problem = Problem(Design(X), y, FITTED["huber"](), by_name(penalty), np.ones(60))
    solution = solve(problem)
    assert certify(problem, solution.parameters).kind == "optimal"
    assert solution.trace.steps < 150
    few = solve(problem, max_iter=5)
    assert few.trace.steps <= 5 and few.status == "max_iter"


@pytest.mark.parametrize("loss", ["squared", "quantile", "logistic"])
def test_columns_far_from_zero_are_solved_as_if_they_were_centred(loss):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 4))
    y = X @ [1, -1, 0, 0.5] + 0.3 * rng.normal(size=60)
    y = np.sign(y) if loss == "logistic" else y
    parts = y, FITTED[loss](), L1(3.0), np.ones(60)
    far, near = (Problem(Design(X + shift), *parts) for shift in (1e8, 0.0))
    found, expected = solve(far).parameters, solve(near).parameters
    np.testing.assert_allclose(found.w, expected.w, rtol=1e-5, atol=1e-6)
    assert certify(far, found).kind == "optimal"


@pytest.mark.parametrize(
    "penalty", sorted(n for n, p in Penalty.registry.items() if not p.is_convex)
)
@pytest.mark.parametrize(
    "loss", ["hinge", "absolute", "quantile", "epsilon_insensitive", "squared_hinge", "logistic"]
)
def test_repeated_columns_do_not_trap_a_concave_penalty(loss, penalty):
    """A lasso splits coefficients between copies; what all copies share belongs to one of them."""
    assert_copies_do_no_harm(FITTED[loss](), by_name(penalty), seed=0, noise=0.3)


@pytest.mark.parametrize("seed", [1, 19, 27, 29])
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_a_step_in_one_of_two_copies_does_not_trap_the_number_of_coefficients(loss, seed):
    w = assert_copies_do_no_harm(FITTED[loss](), by_name("l0"), seed, noise=1.5)
    # A split costs one more coefficient; where a penalty is linear near 0, it costs nothing.
    copies = np.array([w[:4], w[4:8], [w[9], 0, 0, 0]]) != 0
    assert np.all(copies.sum(axis=0) <= 1) and w[8] == 0


def assert_copies_do_no_harm(loss, penalty, seed, noise):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 4))
    y = X @ [2, -1.5, 0, 0] + noise * rng.normal(size=60)
    y = y if loss.task == "regression" else np.sign(y)
    repeated = np.hstack([X, -X, np.ones((60, 1)), X[:, :1] + 3])
    values = []
    for columns in (X, repeated):
        problem = Problem(Design(columns), y, loss, penalty, np.ones(60))
        found = solve(problem).parameters
        assert certify(problem, found).kind == "stationary"
        values.append(problem.primal(found.w, found.b))
    assert values[1] <= values[0] + 1e-6 * problem.scale
    return found.w


@pytest.mark.parametrize("scale", [1e-6, 1e-2, 1.0])
@pytest.mark.parametrize("penalty", ["l1", "scad"])
@pytest.mark.parametrize("loss", ["absolute", "quantile", "hinge"])
def test_coefficients_that_no_force_moves_are_exactly_zero(loss, penalty, scale):
    rng = np.random.default_rng(2)
    X, y = scale * rng.normal(size=(40, 4)), rng.normal(size=40)
    y = np.sign(y) if loss == "hinge" else y
    strength = 3 * scale * np.abs(X / scale).sum(axis=0).max()
    problem = Problem(
        Design(X), y, FITTED[loss](), Penalty.registry[penalty](strength), np.ones(40)
    )
    found = solve(problem).parameters
    assert np.all(found.w == 0)
    assert certify(problem, found).kind in ("optimal", "stationary")


@pytest.mark.parametrize("shift, scale", [(1e6, 1.0), (0.0, 1e-9), (1.0, 0.0)])
@pytest.mark.parametrize("penalty", ["scad", "l2"])
def test_a_stationary_point_is_known_in_any_units(penalty, shift, scale):
    """Neither a large mean of the columns nor the rounding in the bias makes it "stopped"."""
    rng = np.random.default_rng(4)
    X, noise = rng.normal(size=(40, 3)), rng.normal(size=40)
    y = np.exp(0.5 * X[:, 0] + 0.2 * noise)
    loss = Tweedie(3.0) if penalty == "l2" else FITTED["squared"]()
    problem = Problem(Design(shift + scale * X), y, loss, by_name(penalty), np.ones(40))
    found = solve(problem).parameters
    assert certify(problem, found).kind == "stationary"
    moved = Parameters(found.w, found.b + 0.1)
    assert certify(problem, moved).kind == "stopped"


@pytest.mark.parametrize(
    "penalty, simpler",
    [
        (Group(2.0, weights=np.array([1.0, 0.5, 0.0])), L1(2.0, np.array([1.0, 0.5, 0.0]))),
        (Group(2.0, np.array([3, 1, 2]), np.array([1.0, 2.0, 3.0])), L1(2.0, np.array([3, 1, 2]))),
        (PNorm(2.0, 1.0), L1(2.0)),
        (PNorm(2.0, 2.0), L2Norm(2.0)),
    ],
)
def test_penalties_in_simplest_form_are_the_same_function(penalty, simpler):
    form = penalty.simplest(3, None)
    assert type(form) is type(simpler)
    for w in np.random.default_rng(0).normal(size=(5, 3)):
        assert form.value(w) == pytest.approx(penalty.value(w), rel=1e-14)
        assert form.value(w) == pytest.approx(simpler.value(w), rel=1e-14)
    assert penalty.simplest(3, 2) is penalty
    assert Group(1.0, np.array([0, 0, 1])).simplest(3, None).name == "group"


def test_a_trace_follows_an_earlier_one():
    first, second = Trace(), Trace()
    for k in range(3):
        first.record(10.0 - k, np.nan, 0.1 * k, k)
        second.record(5.0 - k, 1.0, 0.1 * k, k)
    first.steps = second.steps = 2
    second.follow(first)
    assert second.primal == [10, 9, 8, 5, 4, 3] and second.steps == 4
    assert second.iterations == [0, 1, 2, 2, 3, 4]
    assert second.seconds == pytest.approx([0, 0.1, 0.2, 0.2, 0.3, 0.4])


def test_hopeless_smooth_problems_are_given_up():
    """Columns of size 1e12 under a weak penalty: rounding hides every step of some problems."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    y = np.digitize(X[:, 0] + rng.normal(size=12), [-0.7, 0.7])
    loss = FITTED["crammer_singer"]()
    problem = Problem(Design(1e12 * X), y, loss, by_name("l2"), np.ones(12), True, 3)
    solution = solve(problem)
    assert solution.trace.steps < 20
    assert certify(problem, solution.parameters).kind in ("optimal", "stopped")
