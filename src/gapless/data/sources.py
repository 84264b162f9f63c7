"""Bytes of a table: from a file, standard input or memory, unpacked, within limits; and options.

Endless input, such as a device or a pipe that is never closed, stops at a limit of memory, and of
time if one is given; a small compressed file may unpack to any size and stops at the first.
"""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import os
import select
import stat
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any

from .._ground.memory import free_memory
from .findings import TableError, counted, listed

STANDARD_INPUT = "-"
Source = str | Path | bytes | IO[bytes]

# Files of an archive that are not tables: what a Mac adds to each.
BESIDE_TABLES = ("__MACOSX/", ".DS_Store")
# Files that distinguish an archive that is a document, such as a workbook, from one of files.
OF_DOCUMENTS = ("[Content_Types].xml", "mimetype")
# Bytes of memory per byte of a table during reading: fields become separate objects.
MEMORY_PER_BYTE = 8
# Bytes read and turned into rows at a time: enough to make the cost of a call negligible.
BLOCK = 1 << 24
# The first bytes of a text, which show its encoding and its delimiter, and whether it is one.
SAMPLE_BYTES = 1 << 16
# The buffer of Python's own readers.
BUFFER = 1 << 20
# Smaller for Zstandard, since each byte may unpack to 32,000.
PACKED_AT_ONCE = 1 << 11


@dataclass(frozen=True, slots=True)
class Opened:
    """An open table: its bytes unpacked, their beginning, and its name."""

    stream: IO[bytes]
    head: bytes
    name: str


@contextmanager
def open_source(source: Source, time_limit: float | None = None) -> Iterator[Opened]:
    """Open a table, unpack it if its first bytes show that it is compressed, and close it.

    A stream that was already open stays open. The limit, in seconds, is for possibly endless input:
    pipes and devices.
    """
    deadline = None if time_limit is None else time.monotonic() + time_limit
    stream, name = _raw(source, deadline)
    try:
        unpacked = _unpacked(stream, _peek(stream), name)
        yield Opened(unpacked, _peek(unpacked), name)
    finally:
        if isinstance(source, str | Path) and source != STANDARD_INPUT:
            stream.close()


def read_whole(stream: IO[bytes], name: str, check: Callable[[bytes], None] | None = None) -> bytes:
    """All bytes of a table; a check may refuse the first block.

    Raises
    ------
    TableError
        If they are more than memory holds as a table.
    """
    most = free_memory() / MEMORY_PER_BYTE
    blocks: list[bytes] = []
    size = 0
    while block := stream.read(BLOCK):
        if check is not None and not blocks:
            check(block)
        size += len(block)
        if size > most:
            raise TableError(
                f"{name} is larger than {most / 2**20:,.0f} MB, the largest table that fits in "
                "free memory; use fewer rows or columns."
            )
        blocks.append(block)
    return blocks[0] if len(blocks) == 1 else b"".join(blocks)


def _raw(source: Source, deadline: float | None) -> tuple[IO[bytes], str]:
    if isinstance(source, bytes):
        return io.BytesIO(source), "bytes"
    if source == STANDARD_INPUT:
        if sys.stdin is None:
            raise TableError("standard input is closed; name a file instead of -.")
        kept = sys.stdin.buffer
        return _in_time(kept, deadline, "standard input", closes=False), "standard input"
    if not isinstance(source, str | Path):
        return source, str(getattr(source, "name", "stream"))
    try:
        # Opened normally, a pipe waits for a writer, without end.
        waits = deadline is None or not stat.S_ISFIFO(os.stat(source).st_mode)
        number = os.open(source, os.O_RDONLY if waits else os.O_RDONLY | os.O_NONBLOCK)
        stream = open(number, "rb")  # noqa: SIM115
    except IsADirectoryError:
        raise TableError(f"{source} is a folder; name a file in it.") from None
    except OSError as error:
        raise TableError(f"{source} could not be opened: {error.strerror}.") from None
    return _in_time(stream, deadline, str(source)), str(source)


