"""A report as text: the answer, the two gaps, advice, then the models, the columns and the code."""

from __future__ import annotations

import statistics
import textwrap

from .phrases import beside, counted_roles, rounded
from .sections import Data, Measured, Model, Report

# Lines fit a terminal of this width, as far as names allow.
WIDTH = 80
MOST_FINDINGS = 20
# The table of models; columns of numbers are right-aligned.
HEAD = ("", "train", "unseen", "", "optimality", "unseen rows", "time")
NUMBERS = (1, 2, 6)


def to_text(report: Report) -> str:
    """Write a report as text for a terminal.

    Parameters
    ----------
    report : Report
        The report.

    Returns
    -------
    str
        Its first line is the answer.
    """
    parts = [
        "\n".join([report.answer, *_gaps(report)]),
        listed("next", report.advice),
        columns(report.source, report.data),
        _table(report),
        "\n".join(_verdict(report)),
        "\n".join(["Python code that fits the same model:", "", report.code.rstrip()]),
    ]
    return "\n\n".join(part for part in parts if part)


def _gaps(report: Report) -> list[str]:
    optimal, general = report.gaps
    return [*wrapped("optimality", optimal), *wrapped("unseen rows", general)]


def wrapped(name: str, text: str) -> list[str]:
    """A named sentence; further lines are indented to its first word."""
    lead = f"{name}: "
    return textwrap.wrap(lead + " ".join(text.split()), WIDTH, subsequent_indent=" " * len(lead))


def listed(name: str, sentences: tuple[str, ...]) -> str:
    """Named sentences, one below the other."""
    return "\n".join(line for text in sentences for line in wrapped(name, text))


def columns(source: str, data: Data) -> str:
    """The table in short, and its findings."""
    lines = [f"{source}: {data.rows:,} rows; {counted_roles(data.roles)}"]
    for one in data.findings[:MOST_FINDINGS]:
        lines += wrapped(f"{one.severity} {one.code}", f"{one.title}: {one.detail}")
    if data.finding_count > MOST_FINDINGS:
        lines.append(f"and {data.finding_count - MOST_FINDINGS:,} more findings")
    return "\n".join(lines)


def _table(report: Report) -> str:
    """A line for each model: both scores, both gaps in a word, and the time."""
    judged = [one for one in report.models if one.unseen is not None]
    error = statistics.median(one.standard_error or 0.0 for one in judged)
    rows = [HEAD, *(_cells(one, error) for one in judged)]
    name = max(len(one.family) for one in report.models) + 2
    widths = [name, *(max(len(row[k]) for row in rows) for k in range(1, len(HEAD)))]
    lines = [" ".join(_placed(k, row[k], widths[k]) for k in range(len(HEAD))) for row in rows]
    others = [line for one in report.models if one.unseen is None for line in _unjudged(one, name)]
    title = f"{report.metric}, by {report.method}; time in seconds; * = chosen"
    fewer = _fewer_rows(judged)
    if fewer:
        title += ", ~ = see below"
    above = textwrap.wrap(title, WIDTH)
    return "\n".join(line.rstrip() for line in [*above, *lines, *others, *fewer])


def _fewer_rows(judged: list[Model]) -> list[str]:
    """Which models have learned from fewer rows than others, or without folds, and why."""
    why: dict[str, list[str]] = {}
    for one in judged:
        if one.reason:
            why.setdefault(one.reason, []).append(one.family)
    texts = [f"~ {reason}: {', '.join(names)}" for reason, names in why.items()]
    return [line for text in texts for line in textwrap.wrap(text, WIDTH, subsequent_indent="  ")]


def _unjudged(one: Model, width: int) -> list[str]:
    """Why a model has no score; further lines are indented to the first word."""
    lines = textwrap.wrap(f"{one.status}: {one.reason}", max(WIDTH - width - 1, 20))
    names = [f"  {one.family}", *[""] * len(lines)]
    return [f"{name:<{width}} {line}" for name, line in zip(names, lines)]


def _cells(one: Model, error: float) -> tuple[str, ...]:
    """The cells of a model, with as many decimals as a typical standard error is worth."""

    def number(value: float | None) -> str:
        return "" if value is None else beside(value, 0.0, error)

    return (
        f"{'*' if one.is_chosen else '~' if one.reason else ' '} {one.family}",
        number(one.train),
        number(one.unseen),
        "" if one.standard_error is None else f"± {number(one.standard_error)}",
        verdict(one.optimality),
        verdict(one.generalization),
        f"{one.seconds:.1f}",
    )


def _placed(column: int, cell: str, width: int) -> str:
    return f"{cell:>{width}}" if column in NUMBERS else f"{cell:<{width}}"


def verdict(words: str) -> str:
    """The first word of a sentence about a gap; a dash without one."""
    return words.partition(":")[0].partition(" among")[0].strip() or "–"


def _verdict(report: Report) -> list[str]:
    lines = wrapped("chosen", report.choice)
    low, high = report.expected_low, report.expected_high
    if report.expected is not None and low is not None and high is not None:
        _, least, most = rounded(report.expected, low, high)
        estimated = f"{report.metric} {least} to {most} in the test (95 % interval)"
        lines += wrapped("expected", f"{estimated}, corrected for selection")
    lines += wrapped("test", f"{scored(report.test)}{_ahead(report)}")
    return lines


def _ahead(report: Report) -> str:
    """How the baseline does on the same rows, and how far behind the model it is."""
    test, base, ahead = report.test, report.baseline.value, report.ahead
    if base is None or test.low is None or test.high is None:
        return ""
    known = f"; baseline {beside(base, test.low, test.high)}"
    if not ahead.value or ahead.low is None or ahead.high is None:
        return known
    apart, low, high = rounded(ahead.value, ahead.low, ahead.high)
    return f"{known}, {apart} worse ({low} to {high}, compared row by row)"


def scored(one: Measured) -> str:
    """A score with its interval and the rows it rests on."""
    if one.value is None or one.low is None or one.high is None:
        return f"{one.name} is unknown"
    value, low, high = rounded(one.value, one.low, one.high)
    return (
        f"{one.name} {value} ({100 * one.level:g} % interval {low} to {high}) "
        f"on {one.n:,.0f} test rows"
    )
