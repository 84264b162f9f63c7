"""Texts to values: in which form a column writes its numbers, dates and missing values.

A form is found once from all texts of a column, and read again by `read` when new rows come.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import polars as pl

from .dates import FORMATS, find_dates, read_dates
from .findings import counted, listed
from .measures import (
    HOURS,
    MULTIPLES,
    are_hours,
    are_times,
    as_seconds,
    have_multiples,
    unit_of,
    units_of,
    without_multiples,
    without_unit,
)

# Texts that mean a missing value everywhere.
MISSING = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "<NA>", "0000-00-00")
# Texts that mean one beside numbers and dates; as categories they may well mean something.
MISSING_AMONG_NUMBERS = (
    *(
        "-",
        "--",
        ".",
        "..",
        "...",
        "none",
        "na",
        "n.a.",
        "nil",
        "missing",
        "unknown",
        "not available",
    ),
    *("#div/0!", "#value!", "#ref!", "#name?", "#num!"),
)
# So many texts show whether it is worth while to look at all.
LOOKED_AT = 1000
# A column is one of numbers if so large a share of its texts is.
SHARE_OF_NUMBERS = 0.95

SIGNS = r"(?:[$€£¥₹₩₽%‰]|USD|EUR|GBP|CHF|JPY|CNY)"
# What a measurement was not below or above, or about: <5, ~5.
LIMIT = r"^(?:[<>≤≥]=?|[~≈])\s*"
# Where more than so many are such limits, they are names of ranges.
MOST_LIMITS = 0.5
# Marks of footnotes behind a number.
MARKS = r"(\d)\s*[*†‡]+$"
# Digits of other scripts: Arabic, Persian, Devanagari and wide ones.
DIGITS = {chr(zero + k): str(k) for zero in (0x660, 0x6F0, 0x966, 0xFF10) for k in range(10)}
OTHER_DIGITS = "[٠-٩۰-۹०-९０-９]"
GROUPS_BY_BLANK = r"^\D*\d{1,3}(?:[\s'’]\d{3})+(?:\D|$)"
GROUPS_BY_POINT = r"^[+-]?[1-9]\d{0,2}(?:\.\d{3})+$"
EXPONENT = r"(?:[eE][+-]?\d+)?"
# In India, groups above the thousands have two digits.
GROUPS = r"\d{1,3}(?:,\d{3})+|\d{1,2}(?:,\d\d)+,\d{3}"
DECIMAL_POINT = rf"^[+-]?(?:(?:{GROUPS}|\d+)(?:\.\d*)?|\.\d+){EXPONENT}$"
DECIMAL_COMMA = rf"^[+-]?(?:(?:\d{{1,3}}(?:\.\d{{3}})+|\d+)(?:,\d*)?|,\d+){EXPONENT}$"

# Digits that are no quantity: 00123, or too many of them for a number.
CODES = r"^0\d+$|^\d{19,}$"
# Whole numbers below it are exact as floats.
LARGEST_EXACT = 2.0**53

# Dates where texts do not tell how they are written.
AS_PROGRAMS_WRITE = ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S%.f")

KINDS = ("number", "boolean", "date", "string")


@dataclass(frozen=True, slots=True)
class Form:
    """How the texts of a column are read.

    Attributes
    ----------
    kind : {"number", "boolean", "date", "string"}
        What they mean.
    decimal : {"", ".", ",", ":"}
        For numbers with signs, blanks or groups of digits in them, the decimal point or comma;
        empty for numbers as programs write them; a colon for times such as 1:02:30.
    formats : tuple of str
        For dates, the formats to try in turn.
    unit : str, default=""
        What stands beside all numbers, such as kg; `K M B` for multiples such as 1.5K, and `h` for
        times whose two parts are hours and minutes.
    """

    kind: Literal["number", "boolean", "date", "string"]
    decimal: str = ""
    formats: tuple[str, ...] = ()
    unit: str = ""

    def __post_init__(self) -> None:
        # A form may come from a file, and polars takes formats on trust.
        is_known = self.kind in KINDS and self.decimal in ("", ".", ",", ":")
        is_known = is_known and isinstance(self.unit, str)
        if not is_known or not set(self.formats) <= set(FORMATS):
            raise ValueError(f"unknown form of a column: {self!r}.")


@dataclass(frozen=True, slots=True)
class Recognised:
    """A column as values, its form, and what was decided on the way, in words."""

    values: pl.Series
    form: Form
    notes: tuple[str, ...] = ()


def recognise(texts: pl.Series, decimal: str | None = None) -> Recognised:
    """Find the form of a column of texts from all of them.

    Parameters
    ----------
    texts : polars.Series of String
        The texts; None where the table has none.
    decimal : {".", ","} or None, default=None
        The decimal mark of numbers; found from the texts if None.

    Returns
    -------
    Recognised
        Integers, floats, booleans, dates or the texts themselves, None for missing values.
    """
    clean, notes = _without_missing(texts)
    attempts = (
        *(_plain_numbers, _booleans, _dates, _decorated_numbers, _times, _multiples),
        *(_numbers_of_a_unit, _strings),
    )
    for attempt in attempts:
        known = attempt(clean, decimal)
        if known is not None:
            return Recognised(known.values, known.form, (*notes, *known.notes))
    raise AssertionError("every column can be read as strings")


def regrouped(texts: pl.Series) -> Recognised | None:
    """Numbers such as 1.000 in a table that elsewhere has decimal commas: the points group digits.

    None if a point may be a decimal one.
    """
    clean, notes = _without_missing(texts)
    pointed = clean.filter(clean.str.contains(".", literal=True))
    if not len(pointed) or not pointed.str.contains(GROUPS_BY_POINT).all():
        return None
    notes.append(f"other columns have decimal commas, so the point in {pointed[0]!r} groups digits")
    return _as_numbers(clean, _undecorated(clean, ","), Form("number", ","), notes)


def read(texts: pl.Series, form: Form) -> pl.Series:
    """New texts by a known form; what does not fit it is missing."""
    clean = _blanks_stripped(texts)
    if form.kind == "number":
        return _finite(_numbers(clean, form))
    if form.kind == "date":
        return read_dates(clean, form.formats)
    if form.kind == "boolean":
        return _truths(clean)
    return _set_missing(clean, clean.is_in(MISSING))


def form_by_type(dtype: str, texts: pl.Series) -> Form:
    """How texts are read that stand for values of a type; the type decides, not the texts."""
    if dtype in ("String", "Boolean"):
        return Form("string" if dtype == "String" else "boolean")
    found = recognise(texts).form
    if dtype in ("Int64", "Float64"):
        return found if found.kind == "number" else Form("number")
    return found if found.kind == "date" else Form("date", formats=AS_PROGRAMS_WRITE)


# ---- missing values ------------------------------------------------------------------------------


def _blanks_stripped(texts: pl.Series) -> pl.Series:
    return texts.str.strip_chars()


def _set_missing(texts: pl.Series, where: pl.Series) -> pl.Series:
    return texts.set(where.fill_null(False), None)


def _without_missing(texts: pl.Series) -> tuple[pl.Series, list[str]]:
    """The texts without those that mean a missing value, and a note about the unusual ones."""
    clean = _blanks_stripped(texts)
    where = clean.is_in(MISSING).fill_null(False)
    if not where.any():
        return clean, []
    tokens = [token for token in clean.filter(where).unique().sort().to_list() if token]
    notes = [f"{listed(tokens)} read as missing"] if tokens else []
    return clean.set(where, None), notes


# ---- numbers -------------------------------------------------------------------------------------


def _floats(texts: pl.Series) -> pl.Series:
    return texts.cast(pl.Float64, strict=False)


def _numbers(texts: pl.Series, form: Form) -> pl.Series:
    if form.decimal == ":":
        return as_seconds(texts, form.unit)
    if form.unit == MULTIPLES:
        return _multiplied(texts, form.decimal)
    bare = without_unit(texts, form.unit) if form.unit else texts
    return _undecorated(bare, form.decimal) if form.decimal else _floats(bare)


def _finite(numbers: pl.Series) -> pl.Series:
    """Numbers with None for those that are not finite."""
    return numbers.set(~numbers.is_finite().fill_null(True), None)


def _plain_numbers(texts: pl.Series, decimal: str | None = None) -> Recognised | None:
    """Numbers as programs write them, all of them."""
    if texts.null_count() == len(texts):
        return None
    if decimal == "," and texts.str.contains(".", literal=True).any():
        # The points group digits.
        return None
    numbers = _floats(texts)
    if numbers.null_count() > texts.null_count() or _are_codes(texts):
        return None
    return _as_numbers(texts, numbers, Form("number", decimal or ""), [])


def _are_codes(texts: pl.Series) -> bool:
    """Whether all are digits, and some of them no quantity."""
    return bool(texts.str.contains(CODES).any()) and bool(texts.str.contains(r"^\d+$").all())


def _as_numbers(texts: pl.Series, numbers: pl.Series, form: Form, notes: list[str]) -> Recognised:
    """Integers where all are; a note where some are infinite."""
    finite = _finite(numbers)
    lost = finite.null_count() - numbers.null_count()
    if lost:
        notes = [*notes, f"{counted(lost, 'infinite value')} read as missing"]
    integers = texts.cast(pl.Int64, strict=False)
    if integers.null_count() > finite.null_count():
        is_whole = (finite.round(0) == finite) & (finite.abs() < LARGEST_EXACT)
        if not is_whole.all():
            return Recognised(finite, form, tuple(notes))
        integers = finite.cast(pl.Int64)
    return Recognised(integers, form, tuple(notes))


def _undecorated(texts: pl.Series, decimal: str) -> pl.Series:
    """Numbers without signs, blanks and groups of digits; None for texts that are none."""
    pattern = DECIMAL_COMMA if decimal == "," else DECIMAL_POINT
    group = "." if decimal == "," else ","
    bare = _bare(texts)
    fits = bare.str.contains(pattern).fill_null(False)
    bare = _set_missing(bare, ~fits).str.replace_all(group, "", literal=True)
    return _floats(bare.str.replace(decimal, ".", literal=True))


def _bare(texts: pl.Series) -> pl.Series:
    """Texts without limits, currency and percent signs, and blanks between groups of digits."""
    bare = texts.str.replace_all("−", "-", literal=True).str.replace(r"^\((.*)\)$", "-$1")
    bare = bare.str.replace(LIMIT, "").str.replace(MARKS, "$1")
    # Programs of accountants write the minus behind the number.
    bare = bare.str.replace(r"^(\d[\d.,\s]*)-$", "-$1")
    if bare.str.contains(OTHER_DIGITS).any():
        bare = bare.str.replace_many(list(DIGITS), list(DIGITS.values()))
    name = pl.col(bare.name)
    frame = bare.to_frame().select(
        pl.when(name.str.contains(GROUPS_BY_BLANK))
        .then(name.str.replace_all(r"(\d)[\s'’]", "$1"))
        .otherwise(name)
    )
    bare = frame.to_series().str.replace(rf"^([+-]?)\s*{SIGNS}\s*([+-]?)", "$1$2")
    return bare.str.replace(rf"\s*{SIGNS}$", "")


def _decorated_numbers(texts: pl.Series, decimal: str | None = None) -> Recognised | None:
    """Numbers as people write them: 1,234.50, 1.234,5, 12 %, $3; a few others may be among them."""
    present = texts.drop_nulls()
    few = present.gather_every(max(1, len(present) // LOOKED_AT))
    few = few.filter(~few.str.to_lowercase().is_in(MISSING_AMONG_NUMBERS))
    marks = decimal or ".,"
    if max(_share_of_numbers(few, mark) for mark in marks) < 0.5 or _are_codes(texts):
        return None
    if int(present.str.contains(LIMIT).sum()) > MOST_LIMITS * len(present):
        return None
    words = present.value_counts(name="times")
    distinct, times = words.to_series(0), words["times"]
    known = distinct.str.to_lowercase().is_in(MISSING_AMONG_NUMBERS)
    candidates = [(_undecorated(distinct, mark), mark) for mark in marks]
    numbers, decimal = min(candidates, key=lambda pair: pair[0].null_count())
    odd = numbers.is_null() & ~known
    rows, read_rows = (int(times.filter(where).sum()) for where in (~known, numbers.is_not_null()))
    if read_rows < 1 or read_rows < SHARE_OF_NUMBERS * rows:
        return None
    notes = _notes_of_numbers(distinct, numbers, known, odd, decimal, times)
    return _as_numbers(texts, _undecorated(texts, decimal), Form("number", decimal), notes)


def _share_of_numbers(texts: pl.Series, decimal: str) -> float:
    return 1 - _undecorated(texts, decimal).null_count() / max(len(texts), 1)


def _notes_of_numbers(
    distinct: pl.Series,
    numbers: pl.Series,
    known: pl.Series,
    odd: pl.Series,
    decimal: str,
    times: pl.Series,
) -> list[str]:
    """What was decided when a column of texts became one of numbers."""
    notes = []
    if known.any():
        notes.append(f"{listed(distinct.filter(known).sort())} read as missing")
    if odd.any():
        shown = distinct.filter(odd).sort()
        notes.append(
            f"{counted(int(times.filter(odd).sum()), 'text')} among numbers ({listed(shown, 3)}) "
            "read as missing"
        )
    plain, is_limit = _floats(distinct), distinct.str.contains(LIMIT)
    limits = distinct.filter(numbers.is_not_null() & is_limit).sort()
    if len(limits):
        rows = counted(int(times.filter(is_limit).sum()), "limit")
        notes.append(f"{rows} ({listed(limits, 3)}) read as the number itself")
    dressed = distinct.filter(numbers.is_not_null() & plain.is_null() & ~is_limit)
    if len(dressed):
        how = "a decimal comma" if decimal == "," else "a decimal point"
        first = dressed.sort()[0]
        value = numbers.filter(distinct == first)[0]
        notes.append(f"formatted numbers, read with {how}: {first!r} is {value:g}")
    return notes


def _times(texts: pl.Series, decimal: str | None = None) -> Recognised | None:
    """Hours, minutes and seconds with colons between them."""
    if not are_times(texts):
        return None
    unit = HOURS if are_hours(texts) else ""
    seconds = as_seconds(texts, unit)
    unread = _unread(texts, seconds)
    if unread > (1 - SHARE_OF_NUMBERS) * len(texts):
        return None
    first = int((seconds.is_not_null()).arg_max() or 0)
    notes = [f"times read as numbers: {texts[first]!r} is {seconds[first]:g}"]
    if unread:
        notes.append(f"{counted(unread, 'text')} among times read as missing")
    return _as_numbers(texts, seconds, Form("number", ":", unit=unit), notes)


def _multiplied(texts: pl.Series, decimal: str) -> pl.Series:
    numbers, factors = without_multiples(texts)
    return (_undecorated(numbers, decimal) if decimal else _floats(numbers)) * factors


def _multiples(texts: pl.Series, decimal: str | None = None) -> Recognised | None:
    """Numbers of which some are multiples of a thousand, a million or a billion: 1.5K."""
    if not have_multiples(texts):
        return None
    numbers, factors = without_multiples(texts)
    found = _decorated_numbers(numbers, decimal)
    if found is None:
        return None
    values = _multiplied(texts, found.form.decimal)
    k = int((factors != 1).arg_max() or 0)
    notes = (*found.notes, f"suffixes read as multiples: {texts[k]!r} is {values[k]:,g}")
    form = replace(found.form, unit=MULTIPLES)
    return replace(_as_numbers(texts, values, form, []), notes=notes)


def _numbers_of_a_unit(texts: pl.Series, decimal: str | None = None) -> Recognised | None:
    """Numbers that all have the same unit beside them: 5 kg."""
    unit = unit_of(texts)
    if unit is None:
        return None
    found = _decorated_numbers(without_unit(texts, unit), decimal)
    if found is None:
        return None
    form = replace(found.form, unit=unit)
    return Recognised(found.values, form, (*found.notes, f"numbers with the unit {unit!r}"))


def _unread(texts: pl.Series, values: pl.Series) -> int:
    return values.null_count() - texts.null_count()


# ---- booleans, dates, strings --------------------------------------------------------------------


def _truths(texts: pl.Series) -> pl.Series:
    """true and false in any case."""
    low = texts.str.to_lowercase()
    return _set_missing(low, ~low.is_in(("true", "false"))) == "true"


def _booleans(texts: pl.Series, decimal: str | None = None) -> Recognised | None:
    sample = texts.drop_nulls().head(1).str.to_lowercase().is_in(("true", "false"))
    if not sample.any():
        return None
    truths = _truths(texts)
    if truths.null_count() > texts.null_count():
        return None
    return Recognised(truths, Form("boolean"))


def _dates(texts: pl.Series, decimal: str | None = None) -> Recognised | None:
    found = find_dates(texts)
    if found is None:
        return None
    return Recognised(found.values, Form("date", formats=found.formats), found.notes)


def _strings(texts: pl.Series, decimal: str | None = None) -> Recognised:
    present = texts.drop_nulls()
    numbers = len(present) - _floats(present).null_count()
    notes: tuple[str, ...] = ()
    if numbers and numbers < len(present):
        notes = (f"{numbers:,} of {len(present):,} values are numbers; the column is read as text",)
    elif units := units_of(texts):
        notes = (f"numbers with several units ({listed(units)}) stay text; write all in one unit",)
    return Recognised(texts, Form("string"), notes)
