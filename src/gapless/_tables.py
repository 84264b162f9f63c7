"""What no model takes in a table: two columns of one name, and dates where numbers are needed."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

# How the types of columns of time begin, in pandas, polars and NumPy.
DATES = ("date", "time", "duration", "period")


def refuse_equal_names(X: Any) -> None:
    """Say which name two columns of a table of pandas have; other tables cannot have such."""
    if not (hasattr(X, "iloc") and hasattr(X, "columns")) or X.columns.is_unique:
        return
    [(name, count), *_] = Counter(X.columns.tolist()).most_common(1)
    raise ValueError(
        f"X has {count} columns called {name!r}, so that none of them can be named; rename them, "
        "or drop all but one."
    )


def refuse_dates(X: Any) -> None:
    """Say which column of a table, or that an array, holds dates or durations."""
    if isinstance(X, np.ndarray):
        if X.dtype.kind in "mM":
            raise dates_error("X", X.dtype)
        return
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return
    for name, kind in zip(X.columns, X.dtypes):
        if str(kind).lower().startswith(DATES):
            raise dates_error(f"column {str(name)!r} of X", kind)


def dates_error(what: str, kind: Any) -> ValueError:
    """An error that says where dates are, and what to do."""
    return ValueError(
        f"{what} holds dates ({kind}); turn them into numbers, e.g. days since the first, or drop "
        f"{'them' if what == 'X' else 'the column'}."
    )
