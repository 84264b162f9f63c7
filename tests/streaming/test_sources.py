"""Anything with rows opens as the same table in parts; what cannot be read is named."""

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from tables import NAMES, ROWS, make_table

from gapless import LogisticRegression, Ridge, in_parts
from gapless.streaming import Unreadable, is_in_parts

TABLE = make_table().select([*NAMES, "number", "count"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The table as files of several kinds."""
    folder = tmp_path_factory.mktemp("tables")
    TABLE.write_parquet(folder / "rows.parquet", row_group_size=200)
    TABLE.write_csv(folder / "rows.csv")
    TABLE.write_csv(folder / "rows.tsv", separator="\t")
    TABLE.write_ipc(folder / "rows.arrow")
    (folder / "several").mkdir()
    for k, first in enumerate(range(0, len(TABLE), 400)):
        TABLE[first : first + 400].write_parquet(folder / "several" / f"{k}.parquet")
    return folder


def opened_in_every_way(folder):
    several = sorted((folder / "several").iterdir())
    yield TABLE
    yield TABLE.to_pandas()
    yield TABLE.lazy()
    yield folder / "rows.parquet"
    yield str(folder / "rows.csv")
    yield folder / "rows.tsv"
    yield folder / "rows.arrow"
    yield folder / "several"
    yield several
    yield ds.dataset(folder / "rows.parquet")
    yield ds.dataset(TABLE.to_arrow())


def test_all_sources_give_the_same_rows(folder):
    expected = TABLE.to_numpy()
    for source in opened_in_every_way(folder):
        parts = in_parts(source, rows=ROWS)
        assert parts.shape == TABLE.shape and len(parts) == -(-len(TABLE) // ROWS)
        np.testing.assert_allclose(np.vstack(list(parts)), expected, rtol=1e-14)
        sums = list(parts.map(lambda part: part.sum()))
        assert len(sums) == len(parts)


def test_models_take_sources_as_they_are(folder):
    whole = Ridge().fit(TABLE.select([*NAMES, "count"]), TABLE["number"])
    for source in (folder / "rows.parquet", str(folder / "rows.csv"), TABLE.lazy()):
        assert is_in_parts(source)
        model = Ridge().fit(source, "number")
        np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9)
        assert model.feature_names_in_.tolist() == [*NAMES, "count"]
    for other in (TABLE, TABLE.to_numpy(), "a text", ["a text", "rows.csv"], [[1.0]], []):
        assert not is_in_parts(other)


def test_the_size_of_a_part_depends_on_the_columns_alone():
    assert in_parts(np.zeros((10, 30))).rows == 32768
    assert in_parts(np.zeros((10, 3))).rows == 65536
    assert in_parts(np.zeros((10, 50_000))).rows == 256


def test_a_damaged_file_is_named_with_its_rows(folder, tmp_path):
    good, bad = tmp_path / "good.parquet", tmp_path / "bad.parquet"
    TABLE.write_parquet(good, row_group_size=200)
    data = bytearray(good.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 2000] = bytes(2000)
    bad.write_bytes(data)
    parts = in_parts([good, bad], rows=ROWS)
    with pytest.raises(Unreadable, match=r"bad\.parquet: rows \d+ to \d+ cannot be read"):
        Ridge().fit(parts, "number")
    (tmp_path / "none.parquet").write_bytes(b"nothing")
    with pytest.raises(Unreadable, match=r"none\.parquet cannot be read"):
        in_parts(tmp_path / "none.parquet")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (np.zeros(3), "rows and columns"),
        (np.zeros((0, 3)), "0 rows"),
        (np.array([["a"]]), "numbers alone"),
        ("table.xlsx", "does not exist"),
    ],
    ids=str,
)
def test_what_is_no_table_is_refused(source, words):
    with pytest.raises((ValueError, FileNotFoundError), match=words):
        in_parts(source)


def test_files_must_agree(folder, tmp_path):
    TABLE.rename({"number": "figure"}).write_parquet(tmp_path / "other.parquet")
    with pytest.raises(ValueError, match="differ in column"):
        in_parts([folder / "rows.parquet", tmp_path / "other.parquet"])
    with pytest.raises(ValueError, match="no column 'size'"):
        in_parts(folder / "rows.parquet", columns=["size"])
    (tmp_path / "table.xlsx").write_bytes(b"")
    with pytest.raises(ValueError, match="LazyFrame"):
        in_parts(tmp_path / "table.xlsx")


def test_arrow_tables_are_tables_in_memory():
    assert not is_in_parts(pa.table({"a": [1.0]})) and not is_in_parts(pl.DataFrame({"a": [1.0]}))


def test_frames_of_several_types_keep_their_columns():
    table = make_table().select([*NAMES, "answer"]).with_columns(pl.col("x0") > 0)
    expected = LogisticRegression().fit(in_parts(table.lazy(), rows=ROWS), "answer")
    for frame in (table, table.to_pandas(), table.to_pandas().convert_dtypes(), table.to_arrow()):
        model = LogisticRegression().fit(in_parts(frame, rows=ROWS), "answer")
        np.testing.assert_array_equal(model.coef_, expected.coef_)
    with pytest.raises(ValueError, match="column 'answer' holds String"):
        Ridge().fit(in_parts(table), "x1")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"columns": "x0"}, r"list of names, got 'x0'; pass \['x0'\]"),
        ({"columns": ["x0", "x1", "x0"]}, "'x0' twice"),
        ({"rows": 2.5}, "whole number"),
        ({"rows": "many"}, "whole number"),
    ],
    ids=str,
)
def test_options_that_mean_nothing_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        in_parts(TABLE, **options)


def test_numbers_too_large_to_be_squared_are_named():
    X = np.ones((10, 2))
    X[3, 1] = 1e150
    with pytest.raises(ValueError, match="X has 1e\\+150 in row 3, column 1; use a larger unit"):
        Ridge().fit(in_parts(X), np.arange(10.0))
    with pytest.raises(ValueError, match="y has 1e\\+100 in row 0; use a larger unit"):
        Ridge().fit(in_parts(np.ones((10, 2))), np.full(10, 1e100))
