"""Fingerprints of rows: recognise the table a model was fitted to, without storing its rows.

Each row has a hash of 64 bits, made of the hashes of its values, which does not depend on the order
of the columns or the version of a library. A hash confirms a row that one has, or guesses, and
reveals no other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import polars as pl

Array = np.ndarray

# Keep this many of the smallest hashes as a sample of the rows.
SAMPLED = 512
# If this many of the sample should have been seen, and not even this part of them was, the table is
# another one: chance does so once in a hundred million times.
SHOULD_BE_SEEN, PART = 40, 0.25


@dataclass(frozen=True, slots=True, eq=False)
class Fingerprint:
    """Recognises a table and its training rows, whatever the order of the rows.

    Attributes
    ----------
    table_rows, rows : int
        The number of rows of the table, and of training rows.
    table, training : str
        The hash of all rows of the table, and of the training rows.
    places : ndarray of uint8
        For the rows of the table in the order of their hashes, whether each is a training row;
        packed, eight to a byte.
    sample : ndarray of uint64
        The smallest hashes of training rows, at most `SAMPLED`: a random sample of them.
    repeated : int
        How many hashes of the sample belong to more than one training row.
    """

    table_rows: int
    rows: int
    table: str
    training: str
    places: Array
    sample: Array
    repeated: int = 0

    def __post_init__(self) -> None:
        fits = 0 <= self.rows <= self.table_rows and len(self.places) == -(-self.table_rows // 8)
        is_count = isinstance(self.repeated, int) and 0 <= self.repeated <= len(self.sample)
        are_hashes = self.places.dtype == np.uint8 and self.sample.dtype == np.uint64
        if not (fits and is_count and are_hashes):
            raise ValueError("a fingerprint has a bit for each row of its table.")

    def training_rows(self, hashes: Array) -> Array | None:
        """Which rows with these hashes are the training rows; None if not all are there and known.

        Parameters
        ----------
        hashes : ndarray of uint64
            One for each row of a table, from `row_hashes`.

        Returns
        -------
        ndarray of int64, or None
        """
        if len(hashes) == self.rows and joint_hash(hashes) == self.training:
            return np.arange(len(hashes))
        if len(hashes) != self.table_rows or joint_hash(hashes) != self.table:
            return None
        is_training = np.unpackbits(self.places, count=self.table_rows).astype(bool)
        return np.sort(np.argsort(hashes, kind="stable")[is_training])

    def share_in(self, hashes: Array) -> float:
        """The approximate share of the training rows among the rows with these hashes."""
        return float(np.isin(self.sample, hashes).mean()) if len(self.sample) else 0.0


@dataclass(eq=False)
class TrainingRowSearch:
    """Searches for the training rows in a table that comes piece by piece.

    Attributes
    ----------
    known : Fingerprint
        Of the table of the fit.
    may_be_it : bool
        Whether the rows so far can belong to that table, or to its training rows alone.
    rows : int
        The number of rows so far.
    """

    known: Fingerprint
    may_be_it: bool = True
    rows: int = 0
    _hashes: list[Array] = field(default_factory=list)
    _seen: Array = field(init=False)

    def __post_init__(self) -> None:
        self._seen = np.zeros(len(self.known.sample), bool)

    def add(self, hashes: Array) -> None:
        """Add more rows."""
        self.rows += len(hashes)
        self._seen |= np.isin(self.known.sample, hashes)
        # Hashes do not depend on the order of rows, so they turn up evenly.
        expected = len(self._seen) * self.rows / max(self.known.table_rows, 1)
        is_other = expected >= SHOULD_BE_SEEN and self.found < PART * expected
        if is_other or self.rows > self.known.table_rows:
            self.may_be_it = False
        self._hashes = [*self._hashes, hashes] if self.may_be_it else []

    @property
    def found(self) -> int:
        """How many of the sampled training rows were found."""
        return int(self._seen.sum())

    @property
    def share(self) -> float:
        """The approximate share of the training rows found."""
        return self.found / len(self._seen) if len(self._seen) else 0.0

    @property
    def expected(self) -> int:
        """The expected number of sampled rows that other rows of the same source equal, at most.

        Of distinct rows, twice as many are in two samples as are twice in one of them, if they are
        rare; and more with more rows.
        """
        times = 2 * max(self.rows / max(self.known.rows, 1), 1.0)
        return min(round(times * self.known.repeated), len(self._seen))

    def training_rows(self) -> Array | None:
        """Which rows are the training rows; None if not all are there and known."""
        if not self.may_be_it:
            return None
        return self.known.training_rows(np.concatenate([np.zeros(0, np.uint64), *self._hashes]))


def fingerprint(hashes: Array, rows: Array) -> Fingerprint:
    """The fingerprint of a table by the hashes of its rows, `rows` being the training rows."""
    is_training = np.zeros(len(hashes), bool)
    is_training[rows] = True
    trained = hashes[is_training]
    distinct, counts = np.unique(trained, return_counts=True)
    return Fingerprint(
        len(hashes),
        int(is_training.sum()),
        joint_hash(hashes),
        joint_hash(trained),
        np.packbits(is_training[np.argsort(hashes, kind="stable")]),
        distinct[:SAMPLED],
        int((counts[:SAMPLED] > 1).sum()),
    )


def joint_hash(hashes: Array) -> str:
    """One hash for many, whatever their order."""
    return hashlib.blake2b(np.sort(hashes).tobytes(), digest_size=16).hexdigest()


def row_hashes(columns: Iterable[pl.Series]) -> Array:
    """The hash of each row of numbers, dates and texts."""
    total: Array | None = None
    for series in columns:
        # The name gives each column its own term in the sum.
        part = _mixed(_bits(series) + np.uint64(_hash_of(series.name)))
        total = part if total is None else total + part
    return np.zeros(0, np.uint64) if total is None else _mixed(total)


def _bits(series: pl.Series) -> Array:
    if series.dtype == pl.String:
        return _bits_of_texts(series)
    if series.dtype.is_temporal():
        return series.to_physical().cast(pl.Int64).fill_null(-(1 << 62)).to_numpy().view(np.uint64)
    # Adding 0 makes both zeros equal, and one NaN represents all missing values.
    values = series.cast(pl.Float64).to_numpy() + 0.0
    return np.where(np.isnan(values), np.nan, values).view(np.uint64)


def _bits_of_texts(series: pl.Series) -> Array:
    distinct = series.drop_nulls().unique()
    hashes = pl.Series([_hash_of(text) for text in distinct.to_list()], dtype=pl.UInt64)
    bits = series.replace_strict(distinct, hashes, default=0, return_dtype=pl.UInt64)
    return bits.fill_null(0).to_numpy()


def _hash_of(text: str) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _mixed(x: Array) -> Array:
    """Every bit of the result depends on every bit of x (the finaliser of SplitMix64).

    Steele, Lea and Flood, Fast splittable pseudorandom number generators, OOPSLA 2014, figure 16.
    """
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
