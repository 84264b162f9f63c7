"""What neighbours say of rows that they have not seen: exactly, by not finding them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..._ground.design import Design
from ...unseen import LARGE_ROWS, LARGE_SAMPLE, NotAvailable, Refittable, Version, drawn, equal_rows
from .searches import search_of
from .votes import Voters

Array = np.ndarray


class NeighborsFit(Refittable):
    """Training rows that vote, and how they vote without some of them.

    Parameters
    ----------
    estimator : SupervisedNeighbors
        The fitted model.
    data : NeighborsData
        The data of the fit; units and levels of mixed rows count as given.
    k : int, default=None
        The number of neighbours, if another than the model's.
    """

    # So many times as many neighbours with each step.
    MORE = 3.0

    def __init__(self, estimator: Any, data: Any, k: int | None = None):
        outputs = data.outputs
        super().__init__(Design(data.rows), _as_given(data), outputs.sample_weight)
        self.estimator, self.data, self._k = estimator, data, k
        self.has_classes = outputs.classes is not None and outputs.is_flat

    @property
    def k(self) -> int:
        """The number of neighbours."""
        return self.estimator._requested_neighbors if self._k is None else self._k

    @property
    def interpolates(self) -> bool:
        """Whether a row is its own nearest neighbour and outweighs all others."""
        return self.estimator.weights == "distance"

    @property
    def targets(self) -> Array:
        """Positions of classes, or numbers."""
        y = self.data.outputs.y
        if self.has_classes:
            return y[:, 0].astype(np.int64)
        return y[:, 0] if self.data.outputs.is_flat else y

    @property
    def outputs(self) -> int:
        """How many numbers a row is told."""
        classes = self.data.outputs.classes
        return self.data.outputs.y.shape[1] if classes is None else sum(map(len, classes))

    @cached_property
    def same(self) -> Array:
        """Numbers of the rows x, the same for equal ones; missing values are equal."""
        return equal_rows(self.data.rows)

    @cached_property
    def labels(self) -> Array:
        """Numbers of the rows (x, y), the same for equal ones, by content."""
        return equal_rows(self.data.rows, self.data.outputs.y)

    @property
    def is_large(self) -> bool:
        """Whether asking for all rows takes long."""
        return len(self.weights) > LARGE_ROWS

    @cached_property
    def asked(self) -> Array:
        """The rows that are looked at: all, or those of a sample of many units."""
        counted = np.flatnonzero(self.is_counted)
        if not self.is_large:
            return counted
        chosen = drawn(self.units, LARGE_SAMPLE, self.targets if self.has_classes else None)
        return counted[np.isin(self.units[counted], chosen)]

    # ---- predicting ------------------------------------------------------------------------------

    @cached_property
    def predictions(self) -> Array:
        """What the model predicts for its own rows, (n, ΣK); NaN for those not looked at."""
        return self._spread(self.asked, self.model(self.design.rows(self.asked)))

    def _spread(self, rows: Array, of_rows: Array) -> Array:
        out = np.full((len(self.weights), of_rows.shape[1]), np.nan)
        out[rows] = of_rows
        return out

    @property
    def model(self):
        """All rows."""
        return self._told_by(self.estimator._voters, np.flatnonzero(self.is_counted), self.k)

    def fit_to(self, rows):
        """Some rows alone."""
        form = self.estimator._form(self.data.rows, self.data.mixed)
        part = self.data.rows[rows]
        part = part[:, rows] if self.estimator._is_precomputed else part
        search = search_of(part, form, self.estimator.algorithm, self.estimator.leaf_size)
        weights = None if self.data.is_unit else self.data.outputs.weights[rows]
        voters = Voters(search, weights, self.estimator.weights, self.estimator.ties)
        total = len(rows) if weights is None else int(weights.sum())
        return self._told_by(voters, rows, max(min(self.k, total), 1))

    def _told_by(self, voters: Voters, rows: Array, k: int):
        """What these rows say, as a function of rows to predict."""
        y = self.data.outputs.y[rows]

        def predict(design: Design) -> Array:
            X = design.X[:, rows] if self.estimator._is_precomputed else design.X
            return self.estimator._from_votes(*voters.around(X, k)[1:], y)

        return predict

    # ---- leaving out -----------------------------------------------------------------------------

    def held_out(self, groups):
        """Exact: a row finds none of its own unit."""
        rows, found = self.neighbors_without(self.asked, self.k, groups)
        voters = self.estimator._voters
        votes = voters.weighed(*found)
        y = self.data.outputs.y[np.flatnonzero(self.is_counted)]
        return self._spread(rows, self.estimator._from_votes(found[1], votes, y))

    def neighbors_without(
        self, rows: Array, k: int, groups: Array | None = None
    ) -> tuple[Array, tuple[Array, Array, Array]]:
        """Rows, and distances, positions and counts of their neighbours in no unit of their own."""
        counted = np.flatnonzero(self.is_counted)
        units = np.asarray(self.units if groups is None else groups, dtype=np.int64)
        labels = np.ascontiguousarray(units[counted])
        if np.all(labels == labels[0]):
            raise NotAvailable("nothing would be left to learn from")
        X = self.design.rows(rows).X
        X = X[:, counted] if self.estimator._is_precomputed else X
        return rows, self.estimator._voters.nearest(X, k, units[rows], labels)

    def without_each(self, rows):
        """Folds are cheaper."""
        raise NotAvailable("leaving a row out takes refits, so folds are used")

    @property
    def is_plain(self) -> bool:
        """Whether it answers with classes alone: one neighbour has no other vote beside it."""
        return self.has_classes and self.k == 1

    @property
    def plain_rows(self):
        """The rows, where they are no distances."""
        return None if self.estimator._is_precomputed else self.design

    def simpler(self):
        """More neighbours."""
        return [lambda step: self._with(self.MORE**step)]

    def richer(self):
        """Fewer neighbours."""
        return [lambda step: self._with(self.MORE**-step)]

    def _with(self, factor: float) -> Version | None:
        """So many times as many neighbours, as far as there are so many rows."""
        total = float(self.weights[self.is_counted].sum())
        of_unit = np.bincount(self.units[self.is_counted], self.weights[self.is_counted])
        most = max(int(total - of_unit.max()), 1)
        k = min(max(round(self.k * factor), 1), most)
        if k == self.k:
            return None
        return Version(NeighborsFit(self.estimator, self.data, k), f"n_neighbors={k}")


def _as_given(data: Any) -> Array:
    """Targets as predictions are compared with them."""
    y, classes = data.outputs.y, data.outputs.classes
    if classes is not None:
        columns = [own[of.astype(int)] for own, of in zip(classes, y.T)]
        return columns[0] if data.outputs.is_flat else np.stack(columns, axis=1)
    return y if data.is_matrix else y[:, 0]
