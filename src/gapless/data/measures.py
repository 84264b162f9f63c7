"""Numbers with a unit, such as 5 kg or R$ 3,50, multiples such as 1.5K, and times as 1:02:30."""

from __future__ import annotations

import re

import polars as pl

# So many texts show whether it is worth while to look at all.
LOOKED_AT = 1000
# A column has a unit, or times, if so large a share of its texts has.
SHARE = 0.95
# More letters behind numbers than these make codes of them: 12A, 12B.
MOST_UNITS = 5

# A unit follows the number; before it stands only what has a sign of money, since letters before a
# number make a code of it: A12.
NUMBER = r"[+-]?[\d.,]*\d(?:[\s'’]\d{3})*(?:[.,]\d+)?"
AFTER = rf"^({NUMBER})\s*([\p{{L}}°µ'\"][\p{{L}}°µ²³/'\"]{{0,11}})$"
BEFORE = rf"^([\p{{L}}]{{0,3}}\p{{Sc}})\s*({NUMBER})$"
TIME = r"^[+-]?\d+:[0-5]\d(?::[0-5]\d(?:[.,]\d+)?)?$"
# The same on a clock of twelve hours.
HALF_DAY = r"(?i)^(?:0?\d|1[0-2])(?::[0-5]\d){1,2}\s*[ap]\.?\s?m\.?$"
# The unit of times whose two parts are hours and minutes, not minutes and seconds.
HOURS = "h"
# The unit of numbers such as 950, 1.5K and 2M, and what the letters stand for.
MULTIPLES = "K M B"
MULTIPLE = rf"(?i)^(\p{{Sc}}?{NUMBER})\s*(k|mn?|mio|bn?)$"
TIMES_A_NUMBER = {"k": 1e3, "m": 1e6, "mn": 1e6, "mio": 1e6, "b": 1e9, "bn": 1e9}


def unit_of(texts: pl.Series) -> str | None:
    """The unit that nearly all texts have with their numbers; None if there is none."""
    few = _few(texts)
    for pattern, group in ((AFTER, 2), (BEFORE, 1)):
        counts = few.str.extract(pattern, group).drop_nulls().value_counts(sort=True)
        if counts.height and counts["count"][0] >= SHARE * len(few):
            return str(counts.to_series(0)[0])
    return None


def units_of(texts: pl.Series) -> list[str]:
    """Units of which nearly all texts have one beside their numbers; none if they are many."""
    few = _few(texts)
    units = few.str.extract(AFTER, 2).drop_nulls()
    if len(units) < SHARE * len(few) or few.n_unique() < 2 * MOST_UNITS:
        return []
    distinct = units.value_counts(sort=True).to_series(0).to_list()
    return distinct if 1 < len(distinct) <= MOST_UNITS else []


def without_unit(texts: pl.Series, unit: str) -> pl.Series:
    """The numbers alone; a number that has no unit is taken to be of the same one."""
    return texts.str.replace(rf"^{re.escape(unit)}\s*|\s*{re.escape(unit)}$", "")


def have_multiples(texts: pl.Series) -> bool:
    """Whether nearly all texts are numbers, some of them multiples of a thousand: 950, 1.5K, 2M.

    One letter behind all numbers is a unit: 300 K, 5 m.
    """
    few = _few(texts)
    parts = few.str.extract_groups(MULTIPLE).struct.unnest()
    letters = set(parts.to_series(1).drop_nulls().unique())
    plain = few.str.contains(rf"^\p{{Sc}}?{NUMBER}$") & ~few.str.contains(MULTIPLE)
    # Beside plain numbers, a small m alone may be a metre.
    kinds = len({letter.lower() for letter in letters}) + bool(plain.any())
    is_sure = kinds > 1 and letters != {"m"}
    known = int(plain.sum()) + len(parts.to_series(0).drop_nulls())
    return bool(letters) and is_sure and known >= SHARE * len(few)


def without_multiples(texts: pl.Series) -> tuple[pl.Series, pl.Series]:
    """The numbers alone, and by what each is to be multiplied."""
    parts = texts.str.extract_groups(MULTIPLE).struct.unnest()
    letters = parts.to_series(1).str.to_lowercase()
    factors = letters.replace_strict(TIMES_A_NUMBER, default=1.0, return_dtype=pl.Float64)
    # One column is read with one set of groups and decimals, whatever letters stand behind.
    return parts.to_series(0).fill_null(texts).alias(texts.name), factors.fill_null(1.0)


def are_times(texts: pl.Series) -> bool:
    """Whether nearly all texts are hours, minutes and perhaps seconds."""
    few = _few(texts)
    fits = few.str.contains(TIME) | few.str.contains(HALF_DAY)
    return len(few) > 0 and int(fits.sum()) >= SHARE * len(few)


def are_hours(texts: pl.Series) -> bool:
    """Whether the first of two parts is an hour: one column has one meaning.

    It is on a clock of twelve hours, and where two parts stand among three, or two digits with
    zeros, unless one of them is above 23 and must be a minute.
    """
    present = texts.drop_nulls()
    if present.str.contains(HALF_DAY).any():
        return True
    fits = present.filter(present.str.contains(TIME))
    two = fits.filter(fits.str.count_matches(":") == 1)
    first = two.str.extract(r"^[+-]?(\d+)")
    if not len(two) or not (first.cast(pl.Float64) <= 23).all():
        return False
    of_programs = bool((first.str.len_chars() == 2).all()) and bool(
        first.str.starts_with("0").any()
    )
    return len(two) < len(fits) or of_programs


def as_seconds(texts: pl.Series, unit: str = "") -> pl.Series:
    """Times as seconds; two parts are minutes and seconds, or hours and minutes by their unit."""
    is_half = texts.str.contains(HALF_DAY).fill_null(False)
    fits = texts.set(~(texts.str.contains(TIME).fill_null(False) | is_half), None)
    digits = fits.str.replace_all(r"[^\d:.,]", "").str.strip_chars_end(".").str.replace(",", ".")
    first, second, third = (
        part.cast(pl.Float64) for part in digits.str.split_exact(":", 2).struct.unnest()
    )
    later = fits.str.contains(r"(?i)p\.?\s?m").fill_null(False)
    first = first.zip_with(~is_half, first % 12 + 12 * later.cast(pl.Float64))
    total = 60 * first + second
    is_full = third.is_not_null() | is_half
    whole = 60 * total + third.fill_null(0.0)
    total = whole if unit == HOURS else whole.zip_with(is_full, total)
    return total.zip_with(~fits.str.starts_with("-").fill_null(False), -total).alias(texts.name)


def _few(texts: pl.Series) -> pl.Series:
    present = texts.drop_nulls()
    return present.gather_every(max(1, len(present) // LOOKED_AT))
