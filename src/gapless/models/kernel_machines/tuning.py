"""Choose the strength and the scale of a kernel by the models' scores on unseen rows.

Every scale γ costs one decomposition of the kernel matrix, which serves all strengths (`follow`):
with √S K √S = U diag(v) Uᵀ, the inverse of K + λS⁻¹ is √S (U diag(1/(v + λ)) Uᵀ + N/λ) √S for all
λ, where N = I − UUᵀ. With its part P off the bias, y₍₋ᵢ₎ = yᵢ − cᵢ/Pᵢᵢ: two products with U for all
strengths together. In float32 the eigenvectors take half the time, and resolve strengths down to
about 1e-6 of the largest eigenvalue. If the matrix has a low rank at that scale, as for smooth
kernels, a pivoted Cholesky factor gives the eigenvectors that count in a fraction of the time. If
weaker strengths might be the best, float64 takes over.

Scales are tried at steps of a factor of 4 until one in the middle is the best, and then between its
neighbours (`explore`). With many rows, a sample of them chooses γ.

References
----------
Harbrecht, Peters and Schneider (2012), On the low-rank approximation by the pivoted Cholesky
decomposition, Applied Numerical Mathematics 62.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._ground.design import Design
from ..._ground.interrupt import check
from ..._ground.lapack import call_lapack, eigh, pstrf
from ..._ground.threads import single_blas
from ...unseen import (
    Judge,
    ScoredChoice,
    Search,
    best_of,
    drawn,
)
from .least_squares import Array, KernelSquares, TrainingRows

# The score that chooses models.
METRIC = "neg_mean_squared_error"
# Beyond this many rows a sample chooses the scale; beyond the second number, the strength as well.
MOST_FOR_SCALES, MOST_FOR_STRENGTHS = 2000, 4000
# How often the step between scales is halved around the best.
HALVINGS = 2
# The first exponents of 4, around the default scale, and the farthest.
FIRST, FARTHEST = (-2.0, -1.0, 0.0, 1.0), 6.0
# Up to this many rows float64 takes a few tenths of a second.
SMALL = 1000
# The weakest strength that float32 resolves, as a share of the largest eigenvalue.
RESOLVED = 1e-6
# A factor leaves out less than these shares of the weakest strength and of the best one; it has at
# most the third share of the columns, or it would take longer than all eigenvectors.
LEFT_OUT, OF_BEST, LOW_RANK = 0.1, 0.01, 0.6
# How many strengths are tried, over how many decades down from ten times the sum of all
# eigenvalues.
STRENGTHS, DECADES = 75, 10


@dataclass(frozen=True, eq=False)
class KernelChoice:
    """What was chosen and what was tried.

    `paths` are those of the models in `search`, one for each scale, and `is_whole` says whether
    they were fitted to all rows and have predictions for all. `rows` are those rows, if the score
    of the winner is to be corrected.
    """

    kernel: Any
    strength: float
    search: Search
    paths: list[HeldOutPath]
    is_whole: bool
    rows: TrainingRows | None = None

    def scored(self, model: Any, fitted: Any) -> ScoredChoice | None:
        """The choice with the scores of all units, for `unseen`; None for a sample."""
        rows = self.rows
        if rows is None or not self.is_whole:
            return None
        y, weights, units = rows.data.y[rows.first], rows.weights, rows.units
        judge = Judge(model, y, weights)
        z = np.concatenate([path.z for path in self.paths], axis=1)[units.inverse]
        # R², by which regressors are judged, is a mean over rows.
        shown = np.stack([np.asarray(judge.of_rows(z[:, k])) for k in range(z.shape[1])], axis=1)
        by = -np.mean((z - y.reshape(len(y), 1, -1)) ** 2, axis=2)
        return ScoredChoice(
            self.search,
            units.means(shown, weights),
            units.means(by, weights),
            units.weights,
            within=1.0 if model.select == "1se" else 0.0,
            families=np.repeat(range(len(self.paths)), [len(p.strengths) for p in self.paths]),
        )


def choose(
    squares: KernelSquares,
    scale: Callable[[float], Any] | None,
    strengths: Callable[[KernelSquares], Array],
    select: str,
    callback: Callable[[float], bool],
) -> KernelChoice:
    """Choose the strength and, if `scale` is given, the scale γ of the kernel.

    Parameters
    ----------
    squares : KernelSquares
        The distinct x; its kernel has the scale around which to look.
    scale : callable or None
        scale(γ) is the kernel of that scale.
    strengths : callable
        The strengths to try, given the squares.
    select : {"min", "1se"}
        The best model, or the strongest penalty within one standard error of it.
    callback : callable
        Called with the best score of each scale; True ends the search.
    """
    if scale is None:
        part = _sample(squares, MOST_FOR_STRENGTHS)
        paths = {None: follow(part, strengths(part))}
        return _chosen(squares, part, {None: squares.kernel}, paths, select)
    part = _sample(squares, MOST_FOR_SCALES)
    paths, kernels = _scales(part, scale, strengths, callback)
    gamma = max(paths, key=lambda g: np.nanmax(paths[g].unseen))
    if part is squares or squares.n > MOST_FOR_STRENGTHS:
        return _chosen(squares, part, kernels, paths, select)
    whole = replace(squares, kernel=kernels[gamma])
    return _chosen(squares, whole, kernels, {gamma: follow(whole, strengths(whole))}, select)


def _scales(
    squares: KernelSquares, scale, strengths, callback
) -> tuple[dict[Any, HeldOutPath], dict[Any, Any]]:
    """Paths by γ, coarse first and then finer around the best."""
    base, paths, kernels = float(squares.kernel.gamma), {}, {}

    def look(power: float) -> float | None:
        gamma = base * 4.0**power
        kernels[gamma] = scale(gamma)
        part = replace(squares, kernel=kernels[gamma])
        paths[gamma] = follow(part, strengths(part))
        score = float(np.nanmax(paths[gamma].unseen))
        return None if callback(score) else score

    explore(look, HALVINGS)
    return paths, kernels


def _sample(squares: KernelSquares, most: int) -> KernelSquares:
    """All x, or a sample of `most`, drawn from distinct ones in the order of their content."""
    if squares.n <= most:
        return squares
    chosen = np.sort(drawn(np.arange(squares.n), most))
    rows = chosen if squares.rows is None else squares.rows[chosen]
    return replace(
        squares,
        rows=rows,
        y=squares.y[chosen],
        weights=squares.weights[chosen],
        within=np.broadcast_to(squares.within, squares.n)[chosen],
    )


def _chosen(
    squares: KernelSquares, part: KernelSquares, kernels: dict, paths: dict, select: str
) -> KernelChoice:
    """The winner among all models of the paths."""
    gammas = sorted(paths, key=lambda g: 0.0 if g is None else g)
    ordered = [paths[gamma] for gamma in gammas]
    best = max(range(len(ordered)), key=lambda k: np.nanmax(ordered[k].unseen))
    path = ordered[best]
    at = best_of(path.unseen, path.standard_errors, select)
    values = {"alpha": np.concatenate([p.strengths for p in ordered]) - squares.kernel.noise}
    search = search_of(ordered, gammas, (best, at), values, part.n, METRIC)
    kernel, strength = kernels[gammas[best]], float(path.strengths[at])
    return KernelChoice(kernel, strength, search, ordered, part.n == squares.n)


def search_of(
    paths: Sequence[Any],
    gammas: Sequence[Any],
    chosen: tuple[int, int],
    values: dict[str, Array],
    rows: int,
    metric: str,
) -> Search:
    """All models of several paths, one for each γ, or one path without; chosen is (path, model).

    A path has `strengths`, `unseen` and `standard_errors`; `values` are those of its strengths.
    """
    sizes = [len(path.strengths) for path in paths]
    if gammas[0] is not None:
        values = values | {"gamma": np.repeat(gammas, sizes)}
    return Search(
        values=values,
        unseen=np.concatenate([path.unseen for path in paths]),
        standard_errors=np.concatenate([path.standard_errors for path in paths]),
        rows=np.full(sum(sizes), rows),
        chosen=sum(sizes[: chosen[0]]) + chosen[1],
        metric=metric,
    )


def explore(look: Callable[[float], float | None], halvings: int) -> None:
    """Try scales 4^power until the best is not an outermost one, then between them.

    `look` returns the score of a power, or None to end the search; the step of 1 is halved
    `halvings` times.
    """
    seen: dict[float, float] = {}

    def is_over(power: float) -> bool:
        if power in seen:
            return False
        score = look(power)
        if score is not None:
            seen[power] = score
        return score is None

    if any(is_over(power) for power in FIRST):
        return
    while True:
        best = max(seen, key=lambda power: seen[power])
        beyond = best + (1.0 if best == max(seen) else -1.0)
        if min(seen) < best < max(seen) or abs(beyond) > FARTHEST:
            break
        if is_over(beyond):
            return
    for halving in range(1, halvings + 1):
        best, step = max(seen, key=lambda power: seen[power]), 0.5**halving
        if is_over(best - step) or is_over(best + step):
            return


def default_strengths(squares: KernelSquares) -> Array:
    """Strengths from where nothing is left of f to where it follows every row."""
    top = 10 * float(np.sum(squares.weights * squares.diagonal))
    top = top if np.isfinite(top) and top > 0 else 1.0
    return np.geomspace(top, top / 10**DECADES, STRENGTHS) + squares.kernel.noise


@dataclass(frozen=True, eq=False)
class HeldOutPath:
    """Held-out predictions along strengths that fall.

    Parameters
    ----------
    strengths : ndarray of shape (m,)
        λ of each model.
    z : ndarray of shape (n, m, K)
        What each x is predicted without its rows.
    unseen, standard_errors : ndarray of shape (m,)
        Minus the mean squared error of held-out rows, over all targets.
    """

    strengths: Array
    z: Array
    unseen: Array
    standard_errors: Array

    @classmethod
    def of(
        cls, strengths: Array, z: Array, y: Array, weights: Array, within: Array | float = 0.0
    ) -> HeldOutPath:
        """With the scores of the predictions z of targets y (n, K), or of rows around them."""
        of_rows = np.mean((z - y[:, None, :]) ** 2, axis=2) + np.reshape(within, (-1, 1))
        shares = weights / weights.sum()
        means = np.sum(shares[:, None] * of_rows, axis=0)
        moved = shares[:, None] * (of_rows - means)
        # Relative to the largest, since squares of squares may overflow.
        size = np.maximum(np.max(np.abs(moved), axis=0), np.finfo(float).tiny)
        spread = np.sqrt(np.sum((moved / size) ** 2, axis=0)) * size
        return cls(strengths, z, -means, spread * np.sqrt(len(y) / max(len(y) - 1, 1)))


def follow(squares: KernelSquares, strengths: Array) -> HeldOutPath:
    """All strengths; in float32 if that decides, else in float64."""
    if squares.n > SMALL:
        K = _scaled_gram(squares, np.float32)
        weakest = RESOLVED * _largest(K)
        seen = strengths >= weakest
        if np.any(seen) and weakest > 0:
            path = _in_float32(squares, K, strengths[seen], LEFT_OUT * weakest)
            best = int(np.argmax(path.unseen))
            if seen.all() or best < len(path.strengths) - 1:
                return path
        del K
    return _held_out(squares, *_eigen(_scaled_gram(squares, np.float64)), strengths)


def _in_float32(squares: KernelSquares, K: Array, strengths: Array, left_out: float) -> HeldOutPath:
    """By a factor of low rank, as long as it is good enough for the best strength."""
    for _ in range(2):
        spectrum = _low_rank(K, left_out)
        if spectrum is None:
            break
        path = _held_out(squares, *spectrum, strengths)
        best = float(strengths[np.argmax(path.unseen)])
        if left_out <= OF_BEST * best:
            return path
        left_out = 0.3 * OF_BEST * best
    return _held_out(squares, *_eigen(K), strengths)


def _scaled_gram(squares: KernelSquares, dtype) -> Array:
    """√S K √S."""
    K = squares.new_gram(dtype)
    if np.any(squares.weights != 1):
        root = np.sqrt(squares.weights).astype(dtype)
        K *= root[:, None]
        K *= root
    return K


def _largest(K: Array) -> float:
    """Approximately the largest eigenvalue, by a few steps of the power method."""
    x, size = np.random.default_rng(0).standard_normal(len(K)).astype(K.dtype), 0.0
    for _ in range(8):
        check()
        with single_blas():
            x = K @ x
        size = float(np.linalg.norm(x))
        if not size > 0:
            break
        x /= size
    return size


def _eigen(K: Array) -> tuple[Array, Array]:
    """Eigenvalues, increasing and ≥ 0, and eigenvectors of K, which is overwritten."""
    values, vectors = call_lapack(eigh, K)
    return np.maximum(values.astype(float), 0.0), vectors


def _low_rank(K: Array, left_out: float) -> tuple[Array, Array] | None:
    """The eigenvalues above `left_out` and their vectors; None if there are too many."""
    n = len(K)
    factor, pivots, rank, _ = call_lapack(pstrf, np.array(K.T, order="F"), left_out, 1, 1)
    if rank > LOW_RANK * n:
        return None
    L = np.zeros((n, rank), dtype=np.float32)
    L[pivots - 1] = np.tril(factor[:, :rank])
    values, vectors = call_lapack(eigh, Design(L).gram().astype(float))
    keep = values > left_out
    right = (vectors[:, keep] / np.sqrt(values[keep])).astype(np.float32)
    return values[keep], Design(L).times(np.ascontiguousarray(right))


def _held_out(
    squares: KernelSquares, values: Array, vectors: Array, strengths: Array
) -> HeldOutPath:
    check()
    root = np.sqrt(squares.weights)[:, None]
    y = root * squares.y
    inverse = 1 / (values[:, None] + strengths)
    right = np.hstack([y, root]) if squares.fit_bias else y
    with single_blas():
        along = (vectors.T @ right.astype(vectors.dtype)).astype(float)
        filtered = (inverse[:, :, None] * along[:, None, :]).reshape(len(values), -1)
        pull = (vectors @ filtered.astype(vectors.dtype)).astype(float)
        check()
        own = (np.square(vectors) @ inverse.astype(vectors.dtype)).astype(float)
        check()
        pull = pull.reshape(len(y), len(strengths), -1)
        if len(values) < len(y):
            rest = right - vectors @ along
            pull += rest[:, None, :] / strengths[:, None]
            rows = np.einsum("ij,ij->i", vectors, vectors, dtype=float)
            own += np.maximum(1 - rows, 0.0)[:, None] / strengths
    if squares.fit_bias:
        pull, own = _off_bias(pull, own, root[:, 0])
    z = squares.y[:, None, :] - pull / own[:, :, None] / root[:, :, None]
    return HeldOutPath.of(strengths, z, squares.y, squares.weights, squares.within)


def _off_bias(pull: Array, own: Array, root: Array) -> tuple[Array, Array]:
    """The same without the part along the bias: P = C⁻¹ − C⁻¹u uᵀC⁻¹/(uᵀC⁻¹u) with u = √s."""
    of_ones = pull[:, :, -1]
    size = np.einsum("i,im->m", root, of_ones)
    b = np.einsum("i,imk->mk", root, pull[:, :, :-1]) / size[:, None]
    return pull[:, :, :-1] - of_ones[:, :, None] * b, own - of_ones**2 / size
