"""Pre-images: rows x̂ whose features φ(x̂) are near a given point of a kernel's feature space.

The point is Φ = φ̄ + Σₖ βₖvₖ in the span of some principal components, usually the projection of a
noisy row. Hardly any such point is the image of a row, so φ(x̂) is only near it. Three ways to find
x̂, from the coordinates β:

fixed_point   where the gradient of ‖φ(x̂) − Φ‖² vanishes (Mika et al. 1999)
distances     from the distances to some training rows (Kwok and Tsang 2004)
ridge         by a regression of rows on their coordinates (Bakir, Weston and Schölkopf 2004)

References
----------
Mika, Schölkopf, Smola, Müller, Scholz and Rätsch (1999), Kernel PCA and de-noising in feature
spaces, NIPS 11.
Kwok and Tsang (2004), The pre-image problem in kernel methods, IEEE Trans. Neural Networks 15.
Bakir, Weston and Schölkopf (2004), Learning to find pre-images, NIPS 16.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._ground.design import Design
from ..._ground.interrupt import check
from ..._ground.memory import blocks
from ...kernels import Kernel, Rows
from .kernel_subspace import KernelSubspace

Array = np.ndarray

FIXED_POINT, DISTANCES, RIDGE = "fixed_point", "distances", "ridge"
# Stop when a step is shorter than this part of the spread of the training rows.
SHORT_STEP = 1e-4
MOST_STEPS = 100
# A sum of coefficients below this part of the sum of their sizes is nothing but rounding.
VANISHING = 1e-6
# Training rows whose distances determine a pre-image, as Kwok and Tsang use them.
NEIGHBORS = 10
# Distances that contradict each other leave directions without information.
SMALLEST_SPREAD = 1e-10


@dataclass(frozen=True, eq=False)
class PreImages:
    """Rows whose features are near given points of the feature space.

    Attributes
    ----------
    points : ndarray of shape (n, d)
        The rows x̂.
    residuals : ndarray of shape (n,)
        ‖φ(x̂) − Φ‖ in feature space: 0 for an exact pre-image.
    lengths : ndarray of shape (n,)
        ‖Φ − φ̄‖, the distance of the point from the mean, to compare the residual with.
    method : str
        "fixed_point", "distances" or "ridge".
    steps : int
        Steps of the fixed point, for the row with the most; 0 for the other methods.
    restarts : int
        How many rows began anew from a training row, since their first steps led nowhere.
    """

    points: Array
    residuals: Array
    lengths: Array
    method: str
    steps: int = 0
    restarts: int = 0

    def astype(self, dtype: Any) -> PreImages:
        """The same, with the points in another precision."""
        return replace(self, points=self.points.astype(dtype, copy=False))

    def __str__(self) -> str:
        typical = float(np.median(self.residuals)) if len(self.residuals) else 0.0
        far = float(np.median(self.lengths)) if len(self.lengths) else 0.0
        return (
            f"{len(self.points)} pre-images by {self.method}: median distance {typical:.3g} to the "
            f"points in feature space, which are {far:.3g} from the mean"
        )


class Target:
    """Points of the feature space to find pre-images of, and how near rows are to them.

    Parameters
    ----------
    subspace : KernelSubspace
        The span in which the points are.
    coordinates : ndarray of shape (n, k)
        The β of each point.
    dtype : float32 or float64
        Precision of the kernel values.
    """

    def __init__(self, subspace: KernelSubspace, coordinates: Array, dtype: Any):
        self.subspace, self.coordinates = subspace, coordinates
        self.kernel, self.dtype = subspace.kernel, np.dtype(dtype)
        self.lengths = subspace.squared_lengths(coordinates)
        self._base = self.kernel.rows(subspace.rows, self.dtype)

    def only(self, some: Array) -> Target:
        """Some of the points."""
        part = object.__new__(Target)
        vars(part).update(vars(self))
        part.coordinates, part.lengths = self.coordinates[some], self.lengths[some]
        return part

    def squared_residuals(self, points: Array) -> Array:
        """‖φ(x̂) − Φ‖² for a row of `points` each."""
        found = np.empty(len(points))
        for chunk, rows in self.parts(self._base, points):
            values = rows.gram(self._base)
            expansion = self.subspace.expansion(self.coordinates[chunk])
            found[chunk] = np.einsum("ij,ij->i", values, expansion)
        own = self.kernel.rows(points, np.float64).diagonal()
        return np.maximum(own - 2 * found + self.lengths, 0.0)

    def parts(self, base: Rows, points: Array) -> Iterator[tuple[slice, Rows]]:
        """Rows in chunks whose values with all training rows take little memory."""
        for chunk in blocks(len(points), len(base)):
            yield chunk, base.of(points[chunk])

    def distances_to_rows(self) -> Iterator[tuple[slice, Array]]:
        """‖φ(xⱼ) − Φ‖² for all training rows j, (n, m), in chunks; needs no kernel value."""
        own = self.row_lengths
        for chunk in blocks(len(self.lengths), len(self._base)):
            inner = self.subspace.products_with_rows(self.coordinates[chunk])
            yield chunk, np.maximum(own - 2 * inner + self.lengths[chunk, None], 0.0)

    @property
    def row_lengths(self) -> Array:
        """k(xⱼ, xⱼ) of the training rows."""
        return self.kernel.rows(self.subspace.rows, np.float64).diagonal()

    def nearest_rows(self) -> tuple[Array, Array]:
        """The training row with the nearest features, and its squared distance, for each point."""
        found = np.empty(len(self.lengths), dtype=np.intp)
        squares = np.empty(len(self.lengths))
        for chunk, distances in self.distances_to_rows():
            found[chunk] = np.argmin(distances, axis=1)
            squares[chunk] = np.min(distances, axis=1)
        return found, squares


# ---- the fixed point -----------------------------------------------------------------------------


def has_fixed_point(kernel: Kernel) -> bool:
    """Whether the gradient of the kernel is known."""
    return kernel.slopes() is not None


def by_fixed_point(target: Target, start: Array | None) -> PreImages:
    """Rows at which the gradient of ‖φ(x̂) − Φ‖² vanishes, by repeated weighted means.

    With Φ = Σγⱼφ(xⱼ) and ∂k(x, z)/∂z = a·x + 2b·(x − z), the gradient vanishes at

        x̂ = Σⱼ γⱼ (a + 2b)(x̂, xⱼ) xⱼ  /  (a(x̂, x̂) + 2 Σⱼ γⱼ b(x̂, xⱼ)),

    which is Mika et al. (1999), (10), for the Gaussian kernel, where a = 0 and b = γk. The first
    steps begin at `start`, those of rows that get lost or stay behind the nearest training row
    begin again there; no result is further from Φ than that row is.
    """
    nearest, reached = target.nearest_rows()
    rows = target.subspace.rows
    begin = _dense(rows[nearest]) if start is None else start
    points, is_found, steps = _iterate(target, begin)
    squares = np.full(len(points), np.inf)
    squares[is_found] = target.only(is_found).squared_residuals(points[is_found])
    # Rounding of values that nearly cancel.
    slack = 64 * np.finfo(target.dtype).eps * (target.lengths + 1.0)
    again = np.flatnonzero(squares > reached + slack)
    if len(again) and start is not None:
        some = target.only(again)
        others, is_found, more = _iterate(some, _dense(rows[nearest[again]]))
        found = np.where(is_found, some.squared_residuals(others), np.inf)
        is_better = found < squares[again]
        points[again[is_better]], squares[again[is_better]] = others[is_better], found[is_better]
        steps = max(steps, more)
    lost = np.flatnonzero(squares > reached + slack)
    points[lost], squares[lost] = _dense(rows[nearest[lost]]), reached[lost]
    restarts = len(again) if start is not None else len(lost)
    return _result(target, points, squares, FIXED_POINT, steps, restarts)


def _iterate(target: Target, start: Array) -> tuple[Array, Array, int]:
    """Where the steps end, for which rows they have come to rest, and the most steps taken."""
    points = np.array(start, dtype=np.float64)
    is_found = np.zeros(len(points), dtype=bool)
    subspace, most = target.subspace, 0
    pull = Pull(target.subspace, target.dtype)
    for chunk in blocks(len(points), len(pull)):
        moving = np.arange(chunk.start, chunk.stop)
        expansion = subspace.expansion(target.coordinates[chunk]).astype(target.dtype)
        for step in range(1, MOST_STEPS + 1):
            check()
            moved, is_sound = pull.step(points[moving], expansion)
            length = np.sqrt(np.sum((moved - points[moving]) ** 2, axis=1))
            points[moving[is_sound]] = moved[is_sound]
            is_at_rest = is_sound & (length <= SHORT_STEP * pull.spread)
            is_found[moving[is_at_rest]] = True
            goes_on = is_sound & ~is_at_rest
            most = max(most, step)
            if not goes_on.any():
                break
            if not goes_on.all():
                moving, expansion = moving[goes_on], expansion[goes_on]
    return points, is_found, most


class Pull:
    """Steps of the fixed point, by the gradient of the kernel between rows and training rows."""

    def __init__(self, subspace: KernelSubspace, dtype: Any):
        slopes = subspace.kernel.slopes()
        assert slopes is not None
        self.of_products, self.of_distances = slopes
        self.rows = [None if part is None else part.rows(subspace.rows, dtype) for part in slopes]
        self.Z = Design(subspace.rows.astype(dtype, copy=False))
        self.mean = self.Z.transposed_times(subspace.shares)
        centred = Design(self.Z.X, self.mean)
        self.spread = float(np.sqrt(centred.column_square_sums(subspace.shares).sum()))

    def __len__(self) -> int:
        return self.Z.n

    def step(self, points: Array, expansion: Array) -> tuple[Array, Array]:
        """The next points, and where they are more than rounding."""
        weights = np.zeros_like(expansion)
        total, size = np.zeros(len(points)), np.zeros(len(points))
        of_products, of_distances = self.rows
        if of_distances is not None:
            weights = of_distances.of(points).gram(of_distances)
            weights *= 2
            weights *= expansion
            total += weights.sum(axis=1, dtype=np.float64)
            size += np.abs(weights).sum(axis=1, dtype=np.float64)
        if of_products is not None:
            assert self.of_products is not None
            own = self.of_products.rows(points, np.float64).diagonal()
            total, size = total + own, size + np.abs(own)
            weights = weights + of_products.of(points).gram(of_products) * expansion
        is_sound = (total > VANISHING * size) & (total > 0)
        if self.Z.is_sparse:
            sums = self.Z.transposed_times(weights.T).T
        else:
            sums = Design(np.ascontiguousarray(weights)).times(self.Z.X)
        return sums / np.where(is_sound, total, 1.0)[:, None], is_sound


# ---- distances -----------------------------------------------------------------------------------


def knows_distances(kernel: Kernel) -> bool:
    """Whether distances in feature space determine those of the rows."""
    zero = np.zeros(1)
    return kernel.input_distances(zero, zero + 1.0, zero + 1.0) is not None


def by_distances(target: Target) -> PreImages:
    """Rows at the distances from their nearest training rows that those have in feature space.

    The kernel turns ‖φ(xⱼ) − Φ‖ into ‖xⱼ − x̂‖, and x̂ is found in the span of ten such rows by least
    squares (Kwok and Tsang 2004, section III).
    """
    subspace = target.subspace
    count = min(NEIGHBORS, len(subspace.weights))
    own = target.row_lengths
    points = np.empty((len(target.lengths), subspace.rows.shape[1]))
    for chunk, squares in target.distances_to_rows():
        nearest = np.argpartition(squares, count - 1, axis=1)[:, :count]
        near = np.take_along_axis(squares, nearest, axis=1)
        inputs = target.kernel.input_distances(near, target.lengths[chunk, None], own[nearest])
        assert inputs is not None
        flat = _dense(subspace.rows[nearest.ravel()]).astype(np.float64)
        points[chunk] = _located(flat.reshape(*nearest.shape, -1), inputs)
    return _result(target, points, target.squared_residuals(points), DISTANCES)


def _located(rows: Array, squares: Array) -> Array:
    """The point at given squared distances (q, c) from rows (q, c, d), nearest to their mean.

    From ‖x − xᵢ‖² = dᵢ², less its mean over i: 2⟨x − x̄, xᵢ − x̄⟩ = ‖xᵢ − x̄‖² − dᵢ² − (the mean of
    that). A distance that is not known (NaN) counts as the largest that is.
    """
    known = np.isfinite(squares)
    largest = np.max(np.where(known, squares, 0.0), axis=1, keepdims=True)
    squares = np.where(known, squares, largest)
    mean = rows.mean(axis=1)
    centred = rows - mean[:, None]
    sides = np.einsum("qcd,qcd->qc", centred, centred) - squares
    sides -= sides.mean(axis=1, keepdims=True)
    gram = np.matmul(centred, centred.transpose(0, 2, 1))
    weights = 0.5 * np.matmul(
        np.linalg.pinv(gram, rcond=SMALLEST_SPREAD, hermitian=True), sides[:, :, None]
    )
    return mean + np.matmul(weights.transpose(0, 2, 1), centred)[:, 0]


# ---- all of them ---------------------------------------------------------------------------------


def _result(
    target: Target, points: Array, squares: Array, method: str, steps: int = 0, restarts: int = 0
) -> PreImages:
    far = np.sqrt(np.sum(target.coordinates**2, axis=1))
    return PreImages(points, np.sqrt(squares), far, method, steps, restarts)


def given(target: Target, points: Array, method: str) -> PreImages:
    """Pre-images that were found elsewhere, with their residuals."""
    return _result(target, points, target.squared_residuals(points), method)


def _dense(rows: Any) -> Array:
    return rows.toarray() if sp.issparse(rows) else rows
