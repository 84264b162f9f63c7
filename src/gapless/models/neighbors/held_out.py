"""What neighbours predict for unseen rows: exactly, by not finding the rows themselves.

So the number of neighbours is chosen by leave-one-out, all numbers at once: one search finds the
most neighbours of each row that are not in its own unit, and the votes of the first k of them are
those of the model with k neighbours.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..._ground.design import Design
from ..._ground.interrupt import TimeLimit, check, time_limit
from ...solvers import Trace
from ...unseen import (
    LARGE_ROWS,
    LARGE_SAMPLE,
    MergedRows,
    NotAvailable,
    Refittable,
    ScoredChoice,
    Version,
    drawn,
    equal_rows,
)
from .searches import search_of
from .votes import Voters, counted, running_sums, weigh

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

    # By what factor the number of neighbours changes with each step.
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
        """How many numbers are predicted for a row."""
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
        """Whether searching all rows takes long."""
        return len(self.weights) > LARGE_ROWS

    @cached_property
    def tested(self) -> Array:
        """The rows considered: all, or those of a sample of many units."""
        counted = np.flatnonzero(self.is_counted)
        if not self.is_large:
            return counted
        chosen = drawn(self.units, LARGE_SAMPLE, self.targets if self.has_classes else None)
        return counted[np.isin(self.units[counted], chosen)]

    # ---- predicting ------------------------------------------------------------------------------

    @cached_property
    def predictions(self) -> Array:
        """The model's predictions for its training rows, (n, ΣK); NaN for those not considered."""
        return self._spread(self.tested, self.model(self.design.rows(self.tested)))

    def _spread(self, rows: Array, of_rows: Array) -> Array:
        out = np.full((len(self.weights), of_rows.shape[1]), np.nan)
        out[rows] = of_rows
        return out

    @property
    def model(self):
        """All rows."""
        return self._predictor(self.estimator._voters, np.flatnonzero(self.is_counted), self.k)

    def fit_to(self, rows):
        """Some rows alone."""
        form = self.estimator._form(self.data.rows, self.data.mixed)
        part = self.data.rows[rows]
        part = part[:, rows] if self.estimator._is_precomputed else part
        search = search_of(part, form, self.estimator.algorithm, self.estimator.leaf_size)
        weights = None if self.data.is_unit else self.data.outputs.weights[rows]
        voters = Voters(search, weights, self.estimator.weights, self.estimator.ties)
        total = len(rows) if weights is None else int(weights.sum())
        return self._predictor(voters, rows, max(min(self.k, total), 1))

    def _predictor(self, voters: Voters, rows: Array, k: int):
        """What the votes of these rows predict, as a function of rows to predict."""
        y = self.data.outputs.y[rows]

        def predict(design: Design) -> Array:
            X = design.X[:, rows] if self.estimator._is_precomputed else design.X
            return self.estimator._from_votes(*voters.around(X, k)[1:], y)

        return predict

    # ---- leaving out -----------------------------------------------------------------------------

    def held_out(self, groups):
        """Exact: a row finds none of its own unit."""
        rows, found = self.neighbors_without(self.tested, self.k, groups)
        voters = self.estimator._voters
        votes = voters.weighed(*found)
        y = self.data.outputs.y[np.flatnonzero(self.is_counted)]
        return self._spread(rows, self.estimator._from_votes(found[1], votes, y))

    def neighbors_without(
        self, rows: Array, k: int, groups: Array | None = None
    ) -> tuple[Array, tuple[Array, Array, Array]]:
        """Rows, and distances, positions and counts of their neighbours outside their own unit."""
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
        """Whether it predicts classes alone: one neighbour has no other vote next to it."""
        return self.has_classes and self.k == 1

    @property
    def plain_rows(self):
        """The rows, unless they are distances."""
        return None if self.estimator._is_precomputed else self.design

    def simpler(self):
        """More neighbours."""
        return [lambda step: self._with(self.MORE**step)]

    def richer(self):
        """Fewer neighbours."""
        return [lambda step: self._with(self.MORE**-step)]

    def _with(self, factor: float) -> Version | None:
        """The same with `factor` times as many neighbours, as far as there are enough rows."""
        total = float(self.weights[self.is_counted].sum())
        of_unit = np.bincount(self.units[self.is_counted], self.weights[self.is_counted])
        most = max(int(total - of_unit.max()), 1)
        k = min(max(round(self.k * factor), 1), most)
        if k == self.k:
            return None
        return Version(NeighborsFit(self.estimator, self.data, k), f"n_neighbors={k}")


def _as_given(data: Any) -> Array:
    """Targets with which predictions are compared."""
    y, classes = data.outputs.y, data.outputs.classes
    if classes is not None:
        columns = [own[of.astype(int)] for own, of in zip(classes, y.T)]
        return columns[0] if data.outputs.is_flat else np.stack(columns, axis=1)
    return y if data.is_matrix else y[:, 0]


# Up to twice the root of the number of rows are tried, within these bounds.
FEWEST, MOST = 30, 250
# Units to leave out at most, and at a time.
MOST_UNITS, AT_A_TIME = 10_000, 1000


def choose_k(
    fitted: NeighborsFit, select: str, seconds: float | None, callback: Any
) -> tuple[ScoredChoice | None, str]:
    """The number of neighbours, and how the search for it ended: "found" or by what."""
    ks = _numbers(fitted)
    units = fitted.units
    order = drawn(units, min(int(units.max()) + 1, MOST_UNITS))
    held = _Scores(fitted, ks)
    status, trace = "found", Trace()
    try:
        with time_limit(seconds):
            for start in range(0, len(order), AT_A_TIME):
                check()
                held.add(np.flatnonzero(np.isin(units, order[start : start + AT_A_TIME])))
                trace.steps += 1
                trace.primal.append(-float(np.max(held.means)))
                if callback(trace, np.inf):
                    break
    except TimeLimit:
        status = "time_limit"
    except KeyboardInterrupt:
        status = "interrupted"
    return (held.choice(select, len(order)) if held.parts else None), status


