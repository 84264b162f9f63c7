"""What importing the package may bring with it: modules are counted, since seconds vary."""

import ast
import inspect
import json
import subprocess
import sys
import time

import gapless


def modules_after(statement):
    """Names of the modules that the statement loads in a fresh interpreter."""
    code = (
        f"import sys; before = set(sys.modules)\n{statement}\nafter = set(sys.modules)\n"
        "import json; print(json.dumps(sorted(after - before)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


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
    assert {name for name in loaded if name.startswith("gapless")} == {"gapless"}


def test_losses_and_penalties_load_numpy_alone():
    loaded = modules_after("import gapless.losses, gapless.penalties")
    assert not roots(loaded) & {"scipy", "sklearn", "pandas", "polars", "matplotlib", "joblib"}


def test_estimators_load_little_beside_scikit_learn():
    """scikit-learn loads pandas where it is installed; nothing else may come on top."""
    theirs = modules_after("import sklearn.base, sklearn.callback, sklearn.utils.metaestimators")
    ours = modules_after("from gapless import Ridge")
    third_party = roots(ours) - roots(theirs) - set(sys.stdlib_module_names)
    assert {name for name in third_party if not name.startswith("_")} == {"gapless"}
    assert not roots(ours) & {"matplotlib", "polars", "torch"}


def test_every_public_name_is_found():
    for name in [*gapless.__all__, "__version__"]:
        assert getattr(gapless, name) is not None
        assert name in dir(gapless)


def test_type_checkers_see_the_names_that_are_public():
    """Names are loaded on first use, so that tools which only read the file need them once more."""
    tree = ast.parse(inspect.getsource(gapless))
    [block] = [node for node in tree.body if isinstance(node, ast.If)]
    imported = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    homes = {
        alias.asname or alias.name: f"{node.module}:{alias.name}" if alias.asname else node.module
        for node in imported
        for alias in node.names
    }
    assert homes == gapless._HOMES
    assert set(homes) == set(gapless.__all__)


def test_completion_offers_nothing_but_public_names():
    offered = {name for name in dir(gapless) if not name.startswith("__")}
    assert offered == {*gapless.__all__, *gapless._MODULES}


def test_modules_that_documents_name_are_found_without_an_import():
    asked = "import gapless; print(*(hasattr(gapless, m) for m in ('plots', 'report', 'data')))"
    found = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True)
    assert found.stdout.split() == ["True"] * 3


def test_unknown_name_is_an_attribute_error():
    try:
        gapless.NoSuchModel  # noqa: B018
    except AttributeError as error:
        assert "NoSuchModel" in str(error)
    else:
        raise AssertionError("gapless.NoSuchModel should not exist")


def test_help_of_the_tool_starts_quickly():
    """The best of several starts, since others use the machine too; the promise is 0.3 seconds."""
    command = [sys.executable, "-m", "gapless.cli", "--help"]
    seconds = []
    for _ in range(20):
        began = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True)
        seconds.append(time.perf_counter() - began)
        if seconds[-1] < 0.3:
            break
    assert min(seconds) < 0.3


def test_help_of_the_tool_loads_no_other_package():
    loaded = modules_after("from gapless.cli import args; args.build()")
    assert roots(loaded) - set(sys.stdlib_module_names) == {"gapless"}
    assert {name.split(".")[1] for name in loaded if name.startswith("gapless.")} == {"cli"}
