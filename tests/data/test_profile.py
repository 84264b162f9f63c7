"""Profiles: small, storable, and able to know a table and its training rows again."""

import datetime

import numpy as np
import polars as pl
import pytest

from gapless.data import (
    describe_columns,
    load_builtin,
    profile_table,
    read_table,
    table_of,
)
from gapless.data.fingerprints import Fingerprint, TrainingRowSearch, fingerprint, row_hashes
from gapless.data.profile import MOST_LEVELS, QUANTILES, read_as
from gapless.model_io.limits import Budget
from gapless.model_io.reading import Reader
from gapless.model_io.writing import Writer

RNG = np.random.default_rng(0)
N = 300
MIXED = pl.DataFrame(
    {
        "size": [None if k % 7 == 0 else k * 0.5 for k in range(N)],
        "city": RNG.choice(["Rome", "Oslo", "Bern"], N),
        "sold": [datetime.date(2024, 1, 1) + datetime.timedelta(k % 90) for k in range(N)],
        "said": [f"word number {k} of many" for k in range(N)],
        "code": range(N),
        "price": RNG.normal(size=N).round(3),
    }
)


def profiled(frame, target, rows=None):
    table = table_of(frame)
    return profile_table(table, describe_columns(table, target), rows)


def by_name(profile):
    return {each.column.name: each for each in profile.columns}


def test_a_profile_holds_features_and_target_and_names_the_rest():
    profile = profiled(MIXED, "price")
    assert list(by_name(profile)) == ["size", "city", "sold", "said", "price"]
    assert profile.set_aside == ("code",)
    assert profile.rows == N


def test_quantiles_carry_the_exact_shares_up_to_them():
    size = by_name(profiled(MIXED, "price"))["size"]
    present = MIXED["size"].drop_nulls().to_numpy()
    assert size.missing == N - len(present)
    assert len(size.values) <= QUANTILES + 1
    assert (size.values[0], size.values[-1]) == (present.min(), present.max())
    assert size.shares == tuple((present <= value).mean() for value in size.values)


def test_levels_beyond_those_that_models_know_are_counted_together():
    levels = [f"level {k}" for k in range(MOST_LEVELS + 50)] * 2 + ["rare"]
    city = by_name(profiled({"city": levels, "y": np.arange(len(levels)) % 2}, "y"))["city"]
    assert len(city.levels) == MOST_LEVELS
    assert (city.others, city.once) == (2 * 50 + 1, 1)


def test_whole_numbers_of_a_few_classes_are_levels():
    profile = profiled({"x": RNG.normal(size=60), "y": [0, 1, 1] * 20}, "y")
    assert (by_name(profile)["y"].levels, by_name(profile)["y"].counts) == (("1", "0"), (40, 20))


@pytest.mark.parametrize("name", ["iris", "tennis", "mixed"])
def test_training_rows_are_known_again_in_any_order(name, tmp_path):
    frame = MIXED if name == "mixed" else load_builtin(name).frame
    target = frame.columns[-1]
    rows = np.arange(0, frame.height, 3)
    profile = profiled(frame, target, rows)
    assert profile.training_rows(frame).tolist() == rows.tolist()
    order = RNG.permutation(frame.height)
    found = profile.training_rows(frame[order].select(reversed(frame.columns)))
    shuffled, original = frame[order][found], frame[rows]
    assert shuffled.sort(frame.columns).equals(original.sort(frame.columns))
    assert len(profile.training_rows(frame[rows])) == len(rows)
    assert profile.training_rows(frame[1:]) is None
    assert profile.training_rows(frame.drop(target)) is None


def test_the_same_table_as_text_has_the_same_fingerprint(tmp_path):
    path = tmp_path / "table.csv"
    MIXED.write_csv(path)
    profile = profiled(MIXED, "price", range(0, N, 2))
    assert profile.training_rows(read_table(path)).tolist() == list(range(0, N, 2))


def test_one_changed_value_is_another_table():
    price = MIXED["price"].to_list()
    changed = MIXED.with_columns(price=pl.Series([price[0] + 0.5, *price[1:]]))
    assert profiled(MIXED, "price").training_rows(changed) is None


