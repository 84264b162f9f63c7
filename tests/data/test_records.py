"""Records: where they are, whatever quotes they contain, as Python's own reader finds them."""

import numpy as np
import polars as pl
import pytest

from gapless.data import read_batches, read_table, reading
from gapless.data.dialects import find_records, read_rows

PARTS = ('"', '""', ",", "\n", "a", 'b"', '"c"', ' "d, e"', '"f\ng"')


def test_records_are_those_of_pythons_reader():
    rng = np.random.default_rng(0)
    for _ in range(2000):
        text = "".join(rng.choice(PARTS, rng.integers(1, 12))) + "\n"
        records = find_records(text.encode(), ",", '"')
        if records.is_open:
            continue
        expected = [max(len(row), 1) for row in read_rows(text, ",", '"')]
        assert records.fields.tolist() == expected, repr(text)


@pytest.mark.parametrize("odd", ['5" pipe', '"5" pipe"'])
def test_a_stray_quote_far_down_leaves_other_quotes_as_they_are(odd, monkeypatch):
    names = [f'"pipe, {k}"' for k in range(6000)]
    names[5000] = odd
    text = "name,y\n" + "".join(f"{name},{k % 3}\n" for k, name in enumerate(names))
    table = read_table(text.encode())
    assert table.frame["name"][0] == "pipe, 0" and table.frame["name"][5999] == "pipe, 5999"
    assert table.frame["name"][5000].startswith("5") and len(table) == 6000
    monkeypatch.setattr(reading, "BLOCK", 1 << 14)
    batches = list(read_batches(text.encode(), table.forms))
    assert len(batches) > 5
    assert pl.concat(batches)["name"].equals(table.frame["name"])
