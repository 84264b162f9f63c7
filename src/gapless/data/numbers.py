"""Texts to numbers: as programs write them, and as people do.

1,234.50 and 1.234,5, 12 % and $3, (5) and −3, <5, 5 kg and R$ 3,50, 1.5K, 1:02:30.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import polars as pl

from .findings import counted, listed

# Texts that mean a missing value among numbers and dates; as categories they may mean something.
MISSING_AMONG_NUMBERS = (
    *("-", "--", ".", "..", "...", "none", "na", "n.a.", "nil"),
    *("missing", "unknown", "not available"),
    *("#div/0!", "#value!", "#ref!", "#name?", "#num!"),
)
# Texts of a column that show what it may be, before all of them are read.
SAMPLE_TEXTS = 1000
# A column has numbers, a unit or times if at least this share of its texts has; others are missing.
SHARE_OF_NUMBERS = 0.95
# Digits that are not a quantity: 00123, or more of them than an Int64 holds.
CODES = r"^0\d+$|^\d{19,}$"
# Smaller integers are exact as floats.
LARGEST_EXACT = 2.0**53

SIGNS = r"(?:[$€£¥₹₩₽%‰]|USD|EUR|GBP|CHF|JPY|CNY)"
# A limit or approximation of a measurement: <5, ~5.
LIMIT = r"^(?:[<>≤≥]=?|[~≈])\s*"
# If more than this share are such limits, they are names of ranges.
MOST_LIMITS = 0.5
FOOTNOTE = r"(\d)\s*[*†‡]+$"
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

# A unit follows the number. Only a currency sign may precede it, since letters before a number make
# it a code: A12.
NUMBER = r"[+-]?[\d.,]*\d(?:[\s'’]\d{3})*(?:[.,]\d+)?"
UNIT_AFTER = rf"^({NUMBER})\s*([\p{{L}}°µ'\"][\p{{L}}°µ²³/'\"]{{0,11}})$"
UNIT_BEFORE = rf"^([\p{{L}}]{{0,3}}\p{{Sc}})\s*({NUMBER})$"
# With more units than these, numbers are codes: 12A, 12B.
MOST_UNITS = 5
# The unit of numbers such as 950, 1.5K and 2M, and the meaning of the suffixes.
MULTIPLES = "K M B"
MULTIPLE = rf"(?i)^(\p{{Sc}}?{NUMBER})\s*(k|mn?|mio|bn?)$"
FACTORS = {"k": 1e3, "m": 1e6, "mn": 1e6, "mio": 1e6, "b": 1e9, "bn": 1e9}

TIME = r"^[+-]?\d+:[0-5]\d(?::[0-5]\d(?:[.,]\d+)?)?$"
# The same with AM or PM.
TIME_OF_TWELVE_HOURS = r"(?i)^(?:0?\d|1[0-2])(?::[0-5]\d){1,2}\s*[ap]\.?\s?m\.?$"
# The unit of times whose two parts are hours and minutes, not minutes and seconds.
HOURS = "h"


@dataclass(frozen=True, slots=True)
class Numbers:
    """A column of numbers, its notation, and notes.

    Attributes
    ----------
    values : polars.Series
        Int64 if all are integers, otherwise Float64; None for missing values.
    decimal, unit : str
        As in `Form`.
    notes : tuple of str
        What was decided.
    """

    values: pl.Series
    decimal: str = ""
    unit: str = ""
    notes: tuple[str, ...] = ()


def read_numbers(texts: pl.Series, decimal: str, unit: str) -> pl.Series:
    """New texts by the decimal mark and the unit of a column; what does not fit is missing."""
    if decimal == ":":
        return _finite(_seconds(texts, unit))
    if unit == MULTIPLES:
        return _finite(_multiplied(texts, decimal))
    bare = _without_unit(texts, unit) if unit else texts
    return _finite(_undecorated(bare, decimal) if decimal else as_floats(bare))


def as_floats(texts: pl.Series) -> pl.Series:
    """Numbers as programs write them; None for all other texts."""
    return texts.cast(pl.Float64, strict=False)


def _finite(numbers: pl.Series) -> pl.Series:
    """Numbers with None for those that are not finite."""
    return numbers.set(~numbers.is_finite().fill_null(True), None)


def _as_numbers(
    texts: pl.Series, numbers: pl.Series, decimal: str, unit: str = "", notes: tuple[str, ...] = ()
) -> Numbers:
    """Integers if all are; a note if some are infinite."""
    finite = _finite(numbers)
    lost = finite.null_count() - numbers.null_count()
    if lost:
        notes = (*notes, f"{counted(lost, 'infinite value')} read as missing")
    integers = texts.cast(pl.Int64, strict=False)
    if integers.null_count() > finite.null_count():
        is_whole = (finite.round(0) == finite) & (finite.abs() < LARGEST_EXACT)
        integers = finite.cast(pl.Int64) if is_whole.all() else finite
    return Numbers(integers, decimal, unit, notes)


def sample_of(texts: pl.Series) -> pl.Series:
    """Some texts at equal distances, at most twice `SAMPLE_TEXTS`; missing ones are left out."""
    present = texts.drop_nulls()
    return present.gather_every(max(1, len(present) // SAMPLE_TEXTS))


# ---- as programs write them ----------------------------------------------------------------------


def plain_numbers(texts: pl.Series, decimal: str | None = None) -> Numbers | None:
    """Numbers as programs write them; None if some text is not such a number."""
    if texts.null_count() == len(texts):
        return None
    if decimal == "," and texts.str.contains(".", literal=True).any():
        # The points group digits.
        return None
    numbers = as_floats(texts)
    if numbers.null_count() > texts.null_count() or _are_codes(texts):
        return None
    return _as_numbers(texts, numbers, decimal or "")


def _are_codes(texts: pl.Series) -> bool:
    """Whether all are digits, and some of them not a quantity."""
    return bool(texts.str.contains(CODES).any()) and bool(texts.str.contains(r"^\d+$").all())


# Every call of polars costs far more than a few hundred texts: a table of ten thousand columns is
# read in a few calls for all of them. Fewer than MANY are read singly.
MANY, AT_ONCE = 50, 100


def columns_of_plain_numbers(texts: pl.DataFrame) -> pl.DataFrame:
    """The columns of only finite plain numbers and empty fields, many read at once.

    Parameters
    ----------
    texts : polars.DataFrame
        Columns of String.

    Returns
    -------
    polars.DataFrame
        Without columns that need a closer look; without any for tables of few columns.
    """
    if texts.width < MANY:
        return pl.DataFrame()
    parts = [texts[:, first : first + AT_ONCE] for first in range(0, texts.width, AT_ONCE)]
    return pl.DataFrame([series for part in parts for series in _plain_at_once(part)])


def _plain_at_once(texts: pl.DataFrame) -> list[pl.Series]:
    """The columns with only numbers, integers as such."""
    stripped = pl.all().str.strip_chars()
    clean = texts.select(pl.when(stripped != "").then(stripped).name.keep())
    floats = clean.select(pl.all().cast(pl.Float64, strict=False))
    integers = clean.select(pl.all().cast(pl.Int64, strict=False))
    whole = (pl.all().round(0) == pl.all()) & (pl.all().abs() < LARGEST_EXACT)
    columns = []
    for name, n_texts, n_floats, n_integers, is_finite, has_codes, is_whole in zip(
        texts.columns,
        *(frame.select(pl.all().count()).row(0) for frame in (clean, floats, integers)),
        floats.select(pl.all().is_finite().all()).row(0),
        clean.select(pl.all().str.contains(CODES).any()).row(0),
        floats.select(whole.all()).row(0),
    ):
        if n_texts == n_floats > 0 and is_finite and not has_codes:
            exact = integers[name] if n_integers == n_floats else None
            if exact is None and is_whole:
                exact = floats[name].cast(pl.Int64)
            columns.append(floats[name] if exact is None else exact)
    return columns


# ---- as people write them ------------------------------------------------------------------------


def written_numbers(texts: pl.Series, decimal: str | None = None) -> Numbers | None:
    """Numbers as people write them; None if they are something else."""
    for attempt in (_decorated_numbers, _times, _multiples, _numbers_of_a_unit):
        found = attempt(texts, decimal)
        if found is not None:
            return found
    return None


def grouped_by_points(texts: pl.Series) -> Numbers | None:
    """Numbers such as 1.000 in a table that elsewhere has decimal commas: the points group digits.

    None if a point may be a decimal one.
    """
    pointed = texts.filter(texts.str.contains(".", literal=True))
    if not len(pointed) or not pointed.str.contains(GROUPS_BY_POINT).all():
        return None
    note = f"other columns have decimal commas, so the point in {pointed[0]!r} groups digits"
    return _as_numbers(texts, _undecorated(texts, ","), ",", notes=(note,))


def _undecorated(texts: pl.Series, decimal: str) -> pl.Series:
    """Numbers without signs, spaces and digit groups; None for other texts."""
    quick = _with_mark_alone(texts, decimal)
    is_left = quick.is_null() & texts.is_not_null()
    if not is_left.any():
        return quick
    pattern = DECIMAL_COMMA if decimal == "," else DECIMAL_POINT
    group = "." if decimal == "," else ","
    bare = _bare(texts.set(~is_left, None))
    fits = bare.str.contains(pattern).fill_null(False)
    bare = bare.set(~fits, None).str.replace_all(group, "", literal=True)
    return quick.zip_with(~is_left, as_floats(bare.str.replace(decimal, ".", literal=True)))


def _with_mark_alone(texts: pl.Series, decimal: str) -> pl.Series:
    """Numbers that are unusual only in their decimal mark, which need no further inspection."""
    if decimal == ",":
        texts = texts.set(texts.str.contains(".", literal=True).fill_null(False), None)
        texts = texts.str.replace(",", ".", literal=True)
    return _finite(as_floats(texts))


def _bare(texts: pl.Series) -> pl.Series:
    """Texts without limits, currency and percent signs, and spaces between digit groups."""
    bare = texts.str.replace_all("−", "-", literal=True).str.replace(r"^\((.*)\)$", "-$1")
    bare = bare.str.replace(LIMIT, "").str.replace(FOOTNOTE, "$1")
    # Accounting programs write the minus after the number.
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


def _decorated_numbers(texts: pl.Series, decimal: str | None = None) -> Numbers | None:
    """Numbers such as 1,234.50, 1.234,5, 12 %, $3; a few other texts may be among them."""
    present, few = texts.drop_nulls(), sample_of(texts)
    few = few.filter(~few.str.to_lowercase().is_in(MISSING_AMONG_NUMBERS))
    marks = decimal or ".,"
    if max(_share_of_numbers(few, mark) for mark in marks) < 0.5 or _are_codes(texts):
        return None
    if int(present.str.contains(LIMIT).sum()) > MOST_LIMITS * len(present):
        return None
    distinct, times = present.value_counts(name="times").get_columns()
    known = distinct.str.to_lowercase().is_in(MISSING_AMONG_NUMBERS)
    candidates = [(_undecorated(distinct, mark), mark) for mark in marks]
    numbers, decimal = min(candidates, key=lambda pair: pair[0].null_count())
    rows, n_read = (int(times.filter(where).sum()) for where in (~known, numbers.is_not_null()))
    if n_read < 1 or n_read < SHARE_OF_NUMBERS * rows:
        return None
    notes = _notes_of_decorated(distinct, times, numbers, known, decimal)
    return _as_numbers(texts, _undecorated(texts, decimal), decimal, notes=notes)


def _share_of_numbers(texts: pl.Series, decimal: str) -> float:
    return 1 - _undecorated(texts, decimal).null_count() / max(len(texts), 1)


def _notes_of_decorated(
    distinct: pl.Series, times: pl.Series, numbers: pl.Series, known: pl.Series, decimal: str
) -> tuple[str, ...]:
    """What was decided when distinct texts, each with its count, became numbers."""
    notes = []
    if known.any():
        notes.append(f"{listed(distinct.filter(known).sort())} read as missing")
    odd = numbers.is_null() & ~known
    if odd.any():
        shown = distinct.filter(odd).sort()
        notes.append(
            f"{counted(int(times.filter(odd).sum()), 'text')} among numbers ({listed(shown, 3)}) "
            "read as missing"
        )
    is_limit = distinct.str.contains(LIMIT)
    limits = distinct.filter(numbers.is_not_null() & is_limit).sort()
    if len(limits):
        rows = counted(int(times.filter(is_limit).sum()), "limit")
        notes.append(f"{rows} ({listed(limits, 3)}) read as the number itself")
    is_plain = as_floats(distinct).is_not_null()
    decorated = distinct.filter(numbers.is_not_null() & ~is_plain & ~is_limit)
    if len(decorated):
        how = "a decimal comma" if decimal == "," else "a decimal point"
        first = decorated.sort()[0]
        value = numbers.filter(distinct == first)[0]
        notes.append(f"formatted numbers, read with {how}: {first!r} is {value:g}")
    return tuple(notes)


# ---- with a unit ---------------------------------------------------------------------------------


def _numbers_of_a_unit(texts: pl.Series, decimal: str | None = None) -> Numbers | None:
    """Numbers that all have the same unit: 5 kg."""
    unit = _unit(texts)
    if unit is None:
        return None
    found = _decorated_numbers(_without_unit(texts, unit), decimal)
    if found is None:
        return None
    return replace(found, unit=unit, notes=(*found.notes, f"numbers with the unit {unit!r}"))


def _unit(texts: pl.Series) -> str | None:
    """The unit that nearly all texts have with their numbers; None if there is none."""
    few = sample_of(texts)
    for pattern, group in ((UNIT_AFTER, 2), (UNIT_BEFORE, 1)):
        counts = few.str.extract(pattern, group).drop_nulls().value_counts(sort=True)
        if counts.height and counts["count"][0] >= SHARE_OF_NUMBERS * len(few):
            return str(counts.to_series(0)[0])
    return None


def several_units(texts: pl.Series) -> list[str]:
    """The units of a column in which nearly all texts have one; none if they are many."""
    few = sample_of(texts)
    units = few.str.extract(UNIT_AFTER, 2).drop_nulls()
    if len(units) < SHARE_OF_NUMBERS * len(few) or few.n_unique() < 2 * MOST_UNITS:
        return []
    distinct = units.value_counts(sort=True).to_series(0).to_list()
    return distinct if 1 < len(distinct) <= MOST_UNITS else []


def _without_unit(texts: pl.Series, unit: str) -> pl.Series:
    """The numbers alone; a number without a unit is assumed to have the same one."""
    return texts.str.replace(rf"^{re.escape(unit)}\s*|\s*{re.escape(unit)}$", "")


def _multiples(texts: pl.Series, decimal: str | None = None) -> Numbers | None:
    """Numbers of which some are multiples of a thousand, a million or a billion: 1.5K."""
    if not _have_multiples(texts):
        return None
    numbers, factors = _without_multiples(texts)
    found = _decorated_numbers(numbers, decimal)
    if found is None:
        return None
    values = _multiplied(texts, found.decimal)
    k = int((factors != 1).arg_max() or 0)
    notes = (*found.notes, f"suffixes read as multiples: {texts[k]!r} is {values[k]:,g}")
    return replace(_as_numbers(texts, values, found.decimal, MULTIPLES), notes=notes)


def _have_multiples(texts: pl.Series) -> bool:
    """Whether nearly all texts are numbers, some of them multiples of a thousand: 950, 1.5K, 2M.

    One letter after all numbers is a unit: 300 K, 5 m.
    """
    few = sample_of(texts)
    parts = few.str.extract_groups(MULTIPLE).struct.unnest()
    letters = set(parts.to_series(1).drop_nulls().unique())
    plain = few.str.contains(rf"^\p{{Sc}}?{NUMBER}$") & ~few.str.contains(MULTIPLE)
    # Next to plain numbers, a lower-case m alone may be a metre.
    kinds = len({letter.lower() for letter in letters}) + bool(plain.any())
    is_sure = kinds > 1 and letters != {"m"}
    known = int(plain.sum()) + len(parts.to_series(0).drop_nulls())
    return bool(letters) and is_sure and known >= SHARE_OF_NUMBERS * len(few)


def _without_multiples(texts: pl.Series) -> tuple[pl.Series, pl.Series]:
    """The numbers alone, and the factor of each."""
    parts = texts.str.extract_groups(MULTIPLE).struct.unnest()
    letters = parts.to_series(1).str.to_lowercase()
    factors = letters.replace_strict(FACTORS, default=1.0, return_dtype=pl.Float64)
    # One column has one set of digit groups and decimals, whatever the suffix.
    return parts.to_series(0).fill_null(texts).alias(texts.name), factors.fill_null(1.0)


def _multiplied(texts: pl.Series, decimal: str) -> pl.Series:
    numbers, factors = _without_multiples(texts)
    return (_undecorated(numbers, decimal) if decimal else as_floats(numbers)) * factors


# ---- hours, minutes and seconds ------------------------------------------------------------------


def _times(texts: pl.Series, decimal: str | None = None) -> Numbers | None:
    """Times such as 1:02:30, 12:30 and 2:30 PM, in seconds."""
    few = sample_of(texts)
    fits = few.str.contains(TIME) | few.str.contains(TIME_OF_TWELVE_HOURS)
    if not len(few) or int(fits.sum()) < SHARE_OF_NUMBERS * len(few):
        return None
    unit = HOURS if _are_hours(texts) else ""
    seconds = _seconds(texts, unit)
    unread = seconds.null_count() - texts.null_count()
    if unread > (1 - SHARE_OF_NUMBERS) * len(texts):
        return None
    first = int((seconds.is_not_null()).arg_max() or 0)
    notes = [f"times read as numbers: {texts[first]!r} is {seconds[first]:g}"]
    if unread:
        notes.append(f"{counted(unread, 'text')} among times read as missing")
    return _as_numbers(texts, seconds, ":", unit, tuple(notes))


def _are_hours(texts: pl.Series) -> bool:
    """Whether the first of two parts is an hour: one column has one meaning.

    It is with AM or PM, and if two parts are among three, or two digits with zeros, unless one of
    them is above 23 and must be a minute.
    """
    present = texts.drop_nulls()
    if present.str.contains(TIME_OF_TWELVE_HOURS).any():
        return True
    fits = present.filter(present.str.contains(TIME))
    two = fits.filter(fits.str.count_matches(":") == 1)
    first = two.str.extract(r"^[+-]?(\d+)")
    if not len(two) or not (first.cast(pl.Float64) <= 23).all():
        return False
    have_zeros = (first.str.len_chars() == 2).all() and first.str.starts_with("0").any()
    return len(two) < len(fits) or bool(have_zeros)


def _seconds(texts: pl.Series, unit: str = "") -> pl.Series:
    """Times as seconds; two parts are minutes and seconds, or hours and minutes by their unit."""
    of_twelve = texts.str.contains(TIME_OF_TWELVE_HOURS).fill_null(False)
    fits = texts.set(~(texts.str.contains(TIME).fill_null(False) | of_twelve), None)
    digits = fits.str.replace_all(r"[^\d:.,]", "").str.strip_chars_end(".").str.replace(",", ".")
    first, second, third = (
        part.cast(pl.Float64) for part in digits.str.split_exact(":", 2).struct.unnest()
    )
    after_noon = fits.str.contains(r"(?i)p\.?\s?m").fill_null(False)
    first = first.zip_with(~of_twelve, first % 12 + 12 * after_noon.cast(pl.Float64))
    total = 60 * first + second
    is_full = third.is_not_null() | of_twelve
    whole = 60 * total + third.fill_null(0.0)
    total = whole if unit == HOURS else whole.zip_with(is_full, total)
    return total.zip_with(~fits.str.starts_with("-").fill_null(False), -total).alias(texts.name)
