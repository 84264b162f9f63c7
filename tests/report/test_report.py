"""The report is plain data; text, JSON and HTML only render it, and escape what they are given."""

import html.parser
import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from made_choices import NASTY, made_choice
from sklearn.metrics import roc_auc_score

import gapless
from gapless.choosing.report import figures, from_json, summarize, to_html, to_json, to_text
from gapless.data import Finding, load_builtin, table_of

REPORTS = ["two_classes", "many_classes", "of_numbers", "nasty"]
# A section with all that belongs to it.
VALIDATION = {
    **{"parameter": "C", "values": [1.0, 2.0], "train": [0.7, None], "unseen": [0.5, 0.6]},
    "standard_errors": [0.1, 0.1],
    **{"best": 1, "chosen": 0, "metric": "accuracy", "higher_is_better": True, "is_log": True},
    "words": "C = 1 is taken.",
}
# Elements that have no end.
VOID = {"meta", "br", "img", "hr", "input", "link"}


@pytest.fixture(params=REPORTS)
def report(request):
    return request.getfixturevalue(request.param)


class Page(html.parser.HTMLParser):
    """Reads a page: elements that are open, all that occur, and the text that is shown."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.attributes, self.words = [], set(), [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "title"} & set(self.open):
            self.words.append(data)


# ---- the same data in three forms ----------------------------------------------------------------


def test_json_round_trip_is_exact(report):
    text = to_json(report)
    assert from_json(text) == report
    assert json.loads(text)["answer"] == report.answer


def test_page_is_well_formed_without_script_and_small(report):
    page = to_html(report)
    found = Page(page)
    assert found.open == []
    assert not found.tags & {"script", "img", "iframe", "link", "object"}
    assert not any(name.startswith("on") or name in ("src", "href") for name, _ in found.attributes)
    assert len(page.encode()) < 300_000
    assert report.answer in "".join(found.words).replace("\u00a0", " ")


def test_first_line_of_text_is_the_answer_then_gaps_and_advice(report):
    lines = to_text(report).split("\n")
    assert lines[0] == report.answer and "\n" not in report.answer
    assert lines[1].startswith("optimality: ")
    text = to_text(report)
    assert text.index("unseen rows: ") < text.index("next: ") < text.index("* tried model")
    assert "giant model" in text and "it would need about 300 s" in text
    assert text.rstrip().endswith("print('the same model')")


def test_text_fits_a_terminal_of_80_columns(two_classes):
    skipped = replace(two_classes.models[-1], reason="a long reason\nof two lines " * 8)
    text = to_text(replace(two_classes, models=(*two_classes.models[:-1], skipped)))
    _, *lines = text.partition("Python code")[0].split("\n")
    assert max(map(len, lines)) <= 80
    table = text[text.index("  train") :].split("\n\n")[0]
    assert table.count("\n  giant model") == 1 and "of two lines" in table


def test_models_that_saw_fewer_rows_are_marked_and_say_why(of_numbers):
    some, *others = of_numbers.models
    why = "judged on 100 of 283 rows; more rows could not have made it the best"
    few = [replace(some, family=name, is_chosen=False, reason=why) for name in ("lasso", "forest")]
    made = replace(of_numbers, models=(some, *few, *others))
    lines = to_text(made).split("\n")
    assert "time in seconds; * = chosen, ~ = see below" in " ".join(lines)
    assert [line[:8] for line in lines if line[:2] == "~ "] == ["~ lasso ", "~ forest", "~ judged"]
    assert f"~ {why}: lasso," in lines
    assert "lasso: " + why in "".join(Page(to_html(made)).words)
    assert "~" not in to_text(of_numbers).partition("Python code")[0]


def test_scores_of_a_table_have_the_decimals_of_their_errors(of_numbers):
    some = replace(of_numbers.models[0], standard_error=0.0042)
    small = replace(some, family="small", train=-4.8e-05, unseen=1.0, standard_error=4e-5)
    text = to_text(replace(of_numbers, models=(some, replace(some, family="b"), small)))
    assert ["small", "0.0000", "1.0000", "±", "0.0000"] in [
        line.split()[:5] for line in text.split("\n")
    ]


def test_test_score_stands_beside_that_without_columns_row_by_row(two_classes):
    ahead = replace(two_classes.ahead, value=0.25, low=0.13, high=0.37)
    text = " ".join(to_text(replace(two_classes, ahead=ahead)).split())
    assert "0.25 worse (0.13 to 0.37, compared row by row)" in text


def test_page_names_all_that_a_reader_needs(report):
    page = "".join(Page(to_html(report)).words)
    for heading in (
        "How certain this is",
        "The models compared",
        "The two gaps of this model",
        "Would more data help?",
        "What was tuned",
        "On the test rows",
        "What the model uses",
        "The data",
        "What to do next",
        "How to reproduce this model",
    ):
        assert heading in page
    assert "it would need about 300 s" in page
    assert f"Seed {report.seed}" in page and gapless.__version__ in page


# ---- sections ------------------------------------------------------------------------------------


def test_two_classes_have_curves_calibration_and_a_tuned_parameter(two_classes):
    (roc,), (by_recall,) = two_classes.roc, two_classes.precision_recall
    assert roc.of == by_recall.of == "malignant"
    assert roc.area.value > 0.9
    assert roc.x[0] == 0.0 and roc.y[-1] == 1.0
    assert by_recall.chance == pytest.approx(0.37, abs=0.1)
    assert np.sum(two_classes.confusion.counts) == two_classes.test_rows
    assert sum(two_classes.calibration.sizes) == two_classes.test_rows
    tuned = two_classes.validation
    assert tuned.parameter == "C" and not tuned.higher_is_better
    assert tuned.unseen[tuned.best] == min(tuned.unseen)
    assert {one.of for one in two_classes.uses.coefficients} == {"malignant"}
    assert two_classes.left_out == {}


def test_trees_have_rules_and_classes_a_matrix(many_classes):
    assert many_classes.uses.rule_count == len(many_classes.uses.rules)
    assert any("petal" in rule for rule in many_classes.uses.rules)
    assert many_classes.confusion.classes == ("setosa", "versicolor", "virginica")
    assert [one.of for one in many_classes.roc] == list(many_classes.confusion.classes)
    assert "Each curve shows one class against all others." in to_html(many_classes)
    assert len(many_classes.uses.dependences[0].lines) == 3


def test_losses_are_told_in_their_own_sense(of_numbers):
    assert not of_numbers.higher_is_better
    assert min(of_numbers.learning.unseen) > 0
    assert of_numbers.learning.unseen[-1] < of_numbers.learning.unseen[0]
    assert "-" not in of_numbers.learning.advice.replace("−", "-")


def test_residuals_have_intervals_and_their_coverage(of_numbers):
    found = of_numbers.residuals
    assert len(found.true) == found.shown == found.rows == of_numbers.test_rows
    inside = [a <= y <= b for a, y, b in zip(found.lower, found.true, found.upper)]
    assert found.coverage.value == pytest.approx(np.mean(inside))
    assert found.level == 0.9


def test_importances_are_sorted_and_the_first_are_followed(of_numbers):
    values = [one.value for one in of_numbers.uses.importances]
    assert values == sorted(values, reverse=True)
    first = [one.name for one in of_numbers.uses.importances[:3]]
    assert [one.column for one in of_numbers.uses.dependences] == first


def test_names_are_escaped_and_shortened_with_the_full_name_in_a_title(nasty):
    page = to_html(nasty)
    assert "<script" not in page and "<img" not in page and "</title>a" not in page
    assert page.count("</title>") - page.count("<title>") == 0
    titles = [value for name, value in Page(page).attributes if name == "title"]
    assert NASTY in titles
    assert not any(NASTY in words for words in Page(page).words)


def test_dates_and_levels_have_distributions(nasty):
    facts = {one.name: one for one in nasty.data.columns}
    assert facts["when"].distribution.labels == ("2024-01-01", "2024-04-29")
    assert facts["level"].distribution.kind == "levels"
    assert sum(facts[NASTY].distribution.shares) == pytest.approx(1.0)


# ---- what is left out, and said ------------------------------------------------------------------


def test_without_time_the_dear_parts_are_left_out_and_named():
    table = load_builtin("iris")
    choice = made_choice(table, "species", gapless.GaussianNB())
    report = summarize(choice, table, time_limit=0.0)
    assert report.learning is None and report.uses.importances == ()
    assert set(report.left_out) >= {"learning", "importances", "dependences"}
    page = to_html(report)
    assert "there was no time to fit the model to parts of the rows" in page
    assert any("is unknown without a learning curve" in text for text in report.advice)


@pytest.mark.parametrize(("table", "target"), [("iris", "species"), ("breast_cancer", "diagnosis")])
def test_models_without_probabilities_have_curves_by_how_sure_they_are(table, target):
    table = load_builtin(table)
    choice = made_choice(table, target, gapless.LinearSVC())
    choice = replace(choice, answers=replace(choice.answers, probabilities=None))
    report = summarize(choice, table, time_limit=0.0)
    scores = choice.model.pipeline_.decision_function(table.frame[choice.split.test])
    said = scores if scores.ndim == 1 else scores[:, 0]
    area = roc_auc_score(choice.answers.y == report.roc[0].of, said)
    assert report.roc[0].area.value == pytest.approx(area)
    assert report.calibration is None
    assert "without probabilities" in report.left_out["calibration"]
    assert "without probabilities" in to_html(report)


def test_hundred_classes_are_told_by_their_worst_pairs():
    rng = np.random.default_rng(0)
    label = np.repeat(np.arange(100), 12)
    frame = pl.DataFrame({"x": label + rng.normal(size=1200), "y": [f"c{k:02}" for k in label]})
    table = table_of(frame)
    report = summarize(made_choice(table, "y", gapless.GaussianNB()), table, time_limit=0.0)
    assert report.confusion.classes == () and len(report.confusion.mistakes) == 8
    rows = [one.rows for one in report.confusion.mistakes]
    assert rows == sorted(rows, reverse=True)
    page = to_html(report)
    assert report.confusion.mistakes[0].true in page
    assert len(report.roc) == 5 and "of 100 classes, the 5 hardest to tell apart" in page


def test_wide_tables_show_what_matters_and_say_so():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 80))
    frame = pl.DataFrame(X, schema=[f"x{k}" for k in range(80)])
    table = table_of(frame.with_columns(y=pl.Series(3 * X[:, 70] + rng.normal(size=150))))
    choice = made_choice(table, "y", gapless.Ridge(alpha=30.0))
    report = summarize(choice, table)
    assert report.uses.importances[0].name == "x70"
    assert report.uses.tried == 60 and report.uses.features == 80
    assert report.data.columns[1].name == "x70" and len(report.data.columns) == 40
    page = to_html(report)
    assert "40 of 81 columns are shown" in page and "Of 80 columns, only the 60" in page


def test_texts_are_reported():
    words = ["good fine great", "bad poor awful"]
    texts = [f"{words[k % 2]} number {k} of many" for k in range(80)]
    table = table_of({"text": texts, "y": ["yes" if k % 2 else "no" for k in range(80)]})
    choice = made_choice(table, "y", gapless.LogisticRegression(C=1.0))
    report = summarize(choice, table)
    assert report.data.columns[1].role == "text"
    assert {one.name for one in report.uses.coefficients[:6]} >= {"good", "bad"}
    assert report.uses.dependences == ()
    assert "words" in to_html(report)


def test_page_is_under_two_megabytes_whatever_the_table_holds():
    rows, long = 60, "very long " * 500
    levels = {f"{k} {long}": [f"{j % 10} {k} {long}" for j in range(rows)] for k in range(45)}
    table = table_of(pl.DataFrame(levels | {"y": [j + 0.5 for j in range(rows)]}))
    choice = made_choice(table, "y", gapless.DecisionTreeRegressor(max_depth=3), "table")
    many = tuple(Finding("D202", "note", "title", long) for _ in range(5000))
    choice = replace(choice, findings=many, notes=tuple(f"{k} {long}" for k in range(5000)))
    report = summarize(choice, table, time_limit=2.0)
    page = to_html(report)
    assert len(page.encode()) < 2_000_000
    assert "the first 50 of 5,000 findings" in page
    assert to_text(report).count("\n") < 1000


# ---- files of unknown origin ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "damage",
    [
        lambda plain: plain | {"format": 99},
        lambda plain: plain | {"answer": 3},
        lambda plain: plain | {"answer": None},
        lambda plain: plain | {"seconds": "1"},
        lambda plain: plain | {"seed": True},
        lambda plain: plain | {"gaps": "ab"},
        lambda plain: plain | {"unknown": 1},
        lambda plain: {name: plain[name] for name in plain if name != "uses"},
        lambda plain: plain | {"test": {**plain["test"], "value": [1]}},
        lambda plain: plain | {"seconds": 10**400},
        lambda plain: plain | {"gaps": ["one"]},
        lambda plain: plain | {"versions": {}},
        lambda plain: plain | {"models": []},
        lambda plain: plain | {"confusion": {**plain["confusion"], "counts": [[1]]}},
        lambda plain: plain | {"validation": VALIDATION | {"best": 2}},
        lambda plain: plain | {"validation": VALIDATION | {"chosen": -1}},
        lambda plain: [plain],
    ],
)
def test_damaged_json_is_an_error_that_says_where(damage, many_classes):
    plain = json.loads(to_json(many_classes))
    with pytest.raises(ValueError, match="report"):
        from_json(json.dumps(damage(plain)))


def test_half_a_letter_does_not_keep_a_page_from_being_written(many_classes):
    plain = json.loads(to_json(many_classes)) | {"answer": "half \ud800", "validation": VALIDATION}
    assert "half ?" in to_html(from_json(json.dumps(plain))).encode("utf-8").decode()


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"format": 2}', "NaN"])
def test_what_is_no_report_is_an_error(text):
    with pytest.raises(ValueError, match="report"):
        from_json(text)


def test_infinite_numbers_are_refused(many_classes):
    text = to_json(many_classes).replace(f'"seconds": {many_classes.seconds}', '"seconds": 1e999')
    with pytest.raises(ValueError, match="seconds"):
        from_json(text)


def test_errors_of_rounding_are_not_scores():
    table = load_builtin("diabetes")
    choice = made_choice(table, "progression", gapless.Ridge())
    tiny = tuple(replace(one, train=-4.4e-17) for one in choice.candidates)
    report = summarize(replace(choice, candidates=tiny), table, time_limit=0.0)
    assert {one.train for one in report.models if one.status == "judged"} == {0.0}
    assert "4.4e" not in to_html(report) and "4.4e" not in to_text(report)


def test_columns_that_change_nothing_have_no_picture():
    table = load_builtin("diabetes")
    table = table_of(table.frame.with_columns(noise=pl.Series(range(table.frame.height)) % 7))
    choice = made_choice(table, "progression", gapless.Lasso(alpha=25.0))
    uses = summarize(choice, table).uses
    lost = {one.name: one.value for one in uses.importances}
    drawn = [one.column for one in uses.dependences]
    assert lost["noise"] == 0 and drawn and all(lost[name] != 0 for name in drawn)


def test_the_line_of_a_standard_error_stands_only_where_one_is_known(of_numbers):
    known = of_numbers.validation
    unknown = replace(known, standard_errors=(None,) * len(known.values))
    words = "one standard error worse than the best"
    for curve, is_known in ((known, True), (unknown, False)):
        page = to_html(replace(of_numbers, validation=curve))
        assert (words in page) == is_known
        assert ("stroke-dasharray" in str(figures.validation(curve))) == is_known
