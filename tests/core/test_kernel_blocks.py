"""Kernel values by tiles: every form against extended precision, the same bits on any threads."""

import time

import numpy as np
import pytest
import scipy.sparse as sp

from gapless._ground import core
from gapless._ground.design import Design
from gapless._ground.interrupt import TimeLimit
from gapless._ground.threads import single_blas

Measure, Curve = core.Measure, core.Curve
EPS = np.finfo(float).eps

MEASURES = {
    Measure.product: lambda x, z: np.sum(x * z, axis=-1),
    Measure.squared_distance: lambda x, z: np.sum((x - z) ** 2, axis=-1),
    Measure.absolute_distance: lambda x, z: np.sum(np.abs(x - z), axis=-1),
    Measure.chi_square: lambda x, z: np.sum((x - z) ** 2 / np.where(x + z, x + z, 1), axis=-1),
}
CURVES = {
    Curve.identity: lambda t: t,
    Curve.power: lambda t: t**5,
    Curve.exponential: np.exp,
    Curve.tanh: np.tanh,
    Curve.matern_1: lambda t: np.exp(-np.sqrt(t)),
    Curve.matern_3: lambda t: (1 + np.sqrt(t)) * np.exp(-np.sqrt(t)),
    Curve.matern_5: lambda t: (1 + np.sqrt(t) + t / 3) * np.exp(-np.sqrt(t)),
}
# Every curve with measures that it can take, and (scale, shift).
FORMS = [
    (Measure.product, Curve.identity, 1.0, 0.0),
    (Measure.product, Curve.power, 0.1, 0.5),
    (Measure.product, Curve.tanh, 0.1, -0.2),
    (Measure.squared_distance, Curve.identity, 0.5, 0.0),
    (Measure.squared_distance, Curve.exponential, -0.1, 0.0),
    (Measure.squared_distance, Curve.matern_1, 0.3, 0.0),
    (Measure.squared_distance, Curve.matern_3, 0.3, 0.0),
    (Measure.squared_distance, Curve.matern_5, 0.3, 0.0),
    (Measure.absolute_distance, Curve.exponential, -0.1, 0.0),
    (Measure.chi_square, Curve.exponential, -0.1, 0.0),
    (Measure.chi_square, Curve.identity, -1.0, 0.0),
]
SHAPES = [
    (0, 3, 2),
    (3, 0, 2),
    (3, 4, 0),
    (1, 1, 1),
    (5, 7, 3),
    (259, 37, 5),
    (3, 270, 4),
    (3, 530, 4),
]

every_form = pytest.mark.parametrize("form", FORMS, ids=lambda f: f"{f[0].name}-{f[1].name}")
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def form_of(form):
    return core.KernelForm(*form, degree=5)


def sample(rng, rows, columns, dtype):
    """Half of the entries 0, none negative, so that chi-squared sums meet 0/0."""
    X = np.maximum(rng.standard_normal((rows, columns)), 0).astype(dtype)
    return X, np.sum(X.astype(float) ** 2, axis=1).astype(dtype)


def call(function, form, *args, threads=2, deadline=np.inf):
    with single_blas():
        getattr(core, function)(form_of(form), *args, threads, deadline)


def block(form, a, b, threads=2):
    out = np.full((len(a[0]), len(b[0])), np.nan, a[0].dtype)
    call("kernel_block", form, *a, *b, out, threads=threads)
    return out


def gram(form, a, threads=2):
    out = np.full((len(a[0]), len(a[0])), np.nan, a[0].dtype)
    call("kernel_gram", form, *a, out, threads=threads)
    return out


def times(form, a, b, coef, threads=2):
    out = np.full((len(a[0]), coef.shape[1]), np.nan)
    call("kernel_times", form, *a, *b, coef, out, threads=threads)
    return out


