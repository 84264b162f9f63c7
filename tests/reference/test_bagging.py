"""Bagging against its definition: tables, pipelines, draws of one class, intervals out of bag."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris, make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import gapless
from gapless import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from gapless.unseen.population import Population


def make_table(n=120, seed=0):
    """A table of numbers, categories and texts, and a target that depends on all three."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "kind": pd.Categorical(rng.choice(list("xyz"), n)),
            "word": rng.choice(["big", "small"], n),
            "noise": rng.normal(size=n),
        }
    )
    y = table["size"] + 2.0 * (table["kind"] == "x") + (table["word"] == "big")
    return table, (y + 0.2 * rng.normal(size=n)).to_numpy()


def by_name():
    """A pipeline that selects its columns by name."""
    columns = make_column_transformer(
        (OneHotEncoder(), ["kind", "word"]), (StandardScaler(), ["size"])
    )
    return make_pipeline(columns, LogisticRegression())


# ---- tables --------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", [None, by_name()], ids=["tree", "pipeline"])
@pytest.mark.usefixtures("no_verdict")
def test_a_table_gives_the_same_from_pandas_and_polars(learner):
    table, y = make_table()
    labels = np.where(y > np.median(y), "high", "low")
    models = [
        BaggingClassifier(learner, random_state=0).fit(T, labels)
        for T in (table, pl.from_pandas(table))
    ]
    shares = [m.predict_proba(T) for m, T in zip(models, (table, pl.from_pandas(table)))]
    np.testing.assert_array_equal(*shares)
    assert models[0].score(table, labels) > 0.85
    assert models[0].generalization_.unseen > 0.75
    assert models[0].generalization_.unseen == models[1].generalization_.unseen
    assert models[0].feature_names_in_.tolist() == table.columns.tolist()


def test_members_of_a_table_are_trees_on_the_rows_and_columns_of_their_draw():
    table, y = make_table()
    model = BaggingRegressor(max_features=2, n_estimators=4, random_state=0).fit(table, y)
    draws = zip(model.estimators_, model.estimators_samples_, model.estimators_features_)
    for member, rows, columns in draws:
        names = table.columns[columns]
        assert member.feature_names_in_.tolist() == names.tolist()
        alone = DecisionTreeRegressor().fit(table[names].iloc[rows], y[rows])
        np.testing.assert_allclose(member.predict(table[names]), alone.predict(table[names]))


def test_columns_of_a_table_that_are_drawn_twice_are_given_once():
    table, y = make_table()
    model = BaggingRegressor(bootstrap_features=True, n_estimators=6, random_state=0).fit(table, y)
    assert any(len(set(columns)) < 4 for columns in model.estimators_features_)
    assert model.score(table, y) > 0.5


def test_a_pipeline_finds_the_columns_of_a_table_of_numbers_by_name():
    table, y = make_table()
    numbers = table[["size", "noise"]]
    pipe = make_pipeline(
        make_column_transformer((StandardScaler(), ["size"])), gapless.LinearRegression()
    )
    model = BaggingRegressor(pipe, random_state=0).fit(numbers, y)
    assert model.score(numbers, y) == pytest.approx(
        gapless.LinearRegression().fit(numbers[["size"]], y).score(numbers[["size"]], y), abs=0.02
    )


def test_order_of_the_rows_of_a_table_does_not_matter():
    table, y = make_table()
    order = np.random.default_rng(1).permutation(len(y))
    model = BaggingRegressor(random_state=0).fit(table, y)
    other = BaggingRegressor(random_state=0).fit(table.iloc[order], y[order])
    np.testing.assert_array_equal(model.predict(table), other.predict(table))
    assert model.generalization_.unseen == other.generalization_.unseen


def test_text_that_a_learner_does_not_take_is_named():
    table, y = make_table()
    with pytest.raises(ValueError, match=r"column 'kind', which is not a number"):
        BaggingRegressor(gapless.Ridge(), random_state=0).fit(table, y)


# ---- draws of one class --------------------------------------------------------------------------


