"""Forms: texts become numbers, dates and missing values, and what was decided is said."""

import datetime

import polars as pl
import pytest

from gapless.data import read_table
from gapless.data.forms import read, recognise

DAY = datetime.date


def recognised(*texts):
    return recognise(pl.Series("c", texts, dtype=pl.String))


@pytest.mark.parametrize(
    "texts, values",
    [
        (["1", " 2 ", None], [1, 2, None]),
        (["1.5", "-2e3", "+.5"], [1.5, -2000.0, 0.5]),
        (["41.0", "3.0"], [41, 3]),
        (["3,5", "1.234,25"], [3.5, 1234.25]),
        (["1,234", "5,678.5"], [1234.0, 5678.5]),
        (["1 234", "12"], [1234, 12]),
        (["1’234.5", "2"], [1234.5, 2.0]),
        (["$1,200", "-$3", "$ 4"], [1200, -3, 4]),
        (["12 %", "3.5%"], [12.0, 3.5]),
        (["(5)", "−3", "4 €"], [-5, -3, 4]),
        (["5 kg", "1,200 kg", "-3kg", None], [5, 1200, -3, None]),
        (["R$ 3,50", "R$ 1.200,75"], [3.5, 1200.75]),
        (["37.5°C", "38°C"], [37.5, 38.0]),
        (["1:02:30", "59:30", "-0:00:01.5"], [3750.0, 3570.0, -1.5]),
        (["12:30", "1:20", None], [750, 80, None]),
        (["10:30", "10:30:15"], [37_800, 37_815]),
        (["09:30", "14:05"], [34_200, 50_700]),
        (["2:30 PM", "12:05 am", "11:59:30 p.m."], [52_200, 300, 86_370]),
        (["1.5K", "2M", "950", "$3k", "1bn"], [1500, 2_000_000, 950, 3000, 10**9]),
        (["1,5k", "2k", "3,25M"], [1500, 2000, 3_250_000]),
        (["<5", "7.5", "8", ">= 100"], [5.0, 7.5, 8.0, 100.0]),
        (["1,00,000", "12,34,567.50"], [100_000.0, 1_234_567.5]),
        (["12-", "5", "1.234,5-"], [-12.0, 5.0, -1234.5]),
        (["1,5"] * 40 + ["1.234,5", "$3", "inf"], [1.5] * 40 + [1234.5, 3.0, None]),
        (["5*", "7", "8 †"], [5, 7, 8]),
        (["٣٤", "５"], [34, 5]),
        (["2024-01", "2023-12"], [DAY(2024, 1, 1), DAY(2023, 12, 1)]),
        (["Jan 2024", "December 2023"], [DAY(2024, 1, 1), DAY(2023, 12, 1)]),
        (["Mon, 05 Feb 2024", "Tue, 06 Feb 2024"], [DAY(2024, 2, 5), DAY(2024, 2, 6)]),
        (["<5", ">5", "<5"], ["<5", ">5", "<5"]),
        (["<18", "18-30", ">65"], ["<18", "18-30", ">65"]),
        (["5m", "6", "7"], ["5m", "6", "7"]),
        (["9007199254740993", "1"], [9007199254740993, 1]),
        (["true", "FALSE", None], [True, False, None]),
        (["inf", "1.5"], [None, 1.5]),
    ],
)
def test_numbers_as_programs_and_people_write_them(texts, values):
    assert recognised(*texts).values.to_list() == values


@pytest.mark.parametrize(
    "texts, values",
    [
        (["2024-01-31", "2024-2-1"], [DAY(2024, 1, 31), DAY(2024, 2, 1)]),
        (["31/01/2024", "1/2/2024"], [DAY(2024, 1, 31), DAY(2024, 2, 1)]),
        (["1/2/2024"] * 300 + ["31/1/2024"], [DAY(2024, 2, 1)] * 300 + [DAY(2024, 1, 31)]),
        (["01/31/2024", "2/1/2024"], [DAY(2024, 1, 31), DAY(2024, 2, 1)]),
        (["31.1.24", "1.2.24"], [DAY(2024, 1, 31), DAY(2024, 2, 1)]),
        (["31 Jan 2024", "1 February 2024"], [DAY(2024, 1, 31), DAY(2024, 2, 1)]),
        (["Jan 31, 2024", "Feb 1, 2024"], [DAY(2024, 1, 31), DAY(2024, 2, 1)]),
        (
            ["2024-01-31T10:20:30Z", "2024-02-01 11:00"],
            [datetime.datetime(2024, 1, 31, 10, 20, 30), datetime.datetime(2024, 2, 1, 11)],
        ),
        (["2024-01-31 01:00:00+02:00"], [datetime.datetime(2024, 1, 30, 23)]),
    ],
)
def test_dates_in_several_forms(texts, values):
    assert recognised(*texts).values.to_list() == values


