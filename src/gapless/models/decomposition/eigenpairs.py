"""The largest eigenvalues of a symmetric operator, from products with blocks of vectors alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from sklearn.utils import check_random_state

from ..._ground.design import Design
from ..._ground.interrupt import TimeLimit, check
from ..._ground.lapack import call_lapack, eigh
from ..._ground.threads import single_blas

Array = np.ndarray

# Vectors multiplied together: fewer leave the processor waiting for memory, more take more work.
WIDTH = 16
# A new direction shorter than this many units of rounding is rounding.
ROUNDING = 64.0


@dataclass(frozen=True, eq=False)
class EigenPairs:
    """The largest eigenvalues found, decreasing, and their vectors.

    Parameters
    ----------
    values : ndarray of shape (k,)
        Rayleigh quotients of the vectors.
    vectors : ndarray of shape (size, k)
        Orthonormal columns.
    residuals : ndarray of shape (k,)
        ‖Av − λv‖, up to rounding: an eigenvalue of A is at most this far from each value.
    next_value : float
        The largest Rayleigh quotient left out: an estimate of eigenvalue k + 1 from below.
    iterations : int
        Blocks that were multiplied.
    is_done : bool
        Whether it stopped because the residuals are small enough.
    is_interrupted : bool
        Whether Ctrl-C stopped it.
    residual_products : ndarray of shape (k, k)
        RᵀR for the residuals R = AV − VΛ, where an iteration knows it.
    """

    values: Array
    vectors: Array
    residuals: Array
    next_value: float
    iterations: int
    is_done: bool
    is_interrupted: bool = False
    residual_products: Array = field(default_factory=lambda: np.zeros((0, 0)))


def top_eigenpairs(
    times: Callable[[Array], Array],
    size: int,
    count: int,
    *,
    tol: float = 1e-8,
    start: Array | None = None,
    seed: int | np.random.RandomState = 0,
    width: int | None = None,
    most_iterations: int = 10_000,
    dtype: type | np.dtype = np.float64,
    is_enough: Callable[[Array, Array, float], bool] | None = None,
    after_step: Callable[[Array, Array], bool] | None = None,
) -> EigenPairs:
    """The `count` largest eigenvalues of a symmetric positive semi-definite A, given V ↦ AV.

    Block Lanczos with full orthogonalisation and thick restarts (Wu and Simon 2000, SIAM J. Matrix
    Anal. 22; Stewart 2001, SIAM J. Matrix Anal. 23): the vectors found so far stay in the basis
    when it is full, so that nothing converges twice. A random block finds as many copies of a
    multiple eigenvalue as it has vectors; if that many are found, wider blocks look for more.

    Parameters
    ----------
    times : function
        A times a block (size, b), in the precision of `dtype`. It obeys Ctrl-C and time limits.
    size : int
        The number of rows and columns of A.
    count : int
        How many pairs, from 1 to `size`.
    tol : float, default=1e-8
        Stop when every residual ‖Av − λv‖ is at most `tol` times the largest eigenvalue.
    start : ndarray of shape (size, b), optional
        Vectors near the eigenvectors, from an earlier computation. Random ones join them.
    seed : int or RandomState, default=0
        Of the random vectors.
    width : int, optional
        Vectors in a block.
    most_iterations : int, default=10000
        Stop after this many blocks.
    dtype : float32 or float64
        Of the vectors.
    is_enough : function, optional
        A rule in place of `tol`: of the values and residuals found, and the next value.
    after_step : function, optional
        Called with the values and residuals after each block; returns True to stop.

    Returns
    -------
    EigenPairs
        If a time limit passes, or Ctrl-C comes, after the first blocks, the best so far, with
        `is_done` False; before that, TimeLimit or KeyboardInterrupt is raised.

    Notes
    -----
    Costs one product for each block and 8·size·m·b for a basis of m vectors; memory for m vectors,
    about 2·count + 6·width. Same bits for any number of threads if the products have them.
    """
    if not 1 <= count <= size:
        raise ValueError(f"count must be from 1 to the size {size}, got {count}.")
    basis = _Basis(times, size, count, _width(size, count, width, start), np.dtype(dtype), seed)
    if is_enough is None:

        def is_enough(values: Array, residuals: Array, beyond: float) -> bool:
            return bool(np.all(residuals <= tol * values[0]))

    iterations, before = 0, None
    try:
        block = basis.first_block(start)
        while True:
            check()
            block = basis.extend(block)
            iterations += 1
            if basis.filled < count:
                continue
            found = basis.found()
            is_done = basis.filled == size or (basis.is_explored() and is_enough(*found))
            is_stopped = after_step is not None and after_step(*found[:2])
            if is_done and not is_stopped and basis.may_lack_copies():
                before, basis = basis.pairs(iterations, False), basis.anew()
                block = basis.first_block(start)
                continue
            if is_done or is_stopped or iterations >= most_iterations:
                return basis.pairs(iterations, is_done)
            basis.make_room(block.shape[1])
    except (TimeLimit, KeyboardInterrupt) as reason:
        best = basis.pairs(iterations, False) if basis.is_whole() else before
        if best is None:
            raise
        return replace(best, is_interrupted=isinstance(reason, KeyboardInterrupt))


def _width(size: int, count: int, width: int | None, start: Array | None) -> int:
    """How many vectors a block has: all that are given to start with, at least."""
    wanted = max(WIDTH, min(count // 2, 2 * WIDTH)) if width is None else width
    return max(1, min(size, max(wanted, 0 if start is None else start.shape[1])))


class _Basis:
    """Orthonormal vectors Q with H = QᵀAQ, and how A times the last of them leaves their span.

    AQ = QH + B·[0 | outside], where B is the block to add next: so the residuals of all Rayleigh
    quotients are known without another product.
    """

    def __init__(
        self,
        times: Callable[[Array], Array],
        size: int,
        count: int,
        width: int,
        dtype: np.dtype,
        seed: int | np.random.RandomState,
    ):
        self.times, self.size, self.count, self.width, self.dtype = times, size, count, width, dtype
        self.kept = min(size, count + max(width // 2, count // 4))
        self.most = min(size, self.kept + max(5 * width, count // 2))
        self.Q = np.empty((size, self.most), dtype, order="F")
        self.H = np.zeros((self.most, self.most))
        self.filled = 0
        self.random = check_random_state(seed)
        self.outside = np.zeros((0, 0))
        self.values, self.turned = np.zeros(0), np.zeros((0, 0))
        self.known = 0.0
        # How many vectors there are, the values, how they turn the vectors, and what is outside, as
        # they belong together: an interruption finds the others in the middle of a step.
        self.whole: tuple[int, Array, Array, Array] | None = None

    def first_block(self, start: Array | None) -> Array:
        """The given vectors and random ones, orthonormal."""
        block = self._random(self.width)
        if start is not None:
            block[:, : start.shape[1]] = start
        return self._complete(_split(block, np.sqrt(self.size))[0])

    def extend(self, block: Array) -> Array:
        """Add an orthonormal block; returns the next one, in which A leaves the span."""
        product = self.times(np.ascontiguousarray(block))
        before, after = self.filled, self.filled + block.shape[1]
        self.Q[:, before:after] = block
        self.filled = after
        within, product = self._outside(product)
        self.H[:after, before:after] = within
        self.H[before:after, :after] = within.T
        scale = float(np.abs(np.diag(self.H)[:after]).max())
        if after >= self.count:
            self.values, self.turned = _decreasing(self.H[:after, :after])
        following, self.outside = _split(product, scale)
        following = following[:, : self.size - after]
        self.outside = self.outside[: self.size - after]
        if following.shape[1] and np.linalg.norm(self.outside, axis=1).min() < 0.01 * scale:
            # What is short has lost its right angle to the basis by rounding.
            following = _split(self._outside(following)[1], 1.0)[0]
            self.outside = self.outside[: following.shape[1]]
        if not following.shape[1] and after < self.size:
            # The span is invariant: only directions that it does not contain can add anything.
            following = self._complete(following)
        if after >= self.count:
            self.whole = after, self.values, self.turned, self.outside
        return following

    def is_whole(self) -> bool:
        """Whether there are vectors to return."""
        return self.whole is not None

    def may_lack_copies(self) -> bool:
        """Whether an eigenvalue was found as often as a random block can find it."""
        if self.width >= self.size or self.count < self.width:
            return False
        near = self.values[0] * np.sqrt(np.finfo(self.dtype).eps)
        first, last = self.values[: self.count - self.width + 1], self.values[self.width - 1 :]
        is_repeated = first - last[: len(first)] <= near
        return bool(np.any(is_repeated & (first > 2 * near)))

    def anew(self) -> _Basis:
        """An empty basis for blocks twice as wide."""
        width = min(2 * self.width, self.size)
        return _Basis(self.times, self.size, self.count, width, self.dtype, self.random)

    def is_explored(self) -> bool:
        """Whether the values are more than those of an invariant span.

        Such a span may lack copies of an eigenvalue whose multiplicity exceeds the width. Fresh
        directions show them: the sum of the values grows.
        """
        if self.outside.shape[0]:
            return True
        before, self.known = self.known, float(self.values[: self.count].sum())
        return self.known <= before * (1 + ROUNDING * np.finfo(self.dtype).eps)

    def found(self) -> tuple[Array, Array, float]:
        """The largest values, their residuals, and the next value."""
        beyond = self.values[self.count] if self.filled > self.count else 0.0
        return self.values[: self.count], np.linalg.norm(self._rest(), axis=0), float(beyond)

    def _rest(self) -> Array:
        """What A times each vector found leaves of the span, in the next block."""
        last = self.outside.shape[1]
        return self.outside @ self.turned[self.filled - last :, : self.count]

    def make_room(self, width: int) -> None:
        """Keep the vectors of the largest values if another block would be too many."""
        if self.filled + width <= self.most:
            return
        last = self.outside.shape[1]
        outside = self.outside @ self.turned[self.filled - last :, : self.kept]
        combined = self._combined(self.kept)
        self.whole = None
        self.Q[:, : self.kept] = combined
        self.H[:] = 0.0
        self.H[range(self.kept), range(self.kept)] = self.values[: self.kept]
        self.filled, self.values = self.kept, self.values[: self.kept]
        self.turned, self.outside = np.eye(self.kept), outside
        self.whole = self.filled, self.values, self.turned, self.outside

    def pairs(self, iterations: int, is_done: bool) -> EigenPairs:
        """What was found when the last step was complete."""
        assert self.whole is not None
        self.filled, self.values, self.turned, self.outside = self.whole
        values, residuals, beyond = self.found()
        rest = self._rest()
        vectors = self._combined(self.count)
        return EigenPairs(
            values,
            vectors,
            residuals,
            beyond,
            iterations,
            is_done,
            residual_products=rest.T @ rest,
        )

    def _combined(self, count: int) -> Array:
        """The vectors of the largest values; by NumPy, since a time limit may have passed."""
        with single_blas():
            return self.Q[:, : self.filled] @ self.turned[:, :count].astype(self.dtype)

    def _random(self, width: int) -> Array:
        return self.random.standard_normal((self.size, width)).astype(self.dtype)

    def _complete(self, block: Array) -> Array:
        """A block with random directions in place of those that it lacks, outside the basis."""
        lacking = min(self.width, self.size - self.filled) - block.shape[1]
        while lacking > 0:
            fresh = self._outside(self._random(lacking))[1]
            fresh -= block @ (block.T @ fresh)
            block = np.hstack([block, _split(fresh, np.sqrt(self.size))[0]])
            block = _split(self._outside(block)[1], 1.0)[0]
            lacking = min(self.width, self.size - self.filled) - block.shape[1]
        return block

    def _outside(self, block: Array) -> tuple[Array, Array]:
        """Qᵀ·block and what is left of the block; twice, since once leaves rounding behind."""
        basis = Design(self.Q[:, : self.filled])
        within = basis.transposed_times(block)
        block = block - basis.times(within)
        again = basis.transposed_times(block)
        block -= basis.times(again)
        return within + again, block


def _split(block: Array, scale: float) -> tuple[Array, Array]:
    """Orthonormal B, and T with block = B·T, without directions of rounding relative to `scale`.

    By the eigenvectors of blockᵀblock, in float64 and twice: what the first time leaves of right
    angles, the second mends (Yamamoto, Nakatsukasa, Yanagisawa and Fukaya 2015, ETNA 44).
    """
    own = block.astype(np.float64)
    eps = float(np.finfo(block.dtype).eps)
    with single_blas():
        values, U = np.linalg.eigh(own.T @ own)
        # Squares lose half of the digits: of directions below, only noise is left.
        least = max(
            ROUNDING * eps * scale, 1e-7 * np.sqrt(max(values[-1], 0.0)) if len(values) else 0.0
        )
        is_kept = values > least**2
        lengths, U = np.sqrt(values[is_kept])[::-1], U[:, is_kept][:, ::-1]
        turned = own @ (U / lengths)
        values, again = np.linalg.eigh(turned.T @ turned)
        roots = np.sqrt(values)
        mended = turned @ ((again / roots) @ again.T)
        # turned = mended·(again·roots·againᵀ), and block = turned·(lengths·Uᵀ).
        triangle = ((again * roots) @ again.T) @ (lengths[:, None] * U.T)
    return mended.astype(block.dtype), triangle


def _decreasing(H: Array) -> tuple[Array, Array]:
    values, vectors = call_lapack(eigh, H.copy())
    return values[::-1], vectors[:, ::-1]
