"""A family of models: what it needs to know about a table, the time of a fit, how it is built.

Facts are known before any fit. The seconds of a fit follow laws fitted to measured times,
fixed + factor·rowsᵃ·widthᵇ·classesᶜ·max(width/rows, 1)ᵈ: with more columns than rows, nearly all
models fit their rows without error, and tuning takes longer for each value of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ..data import FEWEST_OF_A_LEVEL, MOST_WORDS, Column, Kind, Target, Task

Array = np.ndarray


# Preparation keeps this many levels of a category, and one for all others.
MOST_LEVELS = 200
PARTS_OF_A_DATE = 13
# Texts of n rows have about 40·n^0.6 different words (Heaps' law).
HEAPS_FACTOR, HEAPS_POWER = 40.0, 0.6


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts about a table before any model is fitted.

    Attributes
    ----------
    task : {"classification", "regression"}
        The task of predicting the target.
    rows : int
        The number of training rows.
    columns : int
        The number of columns that are features.
    features : int
        About how many numbers a row has with one column per level of a category and per word of a
        text.
    classes : int
        The number of classes; 0 for regression.
    smallest_class : int
        The number of rows of the rarest class; 0 for regression.
    largest_share : float
        The share of the most frequent class; 0 for regression.
    has_text, has_category, has_missing : bool
        Whether a feature is a free text, is a category or a text, or has missing values.
    is_text : bool
        Whether all features are free texts.
    """

    task: Task
    rows: int
    columns: int
    features: int
    classes: int
    smallest_class: int
    largest_share: float
    has_text: bool
    has_category: bool
    has_missing: bool
    is_text: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The same data as plain strings and numbers."""
        return asdict(self)


def facts_of(columns: Sequence[Column], target: Target, rows: Array | None = None) -> Facts:
    """The facts of a table.

    Parameters
    ----------
    columns : sequence of Column
        Columns with their roles, from `describe_columns`.
    target : Target
        The target, from `read_target`.
    rows : ndarray of int or None, default=None
        The training rows of the table; None for all rows with a target.

    Returns
    -------
    Facts
    """
    known = target.values if rows is None else target.values[np.isin(target.rows, rows)]
    used = [column for column in columns if column.is_feature]
    counts = np.zeros(0, dtype=int)
    if target.task == "classification":
        counts = np.unique(known, return_counts=True)[1]
    return Facts(
        task=target.task,
        rows=len(known),
        columns=len(used),
        features=sum(_width(column, len(known)) for column in used),
        classes=len(counts),
        smallest_class=int(counts.min(initial=len(known))) if len(counts) else 0,
        largest_share=float(counts.max(initial=0) / max(len(known), 1)),
        has_text=any(column.role == "text" for column in used),
        has_category=any(column.role in ("category", "text") for column in used),
        has_missing=any(column.missing for column in used),
        is_text=bool(used) and all(column.role == "text" for column in used),
    )


def _width(column: Column, rows: int) -> int:
    """About how many numbers a column becomes."""
    if column.role == "category":
        # Levels that are too rare share one column.
        levels = min(column.distinct, rows // FEWEST_OF_A_LEVEL, MOST_LEVELS)
        return max(levels, 1) + 1
    if column.given_as == "date":
        return PARTS_OF_A_DATE
    if column.role == "text":
        return min(int(HEAPS_FACTOR * rows**HEAPS_POWER), MOST_WORDS)
    return 2 if column.missing else 1


# The sizes at which a law's factor is its seconds beyond the fixed ones.
ROWS, WIDTH = 10_000, 20
# Entries per row of a matrix of words, whatever its width.
ENTRIES_OF_A_TEXT = 60


@dataclass(frozen=True, slots=True)
class FitSeconds:
    """A law of the seconds of one fit.

    Attributes
    ----------
    fixed : float
        Seconds of the smallest fit.
    factor : float
        Seconds of 10,000 rows of 20 numbers and two classes.
    rows, width, classes : float
        Powers of the number of rows, of numbers in a row, and of classes.
    words : float
        The factor for weights of words, for which a family may be tuned differently.
    several : float
        The factor for more than two classes without texts, if rows are left out of all classes
        together.
    wide : float
        Power of the number of columns per row, if there are more columns than rows.
    """

    fixed: float
    factor: float
    rows: float = 1.0
    width: float = 1.0
    classes: float = 0.0
    words: float = 1.0
    several: float = 1.0
    wide: float = 0.0

    def of(self, rows: int, width: int, classes: int, has_text: bool = False) -> float:
        """The estimated seconds of a fit.

        Parameters
        ----------
        rows, width, classes : int
            Rows, numbers in a row, and classes (0 for regression).
        has_text : bool, default=False
            Whether the numbers are mostly weights of words, few of which are nonzero.
        """
        entries = max(min(width, ENTRIES_OF_A_TEXT) if has_text else width, 1)
        by_size = (rows / ROWS) ** self.rows * (entries / WIDTH) ** self.width
        by_size *= max(entries / max(rows, 1), 1.0) ** self.wide
        by_kind = (max(classes, 2) / 2) ** self.classes
        by_kind *= self.words if has_text else self.several if classes > 2 else 1.0
        return self.fixed + self.factor * by_size * by_kind


# Folds choose the rounds of boosting in tables with fewer rows, which are all needed, and at most
# this many entries. For larger ones and for texts they cost more time than they are worth.
ROWS_TO_HOLD_OUT, MOST_IN_FOLDS = 10_000, 250_000
# The most numbers of a matrix held in memory, for linear models of long tables.
MOST_NUMBERS = 60_000_000


def is_for_folds(facts: Facts) -> bool:
    """Whether every fit of boosting has the time to choose its rounds by folds."""
    is_short = facts.rows < ROWS_TO_HOLD_OUT and not facts.has_text
    return is_short and facts.rows * facts.columns <= MOST_IN_FOLDS


@dataclass(frozen=True, slots=True)
class Family:
    """A family of models.

    Attributes
    ----------
    name : str
        Its name in words.
    task : {"classification", "regression"}
        Its task.
    kind : {"numbers", "components", "table"}
        Its input, as in `prepare`.
    complexity : int
        Its rank of simplicity; 0 is the baseline.
    make : callable
        Builds the estimator from the facts and a seed.
    seconds : FitSeconds
        The time of a fit.
    asking : float
        The time to predict a row, as a part of that to learn from it.
    largest, widest : int or None
        The most rows, and numbers per row, that one fit can use, whatever the time; None for all.
    fewest, narrowest : int
        Rows, and numbers per row, below which it has no advantage over its simpler relatives.
    takes_text : bool
        Whether it suits the many words of free texts.
    needs_text : bool
        Whether it takes only free texts.
    folds_seconds : FitSeconds or None
        The time of a fit to small tables, where folds choose the rounds of boosting.
    quick : callable or None
        Builds the estimator if there is no time for folds.
    goes_first : bool
        Whether it is judged on all rows before all others.
    full : Family or None
        For a family in its quick form, the family itself.
    """

    name: str
    task: Task
    kind: Kind
    complexity: int
    make: Callable[[Facts, int], Any]
    seconds: FitSeconds
    asking: float = 0.1
    largest: int | None = None
    widest: int | None = None
    fewest: int = 0
    narrowest: int = 0
    takes_text: bool = True
    needs_text: bool = False
    folds_seconds: FitSeconds | None = None
    quick: Callable[[Facts, int], Any] | None = None
    goes_first: bool = False
    full: Family | None = None

    @property
    def form(self) -> tuple[str, bool]:
        """Its name, and whether it is the quick form: fits of one form take equally long."""
        return self.name, self.full is not None

    def quicker(self, facts: Facts) -> Family | None:
        """The same family without folds inside its fits; None if it has no such form.

        Parameters
        ----------
        facts : Facts
            What is known of the table.
        """
        if self.quick is None or not is_for_folds(facts):
            return None
        return replace(self, make=self.quick, folds_seconds=None, quick=None, full=self)

    def build(self, facts: Facts, seed: int) -> Any:
        """The estimator, unfitted, which tunes itself.

        Parameters
        ----------
        facts : Facts
            What is known of the table.
        seed : int
            Seed of its random draws.
        """
        return self.make(facts, seed)

    def guess_seconds(self, facts: Facts, rows: int) -> float:
        """The estimated seconds of one fit, including preparation.

        Parameters
        ----------
        facts : Facts
            What is known of the table.
        rows : int
            The number of rows of the fit.
        """
        # With words every kind has many columns.
        is_wide = self.kind != "table" or facts.has_text
        width = facts.features if is_wide else facts.columns
        law = self.seconds
        if self.folds_seconds is not None and is_for_folds(facts):
            law = self.folds_seconds
        return law.of(rows, width, facts.classes, facts.has_text)

    def most_rows(self, facts: Facts) -> int:
        """The most rows that one fit can use.

        Parameters
        ----------
        facts : Facts
            What is known of the table.
        """
        most = facts.rows if self.largest is None else min(facts.rows, self.largest)
        if self.kind != "table" and not facts.has_text:
            most = min(most, MOST_NUMBERS // max(facts.features, 1))
        return most

    def suits(self, facts: Facts) -> bool:
        """Whether it can learn from such a table.

        Parameters
        ----------
        facts : Facts
            What is known of the table.
        """
        if self.task != facts.task or facts.rows < self.fewest or facts.features < self.narrowest:
            return False
        if (facts.has_text and not self.takes_text) or (self.needs_text and not facts.is_text):
            return False
        return self.widest is None or facts.features <= self.widest
