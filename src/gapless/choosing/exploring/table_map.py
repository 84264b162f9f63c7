"""TableMap: components and groups of the rows of a table, to place the rows of other tables."""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..._ground.stored import Declaration, Each, FittedModel, Nothing, Numbers, Value, Whole, Word
from ...data import (
    BoundedNumbers,
    Column,
    LevelContrasts,
    ReadingOptions,
    Table,
    TableProfile,
    profile_table,
    table_of,
)

Array = np.ndarray

# Place this many rows at once, which bounds the memory of their features.
ROWS = 20_000
# The training distances kept, and the least variance of a column or component, of 1.
MOST_DISTANCES, LEAST_VARIANCE = 2_000, 1e-4


@dataclass(frozen=True, eq=False)
class Factors:
    """Rows that vary along directions, and in each column on their own: Σ = V S Vᵀ + N.

    Attributes
    ----------
    directions : ndarray of shape (d, m)
        V, orthonormal.
    spread : ndarray of shape (m,)
        S, the variance along each.
    noise : ndarray of shape (d,)
        N, the variance of each column that is left.
    """

    directions: Array
    spread: Array
    noise: Array

    @cached_property
    def _inner(self) -> Array:
        """(S⁻¹ + VᵀN⁻¹V)⁻¹, for Σ⁻¹ by the formula of Woodbury."""
        scaled = self.directions / self.noise[:, None]
        return np.linalg.inv(np.diag(1.0 / self.spread) + self.directions.T @ scaled)

    def precision_times(self, rows: Array) -> Array:
        """Σ⁻¹ times each row, (n, d)."""
        scaled = rows / self.noise
        return scaled - (scaled @ self.directions @ self._inner) @ (self.directions.T / self.noise)

    def precision_of(self, where: slice | Array) -> Array:
        """The block of Σ⁻¹ of some columns."""
        part = self.directions[where] / self.noise[where, None]
        return np.diag(1.0 / self.noise[where]) - part @ self._inner @ part.T

    def filled(self, rows: Array, blank: Array) -> Array:
        """Rows around their mean, with what is expected of the blank entries given the others.

        With P = Σ⁻¹ that is the x_b for which (Px)_b = 0.
        """
        rows = np.where(blank, 0.0, rows)
        patterns, of_row = np.unique(blank, axis=0, return_inverse=True)
        for k, pattern in enumerate(patterns):
            of_pattern, columns = np.flatnonzero(of_row.ravel() == k), np.flatnonzero(pattern)
            pulled = self.precision_times(rows[of_pattern])[:, columns]
            expected = -np.linalg.solve(self.precision_of(columns), pulled.T).T
            rows[np.ix_(of_pattern, columns)] = expected
        return rows


def name_of(place: int) -> str:
    """The name of a group: A to Z, then A2 and so on."""
    letter, turn = string.ascii_uppercase[place % 26], place // 26
    return f"{letter}{turn + 1}" if turn else letter


def in_order(names: Sequence[str]) -> Array:
    """The positions of names of groups in the order of the groups."""
    return np.array(
        sorted(range(len(names)), key=lambda k: (len(names[k]), names[k][1:], names[k]))
    )


