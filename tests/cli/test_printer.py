"""What is said, where, and how much of it; the line of progress on a terminal."""

import io
import json
import math
import re
import time
from types import SimpleNamespace

import pytest

from gapless.cli.printer import LiveLine, Printer
from gapless.cli.words import progress_line


class Terminal(io.StringIO):
    def isatty(self):
        return True


def event(text="boosted trees", done=3, total=9, seconds=4.2, limit=60.0):
    return SimpleNamespace(
        stage="judge", model="", done=done, total=total, seconds=seconds, limit=limit, text=text
    )


def screen(written):
    """What a terminal shows of one line after all that was written to it."""
    shown = ""
    for piece in written.split("\r"):
        shown = piece + shown[len(piece) :]
    return shown.rstrip()


@pytest.fixture
def colour(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")


def test_quiet_says_the_first_line_alone():
    out, err = io.StringIO(), io.StringIO()
    printer = Printer(out, err, -1)
    printer.answer("the answer\n\nmore of it")
    printer.plain("files")
    printer.note("a note")
    printer.warning("a warning")
    printer.progress(event())
    assert out.getvalue() == "the answer\n"
    assert err.getvalue() == ""


def test_verbose_says_each_event_in_a_line_of_its_own(colour):
    for err in (io.StringIO(), Terminal()):
        printer = Printer(io.StringIO(), err, 1)
        printer.progress(event("ridge"))
        printer.progress(event("lasso", seconds=11.0))
        assert err.getvalue() == "    4.2 s  ridge\n   11.0 s  lasso\n"


def test_progress_is_not_written_where_nobody_looks():
    err = io.StringIO()
    printer = Printer(io.StringIO(), err)
    printer.progress(event())
    printer.end_progress()
    assert err.getvalue() == ""


def test_progress_is_one_line_that_is_rewritten_and_taken_away(colour):
    err = Terminal()
    printer = Printer(io.StringIO(), err)
    printer.progress(event("a long name of a model"))
    printer.progress(event("ridge"))
    assert "\n" not in err.getvalue()
    assert screen(err.getvalue()) == "4 of 60 s [3/9] ridge"
    printer.answer("done")
    assert screen(err.getvalue()) == ""


def seconds_in(stream):
    return [int(number) for number in re.findall(r"\r(\d+) of 60 s", stream.getvalue())]


def test_the_clock_goes_on_while_a_fit_is_silent(monkeypatch):
    monkeypatch.setattr("gapless.cli.printer.REFRESH_SECONDS", 0.01)
    stream = Terminal()
    line = LiveLine(stream)
    line.show(event(seconds=0.95))
    waited = time.monotonic()
    while len(set(seconds_in(stream))) < 2 and time.monotonic() - waited < 60:
        time.sleep(0.05)
    line.clear()
    first, *later = seconds_in(stream)
    assert first == 1 and max(later) > 1
    length = len(stream.getvalue())
    time.sleep(0.05)
    assert len(stream.getvalue()) == length


def test_a_line_is_never_wider_than_the_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    stream = Terminal()
    line = LiveLine(stream)
    line.show(event("x" * 500))
    line.clear()
    assert max(len(piece) for piece in stream.getvalue().split("\r")) == 39


def test_words_leave_out_what_is_not_known():
    assert progress_line(event("reading", total=0, limit=math.inf), 7.4) == "7 s reading"
    assert progress_line(event("two\nlines"), 7.4) == "7 of 60 s [3/9] two lines"


def test_colour_is_for_terminals_that_want_it(colour, monkeypatch):
    def said():
        out = Terminal()
        Printer(out, io.StringIO()).answer("yes\nand more")
        return out.getvalue()

    assert said() == "\x1b[1myes\x1b[0m\nand more\n"
    monkeypatch.setenv("NO_COLOR", "1")
    assert said() == "yes\nand more\n"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert said() == "yes\nand more\n"


def test_names_of_columns_cannot_command_the_terminal():
    out, err = io.StringIO(), io.StringIO()
    printer = Printer(out, err)
    printer.answer("column 'a\x1b[2Jb\rc'\tend")
    printer.error("\x9b31m")
    assert out.getvalue() == "column 'a�[2Jb�c'\tend\n"
    assert err.getvalue() == "gapless: �31m\n"


def test_json_is_whole_however_quiet():
    out = io.StringIO()
    Printer(out, io.StringIO(), -1).json({"a": [1, None]})
    assert json.loads(out.getvalue()) == {"a": [1, None]}
