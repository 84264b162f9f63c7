"""Multinomial Bayes without each text, exactly: by subtracting it from all counts.

Without a text its words are counted less often, and those that are then too rare are not among the
words at all: they add nothing to the score, and no pseudo-counts. A refit would find the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp

from ...unseen import NotAvailable
from .bag_of_words import ROUNDING, frequencies
from .fitting import LOWEST

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Without:
    """Distinct texts, and what is counted of all.

    Parameters
    ----------
    units : ndarray of int, shape (n,)
        Which distinct text each text is; −1 for those of no weight.
    texts : csr matrix of shape (u, d)
        Counts of the distinct texts.
    own : ndarray of shape (u, K)
        What each of them weighs in each class.
    counts : ndarray of shape (K, d)
        How often each word is in each class.
    is_lost : ndarray of bool, one for each entry of `texts`
        Whether a word is too rare without the text.
    """

    units: Array
    texts: sp.csr_matrix
    own: Array
    counts: Array
    is_lost: Array

    @classmethod
    def of(cls, fitted: Any) -> Without:
        """What is counted in the texts of a fit."""
        units, K, weights = fitted.units, fitted.outputs, fitted.weights
        counted = np.flatnonzero(units >= 0)
        first = counted[np.unique(units[counted], return_index=True)[1]]
        own = np.zeros((len(first), K))
        np.add.at(own, (units[counted], fitted.targets[counted]), weights[counted])
        texts = fitted.design.rows(first).X
        counts = np.asarray((texts.T @ own).T)
        return cls(units, texts, own, counts, _lost(texts, own.sum(axis=1), fitted.choice.min_df))

    def log_probabilities(self, classifier: Any) -> Array:
        """Logarithms of the probabilities of the classes for each text, by the others, (n, K)."""
        words = self.texts.shape[1] - self._sums(self.is_lost)
        if words.min() < 1:
            raise NotAvailable("without one of the texts no word is left")
        alpha, classes = float(classifier.alpha), range(len(self.counts))
        z = np.stack([self._likelihood(k, alpha, words) for k in classes], axis=1)
        z += self._priors(1.0 if classifier.smooth_prior else 0.0)
        z = np.maximum(z - logsumexp(z, axis=1, keepdims=True), LOWEST)
        return np.where(self.units[:, None] >= 0, z[self.units], np.nan)

    def _likelihood(self, k: int, alpha: float, words: Array) -> Array:
        """log p(text | class k) of the distinct texts, of the words that are left."""
        counts = self.counts[k, self.texts.indices]
        own = self.own[self._rows, k] * self.texts.data
        total = _left(self.counts[k].sum(), self._sums(np.where(self.is_lost, counts, own)))
        times = np.where(self.is_lost, 0.0, self.texts.data)
        logs = self._sums(times * np.log(_left(counts, own) + alpha))
        return logs - self._sums(times) * np.log(total + alpha * words)

    def _priors(self, extra: float) -> Array:
        """Log priors without each text, up to a number for all classes; −∞ for one that is gone."""
        left = _left(self.own.sum(axis=0), self.own)
        with np.errstate(divide="ignore"):
            return np.where(left > 0, np.log(left + extra), -np.inf)

    @cached_property
    def _rows(self) -> Array:
        """The text of each entry."""
        return np.repeat(np.arange(len(self.own)), np.diff(self.texts.indptr))

    def _sums(self, of_entries: Array) -> Array:
        """Sums over the entries of each text."""
        return np.bincount(self._rows, of_entries, len(self.own))


def _lost(texts: sp.csr_matrix, weights: Array, min_df: int) -> Array:
    """Of each entry, whether its word is in fewer than min_df texts without this one.

    With min_df=1 texts are counted and not weighed, as weights may be parts of a text.
    """
    if min_df == 1:
        return np.bincount(texts.indices, minlength=texts.shape[1])[texts.indices] == 1
    own = np.repeat(weights, np.diff(texts.indptr))
    return frequencies(texts, weights)[texts.indices] - own < min_df * (1 - ROUNDING)


def _left(counts: Any, taken: Array) -> Array:
    """counts − taken, and 0 where that is nothing but rounding."""
    left = counts - taken
    return np.where(left > ROUNDING * counts, left, 0.0)
