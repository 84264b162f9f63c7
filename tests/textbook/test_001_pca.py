"""Principal components as in text 001: covariance, singular vectors, geometry, 5,000 to 50."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import gapless.plots
from gapless import PCA, LogisticRegression


@pytest.fixture
def X(rng):
    return rng.normal(size=(40, 6)) * [5, 4, 3, 2, 1.5, 1] @ rng.normal(size=(6, 6)) + 7


def test_eigenvectors_of_the_covariance_are_right_singular_vectors_of_centred_rows(X):
    values, vectors = np.linalg.eigh(np.cov(X.T))
    sizes, Vt = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[1:]
    for solver in ("full", "covariance_eigh"):
        model = PCA(svd_solver=solver).fit(X)
        np.testing.assert_allclose(
            np.abs(model.components_ @ vectors[:, ::-1]), np.eye(6), atol=1e-8
        )
        np.testing.assert_allclose(np.abs(model.components_ @ Vt.T), np.eye(6), atol=1e-8)
        np.testing.assert_allclose(model.explained_variance_, values[::-1])
        np.testing.assert_allclose(model.explained_variance_, sizes**2 / (len(X) - 1))


def test_the_covariance_stretches_along_the_components(X, rng):
    model = PCA().fit(X)
    V, z = model.components_.T, rng.normal(size=6)
    # Σz = VΛVᵀz: turn into the components, stretch by the variances, turn back.
    turned = V.T @ z
    assert np.linalg.norm(turned) == pytest.approx(np.linalg.norm(z))
    np.testing.assert_allclose(np.cov(X.T) @ z, V @ (model.explained_variance_ * turned))
    # Σv = λv, so a component is only made longer; and X = UΣVᵀ.
    for v, variance in zip(model.components_, model.explained_variance_):
        np.testing.assert_allclose(np.cov(X.T) @ v, variance * v, atol=1e-8 * variance + 1e-9)
    U = model.transform(X) / model.singular_values_
    np.testing.assert_allclose(U.T @ U, np.eye(6), atol=1e-9)
    np.testing.assert_allclose((U * model.singular_values_) @ V.T, X - X.mean(axis=0), atol=1e-9)


def test_projection_and_reconstruction_split_the_variance(X):
    model = PCA(2).fit(X)
    back = model.inverse_transform(model.transform(X))
    total = np.sum((X - X.mean(axis=0)) ** 2)
    left = np.sum((X - back) ** 2)
    assert left / total == pytest.approx(1 - model.explained_variance_ratio_.sum())
    assert model.certificate_.primal == pytest.approx(left)


def test_many_columns_become_few_and_a_model_learns_from_them(rng):
    # 5,000 columns to 50 in the text; 500 to 5 here.
    hidden = rng.normal(size=(200, 5))
    y = (hidden[:, 0] + hidden[:, 1] > 0).astype(int)
    X = hidden @ rng.normal(size=(5, 500)) + 0.5 * rng.normal(size=(200, 500))
    few = make_pipeline(PCA(5, whiten=True), LogisticRegression()).fit(X[:100], y[:100])
    assert few[0].explained_variance_ratio_.sum() > 0.9
    assert few[0].generalization_.kind == "balanced"
    assert few.score(X[100:], y[100:]) > 0.9


def test_pictures_draw_the_numbers_of_the_model(X):
    model = PCA("cv").fit(X)
    axes = model.plot()
    together = next(line for line in axes.lines if line.get_label() == "together")
    np.testing.assert_allclose(
        together.get_ydata(), 100 * np.cumsum(model.explained_variance_ratio_)
    )
    held_out = next(line for line in axes.lines if "held-out" in line.get_label())
    errors = model.held_out_errors_
    np.testing.assert_allclose(held_out.get_ydata(), 100 * errors / errors[0])

    axes = PCA(2).fit(X).plot_map(X, labels=["a", "b"] * 20)
    drawn = np.concatenate([line.get_xydata() for line in axes.lines[:2]])
    expected = PCA(2).fit_transform(X)
    np.testing.assert_allclose(drawn, np.concatenate([expected[::2], expected[1::2]]))
    with pytest.raises(ValueError, match="two components"):
        PCA(1).fit(X).plot_map(X)

    plane = PCA().fit(X[:, :2])
    axes = gapless.plots.principal_axes(
        X[:, :2], plane.mean_, plane.components_, np.sqrt(plane.explained_variance_)
    )
    feet = axes.lines[-1].get_xydata()
    first = PCA(1).fit(X[:, :2])
    np.testing.assert_allclose(feet, first.inverse_transform(first.transform(X[:, :2])))
