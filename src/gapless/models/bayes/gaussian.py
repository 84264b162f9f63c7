"""Naive Bayes for numbers: a Gaussian for each class and column."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ..._ground import core as _core
from ..._ground.about import Example, Examples
from ..._ground.interrupt import deadline
from ..._ground.stored import Declaration, Number, Numbers
from ..._ground.threads import thread_count
from ._base import Array, NaiveBayesClassifier
from .moments import Moments, Rest, Sample, blocks, class_moments
from .priors import Priors

LOG_TWO_PI = float(np.log(2 * np.pi))
# Smaller variances have no inverse in float64, and count as 0.
TINY = float(np.finfo(np.float64).tiny)
# Where smoothing begins that is 0.
LEAST_SMOOTHING = 1e-9


class GaussianNB(NaiveBayesClassifier):
    """Naive Bayes for numbers: in each class every column has its own Gaussian density.

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
        What the model will score on unseen rows, by exact leave-one-out.
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

    _examples: ClassVar[Examples] = (Example("iris"),)

    _stored: ClassVar[Declaration] = {
        **NaiveBayesClassifier._stored,
        "class_count_": Numbers("classes", low=0),
        "class_prior_": Numbers("classes", low=0.0),
        "epsilon_": Number(low=0.0),
        "theta_": Numbers("classes", "features"),
        "var_": Numbers("classes", "features", low=0.0),
    }
    _parameter_constraints: ClassVar[dict] = {
        "priors": ["array-like", None],
        "var_smoothing": [Interval(Real, 0, None, closed="left")],
        "smooth_prior": ["boolean"],
    }

    def __init__(self, *, priors=None, var_smoothing=1e-9, smooth_prior=False):
        self.priors = priors
        self.var_smoothing = var_smoothing
        self.smooth_prior = smooth_prior

    def _moments(self) -> Moments:
        """The moments of the rows so far, from the attributes."""
        count = self.class_count_[:, None]
        return Moments(count, self.theta_, np.maximum(self.var_ - self.epsilon_, 0.0) * count)

    def _learn(self, data):
        return self._from(class_moments(data))

    def _learn_more(self, data):
        moments = class_moments(data)
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
        return Priors.counted(self.priors, classes, is_smoothed=self.smooth_prior)

    # ---- predicting ------------------------------------------------------------------------------

    def _joint(self, X):
        with np.errstate(divide="ignore"):
            prior = np.log(self.class_prior_)
        return prior + log_densities(X, self.theta_, self.var_)

    # ---- both gaps -------------------------------------------------------------------------------

    def _smoothed(self, step):
        value = max(self.var_smoothing, LEAST_SMOOTHING) * 10.0**step
        return f"var_smoothing={value:.3g}", self._at(var_smoothing=value)

    def _without_each(self, X, own, data):
        prior = self._priors(own.shape[1]).log_without(self.class_count_, own)
        sample = Sample(data.X, data.y, data.weights)
        return prior + densities_without(sample, class_moments(data), self.var_smoothing, X, own)

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
            for terms in (deviance(spread, self.var_), deviance(best, best))
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
    is_point = variance < TINY
    precision = np.divide(1.0, variance, out=np.zeros_like(variance), where=~is_point)
    log = LOG_TWO_PI - np.log(np.where(is_point, 1.0, precision))
    out = np.empty((len(X), len(mean)))
    offsets = log if has_missing else None
    _core.class_distances(X, mean, precision, offsets, out, thread_count(), deadline())
    out *= -0.5
    if not has_missing:
        out -= 0.5 * log.sum(axis=1)
    for k, j in np.argwhere(is_point):
        out[(X[:, j] != mean[k, j]) & ~np.isnan(X[:, j]), k] = -np.inf
    return out


def densities_without(
    sample: Sample, moments: Moments, smoothing: float, X: Array, own: Array
) -> Array:
    """The same of rows of the fit without themselves; `own` (n, classes) is what they weigh."""
    out = np.empty(own.shape)
    for rows in blocks(len(X), X.shape[1] * own.shape[1]):
        rest = Rest.of(sample, moments, X[rows], own[rows])
        epsilon = smoothing * np.max(rest.spread, axis=1, keepdims=True)
        for k in range(own.shape[1]):
            away, variance = rest.gaussian(k)
            out[rows, k] = log_density(away, variance + epsilon, rest.there)
    return out


def log_density(away: Array, variance: Array, there: Array | bool = True) -> Array:
    """Σⱼ log N(away; 0, variance) along rows, over the columns that are there."""
    is_point = variance < TINY
    safe = np.where(is_point, 1.0, variance)
    terms = LOG_TWO_PI + np.where(is_point, 0.0, np.log(safe) + away**2 / safe)
    density = -0.5 * np.where(there, terms, 0.0).sum(axis=1)
    return np.where(np.any(there & is_point & (away != 0), axis=1), -np.inf, density)


def deviance(spread: Array, variance: Array) -> Array:
    """log v + s/v, which is least at v = s; 0 where both are 0."""
    is_point = variance < TINY
    safe = np.where(is_point, 1.0, variance)
    return np.where(is_point, np.where(spread >= TINY, np.inf, 0.0), np.log(safe) + spread / safe)
