"""Parts of a report against what is found another way, and what is said of them."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from made_choices import made_choice
from sklearn.metrics import average_precision_score, roc_auc_score

import gapless
from gapless.choosing.choice import Answers
from gapless.choosing.fitted_models import Tuning
from gapless.choosing.report import summarize
from gapless.choosing.report.advice import advice_of, curve_in_words
from gapless.choosing.report.curves import learning_of, validation_of
from gapless.choosing.report.phrases import distinguishable
from gapless.choosing.report.sections import Validation
from gapless.choosing.report.table_facts import ceiling_of, data_of
from gapless.choosing.report.tested import calibration_of, curves_of
from gapless.choosing.report.words import answer, certainty, why_chosen
from gapless.data import Finding, TableFeatures, load_builtin, table_of
from gapless.evaluation import LearningCurve


@pytest.fixture(scope="module")
def ridge():
    """A choice of a model that tunes its strength, and its table."""
    table = load_builtin("diabetes")
    return made_choice(table, "progression", gapless.Ridge(alpha="loo")), table


# ---- reasons for single rows ---------------------------------------------------------------------


def added_up(row):
    """The average, contributions and their sum as the page shows them, as numbers."""
    numbers = [row.average, *(one.words for one in row.reasons), row.rest or "0", row.answer]
    average, *parts, answer = (float(text.replace("−", "-")) for text in numbers)
    return average + sum(parts), answer


def test_typical_and_wrong_rows_are_explained(ridge):
    choice, table = ridge
    found = summarize(choice, table, time_limit=20).reasons
    rows, y, said = choice.split.test + 1, choice.answers.y, choice.answers.predicted
    worst = rows[np.argsort(-np.abs(y - said), kind="stable")[:3]]
    assert [one.row for one in found.wrong] == worst.tolist()
    places = [int(np.flatnonzero(rows == one.row)[0]) for one in found.typical]
    shares = np.argsort(np.argsort(said))[places] / len(said)
    assert shares == pytest.approx([1 / 6, 1 / 2, 5 / 6], abs=0.02)
    for one, place in zip((*found.typical, *found.wrong), (*places, *[None] * 3)):
        total, answer = added_up(one)
        assert total == pytest.approx(answer, abs=1)
        assert place is None or float(one.predicted) == pytest.approx(said[place], abs=0.1)
        sizes = [abs(reason.value) for reason in one.reasons]
        assert sizes == sorted(sizes, reverse=True) and len(sizes) == 5 and one.others == 5


@pytest.mark.parametrize("model", [gapless.GaussianNB(), gapless.LogisticRegression()])
def test_reasons_speak_for_the_predicted_one_of_two_classes(model):
    rng = np.random.default_rng(0)
    x, noise = rng.normal(size=(2, 200))
    y = np.where(x + 0.5 * noise > 0, "yes", "no")
    table = table_of(pl.DataFrame({"x": x, "noise": rng.normal(size=200), "y": y}))
    choice = made_choice(table, "y", model)
    found = summarize(choice, table, time_limit=20).reasons
    assert {one.predicted for one in found.typical} == {"yes", "no"}
    for one in found.typical:
        assert one.true == one.predicted == one.of
        assert one.reasons[0].what.startswith("x ") and one.reasons[0].value > 0
    for one in (*found.typical, *found.wrong):
        total, answer = added_up(one)
        assert total == pytest.approx(answer, rel=0.02, abs=0.02)
    assert all(one.true != one.predicted for one in found.wrong) and found.wrong


def test_rows_without_time_are_not_explained(ridge):
    choice, table = ridge
    report = summarize(choice, table, time_limit=0.0)
    assert report.reasons is None
    assert report.left_out["reasons"] == "there was no time to explain single rows"


# ---- what no model can do better -----------------------------------------------------------------


def test_ceiling_is_the_share_of_the_most_frequent_class_among_equal_rows():
    # Of the rows with x = 0 three of four are "a", those with x = 1 are all "b", x = 2 is a tie.
    frame = pl.DataFrame({"x": [0, 0, 0, 0, 1, 1, 2, 2] * 8, "y": list("aaabbbab") * 8})
    table = table_of(frame)
    choice = made_choice(table, "y", gapless.GaussianNB())
    train = frame[choice.split.train]
    groups = train.partition_by("x")
    right = sum(max(part["y"].value_counts()["count"]) for part in groups)
    told = replace(choice, findings=(Finding("D205", "note", "equal rows", "differ"),))
    assert ceiling_of(told, table) == pytest.approx(right / len(train))
    said = advice_of(told, None, None, None, ceiling_of(told, table))
    assert any("can get more than" in text for text in said)
    assert ceiling_of(replace(choice, findings=()), table) is None


# ---- learning curves -----------------------------------------------------------------------------


def made_curve(unseen, *, train=1.0, error=0.01, wanted=160):
    unseen = np.array(unseen)
    sizes = np.array([20, 40, 80, 160])[: len(unseen)]
    errors = np.full(len(unseen), error)
    folds = np.repeat(unseen[:, None], 3, 1)
    top = np.full(len(unseen), train)
    return LearningCurve(sizes, top, unseen, errors, folds, 0.5, "accuracy", wanted=wanted)


def test_only_unseen_scores_decide_whether_more_rows_help(ridge):
    choice, _ = ridge
    rising = curve_in_words(choice, made_curve([0.6, 0.7, 0.77, 0.82]))
    assert rising.startswith("Get more data: twice as many rows would take accuracy from 0.82 to")
    flat = curve_in_words(choice, made_curve([0.8, 0.81, 0.811, 0.811]))
    assert flat.startswith("More rows alone would hardly help")
    assert "simpler model" not in flat, "a score of 1 on its training rows is no fault of a forest"


def test_a_rise_that_is_not_sure_is_told_as_such(ridge):
    choice, _ = ridge
    null, tried, skipped = choice.candidates
    far = replace(tried, gap=0.2, standard_error=0.01)
    curve = made_curve([0.5, 0.6, 0.68, 0.74], error=0.15)
    noisy = replace(curve, of_folds=curve.of_folds + np.outer([0, 0, 0, 1], [0.2, -0.2, 0.0]))
    words = curve_in_words(replace(choice, candidates=(null, far, skipped)), noisy)
    assert words.startswith("More rows are likelier to help than a richer model: twice")
    assert (
        "with a standard error of 0.15" in words and "scores 0.2 better on training rows" in words
    )


def test_curve_sends_to_what_was_not_compared(ridge):
    choice, _ = ridge
    flat = made_curve([0.8, 0.81, 0.811, 0.811], train=0.815)
    assert "No other model was compared" in curve_in_words(choice, flat)
    null, tried, skipped = choice.candidates
    for gap, has_met in ((0.01, True), (0.03, False)):
        far = replace(tried, gap=gap, standard_error=0.01)
        words = curve_in_words(replace(choice, candidates=(null, far, skipped)), flat)
        assert ("as well on unseen rows as on training rows" in words) == has_met
    simple, rich = replace(tried, family="simple"), replace(tried, family="rich")
    among = (null, replace(simple, complexity=1), tried, replace(rich, complexity=5), skipped)
    words = curve_in_words(replace(choice, candidates=among), flat)
    assert (
        "no simpler one is within a standard error" in words
        and "better columns are the most promising step" in words
    )
    words = curve_in_words(replace(choice, candidates=(null, tried, rich)), flat)
    assert "none is better by more than a standard error: try a richer one" in words
    words = curve_in_words(replace(choice, candidates=among[:3]), flat)
    assert words.endswith("try a richer one, or get better columns.")


def test_model_without_columns_is_not_looked_at_closer(ridge):
    choice, table = ridge
    null = replace(choice.candidates[0], behind=0.02, behind_error=0.03)
    tried = replace(choice.candidates[1], complexity=5)
    choice = replace(choice, chosen="null model", candidates=(null, tried, choice.candidates[2]))
    words = curve_in_words(choice, made_curve([0.5] * 4))
    assert words.startswith("More rows could show whether another model is better: the best")
    assert "tried model, is 0.02 ± 0.03 ahead" in words
    alone = replace(choice, candidates=(null, choice.candidates[2]), best="null model")
    assert answer(alone).startswith(
        "There was no time to try a model for 'progression'. A baseline"
    )
    assert "is unknown" in curve_in_words(alone, made_curve([0.5] * 4))
    report = summarize(choice, table, time_limit=1.0)
    assert report.answer.startswith("No model for 'progression' is clearly better than a baseline")
    assert report.uses.importances == () and "uses no columns" in report.left_out["importances"]


def test_curve_that_ended_early_speaks_of_twice_the_rows_there_are(ridge):
    choice, _ = ridge
    curve = made_curve([0.6, 0.7, 0.77], wanted=160)
    words = curve_in_words(choice, curve)
    assert f"from about {curve.expected(160)[0]:.3g} to about {curve.expected(320)[0]:.3g}" in words


def test_dear_models_keep_their_settings_in_the_curve(ridge):
    choice, table = ridge
    slow = tuple(replace(one, seconds=100.0) for one in choice.candidates)
    found = learning_of(replace(choice, candidates=slow), table, 20.0, {})
    alpha = choice["tried model"].settings["alpha"]
    assert f"every fit uses alpha = {alpha:.3g}, as tuned" in found.note
    assert learning_of(choice, table, None, {}).note == ""


def test_curves_that_end_early_or_leave_nothing_to_gain_say_so(ridge):
    choice, _ = ridge
    words = curve_in_words(choice, made_curve([0.6, 0.7, 0.77], wanted=1000))
    assert words.startswith("Whether more rows would help is unknown: the learning curve ends at")
    assert "at 80 of about 1,000 rows; a longer time limit would extend it." in words
    perfect = tuple(replace(one, unseen=1.0) for one in choice.candidates)
    words = curve_in_words(replace(choice, candidates=perfect), made_curve([0.9, 1.0, 1.0, 1.0]))
    assert words.startswith("There is nothing left to gain: accuracy on the held-out rows")


@pytest.mark.parametrize(
    ("signal", "rows", "models", "says"),
    [
        (lambda x: x[:, 0] ** 2, 300, "ridge regression", "try a richer one, "),
        (lambda x: 3 * np.sin(2 * x[:, 0]) * x[:, 1], 120, "kernel ridge", "Get more data"),
        (lambda x: 0 * x[:, 0], 200, "ridge regression, kernel ridge", "Neither more rows nor"),
    ],
)
def test_advice_is_right_where_the_truth_is_known(signal, rows, models, says):
    # A curve that a line cannot follow, a surface with few known rows, and noise.
    rng = np.random.default_rng(1)
    x = rng.uniform(-2, 2, size=(rows, 2))
    y = signal(x) + 0.3 * rng.normal(size=rows)
    table = table_of({"a": x[:, 0], "b": x[:, 1], "y": y})
    choice = gapless.choose(table, "y", models=models)
    assert says in summarize(choice, table).advice[0]


def test_dear_curves_are_made_of_fewer_rows_and_folds_and_say_so(ridge):
    choice, table = ridge
    slow = tuple(replace(one, seconds=300.0, settings={}) for one in choice.candidates)
    left_out = {}
    found = learning_of(replace(choice, candidates=slow), table, 20.0, left_out)
    assert left_out == {} and len(found.sizes) == 4 and found.sizes[-1] < 100
    # Two folds leave half of the rows; the comparison it mentions had four fifths of 332.
    assert f"the curve ends at {found.sizes[-1]:.0f} of about 266 rows" in found.note


# ---- tuning --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unseen", "chosen", "says"),
    [
        ((-3.0, -1.0, -2.0), 1, "alpha = 1 was chosen: it has the best score on held-out rows"),
        (
            (-3.0, -1.0, -1.1),
            2,
            "10 was chosen: it makes a simpler model, within one standard",
        ),
        ((-3.0, -1.0, -2.0), 2, "1 has the best score on held-out rows, by 1."),
        ((-3.0, -1.0, -1.005), 2, "was chosen; 1 has about the same score on held-out rows"),
    ],
)
def test_words_of_tuning_say_what_was_taken_and_why(ridge, unseen, chosen, says):
    choice, table = ridge
    # Of boosting no error is known.
    errors = (0.2 if unseen[2] != -1.005 else np.nan,) * 3
    tuned = Tuning("alpha", (0.1, 1.0, 10.0), unseen, errors, chosen, 1, "neg_rmse", True)
    among = tuple(replace(one, tuning=tuned) for one in choice.candidates)
    found = validation_of(replace(choice, candidates=among), table, None, {})
    assert says in found.words
    assert found.unseen == tuple(-value for value in unseen) and not found.higher_is_better


def test_own_rows_are_scored_along_the_tuned_parameter(ridge):
    choice, table = ridge
    found = validation_of(choice, table, None, {})
    frame, alphas = table.frame[choice.split.train], np.array(found.values)
    known = [k for k, value in enumerate(found.train) if value is not None]
    assert known == list(range(len(alphas))), "all models of the search are known"
    left = frame["progression"].to_numpy() - choice.model.predict(frame)
    assert found.train[found.chosen] == pytest.approx(np.mean(left**2))
    by_alpha = [found.train[k] for k in sorted(known, key=lambda k: alphas[k])]
    assert by_alpha == sorted(by_alpha), "the weaker the penalty, the nearer to its training rows"
    assert not any(validation_of(choice, table, 0.0, {}).train), "without time there are none"


@pytest.mark.parametrize(
    "model", [gapless.LinearSVC(C="loo"), gapless.LogisticRegression(C="loo", l1_ratio=1.0)]
)
def test_classifiers_score_their_own_rows_by_the_loss_that_they_tune(model):
    table = load_builtin("breast_cancer")
    table = table_of(table.frame.select(*table.frame.columns[:4], "diagnosis"))
    choice = made_choice(table, "diagnosis", model)
    found = validation_of(choice, table, None, {})
    frame = table.frame[choice.split.train]
    sides = np.where(frame["diagnosis"].to_numpy() == choice.model.classes_[1], 1.0, -1.0)
    margins = sides * choice.model.pipeline_.decision_function(frame)
    losses = np.logaddexp(0, -margins)
    if isinstance(model, gapless.LinearSVC):
        losses = np.maximum(1 - margins, 0) ** 2
    assert found.train[found.chosen] == pytest.approx(losses.mean())
    assert None not in found.train and not found.higher_is_better


def test_boosting_knows_the_scores_of_its_own_rows():
    table = load_builtin("diabetes")
    model = gapless.HistGradientBoostingRegressor(max_iter="cv", max_leaf_nodes=4)
    choice = made_choice(table, "progression", model, "table")
    found = validation_of(choice, table, 0.0, {})
    own = found.train[found.chosen]
    assert found.parameter == "rounds" and 0 < own < found.unseen[found.chosen]


@pytest.mark.parametrize("model", [gapless.KNeighborsClassifier, gapless.SVC])
def test_searches_are_fitted_again_with_all_that_was_tuned(model):
    table = load_builtin("iris")
    tuned = {"n_neighbors": "loo"} if model is gapless.KNeighborsClassifier else {"C": "loo"}
    choice = made_choice(table, "species", model(**tuned), "numbers")
    found = validation_of(choice, table, None, {})
    frame = table.frame[choice.split.train]
    right = np.mean(choice.model.predict(frame) == frame["species"].to_numpy())
    assert found.train[found.chosen] == pytest.approx(right)


# ---- test rows -----------------------------------------------------------------------------------


def test_curves_of_many_classes_are_those_of_each_against_the_others(rng):
    classes = np.array(list("abcdefgh"))
    y = classes[rng.integers(0, 7, size=400)]
    said = rng.dirichlet(np.ones(8), size=400) + 0.4 * (y[:, None] == classes)
    said /= said.sum(axis=1, keepdims=True)
    roc, by_recall = curves_of(y, said, classes)
    areas = {c: roc_auc_score(y == c, said[:, k]) for k, c in enumerate(classes[:7])}
    assert {one.of for one in roc} == set(sorted(areas, key=areas.get)[:5]), "h has no rows"
    for one, other in zip(roc, by_recall):
        k = int(np.flatnonzero(classes == one.of)[0])
        assert one.area.value == pytest.approx(areas[one.of])
        assert other.area.value == pytest.approx(average_precision_score(y == one.of, said[:, k]))
        assert other.chance == pytest.approx(np.mean(y == one.of))


@pytest.mark.parametrize(
    ("said", "times", "words"),
    [
        (0.8, 2, "show little"),
        (0.8, 2000, "look reliable"),
        (0.95, 2000, "more than chance explains"),
    ],
)
def test_few_rows_do_not_prove_that_probabilities_are_right(said, times, words):
    # Four of five rows are of the class that is said, in both directions.
    y = np.array(["yes"] * 4 * times + ["no"] * 5 * times + ["yes"] * times)
    p = np.repeat([said, 1 - said], 5 * times)
    found = calibration_of(Answers(y, y, np.column_stack([1 - p, p])), np.array(["no", "yes"]))
    assert words in found.words


def test_a_negative_share_of_the_variation_is_told_as_a_number(ridge):
    choice, _ = ridge
    worse = replace(choice, test=replace(choice.test, value=-0.2, low=-0.4, high=0.1))
    assert "explained" in answer(choice) and "R² -0.20 on" in answer(worse)


# ---- the table -----------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [15, 16, 40, 200])
def test_whole_numbers_have_bins_without_holes(most):
    x = np.tile(np.arange(most + 1), 9)
    table = table_of({"x": x, "y": ["a", "b", "b"] * (3 * (most + 1))})
    choice = made_choice(table, "y", gapless.GaussianNB())
    facts = {one.name: one for one in data_of(choice, table, []).columns}["x"]
    shares = np.array(facts.distribution.shares)
    assert shares.sum() == pytest.approx(1) and len(shares) <= 17
    assert shares[:-1].min() > 0.5 * shares.max(), "all numbers are equally frequent"
    assert facts.distribution.labels == ("0", str(most))


# ---- against a model that knows no columns -------------------------------------------------------


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        (
            (0.05, 0.02, 0.08),
            "model is better by 0.050 (95 % interval of the difference 0.020 to",
        ),
        ((0.05, -0.01, 0.11), "the model is better by 0.05, but not clearly (95 % interval of the"),
        ((-0.02, -0.05, 0.01), "the model is no better (95 % interval of the difference -0.05"),
    ],
)
def test_columns_are_judged_by_the_difference_of_the_same_rows(ridge, ends, words):
    choice, _ = ridge
    value, low, high = ends
    # Both intervals overlap: what counts is that of the difference.
    known = {"test": replace(choice.test, value=0.5, low=0.3, high=0.7), "baseline": choice.test}
    told = replace(choice, ahead=replace(choice.ahead, value=value, low=low, high=high), **known)
    assert words in " ".join(certainty(told))


def test_the_best_model_is_chosen_with_a_word_on_the_nearest_simpler_one(ridge):
    choice, _ = ridge
    ahead = {"null model": 0.4, "straight line": 0.03, choice.chosen: 0.0}
    some = choice[choice.chosen]
    candidates = tuple(
        replace(some, family=name, complexity=k, behind=behind, behind_error=0.01)
        for k, (name, behind) in enumerate(ahead.items())
    )
    assert why_chosen(replace(choice, candidates=candidates)) == (
        f"The best of the 3 models compared is {choice.chosen}. No simpler one is within one "
        "standard error of it; the nearest, straight line, is 0.03 ± 0.01 behind on the same rows."
    )
    assert why_chosen(
        replace(choice, candidates=(*candidates[2:], replace(some, family="other", complexity=9)))
    ).endswith(f"{choice.chosen}, also the simplest of them.")


def test_more_rows_are_never_said_to_be_worse(ridge):
    # A late step, which no power law follows: half of the rows are worth nothing, all of them much.
    choice, _ = ridge
    curve = made_curve([0.5, 0.5, 0.5, 0.8], train=0.81, error=0.05)
    assert curve.expected(320)[0] < 0.8
    words = curve_in_words(choice, curve)
    assert words.startswith("Get more data: accuracy still moves from 0.5 to 0.8 over the second")


def test_models_of_the_latest_rows_that_are_better_say_that_the_world_changes(ridge):
    choice, _ = ridge
    columns = tuple(
        replace(one, role="time") if k == 0 else one for k, one in enumerate(choice.columns)
    )
    worse = tuple(replace(one, unseen=0.4, standard_error=0.02) for one in choice.candidates)
    later = replace(choice, columns=columns, candidates=worse)
    words = curve_in_words(later, made_curve([0.6, 0.7, 0.75, 0.77]))
    assert words.startswith("The data change over time: on the rows that follow, accuracy is 0.77")
    assert "only the latest 160 rows and 0.4 for models of the whole past." in words
    assert "change over time" not in curve_in_words(choice, made_curve([0.6, 0.7, 0.75, 0.77]))


def test_intervals_that_hold_too_few_rows_are_warned_of(ridge):
    choice, _ = ridge
    answers = choice.answers
    narrow = replace(answers, lower=answers.predicted - 1.0, upper=answers.predicted + 1.0)
    said = advice_of(replace(choice, answers=narrow), None, None, None, None)
    assert any(text.startswith("Do not rely on the prediction intervals yet") for text in said)
    wide = replace(answers, lower=answers.predicted - 1e4, upper=answers.predicted + 1e4)
    said = advice_of(replace(choice, answers=wide), None, None, None, None)
    assert not any("prediction intervals" in text for text in said)


def test_gains_that_matter_and_are_not_sure_are_called_so(ridge):
    choice, _ = ridge
    met = tuple(replace(one, gap=0.0) for one in choice.candidates)
    rising = made_curve([0.6, 0.7, 0.77, 0.82], error=0.2)
    rising = replace(rising, of_folds=rising.of_folds + np.array([[-0.3, 0.0, 0.3]] * 4) * 0.1)
    rising.of_folds[-1] += [0.3, 0.0, -0.3]
    words = curve_in_words(replace(choice, candidates=met), rising)
    assert words.startswith("It is uncertain whether more rows would help: twice as many rows")
    flat = made_curve([0.8, 0.81, 0.811, 0.811], train=0.815)
    flat = curve_in_words(replace(choice, candidates=met), flat)
    assert flat.startswith("More rows alone would hardly help")


@pytest.mark.parametrize(
    ("rows", "apart", "role", "says"),
    [
        (50, 0.3, "number", "rows, the models compared from 50"),
        (None, 0.3, "number", "training and test rows may differ"),
        (None, -0.3, "time", "on the latest rows the score is 0.300 worse than the middle"),
    ],
)
def test_reasons_why_the_test_is_not_as_promised(ridge, rows, apart, role, says):
    choice, _ = ridge
    learned = choice.model.rows_
    candidates = tuple(replace(one, rows=rows or learned) for one in choice.candidates)
    columns = (replace(choice.columns[0], role=role), *choice.columns[1:])
    test = replace(choice.test, value=0.4 + apart, low=0.39 + apart, high=0.41 + apart)
    told = {"expected": 0.4, "expected_range": (0.3, 0.5), "test": test, "columns": columns}
    told = replace(choice, candidates=candidates, **told)
    assert says in " ".join(certainty(told))
    advice = " ".join(advice_of(told, None, None, None, None))
    assert ("refit often, and add columns that follow what changes" in advice) == (role == "time")


def test_scores_below_what_the_mean_would_have_are_called_bad(ridge):
    choice, _ = ridge
    bad = replace(choice, test=replace(choice.test, value=-1.0, low=-1.5, high=-0.6))
    assert answer(bad).startswith("Tried model for 'progression', with poor predictions: R² -1.0")


def test_the_first_line_says_errors_in_the_unit_of_the_target(ridge):
    choice, _ = ridge
    half = np.median(np.abs(choice.answers.y - choice.answers.predicted))
    assert f": half of the predictions within {half:.1f}; " in answer(choice)


def test_the_first_line_counts_the_rows_of_a_rare_class():
    """12 of 60 rows are rare: 9 of them are found, and 2 others are taken for them."""
    table = table_of({"x": np.arange(60.0), "y": ["usual"] * 48 + ["rare"] * 12})
    choice = made_choice(table, "y", gapless.GaussianNB())
    y = np.array(["usual"] * 48 + ["rare"] * 12)
    predicted = np.array(["rare"] * 2 + ["usual"] * 49 + ["rare"] * 9)
    told = replace(choice, answers=replace(choice.answers, y=y, predicted=predicted))
    assert "9 of 12 rows with 'rare' found, with 2 false alarms; " in answer(told)
    common = replace(told, answers=replace(told.answers, y=np.array(["usual", "rare"] * 30)))
    assert "found" not in answer(common)


def test_costs_stand_in_the_report_in_words():
    choice, _ = made_wide(5)
    told = replace(choice, costs=np.array([[0.0, 20.0], [1.0, 0.0]]))
    words = " ".join(certainty(told))
    assert (
        "predicting 'usual' when it is 'rare' costs 20 and "
        "predicting 'rare' when it is 'usual' costs 1" in words
    )
    assert "cost" not in " ".join(certainty(choice))


# ---- learning curves of few rows and of many columns ---------------------------------------------


def made_wide(columns, rows=48):
    """A choice of a linear model of few rows of two classes, and its table."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns))
    y = np.where(X[:, 0] > 0.4, "rare", "usual")
    table = table_of(pl.DataFrame({f"x{k}": X[:, k] for k in range(columns)} | {"y": y}))
    return made_choice(table, "y", gapless.LogisticRegression(C=1.0)), table


