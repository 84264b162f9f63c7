"""Limits of reading: what has no end stops, and what is damaged is called so."""

import bz2
import gzip
import io
import lzma
import os
import sys
import threading
import zipfile

import polars as pl
import pytest

from gapless.data import TableError, read_batches, read_table, sources

ROWS = "a,b,c\n" + "".join(f"{k},x{k % 5},{k * 7 % 101}.5\n" for k in range(400))
CSV = ROWS.encode()


def written(write):
    file = io.BytesIO()
    write(pl.read_csv(CSV), file)
    return file.getvalue()


def zipped(data):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("table.csv", data)
    return file.getvalue()


PACKED = {
    "table.csv.gz": gzip.compress,
    "table.csv.bz2": bz2.compress,
    "table.csv.xz": lzma.compress,
    "table.zip": zipped,
}
WHOLE = {
    **{name: pack(CSV) for name, pack in PACKED.items()},
    "table.parquet": written(pl.DataFrame.write_parquet),
    "table.arrow": written(pl.DataFrame.write_ipc),
}


class Endless(io.RawIOBase):
    """A stream that repeats a line without end, and knows how much of it was read."""

    def __init__(self, line):
        self.line, self.size = line, 0

    def readable(self):
        return True

    def readinto(self, buffer):
        repeated = self.line * (len(buffer) // len(self.line))
        buffer[: len(repeated)] = repeated
        self.size += len(repeated)
        return len(repeated)


@pytest.fixture
def little_memory(monkeypatch):
    monkeypatch.setattr(sources, "free_memory", lambda: 8e6)
    monkeypatch.setattr(sources, "BLOCK", 1 << 16)


def test_a_stream_without_an_end_stops_at_the_free_memory(little_memory):
    stream = Endless(b"1,2\n")
    with pytest.raises(TableError, match="larger than 1 MB"):
        read_table(io.BufferedReader(stream))
    assert stream.size < 4e6


@pytest.mark.parametrize("name", PACKED)
def test_a_small_file_that_unpacks_to_more_than_memory_stops(little_memory, name):
    bomb = PACKED[name](b"a,b\n" + b"1,2\n" * 1_000_000)
    with pytest.raises(TableError, match="larger than 1 MB"):
        read_table(bomb)


def test_zeros_without_end_are_no_text(tmp_path):
    for read in (read_table, lambda source: list(read_batches(source, {}))):
        with pytest.raises(TableError, match="/dev/zero is neither text"):
            read("/dev/zero")


def test_rows_of_equal_values_that_memory_cannot_hold_are_refused(monkeypatch):
    data = written(pl.DataFrame.write_parquet)
    monkeypatch.setattr("gapless.data.formats.free_memory", lambda: 20_000)
    with pytest.raises(TableError, match="400 rows and 3 columns, too many for the free memory"):
        read_table(data)


def test_a_pipe_has_to_end_within_the_time_limit(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(TableError, match="did not end within the time limit"):
        read_table(path, time_limit=0.05)

    # Whoever holds both ends does not wait for a reader, and what was written stays.
    with os.fdopen(os.open(path, os.O_RDWR), "r+b", buffering=0) as pipe:
        pipe.write(CSV)
        with pytest.raises(TableError, match="did not end"):
            read_table(path, time_limit=0.05)

    writer = threading.Thread(target=path.write_bytes, args=(CSV,))
    writer.start()
    assert len(read_table(path, time_limit=600)) == 400
    writer.join()


def test_standard_input_has_to_end_too_and_stays_open(monkeypatch):
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as out, os.fdopen(writing, "wb", buffering=0) as pipe:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(out))
        pipe.write(CSV)
        with pytest.raises(TableError, match="standard input did not end"):
            read_table("-", time_limit=0.05)
        assert not out.closed


def test_a_standard_input_that_is_closed_is_named(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(TableError, match="standard input is closed"):
        read_table("-")


@pytest.mark.parametrize("name", WHOLE)
def test_a_file_that_was_cut_is_called_damaged(tmp_path, name):
    data = WHOLE[name]
    path = tmp_path / name
    for size in (len(data) - 5, len(data) // 2, 40):
        path.write_bytes(data[:size])
        for read in (read_table, lambda source: list(read_batches(source, {}))):
            with pytest.raises(TableError, match=f"{name} is damaged"):
                read(path)


def test_a_damaged_workbook_is_called_so():
    with pytest.raises(TableError, match="bytes is damaged: it is not a complete workbook"):
        read_table(b"PK\x03\x04 and so on")


def test_zstandard_is_read_to_its_end_or_called_damaged(tmp_path):
    zstandard = pytest.importorskip("zstandard")
    lines = [b"a,b\n", *(b"%d,%d\n" % (k, hash((k, 1)) % 10**9) for k in range(60_000))]
    halves = [zstandard.compress(b"".join(part)) for part in (lines[:9000], lines[9000:])]
    assert len(read_table(b"".join(halves))) == 60_000
    for damaged in (b"".join(halves)[:-5], halves[0] + halves[1][:9], halves[0][:-3]):
        with pytest.raises(TableError, match="is damaged and could not be unpacked"):
            read_table(damaged)
    wrong = bytearray(halves[0])
    for k in range(20, len(wrong), 97):
        wrong[k] ^= 255
    with pytest.raises(TableError, match="is damaged"):
        read_table(bytes(wrong))
