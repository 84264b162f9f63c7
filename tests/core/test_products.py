"""Products with X: every form of X against extended precision, and the same bits on any threads."""

import multiprocessing
from functools import cached_property

import numpy as np
import pytest
import scipy.sparse as sp

from gapless._ground import core
from gapless._ground.design import Design
from gapless._ground.threads import threads

FORMS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "csr": sp.csr_matrix,
    "csc": sp.csc_array,
}
SHAPES = [(0, 0), (0, 3), (3, 0), (1, 1), (1, 9), (9, 1), (13, 5), (301, 71), (7, 1300), (20011, 3)]
# Longer than every chunk, in either direction; and enough for several lanes and tiles.
LONG_SHAPES = [(70001, 17), (17, 70001), (1501, 130), (40, 1500)]

EPS = np.finfo(float).eps

every_form = pytest.mark.parametrize("form", FORMS)
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])
centred_or_not = pytest.mark.parametrize("centred", [False, True])


def half_empty(rng, n, d, dtype):
    return np.where(rng.random((n, d)) < 0.5, rng.standard_normal((n, d)), 0.0).astype(dtype)


class Sample:
    """A random matrix as a design, in extended precision, and as the sizes that bound the error."""

    def __init__(self, rng, shape, form, dtype, centred):
        n, d = shape
        self.values = half_empty(rng, n, d, dtype)
        self.center = rng.standard_normal(d) if centred else np.zeros(d)
        self.design = Design(FORMS[form](self.values), self.center if centred else None)

    @cached_property
    def exact(self):
        return self.values.astype(np.longdouble) - self.center

    @cached_property
    def size(self):
        return np.abs(self.values.astype(float)) + np.abs(self.center)


def assert_near(result, exact, size, terms, eps=EPS):
    """The error bound of a sum of `terms` terms whose absolute values add up to `size`."""
    assert result.shape == exact.shape
    assert np.all(np.abs(result - exact) <= (terms + 8) * eps * size)