@pytest.mark.parametrize(
    "texts",
    [
        ["007", "012", "123"],
        ["12345678901234567890", "12345678901234567891"],
        ["192.168.1.1", "10.0.0.1"],
        ["555-1234", "555-9999"],
        ["12:75", "1:20"],
        ["A12", "A13"],
        ["5 kg", "3 lb"],
        ["1990Q1", "1990Q2"],
        ["a", "b", "7"],
        ["yes", "no"],
        ["None", "Good"],
    ],
)
def test_codes_and_words_stay_texts(texts):
    known = recognised(*texts)
    assert known.form.kind == "string"
    assert known.values.to_list() == texts


def test_missing_values_are_said():
    assert recognised("1", "NA", "?", "").notes == ("'?', 'NA' read as missing",)
    known = recognised("1", "2", "-", "Unknown")
    assert known.values.to_list() == [1, 2, None, None]
    assert known.notes == ("'-', 'Unknown' read as missing",)
    assert recognised(None, "").values.null_count() == 2


def test_a_few_words_among_numbers_are_missing_and_said():
    known = recognised(*map(str, range(99)), "abc")
    assert known.values.to_list() == [*range(99), None]
    assert known.notes == ("1 text among numbers ('abc') read as missing",)
    half = recognised("1", "2", "abc", "def")
    assert half.form.kind == "string"
    assert "2 of 4 values are numbers" in half.notes[0]


def test_dates_that_could_be_read_in_two_ways_are_said():
    assert "month before day" in recognised("1/2/2024", "3/4/2024").notes[0]
    assert "day before month" in recognised("1.2.2024", "3.4.2024").notes[0]
    assert recognised("1.2.2024", "13.4.2024").notes == ()


@pytest.mark.parametrize(
    "texts, new, values",
    [
        (["1", "2"], ["3", "x", "NA", None], [3.0, None, None, None]),
        (["1,5", "2"], ["1.234,5", "9"], [1234.5, 9.0]),
        (["1.2.2024"], ["3.4.2025", "x"], [DAY(2025, 4, 3), None]),
        (["5 kg", "7 kg"], ["1,000 kg", "3", "3 lb"], [1000.0, 3.0, None]),
        (["1:30", "2:00"], ["0:45", "1:00:00", "soon"], [45.0, 3600.0, None]),
        (["true"], ["False", "x", None], [False, None, None]),
        (["a"], [" b ", "?"], ["b", None]),
    ],
)
def test_new_texts_are_read_by_the_same_form(texts, new, values):
    form = recognised(*texts).form
    assert read(pl.Series("c", new, dtype=pl.String), form).to_list() == values


def test_units_and_times_are_said():
    assert recognised("5 kg", "7 kg").notes == ("numbers with the unit 'kg'",)
    assert recognised("1:30", "2:00").notes == ("times read as numbers: '1:30' is 90",)


def test_limits_and_units_that_differ_are_said():
    assert recognised("<5", "7", "8").notes == ("1 limit ('<5') read as the number itself",)
    weights = [f"{k} kg" for k in range(1, 9)] + ["300 g", "50 g"]
    (note,) = recognised(*weights).notes
    assert note == "numbers with several units ('kg', 'g') stay text; write all in one unit"
    assert recognised(*[f"{k}{letter}" for k in range(9) for letter in "ABCDEF"]).notes == ()


def test_points_group_digits_where_other_columns_have_decimal_commas():
    table = read_table(b"size;price\n12,5;1.000\n8,25;900\n")
    assert table.frame.rows() == [(12.5, 1000), (8.25, 900)]
    assert "the point in '1.000' groups digits" in " ".join(table.notes)
    plain = read_table(b"size;price\n12,5;0.125\n8,25;900\n")
    assert plain.frame["price"].to_list() == [0.125, 900]
