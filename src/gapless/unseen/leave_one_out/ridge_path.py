"""Ridge regression at many strengths at once, and each row predicted without its x by all.

Rows of one x are one row with the mean of their targets. One decomposition serves every strength.
In its orthonormal vectors U, with eigenvalues v, a row keeps the share Nᵢᵢ + Σⱼ Uᵢⱼ²λ/(vⱼ + λ) of
its residual, as in `spectrum` for one λ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._ground.design import Design
from ..._ground.lapack import call_lapack, eigh
from ..._ground.memory import blocks
from ..._ground.threads import single_blas
from ...solvers import EPS
from ._base import Array
from .distinct import MergedRows, left_together
from .spectrum import Spectrum

# Operations up to which singular values are always used; the Gram matrix takes a tenth of the time
# but has half their digits.
CHEAP, MOST_WORK = 1e8, 1e11
# What a Gram matrix may lose to rounding, and the share of its residual that a row must keep.
LOSS_OF_DIGITS, SMALLEST_SHARE = 1e-9, 1e-3


@dataclass(frozen=True, eq=False)
class RidgeHeldOut:
    """Ridge regression at m strengths, and its errors on rows that the model has not seen.

    Parameters
    ----------
    strengths : ndarray of shape (m,)
        λ of ½Σ sᵢ(yᵢ − zᵢ)² + ½λ‖w‖².
    coefficients : ndarray of shape (m, d) or (m, d, K)
        w for every strength.
    intercepts : ndarray of shape (m,) or (m, K)
        b for every strength.
    gaps : ndarray of shape (m,)
        A bound on the duality gap of each, which is rounding alone.
    errors : ndarray of shape (m,)
        Weighted mean of the held-out errors, and over the outputs.
    standard_errors : ndarray of shape (m,)
        Their standard errors, distinct x being independent.
    errors_of_outputs : ndarray of shape (m, K)
        The same means, output by output.
    z : ndarray of shape (n, m) or (n, m, K), or None
        Held-out predictions of all rows, if requested.
    """

    strengths: Array
    coefficients: Array
    intercepts: Array
    gaps: Array
    errors: Array
    standard_errors: Array
    errors_of_outputs: Array
    z: Array | None = None


def squared_error(y: Array, z: Array) -> Array:
    """(z − y)²."""
    return np.square(z - y)


def ridge_path_leave_out(
    design: Design,
    y: Array,
    weights: Array,
    strengths: Array,
    *,
    fit_bias: bool = True,
    error: Callable[[Array, Array], Array] = squared_error,
    keep: bool = False,
) -> RidgeHeldOut:
    """Fit ridge regression at many strengths, and predict each row without its x by all of them.

    Parameters
    ----------
    design : Design
        The n × d data.
    y : ndarray of shape (n,) or (n, K)
        Targets.
    weights : ndarray of shape (n,)
        Sample weights ≥ 0. The rows of one x are left out together.
    strengths : array-like of shape (m,)
        λ ≥ 0; 0 means the fit of least norm.
    fit_bias : bool, default=True
        Whether there is a bias.
    error : callable, default=squared_error
        error(y, z) for arrays that broadcast: the cost of a held-out prediction z.
    keep : bool, default=False
        Whether to keep all n·m·K held-out predictions.

    Returns
    -------
    RidgeHeldOut

    Raises
    ------
    NotAvailable
        If all rows (x, y) are equal.

    Notes
    -----
    Costs n·d² once (n²·d for n < d), and n·d for every few strengths. Predictions are made for a
    block of rows at a time, so without `keep` memory does not grow with n·m.
    """
    strengths = np.asarray(strengths, dtype=float)
    targets = np.asarray(y, dtype=float).reshape(len(y), -1)
    units = MergedRows.of(left_together(design, targets, weights > 0), weights)
    data = Centred(units.rows(design), units.means(targets, weights), units.weights, fit_bias)
    rows = Targets(units, targets, weights, error)
    decomposition, scores, z = _score(data, rows, strengths, keep)
    w, b = decomposition.coefficients(strengths)
    gaps = data.gaps(w, strengths)
    if z is not None and not units.is_everything:
        z = units.spread(z, np.stack([design.times(u) + c for u, c in zip(w, b)], axis=1))
    if np.ndim(y) == 1:
        w, b, z = w[:, :, 0], b[:, 0], None if z is None else z[:, :, 0]
    errors, standard_errors, of_outputs = scores.result()
    return RidgeHeldOut(strengths, w, b, gaps, errors, standard_errors, of_outputs, z)


def _score(data, targets, strengths, keep):
    """A decomposition that keeps enough digits, the held-out errors, and the predictions if kept.

    By the Gram matrix if that is much faster, then by singular values if it failed.
    """
    design = data.design
    work = float(design.n) * design.d * min(design.n, design.d)
    if design.d <= design.n and work > CHEAP:
        try:
            by_gram = ByGram(data, float(strengths.min()), is_last=work > MOST_WORK)
            return by_gram, *_held_out(by_gram, targets, strengths, keep)
        except LostDigits:
            pass
    exact = BySingularValues(data)
    return exact, *_held_out(exact, targets, strengths, keep)


def _held_out(decomposition, targets, strengths, keep):
    """The held-out errors, and the predictions (units, m, K) if they are to be kept."""
    weights, shape = decomposition.data.weights, decomposition.data.y.shape
    scores = Scores(len(strengths), shape[1])
    kept = np.empty((shape[0], len(strengths), shape[1])) if keep else None
    for units, z in decomposition.leave_each(strengths):
        scores.add(targets.errors(units, z), weights[units])
        if kept is not None:
            kept[units] = z
    return scores, kept


class Targets:
    """The targets (n, K) of all rows, grouped by unit, and the cost of errors."""

    def __init__(
        self,
        units: MergedRows,
        y: Array,
        weights: Array,
        error: Callable[[Array, Array], Array],
    ):
        self.is_one_each, self.total, self.error = units.is_everything, units.weights, error
        rows = units.kept
        if not self.is_one_each:
            order = np.argsort(units.inverse, kind="stable")
            rows, self.unit = units.kept[order], units.inverse[order]
            self.start = np.searchsorted(self.unit, np.arange(len(units.first) + 1))
        self.y, self.weights = y[rows], weights[rows]

    def errors(self, units: slice, z: Array) -> Array:
        """Mean errors (r, m, K) of the rows of some units, given their predictions."""
        if self.is_one_each:
            return self.error(self.y[units, None, :], z)
        begin, end = self.start[units.start], self.start[units.stop]
        sums = np.zeros_like(z)
        for block in blocks(end - begin, z[0].size):
            rows = slice(begin + block.start, begin + block.stop)
            unit = self.unit[rows] - units.start
            errors = self.error(self.y[rows, None, :], z[unit])
            firsts = np.flatnonzero(np.diff(unit, prepend=-1))
            weighted = self.weights[rows, None, None] * errors
            sums[unit[firsts]] += np.add.reduceat(weighted, firsts, axis=0)
        return sums / self.total[units, None, None]


class Scores:
    """Weighted means over units, and their standard errors, accumulated block by block."""

    def __init__(self, m: int, K: int):
        self.rows, self.total, self.squared = 0, 0.0, 0.0
        self.sums = np.zeros((m, K))
        self.moments = np.zeros((2, m))

    def add(self, errors: Array, weights: Array) -> None:
        """Add the errors (r, m, K) of some units."""
        of_rows = errors[:, :, 0] if errors.shape[2] == 1 else errors.mean(axis=2)
        squares = weights**2
        self.rows += len(weights)
        self.total += float(weights.sum())
        self.squared += float(squares.sum())
        with single_blas():
            self.sums += np.tensordot(weights, errors, axes=1)
            self.moments[0] += squares @ of_rows
            self.moments[1] += squares @ np.square(of_rows)

    def result(self) -> tuple[Array, Array, Array]:
        """Means over units and outputs, their standard errors, and the means of every output."""
        of_outputs = self.sums / self.total
        means = of_outputs.mean(axis=1)
        linear, square = self.moments
        # Σω²(e − ē)², the effect of resampling the units on Σωe/Σω
        spread = square - 2 * means * linear + means**2 * self.squared
        spread = np.maximum(spread, 0.0) * (self.rows / (self.rows - 1))
        return means, np.sqrt(spread) / self.total, of_outputs


class LostDigits(Exception):
    """The Gram matrix does not resolve these strengths, or some row."""


class Centred:
    """Data minus the weighted means of X and y, if there is a bias."""

    def __init__(self, design: Design, y: Array, weights: Array, fit_bias: bool):
        self.weights, self.fit_bias = weights, fit_bias
        self.x_mean, self.y_mean = np.zeros(design.d), np.zeros(y.shape[1])
        if fit_bias:
            share = weights / weights.sum()
            self.x_mean = design.transposed_times(share)
            self.y_mean = np.sum(share[:, None] * y, axis=0)
            design = design.shifted(self.x_mean)
        self.design, self.y = design, y - self.y_mean

    @cached_property
    def gram(self) -> Array:
        """XᵀSX."""
        return self.design.gram(self.weights)

    @cached_property
    def correlations(self) -> Array:
        """XᵀSy, (d, K)."""
        return self.design.transposed_times(self.weights[:, None] * self.y)

    def with_bias(self, w: Array) -> tuple[Array, Array]:
        """w (m, d, K) and the biases (m, K) that go with it."""
        return w, self.y_mean - np.einsum("j,mjk->mk", self.x_mean, w)

    def gaps(self, w: Array, strengths: Array) -> Array:
        """‖∇P‖²/2λ at each w (m, d, K), which bounds its gap because P is λ-strongly convex."""
        m, d, K = w.shape
        wide = w.transpose(1, 0, 2).reshape(d, m * K)
        # The data give all digits; if that takes longer than the path, use their Gram matrix.
        if d <= self.design.n and float(self.design.n) * wide.size > CHEAP:
            with single_blas():
                product = self.gram @ wide
        else:
            product = self._gram_times(wide)
        slopes = product.reshape(d, m, K) - self.correlations[:, None, :]
        slopes += strengths[:, None] * wide.reshape(d, m, K)
        squares = np.sum(slopes**2, axis=(0, 2))
        with np.errstate(over="ignore"):
            gaps = np.divide(
                squares, 2 * strengths, out=np.zeros_like(squares), where=strengths > 0
            )
        return np.where(np.isfinite(gaps), gaps, 0.0)

    def _gram_times(self, wide: Array) -> Array:
        """XᵀSX times columns, without XᵀSX."""
        total = np.zeros(wide.shape)
        for rows in blocks(self.design.n, wide.shape[1]):
            part = self.design.rows(rows)
            total += part.transposed_times(self.weights[rows, None] * part.times(wide))
        return total


class ByGram:
    """XᵀSX = V diag(v) Vᵀ; the rows of U = √S·X·V/√v are computed when needed."""

    def __init__(self, data: Centred, smallest: float, is_last: bool):
        self.data, self.is_last = data, is_last
        design = data.design
        values, vectors = call_lapack(eigh, data.gram.copy())
        keep = values > 16 * design.d * EPS * values[-1]
        self.values, self.vectors = values[keep], vectors[:, keep]
        with single_blas():
            self.slopes = self.vectors.T @ data.correlations
        self._check(vectors[:, ~keep], smallest)

    def _check(self, null: Array, smallest: float) -> None:
        """Whether the strengths are large compared with the rounding of the eigenvalues."""
        lost = len(self.vectors) * EPS * self.values[-1] / (self.values[0] + smallest)
        if null.size:
            squares = self.data.weights @ self.data.design.times(null) ** 2
            lost = max(lost, float(squares.max()) / smallest if smallest > 0 else np.inf)
        if lost > LOSS_OF_DIGITS and not self.is_last:
            raise LostDigits

    def coefficients(self, strengths: Array) -> tuple[Array, Array]:
        """w (m, d, K) and b (m, K)."""
        filtered = self.slopes / (self.values[:, None] + strengths[:, None, None])
        with single_blas():
            return self.data.with_bias(self.vectors @ filtered)

    def leave_each(self, strengths: Array) -> Iterator[tuple[slice, Array]]:
        """Rows, and their held-out predictions (r, m, K)."""
        data, root = self.data, np.sqrt(self.values)
        # The m curves λ ↦ v/(v + λ) lie in a space of few dimensions, up to rounding.
        basis, curves = _compress(self.values[:, None] / (self.values[:, None] + strengths))
        of_bias = 1 / data.weights.sum() if data.fit_bias else 0.0
        right = np.hstack([(c / root)[:, None] * basis for c in self.slopes.T])
        for rows in blocks(data.design.n, 2 * len(root) + 3 * len(strengths)):
            U = data.design.rows(rows).times(self.vectors / root)
            s, y = data.weights[rows], data.y[rows]
            along = Design(U).times(right).reshape(len(y), y.shape[1], -1)
            U *= U
            with single_blas():
                z = along @ curves
                left = Design(U).times(basis) @ curves
            # Nearly all the time goes into passes over (r, m) numbers, hence in place.
            left += of_bias
            left *= -s[:, None]
            left += 1.0
            if np.min(left) < SMALLEST_SHARE and not self.is_last:
                raise LostDigits
            z -= y[:, :, None]
            z /= left[:, None, :]
            z += (y + data.y_mean)[:, :, None]
            yield rows, z.transpose(0, 2, 1)


class BySingularValues:
    """√S·X = U diag(√v) Vᵀ, every digit kept."""

    def __init__(self, data: Centred):
        self.data = data
        ones = np.ones(data.design.d)
        self.spectrum = Spectrum(data.design, data.y, data.weights, ones, data.fit_bias)

    def coefficients(self, strengths: Array) -> tuple[Array, Array]:
        """w (m, d, K) and b (m, K)."""
        spectrum = self.spectrum
        root = np.sqrt(spectrum.squares)
        with single_blas():
            # √v/(v + λ) in an order that neither overflows nor underflows
            filtered = spectrum.along / (root + strengths[:, None] / root)[:, :, None]
            w = np.zeros((len(strengths), self.data.design.d, filtered.shape[2]))
            w[:, spectrum.columns] = spectrum.right @ filtered
        return self.data.with_bias(w)

    def leave_each(self, strengths: Array) -> Iterator[tuple[slice, Array]]:
        """Rows, and their held-out predictions (r, m, K)."""
        data = self.data
        for rows in blocks(data.design.n, 3 * data.y.shape[1] * len(strengths)):
            missing = self.spectrum.missing(rows, strengths)
            yield rows, (data.y[rows] + data.y_mean)[:, None, :] - missing


def _compress(curves: Array) -> tuple[Array, Array]:
    """An orthonormal basis (p, r) and coefficients (r, m) of columns with entries up to 1."""
    with single_blas():
        left, values, right = np.linalg.svd(curves, full_matrices=False)
    keep = values > EPS * values[:1]
    return left[:, keep], values[keep, None] * right[keep]
