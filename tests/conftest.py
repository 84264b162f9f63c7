"""Random numbers for all tests, and one thread for the libraries beside ours."""

import os
import secrets
import zlib

import numpy as np
import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

# Examples are the same in every run, too, unless fresh ones are asked for.
settings.register_profile("same", derandomize=True)
if os.environ.get("GAPLESS_TEST_SEED") != "fresh":
    settings.load_profile("same")


@pytest.fixture(autouse=True, scope="session")
def one_thread_for_other_libraries():
    """Threads of BLAS and OpenMP wait for each other longer than these small problems compute."""
    with threadpool_limits(1):
        yield


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
