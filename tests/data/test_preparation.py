"""Preparation: tables of all roles become features, new tables too, or the error names a column."""

import datetime
import warnings

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer

from gapless import HistGradientBoostingClassifier, LogisticRegression
from gapless.data import (
    DateParts,
    FrequentWords,
    TableError,
    TableFeatures,
    WordWeights,
    describe_columns,
    prepare,
    read_table,
    read_target,
    table_of,
)

N = 60
WORDS = ["red apple pie is good", "green pear tart is fine", "blue plum cake is nice"]


def mixed():
    """A table with a column of each role, and missing values in all of them."""
    holed = np.arange(N) % 7 == 3
    return table_of(
        {
            "size": [None if hole else float(k % 11) for k, hole in enumerate(holed)],
            "city": [None if hole else "ABC"[k % 3] for k, hole in enumerate(holed)],
            "flag": [k % 2 == 0 for k in range(N)],
            "when": [
                None if hole else datetime.datetime(2024, 1 + k % 12, 5, k % 24)
                for k, hole in enumerate(holed)
            ],
            "what": [None if hole else f"{WORDS[k % 3]} {k}" for k, hole in enumerate(holed)],
            "row": range(N),
            "y": ["yes" if k % 3 == 0 else "no" for k in range(N)],
        }
    )


@pytest.mark.parametrize(
    "kind, model",
    [("numbers", LogisticRegression()), ("table", HistGradientBoostingClassifier(max_iter=20))],
)
def test_models_learn_from_tables_of_all_roles(kind, model):
    table = mixed()
    columns, target = describe_columns(table, "y"), read_target(table, "y")
    assert [c.role for c in columns][:6] == ["number", "category", "category", "date", "text", "id"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pipeline = clone(prepare(columns, kind, model)).fit(table.frame, target.values)
        assert pipeline.score(table, target.values) > 0.9
        new = table.frame.with_columns(pl.lit("never seen").alias("city")).drop("y", "row")
        assert pipeline.predict(new[:5]).shape == (5,)
        assert (pipeline.predict(new) == pipeline.predict(new.select(reversed(new.columns)))).all()


def test_names_of_prepared_features():
    table = mixed()
    numbers = prepare(describe_columns(table, "y")).fit(table.frame)
    names = numbers.get_feature_names_out().tolist()
    assert names[:4] == ["size", "missingindicator_size", "city_(missing)", "city_A"]
    assert {"when days", "when hour", "apple"} <= set(names)
    as_table = prepare(describe_columns(table, "y"), "table").fit(table.frame)
    frame = as_table.transform(table.frame)
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns[:4] == ["size", "city", "flag", "when days"]
    assert frame.schema["city"] == pl.String and frame["city"].null_count() > 0


def test_new_tables_are_read_like_the_old_one():
    old = read_table(b"price;on;kind\n1,5 %;1.2.2024;a\n2;3.4.2024;b\n3,5;5.6.2024;a\n")
    features = TableFeatures(describe_columns(old)).fit(old)
    new = pl.DataFrame({"kind": [7], "on": ["6.7.2024"], "price": ["4,5"], "more": [0]})
    assert features.transform(new).rows() == [(4.5, datetime.datetime(2024, 7, 6), "7")]
    odd = new.with_columns(price=pl.lit("cheap"), on=pl.lit("soon"))
    assert features.transform(odd).rows() == [(None, None, "7")]
    with pytest.raises(TableError, match=r"lacks columns .*: 'on', 'kind'"):
        features.transform(new.select("price"))


def test_tables_of_pandas():
    pandas = pytest.importorskip("pandas")
    table = mixed()
    pipeline = prepare(describe_columns(table, "y"), "table").fit(table)
    frame = pandas.DataFrame({name: table.frame[name].to_list() for name in table.frame.columns})
    assert pipeline.transform(frame).equals(pipeline.transform(table))


def test_ten_thousand_levels_become_the_frequent_ones_and_the_rest():
    levels = [f"v{k % 10_000}" for k in range(20_000)] + ["often"] * 100
    table = table_of({"c": levels, "x": np.arange(20_100) % 7})
    features = TableFeatures(describe_columns(table), most_levels=50).fit(table)
    made = features.transform(table)["c"]
    assert made.n_unique() == 51
    assert {"often", "(other)"} <= set(made.unique())
    assert features.transform({"c": ["new", None], "x": [1, 2]})["c"].to_list() == ["(other)", None]


def test_parts_of_dates():
    moment = datetime.datetime(2024, 2, 29, 18, 30)
    frame = pl.DataFrame({"d": [moment, None]}, schema={"d": pl.Datetime("us")})
    parts = DateParts().fit(frame)
    days = (moment - datetime.datetime(1970, 1, 1)).total_seconds() / 86400
    np.testing.assert_allclose(parts.transform(frame)[0], [days, 2, 29, 4, 18.5])
    assert np.isnan(parts.transform(frame)[1]).all()
    assert parts.get_feature_names_out()[-1] == "d hour"
    midnight = pl.DataFrame({"d": [datetime.datetime(2024, 1, 1)]})
    assert DateParts().fit(midnight).transform(midnight).shape == (1, 4)


def test_parts_of_dates_for_lines_are_waves_and_days_of_the_week():
    days = [datetime.datetime(2024, 1, 1) + datetime.timedelta(k) for k in range(730)]
    frame = pl.DataFrame({"d": [*days, None]})
    parts = DateParts(for_lines=True).fit(frame)
    made, names = parts.transform(frame), parts.get_feature_names_out().tolist()
    assert made.shape == (731, len(names)) and np.isnan(made[-1]).all()
    at = {name: made[:-1, k] for k, name in enumerate(names)}
    np.testing.assert_array_equal(at["d Monday"], np.arange(730) % 7 == 0)
    np.testing.assert_allclose(at["d year (sine)"] ** 2 + at["d year (cosine)"] ** 2, 1.0)
    # A straight model of them follows any week, and a season.
    y = (np.arange(730) % 7) ** 2 + np.cos(2 * np.pi * np.arange(730) / 365.25)
    off = y - made[:-1] @ np.linalg.lstsq(made[:-1], y, rcond=None)[0]
    assert off.std() < 0.02


def test_the_date_that_orders_rows_is_a_feature():
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(k) for k in range(40)]
    table = table_of(
        {"day": days, "step": list(range(1, 81, 2)), "y": [0.5 * k for k in range(40)]}
    )
    by_day = prepare(describe_columns(table, "y", time="day")).fit(table.frame)
    assert "day Monday" in by_day.get_feature_names_out()
    by_step = {c.name: c for c in describe_columns(table, "y", time="step")}
    assert by_step["day"].is_feature and not by_step["step"].is_feature


