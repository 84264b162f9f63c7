"""Reading: nasty bytes become a table, or an error that says what is wrong and where."""

import bz2
import gzip
import io
import lzma
import sys
import zipfile

import polars as pl
import pyarrow as pa
import pytest

from gapless.data import BUILTIN, TableError, load_builtin, read_batches, read_table, table_of
from gapless.data import reading as reading_module


def rows(data, **options):
    return read_table(data, **options).frame.rows()


def said(data):
    return " | ".join(read_table(data).notes)


def archive(files):
    """A ZIP archive of texts."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as packed:
        for name, text in files.items():
            packed.writestr(name, text)
    return data.getvalue()


@pytest.mark.parametrize(
    "data, message",
    [
        (b"", "is empty"),
        (b"\r\n\n  \n", "is empty"),
        (b"a,b\n", "no rows"),
        (b"a,b\n1,2\n3,4,5\n", r"line 3 has 3 fields, but there are 2 columns"),
        (b'a,b\n"x\ny",2\n3,4,5\n', r"line 4 has 3 fields"),
        (b"\n\na,b\n1,2\n3,4,5\n", r"line 5 has 3 fields"),
        (b'{"a": 1}\n{"a":\n', "line 2 of bytes is not valid JSON"),
        (b'{"a": 1}\n[2]\n', "entry 2 of bytes is a list"),
        (b"PAR1 but no more", "not a complete Parquet file"),
        (b"ARROW1 but no more", "not a complete Arrow file"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0)[:-9], "could not be unpacked"),
        (b"\x80\x04\x95", "pickle, which is never opened"),
        (b"SQLite format 3\x00", "SQLite"),
        (b"\x80\x02}q\x00.", "pickle, which is never opened"),
        (b"<!DOCTYPE html>\n<html>", "an HTML page"),
        (b"\n@RELATION weather\n", "an ARFF file"),
        (b"\x7fELF" + bytes(range(64)), "neither text"),
        (b"name" + bytes(300) + b"ustar\n", "neither text"),
        (bytes(300), "neither text"),
    ],
)
def test_what_is_no_table_is_an_error_that_says_why(data, message):
    with pytest.raises(TableError, match=message):
        read_table(data)


@pytest.mark.parametrize(
    "data",
    [
        b"a,b\nx,1\ny,2\n",
        b"\xef\xbb\xbfa,b\nx,1\ny,2\n",
        b"a;b\r\nx;1\r\ny;2\r\n",
        b"a\tb\rx\t1\ry\t2\r",
        b"a|b\nx|1\ny|2",
        b"a b\nx 1\ny 2\n",
        b"sep=~\na~b\nx~1\ny~2\n",
        b"\na,b\n\nx,1\n\ny,2\n\n\n",
        b"'a','b'\n'x',1\n'y',2\n",
        b'a, "b"\nx, "1"\ny, "2"\n',
        b"a,b\nx,1,,\ny,2\n",
        "a,b\nx,1\ny,2\n".encode("utf-16"),
        "a,b\nx,1\ny,2\n".encode("utf-16-be"),
        "a,b\nx,1\ny,2\n".encode("utf-32"),
        gzip.compress(b"a,b\nx,1\ny,2\n", mtime=0),
        bz2.compress(b"a,b\nx,1\ny,2\n"),
        lzma.compress(b"a,b\nx,1\ny,2\n"),
        pa.compress(b"a,b\nx,1\ny,2\n", codec="zstd", asbytes=True),
        b'{"a": "x", "b": 1}\n{"a": "y", "b": 2}\n',
        b'[{"a": "x", "b": 1}, {"a": "y", "b": 2}]',
        b'{"a": ["x", "y"], "b": [1, 2]}',
        b'{\n  "a": {"0": "x", "1": "y"},\n  "b": {"0": 1, "1": 2}\n}',
        b'{"rows": [{"a": "x", "b": 1}, {"a": "y", "b": 2}], "total": 2}',
        archive({"t.csv": "a,b\nx,1\ny,2\n", "__MACOSX/._t.csv": "?"}),
    ],
)
def test_one_table_in_many_disguises(data):
    table = read_table(data)
    assert table.frame.columns == ["a", "b"]
    assert table.frame.rows() == [("x", 1), ("y", 2)]


@pytest.mark.parametrize("write", ["write_parquet", "write_ipc", "write_ipc_stream"])
def test_files_of_columns(write, tmp_path):
    frame = pl.DataFrame({"a": ["x", None], "b": [1.5, float("nan")], "c": [True, None]})
    getattr(frame, write)(tmp_path / "table")
    expected = [("x", 1.5, True), (None, None, None)]
    assert rows(tmp_path / "table") == expected
    assert [row for part in read_batches(tmp_path / "table", {}) for row in part.rows()] == expected


def test_standard_input_and_streams(monkeypatch):
    class Standard:
        buffer = io.BytesIO(b"a,b\n1,2\n")

    monkeypatch.setattr(sys, "stdin", Standard)
    assert read_table("-").source == "standard input"
    assert rows(io.BytesIO(gzip.compress(b"a,b\n1,2\n", mtime=0))) == [(1, 2)]


def test_an_archive_comes_by_standard_input_too(monkeypatch, tmp_path):
    """Where nothing can be read twice."""
    path = tmp_path / "pipe"
    path.write_bytes(archive({"t.csv": "a,b\n1,2\n"}))

    class Standard:
        buffer = path.open("rb")

    monkeypatch.setattr(Standard.buffer.raw, "seekable", lambda: False, raising=False)
    monkeypatch.setattr(sys, "stdin", Standard)
    assert rows("-") == [(1, 2)]
    Standard.buffer.close()


def test_an_archive_of_several_files_names_them():
    with pytest.raises(TableError, match=r"an archive of 2 files \('a.csv', 'b.csv'\)"):
        read_table(archive({"a.csv": "a\n1\n", "b.csv": "a\n1\n"}))


@pytest.mark.parametrize("address", ["https://example.org/t.csv", "s3://bucket/t.csv"])
def test_addresses_are_refused_in_words(address):
    with pytest.raises(TableError, match="is a URL, but tables are read from files; downl"):
        read_table(address)
    with pytest.raises(TableError, match="drop the file://"):
        read_table("file:///t.csv")


def test_latin_letters_are_found_and_said():
    table = read_table("stadt;größe\nKöln;1\n".encode("latin-1"))
    assert (table.encoding, table.delimiter) == ("latin-1", ";")
    assert table.frame.columns == ["stadt", "größe"]
    assert "decoded as latin-1" in table.notes


def test_quotes_and_newlines_inside_fields():
    assert rows(b'a,b\n"x, ""y""\nz",1\nw,2\n') == [('x, "y"\nz', 1), ("w", 2)]
    # Inches are not quotes, and a quote that never closes is an ordinary character.
    assert rows(b'a,b\n5" pipe,2\n6" tube,3\n') == [('5" pipe', 2), ('6" tube', 3)]
    assert rows(b'a,b\n"open,2\n3x,4\n') == [('"open', 2), ("3x", 4)]
    assert rows(b'a,b\n"x"y,2\n"z",3\n') == [("xy", 2), ("z", 3)]


def test_short_lines_are_filled_and_named():
    table = read_table(b"a,b,c\n1,2,3\n4,5\n7,8,9\n")
    assert table.frame.rows()[1] == (4, 5, None)
    assert "too few fields, filled with missing values: 3" in table.notes[0]


def test_names_of_columns():
    table = read_table(b'a,a,,"<script>""x""</script>","two\nlines"\n1,2,3,4,5\n')
    assert table.frame.columns == ["a", "a_2", "column_3", '<script>"x"</script>', "two\nlines"]
    assert "repeated column names" in table.notes[0]
    assert read_table(b"a,a,a_2\n1,2,3\n").frame.columns == ["a", "a_3", "a_2"]
    assert read_table(b"mpg cyl\nMazda 21 6\nFord 20 4\n").frame.columns == ["row", "mpg", "cyl"]


def test_a_first_line_of_numbers_is_data_but_years_are_names():
    table = read_table(b"1.5,2\n3,4\n")
    assert table.frame.columns == ["column_1", "column_2"]
    assert len(table) == 2 and "named by position" in table.notes[0]
    assert read_table(b"2019,2020\n3,4\n").frame.columns == ["2019", "2020"]


def test_a_line_of_many_long_names_is_read_whole():
    names = [f"a rather long name of a column {k}" for k in range(3000)]
    data = ",".join(names) + "\n" + ",".join(["1"] * 3000) + "\n"
    assert len(data) > 1 << 16
    assert read_table(io.BytesIO(data.encode())).frame.columns == names


def test_one_column_of_texts_is_not_cut_at_its_commas():
    table = read_table(b"text\nhello, world\nfoo\na, b, c\n")
    assert table.delimiter is None
    assert table.frame["text"].to_list() == ["hello, world", "foo", "a, b, c"]
    assert rows(b"a\n1\n\n3\n\n") == [(1,), (None,), (3,)]


def test_nested_json_is_spread_out():
    table = read_table(b'{"a": {"b": 1, "c": [1, 2]}}\n{"a": {"b": null}}\n')
    assert table.frame.columns == ["a.b", "a.c"]
    assert table.frame.rows() == [(1, "1 2"), (None, None)]
    assert rows(b'{"a": 1}\n{"a": "x"}\n{"a": [1]}\n')[1] == ("x",)


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_batches_are_the_table(monkeypatch, packed):
    monkeypatch.setattr(reading_module, "BLOCK", 200)
    lines = [f'{k},"wörter, {k}\nmehr",{k}.5 %' for k in range(100)]
    data = packed("\n".join(["k,text,share", *lines]).encode())
    table = read_table(data)
    batches = list(read_batches(data, table.forms))
    assert len(batches) > 5
    assert pl.concat(batches).rows() == table.frame.rows()


def test_batches_of_json_lines(monkeypatch):
    monkeypatch.setattr(reading_module, "BLOCK", 64)
    data = b"".join(b'{"a": %d, "b": "x"}\n' % k for k in range(50))
    batches = list(read_batches(data, {}))
    assert len(batches) > 5
    assert pl.concat(batches)["a"].to_list() == list(range(50))


def test_an_object_of_many_lines_is_one_batch(monkeypatch):
    data = b'{\n "a": [1, 2],\n "b": ["x", "y"]\n}\n'
    monkeypatch.setattr(reading_module, "BLOCK", 8)
    (frame,) = read_batches(data, {})
    assert frame.rows() == read_table(data).frame.rows() == [(1, "x"), (2, "y")]


def test_one_line_of_nested_json_is_a_row_where_lines_are(monkeypatch, tmp_path):
    row = b'{"a": [1, 2], "b": [3, 4]}\n'
    (tmp_path / "t.jsonl").write_bytes(row)
    assert rows(tmp_path / "t.jsonl") == [("1 2", "3 4")]
    monkeypatch.setattr(reading_module, "BLOCK", len(row))
    assert [len(batch) for batch in read_batches(row * 3, {})] == [1, 1, 1]


def test_batches_name_the_line_of_the_file(monkeypatch):
    monkeypatch.setattr(reading_module, "BLOCK", 20)
    with pytest.raises(TableError, match="line 12 has 3 fields"):
        list(read_batches(b"a,b\n" + b"1,2\n" * 10 + b"1,2,3\n", {}))


def test_a_missing_file_suggests_what_may_be_meant(tmp_path):
    (tmp_path / "sales.csv").write_text("a\n1\n")
    with pytest.raises(TableError, match=r"did you mean .*sales\.csv"):
        read_table(tmp_path / "sale.csv")
    with pytest.raises(TableError, match="did you mean iris"):
        read_table("irsi")
    with pytest.raises(TableError, match="is a folder"):
        read_table(tmp_path)


@pytest.mark.parametrize("entry", BUILTIN.values(), ids=BUILTIN)
def test_built_in_sets_are_as_listed(entry):
    table = read_table(entry.name)
    assert table.frame.shape == (entry.rows, entry.columns)
    assert entry.target in (None, table.frame.columns[-1])
    assert table.frame.null_count().sum_horizontal()[0] == 0


def test_a_folder_does_not_hide_the_built_in_set_of_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "iris").mkdir()
    assert read_table("iris").frame.shape == load_builtin("iris").frame.shape
    assert sum(map(len, read_batches("iris", {}))) == 150


def test_unknown_built_in_set():
    with pytest.raises(TableError, match="choose from bits, breast_cancer"):
        load_builtin("nothing")


def test_frames_of_pandas_and_polars_are_tables():
    pandas = pytest.importorskip("pandas")
    data = {"a": [1, 2], "b": ["x", None], "c": [0.5, float("nan")]}
    expected = [(1, "x", 0.5), (2, None, None)]
    assert table_of(pandas.DataFrame(data)).frame.rows() == expected
    assert table_of(pl.DataFrame(data)).frame.rows() == expected
    assert table_of(data).frame.rows() == expected
    with pytest.raises(TableError, match="got list"):
        table_of([1, 2])


def test_sparse_rows_of_libsvm_are_refused_and_times_are_not():
    for text in (b"+1 1:0.5 3:2\n-1 2:1 3:-4e-2 9:1\n", b"3 qid:1 1:0.5 # first\n1 qid:2 2:1\n"):
        with pytest.raises(TableError, match=r"LIBSVM.*load_svmlight_file"):
            read_table(text)
        with pytest.raises(TableError, match="LIBSVM"):
            list(read_batches(text, {}))
    assert read_table(b"1 10:30 11:20\n2 10:40 11:50\n").frame.width == 3


def test_blank_and_short_lines_beside_quoted_delimiters_are_seen():
    # As many delimiters are quoted as the blank line lacks.
    table = read_table(b'city,v,w\n"Paris, FR",1,2\n"Rome, IT",3,4\nOslo,5,6\n\n')
    assert table.frame.rows() == [("Paris, FR", 1, 2), ("Rome, IT", 3, 4), ("Oslo", 5, 6)]
    table = read_table(b'x,y\n"a,b",1\nc\n')
    assert table.frame.rows() == [("a,b", 1), ("c", None)]
    assert any("too few fields" in str(note) for note in table.notes)
