"""Pictures that carry their numbers: times of models, matrices of distances, a small network."""

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_hex

from gapless import AgglomerativeClustering, plots
from gapless.evaluation import Timing, Timings

matplotlib.use("Agg")

DISTANCES = np.array([[0, 2, 6, 10], [2, 0, 5, 9], [6, 5, 0, 4], [10, 9, 4, 0]], dtype=float)


def texts_of(axes):
    return [text.get_text() for text in axes.texts]


def test_timings_draw_both_times_and_mark_the_lazy_ones():
    found = Timings(1200, (Timing("neighbours", 0.002, 0.03), Timing("tree", 0.05, 0.001)))
    axes = found.plot()
    learn, predict = (part for part in axes.collections if part.get_label() in ("learn", "predict"))
    np.testing.assert_allclose(learn.get_offsets(), [[2, 0], [50, 1]])
    np.testing.assert_allclose(predict.get_offsets(), [[30, 0], [1, 1]])
    assert [to_hex(c) for c in predict.get_facecolors()] == [plots.style.ACCENT, plots.style.FAINT]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["neighbours", "tree"]
    assert axes.get_xscale() == "log" and "1,200 rows" in axes.get_xlabel()


def test_a_matrix_shows_every_distance_and_frames_the_closest_pair():
    axes = plots.distance_matrix(DISTANCES, "abcd", closest=(0, 1), title="D₁")
    assert texts_of(axes) == [f"{value:g}" for value in DISTANCES.ravel()]
    corners = sorted(patch.get_xy() for patch in axes.patches)
    assert corners == [(-0.5, 0.5), (0.5, -0.5)]
    shades = axes.images[0].get_array()
    # The shorter a distance, the darker; the diagonal is blank.
    order = np.argsort(DISTANCES[np.triu_indices(4, 1)])
    assert np.all(np.diff(np.asarray(shades)[np.triu_indices(4, 1)][order]) > 0)
    assert np.all(np.diag(shades) == 1)
    with pytest.raises(ValueError, match="square with a name for each row"):
        plots.distance_matrix(DISTANCES, "abc")


def test_the_matrices_of_a_clustering_are_drawn_side_by_side():
    model = AgglomerativeClustering(metric="precomputed", linkage="single").fit(DISTANCES)
    panels = model.distance_matrices("abcd").plot()
    assert [len(panel.get_xticks()) for panel in panels] == [4, 3, 2]
    assert panels[0].get_xlabel() == "D₁: a and b merge at 2"
    assert panels[2].get_xlabel() == "D₃: (a,b) and (c,d) merge at 5"


def test_a_small_network_shows_values_weights_and_gradients():
    W, b, x = np.array([[0.5, -1.0], [2.0, 0.25]]), np.array([0.1, -0.3]), np.array([1.0, 3.0])
    axes = plots.computation(
        [W],
        [x, x @ W + b],
        gradients=[10 * W],
        biases=[b],
        bias_gradients=[10 * b],
        names=[["x₁", "x₂"], ["y₁", "y₂"]],
    )
    edges = ["0.5", "∂ = 5", "−1", "∂ = −10", "2", "∂ = 20", "0.25", "∂ = 2.5"]
    units = ["1", "x₁", "3", "x₂", "6.6", "y₁", "b = 0.1", "∂ = 1"]
    units += ["−0.55", "y₂", "b = −0.3", "∂ = −3"]
    assert texts_of(axes) == edges + units
    bare = plots.computation([W], [x, x @ W])
    assert texts_of(bare) == ["0.5", "−1", "2", "0.25", "1", "3", "6.5", "−0.25"]
    with pytest.raises(ValueError, match="the values need"):
        plots.computation([W], [x, x[:1]])
