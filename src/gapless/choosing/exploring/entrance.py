"""`gapless.explore`: what is in a table without a target."""

from __future__ import annotations

import math
import time as clock
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn.pipeline import Pipeline

from ..._ground.interrupt import TimeLimit, deadline
from ..._ground.interrupt import time_limit as limited
from ..._ground.notebook import as_printed
from ...data import Table, table_of
from ...models.clustering import KMeans
from .. import Progress, reading_code
from ..report import columns_and_findings, versions
from . import words
from .as_html import to_html
from .as_text import to_text
from .canonical import ExploredTable
from .components import closest_columns, loadings_of
from .copies import find_copies
from .differences import ColumnValues, differences_of, with_parts_of_dates
from .grouping import Tried
from .odd_rows import odd_rows
from .sections import (
    Component,
    Components,
    Gaps,
    Group,
    Groups,
    MapReport,
    OddRows,
    Points,
    TriedCount,
)
from .space import Search, Space, search_groups
from .table_map import TableMap, in_order

Array = np.ndarray

# Components described, rows drawn on the map, and values behind what tells groups apart.
MOST_DESCRIBED, MOST_POINTS, MOST_DESCRIBED_ROWS = 4, 1_200, 100_000
# The part of the time limit for finding groups.
SHARE_OF_GROUPS = 0.5
# The starts of the final fit, and the most groups that a page can show.
STARTS, MOST_SHOWN_GROUPS = 10, 100


@dataclass(frozen=True, eq=False)
class Exploration:
    """What was found in a table without a target.

    Attributes
    ----------
    report : MapReport
        Everything that was found, as plain data.
    model : TableMap
        Places the rows of other tables; for `gapless.save`.
    labels : ndarray of str, shape (n,)
        The group of each row of the table; "A" for all if there are none.
    coordinates : ndarray of shape (n, m)
        The scores of each row on the components.
    unusual : ndarray of shape (n,)
        For each row, the share of rows that are nearer to their group.
    """

    report: MapReport
    model: TableMap
    labels: Array
    coordinates: Array
    unusual: Array

    def _repr_html_(self) -> str:
        return as_printed(str(self))

    def __str__(self) -> str:
        return to_text(self.report)

    def to_html(self) -> str:
        """The page: one file without scripts."""
        return to_html(self.report)

    def save(self, path: str | Path) -> None:
        """Write the page to a file."""
        Path(path).write_text(self.to_html(), encoding="utf-8")


def explore(
    table: Any,
    *,
    clusters: int | Literal["auto"] = "auto",
    components: int | Literal["auto"] = "auto",
    drop: Sequence[str] = (),
    time_limit: float | None = 60.0,
    seed: int = 0,
    on_progress: Callable[[Progress], None] | None = None,
) -> Exploration:
    """Find out what is in a table: components, groups, rows that fit nowhere, copies.

    Parameters
    ----------
    table : Table, or data frame of polars or pandas
        The table; `gapless.data.read_table` reads files.
    clusters : int or "auto", default="auto"
        The number of groups, at most 100. "auto" is the largest number with gaps between the
        groups that come back when other rows are drawn; there may be none.
    components : int or "auto", default="auto"
        The number of components. "auto" is the number with which held-out entries are predicted
        best from the other columns of their row; groups are then looked for in the first 10
        components, in these, and along each one alone.
    drop : sequence of str, default=()
        Columns to exclude.
    time_limit : float or None, default=60.0
        Seconds for everything; None for no limit. If time is short, fewer draws decide about the
        groups.
    seed : int, default=0
        Seed of all random draws.
    on_progress : callable, default=None
        Called with a `Progress` before each part of the work.

    Returns
    -------
    Exploration
        Prints as text; `to_html` is the page, `model` places other rows.

    Raises
    ------
    TableError
        If there is nothing to compare; the message says why.
    ValueError
        If an option is unknown.

    Notes
    -----
    Numbers and dates are scaled, after values far outside are moved inwards, and categories
    weighted as in factor analysis of mixed data (Pagès 2004). Components are those of PCA, groups
    those of k-means. Both are learned from at most 50,000 rows; all rows are then placed. The
    order of the rows does not matter.

    Examples
    --------
    >>> import gapless
    >>> from gapless.data import load_builtin
    >>> found = gapless.explore(load_builtin("iris"), drop=["species"])
    >>> [(group.name, group.rows) for group in found.report.groups.shown]
    [('A', 100), ('B', 50)]
    """
    began = clock.monotonic()
    limit = _seconds(time_limit)
    tell = _teller(began, min(limit, deadline() - began), on_progress)
    _check_counts(clusters, components)
    table = table_of(table)
    tell("looking at the columns")
    given = ExploredTable.of(table, drop)
    _check_enough(clusters, given)
    tell("looking for components")
    space = Space.of(given, components)
    count = _requested(clusters)
    with limited(None if math.isinf(limit) else SHARE_OF_GROUPS * limit):
        search = search_groups(given, space, count, seed, tell)
    tell("describing what was found")
    model, placed = _mapped(given, space, search, count, seed)
    values = [ColumnValues(column, given.frame[column.name]) for column in given.features]
    report = _report(given, space, search, model, placed, values, count, (began, limit), seed)
    return Exploration(report, model, *_in_table_order(model, placed, given))


