"""How good probabilities are: log loss, Brier score, distances between distributions, reliability.

Logarithms are natural, unless a `base` is given. Cross-entropy = entropy + Kullback–Leibler
divergence, and the log loss of classes is the cross-entropy of distributions that are sure of the
true class. A reliability curve compares predicted probabilities with the shares that came true.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.special import entr, ndtri, rel_entr

from .._ground.docstrings import described
from .._ground.drawing import AXES, pictures
from .._ground.notebook import ShownInNotebook
from .._ground.validation import read_weights
from .estimates import Ratio, scored
from .inputs import Forecasts, read_distributions, read_forecasts
from .intervals import KNOWN, MEASURED, Rows, Score, check_level, share

Array = np.ndarray

# Shared by the docstrings of several functions.
FORECASTS = """
y_true : array-like of shape (n,)
    True classes.
y_proba : array-like of shape (n, K) or (n,)
    Probabilities of the classes in sorted order, as from `predict_proba`; or those of the positive
    one of two classes.
labels : array-like of shape (K,)
    All classes, sorted, if some have no row here.
pos_label : label
    Which class a single column is about; None takes the larger one.
"""
DISTRIBUTIONS = """
p, q : array-like of shape (K,) or (n, K)
    The true distributions, and those that stand in for them.
"""
INFORMATION = """
base : float
    Base of the logarithm: 2 for bits, None for e, which is nats.
"""
UNITS = {2.0: "bits", 10.0: "digits"}


@described(FORECASTS, MEASURED)
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
    return scored("log loss", surprise(data, float(eps)), level)


@described(FORECASTS, MEASURED)
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

    Returns
    -------
    Score
        The value with its interval: (p − y)² of two classes, Σ_k (p_k − y_k)² of more, as in
        scikit-learn.
    """
    data = read_forecasts(y_true, y_proba, sample_weight, labels, pos_label)
    return scored("Brier score", squared_distance(data), level)


@described(INFORMATION, MEASURED)
def entropy(
    p: Any, *, base: float | None = None, sample_weight: Any = None, level: float = 0.95
) -> Score:
    """The mean of −Σ_k p_k log p_k over distributions.

    Parameters
    ----------
    p : array-like of shape (K,) or (n, K)
        A distribution, or one in each row.

    Returns
    -------
    Score
        A single distribution has no interval: its entropy is known.

    Examples
    --------
    >>> from gapless.metrics import entropy
    >>> print(entropy([0.5, 0.25, 0.25], base=2))
    entropy in bits 1.5
    """
    p, _ = _distributions(p)
    highest = float(np.log(p.shape[1]))
    return _distance("entropy", entr(p).sum(axis=1), base, sample_weight, level, highest)


@described(DISTRIBUTIONS, INFORMATION, MEASURED)
def cross_entropy(
    p: Any, q: Any, *, base: float | None = None, sample_weight: Any = None, level: float = 0.95
) -> Score:
    """The mean of −Σ_k p_k log q_k: what a code for q takes for messages from p.

    Returns
    -------
    Score
        Infinite where q gives nothing to what p holds possible. A single pair of distributions has
        no interval.
    """
    p, q = _distributions(p, q)
    # entropy + divergence, so that the identity holds to the last digit.
    each = entr(p).sum(axis=1) + rel_entr(p, q).sum(axis=1)
    return _distance("cross-entropy", each, base, sample_weight, level, np.inf)


@described(DISTRIBUTIONS, INFORMATION, MEASURED)
def kl_divergence(
    p: Any, q: Any, *, base: float | None = None, sample_weight: Any = None, level: float = 0.95
) -> Score:
    """The mean of Σ_k p_k log(p_k/q_k): cross-entropy − entropy.

    Returns
    -------
    Score
        0 only for equal distributions, infinite where q gives nothing to what p holds possible. A
        single pair of distributions has no interval.

    Examples
    --------
    >>> from gapless.metrics import cross_entropy, entropy, kl_divergence
    >>> p, q = [0.5, 0.25, 0.25], [0.4, 0.4, 0.2]
    >>> print(f"{kl_divergence(p, q):.6f} = {cross_entropy(p, q):.6f} - {entropy(p):.6f}")
    0.049857 = 1.089578 - 1.039721
    >>> print(kl_divergence(p, q))
    KL divergence 0.0498575
    """
    p, q = _distributions(p, q)
    each = rel_entr(p, q).sum(axis=1)
    return _distance("KL divergence", each, base, sample_weight, level, np.inf)


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
    """Distributions as rows (n, K); a single q is used for all rows of p."""
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


