"""Drift: what has changed is found and named, and what has not is left in peace."""

import datetime

import numpy as np
import polars as pl
import pytest

from gapless.data import (
    CODES,
    describe_columns,
    find_drift,
    profile_table,
    read_table,
    table_of,
)
from gapless.data.drift import SAMPLED, EvenSample, Tally, judge_tally

N = 600


def rows(seed, n=N, **changed):
    """Rows of one source; a changed column is given as a function of the random generator."""
    rng = np.random.default_rng(seed)
    start = datetime.date(2024, 1, 1)
    columns = {
        "size": rng.normal(size=n),
        "rooms": rng.integers(1, 6, n).astype(float),
        "city": rng.choice(["Rome", "Oslo", "Bern", "Wien"], n, p=[0.4, 0.3, 0.2, 0.1]),
        "sold": [start + datetime.timedelta(int(day)) for day in rng.integers(0, 90, n)],
        "said": [" ".join(["word"] * k) + f" {j:06}" for j, k in enumerate(rng.integers(3, 9, n))],
        "y": rng.choice(["no", "yes"], n),
    }
    return pl.DataFrame(columns | {name: make(rng) for name, make in changed.items()}, strict=False)


def profile_of(frame, target="y"):
    table = table_of(frame)
    return profile_table(table, describe_columns(table, target))


PROFILE = profile_of(rows(0))


def drift(frame, severity="warning"):
    findings = find_drift(PROFILE, frame)
    assert all(finding.title == CODES[finding.code] for finding in findings)
    return [(f.code, *f.columns) for f in findings if f.severity == severity]


def test_rows_of_the_same_source_are_left_in_peace():
    """At most one table in a hundred has a finding; binomially, three of 60 are a coincidence."""
    tables = [rows(seed, n) for seed in range(1, 21) for n in (25, 200, 5000)]
    assert sum(bool(find_drift(PROFILE, table)) for table in tables) <= 2


CITIES = ["Rome", "Oslo", "Bern", "Wien"]
CHANGES = {
    "moved": ("S303 size", lambda rng: rng.normal(0.5, size=N)),
    "wider": ("S303 size", lambda rng: rng.normal(size=N) * 3),
    "counts": ("S303 rooms", lambda rng: rng.integers(2, 7, N)),
    "shorter": ("S303 said", lambda rng: [f"short {k}" for k in range(N)]),
    "new level": (
        "S304 city",
        lambda rng: rng.choice([*CITIES[:3], "Paris"], N, p=[0.4, 0.3, 0.2, 0.1]),
    ),
    "shares": ("S305 city", lambda rng: rng.choice(CITIES, N)),
    "classes": ("S305 y", lambda rng: rng.choice(["no", "yes"], N, p=[0.8, 0.2])),
    "missing": (
        "S306 rooms",
        lambda rng: [None if rng.random() < 0.1 else k % 5 + 1.0 for k in range(N)],
    ),
    "texts": (
        "S307 size",
        lambda rng: ["about 3" if rng.random() < 0.2 else str(rng.normal()) for _ in range(N)],
    ),
}


@pytest.mark.parametrize(("expected", "change"), CHANGES.values(), ids=CHANGES)
def test_what_has_changed_is_named(expected, change):
    code, column = expected.split()
    found = drift(rows(1, **{column: change}))
    assert (code, column) in found
    assert {name for _, name in found} == {column}


def test_columns_that_are_not_there_or_new():
    frame = rows(1).drop("city", "y").with_columns(pl.lit(1).alias("extra"))
    assert drift(frame) == [("S301", "city")]
    assert drift(frame, "note") == [("S302", "extra")]


def test_columns_that_were_set_aside_are_not_new():
    frame = rows(0).with_row_index("id")
    assert find_drift(profile_of(frame), frame) == ()


def test_later_dates_are_a_note():
    later = {
        "sold": lambda rng: [datetime.date(2024, 3, 1)] * 500 + [datetime.date(2024, 8, 1)] * 100
    }
    [finding] = find_drift(PROFILE, rows(1, **later))
    assert (finding.code, finding.severity) == ("S308", "note")
    assert "100 dates in column 'sold' (16.7 %)" in finding.detail
    assert "outside the training range, 2024-01-01 to 2024-03-30" in finding.detail


@pytest.mark.parametrize(("count", "severity"), [(1, None), (12, "warning")])
def test_new_levels_are_said_where_chance_brings_none(count, severity):
    """A level of one row may have been missed by chance; one of many rows was not there."""
    new = rows(1)
    frame = new.with_columns(city=pl.Series(["Paris"] * count + new["city"][count:].to_list()))
    found = [finding for finding in find_drift(PROFILE, frame) if finding.code == "S304"]
    assert [finding.severity for finding in found] == [severity] * (severity is not None)
    if found:
        assert f"1 category of column 'city' ('Paris'), in {count} rows" in found[0].detail


