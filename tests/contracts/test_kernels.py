"""Every kernel keeps every promise of `Kernel`: values, precision, blocks, weights, gradients."""

import copy
import math
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from gapless._ground.memory import free_memory
from gapless._ground.threads import threads
from gapless.kernels import (
    AdditiveChi2,
    Callable,
    Chi2,
    Constant,
    Cosine,
    Gaussian,
    GaussianSeries,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    Quadratic,
    Sigmoid,
    Spectrum,
    White,
    by_name,
    mercer_check,
)
from gapless.kernels._rows import blank
from gapless.models.kernel_machines import KernelLogisticRegression, KernelRidge, Nystroem
from gapless.models.svm import SVC, SVR
from gapless.problem.kernel_matrix import KernelMatrix


def squared_product(X, Z):
    X, Z = (A.toarray() if sp.issparse(A) else A for A in (X, Z))
    return (X @ Z.T) ** 2


def product_of_two(x, z, scale=1.0):
    return scale * float(x @ z)


# Kernels of rows of numbers ≥ 0 (those of strings and of given values have their own tests).
KERNELS = [
    Linear(),
    Polynomial(),
    Polynomial(degree=2, gamma="scale", coef0=0.0),
    Polynomial(degree=5, gamma=0.2, coef0=0.3),
    Quadratic(),
    Quadratic(coef0=0.0),
    Gaussian(),
    Gaussian(0.7),
    Gaussian("auto"),
    GaussianSeries(),
    GaussianSeries(4, 0.2),
    Sigmoid(0.3, -0.1),
    Laplacian(),
    Laplacian(0.4),
    Matern(1.3, 0.5),
    Matern(1.3, 1.5),
    Matern(1.3, 2.5),
    Matern(1.3, 0.8),
    Matern(1.3, math.inf),
    Cosine(),
    Chi2(),
    AdditiveChi2(),
    Constant(0.7),
    White(0.3),
    Callable(squared_product),
    Callable(product_of_two, of_pairs=True, options={"scale": 2.0}),
    2 * Gaussian(0.3) + Linear() * Quadratic(),
    0.5 * (Gaussian("scale") + Laplacian()) + White(0.2),
]
WITH_FEATURES = [
    Linear(),
    Polynomial(degree=3, gamma=0.5, coef0=0.0),
    Polynomial(degree=3, gamma=0.5, coef0=2.0),
    Polynomial(degree=0),
    Quadratic(),
    Quadratic(0.0),
    Cosine(),
    GaussianSeries(3, 0.3),
    Constant(2.0),
    2 * Quadratic() + Linear() * Cosine(),
]
WITH_GRADIENTS = [
    Gaussian(0.3),
    Laplacian(0.2),
    *(Matern(1.7, nu) for nu in (0.5, 1.5, 2.5, 0.8, math.inf)),
    2 * Gaussian(0.3) + White(0.1),
    Constant(3.0) * Matern(0.9, 2.5) + 0.5 * Gaussian(1.0),
    0.3 * (Gaussian(0.2) + Linear()),
]
WITH_SLOPES = [
    Linear(),
    Polynomial(degree=3, gamma=0.5, coef0=0.2),
    Polynomial(degree=0),
    Quadratic(0.3),
    Gaussian(0.7),
    *(Matern(1.3, nu) for nu in (1.5, 1.7, 2.5, math.inf)),
    Constant(0.7),
    2 * Gaussian(0.3) + Linear() * Quadratic(),
]
EPS = np.finfo(float).eps
# Bytes, roundings and exponents of the sums over a few columns.
TOLERANCE = {np.float64: 1e-13, np.float32: 2e-5}

every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def sample(rng, n=31, d=4, dtype=np.float64):
    return np.abs(rng.standard_normal((n, d))).astype(dtype)


def is_near(K, expected, dtype=np.float64, kernel=None):
    # ν = ½ has a kink at distance 0, where the rounding of ‖x − z‖² counts with its root.
    power = 0.5 if isinstance(kernel, Matern) and kernel.nu <= 0.8 else 1.0
    scale = max(1.0, np.abs(expected).max(initial=0))
    np.testing.assert_allclose(K, expected, rtol=0, atol=scale * TOLERANCE[dtype] ** power)


