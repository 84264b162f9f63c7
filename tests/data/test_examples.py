"""The examples in the docstrings of gapless.data are true."""

import doctest
import importlib

import pytest


@pytest.mark.parametrize(
    "name",
    ["builtin", "columns", "drift", "leakage", "preparation", "profile", "reading", "target"],
)
def test_examples(name):
    done = doctest.testmod(importlib.import_module(f"gapless.data.{name}"))
    assert done.attempted > 0 and done.failed == 0
