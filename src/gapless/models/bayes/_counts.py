"""What naive Bayes classifiers of counts share: smoothing, priors, `fit` and `partial_fit`."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval, StrOptions

from ..._ground.about import Formula, chosen
from ..._ground.stored import LOGARITHM, Declaration, Numbers, Unused
from ..._ground.validation import Training
from ...unseen import LOO, multiple
from ._base import NaiveBayesClassifier
from .counting import Priors, sums_by_class
from .held_out import LOG_LOSS, choose_alpha
from .in_parts import refuse_in_parts

Array = np.ndarray

COUNTED = """
alpha : float, array-like of shape (n_features,) or "loo"
    Pseudo-counts ≥ 0 (Laplace's rule is 1); "loo" chooses one for all features by exact
    leave-one-out, in about the time of a few predictions of all rows.
force_alpha : bool
    Whether an alpha below 1e-10 is kept; if not, it is raised to that.
fit_prior : bool
    Whether priors are estimated from the data; if not, all classes are equally likely.
class_prior : array-like of shape (n_classes,)
    Fixed priors of the classes.
smooth_prior : bool
    Whether 1 is added to the count of each class too, for priors (N_c + 1)/(N + K).
class_count_ : ndarray of shape (n_classes,)
    Total weight of the rows of each class.
class_log_prior_ : ndarray of shape (n_classes,)
    Logarithms of the priors π.
alpha_ : float
    The chosen pseudo-count, with alpha="loo".
search_ : Search
    What was tried, with alpha="loo"; `search_.plot()` draws it.
"""
# Smaller pseudo-counts are raised to this, unless force_alpha keeps them.
SMALLEST_ALPHA = 1e-10


class CountBayes(NaiveBayesClassifier):
    """Base of naive Bayes classifiers whose features are counts, yes or no, or categories.

    A subclass defines what it counts (`_count`), how two counts are added (`_merged`), and what
    follows from counts (`_smooth`).
    """

    _stored: ClassVar[Declaration] = {
        **NaiveBayesClassifier._stored,
        "class_count_": Numbers("classes", low=0),
        "class_log_prior_": Numbers("classes", is_finite=False, high=LOGARITHM),
        "feature_log_prob_": Numbers("classes", "features", is_finite=False, high=LOGARITHM),
        "alpha_": Unused(),
        "search_": Unused(),
    }
    # Whether numbers below 0 are refused.
    _is_positive = False
    # The score by which "loo" chooses.
    _tuned_by = LOG_LOSS
    _parameter_constraints: ClassVar[dict] = {
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like", StrOptions({LOO})],
        "force_alpha": ["boolean"],
        "fit_prior": ["boolean"],
        "class_prior": ["array-like", None],
        "smooth_prior": ["boolean"],
    }

    # ---- what a subclass defines -----------------------------------------------------------------

    def _coded(self, X: Any) -> Any:
        """Rows as they are counted."""
        return X

    def _count(self, data: Training) -> dict[str, Any]:
        """Counts of rows, as attributes; `class_count_` is one of them."""
        assert data.classes is not None
        K = len(data.classes)
        return {
            "class_count_": np.bincount(data.y, data.weights, K),
            "feature_count_": sums_by_class(data.X, data.y, data.weights, K),
        }

    def _merged(self, counts: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
        """The counts of two parts of the data together."""
        return {name: value + more[name] for name, value in counts.items()}

    def _smooth(self, counts: dict[str, Any], alpha: Any) -> dict[str, Any]:
        """The attributes that follow from counts."""
        raise NotImplementedError

    # ---- fitting ---------------------------------------------------------------------------------

    def _read(self, X, y, sample_weight=None, *, reset=True):
        return self._to_count(super()._read(X, y, sample_weight, reset=reset))

    def _read_part(self, X, y, classes, sample_weight):
        return self._to_count(super()._read_part(X, y, classes, sample_weight))

    def _to_count(self, data: Training) -> Training:
        if self._is_positive:
            check_not_negative(data.X, self)
        return replace(data, X=self._coded(data.X))

    def _read_rows(self, X):
        return self._coded(super()._read_rows(X))

    # ---- tables in parts -------------------------------------------------------------------------

    def _check_fits_in_parts(self):
        if self._tuned():
            raise refuse_in_parts(
                type(self).__name__,
                'choose alpha="loo"',
                "give a number, such as the one chosen on a sample of the rows",
            )

    def _counted_in_parts(self, X, first):
        if self._is_positive:
            check_not_negative(X, self, first)
        return self._coded(X)

    def _class_sums(self, X, y, weights, classes):
        rows = np.bincount(y, weights > 0, classes)
        count = np.bincount(y, weights, classes)
        # The number of rows, their weight, and the counts of the features.
        return list(np.column_stack([rows, count, sums_by_class(X, y, weights, classes)]))

    def _rows_and_weight(self, sums):
        return sums[0], sums[1]

    def _learn_from_sums(self, sums, data):
        table = np.stack(sums)
        counts = {"class_count_": table[:, 1].copy(), "feature_count_": table[:, 2:].copy()}
        return self._from(counts, data)

    def _scores_in_parts(self, X):
        return self._joint(self._coded(X))

    def _tuned(self):
        return ("alpha",) if isinstance(self.alpha, str) else ()

    def _learn_anew(self, data):
        if not self._tuned():
            return self._learn(data) | {"_choice": None}
        choice = choose_alpha(self, data)
        alpha = choice.values["alpha"]
        chosen = {"alpha_": alpha, "search_": choice.search, "_choice": choice}
        return self._at(alpha=alpha)._learn(data) | chosen

    def _learn_more(self, data):
        if self._tuned():
            raise ValueError(
                f'{type(self).__name__} cannot choose alpha="loo" in partial_fit; give a number, '
                "or call fit with all rows."
            )
        counts = self._count(data)
        if hasattr(self, "classes_"):
            counts = self._merged({name: getattr(self, name) for name in counts}, counts)
        return self._from(counts, data)

    def _learn(self, data):
        return self._from(self._count(data), data)

    def _from(self, counts: dict[str, Any], data: Training) -> dict[str, Any]:
        """All attributes that follow from counts."""
        assert data.classes is not None
        alpha = self._check_alpha(data.X.shape[1])
        log_prior = self._priors(len(data.classes)).log(counts["class_count_"])
        return counts | self._smooth(counts, alpha) | {"class_log_prior_": log_prior}

    def _priors(self, classes: int) -> Priors:
        if self.smooth_prior and (self.class_prior is not None or not self.fit_prior):
            raise ValueError(
                "smooth_prior=True needs priors counted from the data; leave out class_prior, and "
                "set fit_prior=True."
            )
        return Priors.read(
            self.class_prior, classes, is_fitted=self.fit_prior, is_smoothed=self.smooth_prior
        )

    def _check_alpha(self, d: int | None = None) -> Any:
        """The pseudo-counts, with a warning if they are raised."""
        if np.min(self._given_alpha) < SMALLEST_ALPHA and not self.force_alpha:
            warnings.warn(
                f"alpha too small will result in numeric errors, setting alpha = "
                f"{SMALLEST_ALPHA:.1e}. Use `force_alpha=True` to keep alpha unchanged.",
                stacklevel=2,
            )
        return self._alpha(d)

    @property
    def _given_alpha(self) -> Any:
        """The parameter, or the value the fit has chosen for it."""
        return self.alpha_ if self._tuned() else self.alpha

    def _alpha(self, d: int | None = None) -> Any:
        """The pseudo-counts: a number, or one for each feature."""
        alpha: Any = self._given_alpha
        if not isinstance(alpha, Real):
            alpha = np.asarray(alpha, dtype=float)
        if isinstance(alpha, np.ndarray):
            d = self.n_features_in_ if d is None else d
            if alpha.shape != (d,):
                raise ValueError(
                    "When alpha is an array, it should contains `n_features`: got shape "
                    f"{alpha.shape} for {d} features."
                )
            if not alpha.min() >= 0:
                raise ValueError("All values in alpha must be greater than 0.")
        return alpha if self.force_alpha else np.maximum(alpha, SMALLEST_ALPHA)

    def _smoothed(self, step):
        alpha = self._given_alpha
        if not np.any(alpha):
            return None
        times = 10.0**step
        return f"{multiple(times)} alpha", self._at(alpha=np.multiply(alpha, times))

    # ---- both gaps -------------------------------------------------------------------------------

    def _costs(self, learned, data):
        count = learned["class_count_"]
        K = len(count)
        primal, dual = self._priors(K).costs(count, self.class_log_prior_)
        more, least, pseudo = self._feature_costs(learned)
        scale = float(count.sum()) * np.log(max(K, 2)) + pseudo
        return primal + more, dual + least, abs(dual) + abs(least) + scale, scale

    def _feature_costs(self, learned: dict[str, Any]) -> tuple[float, float, float]:
        """The cost of the stored feature probabilities, the least cost, and all pseudo-counts."""
        raise NotImplementedError

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self._is_positive
        # Little can be learned from random numbers, which are not counts.
        tags.classifier_tags.poor_score = True
        return tags

    def _formula(self) -> Formula | None:
        return Formula(
            "−Σᵢ log p(xᵢ, yᵢ), with α added to each count", {"α": chosen(self, "alpha")}
        )


def check_not_negative(X: Any, estimator: Any, first: int = 0) -> None:
    """Refuse counts below 0; say where. `first` is the position of the first row."""
    entries = X.data if sp.issparse(X) else X
    if entries.size and entries.min() < 0:
        if sp.issparse(X):
            X = X.tocoo()
            k = int(np.argmax(X.data < 0))
            row, column, value = X.row[k], X.col[k], X.data[k]
        else:
            row, column = np.argwhere(X < 0)[0]
            value = X[row, column]
        raise ValueError(
            f"Negative values in data passed to {type(estimator).__name__} (input X): row "
            f"{first + row}, column {column} has {value:g}, and counts are ≥ 0; GaussianNB takes "
            "any numbers."
        )
