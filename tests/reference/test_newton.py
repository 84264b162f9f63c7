"""Newton's method against scikit-learn, its own optimality conditions, and known solutions."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC, LinearSVR

import gapless
from gapless._ground.design import Design
from gapless._ground.interrupt import time_limit
from gapless._ground.threads import threads
from gapless.losses import (
    Hinge,
    Huber,
    Logistic,
    Softmax,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from gapless.penalties import L1, L2
from gapless.problem.problem import Parameters, Problem
from gapless.solvers import conjugate_gradients, preconditioners, registry, solve
from gapless.solvers import newton as newton_module

EPS = np.finfo(float).eps
METHODS = ["newton", "newton_cholesky", "newton_cg"]
LOSSES = [
    Logistic(),
    Softmax(),
    SquaredHinge(),
    Squared(),
    Huber(0.5),
    SquaredEpsilonInsensitive(0.1),
]
by_name = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)


def make(X, y, loss, l2=1.0, weights=None, fit_bias=True):
    n, d = X.shape
    s = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    penalty = L2(1.0, np.broadcast_to(np.asarray(l2, dtype=float), (d,)))
    outputs = int(y.max()) + 1 if loss.task == "multiclass" else None if y.ndim == 1 else y.shape[1]
    return Problem(Design(X), y, loss, penalty, s, fit_bias, outputs)


def data(loss, shape, seed, noise=1.0):
    """Rows, targets and weights that do not separate."""
    rng = np.random.default_rng([seed, *shape])
    X = rng.standard_normal(shape) + 0.5
    z = X @ rng.standard_normal(shape[1]) + noise * rng.standard_normal(shape[0])
    if loss.task == "multiclass":
        y = np.digitize(z, np.quantile(z, [0.3, 0.6]))
    else:
        y = np.where(z > np.median(z), 1.0, -1.0) if loss.task == "binary" else z
    return X, y, rng.random(shape[0]) + 0.1


def stationarity(problem, found, X):
    """The largest |∂P/∂wⱼ| and |∂P/∂b|, in units of what its terms add up to without signs."""
    X = np.asarray(X.todense() if sp.issparse(X) else X, dtype=float)
    z = X @ found.w + found.b
    slope = problem.row_weights * problem.loss.gradient(problem.y, z)
    l2 = problem.penalty.coordinates(problem.d).l2
    pull = (l2 * found.w.T).T
    g = np.abs(X.T @ slope + pull) / (np.abs(X).T @ np.abs(slope) + np.abs(pull) + EPS)
    g_b = np.abs(slope.sum(axis=0)) / (np.abs(slope).sum(axis=0) + EPS)
    return max(np.max(g, initial=0.0), np.max(g_b) if problem.fit_bias else 0.0)


def store(X, storage):
    if storage == "sparse":
        return sp.csr_array(np.where(np.abs(X) > 0.7, X, 0.0))
    return X.astype(np.float32 if storage == "float32" else np.float64)


@by_name
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("storage", ["float64", "float32", "sparse"])
@pytest.mark.parametrize("kind", ["uniform", "some free", "varied", "none"])
def test_gradient_vanishes(loss, method, storage, kind):
    shape = (120, 6)
    for fit_bias in (True, False):
        X, y, s = data(loss, shape, seed=fit_bias, noise=5.0)
        X = store(X, storage)
        s[::7] = 0.0
        l2 = {
            "uniform": 0.7,
            "some free": np.array([0.0, 1.3] * 3),
            "varied": np.linspace(0.1, 3, 6),
            "none": 0.0,
        }[kind]
        problem = make(X, y, loss, l2, s, fit_bias)
        solution = solve(problem, method, tol=1e-6 if method != "newton_cg" else 1e-12)
        assert solution.status == "optimal"
        limit = 1e-8 if method != "newton_cg" else 1e-5
        assert stationarity(problem, solution.parameters, X) < limit


@by_name
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", [(8, 30), (1, 3), (3, 1), (6, 0)])
@pytest.mark.parametrize("fit_bias", [True, False])
def test_few_rows_or_features(loss, method, shape, fit_bias):
    X, y, s = data(loss, shape, seed=5)
    if loss.task != "regression" and shape[0] > 1:
        y[: len(set(y))] = np.unique(y)
    problem = make(X, y, loss, 0.3, s, fit_bias and len(np.unique(y)) > 1)
    solution = solve(problem, method, tol=1e-10)
    assert solution.status == "optimal"
    assert stationarity(problem, solution.parameters, X) < 1e-3


@pytest.mark.parametrize("C", [1e-2, 1.0, 100.0])
@pytest.mark.parametrize("fit_bias", [True, False])
def test_logistic_regression_agrees_with_scikit_learn(C, fit_bias):
    X, y, s = data(Logistic(), (150, 5), seed=1, noise=3.0)
    model = LogisticRegression(
        C=C, solver="newton-cholesky", tol=1e-13, max_iter=1000, fit_intercept=fit_bias
    ).fit(X, y, sample_weight=s)
    for method in METHODS:
        tol = 1e-6 if method != "newton_cg" else 1e-15
        found = solve(make(X, y, Logistic(), 1 / C, s, fit_bias), method, tol=tol).parameters
        np.testing.assert_allclose(found.w, model.coef_[0], rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(found.b, np.ravel(model.intercept_)[0], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("C", [1e-2, 1.0, 100.0])
def test_softmax_agrees_with_scikit_learn(C):
    X, y, s = data(Softmax(), (150, 5), seed=2, noise=3.0)
    model = LogisticRegression(C=C, solver="newton-cg", tol=1e-12, max_iter=1000)
    model.fit(X, y, sample_weight=s)
    for method in METHODS:
        found = solve(make(X, y, Softmax(), 1 / C, s), method, tol=1e-15).parameters
        # scikit-learn stops at a gradient of 1e-12 in its own units, less exact than ours.
        np.testing.assert_allclose(found.w.T, model.coef_, rtol=1e-5, atol=1e-6)
        centred = model.intercept_ - model.intercept_.mean()
        np.testing.assert_allclose(found.b - found.b.mean(), centred, rtol=1e-5, atol=1e-6)


def test_squared_hinge_and_squared_tube_agree_with_scikit_learn():
    """Without a bias, which LIBLINEAR penalises."""
    X, y, s = data(SquaredHinge(), (100, 4), seed=3, noise=2.0)
    svc = LinearSVC(C=2.0, tol=1e-13, max_iter=10**6, fit_intercept=False, dual=False)
    found = solve(make(X, y, SquaredHinge(), 0.5, s, False)).parameters.w
    np.testing.assert_allclose(found, svc.fit(X, y, sample_weight=s).coef_[0], rtol=1e-6)
    X, y, s = data(Squared(), (100, 4), seed=3, noise=2.0)
    svr = LinearSVR(
        C=2.0,
        epsilon=0.2,
        loss="squared_epsilon_insensitive",
        tol=1e-13,
        max_iter=10**6,
        fit_intercept=False,
        dual=False,
    )
    tube = SquaredEpsilonInsensitive(0.2)
    found = solve(make(X, y, tube, 0.5, s, False)).parameters.w
    np.testing.assert_allclose(found, svr.fit(X, y, sample_weight=s).coef_, rtol=1e-6)


@by_name
@pytest.mark.parametrize("shape", [(60, 5), (12, 25)])
def test_coefficients_settle_whatever_the_tolerance(loss, shape):
    X, y, s = data(loss, shape, seed=4, noise=2.0)
    problem = make(X, y, loss, 0.5, s)
    loose = solve(problem, tol=1e-5).parameters
    tight = solve(problem, tol=1e-14).parameters
    np.testing.assert_allclose(loose.w, tight.w, rtol=1e-8, atol=1e-9)


@by_name
def test_ways_to_a_step_agree(loss):
    X, y, s = data(loss, (40, 8), seed=6, noise=2.0)
    problem = make(X, y, loss, 0.5, s)
    one, two, three = (solve(problem, method, tol=1e-15).parameters for method in METHODS)
    np.testing.assert_allclose(two.w, one.w, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(three.w, one.w, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(three.b, one.b, rtol=1e-6, atol=1e-7)


@by_name
def test_weight_two_is_a_repeated_row_and_weight_zero_none(loss):
    X, y, _ = data(loss, (60, 4), seed=7, noise=2.0)
    s = np.random.default_rng(7).integers(0, 3, 60)
    index = np.repeat(np.arange(60), s)
    weighted = solve(make(X, y, loss, 0.3, s)).parameters
    repeated = solve(make(X[index], y[index], loss, 0.3)).parameters
    np.testing.assert_allclose(weighted.w, repeated.w, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(weighted.b, repeated.b, rtol=1e-8, atol=1e-10)


@by_name
@pytest.mark.parametrize("l2", [0.0, 1.0])
def test_doubled_features_share_the_coefficients(loss, l2):
    X, y, s = data(loss, (80, 3), seed=8, noise=4.0)
    single = solve(make(X, y, loss, l2, s), tol=1e-12).parameters
    double = solve(make(np.hstack([X, X]) / 2, y, loss, l2 / 2, s), tol=1e-12).parameters
    np.testing.assert_allclose(double.w, np.concatenate([single.w, single.w]), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(double.b, single.b, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("loss", [Logistic(), SquaredHinge(), Huber(0.5)], ids=lambda v: v.name)
def test_wide_data_gives_the_solution_in_the_row_space(loss):
    """w = Xᵀα at the optimum of a uniform penalty, and the row space is where it is looked for."""
    X, y, s = data(loss, (15, 60), seed=9)
    problem = make(X, y, loss, 0.2, s)
    found = solve(problem, "newton").parameters
    direct = solve(problem, "newton_cholesky")
    # The last step of that one gains no more than a hundredth of a rounding of P.
    left = np.sqrt(0.01 * EPS * direct.primal / 0.2)
    np.testing.assert_allclose(found.w, direct.parameters.w, rtol=1e-7, atol=max(left, 1e-10))
    assert stationarity(problem, found, X) < 1e-8
    _, _, V = np.linalg.svd(X, full_matrices=False)
    np.testing.assert_allclose(found.w, V.T @ (V @ found.w), atol=1e-12)


def test_undetermined_coefficients_have_least_norm():
    """One-hot columns and a bias: the shift between them is undetermined without a penalty."""
    rng = np.random.default_rng(10)
    group = rng.integers(0, 4, 300)
    X = np.column_stack([np.eye(4)[group], rng.standard_normal((300, 2))])
    y = np.where(rng.random(300) < 0.2 + 0.2 * group, 1.0, -1.0)
    found = solve(make(X, y, Logistic(), 0.0), tol=1e-10).parameters
    assert abs(found.w[:4].sum()) < 1e-10
    assert stationarity(make(X, y, Logistic(), 0.0), found, X) < 1e-8


def test_softmax_coefficients_sum_to_zero():
    X, y, s = data(Softmax(), (200, 4), seed=11, noise=4.0)
    for l2 in (0.0, 0.5):
        found = solve(make(X, y, Softmax(), l2, s), tol=1e-10).parameters
        np.testing.assert_allclose(found.w.sum(axis=1), 0.0, atol=1e-9)
        np.testing.assert_allclose(found.b.sum(), 0.0, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("loss", [Logistic(), Softmax(), SquaredHinge()], ids=lambda v: v.name)
def test_separable_data_without_penalty_ends_by_itself(method, loss):
    """No minimiser, or many: the objective goes to its infimum 0, and the steps to an end."""
    X = np.array([[-2.0, 1.0], [-1.0, 0.3], [1.0, 0.1], [2.0, -1.0], [3.0, 0.5], [-3.0, 2.0]])
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    if loss.task == "multiclass":
        y = (X[:, 0] > 0).astype(int)
    problem = make(X, y, loss, 0.0)
    for tol in (1e-6, 0.0):
        solution = solve(problem, method, tol=tol)
        assert len(solution.trace.primal) < (30 if tol else 500)
        assert solution.primal <= 1e-6 * problem.scale
        assert solution.status != "max_iter"


def test_quasi_separable_data_ends_by_itself():
    """Two classes that touch in one point: some coefficients run away, the others settle."""
    X = np.array([[-2.0], [-1.0], [0.0], [0.0], [1.0], [2.0]])
    y = np.array([-1.0, -1.0, -1.0, 1.0, 1.0, 1.0])
    solution = solve(make(X, y, Logistic(), 0.0), tol=1e-8)
    assert solution.status == "optimal"
    np.testing.assert_allclose(solution.primal, 2 * np.log(2), rtol=1e-7)


@pytest.mark.parametrize("method", METHODS)
def test_huber_from_far_away(method):
    """All rows are on the linear part, where nothing curves: damping finds the way."""
    X, y, s = data(Huber(0.01), (50, 3), seed=12)
    problem = make(X, y, Huber(0.01), 0.0, s)
    start = Parameters(np.full(3, 50.0), np.array(-300.0))
    solution = solve(problem, method, start, tol=1e-8)
    assert solution.status == "optimal"
    near = solve(problem, "newton", tol=1e-8)
    np.testing.assert_allclose(solution.primal, near.primal, rtol=1e-6)


@by_name
@pytest.mark.parametrize("size", [1e150, 1e-150, 1e8, 1e-8])
def test_features_in_any_units(loss, size):
    """Scaling X by c and the strength by c² divides w by c and changes nothing else."""
    X, y, s = data(loss, (50, 3), seed=13, noise=2.0)
    size = 2.0 ** np.round(np.log2(size))
    plain = solve(make(X, y, loss, 0.5, s), tol=1e-9).parameters
    scaled = solve(make(size * X, y, loss, 0.5 * size * size, s), tol=1e-9).parameters
    np.testing.assert_allclose(scaled.w * size, plain.w, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(scaled.b, plain.b, rtol=1e-8, atol=1e-10)


@by_name
def test_constant_features_get_no_coefficient(loss):
    X, y, s = data(loss, (60, 4), seed=14, noise=3.0)
    X[:, 1], X[:, 3] = 0.1, -1e5
    for l2 in (0.0, 1.0):
        found = solve(make(X, y, loss, l2, s), tol=1e-9).parameters
        alone = solve(make(X[:, [0, 2]], y, loss, l2, s), tol=1e-9).parameters
        np.testing.assert_allclose(found.w[[0, 2]], alone.w, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(found.w[[1, 3]], 0.0, atol=1e-7)


def test_several_outputs_are_solved_as_one_by_one():
    rng = np.random.default_rng(15)
    X, Y = rng.standard_normal((60, 4)), rng.standard_normal((60, 3)) ** 3
    for method in METHODS:
        together = solve(make(X, Y, Huber(0.3), 0.1), method, tol=1e-14).parameters
        for k in range(3):
            alone = solve(make(X, Y[:, k], Huber(0.3), 0.1), method, tol=1e-14).parameters
            np.testing.assert_allclose(together.w[:, k], alone.w, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_start_from_the_solution_stops_at_once(method):
    X, y, s = data(Logistic(), (80, 5), seed=16)
    problem = make(X, y, Logistic(), 0.5, s)
    found = solve(problem, method, tol=1e-8).parameters
    assert len(solve(problem, method, found, tol=1e-6).trace.primal) == 1


@by_name
def test_sample_of_the_rows_changes_the_way_and_not_the_end(loss, monkeypatch):
    X, y, s = data(loss, (9000, 2), seed=17, noise=3.0)
    problem = make(X, y, loss, 0.5, s)
    monkeypatch.setattr(newton_module, "NO_WORK", 0)  # of few features none would be taken
    sampled = solve(problem, "newton_cholesky")
    monkeypatch.setattr(newton_module, "ROWS_PER_UNKNOWN", np.inf)
    plain = solve(problem, "newton_cholesky")
    assert sampled.trace.primal[0] < plain.trace.primal[0]
    np.testing.assert_allclose(sampled.parameters.w, plain.parameters.w, rtol=1e-8, atol=1e-10)


def test_sampled_preconditioner_needs_few_products():
    """More rows than the sample takes, features of all sizes: the sample knows their shape."""
    rng = np.random.default_rng(18)
    X = rng.standard_normal((3000, 40)) @ np.diag(np.geomspace(1, 1e-3, 40))
    X = X @ rng.standard_normal((40, 40))
    y = np.where(X[:, 0] + rng.standard_normal(3000) > 0, 1.0, -1.0)
    problem = make(X, y, Logistic(), 1e-4)
    solution = solve(problem, "newton_cg", tol=1e-8)
    assert solution.status == "optimal"
    assert len(solution.trace.primal) < 15
    direct = solve(problem, "newton_cholesky", tol=1e-8)
    np.testing.assert_allclose(solution.primal, direct.primal, rtol=1e-7)


def features_of_a_kernel(n=430, seed=21):
    """A factor of a kernel matrix, whose columns fall in size, and classes of its rows."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 3))
    K = np.exp(-0.5 * np.sum((rows[:, None] - rows) ** 2, axis=2)) + 1e-6 * np.eye(n)
    return np.linalg.cholesky(K), np.digitize(rows[:, 0], [-0.5, 0.5])