def _numbers(fitted: NeighborsFit) -> Array:
    """The numbers to try, the largest first: the simplest model."""
    is_counted = fitted.is_counted
    of_unit = np.bincount(fitted.units[is_counted], fitted.weights[is_counted])
    left = int(of_unit.sum() - of_unit.max())
    if left < 1:
        raise ValueError(
            f"{type(fitted.estimator).__name__} cannot choose n_neighbors from n_samples = "
            f"{np.count_nonzero(is_counted)} distinct rows, since nothing would be left to learn "
            "from; give a number."
        )
    most = int(np.clip(2 * np.sqrt(of_unit.sum()), FEWEST, MOST))
    return np.arange(min(most, left), 0, -1)


class _Scores:
    """Scores of left-out rows, for every number of neighbours."""

    def __init__(self, fitted: NeighborsFit, ks: Array):
        self.fitted, self.ks = fitted, ks
        self.parts: list[tuple[Array, Array, Array]] = []
        y, weights = fitted.data.outputs.y, fitted.weights
        mean = np.average(y, axis=0, weights=weights)
        spread = np.average((y - mean) ** 2, axis=0, weights=weights)
        # R² is the mean of 1 − e²/spread over rows.
        self.spread = np.where(spread > 0, spread, 1.0)

    def add(self, rows: Array) -> None:
        """Leave these rows out, whole units."""
        _, found = self.fitted.neighbors_without(rows, int(self.ks[0]))
        y = self.fitted.data.outputs.y[rows]
        by, shown = np.empty((len(rows), len(self.ks))), np.empty((len(rows), len(self.ks)))
        for at, predicted in enumerate(self._predictions_by_k(found)):
            if self.fitted.data.outputs.classes is not None:
                by[:, at] = shown[:, at] = self._hits(predicted, y)
            else:
                squares = (predicted - y) ** 2
                by[:, at] = -np.mean(squares, axis=1)
                shown[:, at] = 1 - np.mean(squares / self.spread, axis=1)
        self.parts.append((rows, by, shown))

    def _hits(self, predicted: Array, y: Array) -> Array:
        """Whether the classes of all outputs are right."""
        shares = self.fitted.estimator._by_output(predicted)
        right = [np.argmax(part, axis=1) == of for part, of in zip(shares, y.T)]
        return np.all(right, axis=0)

    def _predictions_by_k(self, found: tuple[Array, Array, Array]):
        """What the first k neighbours predict, for each k, the largest first."""
        distances, rows, _ = found
        estimator, fitted = self.fitted.estimator, self.fitted
        is_counted = np.flatnonzero(fitted.is_counted)
        y = fitted.data.outputs.y[is_counted]
        weights = np.where(rows >= 0, fitted.data.outputs.weights[is_counted][rows], 0.0)
        at_all = None if callable(estimator.weights) else weigh(distances, estimator.weights)
        if at_all is not None and estimator.ties == "first" and fitted.data.is_unit:
            sums = running_sums(rows, weights * at_all, self._targets(y))
            totals = np.cumsum(weights * at_all, axis=1)
            yield from (sums[:, k - 1] / totals[:, k - 1, None] for k in self.ks)
            return
        for k in self.ks:
            counts = counted(distances, weights, k, estimator.ties)
            # Farther rows do not count.
            width = int(np.max(np.sum(counts > 0, axis=1), initial=1))
            near = weigh(distances[:, :width], estimator.weights) if at_all is None else at_all
            yield estimator._from_votes(rows[:, :width], counts[:, :width] * near[:, :width], y)

    def _targets(self, y: Array) -> Array:
        """What neighbours vote for: their targets, or 1 for their class in each output."""
        classes = self.fitted.data.outputs.classes
        if classes is None:
            return y
        return np.hstack([np.eye(len(of))[y[:, k].astype(int)] for k, of in enumerate(classes)])

    # ---- choosing --------------------------------------------------------------------------------

    def _by_unit(self) -> tuple[Array, Array, Array]:
        """Scores of the units, those that decide and those that are shown, and their weights."""
        rows, by, shown = (np.concatenate(part) for part in zip(*self.parts))
        # In the order of their content, so that sums have the same bits in any order of the rows.
        order = np.argsort(self.fitted.units[rows], kind="stable")
        weights = self.fitted.weights[rows[order]]
        # Renumbered, so that rows that are all different need no means.
        own = np.unique(self.fitted.units[rows[order]], return_inverse=True)[1]
        units = MergedRows.by(own, weights)
        return units.means(by[order], weights), units.means(shown[order], weights), units.weights

    @property
    def means(self) -> Array:
        """The deciding score of each number of neighbours."""
        by, _, weights = self._by_unit()
        return np.average(by, axis=0, weights=weights)

    def choice(self, select: str, count: int) -> ScoredChoice:
        """The best number, or the largest within a standard error of it."""
        by, shown, weights = self._by_unit()
        is_class = self.fitted.data.outputs.classes is not None
        return ScoredChoice.of(
            {"n_neighbors": self.ks.astype(float)},
            shown,
            by,
            weights,
            metric="accuracy" if is_class else "neg_mean_squared_error",
            select=select,
            is_whole=len(weights) == count == int(self.fitted.units.max()) + 1,
        )
