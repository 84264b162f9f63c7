"""How far predicted numbers are from the true ones: squared and absolute errors, and R²."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._ground.docstrings import described
from .estimates import Ratio, Smooth, scored
from .inputs import Numbers, read_numbers
from .intervals import MEASURED, Score

Array = np.ndarray

# Shared by the docstrings of several functions.
NUMBERS = """
y_true, y_pred : array-like of shape (n,) or (n, outputs)
    True and predicted numbers; the result for several outputs is the mean over them.
"""


@described(NUMBERS, MEASURED)
def mse(y_true: Any, y_pred: Any, *, sample_weight: Any = None, level: float = 0.95) -> Score:
    """The mean squared error.

    Returns
    -------
    Score
        The value with its interval.

    Notes
    -----
    The interval is one of the logarithm, from the bootstrap of Student's t with fixed seed; of more
    than 1,000 rows from Student's t itself. With 10 rows and normal errors it holds the true number
    in 94 of 100 samples; errors with heavy tails need many more rows before any interval does.

    Examples
    --------
    >>> from gapless.metrics import mse
    >>> print(mse([1.0, 2.0, 3.0, 4.0, 5.0], [1.1, 1.9, 3.4, 4.0, 4.7]))
    mse 0.1 (0.0 to 4.4 at 95 %, bootstrap of Student's t, n = 5)
    """
    return scored("mse", squares(read_numbers(y_true, y_pred, sample_weight)), level)


@described(NUMBERS, MEASURED)
def rmse(y_true: Any, y_pred: Any, *, sample_weight: Any = None, level: float = 0.95) -> Score:
    """The root of the mean squared error, in the units of y.

    Returns
    -------
    Score
        The value with its interval; of one output, the roots of those of `mse`.
    """
    data = read_numbers(y_true, y_pred, sample_weight)
    if data.true.shape[1] > 1:
        return scored("rmse", roots(data), level)
    ratio = squares(data)
    found = ratio.interval(level)
    value, low, high = (float(np.sqrt(x)) for x in (ratio.value, found.low, found.high))
    return Score("rmse", value, low, high, level, found.method, data.rows.size)


@described(NUMBERS, MEASURED)
def mae(y_true: Any, y_pred: Any, *, sample_weight: Any = None, level: float = 0.95) -> Score:
    """The mean absolute error.

    Returns
    -------
    Score
        The value with its interval, found as for `mse`.
    """
    return scored("mae", distances(read_numbers(y_true, y_pred, sample_weight)), level)


@described(NUMBERS, MEASURED)
def r2(y_true: Any, y_pred: Any, *, sample_weight: Any = None, level: float = 0.95) -> Score:
    """The explained share of the variance of y: R² = 1 − Σ(y − z)²/Σ(y − ȳ)².

    Returns
    -------
    Score
        The value with its interval: that of the part which is not explained, found as for `mse`. As
        in scikit-learn, if y does not vary the value is 1 for perfect predictions and else 0.
    """
    data = read_numbers(y_true, y_pred, sample_weight)
    left = unexplained(data)
    found = left.interval(level)
    return Score(
        "R²", 1 - left.value, 1 - found.high, 1 - found.low, level, found.method, data.rows.size
    )


# ---- what each row contributes -------------------------------------------------------------------


def squares(data: Numbers) -> Ratio:
    """The mean squared error as a ratio."""
    return Ratio.mean(np.mean((data.true - data.predicted) ** 2, axis=1), data.rows)


def distances(data: Numbers) -> Ratio:
    """The mean absolute error as a ratio."""
    return Ratio.mean(np.mean(np.abs(data.true - data.predicted), axis=1), data.rows)


def roots(data: Numbers) -> Smooth:
    """The mean over outputs of the root mean squared error, to first order in the weights."""
    parts = [Ratio.mean(e**2, data.rows).smooth for e in (data.true - data.predicted).T]
    values = np.sqrt([part.value for part in parts])
    pulls = [part.pulls / (2 * v) for part, v in zip(parts, values) if v > 0]
    return _mean_of(values, pulls, data)


def unexplained(data: Numbers) -> Ratio | Smooth:
    """1 − R²: a ratio, or of several outputs the mean of one for each."""
    means = data.rows.mass @ data.true / data.rows.total
    errors, spreads = (data.true - data.predicted) ** 2, (data.true - means) ** 2
    # Rounding of the mean is not a spread.
    spreads = spreads * (np.ptp(data.true, axis=0) > 0)
    parts = [_ratio(e, s, data) for e, s in zip(errors.T, spreads.T)]
    if len(parts) == 1:
        return parts[0]
    return _mean_of(
        np.array([part.value for part in parts]), [part.smooth.pulls for part in parts], data
    )


def _ratio(errors: Array, spreads: Array, data: Numbers) -> Ratio:
    """Errors over spread; 1 without a spread to explain but with some error."""
    if data.rows.sum(spreads) > 0:
        return Ratio(errors, spreads, data.rows)
    return Ratio.mean(np.full(len(errors), float(np.any(errors > 0))), data.rows)


def _mean_of(values: Array, pulls: list[Array], data: Numbers) -> Smooth:
    of_rows = np.sum(pulls, axis=0) / len(values) if pulls else np.zeros(len(data.true))
    return Smooth(float(values.mean()), of_rows, data.rows, (0.0, np.inf))
