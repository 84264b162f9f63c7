"""A text that comes in blocks is read as it is in one piece, wherever it is cut."""

import pytest

from gapless.data import TableError, delimited
from gapless.data.delimited import delimited_blocks, read_delimited

DIALECTS = {
    "comma": "a,b,c\n1,x y,2.5\n22,,3\n333,z,\n4,w,1\n",
    "semicolon, Windows": "a;b;c\r\n1;x y;2,5\r\n22;;3\r\n333;z;\r\n4;w;1",
    "tab": "a\tb\tc\n1\tx y\t2.5\n22\t\t3\n333\tz\t\n4\tw\t1\n",
    "pipe": "a|b|c\n1|x y|2.5\n22||3\n333|z|\n4|w|1\n",
    "blanks below each other": "  a   b      c\n  1 142 213.00\n 22   5   3.50\n333 6 4\n 4 7 5\n",
    "blanks and tabs": "a  \tb \t c\n1 142\t213.00 \n22\t 5 \t 3.50\n333 6 4\n4 7 5.00\t \n",
    "blanks and quotes": 'a   b     c\n1  "x y"  2\n22   z  "3"\n3  "u  v"  4\n4 w 5\n',
    "quotes": 'a,b,c\n1,"x,\ny ""z""",2\n22,"u\n\nv",3\n333,w,4\n4,"",5\n',
    "quotes, Windows": 'a,b,c\r\n1,"x,\r\ny ""z""",2\r\n22,"u\r\n\r\nv",3\r\n333,w,4\r\n',
    "single quotes": "a,b,c\n1,'x,\ny',2\n22,'u',3\n333,'w, z',4\n4,'v',5\n",
    "a quote within a word": 'a,b,c\n1,5" pipe,2\n22,6" pipe,3\n333,x,4\n4,"y",5\n',
    "a blank before quotes": 'a, b, c\n1, "x, y", 2\n22, "z", 3\n333, w, 4\n4, "v", 5\n',
    "old Mac": "a,b,c\r1,x,2.5\r22,,3\r333,z,\r4,w,1\r",
    "one column": "text\nx, y\n22\n\n\nu\n\nw\n\n",
    "one column, Windows": "text\r\nx, y\r\n22\r\n\r\n\r\nu\r\n\r\nw\r\n\r\n",
    "blank lines": "a,b,c\n1,x,2\n\n\n22,y,3\n\n333,z,4\n4,w,5\n\n",
    "letters": "a,b,c\n1,ü,2\n22,日本,3\n333,é,4\n4,w,5\n",
    "the names again": "a,b,c\n1,x,2\n22,y,3\na,b,c\n333,z,4\na,b,c\n4,w,5\n",
    "a title": "Sales of 2023\n\na,b,c\n1,2,3\n22,4,5\n333,6,7\n4,8,9\n",
}


def in_blocks(data, cuts):
    """The same as frames of texts, from blocks that end at these places."""
    ends = [*cuts, len(data)]
    pieces = [data[begin:end] for begin, end in zip([0, *ends], ends)]
    blocks = ((piece, k == len(cuts)) for k, piece in enumerate(pieces))
    frames = list(delimited_blocks(blocks, "table"))
    return [row for frame in frames for row in frame.rows()], frames[0].columns


@pytest.mark.parametrize("name", DIALECTS)
def test_wherever_a_text_is_cut_it_is_the_same_table(name, monkeypatch):
    # Otherwise these tables end before the first row is certain to be no remark.
    monkeypatch.setattr(delimited, "ABOVE_REMARKS", 0)
    monkeypatch.setattr(delimited, "MOST_REMARKS", 0)
    data = DIALECTS[name].encode()
    whole, _, _ = read_delimited(data, "table")
    expected = whole.rows(), whole.columns
    newline = b"\r" if b"\n" not in data else b"\n"
    # The first block has to show what the table looks like.
    first = data.index(newline, data.index(b"22")) + 1
    for cut in range(first, len(data)):
        assert in_blocks(data, [cut]) == expected, data[:cut]
    for step in (1, 2, 3, 7):
        assert in_blocks(data, list(range(first, len(data), step))) == expected, step


@pytest.mark.parametrize("text", ["", "x, y and z are texts here\n"])
def test_remarks_below_a_table_are_left_out_wherever_it_is_cut(text):
    body = "".join(f"{k},{k % 7},z\n" for k in range(40))
    data = f"a,b,c\n{body}\nSource: the bureau\n{text}# the end\n".encode()
    whole, _, _ = read_delimited(data, "table")
    # Rows that look alike cannot be told from remarks, and stay.
    assert whole.height == 40 + (text != "") * 3
    for cut in range(len(data) - 120, len(data)):
        assert in_blocks(data, [100, cut]) == (whole.rows(), whole.columns), data[:cut]


def test_a_line_without_an_end_is_refused_before_memory_is_full(monkeypatch):
    monkeypatch.setattr(delimited, "LONGEST_LINE", 1000)
    endless = ((b"1" * 100, False) for _ in iter(int, 1))
    with pytest.raises(TableError, match="line 1 of table is longer than"):
        list(delimited_blocks(endless, "table"))
    rows = ((b"1,2\n" if k else b"a,b\n1,2\n3,4\n5,", False) for k in iter(lambda: 1, 0))
    frames = delimited_blocks(rows, "table")
    assert [next(frames).height for _ in range(50)]


def test_quotes_that_are_never_closed_are_letters_also_in_blocks():
    data = b'a,b,c\n1,x,2\n2,"y,3\n3,z,4\n4,w,5\n'
    whole, _, _ = read_delimited(data, "table")
    assert in_blocks(data, [20, 28]) == (whole.rows(), whole.columns)
