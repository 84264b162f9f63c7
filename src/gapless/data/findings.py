"""Messages about a table: an error that stops the work, or findings that do not."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Severity = Literal["warning", "note"]

# The meaning of each code. L: the score may be too good to be true; D: about the data; S: how a
# table and the training rows of a model differ, and how the model does on it.
CODES = {
    "L101": "a column nearly gives the target away",
    "L102": "a column identifies the rows",
    "L103": "test rows are also training rows",
    "L104": "groups are on both sides of the split",
    "L105": "a column is from the future",
    "L106": "a column looks like a group",
    "L107": "rows close in time are alike",
    "D201": "the target is missing in some rows",
    "D202": "a column is constant",
    "D203": "the classes are imbalanced",
    "D204": "rows are repeated",
    "D205": "equal rows have different targets",
    "D206": "a column is mostly missing",
    "D207": "a class has very few rows",
    "D208": "categories look like spellings of one",
    "D209": "a row contains totals",
    "D210": "a column is not on the map",
    "S301": "a column is absent",
    "S302": "a column is new",
    "S303": "values are distributed differently",
    "S304": "categories are new",
    "S305": "categories have different shares",
    "S306": "more values are missing",
    "S307": "values cannot be read",
    "S308": "dates are outside the training range",
    "S309": "there are too few rows to compare",
    "S310": "training rows are among the rows",
    "S311": "the score is not as expected",
    "S312": "the model is not optimal for its objective",
    "S313": "more rows are far out",
}


class TableError(ValueError):
    """A table could not be read or used; the message explains why, where, and what to do."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something noticed about a table.

    Attributes
    ----------
    code : str
        A key of `CODES`.
    severity : {"warning", "note"}
        A warning may make the estimates wrong; a note is for information.
    title : str
        The meaning of the code.
    detail : str
        What was found, with numbers and names, and what to do.
    columns : tuple of str
        Names of the columns that it concerns.
    rows : tuple of int
        Some of the rows that it concerns, counted from 0 as in the table; at most `SHOWN`.
    """

    code: str
    severity: Severity
    title: str
    detail: str
    columns: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The same data as plain strings, numbers and lists."""
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.code} {self.title}: {self.detail}"


# The rows or names shown of a longer list.
SHOWN = 5
# The characters shown of a name or a value.
LONGEST = 80


def found(
    code: str,
    severity: Severity,
    detail: str,
    columns: tuple[str, ...] = (),
    rows: Any = (),
) -> Finding:
    """A finding with the title of its code."""
    shown = tuple(int(row) for row in rows[:SHOWN])
    return Finding(code, severity, CODES[code], detail, columns, shown)


def quoted(text: str) -> str:
    """A name or a value in quotes, without its middle if it is long."""
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]} … {text[-LONGEST // 4 :]}"
    return repr(text)


def listed(items: Any, most: int = SHOWN) -> str:
    """Names or numbers joined by commas, and how many more there are."""
    items = list(items)
    text = ", ".join(quoted(item) if isinstance(item, str) else str(item) for item in items[:most])
    return text if len(items) <= most else f"{text} and {len(items) - most:,} more"


def counted(n: int, noun: str) -> str:
    """A number and its noun: 1 row, 2 rows, 1,000 rows."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{n:,} {noun if n == 1 else plural}"
