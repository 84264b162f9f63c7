"""A walk along strengths: the models so far, and what they say of rows held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...problem import Parameters
from ...solvers import Station, Trace, predict_without
from ...unseen import (
    LOO,
    Fitted,
    NotAvailable,
    by_appearance,
    by_formula,
    leave_out,
    left_together,
    mean_and_error,
)
from .held_out import row_scores
from .strengths import scaled
from .trail import Trail

Array = np.ndarray
# A path may end after so many strengths that were worse than the best by so many standard errors.
PATIENCE, CLEARLY = 3, 2.0
# So many of the rows that lie farthest out are left out by real refits, from which models learn
# whose strengths are within so many decades, the less the farther they are.
FARTHEST, REACH = 10, 2.0


class Walk:
    """The models and held-out predictions so far."""

    def __init__(self, fitted: Fitted, weights: Array):
        self.fitted, self.weights = fitted, weights
        counted = fitted.is_counted
        together = left_together(fitted.design, fitted.targets, counted)
        self.units, self.first = by_appearance(together, counted)
        self.seen, self.refusal = 0, ""
        self.strengths: list[float] = []
        self.reached: list[Sequence[Station]] = []
        self.stations: list[list[Station]] = []
        self.z: list[Array] = []
        self.unseen: list[float] = []
        self.errors: list[float] = []
        self.method = LOO
        # Whether all rows are judged.
        self.is_whole = True

    def hold_out(self, folds: Sequence[tuple[Array, Array]]) -> None:
        """Judge the rows that folds (train, test) hold out; by one fold, those of a sample.

        Not those of classes that a fold has no row of to train on: no strength makes a model know
        more of them, and what it says of them is as wrong as can be, so that they would decide.
        """
        targets, is_judged = self.fitted.targets, np.zeros(len(self.weights), dtype=bool)
        for train, test in folds:
            is_known = np.isin(targets[test], targets[train]) | (not self.fitted.has_classes)
            is_judged[test[is_known]] = True
        is_missed = (self.weights > 0) & ~is_judged
        self.is_whole = not np.any(is_missed)
        self.weights = np.where(is_judged, self.weights, 0.0)
        if not np.any(self.weights):
            raise NotAvailable("no class has rows on both sides of a fold")
        self.method = f"{len(folds)}-fold"
        if len(folds) == 1:
            train, test = folds[0]
            self.method = f"hold-out of {len(test):,} of a sample of {len(train) + len(test):,}"

    def add(self, strength: float, stations: list[Station]) -> bool:
        """Hold out the rows at one more strength; False if that is refused, and was before.

        Strengths at the begin of a path may be so large that no row answers.
        """
        self.seen += 1
        self.reached.append(stations)
        try:
            z, self.method = _held_out(self.fitted, strength, stations)
        except NotAvailable as error:
            if self.unseen:
                raise
            self.refusal = str(error)
            return False
        self.note(strength, stations, z)
        return True

    def note(self, strength: float, stations: list[Station], z: Array) -> None:
        """Keep a model and its held-out predictions."""
        mean, error = mean_and_error(row_scores(self.fitted.problems, z), self.weights, self.units)
        self.strengths.append(strength)
        self.stations.append(stations)
        self.z.append(z)
        self.unseen.append(mean)
        self.errors.append(error)

    def settle(self) -> str:
        """Refit the model that seems best without its farthest rows, until it stays the best.

        One Newton step takes too lightly what the others will say of a row that they predict badly,
        the more so the weaker the penalty: of few rows, but they decide where the curve is flat.
        How much farther these rows really move, the other models learn from the nearest refits.
        """
        refitted: list[int] = []
        steps, place = list(self.z), np.log10(self.strengths)
        while len(self.fitted.problems) == 1 and self.unseen:
            best = int(np.argmax(self.unseen))
            if best in refitted or self.stations[best][0].curved is None:
                break
            rows, times = self._refit_farthest(best, steps[best][:, 0])
            decades = np.abs(place - place[best])
            from_others = np.abs(np.subtract.outer(place, place[refitted]))
            for k in np.flatnonzero(decades < np.min(from_others, axis=1, initial=REACH)):
                share = 1 - decades[k] / REACH
                self._move_farther(int(k), steps[k], rows, 1 + share * (times - 1))
            refitted.append(best)
        return "optimal"

    def _move_farther(self, k: int, step: Array, rows: Array, times: Array) -> None:
        """Move some rows so many times as far from the plain predictions as one Newton step."""
        curved = self.stations[k][0].curved
        if curved is None:
            return
        plain, z = curved.z[rows], step.copy()
        z[rows, 0] = plain + times * (step[rows, 0] - plain)
        scores = row_scores(self.fitted.problems, z)
        self.z[k] = z
        self.unseen[k], self.errors[k] = mean_and_error(scores, self.weights, self.units)

    def _refit_farthest(self, k: int, step: Array) -> tuple[Array, Array]:
        """The rows that lose most by being held out, and how many times as far they really move.

        `step` are the predictions (n,) by one Newton step. Rows of one x move together.
        """
        problem, station = self.fitted.problems[0], self.stations[k][0]
        assert station.curved is not None
        plain, value = station.curved.z, problem.loss.value
        lost = problem.weights * (value(problem.y, step) - value(problem.y, plain))
        farthest = np.argsort(-np.bincount(self.units, lost), kind="stable")[:FARTHEST]
        rows = self.first[farthest]
        found = predict_without(problem, self.strengths[k], station, rows)
        moved, really = step[rows] - plain[rows], found - plain[rows]
        is_known = np.isfinite(really) & (moved != 0)
        times = np.divide(really, moved, out=np.ones(len(rows)), where=is_known)
        if len(self.first) == len(self.units):
            return rows, times
        of_unit = np.full(len(self.first), np.nan)
        of_unit[farthest] = times
        rows = np.flatnonzero(np.isin(self.units, farthest))
        return rows, of_unit[self.units[rows]]

    def is_past(self, clearly: float = CLEARLY) -> bool:
        """Whether the last few were worse than the best by so many standard errors."""
        if not self.unseen:
            return False
        best = int(np.argmax(self.unseen))
        enough = self.unseen[best] - clearly * self.errors[best]
        last = self.unseen[best + 1 :]
        return len(last) >= PATIENCE and max(last[-PATIENCE:]) < enough

    def trace(self) -> Trace:
        """For progress: the steps so far."""
        last = self.stations[-1]
        steps = sum(station.steps for stations in self.stations for station in stations)
        gap = sum(station.gap for station in last)
        return Trace([-self.unseen[-1]], [gap], [0.0], steps)

    def trail(self, rows: Array, weights: Array, status: str) -> Trail:
        """All of it as plain data."""
        return Trail(
            strengths=np.array(self.strengths),
            gaps=np.array([sum(station.gap for station in s) for s in self.stations]),
            parameters=[[_without_dual(station) for station in s] for s in self.stations],
            rows=rows,
            weights=weights,
            z=np.stack(self.z, axis=1) if self.z and self.is_whole else None,
            unseen=np.array(self.unseen),
            standard_errors=np.array(self.errors),
            method=self.method,
            status=status,
        )


def _without_dual(station: Station) -> Parameters:
    """The dual point belongs to the distinct rows, and is not needed again."""
    return Parameters(station.parameters.w, station.parameters.b)


def _held_out(fitted: Fitted, strength: float, stations: list[Station]) -> tuple[Array, str]:
    """Predictions (n, K) of each row without those of its x, and the method."""
    parts = [p.with_penalty(scaled(p.penalty, strength)) for p in fitted.problems]
    if len(parts) == 1:
        held = leave_out(parts[0], stations[0].parameters, curved=stations[0].curved)
        return held.z.reshape(len(held.z), -1), held.method
    parameters = [station.parameters for station in stations]
    estimate = by_formula(replace(fitted, problems=parts, start=parameters))
    return estimate.z, estimate.method
