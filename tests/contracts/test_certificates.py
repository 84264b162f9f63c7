"""A certificate never promises more than is true, anywhere, and promises enough at solutions."""

import json
import warnings
from dataclasses import dataclass, replace

import numpy as np
import pytest
import small_problems
from high_precision import Case, minimise, objective
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from small_problems import COLUMNS, LOSSES, PENALTIES, make

import gapless
from gapless._ground.design import Design
from gapless.certificates.certificate import Certificate, certify, certify_all
from gapless.losses import Gamma, Hinge, Logistic, Loss, Poisson, Softmax, Squared, Tweedie
from gapless.penalties import L1, L2, MCP, Box, NoPenalty, Penalty
from gapless.problem.problem import Parameters, Problem

MANY = settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.differing_executors],
)

shapes = st.fixed_dictionaries(
    {
        "penalty": st.sampled_from(PENALTIES),
        "n": st.integers(1, 7),
        "d": st.integers(0, 3),
        "bias": st.booleans(),
        "dtype": st.sampled_from([np.float64, np.float32]),
        "sparse": st.booleans(),
        "zeros": st.booleans(),
        "K": st.sampled_from([None, None, 2]),
        "columns": st.sampled_from(COLUMNS),
    }
)
seeds = st.integers(0, 2**32 - 1)


def is_true(certificate, case, w, b, best):
    """Whether the objective is above the best one by no more than the certificate says."""
    excess = float(objective(case, w, b) - best)
    return excess <= certificate.gap * (1 + 1e-12)


def points(problem, minimum, rng):
    """Parameters far from the minimum, near it, and at it."""
    w, b = minimum.w, minimum.b
    for size in (10 ** rng.uniform(-1, 2), 1e-3, 1e-6, 0.0):
        moved = w + size * rng.normal(size=w.shape)
        bias = b + size * rng.normal(size=b.shape) * problem.fit_bias
        yield problem.penalty.prox(moved, np.finfo(float).tiny), bias


def dual_points(minimum, rng):
    """Dual points that a solver may have left, right and wrong ones."""
    theta = minimum.theta
    yield theta
    yield None
    yield -theta
    yield theta * 10 ** rng.uniform(-2, 3)
    yield theta + 10 ** rng.uniform(-8, 1) * rng.normal(size=theta.shape)
    yield 10 ** rng.uniform(-1, 4) * rng.normal(size=theta.shape)
    yield np.full_like(theta, rng.choice([np.nan, np.inf, -np.inf, 1e300]))
    yield np.where(rng.random(theta.shape) < 0.5, np.nan, theta)
    yield theta[:-1]


# ---- true everywhere -----------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_gap_bounds_suboptimality_at_and_away_from_the_optimum(loss):
    @MANY
    @given(shapes, seeds)
    def check(shape, seed):
        rng = np.random.default_rng(seed)
        problem, case = make(loss, rng=rng, **shape)
        minimum = minimise(case)
        stored = list(dual_points(minimum, rng))
        for w, b in points(problem, minimum, rng):
            theta = stored[rng.integers(len(stored))]
            certificate = certify(problem, Parameters(w, b, theta))
            assert is_true(certificate, case, w, b, minimum.value)

    check()


def test_wrong_dual_points_only_enlarge_the_gap():
    @settings(MANY, max_examples=40)
    @given(st.sampled_from(list(LOSSES)), shapes, seeds)
    def check(loss, shape, seed):
        rng = np.random.default_rng(seed)
        problem, case = make(loss, rng=rng, **shape)
        minimum = minimise(case)
        w, b = minimum.w, minimum.b
        for theta in dual_points(minimum, rng):
            certificate = certify(problem, Parameters(w, b, theta))
            assert is_true(certificate, case, w, b, minimum.value)
            assert certificate.gap >= 0

    check()


@pytest.mark.parametrize("model", [gapless.PoissonRegressor(alpha=0), gapless.LinearRegression()])
def test_targets_that_rounding_hides_are_not_called_optimal(model):
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = 1.7e9 + 60 * np.random.default_rng(1).random(60)  # moments of a minute, in seconds
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        certificate = model.fit(X, y).certificate_
    assert certificate.kind == "stopped" or certificate.relative_gap <= 1e-4
    assert model.fit(X, np.full(60, 1.7e9)).certificate_.kind in ("exact", "optimal")


