"""Every family by every metric: judged, reported, predicted with, and checked."""

import io

import numpy as np
import pytest
from made_choices import made_choice

from covering import covering
from gapless.choosing import FAMILIES, choose, facts_of
from gapless.choosing.metric import ASKS, OF_CLASSES, OF_NUMBERS
from gapless.choosing.report import summarize, to_html, to_json, to_text
from gapless.cli.checking import check
from gapless.cli.predicting import Noticed, Wanted, predictions, predictor_of
from gapless.data import describe_columns, read_target, table_of

# Values in place of those that a fit would choose for itself: quick, and of the same class.
UNTUNED = {
    "C": 10.0,
    "alpha": 0.01,
    "gamma": 0.5,
    "ccp_alpha": 0.01,
    "min_samples_leaf": 2,
    "n_neighbors": 3,
    "max_iter": 20,
}
# Of texts one metric of classes, of an order, and of probabilities.
OF_TEXTS = ("accuracy", "roc_auc", "log_loss")
CASES = {"two": OF_CLASSES, "three": OF_CLASSES, "numbers": OF_NUMBERS, "texts": OF_TEXTS}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    # Curves are of many fits, and of scores that `hold_out` has found before.
    monkeypatch.setattr("gapless.choosing.report.summary.learning_of", lambda *given: None)
    monkeypatch.setattr("gapless.choosing.report.model_uses.REPEATS", 2)


def untuned(family, table):
    """The model of a family, with its parameters given."""
    facts = facts_of(describe_columns(table, "y"), read_target(table, "y"))
    model = family.build(facts, 0)
    given = model.get_params(deep=False)
    tuned = [name for name in given if given[name] in ("loo", "cv", "oob")]
    few = {"n_estimators": 10} if "n_estimators" in given else {}
    return model.set_params(**{name: UNTUNED[name] for name in tuned}, **few)


def families_of(case):
    task = "regression" if case == "numbers" else "classification"
    of_task = [family for family in FAMILIES if family.task == task]
    if case == "texts":
        return [family for family in of_task if family.takes_text]
    return [family for family in of_task if not family.needs_text]


def made(case, n=60):
    """A table in which the second column, or the words, determine nearly everything."""
    rng = np.random.default_rng(3)
    x, city = rng.normal(size=n), rng.choice(["Bern", "Oslo"], n)
    place = np.argsort(np.argsort(x + 0.1 * rng.normal(size=n)))
    if case == "numbers":
        return table_of({"x": x, "city": city, "y": place + 0.5})
    if case == "texts":
        words = np.array([["good", "fine", "film", "book"], ["bad", "poor", "film", "book"]])
        texts = [" ".join(rng.choice(words[k], 8)) for k in place % 2]
        return table_of({"text": texts, "y": np.where(place % 2, "bad", "good")})
    if case == "two":
        return table_of({"x": x, "city": city, "y": np.where(place < n // 4, "yes", "no")})
    return table_of({"x": x, "city": city, "y": np.array(["low", "mid", "top"])[place * 3 // n]})


EVERY = [
    pytest.param(case, family, id=f"{case}-{family.name}")
    for case in CASES
    for family in families_of(case)
]


# What a family is asked depends on the kind of answers that a metric needs: each pair of these
# occurs, and with each target.
SOME = set(
    covering(
        {
            (case, family.name, metric): [
                ("case", case),
                ("family", family.name),
                ("asks", ASKS[metric]),
            ]
            for case, metrics in CASES.items()
            for family in families_of(case)
            for metric in metrics
        }
    )
)


# What is drawn depends on the target and the family, or on the target and the metric: each of
# these pairs has a page with its pictures.
DRAWN = {
    (case, families[k % len(families)].name, metrics[k % len(metrics)])
    for case, metrics in CASES.items()
    for families in [families_of(case)]
    for k in range(max(len(families), len(metrics)))
}


@pytest.mark.parametrize("case, family", EVERY)
def test_every_metric_has_a_report_predictions_and_a_check(case, family, pytestconfig):
    every, table = pytestconfig.getoption("--every"), made(case)
    file, model = table.frame.write_csv().encode(), untuned(family, table)
    for metric in CASES[case]:
        is_drawn = (case, family.name, metric) in DRAWN
        if not (every or is_drawn or (case, family.name, metric) in SOME):
            continue
        if not hasattr(model, "predict_proba") and ASKS[metric] == "predict_proba":
            continue
        choice = made_choice(table, "y", model, family.kind, metric=metric)
        report = summarize(choice, table)
        pages = (to_text, to_json, to_html) if every or is_drawn else (to_text, to_json)
        assert all(page(report) for page in pages)
        assert report.uses.importances
        wanted = Wanted(probabilities=hasattr(choice.model, "predict_proba"), coverage=None)
        (rows,) = predictions(predictor_of(choice.model), io.BytesIO(file), wanted, Noticed())
        assert rows.height == len(table)
        assert np.isfinite(check(choice.model, file).score.value)


@pytest.mark.parametrize("case", ["two", "three"])
def test_linear_machines_are_chosen_by_areas_in_folds_and_have_probabilities(case):
    table = made(case)
    choice = choose(table, "y", models="linear SVM", metric="roc_auc")
    assert choice.chosen == "linear SVM"
    p = choice.answers.probabilities
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert np.array_equal(choice.model.classes_[p.argmax(axis=1)], choice.answers.predicted)
    assert choice.model.score(table.frame[choice.split.test]) == choice.test.value
