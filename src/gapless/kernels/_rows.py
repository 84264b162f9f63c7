"""Rows prepared once for a kernel, for many blocks of its values."""

from __future__ import annotations

import math
import mmap
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._ground.design import Design
from .._ground.memory import blocks

Array = np.ndarray


# Bytes from which `blank` asks the system directly; malloc keeps less for the next array.
LARGE = 1 << 25


def blank(shape: tuple[int, ...], dtype: Any) -> Array:
    """An uninitialised array, like `np.empty`, on ordinary pages of memory.

    NumPy asks for huge pages. In a virtual machine that returns free memory to its host, these are
    the ones given away, and they cost five times as much to get back: 2.4 s for a gigabyte where
    this was measured.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size < LARGE or sys.platform != "linux":
        return np.empty(shape, dtype)
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.frombuffer(memory, dtype).reshape(shape)


def as_rows(X: Any) -> Any:
    """X as a two-dimensional array or a CSR matrix of float32 or float64; itself if it is one."""
    X = X.tocsr() if sp.issparse(X) else np.asarray(X)
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got shape {X.shape}; use X.reshape(-1, 1).")
    return X


def count_rows(X: Any) -> int:
    """The number of rows of an array, a sparse matrix or a sequence."""
    return X.shape[0] if hasattr(X, "shape") else len(X)


def take_rows(X: Any, index: Array | slice) -> Any:
    """Some rows of an array, a sparse matrix or a sequence."""
    if hasattr(X, "shape"):
        return X[index]
    return X[index] if isinstance(index, slice) else [X[i] for i in index]


class Rows:
    """Rows prepared for a kernel; this class uses the kernel's own `gram` for everything.

    Parameters
    ----------
    kernel : Kernel
        The kernel; data-dependent parameters are taken from X.
    X : {array-like, sparse matrix} of shape (n, d), or what the kernel takes
        The rows.
    dtype : float32 or float64, optional
        Precision of the values; by default that of X.
    """

    def __init__(self, kernel: Any, X: Any, dtype: Any = None):
        self.kernel = kernel.resolve(X)
        self.X = X
        given = getattr(X, "dtype", None)
        default = np.float32 if given == np.float32 else np.float64
        self.dtype = np.dtype(default if dtype is None else dtype)

    def __len__(self) -> int:
        return count_rows(self.X)

    def of(self, X: Any) -> Rows:
        """Other rows, prepared in the same way, to compare with these."""
        return Rows(self.kernel, X, self.dtype)

    def only(self, index: Array | slice) -> Rows:
        """Some of the rows."""
        return Rows(self.kernel, take_rows(self.X, index), self.dtype)

    def chunks(self, X: Any) -> Iterator[tuple[slice, Rows]]:
        """Other rows in chunks: positions in X, and the rows prepared to compare with these."""
        columns = X.shape[1] if len(getattr(X, "shape", ())) == 2 else 1
        # Few enough to reuse memory instead of allocating it anew.
        for chunk in blocks(count_rows(X), 2 * columns, at_least=256):
            yield chunk, self.of(take_rows(X, chunk))

    def operands(self) -> tuple | None:
        """Form, rows and their squared lengths, from which the core computes values by products.

        None if values are computed in another way.
        """
        return None

    def diagonal(self) -> Array:
        """k(xᵢ, xᵢ), float64."""
        return np.array(self.kernel.diagonal(self.X), dtype=np.float64)

    def gram(self, other: Rows | None = None) -> Array:
        """Values between these rows and the others (or all pairs of these), a new array."""
        values = self.kernel.gram(self.X) if other is None else self.kernel.gram(self.X, other.X)
        shape = (len(self), len(self if other is None else other))
        if np.shape(values) != shape:
            raise ValueError(
                f"the {self.kernel.name} kernel made values of shape {np.shape(values)} "
                f"from {shape[0]} and {shape[1]} rows; its gram must return shape {shape}."
            )
        return np.array(values, dtype=self.dtype, order="C")

    def gram_into(self, out: Array) -> None:
        """Values between all pairs of these rows, written into an existing array."""
        out[...] = self.gram()

    def times(self, other: Rows, coef: Array) -> Array:
        """gram(other) @ coef for coef (m, k), by blocks, float64."""
        n = len(self)
        out = np.empty((n, coef.shape[1]))
        for chunk in blocks(n, len(other)):
            out[chunk] = Design(self.only(chunk).gram(other)).times(coef)
        return out

    def times_each(self, products: Sequence[tuple[Array, Array]]) -> list[Array]:
        """The product gram() @ coef of the rows at index, for each (index, coef (m,))."""
        found = []
        for index, coef in products:
            used = np.flatnonzero(coef)
            some = self.only(index)
            found.append(some.times(some.only(used), coef[used, None])[:, 0])
        return found


class CombinedRows(Rows):
    """Rows prepared for the parts of a kernel that combines their values."""

    def __init__(self, kernel: Any, parts: list[Rows]):
        self.kernel = kernel
        self.parts = parts
        self.dtype = parts[0].dtype

    def __len__(self) -> int:
        return len(self.parts[0])

    def of(self, X: Any) -> Rows:
        return CombinedRows(self.kernel, [part.of(X) for part in self.parts])

    def only(self, index: Array | slice) -> Rows:
        return CombinedRows(self.kernel, [part.only(index) for part in self.parts])

    def diagonal(self) -> Array:
        return self.kernel.combine(*(part.diagonal() for part in self.parts))

    def gram(self, other: Rows | None = None) -> Array:
        if other is None:
            return self.kernel.combine(*(part.gram() for part in self.parts))
        assert isinstance(other, CombinedRows)
        pairs = zip(self.parts, other.parts, strict=True)
        return self.kernel.combine(*(mine.gram(theirs) for mine, theirs in pairs))


def gram_of_rows(kernel: Any, X: Any, Z: Any = None) -> Array:
    """`gram` for kernels that prepare rows first: float32 if X and Z are, else float64."""
    if Z is None:
        return kernel.rows(X).gram()
    dtypes = [getattr(rows, "dtype", None) for rows in (X, Z)]
    base = kernel.rows(Z, np.float32 if dtypes == [np.float32, np.float32] else np.float64)
    return base.of(X).gram(base)
