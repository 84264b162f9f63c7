"""The closed form against NumPy's singular values, scikit-learn, and solutions known before."""

import time
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LinearRegression, Ridge

from gapless._ground.design import Design
from gapless._ground.interrupt import time_limit
from gapless._ground.threads import threads
from gapless.losses import Huber, Squared
from gapless.penalties import L1, L2
from gapless.problem.problem import Problem
from gapless.solvers import registry, solve

EPS = np.finfo(float).eps
DIRECT = ["closed_form", "cholesky", "eigen", "svd"]
METHODS = [*DIRECT, "cg"]
SHAPES = [(50, 7), (7, 50), (30, 30), (1, 3), (3, 1), (5, 0)]


def make(X, y, l2=0.0, weights=None, fit_bias=True):
    n, d = X.shape
    s = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    penalty = L2(1.0, np.broadcast_to(np.asarray(l2, dtype=float), (d,)))
    return Problem(
        Design(X), y, Squared(), penalty, s, fit_bias, y.shape[1] if y.ndim > 1 else None
    )


def reference(problem, X):
    """(w, b) by NumPy's least squares on the rows of X, then on those of √Λ."""
    X = np.asarray(X.todense() if sp.issparse(X) else X, dtype=float)
    s, Y = problem.weights, problem.y.reshape(problem.n, -1)
    total = s.sum() if problem.fit_bias else 1.0
    x_mean = s @ X / total if problem.fit_bias else np.zeros(problem.d)
    y_mean = s @ Y / total if problem.fit_bias else np.zeros(Y.shape[1])
    rows = X - x_mean
    rows[np.abs(rows) <= 8 * EPS * np.abs(x_mean)] = 0.0
    root = np.sqrt(problem.penalty.coordinates(problem.d).l2)
    A = np.vstack([np.sqrt(s)[:, None] * rows, np.diag(root)])
    B = np.vstack([np.sqrt(s)[:, None] * (Y - y_mean), np.zeros((problem.d, Y.shape[1]))])
    w = np.linalg.lstsq(A, B, rcond=max(A.shape) * EPS)[0]
    singular = np.linalg.svd(A, compute_uv=False)
    kept = singular[singular > max(A.shape) * EPS * singular.max(initial=0.0)]
    condition = kept[0] / kept[-1] if kept.size else 1.0
    return (
        w.reshape(problem.null.w.shape),
        (y_mean - x_mean @ w).reshape(problem.null.b.shape),
        condition,
    )


def store(X, storage):
    if storage == "sparse":
        return sp.csc_array(np.where(np.abs(X) > 0.7, X, 0.0))
    return np.asfortranarray(X, dtype=np.float32 if storage == "float32" else np.float64)


