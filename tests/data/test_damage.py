"""Damaged tables: whatever the bytes, a table or an error of the table, and nothing else."""

import gzip
import random

import pytest

from gapless.data import TableError, describe_columns, read_batches, read_table

WHOLE = [
    b'a,b\n1,"x, ""y""\nz"\n2,w\n',
    b"d;p;q\n1.2.2024;1,5 %;a\n3.4.2025;2;b\n",
    b'{"a": 1, "b": {"c": 2, "d": [1, 2]}}\n{"a": "x", "b": {"c": 3}}\n',
    b'[{"a": 1}, {"a": null}]',
    "a,b\nü,2\n".encode("utf-16"),
    b"text\nhello, world\n'x'\n",
    gzip.compress(b"a,b\n1,2\n", mtime=0),
]
PIECES = [b'"', b"'", b"\n", b"\r", b",", b";", b"\x00", b"\xff", b"{", b"null", b"1e999", b"%"]


def damaged(data, rng):
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        k = rng.randrange(len(data) + 1)
        what = rng.random()
        if what < 0.5:
            data[k:k] = rng.choice(PIECES)
        elif what < 0.75:
            del data[k : k + rng.randint(1, 5)]
        else:
            data[k:k] = data[max(0, k - 10) : k] * rng.randint(1, 5)
    return bytes(data)


@pytest.mark.parametrize("seed", range(7))
def test_damaged_bytes_are_a_table_or_an_error_of_the_table(seed):
    rng = random.Random(seed)
    for _ in range(25):
        data = damaged(WHOLE[seed], rng)
        try:
            table = read_table(data)
            describe_columns(table)
            assert sum(part.height for part in read_batches(data, table.forms)) >= 0
        except TableError:
            pass


def test_quotes_in_odd_places_and_blank_lines():
    table = read_table(b'a,b\n1,"x, ""y""\nz["\n2,w\n\nz"\n2,w\n""\nz"')
    assert table.frame.columns == ["a", "b"]
    with pytest.raises(TableError, match="line 3 has 3 fields"):
        read_table(b'a,b\n"x"y,"1\n2","3" 4,5"\n')
