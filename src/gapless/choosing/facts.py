"""Facts: what families of models need to know about a table before any is fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..data import FEWEST_OF_A_LEVEL, MOST_WORDS, Column, Target, Task

Array = np.ndarray

# Of a category, so many levels are kept by a preparation, and one for all others.
MOST_LEVELS = 200
PARTS_OF_A_DATE = 13
# Texts of so many rows have about 40·rows^0.6 different words (Heaps' law).
HEAPS_FACTOR, HEAPS_POWER = 40.0, 0.6


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a table before any model is fitted.

    Attributes
    ----------
    task : {"classification", "regression"}
        What predicting the target is.
    rows : int
        The number of rows for training.
    columns : int
        The number of columns that are features.
    features : int
        About how many numbers a row has when categories have one column per level, and texts one
        per word.
    classes : int
        The number of classes; 0 for regression.
    smallest_class : int
        The number of rows of the rarest class; 0 for regression.
    largest_share : float
        The share of the most frequent class; 0 for regression.
    has_text, has_category, has_missing : bool
        Whether a feature is a free text, is a category or a text, or has missing values.
    is_text : bool
        Whether all features are free texts.
    """

    task: Task
    rows: int
    columns: int
    features: int
    classes: int
    smallest_class: int
    largest_share: float
    has_text: bool
    has_category: bool
    has_missing: bool
    is_text: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The same data as plain strings and numbers."""
        return asdict(self)


def facts_of(columns: Sequence[Column], target: Target, rows: Array | None = None) -> Facts:
    """The facts of a table.

    Parameters
    ----------
    columns : sequence of Column
        Columns with their roles, from `describe_columns`.
    target : Target
        The target, from `read_target`.
    rows : ndarray of int or None, default=None
        The rows of the table that are for training; None for all in which the target is known.

    Returns
    -------
    Facts
    """
    known = target.values if rows is None else target.values[np.isin(target.rows, rows)]
    used = [column for column in columns if column.is_feature]
    counts = np.zeros(0, dtype=int)
    if target.task == "classification":
        counts = np.unique(known, return_counts=True)[1]
    return Facts(
        task=target.task,
        rows=len(known),
        columns=len(used),
        features=sum(_width(column, len(known)) for column in used),
        classes=len(counts),
        smallest_class=int(counts.min(initial=len(known))) if len(counts) else 0,
        largest_share=float(counts.max(initial=0) / max(len(known), 1)),
        has_text=any(column.role == "text" for column in used),
        has_category=any(column.role in ("category", "text") for column in used),
        has_missing=any(column.missing for column in used),
        is_text=bool(used) and all(column.role == "text" for column in used),
    )


def _width(column: Column, rows: int) -> int:
    """About how many numbers a column becomes."""
    if column.role == "category":
        # Levels that are too rare share one column.
        levels = min(column.distinct, rows // FEWEST_OF_A_LEVEL, MOST_LEVELS)
        return max(levels, 1) + 1
    if column.given_as == "date":
        return PARTS_OF_A_DATE
    if column.role == "text":
        return min(int(HEAPS_FACTOR * rows**HEAPS_POWER), MOST_WORDS)
    return 2 if column.missing else 1
