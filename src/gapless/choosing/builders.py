"""How the model of each family is built for a table: parameters by the size of what it meets.

Every model tunes itself inside its own fit: by leave-one-out, along a path, by folds, by pruning,
or by rounds that are judged on rows held out. So the rows that judge a family never tuned it.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from ..models.bayes import MultinomialNB
from ..models.boosting import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from ..models.forests import RandomForestClassifier, RandomForestRegressor
from ..models.linear import LinearSVC, LogisticRegression, Ridge
from ..models.trees import DecisionTreeClassifier, DecisionTreeRegressor
from .facts import Facts

# Boosting holds rows out to judge its rounds if there are at least so many; fewer are all needed,
# and folds choose the rounds of tables of at most so many entries. Of larger ones and of texts they
# take longer than what they gain is worth: a part is held out where it has a few dozen rows.
ROWS_TO_HOLD_OUT, MOST_IN_FOLDS, FEWEST_TO_HOLD_OUT = 10_000, 250_000, 500
MOST_ROUNDS = 1000
# Of more columns than rows every round looks at many columns for little: few rounds, large steps.
WIDE_RATE, WIDE_ROUNDS = 0.2, 40
# Of more columns, forests for regression try 3·√columns at a split, which begins with a third.
MANY_COLUMNS, TRIED = 100, 3.0
# Boosting of fewer rows takes smaller steps.
FEW_ROWS = 2000
# The work of one Newton step, in multiplications: up to so many, strengths are chosen by
# leave-one-out, beyond it by folds, or on a sample.
MOST_LEFT_OUT = 2e8
# What is done once for each row takes as long as so many columns.
LEAST_WIDTH = 40


def newton_work(facts: Facts) -> float:
    """About how many multiplications a step of a linear model takes."""
    coefficients = facts.features * (facts.classes if facts.classes > 2 else 1)
    return float(facts.rows) * max(min(coefficients, facts.rows), LEAST_WIDTH) ** 2


def by_rows_or_folds(facts: Facts) -> str:
    """How strengths are chosen: "loo", or "cv" where that is cheaper.

    Weights of words are many, and leaving one row out takes as long as a fit.
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
    """Ridge regression; many words have no eigenvalues that could be found in time."""
    return Ridge(alpha="cv" if facts.has_text else "loo")


def bayes_of_words(facts: Facts, seed: int) -> Any:
    """Naive Bayes of tf-idf weights, with what is added to them chosen by leave-one-out."""
    return MultinomialNB(alpha="loo")


def pruned_tree(facts: Facts, seed: int) -> Any:
    """A tree whose price of a leaf is chosen by folds."""
    cls = DecisionTreeClassifier if facts.classes else DecisionTreeRegressor
    return cls(ccp_alpha="cv", random_state=seed)


def forest(facts: Facts, seed: int) -> Any:
    """A forest, with leaves whose size is chosen out of bag."""
    if facts.classes:
        return RandomForestClassifier(min_samples_leaf="oob", random_state=seed)
    share = TRIED / sqrt(facts.columns) if facts.columns > MANY_COLUMNS else 1.0
    return RandomForestRegressor(min_samples_leaf="oob", max_features=share, random_state=seed)


def is_for_folds(facts: Facts) -> bool:
    """Whether every fit of boosting has the time to choose its rounds by folds."""
    is_short = facts.rows < ROWS_TO_HOLD_OUT and not facts.has_text
    return is_short and facts.rows * facts.columns <= MOST_IN_FOLDS


def boosted(
    facts: Facts, seed: int, leaves: int, rate: float, rounds: int, is_quick: bool = False
) -> Any:
    """Boosted trees: of many rows, rounds end when rows held out are predicted no better.

    Of few rows they are chosen by folds; of few with very many columns there are so many. Folds
    judge classes by the squared error of probabilities: log loss has its minimum long before that
    of wrong decisions, since trees are soon too sure of a few rows. `is_quick` takes no folds.
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
    """Boosted trees of six leaves, in which at most five columns meet."""
    rate = 0.05 if facts.rows < FEW_ROWS else 0.1
    return boosted(facts, seed, leaves=6, rate=rate, rounds=150, is_quick=is_quick)


def boosted_usual(facts: Facts, seed: int, is_quick: bool = False) -> Any:
    """Boosted trees of the usual size."""
    return boosted(facts, seed, leaves=31, rate=0.1, rounds=100, is_quick=is_quick)


def boosted_large(facts: Facts, seed: int) -> Any:
    """Boosted trees of many leaves, for tables of many rows."""
    return boosted(facts, seed, leaves=127, rate=0.2 if facts.classes > 2 else 0.1, rounds=100)
