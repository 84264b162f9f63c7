"""Small tables, and models of them as `gapless fit` leaves them."""

import datetime

import numpy as np
import polars as pl

import gapless
from gapless.choosing import TableModel
from gapless.data import describe_columns, load_builtin, prepare, table_of

N = 300


def houses(seed, n=N, shift=0.0):
    rng = np.random.default_rng(seed)
    size = rng.normal(100 + shift, 20, n)
    city = rng.choice(["Rome", "Oslo", "Bern"], n)
    price = 3 * size + 50 * (city == "Oslo") + rng.normal(0, 20, n)
    start = datetime.date(2024, 1, 1)
    missing = rng.random(n) < 0.05
    return pl.DataFrame(
        {
            "id": np.arange(n) + 1000 * seed,
            "size": [None if lost else x for x, lost in zip(size.round(2), missing)],
            "city": city,
            "sold": [start + datetime.timedelta(int(day)) for day in rng.integers(0, 300, n)],
            "price": price.round(1),
        }
    )


HOUSES = houses(0)


def fitted(table, target, kind, model):
    """A model of every other row, and what it scored in the rest."""
    table = table_of(table)
    columns = describe_columns(table, target)
    rows, others = np.arange(0, len(table), 2), np.arange(1, len(table), 2)
    found = TableModel(prepare(columns, kind, model), target).fit(table, rows=rows)
    score = found.measure(table, rows=others)
    residuals = None
    if found.task_ == "regression":
        residuals = table.frame[target].to_numpy()[others] - found.predict(table.frame[others])
    return found.expect(score.value, (score.high - score.low) / 4, residuals)


def write_models(folder):
    models = {
        "houses": fitted(HOUSES, "price", "numbers", gapless.Ridge(alpha="loo")),
        "iris": fitted(
            load_builtin("iris"), "species", "numbers", gapless.LogisticRegression(C=10.0)
        ),
        "tree": fitted(load_builtin("wine"), "cultivar", "table", gapless.DecisionTreeClassifier()),
    }
    return {name: gapless.save(m, folder / f"{name}.gapless") for name, m in models.items()}
