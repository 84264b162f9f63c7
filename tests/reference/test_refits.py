"""Held-out predictions against real refits: equal where exact, near where approximate.

Exact ones are compared in extended precision, because a refit by float64 loses up to all its digits
to a penalty of 1e-12.
"""

from dataclasses import replace

import mpmath
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.linear_model import RidgeCV
from sklearn.preprocessing import scale

from gapless import losses
from gapless._ground.design import Design
from gapless.penalties import L1, L2, Box, ElasticNet, Group, NoPenalty
from gapless.problem.problem import Problem
from gapless.solvers import solve
from gapless.unseen.leave_one_out import leave_out, ridge_path_leave_out

SQUARED = losses.Squared()


# ---- exact ---------------------------------------------------------------------------------------


def precise_ridge(X, y, weights, l2, fit_bias, at):
    """What ridge regression on X, y predicts at the rows `at`, with 60 digits."""
    with mpmath.workdps(60):
        X1 = mpmath.matrix(
            np.hstack([X, np.ones((len(X), 1))])[:, : X.shape[1] + fit_bias].tolist()
        )
        S = mpmath.diag(weights.tolist())
        H = X1.T * S * X1
        for j, strength in enumerate(l2):
            H[j, j] += mpmath.mpf(float(strength))
        w = mpmath.lu_solve(H, X1.T * (S * mpmath.matrix(y.tolist())))
        rows = mpmath.matrix(
            np.hstack([at, np.ones((len(at), 1))])[:, : X.shape[1] + fit_bias].tolist()
        )
        return np.array([float(z) for z in rows * w])


def least_norm(X, y, weights, fit_bias, at):
    """What least squares of least norm predict at the rows `at`."""
    share = weights / weights.sum() * fit_bias
    x_mean, y_mean = share @ X, share @ y
    root = np.sqrt(weights)
    w = np.linalg.lstsq(root[:, None] * (X - x_mean), root * (y - y_mean), rcond=1e-12)[0]
    return (at - x_mean) @ w + y_mean


def real_refits(problem, labels):
    """Each row predicted by a fit without its label, as precisely as can be."""
    X, y, s = problem.design.dense(), problem.y, problem.weights
    l2 = problem.penalty.coordinates(problem.d).l2
    held = np.empty(problem.n)
    for label in np.unique(labels):
        rest, out = (labels != label) & (s > 0), labels == label
        if l2.any():
            held[out] = precise_ridge(X[rest], y[rest], s[rest], l2, problem.fit_bias, X[out])
        else:
            held[out] = least_norm(X[rest], y[rest], s[rest], problem.fit_bias, X[out])
    return held


def assert_exact(problem, groups=None):
    labels = problem.design.equal_x if groups is None else groups
    held = leave_out(problem, solve(problem).parameters, groups)
    counts = problem.weights > 0
    assert held.method == "loo"
    expected = real_refits(problem, labels)[counts]
    np.testing.assert_allclose(held.z[counts], expected, rtol=1e-8, atol=1e-8)


DATA = {
    "plain": lambda X, rng: X,
    "far from the origin": lambda X, rng: X + 1e3,
    "bad units": lambda X, rng: X * np.geomspace(1e-3, 1e3, X.shape[1]),
    "a column twice": lambda X, rng: np.hstack([X[:, :1], X[:, :-1]]),
    "a constant column": lambda X, rng: np.hstack([np.full((len(X), 1), 0.7), X[:, 1:]]),
    "a column of one row": lambda X, rng: np.hstack([np.eye(len(X))[:, :1], X[:, 1:]]),
    "a row twice": lambda X, rng: np.vstack([X[:1], X[:-1]]),
    "float32": lambda X, rng: X.astype(np.float32),
    "sparse": lambda X, rng: sp.csr_matrix(np.where(rng.random(X.shape) < 0.6, 0, X)),
}


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("strength", [0.0, 1e-12, 1e-4, 1.0, 1e4])
@pytest.mark.parametrize("shape", [(11, 3), (6, 9)], ids=str)
def test_exact_leave_one_out_equals_refits(data, strength, shape):
    rng = np.random.default_rng(5)
    X = DATA[data](rng.normal(size=shape), rng)
    y, weights = rng.normal(size=shape[0]), rng.uniform(0.2, 3, shape[0])
    if data == "a row twice":
        y[1] = y[0]
    for fit_bias in (True, False):
        problem = Problem(Design(X), y, SQUARED, L2(strength), weights, fit_bias)
        if data == "a column of one row" and not strength and shape[0] > shape[1]:
            # Least norm leaves the coefficient of the row that alone decides it at 0.
            assert leave_out(problem, solve(problem).parameters).leverage[0] == pytest.approx(1)
        assert_exact(problem)


