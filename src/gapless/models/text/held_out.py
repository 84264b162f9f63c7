"""What a classifier of texts predicts for texts that it has not seen.

A text is left out with all that was learned from it: words that are in no other text are unknown
then, and frequencies change. Only counts are needed: texts are not read again. Multinomial Bayes
does so exactly, by subtracting a text from all counts; other classifiers are fitted again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from ..._ground.design import Design
from ..._ground.weighted_fits import weight_argument
from ...unseen import LARGE_ROWS, LARGE_WORK, NotAvailable, Refittable
from ..bayes import MultinomialNB, Priors, Words
from .bag_of_words import ROUNDING, BagOfWords, WordRules, frequencies

Array = np.ndarray

# Used for the logarithm of 0: the exponential of anything less is 0.
LOWEST = float(np.log(np.finfo(float).tiny))


def fit(classifier: Any, X: Any, y: Array, weights: Array) -> None:
    """Fit a classifier to rows with weights; rows of weight 0 are left out."""
    if not np.all(weights > 0):
        X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
    if np.all(weights == 1):
        classifier.fit(X, y)
        return
    name = weight_argument(classifier)
    if not name:
        raise ValueError(
            f"{type(classifier).__name__} does not accept sample_weight; repeat texts instead, or "
            'choose another classifier, such as "bayes".'
        )
    classifier.fit(X, y, **{name: weights})


def answers(classifier: Any, X: Any, classes: Array) -> Array:
    """Scores of rows for all `classes`, (n, K); a classifier that lacks one gives it the least.

    Logarithms of probabilities if the classifier has them, else decision values, else votes.
    """
    z = _of_known(classifier, X)
    known = np.searchsorted(classes, classifier.classes_)
    if len(known) == len(classes):
        return z
    spread = np.full((z.shape[0], len(classes)), min(LOWEST, float(z.min(initial=0.0)) - 1))
    spread[:, known] = z
    return spread


def _of_known(classifier: Any, X: Any) -> Array:
    if hasattr(classifier, "predict_proba"):
        return np.maximum(_log_probabilities(classifier, X), LOWEST)
    if hasattr(classifier, "decision_function"):
        z = np.asarray(classifier.decision_function(X))
        return np.column_stack([-z, z]) if z.ndim == 1 else z
    return (np.asarray(classifier.predict(X))[:, None] == classifier.classes_).astype(float)


def _log_probabilities(classifier: Any, X: Any) -> Array:
    with np.errstate(divide="ignore"):
        if hasattr(classifier, "predict_log_proba"):
            return np.asarray(classifier.predict_log_proba(X))
        return np.log(classifier.predict_proba(X))


def strength_of(classifier: Any) -> str | None:
    """The parameter that regularises a classifier: C, the weight of errors, or alpha."""
    for name, value in classifier.get_params().items():
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        if name.rpartition("__")[2] in ("C", "alpha") and is_number and 0 < float(value) < np.inf:
            return name
    return None


def strengthened(classifier: Any, factor: float) -> Any:
    """An unfitted copy, `factor` times as strongly regularised; None if it has no strength."""
    name = strength_of(classifier)
    if name is None:
        return None
    value = classifier.get_params()[name]
    value = value / factor if name.rpartition("__")[2] == "C" else value * factor
    return clone(classifier).set_params(**{name: value})


@dataclass(frozen=True, eq=False)
class Answered:
    """A stand-in for a classifier: X = [[i]] returns its answer z[i] for row i."""

    z: Array
    classes_: Array
    has_probabilities: bool

    def predict(self, X: Array) -> Array:
        """The class of the largest score."""
        return self.classes_[np.argmax(self.z[X[:, 0]], axis=1)]

    @available_if(lambda self: self.has_probabilities)
    def predict_proba(self, X: Array) -> Array:
        """Probabilities, which sum to 1."""
        p = np.exp(self.z[X[:, 0]])
        return p / p.sum(axis=1, keepdims=True)

    @available_if(lambda self: self.has_probabilities)
    def predict_log_proba(self, X: Array) -> Array:
        """Their logarithms."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def decision_function(self, X: Array) -> Array:
        """The scores; for two classes, half of the second's lead over the first."""
        z = self.z[X[:, 0]]
        return (z[:, 1] - z[:, 0]) / 2 if z.shape[1] == 2 else z


@dataclass(frozen=True, eq=False)
class TextData:
    """The data of a fit: counts of the chosen words, labels, and weights."""

    counts: sp.csr_matrix
    y: Array
    weights: Array


