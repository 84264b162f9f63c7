"""What was found in a table as text: the answer, groups, components, odd rows, copies, gaps."""

from __future__ import annotations

from collections.abc import Iterator

from ..._ground.percent import percent
from ..report import columns, listed, wrapped
from .sections import MapReport, SameRows

MOST_ODD, MOST_COPIES = 5, 3


def to_text(report: MapReport) -> str:
    """Write what was found as text for a terminal.

    Parameters
    ----------
    report : MapReport
        What was found.

    Returns
    -------
    str
        Its first line is the answer.
    """
    parts = [
        [report.answer],
        _groups(report),
        _components(report),
        _odd(report),
        _copies(report),
        _gaps(report),
        [listed("next", report.advice)],
        [columns(report.source, report.data)],
        ["Python code that does the same:", "", report.code.rstrip()],
    ]
    return "\n\n".join("\n".join(lines) for lines in map(list, parts) if lines)


def _groups(report: MapReport) -> Iterator[str]:
    for text in report.groups.words:
        yield from wrapped("groups", text)
    if report.groups.where:
        yield from wrapped("groups", report.groups.where)
    for one in report.groups.shown:
        back = "" if one.agreement is None else f"; {percent(one.agreement, 0)} comes back"
        yield from wrapped(f"  {one.name}", f"{one.words}{back}")


def _components(report: MapReport) -> Iterator[str]:
    yield from wrapped("components", report.components.words)
    for number, one in enumerate(report.components.shown, 1):
        yield from wrapped(f"  {number}", f"{percent(one.share, 0)} of the variation; {one.words}")
    for name, text in report.left_out.items():
        yield from wrapped(name, text)


def _odd(report: MapReport) -> Iterator[str]:
    yield from wrapped("odd rows", report.odd.words)
    for one in report.odd.shown[:MOST_ODD]:
        yield from wrapped(f"  row {one.row:,}", one.words)


def _copies(report: MapReport) -> Iterator[str]:
    for text in report.copies.words:
        yield from wrapped("copies", text)
    for one in report.copies.exact[:MOST_COPIES]:
        yield from wrapped(f"  rows {same_rows(one)}", f"equal: {one.words}")
    for one in report.copies.near[:MOST_COPIES]:
        yield from wrapped(f"  rows {same_rows(one)}", one.words)


def same_rows(one: SameRows) -> str:
    """The numbers of rows that are the same, and how many more there are."""
    shown = [f"{row:,}" for row in one.rows]
    if one.count > len(shown):
        return f"{', '.join(shown)} and {one.count - len(shown):,} more"
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def _gaps(report: MapReport) -> Iterator[str]:
    for one in report.gaps:
        yield from wrapped(f"optimality of the {one.of}", one.optimality)
        yield from wrapped(f"{one.of} on unseen rows", one.generalization)