@pytest.mark.parametrize("strength", [0.0, 1e-12, 1.0])
@pytest.mark.parametrize("shape", [(12, 3), (7, 10)], ids=str)
def test_exact_leave_one_group_out_equals_refits(strength, shape):
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=shape) + 2, rng.normal(size=shape[0])
    for groups in (np.arange(shape[0]) % 3, np.minimum(np.arange(shape[0]), 2)):
        for fit_bias in (True, False):
            weights = rng.uniform(0.2, 3, shape[0])
            assert_exact(Problem(Design(X), y, SQUARED, L2(strength), weights, fit_bias), groups)


@pytest.mark.parametrize("strength", [1e-12, 1.0])
@pytest.mark.parametrize("shape", [(12, 3), (7, 10)], ids=str)
def test_exact_leave_one_out_with_weights_zeros_and_copies(strength, shape):
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=shape), rng.normal(size=shape[0])
    X, y = np.vstack([X, X[:3], X[:1]]), np.concatenate([y, y[:3], y[:1] + 1])
    weights = np.resize([0.0, 1.0, 2.0, 0.5], len(y))
    assert_exact(Problem(Design(X), y, SQUARED, L2(strength), weights))
    assert_exact(Problem(Design(X), y, SQUARED, L2(strength), weights), np.arange(len(y)) % 4)


@pytest.mark.parametrize("shape", [(12, 4), (7, 10)], ids=str)
def test_exact_leave_one_out_with_free_features_and_other_strengths(shape):
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=shape), rng.normal(size=shape[0])
    of_features = np.append(0.0, rng.uniform(0.1, 10, shape[1] - 1))
    for strength in (1e-10, 0.3):
        problem = Problem(Design(X), y, SQUARED, L2(strength, of_features), np.ones(shape[0]))
        assert_exact(problem)
        assert_exact(problem, np.arange(shape[0]) % 4)


def test_several_outputs_are_left_out_as_one_by_one():
    rng = np.random.default_rng(9)
    for shape in ((12, 3), (7, 10)):
        X, Y = rng.normal(size=shape), rng.normal(size=(shape[0], 3))
        together = Problem(Design(X), Y, SQUARED, L2(0.1), np.ones(shape[0]), True, 3)
        held = leave_out(together, solve(together).parameters).z
        for k in range(3):
            alone = Problem(Design(X), Y[:, k].copy(), SQUARED, L2(0.1), np.ones(shape[0]))
            np.testing.assert_allclose(
                held[:, k], real_refits(alone, np.arange(shape[0])), rtol=1e-8
            )


def test_a_ridge_path_chooses_as_scikit_learn_does():
    X, y = load_diabetes(return_X_y=True)
    strengths = np.logspace(-4, 2, 13)
    theirs = RidgeCV(alphas=strengths, store_cv_results=True).fit(X, y)
    ours = ridge_path_leave_out(Design(X), y, np.ones(len(y)), strengths, keep=True)
    np.testing.assert_allclose(ours.errors, theirs.cv_results_.mean(axis=0), rtol=1e-9)
    best = int(np.argmin(ours.errors))
    assert strengths[best] == theirs.alpha_
    np.testing.assert_allclose(ours.coefficients[best], theirs.coef_, rtol=1e-8)


# ---- approximate ---------------------------------------------------------------------------------


