"""Leakage: what gives the target away is found, and what does not is left in peace."""

import datetime

import numpy as np
import pytest

from gapless.data import (
    BUILTIN,
    CODES,
    Split,
    describe_columns,
    find_leaks,
    load_builtin,
    read_target,
    table_of,
)

N = 400
RNG = np.random.default_rng(0)
X = RNG.normal(size=N)
Y = np.where(X + RNG.normal(size=N) > 0, "yes", "no")
HALVES = Split(np.arange(0, N, 2), np.arange(1, N, 2))


def leaks(columns, target="y", split=None, **roles):
    table = table_of(columns)
    described = describe_columns(table, target, **roles)
    return find_leaks(table, described, read_target(table, target), split)


def codes(findings):
    return [finding.code for finding in findings]


def test_a_copy_with_errors_is_one_but_a_good_column_is_not():
    other = np.where(Y == "yes", "no", "yes")
    nearly = np.where(np.arange(N) % 40 == 0, other, Y)
    assert "L101" in codes(leaks({"x": X, "c": nearly, "y": Y}))
    good = np.where(nearly == "yes", "high", "low")
    assert "L101" not in codes(leaks({"x": X, "c": good, "y": Y}))


@pytest.mark.parametrize(
    "column",
    [
        Y,
        np.where(Y == "yes", 1, 0),
        np.where(Y == "yes", "A", "B"),
        np.where(Y == "yes", 15.0, 5.0) + RNG.normal(size=N),
        [None if label == "no" else 3.5 for label in Y],
        [
            None if label == "no" else datetime.date(2024, 1, 1 + k % 28)
            for k, label in enumerate(Y)
        ],
        [None if label == "no" else True for label in Y],
    ],
    ids=["copy", "code", "names", "stump", "known after", "date after", "flag after"],
)
def test_a_column_that_gives_the_classes_away(column):
    findings = leaks({"x": X, "copy": column, "y": Y})
    assert (findings[0].code, findings[0].columns) == ("L101", ("copy",))
    assert findings[0].severity == "warning"


@pytest.mark.parametrize("copy", [lambda y: 2 * y + 1, np.exp, lambda y: -(y**3), np.round])
def test_a_column_that_gives_a_number_away(copy):
    y = RNG.normal(size=N) * 5
    findings = leaks({"x": X, "copy": copy(y), "y": y})
    assert codes(findings) == ["L101"]
    assert "R²" in findings[0].detail


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_column_that_gives_the_target_away_is_found_among_many(monkeypatch, task):
    monkeypatch.setattr("gapless.data.leakage.MANY_COLUMNS", 3)
    monkeypatch.setattr("gapless.data.leakage.MOST_TREES", 3)
    noise = {f"x{j}": RNG.normal(size=N) for j in range(20)}
    y = Y if task == "classification" else RNG.normal(size=N)
    copy = np.where(Y == "yes", "A", "B") if task == "classification" else y**3
    findings = leaks({**noise, "copy": copy, "y": y})
    assert [finding.columns for finding in findings if finding.code == "L101"] == [("copy",)]


@pytest.mark.parametrize("pieces, is_leak", [(2, True), (12, True), (2000, False)])
def test_columns_of_long_tables_are_looked_at_twice(pieces, is_leak):
    """Few rows send away what is far from the target, and nothing that gives it away."""
    x = np.linspace(0, 1, 12_000, endpoint=False)
    y = np.where((x * pieces).astype(int) % 2 == 0, "no", "yes")
    columns = {"x": x + RNG.normal(scale=1e-5, size=len(x)), "y": y}
    assert ("L101" in codes(leaks(columns))) == is_leak
    classes = np.where(y == "yes", 3.0, -3.0) + RNG.normal(scale=1e-3, size=len(x))
    assert ("L101" in codes(leaks({**columns, "y": classes}))) == is_leak


def test_levels_of_several_classes_and_one_that_is_new():
    labels = RNG.choice(["a", "b", "c"], 3000)
    names = [f"{label}{k % 40}" for k, label in enumerate(labels)]
    names[7] = "never again"
    assert leaks({"x": RNG.normal(size=3000), "names": names, "y": labels})[0].columns == ("names",)