def test_every_built_in_loss_is_among_the_random_problems():
    built_in = {
        name
        for name, cls in Loss.registry.items()
        if cls.__module__.startswith("gapless") and cls.refusal is None
    }
    assert built_in == {function.name for function in LOSSES.values()}


def test_every_built_in_penalty_is_among_the_random_problems():
    rng = np.random.default_rng(0)
    used = {small_problems.make_penalty(name, 3, 1.0, rng)[0].name for name in PENALTIES}
    built_in = {
        name
        for name, cls in Penalty.registry.items()
        if cls.__module__.startswith("gapless") and cls.is_convex
    }
    # The norms are held to the same in tests/reference/test_not_convex.py.
    assert built_in - {"l2_norm", "p_norm"} == used


# ---- enough at solutions, nothing at wrong ones --------------------------------------------------


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", LOSSES)
def test_solutions_are_certified_and_broken_ones_refused(loss, penalty, seed=5):
    rng = np.random.default_rng(seed)
    problem, case = make(loss, penalty, 24, 2, rng)
    minimum = minimise(case)
    found = certify(problem, Parameters(minimum.w, minimum.b, minimum.theta))
    assert found.kind == "optimal", found
    assert found.gap <= found.tolerance
    assert is_true(found, case, minimum.w, minimum.b, minimum.value)
    broken = minimum.w + rng.choice([-0.5, 0.5], minimum.w.shape)
    broken = problem.penalty.prox(broken, np.finfo(float).tiny)
    bias = minimum.b + rng.choice([-0.5, 0.5], minimum.b.shape)
    excess = float(objective(case, broken, bias) - minimum.value)
    assert excess > 1e-4 * problem.scale, "the broken solution is not broken"
    refused = certify(problem, Parameters(broken, bias, minimum.theta))
    assert refused.kind == "stopped"
    assert refused.gap >= excess
    assert "raise max_iter" in refused.verdict


@pytest.mark.parametrize(
    "loss", [name for name, loss in LOSSES.items() if not loss.is_piecewise_linear]
)
def test_a_smooth_loss_needs_no_stored_dual_point(loss):
    problem, case = make(loss, "elastic_net", 24, 2, np.random.default_rng(1))
    minimum = minimise(case)
    certificate = certify(problem, Parameters(minimum.w, minimum.b))
    assert certificate.kind == "optimal"
    assert certificate.method == "gradient"


def test_at_a_kink_the_stored_dual_point_is_what_proves():
    problem, case = make("hinge", "l2", 24, 2, np.random.default_rng(1))
    minimum = minimise(case)
    with_it = certify(problem, Parameters(minimum.w, minimum.b, minimum.theta))
    without = certify(problem, Parameters(minimum.w, minimum.b))
    assert with_it.kind == "optimal" and with_it.method == "stored"
    assert without.gap > 1000 * with_it.gap


def test_conditions_of_optimality_name_the_place_that_is_wrong():
    problem, case = make("squared", "l2", 24, 3, np.random.default_rng(3))
    minimum = minimise(case)
    kkt = certify(problem, Parameters(minimum.w, minimum.b, minimum.theta)).kkt
    assert max(kkt.stationarity.value, kkt.feasibility.value, kkt.complementarity.value) < 1e-10
    w = minimum.w + np.array([0.0, 0.0, 0.5])
    kkt = certify(problem, Parameters(w, minimum.b, minimum.theta)).kkt
    assert kkt.stationarity.where == (2,)
    theta = minimum.theta.copy()
    y = problem.y.copy()
    y[7] += 5.0
    other = Problem(problem.design, y, problem.loss, problem.penalty, problem.weights)
    kkt = certify(other, Parameters(minimum.w, minimum.b, theta)).kkt
    assert kkt.complementarity.where == (7,)


def test_exact_is_a_kind_only_of_what_is_optimal():
    problem, case = make("squared", "l2", 24, 2, np.random.default_rng(1))
    minimum = minimise(case)
    assert certify(problem, Parameters(minimum.w, minimum.b), exact=True).kind == "exact"
    assert certify(problem, Parameters(minimum.w + 1, minimum.b), exact=True).kind == "stopped"


def ridge_on(X, y):
    problem = Problem(Design(X), y, Squared(), L2(1.0), np.ones(len(y)))
    centred = X - X.mean(axis=0)
    w = np.linalg.solve(centred.T @ centred + np.eye(X.shape[1]), centred.T @ (y - y.mean()))
    return certify(problem, Parameters(w, np.array(np.mean(y - X @ w))))


