"""The sentences of the tool itself: wrong command lines, failures, interruptions, progress.

Those about tables, models and choices are elsewhere; this file imports none of these, so that
`gapless --help` answers at once.
"""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

# ---- the command line ----------------------------------------------------------------------------


def unknown_command(word: str, commands: Iterable[str]) -> str:
    """What to type instead of a command that does not exist."""
    known = list(commands)
    near = difflib.get_close_matches(word, known, n=1)
    if near:
        return f"unknown command {word!r}; did you mean {near[0]!r}?"
    if Path(word).is_file():
        return f"{word!r} is a file; to fit it: gapless fit {word} --target COLUMN."
    return f"unknown command {word!r}; choose from {', '.join(known)}."


def unknown_script(name: str, known: Iterable[str]) -> str:
    """What to type instead of a picture that the gallery does not have."""
    near = difflib.get_close_matches(name, list(known), n=1)
    meant = f"did you mean {near[0]!r}?" if near else "gapless gallery --list names them all."
    return f"the gallery has no picture {name!r}; {meant}"


def unknown_option(word: str, command: str, known: Sequence[str]) -> str:
    """What to type instead of an option or an argument that a command does not have."""
    if not word.startswith("-"):
        return (
            f"unexpected argument {word!r}; quote names that contain spaces "
            f"(see gapless {command} --help)."
        )
    option = word.partition("=")[0]
    near = difflib.get_close_matches(option, known, n=1)
    meant = f"did you mean {near[0]}?" if near else f"see gapless {command} --help."
    return f"{command} has no option {option}; {meant}"


# ---- failures and interruptions ------------------------------------------------------------------


def message_of(error: BaseException, model: str | None = None) -> str:
    """An error in words, without a traceback.

    Our errors include what to do. Others are named with their type, since they are unexpected; with
    a model file, the file may be to blame.
    """
    if isinstance(error, MemoryError):
        return "not enough memory; use fewer rows or columns."
    if isinstance(error, OSError) and error.strerror:
        return f"{os.fsdecode(error.filename or 'the system')}: {error.strerror}."
    if isinstance(error, ValueError) and _is_ours(error):
        return str(error)
    whose = "This is a bug in gapless, not a problem with your table"
    if model is not None:
        whose = f"Either {model} is damaged (then fit it again) or this is a bug in gapless"
    return f"{type(error).__name__}: {error}\n{whose}; --debug shows the traceback."


def _is_ours(error: BaseException) -> bool:
    """Whether the error was raised by gapless itself, with a message for users."""
    frame = error.__traceback__
    name = ""
    while frame is not None:
        name = frame.tb_frame.f_globals.get("__name__", "")
        frame = frame.tb_next
    return name.partition(".")[0] == "gapless"


def interrupted(written: Sequence[str]) -> str:
    """An interrupted command, with the files it has left."""
    if not written:
        return "interrupted; no file was written."
    were = "was" if len(written) == 1 else "were"
    return f"interrupted after {' and '.join(written)} {were} written."


# ---- progress ------------------------------------------------------------------------------------


def progress_line(event: Any, seconds: float) -> str:
    """An event as one line: how much time has passed, how far the work is, what is being done."""
    clock = f"{seconds:.0f} of {event.limit:g} s" if event.limit < math.inf else f"{seconds:.0f} s"
    place = f" [{event.done}/{event.total}]" if event.total else ""
    return f"{clock}{place} {doing(event)}"


def doing(event: Any) -> str:
    """What is being done, and with which model."""
    text = " ".join(event.text.split())
    return f"{event.model}: {text}" if event.model else text
