"""Reports that several tests look at, each made once."""

import polars as pl
import pytest
from made_choices import NASTY, made_choice

import gapless
from gapless.choosing.report import summarize
from gapless.data import load_builtin, table_of


@pytest.fixture(scope="session")
def two_classes():
    """A linear model of two classes, with probabilities and a tuned parameter."""
    table = load_builtin("breast_cancer")
    columns = [*table.frame.columns[:5], "diagnosis"]
    table = table_of(table.frame.select(columns))
    model = gapless.LogisticRegression(C="loo")
    return summarize(made_choice(table, "diagnosis", model), table)


@pytest.fixture(scope="session")
def many_classes():
    """A tree of three classes."""
    table = load_builtin("iris")
    model = gapless.DecisionTreeClassifier(max_depth=3)
    return summarize(made_choice(table, "species", model, "table"), table)


@pytest.fixture(scope="session")
def of_numbers():
    """A linear model of numbers, judged by a loss."""
    table = load_builtin("diabetes")
    choice = made_choice(table, "progression", gapless.Ridge(alpha="loo"), metric="rmse")
    return summarize(choice, table)


@pytest.fixture(scope="session")
def nasty():
    """A table whose names and levels would break a page that does not escape them."""
    rows = 120
    frame = pl.DataFrame(
        {
            NASTY: [float(k % 17) for k in range(rows)],
            "level": [f"</td><b>{k % 3}" for k in range(rows)],
            "when": pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 4, 29), eager=True),
            "target</title>": [
                "<img src=x onerror=alert(1)>" if k % 17 > 8 else "a & b" for k in range(rows)
            ],
        }
    )
    table = table_of(frame)
    choice = made_choice(table, "target</title>", gapless.NaiveBayes(), "table")
    return summarize(choice, table)