@pytest.mark.parametrize("storage", ["float64", "float32", "sparse"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", SHAPES)
def test_agrees_with_singular_values(shape, method, storage):
    n, d = shape
    for kind in ("uniform", "none", "some free", "varied"):
        for fit_bias, outputs in product((True, False), ((), (3,))):
            rng = np.random.default_rng([n, d, fit_bias, len(outputs)])
            X = store(rng.standard_normal(shape) + 1, storage)
            y = rng.standard_normal((n, *outputs)) + 5
            s = rng.random(n) + 0.1
            s[5::5] = 0.0
            l2 = {
                "uniform": 0.7,
                "none": 0.0,
                "some free": np.where(np.arange(d) % 3 == 0, 0.0, 1.3),
                "varied": 0.1 + rng.random(d),
            }[kind]
            problem = make(X, y, l2, s, fit_bias)
            w, b, condition = reference(problem, X)
            found = solve(problem, method, tol=1e-6 if method != "cg" else 1e-13).parameters
            size = 1 + np.max(np.abs(w), initial=0.0)
            tolerance = 1e-11 * condition if method != "cg" else 1e-5 * condition
            np.testing.assert_allclose(found.w, w, atol=tolerance * size, rtol=0)
            np.testing.assert_allclose(found.b, b, atol=tolerance * size * 10, rtol=0)


@pytest.mark.parametrize("method", DIRECT)
@pytest.mark.parametrize("shape", SHAPES)
def test_gap_closes_at_once(method, shape):
    rng = np.random.default_rng(0)
    problem = make(rng.standard_normal(shape), rng.standard_normal(shape[0]), 0.5)
    solution = solve(problem, method, tol=1e-10)
    assert solution.status == "optimal"
    assert len(solution.trace.primal) == 1


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("l2", [0.0, 1e-3, 10.0])
def test_doubled_features_share_the_coefficients(method, l2):
    """[X, X]/2 has the predictions of X; twice the strength gives back the same fit."""
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((40, 6)), rng.standard_normal(40)
    single = solve(make(X, y, l2), method, tol=1e-13).parameters
    half = np.hstack([X, X]) / 2
    double = solve(make(half, y, l2 / 2), method, tol=1e-13).parameters
    np.testing.assert_allclose(double.w, np.concatenate([single.w, single.w]), rtol=1e-6)
    np.testing.assert_allclose(double.b, single.b, rtol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_weight_two_is_a_repeated_row_and_weight_zero_none(method):
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((30, 5)), rng.standard_normal(30)
    s = rng.integers(0, 3, 30)
    index = np.repeat(np.arange(30), s)
    weighted = solve(make(X, y, 0.3, s), method, tol=1e-13).parameters
    repeated = solve(make(X[index], y[index], 0.3), method, tol=1e-13).parameters
    np.testing.assert_allclose(weighted.w, repeated.w, rtol=1e-9)
    np.testing.assert_allclose(weighted.b, repeated.b, rtol=1e-9)


@pytest.mark.parametrize("fit_bias", [True, False])
@pytest.mark.parametrize("shape", [(60, 5), (5, 60)])
@pytest.mark.parametrize("l2", [0.0, 2.0])
def test_agrees_with_scikit_learn(shape, l2, fit_bias):
    rng = np.random.default_rng(3)
    X, y, s = rng.standard_normal(shape), rng.standard_normal((shape[0], 2)), rng.random(shape[0])
    model = (
        Ridge(l2, solver="svd", fit_intercept=fit_bias)
        if l2
        else LinearRegression(fit_intercept=fit_bias)
    )
    model.fit(X, y, sample_weight=s)
    found = solve(make(X, y, l2, s, fit_bias)).parameters
    np.testing.assert_allclose(found.w.T, model.coef_, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(found.b, np.broadcast_to(model.intercept_, 2), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("method", DIRECT)
def test_rank_deficiency_gives_least_norm(method):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((40, 3)) @ rng.standard_normal((3, 8))
    y = rng.standard_normal(40)
    problem = make(X, y)
    w, _, condition = reference(problem, X)
    found = solve(problem, method).parameters
    np.testing.assert_allclose(found.w, w, atol=1e-11 * condition)


@pytest.mark.parametrize("method", DIRECT)
def test_least_norm_is_in_the_units_of_the_features(method):
    """Columns are scaled inside; of two equal columns, one in other units, the larger serves."""
    rng = np.random.default_rng(5)
    x, y = rng.standard_normal(50), rng.standard_normal(50)
    X = np.column_stack([x, 100 * x])
    found = solve(make(X, y), method).parameters.w
    slope = (x - x.mean()) @ y / ((x - x.mean()) @ (x - x.mean()))
    np.testing.assert_allclose(found, slope * np.array([1, 100]) / (1 + 100**2), rtol=1e-9)


@pytest.mark.parametrize("method", DIRECT)
@pytest.mark.parametrize("l2", [0.0, 1.0])
def test_constant_features_get_no_coefficient(method, l2):
    rng = np.random.default_rng(6)
    X = rng.standard_normal((30, 4)) * 0.1
    X[:, 1] = 0.1
    X[:, 3] = -1e6
    y = rng.standard_normal(30)
    found = solve(make(X, y, l2), method).parameters
    fit = solve(make(X[:, [0, 2]], y, l2), method).parameters
    np.testing.assert_allclose(found.w[[1, 3]], 0.0, atol=1e-12)
    np.testing.assert_allclose(found.w[[0, 2]], fit.w, rtol=1e-9)


@pytest.mark.parametrize("method", DIRECT)
@pytest.mark.parametrize("shape", [(30, 4), (4, 30)])
@pytest.mark.parametrize("size", [1e150, 1e-150])
def test_huge_and_tiny_data(method, shape, size):
    """Scaling X by c and the strength by c² divides w by c; powers of two, so to the last bit."""
    rng = np.random.default_rng(7)
    X, y = rng.standard_normal(shape), rng.standard_normal(shape[0])
    size = 2.0 ** np.round(np.log2(size))
    plain = solve(make(X, y, 0.5), method).parameters
    scaled = solve(make(size * X, y, 0.5 * size * size), method).parameters
    np.testing.assert_allclose(scaled.w * size, plain.w, rtol=1e-9)
    targets = solve(make(X, size * y, 0.5), method).parameters
    np.testing.assert_allclose(targets.w / size, plain.w, rtol=1e-9)


@pytest.mark.parametrize("method", ["closed_form", "cholesky", "eigen", "svd"])
def test_features_in_any_units(method):
    rng = np.random.default_rng(8)
    X, y = rng.standard_normal((50, 5)), rng.standard_normal(50)
    units = 10.0 ** np.array([-9, 0, 9, 4, -4])
    plain = solve(make(X, y), method).parameters
    found = solve(make(X * units, y), method).parameters
    np.testing.assert_allclose(found.w * units, plain.w, rtol=1e-8)


@pytest.mark.parametrize("condition", [1e3, 1e6, 1e9])
def test_ill_conditioned_data_keeps_the_digits_that_it_has(condition):
    """X is built from its singular values and y = Xw + u with u ⟂ X, so the answer is w."""
    rng = np.random.default_rng(9)
    Q, _ = np.linalg.qr(rng.standard_normal((60, 9)))
    V, _ = np.linalg.qr(rng.standard_normal((8, 8)))
    U, u = Q[:, :8], Q[:, 8]
    X = U @ np.diag(np.geomspace(1, 1 / condition, 8)) @ V
    w = rng.standard_normal(8)
    problem = make(X, X @ w + 0.01 * u, fit_bias=False)
    found = solve(problem).parameters.w
    assert np.max(np.abs(found - w)) <= 100 * EPS * condition * (1 + 0.01 * condition)


def test_several_outputs_are_solved_as_one_by_one():
    rng = np.random.default_rng(10)
    X, Y = rng.standard_normal((40, 6)), rng.standard_normal((40, 3))
    for method in METHODS:
        together = solve(make(X, Y, 0.1), method, tol=1e-13).parameters
        for k in range(3):
            alone = solve(make(X, Y[:, k], 0.1), method, tol=1e-13).parameters
            np.testing.assert_allclose(together.w[:, k], alone.w, rtol=1e-7)
            np.testing.assert_allclose(together.b[k], alone.b, rtol=1e-7, atol=1e-10)


def test_large_sparse_problems_use_conjugate_gradients():
    """Too wide for a factorisation to pay: the same solution, in many cheap steps."""
    X = sp.random_array(
        (6000, 9000), density=3e-4, random_state=np.random.default_rng(11), format="csr"
    )
    y = X @ np.ones(9000) + np.random.default_rng(12).standard_normal(6000)
    problem = make(X, y, 1.0)
    solution = solve(problem, tol=1e-12)
    assert solution.status == "optimal"
    assert len(solution.trace.primal) > 1
    found = solution.parameters
    residual = y - X @ found.w - found.b
    assert abs(residual.sum()) < 1e-7
    np.testing.assert_allclose(X.T @ residual, found.w, atol=1e-5)


def test_same_bits_for_any_number_of_threads():
    rng = np.random.default_rng(13)
    X, y = rng.standard_normal((700, 60)), rng.standard_normal(700)
    for method in METHODS:
        with threads(1):
            one = solve(make(X, y, 0.2), method).parameters
        with threads(8):
            many = solve(make(X, y, 0.2), method).parameters
        assert np.array_equal(one.w, many.w)
        assert np.array_equal(one.b, many.b)


def test_time_limit_ends_a_long_factorisation():
    rng = np.random.default_rng(14)
    X = rng.standard_normal((1500, 1500))
    problem = make(X, rng.standard_normal(1500), 1.0)
    began = time.process_time()
    with time_limit(0.05):
        solution = solve(problem, "svd")
    assert solution.status == "time_limit"
    # By the clock of the process, which stops while others have the processor.
    assert time.process_time() - began < 2


def test_no_weight_at_all_fits_nothing():
    problem = make(np.ones((4, 2)), np.arange(4.0), 0.0, np.zeros(4))
    for method in METHODS:
        assert not solve(problem, method).parameters.w.any()


def test_other_problems_are_refused_with_a_reason():
    problem = make(np.ones((4, 2)), np.arange(4.0))
    assert all(registry[name].refuses(problem) is None for name in METHODS)
    huber = Problem(problem.design, problem.y, Huber(), L2(1.0), problem.weights)
    with pytest.raises(ValueError, match='solver="svd" needs the squared loss, got huber'):
        solve(huber, "svd")
    lasso = Problem(problem.design, problem.y, Squared(), L1(1.0), problem.weights)
    with pytest.raises(ValueError, match="needs a penalty ½Σ l2ⱼwⱼ² or none, got l1"):
        solve(lasso, "cholesky")
