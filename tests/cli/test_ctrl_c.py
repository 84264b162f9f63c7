"""A signal at random moments of `gapless fit` and `explore`: one line, no half-written file."""

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


SIGNALS = [[signal.SIGINT]] * 3 + [[signal.SIGINT] * 2, [signal.SIGTERM]]
CASES = [("fit", *case) for case in zip(MOMENTS, SIGNALS)]
CASES += [("explore", 0.2, [signal.SIGINT]), ("explore", 0.6, [signal.SIGINT])]


@pytest.mark.parametrize(("command", "seconds", "signals"), CASES)
def test_a_signal_leaves_nothing_half_written(tmp_path, command, seconds, signals):
    """The first moments fall into the loading of packages, the later ones into fits."""
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, command, "digits", "--out", tmp_path / "out"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(seconds)
    for number in signals:
        process.send_signal(number)
        time.sleep(0.02)
    out, err = process.communicate(timeout=600)
    assert err == "gapless: interrupted; no file was written.\n"
    assert (process.returncode, out) == (128 + signals[0], "")
    assert list(tmp_path.iterdir()) == []
