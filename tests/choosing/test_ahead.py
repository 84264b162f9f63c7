"""How far a model is ahead of another on the same rows, in whatever it is measured by."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor

from gapless import GaussianNB, Ridge
from gapless.choosing.metric import ASKS, MEAN_COST, OF_NUMBERS, Metric

COSTS = np.array([[0.0, 1.0], [5.0, 0.0]])


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    return X, X[:, 0] + 0.5 * rng.normal(size=300)


@pytest.mark.parametrize("name", ASKS)
def test_better_models_are_ahead_in_every_metric_and_others_behind(name, rows):
    X, y = rows
    if name in OF_NUMBERS:
        metric, one, other = Metric(name), Ridge(), DummyRegressor()
    else:
        y = (y > 0.3).astype(int)
        costs = COSTS if name == MEAN_COST else None
        metric, one, other = Metric(name, np.unique(y), costs), GaussianNB(), DummyClassifier()
    one.fit(X, y), other.fit(X, y)
    ahead = metric.ahead(one, other, X, y)
    assert ahead.low > 0, "the interval of a difference of the same rows does not hold 0"
    assert ahead.value == pytest.approx(metric(one, X, y) - metric(other, X, y))
    back = metric.ahead(other, one, X, y)
    assert back.value == pytest.approx(-ahead.value) and back.high < 0


def test_the_same_rows_tell_more_than_two_intervals_that_overlap():
    # Of 60 rows one has 36 right and the other 30, of which the first has none wrong.
    y = np.tile([0, 1], 30)
    said = [np.where(np.arange(60) < right, y, 1 - y)[:, None] for right in (36, 30)]
    one, other = (DummyClassifier().fit(z, z[:, 0]) for z in said)
    one.predict, other.predict = lambda X: said[0][:, 0], lambda X: said[1][:, 0]
    metric = Metric("accuracy", np.array([0, 1]))
    assert metric.score(one, y, y).low < 0.5 < metric.score(other, y, y).high
    assert metric.ahead(one, other, y, y).low > 0


# ---- groups --------------------------------------------------------------------------------------


class _Said:
    """Says what it was given."""

    def __init__(self, said, probabilities=None):
        self.said, self.probabilities = said, probabilities

    def predict(self, X):
        return self.said

    def predict_proba(self, X):
        return self.probabilities


def _in_groups(name, seed, groups=12, rows=10):
    """Rows whose errors are alike within groups: metric, what a model says, targets, groups."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(groups), rows)
    x, alike = rng.normal(size=(2, groups * rows)), rng.normal(size=groups)[group]
    if name in OF_NUMBERS:
        return Metric(name), _Said(x[0]), x[0] + alike + 0.5 * x[1], group
    y = (x[0] > 0).astype(int)
    p = 1 / (1 + np.exp(-(x[0] * (1 + alike) + 0.5 * x[1])))
    costs = COSTS if name == MEAN_COST else None
    said = _Said((p > 0.5).astype(int), np.column_stack([1 - p, p]))
    return Metric(name, np.array([0, 1]), costs), said, y, group


@pytest.mark.parametrize("name", ["accuracy", "log_loss", "r2", "rmse", MEAN_COST])
def test_intervals_over_groups_hold_the_truth_where_those_over_rows_do_not(name):
    metric, said, y, _ = _in_groups(name, 0, groups=4000)
    truth, held = metric.score(said, y, y).value, np.zeros(2)
    for seed in range(1, 61):
        metric, said, y, group = _in_groups(name, seed)
        for k, labels in enumerate((None, group)):
            score = metric.score(said, y, y, labels)
            held[k] += score.low <= truth <= score.high
    # 57 of 60 are to be expected; fewer than 52 would happen in 1 of 100 such tests.
    assert held[1] >= 52 > held[0]


@pytest.mark.parametrize("name", ASKS)
def test_groups_change_intervals_and_not_the_number(name):
    metric, said, y, group = _in_groups(name, 3)
    by_rows, by_groups = metric.score(said, y, y), metric.score(said, y, y, group)
    assert by_groups.value == by_rows.value and by_groups.name == by_rows.name
    assert by_groups.low < by_groups.value < by_groups.high
    assert by_groups.method.endswith(", by 12 groups")
    constant = np.zeros(len(y), dtype=int) if name not in OF_NUMBERS else np.zeros(len(y))
    null = _Said(constant, np.full((len(y), 2), 0.5))
    rows, groups = (metric.ahead(said, null, y, y, labels) for labels in (None, group))
    assert groups.value == pytest.approx(rows.value) and groups.name == rows.name
    assert groups.low < groups.value < groups.high


def test_groups_of_one_row_are_rows():
    metric, said, y, _ = _in_groups("r2", 5)
    alone = metric.score(said, y, y, np.arange(len(y)))
    rows = metric.score(said, y, y)
    assert (alone.low, alone.high) == pytest.approx((rows.low, rows.high))