# ---- what the caller requests --------------------------------------------------------------------


def _seconds(time_limit: float | None) -> float:
    limit = math.inf if time_limit is None else float(time_limit)
    if not limit > 0:
        raise ValueError(f"time_limit must be None or more than 0 seconds, got {time_limit!r}.")
    return limit


def _check_counts(clusters: Any, components: Any) -> None:
    for name, value in (("clusters", clusters), ("components", components)):
        is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 1
        if value != "auto" and not is_count:
            raise ValueError(f'{name} must be "auto" or a number from 1 on, got {value!r}.')
    if clusters != "auto" and clusters > MOST_SHOWN_GROUPS:
        raise ValueError(
            f"clusters must be at most {MOST_SHOWN_GROUPS}, as many as a page can describe, got "
            f"{clusters}; for more, use gapless.KMeans."
        )


def _check_enough(clusters: Any, given: ExploredTable) -> None:
    distinct = len(np.unique(given.hashes[given.sample]))
    if clusters != "auto" and clusters > distinct:
        raise ValueError(
            f"clusters={clusters} is too many: only {distinct:,} rows differ from each other; ask "
            "for fewer."
        )


def _requested(clusters: int | str) -> int | None:
    return None if isinstance(clusters, str) else clusters


def _teller(
    began: float, limit: float, on_progress: Callable[[Progress], None] | None
) -> Callable[[str], None]:
    def tell(text: str) -> None:
        if on_progress is not None:
            seconds = clock.monotonic() - began
            on_progress(Progress("exploring", "", 0, 0, seconds, limit, text))

    return tell


# ---- the space and the map -----------------------------------------------------------------------


def _mapped(
    given: ExploredTable, space: Space, search: Search, count: int | None, seed: int
) -> tuple[TableMap, tuple[Array, Array, Array]]:
    """The map, and where all rows are on it, in canonical order."""
    number = search.chosen.count if search.chosen is not None else count or 1
    clusters = None
    if number > 1:
        rows = space.scores[:, search.places]
        clusters = KMeans(n_clusters=number, n_init=STARTS, random_state=seed).fit(rows)
    pipeline = Pipeline([*space.pipeline.steps, ("components", space.pca)])
    model = TableMap(pipeline, clusters, search.places)
    shown = min(max(space.real, 2), space.scores.shape[1])
    model.learn(pipeline, clusters, space.prepared, shown)
    return model, model.remember(given.table, given.columns, given.rows)


def _in_table_order(
    model: TableMap, placed: tuple[Array, Array, Array], given: ExploredTable
) -> tuple[Array, Array, Array]:
    """Groups, coordinates and ranks of the rows as they are in the table."""
    scores, labels, distances = placed
    back = np.argsort(given.rows, kind="stable")
    names = np.array(model.names_, dtype=object)[labels]
    return names[back], scores[back], model.ranks(distances)[back]


# ---- the report ----------------------------------------------------------------------------------


def _report(
    given: ExploredTable,
    space: Space,
    search: Search,
    model: TableMap,
    placed: tuple[Array, Array, Array],
    values: Sequence[ColumnValues],
    count: int | None,
    clocked: tuple[float, float],
    seed: int,
) -> MapReport:
    began, limit = clocked
    scores, labels, distances = placed
    components = _components(given, space)
    has_categories = any(one.column.role == "category" for one in values)
    known = search.chosen if count is None else next(iter(search.tried), None)
    shown = _groups(model, placed, values, known)
    groups = Groups(
        shown=shown,
        is_requested=count is not None,
        unknown="" if search.tried or count == 1 else words.not_looked(search.is_short),
        places=search.places,
        words=words.groups(search, count, has_categories) if count != 1 else (),
        where=_where(space, search, count),
        tried=tuple(
            TriedCount(one.count, one.doubt, one.between, one.agreement, one.is_apart)
            for one in search.tried
        ),
    )
    odd: OddRows = odd_rows(model, values, given.rows, distances, labels)
    copies = find_copies(space.prepared, given.hashes, given.rows, values)
    # The section on copies says it, and whether it is to be expected.
    findings = [one for one in given.findings if one.code != "D204"]
    leading = [one.column for each in components.shown for one in each.loadings]
    left_out = {}
    lacking = [
        (one.column.name, float(one.is_missing.mean()))
        for one in values
        if one.column.role != "category" and one.is_missing.any()
    ]
    if lacking:
        lacking.sort(key=lambda pair: -pair[1])
        left_out["missing values"] = words.missing(lacking)
    if len(given.sample) < len(given.rows):
        left_out["rows"] = words.sampled(len(given.sample), len(given.rows))
    return MapReport(
        source=given.table.source,
        answer=words.answer(len(given.rows), components, groups, odd, copies, has_categories),
        rows=len(given.rows),
        seed=seed,
        seconds=clock.monotonic() - began,
        components=components,
        groups=groups,
        odd=odd,
        copies=copies,
        points=_points(model, scores, labels),
        gaps=_gaps(space, model, limit - (clock.monotonic() - began)),
        data=columns_and_findings(given.table, given.columns, findings, given.table.notes, leading),
        advice=words.advice(given.table.source, groups, odd, copies),
        code=_code(given.table, given, count, None if not space.is_given else space.real, seed),
        versions=versions(),
        left_out=left_out,
    )