def exact(form, X, Z):
    measure, curve, scale, shift = form
    x, z = X.astype(np.longdouble)[:, None], Z.astype(np.longdouble)[None]
    return CURVES[curve](scale * MEASURES[measure](x, z) + shift)


def tolerance(form, dtype, columns):
    """Rounding of sums of `columns` squares of size 4, times the steepest slope of the curve."""
    root = form[1] in (Curve.matern_1, Curve.matern_3, Curve.matern_5)
    error = 40 * (columns + 8) * np.finfo(dtype).eps
    # Beside 0, where √t is steep, the error of t = 0 counts with its root.
    return np.sqrt(error) if form[1] == Curve.matern_1 else (10 if root else 1) * error


@every_form
@every_dtype
def test_values_are_those_of_extended_precision(rng, form, dtype):
    for n, m, d in SHAPES:
        a, b = sample(rng, n, d, dtype), sample(rng, m, d, dtype)
        K = exact(form, a[0], b[0])
        bound = tolerance(form, dtype, d) * max(1.0, np.abs(K).max(initial=0))
        assert np.all(np.abs(block(form, a, b) - K) <= bound)
        if m < 300:
            assert np.all(np.abs(gram(form, b) - exact(form, b[0], b[0])) <= bound)
        for outputs in (0, 1, 3):
            coef = rng.standard_normal((m, outputs))
            size = np.abs(coef).sum(axis=0) + m
            assert np.all(np.abs(times(form, a, b, coef) - K @ coef) <= bound * size)


@every_form
@every_dtype
def test_gram_is_symmetric_to_the_bit_and_exact_on_the_diagonal(rng, form, dtype):
    a = sample(rng, 301, 5, dtype)
    K = gram(form, a)
    np.testing.assert_array_equal(K, K.T)
    if form[0] != Measure.product:
        itself = dtype(CURVES[form[1]](np.float64(form[3])))
        np.testing.assert_array_equal(np.diag(K), itself)


@every_form
@every_dtype
def test_bits_do_not_depend_on_the_number_of_threads(rng, form, dtype):
    a, b = sample(rng, 700, 9, dtype), sample(rng, 531, 9, dtype)
    coef = rng.standard_normal((531, 4))
    for one, several in (
        (block(form, a, b, 1), block(form, a, b, 5)),
        (gram(form, b, 1), gram(form, b, 5)),
        (times(form, a, b, coef, 1), times(form, a, b, coef, 5)),
        (times(form, a, b, coef[:, :1].copy(), 1), times(form, a, b, coef[:, :1].copy(), 5)),
    ):
        np.testing.assert_array_equal(one, several)


@every_dtype
def test_sparse_rows_have_the_same_values_and_bits_on_any_threads(rng, dtype):
    X, squares = sample(rng, 150, 40, dtype)
    Z, Z_squares = sample(rng, 90, 40, dtype)
    rows, columns = Design(sp.csr_matrix(X)).rows_view(), Design(sp.csr_matrix(Z)).columns_view()
    own = Design(sp.csr_matrix(X)).columns_view()
    for form in FORMS:
        if form[0] in (Measure.absolute_distance, Measure.chi_square):
            continue
        found = []
        for threads in (1, 4):
            out, gram_out = np.empty((150, 90), dtype), np.empty((150, 150), dtype)
            operands = (rows, squares, columns, Z_squares, False, out)
            call("sparse_kernel_block", form, *operands, threads=threads)
            operands = (rows, squares, own, squares, True, gram_out)
            call("sparse_kernel_block", form, *operands, threads=threads)
            found.append((out, gram_out))
        np.testing.assert_array_equal(found[0][0], found[1][0])
        np.testing.assert_array_equal(found[0][1], found[1][1])
        np.testing.assert_array_equal(found[0][1], found[0][1].T)
        right = block(form, (X, squares), (Z, Z_squares))
        atol = 1e3 * np.finfo(dtype).eps * max(1, np.abs(right).max())
        np.testing.assert_allclose(found[0][0], right, rtol=0, atol=atol)
        right = gram(form, (X, squares))
        atol = 1e3 * np.finfo(dtype).eps * max(1, np.abs(right).max())
        np.testing.assert_allclose(found[0][1], right, rtol=0, atol=atol)


