"""Look for files that crash `gapless.load` or what it returns, by coverage: needs atheris.

    python tests/fuzz/atheris_model_files.py -max_total_time=600

Options are libFuzzer's. It begins with valid files of every part.
"""

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["gapless.model_io"]):
    import gapless.model_io  # noqa: F401

from fuzzed_models import save_all, use

FOLDER = tempfile.TemporaryDirectory()
SAVED = save_all(Path(FOLDER.name))
CHANGED = Path(FOLDER.name, "changed")


def one_input(data):
    """Read some bytes as a file, and ask the model for the rows of each part."""
    CHANGED.write_bytes(data)
    for _, rows in SAVED.values():
        if not use(CHANGED, rows):
            break


if __name__ == "__main__":
    atheris.Setup([*sys.argv, FOLDER.name], one_input)
    atheris.Fuzz()
