"""Kernel PCA against explicit features, scikit-learn and sums over rows; pre-images that exist."""

import math

import numpy as np
import pytest
import sklearn.decomposition
from sklearn.datasets import make_circles

import gapless
from gapless import KernelPCA
from gapless._ground.distinct_rows import DistinctRows
from gapless.kernels import Gaussian, Linear, Matern, Polynomial, Quadratic
from gapless.models.decomposition.kernel_subspace import CentredGram
from gapless.models.decomposition.subspace_bound import bound_by_squares


@pytest.fixture
def X():
    return np.random.default_rng(7).normal([0.0, 0.5, -1.0], size=(60, 3))


def pca_of_features(features, weights, count):
    """Weighted PCA by a full decomposition: coordinates and Σ s·coordinate²."""
    centred = features - np.average(features, axis=0, weights=weights)
    covariance = (centred * weights[:, None]).T @ centred
    values, vectors = np.linalg.eigh(covariance)
    return centred @ vectors[:, ::-1][:, :count], values[::-1][:count], np.trace(covariance)


# ---- components ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [Linear(), Quadratic(0.5), Polynomial(3, 0.4, 1.0)], ids=repr)
@pytest.mark.parametrize("solver", ["dense", "arpack"])
def test_components_are_those_of_explicit_features(X, kernel, solver):
    weights = np.random.default_rng(0).uniform(0.2, 3.0, size=len(X))
    expected, values, trace = pca_of_features(kernel.features(X), weights, 3)
    model = KernelPCA(3, kernel=kernel, eigen_solver=solver).fit(X, sample_weight=weights)
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-9)
    np.testing.assert_allclose(np.abs(model.transform(X)), np.abs(expected), atol=1e-6)
    np.testing.assert_allclose(model.explained_variance_ratio_, values / trace, rtol=1e-9)
    missed = trace - values.sum()
    assert model.certificate_.primal == pytest.approx(missed, abs=1e-9 * trace)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "cosine"])
def test_numbers_are_scikit_learns(kernel):
    X, _ = make_circles(400, factor=0.4, noise=0.1, random_state=0)
    X += [0.3, 0.1]
    form = {"n_components": 2, "kernel": kernel, "gamma": 0.7}
    theirs = sklearn.decomposition.KernelPCA(**form, eigen_solver="dense").fit(X[:300])
    for solver in ("dense", "arpack"):
        ours = KernelPCA(**form, eigen_solver=solver, tol=1e-9).fit(X[:300])
        np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-9)
        np.testing.assert_allclose(ours.eigenvectors_, theirs.eigenvectors_, atol=1e-7)
        np.testing.assert_allclose(ours.transform(X[300:]), theirs.transform(X[300:]), atol=1e-7)
        np.testing.assert_array_equal(ours.X_fit_, X[:300])


def test_learned_map_is_scikit_learns(X):
    form = {"kernel": "rbf", "gamma": 0.2, "fit_inverse_transform": True, "alpha": 0.1}
    ours = KernelPCA(4, **form).fit(X)
    theirs = sklearn.decomposition.KernelPCA(4, **form).fit(X)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-8)
    np.testing.assert_allclose(ours.X_transformed_fit_, theirs.X_transformed_fit_, atol=1e-8)
    coordinates = theirs.transform(X)
    expected = theirs.inverse_transform(coordinates)
    np.testing.assert_allclose(ours.inverse_transform(coordinates), expected, atol=1e-8)


def test_directions_have_length_one_and_new_rows_are_centred_with_the_training_means(X):
    kernel, new = Gaussian(0.3), X[:7] + 0.4
    model = KernelPCA(3, kernel=kernel).fit(X)
    K, between, n = kernel.gram(X), kernel.gram(new, X), len(X)
    C = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(C @ K @ C)
    a = vectors[:, :-4:-1] / np.sqrt(values[:-4:-1])
    np.testing.assert_allclose(np.diag(a.T @ C @ K @ C @ a), 1.0)
    expected = (between - K.mean(axis=0)) @ C @ a
    np.testing.assert_allclose(np.abs(model.transform(new)), np.abs(expected), atol=1e-9)


