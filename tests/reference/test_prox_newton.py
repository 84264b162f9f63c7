"""Prox-Newton and proximal gradient against scikit-learn's solvers at a tight tolerance."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import ElasticNet as TheirElasticNet
from sklearn.linear_model import Lasso, LogisticRegression, MultiTaskLasso

from gapless._ground.design import Design
from gapless.losses import Logistic, Softmax, Squared
from gapless.penalties import L1, ElasticNet, Group
from gapless.problem.problem import Problem
from gapless.solvers import joint_gram, solve
from gapless.solvers.joint_gram import JointGram, KeptGram
from gapless.solvers.path import solve_in_turn
from gapless.solvers.quadratic_model import Gram, QuadraticModel, evaluate

SOLVERS = ["prox_newton", "proximal_gradient"]


def regression(seed=0, outputs=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 10)) + 1.0
    w = rng.normal(size=(10, outputs or 1)) * (np.arange(10) < 4)[:, None]
    y = X @ w + 0.5 * rng.normal(size=(80, outputs or 1)) + 3.0
    return X, (y[:, 0] if outputs is None else y)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("alpha", [0.01, 0.3])
def test_lasso_and_elastic_net(solver, alpha):
    X, y = regression()
    weights = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    strength = alpha * weights.sum()
    for penalty, theirs in (
        (L1(strength), Lasso(alpha=alpha, tol=1e-12, max_iter=100_000)),
        (ElasticNet(strength, 0.5), TheirElasticNet(alpha=alpha, tol=1e-12, max_iter=100_000)),
    ):
        ours = solve(Problem(Design(X), y, Squared(), penalty, weights), solver, tol=1e-12)
        theirs.fit(X, y, sample_weight=weights)
        np.testing.assert_allclose(ours.parameters.w, theirs.coef_, atol=1e-6)
        np.testing.assert_allclose(ours.parameters.b, theirs.intercept_, atol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_multi_task_lasso(solver):
    X, Y = regression(outputs=3)
    problem = Problem(Design(X), Y, Squared(), Group(0.2 * 80), np.ones(80), outputs=3)
    ours = solve(problem, solver, tol=1e-12)
    theirs = MultiTaskLasso(alpha=0.2, tol=1e-12, max_iter=100_000).fit(X, Y)
    np.testing.assert_allclose(ours.parameters.w.T, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.parameters.b, theirs.intercept_, atol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_logistic_regression_by_liblinear(solver):
    # Without a bias, which LIBLINEAR would penalise.
    X, z = regression()
    y = np.where(z > np.median(z), 1.0, -1.0)
    problem = Problem(Design(X), y, Logistic(), L1(1 / 0.5), np.ones(80), fit_bias=False)
    ours = solve(problem, solver, tol=1e-10)
    theirs = LogisticRegression(
        l1_ratio=1.0, solver="liblinear", C=0.5, tol=1e-10, max_iter=10_000, fit_intercept=False
    ).fit(X, y)
    np.testing.assert_allclose(ours.parameters.w, theirs.coef_[0], atol=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("l1_ratio", [0.5, 1.0])
def test_softmax_by_saga(solver, l1_ratio):
    X, z = regression()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = np.searchsorted(np.quantile(z, [1 / 3, 2 / 3]), z)
    penalty = ElasticNet(1.0, l1_ratio)
    problem = Problem(Design(X), y, Softmax(), penalty, np.ones(80), outputs=3)
    ours = solve(problem, solver, tol=1e-10)
    theirs = LogisticRegression(
        l1_ratio=l1_ratio, solver="saga", C=1.0, tol=1e-10, max_iter=100_000
    )
    theirs.fit(X, y)
    w, b = theirs.coef_.T, theirs.intercept_
    assert ours.primal <= problem.primal(np.ascontiguousarray(w), b) + 1e-9
    np.testing.assert_allclose(ours.parameters.w, w, atol=1e-4)


@pytest.mark.parametrize("fit_bias", [True, False])
def test_descent_on_the_joint_gram_matrix_reaches_what_descent_on_columns_does(
    fit_bias, monkeypatch
):
    X, z = regression(seed=3)
    X = np.column_stack([X, np.ones(80), 100 + X[:, 0]])  # a constant, and far from centred
    y = np.digitize(z, np.quantile(z, [0.3, 0.6]))
    s = np.random.default_rng(4).integers(1, 4, 80).astype(float)
    penalty = ElasticNet(2.0, 0.7)
    problem = Problem(Design(X), y, Softmax(), penalty, s, outputs=3, fit_bias=fit_bias)
    by_gram = solve(problem, "prox_newton", tol=1e-11, polish=False)
    monkeypatch.setattr(joint_gram, "MOST_COEFFICIENTS", 0)
    by_columns = solve(problem, "prox_newton", tol=1e-11, polish=False)
    assert by_gram.status == by_columns.status == "optimal"
    np.testing.assert_allclose(by_gram.parameters.w, by_columns.parameters.w, atol=1e-4)
    np.testing.assert_allclose(by_gram.primal, by_columns.primal, rtol=1e-10)
    assert by_gram.trace.steps <= by_columns.trace.steps + 3


def classes_of_many_columns(seed=5, n=400):
    """Three classes of rows with 150 columns: their joint Gram matrix takes a while."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 150))
    z = X[:, :3] + 0.5 * rng.standard_normal((n, 3))
    return Problem(Design(X), z.argmax(axis=1), Softmax(), L1(1.0), np.ones(n), outputs=3)


