"""Choose C, γ and ε by the machines' scores on unseen rows.

Values given as a list are all tried. For open parameters ("loo") the search tries the neighbours of
the best on a logarithmic grid, first far ones, on a sample of the rows, and then near ones, until
none is better. Estimators call `tune` when a parameter is to be chosen.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._ground.interrupt import TimeLimit
from ...kernels import Kernel
from ...unseen import LOO, ScoredChoice, Search, best_of, drawn, mean_and_error
from .objectives import spread
from .training_rows import TrainingRows
from .tuning_scores import Candidate, Candidates

Array = np.ndarray

# Shared by machines that can choose C and gamma.
TUNED = """
gamma : {"scale", "auto", "loo"}, float or array-like
    γ ≥ 0 of the kernels that have one; "scale" is 1/(n_features·Var(X)), "auto" is 1/n_features.
    "loo", or a list, as for C, and together with it.
time_limit : float
    Seconds after which the best solution found so far is kept; a choice of parameters takes at most
    half of them.
select : {"min", "1se"}
    Of parameters that are chosen: the best, or the machine with the fewest support vectors inside
    the margin's bounds that is within one standard error of it.
C_, gamma_ : float
    The chosen values, of parameters that were to be chosen.
search_ : Search
    What was tried for them, and how it did on rows that had been left out.
