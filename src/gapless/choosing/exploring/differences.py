"""What tells groups apart, and what makes a row odd, in words with the values of columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from ..._ground.percent import percent
from ...data import Column
from ..report import amount, joined, quoted
from .sections import Difference

Array = np.ndarray

# A difference is worth mentioning from this many standard deviations on, and this part of the
# largest one; at most so many are.
LEAST, PART_OF_LARGEST, MOST = 0.4, 0.35, 4
# From this correlation on, a column says the same as one that is mentioned already; at most so many
# of them are named.
ALIKE, MOST_ALIKE = 0.85, 2
# From this share on, rows are "mostly" of a category, and "all but" from this one on.
MOSTLY, NEARLY_ALL = 0.6, 0.985
# Up to this share, rows are "rarely" of a category.
RARELY = 0.2
MISSING = "(missing)"


@dataclass(frozen=True, eq=False)
class ColumnValues:
    """The values of a column in canonical order, with what is typical of them.

    What they are `called` is the name of the column, unless they are a part of its dates.
    """

    column: Column
    series: pl.Series
    called: str = ""

    @cached_property
    def numbers(self) -> Array:
        """Numbers, or dates in microseconds; NaN for missing ones and for categories."""
        if self.column.role == "category":
            return np.full(len(self.series), np.nan)
        return self.series.to_physical().cast(pl.Float64).fill_null(np.nan).to_numpy()

    @cached_property
    def bounded(self) -> Array:
        """Numbers with the far ones moved inwards, so that none decides a mean."""
        known = self.numbers[np.isfinite(self.numbers)]
        if not len(known):
            return self.numbers
        low, high = np.quantile(known, [0.02, 0.98], method="inverted_cdf")
        return np.clip(self.numbers, low, high) if high > low else self.numbers

    @cached_property
    def levels(self) -> Array:
        """Categories as texts."""
        return self.series.fill_null(MISSING).to_numpy()

    @cached_property
    def is_missing(self) -> Array:
        """Where there is no value."""
        return self.series.is_null().to_numpy()

    def written(self, value: float) -> str:
        """A number or a date as in the table."""
        if not np.isfinite(value):
            return "missing"
        if self.column.given_as == "date":
            return str(np.datetime64(int(value), "us").astype("datetime64[D]"))
        if value == round(value) and abs(value) < 1e7:
            # Years and the like read better without a comma.
            is_large = max(abs(value), np.nanmax(np.abs(self.numbers))) >= 10_000
            return f"{value:,.0f}" if is_large else f"{value:.0f}"
        return three_digits(value)

    def differences(self, inside: Array) -> Iterator[Difference]:
        """How some rows differ from the others, in the values and in how many are missing."""
        if self.column.role == "category":
            yield from self._of_levels(inside)
            return
        yield from self._of_missing(inside)
        own, others = self.bounded[inside], self.bounded[~inside]
        own, others = own[np.isfinite(own)], others[np.isfinite(others)]
        if len(own) and len(others):
            spread = np.nanstd(self.bounded)
            size = float((own.mean() - others.mean()) / spread) if spread > 0 else 0.0
            yield Difference(self.column.name, size, self._higher(inside, size > 0))

    def _higher(self, inside: Array, is_higher: bool) -> str:
        is_date = self.column.given_as == "date"
        word = (
            ("later" if is_higher else "earlier") if is_date else "higher" if is_higher else "lower"
        )
        own, others = (np.nanmedian(self.numbers[rows]) for rows in (inside, ~inside))
        what = "median"
        texts = [self.written(own), self.written(others)]
        if texts[0] == texts[1] and not is_date:
            what = "mean"
            texts = [
                three_digits(float(np.nanmean(self.numbers[rows]))) for rows in (inside, ~inside)
            ]
        return f"{word} {quoted(self.column.name)} ({what} {texts[0]} against {texts[1]})"

    def _of_missing(self, inside: Array) -> Iterator[Difference]:
        own, others = (float(self.is_missing[rows].mean()) for rows in (inside, ~inside))
        size = _of_shares(own, others, float(self.is_missing.mean()))
        if abs(size) > 0:
            word = "missing" if own > others else "rarely missing"
            yield Difference(
                self.column.name,
                size,
                f"{quoted(self.column.name)} {word} ({percent(own, 0)} against "
                f"{percent(others, 0)})",
            )

    def _of_levels(self, inside: Array) -> Iterator[Difference]:
        """The category whose share differs most."""
        levels, places = np.unique(self.levels.astype(str), return_inverse=True)
        own = np.bincount(places[inside], minlength=len(levels)) / max(inside.sum(), 1)
        others = np.bincount(places[~inside], minlength=len(levels)) / max((~inside).sum(), 1)
        whole = np.bincount(places, minlength=len(levels)) / len(places)
        sizes = np.array([_of_shares(*each) for each in zip(own, others, whole)])
        k = int(np.argmax(np.abs(sizes)))
        # What most rows of the group are says more than what they are not.
        top = int(np.argmax(own))
        if own[top] >= MOSTLY and sizes[top] >= 0.7 * abs(sizes[k]):
            k = top
        level = "missing" if levels[k] == MISSING else quoted(str(levels[k]))
        shares = f"({percent(own[k], 0)} against {percent(others[k], 0)})"
        name = quoted(self.called or self.column.name)
        yield Difference(
            self.column.name, float(sizes[k]), f"{name} {_is(own[k], others[k])} {level} {shares}"
        )


def with_parts_of_dates(columns: Sequence[ColumnValues]) -> list[ColumnValues]:
    """Columns, and the weekday and the month of each column of dates as categories.

    Of a column and its parts, the one that differs most is told.
    """
    found = []
    for one in columns:
        found.append(one)
        if one.column.given_as == "date":
            for name, form in (("weekday", "%A"), ("month", "%B")):
                part, called = replace(one.column, role="category"), f"{name} of {one.column.name}"
                found.append(ColumnValues(part, one.series.dt.to_string(form), called))
    return found


def three_digits(value: float) -> str:
    """A quantity to three digits, without zeros that say nothing."""
    text = amount(value)
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def _is(own: float, others: float) -> str:
    if own > others:
        if own >= NEARLY_ALL:
            return "is nearly always" if own < 1 else "is always"
        return "is mostly" if own >= MOSTLY else "is more often"
    return "is never" if own == 0 else "is rarely" if own <= RARELY else "is less often"


def _of_shares(own: float, others: float, whole: float) -> float:
    """The difference of two shares in standard deviations of the indicator."""
    spread = np.sqrt(max(whole * (1 - whole), 0.0))
    # A share of a few rows is no large difference, however rare.
    return float((own - others) / max(spread, 0.1)) if spread > 0 else 0.0


def differences_of(columns: Sequence[ColumnValues], inside: Array) -> tuple[Difference, ...]:
    """What distinguishes some rows from all others, the largest difference first."""
    found = [each for one in columns for each in one.differences(inside)]
    found.sort(key=lambda each: (-abs(each.size), each.column))
    if not found:
        return ()
    least = max(LEAST, PART_OF_LARGEST * abs(found[0].size))
    values = {one.column.name: one for one in reversed(columns)}
    seen: set[str] = set()
    kept: list[Difference] = []
    alike: dict[str, list[str]] = {}
    for each in found:
        if abs(each.size) < least or each.column in seen:
            continue
        seen.add(each.column)
        like = next((one for one in kept if _are_alike(values[one.column], each, values)), None)
        if like is not None:
            alike.setdefault(like.column, []).append(each.column)
        elif len(kept) < MOST:
            kept.append(each)
    return tuple(
        replace(one, words=f"{one.words}{_likewise(alike.get(one.column, []))}") for one in kept
    )


def _are_alike(one: ColumnValues, other: Difference, values: Mapping[str, ColumnValues]) -> bool:
    """Whether two columns of numbers rise and fall together."""
    both = np.stack([one.bounded, values[other.column].bounded])
    both = both[:, np.isfinite(both).all(axis=0)]
    if both.shape[1] < 3 or np.any(both.std(axis=1) == 0):
        return False
    return bool(np.corrcoef(both)[0, 1] >= ALIKE)


def _likewise(names: Sequence[str]) -> str:
    """Columns that say the same."""
    if not names:
        return ""
    said = [quoted(name) for name in names[:MOST_ALIKE]]
    if len(names) > MOST_ALIKE:
        said.append(f"{len(names) - MOST_ALIKE:,} more")
    return f", likewise {joined(said)}"