def _where(space: Space, search: Search, count: int | None) -> str:
    """The components in which groups were looked for, or by which rows were divided."""
    if count is None:
        # Single components come last, where all others together have no groups.
        needs_more = search.chosen is None or search.places not in space.wide
        return words.where(space.wide, space.alone if needs_more else ()) if search.tried else ""
    return words.divided(search.places) if count > 1 else ""


def _components(given: ExploredTable, space: Space) -> Components:
    frame = given.frame[given.sample]
    shown = []
    for k in range(min(space.scores.shape[1], MOST_DESCRIBED, max(space.real, 2))):
        loadings = loadings_of(space.scores[:, k], frame, given.features)
        shown.append(Component(float(space.shares[k]), loadings, words.component(loadings)))
    width = int(min(len(space.prepared) - 1, space.prepared.shape[1]))
    closest = words.closest(closest_columns(space.prepared, space.blocks))
    return Components(
        real=space.real,
        width=width,
        shares=tuple(float(share) for share in space.shares),
        errors=tuple(float(e) if np.isfinite(e) else None for e in space.errors),
        shown=tuple(shown),
        closest=closest,
        words=words.components(space, width, len(shown), closest),
    )


def _groups(
    model: TableMap,
    placed: tuple[Array, Array, Array],
    values: Sequence[ColumnValues],
    known: Tried | None,
) -> tuple[Group, ...]:
    """The groups, the largest first; none for one cloud."""
    if model.clusters_ is None:
        return ()
    _, labels, _ = placed
    centres = _on_map(model.centres_)
    found: list[Group] = []
    few = [ColumnValues(one.column, one.series[:MOST_DESCRIBED_ROWS]) for one in values]
    few = with_parts_of_dates(few)
    for k in in_order(model.names_):
        inside = labels == k
        differences = differences_of(few, inside[:MOST_DESCRIBED_ROWS])
        share = float(inside.mean())
        place = len(found)
        agreement = None
        if known is not None and place < len(known.agreements):
            agreement = float(known.agreements[place])
        found.append(
            Group(
                name=model.names_[k],
                rows=int(inside.sum()),
                share=share,
                agreement=agreement,
                differences=differences,
                words=words.group(share, differences),
                x=float(centres[k, 0]),
                y=float(centres[k, 1]),
            )
        )
    if len(found) == 2 and {one.column for one in found[1].differences} <= {
        one.column for one in found[0].differences
    }:
        # What is lower in one of two groups is higher in the other: that is said once.
        first, second = found
        said = words.mirrored(second.share, first.name)
        found[1] = replace(second, mirrors=first.name, words=said)
    return tuple(found)


def _points(model: TableMap, scores: Array, labels: Array) -> Points:
    places = np.argsort(in_order(model.names_))
    few = slice(0, MOST_POINTS)
    x, y = _on_map(scores[few]).T
    return Points(tuple(x.tolist()), tuple(y.tolist()), tuple(places[labels[few]].tolist()))


def _on_map(scores: Array) -> Array:
    """The first two coordinates; the second is 0 if there is one component."""
    return np.column_stack([scores[:, :2], np.zeros((len(scores), max(2 - scores.shape[1], 0)))])


def _gaps(space: Space, model: TableMap, seconds: float) -> tuple[Gaps, ...]:
    """Both gaps of the real components, or of those of the map, and of the groups if any."""
    fits = [("components", space.chosen)]
    if model.clusters_ is not None:
        fits.append(("groups", model.clusters_))
    found = []
    with limited(None if math.isinf(seconds) else max(seconds, 0.0)):
        for name, fit in fits:
            try:
                unseen = words.unseen(fit.generalization_, is_of_groups=name == "groups")
            except TimeLimit:
                unseen = "not known: there was no time to find out"
            found.append(Gaps(name, str(fit.certificate_.verdict), unseen))
    return tuple(found)


def _code(
    table: Table, given: ExploredTable, clusters: int | None, components: int | None, seed: int
) -> str:
    """Python code that does the same."""
    told = "" if clusters is None else f", clusters={clusters!r}"
    told += "" if components is None else f", components={components!r}"
    dropped = [c.name for c in given.columns if c.role == "dropped" and c.reason == "given"]
    told += f", drop={dropped!r}" if dropped else ""
    told += f", seed={seed!r}" if seed else ""
    names: dict[str, set[str]] = {"gapless.data": set()}
    reading = reading_code(table, names)
    imports = [f"from {home} import {', '.join(sorted(found))}" for home, found in names.items()]
    call = f"found = gapless.explore(table{told})"
    return "\n".join(["import gapless", *imports, "", reading, call, "print(found)", ""])
