"""Exit codes, and the message of a command that cannot run."""

from __future__ import annotations

import os

DONE, FINDINGS, COULD_NOT_RUN = 0, 1, 2


def message_of(error: BaseException, model: str | None = None) -> str:
    """An error in words, without a traceback.

    Errors of ours include what to do. Others are named with their type, since nobody expected
    them; with a model file, the file may be to blame.
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
    """Whether the error was raised by gapless itself, which means what it says."""
    frame = error.__traceback__
    name = ""
    while frame is not None:
        name = frame.tb_frame.f_globals.get("__name__", "")
        frame = frame.tb_next
    return name.partition(".")[0] == "gapless"
