"""TableModel: tables in, answers out; and the costs of decisions."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.inspection import permutation_importance
from sklearn.model_selection import cross_val_score

from gapless import (
    LinearSVC,
    NaiveBayes,
    RandomForestRegressor,
    Ridge,
    RidgeClassifier,
    explain,
    load,
    save,
)
from gapless.choosing import TableModel, choose
from gapless.choosing.background import made_up_rows
from gapless.choosing.judging import Judging
from gapless.choosing.metric import read_costs
from gapless.data import TableError, describe_columns, load_builtin, prepare, table_of

CLASSES = np.array(["bad", "good"])


def model_of(table, target, kind="numbers", model=None, **more):
    columns = describe_columns(table, target)
    return TableModel(prepare(columns, kind, model or Ridge()), target, **more)


def line(n, seed):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    return table_of({"x": x, "z": z, "y": 2 * x + rng.standard_t(4, size=n)})


@pytest.fixture(scope="module")
def houses():
    return choose(line(300, 0), "y", models="ridge regression")


def test_tables_of_any_kind_give_the_same_predictions(houses):
    table = line(50, 1)
    known = houses.model.predict(table)
    assert_array_equal(known, houses.model.predict(table.frame))
    assert_array_equal(known, houses.model.predict(pd.DataFrame(table.frame.to_dict())))
    assert_array_equal(known, houses.model.predict(table.frame.select(["y", "z", "x"])))
    texts = table.frame.with_columns(pl.col("x").cast(pl.String))
    assert_allclose(houses.model.predict(texts), known)


def test_a_missing_column_is_named_and_a_new_level_is_no_error():
    table = load_builtin("tennis")
    model = model_of(table, "play", "table", NaiveBayes()).fit(table)
    with pytest.raises(TableError, match="lacks columns the model was fitted with: 'wind'"):
        model.predict(table.frame.drop("wind"))
    strange = table.frame.with_columns(pl.lit("hurricane").alias("wind"))
    assert len(model.predict(strange)) == len(table)


def test_intervals_hold_as_many_new_rows_as_they_say(houses):
    """Over the draw of the table the share is the coverage: here the mean over twelve tables."""
    new = line(4000, 99)
    y = new.frame["y"].to_numpy()
    models = [choose(line(120, seed), "y", models="ridge regression").model for seed in range(12)]
    for coverage in (0.5, 0.9):
        inside = []
        for found in models:
            at, lower, upper = found.predict_interval(new, coverage)
            assert_allclose(upper - at, at - lower)
            inside.append(np.mean((lower <= y) & (y <= upper)))
        # Residuals of about 96 rows: one table is off by √(p(1−p)/96), twelve by a third of that.
        assert abs(np.mean(inside) - coverage) < 4 * np.sqrt(coverage * (1 - coverage) / 96 / 12)


def test_intervals_of_the_test_are_those_of_the_model(houses):
    found = houses.model.predict_interval(line(300, 0).frame[houses.split.test])
    assert_array_equal(houses.answers.lower, found.lower)
    assert_array_equal(houses.answers.upper, found.upper)


def test_too_few_held_out_rows_give_endless_intervals():
    table = line(30, 0)
    model = model_of(table, "y").fit(table).expect(0.9, 0.1, np.arange(5.0))
    assert np.all(np.isinf(model.predict_interval(table, 0.9).upper))
    assert np.all(np.isfinite(model.predict_interval(table, 0.8).upper))


def test_intervals_that_are_not_known_are_refused():
    table = line(30, 0)
    with pytest.raises(ValueError, match="errors of this model on unseen rows are unknown"):
        model_of(table, "y").fit(table).predict_interval(table)
    choice = choose(load_builtin("iris"), "species", models="naive Bayes")
    with pytest.raises(ValueError, match="'species' has classes"):
        choice.model.predict_interval(load_builtin("iris"))


def test_a_model_knows_its_task_and_its_columns(houses):
    assert is_regressor(houses.model) and not is_classifier(houses.model)
    table = load_builtin("iris")
    choice = choose(table, "species", models="naive Bayes", drop=["petal_width"])
    model = choice.model
    assert is_classifier(model)
    roles = {column.name: column.role for column in model.columns_}
    assert roles["species"] == "target" and roles["petal_width"] == "dropped"
    assert model.profile_.rows == model.rows_ == len(choice.split.train)
    assert model.record_ == ""


def test_rows_without_target_are_refused_by_name():
    table = table_of({"x": [1.0, 2.0, 3.0, 4.0], "y": [1.0, 2.5, 3.5, None]})
    with pytest.raises(TableError, match="'y' is missing in all of these rows"):
        model_of(table, "y").fit(table, rows=[3])


# ---- costs ---------------------------------------------------------------------------------------


def loans(n=400):
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, n))
    return table_of({"x": x, "z": z, "what": np.where(x + rng.normal(size=n) > 0, "good", "bad")})


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "costs.csv"
        path.write_text(text)
        return path

    return write


def test_decisions_are_those_of_least_cost(file):
    path = file("true,good,bad\nbad,4,0\ngood,0,1\n")
    plain = choose(loans(), "what", models="linear discriminants")
    careful = choose(loans(), "what", models="linear discriminants", costs=path)
    assert careful.metric == "mean_cost" and not careful.higher_is_better
    assert_array_equal(careful.costs, [[0, 4], [1, 0]])
    called_good = [np.mean(one.answers.predicted == "good") for one in (plain, careful)]
    assert called_good[1] < 0.7 * called_good[0]
    assert careful.test.value < careful.baseline.value
    again = {}
    exec(careful.code.replace("table_of(frame)", "table_of(loans())"), {"loans": loans}, again)
    assert again["model"].measure(again["table"], rows=again["split"].test) == careful.test


@pytest.mark.parametrize("family", ["linear discriminants", "linear SVM"])
def test_costs_decide_also_where_another_metric_compares(family):
    """Of 5 for each bad loan that is called good, few are called good."""
    costs, by = {"good": 1.0, "bad": 5.0}, {"models": family, "metric": "accuracy"}
    plain, careful = (choose(loans(), "what", costs=given, **by) for given in (None, costs))
    assert careful.metric == "accuracy"
    called_good = [np.mean(one.answers.predicted == "good") for one in (plain, careful)]
    assert called_good[1] < 0.7 * called_good[0]


@pytest.mark.parametrize("at", [0, 199])
def test_costs_of_a_class_that_some_rows_lack(at, tmp_path):
    """The class of one row is in no other part than its own: not in all folds, or in the test."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    what = np.where(x + rng.normal(size=200) > 0, "good", "bad").astype(object)
    what[at] = "lost"
    table = table_of({"x": x, "day": np.arange(200), "what": what.astype(str)})
    costs = {"good": 1.0, "bad": 4.0, "lost": 9.0}
    choice = choose(table, "what", models="linear discriminants", costs=costs, time="day")
    assert choice.chosen == "linear discriminants"
    is_lost, cost = choice.answers.y == "lost", [costs[label] for label in choice.answers.y]
    assert is_lost.any() == (at == 199)
    assert choice.test.value == pytest.approx(
        np.mean(np.where(choice.answers.predicted == choice.answers.y, 0.0, cost))
    )
    save(choice.model, tmp_path / "model.gapless")
    again = load(tmp_path / "model.gapless").measure(table, rows=choice.split.test)
    assert again.value == choice.test.value


