"""One line of a terminal that shows what is going on, and is gone at the end."""

from __future__ import annotations

import shutil
import threading
import time
from typing import Any, TextIO

from .words import progress_line

REFRESH_SECONDS = 0.25


class LiveLine:
    """Rewrites one line: the last event, and the seconds, which go on while a fit is silent."""

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
        """Leave the terminal as it was."""
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
        # The last column stays free: some terminals go to the next line when it is written.
        text = progress_line(self._event, seconds)[: shutil.get_terminal_size().columns - 1]
        self.stream.write("\r" + text.ljust(self._width))
        self.stream.flush()
        self._width = len(text)