def test_wide_tables_are_prepared_once_for_the_learning_curve(monkeypatch):
    choice, table = made_wide(200)
    narrow, beside = made_wide(5)

    def refuse(self, frame):
        raise AssertionError("columns are prepared again")

    monkeypatch.setattr(TableFeatures, "_learn", refuse)
    for seconds in (None, 30.0):
        found = learning_of(choice, table, seconds, {})
        assert len(found.sizes) >= 3 and "as for the model" in found.note
    with pytest.raises(AssertionError, match="prepared again"):
        learning_of(narrow, beside, None, {})


def test_a_curve_begins_where_models_can_be_fitted():
    choice, table = made_wide(5)
    seen = []

    class Careful(gapless.LogisticRegression):
        def fit(self, X, y):
            seen.append(len(y))
            if len(y) < 9:
                raise ValueError("there is one class")
            return super().fit(X, y)

    choice.model.pipeline_.steps[-1] = ("model", Careful())
    found = learning_of(choice, table, None, {})
    assert min(seen) < 9 <= found.sizes[0] and len(found.sizes) >= 3


# ---- rows that are alike -------------------------------------------------------------------------


def test_groups_are_named_wherever_the_test_rows_are_counted(ridge):
    choice, _ = ridge
    columns = tuple(
        replace(one, role="group") if k == 0 else one for k, one in enumerate(choice.columns)
    )
    test = replace(choice.test, low=choice.test.value - 0.2, high=choice.test.value + 0.2)
    grouped = replace(choice, columns=columns, test_groups=7, test=test, metric="r2")
    words = f"of 7 groups (by '{columns[0].name}')"
    assert words in answer(grouped) and "over whole groups" in " ".join(certainty(grouped))
    said = advice_of(grouped, None, None, None, None)[-1]
    assert words in said and "more groups would show" in said
    assert "group" not in answer(choice) + " ".join(certainty(choice))


