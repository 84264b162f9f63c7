"""Which words speak for which class."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp

Array = np.ndarray


def weights_of_words(classifier: Any) -> Array:
    """How much each word speaks for each class, (classes, words)."""
    if hasattr(classifier, "feature_log_prob_"):
        log_p = classifier.feature_log_prob_
        others = [np.delete(log_p, k, axis=0) for k in range(len(log_p))] if len(log_p) > 1 else []
        mean = [logsumexp(rest, axis=0) - np.log(len(rest)) for rest in others]
        return log_p - np.array(mean) if mean else log_p
    coef = getattr(classifier, "coef_", None)
    if coef is None:
        raise AttributeError(
            f"{type(classifier).__name__} has no weight for each word; telling_words needs a "
            "Bayes or linear classifier."
        )
    coef = np.atleast_2d(coef.toarray() if sp.issparse(coef) else coef)
    return np.vstack([-coef, coef]) if len(coef) == 1 and len(classifier.classes_) == 2 else coef