"""
# The first step factor of an open parameter, its root at the end, and how many of those it may move
# from its start.
FACTORS = {"C": 10.0, "gamma": 4.0, "epsilon": 4.0}
MOST_MOVES = {"C": 8, "gamma": 10, "epsilon": 6}
# A neighbour is better if it gains at least this share of a standard error.
WORTH = 0.2
# C starts here, γ at "scale", and ε at this, both in units of the spread of the targets.
FIRST_C, FIRST_EPSILON = 10.0, 0.1
# About how many distinct rows are searched, first and last, and at least how many of each class.
FIRST_ROWS, MOST_ROWS, FEWEST_OF_CLASS = 600, 4000, 2


@dataclass(frozen=True, eq=False)
class Tuned:
    """What a search has chosen.

    `values` are those of the tuned parameters by name and `search` all that was tried. `choice` has
    the scores of all x by each machine, None if fewer than two were tried. `ending` says whether
    the search finished: "optimal", "time_limit" or "interrupted".
    """

    values: dict[str, float]
    search: Search
    choice: ScoredChoice | None
    ending: str

    def attributes(self) -> dict[str, Any]:
        """The attributes of the fitted estimator about the choice."""
        return {f"{name}_": value for name, value in self.values.items()} | {"search_": self.search}

    def scored(self, model: Any, fitted: Any) -> ScoredChoice | None:
        """The choice with its scores, for `unseen`."""
        return self.choice


def is_open(value: Any) -> bool:
    """Whether a parameter is to be chosen: it is "loo", or a list of values."""
    return (isinstance(value, str) and value == LOO) or isinstance(value, list | tuple | np.ndarray)


def tune(model: Any, data: Any, rows: TrainingRows) -> Tuned:
    """Choose the parameters `model._tuned()` of an estimator.

    Parameters
    ----------
    model : estimator
        With parameters at "loo" or lists of values.
    data : Training
        Its data.
    rows : TrainingRows
        The distinct rows of those.

    Returns
    -------
    Tuned
        Where the time limit or Ctrl-C ended the search, the best of what was tried, or where that
        is nothing, the values with which it begins.
    """
    _check(model)
    part = _sample(data, rows, MOST_ROWS)
    begin, candidates = _first_values(model, data, part), _candidates(model, data, part)
    first = candidates
    if begin and len(part.first) > 2 * FIRST_ROWS:
        first = _candidates(model, data, _sample(data, rows, FIRST_ROWS))
    ending = "optimal"
    try:
        for values in _listed(model):
            near = _climb(first, values, begin, (0,) * len(begin), 2)
            _climb(candidates, values, begin, near, 1)
    except (TimeLimit, KeyboardInterrupt) as stop:
        ending = "time_limit" if isinstance(stop, TimeLimit) else "interrupted"
        candidates = candidates if candidates.found else first
    looked_at = [] if first is candidates else list(first.found.values())
    return _tuned(
        model, candidates, looked_at, next(_listed(model)) | begin, len(rows.first), ending
    )


def _tuned(
    model: Any,
    candidates: Candidates,
    looked_at: list[Candidate],
    begin: dict[str, float],
    rows: int,
    ending: str,
) -> Tuned:
    """The best of the candidates, or the start of the search if there is none."""
    tried, weights = list(candidates.found.values()), candidates.units.weights
    if model.select == "1se":
        # The simplest first, since the first that is good enough is taken.
        tried.sort(key=lambda one: (one.freedom, *one.values.values()))
    best, choice = begin, None
    shown, by = (np.array([getattr(one, name) for one in tried]).T for name in ("shown", "by"))
    chosen = best_of(*mean_and_error(by, weights), model.select) if tried else 0
    seen = looked_at + tried
    names = model._tuned()
    search = Search(
        {name: np.array([one.values[name] for one in seen]) for name in names},
        np.array([one.unseen for one in seen]),
        np.array([one.standard_error for one in seen]),
        np.array([len(one.shown) for one in seen]),
        len(looked_at) + chosen,
        "accuracy" if candidates.has_classes else "R²",
    )
    if tried:
        best = tried[chosen].values
    if len(tried) > 1:
        choice = ScoredChoice(
            search,
            shown,
            by,
            weights,
            is_whole=len(candidates.y) == rows,
            within=1.0 if model.select == "1se" else 0.0,
            is_rough=True,
        )
    return Tuned({name: float(best[name]) for name in names}, search, choice, ending)


def _check(model: Any) -> None:
    """Refuse values that cannot be tried, and a γ of kernels without one."""
    for name in model._tuned():
        value = getattr(model, name)
        if isinstance(value, str):
            continue
        values = np.asarray(value, dtype=float).ravel()
        is_right = np.isfinite(values) & ((values > 0) if name == "C" else (values >= 0))
        if not (len(values) and is_right.all()):
            least = "> 0" if name == "C" else "≥ 0"
            raise ValueError(
                f"the values of {name} to try must be finite and {least}, got {value}."
            )
    if "gamma" in model._tuned():
        twin = model._at(gamma=1.0)._kernel()
        if getattr(twin, "gamma", None) != 1.0 or isinstance(model.kernel, Kernel):
            raise ValueError(
                f"kernel={model.kernel!r} does not use the gamma of {type(model).__name__}, so "
                'there is nothing to choose; set gamma="scale", or give the kernel by its name.'
            )


def _sample(data: Any, rows: TrainingRows, most: int) -> TrainingRows:
    """The distinct rows, or those of some x, drawn by content and with all classes."""
    if len(rows.first) <= most:
        return rows
    classes, of_x = None if data.classes is None else data.y[rows.first], rows.units(data.X)
    order = drawn(of_x, int(of_x.max()) + 1, classes)
    enough = np.searchsorted(np.cumsum(np.bincount(of_x)[order]), most) + 1
    chosen = [order[:enough]]
    if classes is not None:
        place = np.argsort(order)
        by_place = np.argsort(place[of_x], kind="stable")
        of_class = (by_place[classes[by_place] == k] for k in np.unique(classes))
        chosen += [of_x[some[:FEWEST_OF_CLASS]] for some in of_class]
    at = np.flatnonzero(np.isin(of_x, np.concatenate(chosen)))
    return replace(
        rows,
        first=rows.first[at],
        weights=rows.weights[at],
        sample_weights=rows.sample_weights[at],
    )


def _candidates(model: Any, data: Any, rows: TrainingRows) -> Candidates:
    """None tried yet."""
    settled = dict.fromkeys(model._tuned(), 1.0)
    count = 1 if data.classes is None else len(data.classes)
    machine = model._at(**settled)._machine(data, rows)
    return model._candidates_type(machine)(
        machine,
        model._arrangement(count),
        data.y[rows.first],
        rows.sample_weights,
        rows.units(data.X),
        has_classes=data.classes is not None,
    )


# ---- where to look -------------------------------------------------------------------------------


def _is_climbed(value: Any) -> bool:
    return isinstance(value, str) and value == LOO


def _listed(model: Any) -> Iterator[dict[str, float]]:
    """All combinations of the given values, one or several for a parameter."""
    names = [name for name in ("gamma", "epsilon", "C") if hasattr(model, name)]
    lists = {
        name: np.sort(np.asarray(getattr(model, name), dtype=float).ravel())
        for name in names
        if not isinstance(getattr(model, name), str)
    }
    # C is last: it grows while all else stays.
    for values in itertools.product(*lists.values()):
        yield {name: float(value) for name, value in zip(lists, values)}


def _first_values(model: Any, data: Any, rows: TrainingRows) -> dict[str, float]:
    """The start of the open parameters."""
    y, s = data.y[rows.first], rows.sample_weights
    # Scores grow with C: in another unit of the targets, another C is equivalent.
    unit = (spread(y, s) if data.classes is None else 1.0) or 1.0
    first = {"C": FIRST_C * unit} if _is_climbed(model.C) else {}
    if _is_climbed(model.gamma):
        kernel = model._at(gamma="scale")._kernel()
        first["gamma"] = kernel.resolve(data.X[rows.first], rows.sample_weights).gamma
    if _is_climbed(getattr(model, "epsilon", None)):
        first["epsilon"] = FIRST_EPSILON * unit
    return first


Moves = tuple[int, ...]


def _climb(
    candidates: Candidates,
    values: dict[str, float],
    begin: dict[str, float],
    best: Moves,
    length: int,
) -> Moves:
    """Move to better neighbours until none is better; return where that is.

    Open parameters are given by the moves from where they begin, the others by their values.
    """

    def at(moves: Moves) -> Candidate:
        opens = {name: of * FACTORS[name] ** (k / 2) for (name, of), k in zip(begin.items(), moves)}
        return candidates.at(values | opens)

    while True:
        enough = at(best).merit + WORTH * at(best).standard_error
        better = (moves for moves in _neighbours(best, length, begin) if at(moves).merit > enough)
        found = next(better, None)
        if found is None:
            return best
        best = found


def _neighbours(moves: Moves, length: int, names: Iterable[str]) -> Iterator[Moves]:
    """Moves of one parameter; and then of C and γ against each other, along their valley."""
    directions = [{name: step} for name in names for step in (length, -length)]
    if {"C", "gamma"} <= set(names):
        directions += [{"C": step, "gamma": -step} for step in (length, -length)]
    for of in directions:
        other = tuple(k + of.get(name, 0) for k, name in zip(moves, names))
        if all(abs(k) <= MOST_MOVES[name] for k, name in zip(other, names)):
            yield other