def test_features_of_a_kernel_are_solved_without_a_factor_of_all(monkeypatch):
    X, y = features_of_a_kernel()
    sizes = []
    made = preconditioners.Block.make

    def recorded(problem, *args, **options):
        sizes.append(problem.d)
        return made(problem, *args, **options)

    monkeypatch.setattr(preconditioners.Block, "make", recorded)
    monkeypatch.setattr(conjugate_gradients, "EXPENSIVE", 10)  # these rows are few
    problem = make(X, y, Softmax(), 0.01)
    found = solve(problem, "newton_cg", tol=1e-8)
    assert found.status == "optimal" and max(sizes) == preconditioners.LEADING < problem.d
    monkeypatch.setattr(conjugate_gradients, "EXPENSIVE", np.inf)
    whole = solve(problem, "newton_cg", tol=1e-8)
    assert whole.primal == pytest.approx(found.primal, rel=1e-7)


def test_a_factor_of_all_features_is_made_where_products_are_too_many(monkeypatch):
    X, y = features_of_a_kernel()
    sizes, make_all = [], preconditioners._sampled_block
    monkeypatch.setattr(preconditioners, "LEADING", 1)
    monkeypatch.setattr(conjugate_gradients, "EXPENSIVE", 10)
    monkeypatch.setattr(conjugate_gradients, "PATIENCE", 0.05)

    def recorded(problem, *args):
        sizes.append(problem.d)
        return make_all(problem, *args)

    monkeypatch.setattr(preconditioners, "_sampled_block", recorded)
    found = solve(make(X, y, Softmax(), 1e-4), "newton_cg", tol=1e-8)
    assert found.status == "optimal"
    assert sizes[0] == 1 and sizes[-1] == X.shape[1]


