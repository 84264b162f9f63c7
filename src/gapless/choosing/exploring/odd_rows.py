"""Rows that fit nowhere, and the columns that make them odd."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np

from ..._ground.percent import percent
from ..report import joined, quoted
from .differences import MISSING, ColumnValues
from .sections import OddRow, OddRows
from .table_map import TableMap, column_blocks, numbers_of

Array = np.ndarray

# A distance is far from three times the middle half of all distances beyond it (Tukey 1977).
FAR = 3.0
MOST_SHOWN, MOST_REASONS = 10, 3
# A column makes a row odd from this many standard deviations on, and this part of the largest.
LEAST_DEVIATION, PART_OF_LARGEST = 2.0, 0.5
# A level with a larger share does not make a row odd on its own.
RARE = 0.01
# Where nothing else makes it odd, a level of up to this share does.
UNUSUAL = 0.1
# Beside a rare combination of levels a number is mentioned from this many standard deviations on.
CLEARLY_ODD = 4.0


def odd_rows(
    model: TableMap, columns: Sequence[ColumnValues], rows: Array, distances: Array, labels: Array
) -> OddRows:
    """The rows that are far from every group.

    Parameters
    ----------
    model : TableMap
        The map.
    columns : sequence of ColumnValues
        The columns of all rows, in canonical order.
    rows : ndarray of int
        The row of the table at each place.
    distances, labels : ndarray of shape (n,)
        The distance of each row from the nearest group, and the place of that group.
    """
    low, middle, high = np.quantile(distances, [0.25, 0.5, 0.75])
    far = distances > high + FAR * (high - low)
    count = int(far.sum())
    # Of equally odd rows, the first in the table.
    order = np.lexsort((rows, -distances))[: min(count, MOST_SHOWN)]
    reasons = _Reasons(model, columns, labels)
    shown = tuple(
        OddRow(
            row=int(rows[k]) + 1,
            distance=float(distances[k] / middle) if middle > 0 else 0.0,
            words=reasons.of(int(k)),
        )
        for k in order
    )
    return OddRows(count, shown, _in_words(count, len(rows)))


def _in_words(count: int, rows: int) -> str:
    if not count:
        return "No row is far from all others."
    share = f" ({percent(count / rows, 1)})" if count / rows >= 0.0005 else ""
    noun, are = ("row", "is") if count == 1 else ("rows", "are")
    return (
        f"{count:,} {noun}{share} {are} much further from the typical row than the others: by the "
        "values of single columns, or by a combination of values."
    )


class _Reasons:
    """Why rows are odd: columns far from the typical value, or from what others suggest."""

    def __init__(self, model: TableMap, columns: Sequence[ColumnValues], labels: Array):
        self.model, self.columns, self.labels = model, columns, labels
        self.frame_columns = {one.column.name: one for one in columns}
        self.blocks = column_blocks(model.pipeline_)
        self.typical, self.factors = model.typical_rows(), model.factors
        covariance = (self.factors.directions**2) @ self.factors.spread + self.factors.noise
        self.deviations = np.sqrt(covariance)

    def of(self, place: int) -> str:
        """The columns that make the row at a place odd, in words."""
        row = {name: one.series[place : place + 1] for name, one in self.frame_columns.items()}
        frame = next(iter(row.values())).to_frame().with_columns(*row.values())
        group = int(self.labels[place])
        prepared = self.model.prepare(frame)[0]
        apart = prepared - self.typical[group]
        pulled = self.factors.precision_times(apart[None])[0]
        found = []
        for name, where in self.blocks:
            alone = float(np.sqrt(np.mean((apart[where] / self.deviations[where]) ** 2)))
            # What is left of a column after a prediction from all others of its row.
            left = np.linalg.solve(self.factors.precision_of(where), pulled[where])
            given = float(np.sqrt(max(left @ pulled[where], 0.0) / len(left)))
            found.append((max(alone, given), name, prepared[where] - left, alone >= given))
        found.sort(key=lambda each: (-each[0], each[1]))
        least = max(LEAST_DEVIATION, PART_OF_LARGEST * found[0][0])
        enough = [each for each in found if each[0] >= least]
        # A level that many rows have makes none of them odd, but a combination may.
        single = [each for each in enough if not self._is_common(each[1], place, group)]
        combined = ""
        if self._is_common(found[0][1], place, group):
            # What is oddest is no single value.
            combined = self._combination([name for _, name, _, _ in found], place, group)
        if combined:
            single = [each for each in single if each[0] >= CLEARLY_ODD]
        elif not single:
            single = [each for each in found if each[0] >= LEAST_DEVIATION]
            single = [each for each in single if not self._is_common(each[1], place, group)]
        said = (
            self._words(name, place, group, None if is_alone else expected)
            for _, name, expected, is_alone in single
        )
        kept = list(islice((text for text in (combined, *said) if text), MOST_REASONS))
        if not kept:
            oddest = self.frame_columns[found[0][1]]
            if oddest.column.role == "category" and self._share(oddest, place, group) <= UNUSUAL:
                kept = [self._words(found[0][1], place, group, None)]
        return "; ".join(kept) or "no single column, but many that are slightly unusual together"

    def _combination(self, names: Sequence[str], place: int, group: int) -> str:
        """The first levels of a row that few rows have together, in words; "" if there are none."""
        together = self.labels == group
        size, said = int(together.sum()), list[str]()
        for name in names:
            one = self.frame_columns[name]
            if one.column.role != "category":
                continue
            together = together & (one.levels.astype(str) == str(one.levels[place]))
            said.append(f"{quoted(name)} is {self._level(one, place)}")
            share = float(together.sum() / size)
            if share <= RARE:
                return (
                    f"a rare combination, as in {percent(share, 1)} of {self._rows(group)}: "
                    f"{joined(said)}"
                )
            if len(said) == MOST_REASONS:
                break
        return ""

    @staticmethod
    def _level(one: ColumnValues, place: int) -> str:
        level = str(one.levels[place])
        return "missing" if level == MISSING else quoted(level)

    def _is_common(self, name: str, place: int, group: int) -> bool:
        """Whether a column is a category whose level many rows have that are not odd."""
        one = self.frame_columns[name]
        return one.column.role == "category" and self._share(one, place, group) > RARE

    def _share(self, one: ColumnValues, place: int, group: int) -> float:
        """The part of the rows of a group with the level of one of them."""
        levels = one.levels[self.labels == group].astype(str)
        return float(np.mean(levels == str(one.levels[place])))

    def _words(self, name: str, place: int, group: int, expected: Array | None) -> str:
        """What is odd about a column; "" if its value is the one to be expected."""
        one = self.frame_columns[name]
        inside = self.labels == group
        if one.column.role == "category":
            share = percent(self._share(one, place, group), 1)
            return (
                f"{quoted(name)} is {self._level(one, place)}, as in {share} of {self._rows(group)}"
            )
        value = one.written(float(one.numbers[place]))
        if expected is not None:
            suggested = one.written(self._unscaled(name, float(expected[0])))
            said = f"{quoted(name)} is {value} where its other columns suggest {suggested}"
        else:
            suggested = one.written(float(np.nanmedian(one.numbers[inside])))
            said = f"{quoted(name)} is {value}, typically {suggested}"
        return "" if value in (suggested, "missing") else said

    def _rows(self, group: int) -> str:
        return f"group {self.model.names_[group]}" if len(self.model.names_) > 1 else "all rows"

    def _unscaled(self, name: str, scaled: float) -> float:
        """A prepared number or date in the units of its column, with few digits."""
        scaler = numbers_of(self.model.pipeline_)
        assert scaler is not None
        k = list(scaler.feature_names_in_).index(name)
        value = scaled * scaler.scale_[k] + scaler.mean_[k]
        value = float(np.clip(value, scaler.lower_[k], scaler.upper_[k]))
        one = self.frame_columns[name]
        if one.column.given_as == "date":
            return value * 86_400e6
        if one.column.dtype == "Int64":
            return float(round(value))
        digits = 2 - int(np.floor(np.log10(max(scaler.scale_[k], 1e-300))))
        return round(value, digits) if abs(digits) < 15 else value
