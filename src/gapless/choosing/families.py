"""All families of models for tables: how each model is built, and the time of a fit.

Every model tunes itself inside its own fit: by leave-one-out, along a path, by folds, by pruning,
or by rounds judged on held-out rows. So a family is never judged on rows that tuned it.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from functools import partial
from math import sqrt
from typing import Any

from sklearn.compose import TransformedTargetRegressor
from sklearn.preprocessing import StandardScaler

from ..models.bayes import LinearDiscriminantAnalysis, MultinomialNB, NaiveBayes
from ..models.boosting import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from ..models.forests import RandomForestClassifier, RandomForestRegressor
from ..models.kernel_machines import KernelRidge
from ..models.linear import Lasso, LinearSVC, LogisticRegression, Ridge
from ..models.neighbors import KNeighborsClassifier, KNeighborsRegressor
from ..models.networks import MLPClassifier, MLPRegressor
from ..models.svm import SVC
from ..models.trees import DecisionTreeClassifier, DecisionTreeRegressor
from .baselines import MajorityClassifier, MeanRegressor
from .family import Facts, Family, FitSeconds, is_for_folds

# Boosting without folds holds rows out to judge its rounds, from this many rows on: a few dozen are
# held out.
FEWEST_TO_HOLD_OUT = 500
MOST_ROUNDS = 1000
# Tables with fewer numbers in a row are not reduced to components.
WIDE_TABLE = 50
# With more columns than rows every round examines many columns for little gain: few rounds, large
# steps.
WIDE_RATE, WIDE_ROUNDS = 0.2, 40
# With more columns, forests for regression try 3·√columns at a split, which begins with a third.
MANY_COLUMNS, TRIED = 100, 3.0
# With fewer rows boosting takes smaller steps.
FEW_ROWS = 2000
# A network ends after so many epochs without a better score on held-out rows, and at the latest
# after so many.
PATIENCE, MOST_EPOCHS = 5, 100
# With fewer rows a network rarely beats a kernel or boosted trees, for classes and for numbers.
ROWS_FOR_A_NETWORK, ROWS_FOR_NUMBERS = 5000, 1000
# The work of one Newton step, in multiplications: up to this, strengths are chosen by
# leave-one-out, beyond it by folds, or on a sample.
MOST_LEFT_OUT = 2e8
# The work done once per row costs as much as this many columns.
LEAST_WIDTH = 40


def newton_work(facts: Facts) -> float:
    """About how many multiplications a step of a linear model takes."""
    coefficients = facts.features * (facts.classes if facts.classes > 2 else 1)
    return float(facts.rows) * max(min(coefficients, facts.rows), LEAST_WIDTH) ** 2


def by_rows_or_folds(facts: Facts) -> str:
    """How strengths are chosen: "loo", or "cv" if that is cheaper.

    Words have many weights, and leaving one row out takes as long as a fit.
    """
    return "loo" if not facts.has_text and newton_work(facts) <= MOST_LEFT_OUT else "cv"


def logistic(facts: Facts, seed: int) -> Any:
    """Logistic regression with the L2 penalty."""
    return LogisticRegression(C=by_rows_or_folds(facts))


def sparse_logistic(facts: Facts, seed: int) -> Any:
    """Logistic regression with the L1 penalty, as sparse as a standard error allows."""
    return LogisticRegression(C="loo", l1_ratio=1.0, select="1se")


def linear_svm(facts: Facts, seed: int) -> Any:
    """A linear machine with the squared hinge."""
    # Words separate classes, and beyond some C all models are nearly the same.
    return LinearSVC(C=by_rows_or_folds(facts), select="1se" if facts.has_text else "min")


def ridge(facts: Facts, seed: int) -> Any:
    """Ridge regression; with many words the eigenvalues cannot be found in time."""
    return Ridge(alpha="cv" if facts.has_text else "loo")


def bayes_of_words(facts: Facts, seed: int) -> Any:
    """Naive Bayes on tf-idf weights, with its pseudo-count chosen by leave-one-out."""
    return MultinomialNB(alpha="loo")


def pruned_tree(facts: Facts, seed: int) -> Any:
    """A tree whose leaf price is chosen by folds."""
    cls = DecisionTreeClassifier if facts.classes else DecisionTreeRegressor
    return cls(ccp_alpha="cv", random_state=seed)


def forest(facts: Facts, seed: int) -> Any:
    """A forest whose leaf size is chosen out of bag."""
    if facts.classes:
        return RandomForestClassifier(min_samples_leaf="oob", random_state=seed)
    share = TRIED / sqrt(facts.columns) if facts.columns > MANY_COLUMNS else 1.0
    return RandomForestRegressor(min_samples_leaf="oob", max_features=share, random_state=seed)


def network(facts: Facts, seed: int) -> Any:
    """Two hidden layers, trained until held-out rows are predicted no better.

    Numbers are predicted in units of their standard deviation, for which the steps are made.
    """
    cls = MLPClassifier if facts.classes else MLPRegressor
    model = cls(
        hidden_layer_sizes=(200, 100),
        learning_rate_init=0.003,
        early_stopping=True,
        max_iter=MOST_EPOCHS,
        n_iter_no_change=PATIENCE,
        tol=1e-3,
        random_state=seed,
    )
    if facts.classes:
        return model
    return TransformedTargetRegressor(model, transformer=StandardScaler())


def boosted(
    facts: Facts, seed: int, leaves: int, rate: float, rounds: int, is_quick: bool = False
) -> Any:
    """Boosted trees: with many rows, rounds end when held-out rows are predicted no better.

    With few rows folds choose them; with few rows and very many columns the number is fixed. Folds
    judge classes by the squared error of probabilities: log loss has its minimum long before that
    of wrong decisions, since trees soon become over-confident about a few rows. `is_quick` uses no
    folds.
    """
    cls = HistGradientBoostingClassifier if facts.classes else HistGradientBoostingRegressor
    is_by_folds = is_for_folds(facts) and not is_quick
    is_held_out = facts.rows >= FEWEST_TO_HOLD_OUT and not is_by_folds
    if not is_by_folds and facts.columns > facts.rows:
        rate, rounds = WIDE_RATE, WIDE_ROUNDS
    return cls(
        max_iter="cv" if is_by_folds else MOST_ROUNDS if is_held_out else rounds,
        early_stopping=is_held_out,
        scoring="neg_brier_score" if is_by_folds and facts.classes else "loss",
        learning_rate=rate,
        max_leaf_nodes=leaves,
        min_samples_leaf=max(1, min(20, facts.rows // 20)),
        random_state=seed,
    )


def boosted_small(facts: Facts, seed: int, is_quick: bool = False) -> Any:
    """Boosted trees of six leaves, in which at most five columns interact."""
    rate = 0.05 if facts.rows < FEW_ROWS else 0.1
    return boosted(facts, seed, leaves=6, rate=rate, rounds=150, is_quick=is_quick)


def boosted_usual(facts: Facts, seed: int, is_quick: bool = False) -> Any:
    """Boosted trees of the usual size."""
    return boosted(facts, seed, leaves=31, rate=0.1, rounds=100, is_quick=is_quick)


def boosted_large(facts: Facts, seed: int) -> Any:
    """Boosted trees of many leaves, for tables of many rows."""
    return boosted(facts, seed, leaves=127, rate=0.2 if facts.classes > 2 else 0.1, rounds=100)


CLASSIFIERS = (
    Family(
        name="majority class",
        task="classification",
        kind="table",
        complexity=0,
        make=lambda facts, seed: MajorityClassifier(),
        seconds=FitSeconds(0.01, 0.01, width=0.0),
    ),
    Family(
        name="sparse logistic regression",
        task="classification",
        kind="numbers",
        complexity=1,
        make=sparse_logistic,
        seconds=FitSeconds(0.2, 0.5, width=0.9, classes=1.3, several=5.0, wide=0.3),
    ),
    Family(
        name="logistic regression",
        task="classification",
        kind="numbers",
        complexity=2,
        make=logistic,
        goes_first=True,
        seconds=FitSeconds(0.05, 0.04, width=1.1, classes=1.3, words=5.0, several=50.0, wide=0.55),
    ),
    Family(
        name="logistic on components",
        task="classification",
        kind="components",
        complexity=3,
        make=logistic,
        seconds=FitSeconds(0.1, 0.05, classes=1.3, several=10.0, wide=0.3),
        narrowest=WIDE_TABLE,
        takes_text=False,
    ),
    Family(
        name="linear discriminants",
        task="classification",
        kind="numbers",
        complexity=2,
        make=lambda facts, seed: LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
        seconds=FitSeconds(0.02, 0.03),
        # Its covariance matrix has a row and a column for each.
        widest=1000,
        takes_text=False,
    ),
    Family(
        name="naive Bayes",
        task="classification",
        kind="table",
        complexity=2,
        make=lambda facts, seed: NaiveBayes(),
        seconds=FitSeconds(0.04, 0.06, width=0.6),
        # Counts of words have no bell shape.
        takes_text=False,
    ),
    Family(
        name="naive Bayes of words",
        task="classification",
        kind="numbers",
        complexity=2,
        make=bayes_of_words,
        seconds=FitSeconds(0.05, 0.05, classes=0.5),
        needs_text=True,
    ),
    Family(
        name="linear SVM",
        task="classification",
        kind="numbers",
        complexity=3,
        make=linear_svm,
        seconds=FitSeconds(0.03, 0.06, width=1.1, classes=1.0, words=2.0, several=12.0, wide=0.45),
    ),
    Family(
        name="pruned tree",
        task="classification",
        kind="table",
        complexity=3,
        make=pruned_tree,
        seconds=FitSeconds(0.02, 0.3, rows=1.1),
    ),
    Family(
        name="nearest neighbours",
        task="classification",
        kind="numbers",
        complexity=4,
        make=lambda facts, seed: KNeighborsClassifier("loo"),
        seconds=FitSeconds(0.02, 1.2, rows=1.1, width=0.45),
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
        seconds=FitSeconds(0.1, 3.0, rows=1.3, width=0.5, words=2.5, several=2.0),
        largest=10_000,
    ),
    Family(
        name="neural network",
        task="classification",
        kind="numbers",
        complexity=6,
        make=network,
        seconds=FitSeconds(0.05, 0.8, rows=0.8, width=0.15, classes=0.3),
        fewest=ROWS_FOR_A_NETWORK,
        largest=200_000,
        takes_text=False,
    ),
    Family(
        name="random forest",
        task="classification",
        kind="table",
        complexity=6,
        make=forest,
        seconds=FitSeconds(0.25, 1.1, rows=1.1, width=0.5),
        largest=200_000,
    ),
    Family(
        name="boosted small trees",
        task="classification",
        kind="table",
        complexity=7,
        make=boosted_small,
        quick=partial(boosted_small, is_quick=True),
        seconds=FitSeconds(0.05, 0.6, classes=1.3, wide=0.1),
        folds_seconds=FitSeconds(0.1, 1.5, rows=0.7, width=0.7, classes=1.5),
    ),
    Family(
        name="boosted trees",
        task="classification",
        kind="table",
        complexity=8,
        make=boosted_usual,
        quick=partial(boosted_usual, is_quick=True),
        goes_first=True,
        seconds=FitSeconds(0.05, 0.6, classes=1.3, wide=0.1),
        folds_seconds=FitSeconds(0.1, 1.5, rows=0.7, width=0.7, classes=1.5),
    ),
    Family(
        name="boosted large trees",
        task="classification",
        kind="table",
        complexity=9,
        make=boosted_large,
        seconds=FitSeconds(0.05, 0.8, classes=1.3),
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
        seconds=FitSeconds(0.01, 0.01, width=0.0),
    ),
    Family(
        name="lasso",
        task="regression",
        kind="numbers",
        complexity=1,
        make=lambda facts, seed: Lasso(alpha="loo", select="1se"),
        seconds=FitSeconds(0.05, 0.2, width=0.9, words=3.0, wide=0.3),
    ),
    Family(
        name="ridge regression",
        task="regression",
        kind="numbers",
        complexity=2,
        make=ridge,
        goes_first=True,
        seconds=FitSeconds(0.02, 0.2, width=0.85, words=8.0),
    ),
    Family(
        name="ridge on components",
        task="regression",
        kind="components",
        complexity=3,
        make=ridge,
        seconds=FitSeconds(0.1, 0.1),
        narrowest=WIDE_TABLE,
        takes_text=False,
    ),
    Family(
        name="pruned tree",
        task="regression",
        kind="table",
        complexity=3,
        make=pruned_tree,
        seconds=FitSeconds(0.02, 0.8, rows=1.1),
    ),
    Family(
        name="nearest neighbours",
        task="regression",
        kind="numbers",
        complexity=4,
        make=lambda facts, seed: KNeighborsRegressor("loo"),
        seconds=FitSeconds(0.02, 1.2, rows=1.1, width=0.45),
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
        seconds=FitSeconds(0.1, 22.0, rows=1.2, width=0.3),
        largest=20_000,
    ),
    Family(
        name="neural network",
        task="regression",
        kind="numbers",
        complexity=6,
        make=network,
        seconds=FitSeconds(0.05, 1.2, rows=0.8, width=0.15),
        fewest=ROWS_FOR_NUMBERS,
        largest=200_000,
        takes_text=False,
    ),
    Family(
        name="random forest",
        task="regression",
        kind="table",
        complexity=6,
        make=forest,
        seconds=FitSeconds(0.15, 6.5, rows=1.1, width=0.5),
        largest=200_000,
    ),
    Family(
        name="boosted small trees",
        task="regression",
        kind="table",
        complexity=7,
        make=boosted_small,
        quick=partial(boosted_small, is_quick=True),
        seconds=FitSeconds(0.05, 1.2),
        folds_seconds=FitSeconds(0.2, 6.0),
    ),
    Family(
        name="boosted trees",
        task="regression",
        kind="table",
        complexity=8,
        make=boosted_usual,
        quick=partial(boosted_usual, is_quick=True),
        goes_first=True,
        seconds=FitSeconds(0.05, 1.2),
        folds_seconds=FitSeconds(0.2, 3.0),
    ),
    Family(
        name="boosted large trees",
        task="regression",
        kind="table",
        complexity=9,
        make=boosted_large,
        seconds=FitSeconds(0.05, 1.5),
        fewest=50_000,
    ),
)
FAMILIES = CLASSIFIERS + REGRESSORS


# ---- which of them -------------------------------------------------------------------------------


def families_for(facts: Facts, names: Sequence[str] | None = None) -> list[Family]:
    """The families that can learn from a table, the baseline first, then the cheapest.

    Parameters
    ----------
    facts : Facts
        What is known of the table.
    names : sequence of str or None, default=None
        The families by name; None for all. The baseline is always included.

    Returns
    -------
    list of Family

    Raises
    ------
    ValueError
        If no family of the task has one of the names.
    """
    of_task = [family for family in FAMILIES if family.task == facts.task]
    wanted = None if names is None else {_found(name, of_task) for name in names}
    suited = [
        family
        for family in of_task
        if family.suits(facts)
        and (wanted is None or family.complexity == 0 or family.name in wanted)
    ]

    def order(family: Family) -> tuple[bool, float]:
        return family.complexity > 0, family.guess_seconds(facts, family.most_rows(facts))

    return sorted(suited, key=order)


def _found(name: str, families: Sequence[Family]) -> str:
    """The name of a family as written here; spaces, dashes and capitals do not matter."""
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
