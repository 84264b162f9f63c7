"""Tables of many columns: read at once, and the same as column by column."""

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

from gapless.data import (
    describe_columns,
    prepare,
    profile_table,
    read_table,
    read_target,
    table_of,
    tables,
)
from gapless.data.forms import Form, recognise
from gapless.data.numbers import AT_ONCE, MANY, columns_of_plain_numbers

PLAIN = [
    ["1", " 2 ", "-3"],
    ["1.5", "", "2e3"],
    ["41.0", None, "3.0"],
    ["9007199254740993", "1", "2"],
    ["1e300", "0.0", "-0"],
    ["1e15", "1", "2"],
]
OTHERS = [
    ["007", "1", "2"],
    ["1", "NA", "2"],
    ["inf", "1", "2"],
    ["nan", "1", "2"],
    ["1,5", "2", "3"],
    ["a", "1", "2"],
    ["", None, " "],
    ["2024-01-01", "2024-01-02", "2024-01-03"],
    ["12345678901234567890", "1", "2"],
]


def texts_of(columns):
    series = [pl.Series(f"c{k}", column, dtype=pl.String) for k, column in enumerate(columns)]
    return pl.DataFrame(series)


@pytest.mark.parametrize("k", range(len(PLAIN)))
def test_columns_of_plain_numbers_are_read_as_by_themselves(k):
    texts = texts_of([PLAIN[k]] * (AT_ONCE + 5))
    found = columns_of_plain_numbers(texts)
    assert found.columns == texts.columns
    for series in (texts["c0"], texts[f"c{AT_ONCE + 4}"]):
        alone = recognise(series)
        assert alone.form == Form("number") and alone.notes == ()
        assert found[series.name].equals(alone.values, check_dtypes=True, null_equal=True)


def test_a_column_is_its_own_copy_so_that_pipelines_of_many_are_cloned_quickly():
    columns = describe_columns(table_of({"x": [1.0, 2.0]}))
    assert clone(prepare(columns))[0].columns[0] is columns[0]


def test_other_columns_are_left_to_a_closer_look():
    assert columns_of_plain_numbers(texts_of(OTHERS * 10)).width == 0
    assert columns_of_plain_numbers(texts_of([["1", "2"]] * (MANY - 1))).width == 0


def test_a_table_of_many_columns_is_the_same_read_at_once(monkeypatch):
    names = [f"c{k}" for k in range(60)]
    columns = [*PLAIN, *OTHERS] * 4
    lines = [",".join(names)]
    lines += [",".join(f'"{column[row] or ""}"' for column in columns) for row in range(3)]
    data = "\n".join(lines).encode()
    at_once = read_table(data)
    monkeypatch.setattr(tables, "columns_of_plain_numbers", lambda texts: pl.DataFrame())
    alone = read_table(data)
    assert at_once.frame.equals(alone.frame) and at_once.frame.schema == alone.frame.schema
    assert at_once.notes == alone.notes and at_once.forms == alone.forms


def test_many_columns_are_prepared_and_profiled_like_few():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 80))
    table = table_of({**{f"x{k}": X[:, k] for k in range(80)}, "y": ["a", "b"] * 15})
    holed = table_of(table.frame.with_columns(pl.Series("x0", [None, *X[1:, 0]])))
    columns, target = describe_columns(table, "y"), read_target(table, "y")
    steps = prepare(columns)
    features = steps.fit_transform(table.frame, target.values)
    assert np.allclose(features, (X - X.mean(axis=0)) / X.std(axis=0))
    assert steps.get_feature_names_out().tolist() == [f"x{k}" for k in range(80)]
    assert prepare(columns, "table").fit_transform(table.frame).columns == table.frame.columns[:-1]
    whole, part = (profile_table(one, columns, np.arange(20)) for one in (table, holed))
    assert whole.columns[1:] == part.columns[1:]
    assert (whole.columns[0].missing, part.columns[0].missing) == (0, 1)
    assert whole.training_rows(table).tolist() == list(range(20))
    assert whole.training_rows(holed) is None
