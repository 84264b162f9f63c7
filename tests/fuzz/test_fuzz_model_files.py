"""A file that is not quite a model gives an error or a model: never a crash, a hang or code run.

A crash or a hang ends the whole run, so that it is seen. `atheris_model_files.py` looks for longer.
"""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fuzzed_models import MODELS, save_all, use
from mutations import MUTATIONS

HERE = Path(__file__).parent
TIMES = 20


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


@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris is not installed")
def test_atheris_finds_nothing_in_some_hundred_runs():
    command = [sys.executable, str(HERE / "atheris_model_files.py"), "-runs=300", "-seed=1"]
    subprocess.run(command, check=True, timeout=120)
