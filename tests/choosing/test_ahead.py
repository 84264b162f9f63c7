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
    # Of 60 rows the one has 36 right and the other 30, of which the first has none wrong.
    y = np.tile([0, 1], 30)
    said = [np.where(np.arange(60) < right, y, 1 - y)[:, None] for right in (36, 30)]
    one, other = (DummyClassifier().fit(z, z[:, 0]) for z in said)
    one.predict, other.predict = lambda X: said[0][:, 0], lambda X: said[1][:, 0]
    metric = Metric("accuracy", np.array([0, 1]))
    assert metric.score(one, y, y).low < 0.5 < metric.score(other, y, y).high
    assert metric.ahead(one, other, y, y).low > 0
