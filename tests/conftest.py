"""Random numbers for all tests, and one thread for other libraries."""

import functools
import os
import secrets
import time
import zlib
from collections import defaultdict
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

from covering import covering
from gapless._ground import interrupt

# All combinations of the parameters of a test are run if there are no more than these.
FEW = 4
# Examples are the same in every run, too, unless fresh ones are requested.
settings.register_profile(
    "ours",
    derandomize=os.environ.get("GAPLESS_TEST_SEED") != "fresh",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("ours")


def pytest_addoption(parser):
    parser.addoption(
        "--share",
        metavar="k/m",
        help="of the cases of each test run the kth of every m, and at least one",
    )
    parser.addoption(
        "--every",
        action="store_true",
        help="run all combinations of parameters, also where all pairs of values are in some",
    )


def pytest_collection_modifyitems(config, items):
    """Keep every test, all pairs of values of its parameters, and of these cases a share."""
    cases = defaultdict(list)
    for item in items:
        cases[item.nodeid.partition("[")[0]].append(item)
    if not config.getoption("--every"):
        cases = {name: meeting_in_pairs(each) for name, each in cases.items()}
    kept = {item for each in cases.values() for item in share_of(each, config)}
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def meeting_in_pairs(cases):
    """Cases of a test in which any two values of its parameters meet, and expected failures."""
    if len(cases) <= FEW or len(cases[0].callspec.params) < 3:
        return cases
    # By identity: some values have no hash, and those of one `parametrize` are the same objects.
    values = {case: [(k, id(v)) for k, v in case.callspec.params.items()] for case in cases}
    expected = {case for case in cases if case.get_closest_marker("xfail")}
    kept = expected.union(covering(values))
    return [case for case in cases if case in kept]


def share_of(cases, config):
    """Those of the cases that --share selects, and at least one; without it all of them."""
    if not (share := config.getoption("--share")):
        return cases
    k, m = (int(number) for number in share.split("/"))
    return cases[k % min(m, len(cases)) :: m]


@pytest.fixture(scope="session")
def some_of(pytestconfig):
    """Takes the requested share of cases that a test iterates over by itself."""
    return functools.partial(share_of, config=pytestconfig)


@pytest.fixture(autouse=True, scope="session")
def one_thread_for_other_libraries():
    """Threads of BLAS and OpenMP wait for each other longer than these small problems compute."""
    with threadpool_limits(1):
        yield


@pytest.fixture
def no_verdict(monkeypatch):
    """Unseen scores alone: the versions of a model that a verdict tries take most of the time."""
    monkeypatch.setattr(
        "gapless.unseen.entrance._judgement", lambda trial, outcome: ("balanced", "nobody asks")
    )


@pytest.fixture
def counted_time(monkeypatch):
    """Time limits count how often they are looked at, a second for each, on any machine alike."""
    looks, now = count(), time.monotonic()
    monkeypatch.setattr(interrupt, "time", SimpleNamespace(monotonic=lambda: now + next(looks)))


@pytest.fixture
def rng(request):
    """Random numbers, the same in every run of a test.

    GAPLESS_TEST_SEED=7 starts them elsewhere, GAPLESS_TEST_SEED=fresh somewhere new in every test,
    which a failing one prints.
    """
    given = os.environ.get("GAPLESS_TEST_SEED") or str(zlib.crc32(request.node.nodeid.encode()))
    seed = secrets.randbits(32) if given == "fresh" else int(given)
    print(f"seed: run again with GAPLESS_TEST_SEED={seed}")
    return np.random.default_rng(seed)
