"""Pictures: numbers stand where they belong, marks are round, and nothing breaks on odd values."""

import itertools
import re
from dataclasses import replace

import pytest

from gapless.choosing.report.column_sections import Distribution
from gapless.choosing.report.phrases import (
    amount,
    counted_roles,
    quoted,
    shares,
    short,
    shortened,
    squeezed,
)
from gapless.choosing.report.pictures import (
    comparison,
    far_behind,
    learning,
    predicted,
    spark,
    validation,
)
from gapless.choosing.report.row_sections import Residuals
from gapless.choosing.report.sections import Learning, Model, Validation
from gapless.choosing.report.svg import Picture, Scale, across, ink, up


def test_scale_puts_the_ends_at_the_ends():
    scale = Scale(-1.0, 3.0, 50.0, 350.0)
    assert [scale(-1.0), scale(1.0), scale(3.0)] == [50.0, 200.0, 350.0]
    falling = Scale(3.5, -0.5, 200.0, 0.0)
    assert falling(-0.5) == 0.0 and falling(3.5) == 200.0


def test_logarithmic_scale_is_even_in_powers():
    scale = Scale(0.01, 100.0, 0.0, 400.0, True)
    assert [round(scale(10.0**k)) for k in (-2, -1, 0, 1, 2)] == [0, 100, 200, 300, 400]
    assert scale.ticks() == pytest.approx([0.01, 0.1, 1, 10, 100])


def test_logarithmic_scale_of_the_largest_and_smallest_numbers_is_finite():
    scale = across([1e-308, 1.0, 1.7e308], is_log=True)
    assert all(0 < x < float("inf") for x in (scale.low, scale.high, *scale.ticks()))
    assert scale(0.0) == scale.start, "zero stands where the axis begins"


@pytest.mark.parametrize("low", [-1e6, -3.2, 0.0, 0.4999, 12345.0])
@pytest.mark.parametrize("width", [1e-3, 0.7, 42.0, 9e7])
def test_marks_are_few_round_and_inside(low, width):
    scale = Scale(low, low + width, 0.0, 1.0)
    ticks = scale.ticks(5)
    assert 1 <= len(ticks) <= 6
    assert all(low - 1e-9 * width <= tick <= low + width * (1 + 1e-9) for tick in ticks)
    steps = {f"{b - a:.6g}" for a, b in itertools.pairwise(ticks)}
    assert len(steps) <= 1 and all(re.match(r"[125]", s.lstrip("0.")) for s in steps)


@pytest.mark.parametrize("values", [[], [None], [3.0], [0.0, 0.0], [1e300, -1e300]])
def test_scales_of_odd_values_are_usable(values):
    for scale in (across(values), up(values)):
        assert scale.high > scale.low and scale.ticks()


def test_unknown_numbers_are_left_out_of_lines():
    picture = Picture(across([1.0, 3.0]), up([0.0, 1.0]), "says")
    picture.line([1.0, 2.0, 3.0], [0.0, None, 1.0], "new")
    assert str(picture).count(",") == 2 and "None" not in str(picture)


def test_everything_in_a_picture_is_escaped():
    picture = Picture(across([0.0, 1.0]), up([0.0, 1.0]), 'a "b" <c>')
    picture.words("<b>&", 1.0, 2.0, full="<script>")
    assert "<script>" not in str(picture) and "&lt;b&gt;&amp;" in str(picture)
    assert 'aria-label="a &#34;b&#34; &lt;c&gt;"' in str(picture)
    assert str(ink("text", 'x"><y', x=1.0)) == '<text x="1.0">x&#34;&gt;&lt;y</text>'


def models(count):
    return [
        Model(
            family=f"model {k}",
            status="judged",
            reason="",
            is_chosen=k == 1,
            is_best=k == 0,
            rows=10,
            train=0.9,
            unseen=0.8 - 0.1 * k,
            standard_error=None if k == 2 else 0.01,
            behind=0.1 * k,
            behind_error=0.01,
            optimality="",
            generalization="",
            seconds=1.0,
            settings={},
        )
        for k in range(count)
    ]


def test_comparison_has_a_row_for_each_model_from_top_to_bottom():
    picture = str(comparison(models(3), "accuracy"))
    heights = [float(y) for y in re.findall(r'cy="([\d.]+)" r="4.0"', picture)]
    assert len(heights) == 3 and heights == sorted(heights)
    assert picture.count("strong") == 1


def test_one_value_and_words_as_values_can_be_drawn():
    own, new, errors = (0.7, None), (0.5, 0.6), (0.1, None)
    curve = Validation("kind", ("a", "b"), own, new, errors, 1, 0, "R²", True, False, "")
    assert "kind" in str(validation(curve))
    flat = Learning((5.0,), (1.0,), (1.0,), (None,), (5.0,), (1.0,), (0.0,), "R²", "", "")
    assert "<polyline" in str(learning(flat))
    rows = Residuals((1.0, 2.0), (1.5, None), (None, 1.0), (2.0, 3.0), 2, 2, None, None, "")
    assert str(predicted(rows, "y")).count("<circle") == 1


def test_a_model_far_behind_does_not_hide_how_the_others_differ(two_classes):
    one = two_classes.models[0]
    made = [replace(one, unseen=x, train=x, is_chosen=x == 0.95) for x in (0.96, 0.95, 0.94, 0.1)]
    assert far_behind(made) is made[-1]
    assert far_behind([*made[:3], replace(made[-1], unseen=0.93)]) is None
    assert str(comparison(made, "accuracy")).count('class="dot own"') == 3


def test_levels_are_told_with_their_shares():
    found = spark(Distribution("levels", ("<a>", "b", "c"), (0.747, 0.25, 0.003)))
    assert "&lt;a&gt; (75 %), b (25 %), c (below 1 %)" in found
    assert spark(Distribution("", (), ())) == ""


def test_squeezed_names_keep_what_tells_them_apart():
    names = [squeezed(f"a column of many levels={level}", 20) for level in ("low", "high")]
    assert names == ["a column o…evels=low", "a column o…vels=high"]
    assert squeezed("short\nname", 20) == "short name"


def test_numbers_and_names_in_words():
    assert [short(x) for x in (0, 0.25, 1500, 12_000, 2.5e6, -3e9)] == [
        *("0", "0.25", "1500", "12k", "2.5M", "−3G")
    ]
    assert [amount(x) for x in (0, 3.14159, 1234.5, 0.00123, 1e-9)] == [
        *("0", "3.14", "1,234", "0.00123", "1e-09")
    ]
    roles = {"category": 2, "target": 1, "number": 1, "dropped": 2, "id": 1}
    assert counted_roles(roles) == "2 categories, 1 number, 1 target, 2 dropped, 1 id excluded"
    assert shares(0.9, 0.85, 0.94) == ("90.0 %", "85.0 %", "94.0 %")
    # One row of 20,000 was wrong.
    assert shares(0.99995, 0.9998, 1.0) == ("99.995 %", "99.980 %", "100.000 %")
    assert shortened("a\nb" + "c" * 50, 10) == "a bcccccc…"
    assert quoted("a\n'b'") == repr("a\n'b'")
