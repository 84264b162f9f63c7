"""Naive Bayes for numbers: a Gaussian for each class and column."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from .. import _core
from .._validation import Training
from ..interrupt import check, deadline
from ..threads import thread_count
from ._base import Array, NaiveBayesClassifier
from .moments import Moments
from .priors import Priors

LOG_TWO_PI = float(np.log(2 * np.pi))
# Numbers of the largest block that is computed at a time.
BLOCK = 1 << 20


class GaussianNB(NaiveBayesClassifier):
    """Naive Bayes for numbers: in each class every column has a Gaussian density of its own.

    p(x, y = c) = π_c Πⱼ N(xⱼ; μ_cj, σ²_cj),  with the means and variances of the rows of class c.
    To each variance ε is added, `var_smoothing` times the largest variance of all columns. These
    maximise the likelihood of rows to which noise of variance ε is added, on the average.

    Parameters
    ----------
    priors : array-like of shape (n_classes,), default=None
        Priors of the classes; otherwise they are counted.
    var_smoothing : float, default=1e-9
        The part ≥ 0 of the largest variance that is added to all variances.
    smooth_prior : bool, default=False
        Whether 1 is added to the count of each class, for priors (N_c + 1)/(N + K).

    Attributes
    ----------
    class_count_ : ndarray of shape (n_classes,)
        Weight of the rows of each class.
    class_prior_ : ndarray of shape (n_classes,)
        The priors π.
    epsilon_ : float
        The variance ε that was added.
    theta_ : ndarray of shape (n_classes, n_features)
        The means μ, float64.
    var_ : ndarray of shape (n_classes, n_features)
        The variances σ² + ε, float64.
    classes_ : ndarray of shape (n_classes,)
        Classes.
    certificate_ : Certificate
        That the parameters are the best ones, which are known in closed form.
    generalization_ : Generalization
        What the model will score on unseen data, by exact leave-one-out.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had names.

    Notes
    -----
    Two passes over X to fit, and O(d) for each row and class to predict. Parts by `partial_fit`
    give the model of all rows, ε included. For missing values and categories see `NaiveBayes`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gapless import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianNB().fit(X, y)
    >>> print(repr(model.generalization_))
    <Generalization balanced: accuracy 0.953 ± 0.017 unseen, 0.96 train>
    """

    _stored: ClassVar[tuple[str, ...]] = (
        "class_count_",
        "class_prior_",
        "epsilon_",
        "theta_",
        "var_",
        *NaiveBayesClassifier._stored,
    )
    _parameter_constraints: ClassVar[dict] = {
        "priors": ["array-like", None],
        "var_smoothing": [Interval(Real, 0, None, closed="left")],
        "smooth_prior": ["boolean"],
    }

    def __init__(self, *, priors=None, var_smoothing=1e-9, smooth_prior=False):
        self.priors = priors
        self.var_smoothing = var_smoothing
        self.smooth_prior = smooth_prior

    def _moments_of(self, data: Training) -> Moments:
        return Moments.of(data.X, data.y, data.weights, len(data.classes))

    def _moments(self) -> Moments:
        """The moments of the rows so far, from the attributes."""
        count = self.class_count_[:, None]
        return Moments(count, self.theta_, np.maximum(self.var_ - self.epsilon_, 0.0) * count)

    def _learn(self, data):
        return self._from(self._moments_of(data))

    def _learn_more(self, data):
        moments = self._moments_of(data)
        return self._from(self._moments() + moments if hasattr(self, "classes_") else moments)

    def _from(self, moments: Moments) -> dict[str, Any]:
        """All attributes that follow from moments."""
        count = moments.count[:, 0]
        epsilon = self.var_smoothing * float(np.max(moments.overall.variance))
        return {
            "class_count_": count,
            "class_prior_": self._priors(len(count)).shares(count),
            "epsilon_": epsilon,
            "theta_": moments.mean,
            "var_": moments.variance + epsilon,
        }

    def _priors(self, classes: int) -> Priors:
        if self.smooth_prior and self.priors is not None:
            raise ValueError("smooth_prior=True is for priors that are counted; leave out priors.")
        found = Priors.read(self.priors, classes, is_fitted=True, is_smoothed=self.smooth_prior)
        if found.given is not None and not np.isclose(found.given.sum(), 1.0):
            raise ValueError(
                f"The sum of the priors should be 1, got {found.given.sum():.6g}; divide by it."
            )
        return found

    # ---- predicting ------------------------------------------------------------------------------

    def _joint(self, X):
        with np.errstate(divide="ignore"):
            prior = np.log(self.class_prior_)
        return prior + log_densities(X, self.theta_, self.var_)

    # ---- both gaps -------------------------------------------------------------------------------

    def _smoothed(self, factor):
        return self._at(var_smoothing=self.var_smoothing * factor) if self.var_smoothing else None

    def _without_each(self, X, own, data):
        moments, z = self._moments(), self._priors(len(own[0])).log_without(self.class_count_, own)
        step = max(BLOCK // max(X.shape[1] * len(own[0]), 1), 1)
        for first in range(0, len(z), step):
            check()
            rows = slice(first, first + step)
            z[rows] += self._densities_without(moments, X[rows], own[rows])
        return z

    def _densities_without(self, moments: Moments, X: Array, own: Array) -> Array:
        """Log densities (n, classes) of rows, without themselves."""
        X, whole = X.astype(np.float64), moments.overall
        everything, total = np.zeros(len(X), dtype=int), own.sum(axis=1)[:, None]
        spread = whole.variance_without(everything, X - whole.mean, total)
        epsilon = self.var_smoothing * np.max(spread, axis=1, keepdims=True)
        out, variance = np.zeros(own.shape), moments.variance
        for k, mean in enumerate(moments.mean):
            out[:, k] = _log_density(X - mean, variance[k] + epsilon)
        # Rows and the classes whose moments they are part of.
        row, of = np.nonzero(own)
        w = own[row, of][:, None]
        away = X[row] - moments.mean[of]
        alone = moments.variance_without(of, away, w) + epsilon[row]
        out[row, of] = _log_density(away * moments.growth(of, w), alone)
        return out

    def _costs(self, learned, data):
        count = learned["class_count_"]
        K = len(count)
        with np.errstate(divide="ignore"):
            primal, dual = self._priors(K).costs(count, np.log(self.class_prior_))
        w, best = count[:, None], learned["var_"]
        spread = best + (self.theta_ - learned["theta_"]) ** 2
        scale = float(count.sum()) * np.log(max(K, 2))
        more, least = (
            0.5 * float(np.sum(w * terms))
            for terms in (_deviance(spread, self.var_), _deviance(best, best))
        )
        size = abs(dual) + float(np.sum(w * (1 + np.abs(np.log(np.where(best > 0, best, 1.0))))))
        return primal + more, dual + least, size, scale

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


def log_densities(X: Array, mean: Array, variance: Array, *, has_missing: bool = False) -> Array:
    """Σⱼ log N(xⱼ; μ_cj, σ²_cj) of rows and classes, (n, classes); with `has_missing` without NaN.

    A variance of 0 has all its probability at the mean: any other value is impossible.
    """
    is_point = variance <= 0
    precision = np.divide(1.0, variance, out=np.zeros_like(variance), where=~is_point)
    log = LOG_TWO_PI - np.log(np.where(is_point, 1.0, precision))
    out = np.empty((len(X), len(mean)))
    offsets = log if has_missing else None
    _core.class_distances(X, mean, precision, offsets, out, thread_count(), deadline())
    out *= -0.5
    if not has_missing:
        out -= 0.5 * log.sum(axis=1)
    for k, j in np.argwhere(is_point):
        out[X[:, j] != mean[k, j], k] = -np.inf
    return out


def _log_density(away: Array, variance: Array) -> Array:
    """Σⱼ log N(away; 0, variance) along rows."""
    is_point = variance <= 0
    safe = np.where(is_point, 1.0, variance)
    terms = np.where(is_point, LOG_TWO_PI, LOG_TWO_PI + np.log(safe) + away**2 / safe)
    density = -0.5 * terms.sum(axis=1)
    return np.where(np.any(is_point & (away != 0), axis=1), -np.inf, density)


def _deviance(spread: Array, variance: Array) -> Array:
    """log v + s/v, which is least at v = s; 0 where both are 0."""
    is_point = variance <= 0
    safe = np.where(is_point, 1.0, variance)
    return np.where(is_point, np.where(spread > 0, np.inf, 0.0), np.log(safe) + spread / safe)
