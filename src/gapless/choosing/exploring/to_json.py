"""What was found in a table, read back from JSON: strict, since the text may come from a file."""

from __future__ import annotations

from ..report import read_json
from .sections import MapReport


def from_json(text: str) -> MapReport:
    """Read what `gapless.choosing.report.to_json` has written of an explored table.

    Parameters
    ----------
    text : str
        JSON.

    Returns
    -------
    MapReport

    Raises
    ------
    ValueError
        If the text is not such a report of this version; the message names the place.
    """
    report = read_json(text, MapReport)
    points, groups = report.points, len(report.groups.shown)
    errors = [error for error in report.components.errors if error is not None]
    fits = {
        "versions": "gapless" in report.versions,
        "points": len(points.x) == len(points.y) == len(points.group)
        and all(0 <= k < max(groups, 1) for k in points.group),
        "components": len(report.components.shares) >= 1 and len(errors) >= 1,
    }
    for name, is_right in fits.items():
        if not is_right:
            raise ValueError(f"report.{name} does not match the rest of the report.")
    return report