def _distance(
    name: str,
    each: Array,
    base: float | None,
    sample_weight: Any,
    level: float,
    highest: float,
) -> Score:
    """The mean of a number of each distribution, given and bounded in nats."""
    if base is not None:
        if not (isinstance(base, Real) and 1 < base < np.inf):
            raise ValueError(f"base must be a number above 1, such as 2; got {base!r}.")
        unit = float(np.log(base))
        each, highest = each / unit, highest / unit
        name = f"{name} in {UNITS.get(float(base), f'base {base:g}')}"
    rows = Rows.of(read_weights(sample_weight, each))
    if len(each) == 1:
        value = float(each[0])
        return Score(name, value, value, value, level, KNOWN, rows.size)
    if not np.all(np.isfinite(each[rows.mass > 0])):
        return Score(name, np.inf, np.inf, np.inf, level, "a row is infinite", rows.size)
    return scored(name, Ratio.mean(each, rows, (0.0, highest)), level)


STRATEGIES = ("uniform", "quantile")
RESAMPLES = 1999
# How often the search for the end of an interval halves it.
HALVINGS = 25


@dataclass(frozen=True, eq=False)
class ReliabilityCurve(ShownInNotebook):
    """Predicted probabilities and observed shares, for rows with similar probabilities.

    Attributes
    ----------
    said, happened : ndarray of shape (m,)
        The mean probability in each bin, and the share of rows for which it came true.
    low, high : ndarray of shape (m,)
        Ends of the exact interval of what happened; each holds for its bin alone.
    sizes : ndarray of shape (m,)
        How many rows are in each bin; with weights that are not counts, effective numbers.
    edges : ndarray of shape (m + 1,)
        Where the bins begin and end.
    ece : Score
        The expected calibration error: the mean of |happened − said| over rows.
    level : float
        Confidence level of the intervals.
    of : str
        Which class the probabilities are of.
    """

    said: Array
    happened: Array
    low: Array
    high: Array
    sizes: Array
    edges: Array
    ece: Score
    level: float
    of: str

    def __str__(self) -> str:
        header = f"{'predicted':>9}  {'observed':>8}  {'between':>14}  {'rows':>6}"
        lines = [str(self.ece), header]
        lines += [
            f"{said:9.3f}  {happened:8.3f}  {low:6.3f} – {high:5.3f}  {size:6.0f}"
            for said, happened, low, high, size in zip(
                self.said, self.happened, self.low, self.high, self.sizes
            )
        ]
        return "\n".join(lines)

    @described(AXES)
    def plot(self, *, axes=None):
        """Draw observed shares against probabilities, with intervals; returns the axes."""
        plots = pictures()
        return plots.reliability(
            self.said,
            self.happened,
            low=self.low,
            high=self.high,
            sizes=self.sizes,
            of=self.of,
            label=str(self.ece),
            axes=axes,
        )


