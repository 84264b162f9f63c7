"""Linear discriminant analysis: Gaussian classes that share one covariance."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from numbers import Integral, Real
from operator import add
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..._ground import lapack
from ..._ground.about import Example, Examples, Formula
from ..._ground.design import Design
from ..._ground.docstrings import FEATURES, described
from ..._ground.lapack import call_lapack
from ..._ground.stored import LOGARITHM, Declaration, Maybe, Numbers, Unused, score_count
from ..._ground.validation import Training
from ...streaming import Spread, is_in_parts
from ...unseen import NotAvailable
from ._base import LEARNED, ROWS
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
from .counting import Priors, left_over
from .moments import Moments, class_moments

Array = np.ndarray


@described(DISCRIMINANT, LEARNED, FEATURES)
class LinearDiscriminantAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Discriminant):
    """Classes with Gaussian densities and one covariance: boundaries are planes.

    p(x, y = c) = π_c N(x; μ_c, Σ),  so that  log p(c | x) = xᵀΣ⁻¹μ_c − ½μ_cᵀΣ⁻¹μ_c + log π_c  up to
    a number that is the same for all classes. `transform` projects rows to where the means of the
    classes are farthest apart in units of Σ (Fisher).

    Parameters
    ----------
    solver : {"svd", "lsqr", "eigen"}, default="svd"
        "svd" works on the rows, "lsqr" solves with the covariance, "eigen" finds the directions of
        `transform` from both covariances; the last two take `shrinkage` and `covariance_estimator`.
    n_components : int, default=None
        Directions that `transform` keeps, at most min(n_classes − 1, n_features).
    store_covariance : bool, default=False
        Whether "svd" keeps `covariance_`.
    tol : float, default=1e-4
        "svd": directions with a smaller standard deviation, of columns of variance 1, do not count.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, n_features) or (1, n_features)
        Weights of the classes; for two classes their difference.
    intercept_ : ndarray of shape (n_classes,) or (1,)
        Biases.
    covariance_ : ndarray of shape (n_features, n_features)
        Σ, the mean of the covariances of the classes, weighted by their priors.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The part of the variance between classes in each direction; not for "lsqr".
    scalings_ : ndarray of shape (n_features, rank)
        The directions, in columns; not for "lsqr".
    xbar_ : ndarray of shape (n_features,)
        The mean of the means, weighted by the priors; for "svd".
    certificate_ : Certificate
        That the weights are those of the closed form.

    Notes
    -----
    The cost is that of a decomposition, n·d². With more columns than rows set `shrinkage="auto"`.
    X may be a table in parts (`gapless.in_parts`): one pass sums the covariances of the classes.

    References
    ----------
    Fisher (1936), The use of multiple measurements in taxonomic problems, Annals of Eugenics 7.
    Hastie, Tibshirani and Friedman (2009), The Elements of Statistical Learning, section 4.3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gapless import LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearDiscriminantAnalysis().fit(X, y)
    >>> print(repr(model.generalization_))
    <Generalization balanced: accuracy 0.98 ± 0.011 unseen, 0.98 train>
    """

    _examples: ClassVar[Examples] = (Example("wine"),)

    _stored: ClassVar[Declaration] = {
        **Discriminant._stored,
        "coef_": Numbers(score_count, "features"),
        "intercept_": Numbers(score_count, is_finite=False, high=LOGARITHM),
        "scalings_": Maybe(Numbers("features", None)),
        "explained_variance_ratio_": Unused(),
        "xbar_": Maybe(Numbers("features")),
    }
    _parameter_constraints: ClassVar[dict] = {
        "solver": [StrOptions({"svd", "lsqr", "eigen"})],
        "shrinkage": [StrOptions({AUTO}), Interval(Real, 0, 1, closed="both"), None],
        "priors": ["array-like", None],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "store_covariance": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "covariance_estimator": [HasMethods("fit"), None],
    }

    def __init__(
        self,
        solver="svd",
        shrinkage=None,
        priors=None,
        n_components=None,
        store_covariance=False,
        tol=1e-4,
        covariance_estimator=None,
    ):
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.n_components = n_components
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator

    # ---- fitting ---------------------------------------------------------------------------------

    def _learn(self, data):
        return self._from(RowsWithin(self, data), data)

    def _learn_from_sums(self, sums, data):
        return self._from(SumsWithin(self, sums), data)

    def _from(self, within: RowsWithin | SumsWithin, data: Training) -> dict[str, Any]:
        """What follows from the covariances within the classes."""
        assert data.classes is not None
        self._components(len(data.classes), data.X.shape[1])
        moments = within.moments
        if not np.any(moments.squares):
            raise ValueError(
                "The number of samples must be more than the number of classes, and some rows of "
                "a class must differ; add rows, or rescale the features if they are tiny."
            )
        count = moments.count[:, 0]
        priors = self._priors(len(count)).shares(count)
        solve = {"svd": self._by_svd, "lsqr": self._by_lsqr, "eigen": self._by_eigen}[self.solver]
        learned = solve(within, moments.mean, priors)
        if len(count) == 2:
            learned["coef_"] = learned["coef_"][1:] - learned["coef_"][:1]
            learned["intercept_"] = learned["intercept_"][1:] - learned["intercept_"][:1]
        # In the type of X, unless its numbers are so small that these would overflow it.
        numbers = np.concatenate([learned["coef_"].ravel(), learned["intercept_"].ravel()])
        sizes = np.abs(numbers[np.isfinite(numbers)])
        if np.max(sizes, initial=0.0) <= np.finfo(data.X.dtype).max:
            for name in ("coef_", "intercept_"):
                learned[name] = learned[name].astype(data.X.dtype)
        return learned | {"means_": moments.mean, "priors_": priors}

    def _components(self, classes: int, d: int) -> int:
        """The number of directions that `transform` keeps."""
        most = min(classes - 1, d)
        if self.n_components is not None and self.n_components > most:
            raise ValueError(
                "n_components cannot be larger than min(n_features, n_classes - 1) = "
                f"{most}; got {self.n_components}."
            )
        return most if self.n_components is None else self.n_components

    def _by_svd(self, within: Any, means: Array, priors: Array) -> dict[str, Any]:
        scale, sizes, right = within.axes()
        total = within.weight
        is_counted = sizes > self.tol
        # Rows in these coordinates have covariance 1 within the classes.
        white = right[:, is_counted] / sizes[is_counted] / scale[:, None]
        xbar = priors @ means
        between = (np.sqrt(total * priors / (len(priors) - 1)) * (means - xbar).T).T @ white
        strengths, axes = right_singular(between)
        variance = strengths**2 / max(float(np.sum(strengths**2)), np.finfo(float).tiny)
        scalings = white @ axes[:, strengths > self.tol * strengths[:1]]
        coordinates = (means - xbar) @ scalings
        coef = coordinates @ scalings.T
        log_priors = _log(priors)
        intercept = -0.5 * np.sum(coordinates**2, axis=1) + log_priors - coef @ xbar
        learned = {"coef_": coef, "intercept_": intercept, "scalings_": scalings, "xbar_": xbar}
        count = self._components(*means.shape)
        learned["explained_variance_ratio_"] = variance[:count]
        if self.store_covariance:
            learned["covariance_"] = within.covariance(priors)
        return learned

    def _by_lsqr(self, within: Any, means: Array, priors: Array) -> dict[str, Any]:
        S = within.covariance(priors)
        coef = call_lapack(_least_squares, S.copy(), means.T).T
        return {"coef_": coef, "intercept_": _biases(means, coef, priors), "covariance_": S}

    def _by_eigen(self, within: Any, means: Array, priors: Array) -> dict[str, Any]:
        S = within.covariance(priors)
        total = within.of_all()
        values, vectors = call_lapack(_generalised_eigh, total - S, S)
        values, vectors = values[::-1], vectors[:, ::-1]
        coef = means @ vectors @ vectors.T
        count = self._components(len(priors), len(S))
        return {
            "coef_": coef,
            "intercept_": _biases(means, coef, priors),
            "covariance_": S,
            "scalings_": vectors,
            "explained_variance_ratio_": (values / values.sum())[:count],
        }

    # ---- predicting ------------------------------------------------------------------------------

    def _joint(self, X):
        z = X @ self.coef_.T.astype(np.float64) + self.intercept_
        return np.hstack([np.zeros_like(z), z]) if len(self.classes_) == 2 else z

    def _misfit(self) -> str | None:
        """What is inconsistent in the stored attributes, in words; None if nothing is."""
        needed = {"lsqr": (), "svd": ("scalings_", "xbar_")}.get(self.solver, ("scalings_",))
        missing = [name for name in needed if name not in vars(self)]
        return f"{missing[0]} is missing" if missing else None

    @described(ROWS)
    def transform(self, X):
        """Project rows to the directions in which the classes are farthest apart.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            Coordinates in which the classes have covariance 1; at most as many as there are
            directions.
        """
        if self.solver == "lsqr":
            raise NotImplementedError(
                "transform not implemented for 'lsqr' solver (use 'svd' or 'eigen')."
            )
        check_is_fitted(self)
        if is_in_parts(X):
            return self._applied(X, copy.copy(self)._projected)
        return self._projected(self._read_rows(X))

    def _projected(self, X: Array) -> Array:
        """The coordinates of rows that have been read."""
        origin = self.xbar_ if self.solver == "svd" else 0.0
        return ((X - origin) @ self.scalings_[:, : self._n_features_out]).astype(X.dtype)

    @property
    def _n_features_out(self):
        return self._components(len(self.classes_), self.n_features_in_)

    # ---- both gaps -------------------------------------------------------------------------------

    def _without_each(self, X, own, data):
        if self.shrinkage == AUTO or self.covariance_estimator is not None:
            raise NotAvailable("the covariance is estimated again without each row")
        if self.priors is not None and self.solver != "svd":
            raise NotAvailable("with given priors, each class has its own covariance")
        pooled = Pooled.of(data, class_moments(data), float(self.shrinkage or 0.0), self.tol)
        return pooled.without_each(X, own, self._priors(own.shape[1]))

    def _costs(self, learned, data):
        def size(coef: Array, bias: Array) -> float:
            z = _contrasts(data.X @ coef.T + bias)
            return float(data.weights @ np.sum(z**2, axis=1))

        return self._costs_by(learned, float(data.weights.sum()), size)

    def _costs_from_sums(self, learned, sums, data):
        every = reduce(add, sums)

        def size(coef: Array, bias: Array) -> float:
            W, b = _contrasts(coef.T), _contrasts(bias[None])[0]
            at_mean = every.mean @ W + b
            return float(np.sum(W * (every.products @ W)) + every.weight * np.sum(at_mean**2))

        return self._costs_by(learned, every.weight, size)

    def _costs_by(
        self, learned: dict[str, Any], total: float, size_of: Callable[[Array, Array], float]
    ) -> tuple[float, float, float, float]:
        """½Σ s‖z − ẑ‖² above the least of ½wᵀΣw − wᵀ(μ_k − μ_0), for scores z and the best ẑ.

        `size_of` is Σ s‖z‖² for coefficients and biases.
        """
        own, bias, best, best_bias = (
            part.astype(np.float64)
            for part in (self.coef_, self.intercept_, learned["coef_"], learned["intercept_"])
        )
        apart = _contrasts(best.T).T
        means = learned["means_"]
        dual = -0.5 * total * float(np.sum(apart * (means[1:] - means[:1])))
        excess = 0.5 * size_of(own - best, bias - best_bias)
        stored = np.finfo(self.coef_.dtype).eps ** 2 / np.finfo(float).eps
        size = abs(dual) + total + stored * size_of(best, best_bias)
        return dual + excess, dual, size, total * np.log(len(means))

    def _formula(self) -> Formula:
        text = "−Σᵢ log p(xᵢ, yᵢ), a normal distribution for each class, one covariance for all"
        return Formula(text, {"shrinkage": self.shrinkage})


class RowsWithin:
    """The covariances within the classes, of rows in memory."""

    def __init__(self, model: LinearDiscriminantAnalysis, data: Training):
        self.data, self.moments = data, class_moments(data)
        self.options = model.shrinkage, model.covariance_estimator
        self.weight = float(data.weights.sum())

    def axes(self) -> tuple[Array, Array, Array]:
        """What columns are divided by; standard deviations of the rows then, and their axes."""
        data = self.data
        away = data.X - self.moments.mean[data.y]
        within = away * np.sqrt(data.weights / self.weight)[:, None]
        scale = np.sqrt(np.sum(within**2, axis=0))
        scale[scale == 0] = 1.0
        return scale, *right_singular(within / scale)

    def covariance(self, priors: Array) -> Array:
        """The mean of the covariances of the classes."""
        S = np.zeros((self.data.X.shape[1],) * 2)
        for k in np.flatnonzero(self.moments.count[:, 0]).tolist():
            S += priors[k] * covariance_of(*rows_of(self.data, k), *self.options)
        return S

    def of_all(self) -> Array:
        """The covariance of all classes together."""
        rows = self.data.weights > 0
        return covariance_of(self.data.X[rows], self.data.weights[rows], *self.options)


class SumsWithin:
    """The same of rows that are read in parts: sums of the classes are known."""

    def __init__(self, model: LinearDiscriminantAnalysis, sums: list[Spread]):
        self.sums, self.moments = sums, moments_of(sums)
        self.shrinkage = float(model.shrinkage or 0.0)
        self.weight = sum(own.weight for own in sums)

    def axes(self) -> tuple[Array, Array, Array]:
        """What columns are divided by; standard deviations of the rows then, and their axes."""
        S = sum(own.products for own in self.sums) / self.weight
        scale = np.sqrt(np.diag(S))
        scale[scale == 0] = 1.0
        return scale, *axes_of(S / np.outer(scale, scale))

    def covariance(self, priors: Array) -> Array:
        """The mean of the covariances of the classes."""
        pairs = [(own, prior) for own, prior in zip(self.sums, priors) if own.weight > 0]
        S = sum(prior / own.weight * own.products for own, prior in pairs)
        return shrunk(np.asarray(S), self.shrinkage)

    def of_all(self) -> Array:
        """The covariance of all classes together."""
        every = reduce(add, self.sums)
        return shrunk(every.products / every.weight, self.shrinkage)


def _contrasts(z: Array) -> Array:
    """Differences to the first class, (n, classes − 1); one column is one already."""
    return z if z.shape[1] == 1 else z[:, 1:] - z[:, :1]


def _least_squares(S: Array, targets: Array) -> Array:
    return scipy.linalg.lstsq(S, targets)[0]


def _generalised_eigh(A: Array, B: Array) -> tuple[Array, Array]:
    return scipy.linalg.eigh(A, B)


def _log(priors: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.log(priors)


def _biases(means: Array, coef: Array, priors: Array) -> Array:
    return -0.5 * np.sum(means * coef, axis=1) + _log(priors)


# Rows whose x occurs in several classes are left out one at a time, up to this number of them.
FEW = 200
SINGULAR = "without a row the covariance may have no inverse"


@dataclass(frozen=True, eq=False)
class Pooled:
    """The covariance within the classes, in its own axes, and without each row.

    Without a row of class c and weight w the scatter within the classes, T·S, is smaller by β δδᵀ,
    where δ is how far the row is from the mean of its class and β = w·N_c/(N_c − w): a downdate of
    rank one. In the axes of S all inverses follow from sums (Sherman and Morrison 1950).

    Parameters
    ----------
    moments : Moments
        Weights and means of the classes.
    S : ndarray of shape (d, d)
        The covariance within the classes, of columns divided by `scale`.
    scale : ndarray of shape (d,)
        What columns are divided by.
    shrinkage : float
        The part of S that is replaced by the mean variance.
    """

    moments: Moments
    S: Array
    scale: Array
    shrinkage: float

    @classmethod
    def of(cls, data: Training, moments: Moments, shrinkage: float, tol: float) -> Pooled:
        """From training rows; NotAvailable if the covariance has no inverse."""
        n, d = np.count_nonzero(data.weights), data.X.shape[1]
        if not shrinkage and n - np.count_nonzero(moments.count) < d:
            raise NotAvailable(SINGULAR)
        away = (data.X - moments.mean[data.y]).astype(np.float64, copy=False)
        S = Design(np.ascontiguousarray(away)).gram(data.weights) / data.weights.sum()
        # Shrunk covariances have their own units.
        scale = np.ones(len(S)) if shrinkage else np.sqrt(np.diag(S))
        if not np.all(scale > 0):
            raise NotAvailable(SINGULAR)
        S = S / np.outer(scale, scale)
        if not shrinkage and call_lapack(np.linalg.eigvalsh, S)[0] <= tol**2:
            raise NotAvailable(SINGULAR)
        return cls(moments, S, scale, shrinkage)

    def without_each(self, X: Array, own: Array, priors: Priors) -> Array:
        """Scores (n, classes) of rows without themselves; `own` is their weight in each class."""
        z = priors.log_without(self.moments.count[:, 0], own)
        is_single = np.count_nonzero(own, axis=1) == 1
        others = np.flatnonzero(~is_single)
        if len(others) > FEW:
            raise NotAvailable("many rows differ only in their class")
        rows = np.flatnonzero(is_single)
        z[rows] -= 0.5 * self._distances(X[rows], own[rows])
        for i in others:
            z[i] -= 0.5 * self._distances_of_one(X[i], own[i])
        return z

    def _distances(self, X: Array, own: Array) -> Array:
        """Squared distances of rows of one class each to all means, (n, classes)."""
        values, axes = call_lapack(lapack.eigh, self.S.copy())
        of = np.argmax(own, axis=1)
        w = own[np.arange(len(own)), of][:, None]
        total = float(self.moments.count.sum())
        left = total - w
        rotated, centres = ((part / self.scale) @ axes for part in (X, self.moments.mean))
        away = rotated - centres[of]
        growth = self.moments.growth(of, w)
        beta = w * growth
        part = self.shrinkage
        D = (1 - part) * (total / left) * np.maximum(values, 0.0)
        if part:
            trace = total * values.sum() - beta * np.sum(away**2, axis=1, keepdims=True)
            D = D + part * trace / left / len(values)
        gamma = (1 - part) * beta / left
        rest = 1 - gamma[:, 0] * np.sum(away**2 / D, axis=1)
        if np.any(rest <= 1e-12):
            raise NotAvailable(SINGULAR)
        out = np.empty(own.shape)
        for k, centre in enumerate(centres):
            to = np.where((of == k)[:, None], away * growth, rotated - centre)
            along = np.sum(to * away / D, axis=1)
            out[:, k] = np.sum(to**2 / D, axis=1) + gamma[:, 0] * along**2 / rest
        return out

    def _distances_of_one(self, x: Array, own: Array) -> Array:
        """The same for a row with a weight in several classes."""
        count = self.moments.count[:, 0]
        left, away = left_over(count, own), (x - self.moments.mean) / self.scale
        growth = np.divide(count, left, out=np.zeros_like(count), where=left > 0)
        scatter = count.sum() * self.S - (away.T * (own * growth)) @ away
        S = shrunk(scatter / left.sum(), self.shrinkage)
        to = np.where((own > 0)[:, None], away * growth[:, None], away)
        return np.sum(to * np.linalg.solve(S, to.T).T, axis=1)
