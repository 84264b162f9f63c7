"""Headers: tables below titles and comments, with names, without, or with one too few."""

import pytest
from test_excel import workbook as written

from gapless.data import read_batches, read_table

BODY = "".join(f"{k},{k}.5,{city},{k % 2}\n" for k, city in enumerate(["Rome", "Oslo"] * 5))
TABLE = "id,size,city,y\n" + BODY
ALIGNED = "".join(f"{k:>4}{k * 100:>8}{'ab'[k % 2]:>3}\n" for k in range(12))


def read(text):
    """The table, once it is certain that batches are the same."""
    table = read_table(text.encode())
    batches = list(read_batches(text.encode(), table.forms))
    assert [row for batch in batches for row in batch.rows()] == table.frame.rows()
    assert batches[0].columns == table.frame.columns
    return table


@pytest.mark.parametrize(
    ("above", "lines"),
    [
        ("# made by a tool\n# in 2024, on a Monday\n", 2),
        ("% a remark\n", 1),
        ("Sales of the year\n\n", 1),
        ("Sales of the year\nby shop, and by month\n", 2),
        ("Sales;of the;year\n", 1),
        ("Sales of the year,,,\n,,,\n", 2),
        ("  \n\n", 0),
    ],
)
def test_what_stands_above_the_names_is_left_out_and_said(above, lines):
    table = read(above + TABLE)
    assert table.frame.columns == ["id", "size", "city", "y"]
    assert table.frame.row(1) == (1, 1.5, "Oslo", 1)
    said = [note for note in table.notes if note.startswith("skipped above the header")]
    assert len(said) == (lines > 0)
    assert all(note.endswith(f": {lines} line{'s' * (lines > 1)}") for note in said)


def test_names_in_a_comment_are_names():
    table = read("# written by numpy\n# a b\n" + "".join(f"{k}.5 {k * k}\n" for k in range(9)))
    assert table.frame.columns == ["a", "b"] and len(table) == 9
    assert read("#,Name\n1,Rome\n2,Oslo\n").frame.columns == ["#", "Name"]


@pytest.mark.parametrize(
    "text",
    [
        "  id   price  y\n" + ALIGNED,
        "id\tprice y\n" + ALIGNED,
        "Prices\n   \n  id   price  y\n" + ALIGNED,
    ],
)
def test_columns_below_each_other(text):
    table = read(text)
    assert table.frame.columns == ["id", "price", "y"]
    assert table.frame.row(11) == (11, 1100, "b")


@pytest.mark.parametrize(
    "text",
    [
        BODY,
        "39, State-gov, 77516\n50, Private, 83311\n38, Private, 21564\n53, State-gov, 3472\n",
        "x,s,n\nx,y,n\nb,s,w\nx,y,w\n",
        "18.0,8,chevelle\n15.0,8,skylark\n16.0,4,rebel\n",
    ],
)
def test_a_first_line_of_values_is_data(text):
    table = read(text)
    assert table.frame.columns[0] == "column_1"
    assert len(table) == text.count("\n")
    assert "the first row contains values" in table.notes[0]


@pytest.mark.parametrize(
    "header",
    [
        "name,1990,2000,2010",
        "name,0,1,2",
        "name,0.1,0.5,2.5",
        "y,a,b,c",
        ",,,y",
        "c1,c2,c3,x",
        "x,inf,nan,z",
    ],
)
def test_names_that_look_like_values_are_names(header):
    table = read(header + "\n" + "x,3,2,1\ny,4,4,5\nx,5,5,1\ny,1,2,2\n")
    assert len(table) == 4
    expected = [name or f"column_{k + 1}" for k, name in enumerate(header.split(","))]
    assert table.frame.columns == expected


def test_a_delimiter_at_the_end_of_each_line_shifts_no_names():
    lines = TABLE.splitlines()
    table = read("\n".join([lines[0], *(line + "," for line in lines[1:])]))
    assert table.frame.columns == ["id", "size", "city", "y"]
    assert table.frame.row(1) == (1, 1.5, "Oslo", 1)
    table = read("\n".join([lines[0], *(f"r{line}" for line in lines[1:])]).replace("id,", "", 1))
    assert table.frame.columns == ["row", "size", "city", "y"]
    assert "the first column has no name; named 'row'" in table.notes


def test_two_columns_below_a_word_may_be_one_of_texts():
    table = read("name\nDoe, John\nRoe, Jane\nPoe, Edgar\n")
    assert table.frame["name"].to_list() == ["Doe, John", "Roe, Jane", "Poe, Edgar"]


@pytest.mark.parametrize(
    "values",
    [
        "John Q Smith\nMary J Blige\nAnna B Lund\n",
        "hello there you\nwin cash now\n",
        "Doe, John, cook\nRoe, Jane, king\nPoe, Edgar, poet\n",
        "ab:cd:ef\naa:bb:cc\nde:ad:be\n",
    ],
)
def test_three_columns_of_texts_below_a_word_may_be_one(values):
    table = read("name\n" + values)
    assert table.frame["name"].to_list() == values.splitlines()


@pytest.mark.parametrize("name", ["address", "street, town", "town (state)"])
def test_quotes_around_one_column_keep_what_stands_in_it(name):
    texts = ["12 Main St, Troy, NY", "7, Oak, 5", "3 Elm Rd, Rome, GA"]
    table = read("\n".join(f'"{text}"' for text in [name, *texts]))
    assert table.frame.to_dict(as_series=False) == {name: texts}


