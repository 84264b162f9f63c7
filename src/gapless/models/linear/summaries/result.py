"""Summary: a fitted linear model on one page, as plain data that prints."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ...._ground.percent import percent
from ....certificates import Certificate
from ....unseen import Generalization
from .html import page

# Coefficients in the printed table; `coefficients` has all of them.
MOST_SHOWN = 40
# Smaller p-values are written as a bound.
SMALLEST_P = 0.001
BIAS = "(bias)"


@dataclass(frozen=True)
class CoefficientEstimate:
    """One coefficient and how certain it is.

    Attributes
    ----------
    name : str
        The column; "(bias)" for the intercept.
    output : str
        The class or the target it belongs to; "" if there is only one score.
    value : float
        The coefficient.
    scaled : float
        The effect of one standard deviation of the column.
    standard_error, low, high : float or None
        How much it would vary with other rows, and the ends of its interval; None if not known.
    p_value : float or None
        The chance of a coefficient at least as far from 0, if it were 0; None without theory.
    selected : float or None
        The share of the bootstrap's refits in which it is not 0.
    """

    name: str
    output: str
    value: float
    scaled: float
    standard_error: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    selected: float | None = None


@dataclass(frozen=True)
class Summary:
    """A fitted linear model on one page. Prints as text, and as a table in notebooks.

    Attributes
    ----------
    model : str
        The class of the model.
    objective : str
        What was minimised, as a formula with its numbers: `certificate.primal` is its value, and n
        is `rows`.
    rows : float
        The number of training rows: the sum of their weights.
    columns : int
        The number of columns of X.
    weights : str
        How weights were understood, in words; "" if all are 1.
    coefficients : tuple of CoefficientEstimate
        All of them, with the biases first.
    level : float
        Confidence level of the intervals.
    inference : str
        How the standard errors were found, or why there are none and what to do.
    findings : tuple of str
        What was noticed about the columns: collinear ones, and those that separate the classes.
    certificate : Certificate
        How far the fit can be from the best one.
    generalization : Generalization
        The estimate for unseen rows, with its verdict.
    """

    model: str
    objective: str
    rows: float
    columns: int
    weights: str
    coefficients: tuple[CoefficientEstimate, ...]
    level: float
    inference: str
    findings: tuple[str, ...]
    certificate: Certificate
    generalization: Generalization

    @property
    def title(self) -> str:
        """The model and its data in one line."""
        return f"{self.model}: {_counted(self.rows, 'row')}, {_counted(self.columns, 'column')}"

    def table(self) -> tuple[list[str], list[list[str]], int]:
        """Headings and cells of the table that is shown, and how many coefficients are left out."""
        shown = self._shown()
        level = percent(self.level, 0)
        columns: list[tuple[str, Any]] = [("", lambda one: one.name)]
        if any(one.output for one in shown):
            columns.append(("of", lambda one: one.output))
        columns.append(("coefficient", lambda one: _number(one.value)))
        if any(one.standard_error is not None for one in shown):
            columns += [
                ("std. error", lambda one: _number(one.standard_error)),
                (f"{level} from", lambda one: _number(one.low)),
                ("to", lambda one: _number(one.high)),
            ]
        if any(one.p_value is not None for one in shown):
            columns.append(("p", lambda one: _p_value(one.p_value)))
        if any((one.selected or 1.0) < 1 for one in shown):
            columns.append(("selected", lambda one: _share(one.selected)))
        cells = [[write(one) for _, write in columns] for one in shown]
        return [heading for heading, _ in columns], cells, len(self.coefficients) - len(shown)

    def _shown(self) -> list[CoefficientEstimate]:
        """All coefficients, or those with the largest effects, in their order."""
        if len(self.coefficients) <= MOST_SHOWN:
            return list(self.coefficients)
        biases = [one for one in self.coefficients if one.name == BIAS]
        others = [one for one in self.coefficients if one.name != BIAS]
        others.sort(key=lambda one: -abs(one.scaled))
        return (biases + others)[:MOST_SHOWN]

    def sections(self) -> list[tuple[str, list[str]]]:
        """What is said below the table: a heading and its sentences."""
        found = [("Standard errors", [self.inference])]
        if self.weights:
            found.append(("Weights", [self.weights]))
        if self.findings:
            found.append(("Columns", list(self.findings)))
        found.append(("Certificate", [str(self.certificate).replace("\n", " ")]))
        return [*found, ("Unseen rows", [self.generalization.verdict])]

    def __str__(self) -> str:
        headings, cells, left_out = self.table()
        lines = [self.title, f"minimises  {self.objective}", ""]
        widths = [max(map(len, column)) for column in zip(headings, *cells)]
        are_texts = 2 if headings[1:2] == ["of"] else 1
        for row in (headings, *cells):
            padded = [
                cell.ljust(width) if k < are_texts else cell.rjust(width)
                for k, (cell, width) in enumerate(zip(row, widths))
            ]
            lines.append("  ".join(padded).rstrip())
        if left_out:
            lines.append(_left_out(left_out))
        lines.append("")
        for heading, sentences in self.sections():
            if len(sentences) == 1:
                lines.append(f"{heading}: {sentences[0]}")
            else:
                lines += [f"{heading}:", *(f"- {sentence}" for sentence in sentences)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Summary of {self.title}>"

    def _repr_html_(self) -> str:
        headings, cells, left_out = self.table()
        note = _left_out(left_out) if left_out else ""
        return page(self.title, self.objective, headings, cells, note, self.sections())

    def to_dict(self) -> dict[str, Any]:
        """The same data as plain numbers and strings."""
        return asdict(self)


def _left_out(count: int) -> str:
    return f"and {count} more, with smaller effects of a standard deviation of their columns"


def _counted(n: float, what: str) -> str:
    return f"{n:g} {what}{'' if n == 1 else 's'}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _p_value(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if value >= SMALLEST_P else f"<{SMALLEST_P}"


def _share(value: float | None) -> str:
    return "" if value is None else percent(value, 0)
