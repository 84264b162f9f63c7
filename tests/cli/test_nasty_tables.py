"""Tables as they come: each is fitted, or refused with a sentence that says what to do."""

import json

import numpy as np
import polars as pl
import pytest

from gapless.cli.__main__ import main

# One family that takes numbers, one that takes tables, both for either task.
MODELS = ("--models", "nearest neighbours", "pruned tree")
ROWS = 60


def fit(capsys, path, target, *options):
    """The exit code, standard output and standard error of a fit next to the table."""
    folder = path.parent / "out"
    words = ("fit", path, "--target", target, "--out", folder, "--time-limit", 2, *MODELS, *options)
    code = main([str(word) for word in words])
    said = capsys.readouterr()
    return code, said.out, said.err


def lines(*columns, header="size,color,y", newline="\n", rows=ROWS):
    """A text whose columns are functions of the number of the row."""
    body = [",".join(str(column(k)) for column in columns) for k in range(rows)]
    return newline.join([header, *body, ""])


def size(k):
    return (k * 37) % 101


def color(k):
    return ("red", "green", "blue")[k % 3]


def label(k):
    return "big" if size(k) > 50 else "small"


REFUSED = {
    "empty": (b"", "y", "empty"),
    "blank": (b"\n\n  \n", "y", ""),
    "header alone": (b"a,y\n", "y", "no rows"),
    "no such target": (lines(size, color, label).encode(), "Y ", "did you mean 'y'"),
    "target always missing": (lines(size, color, lambda k: "").encode(), "y", "missing in all"),
    "constant target": (lines(size, color, lambda k: 7).encode(), "y", "nothing to learn"),
    "one column": (lines(label, header="y").encode(), "y", ""),
    "nothing but constants": (lines(lambda k: 1, label, header="a,y").encode(), "y", ""),
    "nothing but a count": (lines(lambda k: k, label, header="id,y").encode(), "y", ""),
    "target of names": (lines(size, color, lambda k: f"name{k}").encode(), "y", "60 classes"),
    "target of dates": (
        lines(size, color, lambda k: f"2024-01-{k % 28 + 1:02}").encode(),
        "y",
        "dates",
    ),
    "one row": (b"a,y\n1,2\n", "y", ""),
    "two rows": (b"a,y\n1,2\n3,4\n", "y", ""),
    "ragged": (b"a,b,y\n1,2,3\n1,2,3,4,5\n1,2,3\n", "y", "line 3"),
    "bytes of anything": (bytes(range(256)) * 20, "y", ""),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_fitted_is_refused_in_words(capsys, tmp_path, name):
    data, target, said = REFUSED[name]
    path = tmp_path / "table.csv"
    path.write_bytes(data)
    code, out, err = fit(capsys, path, target)
    assert (code, out) == (2, "")
    assert err.startswith("gapless: ") and said in err
    assert "Traceback" not in err and "bug in gapless" not in err
    assert [entry.name for entry in tmp_path.iterdir()] == ["table.csv"]


def mixed(k):
    return ("3", "many", "", "2024-01-05", "-1e308")[k % 5]


FITTED = {
    "byte order mark, windows newlines": lines(size, color, label, newline="\r\n").encode(
        "utf-8-sig"
    ),
    "utf-16, semicolons": lines(size, color, label).replace(",", ";").encode("utf-16"),
    "latin-1, target missing in places": lines(
        size,
        lambda k: ("café", "thé", "eau")[k % 3],
        lambda k: "" if k % 4 == 0 else label(k),
    ).encode("latin-1"),
    "mixed types, infinities": lines(lambda k: ("inf", "1", "2")[k % 3], mixed, label).encode(),
    "huge numbers": lines(lambda k: f"{(-1) ** k * 1.7e308}", color, label).encode(),
    "a class of one row": lines(size, color, lambda k: "odd" if k == 7 else label(k)).encode(),
    "booleans to predict": lines(size, color, lambda k: str(size(k) > 50).lower()).encode(),
    "numbers to predict": lines(size, color, lambda k: 2.5 * size(k)).encode(),
    "dates alone": lines(
        lambda k: f"2024-{k % 12 + 1:02}-{k % 28 + 1:02}", label, header="day,y"
    ).encode(),
    "texts alone": lines(
        lambda k: f"the {color(k)} car number {size(k)} is quite {label(k)} today",
        label,
        header="text,y",
    ).encode(),
    "names twice": lines(size, color, label, header="a,a,y").encode(),
    "no names": lines(size, color, label, header=",,y").encode(),
}


@pytest.mark.parametrize("name", FITTED)
def test_what_can_be_fitted_is(capsys, tmp_path, name, monkeypatch):
    # A learning curve takes longest, and is made of fits to parts of the same table.
    monkeypatch.setattr("gapless.choosing.report.summary.learning_of", lambda *given: None)
    path = tmp_path / "table.csv"
    path.write_bytes(FITTED[name])
    code, out, err = fit(capsys, path, "y")
    assert code == 0, err
    assert sorted(entry.name for entry in (tmp_path / "out").iterdir()) == [
        "model.gapless",
        "report.html",
    ]
    assert out.count("\n") > 5
    assert "nan" not in out.lower().replace("nan in", "").split()


def test_names_that_are_code_stay_names(capsys, tmp_path):
    """Quotes, tags, newlines and escapes in names and levels are shown and never obeyed."""
    names = ['"; drop', "<script>alert(1)</script>", "two\nlines", "\x1b[2J", "{{ 7 * 7 }}", "y"]
    levels = np.array(["<b>a</b>", "&amp;", "'"])
    columns = [[size(k) + j for k in range(ROWS)] for j in range(3)]
    frame = pl.DataFrame(
        [
            *(pl.Series(name, column) for name, column in zip(names, columns)),
            pl.Series(names[3], levels[np.arange(ROWS) % 3]),
            pl.Series(names[4], levels[np.arange(ROWS) % 2]),
            pl.Series("y", ["<i>yes</i>" if size(k) > 50 else "no\nno" for k in range(ROWS)]),
        ]
    )
    path = tmp_path / "<img src=x onerror=alert(1)>.csv"
    frame.write_csv(path)
    code, out, err = fit(capsys, path, "y")
    assert code == 0, err
    assert "\x1b" not in out
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<script" not in page.lower() and "<img src=x" not in page
    assert "<i>yes" not in page and "<b>a</b>" not in page
    assert "alert(1)" in page and "{{ 7 * 7 }}" in page
    code, out, err = fit(capsys, path, "y", "--json")
    assert code == 0, err
    assert json.loads(out)


def test_many_levels_and_many_columns(capsys, tmp_path, rng):
    """10,000 categories in one column, and more columns than rows."""
    path = tmp_path / "table.csv"
    n = 12_000
    pl.DataFrame(
        {
            "code": [f"c{k}" for k in rng.permutation(n) % 10_000],
            "x": rng.normal(size=n),
            "y": rng.choice(["a", "b"], n),
        }
    ).write_csv(path)
    code, _, err = fit(capsys, path, "y")
    assert code == 0, err
    wide = {f"x{j}": rng.normal(size=40) for j in range(400)}
    pl.DataFrame({**wide, "y": rng.normal(size=40)}).write_csv(path)
    code, _, err = fit(capsys, path, "y")
    assert code == 0, err
