"""Features Φ of a kernel, with ΦΦᵀ = K: on them a kernel machine is a linear model.

A model f = Σⱼ αⱼ k(zⱼ, ·) + b with any loss and the penalty ½λ‖f‖² is the linear model Φw + b with
½λ‖w‖², where Φ is any factor of the Gram matrix. So problems, solvers, certificates and
leave-one-out serve kernels unchanged. `factor` makes the features: exact to rounding (pivoted
Cholesky), of landmarks (Nyström), or random (Fourier). Called by the estimators with a kernel;
knows kernels and designs, never an estimator.

References
----------
Williams and Seeger (2001), Using the Nyström method to speed up kernel machines, NIPS 13.
Musco and Musco (2017), Recursive sampling for the Nyström method, NeurIPS 30.
Chen, Epperly, Tropp and Webber (2025), Randomly pivoted Cholesky, Comm. Pure Appl. Math. 78.
Rahimi and Recht (2007), Random features for large-scale kernel machines, NIPS 20.
Yu, Suresh, Choromanski, Holtmann-Rice and Kumar (2016), Orthogonal random features, NIPS 29.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.linalg

from .._ground.design import Design
from .._ground.distinct_rows import DistinctRows
from .._ground.interrupt import check
from .._ground.lapack import call_lapack, pstrf
from .._ground.memory import GIGABYTE, free_memory
from .._ground.stored import Declaration, Maybe, Nothing, Numbers, Unused, Value, Word
from .._ground.threads import single_blas
from ..kernels import Kernel, Rows

Array = np.ndarray

EXACT, NYSTROEM, RANDOM, UNFINISHED = "exact", "nystroem", "random_features", "unfinished"
PRECOMPUTED = "precomputed"
# The remainder of kᵢᵢ, relative to the largest, at which the landmarks explain a row.
RESIDUAL = {np.dtype(np.float64): 1e-13, np.dtype(np.float32): 1e-6}
# A larger error of ΦΦᵀ, relative to the largest kᵢᵢ, shows that K is not positive semi-definite.
INDEFINITE = 1e-6
# The number of non-pivot rows to check.
CHECKED = 500
# At least and at most this many landmarks are drawn at a time; in between, half the current number.
FIRST_BLOCK, BLOCK = 4, 32
# They are drawn from this many rows for each of them, and from at least this many.
ROWS_PER_LANDMARK, SMALLEST_POOL = 10, 5000
# Numbers in a block of features.
ENTRIES = 1 << 22


class Tried(NamedTuple):
    """A number of features, minus the mean loss of held-out rows, and its standard error."""

    rank: int
    unseen: float
    standard_error: float


@dataclass(frozen=True, eq=False, repr=False)
class KernelFeatures:
    """A map of rows to features φ(x) with φ(x)ᵀφ(z) ≈ k(x, z); the base of both kinds.

    `train` are the features of the rows it was made from, None in what a model stores; `kind` is
    "exact", "nystroem", "random_features", or "unfinished" if time ran out before any of them;
    `dtype` is that of the features. If their number was chosen, `tried` lists the numbers tried,
    and `is_enough` says whether the last step gained little.
    """

    _stored: ClassVar[Declaration] = {
        "kernel": Value(Kernel),
        "kind": Word(EXACT, NYSTROEM, RANDOM, UNFINISHED),
        "dtype": Value(np.dtype),
        "train": Nothing(),
        "tried": Unused(),
        "is_enough": Unused(),
    }
    kernel: Kernel
    kind: str
    dtype: np.dtype
    train: Array | None = None
    tried: tuple[Tried, ...] = field(default=(), kw_only=True)
    is_enough: bool = field(default=True, kw_only=True)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, {self.kind}: {self.rank} features of {self.kernel!r}>"

    @property
    def rank(self) -> int:
        """The number of features."""
        raise NotImplementedError

    @property
    def width(self) -> int | None:
        """The number of columns of the rows; None for a precomputed kernel."""
        raise NotImplementedError

    def transform(self, X: Any) -> Array:
        """The features of rows, (n, rank)."""
        out = np.empty((X.shape[0], self.rank), self.dtype)
        for rows in row_blocks(X.shape[0], self.rank):
            out[rows] = self._of(X[rows])
        return out

    def transform_training(self, X: Any, distinct: DistinctRows) -> Array:
        """The same for rows among which some may be equal, or have no weight.

        The other rows of a block may change a row's last digit. So the distinct rows of positive
        weight are transformed alone and in the order of their content: they get the same bits
        however often they occur, in any order, and whatever rows of weight 0 are with them.
        """
        check_memory(X.shape[0], self.rank, self.dtype, "set a smaller n_components")
        absent = np.flatnonzero(distinct.inverse < 0)
        order = np.argsort(distinct.inverse, kind="stable")[len(absent) :]
        labels = distinct.inverse[order]
        ends = np.searchsorted(labels, np.arange(len(distinct.first) + 1))
        out = np.empty((X.shape[0], self.rank), self.dtype)
        for rows in row_blocks(len(distinct.first), self.rank):
            members = slice(ends[rows.start], ends[rows.stop])
            own = self._of(X[distinct.first[rows]])
            is_once = len(own) == members.stop - members.start
            out[order[members]] = own if is_once else own[labels[members] - rows.start]
        if len(absent):
            out[absent] = self.transform(X[absent])
        return out

    def scores(self, X: Any, w: Array) -> Array:
        """φ(x)ᵀw of rows for w (rank,) or (rank, K), float64, in blocks of rows."""
        out = np.empty((X.shape[0], *w.shape[1:]))
        for rows in row_blocks(X.shape[0], self.rank):
            out[rows] = Design(self._of(X[rows])).times(w)
        return out

    def carried(self, w: Array) -> Array:
        """Coefficients of the first features, extended to all features added since."""
        raise NotImplementedError

    def without_training(self) -> KernelFeatures:
        """The same without the features of the training rows."""
        return replace(self, train=None)

    def dual_coef(self, w: Array) -> Array | None:
        """α with φ(x)ᵀw = Σⱼ αⱼ k(zⱼ, x), (m,) or (m, K); None for random features."""
        raise NotImplementedError

    def _of(self, X: Any) -> Array:
        """The features of a block of rows."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False, repr=False)
