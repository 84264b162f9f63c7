"""The pictures of an explored table: each passes the numbers of a section to a drawing function."""

from __future__ import annotations

from typing import Any

from ..._ground.drawing import pictures
from ..report import bars, draw_picture, floats
from .sections import Component, Components, MapReport

# Numbers of components on the axis of a picture, and errors drawn at most.
MOST_COUNTS, LARGEST_ERROR = 20, 1.5


def row_map(report: MapReport) -> Any:
    """The rows on the first two components, in the colours of their groups."""
    points, shown = report.points, report.groups.shown
    shares = [*report.components.shares, 0.0, 0.0]
    labels = tuple(f"component {k + 1} ({100 * (shares[k] or 0.0):.0f} %)" for k in range(2))
    return draw_picture(
        pictures().grouped_rows,
        *(floats(points.x), floats(points.y), points.group),
        names=[one.name for one in shown],
        centres=[(one.x, one.y) for one in shown],
        labels=labels,
        title="rows on the first two components",
    )


def colour(place: int) -> str:
    """The colour of a group in a page, whose own accent is another one in the dark."""
    style, svg = pictures().style, pictures().svg
    found = style.CLASSES[place % len(style.CLASSES)]
    return f"var(--{svg.VARIABLES[found]})" if found in svg.VARIABLES else str(found)


def loadings(component: Component, number: int) -> Any:
    """A bar for each column that a component goes with."""
    names = [one.column for one in component.loadings]
    values = [one.correlation for one in component.loadings]
    label = f"correlation with component {number}"
    return bars(names, values, label, label)


def held_out(found: Components) -> Any:
    """The error of held-out entries by the number of components."""
    known = [e for e in found.errors if e is not None and e <= LARGEST_ERROR]
    errors = known[: max(MOST_COUNTS, found.real + 2)]
    chosen = min(found.real, len(errors) - 1)
    best = min(range(len(errors)), key=errors.__getitem__)
    return draw_picture(
        pictures().validation,
        list(range(len(errors))),
        *(floats([None] * len(errors)), floats(errors), floats([0.0] * len(errors))),
        best=best,
        chosen=chosen,
        parameter="number of components",
        metric="error of held-out entries",
        higher_is_better=False,
        title="error of held-out entries by the number of components",
    )
