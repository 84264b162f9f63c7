"""The families of models, and which of them can learn from a table."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from functools import partial

from ..models.bayes import LinearDiscriminantAnalysis, NaiveBayes
from ..models.kernel_machines import KernelRidge
from ..models.linear import Lasso
from ..models.neighbors import KNeighborsClassifier, KNeighborsRegressor
from ..models.svm import SVC
from .builders import (
    bayes_of_words,
    boosted_large,
    boosted_small,
    boosted_usual,
    forest,
    linear_svm,
    logistic,
    pruned_tree,
    ridge,
    sparse_logistic,
)
from .costs import Cost
from .facts import Facts
from .family import Family
from .null_models import MajorityClassifier, MeanRegressor

CLASSIFIERS = (
    Family(
        name="majority class",
        task="classification",
        kind="table",
        complexity=0,
        make=lambda facts, seed: MajorityClassifier(),
        cost=Cost(0.01, 0.01, width=0.0),
    ),
    Family(
        name="sparse logistic regression",
        task="classification",
        kind="numbers",
        complexity=1,
        make=sparse_logistic,
        cost=Cost(0.2, 0.5, width=0.9, classes=1.3, several=5.0, wide=0.3),
    ),
    Family(
        name="logistic regression",
        task="classification",
        kind="numbers",
        complexity=2,
        make=logistic,
        goes_first=True,
        cost=Cost(0.05, 0.04, width=1.1, classes=1.3, words=5.0, several=50.0, wide=0.55),
    ),
    Family(
        name="linear discriminants",
        task="classification",
        kind="numbers",
        complexity=2,
        make=lambda facts, seed: LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
        cost=Cost(0.02, 0.03),
        # Its matrix of covariances has a row and a column for each.
        widest=1000,
        takes_text=False,
    ),
    Family(
        name="naive Bayes",
        task="classification",
        kind="table",
        complexity=2,
        make=lambda facts, seed: NaiveBayes(),
        cost=Cost(0.04, 0.06, width=0.6),
        # Counts of words have no bell shape.
        takes_text=False,
    ),
    Family(
        name="naive Bayes of words",
        task="classification",
        kind="numbers",
        complexity=2,
        make=bayes_of_words,
        cost=Cost(0.05, 0.05, classes=0.5),
        needs_text=True,
    ),
    Family(
        name="linear SVM",
        task="classification",
        kind="numbers",
        complexity=3,
        make=linear_svm,
        cost=Cost(0.03, 0.06, width=1.1, classes=1.0, words=2.0, several=12.0, wide=0.45),
    ),
    Family(
        name="pruned tree",
        task="classification",
        kind="table",
        complexity=3,
        make=pruned_tree,
        cost=Cost(0.02, 0.3, rows=1.1),
    ),
    Family(
        name="nearest neighbours",
        task="classification",
        kind="numbers",
        complexity=4,
        make=lambda facts, seed: KNeighborsClassifier("loo"),
        cost=Cost(0.02, 1.2, rows=1.1, width=0.45),
        # It learns by predicting each row from all others.
        asking=1.0,
        largest=50_000,
    ),
    Family(
        name="Gaussian-kernel SVM",
        task="classification",
        kind="numbers",
        complexity=5,
        make=lambda facts, seed: SVC(C="loo", gamma="loo", random_state=seed),
        cost=Cost(0.1, 3.0, rows=1.3, width=0.5, words=2.5, several=2.0),
        largest=10_000,
    ),
    Family(
        name="random forest",
        task="classification",
        kind="table",
        complexity=6,
        make=forest,
        cost=Cost(0.25, 1.1, rows=1.1, width=0.5),
        largest=200_000,
    ),
    Family(
        name="boosted small trees",
        task="classification",
        kind="table",
        complexity=7,
        make=boosted_small,
        quick=partial(boosted_small, is_quick=True),
        cost=Cost(0.05, 0.6, classes=1.3, wide=0.1),
        folds_cost=Cost(0.1, 1.5, rows=0.7, width=0.7, classes=1.5),
    ),
    Family(
        name="boosted trees",
        task="classification",
        kind="table",
        complexity=8,
        make=boosted_usual,
        quick=partial(boosted_usual, is_quick=True),
        goes_first=True,
        cost=Cost(0.05, 0.6, classes=1.3, wide=0.1),
        folds_cost=Cost(0.1, 1.5, rows=0.7, width=0.7, classes=1.5),
    ),
    Family(
        name="boosted large trees",
        task="classification",
        kind="table",
        complexity=9,
        make=boosted_large,
        cost=Cost(0.05, 0.8, classes=1.3),
        fewest=50_000,
    ),
)
REGRESSORS = (
    Family(
        name="mean",
        task="regression",
        kind="table",
        complexity=0,
        make=lambda facts, seed: MeanRegressor(),
        cost=Cost(0.01, 0.01, width=0.0),
    ),
    Family(
        name="lasso",
        task="regression",
        kind="numbers",
        complexity=1,
        make=lambda facts, seed: Lasso(alpha="loo", select="1se"),
        cost=Cost(0.05, 0.2, width=0.9, words=3.0, wide=0.3),
    ),
    Family(
        name="ridge regression",
        task="regression",
        kind="numbers",
        complexity=2,
        make=ridge,
        goes_first=True,
        cost=Cost(0.02, 0.2, width=0.85, words=8.0),
    ),
    Family(
        name="pruned tree",
        task="regression",
        kind="table",
        complexity=3,
        make=pruned_tree,
        cost=Cost(0.02, 0.8, rows=1.1),
    ),
    Family(
        name="nearest neighbours",
        task="regression",
        kind="numbers",
        complexity=4,
        make=lambda facts, seed: KNeighborsRegressor("loo"),
        cost=Cost(0.02, 1.2, rows=1.1, width=0.45),
        # It learns by predicting each row from all others.
        asking=1.0,
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
        cost=Cost(0.1, 22.0, rows=1.2, width=0.3),
        largest=20_000,
    ),
    Family(
        name="random forest",
        task="regression",
        kind="table",
        complexity=6,
        make=forest,
        cost=Cost(0.15, 6.5, rows=1.1, width=0.5),
        largest=200_000,
    ),
    Family(
        name="boosted small trees",
        task="regression",
        kind="table",
        complexity=7,
        make=boosted_small,
        quick=partial(boosted_small, is_quick=True),
        cost=Cost(0.05, 1.2),
        folds_cost=Cost(0.2, 6.0),
    ),
    Family(
        name="boosted trees",
        task="regression",
        kind="table",
        complexity=8,
        make=boosted_usual,
        quick=partial(boosted_usual, is_quick=True),
        goes_first=True,
        cost=Cost(0.05, 1.2),
        folds_cost=Cost(0.2, 3.0),
    ),
    Family(
        name="boosted large trees",
        task="regression",
        kind="table",
        complexity=9,
        make=boosted_large,
        cost=Cost(0.05, 1.5),
        fewest=50_000,
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
    """The name of a family as it is written here; spaces, dashes and capitals do not matter."""
    by_plain = {_plain(family.name): family.name for family in families}
    if _plain(name) in by_plain:
        return by_plain[_plain(name)]
    near = difflib.get_close_matches(_plain(name), by_plain, n=1)
    hint = f" Did you mean {by_plain[near[0]]!r}?" if near else ""
    raise ValueError(
        f"unknown model {name!r} for {families[0].task}; choose from "
        f"{', '.join(by_plain.values())}.{hint}"
    )


def _plain(name: str) -> str:
    return " ".join(name.lower().replace("_", " ").replace("-", " ").split())