@every_kernel
@every_dtype
def test_gram_is_symmetric_of_the_right_shape_and_precision(rng, kernel, dtype):
    X, Z = sample(rng, dtype=dtype), sample(rng, 7, dtype=dtype)
    K, cross = kernel.gram(X), kernel.gram(X, Z)
    assert K.shape == (31, 31) and cross.shape == (31, 7)
    if not isinstance(kernel, Callable):
        assert K.dtype == cross.dtype == dtype
        np.testing.assert_array_equal(K, K.T)
    is_near(K, K.T, dtype)
    double = kernel.resolve(Z.astype(float)).gram(X.astype(float), Z.astype(float))
    is_near(cross, double, dtype)


@every_kernel
def test_diagonal_is_that_of_the_gram_matrix(rng, kernel):
    X = sample(rng)
    diagonal = kernel.resolve(X).diagonal(X)
    assert diagonal.dtype == np.float64
    is_near(np.diag(kernel.gram(X)), diagonal)


@every_kernel
def test_no_row_is_negative_in_a_mercer_kernel(rng, kernel):
    X = sample(rng, 60, 2)
    if kernel.is_mercer:
        assert mercer_check(kernel, X)


@every_kernel
@every_dtype
def test_times_is_the_product_without_the_matrix(rng, kernel, dtype):
    X, Z, coef = sample(rng, 50), sample(rng, 23), rng.standard_normal((23, 3))
    K = kernel.gram(X, Z)
    product = kernel.times(X, Z, coef, dtype=dtype)
    assert product.dtype == np.float64
    scale = np.abs(K).max() * np.abs(coef).sum()
    np.testing.assert_allclose(product, K @ coef, rtol=0, atol=scale * TOLERANCE[dtype])
    alone = kernel.times(X, Z, coef[:, 0], dtype=dtype)
    assert alone.shape == (50,)
    np.testing.assert_allclose(alone, product[:, 0], rtol=0, atol=scale * TOLERANCE[dtype])
    assert kernel.times(X[:0], Z, coef).shape == (0, 3)


def test_rows_made_ready_once_serve_many_products(rng):
    """How a machine with many classes predicts: each class has its own rows and coefficients."""
    X, Z, coef = sample(rng, 600, 40), sample(rng, 30, 40), rng.standard_normal((30, 2))
    blocks = [slice(0, 11), slice(11, 30)]
    new = Gaussian(0.1).gram(X, Z)
    for kernel, rows, model in (
        (Gaussian(0.1), X, Z),
        (Precomputed(), new, np.arange(30)),
    ):
        base = kernel.rows(model, np.float64)
        for block in blocks:
            parts = [ready.times(base.only(block), coef[block]) for _, ready in base.chunks(rows)]
            is_near(np.vstack(parts), new[:, block] @ coef[block])
        places = [chunk for chunk, _ in base.chunks(rows)]
        assert places[0].start == 0 and places[-1].stop == 600


@every_kernel
@pytest.mark.parametrize("density", [0.02, 0.5])
def test_sparse_rows_are_the_same_rows(rng, kernel, density):
    X = np.where(rng.random((40, 60)) < density, np.abs(rng.standard_normal((40, 60))), 0.0)
    Z = X[::-1][:9].copy()
    thin = sp.csr_matrix(X)
    is_near(kernel.gram(thin), kernel.gram(X), kernel=kernel)
    is_near(kernel.gram(thin, sp.csc_array(Z)), kernel.gram(X, Z), kernel=kernel)
    is_near(kernel.resolve(X).diagonal(thin), kernel.resolve(X).diagonal(X))
    coef = rng.standard_normal((9, 2))
    is_near(kernel.times(thin, sp.csr_array(Z), coef), kernel.times(X, Z, coef), kernel=kernel)
    is_near(kernel.times(thin, Z, coef), kernel.times(X, Z, coef), kernel=kernel)