@pytest.mark.parametrize("offsets", [(0.0, 1e14), (1e12, 0.0)])
def test_a_gap_that_rounding_hides_is_not_called_optimal(offsets):
    X = np.random.default_rng(3).normal(size=(50, 3))
    y = X[:, 0] + np.random.default_rng(4).normal(size=50)
    certificate = ridge_on(X + offsets[0], y + offsets[1])
    assert certificate.kind == "stopped"
    assert "centre the features" in certificate.verdict
    assert ridge_on(X + 1e-9 * offsets[0], y + 1e-9 * offsets[1]).kind == "optimal"


def test_a_target_that_varies_below_rounding_is_not_called_optimal(rng):
    X = rng.normal(size=(60, 4))
    y = X @ [1, -1, 0, 0.5]
    with pytest.warns(ConvergenceWarning):
        model = gapless.PoissonRegressor(alpha=0).fit(X, 1.7e9 + 60 * y)
    assert model.certificate_.kind == "stopped"
    assert "centre" in model.certificate_.verdict
    with pytest.warns(ConvergenceWarning):
        model = gapless.LinearRegression().fit(10 * X + 3e15, y)
    assert model.certificate_.kind == "stopped"
    assert gapless.PoissonRegressor().fit(X, np.full(60, 0.1)).certificate_.kind == "optimal"


def test_the_bound_holds_for_large_coefficients_of_unpenalised_columns():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(400, 3)), rng.normal(size=400)
    problem = Problem(Design(X), y, Squared(), NoPenalty(), np.ones(400), fit_bias=False)
    w = np.linalg.lstsq(X, y)[0]
    certificate = certify(problem, Parameters(w, np.array(0.0)))
    # What Aᵀθ ≠ 0 costs at coefficients a thousand times as large as any that predict as much.
    largest = 1e3 * np.linalg.norm(X @ w) / np.linalg.norm(X, axis=0)
    products = np.abs(X.T @ problem.bound(y - X @ w).theta)
    assert 0 < products @ largest <= certificate.rounding


def test_tolerance_is_relative_to_the_objective_at_zero():
    problem, case = make("logistic", "l2", 24, 2, np.random.default_rng(1))
    minimum = minimise(case)
    parameters = Parameters(minimum.w * 1.01, minimum.b)
    gap = certify(problem, parameters).gap
    assert certify(problem, parameters, tol=1.01 * gap / problem.scale).kind == "optimal"
    assert certify(problem, parameters, tol=0.99 * gap / problem.scale).kind == "stopped"


# ---- float32, weights, extremes ------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_float32_data_is_summed_in_float64(loss):
    problem, case = make(loss, "l2", 24, 2, np.random.default_rng(2), dtype=np.float32)
    minimum = minimise(case)
    certificate = certify(problem, Parameters(minimum.w, minimum.b, minimum.theta))
    assert certificate.gap < 1e-9 * max(problem.scale, 1.0)  # the perceptron's scale is 0
    assert certificate.primal == pytest.approx(float(minimum.value), rel=1e-13, abs=1e-11)


def test_a_row_of_weight_zero_is_a_row_that_is_not_there():
    for loss in LOSSES:
        rng = np.random.default_rng(4)
        problem, case = make(loss, "l1", 12, 2, rng, zeros=True)
        minimum = minimise(case)
        kept = np.flatnonzero(problem.weights > 0)
        assert len(kept) < problem.n
        fewer = Problem(
            problem.design.rows(kept),
            problem.y[kept],
            problem.loss,
            problem.penalty,
            problem.weights[kept],
            outputs=problem.outputs,
        )
        all_rows = certify(problem, Parameters(minimum.w, minimum.b, minimum.theta))
        some_rows = certify(fewer, Parameters(minimum.w, minimum.b, minimum.theta[kept]))
        assert all_rows.kind == some_rows.kind
        assert all_rows.primal == pytest.approx(some_rows.primal, rel=1e-14)
        assert all_rows.scale == pytest.approx(some_rows.scale, rel=1e-12)
        # Beside the sums it has what is left of Aᵀθ = 0, which is another rounding each time.
        assert all_rows.rounding == pytest.approx(some_rows.rounding, rel=1e-12, abs=2e-12)


