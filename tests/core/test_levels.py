"""The core is compiled for several levels of the instruction set, and one of them is loaded."""

import functools
import os
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from gapless._ground import core

LEVELS = ["v1", "v2", "v3", "v4"]
X86 = pytest.mark.skipif(core.processor.level == "base", reason="the levels are those of x86-64")
AVAILABLE = LEVELS[: LEVELS.index(core.processor.level) + 1] if X86.args[0] is False else []


def run(code, level, *arguments):
    """What a Python that is held down to a level prints, or the error it ends with."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        env={**os.environ, "GAPLESS_ISA": level},
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, 1), f"it crashed with code {done.returncode}"
    return done.stderr.strip() if done.returncode else done.stdout.strip()


@X86
@pytest.mark.parametrize("level", AVAILABLE)
def test_each_level_that_the_processor_has_can_be_chosen(level):
    code = "from gapless._ground import core; import sys; print(core.level, *sys.modules)"
    used, *modules = run(code, level).split()
    assert used == level
    loaded = {
        name.removeprefix("gapless._ground.core.")
        for name in modules
        if "gapless._ground.core." in name
    }
    # No other is loaded: its code might begin with an instruction that the processor lacks.
    assert loaded == {"processor", "v1" if level == "v2" else level}


@X86
@pytest.mark.parametrize("wanted", ["v9", "avx2", "base", "V3"])
def test_an_unknown_level_is_an_error_that_names_the_possible_ones(wanted):
    said = run("import gapless._ground.core", wanted)
    assert f"ImportError: GAPLESS_ISA={wanted} cannot be used" in said
    assert f"this processor has {', '.join(AVAILABLE)};" in said


@pytest.mark.parametrize("has, wanted", [("v3", "v4"), ("v1", "v2"), ("base", "v1")])
def test_a_level_that_the_processor_does_not_have_is_an_error(has, wanted, monkeypatch):
    monkeypatch.setattr(core.processor, "level", has)
    monkeypatch.setenv("GAPLESS_ISA", wanted)
    with pytest.raises(ImportError, match=f"GAPLESS_ISA={wanted} cannot be used"):
        core._chosen_level()


@pytest.mark.parametrize("has", [*LEVELS, "base"])
@pytest.mark.parametrize("unset", [None, ""])
def test_the_best_level_is_used_unless_a_lower_one_is_wanted(has, unset, monkeypatch):
    monkeypatch.setattr(core.processor, "level", has)
    if unset is None:
        monkeypatch.delenv("GAPLESS_ISA", raising=False)
    else:
        monkeypatch.setenv("GAPLESS_ISA", unset)
    assert core._chosen_level() == has


def test_what_is_pickled_does_not_name_a_level():
    metric = core.Metric.euclidean
    assert b"gapless._ground.core\x94" in pickle.dumps(metric, protocol=4)
    assert pickle.loads(pickle.dumps(metric)) is metric
    assert core.KernelForm.__module__ == "gapless._ground.core"


@pytest.fixture(scope="module")
def fitted_by(tmp_path_factory):
    """What models of a few families predict when they are fitted by a level."""
    code = """
        import sys
        import numpy as np
        from gapless.models.svm import SVC
        from gapless.models.linear import LogisticRegression
        from gapless.models.forests import (RandomForestClassifier)
        rng = np.random.default_rng(0)
        X = rng.normal(size=(150, 7))
        y = X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=150) > 0.7
        svm = SVC(gamma=0.1, tol=1e-9).fit(X, y)
        logistic = LogisticRegression(tol=1e-12).fit(X, y)
        forest = RandomForestClassifier(20, random_state=0).fit(X, y)
        np.savez(sys.argv[1], svm=svm.decision_function(X), gap=svm.certificate_.gap,
                 coef=logistic.coef_, forest=forest.predict_proba(X))
    """

    @functools.cache
    def fit(level):
        path = tmp_path_factory.mktemp("levels") / f"{level}.npz"
        assert run(code, level, path) == ""
        with np.load(path) as found:
            return dict(found)

    return fit


@X86
@pytest.mark.parametrize("level", sorted({*AVAILABLE[:-1]} - {"v2"}))  # which loads v1
def test_levels_agree_up_to_rounding(level, fitted_by):
    one, own = fitted_by(level), fitted_by(core.processor.level)
    # P grows by half the squared distance from its minimiser, and |f(x)| ≤ ‖f‖ as k(x, x) = 1;
    # as much again for the bias, which free support vectors fix.
    distance = np.sqrt(2 * max(one["gap"], 0.0)) + np.sqrt(2 * max(own["gap"], 0.0))
    assert distance < 1e-4 and np.abs(one["svm"] - own["svm"]).max() <= 2 * distance
    assert np.abs(one["coef"] - own["coef"]).max() < 1e-9
    assert np.array_equal(one["forest"], own["forest"])