def test_same_bits_for_any_number_of_threads():
    for loss in (Logistic(), Softmax()):
        X, y, s = data(loss, (700, 30), seed=19, noise=3.0)
        for method in METHODS:
            with threads(1):
                one = solve(make(X, y, loss, 0.2, s), method).parameters
            with threads(8):
                many = solve(make(X, y, loss, 0.2, s), method).parameters
            assert np.array_equal(one.w, many.w)
            assert np.array_equal(one.b, many.b)


def test_time_limit_keeps_the_best_iterate():
    X, y, s = data(Logistic(), (20_000, 60), seed=20)
    problem = make(X, y, Logistic(), 1e-3, s)
    with time_limit(0.0):
        solution = solve(problem, "newton_cg", tol=0.0)
    assert solution.status == "time_limit"
    assert solution.primal <= problem.primal(problem.null.w, problem.null.b) * (1 + 1e-12)


def test_other_problems_are_refused_with_a_reason():
    X, y, s = data(Logistic(), (10, 2), seed=21)
    problem = make(X, y, Logistic())
    assert all(registry[name].refuses(problem) is None for name in METHODS)
    lasso = Problem(problem.design, y, Logistic(), L1(1.0), s)
    with pytest.raises(ValueError, match='solver="newton" needs a penalty ½Σ l2ⱼwⱼ² or none'):
        solve(lasso, "newton")


