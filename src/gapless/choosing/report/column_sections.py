"""Sections about the columns: what the model uses, and what the table holds."""

from __future__ import annotations

from dataclasses import dataclass

from .plain import Number, Value


@dataclass(frozen=True, slots=True)
class Coefficient:
    """The weight of a feature, of scaled numbers; `of` is the class that it speaks for."""

    name: str
    value: float
    of: str


@dataclass(frozen=True, slots=True)
class Importance:
    """What the score of the test rows loses when a column is shuffled."""

    name: str
    value: float
    standard_error: Number


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a picture, with its name."""

    name: str
    values: tuple[Number, ...]


@dataclass(frozen=True, slots=True)
class Dependence:
    """How predictions change on average when one column is set to each of several values.

    Attributes
    ----------
    column : str
        Its name.
    values : tuple
        Numbers, or levels.
    lines : tuple of Line
        Mean predictions, or probabilities of one or more classes.
    answer : str
        What is predicted.
    """

    column: str
    values: tuple[Value, ...]
    lines: tuple[Line, ...]
    answer: str


@dataclass(frozen=True, slots=True)
class Uses:
    """What the model uses.

    Attributes
    ----------
    kind : str
        Of which kind it is, in words.
    coefficients : tuple of Coefficient
        Those of linear models that matter most.
    coefficient_count : int
        How many there are that are not zero.
    rules : tuple of str
        Those of a single tree.
    rule_count : int
        How many it has.
    importances : tuple of Importance
        The columns that matter most, the largest first.
    tried, features : int
        How many columns were shuffled, and how many there are.
    importance_metric : str
        What the loss is measured in.
    dependences : tuple of Dependence
        Of the first three columns.
    """

    kind: str
    coefficients: tuple[Coefficient, ...]
    coefficient_count: int
    rules: tuple[str, ...]
    rule_count: int
    importances: tuple[Importance, ...]
    tried: int
    features: int
    importance_metric: str
    dependences: tuple[Dependence, ...]


@dataclass(frozen=True, slots=True)
class Distribution:
    """Shares of the values of a column.

    Attributes
    ----------
    kind : {"bins", "levels", ""}
        Ranges of numbers or moments; levels, the most frequent first; or nothing to draw.
    labels : tuple of str
        First and last value of bins; names of levels.
    shares : tuple of float
        The part of the rows with a value in each bin, or with each level.
    """

    kind: str
    labels: tuple[str, ...]
    shares: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """A column of the table.

    Attributes
    ----------
    name, role, reason : str
        What it is called, what it is for, and why.
    missing : float
        The share of missing values.
    distinct : int
        How many different values it has.
    distribution : Distribution
        Its values.
    """

    name: str
    role: str
    reason: str
    missing: float
    distinct: int
    distribution: Distribution


@dataclass(frozen=True, slots=True)
class Found:
    """A finding about the table: its code, whether it is a warning, and what was found."""

    code: str
    severity: str
    title: str
    detail: str


@dataclass(frozen=True, slots=True)
class Data:
    """The table.

    Attributes
    ----------
    rows, column_count : int
        Its size.
    columns : tuple of ColumnFacts
        Those that are shown: the target, those that matter most, and the first others.
    roles : dict of str to int
        How many columns have each role.
    findings : tuple of Found
        What its reader should know, warnings first; the first ones of many.
    finding_count : int
        How many there are.
    notes : tuple of str
        What was decided in reading it; the first ones of many.
    note_count : int
        How many there are.
    """

    rows: int
    column_count: int
    columns: tuple[ColumnFacts, ...]
    roles: dict[str, int]
    findings: tuple[Found, ...]
    finding_count: int
    notes: tuple[str, ...]
    note_count: int