def _in_time(stream: Any, deadline: float | None, name: str, closes: bool = True) -> IO[bytes]:
    """The same bytes, until a deadline if they do not come from a file."""
    if deadline is None:
        return stream
    try:
        number = stream.fileno()
        has_end = stat.S_ISREG(os.fstat(number).st_mode)
    except (OSError, ValueError, AttributeError):
        # Bytes in place of a stream.
        return stream
    if has_end:
        return stream
    os.set_blocking(number, True)
    return io.BufferedReader(_Timed(stream, deadline, name, closes), BUFFER)


class _Timed(io.RawIOBase):
    """Bytes of a pipe or a device; those that come too late are a table error."""

    def __init__(self, stream: Any, deadline: float, name: str, closes: bool):
        self.stream, self.number = stream, stream.fileno()
        self.deadline, self.name, self.closes = deadline, name, closes

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self.deadline - time.monotonic()
        if left <= 0 or not select.select([self.number], [], [], left)[0]:
            raise TableError(
                f"{self.name} did not end within the time limit; allow more time, or use a file."
            )
        return os.readv(self.number, [buffer])

    def close(self) -> None:
        if self.closes:
            self.stream.close()
        super().close()


def _peek(stream: Any, size: int = 16) -> bytes:
    """The first bytes, without consuming them."""
    if hasattr(stream, "peek"):
        return stream.peek(size)[:size]
    head = stream.read(size)
    stream.seek(-len(head), io.SEEK_CUR)
    return head


class _Unpacking(io.RawIOBase):
    """Bytes unpacked by another stream; damage is a table error."""

    def __init__(self, stream: Any, name: str):
        self.stream, self.name = stream, name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self.stream.read(len(buffer))
        except (TableError, MemoryError):
            raise
        # Each package has its own errors for bytes that it cannot unpack.
        except Exception as error:
            raise _damaged(self.name, error) from None
        buffer[: len(data)] = data
        return len(data)


def _damaged(name: str, error: Exception) -> TableError:
    # A password is a RuntimeError, an unsupported compression a NotImplementedError, which is one
    # too.
    what = "could" if isinstance(error, RuntimeError) else "is damaged and could"
    why = str(error).rstrip(".") or type(error).__name__
    return TableError(f"{name} {what} not be unpacked: {why}.")


def _unpacked(stream: Any, head: bytes, name: str) -> IO[bytes]:
    for magic, reader in PACKINGS:
        if head.startswith(magic):
            return io.BufferedReader(_Unpacking(reader(stream, name), name), BUFFER)
    return _out_of_archive(stream, name) if head.startswith(b"PK\x03\x04") else stream


def _out_of_archive(stream: Any, name: str) -> IO[bytes]:
    """The only file of a ZIP archive; a workbook, which is an archive too, stays unchanged."""
    # The list of an archive's files is at its end.
    whole = stream if stream.seekable() else io.BytesIO(read_whole(stream, name))
    begin = whole.tell()
    try:
        archive = zipfile.ZipFile(whole)
        files = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
        if not any(file in OF_DOCUMENTS for file in files):
            file = _only_table(files, name)
            return io.BufferedReader(_Unpacking(archive.open(file), name), BUFFER)
    except TableError:
        raise
    except Exception as error:
        # The reader of workbooks reports what is wrong with a damaged one.
        if isinstance(error, RuntimeError) or name.lower().endswith(".zip"):
            raise _damaged(name, error) from None
    whole.seek(begin)
    return whole


def _only_table(files: list[str], name: str) -> str:
    tables = [file for file in files if not any(word in file for word in BESIDE_TABLES)]
    if len(tables) != 1:
        raise TableError(
            f"{name} is an archive of {counted(len(tables), 'file')} ({listed(tables)}); "
            "unpack it and name the table's file."
        )
    return tables[0]


