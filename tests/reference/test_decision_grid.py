"""Pictures of decisions in the plane show what the model says."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from gapless import SVC, LogisticRegression, Ridge, plots
from gapless.evaluation import decision_grid


@pytest.fixture
def board(rng):
    """A chessboard of 4 × 4 fields."""
    X = rng.uniform(0, 4, (120, 2))
    return X, (np.floor(X).sum(axis=1) % 2).astype(int)


def test_grid_holds_what_the_model_predicts(board):
    X, y = board
    model = SVC(C=100.0, gamma=1.0).fit(X, np.array(["white", "black"])[y])
    grid = decision_grid(model, X, np.array(["white", "black"])[y], resolution=7)
    corner = [[grid.x[2], grid.y[5]]]
    assert model.predict(corner)[0] == grid.classes[grid.regions[5, 2]]
    np.testing.assert_allclose(grid.scores[5, 2], model.decision_function(corner)[0])
    np.testing.assert_array_equal(grid.support, model.support_)


def test_picture_circles_the_support_vectors_and_names_the_features(board):
    X, y = board
    frame = pd.DataFrame(X, columns=["length", "width"])
    model = SVC(C=100.0, gamma=1.0).fit(frame, y)
    ax = decision_grid(model, frame, y, resolution=20).plot()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("length", "width")
    circles = np.vstack([c.get_offsets() for c in ax.collections if "support" in c.get_label()])
    np.testing.assert_allclose(np.sort(circles, axis=0), np.sort(X[model.support_], axis=0))
    plt.close(ax.figure)


def test_picture_tells_bounded_support_vectors_from_free_ones(board):
    X, y = board
    model = SVC(C=2.0, gamma=1.0).fit(X, y)
    is_bounded = np.isclose(model.alpha_, 2.0)
    free = (model.alpha_ > 0) & ~is_bounded
    assert free.any() and is_bounded.any()
    ax = decision_grid(model, X, y, resolution=20).plot()
    drawn = {part.get_label(): part.get_offsets() for part in ax.collections}
    np.testing.assert_allclose(np.sort(drawn["free support"], axis=0), np.sort(X[free], axis=0))
    np.testing.assert_allclose(drawn["bounded support"], X[is_bounded])
    plt.close(ax.figure)


def test_probabilities_are_drawn_with_the_border_at_one_half(board):
    X, y = board
    grid = decision_grid(LogisticRegression().fit(X, y), X, y, resolution=20)
    values = 1 / (1 + np.exp(-grid.scores))
    ax = plots.probabilities(grid.x, grid.y, values, X, y, classes=["black", "white"])
    mesh, lines, *points = ax.collections
    np.testing.assert_allclose(np.ravel(mesh.get_array()), values.ravel())
    widths = dict(zip(lines.levels, lines.get_linewidths(), strict=True))
    assert max(widths, key=widths.get) == 0.5
    for k, drawn in enumerate(points):
        np.testing.assert_allclose(drawn.get_offsets(), X[y == k])
    plt.close(ax.figure)


def test_three_classes_have_regions_without_margins(rng):
    y = np.repeat([0, 1, 2], 20)
    X = rng.normal(size=(60, 2)) + 3 * np.array([[0, 0], [1, 0], [0, 1]])[y]
    grid = decision_grid(LogisticRegression().fit(X, y), X, y, resolution=30)
    assert grid.scores is None and len(grid.support) == 0
    assert set(np.unique(grid.regions)) == {0, 1, 2}
    plt.close(grid.plot().figure)


def test_only_the_plane_can_be_drawn(rng):
    X, y = rng.normal(size=(20, 3)), np.arange(20) % 2
    with pytest.raises(ValueError, match="choose two columns"):
        decision_grid(LogisticRegression().fit(X, y), X, y)
    with pytest.raises(ValueError, match="at least 2"):
        decision_grid(LogisticRegression().fit(X[:, :2], y), X[:, :2], y, resolution=1)


def test_regressors_and_unfitted_classifiers_are_named(rng):
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    for model in (Ridge().fit(X, y), LogisticRegression()):
        with pytest.raises(ValueError, match=r"needs a fitted classifier, but this .* classes_"):
            decision_grid(model, X, y)
