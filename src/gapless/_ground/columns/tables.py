"""The columns of pandas and polars tables, and of matrices: numbers or categories."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np

from ..tables import DATES, complex_error, dates_error

Array = np.ndarray

NUMBERS = ("int", "uint", "float", "bool", "decimal", "double")
CATEGORIES = ("cat", "enum")
# Column types that are known to be category names or numbers without a look at the values.
NAMED = (*CATEGORIES, "str", "large_string", *NUMBERS)
OBJECTS_OF_TIME = (datetime.date, datetime.time, datetime.timedelta)


def is_table(X: Any) -> bool:
    """Whether X is a data frame, whose columns may have different types."""
    # Test the class: polars builds a new list of names each time.
    return hasattr(type(X), "columns") and not isinstance(X, np.ndarray)


@dataclass(frozen=True, eq=False)
class Series:
    """One column of a table or a matrix."""

    column: Any
    name: str

    @property
    def kind(self) -> str:
        """The name of its type in lower case; a sparse column has the type of its values."""
        dtype = self.column.dtype
        return str(dtype.subtype if hasattr(dtype, "fill_value") else dtype).lower()

    @property
    def is_category(self) -> bool:
        """Whether its type is a category: anything but numbers."""
        if self.kind.startswith(DATES):
            raise dates_error(self._named, self.column.dtype)
        if self.kind.startswith("complex"):
            raise complex_error(self._named, self.column.dtype)
        return not self.kind.startswith(NUMBERS)

    @property
    def numbers(self) -> Array:
        """Its values as floats, NaN if missing."""
        dtype = np.float32 if self.kind == "float32" else np.float64
        if hasattr(self.column, "isna"):
            # Types of pandas have a missing value of their own.
            return self.column.to_numpy(dtype=dtype, na_value=np.nan)
        values = self.column if isinstance(self.column, np.ndarray) else self.column.to_numpy()
        return values.astype(dtype, copy=False)

    @property
    def is_of_numbers(self) -> bool:
        """Whether it is not a category by type and all its values can be read as numbers."""
        if self.kind.startswith(CATEGORIES):
            return False
        try:
            return len(self.numbers) > 0
        except (TypeError, ValueError):
            return False

    @property
    def values(self) -> Array:
        """Its values as objects, None if missing."""
        values = np.array(self.column, dtype=object)
        values[self._is_missing(values)] = None
        if not self.kind.startswith(NAMED):
            self._check_kinds(values)
        return values

    def _is_missing(self, values: Array) -> Array:
        if hasattr(self.column, "isna"):
            return self.column.isna().to_numpy(dtype=bool)
        if hasattr(self.column, "is_null") and self.is_category:
            return self.column.is_null().to_numpy()
        return np.frompyfunc(_is_missing, 1, 1)(values).astype(bool)

    def _check_kinds(self, values: Array) -> None:
        """Refuse objects that cannot be names of categories."""
        for kind in set(map(type, values.tolist())):
            if issubclass(kind, OBJECTS_OF_TIME):
                raise dates_error(self._named, kind.__name__)
            # Every object has a `<`; ordered ones define their own.
            has_order = any("__lt__" in vars(base) for base in kind.__mro__[:-1])
            has_order = has_order and not issubclass(kind, complex)
            if kind is not type(None) and (kind.__hash__ is None or not has_order):
                raise ValueError(
                    f"{self._named} holds values of type {kind.__name__}, which cannot be "
                    "categories; turn them into numbers or strings, or drop the column."
                )

    @property
    def _named(self) -> str:
        return f"column {self.name!r} of X"


def series_of(X: Any, j: int) -> Series:
    """Column j."""
    if not is_table(X):
        return Series(X[:, j], f"x{j}")
    # Polars' method is far quicker than its brackets, and tables may have thousands of columns.
    column = X.iloc[:, int(j)] if hasattr(X, "iloc") else X.to_series(int(j))
    return Series(column, str(column.name))


def numbers_of(X: Any, which: list[int]) -> Array:
    """Some columns of numbers as a matrix (n, k) of floats, NaN if missing."""
    if hasattr(X, "get_columns") and which:
        some = X[:, which]
        # One call for all, if there is nothing to decide for each.
        if all(dtype.is_numeric() for dtype in some.dtypes):
            return some.cast(float).to_numpy()
    out = np.empty((X.shape[0], len(which)))
    for k, j in enumerate(which):
        out[:, k] = series_of(X, j).numbers
    return out


def _is_missing(value: Any) -> bool:
    # pandas' NA equals nothing: a comparison returns another NA.
    if value is None or isinstance(value, str | bool):
        return value is None
    return (value != value) is not False


def levels_of(values: Array) -> Array:
    """The distinct values that are not missing, in order; numbers before texts."""
    distinct = {_plain(value) for value in set(values.tolist()) if value is not None}
    ordered = sorted(distinct, key=lambda value: (_rank(value), value))
    out = np.empty(len(ordered), dtype=object)
    out[:] = ordered
    return out


def _rank(value: Any) -> tuple[bool, str]:
    """Groups of values that can be compared: numbers, texts, and others by their type."""
    if isinstance(value, Number):
        return False, ""
    return True, type(value).__name__


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


@dataclass(frozen=True, eq=False)
class Level:
    """Maps the name of a level to its number."""

    numbers: dict[Any, float]

    def of(self, values: Array) -> Array:
        """Numbers of levels as floats; NaN for missing or unknown ones."""
        # None, for what is not found, becomes NaN.
        return np.array(list(map(self.numbers.get, values.tolist())), dtype=np.float64)


def number_of_level(levels: Array) -> Level:
    """The numbers of levels in their order."""
    return Level({level: float(k) for k, level in enumerate(levels.tolist())})
