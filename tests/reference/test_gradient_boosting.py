"""Gradient boosting against scikit-learn, against brute force, and what is promised beyond both."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
from sklearn.base import clone
from sklearn.datasets import make_classification

import gapless
from gapless.losses import Loss
from gapless.models.boosting.data import Bundles


def numbers(n=240, seed=0):
    """Rows so few that bins are the values themselves, and no two splits are equally good."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)


def classes(k, seed=0):
    return make_classification(240, 6, n_informative=4, n_classes=k, random_state=seed)


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"max_leaf_nodes": 7, "l2_regularization": 3.0},
        {"max_depth": 2, "learning_rate": 0.5},
        {"loss": "poisson"},
        {"loss": "gamma", "min_samples_leaf": 10},
        {"interaction_cst": [{0, 1}, {2, 3}]},
    ],
    ids=repr,
)
def test_histogram_boosting_is_scikit_learns(form):
    X, y = numbers()
    y = np.exp(y) if form.get("loss") in ("poisson", "gamma") else y
    ours = gapless.HistGradientBoostingRegressor(max_iter=15, **form).fit(X, y)
    theirs = sklearn.ensemble.HistGradientBoostingRegressor(max_iter=15, **form).fit(X, y)
    # scikit-learn rounds gradients to float32.
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-5, atol=1e-5)


def test_categories_are_split_as_well_as_by_scikit_learn():
    X, y = numbers(1000)
    X[:, 0] = np.random.default_rng(1).integers(12, size=1000)
    y = y + np.random.default_rng(2).normal(size=12)[X[:, 0].astype(int)]
    form = {"max_iter": 15, "categorical_features": [0]}
    ours = gapless.HistGradientBoostingRegressor(**form).fit(X, y)
    theirs = sklearn.ensemble.HistGradientBoostingRegressor(**form).fit(X, y)
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y), abs=0.01)


@pytest.mark.parametrize(
    "cls, loss",
    [
        ("HistGradientBoostingRegressor", "squared_error"),
        ("HistGradientBoostingRegressor", "poisson"),
        ("GradientBoostingRegressor", "huber"),
    ],
)
def test_intervals_are_those_of_ten_models_without_a_fold(cls, loss):
    X, y = numbers()
    y = np.exp(y) if loss == "poisson" else y
    X[::7, 1] = np.nan
    if cls.startswith("Hist"):
        X[::11, 2] = np.inf
    rounds = {"max_iter" if cls.startswith("Hist") else "n_estimators": 20}
    model = getattr(gapless, cls)(loss=loss, random_state=0, **rounds).fit(X[:90], y[:90])
    prediction, lower, upper = model.predict(X[90:], interval=0.8)
    np.testing.assert_array_equal(prediction, model.predict(X[90:]))
    assert np.mean((lower <= y[90:]) & (y[90:] <= upper)) > 0.7
    # By hand: models without the folds, which are told by what they say of the rows of the fit.
    found = model._calibration
    below, above = [], []
    for fold in np.unique(found.models.fold):
        out = np.isin(y[:90], found.targets[found.models.fold == fold])
        one = clone(model).fit(X[:90][~out], y[:90][~out])
        errors = np.abs(y[:90][out] - one.predict(X[:90][out]))
        below.append(one.predict(X[90:])[:, None] - errors)
        above.append(one.predict(X[90:])[:, None] + errors)
    # Of 91 rows with the new one, 73 are to be inside.
    np.testing.assert_allclose(upper, np.sort(np.hstack(above))[:, 72], rtol=1e-9)
    np.testing.assert_allclose(lower, np.sort(np.hstack(below))[:, -73], rtol=1e-9)


