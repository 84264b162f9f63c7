"""The largest eigenvalues from products alone, against matrices whose eigenvalues are known."""

import numpy as np
import pytest

from gapless._ground.interrupt import TimeLimit, time_limit
from gapless.models.decomposition import top_eigenpairs

SPECTRA = {
    "decreasing": 1.0 / np.arange(1.0, 121.0),
    "nearly equal": np.linspace(1.1, 1.0, 120),
    "one": np.ones(120),
    "few": np.r_[np.ones(5), np.zeros(115)],
    "zero": np.zeros(120),
    "repeated more often than a block is wide": np.r_[np.full(50, 2.0), np.linspace(1, 0, 70)],
}


def matrix_of(spectrum, rng):
    vectors = np.linalg.qr(rng.standard_normal((len(spectrum), len(spectrum))))[0]
    return (vectors * spectrum) @ vectors.T


@pytest.mark.parametrize("spectrum", SPECTRA.values(), ids=SPECTRA)
@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-9), (np.float32, 1e-4)])
def test_values_are_the_largest_and_residuals_what_they_claim(spectrum, dtype, tol, rng):
    A = matrix_of(spectrum, rng).astype(dtype)
    for count in (1, 7, 60, 120):
        found = top_eigenpairs(lambda V: A @ V, 120, count, tol=tol, dtype=dtype)
        rounding = 1000 * np.finfo(dtype).eps
        assert found.is_done
        assert found.vectors.dtype == dtype
        np.testing.assert_allclose(found.values, spectrum[:count], atol=rounding)
        np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(count), atol=rounding)
        left = np.linalg.norm(A @ found.vectors - found.vectors * found.values, axis=0)
        np.testing.assert_allclose(left, found.residuals, atol=rounding)
        assert np.all(left <= tol * spectrum[0] + rounding)


def test_a_start_at_the_answer_saves_products(rng):
    A = matrix_of(SPECTRA["nearly equal"], rng)
    first = top_eigenpairs(lambda V: A @ V, 120, 5, tol=1e-9)
    again = top_eigenpairs(lambda V: A @ V, 120, 5, tol=1e-8, start=first.vectors)
    assert again.iterations < first.iterations
    np.testing.assert_allclose(again.values, first.values)


def test_the_best_so_far_is_kept_when_time_is_up(rng):
    A = matrix_of(SPECTRA["nearly equal"], rng)
    calls = []

    def times(V):
        calls.append(1)
        if len(calls) > 3:
            raise TimeLimit
        return A @ V

    found = top_eigenpairs(times, 120, 20, tol=0.0)
    assert not found.is_done
    assert found.residuals.max() > 1e-6
    left = np.linalg.norm(A @ found.vectors - found.vectors * found.values, axis=0)
    np.testing.assert_allclose(left, found.residuals, rtol=1e-6)
    with time_limit(0), pytest.raises(TimeLimit):
        top_eigenpairs(lambda V: A @ V, 120, 20)


def test_a_rule_of_the_caller_decides_when_to_stop(rng):
    A = matrix_of(SPECTRA["decreasing"], rng)
    seen = []

    def is_enough(values, residuals, beyond):
        seen.append((values.copy(), beyond))
        return len(seen) == 2

    found = top_eigenpairs(lambda V: A @ V, 120, 20, is_enough=is_enough)
    assert found.is_done
    assert len(seen) == 2
    assert 0 < found.next_value <= SPECTRA["decreasing"][20]
    assert np.all(seen[1][0] >= seen[0][0] - 1e-12), "values only grow"
    stopped = top_eigenpairs(lambda V: A @ V, 120, 20, tol=0.0, after_step=lambda *_: True)
    assert not stopped.is_done
    with pytest.raises(ValueError, match="count must be from 1"):
        top_eigenpairs(lambda V: A @ V, 120, 121)
