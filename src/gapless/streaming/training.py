"""A table in parts with its target and weights, checked as it is first read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .parts import Parts, in_parts, is_in_parts
from .sources import Rows, Source, rows_of

Array = np.ndarray

# Files are read so many parts at a time: a stretch. Sums are taken within stretches first.
PARTS_AT_ONCE = 8


@dataclass(frozen=True, eq=False)
class Training:
    """A table in parts, its target and its weights: names of columns, arrays of all rows, or None.

    `parts.columns` are the features alone.
    """

    parts: Parts
    y: Any = None
    weights: Any = None

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.parts.n

    @property
    def d(self) -> int:
        """The number of features."""
        return len(self.parts.columns)

    @property
    def source(self) -> Source:
        """Where the rows are."""
        return self.parts.source

    @property
    def feature_names(self) -> Array | None:
        """The names of the features; None if they have none."""
        is_named = self.source.names is not None
        return np.array(self.parts.columns, dtype=object) if is_named else None

    @property
    def how(self) -> tuple:
        """Which columns are read, and as what."""
        return self.parts.columns, self.y, self.weights

    def stretches(self) -> list[tuple[int, int]]:
        """The first row of each stretch, and of the next one."""
        step = PARTS_AT_ONCE * self.parts.rows
        return [(first, min(first + step, self.n)) for first in range(0, self.n, step)]

    def stretch(self, first: int, last: int) -> Rows:
        """Read the rows of a stretch."""
        return rows_of(self.source, first, last, *self.how)

    def without_features(self) -> Training:
        """The target and the weights alone, which are quicker to read."""
        return replace(self, parts=replace(self.parts, columns=()))


def opened(X: Any, y: Any = None, sample_weight: Any = None, *, needs_y: bool = True) -> Training:
    """X as a table in parts, with its target and weights.

    `y` and `sample_weight` are names of columns of X, or arrays with an entry for each row.
    """
    parts = in_parts(X)
    if needs_y and y is None:
        raise ValueError(
            "the target y is None; pass the name of its column, or an array with one entry per row."
        )
    y, weights = (
        _checked(parts.source, each, name) for each, name in ((y, "y"), (sample_weight, "weights"))
    )
    aside = [each for each in (y, weights) if isinstance(each, str)]
    features = tuple(name for name in parts.columns if name not in aside)
    if not features:
        raise ValueError("the table has no columns besides the target; there is nothing to fit.")
    parts.source.check_features(features)
    return Training(replace(parts, columns=features), y, weights)


def named_columns(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any]:
    """Target and weights as arrays, if they are names of columns of a table in parts."""
    if not (isinstance(y, str) or isinstance(sample_weight, str)) or not is_in_parts(X):
        return y, sample_weight
    source = in_parts(X).source
    y, weights = (
        _checked(source, each, name) for each, name in ((y, "y"), (sample_weight, "weights"))
    )
    names = [each for each in (y, weights) if isinstance(each, str)]
    found = iter(source.read(0, source.n, (), names)[1])
    y, weights = (next(found) if isinstance(each, str) else each for each in (y, weights))
    return y, weights


def _checked(source: Source, values: Any, name: str) -> Any:
    if values is None:
        return None
    if isinstance(values, str):
        if source.names is None:
            raise ValueError(f"the columns have no names, so pass {name} as an array.")
        if values not in source.names:
            known: Sequence[str] = source.names
            raise ValueError(
                f"the table has no column {values!r}; its columns are "
                f"{', '.join(map(repr, known[:20]))}{' …' if len(known) > 20 else ''}."
            )
        return values
    values = values if hasattr(values, "__dask_graph__") else np.asarray(values)
    if hasattr(values, "divisions"):  # a column of a Dask frame
        values = values.to_dask_array(lengths=True)
    if values.ndim != 1:
        raise ValueError(
            f"{name} must have one entry per row, got an array of shape {values.shape}."
        )
    if len(values) != source.n:
        raise ValueError(f"{name} has {len(values)} entries, and the table {source.n} rows.")
    return values