def test_what_is_different_in_each_row_gives_nothing_away():
    names = [f"level {k % 300}" for k in range(N)]
    assert "L101" not in codes(leaks({"x": X, "names": names, "y": Y}))


@pytest.mark.parametrize("name", [entry.name for entry in BUILTIN.values() if entry.target])
def test_built_in_sets_have_no_warnings(name):
    table, target = load_builtin(name), BUILTIN[name].target
    findings = find_leaks(table, describe_columns(table, target), read_target(table, target))
    assert [finding for finding in findings if finding.severity == "warning"] == []


def test_only_rows_for_training_are_asked_what_gives_the_target_away():
    hidden = np.where(np.arange(N) % 2 == 0, X, np.where(Y == "yes", 9.0, -9.0))
    assert "L101" not in codes(leaks({"x": hidden, "y": Y}, split=HALVES))


def test_rows_on_both_sides():
    x = np.repeat(X[: N // 2], 2)
    findings = leaks({"x": x, "z": x**2, "y": np.repeat(Y[: N // 2], 2)}, split=HALVES)
    assert codes(findings) == ["L103", "D204"]
    assert findings[0].severity == "warning" and len(findings[0].rows) == 5
    # A table of few values has equal rows by chance.
    few = leaks({"x": RNG.integers(0, 3, N), "y": Y}, split=HALVES)
    assert [finding.severity for finding in few if finding.code == "D204"] == ["note"]
    assert "this is to be expected" in " ".join(finding.detail for finding in few)
    assert "L103" not in codes(few)


def test_groups_on_both_sides():
    group = np.repeat(np.arange(N // 4), 4)
    findings = leaks({"x": X, "patient": group, "y": Y}, split=HALVES, group="patient")
    assert codes(findings) == ["L104"]
    whole = Split(np.arange(N // 2), np.arange(N // 2, N))
    assert leaks({"x": X, "patient": group, "y": Y}, split=whole, group="patient") == ()
    assert codes(leaks({"x": X, "patient_id": group, "y": Y})) == ["L106"]


def test_columns_from_the_future():
    day = datetime.timedelta(days=1)
    now = [datetime.date(2024, 1, 1) + k % 300 * day for k in range(N)]
    later = [moment + (day if k == 7 else -day) for k, moment in enumerate(now)]
    findings = leaks({"x": X, "now": now, "paid": later, "y": Y}, time="now")
    assert codes(findings) == ["L105"]
    assert findings[0].rows == (7,) and findings[0].columns == ("paid", "now")


def test_notes_about_the_table():
    y = np.where(np.arange(N) < 8, "rare", "usual").astype(object)
    y[-1] = None
    columns = {"x": X, "n": np.arange(N), "c": ["same"] * N, "m": [1.0, 2.0] + [None] * (N - 2)}
    findings = leaks({**columns, "y": y})
    assert sorted(codes(findings)) == ["D201", "D202", "D203", "D206", "D207", "L102"]
    assert {finding.severity for finding in findings} == {"note"}
    assert findings[0].title == CODES[findings[0].code]
    assert findings[0].to_dict()["code"] == findings[0].code


def test_equal_rows_of_different_classes():
    x = [1.0, 1.0, *np.linspace(2, 3, N - 2)]
    findings = leaks({"x": x, "y": ["a", "b"] * (N // 2)})
    assert codes(findings) == ["D205"]
    assert findings[0].rows == (0, 1)


@pytest.mark.parametrize("is_class", [False, True])
def test_rows_that_follow_each_other_in_time_are_noticed(is_class):
    rng = np.random.default_rng(0)
    days = [datetime.date(2023, 1, 1) + datetime.timedelta(k) for k in range(200)]
    walk = np.cumsum(rng.normal(size=200))
    values = {"alike": walk, "not alike": rng.normal(size=200)}
    for name, y in values.items():
        y = np.where(y > np.median(y), "high", "low") if is_class else y
        order = rng.permutation(200)
        table = table_of(
            {"day": [days[k] for k in order], "x": rng.normal(size=200), "y": y[order]}
        )
        target = read_target(table, "y")
        for time, says in ((None, name == "alike"), ("day", False)):
            found = find_leaks(table, describe_columns(table, "y", time=time), target)
            assert ("L107" in [finding.code for finding in found]) == says
