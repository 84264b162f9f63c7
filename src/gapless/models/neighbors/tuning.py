"""Choosing the number of neighbours by leave-one-out, all numbers at once.

One search finds the most neighbours of each row that are not in its own unit; the votes of the
first k of them are those of the model with k neighbours.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._ground.interrupt import TimeLimit, check, time_limit
from ...solvers import Trace
from ...unseen import (
    Choice,
    drawn,
)
from .held_out import NeighborsFit
from .votes import counted, running_sums, weigh

Array = np.ndarray

# Up to twice the root of the number of rows are tried, within these bounds.
FEWEST, MOST = 30, 250
# Units that are left out at most, and at a time.
MOST_UNITS, AT_A_TIME = 10_000, 1000


def choose_k(
    fitted: NeighborsFit, select: str, seconds: float | None, callback: Any
) -> tuple[Choice | None, str]:
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
    """Scores of rows that are left out, for every number of neighbours."""

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
        for at, told in enumerate(self._predictions_by_k(found)):
            if self.fitted.data.outputs.classes is not None:
                by[:, at] = shown[:, at] = self._hits(told, y)
            else:
                squares = (told - y) ** 2
                by[:, at] = -np.mean(squares, axis=1)
                shown[:, at] = 1 - np.mean(squares / self.spread, axis=1)
        self.parts.append((rows, by, shown))

    def _hits(self, told: Array, y: Array) -> Array:
        """Whether the classes of all outputs are right."""
        shares = self.fitted.estimator._by_output(told)
        right = [np.argmax(part, axis=1) == of for part, of in zip(shares, y.T)]
        return np.all(right, axis=0)

    def _predictions_by_k(self, found: tuple[Array, Array, Array]):
        """What the first k neighbours say, for each k, the largest first."""
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
            # Farther rows count for nothing.
            width = int(np.max(np.sum(counts > 0, axis=1), initial=1))
            near = weigh(distances[:, :width], estimator.weights) if at_all is None else at_all
            yield estimator._from_votes(rows[:, :width], counts[:, :width] * near[:, :width], y)

    def _targets(self, y: Array) -> Array:
        """What neighbours vote for: their targets, or of each output 1 for their class."""
        classes = self.fitted.data.outputs.classes
        if classes is None:
            return y
        return np.hstack([np.eye(len(of))[y[:, k].astype(int)] for k, of in enumerate(classes)])

    # ---- choosing --------------------------------------------------------------------------------

    def _by_unit(self) -> tuple[Array, Array, Array]:
        """Scores of the units, those that decide and those that are shown, and their weights."""
        rows, by, shown = (np.concatenate(part) for part in zip(*self.parts))
        weights = self.fitted.weights[rows]
        _, unit = np.unique(self.fitted.units[rows], return_inverse=True)
        if len(rows) == unit.max() + 1:
            order = np.argsort(unit)
            return by[order], shown[order], weights[order]
        total = np.bincount(unit, weights)

        def mean(scores: Array) -> Array:
            sums = np.zeros((len(total), scores.shape[1]))
            np.add.at(sums, unit, weights[:, None] * scores)
            return sums / total[:, None]

        return mean(by), mean(shown), total

    @property
    def means(self) -> Array:
        """The score that decides, of each number of neighbours."""
        by, _, weights = self._by_unit()
        return np.average(by, axis=0, weights=weights)

    def choice(self, select: str, count: int) -> Choice:
        """The best number, or the largest within a standard error of it."""
        by, shown, weights = self._by_unit()
        is_class = self.fitted.data.outputs.classes is not None
        return Choice.of(
            {"n_neighbors": self.ks.astype(float)},
            shown,
            by,
            weights,
            metric="accuracy" if is_class else "neg_mean_squared_error",
            select=select,
            is_whole=len(weights) == count == int(self.fitted.units.max()) + 1,
        )
