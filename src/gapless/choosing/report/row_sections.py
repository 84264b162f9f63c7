"""Sections about the test rows: mistakes, curves, calibration, residuals."""

from __future__ import annotations

from dataclasses import dataclass

from .plain import Measured, Number


@dataclass(frozen=True, slots=True)
class Mistake:
    """A class that was taken for another: how many of its rows, and which part of them."""

    true: str
    predicted: str
    rows: int
    share: float


@dataclass(frozen=True, slots=True)
class Confusion:
    """Which class was predicted for which, in the test rows.

    Attributes
    ----------
    class_count : int
        How many classes there are.
    classes : tuple of str
        The classes; empty with the counts if there are too many for a matrix.
    counts : tuple of tuple of int
        Row i, column j: rows of class i that were predicted to be of class j.
    mistakes : tuple of Mistake
        The most frequent mistakes.
    words : str
        What the matrix shows.
    """

    class_count: int
    classes: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    mistakes: tuple[Mistake, ...]
    words: str


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve of the test rows: ROC, or precision by recall, with a band and its area.

    Attributes
    ----------
    x, y, low, high : tuple of float
        Its points, and the ends of the interval of each.
    area : Measured
        The area under it.
    chance : float or None
        What a score that says nothing would have; None for the diagonal.
    of : str
        The class that is looked for.
    """

    x: tuple[Number, ...]
    y: tuple[Number, ...]
    low: tuple[Number, ...]
    high: tuple[Number, ...]
    area: Measured
    chance: Number
    of: str


@dataclass(frozen=True, slots=True)
class Calibration:
    """What probabilities said, and what happened, in bins of the test rows."""

    said: tuple[Number, ...]
    happened: tuple[Number, ...]
    low: tuple[Number, ...]
    high: tuple[Number, ...]
    sizes: tuple[Number, ...]
    error: Measured
    of: str
    words: str


@dataclass(frozen=True, slots=True)
class Residuals:
    """Predicted and true numbers of the test rows, or of some of them.

    Attributes
    ----------
    true, predicted : tuple of float
        Both, for the rows that are drawn.
    lower, upper : tuple of float
        Ends of the prediction intervals; empty without them.
    shown, rows : int
        How many rows are drawn, and of how many.
    coverage : Measured or None
        The share of all test rows within their interval.
    level : float or None
        The share that was promised.
    words : str
        What the errors are like.
    """

    true: tuple[Number, ...]
    predicted: tuple[Number, ...]
    lower: tuple[Number, ...]
    upper: tuple[Number, ...]
    shown: int
    rows: int
    coverage: Measured | None
    level: Number
    words: str
