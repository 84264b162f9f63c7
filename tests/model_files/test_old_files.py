"""Files that earlier versions have saved are loaded for ever, and say what they said."""

import json
from pathlib import Path

import numpy as np
import pytest
from make import ANSWERS, MODELS, rows_of

import gapless
from gapless.model_io import describe

FILES = sorted(Path(__file__).parent.glob("*.gapless"))


def test_every_kind_of_model_has_a_file():
    assert {path.stem.rpartition("_")[0] for path in FILES} == set(MODELS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_old_files_say_what_they_said(path):
    kept = json.loads(path.with_suffix(".json").read_text())
    model = gapless.load(path)
    assert describe(path).written_by["gapless"]
    rows = rows_of(kept["rows"])
    assert set(kept["answers"]) <= set(ANSWERS)
    for name, before in kept["answers"].items():
        now = getattr(model, name)(rows)
        if now.dtype.kind == "f":
            # Sums of another machine, with another BLAS, differ by their rounding.
            np.testing.assert_allclose(now, before, rtol=1e-9, atol=1e-9)
        else:
            assert now.tolist() == before