@every_dtype
def test_products_that_are_given_bend_like_computed_ones(rng, dtype):
    (X, squares), (Z, Z_squares) = a, b = sample(rng, 70, 6, dtype), sample(rng, 41, 6, dtype)
    for form in FORMS:
        if form[0] in (Measure.absolute_distance, Measure.chi_square):
            continue
        values = np.ascontiguousarray(X @ Z.T)
        call("kernel_of_products", form, squares, Z_squares, values)
        np.testing.assert_allclose(
            values, block(form, a, b), rtol=0, atol=1e4 * np.finfo(dtype).eps
        )


@pytest.mark.parametrize(("dtype", "lowest"), [(np.float32, -87), (np.float64, -708)])
def test_exponential_is_right_to_two_units_and_ends_in_zero(rng, dtype, lowest):
    t = np.concatenate([np.linspace(lowest, 0, 20011), -(10.0 ** np.linspace(-20, 1, 501))])
    t = t.astype(dtype)
    values = t[None, :].copy()
    form = (Measure.product, Curve.exponential, 1.0, 0.0)
    call("kernel_of_products", form, np.zeros(1, dtype), np.zeros(len(t), dtype), values)
    right = np.exp(t.astype(np.longdouble))
    assert np.all(np.abs(values[0] - right) <= 2 * np.finfo(dtype).eps * right)
    far = np.array([[lowest - 1, 2.0 * lowest, -1e30, -np.inf, 0.0]], dtype)
    call("kernel_of_products", form, np.zeros(1, dtype), np.zeros(5, dtype), far)
    np.testing.assert_array_equal(far[0], [0, 0, 0, 0, 1])


@pytest.mark.parametrize("degree", [0, 1, 2, 3, 7, 12])
def test_powers_of_any_degree(rng, degree):
    values = rng.uniform(-2, 2, size=(3, 517))
    right = values.astype(np.longdouble) ** degree
    form = core.KernelForm(Measure.product, Curve.power, degree=degree)
    core.kernel_of_products(form, np.zeros(3), np.zeros(517), values, 1, np.inf)
    assert np.all(np.abs(values - right) <= 2 * degree * EPS * np.abs(right))


def test_hyperbolic_tangent_is_odd_and_bounded():
    t = np.concatenate([np.linspace(0, 400, 8001), [1e-300, 1e-9]])
    values = np.stack([t, -t])
    form = core.KernelForm(Measure.product, Curve.tanh)
    core.kernel_of_products(form, np.zeros(2), np.zeros(len(t)), values, 1, np.inf)
    np.testing.assert_allclose(values[0], np.tanh(t), rtol=0, atol=2 * EPS)
    np.testing.assert_array_equal(values[1], -values[0])


def test_the_deadline_ends_a_long_block(rng):
    a = sample(rng, 3000, 2000, np.float64)
    out = np.empty((3000, 3000))
    form = (Measure.chi_square, Curve.identity, 1.0, 0.0)
    began = time.monotonic()
    with pytest.raises(TimeLimit):
        call("kernel_gram", form, *a, out, deadline=began + 0.05)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((4, 2), 3, (5, 2), 5, (4, 5)), "squares must have one entry per row"),
        (((4, 2), 4, (5, 3), 5, (4, 5)), "X and Z must have the same columns"),
        (((4, 2), 4, (5, 2), 5, (5, 4)), "out must have a row per row of X"),
    ],
)
def test_wrong_shapes_are_refused(shapes, message):
    with pytest.raises(ValueError, match=message):
        call("kernel_block", FORMS[0], *(np.zeros(shape) for shape in shapes))
