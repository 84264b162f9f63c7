"""What a classifier of texts says of texts that it has not seen.

A text is left out with all that was learned from it: words that are in no other text are unknown
then, and frequencies change. Only counts are needed: texts are not read again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from ..._ground.design import Design
from ...unseen import LARGE_ROWS, LARGE_WORK, NotAvailable, Refittable
from ..bayes import MultinomialNB
from .bag_of_words import BagOfWords, Choice
from .fitting import LOWEST, answers, fit, strength_of, strengthened
from .without_text import Without

Array = np.ndarray


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
    choice : Choice
        How words are chosen.
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
        choice: Choice,
        classes: Array,
    ):
        super().__init__(Design(data.counts), data.y, data.weights)
        self.classifier, self.bag, self.choice, self.classes = classifier, bag, choice, classes
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
        """Whether another fit takes a good part of a second."""
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
        """A model of some texts alone: their words chosen, weighed and learned anew."""
        counts, weights = self.design.rows(rows).X, self.weights[rows]
        present = np.unique(self.targets[rows])
        if len(present) == 1:
            only = np.where(np.arange(self.outputs) == present[0], 0.0, LOWEST)
            return lambda design: np.tile(only, (design.n, 1))
        try:
            bag = BagOfWords.learned(counts, weights, self.choice)
        except ValueError as reason:
            raise NotAvailable(f"without some texts, {reason}".rstrip(".")) from None
        classifier = clone(self.classifier)
        fit(classifier, bag.rows(counts), self.y[rows], weights)
        return self._predictor(classifier, bag)

    def _predictor(self, classifier: Any, bag: BagOfWords):
        return lambda design: answers(classifier, bag.rows(design.X), self.classes)

    def held_out(self, groups):
        """Each text by the counts of all others, where the classifier does nothing but count."""
        if groups is not None or not (_is_counting(self.classifier) and self.choice.is_plain):
            raise NotAvailable("leaving a text out changes the words and their weights")
        return Without.of(self).log_probabilities(self.classifier)

    def without_each(self, rows):
        """Not known in a form that is cheaper than folds."""
        raise NotAvailable("leaving a text out takes refits, so folds are used")

    def scaled(self, factor):
        """The same with a classifier held back so many times as much."""
        other = strengthened(self.classifier, factor)
        if other is None:
            return None
        data = TextData(self.design.X, self.y, self.weights)
        return TextFit(other, None, data, self.choice, self.classes)


def _is_counting(classifier: Any) -> bool:
    """Whether all that a classifier learns are counts."""
    if type(classifier) is not MultinomialNB or classifier.class_prior is not None:
        return False
    alpha = classifier.alpha
    return classifier.fit_prior and isinstance(alpha, Real) and float(alpha) >= 1e-10