def test_rows_in_time_are_said_to_be_alike(ridge):
    choice, _ = ridge
    columns = tuple(
        replace(one, role="time") if k == 0 else one for k, one in enumerate(choice.columns)
    )
    assert "close in time are often alike" in " ".join(certainty(replace(choice, columns=columns)))


def test_classes_that_training_rows_lack_are_in_the_report():
    x = np.random.default_rng(0).normal(size=120)
    what = np.where(x > 0, "a", "b").astype(object)
    what[-3:] = "new"
    table = table_of(pl.DataFrame({"x": x, "day": np.arange(120), "what": what.astype(str)}))
    for model in ("linear discriminants", "linear SVM"):
        choice = gapless.choose(table, "what", models=model, time="day", time_limit=None)
        report = summarize(choice, table, time_limit=0.0)
        assert report.confusion.classes == ("a", "b", "new")
        assert sum(report.confusion.counts[2]) == 3
    options = {"models": "linear discriminants", "time": "day", "time_limit": None}
    for more in ({"costs": {"a": 1.0, "b": 2.0, "new": 9.0}}, {"metric": "log_loss"}):
        report = summarize(gapless.choose(table, "what", **options, **more), table)
        assert report.uses.importances[0].value > 0


# ---- advice that was wrong -----------------------------------------------------------------------


