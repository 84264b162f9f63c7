"""Support vector machines against LIBSVM, and against a quadratic program solved by SciPy."""

from dataclasses import replace

import numpy as np
import pytest
import sklearn.svm
from scipy.optimize import LinearConstraint, minimize
from sklearn.datasets import load_iris

import gapless
from gapless import kernels
from gapless.models import svm
from gapless.models.svm.machine import Machine, certificate_of
from gapless.models.svm.multiclass import Part
from gapless.models.svm.objectives import (
    HardMargin,
    NuMargin,
    NuTube,
    OneClass,
    Point,
    SoftMargin,
    Tube,
)
from gapless.problem.kernel_matrix import KernelMatrix

# LIBSVM's tolerance at which decision values are compared.
TIGHT = 1e-8


def make_data(classes=0, n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    score = X[:, :3] @ rng.normal(size=(3, 3)) + np.sin(2 * X[:, :1]) + rng.normal(size=(n, 3))
    return X, score.argmax(axis=1) % classes if classes else score[:, 0]


# ---- LIBSVM --------------------------------------------------------------------------------------

KERNELS = [
    {},
    {"kernel": "linear"},
    {"kernel": "poly", "degree": 2, "coef0": 1.0},
    {"gamma": 0.5, "weighted": True},
]


@pytest.mark.parametrize("options", KERNELS, ids=str)
@pytest.mark.parametrize("name", ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"])
def test_decision_values_are_those_of_libsvm(name, options):
    options = dict(options)
    weights = None
    if options.pop("weighted", False):
        weights = np.random.default_rng(1).random(80) + 0.5
    more = {"decision_function_shape": "ovo"} if name.endswith("SVC") else {}
    X, y = make_data(classes=3 if name.endswith("SVC") else 0)
    # Classes far enough apart for ν, and rows on one side of the origin: else w = 0 is the optimum.
    shift = {"NuSVC": 1.5 * (y[:, None] == np.arange(4)), "OneClassSVM": 3.0}.get(name, 0.0)
    X = X + shift
    ours, theirs = (
        getattr(module, name)(tol=TIGHT, **options, **more).fit(X, y, sample_weight=weights)
        for module in (svm, sklearn.svm)
    )
    new, _ = make_data(seed=1)
    score = "decision_function" if hasattr(ours, "decision_function") else "predict"
    expected = getattr(theirs, score)(new)
    np.testing.assert_allclose(getattr(ours, score)(new), expected, atol=1e-5, rtol=1e-5)
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    scale = np.abs(theirs.dual_coef_).max()
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-5 * scale)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)


def test_two_classes_have_the_sign_of_scikit_learn():
    X, y = make_data(classes=2)
    ours, theirs = (module.SVC(tol=TIGHT).fit(X, y) for module in (svm, sklearn.svm))
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-5)


def test_scores_of_classes_are_those_of_scikit_learn():
    X, y = load_iris(return_X_y=True)
    ours, theirs = (module.SVC(tol=TIGHT).fit(X, y) for module in (svm, sklearn.svm))
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_a_chessboard_is_learned():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 4, size=(1500, 2))
    y = np.floor(X).sum(axis=1) % 2
    model = svm.SVC(C=100, gamma=4.0).fit(X[:1000], y[:1000])
    assert model.score(X[1000:], y[1000:]) >= 0.95
    theirs = sklearn.svm.SVC(C=100, gamma=4.0, tol=TIGHT).fit(X[:1000], y[:1000])
    sharp = svm.SVC(C=100, gamma=4.0, tol=TIGHT).fit(X[:1000], y[:1000])
    difference = sharp.decision_function(X) - theirs.decision_function(X)
    assert np.abs(difference).max() <= 1e-3
    assert model.certificate_.kind == "optimal"


# ---- a quadratic program -------------------------------------------------------------------------

