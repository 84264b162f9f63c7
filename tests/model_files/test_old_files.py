"""Files that earlier versions have saved are loaded for ever, and say what they said."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from make import ANSWERS, MODELS, rows_of

import gapless
from gapless import kernels, losses, penalties
from gapless.model_io import describe
from gapless.model_io.names import MODELS as MODEL_NAMES
from gapless.model_io.names import VALUES as VALUE_NAMES
from gapless.model_io.names import name_of
from public_estimators import public_estimators

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


# ---- names ---------------------------------------------------------------------------------------

FROZEN = (Path(__file__).parent / "names.txt").read_text().split()


def test_a_name_is_for_ever():
    """Classes may move to another folder; `names.txt` only grows, by what a release adds."""
    known = {**MODEL_NAMES, **VALUE_NAMES}
    assert sorted(known) == FROZEN, "a new class gets a line in names.txt; no name goes"
    for name, cls in known.items():
        assert name_of(cls) == name
        assert cls.__name__ == name.rpartition(".")[2]


def test_everything_that_can_be_public_has_a_name():
    families = ((losses, losses.Loss), (penalties, penalties.Penalty), (kernels, kernels.Kernel))
    classes = public_estimators()
    for part, base in families:
        parts = [getattr(part, name) for name in part.__all__]
        # A kernel that is a function of the caller's is code, and bases have no values.
        classes += [
            cls
            for cls in parts
            if isinstance(cls, type) and issubclass(cls, base) and dataclasses.is_dataclass(cls)
        ]
    assert {cls for cls in classes if not name_of(cls)} <= {kernels.Callable}


def test_a_class_that_moves_keeps_its_name(tmp_path, monkeypatch):
    monkeypatch.setattr(gapless.Ridge, "__module__", "gapless.models.linear.ridge")
    path = gapless.save(gapless.Ridge(), tmp_path / "m")
    assert describe(path).model == "linear.Ridge"
    assert isinstance(gapless.load(path), gapless.Ridge)
