"""Features of kernels: their inner products are the kernel, and neither rows' order nor copies of
rows change them.
"""

import numpy as np
import pytest
import scipy.sparse as sp

from gapless._ground.distinct_rows import DistinctRows
from gapless._ground.interrupt import TimeLimit, time_limit
from gapless._ground.threads import threads
from gapless.kernels import (
    Cosine,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    White,
)
from gapless.problem import kernel_features
from gapless.problem.kernel_features import Drawing, factor, pivoted_cholesky

KERNELS = [
    Gaussian(0.3),
    Gaussian(),
    Laplacian(0.2),
    Matern(2.0, nu=2.5),
    Linear(),
    Polynomial(2),
    Cosine(),
    2 * Gaussian(0.1) + Linear() * Polynomial(2),
]


@pytest.fixture
def rng():
    return np.random.default_rng(11)


@pytest.fixture
def X(rng):
    return rng.normal(size=(60, 4))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_exact_features_have_the_kernel_as_inner_products(kernel, X):
    K = kernel.resolve(X).gram(X)
    features = factor(kernel, X)
    size = len(X) * np.finfo(float).eps * np.max(np.abs(K))
    np.testing.assert_allclose(features.train @ features.train.T, K, rtol=0, atol=10 * size)
    # Features of small variance are divided by it, and its root is at least 3e-7.
    np.testing.assert_allclose(features.transform(X), features.train, atol=1e-7 * np.max(K))


def test_rank_is_that_of_the_kernel(X):
    assert factor(Linear(), X).rank == 4
    assert factor(Polynomial(2), X).rank == 15
    assert factor(Gaussian(0.3), np.repeat(X, 3, axis=0)).rank == len(X)


def test_coefficients_of_features_are_coefficients_of_kernel_values(X, rng):
    features, w = factor(Gaussian(0.5), X), rng.normal(size=(60, 3))
    new = rng.normal(size=(20, 4))
    expected = features.transform(new) @ w
    by_values = features.kernel.gram(new, features.landmarks) @ features.dual_coef(w)
    np.testing.assert_allclose(by_values, expected, atol=1e-8)
    np.testing.assert_allclose(features.scores(new, w), expected, atol=1e-8)


@pytest.mark.parametrize("kind", ["exact", "nystroem"])
def test_order_and_copies_of_rows_do_not_matter(kind, X, rng):
    weights = rng.integers(0, 3, size=len(X))
    repeated = rng.permutation(np.repeat(np.arange(len(X)), weights))
    weighted = factor(Gaussian(), X, weights, kind=kind, rank=20)
    copied = factor(Gaussian(), X[repeated], kind=kind, rank=20)
    np.testing.assert_array_equal(copied.landmarks, weighted.landmarks)
    np.testing.assert_allclose(copied.train, weighted.train[repeated], rtol=0, atol=1e-12)


def test_landmarks_explain_themselves_and_more_of_them_more(X):
    features = factor(Gaussian(0.2), X, kind="nystroem", rank=15)
    K, at = Gaussian(0.2).gram(X), features.positions
    np.testing.assert_allclose(features.train @ features.train[at].T, K[:, at], atol=1e-10)
    missing = K - features.train @ features.train.T
    assert np.linalg.eigvalsh(missing).min() > -1e-10
    more = factor(Gaussian(0.2), X, kind="nystroem", rank=30)
    assert np.trace(K - more.train @ more.train.T) < 0.5 * np.trace(missing)


def test_further_landmarks_leave_the_first_features_alone(X, rng):
    distinct = DistinctRows.of(X, np.ones(len(X)))
    drawing = Drawing(Gaussian(0.2), X, distinct, seed=0, most=40)
    few, many = drawing.features(10), drawing.features(40)
    np.testing.assert_allclose(many.train[:, :10], few.train, atol=1e-12)
    w = rng.normal(size=10)
    np.testing.assert_allclose(many.train @ many.carried(w), few.train @ w, atol=1e-12)


def test_landmarks_end_when_all_is_explained(X):
    assert factor(Linear(), X, kind="nystroem", rank=30).rank == 4


def test_landmarks_are_spread_where_rows_are_crowded(rng):
    """Of 990 rows in one place and 10 elsewhere, the 10 are mostly found."""
    X = np.vstack([1e-3 * rng.normal(size=(990, 2)), 10 * rng.normal(size=(10, 2))])
    features = factor(Gaussian(1.0), X, kind="nystroem", rank=50)
    assert np.sum(features.positions >= 990) >= 8


@pytest.mark.parametrize("kernel", [Gaussian(0.3), Laplacian(0.1), Matern(2.0), Matern(1.0, 0.5)])
def test_random_features_have_the_kernel_on_average(kernel, X):
    features = factor(kernel, X, kind="random_features", rank=4000)
    missed = features.train @ features.train.T - kernel.gram(X)
    # The mean of 2,000 cosines is off by 1/√2000 or less, and 4.5 times that is rare.
    assert np.max(np.abs(missed)) < 4.5 / np.sqrt(2000)
    np.testing.assert_allclose(np.diag(missed), 0, atol=1e-12)


