"""What surrounds the rows of a table: titles and names above them, remarks and totals below."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise, takewhile

import polars as pl

from .findings import counted
from .forms import MISSING
from .numbers import MISSING_AMONG_NUMBERS

# Titles and remarks above a table are searched in this many rows.
TOP_ROWS = 20
# What means a missing value in a column of numbers.
MISSING_WORDS = {text.lower() for text in (*MISSING, *MISSING_AMONG_NUMBERS)}
BY_POSITION = "the first row contains values, so columns are named by position"
# At most this many lines below a table may be remarks: marked ones (comments, in brackets, "Source:
# …"), or several words.
MOST_REMARKS = 5
# And this many rows above them show how rows begin.
ABOVE_REMARKS = 10
MARKED = re.compile(r"^\s*(?:(?:#|%|//|\*)\s*\w|\(.*\w.*\)\s*$|[^\W\d_]+:(?:\s|$))")
REMARK = re.compile(rf"{MARKED.pattern}|^\s*[^\W\d_]\S*(?:\s+\S+){{3,}}")
# A number with signs, groups of digits or a decimal comma.
WRITTEN_NUMBER = re.compile(
    r"(?:[$€£¥]\s?)?([+-]?\d{1,3}(?:[.,\s'’]\d{3})*(?:[.,]\d+)?|[+-]?\d+,\d+)\s?[%€$£]?"
)
DATE = re.compile(r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})(?:[T\s]|$)")


def rows_above(rows: Sequence[Sequence[str | None]]) -> int:
    """The number of rows above the names, or above the values if there are no names.

    A title fills its first field alone, and is above rows that fill more than twice as many; above
    two columns, names and numbers have to follow. Headings of several columns, such as merged
    cells, are above names that fill every field, and numbers.
    """
    top = [[value or "" for value in row] for row in rows[:TOP_ROWS]]
    fullest = max(map(n_filled, top), default=0)
    above = next((k for k, row in enumerate(top) if 2 * n_filled(row) >= fullest), 0)
    if fullest == 2:
        above = next((k for k, row in enumerate(top) if n_filled(row) == 2), 0)
    values = [value for row in top[:above] for value in row if value.strip()]
    if not above or any(_number(value) is not None for value in values):
        return 0
    first, others = top[above], [[value or "" for value in row] for row in rows[above + 1 :]]
    has_names = not looks_like_data(first, others)
    is_sure = has_names and n_filled(first) == fullest and have_numbers(others)
    are_titles = not any(n_filled(row[1:]) for row in top[:above])
    return above if is_sure or (are_titles and fullest > 2) else 0


def n_filled(row: Sequence[str | None]) -> int:
    """The number of non-empty fields of a row."""
    return sum(value is not None and value.strip() != "" for value in row)


def looks_like_data(first: Sequence[str], others: Sequence[Sequence[str]] = ()) -> bool:
    """Whether the first row holds values, not names.

    It does if it has numbers alone, or numbers next to texts of which one repeats in its column or
    which are the minority, or if all of its texts repeat, or a date is above dates. Years,
    positions and rising doses are names all the same, and so are numbers next to a text above
    numbers.
    """
    numbers = [number for number in map(_number, first) if number is not None]
    if len(numbers) == len(first):
        return not _are_positions(numbers)
    different = [row for row in others if list(row) != list(first)]
    if _has_date_above_dates(first, different):
        return True
    again = [
        any(len(row) > k and row[k].strip() == field.strip() for row in different)
        for k, field in enumerate(first)
        if field.strip() and _number(field) is None
    ]
    if not numbers:
        return len(first) > 1 and len(again) == len(first) and all(again)
    is_rising = len(numbers) > 2 and all(before < after for before, after in pairwise(numbers))
    if is_rising or _are_years(numbers) or not _fit_numbers(first, different):
        return False
    if any(again):
        return True
    # Frames without names are written with columns 0 and 1.
    counts = numbers in ([0.0, 1.0], [1.0, 2.0])
    is_majority = 2 * len(numbers) >= len(first) and len(different) > 0
    return is_majority and not counts and not _has_name_of_numbers(first, different)


def _number(field: str) -> float | None:
    """The number in a field, as programs or people write it; None if there is none."""
    try:
        number = float(field)
    except ValueError:
        found = WRITTEN_NUMBER.fullmatch(field.strip())
        if found is None:
            return None
        # Of two marks the last is the decimal one; a single one may be either.
        digits = re.sub(r"[\s'’]", "", found[1]).replace(",", ".")
        number = float(digits.replace(".", "", digits.count(".") - 1))
    # A column may be called inf or nan.
    return number if math.isfinite(number) else None


def _has_date_above_dates(first: Sequence[str], others: Sequence[Sequence[str]]) -> bool:
    for k, field in enumerate(first):
        if DATE.match(field.strip()):
            below = [row[k] for row in others if len(row) > k]
            if below and 2 * sum(DATE.match(one.strip()) is not None for one in below) > len(below):
                return True
    return False


def _are_years(numbers: Sequence[float]) -> bool:
    return all(1900 <= number <= 2100 and number % 1 == 0 for number in numbers)


def _are_positions(numbers: Sequence[float]) -> bool:
    """Whether numbers count up by one, from a year or over more than two columns."""
    steps = {after - before for before, after in pairwise(numbers)}
    return steps == {1.0} and (1900 <= numbers[0] <= 2100 or len(numbers) > 2)


def _fit_numbers(first: Sequence[str], others: Sequence[Sequence[str]]) -> bool:
    """Whether most fields below the numbers of the first row are numbers, too."""
    places = [k for k, field in enumerate(first) if _number(field) is not None]
    below = [row[k] for row in others for k in places if len(row) > k]
    return 2 * sum(_number(field) is not None for field in below) >= len(below)


def _has_name_of_numbers(first: Sequence[str], others: Sequence[Sequence[str]]) -> bool:
    """Whether a word of the first row is above numbers alone; ? and none are values."""
    return any(
        _number(field) is None
        and field.strip().lower() not in MISSING_WORDS
        and have_numbers([row[k : k + 1] for row in others])
        for k, field in enumerate(first)
    )


def have_numbers(rows: Sequence[Sequence[str]]) -> bool:
    """Whether some column has only numbers."""
    columns = [[field for field in column if field.strip()] for column in zip(*rows)]
    return any(column and None not in map(_number, column) for column in columns)


def without_footer(frame: pl.DataFrame, short: int | None = None) -> tuple[pl.DataFrame, list[str]]:
    """A table of texts without remarks below it, which fill only the first column.

    A row whose other values are missing is still a row. So a remark is in a column of numbers, has
    fewer fields than there are columns, is below a row without any value, or is marked and would
    leave two or more columns without a value; and the rows above begin differently.

    Parameters
    ----------
    frame : polars.DataFrame
        The rows.
    short : int, optional
        The number of rows at the end with fewer fields than columns. None for a workbook, whose
        rows are equally wide; its empty rows at the end are not rows.
    """
    if frame.width < 2 or frame.schema[frame.columns[0]] != pl.String:
        return frame, []
    most = min(MOST_REMARKS, max(frame.height - 2, 0))
    block = list(takewhile(_may_stand_below, frame.tail(most).cast(pl.String).rows()[::-1]))
    gaps = [not n_filled(row) for row in block]
    first = frame[frame.columns[0]]
    above = first[: frame.height - len(block)].tail(ABOVE_REMARKS).drop_nulls()
    are_numbers_above = len(above) > 0 and all(_number(value) is not None for value in above)
    count = 0
    while count < len(block) and (
        are_numbers_above
        or count < (short or 0)
        or any(gaps[count:])
        or (frame.width > 2 and MARKED.match(block[count][0]))
    ):
        count += 1
    if short is not None and all(gaps[:count]):
        return frame, []
    above = first[: frame.height - count].tail(ABOVE_REMARKS).drop_nulls()
    if not count or above.str.contains(REMARK.pattern).any():
        return frame, []
    note = f"skipped below the table: {counted(count, 'line')}"
    return frame[: frame.height - count], [note]


def _may_stand_below(row: Sequence[str | None]) -> bool:
    """Whether a row has no value, or words in its first field alone."""
    return not n_filled(row) or (not n_filled(row[1:]) and REMARK.match(row[0] or "") is not None)


def by_position(width: int) -> tuple[str, ...]:
    """Names of columns that have none."""
    return tuple(f"column_{k + 1}" for k in range(width))


def distinct_names(names: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """Names without surrounding spaces, none empty and none twice; notes about what changed."""
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
            changed.append(f"{plain!r}, now {chosen!r}")
        taken.add(chosen)
        result.append(chosen)
    notes = [f"repeated column names: {'; '.join(changed[:5])}"] if changed else []
    if unnamed:
        notes.append(f"columns without a name: {unnamed}; named by position")
    return tuple(result), notes


# ---- totals --------------------------------------------------------------------------------------

FEWEST_ROWS = 4
# The names of such a row.
CALLED_TOTAL = re.compile(
    r"(?:(?:grand|sub|overall)[\s-]*)?totals?|sums?|overall|average|mean|"
    r"(?:gesamt|end|zwischen)?summe|gesamt|insgesamt|durchschnitt|total (?:général|general)|"
    r"totale|somme|suma|totaal|summa|totalt|итого|всего|合计|总计|合計|総計",
    re.IGNORECASE,
)
# Sums of decimals are exact except for rounding.
ROUNDING = 1e-6


def totals_row(frame: pl.DataFrame) -> int | None:
    """The last row of a table if it holds the totals of the others; None if it does not.

    It is named so, and all its numbers are sums or means of their columns: one sum, or two means,
    since a single mean may be chance. A name in a column of numbers was read as missing; then it
    has gaps where no other row has one, and only sums, or only means: two of either, next to two
    gaps for means, which often replace missing values, or one sum next to two gaps.

    Parameters
    ----------
    frame : polars.DataFrame
        A table as values.
    """
    if frame.height < FEWEST_ROWS:
        return None
    last = frame.height - 1
    columns = list(frame.iter_columns())
    is_called = any(map(_is_called, columns))
    gaps = sum(series.null_count() == 1 and series[last] is None for series in columns)
    if not is_called and not gaps:
        return None
    filled = [series for series in columns if series[last] is not None]
    numbers = [series for series in filled if series.dtype.is_numeric()]
    sums, means = sum(map(_is_sum, numbers)), sum(map(_is_mean, numbers))
    if is_called:
        return last if sums + means == len(numbers) and (sums or means > 1) else None
    are_sums = sums == len(filled) and (sums > 1 or (sums == 1 and gaps > 1))
    are_means = means == len(filled) and means > 1 and gaps > 1
    return last if are_sums or are_means else None


def _is_called(series: pl.Series) -> bool:
    if series.dtype != pl.String or series[-1] is None:
        return False
    name = series[-1].strip().rstrip(":")
    return CALLED_TOTAL.fullmatch(name) is not None and int((series == series[-1]).sum()) == 1


def _is_sum(series: pl.Series) -> bool:
    """Whether the last number is the sum of those above, and exceeds all of them."""
    above = _above(series)
    if above is None:
        return False
    value, most = float(series[-1]), float(above.abs().max())  # type: ignore[arg-type]
    size = float(above.abs().sum())
    return abs(value - float(above.sum())) <= ROUNDING * size and abs(value) > most


def _is_mean(series: pl.Series) -> bool:
    above = _above(series)
    if above is None:
        return False
    size = float(above.abs().sum()) / len(above)
    return abs(float(series[-1]) - float(above.sum()) / len(above)) <= ROUNDING * size


def _above(series: pl.Series) -> pl.Series | None:
    """The numbers above the last one; None if there is none, or they are few or all the same."""
    if not series.dtype.is_numeric() or series[-1] is None:
        return None
    above = series[:-1].drop_nulls().cast(pl.Float64)
    return above if len(above) >= FEWEST_ROWS - 1 and above.n_unique() > 1 else None