def microarray(n=40, d=600, classes=2, seed=0):
    """Few rows and many features, a few of which differ between the classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    X = rng.normal(size=(n, d))
    X[:, : 5 * classes] += 1.2 * np.repeat(np.eye(classes), 5, axis=1)[y]
    return scale(X), y


def breast_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X)[::2], np.where(y == 1, 1.0, -1.0)[::2]


def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return scale(X), y / y.std()


def signs(y):
    return np.where(y == 1, 1.0, -1.0)


def largest_strength(X, y):
    return np.max(np.abs(X.T @ (y - y.mean())))


WIDE, FOUR = microarray(), microarray(classes=4)
WINE = load_wine(return_X_y=True)
LASSO = largest_strength(*diabetes())
# Data, loss, penalty, outputs, and the largest median error, as a part of how far rows moved.
APPROXIMATE = {
    "wide logistic, weak": (WIDE[0], signs(WIDE[1]), losses.Logistic(), L2(0.1), None, 0.01),
    "wide logistic, strong": (WIDE[0], signs(WIDE[1]), losses.Logistic(), L2(100.0), None, 0.01),
    "wide squared hinge": (WIDE[0], signs(WIDE[1]), losses.SquaredHinge(), L2(1.0), None, 0.05),
    "wide hinge": (WIDE[0], signs(WIDE[1]), losses.Hinge(), L2(1.0), None, 0.05),
    "wide softmax": (*FOUR, losses.Softmax(), L2(1.0), 4, 0.02),
    "logistic": (*breast_cancer(), losses.Logistic(), L2(1.0), None, 0.01),
    "logistic lasso": (*breast_cancer(), losses.Logistic(), L1(3.0), None, 0.1),
    "softmax": (scale(WINE[0]), WINE[1], losses.Softmax(), L2(10.0), 3, 0.05),
    "lasso": (*diabetes(), SQUARED, L1(0.05 * LASSO), None, 0.02),
    "elastic net": (*diabetes(), SQUARED, ElasticNet(0.05 * LASSO), None, 0.02),
    "group lasso": (*diabetes(), SQUARED, Group(0.05 * LASSO, np.arange(10) // 2), None, 0.02),
    "signs": (*diabetes(), SQUARED, Box(lower=0), None, 0.02),
    "huber": (*diabetes(), losses.Huber(0.5), NoPenalty(), None, 0.01),
}


@pytest.mark.parametrize("name", APPROXIMATE)
def test_approximations_are_near_real_refits(name):
    X, y, loss, penalty, outputs, bound = APPROXIMATE[name]
    problem = Problem(Design(X), y, loss, penalty, np.ones(len(y)), True, outputs)
    parameters = solve(problem, tol=1e-7).parameters
    held = leave_out(problem, parameters)
    assert held.method == ("span" if loss.is_piecewise_linear else "approximate loo")
    z = problem.predictions(parameters.w, parameters.b)
    # Rows that moved, to which leaving out makes a difference.
    farthest = np.argsort(np.abs(held.z - z).reshape(len(y), -1).max(axis=1))[::-1]
    rows = farthest[: len(y) // 2 : max(len(y) // 24, 1)]
    refits = np.array([refit_without(problem, parameters, i) for i in rows])
    error, moved = held.z[rows] - refits, z[rows] - refits
    if outputs is not None:
        error, moved = (a - a.mean(axis=1, keepdims=True) for a in (error, moved))
    assert np.median(np.abs(error)) <= bound * np.median(np.abs(moved))
    assert np.median(np.abs(moved)) > 1e-3


def refit_without(problem, parameters, i):
    rest = np.delete(np.arange(problem.n), i)
    known = replace(
        problem, design=problem.design.rows(rest), y=problem.y[rest], weights=problem.weights[rest]
    )
    start = replace(parameters, theta=None)
    at = solve(known, start=start, tol=1e-7).parameters
    return (problem.design.rows(np.array([i])).times(at.w) + at.b)[0]


def test_the_span_rule_is_exact_where_support_vectors_stay():
    """Rows far apart in many dimensions are all at the margin, with or without each other."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(10, 400)), np.resize([1.0, -1.0], 10)
    for fit_bias in (True, False):
        problem = Problem(Design(X), y, losses.Hinge(), L2(1.0), np.ones(10), fit_bias)
        parameters = solve(problem).parameters
        held = leave_out(problem, parameters)
        assert np.all(held.leverage == 1)
        refits = [refit_without(problem, parameters, i) for i in range(10)]
        np.testing.assert_allclose(held.z, refits, rtol=1e-7, atol=1e-7)
        pairs = leave_out(problem, parameters, np.arange(10) // 2)
        rest = np.arange(2, 10)
        known = replace(problem, design=problem.design.rows(rest), y=y[rest], weights=np.ones(8))
        at = solve(known).parameters
        np.testing.assert_allclose(pairs.z[:2], X[:2] @ at.w + at.b, rtol=1e-7, atol=1e-7)


def test_a_bounded_support_vector_is_left_out_with_its_span():
    """Row 0 has so little weight that it stays beyond the margin, and the others stay at it."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(10, 400)), np.resize([1.0, -1.0], 10)
    weights = np.append(1e-4, np.ones(9))
    problem = Problem(Design(X), y, losses.Hinge(), L2(1.0), weights)
    parameters = solve(problem).parameters
    held = leave_out(problem, parameters)
    assert held.leverage[0] == 0 and np.all(held.leverage[1:] == 1)
    expected = [refit_without(problem, parameters, i) for i in range(10)]
    np.testing.assert_allclose(held.z, expected, rtol=1e-6, atol=1e-6)
    together = leave_out(problem, parameters, np.maximum(np.arange(10), 1))
    rest = np.arange(2, 10)
    known = replace(problem, design=problem.design.rows(rest), y=y[rest], weights=np.ones(8))
    at = solve(known).parameters
    np.testing.assert_allclose(together.z[:2], X[:2] @ at.w + at.b, rtol=1e-6, atol=1e-6)
