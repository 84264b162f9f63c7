"""What a command prints and how it ends: answers to standard output, all else to standard error."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from typing import Any, TextIO

from .words import doing, progress_line

DONE, FINDINGS, COULD_NOT_RUN = 0, 1, 2


REFRESH_SECONDS = 0.25


class LiveLine:
    """Rewrites one line: the last event, and the seconds, which continue while a fit is silent."""

    def __init__(self, stream: TextIO):
        self.stream = stream
        self._event: Any = None
        self._arrived = 0.0
        self._width = 0
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._clock: threading.Thread | None = None

    def show(self, event: Any) -> None:
        """Show an event now, and keep its clock going."""
        with self._lock:
            self._event, self._arrived = event, time.monotonic()
            self._draw()
        if self._clock is None:
            self._ended.clear()
            self._clock = threading.Thread(target=self._tick, name="gapless-clock", daemon=True)
            self._clock.start()

    def clear(self) -> None:
        """Remove the line from the terminal."""
        if self._clock is not None:
            self._ended.set()
            self._clock.join()
            self._clock = None
        with self._lock:
            self._event = None
            if self._width:
                self.stream.write("\r" + " " * self._width + "\r")
                self.stream.flush()
                self._width = 0

    def _tick(self) -> None:
        while not self._ended.wait(REFRESH_SECONDS):
            with self._lock:
                self._draw()

    def _draw(self) -> None:
        seconds = self._event.seconds + time.monotonic() - self._arrived
        # The last column stays free: some terminals wrap when it is written.
        text = progress_line(self._event, seconds)[: shutil.get_terminal_size().columns - 1]
        self.stream.write("\r" + text.ljust(self._width))
        self.stream.flush()
        self._width = len(text)


BOLD, RED, YELLOW = "1", "31", "33"
# Control characters in a table's names could move the cursor or hide text.
CONTROLS = dict.fromkeys((*range(9), *range(11, 32), *range(127, 160)), "�")


class Printer:
    """The output of a command, and its verbosity.

    Parameters
    ----------
    out, err : TextIO
        Standard output and standard error.
    verbosity : {-1, 0, 1}, default=0
        −1 prints the answer in one line, 1 also the trace of the work.
    """

    def __init__(self, out: TextIO, err: TextIO, verbosity: int = 0):
        self.out, self.err, self.verbosity = out, err, verbosity
        self._line = LiveLine(err) if verbosity == 0 and is_terminal(err) else None

    def answer(self, text: str) -> None:
        """The result, whose first line is the answer; only that line when quiet."""
        self.end_progress()
        first, newline, rest = _safe(text).partition("\n")
        first = self._styled(self.out, first, BOLD)
        self._to_out(first if self.verbosity < 0 else first + newline + rest)

    def plain(self, text: str) -> None:
        """More of the result, below the answer; nothing when quiet."""
        self.end_progress()
        if self.verbosity >= 0:
            self._to_out(_safe(text))

    def json(self, data: dict[str, Any]) -> None:
        """The result as data, however quiet."""
        self.end_progress()
        self._to_out(json.dumps(data, indent=2, allow_nan=False))

    def note(self, text: str) -> None:
        """A remark that is not part of the result; nothing when quiet."""
        if self.verbosity >= 0:
            self._to_err(_safe(text))

    def detail(self, text: str) -> None:
        """A line of the trace."""
        if self.verbosity > 0:
            self._to_err(_safe(text))

    def warning(self, text: str) -> None:
        """Something that may make the result wrong; nothing when quiet."""
        if self.verbosity >= 0:
            self._to_err(self._styled(self.err, "warning:", YELLOW) + " " + _safe(text))

    def error(self, text: str) -> None:
        """Why the command could not run."""
        self._to_err(self._styled(self.err, "gapless:", RED) + " " + _safe(text))

    def progress(self, event: Any) -> None:
        """An event of the work: a line rewritten on a terminal, one line each with -v."""
        if self._line is not None:
            self._line.show(event)
        else:
            self.detail(f"{event.seconds:7.1f} s  {doing(event)}")

    def end_progress(self) -> None:
        """Remove the progress line."""
        if self._line is not None:
            self._line.clear()

    def _to_out(self, text: str) -> None:
        try:
            print(text, file=self.out, flush=True)
        except BrokenPipeError:
            # The reader, such as `head`, has stopped; the exit code still reports what was found.
            leave_pipe(self.out)

    def _to_err(self, text: str) -> None:
        self.end_progress()
        try:
            print(text, file=self.err, flush=True)
        except BrokenPipeError:
            leave_pipe(self.err)
        except OSError:
            # A full disk behind standard error is no reason to lose the work.
            return

    def _styled(self, stream: TextIO, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if has_colour(stream) else text


def leave_pipe(stream: TextIO) -> None:
    """Redirect a stream without a reader to nowhere; Python would complain again at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def is_terminal(stream: TextIO) -> bool:
    """Whether the stream is a terminal that can rewrite a line."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def has_colour(stream: TextIO) -> bool:
    """Whether to write colours: on a terminal, unless NO_COLOR is set (no-color.org)."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR")


def _safe(text: str) -> str:
    """The text without characters that command a terminal."""
    return text.translate(CONTROLS)
