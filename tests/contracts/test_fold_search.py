"""Strengths chosen by folds: few of them, scored as refits score them, where the best one is."""

import numpy as np
import pytest
import scipy.sparse as sp

import gapless
from gapless.linear.fold_search import WINDOW, search_by_folds
from gapless.linear.held_out import folds_of_rows
from gapless.linear.selection import fitted_of


def make_words(classes=2, n=80, d=300, mistakes=0.2, seed=3):
    """Rows of few words, of which some belong to a class, mostly that of the row."""
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
    for train, test in folds_of_rows(fitted):
        refit = cls(C=1 / trail.strengths[k], tol=1e-9).fit(X[train], y[train])
        expected[test] = refit.decision_function(X[test]).reshape(len(test), -1)
    found = trail.z[:, k]
    # Scores of softmax have a constant to spare.
    if classes > 2 and name == "LogisticRegression":
        found, expected = (z - z.mean(axis=1, keepdims=True) for z in (found, expected))
    np.testing.assert_allclose(found, expected, atol=0.02 * np.abs(expected).max())


@pytest.mark.parametrize("cls", [gapless.LogisticRegression, gapless.LinearSVC])
def test_few_strengths_are_enough(cls):
    X, y = make_words()
    model = cls(C="cv").fit(X, y)
    path = model.path_
    assert len(WINDOW) <= len(path.strengths) <= len(WINDOW) + 5
    assert np.all(np.diff(path.strengths) > 0)  # C rises where the strength falls
    assert model._choice.trails[0].method == "5-fold"
    assert "5-fold, corrected for the choice" in model.generalization_.method
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


def test_words_that_say_nothing_leave_the_score_at_chance():
    X, y = make_words()
    shuffled = np.random.default_rng(1).permutation(y)
    result = gapless.LogisticRegression(C="cv").fit(X, shuffled).generalization_
    assert abs(result.unseen - 0.5) <= 2.5 * result.standard_error


@pytest.mark.parametrize("model", [gapless.Ridge("cv"), gapless.Lasso("cv")])
def test_one_distinct_row_is_refused_in_words(model):
    X, y = np.ones((3, 2)), np.zeros(3)
    with pytest.raises(ValueError, match="cannot choose a strength"):
        model.fit(X, y)
