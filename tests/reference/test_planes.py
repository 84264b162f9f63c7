"""Distances to planes and margins of linear classifiers, against projections on the planes."""

import matplotlib as mpl
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression as PeerLogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as PeerSVC

from gapless import SVC, LinearSVC, LogisticRegression, RidgeClassifier
from gapless.evaluation import compare_planes, distances_to_plane, geometric_margin

IRIS, KINDS = load_iris(return_X_y=True)
TWO = IRIS[KINDS < 2], np.array(["setosa", "versicolor"])[KINDS[KINDS < 2]]


@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(C=np.inf),
        SVC(kernel="linear"),
        LogisticRegression(),
        RidgeClassifier(),
        PeerLogisticRegression(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_distances_are_those_of_the_nearest_point_of_the_plane(model):
    X, y = TWO
    model.fit(X, y)
    w, b = np.ravel(model.coef_), np.ravel(model.intercept_)[0]
    # The foot of the perpendicular is on the plane, and nothing on the plane is nearer.
    foot = X - np.outer((X @ w + b) / (w @ w), w)
    np.testing.assert_allclose(foot @ w + b, 0, atol=1e-9)
    found = distances_to_plane(model, X)
    np.testing.assert_allclose(np.abs(found), np.linalg.norm(X - foot, axis=1), rtol=1e-9)
    assert np.array_equal(found > 0, model.predict(X) == "versicolor")
    expected = np.where(y == "versicolor", 1, -1) * found
    assert geometric_margin(model, X, y) == pytest.approx(expected.min())
    np.testing.assert_allclose(distances_to_plane(model, sp.csr_matrix(X)), found)


def test_the_widest_margin_is_half_of_the_width_and_no_other_plane_has_more():
    X, y = TWO
    widest = SVC(kernel="linear", C=np.inf, tol=1e-9).fit(X, y)
    best = geometric_margin(widest, X, y)
    assert best == pytest.approx(widest.margin_ / 2, rel=1e-6)
    w, b = widest.coef_[0], widest.intercept_[0]
    rng = np.random.default_rng(0)
    others = {f"{k}": (w + 0.1 * rng.normal(size=4), b + 0.1 * rng.normal()) for k in range(50)}
    compared = compare_planes({**others, "widest": widest}, X, y)
    assert compared.planes[0].name == "widest"
    assert compared.planes[0].geometric_margin == pytest.approx(best)
    margins = [plane.geometric_margin for plane in compared.planes]
    assert margins == sorted(margins, reverse=True)
    for plane in compared.planes[:5]:
        assert np.linalg.norm(plane.normal) == pytest.approx(1)
        t = np.where(y == "versicolor", 1, -1)
        distances = t * (X @ plane.normal + plane.offset)
        assert plane.geometric_margin == pytest.approx(distances.min())
        assert plane.nearest == np.argmin(distances)
        assert plane.errors == np.sum(distances <= 0)


def test_a_pipeline_is_measured_where_its_last_step_works():
    X, y = TWO
    model = make_pipeline(StandardScaler(), LinearSVC()).fit(X, y)
    expected = distances_to_plane(model[-1], model[0].transform(X))
    np.testing.assert_array_equal(distances_to_plane(model, X), expected)


@pytest.mark.parametrize("model", [LogisticRegression(), LinearSVC()], ids=str)
def test_several_classes_have_borders_between_each_two(model):
    model.fit(IRIS, KINDS)
    assert distances_to_plane(model, IRIS).shape == (150, 3)
    expected = np.inf
    for x, y in zip(IRIS, KINDS):
        for k in set(range(3)) - {int(y)}:
            w, b = model.coef_[y] - model.coef_[k], model.intercept_[y] - model.intercept_[k]
            expected = min(expected, (x @ w + b) / np.linalg.norm(w))
    assert geometric_margin(model, IRIS, KINDS) == pytest.approx(expected)


def test_pairs_of_classes_have_no_common_border():
    for cls in (SVC, PeerSVC):
        model = cls(kernel="linear", C=0.01).fit(IRIS, KINDS)
        assert distances_to_plane(model, IRIS).shape == (150, 3)
        with pytest.raises(ValueError, match="pairs of classes"):
            geometric_margin(model, IRIS, KINDS)


def test_a_picture_has_a_line_for_each_plane_and_its_margins():
    mpl.use("Agg")
    X, y = TWO
    X = X[:, 2:]
    planes = {"widest": LinearSVC(C=np.inf).fit(X, y), "wrong": ([1.0, 0.0], -1.2)}
    compared = compare_planes(planes, X, y)
    axes = compared.plot()
    lines = [line.get_label() for line in axes.get_lines() if not line.get_label().startswith("_")]
    assert lines == [f"{p.name}: {p.geometric_margin:.3g}" for p in compared.planes]
    assert len(axes.get_lines()) == 4  # a margin on either side of the one that separates
    assert "1 of 2 planes separate" in str(compared)
    assert compared["wrong"].errors > 0
    assert compared.to_dict()["planes"][0]["name"] == "widest"
    with pytest.raises(ValueError, match="two features"):
        compare_planes({"widest": LinearSVC().fit(*TWO)}, *TWO).plot()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: distances_to_plane(SVC().fit(*TWO), TWO[0]), "has no coef_"),
        (lambda: distances_to_plane(LinearSVC().fit(*TWO), TWO[0][:, :2]), "4 coordinates"),
        (lambda: geometric_margin(LinearSVC().fit(*TWO), TWO[0], TWO[1][:5]), "100 rows"),
        (lambda: geometric_margin(LinearSVC().fit(*TWO), TWO[0], KINDS[:100]), "does not know"),
        (lambda: compare_planes({}, *TWO), "planes is empty"),
        (lambda: compare_planes({"a": ([0.0] * 4, 1.0)}, *TWO), "there is no plane"),
        (lambda: compare_planes({"a": ([1.0], 1.0)}, *TWO), "w has 1 entries"),
        (lambda: compare_planes({"a": ([1.0] * 4, 1.0)}, IRIS, KINDS), "two classes"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
