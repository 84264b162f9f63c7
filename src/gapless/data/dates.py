"""Dates as people and programs write them."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from .findings import counted, listed

MICROSECONDS_PER_DAY = 86_400e6

DAYS = (
    *("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d"),
    *("%d.%m.%Y", "%d-%m-%Y", "%m/%d/%Y", "%d/%m/%Y", "%m-%d-%Y"),
    *("%d.%m.%y", "%d-%m-%y", "%m/%d/%y", "%d/%m/%y"),
    *("%d %B %Y", "%d-%B-%Y", "%B %d, %Y", "%B %d %Y", "%d-%B-%y"),
)
TIMES = ("", " %H:%M", " %H:%M:%S%.f", " %I:%M %p", " %I:%M:%S %p")
ZONES = ("%z",)
FORMATS = tuple(day + time for time in TIMES for day in DAYS) + tuple(
    day + time + zone for time in TIMES[1:3] for day in DAYS[:3] for zone in ZONES
)
# Years outside are a sign that a format does not fit.
YEARS = (1700, 2200)
# This many texts decide which formats are tried: each of a hundred formats reads all of them.
SAMPLE_TEXTS = 200
# A column is one of dates if at least this share of its texts is.
SHARE_OF_DATES = 0.99


@dataclass(frozen=True, slots=True)
class Dates:
    """A column of dates, its formats, and notes."""

    values: pl.Series
    formats: tuple[str, ...]
    notes: tuple[str, ...]


def find_dates(texts: pl.Series) -> Dates | None:
    """Texts as dates, by formats found from all of them; None if they are not dates."""
    looks = r"\d{1,4}[-/. ]\w{1,9}[-/., ]|^[A-Z][a-z]{2,8} \d"
    first = _normalised(texts.drop_nulls().head(SAMPLE_TEXTS))
    if not len(first) or first.str.contains(looks).sum() < SHARE_OF_DATES / 2 * len(first):
        return None
    formats = _needed(first.unique(maintain_order=True))
    if not formats or not _fit(read_dates(first, formats), first):
        return None
    # Later rows settle what the first leave open, such as a day above 12.
    formats = tuple(_better_order(texts, form) for form in formats)
    values = read_dates(texts, formats)
    if not _fit(values, texts):
        formats = _needed(texts.drop_nulls().unique())
        values = read_dates(texts, formats)
        if not _fit(values, texts):
            return None
    return Dates(values, formats, _notes(texts, values, formats))


def _fit(values: pl.Series, texts: pl.Series) -> bool:
    """Whether nearly all texts became dates."""
    return _count(values) >= SHARE_OF_DATES * _count(texts)


def read_dates(texts: pl.Series, formats: tuple[str, ...]) -> pl.Series:
    """Texts as dates, or as moments if a format has a time; times with zones become UTC."""
    name = texts.name
    clean = _normalised(texts)
    parsed = [_parsed(clean, form) for form in formats]
    values = pl.select(pl.coalesce(parsed)).to_series().alias(name)
    has_time = any("%H" in form or "%I" in form for form in formats)
    return values if has_time else values.cast(pl.Date)


def _normalised(texts: pl.Series) -> pl.Series:
    """2024-01-02T03:04Z as 2024-01-02 03:04+0000, a month as its first day, and no weekdays."""
    clean = texts.str.replace(r"^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},?\s+(\w)", "$1")
    clean = clean.str.replace(r"^((?:19|20)\d\d)[-/](0[1-9]|1[0-2])$", "$1-$2-01")
    clean = clean.str.replace(r"^([A-Z][a-z]{2,8})[- ]((?:19|20)\d\d)$", "1 $1 $2")
    clean = clean.str.replace(r"^(\d{4}.\d{1,2}.\d{1,2})[T ]\s*(\d)", "$1 $2")
    return clean.str.replace(r"\s*(?:Z|UTC|GMT)$", "+0000")


def _parsed(texts: pl.Series, form: str) -> pl.Series:
    moments = texts.str.to_datetime(form, strict=False, time_unit="us")
    if "%z" in form:
        moments = moments.dt.replace_time_zone(None)
    return moments.set(~moments.dt.year().is_between(*YEARS).fill_null(True), None)


def _count(values: pl.Series) -> int:
    return len(values) - values.null_count()


def _needed(texts: pl.Series) -> tuple[str, ...]:
    """As few formats as read all texts that are dates: the one that reads most, then the rest."""
    left = _normalised(texts)
    chosen: list[str] = []
    while len(left) and len(chosen) < 4:
        counts = [(_count(_parsed(left, form)), -k) for k, form in enumerate(FORMATS)]
        most, k = max(counts)
        if most == 0:
            break
        chosen.append(FORMATS[-k])
        left = left.filter(_parsed(left, FORMATS[-k]).is_null())
    return tuple(chosen)


def _notes(texts: pl.Series, values: pl.Series, formats: tuple[str, ...]) -> tuple[str, ...]:
    notes = []
    if len(formats) > 1:
        notes.append(f"dates in several formats: {listed(formats)}")
    for form in formats:
        other = _swapped(form)
        if other and _count(read_dates(texts, (other,))) >= _count(read_dates(texts, (form,))):
            order = "month before day" if form.startswith("%m") else "day before month"
            notes.append(f"ambiguous dates, read with the {order}")
    unread = _count(texts) - _count(values)
    if unread:
        notes.append(f"{counted(unread, 'text')} among dates read as missing")
    return tuple(notes)


def _better_order(texts: pl.Series, form: str) -> str:
    """The format, or the one with day and month exchanged if that reads more texts."""
    other = _swapped(form)
    if other and _count(read_dates(texts, (other,))) > _count(read_dates(texts, (form,))):
        return other
    return form


def _swapped(form: str) -> str | None:
    """The format with day and month exchanged, if both are numbers at its beginning."""
    if form[:2] not in ("%d", "%m") or form[3:5] not in ("%d", "%m"):
        return None
    return form[3:5] + form[2] + form[:2] + form[5:]