class LandmarkFeatures(KernelFeatures):
    """φ(x) = L⁻¹ k(Z, x) for landmarks Z with K(Z, Z) = LLᵀ.

    φ(x)ᵀφ(z) is k itself if x or z is a landmark, or a combination of landmarks in the kernel's
    feature space. Further landmarks add features and do not change the first ones.

    Parameters
    ----------
    landmarks : array or sparse matrix of shape (r, d)
        Z, rows of the training data; their positions if the kernel is precomputed.
    positions : ndarray of int, shape (r,)
        Their row numbers in it.
    lower : ndarray of shape (r, r)
        L, float64.
    """

    _stored: ClassVar[Declaration] = {
        **KernelFeatures._stored,
        "landmarks": Numbers("rank", None, may_be_sparse=True) | Numbers("rank", types="iu"),
        "positions": Numbers("rank", types="iu", low=0),
        "lower": Numbers("rank", "rank"),
    }
    landmarks: Any = None
    positions: Array = field(default_factory=lambda: np.zeros(0, dtype=int))
    lower: Array = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def rank(self) -> int:
        """The number of landmarks."""
        return len(self.lower)

    @property
    def width(self) -> int | None:
        """The number of columns of the landmarks, if they are rows."""
        return self.landmarks.shape[1] if self.landmarks.ndim == 2 else None

    @cached_property
    def basis(self) -> Array:
        """L⁻ᵀ (r, r): kernel values times it are the features."""
        return self.dual_coef(np.eye(self.rank))

    def dual_coef(self, w: Array) -> Array:
        """α = L⁻ᵀw, float64."""
        if not self.rank:
            return np.zeros_like(w)
        with single_blas():
            return scipy.linalg.solve_triangular(
                self.lower, w, trans="T", lower=True, check_finite=False
            )

    def scores(self, X: Any, w: Array) -> Array:
        """φ(x)ᵀw from kernel values alone."""
        return self.kernel.times(X, self.landmarks, self.dual_coef(w))

    def carried(self, w: Array) -> Array:
        """The same with zeros for the new features."""
        more = np.zeros((self.rank - len(w), *w.shape[1:]))
        return np.concatenate([w, more])

    def _of(self, X: Any) -> Array:
        return self.kernel.times(X, self.landmarks, self.basis, dtype=self.dtype)


