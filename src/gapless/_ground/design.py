"""X as an operator: the only file that knows if X is dense, sparse, float32, float64 or centred."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from . import core
from .interrupt import deadline
from .threads import single_blas, thread_count

Array = np.ndarray

# Xᵀr reads only the rows in which r is not 0 if these are at most one in this many.
FEW = 4


class Lines(NamedTuple):
    """The rows or the columns of a sparse matrix.

    Line i has values[starts[i]:starts[i + 1]] at the positions indices[starts[i]:starts[i + 1]],
    which increase. `starts` is int64, `indices` int32.
    """

    starts: Array
    indices: Array
    values: Array


class Design:
    """The n × d data matrix as an operator, optionally centred (X − 1μᵀ) without being copied.

    Products have the precision of the vector: float64 in, float64 sums out, however X is stored. (A
    float32 vector with float64 data is computed in float64 too.) All products have the same bits
    for any number of threads, obey Ctrl-C, and raise `interrupt.TimeLimit` at the deadline.

    Parameters
    ----------
    X : ndarray or SciPy sparse matrix or array, of float32 or float64, shape (n, d)
        Kept without a copy when it is contiguous in C or F order, or CSR or CSC with sorted
        indices. Never written to.
    center : ndarray of shape (d,), optional
        μ, subtracted from every row.

    Notes
    -----
    A sparse X gets a twin in the other compressed format when a product first needs it, which
    doubles its memory. Products cost O(nd), or O(entries) when sparse, per output; `gram` O(nd²),
    or O(Σᵢ (entries of row i)²).
    """

    def __init__(self, X: Any, center: Array | None = None):
        if X.dtype not in (np.float32, np.float64):
            raise TypeError(
                f"X must be float32 or float64, got {X.dtype}; convert it with X.astype(float)."
            )
        self.is_sparse = sp.issparse(X)
        self.X: Any = _canonical_sparse(X) if self.is_sparse else _contiguous(X)
        self.n, self.d = X.shape
        self.dtype = self.X.dtype
        self.center = None if center is None else np.ascontiguousarray(center, dtype=np.float64)

    @property
    def density(self) -> float:
        """The part of X that is stored: 1 if it is dense."""
        return self.X.nnz / max(self.n * self.d, 1) if self.is_sparse else 1.0

    @property
    def is_read_by_rows(self) -> bool:
        """Whether X is dense in C order, so that work on a row finds it in the cache."""
        return not self.is_sparse and self.X.flags.c_contiguous

    def times(self, w: Array) -> Array:
        """X @ w for w of shape (d,) or (d, K). If most of w (d,) is 0, a sparse X costs less."""
        matrix = self._as_matrix(w)
        out = np.empty((self.n, matrix.shape[1]), matrix.dtype)
        if self.is_sparse:
            if w.ndim == 1 and self._has_columns and FEW * np.count_nonzero(w) <= self.d:
                _call(core.sparse_transposed_times, *self._columns, matrix[:, 0], out[:, 0])
            else:
                _call(core.sparse_times, *self._rows, matrix, out)
            if self.center is not None:
                shift = np.empty((1, matrix.shape[1]), matrix.dtype)
                row = self._center_as(matrix.dtype)[None, :]
                _call_blas(core.dense_times, row, None, matrix, shift)
                out -= shift
        else:
            self._dense_call(core.dense_times, matrix, out)
        return out.reshape(self.n, *w.shape[1:])

    def transposed_times(self, r: Array, columns: Array | None = None) -> Array:
        """Xᵀ @ r for r of shape (n,) or (n, K), of all columns or of those at some positions.

        If most of r (n,) is 0, it costs less.
        """
        if columns is not None:
            return self._multiply_columns(r, columns)
        matrix = self._as_matrix(r)
        out = np.empty((self.d, matrix.shape[1]), matrix.dtype)
        has_rows = self.is_sparse or self.X.flags.c_contiguous
        if r.ndim == 1 and has_rows and FEW * np.count_nonzero(r) <= self.n:
            self._multiply_few_rows(matrix, out)
        elif self.is_sparse:
            _call(core.sparse_times, *self._columns, matrix, out)
            if self.center is not None:
                out -= np.multiply.outer(self._center_as(matrix.dtype), matrix.sum(axis=0))
        else:
            self._dense_call(core.dense_transposed_times, None, matrix, out)
        return out.reshape(self.d, *r.shape[1:])

    def _multiply_columns(self, r: Array, columns: Array) -> Array:
        if self.is_sparse and r.ndim == 1:  # picking the columns would take longer
            return self.transposed_times(r)[columns]
        if self.is_sparse:
            return self.columns(columns).transposed_times(r)
        matrix = self._as_matrix(r)
        out = np.empty((len(columns), matrix.shape[1]), matrix.dtype)
        columns = np.ascontiguousarray(columns, dtype=np.int64)
        _call_blas(core.dense_transposed_times, self.X, self.center, columns, matrix, out)
        return out.reshape(len(columns), *r.shape[1:])

    def _multiply_few_rows(self, r: Array, out: Array) -> None:
        """Xᵀ @ r for r of shape (n, 1), from the rows in which it is not 0."""
        if not self.is_sparse:
            rows = np.flatnonzero(r)
            _call(core.dense_transposed_times, self.X[rows], self.center, None, r[rows], out)
            return
        _call(core.sparse_transposed_times, *self._rows, r[:, 0], out[:, 0])
        if self.center is not None:
            out -= (self._center_as(r.dtype) * r.sum())[:, None]

    def hessian_times(self, a: Array, f: Array | None, w: Array, b: Array) -> tuple[Array, Array]:
        """XᵀC and 1ᵀC (float64) where row i of C is (diag(aᵢ) − fᵢfᵢᵀ)(Xw + b)ᵢ; a, f like Xw.

        All arrays must have the precision of X. A dense X with several outputs is read once.
        """
        if self.is_sparse or w.ndim == 1 or not w.size:
            curved = self.times(w) + b
            along = None if f is None else np.einsum("nk,nk->n", f, curved)[:, None]
            curved *= a
            if f is not None:
                curved -= f * along
            return self.transposed_times(curved), np.asarray(curved.sum(axis=0, dtype=float))
        out_w, out_b = np.empty(w.shape, self.dtype), np.empty(len(b))
        w, b = np.ascontiguousarray(w), np.ascontiguousarray(b)
        _call_blas(core.dense_hessian_times, self.X, self.center, a, f, w, b, out_w, out_b)
        return out_w, out_b

    def loss_pass(
        self, loss: Any, w: Array, b: float, y: Array, weights: Array | None
    ) -> tuple[Array, Array]:
        """Xw and three derivatives of a loss per row, (4, n), and Xᵀ(sℓ′), by one pass over X.

        X must be read by rows.
        """
        of_rows, product = np.empty((4, self.n)), np.empty(self.d)
        vectors = np.ascontiguousarray(w, dtype=float), b, np.ascontiguousarray(y, dtype=float)
        _call(core.loss_pass, loss, self.X, self.center, *vectors, weights, of_rows, product)
        return of_rows, product

    def gram(
        self, weights: Array | None = None, columns: Array | None = None, single: bool = False
    ) -> Array:
        """XᵀDX (float64) of all columns, or of those at the given positions; D = diag(weights) ≥ 0.

        Rows of weight 0 cost nothing. With `single` the sums of a dense float32 X are float32, at
        half the cost.
        """
        weights = _as_float64(weights)
        if columns is not None:
            columns = np.ascontiguousarray(columns, dtype=np.int64)
        d = self.d if columns is None else len(columns)
        is_single = single and not self.is_sparse and self.dtype == np.float32
        out = np.empty((d, d), np.float32 if is_single else np.float64)
        if not self.is_sparse:
            _call_blas(core.dense_gram, self.X, self.center, weights, columns, out)
        elif columns is None:
            _call(core.sparse_gram, *self._columns, *self._rows, weights, out)
        else:
            _call(core.sparse_gram_of_columns, *self._columns, self.n, columns, weights, out)
        if self.is_sparse and self.center is not None:
            self._center_gram(out, weights, slice(None) if columns is None else columns)
        return out

    def outer_gram(self, weights: Array | None = None) -> Array:
        """X diag(weights) Xᵀ (n × n, float64) for weights ≥ 0 of the features, 1 if None."""
        weights = _as_float64(weights)
        out = np.empty((self.n, self.n))
        if not self.is_sparse:
            _call_blas(core.dense_outer_gram, self.X, self.center, weights, out)
            return out
        _call(core.sparse_gram, *self._rows, *self._columns, weights, out)
        if self.center is not None:
            # With W = diag(weights), (X − 1μᵀ)W(X − 1μᵀ)ᵀ = XWXᵀ − (a + ½c)1ᵀ − 1(a + ½c)ᵀ,
            # where a = (X − 1μᵀ)Wμ and c = μᵀWμ.
            weighted = self.center if weights is None else weights * self.center
            shift = self.times(weighted) + 0.5 * np.sum(self.center * weighted)
            out -= shift[:, None]
            out -= shift
        return out

    def column_square_sums(self, weights: Array | None = None) -> Array:
        """Σᵢ weightsᵢ xᵢⱼ² for every column j, float64; cached if there are no weights."""
        return self._square_sums.copy() if weights is None else self._weighted_squares(weights)

    @cached_property
    def _square_sums(self) -> Array:
        return self._weighted_squares(None)

    def _weighted_squares(self, weights: Array | None) -> Array:
        weights = _as_float64(weights)
        out = np.empty(self.d)
        if self.is_sparse:
            total = float(self.n if weights is None else weights.sum())
            _call(core.sparse_column_square_sums, *self._columns, self.center, weights, total, out)
        else:
            _call(core.dense_column_square_sums, self.X, self.center, weights, out)
        return out

    def row_square_sums(self, weights: Array) -> Array:
        """Σⱼ weightsⱼ xᵢⱼ² for every row i, float64."""
        weights = np.ascontiguousarray(weights, dtype=np.float64)
        out = np.empty(self.n)
        if self.is_sparse:
            _call(core.sparse_row_square_sums, *self._rows, self.center, weights, out)
        else:
            _call(core.dense_row_square_sums, self.X, self.center, weights, out)
        return out

    def columns(self, index: Array) -> Design:
        """The design made of the given columns (integer positions)."""
        if len(index) == self.d and np.array_equal(index, np.arange(self.d)):
            return self
        X = self._compressed_columns if self.is_sparse else self.X
        return Design(X[:, index], None if self.center is None else self.center[index])

    def filled_columns(self) -> Array:
        """Positions of columns that may be nonzero: all, or those with entries in a sparse X."""
        if not self.is_sparse:
            return np.arange(self.d)
        if self.X.format == "csc":
            is_filled = np.diff(self.X.indptr) > 0
        else:
            is_filled = np.bincount(self.X.indices, minlength=self.d) > 0
        if self.center is not None:
            is_filled |= self.center != 0
        return np.flatnonzero(is_filled)

    def rows(self, index: Array | slice) -> Design:
        """The design made of the given rows (integer positions, or a slice, without a copy)."""
        if self.is_sparse or isinstance(index, slice) or self.X.flags.c_contiguous:
            X = self._compressed_rows if self.is_sparse else self.X
            return Design(X[index], self.center)
        # Indexing alone would turn columns into rows, which reads memory in the wrong order.
        return Design(np.take(self.X.T, index, axis=1).T, self.center)

    def equal_rows(self, y: Array) -> Array:
        """Labels 0, 1, … of the rows of (X, y), the same for equal rows; y is (n,) or (n, K).

        They are numbered by the content of the rows, so they do not depend on the rows' order.
        """
        y = np.ascontiguousarray(y if y.ndim == 2 else y[:, None], dtype=np.float64)
        labels = np.empty(self.n, dtype=np.int64)
        X = self._rows if self.is_sparse else self.X
        core.equal_rows(X, self.d, y, labels, thread_count(), deadline())
        return labels

    @cached_property
    def equal_x(self) -> Array:
        """Labels 0, 1, … of the rows of X alone, the same for equal rows, by their content."""
        return self.equal_rows(np.zeros(self.n))

    def shifted(self, mean: Array) -> Design:
        """X − 1·meanᵀ, on the same memory."""
        moved = copy.copy(self)
        vars(moved).pop("_square_sums", None)
        mean = np.asarray(mean, dtype=np.float64)
        moved.center = mean if self.center is None else self.center + mean
        return moved

    def dense(self) -> Array:
        """The matrix itself, centred: a new float64 array in F order, however X is stored."""
        X = self.X.toarray() if self.is_sparse else self.X
        X = np.array(X, dtype=np.float64, order="F")
        if self.center is not None:
            X -= self.center
        return X

    def columns_view(self) -> Array | Lines:
        """X by columns, not centred: X itself in its own order, or the columns of a sparse X.

        The columns of a sparse X in CSR format are made once, which doubles its memory.
        """
        return self._columns if self.is_sparse else self.X

    def rows_view(self) -> Array | Lines:
        """X by rows, not centred: an array in C order, or the rows of a sparse X. Made once."""
        return self._rows if self.is_sparse else self._by_rows

    @cached_property
    def _by_rows(self) -> Array:
        return np.ascontiguousarray(self.X)

    @cached_property
    def _compressed_rows(self) -> Any:
        return self.X.tocsr()

    @cached_property
    def _compressed_columns(self) -> Any:
        return self.X.tocsc()

    @property
    def _has_columns(self) -> bool:
        """Whether a sparse X is stored by columns, or has already been converted to them."""
        return self.X.format == "csc" or "_compressed_columns" in vars(self)

    @cached_property
    def _rows(self) -> Lines:
        return _lines(self._compressed_rows)

    @cached_property
    def _columns(self) -> Lines:
        return _lines(self._compressed_columns)

    def _as_matrix(self, v: Array) -> Array:
        """The vector as rows × outputs in the precision of the product."""
        single = v.dtype == np.float32 and self.dtype == np.float32
        matrix = v if v.ndim == 2 else v[:, None]
        return np.ascontiguousarray(matrix, dtype=np.float32 if single else np.float64)

    def _center_as(self, dtype: np.dtype) -> Array:
        assert self.center is not None
        return self.center.astype(dtype, copy=False)

    def _dense_call(self, function: Any, *args: Any) -> None:
        # A single column is multiplied without BLAS.
        call = _call if args[-1].shape[1] == 1 else _call_blas
        call(function, self.X, self.center, *args)

    def _center_gram(self, G: Array, weights: Array | None, chosen: Any) -> None:
        """Turn G = XᵀDX into (X − 1μᵀ)ᵀD(X − 1μᵀ) = G − aμᵀ − μaᵀ with a = XᵀD1 − ½μ·ΣD."""
        assert self.center is not None
        total = np.ones(self.n) if weights is None else weights
        sums = np.empty((self.d, 1))
        _call(core.sparse_times, *self._columns, total[:, None], sums)
        mean = self.center[chosen]
        shift = sums[chosen, 0] - 0.5 * total.sum() * mean
        G -= np.multiply.outer(shift, mean)
        G -= np.multiply.outer(mean, shift)


def drop_empty_columns(X: Any) -> tuple[Any, Array] | None:
    """A sparse X without its empty columns, and the positions of the others; None if most are full.

    A few thousand texts use only some of a million words: no work is spent on the others.
    """
    if not sp.issparse(X):
        return None
    filled = Design(X).filled_columns()
    if not len(filled) or 2 * len(filled) > X.shape[1]:
        return None
    if X.format == "csc":
        start, index = np.append(X.indptr[filled], X.nnz), X.indices
    else:
        start, index = X.indptr, np.searchsorted(filled, X.indices)
    parts = X.data, index.astype(X.indices.dtype, copy=False), start
    return type(X)(parts, shape=(X.shape[0], len(filled))), filled


def multiply_each(product: Callable[[Array], Array], vectors: Sequence[Array]) -> list[Array]:
    """A product of a design, such as `design.times`, with each vector; those (n,) all at once."""
    if len(vectors) < 2 or vectors[0].ndim == 2:
        return [product(vector) for vector in vectors]
    return list(np.ascontiguousarray(product(np.stack(vectors, axis=1)).T))


def _call(function: Any, *args: Any) -> None:
    function(*args, thread_count(), deadline())


def _call_blas(function: Any, *args: Any) -> None:
    with single_blas():
        function(*args, thread_count(), deadline())


def _as_float64(v: Array | None) -> Array | None:
    return None if v is None else np.ascontiguousarray(v, dtype=np.float64)


def _contiguous(X: Array) -> Array:
    """X itself, or a copy if the core cannot read it as it is."""
    readable = (X.flags.c_contiguous or X.flags.f_contiguous) and X.flags.aligned
    return X if readable else X.copy(order="C")


def _canonical_sparse(X: Any) -> Any:
    """X itself if it is CSR or CSC with increasing, distinct indices, else a copy."""
    X = X if X.format in ("csr", "csc") else X.tocsr()
    if max(X.shape) > np.iinfo(np.int32).max:
        raise ValueError(
            f"a sparse X may have at most 2147483647 rows and columns; got shape {X.shape}."
        )
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _lines(X: Any) -> Lines:
    return Lines(
        X.indptr.astype(np.int64, copy=False), X.indices.astype(np.int32, copy=False), X.data
    )
