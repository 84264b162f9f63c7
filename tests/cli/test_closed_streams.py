"""A process may be started without streams, or with full ones; the work is done all the same."""

import os
import subprocess
import sys

import pytest
from table_models import HOUSES


def shell(words, streams):
    """Run `gapless …` with other streams: exit code, standard output and standard error."""
    command = f'exec "$0" -m gapless.cli "$@" {streams}'
    done = subprocess.run(
        ["sh", "-c", command, sys.executable, *map(str, words)], capture_output=True, text=True
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("streams", [">&-", "<&- >&- 2>&-"])
def test_an_answer_that_nobody_can_see_is_no_error(files, streams):
    assert shell(["show", files.houses], streams) == (0, "", "")


def test_files_are_written_without_streams(files, tmp_path):
    out = tmp_path / "out.csv"
    assert shell(["predict", files.houses, files.table, "-o", out], ">&- 2>&-")[0] == 0
    assert len(out.read_text().splitlines()) == 301


@pytest.mark.parametrize(("streams", "option"), [("", "--json"), ("2>&1", "-v")])
def test_whoever_stops_reading_does_not_change_the_exit_code(files, tmp_path, streams, option):
    other = tmp_path / "other.csv"
    HOUSES.with_columns(HOUSES["size"] * 1000).write_csv(other)
    reading, writing = os.pipe()
    os.close(reading)
    command = f'exec "$0" -m gapless.cli "$@" {streams}'
    words = ["check", files.houses, other, option]
    with os.fdopen(writing, "wb") as nobody:
        done = subprocess.run(
            ["sh", "-c", command, sys.executable, *map(str, words)], stdout=nobody
        )
    assert done.returncode == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a full device")
def test_full_streams():
    code, _, said = shell(["data"], ">/dev/full")
    assert code == 2 and "No space left" in said and "Traceback" not in said
    assert shell(["nonsense"], "2>/dev/full")[0] == 2
