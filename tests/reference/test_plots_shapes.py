"""Pictures of losses, penalties and fitted curves draw the numbers they are given."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from gapless import plots
from gapless.plots.style import LOOKS

mpl.use("Agg")
X = np.linspace(-2, 2, 401)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def names_of(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_a_jump_is_a_gap_and_a_steep_or_kinked_curve_is_none():
    shapes = {
        "step": (X <= 0).astype(float),
        "point": (X != 0).astype(float),
        "root": np.abs(X) ** 0.3,
        "exponential": np.exp(-4 * X),
    }
    axes = plots.functions(X, shapes)
    pieces = {name: [] for name in shapes}
    colours = {LOOKS[k]["color"]: name for k, name in enumerate(shapes)}
    for line in axes.get_lines():
        pieces[colours[line.get_color()]].append(line)
    counts = {name: [len(line.get_xdata()) for line in of] for name, of in pieces.items()}
    assert counts == {
        "step": [201, 200],
        "point": [200, 1, 200],
        "root": [401],
        "exponential": [401],
    }
    assert pieces["point"][1].get_marker() == "o" and pieces["point"][0].get_marker() == ""
    for name, of in pieces.items():
        np.testing.assert_array_equal(np.concatenate([p.get_ydata() for p in of]), shapes[name])
    assert names_of(axes) == list(shapes)


def test_few_values_are_joined_whatever_their_size():
    axes = plots.functions(range(4), {"a": [100.0, 1.0, 1.0, 1.0]}, log=True)
    assert len(axes.get_lines()) == 1 and axes.get_yscale() == "log"


def test_lines_are_distinguished_without_colours():
    dashes = [str(look["linestyle"]) for look in LOOKS]
    assert len(set(dashes)) == len({look["marker"] for look in LOOKS}) == len(LOOKS)


def test_losses_end_where_the_one_that_grows_least_does():
    axes = plots.losses(
        X, {"0-1": (X <= 0) * 1.0, "hinge": np.maximum(0, 1 - X), "exp": np.exp(-X)}
    )
    assert axes.get_ylim()[1] == pytest.approx(1.05 * 3)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("margin", "loss")
    assert plots.losses(X, {"hinge": 1 - X}, highest=9.0).get_ylim()[1] == 9.0


def test_penalties_of_one_weight_are_drawn_as_given():
    axes = plots.penalties(X, {"|w|": np.abs(X), "½w²": 0.5 * X**2}, highest=1.5)
    np.testing.assert_array_equal(axes.get_lines()[1].get_ydata(), 0.5 * X**2)
    assert axes.get_ylim()[1] == 1.5 and names_of(axes) == ["|w|", "½w²"]


def test_contours_of_a_penalty_lie_where_it_has_its_levels():
    values = np.abs(X)[:, None] + np.abs(X)
    axes = plots.penalty_contours(
        X, X, values, levels=[1.0], objective=values, heights=[0.5], best=(1, 0), free=(1.5, 0.2)
    )
    filled, level, objective = axes.collections
    for contour, height in ((level, 1.0), (objective, 0.5)):
        points = np.concatenate([path.vertices for path in contour.get_paths()])
        np.testing.assert_allclose(np.abs(points).sum(axis=1), height, atol=1e-9)
    assert filled.get_alpha() < 0.5
    marks = {line.get_marker(): tuple(np.ravel(line.get_data())) for line in axes.get_lines()}
    assert marks["o"] == (1, 0) and marks["x"] == (1.5, 0.2)
    assert axes.get_aspect() == 1


def test_wild_curves_do_not_squeeze_the_data():
    points = np.array([0.0, 1.0, 2.5]), np.array([1.0, 3.0, 2.0])
    axes = plots.fitted_curves(
        X, {"calm": X, "wild": 1e6 * X}, points, truth=X + 1, outliers=[1], names=("a", "b")
    )
    low, high = axes.get_ylim()
    assert -4 < low < -1 and 3 < high < 6
    assert axes.get_xlim()[0] < -2 and axes.get_xlim()[1] > 2.5
    drawn = {line.get_label(): np.array(line.get_data()) for line in axes.get_lines()}
    np.testing.assert_array_equal(drawn["wild"][1], 1e6 * X)
    np.testing.assert_array_equal(drawn["training rows"], points)
    assert names_of(axes) == ["truth", "calm", "wild", "training rows"]
    assert plots.fitted_curves(X, {"": X}, points).get_legend() is None


def test_losses_that_explode_have_a_logarithmic_axis_without_those_that_vanish():
    train, unseen = [4.0, 1.0, 1e-20], [5.0, 2.0, 1e6]
    axes = plots.validation(
        [1, 2, 3], train, unseen, [6.0, 1.0, 1.0], best=1, higher_is_better=False, log_scores=True
    )
    own, new = axes.get_lines()[:2]
    assert axes.get_yscale() == "log"
    np.testing.assert_array_equal(own.get_ydata(), [4.0, 1.0])
    np.testing.assert_array_equal(new.get_ydata(), unseen)
    band = axes.collections[0].get_paths()[0].vertices
    assert band[:, 1].min() > 0  # a band below 0 ends inside the picture


def test_ranges_of_models_that_misfit_are_shaded_and_named():
    kinds = ["under-fitted", "under-fitted", "balanced", "over-fitted", "unknown"]
    axes = plots.validation([1, 2, 3, 4, 5], [0] * 5, [0] * 5, [0] * 5, kinds=kinds, is_log=False)
    spans = [(p.get_x(), p.get_x() + p.get_width()) for p in axes.patches]
    assert spans == [(1.0, 2.5), (3.5, 4.5)]
    assert [text.get_text() for text in axes.texts] == ["under-fitted", "over-fitted"]


def test_parts_of_an_error_are_points_on_a_logarithmic_axis():
    parts = {
        "a": {"bias": 1.0, "variance": 100.0, "noise": 2.0, "error": 103.0},
        "b": {"bias": 10.0, "variance": -0.5, "noise": 2.0, "error": 11.5},
    }
    axes = plots.bias_variance(parts, log=True)
    drawn = {line.get_label(): np.array(line.get_data()) for line in axes.get_lines()}
    assert axes.get_xscale() == "log" and not axes.containers
    np.testing.assert_array_equal(drawn["variance"], [[100.0], [0]])
    np.testing.assert_array_equal(drawn["error"], [[103.0, 11.5], [0, 1]])
    assert len({line.get_marker() for line in axes.get_lines()}) == 4
