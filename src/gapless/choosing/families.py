"""Families of models: what each is called, how it is built for a table, and what a fit costs.

Every model tunes itself inside its own fit: by leave-one-out, along a path, by pruning, or by
rounds that are judged on rows held out. So the rows that judge a family never tuned it.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..bayes import LinearDiscriminantAnalysis, NaiveBayes
from ..data.preparation import Kind
from ..data.target import Task
from ..ensembles import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from ..kernel_machines import KernelRidge
from ..linear import Lasso, LinearSVC, LogisticRegression, Ridge
from ..neighbors import KNeighborsClassifier, KNeighborsRegressor
from ..svm import SVC
from ..trees import DecisionTreeClassifier, DecisionTreeRegressor
from .costs import Cost
from .facts import Facts
from .null_models import MajorityClassifier, MeanRegressor

# So many numbers of a matrix are held in memory at most, for linear models of long tables.
MOST_NUMBERS = 60_000_000
# Boosting holds rows out to judge its rounds if there are at least so many.
ROWS_TO_HOLD_OUT = 2000


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
    largest, widest : int or None
        The most rows and numbers in a row that one fit can use, whatever the time; None for all.
    takes_text : bool
        Whether it is of use for the many words of free texts.
    """

    name: str
    task: Task
    kind: Kind
    complexity: int
    make: Callable[[Facts, int], Any]
    cost: Cost
    largest: int | None = None
    widest: int | None = None
    takes_text: bool = True

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
        width = facts.features if self.kind == "numbers" else facts.columns
        return self.cost.seconds(rows, width, facts.classes, facts.has_text)

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
        if self.task != facts.task or (facts.has_text and not self.takes_text):
            return False
        return self.widest is None or facts.features <= self.widest


# ---- how models are built ------------------------------------------------------------------------


