"""What nearest-neighbour estimators warn of, and what they refuse, says what to do."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier
from sklearn.datasets import load_wine

from gapless import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors

every_class = pytest.mark.parametrize("cls", [KNeighborsClassifier, KNeighborsRegressor])
PROBES = np.random.default_rng(1).normal(size=(25, 4))


def make_data(cls, n=70):
    X = np.random.default_rng(20240608).normal(size=(n, 4))
    score = X[:, 0] + np.sin(2 * X[:, 1])
    return X, np.where(score > 0, "apple", "pear") if is_classifier(cls()) else score


@every_class
def test_columns_without_a_say_are_named_with_the_cure(cls):
    X, y = make_data(cls)
    with pytest.warns(UserWarning, match=r"column 2 is .* column 1 .*StandardScaler"):
        cls().fit(X * [1.0, 1e-4, 1e5, 1.0], y)
    with pytest.warns(UserWarning, match=r"column 'money' is .* column 'size'"):
        cls().fit(pd.DataFrame({"size": X[:, 0], "money": 1e5 * X[:, 1]}), y)


def test_wine_warns_of_its_scales_and_constant_columns_do_not(recwarn):
    X, y = load_wine(return_X_y=True)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    constant = np.hstack([scaled[:, :3], np.full((len(X), 4), [0.1, 0.3, 0.7, 1e6 / 3])])
    for dtype in (np.float32, np.float64):
        KNeighborsClassifier().fit(constant.astype(dtype), y)
    assert not recwarn.list
    with pytest.warns(UserWarning, match="hardly affect"):
        KNeighborsClassifier().fit(X, y)


@pytest.mark.parametrize("cls", [KNeighborsClassifier, KNeighborsRegressor])
def test_pixels_that_hardly_vary_are_no_reason_to_warn(cls, recwarn):
    X, y = make_data(cls)
    cls().fit(np.hstack([X, 1e-3 * X[:, :2]]), y)
    assert not recwarn.list


def test_missing_faiss_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "faiss", None)
    with pytest.raises(ImportError, match=r"pip install gapless\[faiss\]"):
        NearestNeighbors(algorithm="faiss").fit(np.eye(3))


def test_faiss_is_asked_where_it_is_there(monkeypatch):
    class Flat:
        """What faiss does, exactly."""

        def __init__(self, d, links):
            self.X = np.zeros((0, d), dtype=np.float32)

        def add(self, X):
            self.X = np.vstack([self.X, X])

        def search(self, Q, k):
            squares = np.sum((Q[:, None] - self.X) ** 2, axis=2)
            rows = np.argsort(squares, axis=1, kind="stable")[:, :k]
            return np.take_along_axis(squares, rows, axis=1), rows

    module = type("faiss", (), {"IndexHNSWFlat": Flat})
    monkeypatch.setitem(__import__("sys").modules, "faiss", module)
    X, y = make_data(KNeighborsRegressor)
    for form in ({}, {"metric": "cosine"}):
        one = KNeighborsRegressor(**form).fit(X, y)
        other = KNeighborsRegressor(algorithm="faiss", **form).fit(X, y)
        np.testing.assert_allclose(other.predict(PROBES), one.predict(PROBES), rtol=1e-5)
        assert other.score(None, y) == pytest.approx(one.score(None, y), rel=1e-5)


@every_class
def test_more_neighbours_than_rows_are_an_error(cls):
    X, y = make_data(cls, n=10)
    with pytest.raises(ValueError, match="n_neighbors <= n_samples_fit"):
        cls(11).fit(X, y).predict(X)
    with pytest.raises(ValueError, match="n_neighbors < n_samples_fit"):
        cls(10).fit(X, y).predict(None)
    with pytest.raises(ValueError, match="n_samples_fit = 1, the sum of the weights"):
        cls(5).fit(X, y, np.full(10, 0.1)).predict(X)
    assert len(cls(1).fit(X, y, np.full(10, 0.1)).predict(X)) == 10
    with pytest.raises(ValueError, match="nothing would be left"):
        cls("loo").fit(X[[0, 0]], y[[0, 0]])


@every_class
def test_functions_must_make_votes(cls):
    X, y = make_data(cls)
    for function, what in (
        (lambda d: 1 / d, "returned inf for the distance 0"),
        (lambda d: -d, "returned -"),
    ):
        with pytest.raises(ValueError, match=what), np.errstate(divide="ignore"):
            cls(weights=function).fit(X, y).predict(X)
    with pytest.raises(ValueError, match="one number ≥ 0 for each distance"):
        cls(weights=lambda d: 1.0).fit(X, y).predict(X)


@every_class
def test_a_function_sees_no_more_rows_than_vote(cls):
    X, y = make_data(cls)
    seen = []

    def spy(distances):
        seen.append(distances.shape[1])
        return np.ones_like(distances)

    cls(3, weights=spy, ties="nearest").fit(X, y).predict(PROBES)
    assert set(seen) == {3}


def test_parameters_without_a_use_are_refused():
    X, y = make_data(KNeighborsClassifier)
    with pytest.raises(ValueError, match="categorical_features need mixed rows"):
        KNeighborsClassifier(categorical_features=[0]).fit(X, y)
    with pytest.raises(ValueError, match="no metric_params"):
        KNeighborsClassifier(metric="mixed", metric_params={"w": np.ones(4)}).fit(X, y)
    model = NearestNeighbors(radius=None).fit(X)
    with pytest.raises(ValueError, match="radius is not set"):
        model.radius_neighbors(X)
    with pytest.raises(ValueError, match="one for each row"):
        model.radius_neighbors(X[:3], [1.0, 2.0])
    with pytest.raises(ValueError, match="intervals need new rows"):
        KNeighborsRegressor().fit(X, X[:, 0]).predict(None, interval=0.9)