def test_precomputed_values_give_the_same_model(X):
    kernel = Gaussian(0.3)
    plain = KernelPCA(3, kernel=kernel).fit(X[:50])
    given = KernelPCA(3, kernel="precomputed").fit(kernel.gram(X[:50]))
    new = kernel.gram(X[50:], X[:50])
    np.testing.assert_allclose(
        np.abs(given.transform(new)), np.abs(plain.transform(X[50:])), atol=1e-9
    )
    assert gapless.certify(given, kernel.gram(X[:50])).kind == "exact"


# ---- the certificate -----------------------------------------------------------------------------


def gram_of(X, kernel, weights=None):
    weights = np.ones(len(X)) if weights is None else weights
    return CentredGram(kernel, X, DistinctRows.of(X, weights))


def test_cheap_bound_holds_for_any_vectors(X):
    gram = gram_of(X, Gaussian(0.4), np.random.default_rng(1).uniform(0.5, 2, size=len(X)))
    A, rng = gram.dense(), np.random.default_rng(0)
    values, vectors = np.linalg.eigh(A)
    values, vectors = values[::-1], vectors[:, ::-1]
    assert gram.trace == pytest.approx(np.trace(A), rel=1e-12)
    assert gram.square_sum == pytest.approx(np.sum(A**2), rel=1e-12)
    for noise in (0.0, 1e-3, 0.3, 10.0):
        V = np.linalg.qr(vectors[:, :4] + noise * rng.normal(size=(len(A), 4)))[0]
        theta, turned = np.linalg.eigh(V.T @ A @ V)
        V, theta = (V @ turned)[:, ::-1], theta[::-1]
        residuals = np.linalg.norm(A @ V - V * theta, axis=0)
        best = values[:4].sum()
        assert bound_by_squares(theta, residuals, gram.trace, gram.square_sum) >= best


def test_cheap_bound_is_tight_if_little_is_left(X):
    gram = gram_of(X, Linear())
    values = np.linalg.eigvalsh(gram.dense())[::-1]
    bound = bound_by_squares(values[:3], np.zeros(3), gram.trace, gram.square_sum)
    assert bound == pytest.approx(values[:3].sum(), rel=1e-6)


def test_tampered_vectors_only_weaken_the_certificate():
    X = np.random.default_rng(3).normal(size=(300, 4))
    model = KernelPCA(3, kernel="rbf", gamma=0.1).fit(X)
    best = model.certificate_
    for change in (1e-3, 0.1, 3.0):
        model.subspace_.coef[5] += change
        found = gapless.certify(model, X)
        assert found.primal > best.primal and found.dual <= best.primal + best.rounding
        assert found.gap >= found.primal - best.primal
    assert found.kind == "stopped"


def test_negative_eigenvalues_leave_no_bound_and_no_crash(X):
    model = KernelPCA(2, kernel="sigmoid", gamma=2.0, coef0=-1.0).fit(X)
    assert model.certificate_.kind == "none" or model.certificate_.primal >= 0
    with pytest.raises(ValueError, match="significant negative eigenvalues"):
        KernelPCA(40, kernel="sigmoid", gamma=2.0, coef0=-1.0).fit(X)


# ---- pre-images ----------------------------------------------------------------------------------

EXACT = [
    ("fixed_point", Gaussian(0.3)),
    ("fixed_point", Polynomial(3, 0.3, 1.0)),
    ("fixed_point", Matern(2.0, 2.5)),
    ("fixed_point", 0.5 * Gaussian(0.2) + Linear()),
    ("distances", Gaussian(0.3)),
    ("distances", Polynomial(3, 0.3, 1.0)),
    ("distances", Linear()),
]


@pytest.mark.parametrize("method, kernel", EXACT, ids=str)
def test_pre_image_that_exists_is_found(X, method, kernel):
    model = KernelPCA(kernel=kernel, pre_image=method).fit(X)
    found = model.pre_images(model.transform(X), start=X + 0.02)
    np.testing.assert_allclose(found.points, X, atol=2e-2)
    assert np.all(found.residuals < 0.05) and found.method == method
    np.testing.assert_allclose(found.lengths, np.linalg.norm(model.transform(X), axis=1))


def test_linear_kernel_reconstructs_as_pca_does(X):
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=len(X))
    mean = np.average(X, axis=0, weights=weights)
    V = np.linalg.svd(np.sqrt(weights)[:, None] * (X - mean))[2][:2].T
    for start in (X, X + 5.0):
        model = KernelPCA(2).fit(X, sample_weight=weights)
        found = model.pre_images(model.transform(X), start)
        np.testing.assert_allclose(found.points, mean + (X - mean) @ V @ V.T, atol=1e-9)
        assert found.steps <= 2 and np.all(found.residuals < 1e-6)


