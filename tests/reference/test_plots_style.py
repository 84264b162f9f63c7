"""The look of pictures: few, round and short numbers along their axes, and no screen."""

import itertools
import re
import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from gapless import plots
from gapless.plots.style import CLASSES, of_class


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def marks_of(axis):
    """The numbers along an axis, within its limits, and how they are written."""
    low, high = sorted(axis.get_view_interval())
    inside = [x for x in axis.get_majorticklocs() if low <= x <= high]
    return inside, [axis.get_major_formatter()(x) for x in inside]


@pytest.mark.parametrize("low", [-1e6, -3.2, 0.0, 0.4999, 12345.0])
@pytest.mark.parametrize("width", [1e-3, 0.7, 42.0, 9e7])
def test_marks_are_few_and_round(low, width):
    axes = plots.residuals([low, low + width], [low, low + width])
    marks, _ = marks_of(axes.xaxis)
    assert 1 <= len(marks) <= 7
    steps = {f"{b - a:.3g}" for a, b in itertools.pairwise(marks)}
    assert len(steps) <= 1 and all(re.match(r"[125]", step.lstrip("0.")) for step in steps)


def test_logarithmic_axes_have_powers_of_ten_and_more_marks_where_these_are_few():
    def marks(values):
        return marks_of(plots.validation(values, values, values, values, is_log=True).xaxis)[0]

    assert marks([0.01, 100.0]) == pytest.approx([0.01, 0.1, 1, 10, 100])
    assert marks([40.0, 800.0]) == pytest.approx([50, 100, 200, 500])
    assert len(marks([1e-200, 1e200])) <= 7


def test_zero_stands_where_a_logarithmic_axis_begins():
    axes = plots.validation([0.0, 1.0, 10.0], [1, 2, 3], [1, 2, 3], [0, 0, 0], is_log=True)
    assert axes.get_lines()[1].get_xdata()[0] == 1.0


def test_numbers_are_written_in_few_characters():
    def written(value):
        axes = plots.residuals([value - abs(value) - 1, value + abs(value) + 1], [0, 0])
        return axes.xaxis.get_major_formatter()(value)

    values = (0, 0.25, 1500, 12_000, 2.5e6, -3e9)
    assert [written(x) for x in values] == ["0", "0.25", "1500", "12k", "2.5M", "−3G"]


def test_numbers_are_drawn_against_the_truth_within_the_picture():
    axes = plots.predicted(
        [1.0, 2.0], [1.5, 3.0], lower=[-99.0, 1.0], upper=[2.0, 99.0], target="y"
    )
    assert axes.get_xlim() == axes.get_ylim()
    low, high = axes.get_ylim()
    ends = np.array(axes.collections[0].get_segments())[:, :, 1]
    assert ends.min() == low and ends.max() == high
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("predicted y", "true y")
    _, dots = plots.residuals([1.0, 2.0], [1.5, 3.0]).get_lines()
    np.testing.assert_array_equal(dots.get_ydata(), [0.5, 1.0])


def test_losses_are_worse_above_the_best():
    of = {"best": 1, "chosen": 0, "is_log": False}
    losses = plots.validation([1, 2], [0, 0], [3.0, 2.0], [0.5, 0.5], higher_is_better=False, **of)
    scores = plots.validation([1, 2], [0, 0], [3.0, 2.0], [0.5, 0.5], **of)
    assert losses.get_lines()[2].get_ydata()[0] == 2.5
    assert scores.get_lines()[2].get_ydata()[0] == 1.5


def test_several_curves_share_axes_and_their_diagonal():
    axes = Figure().add_subplot()
    for style in range(5):
        plots.roc([0.0, 1.0], [0.0, 1.0], style=style, of="a class", axes=axes)
    assert len(axes.get_lines()) == 6
    looks = {(line.get_color(), str(line.get_linestyle())) for line in axes.get_lines()[1:]}
    assert len(looks) >= 4


def test_drawing_on_given_axes_needs_no_screen():
    code = (
        "import sys; from matplotlib.figure import Figure; from gapless import plots\n"
        "plots.coefficients(['a'], [1.0], axes=Figure().add_subplot())\n"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr


def test_no_two_marks_of_an_axis_read_alike():
    axes = plots.validation(
        [2010, 2011, 2012], [100001.0, 100002, 100003], [100001.0, 100002, 100002.5], [0.1] * 3
    )
    axes.figure.canvas.draw()
    for labels in (axes.get_xticklabels(), axes.get_yticklabels()):
        words = [label.get_text() for label in labels]
        assert len(set(words)) == len(words) > 1


def test_names_are_not_read_as_formulas(tmp_path):
    axes = plots.partial_dependence(
        ["$\\frac{", "b"], np.array([[1.0], [2.0]]), column="$a_b$ $\\q$", answer="y"
    )
    axes.figure.savefig(tmp_path / "picture.png")
    assert axes.get_xlabel() == "$a_b$ $\\q$"


# How colours look to eyes without one kind of cone (Machado, Oliveira and Fernandes 2009, A
# physiologically-based model for simulation of color vision deficiency).
EYES = {
    "all": np.eye(3),
    "no red": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "no green": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "no blue": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}
TO_XYZ = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]


def seen(colour, eye):
    """Lightness and two axes of hue (CIE L*a*b*) of a colour, as an eye sees it."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(eye @ linear, 0, 1) / [0.9505, 1.0, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("eye", EYES)
def test_classes_have_colours_that_all_eyes_tell_apart(eye):
    looks = [seen(colour, np.asarray(EYES[eye])) for colour in CLASSES]
    # 2.3 is the least difference that is noticed; matplotlib's own colours come down to 4.6.
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(looks, 2)) > 14


def test_classes_beyond_the_last_colour_have_other_marks():
    looks = [tuple(of_class(k).values()) for k in range(3 * len(CLASSES))]
    assert len({*looks}) == len(looks)
    assert len({mark for _, mark in looks[: len(CLASSES)]}) == len(CLASSES)
