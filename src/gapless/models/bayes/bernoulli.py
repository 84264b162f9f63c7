"""Naive Bayes for features that are present or absent: Bernoulli."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import binarize
from sklearn.utils._param_validation import Interval

from ..._ground.about import Example, Examples
from ..._ground.docstrings import FEATURES, described
from ..._ground.stored import Declaration, Numbers
from ._base import LEARNED
from ._counts import COUNTED, CountBayes
from .counting import (
    Entries,
    left_over,
    log_costs,
    log_positive,
    log_ratio,
    products,
)

Array = np.ndarray


@described(COUNTED, LEARNED, FEATURES)
class BernoulliNB(CountBayes):
    """Naive Bayes for features that are present or absent.

    p(x, y = c) = π_c Πⱼ p_cj^xⱼ (1 − p_cj)^(1 − xⱼ)  with  p_cj = (N_cj + α)/(N_c + 2α),  where
    N_cj is the number of rows of class c that have feature j. Absent features count as well, unlike
    in `MultinomialNB`.

    Parameters
    ----------
    binarize : float or None, default=0.0
        Larger values mean that a feature is present; None takes X unchanged, 0 or 1.

    Attributes
    ----------
    feature_count_ : ndarray of shape (n_classes, n_features)
        The counts N.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        Logarithms of p.
    coef_, intercept_ : ndarray
        The model as a linear classifier of features in 0 and 1: log(p/(1 − p)) of each class, and
        log π + Σ log(1 − p); for two classes the difference of both, of shape (1, n_features).

    Notes
    -----
    One pass over the entries of X to fit, and one to predict. X may be a table in parts
    (`gapless.in_parts`).

    References
    ----------
    Manning, Raghavan and Schütze (2008), Introduction to Information Retrieval, section 13.3.

    Examples
    --------
    >>> from gapless import BernoulliNB
    >>> X = [[1, 1, 0], [1, 0, 0], [1, 0, 0], [1, 0, 1]]
    >>> print(BernoulliNB().fit(X, ["c", "c", "c", "j"]).predict([[1, 0, 1], [1, 0, 0]]))
    ['j' 'c']
    """

    _examples: ClassVar[Examples] = (Example("digits"),)

    _stored: ClassVar[Declaration] = {
        **CountBayes._stored,
        "feature_count_": Numbers("classes", "features", low=0),
    }
    _fits_in_parts = True
    _parameter_constraints: ClassVar[dict] = {
        **CountBayes._parameter_constraints,
        "binarize": [None, Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        alpha=1.0,
        force_alpha=True,
        binarize=0.0,
        fit_prior=True,
        class_prior=None,
        smooth_prior=False,
    ):
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.binarize = binarize
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.smooth_prior = smooth_prior

    def _coded(self, X):
        """X in 0 and 1."""
        if self.binarize is not None:
            return binarize(X, threshold=self.binarize)
        entries = X.data if sp.issparse(X) else X
        if entries.size and not np.all((entries == 0) | (entries == 1)):
            raise ValueError(
                "binarize=None needs values 0 and 1, and X has others; set a threshold, such as "
                "binarize=0.0."
            )
        return X

    def _smooth(self, counts, alpha):
        yes, total = _raised(counts, alpha)
        return {"feature_log_prob_": log_ratio(yes, total)}

    def _joint(self, X):
        yes = self.feature_log_prob_
        with np.errstate(divide="ignore"):
            no = np.log1p(-np.exp(np.minimum(yes, 0.0)))
        finite, impossible = (part(no).sum(axis=1) for part in (_finite, _is_impossible))
        finite = finite + products(X, _finite(yes) - _finite(no))
        impossible = impossible + products(X, _is_impossible(yes) - _is_impossible(no))
        return np.where(impossible > 0.5, -np.inf, finite) + self.class_log_prior_

    def _linear(self):
        yes = self.feature_log_prob_
        with np.errstate(divide="ignore"):
            no = np.log1p(-np.exp(np.minimum(yes, 0.0)))
        return yes - no, self.class_log_prior_ + no.sum(axis=1)

    def _without_each(self, X, own, data):
        counts = {"class_count_": self.class_count_, "feature_count_": self.feature_count_}
        yes, total = _raised(counts, self._alpha())
        no = total - yes
        # Rows and the classes whose counts they are part of.
        row, of = np.nonzero(own)
        n, w, entries = len(row), own[row, of], Entries.of(X[row])
        finite, impossible = np.empty(n), np.empty(n)
        # Rows of one class and weight have the same terms for absent features.
        kinds, kind = np.unique(np.stack([of, w]), axis=1, return_inverse=True)
        for k, (c, weight) in enumerate(kinds.T):
            rows, log_no = kind == k, log_positive(left_over(no[int(c)], weight))
            finite[rows] = np.sum(_finite(log_no) - _finite(log_positive(total[int(c)] - weight)))
            impossible[rows] = _is_impossible(log_no).sum()
        at = (of[entries.row], entries.column)
        log_yes, log_no = (log_positive(left_over(side[at], w[entries.row])) for side in (yes, no))
        finite += entries.sums(_finite(log_yes) - _finite(log_no), n)
        impossible += entries.sums(_is_impossible(log_yes) - _is_impossible(log_no), n)
        likelihood = self._joint(X) - self.class_log_prior_
        likelihood[row, of] = np.where(impossible > 0.5, -np.inf, finite)
        return likelihood + self._priors(len(own[0])).log_without(self.class_count_, own)

    def _feature_costs(self, learned):
        alpha = self._alpha(learned["feature_count_"].shape[1])
        yes, total = _raised(learned, alpha)
        both = np.stack([yes, total - yes], axis=-1)
        with np.errstate(divide="ignore"):
            stored, best = (
                np.stack([log, np.log1p(-np.exp(log))], axis=-1)
                for log in (np.minimum(self.feature_log_prob_, 0.0), learned["feature_log_prob_"])
            )
        pseudo = float(2 * np.sum(np.broadcast_to(alpha, yes.shape)))
        return *log_costs(both, stored, best), pseudo


def _raised(counts: dict[str, Any], alpha: Any) -> tuple[Array, Array]:
    """Pseudo-counts and counts of rows with a feature, and of all rows, (classes, d)."""
    yes = counts["feature_count_"] + alpha
    total = counts["class_count_"][:, None] + 2 * np.asarray(alpha)
    return yes, np.broadcast_to(total, yes.shape)


def _is_impossible(log: Array) -> Array:
    """Which probabilities are 0, as 0 and 1."""
    return np.isneginf(log).astype(np.float64)


def _finite(log: Array) -> Array:
    """The logarithms of all others."""
    return np.where(np.isneginf(log), 0.0, log)
