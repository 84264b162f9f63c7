"""One hinge for all classes: against a quadratic programme of SciPy, and against scikit-learn."""

import numpy as np
import pytest
import scipy.optimize
import sklearn.datasets
import sklearn.svm

import gapless
from gapless import SVC, LinearSVC, RiskClassifier
from gapless._ground.design import Design
from gapless.losses import CrammerSinger, WestonWatkins, nearest_slopes
from gapless.penalties import L2
from gapless.problem.dual_points import FreeColumns, orthogonalise_slopes
from gapless.problem.problem import Parameters, Problem
from gapless.solvers import Solution, Trace

HINGES = {"crammer_singer": CrammerSinger(), "weston_watkins": WestonWatkins()}
every_hinge = pytest.mark.parametrize("name", HINGES)


def make_data(n=40, d=4, K=3, seed=0):
    """Overlapping classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.argmax(X @ rng.normal(size=(d, K)) + rng.normal(size=(n, K)), axis=1)
    y[: 2 * K] = np.arange(2 * K) % K
    return X, y


def by_slsqp(name, X, y, C):
    """W (d, K) and b by SciPy: coefficients and slacks, one for each row or each of its rivals."""
    (n, d), K = X.shape, int(y.max()) + 1
    rows = [(i, k) for i in range(n) for k in range(K) if k != y[i]]
    slacks = np.array([i if name == "crammer_singer" else r for r, (i, _) in enumerate(rows)])
    count, first = int(slacks.max()) + 1, d * K + K
    A = np.zeros((len(rows), first + count))
    for r, (i, k) in enumerate(rows):
        for sign, column in ((1.0, y[i]), (-1.0, k)):
            A[r, column : d * K : K] += sign * X[i]
            A[r, d * K + column] += sign
        A[r, first + slacks[r]] = 1.0
    bounds = [(None, None)] * first + [(0, None)] * count
    start = np.concatenate([np.zeros(first), np.ones(count)])

    def objective(x):
        return 0.5 * x[: d * K] @ x[: d * K] + C * x[first:].sum()

    def gradient(x):
        return np.concatenate([x[: d * K], np.zeros(K), np.full(count, C)])

    rivals = {"type": "ineq", "fun": lambda x: A @ x - 1, "jac": lambda x: A}
    found = scipy.optimize.minimize(
        objective, start, jac=gradient, bounds=bounds, constraints=rivals, method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )  # fmt: skip
    return found.fun, found.x[: d * K].reshape(d, K)


@every_hinge
def test_machine_is_the_solution_of_the_quadratic_programme(name):
    X, y = make_data(18, 2)
    best, W = by_slsqp(name, X, y, C=0.7)
    model = SVC(C=0.7, kernel="linear", multi_class=name, tol=1e-9).fit(X, y)
    assert model.certificate_.primal == pytest.approx(best, rel=1e-7)
    np.testing.assert_allclose(model.coef_, W.T, atol=1e-4)
    linear = RiskClassifier(name, L2(1 / 0.7), tol=1e-9).fit(X, y)
    np.testing.assert_allclose(linear.coef_, model.coef_, atol=1e-8)
    np.testing.assert_allclose(linear.intercept_, model.intercept_, atol=1e-8)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_linear_svc_is_that_of_scikit_learn_where_its_bias_is_a_feature(classes):
    X, y = make_data(60, 3, classes)
    options = {"multi_class": "crammer_singer", "C": 0.5}
    theirs = sklearn.svm.LinearSVC(**options, tol=1e-10, max_iter=10**6).fit(X, y)
    with_ones = np.column_stack([X, np.ones(len(X))])
    ours = LinearSVC(**options, fit_intercept=False).fit(with_ones, y)
    expected = np.column_stack([theirs.coef_, theirs.intercept_])
    np.testing.assert_allclose(ours.coef_, expected, atol=1e-6)
    free = LinearSVC(**options).fit(X, y)
    assert free.certificate_.kind == "optimal"
    assert gapless.certify(free, X, y).gap <= free.certificate_.tolerance
    assert free.coef_.shape == theirs.coef_.shape


@every_hinge
def test_machine_and_risk_classifier_agree_with_a_kernel(name):
    X, y = make_data()
    model = SVC(C=2.0, gamma=0.3, multi_class=name, tol=1e-10).fit(X, y)
    kernel = gapless.kernels.Gaussian(gamma=0.3)
    other = RiskClassifier(name, L2(0.5), kernel=kernel, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), other.decision_function(X), atol=1e-7)
    assert model.certificate_.primal == pytest.approx(2 * other.certificate_.primal, rel=1e-9)
    # The multipliers of a support vector sum to 0 over the classes, those of a class over the rows.
    np.testing.assert_allclose(model.dual_coef_.sum(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(model.dual_coef_.sum(axis=1), 0, atol=1e-9)
    assert model.dual_coef_.shape == (3, len(model.support_))
    assert np.all(model.kkt_violation_ <= 1e-6)


@every_hinge
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_second_solver_that_ends_further_away_is_not_believed(name, monkeypatch):
    def lost(problem, solver, start, **_):
        K = problem.outputs
        nowhere = Parameters(np.zeros((problem.d, K)), np.zeros(K), np.zeros((problem.n, K)))
        return Solution(nowhere, Trace(), "stalled", 1.0, 0.0)

    X, y = make_data()
    best = SVC(multi_class=name, tol=1e-6).fit(X, y).certificate_.primal
    monkeypatch.setattr("gapless.models.svm.all_in_one.solve", lost)
    model = SVC(multi_class=name, tol=1e-15).fit(X, y)
    assert model.certificate_.primal == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize("approximation", [None, "nystroem"])
def test_a_large_c_takes_the_stored_multipliers_to_the_tolerance(approximation):
    # The best w of a solver has a small gap long before the w of its multipliers has one.
    X, y = make_data(30, 2)
    options = {"multi_class": "crammer_singer", "approximation": approximation}
    model = SVC(C=1e4, gamma=2.0, **options).fit(X, y)
    assert model.certificate_.kind == "optimal"


@every_hinge
def test_what_needs_other_arrangements_says_so(name):
    X, y = make_data()
    with pytest.raises(ValueError, match="set a large C"):
        SVC(C=np.inf, multi_class=name).fit(X, y)
    with pytest.raises(ValueError, match="not positive semi-definite"):
        SVC(kernel="sigmoid", coef0=-2.0, gamma=1.0, multi_class=name).fit(X, y)
    with pytest.raises(MemoryError, match="use multi_class"):
        SVC(cache_size=1e-3, multi_class=name).fit(X, y)


@every_hinge
@pytest.mark.usefixtures("no_verdict")
def test_parameters_are_chosen_by_folds(name):
    X, y = make_data(120, 3)
    model = SVC(C="loo", gamma="loo", multi_class=name).fit(X, y)
    search = model.search_
    assert (model.C_, model.gamma_) == tuple(of[search.chosen] for of in search.values.values())
    assert model.certificate_.kind == "optimal"
    assert "corrected for selection" in model.generalization_.method
    weights = np.random.default_rng(0).integers(1, 3, len(X))
    repeated = np.repeat(np.arange(len(X)), weights)
    weighted = SVC(C=[0.1, 5.0], gamma=0.3, multi_class=name).fit(X, y, sample_weight=weights)
    plain = SVC(C=[0.1, 5.0], gamma=0.3, multi_class=name).fit(X[repeated], y[repeated])
    np.testing.assert_allclose(weighted.search_.unseen, plain.search_.unseen, rtol=1e-12)


@every_hinge
def test_one_step_through_rows_and_newton_agree_on_digits(name):
    """Row by row on the kernel matrix, and Newton's method on its factor."""
    X, y = sklearn.datasets.load_digits(n_class=5, return_X_y=True)
    X, y = X[:150] / 16, y[:150]
    model = SVC(multi_class=name, gamma=0.3, tol=1e-6).fit(X, y)
    other = RiskClassifier(name, L2(1.0), kernel=gapless.kernels.Gaussian(0.3), tol=1e-6).fit(X, y)
    assert model.certificate_.primal == pytest.approx(other.certificate_.primal, rel=1e-5)
    assert model.kkt_violation_.max() <= 1e-6
    np.testing.assert_allclose(model.decision_function(X), other.decision_function(X), atol=1e-4)


