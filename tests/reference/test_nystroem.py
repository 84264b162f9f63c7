"""Nystroem and RBFSampler: against scikit-learn's, and promises of their own."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.kernel_approximation as peers
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import gapless
from gapless import LogisticRegression, Nystroem, RBFSampler
from gapless.kernels import Gaussian, Laplacian

BOTH = [Nystroem(n_components=8, random_state=0), RBFSampler(n_components=8, random_state=0)]
each = pytest.mark.parametrize("transformer", BOTH, ids=lambda t: type(t).__name__)


@pytest.fixture
def X():
    return np.random.default_rng(5).normal(size=(50, 3))


@each
def test_check_estimator_passes_with_no_expected_failures(transformer):
    results = check_estimator(transformer, on_skip=None, on_fail=None)
    assert {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"} == {}
    assert sum(r["status"] == "passed" for r in results) > 40


@each
def test_what_is_stored_is_all_there_is(transformer, X):
    fitted = clone(transformer).fit(pd.DataFrame(X, columns=["a", "b", "c"]))
    learned = set(vars(fitted)) - set(fitted.get_params())
    assert learned <= set(fitted._stored)
    name = type(fitted).__name__.lower()
    assert list(fitted.get_feature_names_out()) == [f"{name}{k}" for k in range(8)]


def test_features_are_scikit_learns_for_the_same_landmarks(X):
    ours = Nystroem(gamma=0.4, n_components=20, random_state=0).fit(X)
    theirs = peers.Nystroem(gamma=0.4, n_components=20).fit(ours.components_)
    order = np.argsort(theirs.component_indices_)
    root = theirs.normalization_[np.ix_(order, order)]
    np.testing.assert_allclose(ours.normalization_, root, rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(ours.components_, X[ours.component_indices_])
    expected = theirs.transform(X)[:, order]
    np.testing.assert_allclose(ours.transform(X), expected, rtol=1e-6, atol=1e-8)


def test_all_rows_as_landmarks_are_exact(X):
    rows = np.vstack([X, X[:10]])
    with pytest.warns(UserWarning, match="n_components = 100 > n_samples = 60"):
        features = Nystroem(kernel=Laplacian(0.3), random_state=0).fit_transform(rows)
    assert features.shape == (60, 50)
    np.testing.assert_allclose(features @ features.T, Laplacian(0.3).gram(rows), atol=1e-10)


@each
def test_weights_are_copies_and_order_does_not_matter(transformer, X):
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 3, size=len(X))
    copies = rng.permutation(np.repeat(np.arange(len(X)), weights))
    weighted = clone(transformer).set_params(gamma=0.3).fit(X, sample_weight=weights)
    copied = clone(transformer).set_params(gamma=0.3).fit(X[copies])
    np.testing.assert_allclose(copied.transform(X), weighted.transform(X), atol=1e-10)


@each
def test_sparse_is_dense_and_float32_stays(transformer, X):
    X = np.where(np.abs(X) < 0.5, 0.0, X).astype(np.float32).astype(float)
    dense = clone(transformer).fit(X)
    np.testing.assert_allclose(
        clone(transformer).fit(sp.csr_matrix(X)).transform(sp.csc_array(X)),
        dense.transform(X),
        atol=1e-10,
    )
    single = clone(transformer).fit(X.astype(np.float32))
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(
        single.transform(X.astype(np.float32)), dense.transform(X), atol=1e-4
    )


def test_landmarks_leave_less_unexplained_than_scikit_learns():
    """Where most rows are in one place, uniform draws see little of the rest."""
    rng = np.random.default_rng(3)
    X = np.vstack([0.1 * rng.normal(size=(950, 2)), 5 * rng.normal(size=(50, 2))])
    K = Gaussian(0.5).gram(X)

    def left(cls, seed):
        features = cls(gamma=0.5, n_components=30, random_state=seed).fit_transform(X)
        return np.trace(K) - np.sum(features**2)

    ours = [left(Nystroem, seed) for seed in range(3)]
    theirs = [left(peers.Nystroem, seed) for seed in range(3)]
    assert np.mean(ours) < 0.5 * np.mean(theirs)


def test_random_features_miss_the_kernel_by_less_than_scikit_learns(X):
    K = Gaussian(0.3).gram(X)

    def error(cls, seed):
        features = cls(gamma=0.3, n_components=200, random_state=seed).fit_transform(X)
        return np.mean((features @ features.T - K) ** 2)

    ours = np.mean([error(RBFSampler, seed) for seed in range(5)])
    assert ours < 0.7 * np.mean([error(peers.RBFSampler, seed) for seed in range(5)])


def test_pipeline_is_searched():
    X, y = make_moons(200, noise=0.2, random_state=0)
    pipeline = make_pipeline(Nystroem(n_components=30, random_state=0), LogisticRegression(C=10.0))
    search = GridSearchCV(pipeline, {"nystroem__gamma": [1e-3, 5.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"nystroem__gamma": 5.0}
    assert search.best_score_ > 0.95


def test_precomputed_needs_only_the_columns_of_landmarks(X):
    K = Gaussian(0.4).gram(X)
    given = Nystroem(kernel="precomputed", n_components=20, random_state=0).fit(K)
    features = given.transform(K)
    at = given.component_indices_
    np.testing.assert_allclose(features @ features[at].T, K[:, at], atol=1e-8)


def test_kernels_that_are_no_inner_products_have_features_too(X):
    for kernel in ("sigmoid", lambda x, z: float(np.sum(np.minimum(x, z)))):
        features = Nystroem(kernel, n_components=5, random_state=0).fit_transform(np.abs(X))
        assert features.shape == (50, 5)
        assert np.all(np.isfinite(features))


def test_parameters_of_a_kernel_that_has_its_own_are_refused(X):
    with pytest.raises(ValueError, match="Don't pass gamma"):
        gapless.Nystroem(Gaussian(0.3), gamma=1.0).fit(X)
