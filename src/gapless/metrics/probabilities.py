"""How good probabilities are: log loss, Brier score, and the distances between distributions.

All logarithms are natural ones. Cross-entropy = entropy + Kullback–Leibler divergence, and the log
loss of classes is the cross-entropy of distributions that are sure of the true class.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import entr, rel_entr

from .._ground.validation import read_weights
from .estimates import Ratio
from .intervals import Rows
from .reading import Forecasts, read_distributions, read_forecasts
from .result import Score

Array = np.ndarray

NO_SAMPLE = "known exactly, no sample"


def log_loss(
    y_true: Any,
    y_proba: Any,
    *,
    labels: Any = None,
    pos_label: Any = None,
    sample_weight: Any = None,
    level: float = 0.95,
) -> Score:
    """The mean of −log p, with p the probability that was given to the true class.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True classes.
    y_proba : array-like of shape (n, K) or (n,)
        Probabilities of the classes in sorted order, as from `predict_proba`; or those of the
        positive one of two classes.
    labels : array-like of shape (K,), default=None
        All classes, sorted, if some have no row here.
    pos_label : label, default=None
        Which class a single column is about; the larger one if None.
    sample_weight : array-like of shape (n,), default=None
        How much each row counts. Whole numbers are counts: 2 is the row twice.
    level : float, default=0.95
        How sure the interval is.

    Returns
    -------
    Score
        The value with its interval, one of the logarithm by the bootstrap of Student's t.

    Notes
    -----
    Probabilities of 0 count as 2e-16 (the smallest step of the floating-point numbers at 1), as in
    scikit-learn: a single one of them in 1,000 rows adds 0.036.

    Examples
    --------
    >>> from gapless.metrics import log_loss
    >>> print(log_loss(["no", "yes", "yes", "no"], [0.1, 0.8, 0.6, 0.3]))
    log loss 0.30 (0.10 to 0.70 at 95 %, bootstrap of Student's t, n = 4)
    """
    data = read_forecasts(y_true, y_proba, sample_weight, labels, pos_label)
    eps = np.finfo(np.result_type(np.asarray(y_proba).dtype, np.float32)).eps
    return _score("log loss", surprise(data, float(eps)), level)


def brier(
    y_true: Any,
    y_proba: Any,
    *,
    labels: Any = None,
    pos_label: Any = None,
    sample_weight: Any = None,
    level: float = 0.95,
) -> Score:
    """The mean squared distance of probabilities from what happened.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True classes.
    y_proba : array-like of shape (n, K) or (n,)
        Probabilities, as for `log_loss`.
    labels : array-like of shape (K,), default=None
        All classes, sorted, if some have no row here.
    pos_label : label, default=None
        Which class a single column is about; the larger one if None.
    sample_weight : array-like of shape (n,), default=None
        How much each row counts, as for `log_loss`.
    level : float, default=0.95
        How sure the interval is.

    Returns
    -------
    Score
        The value with its interval: (p − y)² of two classes, Σ_k (p_k − y_k)² of more, as in
        scikit-learn.
    """
    data = read_forecasts(y_true, y_proba, sample_weight, labels, pos_label)
    return _score("Brier score", squared_distance(data), level)


def entropy(p: Any, *, sample_weight: Any = None, level: float = 0.95) -> Score:
    """The mean of −Σ_k p_k log p_k over distributions.

    Parameters
    ----------
    p : array-like of shape (K,) or (n, K)
        A distribution, or one in each row.
    sample_weight : array-like of shape (n,), default=None
        How much each row counts, as for `log_loss`.
    level : float, default=0.95
        How sure the interval is.

    Returns
    -------
    Score
        In nats. A single distribution has no interval: its entropy is known.
    """
    p, _ = _distributions(p)
    highest = float(np.log(p.shape[1]))
    return _distance("entropy", entr(p).sum(axis=1), sample_weight, level, highest)


def cross_entropy(p: Any, q: Any, *, sample_weight: Any = None, level: float = 0.95) -> Score:
    """The mean of −Σ_k p_k log q_k: what a code for q takes for messages from p.

    Parameters
    ----------
    p, q : array-like of shape (K,) or (n, K)
        The true distributions, and those that stand in for them.
    sample_weight : array-like of shape (n,), default=None
        How much each row counts, as for `log_loss`.
    level : float, default=0.95
        How sure the interval is.

    Returns
    -------
    Score
        In nats; infinite where q gives nothing to what p holds possible.
    """
    p, q = _distributions(p, q)
    # entropy + divergence, so that the identity holds to the last digit.
    each = entr(p).sum(axis=1) + rel_entr(p, q).sum(axis=1)
    return _distance("cross-entropy", each, sample_weight, level, np.inf)


def kl_divergence(p: Any, q: Any, *, sample_weight: Any = None, level: float = 0.95) -> Score:
    """The mean of Σ_k p_k log(p_k/q_k): cross-entropy − entropy.

    Parameters
    ----------
    p, q : array-like of shape (K,) or (n, K)
        The true distributions, and those that stand in for them.
    sample_weight : array-like of shape (n,), default=None
        How much each row counts, as for `log_loss`.
    level : float, default=0.95
        How sure the interval is.

    Returns
    -------
    Score
        In nats; 0 only for equal distributions, infinite where q gives nothing to what p holds
        possible.

    Examples
    --------
    >>> from gapless.metrics import cross_entropy, entropy, kl_divergence
    >>> p, q = [0.5, 0.25, 0.25], [0.4, 0.4, 0.2]
    >>> print(f"{kl_divergence(p, q):.6f} = {cross_entropy(p, q):.6f} - {entropy(p):.6f}")
    0.049857 = 1.089578 - 1.039721
    """
    p, q = _distributions(p, q)
    return _distance("KL divergence", rel_entr(p, q).sum(axis=1), sample_weight, level, np.inf)


# ---- what each row contributes -------------------------------------------------------------------


def surprise(data: Forecasts, eps: float = float(np.finfo(float).eps)) -> Ratio:
    """The log loss as a mean over rows."""
    own = data.probabilities[np.arange(len(data.true)), data.true]
    return Ratio.mean(-np.log(np.clip(own, eps, 1 - eps)), data.rows)


def squared_distance(data: Forecasts) -> Ratio:
    """The Brier score as a mean over rows."""
    p, K = data.probabilities, data.probabilities.shape[1]
    if K == 2:
        return Ratio.mean((p[:, 1] - (data.true == 1)) ** 2, data.rows, (0.0, 1.0))
    own = p[np.arange(len(p)), data.true]
    each = np.sum(p**2, axis=1) - own**2 + (1 - own) ** 2
    return Ratio.mean(each, data.rows, (0.0, 2.0))


def _distributions(p: Any, q: Any = None) -> tuple[Array, Array]:
    """Distributions as rows (n, K); a single q stands for all rows of p."""
    rows = []
    for name, values in (("p", p), ("q", p if q is None else q)):
        array = np.asarray(values, dtype=float)
        if array.ndim not in (1, 2):
            raise ValueError(f"{name} must have shape (K,) or (n, K), got {array.shape}.")
        rows.append(read_distributions(np.atleast_2d(array), name))
    try:
        p, q = np.broadcast_arrays(*rows)
    except ValueError as error:
        raise ValueError(f"p has shape {rows[0].shape}, but q has {rows[1].shape}.") from error
    return p, q


def _distance(name: str, each: Array, sample_weight: Any, level: float, highest: float) -> Score:
    """The mean of a number of each distribution."""
    rows = Rows.of(read_weights(sample_weight, each))
    if len(each) == 1:
        value = float(each[0])
        return Score(name, value, value, value, level, NO_SAMPLE, rows.size)
    if not np.all(np.isfinite(each[rows.mass > 0])):
        return Score(name, np.inf, np.inf, np.inf, level, "a row is infinite", rows.size)
    return _score(name, Ratio.mean(each, rows, (0.0, highest)), level)


def _score(name: str, ratio: Ratio, level: float) -> Score:
    found = ratio.interval(level)
    return Score(name, ratio.value, found.low, found.high, level, found.method, ratio.rows.size)
