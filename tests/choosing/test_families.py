"""Families of models: every one learns from every kind of table it says that it suits."""

import functools
import warnings
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import gapless
from gapless._ground import interrupt
from gapless.choosing import (
    FAMILIES,
    MajorityClassifier,
    MeanRegressor,
    coefficients_of,
    facts_of,
    families,
    families_for,
    settings_of,
    tuning_of,
)
from gapless.choosing.family import Facts
from gapless.data import describe_columns, load_builtin, prepare, read_target, table_of

WORDS = ["red", "green", "blue", "warm", "cold", "bright", "dark", "soft"]
# Baselines, and those whose settings follow from the data: see docs/guide/choosing.md.
UNTUNED = ("majority class", "mean", "linear discriminants", "naive Bayes")
every_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f"{f.task}-{f.name}")


def made(rows, *, seed=0, classes=2, texts=False, columns=0):
    """A table of numbers, categories, dates and texts with missing values, and two targets."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=rows)
    level = rng.choice(["a", "b", "c"], rows)
    y = 2 * x + (level == "a") + 0.5 * rng.normal(size=rows)
    day = np.datetime64("2024-01-01") + rng.integers(0, 300, rows)
    frame = pl.DataFrame(
        {
            "x": [None if rng.random() < 0.1 else float(v) for v in x],
            "level": [None if rng.random() < 0.1 else str(v) for v in level],
            "day": day,
            **{f"more {j}": rng.normal(size=rows) for j in range(columns)},
            "amount": y,
            "kind": [f"k{k}" for k in np.argsort(np.argsort(y)) * classes // rows],
        }
    )
    if texts:
        said = [" ".join(rng.choice(WORDS, 6)) + (" yes" if v > 0 else " no") for v in y]
        frame = frame.with_columns(pl.Series("said", said))
    return table_of(frame)


def only_texts(rows):
    """The same with no features but texts."""
    return table_of(made(rows, texts=True).frame.select("said", "kind", "amount"))


def read(table, task):
    name, other = ("kind", "amount") if task == "classification" else ("amount", "kind")
    columns = describe_columns(table, name, drop=[other])
    target = read_target(table, name, task)
    return columns, target, facts_of(columns, target)


def fitted(family, table):
    columns, target, facts = read(table, family.task)
    if not family.suits(facts):
        return None, target
    model = prepare(columns, family.kind, family.build(facts, seed=0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(table.frame, target.values)
    return model, target


TABLES = {
    "mixed": lambda: made(120),
    "tiny": lambda: made(14),
    "many classes": lambda: made(60, classes=12),
    "wide": lambda: made(24, columns=30),
    "text": lambda: made(60, texts=True),
    "only text": lambda: only_texts(60),
}


@functools.cache
def fitted_to(name, task, kind):
    """The model of a family for a kind of table, its target, and the table: fitted once."""
    table = TABLES[kind]()
    [family] = [one for one in FAMILIES if (one.name, one.task) == (name, task)]
    return *fitted(family, table), table


@every_family
def test_learns_from_mixed_columns_with_missing_values(family):
    model, target, table = fitted_to(family.name, family.task, "mixed")
    if model is None:
        assert family.fewest > 120 or family.needs_text or family.narrowest
        return
    told = model.predict(table.frame)
    if family.task == "classification":
        assert np.mean(told == target.values) >= (0.5 if family.complexity == 0 else 0.75)
    else:
        spread = np.mean((target.values - told) ** 2) / np.var(target.values)
        assert spread <= (1 + 1e-9 if family.complexity == 0 else 0.6)


@every_family
@pytest.mark.parametrize("shape", ["tiny", "many classes", "wide", "text"])
def test_learns_from_tables_of_odd_shapes(family, shape):
    model, target, table = fitted_to(family.name, family.task, shape)
    if model is not None:
        told = model.predict(table.frame)
        assert told.shape == target.values.shape
        assert family.task == "classification" or np.all(np.isfinite(told))


def test_classes_of_one_row_are_no_obstacle():
    table = load_builtin("tennis")
    frame = table.frame.with_columns(
        pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("perhaps")).otherwise("play").alias("play")
    )
    rare = table_of(frame)
    columns, target = describe_columns(rare, "play"), read_target(rare, "play")
    facts = facts_of(columns, target)
    assert (facts.classes, facts.smallest_class) == (3, 1)
    for family in families_for(facts):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = prepare(columns, family.kind, family.build(facts, 0))
            assert len(model.fit(rare.frame, target.values).predict(rare.frame)) == len(frame)


@every_family
def test_is_rebuilt_the_same_from_the_same_seed(family):
    first, _, table = fitted_to(family.name, family.task, "mixed")
    second, _ = fitted(family, table)
    if first is not None:
        assert np.array_equal(first.predict(table.frame), second.predict(table.frame))
        assert settings_of(first) == settings_of(second)


@every_family
def test_goes_to_a_file_and_back(family, tmp_path):
    # With texts, or without them where the family does not suit texts, or with nothing else.
    for kind in ("text", "mixed", "only text"):
        model, _, table = fitted_to(family.name, family.task, kind)
        if model is not None:
            break
    if model is not None:
        gapless.save(model, tmp_path / "model.gapless")
        again = gapless.load(tmp_path / "model.gapless")
        for method in ("predict", "predict_proba", "decision_function"):
            if hasattr(model, method):
                before, now = (getattr(each, method)(table.frame) for each in (model, again))
                assert np.array_equal(before, now), method
        assert tuning_of(again) == tuning_of(model) or "nan" in repr(tuning_of(model))
        assert settings_of(again) == settings_of(model)


@every_family
def test_a_time_limit_that_has_passed_ends_a_fit(family):
    """Either with what there is by then, or with TimeLimit; never with another error."""
    table = made(60)
    columns, target, facts = read(table, family.task)
    if not family.suits(facts):
        return
    prepared = prepare(columns, family.kind).fit_transform(table.frame)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with interrupt.time_limit(0.0):
                family.build(facts, 0).fit(prepared, target.values)
        except interrupt.TimeLimit:
            pass


# ---- facts, costs and names ----------------------------------------------------------------------


def test_facts_count_what_models_will_see():
    table = made(100, texts=True)
    columns, target, facts = read(table, "classification")
    assert (facts.task, facts.rows, facts.columns) == ("classification", 100, 4)
    assert (facts.classes, facts.smallest_class, facts.largest_share) == (2, 50, 0.5)
    assert facts.has_text and facts.has_category and facts.has_missing
    half = facts_of(columns, target, target.rows[:50])
    assert half.rows == 50
    assert set(facts.to_dict()) == set(type(facts).__slots__)


def test_strengths_are_chosen_whatever_the_size_of_the_table():
    _, _, facts = read(made(100), "classification")
    _, _, texts = read(made(100, texts=True), "classification")
    for build in (families.logistic, families.linear_svm):
        assert build(facts, 0).C == "loo"
        assert build(replace(facts, rows=10_000_000), 0).C == "cv"
        assert build(texts, 0).C == build(replace(texts, rows=1_000_000), 0).C == "cv"
    assert families.bayes_of_words(texts, 0).alpha == "loo"
    regression = replace(texts, task="regression", classes=0, smallest_class=0, rows=1_000_000)
    assert families.ridge(regression, 0).alpha == "cv"


@every_family
def test_what_a_family_leaves_open_is_tuned_and_told(family):
    """Every family except the null models, and those without tuning, gives a curve."""
    kind = "only text" if family.needs_text else "mixed"
    model, _, _ = fitted_to(family.name, family.task, kind)
    if model is None or family.name in UNTUNED:
        return
    tuning = tuning_of(model)
    assert tuning is not None and len(tuning.values) > 1
    assert settings_of(model)[tuning.parameter] == pytest.approx(tuning.values[tuning.chosen])


def test_bayes_of_words_takes_texts_alone():
    _, _, mixed = read(made(60, texts=True), "classification")
    assert "naive Bayes of words" not in [family.name for family in families_for(mixed)]
    table = only_texts(60)
    _, _, facts = read(table, "classification")
    [family] = [f for f in families_for(facts) if f.name == "naive Bayes of words"]
    model, target = fitted(family, table)
    assert model.score(table.frame, target.values) > 0.8


def test_facts_know_about_how_wide_a_prepared_table_is():
    table = made(100)
    columns, _, facts = read(table, "regression")
    width = prepare(columns, "numbers").fit_transform(table.frame).shape[1]
    assert abs(facts.features - width) <= 2
    assert (facts.classes, facts.smallest_class, facts.largest_share) == (0, 0, 0.0)


@every_family
def test_guesses_grow_with_the_rows(family):
    _, _, facts = read(made(100), family.task)
    guesses = [family.guess_seconds(facts, rows) for rows in (100, 10_000, 1_000_000)]
    assert 0 < guesses[0] < guesses[1] < guesses[2]
    assert 0 < family.most_rows(facts) <= facts.rows


def numbers(task, rows, columns):
    """Facts of a table of numbers alone."""
    classes = 2 if task == "classification" else 0
    return Facts(task, rows, columns, columns, classes, rows // 2, 0.5, False, False, False)


@every_family
@pytest.mark.parametrize("shape", [(200, 5000), (500, 10_000), (5000, 1000), (20_000, 200)])
def test_guesses_grow_with_rows_and_columns_whatever_the_shape(family, shape):
    rows, columns = shape
    guess = family.guess_seconds(numbers(family.task, rows, columns), rows)
    more_rows = family.guess_seconds(numbers(family.task, 2 * rows, columns), 2 * rows)
    wider = family.guess_seconds(numbers(family.task, rows, 2 * columns), rows)
    assert guess < more_rows
    # Folds choose the rounds of boosting on small tables alone; null models look at no column.
    assert guess < wider if family.complexity else guess == wider


@pytest.mark.parametrize(
    "name, shape, low, high",
    [
        ("ridge regression", (500, 10_000), 0.5, 10.0),
        ("ridge regression", (5000, 1000), 0.5, 5.0),
        ("lasso", (500, 10_000), 1.0, 20.0),
        ("lasso", (5000, 1000), 0.5, 8.0),
        ("kernel ridge", (500, 10_000), 1.0, 10.0),
        ("logistic regression", (72, 7129), 0.8, 5.0),
        ("logistic regression", (20_000, 200), 0.2, 2.0),
        ("linear SVM", (200, 5000), 1.0, 6.0),
        ("sparse logistic regression", (72, 7129), 1.0, 6.0),
        ("naive Bayes", (20_000, 200), 0.05, 1.0),
        ("nearest neighbours", (20_000, 200), 4.0, 16.0),
        ("neural network", (64_000, 20), 1.0, 30.0),
    ],
)
def test_guesses_have_the_order_of_measured_times(name, shape, low, high):
    """So that a table of more columns than rows is not left to the null model."""
    of_name = [family for family in FAMILIES if family.name == name]
    guesses = [one.guess_seconds(numbers(one.task, *shape), shape[0]) for one in of_name]
    assert all(low <= guess <= high for guess in guesses), guesses


@pytest.mark.parametrize(
    "name, low, high",
    [("logistic regression", 2.0, 12.0), ("linear SVM", 0.6, 3.0), ("random forest", 0.5, 2.0)],
)
def test_guesses_know_that_linear_models_of_several_classes_take_much_longer(name, low, high):
    [family] = [one for one in FAMILIES if one.name == name and one.task == "classification"]
    facts = replace(numbers("classification", 10_000, 20), classes=3)
    assert low <= family.guess_seconds(facts, 10_000) <= high
    texts, two = replace(facts, has_text=True), replace(facts, has_text=True, classes=2)
    times = family.guess_seconds(texts, 10_000) / family.guess_seconds(two, 10_000)
    assert 1.0 <= times < 2.0


def test_trees_of_wide_tables_are_spared_the_work_that_brings_little():
    wide, long = numbers("regression", 200, 5000), numbers("regression", 5000, 50)
    assert families.forest(long, 0).max_features == 1.0
    assert families.forest(wide, 0).max_features == pytest.approx(3 / np.sqrt(5000))
    for build in (families.boosted_small, families.boosted_usual):
        model = build(wide, 0)
        assert (model.max_iter, model.learning_rate) == (40, 0.2)
        assert build(replace(wide, rows=9000), 0).max_iter > 40


def test_the_baseline_is_first_and_the_cheapest_come_next():
    for task in ("classification", "regression"):
        _, _, facts = read(made(100), task)
        families = families_for(facts)
        guesses = [f.guess_seconds(facts, f.most_rows(facts)) for f in families[1:]]
        assert families[0].complexity == 0 and guesses == sorted(guesses)
        assert len({f.name for f in families}) == len(families)


def test_families_are_found_by_any_spelling_and_unknown_ones_are_named():
    _, _, facts = read(made(100), "classification")
    found = families_for(facts, ["Boosted_Trees", "gaussian kernel svm"])
    assert {f.name for f in found} == {"majority class", "boosted trees", "Gaussian-kernel SVM"}
    with pytest.raises(ValueError, match="Did you mean 'random forest'"):
        families_for(facts, ["randm forest"])
    with pytest.raises(ValueError, match="unknown model 'ridge' for classification"):
        families_for(facts, ["ridge"])


# ---- null models ---------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [MajorityClassifier(), MeanRegressor()], ids=repr)
@pytest.mark.filterwarnings("ignore:Skipping check")
def test_baselines_pass_the_checks_of_scikit_learn(model):
    results = check_estimator(model, on_skip=None)
    assert sum(result["status"] == "passed" for result in results) > 40


def test_baselines_are_the_best_constants_and_weights_are_repetitions():
    y, weights = np.array(["a", "b", "b", "c"]), np.array([3, 1, 1, 0])
    model = MajorityClassifier().fit(np.zeros((4, 1)), y, weights)
    again = clone(model).fit(np.zeros((5, 1)), np.repeat(y, weights))
    assert model.classes_.tolist() == again.classes_.tolist() == ["a", "b"]
    assert model.class_prior_.tolist() == again.class_prior_.tolist() == [0.6, 0.4]
    assert model.predict(np.zeros((2, 1))).tolist() == ["a", "a"]
    assert model.certificate_.kind == "exact"
    mean = MeanRegressor().fit(np.zeros((4, 1)), [1.0, 2.0, 3.0, 9.0], weights)
    assert mean.mean_ == pytest.approx((3 + 2 + 3) / 5)
    assert mean.certificate_.primal == pytest.approx(0.5 * (3 * 0.36 + 0.16 + 1.96))
    with pytest.raises(ValueError, match="at least one non-zero"):
        mean.fit(np.zeros((2, 1)), [1.0, 2.0], [0.0, 0.0])


def test_baselines_are_certified_again():
    X, y, numbers = np.zeros((4, 1)), np.array(["a", "b", "b", "c"]), np.array([1.0, 2.0, 3.0, 9.0])
    majority, mean = MajorityClassifier().fit(X, y), MeanRegressor().fit(X, numbers)
    assert gapless.certify(majority, X[::-1], y[::-1]).kind == "exact"
    assert gapless.certify(mean, X, numbers).kind == "exact"
    mean.mean_ = 4.0
    changed = gapless.certify(mean, X, numbers)
    assert (changed.kind, changed.gap) == ("stopped", pytest.approx(0.5 * 4 * 0.25**2))
    majority.class_prior_ = np.array([0.5, 0.25, 0.25])
    assert gapless.certify(majority, X, y).gap == pytest.approx(np.log(2))


@pytest.mark.parametrize(
    "task, rows, columns, texts, small, usual",
    [
        ("regression", 4000, 20, False, "cv", "cv"),
        ("classification", 4000, 20, False, "cv", "cv"),
        ("classification", 4000, 200, False, 1000, 1000),
        ("regression", 4000, 20, True, 1000, 1000),
        ("regression", 20_000, 5, False, 1000, 1000),
        ("regression", 400, 20, True, 150, 100),
        ("classification", 400, 700, False, 40, 40),
    ],
)
def test_folds_choose_the_rounds_of_boosting_on_small_tables(
    task, rows, columns, texts, small, usual
):
    classes = 2 if task == "classification" else 0
    facts = Facts(task, rows, columns, columns, classes, rows // 3, 0.6, texts, False, False)
    by_name = {family.name: family for family in families_for(facts)}
    for name, rounds in (("boosted small trees", small), ("boosted trees", usual)):
        model = by_name[name].build(facts, 0)
        assert model.max_iter == rounds and model.early_stopping == (rounds == 1000)
        is_by_squares = rounds == "cv" and task == "classification"
        assert model.scoring == ("neg_brier_score" if is_by_squares else "loss")
        law = by_name[name].folds_seconds if rounds == "cv" else by_name[name].seconds
        expected = law.of(1000, columns, classes, texts)
        assert by_name[name].guess_seconds(facts, 1000) == expected


def test_a_network_finds_what_bends_along_sums_of_columns():
    """Trees cut along one column at a time, and kernels need more rows than this."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1400, 20))
    h = np.tanh(0.4 * X @ rng.normal(size=(20, 5)))
    y = 1000 * (h.sum(axis=1) + h[:, 0] * h[:, 1]) + 50_000
    facts = numbers("regression", 1000, 20)
    scores = {}
    for family in families_for(facts, ["neural network", "boosted small trees"]):
        made = family.quicker(facts) or family
        model = made.build(facts, 0).fit(X[:1000], y[:1000])
        scores[family.name] = model.score(X[1000:], y[1000:])
    assert scores["neural network"] > scores["boosted small trees"] + 0.05
    assert "neural network" not in {f.name for f in families_for(replace(facts, rows=999))}


