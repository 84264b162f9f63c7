"""What a search along paths has chosen, and the winner's score corrected for it.

The paths keep the held-out predictions of all models tried. On request, these become one score for
each row and model, those that are reported and those that decided, and `unseen.ScoredChoice`
corrects the winner's score.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...problem import Parameters
from ...unseen import METHODS, Fitted, Judge, MergedRows, ScoredChoice
from .path import Path, ScoredPath
from .path_following import ridge_path
from .strengths import is_ridge

Array = np.ndarray
# A verdict that calls for a penalty this many times as strong, or as weak, was answered by the
# search if it has tried one.
MUCH = 10.0


@dataclass(frozen=True, eq=False)
class PathChoice:
    """What a search chose: parameters of the estimator, and the paths on which it found them.

    Parameters
    ----------
    values : dict of str to float
        The tuned parameters by name.
    start : list of Parameters or None
        The solution there, if it is known.
    path : Path or None
        What users get.
    paths : list of ScoredPath
        All paths that were followed.
    on, winner : int
        The path and the place on it where the chosen model stands; −1 if it is none of its models.
    status : str
        "optimal", or what ended the search.
    extra : dict
        Further attributes of the fitted estimator by name.
    scoring : str, callable or None
        The scorer that chose; None is the loss.
    """

    values: dict[str, Any]
    start: list[Parameters] | None = None
    path: Path | None = None
    paths: list[ScoredPath] = field(default_factory=list)
    on: int = 0
    winner: int = 0
    status: str = "optimal"
    extra: dict[str, Any] = field(default_factory=dict)
    scoring: Any = None

    def attributes(self) -> dict[str, Any]:
        """The attributes of the fitted estimator about the choice."""
        known = {"path_": self.path} if self.path is not None else {}
        return {f"{name}_": value for name, value in self.values.items()} | known | self.extra

    def scored(self, model: Any, fitted: Fitted) -> ScoredChoice | None:
        """The same with the scores of all models tried, on all units.

        None if the chosen model is not one of them, or if folds left out some rows more often than
        others, for which no correction is known.
        """
        paths = [_with_predictions(path, fitted) for path in self.paths]
        followed = [k for k, path in enumerate(paths) if len(path.strengths)]
        if any(paths[k].z is None for k in followed) or self.on not in followed:
            return None
        part, rows, _ = fitted.merged(in_order=True)
        units = MergedRows.of(fitted.units[rows], part.weights)
        rivals = [_rivals(model, fitted, part, rows, paths[k], self.scoring) for k in followed]
        families = np.repeat(followed, [len(places) for places, *_ in rivals])
        places, shown, by = (np.concatenate(each) for each in zip(*rivals))
        chosen = np.flatnonzero((families == self.on) & (places == self.winner))
        if not len(chosen):
            return None
        own = paths[self.on]
        strengths = np.array([paths[k].strengths[at] for k, at in zip(families, places)])
        choice = ScoredChoice.of(
            {"strength": strengths},
            units.means(shown.T, part.weights),
            units.means(by.T, part.weights),
            units.weights,
            metric="score" if self.path is None else self.path.criterion_metric,
            select=model.select,
            chosen=int(chosen[0]),
        )
        refuted = _refuted(own, self.winner)
        return replace(choice, families=families, method=own.method, refuted=refuted)


def _refuted(path: ScoredPath, winner: int) -> tuple[str, ...]:
    """The verdicts that call for a penalty which folds tried and did not choose.

    The plain verdict leaves out single rows, and folds may know better which rows belong together.
    """
    if path.method in METHODS:
        return ()
    times = path.strengths / path.strengths[winner]
    is_tried = {"over-fitted": times.max() >= MUCH, "under-fitted": times.min() <= 1 / MUCH}
    return tuple(kind for kind, tried in is_tried.items() if tried)


def _with_predictions(path: ScoredPath, fitted: Fitted) -> ScoredPath:
    """The path with its held-out predictions, recomputed if they were not kept.

    Only those of leave-one-out can be: the user's folds may keep groups of rows together.
    """
    if path.z is not None or path.method != METHODS[0] or not is_ridge(fitted.problems):
        return path
    return ridge_path(fitted.problems[0], path.strengths, keep=True)


def _rivals(
    model: Any, fitted: Fitted, part: Fitted, rows: Array, path: ScoredPath, scoring: Any
) -> tuple[Array, Array, Array]:
    """Models of a path with a prediction for all rows, and their scores on the distinct rows.

    Their positions on the path (m,), the scores that are reported and those that decide, (m, r).
    """
    labels, first = np.unique(fitted.distinct[path.rows], return_index=True)
    z = path.z[first[np.searchsorted(labels, fitted.distinct[rows])]]
    order = np.arange(len(path.strengths))
    if model.select == "1se":  # the simplest first
        order = np.argsort(-path.strengths, kind="stable")
    order = order[np.all(np.isfinite(z[:, order]), axis=(0, 2))]
    reported, decisive = Judge(model, part.y, part.weights), _criterion(model, part, scoring)
    # Without a row its class is less frequent, which is corrected if single rows were left out.
    # Folds keep the class shares, or did not when they chose.
    is_moved = part.has_classes and path.method in METHODS
    shown = [reported.of_rows(part.with_shares(z[:, k]) if is_moved else z[:, k]) for k in order]
    by = [decisive(z[:, k]) for k in order]
    shape = len(order), len(rows)
    return order, np.reshape(np.array(shown), shape), np.reshape(np.array(by), shape)


def _criterion(model: Any, part: Fitted, scoring: Any) -> Any:
    """The scores of the rows that chose the winner, given predictions z (n, K).

    Those of the scorer, if its score is a mean over rows, else minus the loss.
    """
    judge = Judge(model, part.y, part.weights, scoring)
    if scoring is not None and judge.is_mean:
        return judge.of_rows
    # The loss includes class weights, which reported scores do not.
    share = part.problems[0].weights / part.weights
    share = share / np.average(share, weights=part.weights)
    return lambda z: share * part.row_scores(z)
