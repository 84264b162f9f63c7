"""Rows that occur more than once, exactly or nearly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...data import counted
from ...models.neighbors import NearestNeighbors
from ..report import joined, quoted
from .differences import MISSING, ColumnValues
from .sections import Copies, SameRows

Array = np.ndarray

MOST_SETS, MOST_ROWS_SHOWN = 5, 5
# Near copies are looked for among so many distinct rows.
MOST_ROWS, FEWEST_ROWS = 20_000, 50
# If more of the rows are repeated, the columns have few values, and close rows mean nothing.
MOST_REPEATED = 0.2
# The neighbour that shows how close rows are here; a near copy is at most so close in comparison,
# and so close that chance would do it in one of a hundred tables.
NEIGHBOURS, CLOSE, BY_CHANCE = 5, 0.1, 0.01
# The part of the ratios that the dimension is estimated from: copies are among the others.
USED = 0.9
MOST_COLUMNS_SHOWN = 3


def find_copies(
    prepared: Array, hashes: Array, rows: Array, columns: Sequence[ColumnValues]
) -> Copies:
    """Rows that equal others, and pairs that nearly do.

    Parameters
    ----------
    prepared : ndarray of shape (s, d)
        The first rows in canonical order, prepared.
    hashes, rows : ndarray of shape (n,)
        The hash of each row, in rising order, and the row of the table.
    columns : sequence of ColumnValues
        The columns of all rows.
    """
    starts = np.flatnonzero(np.r_[True, hashes[1:] != hashes[:-1]])
    sizes = np.diff(np.r_[starts, len(hashes)])
    again = len(hashes) - len(starts)
    sets = [np.sort(rows[at : at + n]) + 1 for at, n in zip(starts, sizes) if n > 1]
    sets.sort(key=lambda one: (-len(one), one[0]))
    places = np.argsort(rows, kind="stable")
    exact = tuple(
        SameRows(
            tuple(int(row) for row in one[:MOST_ROWS_SHOWN]),
            len(one),
            _values(columns, int(places[np.searchsorted(rows, one[0] - 1, sorter=places)])),
        )
        for one in sets[:MOST_SETS]
    )
    distinct = starts[starts < len(prepared)][:MOST_ROWS]
    is_expected = again > MOST_REPEATED * len(hashes)
    is_searched = len(distinct) >= FEWEST_ROWS and not is_expected
    pairs = near_pairs(prepared[distinct]) if is_searched else []
    pairs = [(a, b) for a, b in pairs if _have_same_gaps(columns, distinct[a], distinct[b])]
    near = tuple(_near(distinct[a], distinct[b], rows, columns) for a, b in pairs[:MOST_SETS])
    words = (
        _of_exact(again, sets, len(hashes), is_expected),
        _of_near(len(pairs), len(distinct), len(starts)) if is_searched else "",
    )
    said = tuple(text for text in words if text)
    return Copies(again, exact, len(pairs), near, is_expected, said)


def near_pairs(prepared: Array) -> list[tuple[int, int]]:
    """Pairs of rows much closer to each other than to their other neighbours, the closest first.

    In q dimensions (r₁/r₅)^q of the distances to the first and the fifth neighbour is at most u by
    chance with a probability below 4u; q is estimated from r₂/r₁ (Facco, d'Errico, Rodriguez and
    Laio 2017, Scientific Reports 7).
    """
    search = NearestNeighbors(n_neighbors=NEIGHBOURS).fit(prepared)
    distances, others = search.kneighbors()
    first, second, last = distances[:, 0], distances[:, 1], distances[:, -1]
    apart = first > 0
    if not apart.any():
        return []
    logs = np.sort(np.log(second[apart] / first[apart]))
    # The mean of the smaller part of an exponential variable, relative to that of all.
    smaller = 1.0 + (1.0 - USED) / USED * np.log(1.0 - USED)
    mean = float(logs[: max(int(USED * len(logs)), 1)].mean())
    dimension = smaller / max(mean, 1e-2)
    by_chance = (BY_CHANCE / ((NEIGHBOURS - 1) * len(prepared))) ** (1.0 / dimension)
    is_near = first < min(by_chance, CLOSE) * last
    order = np.flatnonzero(is_near)[np.argsort(first[is_near], kind="stable")]
    pairs = dict.fromkeys(
        (min(int(a), int(others[a, 0])), max(int(a), int(others[a, 0]))) for a in order
    )
    return list(pairs)


def _have_same_gaps(columns: Sequence[ColumnValues], a: int, b: int) -> bool:
    """Whether the same values of two rows are missing; others are not known to be equal."""
    return all(one.is_missing[a] == one.is_missing[b] for one in columns)


def _near(a: int, b: int, rows: Array, columns: Sequence[ColumnValues]) -> SameRows:
    a, b = (int(k) for k in sorted((a, b), key=lambda k: rows[k]))
    texts = [_change(one, a, b) for one in columns if _differs(one, a, b)]
    more = len(texts) - MOST_COLUMNS_SHOWN
    kept = texts[:MOST_COLUMNS_SHOWN] + ([f"{more:,} more"] if more > 0 else [])
    only = "only " if len(texts) < len(columns) / 2 else ""
    said = f"differ {only}in {joined(kept)}" if kept else "differ in rounding"
    return SameRows((int(rows[a]) + 1, int(rows[b]) + 1), 2, said)


def _differs(one: ColumnValues, a: int, b: int) -> bool:
    return bool(
        one.series[a] != one.series[b]
        if None not in (one.series[a], one.series[b])
        else one.series[a] is not one.series[b]
    )


def _values(columns: Sequence[ColumnValues], place: int) -> str:
    """The first values of a row."""
    texts = [f"{quoted(one.column.name)} {_text(one, place)}" for one in columns]
    more = len(texts) - MOST_COLUMNS_SHOWN
    kept = texts[:MOST_COLUMNS_SHOWN] + ([f"{more:,} more"] if more > 0 else [])
    return joined(kept)


def _change(one: ColumnValues, a: int, b: int) -> str:
    return f"{quoted(one.column.name)} ({_text(one, a)} and {_text(one, b)})"


def _text(one: ColumnValues, place: int) -> str:
    """A value as in the table."""
    if one.column.role == "category":
        return "missing" if one.levels[place] == MISSING else quoted(str(one.levels[place]))
    value = one.series[place]
    if value is None or one.column.given_as == "date":
        return "missing" if value is None else str(value)
    return f"{value:.10g}"


def _of_exact(again: int, sets: Sequence[Array], rows: int, is_expected: bool) -> str:
    if not again:
        return "No two rows are equal in all columns that are compared."
    verb = "equals" if again == 1 else "equal"
    expected = ""
    if is_expected:
        expected = " This is to be expected where columns have few distinct values."
    return (
        f"{counted(again, 'row')} of {rows:,} {verb} an earlier one in all columns that are "
        f"compared; {_sets(len(sets))} of equal rows.{expected}"
    )


def _sets(count: int) -> str:
    return "there is 1 set" if count == 1 else f"there are {count:,} sets"


def _of_near(pairs: int, looked: int, distinct: int) -> str:
    among = "" if looked == distinct else f" among {looked:,} of {distinct:,} distinct rows"
    if not pairs:
        return f"No two rows{among} are nearly equal."
    are = "pair of rows is" if pairs == 1 else "pairs of rows are"
    return f"{pairs:,} {are} nearly equal{among}, much closer than chance brings rows together."