def test_a_huge_row_of_weight_zero_leaves_the_rounding_as_it_is():
    problem, case = make("squared", "l2", 12, 2, np.random.default_rng(7))
    minimum = minimise(case)
    X = np.vstack([problem.design.X, np.full((1, 2), 1e9)])
    y, weights = np.append(problem.y, 1e9), np.append(problem.weights, 0.0)
    longer = Problem(Design(X), y, problem.loss, problem.penalty, weights)
    certificate = certify(problem, Parameters(minimum.w, minimum.b))
    with_row = certify(longer, Parameters(minimum.w, minimum.b))
    assert with_row.rounding == pytest.approx(certificate.rounding, rel=1e-12)


@pytest.mark.parametrize("exponent", [-450, -150, 150, 450])
@pytest.mark.parametrize("penalty", ["l1", "l2", "none", "sign"])
def test_extreme_scales_change_no_verdict(penalty, exponent):
    """y and w by 2ᵉ, P by 4ᵉ (λ of the lasso by 2ᵉ): the same problem in other units."""
    problem, case = make("squared", penalty, 12, 2, np.random.default_rng(6))
    minimum = minimise(case)
    unit = 2.0**exponent
    if penalty == "l1":
        R = L1(problem.penalty.strength * unit)
    else:
        R = problem.penalty
    scaled = Problem(problem.design, problem.y * unit, problem.loss, R, problem.weights)
    for move in (0.0, 0.5):
        w = np.maximum(minimum.w + move, 0) if penalty == "sign" else minimum.w + move
        here = certify(problem, Parameters(w, minimum.b, minimum.theta))
        there = certify(scaled, Parameters(w * unit, minimum.b * unit, minimum.theta * unit))
        assert there.kind == here.kind
        assert there.relative_gap == pytest.approx(here.relative_gap, rel=1e-3, abs=1e-12)


def test_features_of_extreme_size_change_no_verdict():
    problem, case = make("logistic", "none", 24, 2, np.random.default_rng(6))
    minimum = minimise(case)
    for unit in (2.0**-480, 2.0**-40, 2.0**40, 2.0**480):
        design = Design(problem.design.X * np.array([unit, 1.0]))
        scaled = Problem(design, problem.y, problem.loss, problem.penalty, problem.weights)
        w = minimum.w / np.array([unit, 1.0])
        assert certify(scaled, Parameters(w, minimum.b)).kind == "optimal"


@pytest.mark.parametrize("loss", LOSSES)
def test_smallest_problems_have_certificates(loss):
    function = LOSSES[loss]
    for n, d, bias in [(1, 0, True), (1, 0, False), (1, 1, True), (2, 0, True), (3, 5, False)]:
        problem, _ = make(loss, "l2", n, d, np.random.default_rng(n + d), bias=bias)
        null = problem.null
        certificate = certify(problem, null)
        assert not np.isnan(certificate.gap) and certificate.gap >= 0
        if d == 0 and (function.task == "regression" or n > 1 or not bias):
            assert certificate.kind in ("optimal", "stopped")


def test_equal_targets_are_fitted_exactly_by_the_bias():
    X = np.random.default_rng(0).normal(size=(9, 2))
    for y in (np.full(9, 3.0), np.full(9, 0.1), np.zeros(9)):
        problem = Problem(Design(X), y, Squared(), L2(1.0), np.ones(9))
        certificate = certify(problem, problem.null)
        assert certificate.kind == "optimal"
        assert certificate.scale <= 1e-30
        worse = certify(problem, Parameters(np.ones(2), problem.null.b))
        assert worse.kind == "stopped" and worse.relative_gap > 1e6


# ---- what cannot be certified --------------------------------------------------------------------


def separable(rng, n=30):
    X = rng.normal(size=(n, 2))
    return X, np.where(X[:, 0] + 0.5 * X[:, 1] > 0.1, 1.0, -1.0)


def test_separable_data_without_penalty_have_no_minimiser():
    X, y = separable(np.random.default_rng(0))
    problem = Problem(Design(X), y, Logistic(), NoPenalty(), np.ones(len(y)))
    for size in (1.0, 30.0, 1e4):
        certificate = certify(
            problem, Parameters(size * np.array([1.0, 0.5]), np.array(-0.1 * size))
        )
        assert certificate.kind == "none"
        assert "no minimiser exists" in certificate.verdict


