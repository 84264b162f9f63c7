"""One pass over a table that is checked: rows are counted, recognised and drawn as they come."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from gapless.choosing import TableModel
from gapless.data import Table, Tally, TrainingRowSearch, joined_batches, row_hashes

Array = np.ndarray
Batch = tuple[pl.DataFrame, pl.DataFrame]

# The score is that of so many rows, if there are more, and of so many values.
MOST_SCORED, MOST_VALUES = 100_000, 20_000_000


@dataclass(frozen=True, eq=False)
class Looked:
    """What one pass has found.

    Attributes
    ----------
    tally : Tally
        The columns, counted.
    search : TrainingRowSearch
        The training rows among the rows.
    training : ndarray or None
        Which rows are the training rows, where the table is the one of the fit.
    table : Table
        All rows if it is; otherwise those that are scored.
    known : int
        How many rows have a target.
    """

    tally: Tally
    search: TrainingRowSearch
    training: Array | None
    table: Table
    known: int


def look_at(model: TableModel, batches: Iterable[Batch], source: Any) -> Looked:
    """Go through a table once.

    Parameters
    ----------
    model : TableModel
        The model.
    batches : iterable of two polars.DataFrame
        The table, from `batches_like` with the columns of the model.
    source : str, Path, bytes or binary stream
        Where it comes from.

    Returns
    -------
    Looked

    Notes
    -----
    Rows are kept as long as the table may be the one of the fit, which was in memory then; their
    hashes tell very soon that it is not.
    """
    profile = model.profile_
    tally, search, drawn = (
        Tally(profile),
        TrainingRowSearch(profile.fingerprint),
        Drawn(model.target_),
    )
    frames: list[pl.DataFrame] = []
    for raw, values in batches:
        series = tally.add(raw, values)
        hashes = None
        if len(series) == len(profile.columns):
            hashes = row_hashes(series)
            search.add(hashes)
            frames = [*frames, values] if search.may_be_it else []
        drawn.add(values, hashes)
    training = search.training_rows() if frames else None
    kept = drawn.sample() if training is None else frames
    return Looked(
        tally, search, training, joined_batches(kept, source, model.columns_), drawn.known
    )


@dataclass(eq=False)
class Drawn:
    """A random sample of the rows that have a target: those of the smallest hashes."""

    target: str
    known: int = 0
    frames: list[pl.DataFrame] = field(default_factory=list)
    _hashes: Array = field(default_factory=lambda: np.zeros(0, np.uint64))

    def add(self, frame: pl.DataFrame, hashes: Array | None) -> None:
        """Draw from some rows more; without hashes, where columns are missing, none is scored."""
        if hashes is None or self.target not in frame.columns:
            self.frames = self.frames or [frame.clear()]
            return
        has_target = frame[self.target].is_not_null().to_numpy()
        self.known += int(has_target.sum())
        hashes, frame = hashes[has_target], frame.filter(has_target)
        self.frames = [*self.frames, frame]
        self._hashes = np.concatenate([self._hashes, hashes])
        if len(self._hashes) > 2 * self._most:
            self._cut()

    def sample(self) -> list[pl.DataFrame]:
        """The rows that were drawn, each one as likely as all others."""
        if len(self._hashes) > self._most:
            self._cut()
        return self.frames

    @property
    def _most(self) -> int:
        return min(MOST_SCORED, MOST_VALUES // max(self.frames[0].width, 1))

    def _cut(self) -> None:
        chosen = np.sort(np.argpartition(self._hashes, self._most)[: self._most])
        self.frames = [pl.concat(self.frames, how="diagonal_relaxed")[chosen]]
        self._hashes = self._hashes[chosen]