def test_a_draw_of_one_class_predicts_it():
    X, y = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array(["a", "a", "a", "b"])
    model = BaggingClassifier(gapless.LogisticRegression(), 20, random_state=0).fit(X, y)
    single = [len(set(y[rows])) == 1 for rows in model.estimators_samples_]
    assert any(single)
    for member, is_single in zip(model.estimators_, single):
        if is_single:
            np.testing.assert_array_equal(member.predict(X), np.zeros(4))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
    assert np.all(np.isfinite(model.decision_function(X)))


def test_other_errors_of_a_learner_are_raised():
    X, y = np.array([[1.0], [np.inf], [3.0], [4.0]]), np.array([0, 0, 1, 1])
    with pytest.raises(ValueError, match="row 1"):
        BaggingClassifier(gapless.LogisticRegression(), 20, random_state=0).fit(X, y)


# ---- intervals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        BaggingRegressor(n_estimators=30, random_state=0),
        BaggingRegressor(gapless.Ridge(), random_state=0),
        RandomForestRegressor(30, random_state=0),
        AdaBoostRegressor(n_estimators=8, random_state=0),
    ],
    ids=["trees", "ridge", "forest", "adaboost"],
)
def test_intervals_hold_the_targets_of_new_rows(model):
    def draw(n, seed):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 3))
        return X, X[:, 0] + np.abs(X[:, 1]) + 0.5 * rng.normal(size=n)

    model.fit(*draw(150, 0))
    X, y = draw(2000, 1)
    prediction, lower, upper = model.predict(X, interval=0.9)
    np.testing.assert_array_equal(prediction, model.predict(X))
    # Within three standard errors of the share, which varies with the 150 rows of the fit.
    assert np.mean((lower <= y) & (y <= upper)) > 0.9 - 3 * np.sqrt(0.9 * 0.1 / 150)
    assert np.mean(upper - lower) < 2 * 1.645 * np.std(y)


def test_intervals_out_of_bag_follow_their_definition():
    # Kim, Xu and Barber (2020), algorithm 2, with the mean.
    X = np.arange(24.0)[:, None] ** 1.1
    y = np.sin(X[:, 0]) + X[:, 0]
    model = BaggingRegressor(n_estimators=40, random_state=0).fit(X, y)
    new = np.array([[3.3], [40.0]])
    said, of_new = (np.array([m.predict(Z) for m in model.estimators_]) for Z in (X, new))
    below, above = [], []
    for i in range(24):
        free = [i not in rows for rows in model.estimators_samples_]
        error = abs(y[i] - said[free, i].mean())
        below.append(of_new[free].mean(axis=0) - error)
        above.append(of_new[free].mean(axis=0) + error)
    found = model.predict(new, interval=0.8)
    # Of 25 rows with the new one, 20 are to be inside.
    np.testing.assert_allclose(found.upper, np.sort(above, axis=0)[19])
    np.testing.assert_allclose(found.lower, np.sort(below, axis=0)[-20])


def test_rows_that_all_members_were_given_do_not_calibrate():
    X = np.arange(60.0)[:, None]
    model = BaggingRegressor(n_estimators=3, random_state=0).fit(X, X[:, 0])
    found = model.predict(X, interval=0.8)
    assert len(model._calibration.held) < 60
    assert np.all(np.isfinite(found.upper)) and np.all(found.lower <= found.upper)


def test_intervals_of_a_table():
    table, y = make_table(n=150)
    new, y_new = make_table(n=500, seed=1)
    for model in (BaggingRegressor(n_estimators=30), AdaBoostRegressor(n_estimators=5)):
        model.set_params(random_state=0).fit(table, y)
        _, lower, upper = model.predict(new, interval=0.9)
        assert np.mean((lower <= y_new) & (y_new <= upper)) > 0.82


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(30, random_state=0),
        BaggingClassifier(n_estimators=30, random_state=0),
        AdaBoostClassifier(n_estimators=5),
        DecisionTreeClassifier(max_depth=3),
    ],
    ids=["forest", "bagging", "adaboost", "tree"],
)
def test_sets_of_classes_hold_those_of_new_rows(model):
    table, y = make_table(n=150)
    new, y_new = make_table(n=500, seed=1)
    labels, own = (np.digitize(z, np.quantile(y, [0.33, 0.67])) for z in (y, y_new))
    sets = model.fit(table, labels).predict_set(new, coverage=0.9)
    assert np.mean(sets[np.arange(500), own]) > 0.82
    assert np.mean(sets.sum(axis=1)) < 2.5