@every_kernel
@every_dtype
def test_matrix_agrees_with_its_blocks_parts_and_products(rng, kernel, dtype):
    X = sample(rng, 40)
    whole = kernel.resolve(X).gram(X)
    some, others = rng.permutation(40)[:7], rng.permutation(40)[:11]
    by_blocks = KernelMatrix(kernel, X, dtype=dtype, memory_limit=40 * 11 * 8)
    at_once = KernelMatrix(kernel, X, dtype=dtype)
    assert by_blocks.whole() is None
    assert by_blocks.n == 40 and by_blocks.kernel == kernel.resolve(X)
    for matrix in (by_blocks, at_once):
        assert matrix.block(some).dtype == dtype
        is_near(matrix.block(some), whole[some], dtype, kernel)
        is_near(matrix.block(some, others), whole[np.ix_(some, others)], dtype, kernel)
        is_near(matrix.diagonal, np.diag(whole))
        part = matrix.only(some)
        assert part.n == 7
        is_near(kernel.resolve(X).times(X, part.X, np.eye(7)), kernel.resolve(X).gram(X, X[some]))
        is_near(part.block(np.array([2, 0])), whole[np.ix_(some[[2, 0]], some)], dtype, kernel)
        is_near(part.whole(), whole[np.ix_(some, some)], dtype, kernel)
        is_near(part.diagonal, np.diag(whole)[some])
        room = matrix.room(9)
        is_near(matrix.part(some, room), whole[np.ix_(some, some)], dtype, kernel)
        assert (
            len(room) == 81 and len(by_blocks.room(1000)) * np.dtype(dtype).itemsize <= 40 * 11 * 8
        )
        coef = rng.standard_normal((40, 2)) * (rng.random((40, 1)) < 0.4)
        scale = 40 * np.abs(whole).max()
        near = {"rtol": 0, "atol": 1e-13 * scale}
        np.testing.assert_allclose(matrix.times(coef), whole @ coef, **near)
        np.testing.assert_allclose(
            matrix.times(coef[:, 0], rows=some), (whole @ coef)[some, 0], **near
        )
        np.testing.assert_allclose(
            part.times(coef[some]), whole[np.ix_(some, some)] @ coef[some], **near
        )
        products = [
            (rows, np.ascontiguousarray(coef[rows, 0])) for rows in (some, others, some[:0])
        ]
        for (rows, of_rows), found in zip(products, matrix.times_each(products), strict=True):
            np.testing.assert_allclose(found, whole[np.ix_(rows, rows)] @ of_rows, **near)
        is_near(matrix.whole() if matrix is at_once else whole, whole, dtype, kernel)


@every_kernel
def test_bits_do_not_depend_on_the_number_of_threads(rng, kernel):
    X, Z, coef = sample(rng, 300), sample(rng, 290), rng.standard_normal((290, 3))
    if isinstance(kernel, Callable):
        X, Z, coef = X[:40], Z[:30], coef[:30]
    results = []
    for count in (1, 5):
        with threads(count):
            results.append((kernel.gram(X), kernel.gram(X, Z), kernel.times(X, Z, coef)))
    for one, several in zip(*results, strict=True):
        np.testing.assert_array_equal(one, several)


@every_kernel
def test_rows_are_left_alone(rng, kernel):
    X, Z = sample(rng), sample(rng, 5)
    before = X.copy(), Z.copy()
    for A in (X, Z):
        A.flags.writeable = False
    kernel.gram(X)
    kernel.times(X, Z, np.ones(5))
    matrix = KernelMatrix(kernel, X, dtype=np.float32)
    matrix.block(np.arange(3))
    matrix.times(np.ones(31))
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(Z, before[1])


@every_kernel
def test_weights_mean_repeated_rows(rng, kernel):
    X = sample(rng, 12)
    weights = rng.integers(0, 3, size=12)
    weighted = kernel.resolve(X, weights.astype(float))
    repeated = kernel.resolve(np.repeat(X, weights, axis=0))
    for name, value in weighted.parameters().items():
        if isinstance(value, float):
            assert value == pytest.approx(repeated.parameters()[name], rel=1e-13)
    assert weighted.resolve(X) == weighted


@every_kernel
def test_kernel_is_a_value(kernel):
    assert copy.deepcopy(kernel) == kernel
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert hash(kernel) == hash(copy.copy(kernel))
    with pytest.raises(AttributeError):
        kernel.gamma = 3.0


@pytest.mark.parametrize("kernel", WITH_FEATURES, ids=repr)
def test_features_have_the_kernel_as_inner_products(rng, kernel):
    X, Z = rng.standard_normal((2, 9, 3))
    is_near(kernel.features(X) @ kernel.features(Z).T, kernel.gram(X, Z))


