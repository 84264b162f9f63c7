"""Ctrl-C at random moments of `gapless fit`: one line, exit 130, and no half-written file."""

import random
import signal
import subprocess
import sys
import time

import pytest

SCRIPT = """
import sys
from gapless.cli.__main__ import main
print("ready", flush=True)
sys.exit(main())
"""
random_moments = random.Random(7)
MOMENTS = [round(random_moments.uniform(0.05, latest), 2) for latest in (0.5, 1.0, 2.0, 3.0, 4.0)]


@pytest.mark.parametrize("seconds", MOMENTS)
def test_ctrl_c_leaves_nothing_half_written(tmp_path, seconds):
    """The first moments fall into the loading of packages, the later ones into fits."""
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, "fit", "digits", "--out", tmp_path / "out"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert err == "gapless: interrupted; no file was written.\n"
    assert (process.returncode, out) == (130, "")
    assert list(tmp_path.iterdir()) == []