def test_one_gram_matrix_serves_many_steps_and_strengths(monkeypatch):
    problem, made = classes_of_many_columns(), []
    make = joint_gram.joint_hessian
    monkeypatch.setattr(joint_gram, "joint_hessian", lambda *args: made.append(1) or make(*args))
    penalties = [L1(strength) for strength in np.geomspace(60, 3, 8)]
    options = {"tol": 1e-8, "polish": False}
    together = list(solve_in_turn(problem, penalties, **options))
    few = len(made)
    alone = [solve(problem.with_penalty(penalty), **options) for penalty in penalties]
    steps = sum(solution.trace.steps for solution in together)
    assert 0 < few <= steps / 2
    for one, other in zip(together, alone):
        assert one.status == other.status == "optimal"
        np.testing.assert_allclose(one.primal, other.primal, rtol=1e-7)


def test_a_gram_matrix_that_foretells_badly_is_made_anew():
    problem = classes_of_many_columns()
    features = np.arange(problem.d)
    at = evaluate(problem, problem.null.w, problem.null.b, 0.0)
    a, f = QuadraticModel(problem).curvature(at)
    kept = KeptGram()
    first = kept.of(problem, features, a, f)
    assert kept.of(problem, features, 2 * a, f) is first
    some = kept.of(problem, features[10:], 2 * a, f)
    fresh = JointGram.of(problem, features[10:], a, f)
    np.testing.assert_allclose(some.values, fresh.values, atol=1e-10)
    np.testing.assert_allclose(some.cross, fresh.cross, atol=1e-10)
    kept.judge(0.1)
    assert kept.of(problem, features, 2 * a, f) is first
    kept.judge(np.nan)
    assert kept.of(problem, features, 2 * a, f) is not first


def test_a_gram_matrix_of_another_problem_does_no_harm(rng):
    problem = classes_of_many_columns().with_penalty(L1(5.0))
    wrong = replace(problem, design=Design(3 * rng.standard_normal((problem.n, problem.d))))
    kept = KeptGram()
    solve(wrong, tol=1e-6, polish=False, kept=kept)
    found = solve(problem, tol=1e-8, polish=False, kept=kept)
    alone = solve(problem, tol=1e-8, polish=False)
    assert found.status == "optimal"
    np.testing.assert_allclose(found.primal, alone.primal, rtol=1e-7)


@pytest.mark.parametrize("fit_bias", [True, False])
@pytest.mark.parametrize("is_sparse", [True, False])
def test_a_gram_matrix_that_grows_is_the_one_of_all_its_columns(rng, fit_bias, is_sparse):
    X = rng.normal(size=(40, 9)) + rng.normal(size=9)
    X[:, 4] = 2.0  # constant: centred, nothing is left of it
    X = sp.csr_array(X) if is_sparse else X
    weights = rng.uniform(0.5, 2, 40)
    problem = Problem(Design(X), rng.normal(size=40), Squared(), L1(1.0), np.ones(40), fit_bias)
    first, new = np.array([1, 4, 7]), np.array([0, 3, 8])
    grown = Gram.of(problem, first, weights).extended(problem, new)
    whole = Gram.of(problem, np.append(first, new), weights)
    size = np.max(np.abs(whole.values))
    np.testing.assert_allclose(grown.values, whole.values, atol=1e-13 * size)
    np.testing.assert_allclose(grown.mean, whole.mean, atol=1e-13)


@pytest.mark.parametrize("penalty", [L1(2.0), Group(2.0, [0, 0, 1, 1, 2, 2])], ids=["l1", "groups"])
def test_the_polish_of_few_coefficients_settles_them_whatever_the_tolerance(
    penalty, rng, monkeypatch
):
    # A factor of the Hessian does it: conjugate gradients compute no product.
    monkeypatch.setattr("gapless.solvers.polish._joint_step", None)
    X = rng.normal(size=(150, 6)) + 3.0
    y = np.argmax(X[:, :3] + rng.gumbel(size=(150, 3)), axis=1)
    problem = Problem(Design(X), y, Softmax(), penalty, np.ones(150), True, 3)
    exact = solve(problem, tol=1e-13).parameters
    rough = solve(problem, tol=1e-5).parameters
    np.testing.assert_allclose(rough.w, exact.w, atol=1e-9 * np.max(np.abs(exact.w)))
    # The same shift of all scores changes nothing.
    shift = np.mean(rough.b - exact.b)
    np.testing.assert_allclose(rough.b - shift, exact.b, atol=1e-9 * np.max(np.abs(exact.b)))
