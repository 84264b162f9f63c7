"""Cholesky factors of large matrices on all threads, with the same bits for any number of them.

The factor grows by blocks of columns. Each block subtracts the columns before it in one product per
chunk of rows; chunks are fixed and BLAS runs on one thread inside them, so threads only share the
work. Ctrl-C and the time limit are checked after every block.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from scipy.linalg import get_lapack_funcs

from .._ground.interrupt import check
from .._ground.threads import single_blas, thread_count

Array = np.ndarray

# Columns per block, and rows per chunk.
COLUMNS, ROWS = 256, 512


def blocked_cholesky(H: Array) -> Array | None:
    """L (lower, row by row in H's memory) with H = LLᵀ; None if H is not positive definite.

    H is float32 or float64, C-contiguous. Above the diagonal of L the entries of H remain.
    """
    n = len(H)
    potrf, trtri = get_lapack_funcs(("potrf", "trtri"), (H,))
    with single_blas(), ThreadPoolExecutor(thread_count()) as pool:
        for begin in range(0, n, COLUMNS):
            check()
            end = min(begin + COLUMNS, n)
            block = H[begin:end, begin:end]
            known = H[begin:end, :begin]
            block -= known @ known.T
            factor, failed = potrf(block, lower=1, clean=1)
            if failed:
                return None
            H[begin:end, begin:end] = factor
            inverse, _ = trtri(factor, lower=1)
            chunks = [slice(row, min(row + ROWS, n)) for row in range(end, n, ROWS)]
            list(pool.map(partial(_extend, H, known, inverse), chunks))
    return H


def _extend(H: Array, known: Array, inverse: Array, rows: slice) -> None:
    """Compute the block of columns after `known` in some rows below it."""
    begin = known.shape[1]
    part = H[rows, begin : begin + len(known)]
    part[...] = (part - H[rows, :begin] @ known.T) @ inverse.T