@pytest.mark.parametrize("header", [",0,1", "label,0,1", "id,10,5", "y,7,3"])
def test_numbers_beside_a_name_of_numbers_are_names(header):
    table = read(header + "\n0,5,6\n1,1,2\n2,8,9\n")
    assert table.frame.columns[1:] == header.split(",")[1:]
    assert table.frame.rows() == [(0, 5, 6), (1, 1, 2), (2, 8, 9)]


def test_a_missing_value_in_a_first_line_of_values_is_no_name():
    assert len(read("5.5,?,3,a\n4.5,7,2,b\n3.5,8,1,a\n")) == 3
    assert len(read("5.5,none,3,c\n4.5,7,2,b\n3.5,8,1,a\n")) == 3


def test_a_title_in_quotes_is_left_out():
    assert read('"Sales, 2024"\n' + TABLE).frame.columns == ["id", "size", "city", "y"]


def test_a_row_of_few_values_above_others_is_no_title():
    table = read("7.5,,,\n1.5,2,8,4\n2.5,2,9,5\n3.5,1,7,6\n")
    assert table.frame.columns == ["7.5", "column_2", "column_3", "column_4"]
    assert table.frame.rows() == [(1.5, 2, 8, 4), (2.5, 2, 9, 5), (3.5, 1, 7, 6)]


ROWS = [["1", "2,5", "7"], ["2", "3,5", "8"], ["3", "4,25", "9"]]
NAMES = ["shop", "units", "price"]


@pytest.mark.parametrize(
    ("above", "names", "rows"),
    [
        ([["Sales of 2024"]], NAMES, ROWS),
        ([["Sales of 2024"], []], NAMES[:2], [["x", "1,5"], ["y", "2"], ["z", "3,25"]]),
        ([["Sales of 2024"], [], [None, "total", None]], NAMES, ROWS),
        (
            [["Sales of 2024"], [], [None, "first", None, "second"]],
            [*"abcde"],
            [["1"] * 5, ["2"] * 5],
        ),
        ([["Sales of 2024"]], NAMES, [["x", "u", "v"], ["y", "w", "s"], ["z", "q", "r"]]),
    ],
)
@pytest.mark.parametrize("padding", [False, True])
def test_titles_and_headings_above_a_table_as_in_a_workbook(above, names, rows, padding):
    width = len(names)
    lines = [[value or "" for value in row] for row in above]
    # A heading of several columns has them all, a title has them where a spreadsheet wrote it.
    lines = [row + [""] * (width - len(row)) if padding or len(row) > 1 else row for row in lines]
    table = read("\n".join(";".join(row) for row in [*lines, names, *rows]) + "\n")
    assert table.frame.columns == names and len(table) == len(rows)
    workbook = read_table(written(S=[*above, names, *rows]))
    assert workbook.frame.columns == names
    assert workbook.frame.rows() == table.frame.rows()


@pytest.mark.parametrize(
    "text",
    ["1,5;2,5\n3,5;4,5\n", "2024-01-05;x;3\n2024-01-06;y;4\n2024-01-07;z;5\n"],
)
def test_values_as_people_write_them_are_no_names(text):
    table = read(text)
    assert table.frame.columns[0] == "column_1" and len(table) == text.count("\n")


def test_dates_above_numbers_are_names():
    table = read("shop;2024-01-05;2024-01-06\nx;3;4\ny;4;5\n")
    assert table.frame.columns == ["shop", "2024-01-05", "2024-01-06"]


@pytest.mark.parametrize(
    "below",
    [
        "Source: the bureau\n",
        "\n# the end\n",
        "(10 rows affected)\n",
        "All of it is made up here\n",
    ],
)
def test_remarks_below_a_table_are_left_out_as_in_a_workbook(below):
    table = read(TABLE + below)
    assert len(table) == 10 and [str(kind) for kind in table.frame.dtypes[:2]] == [
        "Int64",
        "Float64",
    ]
    assert "skipped below the table: 1 line" in table.notes
    rows = [line.split(",") for line in TABLE.splitlines()]
    workbook = read_table(written(S=[*rows, [], [below.strip()]]))
    assert workbook.frame.rows() == table.frame.rows()


def test_a_row_that_ends_early_is_a_row():
    assert len(read("city,size,y\nOslo,1,2\nRome,2,3\nBern\n")) == 3
    texts = "text,y\nthis is a text,1\nand so is that,2\none that has no answer\n"
    assert len(read(texts)) == 3


@pytest.mark.parametrize(
    "last",
    [
        ",,",
        ",,\n,,\n,,",
        "The Lord of the Rings,,",
        "*,,",
        "it broke after one day,,",
    ],
)
def test_a_last_row_of_full_width_is_a_row_however_little_it_has(last):
    text = f"title,year,stars\nDune,1984,3\nAlien,1979,5\nBrazil,1985,4\n{last}\n"
    rows = 3 + last.count("\n") + 1
    assert len(read(text)) == rows


def test_remarks_of_full_width_need_a_mark_or_a_gap():
    rows = "title,year,stars\nDune,1984,3\nAlien,1979,5\nBrazil,1985,4\n"
    for below in ("Source: the bureau,,\n", ",,\nAll of it is made up here,,\n"):
        assert len(read(rows + below)) == 3
    two = "title,year\nDune,1984\nAlien,1979\nBrazil,1985\nNote: a film,\n"
    assert len(read(two)) == 4


@pytest.mark.parametrize("text", ["-5%", "+5 %", "-3 €", "5 €"])
def test_whole_numbers_with_a_unit_are_numbers(text):
    table = read_table(f"v,k\n{text},1\n3,2\n".encode())
    assert table.frame["v"].to_list() == [-3 if "€" in text and "-" in text else int(text[:2]), 3]