def test_the_share_of_training_rows_in_a_table():
    profile = profiled(MIXED, "price")
    assert profile.share_in(MIXED) == 1
    assert profile.share_in(MIXED[: N // 2]) == 0.5
    assert profile.share_in(MIXED.with_columns(pl.col("price") + 1)) == 0


def test_hashes_tell_missing_values_zeros_and_names_apart():
    def hashes(*columns):
        return row_hashes(columns).tolist()

    values = hashes(pl.Series("a", [0.0, -0.0, None, 1.0]))
    assert values[0] == values[1] and len(set(values)) == 3
    assert hashes(pl.Series("a", ["x"])) != hashes(pl.Series("b", ["x"]))
    assert hashes(pl.Series("a", ["", None]))[0] != hashes(pl.Series("a", ["", None]))[1]
    both = pl.Series("a", ["x"]), pl.Series("b", ["y"])
    assert hashes(*both) == hashes(*reversed(both))
    assert hashes(*both) != hashes(pl.Series("a", ["y"]), pl.Series("b", ["x"]))


def test_hashes_are_the_same_in_every_version():
    columns = pl.Series("x", [1.5, None]), pl.Series("c", ["é", "a"])
    assert [f"{value:016x}" for value in row_hashes(columns)] == [
        "1cef7b59a014288a",
        "872eaaab362e0ece",
    ]


def test_profiles_go_into_model_files():
    class Tensors(dict):
        names = property(lambda self: frozenset(self))
        shape = staticmethod(lambda name: writer.tensors[name].shape)
        array = staticmethod(lambda name: writer.tensors[name])

    profile = profiled(MIXED, "price", range(100))
    writer = Writer()
    node = writer.node(profile, "profile")
    again = Reader(Tensors(writer.tensors), Budget(1 << 20)).value(node, "profile")
    assert again.columns == profile.columns
    assert again.training_rows(MIXED).tolist() == list(range(100))


def test_a_fingerprint_of_other_sizes_is_refused():
    bits, none = np.zeros(1, np.uint8), np.zeros(0, np.uint64)
    Fingerprint(8, 3, "", "", bits, none)
    for table_rows, rows, places, sample in (
        (9, 3, bits, none),
        (8, 9, bits, none),
        (8, 3, bits.astype(int), none),
        (8, 3, bits, none.astype(float)),
    ):
        with pytest.raises(ValueError, match="a bit for each row"):
            Fingerprint(table_rows, rows, "", "", places, sample)


def test_the_table_of_the_fit_is_known_by_its_pieces():
    frame, known = MIXED, profiled(MIXED, "price").fingerprint
    hashes = row_hashes(read_as(frame, [c.column for c in profiled(MIXED, "price").columns]))
    search = TrainingRowSearch(known)
    for first in range(0, len(hashes), 7):
        search.add(hashes[first : first + 7])
    assert search.may_be_it and search.share == 1
    np.testing.assert_array_equal(search.training_rows(), known.training_rows(hashes))
    search.add(hashes[:1])
    assert not search.may_be_it and search.training_rows() is None


def test_another_table_is_told_from_few_rows():
    rng = np.random.default_rng(0)
    old, new = rng.integers(0, 2**63, (2, 10_000)).astype(np.uint64)
    search = TrainingRowSearch(fingerprint(old, np.arange(8000)))
    search.add(new[:700])
    assert search.may_be_it
    search.add(new[700:900])
    assert not search.may_be_it and search.found == 0


def test_rows_that_repeat_by_nature_are_expected_in_other_tables():
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 2**63, 3000).astype(np.uint64)
    for seed in range(5):
        old, new = np.random.default_rng(seed).choice(kinds, (2, 1000))
        search = TrainingRowSearch(fingerprint(old, np.arange(1000)))
        search.add(new)
        assert 0 < search.found <= 1.2 * search.expected
    alone = TrainingRowSearch(fingerprint(kinds, np.arange(3000)))
    alone.add(kinds[:1000])
    assert alone.expected == 0 < alone.found