def test_the_factor_of_a_sparse_x_is_of_few_features(monkeypatch):
    """Its products cost little, and a factor of all features as much as of a dense X."""
    rng = np.random.default_rng(0)
    X = sp.random(300, 400, 0.02, format="csr", random_state=0)
    y = np.argmax(X @ rng.normal(size=(400, 6)), axis=1)
    factored, make = [], preconditioners.Block.make

    def counted(problem, *args, **options):
        factored.append(problem.d)
        return make(problem, *args, **options)

    monkeypatch.setattr(preconditioners.Block, "make", counted)
    model = gapless.LogisticRegression(C=10.0).fit(X, y)
    assert factored and max(factored) <= preconditioners.LEADING
    dense = gapless.LogisticRegression(C=10.0, tol=1e-8).fit(X.toarray(), y)
    assert model.certificate_.primal <= dense.certificate_.primal + model.certificate_.gap


# ---- few wide rows -------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge(), Logistic()], ids=lambda of: of.name)
@pytest.mark.parametrize("spread", [1.0, 1e-9], ids=["well", "ill"])
def test_wide_rows_have_the_solution_of_all_columns(loss, spread, rng):
    # Rows that are nearly sums of others leave the eigenvectors of XXᵀ too few digits.
    n, d = 30, 400
    X = rng.normal(size=(n, d))
    X[-5:] = X[:5] + spread * X[-5:]
    y = np.where(rng.normal(size=n) > 0, 1.0, -1.0)
    problem = Problem(Design(X), y, loss, L2(0.5), np.ones(n))
    found = solve(problem, tol=1e-12)
    assert found.status == "optimal" and found.gap <= 1e-10 * problem.scale
    w, b = found.parameters.w, found.parameters.b
    assert found.primal == pytest.approx(problem.primal(w, b), rel=1e-10)
    # The certificate of the solution itself, with all columns.
    bound = problem.bound(found.parameters.theta)
    assert problem.primal(w, b) - bound.dual <= 1e-9 * problem.scale
    # The penalty leaves nothing outside the rows.
    coefficients, *_ = np.linalg.lstsq(X.T, w, rcond=None)
    np.testing.assert_allclose(X.T @ coefficients, w, atol=1e-8 * np.abs(w).max())


@pytest.mark.parametrize(
    "model", [gapless.LogisticRegression(C=np.inf), gapless.PoissonRegressor(alpha=0)]
)
def test_a_constant_column_among_many_rows_is_recognised(model, rng):
    """The rounding of its mean grows with the rows; it must not pass for data."""
    X = rng.normal(size=(7000, 3))
    X[:, 1] = 1.0
    chances = 1 / (1 + np.exp(-0.5 * X[:, 0]))
    model.fit(X, (rng.random(7000) < chances).astype(int))
    assert model.certificate_.kind == "optimal"
    assert np.max(np.abs(model.coef_)) < 10