class TextFit(Refittable):
    """A classifier of texts with the data of its fit, and how to do it again without some.

    Parameters
    ----------
    classifier : estimator
        The classifier of the fit, or one that has not been fitted.
    bag : BagOfWords or None
        The words of the fit, or None.
    data : TextData
        Its data.
    rules : WordRules
        Which words count, and how much.
    classes : ndarray of shape (K,)
        All classes.
    """

    has_classes = True
    has_probabilities = False

    def __init__(
        self,
        classifier: Any,
        bag: BagOfWords | None,
        data: TextData,
        rules: WordRules,
        classes: Array,
    ):
        super().__init__(Design(data.counts), data.y, data.weights)
        self.classifier, self.bag, self.rules, self.classes = classifier, bag, rules, classes
        name = strength_of(classifier) or ""
        self.strength = "the penalty" if name.endswith("C") else "alpha"

    @cached_property
    def targets(self) -> Array:
        """Positions of the classes; any for rows without weight."""
        return np.minimum(np.searchsorted(self.classes, self.y), len(self.classes) - 1)

    @property
    def outputs(self) -> int:
        """One score for each class."""
        return len(self.classes)

    @property
    def is_large(self) -> bool:
        """Whether another fit takes most of a second."""
        return len(self.y) > LARGE_ROWS or self.design.X.nnz * self.outputs > LARGE_WORK

    @cached_property
    def labels(self) -> Array:
        """Numbers of the rows (x, y), the same for equal ones, by content."""
        return self.design.equal_rows(self.targets)

    @cached_property
    def model(self):
        """The model of the fit."""
        if self.bag is None:
            return self.fit_to(np.flatnonzero(self.is_counted))
        return self._predictor(self.classifier, self.bag)

    def fit_to(self, rows):
        """A model of some texts alone: words are chosen, weighed and learned again."""
        counts, weights = self.design.rows(rows).X, self.weights[rows]
        present = np.unique(self.targets[rows])
        if len(present) == 1:
            only = np.where(np.arange(self.outputs) == present[0], 0.0, LOWEST)
            return lambda design: np.tile(only, (design.n, 1))
        try:
            bag = BagOfWords.learned(counts, weights, self.rules)
        except ValueError as reason:
            raise NotAvailable(f"without some texts, {reason}".rstrip(".")) from None
        classifier = clone(self.classifier)
        fit(classifier, bag.rows(counts), self.y[rows], weights)
        return self._predictor(classifier, bag)

    def _predictor(self, classifier: Any, bag: BagOfWords):
        return lambda design: answers(classifier, bag.rows(design.X), self.classes)

    def held_out(self, groups):
        """Each text by the counts of all others, where the classifier only counts."""
        if groups is not None or not (_is_counting(self.classifier) and self.rules.is_plain):
            raise NotAvailable("leaving a text out changes the words and their weights")
        return _without_each_text(self)

    def without_each(self, rows):
        """There is no formula that is cheaper than folds."""
        raise NotAvailable("leaving a text out takes refits, so folds are used")

    def scaled(self, factor):
        """The same with a classifier `factor` times as strongly regularised."""
        other = strengthened(self.classifier, factor)
        if other is None:
            return None
        data = TextData(self.design.X, self.y, self.weights)
        return TextFit(other, None, data, self.rules, self.classes)


def _is_counting(classifier: Any) -> bool:
    """Whether all that a classifier learns are counts."""
    if type(classifier) is not MultinomialNB or classifier.class_prior is not None:
        return False
    alpha = classifier.alpha
    return classifier.fit_prior and isinstance(alpha, Real) and float(alpha) >= 1e-10


def _without_each_text(fitted: TextFit) -> Array:
    """Logarithms of the probabilities of multinomial Bayes for each text, by the others, (n, K).

    Without a text its words are counted less often. Those that are then too rare are no longer
    words. A refit would find the same.
    """
    units, weights, classifier = fitted.units, fitted.weights, fitted.classifier
    counted = np.flatnonzero(units >= 0)
    first = counted[np.unique(units[counted], return_index=True)[1]]
    own = np.zeros((len(first), fitted.outputs))
    np.add.at(own, (units[counted], fitted.targets[counted]), weights[counted])
    texts = fitted.design.rows(first).X
    is_lost = _lost(texts, own.sum(axis=1), fitted.rules.min_df)
    of_entry = np.repeat(np.arange(len(first)), np.diff(texts.indptr))
    if np.bincount(of_entry, is_lost, len(first)).max() == texts.shape[1]:
        raise NotAvailable("without one of the texts no word is left")
    words = Words(np.asarray((texts.T @ own).T), float(classifier.alpha))
    priors = Priors(None, 1.0 if classifier.smooth_prior else 0.0)
    z = words.without(texts, own, is_lost=is_lost) + priors.log_without(own.sum(axis=0), own)
    z = np.maximum(z - logsumexp(z, axis=1, keepdims=True), LOWEST)
    return np.where(units[:, None] >= 0, z[units], np.nan)


def _lost(texts: sp.csr_matrix, weights: Array, min_df: int) -> Array:
    """For each entry, whether its word is in fewer than min_df texts without this one.

    With min_df=1 texts are counted and not weighted, as weights may be parts of a text.
    """
    if min_df == 1:
        return np.bincount(texts.indices, minlength=texts.shape[1])[texts.indices] == 1
    own = np.repeat(weights, np.diff(texts.indptr))
    return frequencies(texts, weights)[texts.indices] - own < min_df * (1 - ROUNDING)
