"""Family: a kind of model with a name, what it takes, how it is built, and what a fit costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..data import Kind, Task
from .builders import is_for_folds
from .costs import Cost
from .facts import Facts

# So many numbers of a matrix are held in memory at most, for linear models of long tables.
MOST_NUMBERS = 60_000_000


@dataclass(frozen=True, slots=True)
class Family:
    """A family of models.

    Attributes
    ----------
    name : str
        What it is called, in words.
    task : {"classification", "regression"}
        What it does.
    kind : {"numbers", "table"}
        What it takes, as in `prepare`.
    complexity : int
        Its rank of simplicity; 0 is the null model.
    make : callable
        Builds the estimator from the facts and a seed.
    cost : Cost
        What a fit costs.
    asking : float
        About which part of learning from a row it takes to predict one.
    largest, widest : int or None
        The most rows and numbers in a row that one fit can use, whatever the time; None for all.
    fewest : int
        Rows below which it has no advantage over its simpler relatives.
    takes_text : bool
        Whether it is of use for the many words of free texts.
    needs_text : bool
        Whether it takes nothing else than free texts.
    folds_cost : Cost or None
        What it costs of small tables, where folds choose the rounds of boosting.
    quick : callable or None
        Builds the estimator where there is no time for folds.
    goes_first : bool
        Whether it is judged on all rows before any other is looked at.
    full : Family or None
        Of a family in its quick form, the family itself.
    """

    name: str
    task: Task
    kind: Kind
    complexity: int
    make: Callable[[Facts, int], Any]
    cost: Cost
    asking: float = 0.1
    largest: int | None = None
    widest: int | None = None
    fewest: int = 0
    takes_text: bool = True
    needs_text: bool = False
    folds_cost: Cost | None = None
    quick: Callable[[Facts, int], Any] | None = None
    goes_first: bool = False
    full: Family | None = None

    @property
    def form(self) -> tuple[str, bool]:
        """Its name, and whether it is in its quick form: fits of one form cost alike."""
        return self.name, self.full is not None

    def quicker(self, facts: Facts) -> Family | None:
        """The same family without folds inside its fits; None if it has none.

        Parameters
        ----------
        facts : Facts
            What is known of the table.
        """
        if self.quick is None or not is_for_folds(facts):
            return None
        return replace(self, make=self.quick, folds_cost=None, quick=None, full=self)

    def build(self, facts: Facts, seed: int) -> Any:
        """The estimator, unfitted, which tunes itself.

        Parameters
        ----------
        facts : Facts
            What is known of the table.
        seed : int
            For what is random in it.
        """
        return self.make(facts, seed)

    def guess_seconds(self, facts: Facts, rows: int) -> float:
        """About how long one fit takes, preparation included.

        Parameters
        ----------
        facts : Facts
            What is known of the table.
        rows : int
            The number of rows of the fit.
        """
        # Of words every kind has many columns.
        is_wide = self.kind == "numbers" or facts.has_text
        width = facts.features if is_wide else facts.columns
        cost = self.cost
        if self.folds_cost is not None and is_for_folds(facts):
            cost = self.folds_cost
        return cost.seconds(rows, width, facts.classes, facts.has_text)

    def most_rows(self, facts: Facts) -> int:
        """The most rows that one fit can use.

        Parameters
        ----------
        facts : Facts
            What is known of the table.
        """
        most = facts.rows if self.largest is None else min(facts.rows, self.largest)
        if self.kind == "numbers" and not facts.has_text:
            most = min(most, MOST_NUMBERS // max(facts.features, 1))
        return most

    def suits(self, facts: Facts) -> bool:
        """Whether it can learn from such a table.

        Parameters
        ----------
        facts : Facts
            What is known of the table.
        """
        if self.task != facts.task or facts.rows < self.fewest:
            return False
        if (facts.has_text and not self.takes_text) or (self.needs_text and not facts.is_text):
            return False
        return self.widest is None or facts.features <= self.widest