@every_hinge
def test_unseen_data_by_refits(name):
    X, y = make_data(60, 3)
    model = SVC(multi_class=name).fit(X, y)
    assert "5-fold, because" in model.generalization_.method
    assert 0.3 < model.generalization_.unseen < 1


# ---- slopes --------------------------------------------------------------------------------------


@every_hinge
@pytest.mark.parametrize("size", [0.1, 1.0, 100.0, 1e20])
def test_nearest_slopes_are_the_nearest(name, size):
    """⟨t − u, v − u⟩ ≤ 0 for all v of the domain, which characterises the projection."""
    rng = np.random.default_rng(0)
    n, K = 200, 5
    y, t = rng.integers(K, size=n), size * rng.normal(size=(n, K))
    loss = HINGES[name]
    u = nearest_slopes(t, loss.class_box(y, K))
    assert np.all(np.isfinite(loss.conjugate(y, u)))
    for _ in range(20):
        v = loss.gradient(y, 2 * rng.normal(size=(n, K)))
        assert np.all(np.einsum("nk,nk->n", t - u, v - u) <= 1e-12 * size)


@every_hinge
def test_slopes_of_any_scores_are_moved_until_they_balance(name):
    rng = np.random.default_rng(1)
    X, y = make_data(50, 3)
    loss, weights = HINGES[name], rng.uniform(0.5, 2, 50)
    box = loss.class_box(y, 3)
    free = FreeColumns(Design(X).columns(np.array([0])), True)
    theta = -weights[:, None] * loss.gradient(y, rng.normal(size=(50, 3)))
    moved = orthogonalise_slopes(theta, box, free, weights)
    assert moved is not None
    assert np.all(np.abs(free.transposed_times(moved)) <= 1e-12)
    assert np.all(np.isfinite(loss.conjugate(y, -moved / weights[:, None])))


@every_hinge
def test_slopes_balance_whatever_rounding_hides_in_the_last_steps(name):
    for seed in range(50):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(50, 2)) * 10.0 ** rng.integers(-3, 4, 2), rng.integers(0, 3, 50)
        loss, weights = HINGES[name], rng.uniform(0.5, 2, 50)
        theta = -weights[:, None] * loss.gradient(y, rng.normal(size=(50, 3)))
        free = FreeColumns(Design(X), True)
        moved = orthogonalise_slopes(theta, loss.class_box(y, 3), free, weights)
        assert moved is not None and free.is_orthogonal(moved, weights), seed


@every_hinge
def test_biases_alone_reach_the_bound(name):
    """Strong duality without features: the null model and its lower bound are one number."""
    y = np.repeat([0, 1, 2, 3], [3, 5, 9, 4])
    problem = Problem(Design(np.zeros((21, 0))), y, HINGES[name], L2(1.0), np.ones(21), True, 4)
    solution = gapless.solvers.solve(problem)
    assert solution.status == "optimal"
    assert solution.primal == pytest.approx(problem.scale, rel=1e-9)