def test_partly_separable_data_without_penalty_have_no_minimiser():
    """Labels mixed where the first feature is 0, separated by its sign elsewhere."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 2))
    X[:20, 0] = 0
    y = np.where(np.arange(40) < 20, rng.choice([-1.0, 1.0], 40), np.sign(X[:, 0]))
    problem = Problem(Design(X), y, Logistic(), NoPenalty(), np.ones(40))
    mixed = minimise(Case(X[:20, 1:], y[:20], np.ones(20), "logistic"))
    w = np.array([300.0, mixed.w[0]])
    certificate = certify(problem, Parameters(w, mixed.b))
    assert certificate.kind == "none"
    assert "no minimiser exists" in certificate.verdict


def test_separable_classes_without_penalty_have_no_minimiser():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(30, 2))
    W = rng.normal(size=(2, 3))
    problem = Problem(
        Design(X), (X @ W).argmax(axis=1), Softmax(), NoPenalty(), np.ones(30), outputs=3
    )
    certificate = certify(problem, Parameters(20 * W, np.zeros(3)))
    assert certificate.kind == "none"
    assert "no minimiser exists" in certificate.verdict


def test_one_class_separable_from_the_others_has_no_minimiser():
    """The other two overlap, so that the objective does not fall to 0, but falls for ever."""
    rng = np.random.default_rng(3)
    labels = np.repeat([0, 1, 2], 20)
    X = rng.normal(size=(60, 2)) + np.where(labels == 0, 20.0, 0.0)[:, None]
    problem = Problem(Design(X), labels, Softmax(), NoPenalty(), np.ones(60), outputs=3)
    two = Case(X[20:], labels[20:] - 1, np.ones(40), "softmax", outputs=2)
    minimum = minimise(two)
    w = np.column_stack([np.full(2, 10.0), minimum.w])
    b = np.concatenate([[-200.0], minimum.b])
    certificate = certify(problem, Parameters(w, b))
    assert certificate.kind == "none"
    assert certificate.relative_gap < 1e-9
    overlapping = Problem(Design(X[20:]), two.y, Softmax(), NoPenalty(), np.ones(40), outputs=2)
    assert certify(overlapping, Parameters(minimum.w, minimum.b)).kind == "optimal"


def endless(loss, X, y, w, b, penalty=None, outputs=None):
    """The certificate of parameters along which the objective falls for ever."""
    penalty = NoPenalty() if penalty is None else penalty
    problem = Problem(Design(X), y, loss, penalty, np.ones(len(y)), outputs=outputs)
    return certify(problem, Parameters(np.asarray(w, dtype=float), np.asarray(b, dtype=float)))


@pytest.mark.parametrize("loss", [Poisson(), Tweedie(1.5)])
def test_zero_counts_without_a_minimiser_are_given_as_the_reason(loss):
    """Rows 0 and 1 have the second column to themselves; the best common mean of others is 2."""
    X = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    y, at = np.array([0.0, 0.0, 1.0, 3.0]), [np.log(2.0), -80.0]
    found = endless(loss, X, y, at, 0.0)
    assert found.kind == "none" and found.no_minimiser == "zeros"
    assert "targets of a group of rows are all 0" in found.verdict
    assert "class" not in found.verdict and "add a penalty" in found.verdict
    found = endless(loss, X, np.zeros(4), [-80.0, 0.0], 0.0)
    assert found.no_minimiser == "all zeros" and "all targets are 0" in found.verdict


def test_gamma_always_has_a_minimiser():
    """Its targets are above 0, and y·exp(−z) + z rises on both sides for every one of them."""
    X = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    found = endless(Gamma(), X, np.array([1e-9, 1e-9, 1.0, 3.0]), [np.log(2.0), -20.0], 0.0)
    assert found.no_minimiser == "" and "no minimiser" not in found.verdict


def test_separation_of_all_rows_and_of_some_are_told_apart():
    X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    found = endless(Logistic(), X, y, [30.0], 0.0)
    assert found.no_minimiser == "separated" and "separate the classes" in found.verdict
    assert "targets" not in found.verdict
    rows, labels = np.append(X, [[0.0], [0.0]], axis=0), np.append(y, [1.0, -1.0])
    found = endless(Logistic(), rows, labels, [30.0], 0.0)
    assert found.no_minimiser == "partly separated" and "some of the rows" in found.verdict
    found = endless(Logistic(), X, y, [30.0], 0.0, MCP(0.1))
    assert "mcp penalty does not hold back" in found.verdict.lower()
    assert "without a penalty" not in found.verdict


def test_classes_without_rows_are_given_as_the_reason():
    X = np.array([[0.3], [-0.2], [0.1], [-0.4]])
    found = endless(Logistic(), X, np.ones(4), [0.0], 30.0)
    assert found.no_minimiser == "one class" and "one class" in found.verdict
    y = np.array([0, 1, 1, 0])
    found = endless(Softmax(), X, y, np.zeros((1, 3)), [20.0, 20.0, -40.0], outputs=3)
    assert found.no_minimiser == "empty class" and "a class has no rows" in found.verdict


@pytest.mark.parametrize(
    ("loss", "penalty"), [(Logistic(), L2(1e-6)), (Logistic(), L1(1e-6)), (Hinge(), NoPenalty())]
)
def test_separable_data_with_a_minimiser_are_not_said_to_have_none(loss, penalty):
    X, y = separable(np.random.default_rng(0))
    problem = Problem(Design(X), y, loss, penalty, np.ones(len(y)))
    parameters = Parameters(1e4 * np.array([1.0, 0.5]), np.array(-0.1e4))
    assert "no minimiser" not in certify(problem, parameters).verdict


@dataclass(frozen=True)
class FourthPower(Loss):
    """A user's loss without a conjugate."""

    task = "regression"

    def value(self, y, z):
        return (z - y) ** 4

    def gradient(self, y, z):
        return 4 * (z - y) ** 3