def test_frequent_words():
    texts = pl.Series("t", ["to be or not to be", "not now", ""])
    words = FrequentWords(2).fit(texts)
    assert words.words_ == ["be", "not"]
    np.testing.assert_allclose(words.transform(texts), np.log1p([[2, 1], [0, 1], [0, 0]]))
    assert words.get_feature_names_out().tolist() == ["t: be", "t: not"]


def test_words_are_weighed_as_scikit_learn_weighs_them():
    texts = pl.Series("t", ["to be or not to be", "not now, not ever", "", "be here now"])
    new = pl.Series("t", ["be or be unheard of", "ever ever", ""])
    ours, theirs = WordWeights(), TfidfVectorizer(sublinear_tf=True)
    expected = theirs.fit_transform(texts.to_list()).toarray()
    np.testing.assert_allclose(ours.fit_transform(texts).toarray(), expected, rtol=1e-14)
    np.testing.assert_allclose(
        ours.transform(new).toarray(), theirs.transform(new.to_list()).toarray(), rtol=1e-14
    )
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    # Of equally frequent words the first are kept.
    assert list(WordWeights(4).fit(texts).vocabulary_) == ["be", "not", "now", "to"]
    assert list(WordWeights(5).fit(texts).vocabulary_) == ["be", "ever", "not", "now", "to"]
    with pytest.raises(ValueError, match="empty vocabulary"):
        WordWeights().fit(pl.Series("t", ["", "a"]))


def test_a_table_without_features_is_named():
    table = table_of({"y": [1, 2] * 20, "row": range(40)})
    with pytest.raises(TableError, match="no column is left"):
        prepare(describe_columns(table, "y")).fit(table)
    with pytest.raises(ValueError, match='"numbers", "components"'):
        prepare((), "else")


def test_numbers_alone_are_read_as_among_others():
    values = {"a": [1, 2, 3, 4], "b": [0.5, None, float("inf"), 2.5], "c": [4.0, 3.0, 2.0, 1.0]}
    table = table_of({**values, "y": [1.5, 2.5, 3.5, 4.5]})
    columns = describe_columns(table, "y")
    whole = [column for column in columns if column.name in "ac"]
    alone = TableFeatures(whole).fit_transform(table)
    assert alone.equals(TableFeatures(columns).fit(table).transform(table).select("a", "c"))
    assert set(alone.dtypes) == {pl.Float64}
    assert alone.equals(TableFeatures(whole).fit(table).transform(pl.DataFrame(values)))
    gaps = TableFeatures([column for column in columns if column.name == "b"]).fit(table)
    assert gaps.transform(pl.DataFrame(values))["b"].to_list() == [0.5, None, None, 2.5]
