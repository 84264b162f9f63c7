"""Families that cannot learn from a table say why in one line, and what to do."""

import numpy as np
import polars as pl
import pytest

from gapless.choosing import choose
from gapless.choosing.families import FAMILIES
from gapless.choosing.judging import FamilyTrial, failure_in_words
from gapless.choosing.metric import Metric
from gapless.choosing.ranking import rank
from gapless.data import TableError

PLAIN = pl.DataFrame({"x": [1.0, 2.0]})
HUGE = pl.DataFrame({"a": ["u", None], "x": [1.0, None], "z": [2.0, -1.7e308]})


def test_numbers_too_large_to_be_squared_are_named():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 80))
    table = {"x": x[0] * 1e307, "z": x[1], "y": np.where(x[0] > 0, "a", "b")}
    choice = choose(table, "y", models="linear discriminants, pruned tree", time_limit=None)
    failed = choice["linear discriminants"]
    assert failed.status == "failed" and choice.chosen == "pruned tree"
    assert failed.reason.startswith("column 'x' contains")
    assert failed.reason.endswith("divide the column by a power of ten, or drop it")


def test_a_target_too_large_to_be_squared_is_refused():
    x = np.arange(40.0)
    with pytest.raises(TableError, match=r"'y' contains 3.9e\+201, .* power of ten"):
        choose({"x": x, "y": x * 1e200}, "y")


@pytest.mark.parametrize(
    ("error", "frame", "said"),
    [
        (MemoryError(), PLAIN, "more memory than is available; drop columns"),
        (np.linalg.LinAlgError("Singular matrix"), PLAIN, "no solution (Singular matrix); drop"),
        (ValueError("it has no probabilities.\nSee elsewhere"), PLAIN, "it has no probabilities"),
        (ValueError("Input X contains NaN"), HUGE, "column 'z' contains -1.7e+308, too large"),
        (KeyError("k"), HUGE, "KeyError: 'k'; please report it"),
        (ValueError(""), PLAIN, "a bug in gapless, ValueError"),
    ],
)
def test_an_error_is_one_line(error, frame, said):
    text = failure_in_words(error, frame)
    assert said in text and "\n" not in text


def test_a_reason_that_all_families_share_is_told_once():
    trials = [FamilyTrial(family, failure="too odd") for family in FAMILIES[:3]]
    with pytest.raises(TableError) as error:
        rank(trials, None, Metric("accuracy"))
    assert str(error.value).count("too odd") == 1
    assert all(trial.family.name in str(error.value) for trial in trials)