def test_a_gain_that_is_hardly_worth_it_asks_for_no_rows(ridge):
    choice, _ = ridge
    sure = made_curve([0.79, 0.798, 0.801, 0.803], error=0.005)
    assert curve_in_words(choice, sure).startswith("More rows alone would hardly help")
    perfect = made_curve([0.9993, 0.9995, 0.9998, 0.9999], error=1e-5)
    assert "from 1 to" not in curve_in_words(choice, perfect)


def test_a_curve_begins_at_the_score_that_the_comparison_knows(ridge):
    choice, _ = ridge
    known = tuple(replace(one, rows=160, unseen=0.9476) for one in choice.candidates)
    curve = made_curve([0.6, 0.7, 0.77], wanted=160)
    words = curve_in_words(replace(choice, candidates=known), curve)
    assert "from 0.948 to about" in words


@pytest.mark.parametrize(
    ("parameter", "values", "unseen", "says"),
    [
        ("min_samples_leaf", (1, 3, 10), (0.9, 0.8, 0.7), False),
        ("min_samples_leaf", (1, 3, 10), (0.7, 0.8, 0.9), True),
        ("n_neighbors", (1, 3, 10), (0.9, 0.8, 0.7), False),
        ("C", (0.1, 1.0, 10.0), (0.7, 0.8, 0.9), True),
        ("C", (0.1, 1.0, 10.0), (0.7, 0.9, 0.9), False),
    ],
)
def test_values_beyond_the_end_are_advised_where_there_are_any(
    ridge, parameter, values, unseen, says
):
    choice, _ = ridge
    best = int(np.argmax(np.array(unseen) + 1e-9 * np.arange(3)))
    validation = Validation(
        parameter=parameter,
        values=values,
        train=unseen,
        unseen=unseen,
        standard_errors=(0.01,) * 3,
        best=best,
        chosen=best,
        metric="accuracy",
        higher_is_better=True,
        is_log=True,
        words="",
    )
    said = advice_of(choice, None, validation, None, None)
    assert any("values beyond it may be better" in text for text in said) == says


