"""Pictures of multipliers, tubes and duality draw the numbers they are given."""

from inspect import isfunction, signature

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from gapless import plots


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def drawn_by_label(axes):
    return {part.get_label(): part.get_offsets() for part in axes.collections}


def test_each_status_has_its_rows_and_says_how_many():
    margins, alpha = np.array([2.0, 1.0, 0.4, -0.5, 1.7]), np.array([0.0, 0.3, 1.0, 1.0, 0.0])
    status = np.array(["inactive", "on margin", "bounded", "bounded", "inactive"])
    axes = plots.multipliers(margins, alpha, status, bound=1.0)
    drawn = drawn_by_label(axes)
    assert set(drawn) == {"inactive: 2", "on margin: 1", "bounded: 2"}
    np.testing.assert_allclose(drawn["bounded: 2"], [[0.4, 1.0], [-0.5, 1.0]])
    assert 1.0 in [line.get_ydata()[0] for line in axes.lines]


def test_a_hard_margin_has_no_bound_to_draw():
    axes = plots.multipliers([1.0, 3.0], [2.0, 0.0], ["on margin", "inactive"], bound=np.inf)
    assert [line.get_xdata()[0] for line in axes.lines[:2]] == [1.0, 0.0]
    assert len(axes.lines) == 2


def test_a_curve_has_its_band_its_rows_and_two_kinds_of_support_vectors():
    x = np.linspace(0, 1, 5)
    rows = np.array([[0.1, 1.0], [0.5, 2.0], [0.9, 3.0]])
    axes = plots.curve(
        x, 2 * x, band=(2 * x - 1, 2 * x + 1), points=rows.T, support=[0, 2], bounded=[2]
    )
    drawn = drawn_by_label(axes)
    np.testing.assert_allclose(drawn["free support"], rows[[0]])
    np.testing.assert_allclose(drawn["bounded support"], rows[[2]])
    points, line = axes.lines
    np.testing.assert_allclose(np.column_stack(points.get_data()), rows)
    np.testing.assert_allclose(line.get_ydata(), 2 * x)
    corners = axes.collections[0].get_paths()[0].vertices
    assert corners[:, 1].min() == -1 and corners[:, 1].max() == 3


def test_several_curves_share_axes_with_their_own_lines():
    axes = Figure().add_subplot()
    for k, name in enumerate(("one", "two", "three")):
        plots.curve([0, 1], [k, k], label=name, style=k, axes=axes)
    looks = {(line.get_color(), str(line.get_linestyle())) for line in axes.lines}
    assert len(looks) == 3
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["one", "two", "three"]


def test_primal_and_dual_are_the_best_so_far_and_the_gap_lies_between():
    primal, dual = [10.0, 12.0, 5.0, 4.0], [1.0, 3.0, np.nan, 4.0]
    left, right = plots.primal_dual([0, 1, 2, 3], primal, dual, tol=1e-3)
    upper, lower = (line.get_ydata() for line in left.lines)
    np.testing.assert_allclose(upper, [10, 10, 5, 4])
    np.testing.assert_allclose(lower, [1, 3, 3, 4])
    gap = right.lines[0].get_ydata()
    np.testing.assert_allclose(gap[:3], [9, 7, 2])
    assert 0 < gap[3] < 1e-14 and right.get_yscale() == "log"  # 0 has no logarithm
    assert [text.get_text() for text in right.texts] == ["tol = 1e-03"]


def test_many_steps_have_a_logarithmic_axis():
    left, right = plots.primal_dual([1, 10, 1000], [3, 2, 1], [0, 0.5, 1])
    assert {left.get_xscale(), right.get_xscale()} == {"log"}


def test_images_have_names():
    found = plots.images(np.ones((3, 2, 2)), columns=2, names=["a", "b", "c"])
    assert [axes.get_title() for axes in found] == ["a", "b", "c"]
    assert len(found[0].figure.axes) == 4


def test_images_are_drawn_on_the_axes_that_are_given():
    _, panels = plt.subplots(1, 3)
    found = plots.images(np.arange(8).reshape(2, 2, 2), names=["a", "b"], axes=panels)
    assert found == tuple(panels[:2])
    assert [len(axes.images) for axes in panels] == [1, 1, 0]
    with pytest.raises(ValueError, match="4 images for 3 axes"):
        plots.images(np.ones((4, 2, 2)), axes=panels)


def test_every_drawing_function_takes_axes():
    functions = {name: getattr(plots, name) for name in plots.__all__}
    functions = {name: each for name, each in functions.items() if isfunction(each)}
    without = {name for name, each in functions.items() if "axes" not in signature(each).parameters}
    assert without == {"inline_svg", "inline_png"}  # these turn axes into files
