"""Kernels computed by the compiled core: a measure of two rows, and a curve of it."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._ground import core
from .._ground.design import Design
from .._ground.interrupt import deadline
from .._ground.threads import single_blas, thread_count
from ._base import Kernel
from ._rows import Rows, as_rows, blank, gram_of_rows

Array = np.ndarray

# The cost of a multiplication in a sparse matrix product, relative to a dense one.
SPARSE_COST = 32


class _Compiled(Kernel):
    """A kernel k(x, z) = curve(scale · measure(x, z) + shift), both computed by the core.

    A subclass gives `form`, and may transform rows by `prepare` before they are measured.
    """

    def form(self) -> core.KernelForm:
        """Measure, curve and numbers, as the core takes them; all parameters are numbers by now."""
        raise NotImplementedError

    def prepare(self, X: Any) -> Any:
        """The rows to measure in place of X, of the same type."""
        return X

    def rows(self, X, dtype=None):
        X = as_rows(X)
        kernel = self.resolve(X)
        dtype = np.dtype(X.dtype if dtype is None else dtype)
        if sp.issparse(X) and _is_thin(X, kernel.form()):
            return SparseRows(kernel, X, dtype)
        if sp.issparse(X):
            X = X.toarray()
        return DenseRows(kernel, X, dtype, _center(X) if _has_no_origin(kernel.form()) else None)

    def gram(self, X, Z=None):
        return gram_of_rows(self, X, Z)

    def diagonal(self, X):
        return self.rows(X).diagonal()


class CompiledRows(Rows):
    """Rows and their squared lengths, as the compiled core takes them; dense or sparse."""

    def __init__(self, kernel: Any, X: Any, form: core.KernelForm):
        self.kernel = kernel
        self.X = X
        self.dtype = X.dtype
        self.form = form
        self.squares = Design(X).row_square_sums(np.ones(X.shape[1])).astype(X.dtype)

    def only(self, index: Array | slice) -> Rows:
        some = copy.copy(self)
        some.__dict__.pop("_design", None)
        X, some.squares = self.X[index], np.ascontiguousarray(self.squares[index])
        some.X = X if sp.issparse(X) else np.ascontiguousarray(X)
        return some

    def diagonal(self) -> Array:
        # From ‖x‖² for a kernel of products, else from distance 0.
        values = np.zeros((len(self), 1))
        if self.form.measure == core.Measure.product:
            values[:, 0] = self.squares
        _call(core.kernel_of_products, self.form, np.zeros(len(self)), np.zeros(1), values)
        return values[:, 0]


class DenseRows(CompiledRows):
    """Rows as an array, shifted by a centre if the kernel depends on differences alone.

    ‖x − z‖² is computed as ‖x‖² + ‖z‖² − 2⟨x, z⟩, which loses digits far from the origin.
    """

    def __init__(self, kernel: Any, X: Array, dtype: Any, center: Array | None):
        self.center = center
        X = kernel.prepare(X)
        form, power = _rescaled(kernel.form(), dtype)
        # Shifted and scaled before rounding to float32, so that neither a large mean nor an odd
        # unit costs digits.
        if center is not None:
            X = np.subtract(X, center, dtype=np.result_type(X.dtype, dtype))
        if power:
            X = _scaled(X, power)
        super().__init__(kernel, np.ascontiguousarray(X, dtype=dtype), form)

    def of(self, X: Any) -> Rows:
        X = as_rows(X)
        _check_columns(X, self.X)
        X = X.toarray() if sp.issparse(X) else X
        return DenseRows(self.kernel, X, self.dtype, self.center)

    def operands(self) -> tuple | None:
        return (self.form, self.X, self.squares) if _is_by_product(self.form) else None

    def gram(self, other: Rows | None = None) -> Array:
        if other is None:
            out = blank((len(self), len(self)), self.dtype)
            self.gram_into(out)
            return out
        assert isinstance(other, DenseRows)
        out = blank((len(self), len(other)), self.dtype)
        _call(core.kernel_block, self.form, self.X, self.squares, other.X, other.squares, out)
        return out

    def gram_into(self, out: Array) -> None:
        _call(core.kernel_gram, self.form, self.X, self.squares, out)

    def times(self, other: Rows, coef: Array) -> Array:
        assert isinstance(other, DenseRows)
        out = np.empty((len(self), coef.shape[1]))
        operands = (self.X, self.squares, other.X, other.squares)
        _call(core.kernel_times, self.form, *operands, coef, out)
        return out

    def times_each(self, products: Sequence[tuple[Array, Array]]) -> list[Array]:
        found = [np.empty(len(index)) for index, _ in products]
        tasks = [(*product, out) for product, out in zip(products, found)]
        _call(core.kernel_times_each, self.form, self.X, self.squares, tasks)
        return found


class SparseRows(CompiledRows):
    """Rows of a sparse matrix, multiplied as such; the same curves as for dense ones."""

    def __init__(self, kernel: Any, X: Any, dtype: Any):
        X = kernel.prepare(X)
        form, power = _rescaled(kernel.form(), dtype)
        if power:
            X = _scaled(X, power)
        super().__init__(kernel, X.astype(dtype, copy=False), form)

    def of(self, X: Any) -> Rows:
        X = as_rows(X)
        _check_columns(X, self.X)
        return SparseRows(self.kernel, sp.csr_array(X), self.dtype)

    def gram(self, other: Rows | None = None) -> Array:
        right = self if other is None else other
        assert isinstance(right, SparseRows)
        out = blank((len(self), len(right)), self.dtype)
        left = self._design.rows_view()
        operands = (left, self.squares, right._design.columns_view(), right.squares)
        _call(core.sparse_kernel_block, self.form, *operands, other is None, out)
        return out

    @cached_property
    def _design(self) -> Design:
        return Design(self.X)


def _call(function: Any, *args: Any) -> None:
    with single_blas():
        function(*args, thread_count(), deadline())


def _is_by_product(form: core.KernelForm) -> bool:
    return form.measure in (core.Measure.product, core.Measure.squared_distance)


def _rescaled(form: core.KernelForm, dtype: Any) -> tuple[core.KernelForm, int]:
    """The form for rows times 2^power, so that their squares are in the range of the curve.

    In float32 the squares of large or small units would overflow or vanish. A power of two does not
    round.
    """
    if dtype == np.float64 or not _is_by_product(form) or form.scale == 0:
        return form, 0
    power = round(math.log2(abs(form.scale)) / 2)
    scale = math.ldexp(form.scale, -2 * power)
    return core.KernelForm(form.measure, form.curve, scale, form.shift, form.degree), power


def _scaled(X: Any, power: int) -> Any:
    """X · 2^power, exactly, in a fraction of the time of `ldexp`; float32 lacks the range."""
    return X.astype(np.float64, copy=False) * math.ldexp(1.0, power)


def _has_no_origin(form: core.KernelForm) -> bool:
    """Whether the kernel is computed by inner products and depends on differences alone."""
    return form.measure == core.Measure.squared_distance


def _is_thin(X: Any, form: core.KernelForm) -> bool:
    """Whether products of the rows of a sparse X cost less sparse than dense.

    Sparse, they take a multiplication for each pair of entries in one column.
    """
    pairs = np.sum(np.bincount(X.indices, minlength=1).astype(float) ** 2)
    return _is_by_product(form) and SPARSE_COST * pairs < float(X.shape[0]) ** 2 * X.shape[1]


def _center(X: Array) -> Array:
    """About the mean of the columns, rounded to a power of two not above their spread.

    With this rounding, integers stay integers, and their products exact, when it is subtracted.
    """
    if not len(X):
        return np.zeros(X.shape[1])
    design = Design(X)
    mean = design.transposed_times(np.full(len(X), 1 / len(X)))
    spread = np.sqrt(Design(X, mean).column_square_sums() / len(X))
    is_plain = (spread > 0) & np.isfinite(spread)
    step = np.exp2(np.floor(np.log2(np.where(is_plain, spread, 1.0))))
    return np.where(is_plain, np.round(mean / step) * step, mean)


def _check_columns(X: Any, like: Any) -> None:
    if X.shape[1] != like.shape[1]:
        raise ValueError(
            f"X has {X.shape[1]} columns and the rows it is compared with have {like.shape[1]}; "
            "give both the same features."
        )