@dataclass(frozen=True, eq=False)
class SquareRoots(Penalty):
    """A non-convex penalty Σ √(|w| + 1)."""

    is_convex = False

    def value(self, w):
        return float(np.sum(np.sqrt(np.abs(w) + 1)))

    def prox(self, w, step):
        return np.array(w)

    def subdifferential_distance(self, w, g):
        slope = 0.5 / np.sqrt(np.abs(w) + 1)
        inside = np.maximum(np.abs(g) - slope, 0)
        return np.where(w == 0, inside, np.abs(g + np.sign(w) * slope))


@pytest.fixture(autouse=True)
def only_built_in_parts_stay_registered():
    yield
    Loss.registry.pop("fourth_power", None)
    Penalty.registry.pop("square_roots", None)


def test_a_loss_without_conjugate_gets_no_bound_and_is_told_why():
    X = np.random.default_rng(0).normal(size=(9, 2))
    problem = Problem(Design(X), X[:, 0], FourthPower(), L2(1.0), np.ones(9))
    certificate = certify(problem, problem.null)
    assert certificate.kind == "none"
    assert "fourth_power does not define its conjugate" in certificate.verdict
    assert certificate.gap == np.inf and np.isfinite(certificate.primal)
    assert certificate.kkt.stationarity.value > 0


def test_a_penalty_that_is_not_convex_is_judged_by_stationarity():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 1))
    y = 3 * X[:, 0] + 0.1 * rng.normal(size=20)
    problem = Problem(Design(X), y, Squared(), SquareRoots(), np.ones(20), fit_bias=False)
    w = 3.0
    for _ in range(50):
        w = (X[:, 0] @ y - 0.5 / np.sqrt(w + 1)) / (X[:, 0] @ X[:, 0])
    assert certify(problem, Parameters(np.array([w]), np.array(0.0))).kind == "stationary"
    assert certify(problem, Parameters(np.array([w + 0.1]), np.array(0.0))).kind == "stopped"


def test_parameters_that_are_not_finite_are_refused():
    problem, _ = make("squared", "l2", 9, 3, np.random.default_rng(0))
    for bad in (np.nan, np.inf):
        certificate = certify(problem, Parameters(np.array([0.0, bad, 0.0]), np.array(0.0)))
        assert certificate.kind == "stopped" and certificate.gap == np.inf
        assert f"w[1] is {bad}" in certificate.verdict
    assert "b is nan" in certify(problem, Parameters(np.zeros(3), np.array(np.nan))).verdict


def test_an_objective_that_overflows_is_refused():
    problem, _ = make("squared", "l2", 9, 3, np.random.default_rng(0))
    certificate = certify(problem, Parameters(np.full(3, 1e200), np.array(0.0)))
    assert certificate.kind == "stopped" and "overflows" in certificate.verdict


def test_coefficients_outside_their_constraints_are_refused():
    X = np.random.default_rng(0).normal(size=(9, 3))
    problem = Problem(Design(X), X[:, 0], Squared(), Box(lower=0.0), np.ones(9))
    certificate = certify(problem, Parameters(np.array([1.0, -0.25, 0.0]), np.array(0.0)))
    assert certificate.kind == "stopped"
    assert "violate their constraints (entry (1,) by 0.25)" in certificate.verdict