@pytest.mark.parametrize(
    "form, k",
    [
        (gapless.HistGradientBoostingClassifier(max_iter=20), 2),
        (gapless.HistGradientBoostingClassifier(max_iter=20), 3),
        (gapless.GradientBoostingClassifier(n_estimators=20), 2),
        (gapless.GradientBoostingClassifier(n_estimators=20), 3),
        (gapless.HistGradientBoostingClassifier("hinge", max_iter=20), 2),
    ],
)
def test_sets_hold_the_class_of_most_rows(form, k):
    X, y = classes(k)
    table, names = pd.DataFrame(X).add_prefix("x"), np.array(["a", "b", "c"])[y]
    model = form.fit(table[:140], names[:140])
    sets = model.predict_set(table[140:], coverage=0.85)
    own = names[140:, None] == model.classes_
    assert sets.shape == (100, k) and np.mean(sets[own]) > 0.75
    assert np.all(sets[model.predict(table[140:])[:, None] == model.classes_])
    assert sets.sum() < 0.9 * sets.size


@pytest.mark.parametrize("k", [2, 3])
def test_histogram_boosting_of_classes_is_scikit_learns(k):
    X, y = classes(k)
    X[::7, 1] = np.nan
    ours = gapless.HistGradientBoostingClassifier(max_iter=15).fit(X, y)
    theirs = sklearn.ensemble.HistGradientBoostingClassifier(max_iter=15).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize(
    "form",
    [
        {"min_samples_leaf": 5},
        {"max_leaf_nodes": 6, "max_depth": None},
        {"min_samples_leaf": 0.05, "min_impurity_decrease": 0.001},
        {"min_weight_fraction_leaf": 0.1, "learning_rate": 0.5},
        {"ccp_alpha": 0.003, "min_samples_leaf": 5},
    ],
    ids=repr,
)
def test_plain_boosting_is_scikit_learns(form):
    X, y = numbers()
    weights = np.random.default_rng(1).uniform(0.1, 1.0, len(y))
    ours = gapless.GradientBoostingRegressor(n_estimators=15, **form).fit(X, y, weights)
    theirs = sklearn.ensemble.GradientBoostingRegressor(
        n_estimators=15, random_state=0, **form
    ).fit(X, y, weights)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.train_score_, theirs.train_score_, rtol=1e-9)
    found, expected = ours.feature_importances_, theirs.feature_importances_
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("loss, k", [("log_loss", 2), ("log_loss", 3), ("exponential", 2)])
def test_plain_boosting_of_classes_is_scikit_learns(loss, k):
    X, y = classes(k)
    ours = gapless.GradientBoostingClassifier(loss=loss, n_estimators=15).fit(X, y)
    theirs = sklearn.ensemble.GradientBoostingClassifier(
        loss=loss, n_estimators=15, random_state=0
    ).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(ours.train_score_, theirs.train_score_, rtol=1e-9)


@pytest.mark.parametrize("k", [2, 3])
def test_scores_are_the_start_and_what_the_members_predict(k):
    X, y = make_classification(80, n_informative=4, n_classes=k, random_state=0)
    X = pd.DataFrame(X).assign(kind=np.where(X[:, 0] > 0, "a", "b"))
    X.columns = X.columns.astype(str)
    model = gapless.GradientBoostingClassifier(n_estimators=4).fit(X, y)
    scores = model.decision_function(X).reshape(len(X), -1)
    predicted = [[member.predict(X) for member in of_round] for of_round in model.estimators_]
    np.testing.assert_allclose(scores, model.start_ + np.sum(predicted, axis=0).T, rtol=1e-12)


def test_the_first_split_is_the_best_of_all():
    X, y = numbers(120)
    model = gapless.HistGradientBoostingRegressor(
        max_iter=1, max_leaf_nodes=2, min_samples_leaf=5, learning_rate=1.0
    ).fit(X, y)
    best = min(
        sum(len(part) * part.var() for part in (y[X[:, j] <= t], y[X[:, j] > t]))
        for j in range(X.shape[1])
        for t in np.unique(X[:, j])[:-1]
        if min(np.sum(X[:, j] <= t), np.sum(X[:, j] > t)) >= 5
    )
    assert 2 * model.trace_.training[-1] * len(y) == pytest.approx(best)


