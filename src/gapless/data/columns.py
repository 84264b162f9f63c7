"""Columns: the role of each, and why: number, category, date, text, id, constant, target."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from .findings import TableError, counted, listed
from .forms import Form, form_by_type, read
from .headers import totals_row
from .numbers import sample_of
from .tables import Table

Role = Literal[
    "number",
    "category",
    "date",
    "text",
    "id",
    "constant",
    "target",
    "group",
    "time",
    "dropped",
]
# Roles of the columns that models use.
FEATURES = ("number", "category", "date", "text")
# Types of columns that are moments.
MOMENTS = ("Date", "Datetime")

# Levels of a category that models and profiles know by name; all others are one.
MOST_LEVELS = 200
# Fewer rows than this do not show whether a column identifies them.
FEW_ROWS = 20
# A column of texts that are nearly all different identifies the rows.
SHARE_OF_NAMES = 0.95
# Texts that average this many words and are mostly different are free texts.
WORDS_OF_TEXT = 3.0
SHARE_OF_TEXTS = 0.3
CALLED_ID = re.compile(r"(?:^|[\s_.-])(?:id|ids|key|index|uuid|guid|nr|no|row)$|[a-z]I[Dd]$", re.I)
LOOKS_LIKE_CODE = r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-|^[0-9a-fA-F]{24,}$"


@dataclass(frozen=True, slots=True)
class Column:
    """A column and its role.

    Attributes
    ----------
    name : str
        Its name.
    role : str
        number, category, date or text for features; id and constant for excluded columns; target,
        group, time or dropped as named by the caller. A time that is a date is a feature as well.
    reason : str
        Why it has this role, in words.
    dtype : str
        Its type: Int64, Float64, Boolean, Date, Datetime or String.
    rows, missing, distinct : int
        The number of rows, of missing values, and of distinct values without missing ones.
    form : Form or None
        How its texts were read, if it came as texts.
    """

    name: str
    role: Role
    reason: str
    dtype: str
    rows: int
    missing: int
    distinct: int
    form: Form | None = None

    def __post_init__(self) -> None:
        if self.role not in get_args(Role):
            raise ValueError(f"unknown role {self.role!r} of a column.")
        # A column may come from a file.
        are_texts = all(isinstance(each, str) for each in (self.name, self.reason, self.dtype))
        are_counts = all(isinstance(n, int) for n in (self.rows, self.missing, self.distinct))
        if not (are_texts and are_counts and isinstance(self.form, Form | None)):
            raise ValueError("a column has a name, a reason, a type, three counts and a form.")

    @property
    def is_feature(self) -> bool:
        """Whether models use it."""
        return self.given_as in FEATURES

    @property
    def given_as(self) -> Role:
        """Its role as a feature: a date that orders the rows is a date like others."""
        return "date" if self.role == "time" and self.dtype in MOMENTS else self.role

    def to_dict(self) -> dict[str, Any]:
        """The same data as plain strings, numbers and lists."""
        return asdict(self)

    def __deepcopy__(self, memo: Any) -> Column:
        # An immutable value is its own copy: clones of pipelines hold thousands.
        return self


def describe_columns(
    table: Table,
    target: str | None = None,
    *,
    group: str | None = None,
    time: str | None = None,
    drop: Sequence[str] = (),
) -> tuple[Column, ...]:
    """Give each column of a table its role.

    Parameters
    ----------
    table : Table
        The table.
    target : str or None, default=None
        The column to predict.
    group, time : str or None, default=None
        The column whose equal values stay on one side of a split, which is not a feature, and the
        one that orders rows in time, which is one if it has dates.
    drop : sequence of str, default=()
        Columns to exclude.

    Returns
    -------
    tuple of Column
        In the order of the table.

    Raises
    ------
    TableError
        If a column of that name does not exist, or is named for two roles.

    Examples
    --------
    >>> from gapless.data import describe_columns, load_builtin
    >>> [(c.name, c.role) for c in describe_columns(load_builtin("tennis"), "play")][-2:]
    [('wind', 'category'), ('play', 'target')]
    """
    named = _named(table, target, group, time, drop)
    # A row of totals is not one of the rows that a column may identify.
    totals = totals_row(table.frame)
    rows = table.frame if totals is None else table.frame[:totals]
    return tuple(_described(series, table, named) for series in rows.iter_columns())


def _named(
    table: Table, target: str | None, group: str | None, time: str | None, drop: Sequence[str]
) -> dict[str, Role]:
    """Roles given by the caller."""
    roles: dict[str, Role] = {}
    given: list[tuple[str | None, Role]] = [(target, "target"), (group, "group"), (time, "time")]
    for name, role in [*given, *((name, "dropped") for name in drop)]:
        if name is None:
            continue
        check_name(table, name)
        if roles.setdefault(name, role) != role:
            raise TableError(f"column {name!r} cannot be both {roles[name]} and {role}.")
    return roles


def check_name(table: Table, name: str) -> None:
    """Refuse the name of a column that does not exist, and suggest a similar one."""
    names = table.frame.columns
    if name in names:
        return
    plain = {other.lower().strip(): other for other in reversed(names)}
    near = difflib.get_close_matches(name.lower().strip(), plain, n=1)
    hint = f"did you mean {plain[near[0]]!r}?" if near else f"its columns are {listed(names, 20)}."
    raise TableError(f"{table.source} has no column {name!r}; {hint}")


def _described(series: pl.Series, table: Table, named: dict[str, Role]) -> Column:
    missing = series.null_count()
    distinct = series.n_unique() - (missing > 0)
    if series.name in named:
        role, reason = named[series.name], "given"
    else:
        role, reason = _role(series, missing, distinct)
    return Column(
        series.name,
        role,
        reason,
        str(series.dtype.base_type()),
        len(series),
        missing,
        distinct,
        table.forms.get(series.name),
    )


def _role(series: pl.Series, missing: int, distinct: int) -> tuple[Role, str]:
    if distinct == 0:
        return "constant", "all values are missing"
    if distinct == 1 and not missing:
        return "constant", f"all values are {series[0]!r}"
    if series.dtype.is_temporal():
        return "date", "dates"
    if series.dtype == pl.Boolean:
        return "category", "true or false"
    if series.dtype.is_numeric():
        reason = _why_id(series, missing, distinct)
        return ("id", reason) if reason else ("number", "numbers")
    return _role_of_texts(series, missing, distinct)


def _why_id(series: pl.Series, missing: int, distinct: int) -> str | None:
    """Why integers identify the rows; None if they do not.

    Rows may be repeated: a column that is called an id is one all the same.
    """
    if series.dtype != pl.Int64 or missing or len(series) < FEW_ROWS:
        return None
    if distinct < len(series):
        is_id = distinct >= SHARE_OF_NAMES * len(series) and CALLED_ID.search(series.name)
        return "it is called an id and differs in nearly every row" if is_id else None
    steps = series.diff().drop_nulls()
    if (steps == 1).all():
        return "it numbers the rows"
    if CALLED_ID.search(series.name):
        return "it is called an id and differs in each row"
    return None


def _role_of_texts(series: pl.Series, missing: int, distinct: int) -> tuple[Role, str]:
    present = len(series) - missing
    few = sample_of(series)
    words = few.str.count_matches(r"\S+").mean()
    assert isinstance(words, float)
    if words >= WORDS_OF_TEXT and distinct > max(SHARE_OF_TEXTS * present, 2):
        return "text", f"free text, {words:.0f} words on average"
    is_code = few.str.contains(LOOKS_LIKE_CODE).all()
    if present >= FEW_ROWS and (distinct >= SHARE_OF_NAMES * present or is_code):
        share = f"{counted(distinct, 'distinct value')} in {present:,} rows"
        return "id", f"it identifies the rows: {share}"
    return "category", counted(distinct, "category")


# ---- columns in the types of their roles ---------------------------------------------------------


def finite_numbers(frame: pl.DataFrame, columns: Sequence[Column]) -> pl.DataFrame | None:
    """Columns of finite numbers alone, read at once: there may be thousands; else None."""
    types = frame.schema
    if any(c.role != "number" or types[c.name] not in (pl.Float64, pl.Int64) for c in columns):
        return None
    numbers = frame.select(pl.col([column.name for column in columns]).cast(pl.Float64))
    return numbers if np.isfinite(numbers.to_numpy()).all() else None


def as_role(series: pl.Series, column: Column) -> pl.Series:
    """A column in the type of its role."""
    if series.dtype == pl.String:
        series = read(series, column.form or form_by_type(column.dtype, series))
    if column.role == "number":
        return series.cast(pl.Float64, strict=False)
    if column.given_as == "date":
        return series.cast(pl.Datetime("us"), strict=False)
    texts = series.cast(pl.String, strict=False)
    return texts.fill_null("") if column.role == "text" else texts
