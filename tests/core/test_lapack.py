"""LAPACK without the interpreter's lock: the bits of SciPy's functions of the same names."""

import numpy as np
import pytest
import scipy.linalg
from scipy.linalg import get_lapack_funcs

from gapless._ground import lapack


@pytest.fixture(params=[np.float32, np.float64], ids=["float32", "float64"])
def rows(request, rng):
    return rng.normal(size=(30, 20)).astype(request.param)


@pytest.mark.parametrize("lower", [0, 1])
def test_factors_and_inverses(rows, lower):
    H = rows.T @ rows
    potrf, potri, trtri = get_lapack_funcs(("potrf", "potri", "trtri"), (H,))
    factor, failed = lapack.potrf(H, lower)
    assert failed == 0 and factor.dtype == H.dtype
    np.testing.assert_array_equal(factor, potrf(H, lower)[0])
    np.testing.assert_array_equal(lapack.potri(factor, lower)[0], potri(factor, lower)[0])
    np.testing.assert_array_equal(lapack.trtri(factor, lower)[0], trtri(factor, lower)[0])


@pytest.mark.parametrize("lower", [0, 1])
def test_factors_with_pivots_end_at_the_rank(rows, lower):
    K = np.asfortranarray(rows @ rows.T)
    [pstrf] = get_lapack_funcs(("pstrf",), (K,))
    factor, pivots, rank, _ = lapack.pstrf(K, 1e-2, lower)
    assert rank == 20
    expected = pstrf(K, 1e-2, lower)
    np.testing.assert_array_equal(factor, expected[0])
    np.testing.assert_array_equal(pivots, expected[1])


def test_eigenvectors(rows):
    H = rows.T @ rows
    values, vectors = lapack.eigh(H.copy())
    expected = scipy.linalg.eigh(H, driver="evd")
    np.testing.assert_array_equal(values, expected[0])
    np.testing.assert_array_equal(vectors, expected[1])


@pytest.mark.parametrize("n", [0, 1])
def test_matrices_of_no_or_one_entry(n):
    H = 4 * np.ones((n, n))
    assert [part.shape for part in lapack.eigh(H.copy())] == [(n,), (n, n)]
    np.testing.assert_array_equal(lapack.potrf(H)[0], 2 * np.ones((n, n)))


def test_what_is_not_positive_definite_is_said_and_only_what_is_given_is_overwritten():
    H = np.array([[1.0, 2.0], [2.0, 1.0]], order="F")
    before = H.copy()
    assert lapack.potrf(H)[1] == 2
    np.testing.assert_array_equal(H, before)
    given = np.array([[4.0, 2.0], [2.0, 5.0]], order="F")
    factor, _ = lapack.potrf(given, 1, 0, 1)
    assert factor is given and given[0, 0] == 2.0
