"""Failures: why a family could not learn from a table, in one line with what to do."""

from __future__ import annotations

import numpy as np
import polars as pl

from ..data import TableError, Target, counted
from .metric import OF_AREAS, Metric

# Beyond this, squares of numbers and sums of them overflow.
HUGE = 1e150
# The most characters of an error that are shown.
MOST_CHARACTERS = 240


def failure_in_words(error: Exception, frame: pl.DataFrame) -> str:
    """What went wrong, and what to do about it.

    Parameters
    ----------
    error : Exception
        What a fit or a prediction has raised.
    frame : polars.DataFrame
        The features of the rows for training.

    Returns
    -------
    str
        One line.
    """
    if isinstance(error, MemoryError):
        return "it needs more memory than is available; drop columns, or use fewer rows"
    text = " ".join(str(error).split("\n")[0].split())[:MOST_CHARACTERS].rstrip(".")
    if isinstance(error, np.linalg.LinAlgError):
        return f"its equations have no solution ({text}); drop columns that repeat others"
    if isinstance(error, ValueError) and text:
        return _too_large(frame) or text
    return f"a bug in gapless, {type(error).__name__}: {text}; please report it"


def refuse_huge(target: Target) -> None:
    """Raise TableError for a target that no error can be measured of."""
    if target.task == "regression" and np.max(np.abs(target.values), initial=0.0) > HUGE:
        raise TableError(
            f"{target.name!r} contains {_largest(target.values):.2g}, too large to be squared; "
            "divide the column by a power of ten first."
        )


def check_test(metric: Metric, y: np.ndarray, target: Target) -> None:
    """Raise TableError for rows for testing, with targets y, that a metric cannot measure."""
    labels = np.unique(y)
    if metric.name not in OF_AREAS or len(labels) > 1:
        return
    counts = [
        f"{counted(int(np.sum(target.values == label)), 'row')} of {label!r}"
        for label in np.setdiff1d(target.values, labels).tolist()
    ]
    raise TableError(
        f"all {len(y):,} test rows are of class {labels.tolist()[0]!r}, and the table has only "
        f"{' and '.join(counts)}, so {metric.title} cannot be measured; set aside more test rows, "
        "or use another metric, such as log_loss."
    )


def _too_large(frame: pl.DataFrame) -> str:
    """A column whose numbers are too large to be squared, with the cure; "" if there is none."""
    for column in frame.iter_columns():
        if column.dtype.is_float() and abs(_largest(column.drop_nulls().to_numpy())) > HUGE:
            largest = _largest(column.drop_nulls().to_numpy())
            return (
                f"column {column.name!r} contains {largest:.2g}, too large to be squared; "
                "divide the column by a power of ten, or drop it"
            )
    return ""


def _largest(values: np.ndarray) -> float:
    """The number furthest from 0; 0 if there is none."""
    known = values[np.isfinite(values)]
    return float(known[np.argmax(np.abs(known))]) if len(known) else 0.0