def test_a_few_dates_outside_are_expected():
    """Of as many rows as in training, one on average is before all and one after all of them."""
    rng = np.random.default_rng(0)

    def days(n, most):
        return pl.Series(rng.integers(0, most, n) * 86_400_000_000).cast(pl.Datetime("us"))

    old = rows(0).with_columns(sold=days(N, 10_000))
    profile = profile_of(old)
    for seed in range(1, 20):
        assert find_drift(profile, rows(seed).with_columns(sold=days(N, 10_000))) == ()
    later = rows(1).with_columns(sold=days(N, 11_000))
    assert [finding.code for finding in find_drift(profile, later)] == ["S308"]


@pytest.mark.parametrize("size", [37, N])
def test_a_table_in_pieces_is_the_same_table(size):
    changed = {column: change for expected, change in CHANGES.values() for column in [expected[5:]]}
    frame = rows(2, **{name: changed[name] for name in ("size", "city", "y")})
    tally = Tally(PROFILE)
    for first in range(0, N, size):
        piece = frame[first : first + size]
        tally.add(piece, piece)
    assert tally.rows == N
    whole = find_drift(PROFILE, frame)
    assert judge_tally(tally) == whole and len(whole) >= 3


def test_samples_of_long_columns_stay_small():
    thinned = EvenSample()
    for first in range(0, 1_000_000, 10_000):
        thinned.add(np.arange(first, first + 10_000, dtype=float))
    assert thinned.seen == 1_000_000 and SAMPLED <= len(thinned.values) <= 2 * SAMPLED
    assert np.median(thinned.values) == pytest.approx(500_000, rel=2 / SAMPLED)
    assert (np.diff(thinned.values) == thinned.step).all()


def test_small_changes_in_many_rows_are_a_note():
    frame = rows(1, 100_000, size=lambda rng: rng.normal(0.15, size=100_000))
    assert drift(frame) == []
    assert drift(frame, "note") == [("S303", "size")]


def test_columns_of_many_levels_have_some_that_no_model_knows():
    rng = np.random.default_rng(0)

    def wide(first):
        return pl.DataFrame(
            {"c": (first + rng.integers(0, 400, 4000)).astype(str), "y": rng.normal(size=4000)}
        ).with_columns(pl.lit("street ") + pl.col("c"))

    profile = profile_of(wide(0))
    assert find_drift(profile, wide(0)) == ()
    codes = {finding.code for finding in find_drift(profile, wide(300))}
    assert "S304" in codes


@pytest.mark.parametrize("n", [0, 1, 5])
def test_few_rows_tell_little(n):
    assert drift(rows(1)[:n]) == []
    assert ("S309",) in drift(rows(1)[:n], "note")


def test_columns_that_are_wholly_missing_or_of_one_level():
    frame = pl.DataFrame({"a": ["x", None] * 40, "b": [None, 1.0] * 40, "y": [0, 1, 1, 0] * 20})
    profile = profile_of(frame)
    assert find_drift(profile, frame) == ()
    empty = frame.with_columns(a=pl.lit(None, pl.String), b=pl.lit(None, pl.Float64))
    assert {f.code for f in find_drift(profile, empty)} == {"S306"}


def test_chance_is_not_called_drift_in_columns_of_many_rare_levels():
    """Rare levels of a new table are often new ones, and belong to the rare ones of training."""
    rng = np.random.default_rng(0)

    def long_tailed():
        levels = rng.zipf(1.6, 300).clip(max=400).astype(str)
        return pl.DataFrame({"c": levels, "y": rng.normal(size=300)}).with_columns(
            pl.lit("street ") + pl.col("c")
        )

    findings = [find_drift(profile_of(long_tailed()), long_tailed()) for _ in range(60)]
    assert not any(each.severity == "warning" for found in findings for each in found)


@pytest.mark.parametrize(("train", "new", "mark"), [(".", ",", "comma"), (",", ".", "point")])
def test_numbers_with_another_decimal_mark_come_with_advice(train, new, mark):
    numbers = [f"{k}.{k % 9 + 1}" for k in range(40)]
    lines = ["x;y", *(f"{number};{k}" for k, number in enumerate(numbers))]
    before = read_table("\n".join(lines).replace(".", train).encode())
    profile = profile_table(before, describe_columns(before, "y"))
    raw = pl.DataFrame({"x": [n.replace(".", new) for n in numbers], "y": range(40)})
    details = " ".join(
        finding.detail for finding in find_drift(profile, raw) if finding.code == "S307"
    )
    assert f"if they have a decimal {mark}, read the table with decimal={new!r}" in details
    assert "read the table" not in str(find_drift(profile, raw.with_columns(x=pl.lit("soon"))))