FORMS = [
    SoftMargin(0.7),
    HardMargin(),
    NuMargin(0.6),
    Tube(0.8, 0.3),
    NuTube(0.8, 0.4),
    OneClass(0.4),
]
every_form = pytest.mark.parametrize("form", FORMS, ids=lambda form: type(form).__name__)


def small_problem(form, n=14):
    """Rows, targets, weights and the kernel matrix of a problem that SciPy can solve."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 3))
    s = rng.random(n) + 0.5
    y = X @ [1.0, -2.0, 0.5] + rng.normal(size=n)
    if isinstance(form, SoftMargin | HardMargin | NuMargin):
        y = np.where(y > 0, 1.0, -1.0)
    if isinstance(form, HardMargin):
        X[:, 0] += 2 * y
    return X, y, s, kernels.Gaussian(gamma=0.3).gram(X)


def machine_of(form):
    X, y, s, _ = small_problem(form)
    matrix = KernelMatrix(kernels.Gaussian(gamma=0.3), X)
    return Machine(matrix, form, [Part(np.arange(len(y)), y)], s, [slice(0, len(y))])


def best_dual(form):
    """The optimum of the dual, as it is written in textbooks, by sequential quadratic programs."""
    _, y, s, K = small_problem(form)
    n = len(y)
    ones = np.ones(n)

    def solve(Q, q, low, high, sums):
        start = np.clip(np.zeros(len(q)), low, high)
        constraints = [LinearConstraint(a[None, :], b, b) for a, b in sums]
        found = minimize(
            lambda a: 0.5 * a @ Q @ a + q @ a,
            start,
            jac=lambda a: Q @ a + q,
            bounds=list(zip(low, high)),
            constraints=constraints,
            method="SLSQP",
            options={"maxiter": 2000, "ftol": 1e-14},
        )
        return -found.fun

    Q = y[:, None] * K * y
    zero = np.zeros(n)
    if isinstance(form, SoftMargin):
        return solve(Q, -ones, zero, form.C * s, [(y, 0.0)])
    if isinstance(form, HardMargin):
        return solve(Q, -ones, zero, np.full(n, 1e3), [(y, 0.0)])
    if isinstance(form, NuMargin):
        return solve(Q, zero, zero, s, [(y, 0.0), (ones, form.nu * s.sum())])
    if isinstance(form, OneClass):
        return solve(K, zero, zero, s, [(ones, form.nu * s.sum())])
    # Two multipliers for each row, above and below the tube.
    both = np.block([[K, -K], [-K, K]])
    signs, limit = np.concatenate([ones, -ones]), np.tile(form.C * s, 2)
    if isinstance(form, Tube):
        q = np.concatenate([form.epsilon - y, form.epsilon + y])
        return solve(both, q, np.zeros(2 * n), limit, [(signs, 0.0)])
    total = form.nu * form.C * s.sum()
    sums = [(signs, 0.0), (np.ones(2 * n), total)]
    return solve(both, np.concatenate([-y, y]), np.zeros(2 * n), limit, sums)


@every_form
def test_optimum_is_that_of_a_quadratic_program(form):
    machine, best = machine_of(form), best_dual(form)
    (solved,) = machine.solve(1e-9)
    room = 1e-6 * max(abs(best), 1.0)
    assert solved.judgement.primal == pytest.approx(best, abs=room)
    assert solved.judgement.dual == pytest.approx(best, abs=room)
    assert solved.judgement.violations.max() <= 1e-6


def random_points(form, solved, count=20):
    """Feasible θ between the start of the solver and its solution, with other biases and widths."""
    _, y, s, _ = small_problem(form)
    box = form.box(y, s)
    rng = np.random.default_rng(5)
    start = np.zeros(len(box.linear)) if box.start is None else box.start
    start = start if box.rows is None else start[: len(y)] + start[len(y) :]
    for _ in range(count):
        share = rng.random()
        theta = share * solved.point.theta + (1 - share) * start
        width = solved.point.width * (1 + 0.3 * rng.normal())
        yield Point(theta, solved.point.b + 0.3 * rng.normal(), abs(width))


def check(form, judge):
    """No primal value is below the optimum and no dual above, and at the solution both meet it."""
    _, y, s, K = small_problem(form)
    machine, best = machine_of(form), best_dual(form)
    (solved,) = machine.solve(1e-9)
    room = 1e-6 * max(abs(best), 1.0)
    for point in [solved.point, *random_points(form, solved)]:
        found = judge(y, s, point, K @ point.theta + point.b, machine.norm)
        if np.isfinite(found.primal):
            assert found.primal >= best - room, "the primal is below the optimum"
            assert found.dual <= best + room, "the dual is above the optimum"
    at = judge(y, s, solved.point, K @ solved.point.theta + solved.point.b, machine.norm)
    assert at.primal <= best + room, "the primal stays above the optimum"
    assert at.dual >= best - room, "the dual stays below the optimum"


@every_form
def test_bounds_hold_away_from_the_optimum(form):
    check(form, form.judge)


@every_form
@pytest.mark.parametrize("part", ["primal", "dual"])
@pytest.mark.parametrize("factor", [0.99, 1.01])
def test_a_value_that_is_one_percent_off_is_noticed(form, part, factor):
    def judge(*arguments):
        found = form.judge(*arguments)
        return replace(found, **{part: factor * getattr(found, part)})

    with pytest.raises(AssertionError, match="optimum"):
        check(form, judge)


@every_form
def test_multipliers_outside_their_box_prove_nothing(form):
    machine = machine_of(form)
    (solved,) = machine.solve(1e-9)
    _, y, s, K = small_problem(form)
    for theta in (1.01 * solved.point.theta, solved.point.theta + 0.01 * (np.arange(len(y)) == 3)):
        point = replace(solved.point, theta=theta)
        judgement = form.judge(y, s, point, K @ theta + point.b, machine.norm)
        found = certificate_of([judgement], machine.parts, [point], 1e-6)
        assert found.kind == "stopped"
        assert found.gap >= found.primal - solved.judgement.primal


def test_the_objective_is_the_one_of_the_docstring():
    X, y = make_data(classes=2)
    s = np.random.default_rng(2).random(len(y)) + 0.5
    model = svm.SVC(C=0.7, kernel="linear").fit(X, y, sample_weight=s)
    w, z, t = model.coef_[0], model.decision_function(X), 2 * y - 1
    by_hand = 0.5 * w @ w + 0.7 * s @ np.maximum(1 - t * z, 0)
    assert model.certificate_.primal == pytest.approx(by_hand, rel=1e-10)
    assert model.margin_ == pytest.approx(2 / np.linalg.norm(w), rel=1e-10)
    X, y = make_data()
    model = svm.SVR(C=0.7, kernel="linear", epsilon=0.2).fit(X, y, sample_weight=s)
    w, z = model.coef_[0], model.predict(X)
    by_hand = 0.5 * w @ w + 0.7 * s @ np.maximum(np.abs(y - z) - 0.2, 0)
    assert model.certificate_.primal == pytest.approx(by_hand, rel=1e-10)


def test_a_large_c_is_solved_to_the_exact_kernel():
    """In float32 alone the kernel values of 1,100 rows would leave a gap far above this."""
    X, y = make_data(classes=2, n=1100)
    model = svm.SVC(C=100, gamma=0.5, tol=1e-4).fit(X, y)
    assert gapless.certify(model, X, y).relative_gap <= 1e-4


def test_few_rows_have_the_same_multipliers_whatever_their_order():
    # The order of rows goes by their content: by features, or by kernel values.
    X, y = load_iris(return_X_y=True)
    one = svm.SVC(kernel="linear").fit(X, y)
    other = svm.SVC(kernel="precomputed").fit(X @ X.T, y)
    np.testing.assert_array_equal(one.support_, other.support_)
    np.testing.assert_allclose(one.dual_coef_, other.dual_coef_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(one.intercept_, other.intercept_, rtol=1e-8)
    assert one.certificate_.relative_gap < 1e-12