@pytest.mark.parametrize("kernel", WITH_GRADIENTS, ids=repr)
def test_gradients_agree_with_differences(rng, kernel):
    X = rng.standard_normal((12, 3))
    at, step = kernel.log_parameters, 1e-5
    assert kernel.with_log_parameters(at).log_parameters == pytest.approx(at)
    gradients = kernel.gram_gradients(X)
    assert len(gradients) == len(at)
    for k, gradient in enumerate(gradients):
        move = step * (np.arange(len(at)) == k)
        above, below = (kernel.with_log_parameters(at + s * move).gram(X) for s in (1, -1))
        slope = (above - below) / (2 * step)
        np.testing.assert_allclose(gradient, slope, rtol=0, atol=1e-8 * max(1, np.abs(slope).max()))


# ---- names, parameters, algebra ------------------------------------------------------------------


def test_names_are_scikit_learns_and_ours():
    assert by_name("rbf") == by_name("gaussian") == Gaussian()
    assert by_name("poly", degree=2, gamma=0.5, coef0=0.0) == Polynomial(2, 0.5, 0.0)
    assert by_name("linear", degree=2, gamma=0.5) == Linear()
    assert by_name(Laplacian(2.0), gamma=1.0) == Laplacian(2.0)
    assert by_name(squared_product) == Callable(squared_product)
    assert by_name("precomputed") == Precomputed()
    names = {"linear", "poly", "polynomial", "rbf", "sigmoid", "laplacian", "cosine", "chi2"}
    assert names | {"additive_chi2", "precomputed", "matern", "spectrum"} <= set(Kernel.registry)
    with pytest.raises(ValueError, match=r"kernel='rbff' is not known; use one of .*rbf"):
        by_name("rbff")
    with pytest.raises(TypeError, match=r"kernel=Gaussian is a class; give an instance, Gaussian"):
        by_name(Gaussian)


def test_algebra_prints_as_it_is_written(rng):
    k = 2 * Gaussian(0.5) + Linear() * Quadratic(1.0) + 1
    assert repr(k) == (
        "2 * Gaussian(gamma=0.5) + Linear() * Quadratic(coef0=1.0) + Constant(value=1.0)"
    )
    nested = 3 * (Linear() + Cosine()) * Linear()
    assert repr(nested) == "3 * (Linear() + Cosine()) * Linear()"
    X = rng.standard_normal((5, 2))
    P = X @ X.T
    is_near(k.gram(X), 2 * Gaussian(0.5).gram(X) + P * (P + 1) ** 2 + 1)
    is_near(nested.gram(X), 3 * (P + Cosine().gram(X)) * P)


def test_parameters_can_be_read_and_replaced_also_in_parts():
    k = 2 * Gaussian(0.5) + Linear()
    assert k.parameters()["left__kernel__gamma"] == 0.5
    assert k.replace(left__kernel__gamma=3.0, left__factor=1.5) == 1.5 * Gaussian(3.0) + Linear()
    assert Gaussian().replace(gamma=1.0) == Gaussian(1.0)
    with pytest.raises(
        ValueError, match=r"'gama' is not a parameter of Gaussian\(gamma=1.0\); it has"
    ):
        Gaussian(1.0).replace(gama=2.0)


def test_parameters_of_the_kernel_of_landmarks_can_be_set():
    landmarks = Nystroem(Gaussian(0.3))
    assert landmarks.get_params()["kernel__gamma"] == 0.3
    other = clone(landmarks).set_params(kernel__gamma=2.0)
    assert (landmarks.kernel, other.kernel) == (Gaussian(0.3), Gaussian(2.0))