def test_parameters_of_another_problem_are_an_error():
    problem, _ = make("squared", "l2", 9, 3, np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"w has shape \(4,\)"):
        certify(problem, Parameters(np.zeros(4), np.array(0.0)))


# ---- what people see -----------------------------------------------------------------------------


def certificates(number):
    for seed in range(number):
        problem, case = make("logistic", "l2", 24, 2, np.random.default_rng(seed))
        minimum = minimise(case)
        yield certify(problem, Parameters(minimum.w, minimum.b))


def test_a_certificate_prints_as_a_sentence():
    (certificate,) = certificates(1)
    first, second = str(certificate).splitlines()
    assert first.startswith("optimal: at most ")
    assert first.endswith(" % above the best possible objective.")
    assert "gap" in second and "tolerance" in second
    assert repr(certificate).startswith("<Certificate optimal: gap ")
    assert json.loads(json.dumps(certificate.to_dict()))["kind"] == "optimal"


def test_the_percentage_said_is_true_of_the_best_objective():
    problem, case = make("logistic", "l2", 24, 2, np.random.default_rng(0))
    minimum = minimise(case)
    parameters = Parameters(minimum.w * 1.02, minimum.b)
    words = str(certify(problem, parameters))
    percent = float(words.split("at most ")[1].split(" %")[0])
    excess = objective(case, parameters.w, parameters.b) / minimum.value - 1
    assert 0 < 100 * excess <= percent * 1.06  # the percentage is printed with two digits


@pytest.mark.parametrize("together", [2, 32])
@pytest.mark.parametrize("is_shared", [True, False])
def test_certified_together_is_as_certified_alone(is_shared, together, monkeypatch):
    """The first two problems have one vector of weights, the third has parameters of no use."""
    monkeypatch.setattr("gapless.certificates.certificate.PROBLEMS_PER_PRODUCT", together)
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(12, 3)), np.where(rng.random((12, 4)) < 0.5, -1.0, 1.0)
    ones, some = np.ones(12), np.arange(12) % 3.0
    design, claimed = (
        Design(X),
        [Parameters(rng.normal(size=3), np.array(0.1 * k)) for k in range(4)],
    )
    claimed[2].w[1] = np.nan
    problems = [
        Problem(design if is_shared else Design(X), column, Hinge(), L2(0.3), weights)
        for column, weights in zip(y.T, [ones, ones, some, some])
    ]
    found = certify_all(problems, claimed, exact=[False, True, False, True])
    alone = [certify(p, q, exact=k % 2 == 1) for k, (p, q) in enumerate(zip(problems, claimed))]
    assert [a.kind for a in found] == [b.kind for b in alone] and "w[1] is nan" in found[2].verdict
    for a, b in zip(found, alone):
        np.testing.assert_allclose([a.primal, a.dual, a.gap], [b.primal, b.dual, b.gap], rtol=1e-12)


def test_certificates_add_up():
    parts = list(certificates(3))
    total = sum(parts)
    assert isinstance(total, Certificate)
    for name in ("primal", "dual", "gap", "tolerance", "scale", "rounding"):
        assert getattr(total, name) == pytest.approx(sum(getattr(part, name) for part in parts))
    assert total.kind == "optimal" and total.verdict.startswith("optimal")
    assert total.relative_gap == pytest.approx(total.gap / total.scale)
    assert total.kkt.stationarity.value == max(part.kkt.stationarity.value for part in parts)


def test_a_part_may_exceed_its_tolerance_by_what_the_others_spare():
    problem, case = make("logistic", "l2", 24, 2, np.random.default_rng(0))
    minimum = minimise(case)
    good = certify(problem, Parameters(minimum.w, minimum.b))
    near = Parameters(minimum.w * (1 + 1e-3), minimum.b)
    gap = certify(problem, near).gap
    short = certify(problem, near, tol=0.8 * gap / problem.scale)
    assert short.kind == "stopped" and good.tolerance > 0.5 * gap
    assert (good + short).kind == (short + good).kind == "optimal"
    assert (good + short).verdict.startswith("optimal")
    assert (short + short).kind == "stopped" and (short + short).verdict.startswith("stopped")


def test_the_numbers_of_a_certificate_are_plain_floats():
    problem, _ = make("squared", "l1", 9, 3, np.random.default_rng(0))
    parameters = [Parameters(np.full(3, value), np.array(0.0)) for value in (0.0, 1.0, np.nan)]
    found = [certify(problem, p) for p in parameters]
    for certificate in (*found, sum(found), *certificates(2)):
        numbers = {k: v for k, v in vars(certificate).items() if isinstance(v, float)}
        assert len(numbers) == 7
        assert {type(number) for number in numbers.values()} == {float}


