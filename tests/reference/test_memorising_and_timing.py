"""Over-fitting a few rows on purpose, and timing who is lazy."""

import itertools

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

import gapless
from gapless.evaluation import memorise, timed


def noise(rng, n=60):
    """Labels that have nothing to do with the rows: nothing can be learned, only memorised."""
    return rng.normal(size=(n, 5)), rng.integers(0, 3, size=n)


def test_a_rich_model_reproduces_noise_and_fails_elsewhere(rng):
    X, y = noise(rng, 200)
    found = memorise(gapless.SVC(C=1e6, gamma=1.0), X, y, rows=30)
    assert found.is_memorised and (found.rows, found.error) == (30, 0.0)
    assert found.unseen > 0.3
    assert str(found).startswith("memorised: 30 rows are reproduced, error 0 (")


def test_a_rigid_model_is_told_so(rng):
    X, y = noise(rng)
    found = memorise(gapless.DecisionTreeClassifier(max_depth=1), X, y, rows=40)
    assert not found.is_memorised and found.error > 0
    assert "weaken the penalty" in found.verdict
    # The error is that of the model on the rows it was given, counted by hand.
    assert found.error * 40 == pytest.approx(round(found.error * 40))


def test_numbers_are_reproduced_up_to_a_part_of_their_variance(rng):
    X = rng.normal(size=(40, 30))
    y = rng.normal(size=40)
    assert memorise(gapless.LinearRegression(), X, y, rows=20).is_memorised
    rigid = memorise(gapless.LinearRegression(), X[:, :2], y, rows=20)
    assert not rigid.is_memorised
    assert memorise(gapless.LinearRegression(), X[:, :2], y, rows=20, tol=1.0).is_memorised


def test_rows_of_one_x_do_not_contradict_each_other():
    X, y = np.repeat(np.arange(10.0), 2)[:, None], np.tile([0, 1, 1, 0], 5)
    found = memorise(gapless.DecisionTreeClassifier(), X, y, rows=10, random_state=3)
    assert found.rows == 10 and found.is_memorised


def test_all_rows_leave_nothing_unseen(rng):
    X, y = noise(rng, 20)
    found = memorise(gapless.DecisionTreeClassifier(), X, y, rows=100)
    assert found.rows == 20 and np.isnan(found.unseen) and "other rows" not in str(found)


@pytest.mark.parametrize("rows", [1, 2.5, "all"])
def test_a_number_of_rows_is_needed(rng, rows):
    with pytest.raises(ValueError, match="rows must be a whole number"):
        memorise(gapless.GaussianNB(), *noise(rng), rows=rows)


class Slow(ClassifierMixin, BaseEstimator):
    """Lets a clock run while it learns and while it predicts."""

    def __init__(self, clock, learning, predicting):
        self.clock, self.learning, self.predicting = clock, learning, predicting

    def __sklearn_clone__(self):
        return self

    def fit(self, X, y):
        self.clock[0] += next(self.learning)
        return self

    def predict(self, X):
        self.clock[0] += next(self.predicting)


def test_the_least_time_counts_and_says_who_is_lazy():
    clock = [0.0]
    models = {
        "neighbours": Slow(clock, itertools.cycle([0.5, 0.25, 1.0]), itertools.cycle([8.0, 2.0])),
        "tree": Slow(clock, itertools.cycle([4.0]), itertools.cycle([1.0])),
    }
    found = timed(models, np.zeros((7, 1)), np.zeros(7), timer=lambda: clock[0])
    assert [(one.fit_seconds, one.predict_seconds, one.kind) for one in found.models] == [
        (0.25, 2.0, "lazy"),
        (4.0, 1.0, "eager"),
    ]
    assert str(found).split("\n") == [
        "model       learn 7 rows  predict as many",
        "neighbours      0.2500 s         2.0000 s  lazy",
        "tree            4.0000 s         1.0000 s  eager",
    ]


def test_nothing_to_time_is_an_error():
    with pytest.raises(ValueError, match="models is empty"):
        timed({}, [[0.0]], [0])
    with pytest.raises(ValueError, match="repeats must be at least 1"):
        timed({"a": gapless.GaussianNB()}, [[0.0]], [0], repeats=0)