@dataclass(frozen=True, eq=False, repr=False)
class RandomFeatures(KernelFeatures):
    """φ(x) = (cos(ωⱼᵀx), sin(ωⱼᵀx))/√m for frequencies ωⱼ drawn from the spectrum of the kernel.

    Parameters
    ----------
    frequencies : ndarray of shape (d, m)
        The ωⱼ in columns.
    """

    _stored: ClassVar[Declaration] = {
        **KernelFeatures._stored,
        "frequencies": Numbers(None, None),
    }
    frequencies: Array = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def rank(self) -> int:
        """Two for each frequency."""
        return 2 * self.frequencies.shape[1]

    @property
    def width(self) -> int:
        """The number of entries of a frequency."""
        return self.frequencies.shape[0]

    def dual_coef(self, w: Array) -> None:
        """None: the features are not made of kernel values."""

    def carried(self, w: Array) -> Array:
        """The same, cosines and sines apart, with zeros for the new ones."""
        m, before = self.rank // 2, len(w) // 2
        more = np.zeros((m - before, *w.shape[1:]))
        return np.sqrt(m / before) * np.concatenate([w[:before], more, w[before:], more])

    def _of(self, X: Any) -> Array:
        angles = Design(X).times(self.frequencies.astype(X.dtype, copy=False))
        m = angles.shape[1]
        out = np.empty((len(angles), 2 * m), angles.dtype)
        np.cos(angles, out=out[:, :m])
        np.sin(angles, out=out[:, m:])
        out *= np.asarray(m**-0.5, out.dtype)
        return out


# What a model with kernel features stores of them.
FEATURES: Declaration = {
    "features_": Maybe(
        Value(
            LandmarkFeatures,
            RandomFeatures,
            columns=lambda features: features.rank,
            features=lambda features: features.width,
        )
    )
}


# ---- making features -----------------------------------------------------------------------------


def factor(
    kernel: Kernel,
    X: Any,
    weights: Array | None = None,
    *,
    kind: str = EXACT,
    rank: int = 0,
    seed: int = 0,
) -> KernelFeatures:
    """Features of a kernel, with those of the rows of X as `train`.

    Parameters
    ----------
    kernel : Kernel
        The kernel; resolved by X and the weights.
    X : ndarray or sparse matrix of shape (n, d)
        Training rows, float32 or float64.
    weights : ndarray of shape (n,), optional
        Their weights. Rows of weight 0 are never landmarks; equal rows count as one row with the
        sum of their weights, and the order of the rows does not matter.
    kind : {"exact", "nystroem", "random_features"}
        How they are made.
    rank : int
        The largest number of features; ignored if they are exact.
    seed : int
        Seed of the random draws.

    Returns
    -------
    KernelFeatures
        In the precision of X if they are approximate; exact ones are float64.

    Notes
    -----
    Exact features cost m³/3 operations and 16m² bytes for m distinct rows, and leave a residual of
    1e-13 of the largest kᵢᵢ. Landmarks cost n·r·(d + r); the probability of a landmark is
    proportional to what those before it leave of its kᵢᵢ, which is its ridge leverage score up to
    the strength.
    """
    weights = np.ones(X.shape[0]) if weights is None else weights
    kernel, distinct = kernel.resolve(X, weights), DistinctRows.of(X, weights)
    if kind == RANDOM:
        return random_features(kernel, X, distinct, rank, seed)
    if kind == EXACT:
        return exact_features(kernel, X, distinct)
    return Drawing(kernel, X, distinct, seed, rank).features(rank)


def one_landmark(kernel: Kernel, X: Any, weights: Array) -> LandmarkFeatures:
    """The feature of the first row of positive weight, if there is no time for more."""
    positions = np.flatnonzero(weights > 0)[:1]
    kernel, Z = kernel.resolve(X, weights), landmarks(kernel, X, positions)
    size = some_rows(kernel, X, positions).diagonal()
    lower = np.sqrt(np.where(size > 0, size, 1.0))[:, None]
    features = LandmarkFeatures(kernel, UNFINISHED, X.dtype, None, Z, positions, lower)
    return replace(features, train=features.transform(X))


