"""Strengths chosen by folds: few of them, scored as refits score them, where the best one is."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import gapless
from gapless._ground import interrupt
from gapless.models.linear import tuning
from gapless.models.linear.problems import fitted_of
from gapless.models.linear.tuning import WINDOW, search_by_folds


def make_words(classes=2, n=80, d=300, mistakes=0.2, seed=3):
    """Rows of few words; some words belong to a class, mostly that of the row."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, size=n)
    X = sp.random(n, d, density=0.03, format="lil", random_state=seed)
    for row, label in enumerate(np.where(rng.random(n) < mistakes, rng.permutation(y), y)):
        X[row, 5 * label + rng.integers(0, 5, size=2)] = 1.0
    return X.tocsr(), y


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", ["LogisticRegression", "LinearSVC"])
def test_scores_of_held_out_rows_are_those_of_refits(name, classes):
    X, y = make_words(classes)
    cls = getattr(gapless, name)
    unit = cls(C=1.0)
    fitted = fitted_of(unit, unit._read(X, y, None))
    trail = search_by_folds(fitted, None)
    k, expected = 2, np.zeros((len(y), trail.z.shape[2]))
    for train, test in fitted.folds():
        refit = cls(C=1 / trail.strengths[k], tol=1e-9).fit(X[train], y[train])
        expected[test] = refit.decision_function(X[test]).reshape(len(test), -1)
    found = trail.z[:, k]
    # Scores of softmax have a constant to spare.
    if classes > 2 and name == "LogisticRegression":
        found, expected = (z - z.mean(axis=1, keepdims=True) for z in (found, expected))
    np.testing.assert_allclose(found, expected, atol=0.02 * np.abs(expected).max())


@pytest.mark.parametrize("cls", [gapless.LogisticRegression, gapless.LinearSVC])
@pytest.mark.usefixtures("no_verdict")
def test_few_strengths_are_enough(cls):
    X, y = make_words()
    model = cls(C="cv").fit(X, y)
    path = model.path_
    assert len(WINDOW) <= len(path.strengths) <= len(WINDOW) + 5
    assert np.all(np.diff(path.strengths) > 0)  # C rises where the strength falls
    assert model._choice.paths[0].method == "5-fold"
    assert "5-fold, corrected for selection" in model.generalization_.method
    assert model.generalization_.unseen > 0.6


def test_small_direction_that_says_all_is_found():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)) * [1, 1, 1, 1e-3]
    y = 1000 * X[:, 3]
    assert gapless.Ridge("cv").fit(X, y).score(X, y) > 0.99


def test_window_grows_towards_the_best():
    """Words that separate the classes are the more sure the weaker the penalty."""
    path = gapless.LogisticRegression(C="cv").fit(*make_words(mistakes=0.0)).path_
    assert path.chosen >= len(WINDOW)
    assert path.unseen[path.chosen] > path.unseen[len(WINDOW) - 1]


@pytest.mark.usefixtures("no_verdict")
def test_words_that_say_nothing_leave_the_score_at_chance():
    X, y = make_words()
    shuffled = np.random.default_rng(1).permutation(y)
    result = gapless.LogisticRegression(C="cv").fit(X, shuffled).generalization_
    assert abs(result.unseen - 0.5) <= 2.5 * result.standard_error


@pytest.mark.parametrize("model", [gapless.LogisticRegression(C="cv"), gapless.LinearSVC(C="cv")])
def test_weight_2_is_a_row_twice_and_weight_0_none_for_the_strengths(model):
    X, y = make_words(3, d=100)
    weights = np.arange(len(y)) % 3
    repeated = np.repeat(np.arange(len(y)), weights)
    weighted = clone(model).fit(X, y, sample_weight=weights)
    expected = clone(model).fit(X[repeated], y[repeated])
    np.testing.assert_allclose(weighted.path_.strengths, expected.path_.strengths, rtol=1e-9)
    np.testing.assert_allclose(weighted.path_.unseen, expected.path_.unseen, rtol=1e-6)


@pytest.mark.parametrize("model", [gapless.Ridge("cv"), gapless.Lasso("cv")])
def test_one_distinct_row_is_refused_in_words(model):
    X, y = np.ones((3, 2)), np.zeros(3)
    with pytest.raises(ValueError, match="cannot choose a strength"):
        model.fit(X, y)


