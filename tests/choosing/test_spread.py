"""Prediction intervals are wide where errors are large, and hold the share that they promise."""

import numpy as np
import polars as pl
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gapless
from gapless._ground.interrupt import TimeLimit, time_limit
from gapless.choosing import TableModel
from gapless.choosing.spread import FEWEST
from gapless.data import describe_columns, prepare, table_of
from gapless.model_io import ModelFileError

SPREADS = {
    "equal": lambda x, mean: np.ones(len(x)),
    "by a column": lambda x, mean: np.where(x[:, 2] > 1, 3.0, 0.5),
    "by the prediction": lambda x, mean: 0.2 + 0.3 * np.abs(mean),
}


def drawn(n, spread, rng):
    """A table, and how large its noise is in each row."""
    x = rng.uniform(-2, 2, (n, 3))
    mean = 3 * x[:, 0] + x[:, 1]
    size = SPREADS[spread](x, mean)
    y = mean + size * rng.normal(size=n)
    return pl.DataFrame({**{f"x{k}": x[:, k] for k in range(3)}, "y": y}), size


def fitted(table, held):
    """A model, and its predictions for held-out rows."""
    columns = describe_columns(table_of(table), "y")
    model = TableModel(prepare(columns, "numbers", gapless.Ridge()), "y").fit(table)
    predicted = model.predict(held)
    residuals = held["y"].to_numpy() - predicted
    return model.expect(0.5, 0.1, residuals), predicted, residuals


def covered(model, table):
    """Which targets are inside of intervals of 90 %."""
    found = model.predict_interval(table)
    y = table["y"].to_numpy()
    return (found.lower <= y) & (y <= found.upper)


@pytest.mark.parametrize("spread", SPREADS)
def test_intervals_hold_their_share_everywhere(spread):
    rng = np.random.default_rng(3)
    (train, _), (held, _) = drawn(500, spread, rng), drawn(1500, spread, rng)
    test, size = drawn(5000, spread, rng)
    model, predicted, residuals = fitted(train, held)
    equal = covered(model, test)
    own = covered(model.tell_apart(held, predicted, residuals), test)
    # 3 standard deviations: of 1,500 errors that set the width, and of 5,000 rows that are counted.
    assert own.mean() == pytest.approx(0.9, abs=3 * np.sqrt(0.09 / 1500 + 0.09 / 5000))
    if spread == "equal":
        assert model.spread_ is None and (own == equal).all()
        return
    loud = size >= np.quantile(size, 0.8)
    assert abs(own[loud].mean() - 0.9) < 0.05 < 0.1 < abs(equal[loud].mean() - 0.9)
    widths = np.subtract(*model.predict_interval(test)[:0:-1])
    assert np.corrcoef(widths, size)[0, 1] > 0.9


def test_what_is_known_of_groups_is_not_taken_for_what_is_known_of_new_ones():
    """A column that names the group shows how noisy it is, but says nothing about another group."""
    rng = np.random.default_rng(8)

    def of_groups(count):
        group = np.repeat(np.arange(count), 20)
        z, size = rng.normal(size=count)[group], np.exp(rng.normal(size=count))[group]
        x = rng.normal(size=20 * count)
        y = x + size * rng.normal(size=20 * count)
        return pl.DataFrame({"x": x, "z": z, "y": y}), group

    (held, group), (test, _) = of_groups(60), of_groups(600)
    model, predicted, residuals = fitted(held, held)
    assert covered(model.tell_apart(held, predicted, residuals), test).mean() < 0.86
    honest = model.tell_apart(held, predicted, residuals, group)
    assert honest.spread_ is None and covered(honest, test).mean() > 0.88
    table = held.with_columns(group=pl.Series(group))
    by_group = {"models": "ridge regression", "group": "group", "time_limit": None}
    assert gapless.choose(table, "y", **by_group).model.spread_ is None


def test_few_errors_tell_nothing():
    rng = np.random.default_rng(4)
    held, _ = drawn(FEWEST - 1, "by a column", rng)
    model, predicted, residuals = fitted(held, held)
    before = model.residuals_
    assert model.tell_apart(held, predicted, residuals).spread_ is None
    np.testing.assert_array_equal(model.residuals_, before)


def test_spreads_are_saved(tmp_path):
    rng = np.random.default_rng(5)
    held, _ = drawn(400, "by a column", rng)
    model = fitted(held, held)[0].tell_apart(held, *fitted(held, held)[1:])
    again = gapless.load(gapless.save(model, tmp_path / "m.gapless"))
    # A column that has the name of the one that spreads are learned from is of no account.
    new = held.with_columns(prediction=pl.lit("no number"))
    for one, other in zip(model.predict_interval(held), again.predict_interval(new)):
        np.testing.assert_array_equal(one, other)
    assert len(again.predict_interval(held[:1]).upper) == 1


def test_spreads_that_take_no_tables_are_refused(tmp_path):
    held, _ = drawn(50, "equal", np.random.default_rng(5))
    model, *_ = fitted(held, held)
    model.spread_ = make_pipeline(StandardScaler(), gapless.Ridge())
    with pytest.raises(ModelFileError, match="does not accept tables"):
        gapless.load(gapless.save(model, tmp_path / "m.gapless"))


def test_time_limits_are_kept():
    held, _ = drawn(400, "by a column", np.random.default_rng(6))
    model, predicted, residuals = fitted(held, held)
    with time_limit(0.0), pytest.raises(TimeLimit):
        model.tell_apart(held, predicted, residuals)
    assert model.spread_ is None and len(model.residuals_)


def test_choosing_learns_where_errors_are_large():
    table, size = drawn(600, "by a column", np.random.default_rng(7))
    choice = gapless.choose(table, "y", models="ridge regression", time_limit=None)
    widths = choice.answers.upper - choice.answers.lower
    assert np.corrcoef(widths, size[choice.split.test])[0, 1] > 0.9