@pytest.mark.parametrize("by", [{}, {"metric": "accuracy"}], ids=str)
def test_models_without_probabilities_have_no_cost(monkeypatch, by):
    has = Judging._has_probabilities
    without = "linear SVM"  # made such a model for once
    monkeypatch.setattr(
        Judging, "_has_probabilities", lambda self, one: one.name != without and has(self, one)
    )
    choice = choose(loans(), "what", models=without, costs={"good": 1.0, "bad": 5.0}, **by)
    assert choice[without].status == "failed"
    assert "it has no probabilities, which" in choice[without].reason


def test_costs_of_a_file_are_by_name(file):
    assert_array_equal(
        read_costs(file("x;good;bad\ngood;0;2\nbad;7,5;0\n"), CLASSES), [[0, 7.5], [2, 0]]
    )
    assert_array_equal(read_costs([[0, 1], [2, 0]], CLASSES), [[0, 1], [2, 0]])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "true,good,ugly\ngood,0,1\nbad,1,0\n",
            "columns contain 'ugly', which is not one of the classes",
        ),
        ("true,good,bad\ngood,0,1\n", "rows lack the class 'bad'"),
        ("true,good,bad\ngood,0,1\nbad,1,\n", "all costs must be numbers"),
        ("true,good,bad\ngood,0,one\nbad,1,0\n", "all costs must be numbers"),
        ("true,good,bad\ngood,0,1\nbad,1,0\nbad,1,0\n", "rows name a class twice"),
        ("true,good,bad\ngood,1,1\nbad,1,1\n", "all decisions cost the same"),
        ("good\nbad\n", "it has 1 columns"),
    ],
)
def test_wrong_costs_are_named(file, text, said):
    with pytest.raises(TableError, match=said):
        read_costs(file(text), CLASSES)


def test_costs_of_numbers_are_refused():
    with pytest.raises(ValueError, match="costs apply to classification only"):
        choose(line(50, 0), "y", costs={"a": 1})


def test_rows_of_one_class_and_few_rows_can_be_scored():
    table = load_builtin("iris")
    model = model_of(table, "species", "table", NaiveBayes()).fit(table)
    assert model.measure(table.frame[:50]).value == 1.0
    assert model.measure(table.frame[[0, 60, 149]]).value == 1.0
    with pytest.raises(TableError, match="is 'setosa' in all rows"):
        model.fit(table.frame[:50])


# ---- as an estimator of scikit-learn -------------------------------------------------------------


