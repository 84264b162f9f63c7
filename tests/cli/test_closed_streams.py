"""A process may be started without streams, or with full ones; the work is done all the same."""

import os
import subprocess
import sys

import pytest


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


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a full device")
def test_full_streams():
    code, _, said = shell(["data"], ">/dev/full")
    assert code == 2 and "No space left" in said and "Traceback" not in said
    assert shell(["nonsense"], "2>/dev/full")[0] == 2
