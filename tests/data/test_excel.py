"""Workbooks: types, dates, several sheets, titles, damage."""

import datetime
import io
import random
import sys
import zipfile
from contextlib import suppress
from xml.sax.saxutils import escape

import pytest

from gapless.data import TableError, read_batches, read_table

pytest.importorskip("fastexcel", reason="no reader of Excel: pip install 'gapless[tables]'")

SCHEMAS = "http://schemas.openxmlformats.org"
MAIN = f"{SCHEMAS}/spreadsheetml/2006/main"
OFFICE = f"{SCHEMAS}/officeDocument/2006/relationships"
PACKAGE = f"{SCHEMAS}/package/2006"
EPOCH = datetime.datetime(1899, 12, 30)


def cell(value):
    """One cell; formats 1 and 2 of `parts` are those of dates and of dates with a time."""
    if value is None:
        return "<c/>"
    if isinstance(value, str):
        return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    if isinstance(value, bool):
        return f'<c t="b"><v>{int(value)}</v></c>'
    if isinstance(value, datetime.datetime):
        return f'<c s="2"><v>{(value - EPOCH) / datetime.timedelta(days=1)}</v></c>'
    if isinstance(value, datetime.date):
        return f'<c s="1"><v>{(value - EPOCH.date()).days}</v></c>'
    return f"<c><v>{value}</v></c>"


def parts(sheets, hidden=()):
    """The files inside a workbook: the least that a reader needs."""
    numbered = list(enumerate(sheets, 1))
    listed = "".join(
        f'<sheet name="{name}" sheetId="{k}" r:id="r{k}" '
        f'state="{"hidden" if name in hidden else "visible"}"/>'
        for k, name in numbered
    )
    related = "".join(
        f'<Relationship Id="r{k}" Type="{OFFICE}/worksheet" Target="worksheets/sheet{k}.xml"/>'
        for k, _ in numbered
    )
    formats = "".join(f'<xf numFmtId="{k}"/>' for k in (0, 14, 22))
    files = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
        f'Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{listed}</sheets>'
        "</workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">{related}'
        "</Relationships>",
        "xl/styles.xml": f'<styleSheet xmlns="{MAIN}"><cellXfs>{formats}</cellXfs></styleSheet>',
    }
    for k, name in numbered:
        rows = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in sheets[name])
        text = f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>'
        files[f"xl/worksheets/sheet{k}.xml"] = text
    return files


def packed(files):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return stream.getvalue()


def workbook(*, hidden=(), **sheets):
    return packed(parts(sheets, hidden))


SHEET = "xl/worksheets/sheet1.xml"
PLAIN = [["a", "b"], ["x", 1], ["y", 2]]
DAY, HOUR = datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 12, 30)


def test_types_of_cells():
    table = read_table(
        workbook(
            S=[
                ["name", "count", "share", "day", "seen", "is new", "code"],
                ["ä & b", 1, 0.5, DAY, HOUR, True, "007"],
                [None, 2, None, None, None, None, "x"],
                ["c", 3, 1.25, datetime.date(1999, 1, 1), HOUR, False, "8"],
            ]
        )
    )
    assert table.format == "excel"
    assert [str(kind) for kind in table.frame.dtypes] == [
        "String",
        "Int64",
        "Float64",
        "Date",
        "Datetime(time_unit='us', time_zone=None)",
        "Boolean",
        "String",
    ]
    assert table.frame.row(0) == ("ä & b", 1, 0.5, DAY, HOUR, True, "007")
    assert table.frame.row(1) == (None, 2, None, None, None, None, "x")


def test_types_are_found_from_all_rows():
    frame = read_table(workbook(S=[["a", "b"], *[[1, 2]] * 1200, *[["x", 2.5]] * 300])).frame
    assert (frame.row(0), frame.row(-1)) == (("1", 2.0), ("x", 2.5))


def test_numbers_written_as_texts_are_numbers():
    assert read_table(workbook(S=[["a"], ["1,5"], [2]])).frame["a"].to_list() == [1.5, 2.0]


def test_the_first_sheet_that_has_a_table_is_read_and_said():
    table = read_table(workbook(Blank=[], Lists=[["u"], ["v"]], Data=PLAIN, hidden=("Lists",)))
    assert table.frame.rows() == [("x", 1), ("y", 2)]
    assert "read sheet 'Data' of 3" in table.notes[0]
    assert "'Blank', 'Lists'" in table.notes[0]
    assert not read_table(workbook(Only=PLAIN)).notes
    assert len(read_table(workbook(Only=PLAIN, hidden=("Only",)))) == 2


def test_titles_and_empty_rows_above_the_names_are_left_out():
    rows = [["Sales of 2024"], [], ["a", "b", "c"], ["x", 1, 2], [None, None, None], ["y", 3, 4]]
    table = read_table(workbook(S=rows))
    assert table.frame.rows() == [("x", 1, 2), ("y", 3, 4)]
    assert table.notes == ("skipped above the header: 1 row",)


def test_names_of_columns_as_in_texts():
    table = read_table(workbook(S=[["a", "a", None], [1, 2, 3]]))
    assert table.frame.columns == ["a", "a_2", "column_3"]
    assert "repeated column names" in table.notes[0]
    assert read_table(workbook(S=[[1.5, 2], [3, 4]])).frame.rows() == [(1.5, 2), (3.0, 4)]


def test_batches_of_a_workbook():
    [part] = read_batches(workbook(S=PLAIN), {})
    assert part.rows() == [("x", 1), ("y", 2)]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (workbook(S=[]), "is an empty workbook"),
        (workbook(), "is an empty workbook"),
        (workbook(S=PLAIN[:1]), "no rows"),
        (workbook(S=PLAIN)[:-40], "is not a complete workbook"),
        (workbook(S=PLAIN)[:300], "is not a complete workbook"),
        (b"PK\x03\x04 and so on", "is not a complete workbook"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "is not a complete workbook"),
    ],
)
def test_workbooks_without_a_table(data, message):
    with pytest.raises(TableError, match=message):
        read_table(data)


@pytest.mark.parametrize("place", ["XFD1048576", "ZZZZ99999999"])
def test_a_stray_cell_far_away_is_an_error(place):
    files = parts({"S": PLAIN})
    stray = f'<row><c r="{place}"><v>1</v></c></row></sheetData>'
    files[SHEET] = files[SHEET].replace("</sheetData>", stray)
    with pytest.raises(TableError, match="delete cells outside the table"):
        read_table(packed(files))


def test_a_small_file_that_unpacks_to_a_huge_one_is_an_error(monkeypatch):
    monkeypatch.setattr("gapless.data.excel.MOST_BYTES", 1000)
    with pytest.raises(TableError, match="bytes, too large to read"):
        read_table(workbook(S=PLAIN))


def test_damaged_parts_are_a_table_or_an_error_of_the_table():
    rng = random.Random(0)
    files = parts({"S": [*PLAIN, [DAY, HOUR]], "T": PLAIN})
    for _ in range(100):
        name = rng.choice(list(files))
        text, k = files[name], rng.randrange(len(files[name]))
        piece = rng.choice(
            ["", "<", ">", '"', "9", "-1", "&#0;", "</c>", 'r="ZZZ99999999"', "e999"]
        )
        changed = text[:k] + piece + text[k + rng.randrange(12) :]
        with suppress(TableError):
            read_table(packed({**files, name: changed}))


def test_without_the_reader_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    with pytest.raises(TableError, match=r"pip install 'gapless\[tables\]'"):
        read_table(workbook(S=PLAIN))