@pytest.mark.parametrize("to_frame", [pl.DataFrame, pd.DataFrame])
@pytest.mark.parametrize("metric", ["auto", "mae"])
def test_numbers_keep_the_contract_of_estimators_on_frames(metric, to_frame):
    given = line(80, 0).frame.to_dict(as_series=False)
    y = np.array(given.pop("y"))
    X = to_frame(given)
    model = clone(model_of(line(80, 0), "y", metric=metric)).fit(X, y)
    errors = y - model.predict(X)
    own = -np.abs(errors).mean() if metric == "mae" else 1 - errors.var() / y.var()
    assert_allclose(model.score(X, y), own, rtol=1e-2)
    scores = cross_val_score(model, X, y, cv=3)
    assert np.all(np.isfinite(scores)) and np.all(scores < (0 if metric == "mae" else 1))
    assert cross_val_score(model, X, y, cv=3, scoring="neg_mean_squared_error").shape == (3,)
    found = permutation_importance(model, X, y, n_repeats=3, random_state=0)
    assert found.importances_mean[0] > found.importances_mean[1]


@pytest.mark.parametrize("labels", [["no", "yes"], [False, True], [0, 1]])
@pytest.mark.parametrize("last", [LinearSVC(C=1.0), NaiveBayes()])
def test_classes_keep_the_contract_of_estimators_on_frames(last, labels):
    table = loans(120)
    X = table.frame.select("x", "z")
    y = np.array(labels)[(table.frame["what"] == "good").to_numpy().astype(int)]
    kind = "numbers" if isinstance(last, LinearSVC) else "table"
    model = clone(model_of(table, "what", kind, last)).fit(X, y)
    assert_array_equal(model.classes_, np.unique(y))
    assert model.score(X, y) == np.mean(model.predict(X) == y)
    for scoring in (None, "accuracy", "roc_auc"):
        assert np.all(cross_val_score(model, X, y, cv=3, scoring=scoring) > 0.5)
    found = permutation_importance(model, X, y, n_repeats=3, random_state=0)
    assert found.importances_mean[0] > found.importances_mean[1]


def test_a_model_says_what_its_last_step_says():
    table = loans(120)
    ridge = model_of(table, "what", "numbers", RidgeClassifier()).fit(table)
    assert not hasattr(ridge, "predict_proba")
    svm = model_of(table, "what", "numbers", LinearSVC(C=1.0)).fit(table)
    assert_array_equal(svm.predict_proba(table)[:, 1] > 0.5, svm.predict(table) == "good")
    for model in (ridge, svm):
        sides = model.decision_function(table)
        assert_array_equal(model.predict(table), np.where(sides > 0, "good", "bad"))
    assert not hasattr(model_of(table, "what", "table", NaiveBayes()), "decision_function")


def test_targets_beside_the_table_go_before_its_column():
    table = line(60, 0)
    y = -table.frame["y"].to_numpy()
    model = model_of(table, "y").fit(table, y)
    assert model.score(table, y) > 0.5 > model.score(table)
    with pytest.raises(ValueError, match="y has 3 values, but the table has 60 rows"):
        model.fit(table, y[:3])


def test_an_explanation_is_by_column_of_the_table_and_survives_a_file(tmp_path):
    rng = np.random.default_rng(0)
    n = 200
    days = np.datetime64("2024-01-01") + rng.integers(0, 300, n)
    table = pl.DataFrame(
        {
            "size": [None if lost else x for lost, x in zip(rng.random(n) < 0.1, rng.random(n))],
            "city": rng.choice(["Rome", "Oslo", None], n),
            "sold": days,
            "words": [" ".join(rng.choice(["old", "new", "red"], 5)) for _ in range(n)],
            "price": rng.random(n),
        }
    ).with_columns(pl.col("price") + pl.col("size").fill_null(0.5))
    for kind, end in (
        ("numbers", Ridge()),
        ("components", Ridge()),
        ("table", RandomForestRegressor(5, random_state=0)),
    ):
        columns = describe_columns(table_of(table), "price")
        used = [c for c in columns if kind != "components" or c.role != "text"]
        model = TableModel(prepare(used, kind, end), "price").fit(table)
        found = explain(model, table[:20])
        assert set(found.names) <= set(table.columns) - {"price"}
        assert found.method == "exact"
        assert_allclose(found.predictions, model.predict(table[:20]), rtol=1e-8)
        whole = model.explain(table[:20], table)
        assert_allclose(whole.predictions, found.predictions, rtol=1e-8)
        save(model, tmp_path / "model.gapless")
        again = load(tmp_path / "model.gapless").explain(table[:20])
        assert_array_equal(again.values, found.values)
        alone = model.explain(table[3:4])
        assert_allclose(alone.values[0], found.values[3], rtol=0, atol=1e-12)
        assert {reason.column for reason in found.reasons(0)} <= set(found.names)


def test_made_up_rows_are_distributed_as_the_columns_of_the_fit():
    table = load_builtin("iris")
    model = model_of(table, "species", "table", NaiveBayes()).fit(table)
    rows = made_up_rows(model.profile_, tuple(c for c in model.columns_ if c.is_feature))
    assert rows.height == 100 and rows.columns == table.frame.columns[:4]
    for name in rows.columns:
        assert set(rows[name].round(6)) <= set(table.frame[name].round(6))
        spread = table.frame[name].std()
        assert abs(rows[name].mean() - table.frame[name].mean()) < 0.05 * spread