class TableMap(BaseEstimator):
    """Where the rows of a table are among those it was learned from.

    Made by `gapless.explore`.

    Parameters
    ----------
    pipeline : sklearn.pipeline.Pipeline
        Preparation and components, from `gapless.data.prepare`.
    clusters : estimator or None, default=None
        The groups of rows in the space of the components; None for one cloud without groups.
    places : sequence of int or None, default=None
        The components, from 0 on, in which rows are grouped; all if None.

    Attributes
    ----------
    pipeline_ : sklearn.pipeline.Pipeline
        The preparation and the components, fitted.
    clusters_ : estimator or None
        The groups.
    places_ : ndarray of int
        The components in which rows are grouped.
    centres_ : ndarray of shape (k, m)
        The mean of each group on all components.
    names_ : list of str
        The name of each group: A, B, C and so on, the largest first.
    shown_ : int
        The number of components that `gapless predict` writes.
    spread_ : ndarray of shape (m,)
        The variance of the rows of a group along each component.
    noise_ : ndarray of shape (d,)
        The variance of each prepared column that the components leave unexplained.
    distances_ : ndarray of shape (r,)
        Distances of the training rows from their group in rising order, at most 2,000 of them.
    columns_ : tuple of Column
        The columns of the table and their roles.
    rows_ : int
        The number of training rows.
    profile_ : TableProfile
        A summary of the training rows.
    record_ : str
        What was found, as JSON; "" if nothing is recorded.
    reading_ : ReadingOptions
        How the table was read; the tool reads other tables the same way.

    Examples
    --------
    >>> import gapless
    >>> from gapless.data import load_builtin
    >>> table = load_builtin("iris")
    >>> model = gapless.explore(table, drop=["species"]).model
    >>> model.predict(table.frame[:3]).tolist()
    ['B', 'B', 'B']
    """

    _stored: ClassVar[Declaration] = {
        "pipeline_": Value(Pipeline),
        "clusters_": FittedModel() | Nothing(),
        "places_": Numbers(None, types="i", below="components"),
        "centres_": Numbers("groups", "components"),
        "names_": Each(Word(), "groups"),
        "shown_": Whole(),
        "spread_": Numbers("components", is_positive=True),
        "noise_": Numbers(None, is_positive=True),
        "distances_": Numbers(None, low=0.0),
        "columns_": Each(Value(Column)),
        "rows_": Whole(),
        "profile_": Value(TableProfile),
        "record_": Word(),
        "reading_": Value(ReadingOptions),
    }

    pipeline_: Any
    clusters_: Any
    places_: Array
    centres_: Array
    names_: list[str]
    columns_: tuple[Column, ...]
    profile_: TableProfile
    distances_: Array

    def __init__(self, pipeline: Any, clusters: Any = None, places: Sequence[int] | None = None):
        self.pipeline = pipeline
        self.clusters = clusters
        self.places = places

    def fit(self, table: Any, y: Any = None) -> TableMap:
        """Learn the components and groups of a table.

        Parameters
        ----------
        table : Table, or data frame of polars or pandas
            The table.
        y : ignored

        Returns
        -------
        TableMap
        """
        table = table_of(table)
        pipeline = clone(self.pipeline)
        scores = pipeline.fit_transform(table.frame)
        where = list(range(scores.shape[1]) if self.places is None else self.places)
        clusters = None if self.clusters is None else clone(self.clusters).fit(scores[:, where])
        self.learn(pipeline, clusters, pipeline[:-1].transform(table.frame))
        self.remember(table, pipeline[0].columns, np.arange(len(table)))
        return self

    def learn(
        self, pipeline: Any, clusters: Any, prepared: Array, shown: int | None = None
    ) -> None:
        """Take over fitted parts, and learn how far rows are from their groups.

        Parameters
        ----------
        pipeline : sklearn.pipeline.Pipeline
            Preparation and components, fitted.
        clusters : estimator or None
            The groups, fitted to the coordinates.
        prepared : ndarray of shape (n, d)
            The training rows after the preparation.
        shown : int or None, default=None
            The number of components to write; all if None.
        """
        self.pipeline_, self.clusters_ = pipeline, clusters
        scores = pipeline[-1].transform(prepared)
        width = scores.shape[1]
        self.places_ = np.array(range(width) if self.places is None else self.places, dtype=int)
        labels = self._labels(scores)
        groups = 1 if clusters is None else len(clusters.cluster_centers_)
        sizes = np.bincount(labels, minlength=groups)
        order = np.argsort(-sizes, kind="stable").tolist()
        self.names_ = [name_of(order.index(k)) for k in range(groups)]
        sums = np.zeros((groups, width))
        np.add.at(sums, labels, scores)
        self.centres_ = sums / np.maximum(sizes, 1)[:, None]
        self.shown_ = width if shown is None else int(shown)
        inside = scores - self.centres_[labels]
        self.spread_ = np.maximum(np.mean(inside**2, axis=0), LEAST_VARIANCE)
        rest = prepared - pipeline[-1].inverse_transform(scores)
        self.noise_ = np.maximum(np.mean(rest**2, axis=0), LEAST_VARIANCE)

    def remember(
        self, table: Table, columns: Sequence[Column], rows: Array
    ) -> tuple[Array, Array, Array]:
        """Store a summary of the training rows, and place them.

        Parameters
        ----------
        table : Table
            The table.
        columns : sequence of Column
            All its columns with their roles.
        rows : ndarray of int
            The training rows.

        Returns
        -------
        scores, labels, distances : ndarray
            As those of `place`, in the order of `rows`.
        """
        self.columns_, self.rows_ = tuple(columns), len(rows)
        self.profile_ = profile_table(table, self.columns_, np.sort(rows))
        self.record_, self.reading_ = "", table.options
        placed = self.place(table.frame[rows])
        ordered = np.sort(placed[2])
        most = min(len(ordered), MOST_DISTANCES)
        # Of many, some at equal ranks.
        self.distances_ = ordered[np.linspace(0, len(ordered) - 1, most).round().astype(int)]
        return placed

    def _labels(self, scores: Array) -> Array:
        """The place of each row's group among the centres."""
        if self.clusters_ is None:
            return np.zeros(len(scores), dtype=int)
        return np.asarray(self.clusters_.predict(scores[:, self.places_]))

    def transform(self, table: Any) -> Array:
        """The coordinates of rows: their scores on the components.

        Parameters
        ----------
        table : Table, or data frame of polars or pandas
            Rows with the columns of the map.

        Returns
        -------
        ndarray of shape (n, m)
        """
        return self.place(table)[0]

    def predict(self, table: Any) -> Array:
        """The group of each row.

        Parameters
        ----------
        table : Table, or data frame of polars or pandas
            Rows with the columns of the map.

        Returns
        -------
        ndarray of str, shape (n,)
            Names of groups; "A" for all rows if there are no groups.
        """
        return np.array(self.names_, dtype=object)[self.place(table)[1]]

    def unusual(self, table: Any) -> Array:
        """How unusual each row is: the share of training rows that are nearer to their group.

        Parameters
        ----------
        table : Table, or data frame of polars or pandas
            Rows with the columns of the map.

        Returns
        -------
        ndarray of shape (n,)
            From 0 to 1.
        """
        return self.ranks(self.place(table)[2])

    def ranks(self, distances: Array) -> Array:
        """The share of training rows at smaller distances."""
        return np.searchsorted(self.distances_, distances) / len(self.distances_)

    def place(self, table: Any) -> tuple[Array, Array, Array]:
        """Where rows are: their coordinates, the place of their group, and their distance from it.

        Parameters
        ----------
        table : Table, or data frame of polars or pandas
            Rows with the columns of the map.

        Returns
        -------
        scores, labels, distances : ndarray of shape (n, m), (n,) and (n,)
            That of Mahalanobis, from the centre of the group, for rows that vary alike in all
            groups: along the components, and each column on its own.
        """
        check_is_fitted(self)
        frame = table.frame if isinstance(table, Table) else table
        parts = [
            self._place(self.prepare(frame[first : first + ROWS]))
            for first in range(0, max(len(frame), 1), ROWS)
        ]
        scores, labels, distances = zip(*parts)
        return np.vstack(scores), np.concatenate(labels), np.concatenate(distances)

    def prepare(self, frame: Any) -> Array:
        """Rows as numbers; missing ones are what is expected of them given the rest of the row.

        Parameters
        ----------
        frame : data frame
            Rows with the columns of the map.

        Returns
        -------
        ndarray of shape (n, d)
        """
        features = self.pipeline_[0].transform(frame)
        prepared = self.pipeline_[1].transform(features)
        numbers = self.pipeline_[1].named_transformers_.get("number")
        if numbers is None:
            return prepared
        missing = np.zeros(prepared.shape, dtype=bool)
        for k, name in enumerate(numbers.feature_names_in_):
            missing[:, k] = features[str(name)].is_null().to_numpy()
        rows = np.flatnonzero(missing.any(axis=1))
        components = self.pipeline_[-1]
        spread = np.maximum(components.explained_variance_, LEAST_VARIANCE)
        whole = Factors(components.components_.T, spread, self.noise_)
        mean = components.mean_
        prepared[rows] = mean + whole.filled(prepared[rows] - mean, missing[rows])
        return prepared

    def _place(self, prepared: Array) -> tuple[Array, Array, Array]:
        scores = self.pipeline_[-1].transform(prepared)
        labels = self._labels(scores)
        apart = prepared - self.typical_rows()[labels]
        squares = np.einsum("ij,ij->i", apart, self.factors.precision_times(apart))
        return scores, labels, np.sqrt(np.maximum(squares, 0.0))

    def typical_rows(self) -> Array:
        """The prepared row at the centre of each group, (k, d)."""
        return np.asarray(self.pipeline_[-1].inverse_transform(self.centres_))

    @property
    def factors(self) -> Factors:
        """How the rows of a group vary around its centre."""
        return Factors(self.pipeline_[-1].components_.T, self.spread_, self.noise_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.input_tags.string = tags.input_tags.allow_nan = True
        return tags


def _part_of(pipeline: Any, name: str) -> Any:
    return dict(pipeline["features"].named_transformers_).get(name)


def numbers_of(pipeline: Any) -> BoundedNumbers | None:
    """The fitted scales of numbers and dates in a preparation."""
    return _part_of(pipeline, "number")


def levels_of(pipeline: Any) -> LevelContrasts | None:
    """The fitted levels of categories in a preparation."""
    return _part_of(pipeline, "category")


def column_blocks(pipeline: Any) -> list[tuple[str, slice]]:
    """Each column of the table, and where it is among the prepared ones."""
    blocks, first = [], 0
    numbers, levels = numbers_of(pipeline), levels_of(pipeline)
    if numbers is not None:
        for name in numbers.feature_names_in_:
            blocks.append((str(name), slice(first, first + 1)))
            first += 1
    if levels is not None:
        for name, shares in levels.shares_.items():
            width = max(len(shares) - 1, 0)
            blocks.append((name, slice(first, first + width)))
            first += width
    return blocks