def _boosting(facts: Facts, seed: int) -> dict[str, Any]:
    """Rounds that end when rows held out are predicted no better; few, short ones of few rows."""
    if facts.rows >= ROWS_TO_HOLD_OUT and facts.smallest_class != 1:
        return {"max_iter": 1000, "early_stopping": True, "random_state": seed}
    return {
        "max_iter": 100,
        "learning_rate": 0.05,
        "early_stopping": False,
        "min_samples_leaf": max(1, min(20, facts.rows // 20)),
        "random_state": seed,
    }


CLASSIFIERS = (
    Family(
        name="majority class",
        task="classification",
        kind="table",
        complexity=0,
        make=lambda facts, seed: MajorityClassifier(),
        cost=Cost(0.01, 0.01),
    ),
    Family(
        name="sparse logistic regression",
        task="classification",
        kind="numbers",
        complexity=1,
        make=lambda facts, seed: LogisticRegression(C="loo", l1_ratio=1.0, select="1se"),
        cost=Cost(0.05, 0.5, width=1.3, classes=1.5),
    ),
    Family(
        name="logistic regression",
        task="classification",
        kind="numbers",
        complexity=2,
        make=lambda facts, seed: LogisticRegression(C="loo"),
        cost=Cost(0.05, 0.3, width=1.3, classes=1.5),
    ),
    Family(
        name="linear discriminants",
        task="classification",
        kind="numbers",
        complexity=2,
        make=lambda facts, seed: LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
        cost=Cost(0.02, 0.02),
        widest=3000,
        takes_text=False,
    ),
    Family(
        name="naive Bayes",
        task="classification",
        kind="table",
        complexity=2,
        make=lambda facts, seed: NaiveBayes(),
        cost=Cost(0.02, 0.02),
    ),
    Family(
        name="linear SVM",
        task="classification",
        kind="numbers",
        complexity=3,
        make=lambda facts, seed: LinearSVC(C="loo"),
        cost=Cost(0.05, 0.3, width=1.3, classes=1.0),
    ),
    Family(
        name="pruned tree",
        task="classification",
        kind="table",
        complexity=3,
        make=lambda facts, seed: DecisionTreeClassifier(ccp_alpha="cv", random_state=seed),
        cost=Cost(0.02, 0.2),
    ),
    Family(
        name="nearest neighbours",
        task="classification",
        kind="numbers",
        complexity=4,
        make=lambda facts, seed: KNeighborsClassifier("loo"),
        cost=Cost(0.02, 1.0, rows=1.5),
        largest=50_000,
    ),
    Family(
        name="Gaussian-kernel SVM",
        task="classification",
        kind="numbers",
        complexity=5,
        make=lambda facts, seed: SVC(C="loo", gamma="loo", random_state=seed),
        cost=Cost(0.1, 20.0, rows=2.0, width=0.5, classes=0.5),
        largest=20_000,
    ),
    Family(
        name="random forest",
        task="classification",
        kind="table",
        complexity=6,
        make=lambda facts, seed: RandomForestClassifier(random_state=seed),
        cost=Cost(0.1, 0.5, width=0.5),
        largest=200_000,
    ),
    Family(
        name="boosted trees",
        task="classification",
        kind="table",
        complexity=7,
        make=lambda facts, seed: HistGradientBoostingClassifier(**_boosting(facts, seed)),
        cost=Cost(0.1, 0.5, classes=1.0),
    ),
)
REGRESSORS = (
    Family(
        name="mean",
        task="regression",
        kind="table",
        complexity=0,
        make=lambda facts, seed: MeanRegressor(),
        cost=Cost(0.01, 0.01),
    ),
    Family(
        name="lasso",
        task="regression",
        kind="numbers",
        complexity=1,
        make=lambda facts, seed: Lasso(alpha="loo", select="1se"),
        cost=Cost(0.05, 0.2, width=1.3),
    ),
    Family(
        name="ridge regression",
        task="regression",
        kind="numbers",
        complexity=2,
        make=lambda facts, seed: Ridge(alpha="loo"),
        cost=Cost(0.02, 0.1, width=1.3),
    ),
    Family(
        name="pruned tree",
        task="regression",
        kind="table",
        complexity=3,
        make=lambda facts, seed: DecisionTreeRegressor(ccp_alpha="cv", random_state=seed),
        cost=Cost(0.02, 0.2),
    ),
    Family(
        name="nearest neighbours",
        task="regression",
        kind="numbers",
        complexity=4,
        make=lambda facts, seed: KNeighborsRegressor("loo"),
        cost=Cost(0.02, 1.0, rows=1.5),
        largest=50_000,
    ),
    Family(
        name="kernel ridge",
        task="regression",
        kind="numbers",
        complexity=5,
        make=lambda facts, seed: KernelRidge(
            alpha="loo", kernel="rbf", gamma="loo", fit_intercept=True, random_state=seed
        ),
        cost=Cost(0.1, 20.0, rows=2.0, width=0.5),
        largest=20_000,
    ),
    Family(
        name="random forest",
        task="regression",
        kind="table",
        complexity=6,
        make=lambda facts, seed: RandomForestRegressor(random_state=seed),
        cost=Cost(0.1, 1.0),
        largest=200_000,
    ),
    Family(
        name="boosted trees",
        task="regression",
        kind="table",
        complexity=7,
        make=lambda facts, seed: HistGradientBoostingRegressor(**_boosting(facts, seed)),
        cost=Cost(0.1, 0.5),
    ),
)
FAMILIES = CLASSIFIERS + REGRESSORS


# ---- which of them -------------------------------------------------------------------------------


def families_for(facts: Facts, names: Sequence[str] | None = None) -> list[Family]:
    """The families that can learn from a table, the cheapest first and the null model before all.

    Parameters
    ----------
    facts : Facts
        What is known of the table.
    names : sequence of str or None, default=None
        The families that are wanted, by name; None for all. The null model is always there.

    Returns
    -------
    list of Family

    Raises
    ------
    ValueError
        When no family of the task has one of the names.
    """
    of_task = [family for family in FAMILIES if family.task == facts.task]
    wanted = None if names is None else {_found(name, of_task) for name in names}
    suited = [
        family
        for family in of_task
        if family.suits(facts)
        and (wanted is None or family.complexity == 0 or family.name in wanted)
    ]

    def cost(family: Family) -> tuple[bool, float]:
        return family.complexity > 0, family.guess_seconds(facts, family.most_rows(facts))

    return sorted(suited, key=cost)


def _found(name: str, families: Sequence[Family]) -> str:
    """The name of a family as it is written here; blanks, dashes and capitals do not matter."""
    by_plain = {_plain(family.name): family.name for family in families}
    if _plain(name) in by_plain:
        return by_plain[_plain(name)]
    near = difflib.get_close_matches(_plain(name), by_plain, n=1)
    hint = f" Did you mean {by_plain[near[0]]!r}?" if near else ""
    raise ValueError(
        f"no model for {families[0].task} is called {name!r}; there are "
        f"{', '.join(by_plain.values())}.{hint}"
    )


def _plain(name: str) -> str:
    return " ".join(name.lower().replace("_", " ").replace("-", " ").split())
