"""The file of a model: a safetensors file with one entry in its metadata, the manifest.

All sizes are checked before memory is allocated: the header here, and the shapes, types and offsets
of the arrays by safetensors, which reads them without running anything.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

Array = np.ndarray

KEY = "gapless"
FORMAT = "gapless model"
# Files with another first number cannot be read; a higher second one adds what older readers
# refuse.
VERSION = (1, 1)
LARGEST_HEADER = 64 << 20


class ModelFileError(ValueError):
    """A model cannot be written to a file, or a file does not hold a valid model."""


def write(path: Path, manifest: dict[str, Any], tensors: dict[str, Array]) -> None:
    """Write a file under another name first, so that no reader ever finds half of it."""
    text = json.dumps(manifest, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    # About the size of the header: it holds the manifest as a JSON string.
    size = len(text) + text.count('"') + text.count("\\") + 160 * len(tensors)
    if size > LARGEST_HEADER:
        raise ModelFileError(
            f"the model has {len(tensors)} arrays and {len(text) >> 20} MB of names and words, "
            "too much for one file; use fewer trees or columns, or a smaller vocabulary."
        )
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        # safetensors makes its files private; create this one with the user's usual permissions.
        temporary.touch()
        mode = temporary.stat().st_mode
        with _system_errors(path):
            save_file(tensors, temporary, metadata={KEY: text})
        temporary.chmod(mode)
        _flush(temporary)
        os.replace(temporary, path)
        _flush(path.parent)
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


@contextmanager
def _system_errors(path: Path) -> Iterator[None]:
    """Raise system errors, such as a full disk, as Python's own; safetensors has its own."""
    try:
        yield
    except SafetensorError as error:
        number = re.search(r"os error (\d+)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1])), str(path)) from None


def _flush(path: Path) -> None:
    """Wait until a file or a folder is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Tensors:
    """The arrays of an open file, by name."""

    def __init__(self, file: Any):
        self._file = file
        self.names: frozenset[str] = frozenset(file.keys())

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of an array that is not read."""
        return tuple(self._file.get_slice(name).get_shape())

    def array(self, name: str) -> Array:
        """A copy of an array."""
        array: Array = self._file.get_tensor(name)
        if array.dtype == bool and (array.view(np.uint8) > 1).any():
            raise ModelFileError(f"array {name!r} has booleans other than 0 and 1.")
        return array


@contextmanager
def opened(path: Path) -> Iterator[tuple[dict[str, Any], Tensors]]:
    """The manifest and the arrays of a file."""
    _check_header(path)
    try:
        # Read and not mapped: a file that shrinks meanwhile gives an error, not a signal.
        with safe_open(path, framework="numpy", backend="pread") as file:
            yield _manifest(file.metadata() or {}, path), Tensors(file)
    except SafetensorError as error:
        raise ModelFileError(f"{path} is damaged: {error}.") from error


def _check_header(path: Path) -> None:
    """Refuse files of another kind before reading anything of their size."""
    # A pipe or a device could make the reader wait for ever.
    if not stat.S_ISREG(path.stat().st_mode):
        raise ModelFileError(f"{path} is not a file, but a folder, a pipe or a device.")
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        begin = file.read(1)
    if begin != b"{" or size > path.stat().st_size - 8:
        raise ModelFileError(f"{path} is not a complete model file.")
    if size > LARGEST_HEADER:
        raise ModelFileError(f"{path} has a header of {size >> 20} MB; at most 64 MB are read.")


def _manifest(metadata: dict[str, str], path: Path) -> dict[str, Any]:
    if set(metadata) != {KEY}:
        raise ModelFileError(
            f"{path} is a safetensors file but not a gapless model; gapless.save writes these."
        )
    try:
        manifest = json.loads(
            metadata[KEY], object_pairs_hook=_once, parse_constant=_refuse_constant
        )
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{path} has a damaged manifest: {error}.") from error
    _check_version(manifest, path)
    return manifest


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(found := dict(pairs)) < len(pairs):
        raise ModelFileError("a name appears twice")
    return found


def _refuse_constant(name: str) -> None:
    raise ModelFileError(f"{name} is not a JSON number")


def _check_version(manifest: Any, path: Path) -> None:
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ModelFileError(f"{path} is not a gapless model.")
    version = manifest.get("version")
    if not (isinstance(version, list) and [type(part) for part in version] == [int, int]):
        raise ModelFileError(f"{path} does not state its version.")
    if version[0] != VERSION[0]:
        age = "newer" if version[0] > VERSION[0] else "older"
        raise ModelFileError(
            f"{path} is a model file of version {version[0]}, {age} than version {VERSION[0]}, "
            "which this gapless reads; load it with the gapless that wrote it, or a later one."
        )
    if set(manifest) != {"format", "version", "written_by", "model"}:
        raise ModelFileError(f"{path} has a manifest with unexpected entries.")
    writers = manifest["written_by"]
    if not (isinstance(writers, dict) and all(isinstance(v, str) for v in writers.values())):
        raise ModelFileError(f"{path} does not state what wrote it.")
