"""The picture of a search: the numbers that are drawn."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import QuadMesh

from gapless.plots import search


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_cells_of_a_heat_map_have_the_score_of_the_nearest_model():
    C, gamma = np.array([1.0, 1.0, 100.0, 100.0]), np.array([0.1, 10.0, 0.1, 10.0])
    axes = search({"C": C, "gamma": gamma}, [0.1, 0.2, 0.3, 0.4], metric="accuracy", chosen=3)
    [mesh] = [part for part in axes.collections if isinstance(part, QuadMesh)]
    drawn = np.asarray(mesh.get_array())
    corners = [drawn[0, 0], drawn[-1, 0], drawn[0, -1], drawn[-1, -1]]
    np.testing.assert_array_equal(corners, [0.1, 0.2, 0.3, 0.4])
    half = len(drawn) // 2
    assert len(np.unique(drawn[:half, :half])) == 1  # the border is in the middle of the logarithms
    assert axes.get_xscale() == axes.get_yscale() == "log"
    assert axes.figure.axes[1].get_ylabel() == "accuracy on unseen rows"


def test_the_chosen_model_is_marked_and_the_last_of_equal_ones_drawn():
    values = {"C": [1.0, 10.0, 10.0, 1.0], "gamma": [0.1, 0.1, 1.0, 0.1]}
    axes = search(values, [0.5, 0.6, 0.7, 0.9], chosen=2)
    dots, ring = axes.get_lines()
    assert len(dots.get_xdata()) == 3
    assert (*ring.get_xdata(), *ring.get_ydata()) == (10.0, 1.0)
    [mesh] = axes.collections[:1]
    assert np.asarray(mesh.get_array())[0, 0] == 0.9


def test_two_parameters_of_which_one_has_one_value_are_a_line():
    axes = search({"C": [1.0, 1.0], "gamma": [1.0, 0.1]}, [0.5, 0.6], chosen=1)
    line, disk = axes.get_lines()
    np.testing.assert_array_equal(line.get_xdata(), [0.1, 1.0])
    np.testing.assert_array_equal(line.get_ydata(), [0.6, 0.5])
    assert axes.get_xlabel() == "gamma" and disk.get_xdata() == [0.1]