class _Frames:
    """Bytes of all frames of Zstandard in turn; a frame without its end is damaged.

    The package's own reader stops after the first one, and accepts a truncated file.
    """

    def __init__(self, package: Any, stream: Any):
        self.package, self.stream = package, stream
        self.frame: Any = None
        self.packed, self.unpacked = b"", b""

    def read(self, size: int) -> bytes:
        while not self.unpacked and (packed := self.packed or self.stream.read(PACKED_AT_ONCE)):
            self.packed = b""
            self.frame = self.frame or self.package.decompressobj()
            self.unpacked = self.frame.decompress(packed)
            if self.frame.eof:
                self.packed, self.frame = self.frame.unused_data, None
        if not self.unpacked and self.frame is not None:
            raise EOFError("it ends in the middle of a frame")
        data, self.unpacked = self.unpacked[:size], self.unpacked[size:]
        return data


def _zstandard(stream: Any, name: str) -> Any:
    """A reader of Zstandard, from Python itself (3.14) or from a package."""
    readers = (
        ("compression.zstd", lambda module: module.ZstdFile(stream)),
        ("zstandard", lambda module: _Frames(module.ZstdDecompressor(), stream)),
        ("pyarrow", lambda module: module.CompressedInputStream(stream, "zstd")),
    )
    for module, opened in readers:
        try:
            return opened(importlib.import_module(module))
        except ImportError:
            continue
    raise TableError(
        f"{name} is compressed with Zstandard; to read it: pip install 'gapless[tables]'."
    )


# The first bytes of compressed files, and their decompressors.
PACKINGS: tuple[tuple[bytes, Callable[[Any, str], Any]], ...] = (
    (b"\x1f\x8b", lambda stream, _: gzip.GzipFile(fileobj=stream)),
    (b"BZh", lambda stream, _: bz2.BZ2File(stream)),
    (b"\xfd7zXZ\x00", lambda stream, _: lzma.LZMAFile(stream)),  # noqa: SIM115
    (b"\x28\xb5\x2f\xfd", _zstandard),
)


# ---- what is known about a table -----------------------------------------------------------------

DECIMALS = (".", ",")


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """How to read a table; None for what is found from its bytes.

    Attributes
    ----------
    delimiter : str or None
        The character between the fields of a text.
    encoding : str or None
        The encoding of a text.
    header : int or None
        The line of a text, or the row of a sheet, that has the names of columns, counted from 1;
        0 if none has.
    sheet : str, int or None
        The sheet of a workbook: its name, or its position counted from 1.
    decimal : {".", ","} or None
        The decimal mark of all numbers.

    Raises
    ------
    TableError
        If a table cannot be read this way.
    """

    delimiter: str | None = None
    encoding: str | None = None
    header: int | None = None
    sheet: str | int | None = None
    decimal: str | None = None

    def __post_init__(self) -> None:
        # Options may come from a file.
        one = self.delimiter
        if one is not None and not (
            isinstance(one, str) and len(one) == 1 and one not in "\r\n\"'"
        ):
            raise TableError(f"the delimiter must be one character such as ';', got {one!r}.")
        if one is not None and not one.isascii():
            raise TableError(f"the delimiter must be an ASCII character such as ';', got {one!r}.")
        if not isinstance(self.encoding, str | None):
            raise TableError(f"the encoding must be a name such as utf-8, got {self.encoding!r}.")
        row = self.header
        if row is not None and (not isinstance(row, int) or isinstance(row, bool) or row < 0):
            raise TableError(
                "the header must be a row number, counted from 1, or 0 if there is no header; "
                f"got {row!r}."
            )
        if not isinstance(self.sheet, str | int | None) or self.sheet == "":
            raise TableError(
                f"the sheet must be a name or a number counted from 1, got {self.sheet!r}."
            )
        if self.decimal not in (None, *DECIMALS):
            raise TableError(f"the decimal mark must be '.' or ',', got {self.decimal!r}.")

    def given(self) -> dict[str, Any]:
        """Those that are not None, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def over(self, others: ReadingOptions) -> ReadingOptions:
        """These, completed by others."""
        return replace(others, **self.given())


AS_FOUND = ReadingOptions()