def test_one_bad_subproblem_spoils_the_sum():
    (good,) = certificates(1)
    problem, _ = make("squared", "l2", 9, 3, np.random.default_rng(0))
    stopped = certify(problem, Parameters(np.ones(3), np.array(0.0)))
    broken = certify(problem, Parameters(np.full(3, np.nan), np.array(0.0)))
    X, y = separable(np.random.default_rng(0))
    endless = Problem(Design(X), y, Logistic(), NoPenalty(), np.ones(len(y)))
    none = certify(endless, Parameters(np.array([30.0, 15.0]), np.array(-3.0)))
    assert (good + stopped).kind == "stopped" and (good + stopped).verdict.startswith("stopped")
    assert (good + broken).kind == "stopped" and "w[0] is nan" in (good + broken).verdict
    assert (none + stopped + good).kind == "none"
    assert "no minimiser exists" in (none + stopped + good).verdict
    assert (good + none).no_minimiser == "separated" and not (good + stopped).no_minimiser
    unknown = replace(none, verdict="no bound is known", no_minimiser="")
    assert (unknown + none).no_minimiser == "separated"


class Fitted:
    """A model that solves one problem for each of its two targets."""

    tol = 1e-5

    def _certification_problem(self, X, y, sample_weight=None):
        weights = np.ones(len(X)) if sample_weight is None else sample_weight
        for k in range(2):
            case = Case(X, y[:, k], weights, "squared", l2=np.ones(2))
            minimum = minimise(case)
            problem = Problem(Design(X), y[:, k], Squared(), L2(1.0), weights)
            yield problem, Parameters(minimum.w, minimum.b)


def test_a_fitted_model_is_certified_from_the_data():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), rng.normal(size=(20, 2))
    certificate = gapless.certify(Fitted(), X, y)
    assert certificate.kind == "optimal"
    assert certificate.tolerance == pytest.approx(1e-5 * certificate.scale)
    weighted = gapless.certify(Fitted(), X, y, sample_weight=np.full(20, 2.0))
    assert weighted.scale == pytest.approx(2 * certificate.scale)


def test_a_model_without_an_objective_is_an_error():
    with pytest.raises(TypeError, match="object cannot be certified"):
        gapless.certify(object(), np.zeros((1, 1)), np.zeros(1))


# ---- the reference itself ------------------------------------------------------------------------


def test_reference_agrees_with_the_normal_equations():
    rng = np.random.default_rng(0)
    X, y, s = rng.normal(size=(9, 3)), rng.normal(size=9), rng.uniform(1, 2, 9)
    minimum = minimise(Case(X, y, s, "squared", l2=np.full(3, 0.7), bias=False))
    w = np.linalg.solve(X.T @ (s[:, None] * X) + 0.7 * np.eye(3), X.T @ (s * y))
    assert minimum.w == pytest.approx(w, rel=1e-13)


def test_reference_agrees_with_linear_programming():
    from scipy.optimize import linprog

    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(12, 2)), rng.choice([-1.0, 1.0], 12)
    minimum = minimise(Case(X, y, np.ones(12), "hinge", l1=np.full(2, 0.5)))
    # min Σξ + ½(w⁺ + w⁻) under y(X(w⁺ − w⁻) + b⁺ − b⁻) + ξ ≥ 1, everything ≥ 0
    signed = y[:, None] * np.column_stack([X, -X, np.ones(12), -np.ones(12)])
    cost = np.concatenate([np.full(4, 0.5), np.zeros(2), np.ones(12)])
    solved = linprog(cost, A_ub=-np.hstack([signed, np.eye(12)]), b_ub=-np.ones(12))
    assert float(minimum.value) == pytest.approx(solved.fun, rel=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_reference_closes_its_own_gap(loss):
    for seed, penalty in enumerate(PENALTIES):
        _, case = make(loss, penalty, 12, 2, np.random.default_rng(seed))
        minimum = minimise(case)
        assert minimum.error <= 1e-12 * (1 + float(minimum.value))
        shaken = np.random.default_rng(seed).normal(size=(20, *minimum.w.shape))
        for size in (1e-7, 1e-3):
            for move in shaken:
                nearby = minimum.w + size * move
                assert objective(case, nearby, minimum.b) >= minimum.value * (1 - 1e-15)
