"""What importing the package may bring with it: modules are counted, since seconds vary."""

import importlib
import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import gapless
from gapless._ground.first_use import on_first_use
from gapless.choosing import TableModel
from gapless.data import describe_columns, prepare, read_table

ROOT = Path(gapless.__file__).parent


def modules_after(*statements):
    """Names of the modules that each of the statements loads, in a fresh interpreter."""
    code = "import sys; seen = [set(sys.modules)]\n"
    code += "".join(f"{each}\nseen.append(set(sys.modules))\n" for each in statements)
    code += "import json; print(json.dumps([sorted(b - a) for a, b in zip(seen, seen[1:])]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = [set(names) for names in json.loads(done.stdout.splitlines()[-1])]
    return loaded if len(loaded) > 1 else loaded[0]


def roots(modules):
    return {name.partition(".")[0] for name in modules}


def test_import_gapless_loads_no_other_package():
    loaded = modules_after("import gapless")
    assert not roots(loaded) & {
        "numpy",
        "scipy",
        "sklearn",
        "pandas",
        "polars",
        "matplotlib",
        "joblib",
    }
    ours = {name for name in loaded if name.startswith("gapless")}
    assert ours == {"gapless", "gapless._ground", "gapless._ground.first_use"}


def test_losses_and_penalties_load_numpy_alone():
    loaded = modules_after("import gapless.losses, gapless.penalties")
    assert not roots(loaded) & {"scipy", "sklearn", "pandas", "polars", "matplotlib", "joblib"}


def test_estimators_load_little_beside_scikit_learn():
    """scikit-learn loads pandas where it is installed; nothing else may come on top."""
    theirs, ours = modules_after(
        "import sklearn.base, sklearn.callback, sklearn.utils.metaestimators",
        "from gapless import Ridge",
    )
    third_party = roots(ours) - roots(theirs) - set(sys.stdlib_module_names)
    assert {name for name in third_party if not name.startswith("_")} == {"gapless"}
    assert not roots(ours | theirs) & {"matplotlib", "polars", "torch"}


def test_every_public_name_is_found():
    for name in [*gapless.__all__, "__version__"]:
        assert getattr(gapless, name) is not None
        assert name in dir(gapless)


LATE_PACKAGES = [
    importlib.import_module(".".join(("gapless", *path.parent.relative_to(ROOT).parts)))
    for path in sorted(ROOT.rglob("__init__.py"))
    if "= on_first_use(" in path.read_text()
]


@pytest.mark.parametrize("package", LATE_PACKAGES, ids=lambda package: package.__name__)
def test_every_name_of_a_package_is_found_on_first_use(package):
    assert set(package.__all__) <= set(dir(package))
    for name in package.__all__:
        assert getattr(package, name) is not None


@pytest.mark.parametrize("package", LATE_PACKAGES, ids=lambda package: package.__name__)
def test_no_file_is_called_as_a_name_that_is_loaded_on_first_use(package):
    """Importing the file would put it in the place of what it defines."""
    files = {path.stem for path in Path(package.__file__).parent.iterdir()}
    assert not files & set(package.__all__)


def test_a_package_without_its_sources_says_what_it_needs(monkeypatch):
    bare = SimpleNamespace(get_source=lambda name: None)
    monkeypatch.setattr(gapless, "__loader__", bare)
    with pytest.raises(ImportError, match="gapless needs its source files"):
        on_first_use("gapless")


def test_completion_offers_nothing_but_public_names():
    offered = {name for name in dir(gapless) if not name.startswith("__")}
    packages = {path.parent.name for path in ROOT.glob("[a-z]*/__init__.py")} - {"cli"}
    assert offered == {*gapless.__all__, *packages}


def test_modules_that_documents_name_are_found_without_an_import():
    asked = "import gapless; print(gapless.plots, gapless.choosing.report, gapless.models.linear)"
    found = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True)
    assert found.returncode == 0 and "models/linear" in found.stdout, found.stderr


def test_unknown_name_is_an_attribute_error():
    try:
        gapless.NoSuchModel  # noqa: B018
    except AttributeError as error:
        assert "NoSuchModel" in str(error)
    else:
        raise AssertionError("gapless.NoSuchModel should not exist")


# What else is large: of ours, and what scikit-learn's own pipelines do not bring.
LARGE = {"gapless.choosing.choice", "gapless.choosing.families", "gapless.evaluation.learning"}
LARGE |= {"gapless.metrics.curves", "gapless.choosing.report", "matplotlib", "sklearn.ensemble"}
LARGE |= {"sklearn.cluster", "sklearn.tree"}


# The files that define public estimators, and the families that these belong to.
HOMES = {
    cls.__module__: cls.__module__.split(".")[2]
    for cls in map(partial(getattr, gapless), gapless.__all__)
    if isinstance(cls, type) and cls.__module__.startswith("gapless.models.")
}


def estimators_of(modules):
    """The families whose public estimators were loaded."""
    return {family for home, family in HOMES.items() if home in modules}


def test_a_loaded_model_brings_no_other_family(tmp_path):
    """A file names its classes; only these are imported, and what they need."""
    X, y = np.arange(12.0).reshape(6, 2) ** 1.5, np.arange(6)
    path = gapless.save(gapless.Ridge().fit(X, y), tmp_path / "model.gapless")
    loaded = modules_after(f"import gapless; gapless.load({str(path)!r}).predict([[1.0, 2.0]])")
    assert estimators_of(loaded) == {"linear"}
    others = {"gapless.models.linear.logistic", "polars", "sklearn.linear_model", *LARGE}
    assert others & loaded == set()


def test_predictions_for_a_table_bring_no_model_but_its_own(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("a,b,y\n" + "".join(f"{i},{i * i % 7},{2 * i}\n" for i in range(60)))
    frame = read_table(table)
    pipeline = prepare(describe_columns(frame, "y"), "numbers", gapless.Ridge())
    path = gapless.save(TableModel(pipeline, "y").fit(frame), tmp_path / "model.gapless")
    words = ["predict", str(path), str(table), "-o", str(tmp_path / "out.csv")]
    loaded = modules_after(f"from gapless.cli.__main__ import main; assert not main({words})")
    # The spread of its errors is learnt by boosted trees.
    assert estimators_of(loaded) == {"linear", "boosting", "trees"}
    others = {"gapless.models.linear.logistic", "gapless.models.forests.random_forests", *LARGE}
    assert others & loaded == set()


def seconds_of_children():
    used = os.times()
    return used.children_user + used.children_system


def seconds_of(*words):
    """What Python takes of the processor for this, since others use the machine too."""
    began = seconds_of_children()
    subprocess.run([sys.executable, *words], capture_output=True, check=True)
    return seconds_of_children() - began


def test_help_of_the_tool_starts_quickly():
    """The promise is 0.3 seconds; where Python itself needs longer to start, ten times as long."""
    seconds, empty = [], []
    for _ in range(20):
        seconds.append(seconds_of("-m", "gapless.cli", "--help"))
        if seconds[-1] < 0.3:
            break
        empty.append(seconds_of("-c", "pass"))
    assert min(seconds) < max(0.3, 10 * min(empty, default=0.0))


def test_help_of_the_tool_loads_no_other_package():
    loaded = modules_after("from gapless.cli import args; args.build()")
    assert roots(loaded) - set(sys.stdlib_module_names) == {"gapless"}
    assert {name.split(".")[1] for name in loaded if name.startswith("gapless.")} == {
        "_ground",
        "cli",
    }
