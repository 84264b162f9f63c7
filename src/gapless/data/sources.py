"""Bytes of a table: from a file, standard input or memory, unpacked, and as UTF-8."""

from __future__ import annotations

import bz2
import codecs
import gzip
import importlib
import io
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from .findings import TableError

STANDARD_INPUT = "-"
Source = str | Path | bytes | IO[bytes]

BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True, slots=True)
class Opened:
    """An open table: its bytes unpacked, how they begin, and what it is called."""

    stream: IO[bytes]
    head: bytes
    name: str


@contextmanager
def open_source(source: Source) -> Iterator[Opened]:
    """Open a table, unpack it if its first bytes say that it is packed, and close what was opened.

    A stream that was open before stays open.
    """
    stream, name = _raw(source)
    try:
        unpacked = _unpacked(stream, _peek(stream), name)
        yield Opened(unpacked, _peek(unpacked), name)
    finally:
        if isinstance(source, str | Path) and source != STANDARD_INPUT:
            stream.close()


def _raw(source: Source) -> tuple[IO[bytes], str]:
    if isinstance(source, bytes):
        return io.BytesIO(source), "bytes"
    if source == STANDARD_INPUT:
        return sys.stdin.buffer, "standard input"
    if not isinstance(source, str | Path):
        return source, str(getattr(source, "name", "stream"))
    try:
        return open(source, "rb"), str(source)
    except IsADirectoryError:
        raise TableError(f"{source} is a folder; name a file in it.") from None
    except OSError as error:
        raise TableError(f"{source} could not be opened: {error.strerror}.") from None


def _peek(stream: Any, size: int = 16) -> bytes:
    """The first bytes, which stay to be read."""
    if hasattr(stream, "peek"):
        return stream.peek(size)[:size]
    head = stream.read(size)
    stream.seek(-len(head), io.SEEK_CUR)
    return head


class _Unpacking(io.RawIOBase):
    """Bytes as another stream unpacks them; damage is an error of the table."""

    def __init__(self, stream: Any, name: str):
        self.stream, self.name = stream, name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self.stream.read(len(buffer))
        except (OSError, EOFError, lzma.LZMAError, zlib.error, ValueError) as error:
            raise TableError(f"{self.name} could not be unpacked: {error}.") from None
        buffer[: len(data)] = data
        return len(data)


def _unpacked(stream: Any, head: bytes, name: str) -> IO[bytes]:
    for magic, reader in PACKINGS:
        if head.startswith(magic):
            return io.BufferedReader(_Unpacking(reader(stream, name), name), 1 << 20)
    return stream


def _zstandard(stream: Any, name: str) -> Any:
    """A reader of Zstandard, from Python itself (3.14) or from a package that has one."""
    readers = (
        ("compression.zstd", lambda module: module.ZstdFile(stream)),
        ("zstandard", lambda module: module.ZstdDecompressor().stream_reader(stream)),
        ("pyarrow", lambda module: module.CompressedInputStream(stream, "zstd")),
    )
    for module, opened in readers:
        try:
            return opened(importlib.import_module(module))
        except ImportError:
            continue
    raise TableError(
        f"{name} is packed with Zstandard, which needs a package: pip install 'gapless[tables]'."
    )


# How packed files begin, and who unpacks them.
PACKINGS: tuple[tuple[bytes, Callable[[Any, str], Any]], ...] = (
    (b"\x1f\x8b", lambda stream, _: gzip.GzipFile(fileobj=stream)),
    (b"BZh", lambda stream, _: bz2.BZ2File(stream)),
    (b"\xfd7zXZ\x00", lambda stream, _: lzma.LZMAFile(stream)),  # noqa: SIM115
    (b"\x28\xb5\x2f\xfd", _zstandard),
)


# ---- encodings -----------------------------------------------------------------------------------


def encoding_of(data: bytes, *, is_whole: bool = True) -> str:
    """The encoding of a text from its bytes: by its mark, its zeros, or what can be decoded."""
    for mark, name in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return name
    start = data[:4000]
    # Latin letters in UTF-16 have a zero in every second byte.
    if start[1::2].count(0) > 0.4 * len(start[1::2]) > 0:
        return "utf-16-le"
    if start[::2].count(0) > 0.4 * len(start[::2]) > 0:
        return "utf-16-be"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, is_whole)
        return "utf-8"
    except UnicodeDecodeError:
        return "cp1252"


def as_utf8(data: bytes, encoding: str | None = None) -> tuple[bytes, str]:
    """The text in UTF-8 without a byte-order mark, and the encoding it was in."""
    name = encoding or encoding_of(data)
    if name == "utf-8":
        return data, name
    if name == "utf-8-sig":
        return data.removeprefix(codecs.BOM_UTF8), name
    return _decode(data, name).encode(), _usual_name(name)


def _decode(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except LookupError:
        raise TableError(f"no encoding is called {encoding!r}; try utf-8 or latin-1.") from None
    except UnicodeDecodeError as error:
        if encoding == "cp1252":
            return data.decode("latin-1")
        raise TableError(
            f"byte {error.start:,} is not {encoding}: {error.reason}; name the right encoding."
        ) from None


def _usual_name(encoding: str) -> str:
    return "latin-1" if encoding == "cp1252" else encoding


def utf8_blocks(
    stream: IO[bytes], size: int, encoding: str | None = None
) -> Iterator[tuple[bytes, bool]]:
    """The text block by block in UTF-8, each with whether it is the last one.

    The first block decides about the encoding. A text that was plain ASCII so far and then is no
    UTF-8 is Latin-1 from there on, as it would be read in one piece.
    """
    block = stream.read(size)
    name = encoding or encoding_of(block, is_whole=len(block) < size)
    decoder = codecs.getincrementaldecoder("utf-8-sig" if name == "utf-8" else name)()
    while True:
        following = stream.read(size)
        is_last = not following
        try:
            text = decoder.decode(block, is_last)
        except UnicodeDecodeError:
            decoder = codecs.getincrementaldecoder("latin-1")()
            text = decoder.decode(block, is_last)
        yield text.encode(), is_last
        if is_last:
            return
        block = following
