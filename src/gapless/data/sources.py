"""Bytes of a table: from a file, standard input or memory, unpacked."""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from .findings import TableError, counted, listed

STANDARD_INPUT = "-"
Source = str | Path | bytes | IO[bytes]

# Files of an archive that are no tables: what a Mac adds to each.
BESIDE_TABLES = ("__MACOSX/", ".DS_Store")
# Files that tell an archive which is a document, such as a workbook, from one of files.
OF_DOCUMENTS = ("[Content_Types].xml", "mimetype")


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


UNPACKING_ERRORS = (
    *(OSError, EOFError, ValueError, lzma.LZMAError, zlib.error),
    # A password is a RuntimeError, a rare way of packing a NotImplementedError, which is one too.
    *(zipfile.BadZipFile, RuntimeError),
)


class _Unpacking(io.RawIOBase):
    """Bytes as another stream unpacks them; damage is an error of the table."""

    def __init__(self, stream: Any, name: str):
        self.stream, self.name = stream, name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self.stream.read(len(buffer))
        except UNPACKING_ERRORS as error:
            raise TableError(f"{self.name} could not be unpacked: {error}.") from None
        buffer[: len(data)] = data
        return len(data)


def _unpacked(stream: Any, head: bytes, name: str) -> IO[bytes]:
    for magic, reader in PACKINGS:
        if head.startswith(magic):
            return io.BufferedReader(_Unpacking(reader(stream, name), name), 1 << 20)
    return _out_of_archive(stream, name) if head.startswith(b"PK\x03\x04") else stream


def _out_of_archive(stream: Any, name: str) -> IO[bytes]:
    """The one file of a ZIP archive; a workbook, which is an archive too, stays as it is."""
    # The list of an archive's files is at its end.
    whole = stream if stream.seekable() else io.BytesIO(stream.read())
    begin = whole.tell()
    try:
        archive = zipfile.ZipFile(whole)
        files = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
        if not any(file in OF_DOCUMENTS for file in files):
            file = _only_table(files, name)
            return io.BufferedReader(_Unpacking(archive.open(file), name), 1 << 20)
    except zipfile.BadZipFile:
        # Whoever reads workbooks says what is wrong with a damaged one.
        pass
    except RuntimeError as error:
        raise TableError(f"{name} could not be unpacked: {error}.") from None
    whole.seek(begin)
    return whole


def _only_table(files: list[str], name: str) -> str:
    tables = [file for file in files if not any(word in file for word in BESIDE_TABLES)]
    if len(tables) != 1:
        raise TableError(
            f"{name} is an archive of {counted(len(tables), 'file')} ({listed(tables)}); "
            "unpack it and give the file of the table."
        )
    return tables[0]


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
