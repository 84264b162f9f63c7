"""Runs scikit-learn's tests against our classes, and keeps the list of exceptions true.

A test listed in `exceptions.toml` must fail, every other one must pass. Of a test with many
combinations of parameters those are run in which all values occur; `pytest tests/peers
--every` runs all of them. `--original` runs the same tests with scikit-learn's own classes, where
all must pass: it shows that the machinery itself is sound.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import sklearn.conftest

from covering import covering

from .swap import CLASSES, MODULES, Concern, swapped

HERE = Path(__file__).parent
LIST = HERE / "exceptions.toml"
# The tests of each module that concern our classes, by the name of the module.
CONCERNED = pytest.StashKey[dict[str, list[str]]]()
# All combinations of a test are run if there are no more than these.
FEW = 4

# What scikit-learn's tests expect to find in their own conftest.
global_dtype = sklearn.conftest.global_dtype
pyplot = sklearn.conftest.pyplot
hide_available_pandas = sklearn.conftest.hide_available_pandas
fetch_california_housing_fxt = sklearn.conftest.fetch_california_housing_fxt


@pytest.fixture
def global_random_seed():
    return 42


def pytest_addoption(parser):
    parser.addoption(
        "--original", action="store_true", help="run scikit-learn's tests with its own classes"
    )


def pytest_configure(config):
    config.stash[CONCERNED] = {}
    for mark in ("thread_unsafe", "no_check_spmatrix", "parallel_threads(n)", "iterations(n)"):
        config.addinivalue_line("markers", f"{mark}: of scikit-learn's tests")


def pytest_collect_file(file_path, parent):
    if file_path == LIST:
        return Peers.from_parent(parent, path=file_path)
    return None


class Peers(pytest.File):
    """All of scikit-learn's test modules that concern our classes."""

    def collect(self):
        original = self.config.getoption("--original", default=False)
        ours = _classes(original)
        reasons = {} if original else read_exceptions()
        for name in MODULES:
            module = swapped(name, ours)
            node = PeerModule.from_parent(
                self,
                path=Path(module.__file__),
                name=name.removeprefix("sklearn."),
                nodeid=f"{self.nodeid}::{name.removeprefix('sklearn.')}",
            )
            node.obj, node.concern, node.reasons = module, Concern(module, ours), reasons
            yield node


class PeerModule(pytest.Module):
    """One of them, less the tests of other classes."""

    def collect(self):
        concerned = [item for item in super().collect() if self.concern.holds(item)]
        names = [f"{self.name}::{item.name}" for item in concerned]
        self.config.stash[CONCERNED][self.name] = names
        unsure = decided_by_rounding()
        for item, name in zip(concerned, names):
            if name in self.reasons:
                is_sure = name not in unsure
                item.add_marker(pytest.mark.xfail(reason=self.reasons[name], strict=is_sure))
        if self.config.getoption("--every"):
            return concerned
        kept = set(some_of(concerned)) | {i for i, n in zip(concerned, names) if n in self.reasons}
        return [item for item in concerned if item in kept]


def some_of(items: list[pytest.Function]) -> Iterator[pytest.Function]:
    """All tests of few combinations; of the others those that hold every value."""
    of_function: dict[str, list[pytest.Function]] = {}
    for item in items:
        of_function.setdefault(item.originalname, []).append(item)
    for variants in of_function.values():
        if len(variants) <= FEW or len(variants[0].callspec.params) < 2:
            yield from variants
        else:
            yield from covering({item: _values(item) for item in variants}, together=1)


def _values(item: pytest.Function) -> list[tuple[str, int]]:
    """The values of its parameters, distinguished by identity: some have no hash."""
    return [(name, id(value)) for name, value in item.callspec.params.items()]


@cache
def _exceptions() -> list[dict]:
    return tomllib.loads(LIST.read_text()).get("exception", [])


def decided_by_rounding() -> set[str]:
    """The exceptions that may pass on some processors."""
    groups = [group for group in _exceptions() if group.get("by_rounding")]
    return {test for group in groups for test in group["tests"]}


def read_exceptions() -> dict[str, str]:
    """The listed tests and why each of them cannot pass."""
    return {test: group["reason"] for group in _exceptions() for test in group["tests"]}


def _classes(original: bool) -> dict[str, type]:
    if original:
        return {name: getattr(module, name) for module, names in CLASSES.items() for name in names}
    import gapless

    return {name: getattr(gapless, name) for names in CLASSES.values() for name in names}