@every_form
@every_dtype
@centred_or_not
@pytest.mark.parametrize("outputs", [(), (0,), (1,), (3,), (20,), (150,)])
def test_products_with_vectors_are_right(rng, form, dtype, centred, outputs):
    for n, d in SHAPES:
        sample = Sample(rng, (n, d), form, dtype, centred)
        w, r = rng.standard_normal((d, *outputs)), rng.standard_normal((n, *outputs))
        # Of many outputs some are checked: extended precision is slow.
        seen = (..., rng.permutation(outputs[0])[:6]) if outputs else ()
        for vector_dtype in (np.float64, dtype):
            w, r = w.astype(vector_dtype), r.astype(vector_dtype)
            z, g = sample.design.times(w), sample.design.transposed_times(r)
            assert z.dtype == g.dtype == vector_dtype
            assert z.shape == (n, *outputs) and g.shape == (d, *outputs)
            eps = np.finfo(vector_dtype).eps
            v = w[seen]
            assert_near(z[seen], sample.exact @ v, sample.size @ np.abs(v), d, eps)
            exact, size = sample.exact.T @ r[seen], sample.size.T @ np.abs(r[seen])
            assert_near(g[seen], exact, size, n, eps)
            some = rng.permutation(d)[: d // 2 + 1]
            g = sample.design.transposed_times(r, columns=some)
            assert g.dtype == vector_dtype
            assert_near(g[seen], exact[some], size[some], n, eps)


@every_form
@every_dtype
@centred_or_not
def test_products_with_mostly_zero_vectors_are_right(rng, form, dtype, centred):
    for n, d in SHAPES:
        sample = Sample(rng, (n, d), form, dtype, centred)
        for share in (0.0, 0.2):
            r = np.where(rng.random(n) < share, rng.standard_normal(n), 0.0)
            w = np.where(rng.random(d) < share, rng.standard_normal(d), 0.0)
            for vector_dtype in (np.float64, dtype):
                w, r = w.astype(vector_dtype), r.astype(vector_dtype)
                z, g = sample.design.times(w), sample.design.transposed_times(r)
                assert z.dtype == g.dtype == vector_dtype
                eps = np.finfo(vector_dtype).eps
                assert_near(z, sample.exact @ w, sample.size @ np.abs(w), d, eps)
                assert_near(g, sample.exact.T @ r, sample.size.T @ np.abs(r), n, eps)


@every_form
@every_dtype
@centred_or_not
@pytest.mark.parametrize("weighted", [False, True])
def test_gram_matrices_and_square_sums_are_right(rng, form, dtype, centred, weighted):
    for n, d in SHAPES:
        sample = Sample(rng, (n, d), form, dtype, centred)
        design, exact, size = sample.design, sample.exact, sample.size
        weights = np.maximum(rng.standard_normal(n), 0.0) if weighted else None
        D = np.ones((n, 1)) if weights is None else weights[:, None]
        G, bound = exact.T @ (D * exact), size.T @ (D * size)
        assert_near(design.gram(weights), G, bound, 2 * n)
        squares = design.column_square_sums(weights)
        assert_near(squares, np.diag(G), np.diag(bound), 2 * n)
        v = rng.standard_normal(d)
        assert_near(design.row_square_sums(v), exact**2 @ v, size**2 @ np.abs(v), 2 * d)
        for chosen in ([], rng.permutation(d)[: d // 2]):
            chosen = np.asarray(chosen, dtype=int)
            pick = np.ix_(chosen, chosen)
            assert_near(design.gram(weights, columns=chosen), G[pick], bound[pick], 2 * n)
        if n < 1000:
            of_features = np.maximum(rng.standard_normal(d), 0.0) if weighted else None
            D = 1.0 if of_features is None else of_features
            K, bound = (exact * D) @ exact.T, (size * D) @ size.T
            assert_near(design.outer_gram(of_features), K, bound, 2 * d)


@every_form
@every_dtype
@centred_or_not
@pytest.mark.parametrize("outputs", [1, 3, 40])
@pytest.mark.parametrize("scores_meet", [False, True])
def test_hessian_products_are_right(rng, form, dtype, centred, outputs, scores_meet):
    eps = np.finfo(dtype).eps
    for n, d in SHAPES:
        sample = Sample(rng, (n, d), form, dtype, centred)
        a, f = rng.random((2, n, outputs)).astype(dtype)
        v, shift = (rng.standard_normal((k, outputs)).astype(dtype) for k in (d, 1))
        u, size = sample.exact @ v + shift, sample.size @ np.abs(v) + np.abs(shift)
        curved, bound = a * u, a * size
        if scores_meet:
            curved = curved - f * np.sum(f * u, axis=1, keepdims=True)
            bound = bound + f * np.sum(f * size, axis=1, keepdims=True)
        w, b = sample.design.hessian_times(a, f if scores_meet else None, v, shift[0])
        terms = n + d + outputs + 8
        assert_near(w, sample.exact.T @ curved, sample.size.T @ bound, terms, eps)
        assert_near(b, curved.sum(axis=0), bound.sum(axis=0), terms, eps)


@pytest.mark.parametrize("form", ["C", "F"])
@centred_or_not
def test_single_precision_gram_matrices_are_right(rng, form, centred):
    for n, d in SHAPES:
        sample = Sample(rng, (n, d), form, np.float32, centred)
        weights = np.maximum(rng.standard_normal(n), 0.0)
        G = sample.design.gram(weights, single=True)
        assert G.dtype == np.float32
        D, eps = weights[:, None], np.finfo(np.float32).eps
        exact, bound = sample.exact.T @ (D * sample.exact), sample.size.T @ (D * sample.size)
        assert_near(G, exact, bound, 2 * n, eps)


@every_form
@every_dtype
@centred_or_not
@pytest.mark.parametrize("shape", LONG_SHAPES)
def test_same_bits_for_any_number_of_threads(rng, form, dtype, centred, shape):
    n, d = shape
    design = Sample(rng, shape, form, dtype, centred).design
    weights = np.maximum(rng.standard_normal(n), 0.0)
    w, W = rng.standard_normal(d), rng.standard_normal((d, 5)).astype(dtype)
    r, R = rng.standard_normal(n), rng.standard_normal((n, 5)).astype(dtype)
    chosen = rng.permutation(d)[:15]

    def everything():
        yield design.times(w)
        yield design.times(W)
        yield design.transposed_times(r)
        yield design.transposed_times(R)
        yield design.column_square_sums(weights)
        yield design.row_square_sums(w)
        yield design.gram(weights, columns=chosen)
        yield from design.hessian_times(np.abs(R), np.abs(R), W, W[0])
        if d < 2000:
            yield design.gram(weights, single=True)
            yield design.gram()
            yield design.gram(weights)
        if n < 4000:
            yield design.outer_gram()

    with threads(1):
        expected = list(everything())
    for count in (2, 8):
        with threads(count):
            for result, first in zip(everything(), expected, strict=True):
                assert np.array_equal(result, first)


def test_bits_do_not_depend_on_where_the_data_lies(rng):
    n, d = 5000, 37
    values, w, r = rng.standard_normal((n, d)), rng.standard_normal(d), rng.standard_normal(n)
    memory = np.empty(n * d + 8)
    results = []
    for offset in range(8):
        X = memory[offset : offset + n * d].reshape(n, d)
        X[:] = values
        design = Design(X)
        results.append(np.concatenate([design.times(w), design.transposed_times(r)]))
    assert all(np.array_equal(result, results[0]) for result in results)


@pytest.mark.parametrize("form", ["C", "F"])
def test_a_large_mean_costs_no_digits(rng, form):
    n, d = 2000, 30
    small = rng.integers(-8, 9, (n, d)) / 8.0
    mean = np.full(d, 2.0**40)  # so that mean + small and its centring are exact
    centred, plain = Design(FORMS[form](small + mean), mean), Design(FORMS[form](small))
    w, R, s = rng.standard_normal(d), rng.standard_normal((n, 3)), rng.random(n)
    # The terms are the same to the last bit, but a compiler may add them in another order.
    eps = np.finfo(float).eps
    size = d * eps * np.max(np.abs(small) @ np.abs(w))
    np.testing.assert_allclose(centred.times(w), plain.times(w), rtol=0, atol=size)
    sums = plain.column_square_sums(s)
    np.testing.assert_allclose(centred.column_square_sums(s), sums, rtol=n * eps)
    assert np.allclose(centred.transposed_times(R), plain.transposed_times(R), rtol=0, atol=1e-10)
    assert np.allclose(centred.gram(s), plain.gram(s), rtol=0, atol=1e-10)
    assert np.allclose(centred.outer_gram(s[:d]), plain.outer_gram(s[:d]), rtol=0, atol=1e-10)


@every_form
def test_rows_of_weight_zero_are_not_read(rng, form):
    for d in (7, 1300):
        values = half_empty(rng, 50, d, np.float64)
        weights = np.where(np.arange(50) % 3 == 0, 0.0, 1.5)
        expected = Design(FORMS[form](values)).gram(weights)
        values[::3] = np.nan
        assert np.array_equal(Design(FORMS[form](values)).gram(weights), expected)


@every_form
def test_square_sums_that_are_kept_belong_to_one_centre(rng, form):
    X, mean = half_empty(rng, 13, 5, float), rng.standard_normal(5)
    design = Design(FORMS[form](X))
    design.column_square_sums()[:] = 0.0  # the caller's own copy
    np.testing.assert_allclose(design.column_square_sums(), np.sum(X**2, axis=0))
    squares = design.shifted(mean).column_square_sums()
    np.testing.assert_allclose(squares, np.sum((X - mean) ** 2, axis=0))


@every_form
def test_columns_and_rows_make_the_smaller_design(rng, form):
    sample = Sample(rng, (40, 23), form, np.float64, True)
    columns, rows = rng.permutation(23)[:6], rng.permutation(40)[:11]
    w, v = rng.standard_normal(6), rng.standard_normal(23)
    some = sample.design.columns(columns)
    assert (some.n, some.d, some.is_sparse) == (40, 6, sample.design.is_sparse)
    assert_near(some.times(w), sample.exact[:, columns] @ w, sample.size[:, columns] @ np.abs(w), 6)
    few = sample.design.rows(rows)
    assert (few.n, few.d) == (11, 23)
    assert_near(few.times(v), sample.exact[rows] @ v, sample.size[rows] @ np.abs(v), 23)
    assert sample.design.columns(np.array([], dtype=int)).d == 0


@every_form
def test_views_hold_the_data_by_columns_and_by_rows(rng, form):
    values = half_empty(rng, 12, 5, np.float32)
    design = Design(FORMS[form](values), np.ones(5))
    by_columns, by_rows = design.columns_view(), design.rows_view()
    assert by_columns is design.columns_view() and by_rows is design.rows_view()
    if design.is_sparse:
        assert by_columns.starts.dtype == np.int64 and by_columns.indices.dtype == np.int32
        columns = (by_columns.values, by_columns.indices, by_columns.starts)
        rows = (by_rows.values, by_rows.indices, by_rows.starts)
        assert np.array_equal(sp.csc_matrix(columns, shape=(12, 5)).toarray(), values)
        assert np.array_equal(sp.csr_matrix(rows, shape=(12, 5)).toarray(), values)
    else:
        assert by_columns is design.X and by_rows.flags.c_contiguous
        assert np.array_equal(by_columns, values) and np.array_equal(by_rows, values)


def test_a_contiguous_matrix_is_not_copied_and_nothing_is_written(rng):
    for form in FORMS:
        X = FORMS[form](half_empty(rng, 9, 4, np.float64))
        memory = X.data if sp.issparse(X) else X
        memory.flags.writeable = False
        design = Design(X)
        assert np.shares_memory(design.X.data if sp.issparse(X) else design.X, memory)
        w = rng.standard_normal(4)
        w.flags.writeable = False
        design.times(w), design.gram(), design.outer_gram()


def test_any_strides_and_sparse_format_are_read_right(rng):
    values = half_empty(rng, 30, 8, np.float64)
    w = rng.standard_normal(8)
    expected = Design(values).times(w)
    strided = np.repeat(np.repeat(values, 2, axis=0), 3, axis=1)[::2, ::3]
    reversed_twice = values[::-1, ::-1].copy()[::-1, ::-1]
    unaligned = np.frombuffer(b"?" + values.tobytes(), np.float64, offset=1).reshape(30, 8)
    for X in (strided, reversed_twice, unaligned):
        assert np.array_equal(Design(X).times(w), expected)
    wide_indices = sp.csr_matrix(values)
    wide_indices.indices = wide_indices.indices.astype(np.int64)
    for X in (sp.coo_matrix(values), sp.lil_array(values), wide_indices):
        assert np.allclose(Design(X).times(w), expected, rtol=1e-14)


def test_repeated_and_unsorted_sparse_entries_are_added_on_a_copy():
    X = sp.csr_matrix((np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2]), np.array([0, 3])), (1, 3))
    assert np.array_equal(Design(X).times(np.array([1.0, 10.0, 100.0])), [502.0])
    assert np.array_equal(Design(X).gram(), [[4.0, 0, 10], [0, 0, 0], [10, 0, 25]])
    assert X.nnz == 3 and list(X.indices) == [2, 0, 2]


def test_other_types_than_float_are_refused():
    with pytest.raises(TypeError, match=r"X\.astype\(float\)"):
        Design(np.ones((2, 2), dtype=int))


def test_the_core_refuses_shapes_and_types_that_do_not_fit():
    X, out = np.ones((4, 3)), np.empty((4, 1))
    inf = float("inf")
    with pytest.raises(ValueError, match="one row per column of X"):
        core.dense_times(X, None, np.ones((2, 1)), out, 1, inf)
    with pytest.raises(ValueError, match="center"):
        core.dense_times(X, np.ones(2), np.ones((3, 1)), out, 1, inf)
    with pytest.raises(ValueError, match="out must"):
        core.dense_times(X, None, np.ones((3, 1)), np.empty((3, 1)), 1, inf)
    with pytest.raises(ValueError, match="threads"):
        core.dense_times(X, None, np.ones((3, 1)), out, 0, inf)
    with pytest.raises(ValueError, match="contiguous"):
        core.dense_times(np.ones((8, 6))[::2, ::2], None, np.ones((3, 1)), out, 1, inf)
    with pytest.raises(ValueError, match="out of range"):
        core.dense_gram(X, None, None, np.array([3]), np.empty((1, 1)), 1, inf)
    lines = np.array([0, 1]), np.array([0], dtype=np.int32), np.ones(1)
    with pytest.raises(ValueError, match="one entry per row of X"):
        core.sparse_transposed_times(*lines, np.ones(2), np.empty(1), 1, inf)
    with pytest.raises(TypeError):  # never converted in silence
        core.dense_times(X, None, np.ones((3, 1), dtype=np.float32), out, 1, inf)
    frozen = np.empty((4, 1))
    frozen.flags.writeable = False
    with pytest.raises(TypeError):
        core.dense_times(X, None, np.ones((3, 1)), frozen, 1, inf)


def _times_in_child(design, w, queue):
    with threads(2):
        queue.put(design.times(w))


def test_a_forked_process_can_use_threads_again(rng):
    X, w = rng.standard_normal((70001, 17)), rng.standard_normal((17, 3))
    design = Design(X)
    with threads(2):
        expected = design.times(w)
    fork = multiprocessing.get_context("fork")
    queue = fork.Queue()
    child = fork.Process(target=_times_in_child, args=(design, w, queue))
    child.start()
    result = queue.get(timeout=600)
    child.join()
    assert np.array_equal(result, expected)


@every_dtype
@centred_or_not
@pytest.mark.parametrize("weighted", [False, True])
def test_gram_matrices_with_rare_columns_are_right(rng, dtype, centred, weighted):
    n, common, rare = 1500, 7, 70
    values = rng.standard_normal((n, common + rare)).astype(dtype)
    values[:, common:] *= rng.random((n, rare)) < rng.uniform(0, 0.1, rare)
    values = values[:, rng.permutation(common + rare)]
    center = values.mean(axis=0, dtype=float) if centred else None
    weights = np.maximum(rng.standard_normal(n), 0.0) if weighted else None
    design = Design(values, center)
    exact = values.astype(np.longdouble) - (0 if center is None else center)
    size = np.abs(values.astype(float)) + (0 if center is None else np.abs(center))
    s = np.ones(n) if weights is None else weights
    G, bound = (exact.T * s) @ exact, (size.T * s) @ size
    with threads(1):
        found = design.gram(weights)
    assert_near(found, G, bound, 2 * n)
    with threads(3):
        assert np.array_equal(design.gram(weights), found)