@pytest.mark.parametrize("machine", [SVC, SVR, KernelRidge, KernelLogisticRegression])
def test_parameters_of_a_kernel_can_be_searched(rng, machine):
    X = rng.standard_normal((40, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    grid = {"kernel__left__gamma": [1e-9, 1.0]}
    search = GridSearchCV(machine(kernel=Gaussian(0.1) + Constant(0.1)), grid, cv=3).fit(X, y)
    assert search.best_params_ == {"kernel__left__gamma": 1.0}
    assert "kernel__gamma" not in machine(kernel="rbf").get_params()
    with pytest.raises(ValueError, match="Invalid parameter 'gama' for kernel=Gaussian"):
        machine(kernel=Gaussian(0.1)).set_params(kernel__gama=1.0)


def test_gamma_follows_its_rules(rng):
    X = rng.standard_normal((20, 5)) + 3
    assert Gaussian("scale").resolve(X).gamma == pytest.approx(1 / (5 * X.var()), rel=1e-14)
    assert Gaussian("scale").resolve(sp.csr_matrix(X)).gamma == pytest.approx(1 / (5 * X.var()))
    assert Gaussian("auto").resolve(X).gamma == Gaussian(None).resolve(X).gamma == 0.2
    assert Chi2(None).resolve(X).gamma == 1.0
    assert Gaussian("scale").resolve(np.ones((4, 2))).gamma == 1.0
    single = Gaussian("scale").resolve((X + 1e4).astype(np.float32)).gamma
    assert single == pytest.approx(1 / (5 * (X + 1e4).astype(np.float32).astype(float).var()))


def test_sigma_is_the_width_in_place_of_gamma(rng):
    X = rng.random((6, 3))
    away = X[:, None] - X
    squares, sums = (away**2).sum(axis=2), np.abs(away).sum(axis=2)
    np.testing.assert_allclose(Gaussian(sigma=0.7).gram(X), np.exp(-squares / (2 * 0.7**2)))
    np.testing.assert_allclose(Laplacian(sigma=0.7).gram(X), np.exp(-sums / 0.7))
    chi2 = (away**2 / (X[:, None] + X)).sum(axis=2)
    np.testing.assert_allclose(Chi2(sigma=0.7).gram(X), np.exp(-chi2 / (2 * 0.7**2)))
    # It is stored as γ, so that equal kernels are equal values.
    assert Gaussian(sigma=0.5) == Gaussian(gamma=2.0) == Gaussian(sigma=9.0).replace(gamma=2.0)
    assert repr(Gaussian(sigma=0.5)) == "Gaussian(gamma=2.0)"


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Gaussian(sigma=0.0), "sigma must be a finite number > 0, got 0.0"),
        (lambda: Laplacian(2.0, sigma=1.0), "sigma=1.0 and gamma=2.0 both set the width"),
        (lambda: Gaussian(-1.0), "gamma must be a finite number ≥ 0, got -1.0"),
        (lambda: Gaussian("big"), 'gamma must be "scale", "auto" or a number ≥ 0, got \'big\''),
        (lambda: Polynomial(degree=2.5), "degree must be a whole number ≥ 0, got 2.5"),
        (lambda: Polynomial(degree=-1), "degree must be a whole number ≥ 0, got -1"),
        (lambda: Polynomial(coef0=math.inf), "coef0 must be a finite number, got inf"),
        (lambda: Quadratic(-1.0), "coef0 must be a finite number ≥ 0, got -1.0"),
        (lambda: Matern(0.0), "length_scale must be a finite number > 0, got 0.0"),
        (lambda: Matern(nu=-1.0), "nu must be a finite number > 0, got -1.0"),
        (lambda: Matern(nu=60.0), "nu must be at most 50 or inf, got 60.0"),
        (lambda: Spectrum(0), "length must be a whole number ≥ 1, got 0"),
        (lambda: -1 * Linear(), "the factor of a kernel must be a finite number ≥ 0, got -1"),
        (lambda: White(0.1) * Linear(), "has noise; add it to the product"),
    ],
)
def test_bad_parameters_are_refused_when_built(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_bad_rows_are_refused_with_their_place(rng):
    X = sample(rng, 6)
    X[3, 1] = -2.0
    with pytest.raises(ValueError, match="negative values, the first in row 3, column 1"):
        Chi2().gram(X)
    with pytest.raises(ValueError, match="X has 4 columns and the rows it is compared with have 2"):
        Gaussian().gram(X, X[:, :2])
    with pytest.raises(ValueError, match=r"made values of shape \(4,\)"):
        KernelMatrix(Callable(lambda A, B: np.zeros(4)), X).block(np.arange(4))
    with pytest.raises(TypeError, match="unsupported operand"):
        Linear() + "rbf"


# ---- a kernel of one's own -----------------------------------------------------------------------


def test_a_kernel_needs_no_more_than_gram_and_diagonal(rng):
    class Minimum(Kernel):
        """k(x, z) = Σ min(xⱼ, zⱼ), the histogram intersection."""

        def gram(self, X, Z=None):
            Z = X if Z is None else Z
            return np.minimum(X[:, None], Z[None]).sum(axis=2)

        def diagonal(self, X):
            return X.sum(axis=1)

    kernel = 2 * Minimum() + Linear()
    X, Z = sample(rng, 20), sample(rng, 6)
    K = 2 * np.minimum(X[:, None], Z[None]).sum(axis=2) + X @ Z.T
    is_near(kernel.gram(X, Z), K)
    is_near(kernel.times(X, Z, np.ones(6)), K.sum(axis=1))
    assert "minimum" not in Kernel.registry
    assert mercer_check(kernel, X)
    with pytest.raises(TypeError, match="already in gapless, as 'linear'"):
        type("Linear", (Kernel,), {})


def test_what_a_function_returns_is_not_written_to(rng):
    X = sample(rng, 6)
    given = np.arange(36.0).reshape(6, 6)
    whole = (given + given.T).astype(int)
    before = whole.copy()
    kernel = 3 * (Callable(lambda A, B: whole) + Linear())
    is_near(kernel.gram(X), 3 * (before + X @ X.T))
    KernelMatrix(kernel, X).whole()[:] = 0.0
    np.testing.assert_array_equal(whole, before)


# ---- accuracy ------------------------------------------------------------------------------------


def test_distances_keep_their_digits_far_from_the_origin(rng):
    """A mean of 10⁶ costs no digits of differences of size 1, nor when they become float32."""
    X, Z = rng.standard_normal((2, 50, 6)) + 1e6
    exact = (X.astype(np.longdouble)[:, None] - Z[None]) ** 2
    K = np.exp(-0.1 * exact.sum(axis=2))
    assert np.abs(Gaussian(0.1).gram(X, Z) - K).max() < 1e-14
    assert np.abs(Gaussian(0.1).times(X, Z, np.ones(50)) - K.sum(axis=1)).max() < 1e-12
    matrix = KernelMatrix(Gaussian(0.1), np.vstack([X, Z]), dtype=np.float32)
    assert np.abs(matrix.block(np.arange(50), np.arange(50, 100)) - K).max() < 1e-6


@pytest.mark.parametrize("unit", [2.0**-90, 2.0**80])
@pytest.mark.parametrize("kernel", [Gaussian("scale"), Polynomial(gamma="scale")], ids=repr)
def test_odd_units_cost_no_digits_of_float32(rng, kernel, unit):
    """Squares of such numbers are beyond float32."""
    X = rng.standard_normal((30, 4)).astype(np.float32)
    for A in (X, sp.csr_matrix(np.where(rng.random((30, 200)) < 0.02, 1.5, 0).astype(np.float32))):
        K = kernel.gram(A)
        is_near(kernel.gram(A * np.float32(unit)), K, np.float32)
        matrix = KernelMatrix(kernel, A.astype(float) * unit, dtype=np.float32)
        is_near(matrix.block(np.arange(9)), K[:9], np.float32)


def test_equal_rows_of_whole_numbers_are_exactly_alike(rng):
    X = rng.integers(0, 256, size=(40, 30)).astype(np.float32)
    X = np.vstack([X, X])
    K = Gaussian("scale").gram(X)
    np.testing.assert_array_equal(np.diag(K[:40, 40:]), 1.0)


def test_matern_is_finite_and_near_the_gaussian_for_large_nu():
    X = np.array([[0.0], [1e-9], [1e-4], [0.3], [1.0], [40.0]])
    K = Matern(1.0, 50.0).gram(X)
    assert np.all(np.isfinite(K)) and np.all((K >= 0) & (K <= 1 + 1e-12))
    np.testing.assert_allclose(K, Matern(1.0, math.inf).gram(X), rtol=0, atol=0.02)
    np.testing.assert_allclose(Matern(1.0, 0.01).gram(X)[0, -1], 0, atol=1e-2)


def write_files(root, files):
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def test_limits_of_control_groups_bound_the_free_memory(tmp_path):
    machine, root = {"proc/meminfo": "MemTotal: 9000 kB\nMemAvailable: 8000 kB\n"}, str(tmp_path)
    write_files(tmp_path, machine)
    assert free_memory(root) == 8000 * 1024
    # Version 2: the group itself has no limit, the one around it has; caches are given back.
    one, outer = "sys/fs/cgroup/outer/inner/memory.", "sys/fs/cgroup/outer/memory."
    write_files(tmp_path, {"proc/self/cgroup": "0::/outer/inner\n"})
    write_files(tmp_path, {one + "max": "max\n", one + "current": "5\n", one + "stat": "a 1\n"})
    assert free_memory(root) == 8000 * 1024
    stat = "anon 7\ninactive_file 400\n"
    write_files(
        tmp_path, {outer + "max": "3000\n", outer + "current": "1000", outer + "stat": stat}
    )
    assert free_memory(root) == 3000 - 1000 + 400
    # Version 1, in a container that does not see the path of the host.
    limits = "sys/fs/cgroup/memory/memory."
    write_files(tmp_path, {"proc/self/cgroup": "2:cpu,memory:/docker/abc\n1:cpu:/outer\n"})
    write_files(tmp_path, {limits + "limit_in_bytes": "2000", limits + "usage_in_bytes": "500"})
    write_files(tmp_path, {limits + "stat": "total_inactive_file 50\n"})
    assert free_memory(root) == 2000 - 500 + 50


def test_memory_is_predicted_and_the_error_says_what_to_do(rng):
    matrix = KernelMatrix(Gaussian(), sample(rng, 40), memory_limit=1000)
    assert matrix.whole() is None
    with pytest.raises(
        MemoryError, match=r"40 × 40 kernel values take .* GB, .*limit is .* GB; use"
    ):
        matrix.block(np.arange(40))
    assert matrix.block(np.arange(3)).shape == (3, 40)


# ---- given values, strings -----------------------------------------------------------------------


@every_dtype
def test_a_given_matrix_is_a_kernel_matrix_too(rng, dtype):
    X = sample(rng, 30)
    K = Gaussian(0.4).gram(X)
    matrix = KernelMatrix(Precomputed(), K, dtype=dtype)
    some = rng.permutation(30)[:8]
    np.testing.assert_array_equal(matrix.block(some), K[some].astype(dtype))
    np.testing.assert_array_equal(matrix.whole(), K.astype(dtype))
    part = KernelMatrix(Precomputed(), K, dtype=dtype).only(some).only(np.array([3, 1]))
    part_of = some[[3, 1]]
    np.testing.assert_array_equal(part.whole(), K[np.ix_(part_of, part_of)].astype(dtype))
    np.testing.assert_allclose(part.times(np.ones(2)), K[np.ix_(part_of, part_of)].sum(axis=1))
    np.testing.assert_allclose(matrix.times(np.ones(30)), K.sum(axis=1), rtol=1e-13)
    new = Gaussian(0.4).gram(sample(rng, 5), X)
    coef = rng.standard_normal(8)
    np.testing.assert_allclose(
        Precomputed().times(new, part.X, coef[:2]), new[:, part_of] @ coef[:2]
    )
    np.testing.assert_allclose(Precomputed().times(new, some, coef), new[:, some] @ coef)
    with pytest.raises(ValueError, match=r"must be square, got shape \(5, 30\)"):
        Precomputed().diagonal(new)


@pytest.mark.parametrize("length", [1, 2, 3])
def test_spectrum_counts_common_pieces(rng, length):
    def count(a, b):
        pieces = [[s[i : i + length] for i in range(len(s) - length + 1)] for s in (a, b)]
        return sum(p == q for p in pieces[0] for q in pieces[1])

    words = ["".join(rng.choice(list("abc"), size=k)) for k in rng.integers(0, 15, size=12)]
    words += ["", "zzz"]
    K = np.array([[count(a, b) for b in words] for a in words], dtype=float)
    plain = Spectrum(length, is_normalized=False)
    np.testing.assert_array_equal(plain.gram(words), K)
    np.testing.assert_array_equal(plain.gram(words, words[:3]), K[:, :3])
    np.testing.assert_array_equal(plain.diagonal(words), np.diag(K))
    root = np.sqrt(np.where(np.diag(K) > 0, np.diag(K), 1))
    scaled = K / np.outer(root, root)
    is_near(Spectrum(length).gram(words), scaled)
    is_near(Spectrum(length).gram(words[3:], words[:3]), scaled[3:, :3])
    is_near(Spectrum(length).times(words, words[:5], np.ones(5)), scaled[:, :5].sum(axis=1))
    matrix = KernelMatrix(Spectrum(length), words, memory_limit=500)
    is_near(matrix.block(np.array([2, 5])), scaled[[2, 5]])
    is_near(matrix.only(np.array([2, 5, 7])).whole(), scaled[np.ix_([2, 5, 7], [2, 5, 7])])


@pytest.mark.parametrize("kernel", ["spectrum", Spectrum(2)])
def test_a_machine_learns_from_strings_themselves(kernel):
    words = ["banana", "bandana", "cabana", "kiwi", "kiwano", "wikiwi"]
    model = SVC(kernel=kernel).fit(words, [0, 0, 0, 1, 1, 1])
    assert model.predict(["ananas", "wiki"]).tolist() == [0, 1]


def test_spectrum_names_the_row_that_is_no_string():
    with pytest.raises(TypeError, match="compares strings, got int in row 1"):
        Spectrum().gram(["abc", 7])


# ---- Mercer's condition --------------------------------------------------------------------------


def test_sigmoid_fails_mercers_condition_and_the_check_says_so(rng):
    X = rng.standard_normal((40, 2))
    check = mercer_check(Sigmoid(gamma=1.0, coef0=-1.0), X)
    assert not check and check.is_symmetric and not check.is_positive
    K = Sigmoid(gamma=1.0, coef0=-1.0).gram(X)
    assert check.smallest == pytest.approx(np.linalg.eigvalsh(K)[0])
    assert str(check).startswith(
        "The Gram matrix of Sigmoid(gamma=1.0, coef0=-1.0) is not a matrix of inner products; it "
        "is not positive semi-definite: its smallest eigenvalue is -"
    )


def test_asymmetry_is_found_at_its_worst_pair(rng):
    K = Gaussian(0.5).gram(sample(rng, 9))
    K[2, 7] += 0.25
    check = mercer_check(K)
    assert not check.is_symmetric and check.worst_pair == (2, 7)
    assert check.asymmetry == pytest.approx(0.25)
    assert "not symmetric: K[2, 7] and K[7, 2] differ by 0.25 times the largest entry" in str(check)
    asymmetric = mercer_check(lambda A, B: A[:, :1] @ B[:, 1:2].T, sample(rng, 5))
    assert not asymmetric.is_symmetric


def test_check_allows_for_rounding_and_no_more(rng):
    X = rng.standard_normal((200, 3))
    for dtype in (np.float32, np.float64):
        assert mercer_check(Linear(), X.astype(dtype))  # 197 eigenvalues are rounding
    K = Linear().gram(X) - 1e-6 * np.eye(200)
    assert not mercer_check(K)
    assert "is symmetric and positive semi-definite" in str(mercer_check(np.eye(2)))
    for wrong in (np.ones((2, 3)), np.array([["a"]]), np.ones(4)):
        with pytest.raises(ValueError, match="mercer_check needs a square matrix of numbers, or a"):
            mercer_check(wrong)
    with pytest.raises(ValueError, match="nan in row 1, column 0"):
        mercer_check([[1.0, 0.0], [np.nan, 1.0]])


def test_matrices_up_to_32_megabytes_are_in_memory_that_malloc_uses_again():
    """A fit of few rows would spend as long on new pages of memory as on its kernel values."""
    assert blank((1 << 10, 1 << 10), np.float64).flags.owndata
    assert not blank((1 << 12, 1 << 10), np.float64).flags.owndata


@pytest.mark.parametrize("kernel", WITH_SLOPES, ids=repr)
def test_slopes_are_the_gradient_in_one_row(kernel, rng):
    X, Z = sample(rng, 5), sample(rng, 6)
    of_products, of_distances = kernel.slopes()
    found = np.zeros((5, 6, 4))
    if of_products is not None:
        found += of_products.gram(X, Z)[:, :, None] * X[:, None]
    if of_distances is not None:
        found += 2 * of_distances.gram(X, Z)[:, :, None] * (X[:, None] - Z)
    h = 1e-5
    moved = [(kernel.gram(X, Z + h * e) - kernel.gram(X, Z - h * e)) / (2 * h) for e in np.eye(4)]
    np.testing.assert_allclose(found, np.stack(moved, axis=-1), atol=1e-6 * np.abs(found).max())


@pytest.mark.parametrize(
    "kernel",
    [Linear(), Quadratic(0.3), Polynomial(3, 0.5, 0.2), Gaussian(0.7), 3 * Gaussian(0.2)],
    ids=repr,
)
def test_input_distances_are_those_of_the_rows(kernel, rng):
    X, Z = sample(rng, 5), sample(rng, 6)
    own, other = kernel.diagonal(X)[:, None], kernel.diagonal(Z)
    squares = own + other - 2 * kernel.gram(X, Z)
    expected = np.sum((X[:, None] - Z) ** 2, axis=-1)
    np.testing.assert_allclose(kernel.input_distances(squares, own, other), expected, atol=1e-9)


@pytest.mark.parametrize(
    "kernel", [Laplacian(0.4), Cosine(), Matern(1.3, 0.5), White(0.3)], ids=repr
)
def test_kinks_have_no_slopes(kernel):
    assert kernel.slopes() is None