@dataclass(frozen=True)
class LogCosh(Loss):
    """A loss of one's own, with nothing but a value and a slope."""

    task = "regression"

    def value(self, y, z):
        return np.logaddexp(z - y, y - z) - np.log(2)

    def gradient(self, y, z):
        return np.tanh(z - y)


@pytest.mark.parametrize(
    "model",
    [
        gapless.HistGradientBoostingRegressor(max_iter=10),
        gapless.GradientBoostingRegressor(n_estimators=10),
    ],
)
def test_a_loss_of_ones_own_is_boosted_with_the_best_constant_in_each_leaf(model):
    X, y = numbers(200)
    fitted = model.set_params(loss=LogCosh(), learning_rate=1.0).fit(X, y)
    assert np.all(np.diff(fitted.trace_.training) <= 1e-12)  # a best constant never does harm
    trees, z = fitted.trees_, np.full(len(y), fitted.start_[0])
    for tree in (trees[0][0], trees[1][0]):
        z = z + tree.value[tree.apply(X), 0, 0]
        leaf = tree.apply(X)
        slopes = np.bincount(leaf, np.tanh(z - y))
        np.testing.assert_allclose(slopes, 0, atol=1e-6)


def test_quantiles_have_their_share_of_targets_below():
    X, y = numbers(600)
    for level in (0.1, 0.5, 0.9):
        model = gapless.HistGradientBoostingRegressor("quantile", quantile=level, max_iter=30)
        assert np.mean(y <= model.fit(X, y).predict(X)) == pytest.approx(level, abs=0.06)


def test_monotone_columns_keep_their_promise_under_every_loss():
    X, y = numbers()
    for loss in ("squared_error", "absolute_error"):
        model = gapless.HistGradientBoostingRegressor(
            loss, monotonic_cst=[0, 1, 0, -1], max_iter=20, min_samples_leaf=3
        ).fit(X, y)
        grid = np.tile(X[:20, None], (1, 30, 1))
        for column, sign in ((1, 1), (3, -1)):
            moved = grid.copy()
            moved[:, :, column] = np.linspace(-3, 3, 30)
            found = model.predict(moved.reshape(-1, 4)).reshape(20, 30)
            assert np.all(sign * np.diff(found, axis=1) >= -1e-12)


def test_columns_of_different_groups_do_not_interact():
    X, y = numbers()
    model = gapless.HistGradientBoostingRegressor(interaction_cst=[[0, 1], [2, 3]]).fit(X, y)
    groups = [{0, 1}, {2, 3}]
    for (tree,) in model.trees_:
        paths = tree.decision_path(X).toarray().astype(bool)
        for passed in np.unique(paths, axis=0):
            used = {int(j) for j in tree.feature[passed] if j >= 0}
            assert any(used <= group for group in groups)


def test_rare_classes_do_not_make_steps_overshoot():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    y = np.where(X[:, 0] > 2.4, 2, (X[:, 1] > 0).astype(int))  # the third class is 1 % of the rows
    y[rng.random(3000) < 0.05] = 0
    model = gapless.HistGradientBoostingClassifier(max_iter=20).fit(X, y)
    assert np.all(np.diff(model.trace_.training) < 0)


# ---- early stopping ------------------------------------------------------------------------------


def test_rounds_end_when_held_out_rows_are_predicted_no_better():
    X, y = numbers(600)
    model = gapless.HistGradientBoostingRegressor(
        early_stopping=True, max_iter=500, n_iter_no_change=5, random_state=0
    ).fit(X, y)
    losses = model.trace_.validation
    assert model.n_iter_ < 500
    assert losses[-6] <= losses[-5:].min() + 1e-7
    np.testing.assert_array_equal(model.validation_score_, -losses)


def test_rows_held_out_are_those_that_are_given():
    X, y = numbers(600)
    form = {"early_stopping": True, "max_iter": 60}
    given = gapless.HistGradientBoostingRegressor(**form).fit(
        X[:400], y[:400], X_val=X[400:], y_val=y[400:]
    )
    rounds = list(given.staged_predict(X[400:]))
    expected = [0.5 * np.mean((y[400:] - z) ** 2) for z in rounds]
    np.testing.assert_allclose(given.trace_.validation[1:], expected, rtol=1e-9)


