"""Totals: a last row that sums up the others is not a row of the table."""

import polars as pl
import pytest

from gapless.data import describe_columns, find_leaks, read_table, read_target
from gapless.data.headers import totals_row

ROWS = [[k + 1, "ab"[k % 2], k * 7 % 11 + 0.5, k % 4 + 1] for k in range(30)]
SUMS = [sum(row[2] for row in ROWS), sum(row[3] for row in ROWS)]


def text(*last):
    rows = [["id", "kind", "price", "units"], *ROWS, *last]
    return "\n".join(",".join("" if value is None else str(value) for value in row) for row in rows)


@pytest.mark.parametrize(
    "last",
    [
        ["Total", None, *SUMS],
        [None, "Grand total:", *SUMS],
        ["Summe", None, SUMS[0], None],
        ["Mean", None, SUMS[0] / 30, SUMS[1] / 30],
        [None, None, *SUMS],
    ],
)
def test_a_row_of_totals_is_noticed_said_and_left_out(last):
    table = read_table(text(last).encode())
    assert totals_row(table.frame) == 30
    columns = describe_columns(table, "price")
    assert columns[0].role == "id" and columns[0].rows == 30
    target = read_target(table, "price")
    assert target.rows.tolist() == list(range(30))
    (finding,) = [one for one in find_leaks(table, columns, target) if one.code == "D209"]
    assert finding.severity == "warning" and finding.rows == (30,)
    assert "row 31" in finding.detail


@pytest.mark.parametrize(
    "last",
    [
        [31, "a", 3.5, 2],
        [31, "total", 3.5, 2],
        [None, "a", 3.5, 2],
        [31, "b", *SUMS],
        [31, "a", None, 1],
        [31, "mean", SUMS[0] / 30, 1],
        [31, "mean", SUMS[0] / 30, None],
        [None, "a", SUMS[0] / 30, SUMS[1] / 30],
    ],
)
def test_other_last_rows_are_rows(last):
    assert totals_row(read_table(text(last).encode()).frame) is None


def test_a_word_and_one_mean_make_no_row_of_totals():
    words = pl.DataFrame({"word": ["kind", "rude", "nice", "mean"], "syllables": [1, 2, 3, 2]})
    assert totals_row(words) is None


def test_names_that_come_again_are_no_row():
    table = read_table(text(["id", "kind", "price", "units"], [31, "a", 1.5, 2]).encode())
    assert len(table) == 31 and table.frame["price"][-1] == 1.5
    assert "skipped as repeats of the header: 1 line" in table.notes
