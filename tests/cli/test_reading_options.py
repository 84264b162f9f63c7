"""Options about how a table is read: said once to `fit`, and again only where a table differs."""

import json

import pytest

import gapless
from gapless.data import ReadingOptions, TableError, read_batches, read_table

QUICK = ("--target", "y", "--models", "pruned tree", "--time-limit", 600)


def body(delimiter=";", rows=range(60)):
    lines = (
        f"{k % 9},5{delimiter}{k % 4}.000{delimiter}{'big' if k % 9 > 4 else 'low'}" for k in rows
    )
    return "\n".join([delimiter.join(["size", "count", "y"]), *lines, ""])


ODD = "made by;a machine;that says\nmuch;about;itself\n" + body()


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """The folder of a fit with options for reading its table."""
    folder = tmp_path_factory.mktemp("odd")
    (folder / "odd.csv").write_text(ODD)
    return folder


def fit(run, folder, *options):
    return run("fit", folder / "odd.csv", *QUICK, "--out", folder / "out", *options)


TOLD = ("--delimiter", ";", "--header", "3", "--decimal", ",")


def test_predict_and_check_read_as_fit_was_told(run, odd):
    code, out, err = fit(run, odd, *TOLD)
    assert code == 0, err
    model = gapless.load(odd / "out" / "model.gapless")
    assert model.reading_ == ReadingOptions(";", header=3, decimal=",")
    assert "delimiter=';', header=3, decimal=','" in json.loads(model.record_)["code"]
    code, out, err = run("predict", odd / "out", odd / "odd.csv")
    assert (code, err) == (0, ""), err
    assert out.startswith("size,count,y,prediction") and len(out.splitlines()) == 61
    code, out, _ = run("check", odd / "out", odd / "odd.csv")
    assert code == 0 and "the table contains the training rows" in out
    (odd / "plain.tsv").write_text(body("\t"))
    assert run("predict", odd / "out", odd / "plain.tsv")[0] == 2
    code, out, err = run(
        "predict", odd / "out", odd / "plain.tsv", "--delimiter", "tab", "--header", 1
    )
    assert (code, err) == (0, "")


@pytest.mark.parametrize(
    ("option", "value"),
    [("--delimiter", "ab"), ("--header", "-1"), ("--header", "x"), ("--decimal", ";")],
)
@pytest.mark.parametrize("command", ["fit", "predict", "check"])
def test_options_that_no_table_has_are_refused(run, command, option, value):
    words = ("iris",) if command == "fit" else ("model", "iris")
    code, out, err = run(command, *words, option, value)
    assert (code, out) == (2, "") and option in err and "bug in gapless" not in err


def test_a_line_of_names_that_is_not_there_is_an_error():
    with pytest.raises(TableError, match="has no line 9"):
        read_table(b"a,b\n1,2\n", header=9)
    with pytest.raises(TableError, match="counted from 1"):
        read_table(b"a,b\n1,2\n", header=-1)


@pytest.mark.parametrize(
    ("text", "told", "columns", "rows"),
    [
        ("1,2\n3,4\n", {"header": 1}, ["1", "2"], [(3, 4)]),
        ("a,b\nc,d\n", {"header": 0}, ["column_1", "column_2"], [("a", "b"), ("c", "d")]),
        ("\n\nx\na;b\n1;2\n", {"header": 4}, ["a", "b"], [(1, 2)]),
        ("a|b,c\n1|2,5\n", {"delimiter": "|"}, ["a", "b,c"], [(1, 2.5)]),
        ("a;b\n1.234;x\n5.678;y\n", {"decimal": ","}, ["a", "b"], [(1234, "x"), (5678, "y")]),
        ("a;b\n1,234;x\n5,678;y\n", {"decimal": ","}, ["a", "b"], [(1.234, "x"), (5.678, "y")]),
        ("a;b\n1,234;x\n5,678;y\n", {"decimal": "."}, ["a", "b"], [(1234, "x"), (5678, "y")]),
    ],
)
def test_what_is_said_goes_before_what_is_found(text, told, columns, rows):
    table = read_table(text.encode(), **told)
    assert (table.frame.columns, table.frame.rows()) == (columns, rows)
    told.pop("decimal", None)
    (batch,) = read_batches(text.encode(), table.forms, **told)
    assert (batch.columns, batch.rows()) == (columns, rows)
