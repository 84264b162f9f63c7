import os
import secrets

import numpy as np
import pytest


@pytest.fixture
def rng():
    """Random numbers from a fresh seed, which a failing test prints; GAPLESS_TEST_SEED fixes it."""
    seed = int(os.environ.get("GAPLESS_TEST_SEED") or secrets.randbits(32))
    print(f"seed: run again with GAPLESS_TEST_SEED={seed}")
    return np.random.default_rng(seed)