@pytest.mark.parametrize("method", ["fixed_point", "distances", "ridge"])
def test_residual_is_the_distance_in_feature_space(X, method):
    kernel = Quadratic(1.0)
    model = KernelPCA(2, kernel=kernel, pre_image=method, fit_inverse_transform=True, alpha=0.1)
    coordinates = model.fit(X).transform(X[:9])
    found = model.pre_images(coordinates, X[:9])
    features = kernel.features(X)
    directions = model.subspace_.coef.T @ kernel.features(model.subspace_.rows)
    points = features.mean(axis=0) + coordinates @ directions
    expected = np.linalg.norm(kernel.features(found.points) - points, axis=1)
    np.testing.assert_allclose(found.residuals, expected, atol=1e-6)


def test_fixed_point_ends_where_the_gradient_vanishes(X):
    model = KernelPCA(4, kernel=Gaussian(0.2)).fit(X)
    coordinates = model.transform(X[:5])
    found = model.pre_images(coordinates, X[:5])
    h = 1e-5
    for j in range(X.shape[1]):
        step = h * np.eye(X.shape[1])[j]
        ends = [_residuals(model, coordinates, found.points + s * step) ** 2 for s in (1, -1)]
        assert np.all(np.abs(ends[0] - ends[1]) / (2 * h) < 1e-3)


def _residuals(model, coordinates, points):
    space = model.subspace_
    inner = np.sum(space.expansion(coordinates) * space.kernel.gram(points, space.rows), axis=1)
    squares = space.kernel.diagonal(points) - 2 * inner + space.squared_lengths(coordinates)
    return np.sqrt(np.maximum(squares, 0.0))


def test_lost_steps_begin_again_at_the_nearest_training_row(X):
    model = KernelPCA(4, kernel=Gaussian(0.5)).fit(X)
    coordinates = model.transform(X[:6])
    lost = model.pre_images(coordinates, np.full((6, 3), 1e3))
    kept = model.pre_images(coordinates)
    assert lost.restarts == 6 and np.all(np.isfinite(lost.points))
    np.testing.assert_allclose(lost.residuals, kept.residuals, atol=1e-6)
    of_rows = np.array([_residuals(model, coordinates, np.tile(x, (6, 1))) for x in X])
    assert np.all(kept.residuals <= of_rows.min(axis=0) + 1e-9)


def test_rings_lose_their_noise():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * math.pi, size=300)
    clean = np.column_stack([np.cos(angle), np.sin(angle)])
    noisy = clean + 0.1 * rng.normal(size=clean.shape)
    denoised = KernelPCA(6, kernel="rbf", gamma=1.0).fit(noisy).denoise(noisy)
    before, after = (np.mean((np.linalg.norm(P, axis=1) - 1) ** 2) for P in (noisy, denoised))
    assert after < 0.2 * before


# ---- the verdict ---------------------------------------------------------------------------------


@pytest.mark.parametrize("count, kind", [(1, "under-fitted"), (2, "balanced")])
def test_verdict_knows_the_number_of_components(count, kind):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 2)) @ rng.normal(size=(2, 6)) * 2 + 0.4 * rng.normal(size=(90, 6))
    found = KernelPCA(count).fit(X).generalization_
    assert found.kind == kind, found.verdict
    assert 0 < found.unseen < found.train


def test_unseen_score_is_that_of_folds_by_hand(X):
    kernel = Polynomial(2, 1.0, 1.0)
    model = KernelPCA(2, kernel="precomputed").fit(kernel.gram(X))
    found = model.generalization_
    assert found.kind == "unknown" and "filled in" in found.verdict
    fit = model._fitted(*vars(model)["_training"])
    distortion = plain = 0.0
    for train, test in gapless.unseen.splits(gapless.unseen.dealt(fit.units)):
        features = kernel.features(X)
        mean = features[train].mean(axis=0)
        V = np.linalg.svd(features[train] - mean)[2][:2].T
        rest = features[test] - mean
        plain += np.sum(rest**2)
        distortion += np.sum((rest - rest @ V @ V.T) ** 2)
    assert found.unseen == pytest.approx(1 - distortion / plain, abs=1e-4)
