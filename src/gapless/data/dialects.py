"""Dialects of delimited text: delimiter, quotes and header, guessed from how a text begins."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

DELIMITERS = (",", "\t", ";", "|", "^", "~", ":", " ")
# Stands between no two fields: the text is one column.
NONE = "\x1f"
QUOTES = ('"', None, "'")
LOOKED_AT = 1 << 16
MOST_ROWS = 200


@dataclass(frozen=True, slots=True)
class Dialect:
    """How fields and records are told apart.

    Attributes
    ----------
    delimiter : str
        What stands between fields; `NONE` where there is one column.
    quote : str or None
        What fields are quoted by.
    has_header : bool
        Whether the first record holds names.
    names : tuple of str
        Names of the columns, all different.
    has_blanks : bool
        Whether a blank follows delimiters before a quote, which only Python's reader knows.
    """

    delimiter: str
    quote: str | None
    has_header: bool
    names: tuple[str, ...]
    has_blanks: bool = False


def guess_delimiter(text: str, delimiter: str | None = None) -> tuple[str, str | None]:
    """The delimiter and the quote by which the first records have equally many fields.

    Records must agree with the first one, the header. Among equals the order of `DELIMITERS` and
    `QUOTES` decides: a blank may stand in every field and be no delimiter.
    """
    rated = []
    for quote in QUOTES:
        if quote and quote not in text:
            continue
        for candidate in (delimiter,) if delimiter else DELIMITERS:
            rows = read_rows(text, candidate, quote)[:MOST_ROWS]
            is_quoted = quote is None and any(map(_is_in_quotes, rows[0] if rows else []))
            rated.append((_agreement(rows), not is_quoted, candidate, quote))
    share, _, best, quote = max(rated, key=lambda rating: rating[:2])
    if share < 0.5 and delimiter is None:
        return NONE, '"'
    return best, quote


def _is_in_quotes(field: str) -> bool:
    return len(field) > 1 and field[0] == field[-1] == "'"


def _agreement(rows: list[list[str]]) -> float:
    """The share of records with as many fields as the first, 0 if that is one."""
    rows = [row for row in rows if row]
    width = len(rows[0]) if rows else 0
    if width < 2:
        return 0.0
    same = sum(len(row) == width for row in rows)
    # Names of rows are written by some programs, and their column has no name.
    named = sum(len(row) == width + 1 for row in rows[1:])
    return max(same, named + 1 if named == len(rows) - 1 else 0) / len(rows)


def read_rows(text: str, delimiter: str, quote: str | None) -> list[list[str]]:
    """Records by Python's own reader, which forgives quotes in odd places."""
    options = {"quotechar": quote} if quote else {"quoting": csv.QUOTE_NONE}
    lines = io.StringIO(text, newline="")
    with_options = csv.reader(
        lines, delimiter=delimiter, skipinitialspace=delimiter != " ", **options
    )
    old = csv.field_size_limit(1 << 30)
    try:
        return list(with_options)
    finally:
        csv.field_size_limit(old)


def looks_like_data(first: Sequence[str]) -> bool:
    """Whether the first record holds numbers alone, and no row of years or positions."""
    numbers = []
    for field in first:
        try:
            numbers.append(float(field))
        except ValueError:
            return False
    steps = {after - before for before, after in pairwise(numbers)}
    is_years = 1900 <= numbers[0] <= 2100
    return not (steps == {1.0} and (is_years or len(numbers) > 2))


def unlike_names(names: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """Names without blanks around them, none empty and none twice; notes about what changed."""
    stripped = [name.strip() for name in names]
    taken: set[str] = set()
    changed, unnamed = [], 0
    result = []
    for k, name in enumerate(stripped):
        plain = name or f"column_{k + 1}"
        unnamed += not name
        chosen, count = plain, 2
        while chosen in taken or (chosen != plain and chosen in stripped):
            chosen, count = f"{plain}_{count}", count + 1
        if chosen != plain:
            changed.append(f"{plain!r} is also {chosen!r}")
        taken.add(chosen)
        result.append(chosen)
    notes = [f"names of columns occur twice: {', '.join(changed[:5])}"] if changed else []
    if unnamed:
        notes.append(f"columns without a name: {unnamed}; named by their position")
    return tuple(result), notes
