"""Columns and targets: roles with reasons, and errors that name what may be meant."""

import datetime
import json

import numpy as np
import pytest

from gapless.data import TableError, describe_columns, load_builtin, read_target, table_of

N = 100


def role_of(values, name="c"):
    column = describe_columns(table_of({name: values}))[0]
    return column.role


@pytest.mark.parametrize(
    "name, values, role",
    [
        ("size", np.linspace(0, 1, N), "number"),
        ("rooms", [1, 2, 3, 4] * 25, "number"),
        ("income", np.arange(N) * 17 % 1009, "number"),
        ("flag", [True, False] * 50, "category"),
        ("city", ["Paris", "Rome"] * 50, "category"),
        ("zip", ["01234", "12345", "00001", "99999"] * 25, "category"),
        ("many", [f"level {k % 60}" for k in range(N)], "category"),
        ("when", [datetime.date(2024, 1, 1 + k % 28) for k in range(N)], "date"),
        ("when", [f"2024-01-{1 + k % 28:02}" for k in range(N)], "date"),
        ("note", [f"the {k}th word of a long text" for k in range(N)], "text"),
        ("row", np.arange(N), "id"),
        ("customer_id", np.arange(N) * 17 % 1009, "id"),
        ("customerID", np.arange(N) * 17 % 1009, "id"),
        ("code", [f"x{k}" for k in range(N)], "id"),
        ("c", [7] * N, "constant"),
        ("c", [None] * N, "constant"),
        ("c", [7, None] * 50, "number"),
    ],
)
def test_roles(name, values, role):
    assert role_of(values, name) == role


def test_a_few_rows_name_nothing():
    assert role_of(["a", "b", "c"]) == "category"
    assert role_of([1, 2, 3], "id") == "number"


def test_ten_thousand_categories_stay_a_category():
    column = describe_columns(table_of({"c": [f"v{k % 10_000}" for k in range(30_000)]}))[0]
    assert (column.role, column.reason) == ("category", "10,000 categories")


def test_named_roles_come_first_and_are_plain_data():
    table = table_of({"a": [1, 2], "b": [3, 4], "g": [1, 1], "t": [5, 6], "x": [0, 1]})
    columns = describe_columns(table, "a", group="g", time="t", drop=["x"])
    assert [c.role for c in columns] == ["target", "number", "group", "time", "dropped"]
    assert [c.name for c in columns if c.is_feature] == ["b"]
    assert json.loads(json.dumps([c.to_dict() for c in columns]))[1]["name"] == "b"


def test_a_name_that_does_not_exist_suggests_another():
    table = table_of({"Price": [1, 2], "size": [3, 4]})
    with pytest.raises(TableError, match="did you mean 'Price'"):
        describe_columns(table, "price")
    with pytest.raises(TableError, match="columns are 'Price', 'size'"):
        read_target(table, "zzz")
    with pytest.raises(TableError, match="cannot be both target and dropped"):
        describe_columns(table, "size", drop=["size"])


@pytest.mark.parametrize(
    "values, task, kind",
    [
        (["a", "b"] * 50, "classification", "U"),
        ([True, False] * 50, "classification", "U"),
        ([1, 2, 3, 4] * 25, "classification", "i"),
        ([0.0, 1.0] * 50, "regression", "f"),
        (list(range(50)) * 2, "regression", "f"),
        (list(np.linspace(0, 1, N)), "regression", "f"),
    ],
)
def test_tasks(values, task, kind):
    target = read_target(table_of({"y": values}), "y")
    assert (target.task, target.values.dtype.kind) == (task, kind)


def test_task_that_is_asked_for():
    table = table_of({"y": [1, 2, 3] * 20, "s": ["a", "b", "c"] * 20})
    assert read_target(table, "y", "regression").values.dtype == np.float64
    with pytest.raises(TableError, match="contains text such as 'a'"):
        read_target(table, "s", "regression")


def test_rows_without_target_are_left_out():
    target = read_target(table_of({"y": ["a", None, "b", "a", "b"]}), "y")
    assert target.rows.tolist() == [0, 2, 3, 4]
    assert target.values.tolist() == ["a", "b", "a", "b"]


@pytest.mark.parametrize(
    "values, message",
    [
        ([None, None], "missing in all 2 rows"),
        (["a", "a"], "nothing to learn"),
        ([datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)], "contains dates"),
        ([f"name {k}" for k in range(50)], "50 classes in 50 rows"),
    ],
)
def test_targets_that_teach_nothing_are_named(values, message):
    with pytest.raises(TableError, match=message):
        read_target(table_of({"y": values, "x": range(len(values))}), "y")


def test_built_in_sets_have_the_task_they_say():
    from gapless.data import BUILTIN

    for entry in BUILTIN.values():
        frame = load_builtin(entry.name).frame
        assert frame.shape == (entry.rows, entry.columns)
        if entry.target is None:
            assert entry.task == "clustering"
        else:
            assert read_target(load_builtin(entry.name), entry.target).task == entry.task


def test_features_and_target_of_a_built_in_table_apart():
    X, y = load_builtin("customers", return_X_y=True)
    assert X.columns == ["gender", "age", "salary"]
    assert y.tolist() == ["no", "yes", "yes", "yes", "no"]
    distances, nothing = load_builtin("samples", return_X_y=True)
    assert nothing is None
    np.testing.assert_array_equal(distances, distances.T)


@pytest.mark.parametrize(
    ("name", "distinct", "role"),
    [("customer_id", 98, "id"), ("customer_id", 50, "number"), ("income", 98, "number")],
)
def test_an_id_is_one_although_some_rows_are_repeated(name, distinct, role):
    table = table_of({name: [1000 + 7 * (k % distinct) for k in range(100)], "x": range(100)})
    assert describe_columns(table)[0].role == role
