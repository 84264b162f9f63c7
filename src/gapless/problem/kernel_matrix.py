"""KernelMatrix: the Gram matrix of the training rows, whole or by blocks, within a memory limit."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from .._ground.memory import GIGABYTE, free_memory
from ..kernels import Kernel, Rows, blank

Array = np.ndarray

# A matrix of so many bytes fits without a look at the free memory, which takes longer than small
# matrices themselves.
SMALL = 1 << 23
CURE = "use fewer rows, an approximation of the kernel, or a larger memory limit"


class KernelMatrix:
    """The n × n matrix K of a kernel between training rows, as solvers see it.

    Blocks are computed on request; the whole matrix is computed once, if it fits.

    Parameters
    ----------
    kernel : Kernel
        The kernel; parameters that depend on the data are taken from X. For `Precomputed`, X is the
        matrix itself.
    X : {ndarray, sparse matrix} of shape (n, d), or what the kernel takes
        The training rows.
    dtype : float32 or float64, default=float64
        Precision of blocks and of the whole matrix. Products by `times` are always float64.
    memory_limit : float, optional
        The most bytes a block or the whole matrix may take; by default half of the free memory.

    Attributes
    ----------
    n : int
        Number of rows.
    kernel : Kernel
        The kernel, with all parameters resolved to numbers.
    diagonal : ndarray of shape (n,)
        k(xᵢ, xᵢ), float64.

    Notes
    -----
    The whole matrix takes n² numbers and O(n²d/2) operations, a block of b rows O(bnd).
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        *,
        dtype: Any = np.float64,
        memory_limit: float | None = None,
    ):
        self.kernel = kernel.resolve(X)
        self.X = X
        self.dtype = np.dtype(dtype)
        self._given_limit = memory_limit
        self._rows = self.kernel.rows(X, self.dtype)
        self.n = len(self._rows)
        self._whole: Array | None = None
        self._origin: tuple[KernelMatrix, Array] | None = None

    def with_kernel(self, kernel: Kernel) -> KernelMatrix:
        """The matrix of another kernel between the same rows."""
        return KernelMatrix(kernel, self.X, dtype=self.dtype, memory_limit=self._given_limit)

    @cached_property
    def memory_limit(self) -> float:
        """The most bytes that a block or the whole matrix may take."""
        return free_memory() / 2 if self._given_limit is None else float(self._given_limit)

    @property
    def is_mercer(self) -> bool:
        """Whether K is known to be positive semi-definite, whatever the rows."""
        return self.kernel.is_mercer

    @cached_property
    def diagonal(self) -> Array:
        """k(xᵢ, xᵢ), float64."""
        return self._exact_rows.diagonal()

    def operands(self) -> tuple | None:
        """The operands from which the core computes values by products, see `Rows.operands`."""
        return self._rows.operands()

    def whole(self) -> Array | None:
        """K (n × n), or None if it does not fit the memory limit; kept, so do not write to it."""
        if self._whole is None and self._fits(self._bytes(self.n, self.n)):
            self._whole = self._rows.gram()
        return self._whole

    def required(self, cure: str = CURE) -> Array:
        """The same, or a MemoryError with a cure if it does not fit the memory limit."""
        self._check_memory(self.n, self.n, cure)
        K = self.whole()
        assert K is not None
        return K

    def room(self, most: int) -> Array:
        """Memory for a `part` of up to `most` rows, or for as many as the limit allows."""
        side = most
        if not self._fits(self._bytes(most, most)):
            side = min(most, int(np.sqrt(self.memory_limit / self.dtype.itemsize)))
        return blank((side * side,), self.dtype)

    def part(self, rows: Array, room: Array) -> Array:
        """K[rows][:, rows] in reused memory: allocating it anew takes as long as computing K."""
        out = room[: len(rows) ** 2].reshape(len(rows), len(rows))
        if self._whole is not None:
            out[...] = self._whole[np.ix_(rows, rows)]
        else:
            self._rows.only(rows).gram_into(out)
        return out

    def block(self, rows: Array, columns: Array | None = None) -> Array:
        """K[rows][:, columns], all columns by default; a new array.

        Raises MemoryError before allocating anything if the block exceeds the memory limit.
        """
        rows = np.asarray(rows)
        count = self.n if columns is None else len(columns)
        if self._whole is not None:
            return self._whole[rows] if columns is None else self._whole[np.ix_(rows, columns)]
        self._check_memory(len(rows), count)
        chosen = self._rows if columns is None else self._rows.only(np.asarray(columns))
        out = self._rows.only(rows).gram(chosen)
        # For a row with itself the diagonal is exact, where a product would leave rounding.
        if columns is None:
            out[np.arange(len(rows)), rows] = self.diagonal[rows]
        else:
            i, j = np.nonzero(rows[:, None] == np.asarray(columns))
            out[i, j] = self.diagonal[rows[i]]
        return out

    def exact(self, rows: Array) -> Array:
        """K[rows][:, rows] in float64, recomputed from X."""
        return self._exact_rows.only(rows).gram()

    def times(self, coef: Array, rows: Array | None = None) -> Array:
        """K[rows] @ coef for coef (n,) or (n, k), float64, with the kernel recomputed from X.

        Rows of zeros in coef cost nothing.
        """
        coef = np.asarray(coef, dtype=np.float64)
        matrix = np.ascontiguousarray(coef if coef.ndim == 2 else coef[:, None])
        exact = self._exact_rows
        used = np.flatnonzero(matrix.any(axis=1))
        left = exact if rows is None else exact.only(np.asarray(rows))
        out = left.times(exact.only(used), np.ascontiguousarray(matrix[used]))
        if self.kernel.noise:
            out += self.kernel.noise * (matrix if rows is None else matrix[rows])
        return out.reshape(len(left), *coef.shape[1:])

    def times_each(self, products: Sequence[tuple[Array, Array]]) -> list[Array]:
        """The product K[rows][:, rows] @ coef for each (rows, coef), as `times` computes it.

        Rows are distinct positions in int64, and coef is float64.
        """
        found = self._exact_rows.times_each(products)
        if self.kernel.noise:
            found = [out + self.kernel.noise * coef for out, (_, coef) in zip(found, products)]
        return found

    def scores(self, X: Any, coef: Array) -> Array:
        """The scores (rows, k) of other rows by coefficients (n, k) of the training rows."""
        return self.kernel.times(X, self.X, coef)

    def only(self, rows: Array) -> KernelMatrix:
        """The matrix of some of the rows; read off the whole one if that is there."""
        rows = np.asarray(rows)
        part = copy.copy(self)
        for made in ("diagonal", "_exact_rows"):
            part.__dict__.pop(made, None)
        part.n = len(rows)
        part.X = self.kernel.pick(self.X, rows)
        part._rows = self._rows.only(rows)
        part._whole = None if self._whole is None else self._whole[np.ix_(rows, rows)]
        part._origin = (self, rows)
        return part

    @cached_property
    def _exact_rows(self) -> Rows:
        """The rows in float64."""
        if self.dtype == np.float64:
            return self._rows
        if self._origin is not None:
            matrix, rows = self._origin
            return matrix._exact_rows.only(rows)
        return self.kernel.rows(self.X, np.float64)

    def _bytes(self, rows: int, columns: int) -> float:
        return float(rows) * columns * self.dtype.itemsize

    def _fits(self, needed: float) -> bool:
        is_small = self._given_limit is None and needed <= SMALL
        return is_small or needed <= self.memory_limit

    def _check_memory(self, rows: int, columns: int, cure: str = CURE) -> None:
        needed = self._bytes(rows, columns)
        if not self._fits(needed):
            raise MemoryError(
                f"{rows:,} × {columns:,} kernel values take {needed / GIGABYTE:.2g} GB, and the "
                f"limit is {self.memory_limit / GIGABYTE:.2g} GB; {cure}."
            )
