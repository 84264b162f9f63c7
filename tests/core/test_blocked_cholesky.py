"""Cholesky factors by blocks: those of LAPACK, and the same bits for any number of threads."""

import numpy as np
import pytest

from gapless._ground import interrupt
from gapless._ground.threads import threads
from gapless.solvers import cholesky_in_blocks as module
from gapless.solvers.cholesky_in_blocks import blocked_cholesky


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(module, "COLUMNS", 8)
    monkeypatch.setattr(module, "ROWS", 16)


def positive_definite(n, dtype):
    A = np.random.default_rng(n).normal(size=(n, n + 5))
    return (A @ A.T + np.eye(n)).astype(dtype)


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 24, 61])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_factor_is_that_of_lapack(n, dtype):
    H = positive_definite(n, dtype)
    found = blocked_cholesky(H.copy())
    assert found.dtype == dtype
    expected = np.linalg.cholesky(H.astype(float)) if n else H
    tolerance = 100 * np.finfo(dtype).eps * max(np.sqrt(np.abs(H).max(initial=0.0)), 1.0)
    np.testing.assert_allclose(np.tril(found), expected, rtol=0, atol=tolerance)


def test_the_bits_are_the_same_for_any_number_of_threads():
    H, found = positive_definite(61, np.float32), []
    for count in (1, 3):
        with threads(count):
            found.append(blocked_cholesky(H.copy()))
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("at", [0, 20, 60])
def test_what_is_not_positive_definite_has_no_factor(at):
    H = positive_definite(61, np.float64)
    H[at, at] = -1.0
    assert blocked_cholesky(H) is None


def test_the_time_limit_ends_it():
    with interrupt.time_limit(0), pytest.raises(interrupt.TimeLimit):
        blocked_cholesky(positive_definite(61, np.float64))
