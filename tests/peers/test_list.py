"""The list of exceptions is short and true, and no module of scikit-learn's is silently empty."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from itertools import product
from types import SimpleNamespace

import pytest

from .conftest import CONCERNED, FEW, LIST, read_exceptions, some_of
from .swap import MODULES


@pytest.fixture(scope="module")
def concerned(pytestconfig) -> list[str]:
    """The tests that the suite collects, as `module::test[parameters]`."""
    collected = pytestconfig.stash[CONCERNED]
    if len(collected) == len(MODULES):
        return [test for tests in collected.values() for test in tests]
    # The list alone is run, without collecting the rest.
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--collect-only",
        "-q",
        "-p",
        "no:cacheprovider",
        "--every",
        LIST,
    ]
    if pytestconfig.getoption("--original", default=False):
        command.append("--original")
    printed = subprocess.run(command, capture_output=True, text=True, timeout=600).stdout
    return [line.split("::", 1)[1] for line in printed.splitlines() if ".toml::" in line]


def test_every_module_contributes_tests(concerned):
    empty = [
        module
        for module in MODULES
        if not any(test.startswith(module.removeprefix("sklearn.") + "::") for test in concerned)
    ]
    assert not empty


def test_listed_tests_exist(concerned):
    # One that is collected but passes fails by itself: the mark is strict.
    assert sorted(set(read_exceptions()) - set(concerned)) == []


def test_at_least_95_percent_pass(concerned):
    assert len(read_exceptions()) <= 0.05 * len(concerned)


def test_every_exception_has_a_reason_of_one_line():
    assert all(reason.strip() and "\n" not in reason for reason in read_exceptions().values())


@dataclass(eq=False)
class Variant:
    """What is required of a collected test."""

    originalname: str
    callspec: SimpleNamespace


def variants(name, *values):
    """A test with all combinations of values of its parameters a, b, c, …"""
    return [Variant(name, SimpleNamespace(params=dict(zip("abcd", v)))) for v in product(*values)]


def values(items):
    return {value for item in items for value in item.callspec.params.items()}


def test_of_many_combinations_those_are_run_that_hold_all_values():
    many = variants("test_many", range(4), "xyz", (True, False), "rstu")
    few = variants("test_few", range(2), range(FEW // 2))
    alone = variants("test_alone", range(3 * FEW))
    chosen = list(some_of([*many, *few, *alone]))
    of_many = [item for item in chosen if item.originalname == "test_many"]
    assert values(of_many) == values(many)
    assert 4 <= len(of_many) <= 8
    assert set(chosen) >= {*few, *alone}
