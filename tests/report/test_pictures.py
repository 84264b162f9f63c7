"""Pictures of a report: drawn by `plots`, in the page's colours, whatever the numbers."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import matplotlib
import pytest

from gapless import plots
from gapless.choosing.report import figures, to_html
from gapless.choosing.report.figures import comparison, far_behind, learning, predicted, validation
from gapless.choosing.report.phrases import (
    amount,
    counted_roles,
    quoted,
    shares,
    shortened,
    squeezed,
)
from gapless.choosing.report.sections import (
    Coefficient,
    Dependence,
    Distribution,
    Importance,
    Learning,
    Line,
    Model,
    Residuals,
    Validation,
)

EXTREMES = [
    *((1e300, -1e300), (1.7e308, -1.7e308), (1e-308, 1e308), (5e-324, 1e-320)),
    *((0.0, 0.0), (1e16, 1e16 + 2), (None, None)),
]
HOSTILE = [
    "$a_b$ <script>alert(1)</script>",
    "\\frac{",
    "$",
    "\x00\x1b[0m",
    "日本語の列",
    "עברית",
    "&\"'",
]


def parts_of(picture, tag):
    """The elements of a picture of one kind; it must be well-formed."""
    return list(ElementTree.fromstring(str(picture)).iter(tag))


def texts_of(picture):
    return ["".join(one.itertext()) for one in parts_of(picture, "text")]


# ---- any picture as a part of a page -------------------------------------------------------------


def test_a_picture_has_the_colours_of_the_page_and_nothing_that_could_clash():
    text = plots.inline_svg(
        lambda axes: plots.learning([1, 9], [1, 1], [0, 1], [0, 0], axes=axes), title="t"
    )
    colours = set(re.findall(r"#[0-9a-f]{6}", text)) - set(re.findall(r"var\(--\w+,(#\w+)\)", text))
    assert colours == set(), "colours that do not follow the page's light and dark mode"
    assert "var(--accent," in text and "var(--faint," in text
    assert not re.search(
        r"\b(id|href|clip-path|font-family)=|<metadata|<defs|xlink|matplotlib", text
    )
    (root,) = parts_of(text, "svg")
    assert root.get("role") == "img" and root.find("title").text == "t"


def test_the_same_picture_has_the_same_bytes_and_leaves_settings_alone(two_classes):
    before = dict(matplotlib.rcParams)
    assert to_html(two_classes) == to_html(two_classes)
    assert dict(matplotlib.rcParams) == before


def test_names_are_drawn_as_they_are_and_escaped():
    picture = str(figures.importances([Importance(name, 1.0, 0.1) for name in HOSTILE], "R²"))
    assert "<script" not in picture
    shown = texts_of(picture)
    for name in ("\\frac{", "$", "日本語の列", "עברית", "&\"'"):
        assert name in shown, "no mathematics, no missing letters"
    assert any(text.startswith("$a_b$ <scr") for text in shown)
    titles = [one.text for one in parts_of(picture, "title")]
    assert HOSTILE[0] in titles, "a short name tells its full one"


def test_lines_that_are_interrupted_stay_apart():
    text = plots.inline_svg(lambda axes: axes.plot(range(5), [1, 2, None, 1, 2]), title="t")
    assert any(one.get("d").count("M") == 2 for one in parts_of(text, "path"))


def test_what_is_no_line_dot_bar_or_word_is_refused():
    with pytest.raises(ValueError, match="lines, dots, bars and words"):
        plots.inline_svg(lambda axes: axes.imshow([[0, 1]]), title="t")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("ends", EXTREMES, ids=str)
def test_extreme_and_unknown_numbers_can_be_drawn(ends):
    two = (0.5, 0.6)
    for is_log in (False, True):
        for values, scores in ((ends, two), (two, ends)):
            known = [value if value is not None else 1.0 for value in values]
            curve = Validation(
                "C", tuple(known), scores, scores, (0.1, None), 1, 0, "R²", True, is_log, ""
            )
            assert parts_of(validation(curve), "text")
    of_rows = Residuals(ends, ends[::-1], (None, 1.0), (2.0, 3.0), 2, 2, None, None, "")
    assert parts_of(predicted(of_rows, "y"), "text")
    assert parts_of(figures.residuals(of_rows, "y"), "text")
    grown = Learning(
        (5.0, 50.0), ends, ends, (None, 1.0), (50.0, 99.0), ends, (0.0, 1e300), "R²", "", ""
    )
    assert parts_of(learning(grown), "text")
    change = Dependence("x", two, (Line("a", ends), Line("b", two)), "mean")
    assert parts_of(figures.dependence(change), "text")


@pytest.mark.filterwarnings("error")
def test_empty_sections_have_empty_pictures():
    none = Learning(*[()] * 7, "R²", "", "")
    rows = Residuals((), (), (), (), 0, 0, None, None, "")
    for picture in (
        *(comparison([], "R²"), figures.importances([], "R²"), figures.coefficients([])),
        *(learning(none), predicted(rows, "y"), figures.residuals(rows, "y")),
    ):
        assert parts_of(picture, "svg") and not parts_of(picture, "circle")


# ---- the pictures of sections --------------------------------------------------------------------


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
    picture = comparison(models(3), "accuracy")
    heights = [float(one.get("cy")) for one in parts_of(picture, "circle") if one.get("r") == "4"]
    # The chosen one is drawn once more, with an outline.
    assert len(heights) == 4 and heights[:3] == sorted(heights[:3]) and heights[3] == heights[1]
    assert [text for text in texts_of(picture) if "model" in text] == [
        "model 0",
        "model 1",
        "model 2",
    ]
    worse = comparison(models(3)[::-1], "rmse", higher_is_better=False)
    assert [text for text in texts_of(worse) if "model" in text] == [
        "model 2",
        "model 1",
        "model 0",
    ]


def test_one_value_and_words_as_values_can_be_drawn():
    own, new, errors = (0.7, None), (0.5, 0.6), (0.1, None)
    curve = Validation("kind", ("a", "b"), own, new, errors, 1, 0, "R²", True, False, "")
    assert {"kind", "a", "b"} <= set(texts_of(validation(curve)))
    flat = Learning((5.0,), (1.0,), (1.0,), (None,), (5.0,), (1.0,), (0.0,), "R²", "", "")
    assert len(parts_of(learning(flat), "circle")) == 2
    rows = Residuals((1.0, 2.0), (1.5, None), (None, 1.0), (2.0, 3.0), 2, 2, None, None, "")
    assert len(parts_of(predicted(rows, "y"), "circle")) == 1


def test_a_model_far_behind_does_not_hide_how_the_others_differ(two_classes):
    one = two_classes.models[0]
    made = [replace(one, unseen=x, train=x, is_chosen=x == 0.95) for x in (0.96, 0.95, 0.94, 0.1)]
    assert far_behind(made) is made[-1]
    assert far_behind([*made[:3], replace(made[-1], unseen=0.93)]) is None
    radii = [one.get("r") for one in parts_of(comparison(made, "accuracy"), "circle")]
    assert radii.count("3") == 3, "a dot for the training score of each model that is drawn"


def test_coefficients_of_several_classes_are_named_with_them():
    found = [Coefficient("x", 1.0, "a"), Coefficient("x", -1.0, "b")]
    assert {"a: x", "b: x"} <= set(texts_of(figures.coefficients(found)))
    assert "x" in texts_of(figures.coefficients(found[:1]))


def test_levels_are_told_with_their_shares(many_classes):
    levels = Distribution("levels", ("<a>", "b", "c"), (0.747, 0.25, 0.003))
    column = replace(many_classes.data.columns[0], distribution=levels)
    page = to_html(replace(many_classes, data=replace(many_classes.data, columns=(column,))))
    assert "<title>&lt;a&gt; (75 %), b (25 %), c (below 1 %)</title>" in page
    assert page.count('class="spark levels"') == 1
    nothing = replace(column, distribution=Distribution("", (), ()))
    page = to_html(replace(many_classes, data=replace(many_classes.data, columns=(nothing,))))
    assert 'class="spark' not in page


def test_squeezed_names_keep_what_tells_them_apart():
    names = [squeezed(f"a column of many levels={level}", 20) for level in ("low", "high")]
    assert names == ["a column o…evels=low", "a column o…vels=high"]
    assert squeezed("short\nname", 20) == "short name"


def test_numbers_and_names_in_words():
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