@described(FORECASTS, MEASURED)
def reliability_curve(
    y_true: Any,
    y_proba: Any,
    *,
    n_bins: int = 10,
    strategy: str = "uniform",
    labels: Any = None,
    pos_label: Any = None,
    sample_weight: Any = None,
    level: float = 0.95,
) -> ReliabilityCurve:
    """Compare predicted probabilities with what happened, in bins of similar ones.

    Parameters
    ----------
    y_proba : array-like of shape (n,) or (n, K)
        Probabilities of the positive class, or of all classes in sorted order. With more than two
        classes, only the probability of the most probable one counts.
    n_bins : int, default=10
        How many bins; empty ones are left out.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of the same width, or with the same number of rows. The latter may be wide where there
        are few rows, and hide in their mean that some are too high and others too low.

    Returns
    -------
    ReliabilityCurve
        Plain data with `ece` and `plot()`.

    Notes
    -----
    With few rows the error is above 0 even if all probabilities are right, since shares vary. The
    interval of `ece` allows for that: where it begins at 0, the data show no fault.

    References
    ----------
    Guo, Pleiss, Sun and Weinberger (2017), On calibration of modern neural networks, International
    Conference on Machine Learning.

    Examples
    --------
    >>> import numpy as np
    >>> from gapless.metrics import reliability_curve
    >>> said = np.repeat([0.2, 0.8], 50)
    >>> curve = reliability_curve(np.tile([1, 0, 0, 0, 0], 20), said, n_bins=2)
    >>> print(curve.happened, round(curve.ece.value, 2))
    [0.2 0.2] 0.3
    """
    check_level(level)
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy={strategy!r} is not known; use one of {STRATEGIES}.")
    if not (isinstance(n_bins, Integral) and n_bins > 0):
        raise ValueError(f"n_bins must be a whole number > 0, got {n_bins!r}.")
    data = read_forecasts(y_true, y_proba, sample_weight, labels, pos_label)
    said, happened, of = _claims(data)
    rows = data.rows
    edges = _edges(said, rows, n_bins, strategy)
    place = np.searchsorted(edges[1:-1], said)
    bins = np.unique(place)
    parts = [rows.only(np.flatnonzero(place == k)) for k in bins]
    total, size = (np.array([getattr(part, of_) for part in parts]) for of_ in ("total", "size"))
    mean_said, share_happened = (
        np.bincount(place, rows.mass * values)[bins] / total for values in (said, happened)
    )
    low, high = share(share_happened * size, size, level)
    ece = _calibration_error(mean_said, share_happened, size, total / rows.total, level, rows.size)
    kept = np.append(edges[bins], edges[bins[-1] + 1])
    return ReliabilityCurve(mean_said, share_happened, low, high, size, kept, ece, level, of)


def _claims(data: Forecasts) -> tuple[Array, Array, str]:
    """The probability considered in each row, whether it came true, and of which class."""
    if len(data.classes) == 2:
        return data.probabilities[:, 1], (data.true == 1).astype(float), f"{data.classes[1]}"
    chosen = np.argmax(data.probabilities, axis=1)
    said = data.probabilities[np.arange(len(chosen)), chosen]
    return said, (chosen == data.true).astype(float), "the predicted class"


def _edges(said: Array, rows: Rows, n_bins: int, strategy: str) -> Array:
    """Where bins begin and end, each with its end, without empty ones between equal quantiles."""
    if strategy == "uniform":
        return np.linspace(0.0, 1.0, n_bins + 1)
    order = np.argsort(said, kind="stable")
    below = np.cumsum(rows.mass[order])
    wanted = np.arange(1, n_bins) / n_bins * below[-1]
    at = np.searchsorted(below, wanted * (1 - 1e-12))
    return np.concatenate([[0.0], np.unique(said[order][at]), [1.0]])


def _calibration_error(
    said: Array, happened: Array, sizes: Array, parts: Array, level: float, n: float
) -> Score:
    """Σ part·|happened − said| over bins, with an interval.

    The absolute value turns noise into error, so that the sum lies above the truth, by far where
    the truth is 0. At the low end errors of the same shape and any size are tried: the smallest for
    which a sum as large as that seen has a chance of (1 − level)/2. Upwards noise can only hide as
    much as it would without absolute values. Shares vary as normal ones do, and with one more row
    of either kind, so that none is without a spread.
    """
    gaps = happened - said
    value = float(parts @ np.abs(gaps))
    smoothed = (happened * sizes + 1) / (sizes + 2)
    spread = np.sqrt(smoothed * (1 - smoothed) / (sizes + 2))
    noise = spread * np.random.default_rng(0).normal(size=(RESAMPLES, len(sizes)))

    def share_below(factor: float) -> float:
        """How often the sum is below the one seen, if errors are `factor` times those seen."""
        return float(np.mean(np.abs(factor * gaps + noise) @ parts < value))

    upper = (1 + level) / 2
    low = min(value * _falls_to(share_below, upper), value)
    high = min(value + float(ndtri(upper) * np.sqrt((parts * spread) @ (parts * spread))), 1.0)
    how = "by the noise of the bins"
    return Score("expected calibration error", value, low, high, level, how, n)


def _falls_to(chance: Callable[[float], float], wanted: float) -> float:
    """Where a falling function on [0, 1] meets a number; 0 where it begins below it."""
    low, high = 0.0, 1.0
    if chance(low) <= wanted:
        return 0.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if chance(middle) > wanted else (low, middle)
    return (low + high) / 2
