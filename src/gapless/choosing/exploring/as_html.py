"""What was found in a table as one page of HTML, in the style of the report of a fit."""

from __future__ import annotations

from functools import cache

import jinja2

from ..._ground.drawing import pictures
from ..report import environment, shortened
from . import figures
from .sections import MapReport


def to_html(report: MapReport) -> str:
    """Write what was found as a page.

    Parameters
    ----------
    report : MapReport
        What was found.

    Returns
    -------
    str
        HTML, to be written as UTF-8; under 2 MB however long and wide the table is.
    """
    name = file_name(report.source)
    return page().render(report=report, name=name, title=shortened(name, 60))


def file_name(source: str) -> str:
    """A source without its folders, which would leave no room for the name."""
    return source.replace("\\", "/").rstrip("/").rpartition("/")[2] or source


@cache
def page() -> jinja2.Template:
    """The template, compiled at the first call; with a time limit, call it beforehand."""
    pictures()
    made = environment("gapless.choosing.exploring")
    made.globals["map"] = figures
    return made.get_template("explored.html")
