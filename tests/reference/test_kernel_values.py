"""Kernels against scikit-learn's: pairwise kernels by name, and those of Gaussian processes."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC

from gapless.kernels import Constant, Gaussian, Matern, White, by_name

NAMES = ["additive_chi2", "chi2", "cosine", "laplacian", "linear", "poly", "polynomial", "rbf"]
NAMES += ["sigmoid"]
GIVEN = {"gamma": 0.3, "degree": 4, "coef0": 0.7}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_names_mean_what_they_mean_there(rng, name, dtype):
    X, Z = np.abs(rng.standard_normal((2, 30, 5))).astype(dtype)
    Z = Z[:11]
    theirs = pairwise_kernels(X, Z, metric=name, filter_params=True, **GIVEN)
    scale = np.abs(theirs).max()
    atol = scale * (1e-13 if dtype == np.float64 else 1e-5)
    np.testing.assert_allclose(by_name(name, **GIVEN).gram(X, Z), theirs, rtol=0, atol=atol)


@pytest.mark.parametrize("name", ["laplacian", "poly", "rbf", "sigmoid", "chi2", "cosine"])
def test_gamma_none_is_their_default(rng, name):
    X = np.abs(rng.standard_normal((20, 5)))
    theirs = pairwise_kernels(X, metric=name)
    ours = by_name(name, gamma=None, coef0=1.0).gram(X)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-13 * np.abs(theirs).max())


@pytest.mark.parametrize("is_sparse", [False, True])
def test_gamma_scale_is_that_of_their_machines(rng, is_sparse):
    X = rng.standard_normal((30, 4)) * [1, 2, 3, 4]
    X = sp.csr_matrix(np.where(X > 0, X, 0)) if is_sparse else X
    theirs = SVC(gamma="scale").fit(X, np.arange(30) % 2)._gamma
    assert by_name("rbf").resolve(X).gamma == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5, 0.8, 3.7, np.inf])
def test_matern_is_theirs(rng, nu):
    X, Z = rng.standard_normal((2, 15, 3))
    theirs = gp.Matern(length_scale=0.8, nu=nu)
    np.testing.assert_allclose(Matern(0.8, nu).gram(X, Z), theirs(X, Z), rtol=0, atol=1e-13)


def test_log_parameters_and_gradients_are_theirs(rng):
    X = rng.standard_normal((12, 2))
    ours = Constant(2.0) * Matern(0.7, 2.5) + White(0.3)
    theirs = gp.ConstantKernel(2.0) * gp.Matern(0.7, nu=2.5) + gp.WhiteKernel(0.3)
    K, gradients = theirs(X, eval_gradient=True)
    np.testing.assert_allclose(ours.log_parameters, theirs.theta)
    np.testing.assert_allclose(ours.gram(X), K, rtol=0, atol=1e-13)
    np.testing.assert_allclose(
        np.stack(ours.gram_gradients(X), axis=2), gradients, rtol=0, atol=1e-12
    )
    moved = ours.with_log_parameters(theirs.theta + 0.1).gram(X)
    np.testing.assert_allclose(moved, theirs.clone_with_theta(theirs.theta + 0.1)(X), atol=1e-12)


def test_width_of_a_gaussian(rng):
    X = rng.standard_normal((9, 3))
    np.testing.assert_allclose(Gaussian(1 / (2 * 1.7**2)).gram(X), gp.RBF(1.7)(X), atol=1e-14)
