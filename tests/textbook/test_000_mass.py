"""Text 000: mass from height, body-mass index and age, by polynomials of order 1 to 4.

The text's own data is not printed, so what is kept is the pattern: mass = bmi·height², 30 points,
noise of 3 kg.
"""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from gapless import LinearRegression

ORDERS = (1, 2, 3, 4)


def draw(rng, n):
    height, bmi = rng.normal(1.7, 0.1, n), rng.normal(25, 4, n)
    X = np.column_stack([height, bmi, rng.uniform(20, 70, n)])
    return X, bmi * height**2 + rng.normal(0, 3, n)


def mean_squared_error(model, X, y):
    return float(np.mean((model.predict(X) - y) ** 2))


@pytest.fixture(params=range(5))
def errors(request):
    """Mean squared error on 30 training points and on 1,000 others, for each order."""
    rng = np.random.default_rng(request.param)
    X, y = draw(rng, 30)
    new = draw(rng, 1000)
    pairs = []
    for order in ORDERS:
        model = make_pipeline(StandardScaler(), PolynomialFeatures(order, include_bias=False))
        model = make_pipeline(model, LinearRegression()).fit(X, y)
        pairs.append((mean_squared_error(model, X, y), mean_squared_error(model, *new)))
    return np.array(pairs)


def test_there_are_20_and_35_monomials_of_order_3_and_4():
    counts = [PolynomialFeatures(order).fit(np.ones((1, 3))).n_output_features_ for order in (3, 4)]
    assert counts == [20, 35]


def test_training_error_falls_with_the_order_and_vanishes_when_monomials_outnumber_points(errors):
    train = errors[:, 0]
    assert np.all(np.diff(train) < 0)
    assert train[-1] < 1e-16 * train[0]


def test_test_error_explodes_where_the_training_error_vanishes(errors):
    test = errors[:, 1]
    assert test[-1] > 10 * test[0]


def test_age_has_no_weight():
    X, y = draw(np.random.default_rng(0), 3000)
    model = LinearRegression().fit(X, y)
    per_deviation = np.abs(model.coef_) * X.std(axis=0)
    assert per_deviation[2] < 0.05 * per_deviation[:2].min()
    assert model.coef_[0] > 50 and model.coef_[1] > 2 and model.intercept_ < -100