def test_scorers_judge_rounds():
    X, y = classes(2)
    model = gapless.HistGradientBoostingClassifier(
        early_stopping=True, scoring="accuracy", max_iter=40, random_state=0
    ).fit(X, y)
    assert len(model.validation_score_) == model.n_iter_ + 1
    assert np.all((model.validation_score_ >= 0) & (model.validation_score_ <= 1))


# ---- bundles -------------------------------------------------------------------------------------


def test_indicators_share_a_byte_and_change_nothing():
    rng = np.random.default_rng(0)
    level = rng.integers(30, size=500)
    x = rng.normal(size=500)
    dummies = np.eye(30)[level]
    y = rng.normal(size=30)[level] + x
    X = np.column_stack([x, dummies])
    model = gapless.HistGradientBoostingRegressor(max_iter=10, min_samples_leaf=5).fit(X, y)
    bins = model._training[0].table.bins
    assert bins.code.shape[1] == 2
    theirs = sklearn.ensemble.HistGradientBoostingRegressor(max_iter=10, min_samples_leaf=5)
    # x has more values than bins, which are then cut elsewhere.
    assert model.score(X, y) == pytest.approx(theirs.fit(X, y).score(X, y), abs=0.01)


def test_bundles_can_be_read_back():
    rng = np.random.default_rng(0)
    codes = [rng.integers(7, size=200).astype(np.uint8)]
    owner = rng.integers(5, size=200)
    codes += [np.where(owner == k, rng.integers(3, size=200), 1).astype(np.uint8) for k in range(4)]
    bins = Bundles.of(codes, [7, 3, 3, 3, 3], [False] * 5, [False] * 5, [0] * 5)
    assert bins.code.shape[1] == 2
    for j, own in enumerate(codes):
        bundle, first, count, frequent = bins.table[j, :4]
        found = np.full(200, frequent)
        for c in range(count):
            place = c if frequent < 0 else first + c - (c > frequent)
            if c != frequent:
                found[bins.code[:, bundle] == place] = c
        np.testing.assert_array_equal(found, own)


def test_pictures_show_the_trace():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    X, y = numbers(300)
    model = gapless.HistGradientBoostingRegressor(early_stopping=True, max_iter=15).fit(X, y)
    training, held, best = model.trace_.plot().lines
    np.testing.assert_array_equal(training.get_ydata(), model.trace_.training)
    np.testing.assert_array_equal(held.get_ydata(), model.trace_.validation)
    assert best.get_xdata()[0] == np.argmin(model.trace_.validation)


@pytest.mark.parametrize("early_stopping", [False, True])
def test_a_scorer_is_given_the_rows_of_the_caller(early_stopping):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=300), "b": rng.integers(0, 3, 300)})
    y = X["a"] + (X["b"] == 1)
    seen = []

    def scorer(model, rows, targets):
        known = X.loc[rows.index]
        pd.testing.assert_frame_equal(rows, known)
        np.testing.assert_array_equal(targets, y.loc[rows.index])
        some = rows[rows["a"] > 0]
        # Of other rows than all, and by the rounds so far.
        np.testing.assert_allclose(
            model.predict(some), model.predict(rows)[rows["a"] > 0], rtol=1e-12
        )
        seen.append(len(rows))
        return -np.mean((model.predict(rows) - targets) ** 2)

    model = gapless.HistGradientBoostingRegressor(
        max_iter=5, early_stopping=early_stopping, scoring=scorer, random_state=0
    ).fit(X, y)
    # Without early stopping the score is not needed, nor in scikit-learn.
    assert len(seen) == (12 if early_stopping else 0)
    assert sum(seen[:2]) == (300 if early_stopping else 0)
    if early_stopping:
        assert model.validation_score_[-1] > model.validation_score_[0]