# ---- samples, rare classes, callbacks ------------------------------------------------------------


@pytest.fixture
def small_samples(monkeypatch):
    """Samples of a quarter of 400 rows and more, whatever their entries."""
    monkeypatch.setattr(tuning, "MOST_IN_FOLDS", 10)
    monkeypatch.setattr(tuning, "FEWEST", 100)
    monkeypatch.setattr(tuning, "FEW", 50)


@pytest.mark.parametrize("model", [gapless.LogisticRegression(C="cv"), gapless.LinearSVC(C="cv")])
@pytest.mark.usefixtures("no_verdict")
def test_sample_of_large_data_decides_and_all_rows_are_fitted(model, small_samples):
    X, y = make_words(3, n=400, d=100)
    fitted = clone(model).fit(X, y)
    [trail] = fitted._choice.paths
    assert trail.method == "hold-out of 20 of a sample of 100"
    again = clone(model).set_params(C=fitted.C_).fit(X, y)
    np.testing.assert_array_equal(fitted.coef_, again.coef_)
    assert fitted.path_.unseen[fitted.path_.chosen] == fitted.path_.unseen.max()
    assert "not corrected for the selection of C" in fitted.generalization_.method
    order = np.random.default_rng(0).permutation(len(y))
    shuffled = clone(model).fit(X[order], y[order])
    np.testing.assert_allclose(shuffled.C_, fitted.C_, rtol=1e-9)


@pytest.mark.parametrize("averages", [False, True])
def test_strength_of_a_sample_is_that_of_all_rows(averages, small_samples):
    """Against the sum of losses it is the same; against their mean it falls with the rows."""
    X, y = make_words(n=800)
    unit = gapless.Ridge(alpha=1.0)
    fitted = replace(fitted_of(unit, unit._read(X, y.astype(float), None)), averages=averages)
    trail = search_by_folds(fitted, None)
    assert trail.is_sample and len(trail.rows) == 200
    part = fitted.part(trail.rows)
    top = tuning.largest_strength(part.problems) * (4.0 if averages else 1.0)
    assert trail.strengths[0] == pytest.approx(10 * top / (10 * 200))


@pytest.mark.usefixtures("no_verdict")
def test_classes_that_a_fold_has_not_seen_do_not_decide():
    X, y = make_words(3, d=100)
    rare = np.where(np.arange(len(y)) == 0, 3, y)
    models = [gapless.LogisticRegression(C="cv", l1_ratio=r).fit(X, rare) for r in (0.0, 1.0)]
    usual = gapless.LogisticRegression(C="cv").fit(X, y).path_
    assert np.max(np.abs(models[0].path_.unseen[:5] - usual.unseen[:5])) < 0.2
    assert all("not corrected" in model.generalization_.method for model in models)
    with pytest.raises(ValueError, match="no class has rows on both sides of a fold"):
        gapless.LogisticRegression(C="cv").fit(X[:3], [0, 1, 2])


@pytest.mark.parametrize("ratio", [0.0, 1.0])
@pytest.mark.parametrize("word", ["cv", "loo"])
def test_callback_that_stops_a_search_is_told_from_the_clock(word, ratio):
    X, y = make_words()
    model = gapless.LogisticRegression(C=word, l1_ratio=ratio)
    calls = itertools.count()
    choice = model._choose(model._read(X, y, None), lambda trace, target: next(calls) > 3)
    assert choice.status == "callback"
    data = model._read(X, y, None)
    with interrupt.time_limit(0.0):  # on a busy machine it passes before the search itself begins
        assert model._choose_in_time(data, None)[0].status == "time_limit"


def test_all_rows_of_middling_data_are_in_one_fold_and_few_rows_in_five(small_samples):
    methods = []
    for n in (40, 90):
        X, y = make_words(n=n)
        unit = gapless.LogisticRegression(C=1.0)
        methods.append(search_by_folds(fitted_of(unit, unit._read(X, y, None)), None).method)
    assert methods == ["5-fold", "hold-out of 18 of a sample of 90"]
