"""Fingerprints of rows: whether a table is the one a model was fitted to, told without its rows.

Each row has a hash of 64 bits, made of the hashes of its values, which depends on neither the order
of the columns nor the version of a library. A hash confirms a row that one has, or guesses, and
tells no other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl

Array = np.ndarray

# So many of the smallest hashes are kept as a sample of the rows.
SAMPLED = 512


@dataclass(frozen=True, slots=True, eq=False)
class Fingerprint:
    """Knows a table and its training rows again, whatever the order of the rows.

    Attributes
    ----------
    table_rows, rows : int
        The number of rows of the table, and of those for training.
    table, training : str
        The hash of all rows of the table, and of those for training.
    places : ndarray of uint8
        Of the rows of the table in the order of their hashes, whether each is for training; packed,
        eight to a byte.
    sample : ndarray of uint64
        The smallest hashes of training rows, at most `SAMPLED`: a random sample of them.
    """

    table_rows: int
    rows: int
    table: str
    training: str
    places: Array
    sample: Array

    def __post_init__(self) -> None:
        fits = 0 <= self.rows <= self.table_rows and len(self.places) == -(-self.table_rows // 8)
        if not fits or self.places.dtype != np.uint8 or self.sample.dtype != np.uint64:
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
        if len(hashes) == self.rows and joined(hashes) == self.training:
            return np.arange(len(hashes))
        if len(hashes) != self.table_rows or joined(hashes) != self.table:
            return None
        is_training = np.unpackbits(self.places, count=self.table_rows).astype(bool)
        return np.sort(np.argsort(hashes, kind="stable")[is_training])

    def share_in(self, hashes: Array) -> float:
        """About which share of the training rows is among the rows with these hashes."""
        return float(np.isin(self.sample, hashes).mean()) if len(self.sample) else 0.0


def fingerprint(hashes: Array, rows: Array) -> Fingerprint:
    """The fingerprint of a table by the hashes of its rows, `rows` being those for training."""
    is_training = np.zeros(len(hashes), bool)
    is_training[rows] = True
    trained = hashes[is_training]
    return Fingerprint(
        len(hashes),
        int(is_training.sum()),
        joined(hashes),
        joined(trained),
        np.packbits(is_training[np.argsort(hashes, kind="stable")]),
        np.unique(trained)[:SAMPLED],
    )


def joined(hashes: Array) -> str:
    """One hash of many, whatever their order."""
    return hashlib.blake2b(np.sort(hashes).tobytes(), digest_size=16).hexdigest()


def row_hashes(columns: Iterable[pl.Series]) -> Array:
    """The hash of each row of numbers, dates and texts."""
    total: Array | None = None
    for series in columns:
        # The name gives each column its own place in the sum.
        part = _mixed(_bits(series) + np.uint64(_hash_of(series.name)))
        total = part if total is None else total + part
    return np.zeros(0, np.uint64) if total is None else _mixed(total)


def _bits(series: pl.Series) -> Array:
    if series.dtype == pl.String:
        return _bits_of_texts(series)
    if series.dtype.is_temporal():
        return series.to_physical().cast(pl.Int64).fill_null(-(1 << 62)).to_numpy().view(np.uint64)
    # Adding 0 makes one of both zeros, and one NaN stands for all that is missing.
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
