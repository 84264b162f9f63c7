"""Look for files that crash `gapless.load` or what it returns; README.md says how.

    python tests/fuzz/atheris_model_files.py FOLDER [OPTIONS OF LIBFUZZER]

It begins with valid files of every part, of now and of earlier versions, and changes their
manifests and arrays as `mutations` does, or their bytes as libFuzzer does. A changed file that
reaches other lines of `gapless.model_io` is kept and changed again.
"""

import gc
import json
import os
import resource
import shutil
import struct
import sys
from pathlib import Path
from types import FunctionType

import atheris
import numpy as np
import polars as pl
from fuzzed_models import save_all, use
from mutations import MUTATIONS

OLD_FILES = sorted((Path(__file__).parents[1] / "model_files").glob("*.gapless"))
# What loading and asking a model never does: start a program, call a stranger, unpickle.
FORBIDDEN = (
    "os.exec",
    "os.fork",
    "os.posix_spawn",
    "os.system",
    "pickle.find_class",
    "socket.connect",
    "subprocess.Popen",
)


def trace_model_io():
    """Let atheris see which lines of `gapless.model_io` run.

    Function by function, since `atheris.instrument_imports` passes over modules of an editable
    installation, whose loader it does not know.
    """
    functions = [each for each in gc.get_objects() if isinstance(each, FunctionType)]
    for function in functions:
        if (function.__module__ or "").startswith("gapless.model_io"):
            atheris.instrument_func(function)


def stop_at_forbidden(event, _):
    """End the process, so that no `except` hides it."""
    if event in FORBIDDEN:
        sys.stderr.write(f"a model file has led to {event}\n")
        os.abort()


def gather(corpus):
    """Put valid files into a folder; return tables to predict, one of each width."""
    tables = [rows for _, rows in save_all(corpus).values()]
    for path in OLD_FILES:
        shutil.copy(path, corpus)
        rows = json.loads(path.with_suffix(".json").read_text())["rows"]
        if isinstance(rows, dict):
            tables.append(pl.DataFrame(rows))
        else:
            tables.append(rows if isinstance(rows[0], str) else np.array(rows))
    kinds = {(type(table), getattr(table, "shape", (0, 0))[1:]): table for table in tables}
    return list(kinds.values())


def mutate(data, max_size, seed):
    """Another file; one that is no longer in order is changed byte by byte."""
    rng = np.random.default_rng(seed)
    try:
        changed = MUTATIONS[rng.integers(len(MUTATIONS))](data, rng)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, struct.error):
        return atheris.Mutate(data, max_size)
    return changed if len(changed) <= max_size else atheris.Mutate(data, max_size)


def main(folder, *options):
    corpus, changed = folder / "corpus", folder / "changed"
    corpus.mkdir(parents=True, exist_ok=True)
    tables = gather(corpus)
    # Twice the largest file, so that changed ones fit.
    size = 2 * max(path.stat().st_size for path in corpus.iterdir())

    def one_input(data):
        changed.write_bytes(data)
        use(changed, *tables)

    trace_model_io()
    sys.addaudithook(stop_at_forbidden)
    # Linux counts the memory of the process that started this one as used at some time.
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    limits = f"-max_len={size}", "-timeout=10", f"-rss_limit_mb={before + 512}"
    places = f"-artifact_prefix={folder}/", str(corpus)
    atheris.Setup([sys.argv[0], *limits, *options, *places], one_input, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
