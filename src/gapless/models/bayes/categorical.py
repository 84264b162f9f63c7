"""Naive Bayes for categories 0, 1, …"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ..._ground.about import Example, Examples
from ..._ground.docstrings import FEATURES, described
from ..._ground.stored import LOGARITHM, Declaration, Each, Numbers
from ...unseen import LOO
from ._base import LEARNED
from ._counts import COUNTED, CountBayes, check_not_negative
from .counting import left_over, log_costs, log_ratio, sum_of_tables

Array = np.ndarray

# No column has more categories.
MOST = 10_000_000


@described(COUNTED, LEARNED, FEATURES)
class CategoricalNB(CountBayes):
    """Naive Bayes for columns of categories, coded as numbers 0, 1, …

    p(x, y = c) = π_c Πⱼ θ_cj(xⱼ)  with  θ_cj(v) = (N_cj(v) + α)/(N_c + αVⱼ),  where N_cj(v) is the
    number of rows of class c with value v in column j, and Vⱼ the number of categories there.

    Parameters
    ----------
    alpha : float or "loo", default=1.0
        Pseudo-count ≥ 0 of each category; "loo" chooses it by exact leave-one-out, in about the
        time of a few predictions of all rows.
    min_categories : int or array-like of shape (n_features,), default=None
        The least number of categories of each column; otherwise as many as the largest number in
        the data requires.

    Attributes
    ----------
    category_count_ : list of ndarray of shape (n_classes, n_categories)
        The counts N of each column.
    feature_log_prob_ : list of ndarray of shape (n_classes, n_categories)
        Logarithms of θ.
    n_categories_ : ndarray of shape (n_features,)
        Number of categories of each column.

    Notes
    -----
    A category that the fit has not seen carries no information about the class: its column is left
    out for that row, and a warning counts such values. `NaiveBayes` takes tables with names of
    categories.

    Examples
    --------
    >>> from gapless import CategoricalNB
    >>> X = [[0, 1], [0, 0], [1, 1], [1, 1]]
    >>> print(CategoricalNB().fit(X, ["no", "no", "yes", "yes"]).predict([[0, 1], [1, 0]]))
    ['no' 'yes']
    """

    _examples: ClassVar[Examples] = (Example("digits", {"min_categories": 17}),)

    _stored: ClassVar[Declaration] = {
        **CountBayes._stored,
        "feature_log_prob_": Each(
            Numbers("classes", None, is_finite=False, high=LOGARITHM), "features"
        ),
        "category_count_": Each(Numbers("classes", None, low=0), "features"),
        "n_categories_": Numbers("features", types="iu", low=0),
    }
    _encoder = "OrdinalEncoder"
    _parameter_constraints: ClassVar[dict] = {
        **CountBayes._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({LOO})],
        "min_categories": [None, "array-like", Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        alpha=1.0,
        force_alpha=True,
        fit_prior=True,
        class_prior=None,
        min_categories=None,
        smooth_prior=False,
    ):
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.min_categories = min_categories
        self.smooth_prior = smooth_prior

    # ---- reading ---------------------------------------------------------------------------------

    def _coded(self, X):
        """Category numbers as floats without fractions."""
        check_not_negative(X, self)
        if X.size and X.max() >= MOST:
            row, column = np.argwhere(X >= MOST)[0]
            raise ValueError(
                f"X has {X[row, column]:.3g} in row {row}, column {column}, which is not a "
                "category number; number the categories 0, 1, … with OrdinalEncoder(), or "
                "rescale X."
            )
        return np.trunc(X)

    def _least(self, d: int) -> Array:
        """The least number of categories of each column."""
        if self.min_categories is None:
            return np.zeros(d, dtype=np.int64)
        least = np.asarray(self.min_categories)
        if not np.issubdtype(least.dtype, np.signedinteger):
            raise ValueError(
                f"'min_categories' should have integral type. Got {least.dtype} instead."
            )
        if least.shape not in ((), (d,)):
            raise ValueError(
                f"'min_categories' should have shape ({d},) when an array-like is provided. Got "
                f"{least.shape} instead."
            )
        return np.broadcast_to(least, (d,)).astype(np.int64)

    # ---- counting --------------------------------------------------------------------------------

    def _count(self, data):
        X, y, w, K = data.X, data.y, data.weights, len(data.classes)
        X, y, w = X[w > 0], y[w > 0], w[w > 0]
        sizes = np.maximum(X.max(axis=0, initial=-1).astype(np.int64) + 1, self._least(X.shape[1]))
        counts = [
            np.bincount(y * size + x.astype(np.int64), w, K * size).reshape(K, size)
            for x, size in zip(X.T, sizes.tolist())
        ]
        return {"class_count_": np.bincount(y, w, K), "category_count_": counts}

    def _merged(self, counts, more):
        pairs = zip(counts["category_count_"], more["category_count_"])
        return {
            "class_count_": counts["class_count_"] + more["class_count_"],
            "category_count_": [sum_of_tables(one, other) for one, other in pairs],
        }

    def _smooth(self, counts, alpha):
        tables = [count + alpha for count in counts["category_count_"]]
        return {
            "feature_log_prob_": [_log_shares(table) for table in tables],
            "n_categories_": np.array([table.shape[1] for table in tables]),
        }

    # ---- predicting ------------------------------------------------------------------------------

    def _joint(self, X):
        z = np.tile(self.class_log_prior_, (len(X), 1))
        for x, log_prob in zip(X.T, self.feature_log_prob_):
            rows = np.flatnonzero(x < log_prob.shape[1])
            z[rows] += log_prob[:, x[rows].astype(np.int64)].T
        return z

    def _warn_of_unseen(self, X: Array) -> None:
        """Warn about the number of values that the fit has not seen."""
        is_unseen = self.n_categories_ <= X
        if not np.any(is_unseen):
            return
        row, column = np.argwhere(is_unseen)[0]
        warnings.warn(
            f"{np.count_nonzero(is_unseen)} values in {np.count_nonzero(is_unseen.any(axis=1))} "
            f"of {len(X)} rows are categories not seen in training, such as {X[row, column]:g} in "
            f"column {column}, which has {self.n_categories_[column]}; they are ignored in these "
            "rows. Set min_categories if you know how many there are.",
            stacklevel=4,
        )

    # ---- both gaps -------------------------------------------------------------------------------

    def _without_each(self, X, own, data):
        row, of = np.nonzero(own)
        w, alpha = own[row, of], self._alpha()
        z = self._priors(len(self.classes_)).log_without(self.class_count_, own)
        tables = zip(X.T, self.category_count_, self.feature_log_prob_, self._least(X.shape[1]))
        for x, count, log_prob, fewest in tables:
            level = x.astype(np.int64)
            terms = log_prob[:, level].T
            left = left_over(count[of, level[row]], w) + alpha
            total = left_over(count.sum(axis=1)[of], w) + alpha * count.shape[1]
            terms[row, of] = log_ratio(left, total)
            # Without the last row of the largest category, its number does not exist.
            last = left_over(count.sum(axis=0)[level], own.sum(axis=1)) == 0
            is_gone = last & (level == count.shape[1] - 1) & (level >= fewest)
            z += np.where(is_gone[:, None], 0.0, terms)
        return z

    def _feature_costs(self, learned):
        alpha = self._alpha()
        primal = dual = pseudo = 0.0
        pairs = zip(
            learned["category_count_"], self.feature_log_prob_, learned["feature_log_prob_"]
        )
        for count, stored, best in pairs:
            if stored.shape != best.shape:
                return np.inf, dual, pseudo
            more, least = log_costs(count + alpha, stored, best)
            primal, dual, pseudo = primal + more, dual + least, pseudo + alpha * count.size
        return primal, dual, pseudo

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.sparse = False
        tags.input_tags.positive_only = True
        return tags


def _log_shares(table: Array) -> Array:
    """Logarithms of shares; −∞ for a class without any rows."""
    return log_ratio(table, table.sum(axis=1, keepdims=True))
