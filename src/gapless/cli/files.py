"""Files written completely or not at all: under other names, renamed together at the end."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

# The names of files written, if they are to be recorded.
_written: ContextVar[list[str] | None] = ContextVar("written", default=None)


@contextmanager
def noting_files(names: list[str]) -> Iterator[None]:
    """Inside the block, add the name of each file to a list as soon as it exists."""
    token = _written.set(names)
    try:
        yield
    finally:
        _written.reset(token)


@contextmanager
def whole_files(folder: str | os.PathLike = ".") -> Iterator[Callable[[str], Path]]:
    """Give temporary names to new files of a folder; they are renamed at the end of the block.

    An error or Ctrl-C inside the block leaves the folder unchanged: older files of these names
    stay, and a folder created for them is removed.

    Parameters
    ----------
    folder : str or path, default="."
        Where the files go; it is created if it does not exist.

    Yields
    ------
    callable
        `new(name)` is the path to write to, for the file to be called `name`.
    """
    folder = Path(folder)
    pairs: list[tuple[Path, Path]] = []

    def new(name: str) -> Path:
        # The target of a link is replaced, not the link.
        path = Path(os.path.realpath(folder / name))
        temporary = path.parent / f".{secrets.token_hex(4)}.{path.name}"
        pairs.append((temporary, path))
        return temporary

    made = _make(folder)
    try:
        yield new
        for temporary, _ in pairs:
            _flush(temporary)
        names = _written.get()
        for temporary, path in pairs:
            os.replace(temporary, path)
            if names is not None:
                names.append(path.name)
        made = []
    except OSError as error:
        # Python does not name the file when the disk is full.
        error.filename = error.filename or str(folder)
        raise
    finally:
        for temporary, _ in pairs:
            with suppress(FileNotFoundError):
                temporary.unlink()
        for parent in made:
            with suppress(OSError):
                parent.rmdir()


def check_folder(folder: str | os.PathLike) -> None:
    """Check that files can be written there, before the work begins.

    Raises
    ------
    ValueError
        If it is a file, or cannot be written to.
    """
    folder = Path(folder)
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not there.is_dir():
        raise ValueError(f"{there} is a file, not a folder; name another one with --out.")
    try:
        # Permissions are not everything: root has them everywhere, but not on every file system.
        tempfile.TemporaryFile(dir=there).close()
    except OSError as error:
        raise ValueError(
            f"{there} cannot be written to ({error.strerror}); name another folder with --out."
        ) from None


def check_file(path: Path) -> None:
    """Check that a file can be written, before the work begins.

    Raises
    ------
    ValueError
        If it is a folder, a device or a pipe, or its folder cannot be written to.
    """
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a file in it.")
    if path.exists() and not path.is_file():
        # A new file with its name would replace it, for everyone.
        raise ValueError(f"{path} is a device or a pipe; name a file.")
    check_folder(path.parent)


def _make(folder: Path) -> list[Path]:
    """Create a folder and its parents; return those that did not exist, the innermost first."""
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return made


def _flush(path: Path) -> None:
    """Wait until a file is on disk, so that its new name never refers to half of it."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
