"""Look for files that crash `gapless.load` or what it returns: pip install gapless[fuzz], then

    python tests/fuzz/atheris_model_files.py -max_total_time=600

Options are libFuzzer's. It begins with valid files of every part, and changes their manifests and
arrays as `mutations` does, or their bytes as libFuzzer does.
"""

import sys
import tempfile
from pathlib import Path

import atheris
import numpy as np

with atheris.instrument_imports(include=["gapless.model_io"], enable_loader_override=False):
    import gapless.model_io  # noqa: F401

from fuzzed_models import save_all, use
from mutations import MUTATIONS

FOLDER = tempfile.TemporaryDirectory()
CORPUS, CHANGED = Path(FOLDER.name, "corpus"), Path(FOLDER.name, "changed")
CORPUS.mkdir()
ROWS = [rows for _, rows in save_all(CORPUS).values()]


def mutate(data, max_size, seed):
    """Another file; one that is no longer in order is changed byte by byte."""
    rng = np.random.default_rng(seed)
    try:
        changed = MUTATIONS[rng.integers(len(MUTATIONS))](data, rng)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return atheris.Mutate(data, max_size)
    return changed if len(changed) <= max_size else atheris.Mutate(data, max_size)


def one_input(data):
    """Read some bytes as a file, and ask the model for the rows of each part."""
    CHANGED.write_bytes(data)
    for rows in ROWS:
        if not use(CHANGED, rows):
            break


if __name__ == "__main__":
    # Twice the largest file, so that changed ones fit.
    size = 2 * max(path.stat().st_size for path in CORPUS.iterdir())
    arguments = [sys.argv[0], f"-max_len={size}", *sys.argv[1:], str(CORPUS)]
    atheris.Setup(arguments, one_input, custom_mutator=mutate)
    atheris.Fuzz()