# ---- draws without replacement -------------------------------------------------------------------


def test_rows_are_drawn_without_replacement_in_proportion_to_their_weights():
    weights = np.array([0.5, 0.5, 1.0, 1.0, 2.0, 3.0])
    population = Population(np.arange(6), np.arange(6), weights)
    for size in (3, 6, 8):
        counts = np.array([population.draw(seed, size, replace=False) for seed in range(2000)])
        assert np.all(counts.sum(axis=1) == size)
        assert np.all(counts <= np.ceil(weights))
        # Four standard errors of a share.
        np.testing.assert_allclose(
            counts.mean(axis=0), weights * size / 8, atol=4 * 0.6 / 2000**0.5
        )


def test_more_rows_than_the_weights_sum_to_are_drawn_as_far_as_there_are():
    population = Population(np.arange(3), np.arange(3), np.array([0.1, 1.0, 1.0]))
    assert population.draw(0, 3, replace=False).tolist() == [1, 1, 1]
    counts = np.array([population.draw(seed, 2, replace=False) for seed in range(500)])
    assert counts[:, 0].mean() < 0.2 and np.all(counts.sum(axis=1) == 2)


# ---- hard votes ----------------------------------------------------------------------------------


def voted(n_estimators=7, learner=None, **options):
    X, y = load_iris(return_X_y=True)
    labels = np.array(["a", "b", "c"])[y]
    X = X[:, :2]  # the classes overlap
    learner = DecisionTreeClassifier(max_depth=2) if learner is None else learner
    model = BaggingClassifier(learner, n_estimators, voting="hard", random_state=0, **options).fit(
        X, labels
    )
    return model, X, labels


def test_the_most_frequent_vote_wins():
    """argmax_y Σ_t 1(h_t(x) = y), counted by hand; a tie goes to the first class."""
    model, X, _ = voted()
    cast = np.stack([model.classes_[member.predict(X)] for member in model.estimators_])
    counts = np.stack([(cast == label).sum(axis=0) for label in model.classes_], axis=1)
    np.testing.assert_array_equal(model.predict(X), model.classes_[counts.argmax(axis=1)])
    np.testing.assert_allclose(model.predict_proba(X), counts / len(model.estimators_))
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(model.predict_log_proba(X), np.log(model.predict_proba(X)))


def test_out_of_bag_votes_are_counted_as_those_of_new_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
    model = BaggingClassifier(
        DecisionTreeClassifier(max_depth=2), 40, voting="hard", oob_score=True, random_state=0
    ).fit(X, y)
    counts = np.zeros((60, 2))
    for member, rows in zip(model.estimators_, model.estimators_samples_):
        unseen = np.setdiff1d(np.arange(60), rows)
        counts[unseen, member.predict(X[unseen])] += 1
    shares = counts / counts.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.oob_decision_function_, shares)
    assert model.oob_score_ == pytest.approx(np.mean(shares.argmax(axis=1) == y))


def test_the_estimate_for_unseen_rows_counts_votes():
    X, y = make_blobs(80, centers=3, cluster_std=2.5, random_state=0)
    model = BaggingClassifier(
        gapless.LogisticRegression(), 30, voting="hard", oob_score=True, random_state=0
    ).fit(X, y)
    assert model.generalization_.method.startswith("out of bag")
    assert model.generalization_.unseen == pytest.approx(model.oob_score_)


def test_mean_decision_values_do_not_speak_for_votes():
    model, _, _ = voted(5, gapless.LogisticRegression())
    assert not hasattr(model, "decision_function")
    assert hasattr(BaggingClassifier(gapless.LogisticRegression()), "decision_function")
