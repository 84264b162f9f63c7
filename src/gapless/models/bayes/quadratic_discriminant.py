"""Quadratic discriminant analysis: Gaussian classes, each with its own covariance."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from ..._ground import lapack
from ..._ground.about import Example, Examples, Formula
from ..._ground.docstrings import FEATURES, described
from ..._ground.lapack import call_lapack
from ..._ground.stored import Declaration, Each, Labels, Numbers
from ..._ground.validation import Training
from ...streaming import Spread
from ...unseen import NotAvailable
from ._base import LEARNED
from ._discriminant import (
    AUTO,
    DISCRIMINANT,
    Discriminant,
    axes_of,
    covariance_of,
    moments_of,
    right_singular,
    rows_of,
    shrunk,
)
from .moments import Moments, class_moments

Array = np.ndarray

# A variance that is a smaller part of the largest one is rounding.
REGULAR = 1e-13


@described(DISCRIMINANT, LEARNED, FEATURES)
class QuadraticDiscriminantAnalysis(Discriminant):
    """Classes with Gaussian densities, each with its own covariance: boundaries are quadrics.

    p(x, y = c) = π_c N(x; μ_c, Σ_c),  with the mean and the covariance of the rows of class c,
    which maximise the likelihood.

    Parameters
    ----------
    solver : {"svd", "eigen"}, default="svd"
        Whether axes and variances come from the rows or from the covariance; the latter takes
        `shrinkage` and `covariance_estimator`.
    reg_param : float in [0, 1], default=0.0
        "svd": each covariance is (1 − reg_param)·Σ + reg_param·1.
    store_covariance : bool, default=False
        Whether `covariance_` is kept.
    tol : float, default=1e-4
        A covariance without an inverse is shrunk by this part, as by `shrinkage`, with a warning.

    Attributes
    ----------
    covariance_ : list of ndarray of shape (n_features, n_features)
        The covariances Σ.
    rotations_ : list of ndarray of shape (n_features, n_axes)
        The axes of each class, in columns; of "svd" no more than the class has rows.
    scalings_ : list of ndarray of shape (n_features,)
        The variances along them; beyond the last axis, the variance across all of them.
    singular_ : ndarray
        Classes whose covariance had no inverse.

    Notes
    -----
    The cost is that of a decomposition for each class, n·d² in all. A class needs more rows than
    there are features; with fewer, `solver="eigen", shrinkage="auto"` is better than the warning.
    X may be a table in parts (`gapless.in_parts`): one pass sums the covariances of the classes.

    References
    ----------
    Hastie, Tibshirani and Friedman (2009), The Elements of Statistical Learning, section 4.3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gapless import QuadraticDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> model = QuadraticDiscriminantAnalysis().fit(X, y)
    >>> print(repr(model.generalization_))
    <Generalization balanced: accuracy 0.973 ± 0.013 unseen, 0.98 train>
    """

    _examples: ClassVar[Examples] = (Example("wine"),)

    _stored: ClassVar[Declaration] = {
        **Discriminant._stored,
        "scalings_": Each(Numbers(None, low=0.0), "classes"),
        "rotations_": Each(Numbers("features", None), "classes"),
        "singular_": Labels(None, least=0),
    }
    _parameter_constraints: ClassVar[dict] = {
        "solver": [StrOptions({"svd", "eigen"})],
        "shrinkage": [StrOptions({AUTO}), Interval(Real, 0, 1, closed="both"), None],
        "priors": ["array-like", None],
        "reg_param": [Interval(Real, 0, 1, closed="both")],
        "store_covariance": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "covariance_estimator": [HasMethods("fit"), None],
    }

    def __init__(
        self,
        *,
        solver="svd",
        shrinkage=None,
        priors=None,
        reg_param=0.0,
        store_covariance=False,
        tol=1e-4,
        covariance_estimator=None,
    ):
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.reg_param = reg_param
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator

    # ---- fitting ---------------------------------------------------------------------------------

    def _learn(self, data):
        moments = class_moments(data)
        classes = [OfRows(*rows_of(data, k), mean, self) for k, mean in enumerate(moments.mean)]
        return self._from(moments, classes, data)

    def _learn_from_sums(self, sums, data):
        return self._from(moments_of(sums), [OfSums(own, self) for own in sums], data)

    def _from(
        self, moments: Moments, classes: Sequence[OfRows | OfSums], data: Training
    ) -> dict[str, Any]:
        """What follows from the covariances of the classes."""
        assert data.classes is not None
        count = moments.count[:, 0]
        spread = float(np.mean(moments.overall.variance))
        if not spread > 0:
            raise ValueError(
                "All rows are equal, or their squares are too small for float64; drop the columns "
                "that are constant, or rescale the others."
            )
        found = [self._shape(own, name, spread) for own, name in zip(classes, data.classes)]
        learned: dict[str, Any] = {
            "means_": moments.mean,
            "priors_": self._priors(len(count)).shares(count),
            "scalings_": [shape[0] for shape in found],
            "rotations_": [shape[1] for shape in found],
            "singular_": data.classes[[shape[2] for shape in found]],
        }
        if self.store_covariance:
            learned["covariance_"] = [_matrix(s, axes) for s, axes, _ in found]
        return learned

    def _is_unknown(self, rows, weights):
        return (rows == 0) | ((rows == 1) & (weights <= 1))

    def _shape(self, own: OfRows | OfSums, name: Any, spread: float) -> tuple[Array, Array, bool]:
        """Variances, decreasing, and axes of a class, and whether it had to be shrunk.

        There are d variances; those beyond the last axis are all the same.
        """
        d = own.d
        if own.weight == 0:  # a class without any of these rows of the fit
            return np.full(d, spread), np.empty((d, 0)), False
        if self._is_unknown(np.array(own.rows), np.array(own.weight)):
            raise ValueError(
                f"y has only 1 sample in class {name}, covariance is ill defined; add "
                "rows, or drop the class."
            )
        if self.solver == "svd":
            sizes, axes = own.axes()
            scaling = np.pad(sizes**2, (0, d - len(sizes)))
            scaling = (1 - self.reg_param) * scaling + self.reg_param
        else:
            S = own.covariance()
            scaling, axes = (part[..., ::-1] for part in call_lapack(lapack.eigh, S.copy()))
        if is_regular(scaling):
            return scaling, axes, False
        mean_variance = max(float(scaling.mean()), self.tol * spread)
        return (1 - self.tol) * np.maximum(scaling, 0.0) + self.tol * mean_variance, axes, True

    def _warn_of_fit(self):
        if not len(self.singular_):
            return
        named = ", ".join(map(str, self.singular_[:3])) + (", …" if len(self.singular_) > 3 else "")
        name = "shrinkage" if self.solver == "eigen" else "reg_param"
        warnings.warn(
            f"The covariance of {len(self.singular_)} classes ({named}) has no inverse: they have "
            "too few rows, or their columns depend on each other. They are shrunk by "
            f'tol={self.tol:g}; set {name}, or solver="eigen" and shrinkage="auto".',
            stacklevel=4,
        )

    # ---- predicting ------------------------------------------------------------------------------

    def _joint(self, X):
        with np.errstate(divide="ignore"):
            return np.log(self.priors_) + self._densities(X)

    def _misfit(self) -> str | None:
        """What is inconsistent in the stored attributes, in words; None if nothing is."""
        pairs = zip(self.scalings_, self.rotations_)
        if any(len(own) != axes.shape[1] for own, axes in pairs):
            return "scalings_ and rotations_ have different axes"
        return None

    def _densities(self, X: Array) -> Array:
        """Log densities (n, classes), except for terms that all classes share."""
        out = np.empty((len(X), len(self.means_)))
        for k, (mean, s, axes) in enumerate(zip(self.means_, self.scalings_, self.rotations_)):
            away, r = X - mean, axes.shape[1]
            squares = (away @ axes) ** 2
            distance = np.sum(squares / s[:r], axis=1)
            if r < len(s):
                across = np.sum(away**2, axis=1) - squares.sum(axis=1)
                distance += np.maximum(across, 0.0) / s[r]
            out[:, k] = -0.5 * (distance + np.sum(np.log(s)))
        return out

    # ---- both gaps -------------------------------------------------------------------------------

    def _without_each(self, X, own, data):
        if self.shrinkage == AUTO or self.covariance_estimator is not None:
            raise NotAvailable("covariances are estimated again without each row")
        if len(self.singular_):
            raise NotAvailable("covariances without an inverse are shrunk again without each row")
        moments = class_moments(data)
        z = self._densities(X)
        for k in range(own.shape[1]):
            rows = np.flatnonzero(own[:, k])
            away, w = X[rows] - self.means_[k], own[rows, k]
            z[rows, k] = self._density_without(k, away, w, float(moments.count[k, 0]))
        return z + self._priors(own.shape[1]).log_without(moments.count[:, 0], own)

    def _density_without(self, k: int, away: Array, w: Array, count: float) -> Array:
        """Log densities of rows of class k without them: a downdate of rank one in its axes."""
        variance, part = self._plain_variances(k)
        coordinates = away @ self.rotations_[k]
        w = w[:, None]
        left = np.maximum(count - w, np.finfo(float).tiny * count)
        growth = count / left
        floor = np.full(w.shape, self.reg_param)
        if self.solver == "eigen":
            trace = growth * variance.sum() - w * growth / left * np.sum(
                coordinates**2, axis=1, keepdims=True
            )
            floor = part * trace / len(variance)
        D = (1 - part) * growth * variance + floor
        gamma = ((1 - part) * w * growth / left)[:, 0]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # Rows of the class have no component across its axes.
            q = np.sum(coordinates**2 / D[:, : coordinates.shape[1]], axis=1)
            rest = 1 - gamma * q
            # The least variance without the row is at least that part of the least one.
            if not np.all(is_regular(D * rest[:, None])):
                raise NotAvailable("without a row a covariance may have no inverse")
            distance = growth[:, 0] ** 2 * q / rest
            return -0.5 * (distance + np.sum(np.log(D), axis=1) + np.log(rest))

    def _plain_variances(self, k: int) -> tuple[Array, float]:
        """Variances of a class before anything was added to them, and which part was replaced."""
        s = self.scalings_[k]
        part = self.reg_param if self.solver == "svd" else float(self.shrinkage or 0.0)
        if part == 1:
            return s, part
        floor = part if self.solver == "svd" else part * s.mean()
        return np.maximum(s - floor, 0.0) / (1 - part), part

    def _costs(self, learned, data):
        count = np.bincount(data.y, data.weights, len(data.classes))
        return self._costs_of_counts(learned, count)

    def _costs_from_sums(self, learned, sums, data):
        return self._costs_of_counts(learned, np.array([own.weight for own in sums]))

    def _costs_of_counts(
        self, learned: dict[str, Any], count: Array
    ) -> tuple[float, float, float, float]:
        """The same, given the weight of each class."""
        with np.errstate(divide="ignore"):
            primal, dual = self._priors(len(count)).costs(count, np.log(self.priors_))
        size = abs(dual)
        for k, n in enumerate(count):
            best, axes = learned["scalings_"][k], learned["rotations_"][k]
            away = learned["means_"][k] - self.means_[k]
            stored = self.scalings_[k]
            spread = _spread(self.rotations_[k], best, axes, away)
            primal += (
                0.5 * n * float(np.sum(np.log(stored)) + np.sum(spread / stored[: len(spread)]))
            )
            dual += 0.5 * n * float(np.sum(np.log(best) + 1))
            r = len(spread)
            size += n * float(np.sum(1 + np.abs(np.log(best))) + np.sum(best.max() / best[:r]))
            size += n * float(best.sum() / best[-1]) if r > axes.shape[1] else 0.0
        # In units of its own variance each column costs ½ for each row.
        return primal, dual, size, float(count.sum()) * (np.log(len(count)) + 0.5 * len(best))

    def _formula(self) -> Formula:
        text = "−Σᵢ log p(xᵢ, yᵢ), a normal distribution for each class, with its own covariance"
        return Formula(text, {"regularisation": self.reg_param})


@dataclass(frozen=True, eq=False)
class OfRows:
    """A class of rows in memory: X (n, d), their weights and mean; the model says how."""

    X: Array
    weights: Array
    mean: Array
    model: QuadraticDiscriminantAnalysis

    @property
    def d(self) -> int:
        """The number of columns."""
        return len(self.mean)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.X)

    @property
    def weight(self) -> float:
        """Their weight."""
        return float(self.weights.sum())

    def axes(self) -> tuple[Array, Array]:
        """Standard deviations, decreasing, and axes."""
        return right_singular((self.X - self.mean) * np.sqrt(self.weights / self.weight)[:, None])

    def covariance(self) -> Array:
        """The covariance, shrunk or estimated."""
        model = self.model
        return covariance_of(self.X, self.weights, model.shrinkage, model.covariance_estimator)


@dataclass(frozen=True, eq=False)
class OfSums:
    """The same of rows that are read in parts: their sums are known."""

    spread: Spread
    model: QuadraticDiscriminantAnalysis

    @property
    def d(self) -> int:
        """The number of columns."""
        return len(self.spread.mean)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.spread.rows

    @property
    def weight(self) -> float:
        """Their weight."""
        return self.spread.weight

    def axes(self) -> tuple[Array, Array]:
        """Standard deviations, decreasing, and axes; no more than there are rows."""
        sizes, axes = axes_of(self.spread.products / self.weight)
        return sizes[: self.rows], axes[:, : self.rows]

    def covariance(self) -> Array:
        """The covariance, shrunk."""
        part = float(self.model.shrinkage or 0.0)
        return shrunk(self.spread.products / self.weight, part)


def is_regular(variances: Array) -> Array:
    """Whether all variances along the last axis stand out from rounding."""
    return variances.min(axis=-1) > REGULAR * np.abs(variances).max(axis=-1)


def _matrix(variances: Array, axes: Array) -> Array:
    """The covariance (d, d) of d variances; those beyond the last axis are all the same."""
    r = axes.shape[1]
    if r == len(variances):
        return (axes * variances) @ axes.T
    rest = variances[r]
    return (axes * (variances[:r] - rest)) @ axes.T + rest * np.eye(len(variances))


def _spread(along: Array, variances: Array, axes: Array, away: Array) -> Array:
    """Mean squares along axes (d, r), and if r < d their sum across these, around a point `away`.

    For the covariance given by `variances` and `axes`.
    """
    r = axes.shape[1]
    rest = variances[r] if r < len(variances) else 0.0
    squares = (along.T @ axes) ** 2 @ (variances[:r] - rest) + rest + (along.T @ away) ** 2
    if along.shape[1] == len(variances):
        return squares
    across = variances.sum() + away @ away - squares.sum()
    return np.append(squares, max(float(across), 0.0))