@pytest.mark.parametrize("kernel", [Gaussian(0.3), Laplacian(0.1), Matern(2.0)])
def test_more_random_features_begin_with_the_same(kernel, X, rng):
    few, many = (factor(kernel, X, kind="random_features", rank=r) for r in (10, 30))
    w = rng.normal(size=10)
    np.testing.assert_allclose(many.train @ many.carried(w), few.train @ w, atol=1e-12)


def test_random_features_need_a_kernel_of_differences(X):
    with pytest.raises(ValueError, match=r"no random features.*nystroem"):
        factor(Polynomial(2), X, kind="random_features", rank=10)


def test_precomputed_kernel_has_positions_as_landmarks(X):
    K = Gaussian(0.3).gram(X)
    features = factor(Precomputed(), K)
    np.testing.assert_array_equal(features.landmarks, features.positions)
    np.testing.assert_allclose(features.train @ features.train.T, K, atol=1e-12)
    np.testing.assert_allclose(features.transform(K), features.train, atol=1e-7)


def test_sparse_is_dense(X):
    X = np.where(np.abs(X) < 0.7, 0.0, X)
    for kind in ("exact", "nystroem", "random_features"):
        one, other = (
            factor(Gaussian(0.3), rows, kind=kind, rank=20) for rows in (X, sp.csr_array(X))
        )
        np.testing.assert_allclose(other.train @ other.train.T, one.train @ one.train.T, atol=1e-12)


def test_float32_features_of_float32_rows(X):
    single = factor(Gaussian(0.3), X.astype(np.float32), kind="nystroem", rank=20)
    double = factor(Gaussian(0.3), X.astype(np.float32).astype(float), kind="nystroem", rank=20)
    assert single.train.dtype == np.float32
    np.testing.assert_allclose(single.train, double.train, atol=1e-4)


def test_same_bits_for_any_number_of_threads(rng):
    X = rng.normal(size=(6000, 5))
    for kind in ("nystroem", "random_features"):
        trains = []
        for count in (1, 2, 3):
            with threads(count):
                trains.append(factor(Gaussian(), X, kind=kind, rank=64).train)
        np.testing.assert_array_equal(trains[0], trains[1])
        np.testing.assert_array_equal(trains[0], trains[2])


def test_equal_rows_have_equal_features_wherever_they_stand(rng, monkeypatch):
    monkeypatch.setattr(kernel_features, "ENTRIES", 640)
    X = np.repeat(rng.normal(size=(40, 3)), 3, axis=0)[rng.permutation(120)]
    for kind in ("exact", "nystroem", "random_features"):
        train = factor(Gaussian(), X, kind=kind, rank=16).train
        labels = DistinctRows.of(X, np.ones(len(X))).inverse
        for label in range(40):
            assert len(np.unique(train[labels == label], axis=0)) == 1


@pytest.mark.parametrize("kind", ["exact", "nystroem", "random_features"])
def test_weights_are_copies_to_the_last_bit(kind, rng):
    X, weights = rng.normal(size=(99, 4)), rng.integers(0, 3, size=99).astype(float)
    copies = rng.permutation(np.repeat(np.arange(len(X)), weights.astype(int)))
    weighted = factor(Gaussian(0.3), X, weights, kind=kind, rank=40)
    copied = factor(Gaussian(0.3), X[copies], kind=kind, rank=40)
    np.testing.assert_array_equal(weighted.train[copies], copied.train)


def test_matrix_with_a_negative_eigenvalue_is_refused():
    K = np.array([[1.0, 3.0, 0.0], [3.0, 1.0, 0.0], [0.0, 0.0, 2.0]])
    with pytest.raises(ValueError, match=r"not positive semi-definite.*mercer_check"):
        pivoted_cholesky(K, 2.0)
    # The same off the diagonal alone, where no pivot shows it.
    K = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, -1.0], [1.0, -1.0, 1.0]])
    with pytest.raises(ValueError, match="not positive semi-definite"):
        pivoted_cholesky(K, 1.0)


def test_what_no_feature_can_have_is_refused(X):
    with pytest.raises(ValueError, match=r"noise.*leave White out"):
        factor(Gaussian(0.3) + White(0.1), X)
    with pytest.raises(ValueError, match="overflows float64"):
        pivoted_cholesky(np.full((2, 2), np.inf), 1.0)


def test_time_limit_ends_the_making(rng):
    X = rng.normal(size=(3000, 5))
    for kind in ("exact", "nystroem", "random_features"):
        with pytest.raises(TimeLimit), time_limit(0.0):
            factor(Gaussian(), X, kind=kind, rank=20)


def test_memory_is_predicted(X, monkeypatch):
    monkeypatch.setattr(kernel_features, "free_memory", lambda: 2e4)
    with pytest.raises(
        MemoryError, match=r"for 60 rows take 8.6e-05 GB, and 2e-05 GB are free.*nystroem"
    ):
        factor(Gaussian(0.3), X)
    with pytest.raises(MemoryError, match="smaller n_components"):
        factor(Gaussian(0.3), X, kind="random_features", rank=100)
    assert factor(Gaussian(0.3), X, kind="nystroem", rank=10).rank == 10


def test_features_are_named_in_a_line(X):
    features = factor(Gaussian(0.3), X, kind="nystroem", rank=10)
    assert repr(features) == "<LandmarkFeatures, nystroem: 10 features of Gaussian(gamma=0.3)>"
