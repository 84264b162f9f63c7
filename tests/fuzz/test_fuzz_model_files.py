"""A file that is not quite a model gives an error or a model: never a crash, a hang or code run.

A crash or a hang ends the whole run, so that it is seen. README.md says how to look for longer.
"""

import importlib.util
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fuzzed_models import MODELS, save_all, use
from mutations import MUTATIONS

HERE = Path(__file__).parent
TIMES = 6


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return save_all(tmp_path_factory.mktemp("valid"))


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
@pytest.mark.parametrize("name", MODELS)
def test_a_changed_file_gives_an_error_or_a_model(name, mutation, saved, tmp_path):
    data, rows = saved[name]
    path = tmp_path / "changed"
    path.write_bytes(data)
    assert use(path, rows)
    for seed in range(TIMES):
        path.write_bytes(mutation(data, np.random.default_rng(seed)))
        use(path, rows)


@pytest.mark.skipif(
    importlib.util.find_spec("atheris") is None,
    reason="atheris is not installed: it has wheels for Linux on x86-64, Python 3.11 to 3.13",
)
def test_atheris_reaches_more_lines_and_finds_nothing(tmp_path):
    script = str(HERE / "atheris_model_files.py")
    command = [sys.executable, script, str(tmp_path), "-runs=300", "-seed=1", "-timeout=300"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr
    covered = {
        event: int(branches)
        for event, branches in re.findall(r"(INITED|DONE) +cov: (\d+)", done.stderr)
    }
    # Valid files alone take many branches; changed ones take those of errors too.
    assert 200 < covered["INITED"] < covered["DONE"]
    assert not list(tmp_path.glob("*-*")), "a crash, a hang or too much memory"


@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="as above")
def test_a_file_that_led_to_a_program_would_be_seen(tmp_path):
    code = (
        "import os, sys, atheris_model_files as fuzz\n"
        "sys.addaudithook(fuzz.stop_at_forbidden)\n"
        "os.system('true')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=600, cwd=HERE
    )
    assert done.returncode == -signal.SIGABRT
    assert "os.system" in done.stderr