def some_rows(kernel: Kernel, X: Any, positions: Array) -> Rows:
    """Training rows, prepared for float64 kernel values among them."""
    if kernel.noise:
        raise ValueError(
            f"{kernel!r} has noise, which features cannot express; leave White out, the loss "
            "accounts for noise."
        )
    if kernel.name == PRECOMPUTED:
        return kernel.rows(X, np.float64).only(positions)
    return kernel.rows(X[positions], np.float64)


def landmarks(kernel: Kernel, X: Any, positions: Array) -> Any:
    """What represents training rows in a model: themselves, or their positions in given values."""
    return positions if kernel.name == PRECOMPUTED else X[positions]


def check_memory(rows: int, columns: int, dtype: Any, cure: str) -> None:
    """Raise an error before allocating an array that does not fit the free memory."""
    needed, free = float(rows) * columns * np.dtype(dtype).itemsize, free_memory()
    if needed > free:
        raise MemoryError(
            f"features of the kernel for {rows:,} rows take {needed / GIGABYTE:.2g} GB, and "
            f"{free / GIGABYTE:.2g} GB are free; {cure}."
        )


def row_blocks(n: int, rank: int) -> Iterator[slice]:
    """Slices of rows whose features fit a block; checks Ctrl-C and the time limit in between."""
    size = max(ENTRIES // max(rank, 1), 1)
    for start in range(0, n, size):
        check()
        yield slice(start, min(start + size, n))


def exact_features(kernel: Kernel, X: Any, distinct: DistinctRows) -> LandmarkFeatures:
    """Features that reproduce K up to rounding."""
    m = len(distinct.first)
    check_memory(m, 3 * m, np.float64, 'use approximation="nystroem", or fewer rows')
    K = some_rows(kernel, X, distinct.first).gram()
    largest = float(np.max(np.abs(np.diag(K)), initial=0.0))
    L, pivots = pivoted_cholesky(K, largest)
    positions, double = distinct.first[pivots], np.dtype(np.float64)
    Z = landmarks(kernel, X, positions)
    features = LandmarkFeatures(kernel, EXACT, double, None, Z, positions, L[pivots])
    train = L[distinct.inverse]
    absent = np.flatnonzero(distinct.inverse < 0)
    if len(absent):
        train[absent] = features.transform(X[absent])
    return replace(features, train=train)


def pivoted_cholesky(
    K: Array, largest: float, residual: float = RESIDUAL[np.dtype(np.float64)]
) -> tuple[Array, Array]:
    """L (n, r) and pivots (r,) with K = LLᵀ up to a residual, relative to the largest kᵢᵢ.

    L[pivots] is lower triangular. K, float64, is overwritten. Raises an error if K is not positive
    semi-definite.
    """
    n = len(K)
    if not n:
        return np.zeros((0, 0)), np.zeros(0, dtype=int)
    if not np.all(np.isfinite(K)):
        raise ValueError(
            "the kernel overflows float64; rescale the features, e.g. with StandardScaler()."
        )
    diagonal = np.diag(K).copy()
    # The transpose is in LAPACK's order, and the same matrix.
    factored, order, rank, _ = call_lapack(pstrf, K.T, residual * largest, 1, 1)
    order = order - 1
    L = np.empty((n, rank))
    L[order] = np.tril(factored[:, :rank])
    _refuse_indefinite(factored, diagonal, L, order[rank:][:CHECKED], largest)
    return L, order[:rank]


def _refuse_indefinite(
    factored: Array, diagonal: Array, L: Array, rest: Array, largest: float
) -> None:
    """Raise an error unless LLᵀ also equals K among the rows that were not pivots.

    LAPACK has left K above the diagonal, where the rows are still in their first order.
    """
    if not len(rest):
        return
    rest = np.sort(rest)
    with single_blas():
        missed = np.triu(factored[np.ix_(rest, rest)] - L[rest] @ L[rest].T, 1)
    np.fill_diagonal(missed, diagonal[rest] - np.sum(L[rest] ** 2, axis=1))
    worst = float(np.max(np.abs(missed), initial=0.0))
    if worst > INDEFINITE * largest:
        raise ValueError(
            "the kernel is not positive semi-definite on these rows: a factor of its Gram matrix "
            f"is wrong by {worst:.2g} in one entry (largest: {largest:.2g}); "
            "gapless.kernels.mercer_check shows details. Use another kernel, such as rbf."
        )


class Drawing:
    """Landmarks, drawn block by block among the distinct rows of X.

    The probability of a landmark is proportional to the weight of its row and to what the landmarks
    before it leave of kᵢᵢ, until that is a `residual` of the largest, by default as small as the
    precision of X allows. The first `count` landmarks are the same however many follow.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        distinct: DistinctRows,
        seed: int,
        most: int,
        residual: float | None = None,
    ):
        self.kernel, self.X, self.distinct = kernel, X, distinct
        self.residual = RESIDUAL[X.dtype] if residual is None else residual
        self.rng = np.random.default_rng(seed)
        pool = self._pool(distinct.weights, max(SMALLEST_POOL, ROWS_PER_LANDMARK * most))
        self.positions, self.weights = distinct.first[pool], distinct.weights[pool]
        self.rows = some_rows(kernel, X, self.positions)
        self.left = self.rows.diagonal()
        self.largest = float(np.max(self.left, initial=0.0))
        self.chosen = np.zeros(0, dtype=int)
        # The features of the pool so far, in the first columns.
        self.known = np.empty((len(pool), min(most, len(pool))))

    def _pool(self, weights: Array, size: int) -> Array:
        """The rows to draw from: all, or `size` of them, by weight."""
        if len(weights) <= size:
            return np.arange(len(weights))
        return np.sort(smallest(self.rng.standard_exponential(len(weights)) / weights, size))

    def grow(self, count: int) -> None:
        """Draw until there are `count` landmarks, or until they explain all rows."""
        count = min(count, self.known.shape[1])
        while len(self.chosen) < count:
            check()
            block = min(max(len(self.chosen) // 2, FIRST_BLOCK), BLOCK)
            if not self._draw(min(block, count - len(self.chosen))):
                break

    def _draw(self, count: int) -> bool:
        """Draw a block; False if there is nothing left to explain."""
        least = self.residual * self.largest
        keys = self.rng.standard_exponential(len(self.left))
        is_left = self.left > least
        if not is_left.any():
            return False
        keys[is_left] /= (self.weights * self.left)[is_left]
        keys[~is_left] = np.inf
        drawn = smallest(keys, min(count, int(is_left.sum())))
        m = len(self.chosen)
        known = self.known[:, :m]
        with single_blas():
            among = self.rows.gram(self.rows.only(drawn))
            among -= known @ known[drawn].T
            L, pivots = pivoted_cholesky(among[drawn], self.largest, self.residual)
            new = scipy.linalg.solve_triangular(
                L[pivots], among[:, pivots].T, lower=True, check_finite=False
            ).T
        self.known[:, m : m + len(pivots)] = new
        self.chosen = np.concatenate([self.chosen, drawn[pivots]])
        self.left = np.maximum(self.left - np.sum(new**2, axis=1), 0.0)
        # Near-copies of a landmark in its block, which the factor left out, are explained too.
        self.left[drawn] = 0.0
        return True

    def features(self, rank: int) -> LandmarkFeatures:
        """The features of the first `rank` landmarks, or of all that are needed."""
        self.grow(rank)
        chosen = self.chosen[:rank]
        positions = self.positions[chosen]
        Z, lower = landmarks(self.kernel, self.X, positions), self.known[chosen, : len(chosen)]
        features = LandmarkFeatures(self.kernel, NYSTROEM, self.X.dtype, None, Z, positions, lower)
        return replace(features, train=features.transform_training(self.X, self.distinct))


def smallest(keys: Array, count: int) -> Array:
    """Positions of the `count` smallest keys, in their order."""
    if count < len(keys):
        some = np.argpartition(keys, count)[:count]
        return some[np.argsort(keys[some], kind="stable")]
    return np.argsort(keys, kind="stable")[:count]


def random_features(
    kernel: Kernel, X: Any, distinct: DistinctRows, rank: int, seed: int
) -> RandomFeatures:
    """Frequencies in pairs of a cosine and a sine, whose product has the least variance."""
    rng = np.random.default_rng(seed)
    frequencies = kernel.frequencies(rng, X.shape[1], max((rank + 1) // 2, 1))
    features = RandomFeatures(kernel, RANDOM, X.dtype, None, frequencies)
    return replace(features, train=features.transform_training(X, distinct))
