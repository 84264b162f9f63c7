"""Nearest neighbours in seed 004: tables 9.9 to 9.13, customers who may leave."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from gapless import KNeighborsClassifier, NearestNeighbors
from gapless.data import load_builtin

TABLE, LEFT = load_builtin("customers", return_X_y=True)
CUSTOMERS = pd.DataFrame(TABLE.to_dict(as_series=False))
NEW = pd.DataFrame({"gender": ["female"], "age": [45], "salary": [100_000]})
# The Euclidean row of table 9.10 was computed with another salary.
NEW_FOR_EUCLID = NEW.assign(salary=45_000)
TABLES = pytest.mark.parametrize("frame", [pd.DataFrame, pl.from_pandas], ids=["pandas", "polars"])


def distances_of(metric, new, frame):
    model = NearestNeighbors(n_neighbors=5, metric=metric).fit(frame(CUSTOMERS))
    distances, rows = model.kneighbors(frame(new))
    return distances[0][np.argsort(rows[0])], (rows[0] + 1).tolist()


@TABLES
def test_table_9_10(frame):
    total, order = distances_of("mixed", NEW, frame)
    assert total.round(3).tolist() == [1.662, 1.659, 1.338, 1.003, 1.640]
    assert (total / 3).round(3).tolist() == [0.554, 0.553, 0.446, 0.334, 0.547]
    assert order == [4, 3, 5, 2, 1]
    euclid, order = distances_of("mixed_euclidean", NEW_FOR_EUCLID, frame)
    assert euclid.round(3).tolist() == [0.781, 1.052, 1.251, 0.494, 1.000]
    assert order == [4, 1, 5, 2, 3]


@TABLES
@pytest.mark.parametrize(
    "metric, new, votes",
    [
        ("mixed", NEW, ["yes 100%", "yes 100%", "yes 67%", "yes 75%", "yes 60%"]),
        (
            "mixed_euclidean",
            NEW_FOR_EUCLID,
            ["yes 100%", "yes 50%", "no 67%", "yes 50%", "yes 60%"],
        ),
    ],
)
def test_tables_9_12_and_9_13(metric, new, votes, frame):
    for k, expected in enumerate(votes, start=1):
        model = KNeighborsClassifier(k, metric=metric, ties="nearest").fit(frame(CUSTOMERS), LEFT)
        label, confidence = model.predict_with_confidence(frame(new))
        assert f"{label[0]} {confidence[0]:.0%}" == expected
        assert confidence[0] == pytest.approx(model.predict_proba(frame(new)).max())


def test_tied_votes_go_to_the_first_class_unless_told():
    model = KNeighborsClassifier(2, metric="mixed_euclidean").fit(CUSTOMERS, LEFT)
    assert model.predict(NEW_FOR_EUCLID)[0] == "no"
    assert model.set_params(ties="nearest").predict(NEW_FOR_EUCLID)[0] == "yes"


def test_weight_factors_of_the_vote():
    """w = 1/d²: the vote of a neighbour at half the distance counts four times."""
    X, y = [[1.0], [-2.0], [-2.0], [-2.0]], [0, 1, 1, 1]
    votes = KNeighborsClassifier(4, weights="squared_distance").fit(X, y).predict_proba([[0.0]])
    np.testing.assert_allclose(votes, [[4 / 7, 3 / 7]])
    votes = KNeighborsClassifier(4, weights="distance").fit(X, y).predict_proba([[0.0]])
    np.testing.assert_allclose(votes, [[2 / 5, 3 / 5]])


def test_missing_values_are_as_far_as_they_can_be():
    table = pd.DataFrame({"kind": ["a", None, "b"], "size": [0.0, 1.0, np.nan]})
    model = NearestNeighbors(n_neighbors=3, metric="mixed").fit(table)
    distances, rows = model.kneighbors(pd.DataFrame({"kind": ["a"], "size": [0.25]}))
    # The size 0.25 is at most 0.75 away from what is missing; a kind that is missing differs.
    assert dict(zip(rows[0], distances[0])) == pytest.approx({0: 0.25, 1: 1.75, 2: 1.75})
    both = model.kneighbors(pd.DataFrame({"kind": ["b"], "size": [np.nan]}))
    assert dict(zip(both[1][0], both[0][0]))[2] == pytest.approx(1.0)