def test_components_are_for_wide_tables_only():
    for columns, expected in ((20, False), (60, True)):
        for task, name in (
            ("classification", "logistic on components"),
            ("regression", "ridge on components"),
        ):
            classes = 2 if task == "classification" else 0
            facts = Facts(task, 300, columns, columns, classes, 100, 0.6, False, False, False)
            assert (name in [family.name for family in families_for(facts)]) == expected


def test_coefficients_on_components_are_those_of_the_columns():
    rng = np.random.default_rng(0)
    common = rng.normal(size=(120, 2))
    X = common @ rng.normal(size=(2, 60)) + 0.5 * rng.normal(size=(120, 60))
    table = table_of({f"c{k}": X[:, k] for k in range(60)} | {"y": common[:, 0]})
    columns, target = describe_columns(table, "y"), read_target(table, "y")
    model = prepare(columns, "components", gapless.Ridge()).fit(table.frame, target.values)
    assert 1 <= model["components"].n_components_ < 20
    weights = {one.name: one.value for one in coefficients_of(model)}
    assert sorted(weights) == sorted(f"c{k}" for k in range(60))
    scaled = model[:2].transform(table.frame) - model["components"].mean_
    predicted = scaled @ np.array([weights[f"c{k}"] for k in range(60)])
    expected = model.predict(table.frame)
    assert np.allclose(predicted - predicted.mean(), expected - expected.mean())
