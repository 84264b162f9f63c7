"""A report as one page of HTML: no scripts, no external resources, every text escaped."""

from __future__ import annotations

from functools import cache

import jinja2

from ..._ground.drawing import pictures
from ..._ground.percent import percent
from . import figures
from .phrases import amount, beside, counted_roles, rounded, shortened, squeezed
from .sections import ColumnFacts, Measured, Report
from .to_text import verdict

# Characters of a name in a table, and of the description of its values.
NAME, VALUES = 32, 70
# Characters of a text given in full.
FULL = 1000


def to_html(report: Report) -> str:
    """Write a report as a page.

    Parameters
    ----------
    report : Report
        The report.

    Returns
    -------
    str
        HTML, to be written as UTF-8; under 2 MB however long and wide the table is.
    """
    return page().render(report=report, title=shortened(report.target, 60))


@cache
def page() -> jinja2.Template:
    """The template, compiled at the first call; with a time limit, call it beforehand."""
    pictures()
    return environment().get_template("template.html")


def environment(*packages: str) -> jinja2.Environment:
    """What pages are made with: templates of this package and of others, and the same filters.

    Parameters
    ----------
    *packages : str
        Other packages with templates.
    """
    homes = ("gapless.choosing.report", *packages)
    made = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(home, ".") for home in homes]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["draw"] = figures
    made.filters |= {
        "baseline": _baseline,
        "amount": lambda value: "–" if value is None else amount(value),
        "full": lambda text: text[:FULL],
        "interval": interval,
        "percent": percent,
        "roles": counted_roles,
        "rule": lambda text: shortened(text, FULL),
        "value": value,
        "values": _values,
        "scored": lambda value: "–" if value is None else f"{value:.4g}".replace("-", "−"),
        "name": lambda text: squeezed(text, NAME) or "(no name)",
        "sentence": lambda text: f"{text[:1].upper()}{text[1:].rstrip('.')}.",
        # Keep a number and its percent sign together.
        "tied": lambda text: text.replace(" %", "\u00a0%"),
        "verdict": verdict,
    }
    return made


def _baseline(report: Report) -> str:
    """The score of the baseline, with as many decimals as that of the model."""
    base, test = report.baseline.value, report.test
    if base is None or test.low is None or test.high is None:
        return "unknown"
    return beside(base, test.low, test.high).replace("-", "−")


def _values(column: ColumnFacts) -> str:
    """The contents of a column, or why it is not used."""
    return shortened(figures.in_words(column.distribution) or column.reason, VALUES)


def interval(one: Measured) -> str:
    """Both ends of the interval of a score."""
    if one.value is None or one.low is None or one.high is None:
        return "unknown"
    _, low, high = rounded(one.value, one.low, one.high)
    return f"{low} to {high}".replace("-", "−")


def value(one: Measured) -> str:
    """A score with as many decimals as its interval is worth."""
    if one.value is None or one.low is None or one.high is None:
        return "unknown"
    return rounded(one.value, one.low, one.high)[0].replace("-", "−")