def test_a_test_that_cannot_tell_does_not_agree(ridge):
    choice, _ = ridge
    wide = replace(choice.test, value=0.3, low=-0.75, high=0.92)
    told = replace(choice, test=wide, expected=0.3, expected_range=(-0.5, 0.9))
    words = " ".join(certainty(told))
    assert "the test score agrees" not in words and "test rows are too few" in words
    narrow = replace(choice.test, value=0.45, low=0.35, high=0.55)
    told = replace(choice, test=narrow, expected=0.45, expected_range=(0.3, 0.6))
    words = " ".join(certainty(told))
    assert "estimated 0.30 to 0.60 for the test (95 % interval); the test score agrees." in words


def test_names_on_an_axis_stay_apart():
    assert distinguishable(["North-East", "North-West", "South"], 5) == ["…East", "…West", "South"]
    assert distinguishable(["abcdef", "xyz"], 5) == ["abcd…", "xyz"]


def test_a_model_of_fewer_rows_gives_way_and_it_is_said_why(ridge):
    choice, _ = ridge
    null, tried, skipped = choice.candidates
    best = replace(tried, family="kernel", rows=500, complexity=5)
    tried = replace(tried, rows=1856, behind=0.01, behind_error=0.02)
    words = why_chosen(replace(choice, candidates=(null, tried, best, skipped), best="kernel"))
    assert "kernel, judged on only 500 rows" in words
