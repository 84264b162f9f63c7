"""The strength of a ridge penalty by exact leave-one-out, for rows that are read in parts.

The sums of the first pass give the eigenvalues of the centred XᵀSX, and so the model of every
strength; one more pass gives the leverage of each row under every strength, and with it the error
of the model without the row (Golub, Heath and Wahba 1979, Generalized cross-validation as a method
for choosing a good ridge parameter):

    eᵢ = (yᵢ − ŷᵢ)/(1 − hᵢ),   hᵢ = sᵢ(1/Σs + Σⱼ eᵢⱼ²/(λⱼ + α)),   eᵢⱼ = xᵢᵀvⱼ
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...problem import Parameters, Quadratic
from ...streaming import Rows
from ...unseen import best_of
from .path import EXPLAINED, SCORES, Path
from .tuning import DECADES, RIDGE_STRENGTHS

Array = np.ndarray

# A row that decides its own prediction has no error without it: its leverage stays below this.
MOST_LEVERAGE = 1 - 1e-10


@dataclass(frozen=True, eq=False)
class Spectrum:
    """XᵀSX around the means as VΛVᵀ, and what the models of all strengths need of it.

    Attributes
    ----------
    means : ndarray of shape (d,)
        The means of the columns, measured from the center of the parts.
    mean_of_y, weight : float
        The mean of the targets, and Σs.
    bias : float
        What models without coefficients predict: that mean, or 0 without a bias.
    vectors, values : ndarray
        V (d, d) and the eigenvalues, those of rounding size 0.
    pull : ndarray of shape (d,)
        Vᵀ(X − 1μᵀ)ᵀS(y − ȳ).
    spread : float
        Σs‖x − μ‖², the sum of the eigenvalues with a bias.
    """

    means: Array
    mean_of_y: float
    weight: float
    bias: float
    vectors: Array
    values: Array
    pull: Array
    spread: float

    @classmethod
    def of(cls, sums: Quadratic, fit_bias: bool) -> Spectrum:
        """From the sums of squared losses at w = 0 and b = 0."""
        H, right = sums.of_ww, -sums.of_w
        weight = float(sums.of_bb)
        means, mean_of_y = sums.of_wb / weight, -float(sums.of_b) / weight
        spread = float(np.trace(H)) - weight * float(means @ means)
        if not fit_bias:
            means = np.zeros(len(right))
        else:
            H = H - weight * np.multiply.outer(means, means)
            right = right - weight * mean_of_y * means
        values, vectors = np.linalg.eigh(0.5 * (H + H.T))
        values = np.where(values > len(values) * np.finfo(float).eps * values[-1], values, 0.0)
        bias = mean_of_y if fit_bias else 0.0
        pull = vectors.T @ right
        return cls(means, mean_of_y, weight, bias, vectors, values, pull, spread)

    @property
    def largest(self) -> float:
        """A strength at which next to nothing is left."""
        return 10 * self.spread if self.spread > 0 else 1.0

    def shrunk(self, strengths: Array) -> Array:
        """1/(λⱼ + α) for every eigenvalue and strength, (d, m); 0 where both are 0."""
        below = self.values[:, None] + strengths
        return np.divide(1.0, below, out=np.zeros_like(below), where=below > 0)

    def model(self, strength: float) -> Parameters:
        """The model of a strength, in the coordinates of the parts."""
        w = self.vectors @ (self.shrunk(np.array([strength]))[:, 0] * self.pull)
        return Parameters(w, np.asarray(self.bias - self.means @ w))


@dataclass(frozen=True, eq=False)
class LeaveOneOutSums:
    """Σse², Σs²e⁴ of every strength, Σs² and Σs(y − ȳ)²; sums of parts add."""

    squares: Array
    fourths: Array
    of_weights: float
    of_targets: float

    def __add__(self, other: LeaveOneOutSums) -> LeaveOneOutSums:
        return LeaveOneOutSums(
            self.squares + other.squares,
            self.fourths + other.fourths,
            self.of_weights + other.of_weights,
            self.of_targets + other.of_targets,
        )


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """The task of the second pass: the error of each row under the models without it."""

    of_part: Any
    spectrum: Spectrum
    strengths: Array
    fit_bias: bool

    def __call__(self, rows: Rows) -> LeaveOneOutSums:
        """The sums of one part."""
        data = self.of_part.memory(rows)
        found, s = self.spectrum, data.weights
        away = rows.X - found.means
        if self.of_part.center is not None:
            away -= self.of_part.center
        E = away @ found.vectors
        shrunk = found.shrunk(self.strengths)
        errors = (data.y - found.bias)[:, None] - E @ (shrunk * found.pull[:, None])
        leverage = (E**2) @ shrunk
        if self.fit_bias:
            leverage += 1 / found.weight
        leverage *= s[:, None]
        errors /= 1 - np.minimum(leverage, MOST_LEVERAGE)
        squares = s[:, None] * errors**2
        return LeaveOneOutSums(
            squares.sum(axis=0),
            (squares**2).sum(axis=0),
            float(np.sum(s**2)),
            float(np.sum(s * (data.y - found.mean_of_y) ** 2)),
        )


def strengths_below(spectrum: Spectrum) -> Array:
    """The strengths that are tried, the strongest first."""
    top = spectrum.largest
    return np.geomspace(top, top / 10**DECADES, RIDGE_STRENGTHS)


def chosen_path(
    spectrum: Spectrum, strengths: Array, sums: LeaveOneOutSums, select: str, center: Array | None
) -> Path:
    """The models of all strengths, their scores without each row, and which one is chosen."""
    weight = spectrum.weight
    means = sums.squares / weight
    # The standard error of a mean of squared errors, by their own variance.
    spread = np.maximum(sums.fourths - means**2 * sums.of_weights, 0.0)
    errors = np.sqrt(spread) / weight
    chosen = best_of(-means, errors, select)
    models = [spectrum.model(float(each)) for each in strengths]
    w = np.stack([model.w for model in models])
    b = np.array([float(model.b) for model in models])
    of_targets = sums.of_targets / weight
    is_scored = of_targets > 0
    return Path(
        strengths=strengths,
        coefficients=w,
        intercepts=b if center is None else b - w @ center,
        gaps=np.zeros(len(strengths)),
        unseen=1 - means / of_targets if is_scored else -means,
        standard_errors=errors / of_targets if is_scored else errors,
        chosen=chosen,
        metric=EXPLAINED if is_scored else SCORES["squared"],
        criterion=-means,
        criterion_errors=errors,
        criterion_metric=SCORES["squared"],
    )
