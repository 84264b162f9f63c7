"""Tables that are explored once for many tests."""

import pytest
from drawn_tables import one_cloud, three_groups

import gapless


@pytest.fixture(scope="session")
def groups():
    """The kinds of rows, the table, and what was found."""
    kind, table = three_groups()
    return kind, table, gapless.explore(table)


@pytest.fixture(scope="session")
def cloud():
    """A table without groups, and what was found."""
    table = one_cloud()
    return table, gapless.explore(table)
