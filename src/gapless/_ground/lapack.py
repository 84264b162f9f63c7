"""LAPACK without the interpreter's lock, so that workers do not block the thread they work for.

SciPy's functions for most routines hold the lock while they compute: a worker in one of them keeps
Ctrl-C and time limits waiting. SciPy also has the routines as C functions, which are called here.
Names, order and results of the functions are those of `scipy.linalg.lapack`; arrays are in Fortran
order, float32 or float64. Called within `call_lapack`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import cython_lapack

from .interrupt import in_worker
from .threads import single_blas

Array = np.ndarray

# Rows × columns × the smaller of them, from which a factorisation takes about ten milliseconds.
LONG = 5e7

LETTER = {np.dtype(np.float32): "s", np.dtype(np.float64): "d"}


def call_lapack(function: Callable[..., Any], matrix: Array, *args: Any) -> Any:
    """function(matrix, …) on one thread, in a worker if it takes long. It may overwrite the matrix.

    The function is one of this file, NumPy's, or another that releases the interpreter's lock.
    """
    with single_blas():
        if matrix.size * min(matrix.shape) < LONG:
            return function(matrix, *args)
        return in_worker(function, matrix, *args)


@cache
def _routine(name: str) -> Any:
    """The C function of that name; ctypes releases the lock while it runs."""
    capsule = cython_lapack.__pyx_capi__[name]
    api = ctypes.pythonapi
    get_name, get_pointer = api.PyCapsule_GetName, api.PyCapsule_GetPointer
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get_pointer.restype = ctypes.c_void_p
    get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return ctypes.CFUNCTYPE(None)(get_pointer(capsule, get_name(capsule)))


def _call(name: str, matrix: Array, *args: Any) -> int:
    """Call the routine for the type of the matrix, all arguments by address; return its `info`."""
    info = ctypes.c_int()
    held = [_held(arg, matrix.dtype) for arg in args]
    _routine(LETTER[matrix.dtype] + name)(*held, ctypes.byref(info))
    return info.value


def _held(value: Any, dtype: np.dtype) -> Any:
    """The address of a character, an integer, a number or an array."""
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.ctypes.data)
    if isinstance(value, bytes):
        return ctypes.byref(ctypes.c_char(value))
    if isinstance(value, int):
        return ctypes.byref(ctypes.c_int(value))
    number = ctypes.c_float if dtype == np.float32 else ctypes.c_double
    return ctypes.byref(number(value))


def _own(matrix: Array, is_given: bool) -> Array:
    """The matrix itself if it may be overwritten and has the right layout, else a copy."""
    if is_given and matrix.flags.f_contiguous and matrix.dtype in LETTER:
        return matrix
    return np.array(matrix, order="F", dtype=matrix.dtype if matrix.dtype in LETTER else float)


def _triangle(lower: int) -> bytes:
    return b"L" if lower else b"U"


def potrf(a: Array, lower: int = 0, clean: int = 1, overwrite_a: int = 0) -> tuple[Array, int]:
    """Cholesky factor of a symmetric matrix; the second result is 0 on success."""
    c, n = _own(a, bool(overwrite_a)), len(a)
    info = _call("potrf", c, _triangle(lower), n, c, max(n, 1))
    if clean:
        c = np.tril(c) if lower else np.triu(c)
    return c, info


def potri(c: Array, lower: int = 0, overwrite_c: int = 0) -> tuple[Array, int]:
    """The inverse, in one triangle, from a Cholesky factor."""
    inverse, n = _own(c, bool(overwrite_c)), len(c)
    return inverse, _call("potri", inverse, _triangle(lower), n, inverse, max(n, 1))


def trtri(c: Array, lower: int = 0) -> tuple[Array, int]:
    """The inverse of a triangular matrix."""
    inverse, n = _own(c, False), len(c)
    return inverse, _call("trtri", inverse, _triangle(lower), b"N", n, inverse, max(n, 1))


def pstrf(
    a: Array, tol: float = -1.0, lower: int = 0, overwrite_a: int = 0
) -> tuple[Array, Array, int, int]:
    """Cholesky factor with pivots, counted from 1, until the remainder is below `tol`; its rank."""
    c, n = _own(a, bool(overwrite_a)), len(a)
    pivots, rank = np.zeros(n, dtype=np.int32), np.zeros(1, dtype=np.int32)
    work = np.empty(max(2 * n, 1), dtype=c.dtype)
    info = _call("pstrf", c, _triangle(lower), n, c, max(n, 1), pivots, rank, float(tol), work)
    return c, pivots, int(rank[0]), info


def eigh(H: Array) -> tuple[Array, Array]:
    """Eigenvalues, increasing, and eigenvectors of a symmetric H, which may be overwritten."""
    # The transpose of a symmetric matrix is the same.
    vectors = _own(H.T if H.flags.c_contiguous else H, True)
    n, values = len(vectors), np.empty(len(vectors), dtype=vectors.dtype)
    if not n:
        return values, vectors
    work, whole = np.empty(1, dtype=vectors.dtype), np.empty(1, dtype=np.int32)
    _call("syevd", vectors, b"V", b"L", n, vectors, n, values, work, -1, whole, -1)
    # The size is returned as a number of this precision, which may round it down.
    sizes = max(int(np.nextafter(work[0], np.inf)), 1 + 6 * n + 2 * n * n), max(int(whole[0]), 1)
    work, whole = np.empty(sizes[0], dtype=vectors.dtype), np.empty(sizes[1], dtype=np.int32)
    options = (values, work, sizes[0], whole, sizes[1])
    if _call("syevd", vectors, b"V", b"L", n, vectors, n, *options):
        raise np.linalg.LinAlgError("the eigenvalues of a matrix could not be computed")
    return values, vectors


def largest_eigh(H: Array, count: int) -> tuple[Array, Array]:
    """The `count` largest eigenvalues, increasing, and their eigenvectors; H may be overwritten."""
    matrix = _own(H.T if H.flags.c_contiguous else H, True)
    n, dtype = len(matrix), matrix.dtype
    values, vectors = np.empty(n, dtype=dtype), np.empty((n, count), dtype=dtype, order="F")
    found, support = np.zeros(1, dtype=np.int32), np.empty(2 * max(count, 1), dtype=np.int32)
    which = (b"V", b"I", b"L", n, matrix, n, 0.0, 0.0, n - count + 1, n, 0.0, found, values)
    sizes = max(26 * n, 1 + 64 * n), max(10 * n, 1)
    work, whole = np.empty(sizes[0], dtype=dtype), np.empty(sizes[1], dtype=np.int32)
    info = _call("syevr", matrix, *which, vectors, n, support, work, sizes[0], whole, sizes[1])
    if info:
        raise np.linalg.LinAlgError("the eigenvalues of a matrix could not be computed")
    return values[:count], vectors
