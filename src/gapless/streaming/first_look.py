"""The first pass over a table: checks every number, counts classes and weights, draws a sample.

The sample is every m-th row, counted from the beginning, so it does not depend on the parts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from .._ground.progress import ProgressLine
from .passes import total
from .sources import Rows
from .training import Training

Array = np.ndarray

# At most so many rows, and so many bytes, are drawn.
SAMPLE_ROWS, SAMPLE_BYTES = 100_000, 32 << 20
# More classes than this are no classes.
MOST_CLASSES = 10_000
# Beyond this, squares overflow when they are summed.
LARGEST = 1e140
# The same of fourth powers, which standard errors of squared errors need.
LARGEST_TARGET = 1e70


@dataclass(frozen=True, eq=False)
class Look:
    """What one look at all rows has found; looks at parts add up.

    Attributes
    ----------
    weight : float
        Σs.
    sums, squares : ndarray of shape (d,)
        Σsx and Σs(x − c)², with c the `center` of the look.
    labels : dict
        The weight of each label, for classes; empty for numbers.
    sum_of_y : float
        Σsy, for numbers.
    smallest, largest : float
        The smallest and the largest number y among rows with weight.
    samples : list of Rows
        The rows drawn.
    """

    weight: float
    sums: Array
    squares: Array
    labels: dict[Any, float] = field(default_factory=dict)
    sum_of_y: float = 0.0
    smallest: float = np.inf
    largest: float = -np.inf
    samples: list[Rows] = field(default_factory=list)
    more: Any = None

    def __add__(self, other: Look) -> Look:
        labels = dict(self.labels)
        for label, weight in other.labels.items():
            labels[label] = labels.get(label, 0.0) + weight
        if len(labels) > MOST_CLASSES:
            raise ValueError(
                f"y has more than {MOST_CLASSES:,} different values, so they are no classes; use a "
                "regressor."
            )
        return Look(
            self.weight + other.weight,
            self.sums + other.sums,
            self.squares + other.squares,
            labels,
            self.sum_of_y + other.sum_of_y,
            min(self.smallest, other.smallest),
            max(self.largest, other.largest),
            [*self.samples, *other.samples],
            None if self.more is None else self.more + other.more,
        )

    @cached_property
    def sample(self) -> Rows:
        """The rows drawn, in their order."""
        parts = self.samples
        y, weights = (
            None
            if getattr(parts[0], name) is None
            else np.concatenate([getattr(part, name) for part in parts])
            for name in ("y", "weights")
        )
        return Rows(np.concatenate([part.X for part in parts]), 0, y, weights)

    @property
    def classes(self) -> Array:
        """The labels of rows with weight, sorted."""
        return np.sort(np.array([label for label, weight in self.labels.items() if weight > 0]))

    @property
    def class_totals(self) -> Array:
        """The weight of each of the classes."""
        return np.array([self.labels[label] for label in self.classes.tolist()])


@dataclass(frozen=True, eq=False)
class LookAt:
    """The task of the first pass. `more`, another task, sees the same rows, once checked."""

    names: tuple[Any, ...]
    center: Array
    step: int
    has_classes: bool
    has_target: bool
    more: Any = None

    def __call__(self, rows: Rows) -> Look:
        """Look at one part."""
        X = rows.X
        check_features(X, rows.first, self.names)
        weights = checked_weights(rows)
        away = X - self.center
        found: dict[str, Any] = {}
        if self.has_target:
            found = (
                self._look_at_labels(rows, weights)
                if self.has_classes
                else (self._look_at_numbers(rows, weights))
            )
        start = (-rows.first) % self.step
        picked = slice(start, None, self.step)
        y = None if rows.y is None else np.array(rows.y[picked])
        drawn = Rows(np.array(X[picked]), rows.first, y, np.array(weights[picked]))
        return Look(
            float(weights.sum()),
            weights @ X,
            weights @ away**2,
            **found,
            samples=[drawn],
            more=None if self.more is None else self.more(rows),
        )

    def _look_at_labels(self, rows: Rows, weights: Array) -> dict[str, Any]:
        labels, inverse = np.unique(checked_labels(rows), return_inverse=True)
        totals = np.bincount(inverse.ravel(), weights, minlength=len(labels))
        return {"labels": dict(zip(labels.tolist(), totals.tolist()))}

    def _look_at_numbers(self, rows: Rows, weights: Array) -> dict[str, Any]:
        y = checked_numbers(rows)
        counted = y[weights > 0]
        return {
            "sum_of_y": float(np.sum(weights * y)),
            "smallest": float(counted.min(initial=np.inf)),
            "largest": float(counted.max(initial=-np.inf)),
        }


def check_features(X: Array, first: int, names: tuple[Any, ...]) -> None:
    """Refuse missing and huge numbers, by row, counted from that of the first, and column."""
    if max(X.max(initial=0.0), -X.min(initial=0.0)) <= LARGEST:
        return
    row, column = np.argwhere(~(np.abs(X) <= LARGEST))[0]
    value = X[row, column]
    if np.isnan(value):
        what, cure = "a missing value", "drop the row, fill it in"
    else:
        what = f"{value:g}"
        cure = "drop the row" if np.isinf(value) else "use a larger unit"
    raise ValueError(
        f"X has {what} in row {first + row}, column {names[column]!r}; {cure}, or leave the column "
        "out with in_parts(..., columns=[...])."
    )


def checked_weights(rows: Rows) -> Array:
    """The weights of the rows, 1 if they have none; an error that names the first that is none."""
    if rows.weights is None:
        return np.ones(len(rows))
    weights = np.asarray(rows.weights, dtype=np.float64)
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"weights must be finite and at least 0, got {weights[row]:g} in row "
            f"{rows.first + row}."
        )
    return weights


def checked_labels(rows: Rows) -> Array:
    """The labels of the rows, sortable; an error that names the first that is missing."""
    y = np.asarray(rows.y)
    if y.dtype.kind == "O":
        missing = np.array([label is None or label != label for label in y])
    else:
        missing = np.isnan(y) if y.dtype.kind == "f" else np.zeros(len(y), dtype=bool)
    if missing.any():
        row = rows.first + int(np.argmax(missing))
        raise ValueError(f"y has no label in row {row}; drop the row, or fill it in.")
    return np.array(y.tolist()) if y.dtype.kind == "O" else y


def checked_numbers(rows: Rows) -> Array:
    """The targets of the rows as float64; an error that names the first that is no number."""
    try:
        y = np.asarray(rows.y).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"y holds {np.asarray(rows.y).dtype}, and regression needs numbers ({error})."
        ) from None
    wrong = ~(np.abs(y) <= LARGEST_TARGET)
    if wrong.any():
        row = int(np.argmax(wrong))
        what = "no number" if np.isnan(y[row]) else f"{y[row]:g}"
        cure = "drop the row, or fill it in" if np.isnan(y[row]) else "use a larger unit"
        raise ValueError(f"y has {what} in row {rows.first + row}; {cure}.")
    return y


def first_means(training: Training) -> Array:
    """The means of the columns in the first part: near those of all rows, or of their size."""
    first = training.stretch(0, min(training.parts.rows, training.n)).X
    with np.errstate(over="ignore", invalid="ignore"):
        means = np.mean(first, axis=0, dtype=np.float64)
    return np.where(np.isfinite(means), means, 0.0)


def look_at(
    training: Training,
    *,
    has_classes: bool = False,
    center: Array | None = None,
    more: Any = None,
    line: ProgressLine | None = None,
) -> Look:
    """The first pass; `more`, another task, sees the same rows, once they are checked."""
    most = min(SAMPLE_ROWS, SAMPLE_BYTES // (8 * training.d))
    step = -(-training.n // max(most, 1))
    about = np.zeros(training.d) if center is None else center
    has_target = training.y is not None
    task = LookAt(training.parts.columns, about, step, has_classes, has_target, more)
    found = total(training, task, line=line, what="first look")
    if not found.weight > 0:
        raise ValueError("all weights are 0; at least one row must have weight.")
    return found
