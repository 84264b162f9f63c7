"""Whether probabilities mean what they say: shares that happened against those that were said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy.special import ndtri

from .._ground.drawing import pictures
from .intervals import Rows, check_level, share
from .reading import Forecasts, read_forecasts
from .result import Score

Array = np.ndarray

STRATEGIES = ("uniform", "quantile")
RESAMPLES = 1999
# How often the search for the end of an interval halves it.
HALVINGS = 25


@dataclass(frozen=True, eq=False)
class ReliabilityCurve:
    """What was said and what happened, for rows with similar probabilities.

    Attributes
    ----------
    said, happened : ndarray of shape (m,)
        The mean probability in each bin, and the share of rows for which it came true.
    low, high : ndarray of shape (m,)
        Ends of the exact interval of what happened; each holds for its bin alone.
    sizes : ndarray of shape (m,)
        How many rows are in each bin; effective numbers, with weights that are no counts.
    edges : ndarray of shape (m + 1,)
        Where the bins begin and end.
    ece : Score
        The expected calibration error: the mean of |happened − said| over rows.
    level : float
        How sure the intervals are.
    of : str
        Whose probabilities these are.
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

    def plot(self, *, axes=None):
        """Draw what happened against what was said, with intervals.

        Parameters
        ----------
        axes : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        axes : matplotlib Axes
        """
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
    """Compare probabilities with what happened, in bins of similar ones.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True classes.
    y_proba : array-like of shape (n,) or (n, K)
        Probabilities of the positive class, or of all classes in sorted order. Of more than two
        classes those of the most probable one are looked at, which should come true.
    n_bins : int, default=10
        How many bins; empty ones are left out.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of the same width, or with the same number of rows. The latter may be wide where there
        are few rows, and hide in their mean that some are too high and others too low.
    labels : array-like of shape (K,), default=None
        All classes, sorted, if some have no row here.
    pos_label : label, default=None
        Which class a single column is about; the larger one if None.
    sample_weight : array-like of shape (n,), default=None
        How much each row counts. Whole numbers are counts: 2 is the row twice.
    level : float, default=0.95
        How sure the intervals are.

    Returns
    -------
    ReliabilityCurve
        Plain data with `ece` and `plot()`.

    Notes
    -----
    With few rows the error is above 0 even if all probabilities are right, since shares vary. The
    interval of `ece` takes that off: where it begins at 0, no fault is shown.

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
    """The probability that is looked at in each row, whether it came true, and whose it is."""
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
        """How often the sum is below that seen, if errors are so many times those seen."""
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
