"""Naive Bayes for numbers: a Gaussian for each class and column."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ..._ground.about import Example, Examples
from ..._ground.docstrings import FEATURES, described
from ..._ground.stored import Declaration, Number, Numbers
from ._base import LEARNED, SMOOTHED, NaiveBayesClassifier
from .counting import Priors
from .moments import (
    Moments,
    RowMoments,
    Sample,
    class_moments,
    densities_without,
    deviance,
    log_densities,
)

# Where smoothing starts from 0.
LEAST_SMOOTHING = 1e-9


@described(SMOOTHED, LEARNED, FEATURES)
class GaussianNB(NaiveBayesClassifier):
    """Naive Bayes for numbers: in each class every column has its own Gaussian density.

    p(x, y = c) = π_c Πⱼ N(xⱼ; μ_cj, σ²_cj),  with the means and variances of the rows of class c.
    ε, `var_smoothing` times the largest variance of all columns, is added to each variance. These
    parameters maximise the mean likelihood of rows with added noise of variance ε.

    Attributes
    ----------
    epsilon_ : float
        The variance ε that was added.
    theta_ : ndarray of shape (n_classes, n_features)
        The means μ, float64.
    var_ : ndarray of shape (n_classes, n_features)
        The variances σ² + ε, float64.
    coef_, intercept_ : ndarray
        Weights and biases of the scores, only where all classes have the same variances: then the
        model is a linear classifier.

    Notes
    -----
    Two passes over X to fit, and O(d) for each row and class to predict. Parts by `partial_fit`
    give the model of all rows, including ε, and so does a table in parts (`gapless.in_parts`). For
    missing values and categories see `NaiveBayes`.

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

    _fits_in_parts = True

    def _class_sums(self, X, y, weights, classes):
        moments = Moments.of(X, y, weights, classes)
        parts = moments.count, moments.mean, moments.squares
        rows = np.bincount(y, weights > 0, classes)
        return [
            RowMoments(int(rows[k]), Moments(*(part[k : k + 1] for part in parts)))
            for k in range(classes)
        ]

    def _rows_and_weight(self, sums):
        return sums.rows, float(sums.moments.count[0, 0])

    def _learn_from_sums(self, sums, data):
        found = [own.moments for own in sums]
        parts = ([getattr(own, name) for own in found] for name in ("count", "mean", "squares"))
        return self._from(Moments(*(np.concatenate(part) for part in parts)))

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

    def _linear(self):
        """Linear only if all classes have the same variances: else x² does not cancel."""
        if not np.allclose(self.var_, self.var_[:1], rtol=1e-9, atol=0.0):
            raise AttributeError(
                "GaussianNB has no coef_: its scores are quadratic, since the classes have "
                "variances of their own; LinearDiscriminantAnalysis shares them."
            )
        if not np.all(self.var_ > 0):
            raise AttributeError(
                "GaussianNB has no coef_: a feature without variance decides by itself."
            )
        with np.errstate(divide="ignore"):
            prior = np.log(self.class_prior_)
        coef = self.theta_ / self.var_
        return coef, prior - 0.5 * np.sum(coef * self.theta_, axis=1)

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
