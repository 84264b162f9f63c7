"""Data flows one way, and imports follow it, through the doors.

A part is a folder of the package; a family of models is one too, and so are each file of `_ground`,
the report and exploring. It imports only the parts that it may know, and of those only what they
offer in their `__init__`. No import hides in a string or a function.
"""

import ast
import importlib
import re
import sys
from functools import cache
from pathlib import Path

from in_one_test import for_each

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "gapless"

GROUND = {"_ground"}
VALUES = {"losses", "penalties", "kernels"}
PROBLEM = GROUND | VALUES | {"streaming", "problem"}
FIRST_GAP = PROBLEM | {"certificates"}
SECOND_GAP = FIRST_GAP | {"solvers", "unseen"}
MODELS = {f"models.{path.name}" for path in (PACKAGE / "models").iterdir() if path.is_dir()}
MODELS -= {"models.__pycache__"}
JUDGING = SECOND_GAP | {"metrics", "evaluation"}
TABLES = JUDGING | MODELS | {"data", "choosing"}

# What a part may know of the others. A solver knows no certificate, a certificate no solver, and
# losses, penalties and kernels not each other.
MAY_KNOW = {
    "_ground": set(),
    "streaming": GROUND,
    "losses": GROUND,
    "penalties": GROUND,
    "kernels": GROUND,
    "problem": GROUND | VALUES,
    "solvers": PROBLEM,
    "certificates": PROBLEM,
    "unseen": FIRST_GAP | {"solvers"},
    **dict.fromkeys(MODELS, SECOND_GAP),
    "networks": GROUND | {"models.networks"},
    "metrics": GROUND | {"unseen"},
    "evaluation": PROBLEM | {"solvers", "unseen", "metrics"},
    "data": GROUND | {"problem"},
    "choosing": JUDGING | MODELS | {"data"},
    "choosing.report": TABLES | {"plots"},
    "choosing.exploring": TABLES | {"choosing.report", "plots"},
    "model_io": GROUND | {"unseen"},
    "plots": GROUND,
    "plots.gallery": GROUND,
    "cli": TABLES | {"choosing.report", "choosing.exploring", "model_io", "plots", "plots.gallery"},
    "__main__": {"cli"},
}
# Siblings, and steps against the order, each with its reason.
BESIDES = {
    ("models.bagging", "models.trees"): "bags trees by default",
    ("models.forests", "models.trees"): "forests are trees, grown by the same grower",
    ("models.forests", "models.bagging"): "a forest is an ensemble of independent members",
    ("models.boosting", "models.trees"): "boosts trees",
    ("models.adaboost", "models.trees"): "boosts trees by default",
    ("models.adaboost", "models.bagging"): "an ensemble of members, as bagging is",
    ("models.adaboost", "models.boosting"): "scores after each round, predicted by alike",
    ("models.risk", "models.linear"): "a linear model with any loss, penalty and kernel",
    ("models.kernel_machines", "models.linear"): "a kernel machine is a linear model of features",
    ("models.kernel_machines", "models.risk"): "features of a kernel in place of X",
    ("models.svm", "models.linear"): "a support vector machine on features of its kernel",
    ("models.svm", "models.risk"): "features of a kernel in place of X",
    ("models.svm", "models.kernel_machines"): "least squares on the same features",
    ("models.stochastic", "models.linear"): "linear models, fitted a few rows at a time",
    ("models.text", "models.bayes"): "counts of words, then naive Bayes",
    ("models.text", "models.linear"): "counts of words, then a linear model",
    ("data", "models.decomposition"): "wide tables become their principal components",
    ("data", "models.text"): "texts become the weighted words of TextClassifier",
    ("data", "models.trees"): "a tree finds columns that give the target away",
    ("model_io", "models.trees"): "files hold trees packed, and check them node by node",
}
# Who may import what from outside; parts that are not listed may use NumPy and SciPy.
ESTIMATORS = {"numpy", "scipy", "sklearn"}
OUTSIDE = {
    "_ground": ESTIMATORS | {"joblib", "threadpoolctl"},
    "losses": {"numpy"},
    "penalties": {"numpy"},
    "unseen": ESTIMATORS,
    **dict.fromkeys(MODELS, ESTIMATORS),
    "models.bagging": ESTIMATORS | {"joblib"},
    "models.forests": ESTIMATORS | {"joblib"},
    "models.boosting": ESTIMATORS | {"joblib"},
    "metrics": ESTIMATORS,
    "evaluation": ESTIMATORS,
    "data": ESTIMATORS | {"charset_normalizer", "polars"},
    "choosing": ESTIMATORS | {"polars"},
    "choosing.report": ESTIMATORS | {"jinja2", "markupsafe", "polars"},
    "choosing.exploring": ESTIMATORS | {"jinja2", "polars"},
    "model_io": ESTIMATORS | {"safetensors", "onnx"},
    "plots": {"numpy", "matplotlib"},
    "plots.gallery": {"jinja2", "markupsafe", "matplotlib"},
    "cli": ESTIMATORS | {"matplotlib", "polars"},
}
# The commands load all else when they run, so that their help is there at once.
LATE = {"cli"}
# The files that import by a name that they are given, and what for.
BY_NAME = {
    "_ground/first_use.py": "names of a package, when they are asked for",
    "_ground/core/__init__.py": "the level of the processor",
    "_ground/tables.py": "polars, where it is installed",
    "_ground/drawing.py": "the picture of a result",
    "streaming/parts.py": "the client of Dask, where it is installed; polars for datasets",
    "streaming/sources.py": "polars and Dask, when a table of theirs is opened",
    "data/excel.py": "a reader of Excel, where it is installed",
    "data/sources.py": "a reader of compressed files, where it is installed",
    "model_io/names.py": "the classes that a file names",
    "models/neighbors/searches.py": "faiss, where it is installed",
    "models/networks/torch_engine.py": "PyTorch, where it is installed",
}
MOST_ENTRIES = 18
# Parts inside another part: what is made of a choice, and of a table without a target; examples.
PARTS_INSIDE = {("choosing", "report"), ("choosing", "exploring"), ("plots", "gallery")}
FILES = sorted(PACKAGE.rglob("*.py"))


def part_of(names):
    """The part that a file or a module belongs to, from the names on the way to it."""
    if names[:1] == ("models",) or names[:2] in PARTS_INSIDE:
        return ".".join(names[:2])
    return names[0] if names else ""


def door_of(names):
    """The module that speaks for the part; each file of `_ground` speaks for itself."""
    part = part_of(names)
    return names[:2] if part == "_ground" else tuple(part.split("."))


def names_of(path):
    names = path.relative_to(PACKAGE).with_suffix("").parts
    return names[:-1] if names[-1] == "__init__" else names


def is_module(names):
    path = PACKAGE.joinpath(*names)
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


@cache
def tree_of(path):
    return ast.parse(path.read_text())


def statements_of(node):
    """The statements in it, which imports are; expressions, most of a tree, hold none."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield child
            yield from statements_of(child)


@cache
def imports_of(path):
    """What a file imports: (the module, a name of it or None, the line)."""
    package = ("gapless", *path.relative_to(PACKAGE).parts[:-1])
    found = []
    for node in statements_of(tree_of(path)):
        if isinstance(node, ast.Import):
            found += [(tuple(name.name.split(".")), None, node.lineno) for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = (*base, *(node.module.split(".") if node.module else ()))
            found += [(module, name.name, node.lineno) for name in node.names]
    return found


@cache
def offered_by(names):
    """What a package below the root offers; the root is for users."""
    if not names:
        return ()
    return getattr(importlib.import_module(".".join(("gapless", *names))), "__all__", ())


def ours_of(path):
    """What a file imports of gapless: (names on the way to the module, the name or None, line)."""
    for module, name, line in imports_of(path):
        if module[:1] != ("gapless",):
            continue
        inside = module[1:]
        if name is not None and is_module((*inside, name)) and name not in offered_by(inside):
            yield (*inside, name), None, line
        else:
            yield inside, name, line


BELOW_THE_ROOT = [path for path in FILES if path != PACKAGE / "__init__.py"]


@for_each(BELOW_THE_ROOT)
def test_a_file_knows_only_the_parts_it_may(path):
    part = part_of(names_of(path))
    if part == "models":
        assert all(part_of(inside) in {*MODELS, "_ground"} for inside, _, _ in ours_of(path))
        return  # the folder of the families has no code
    assert part in MAY_KNOW, f"{part} is new: say in MAY_KNOW what it may import"
    for inside, _, line in ours_of(path):
        other = part_of(inside)
        # A door also shows the parts inside.
        is_inside = path.name == "__init__.py" and other.startswith(f"{part}.")
        is_allowed = other in {part, *MAY_KNOW[part]} or is_inside or (part, other) in BESIDES
        assert is_allowed, f"{path}:{line}: {part} may not know {other}"


@for_each(BELOW_THE_ROOT)
def test_no_import_reaches_past_a_door(path):
    here = part_of(names_of(path))
    for inside, name, line in ours_of(path):
        if part_of(inside) == here:
            continue
        door = door_of(inside)
        assert inside == door, f"{path}:{line} reaches past the door of {'.'.join(door)}"
        if name is not None and door[0] != "_ground":
            told = f"{path}:{line}: {'.'.join(door)} does not offer {name}"
            assert name in offered_by(door), told


def test_every_exception_is_used():
    found = {
        (part_of(names_of(path)), part_of(inside))
        for path in BELOW_THE_ROOT
        for inside, _, _ in ours_of(path)
    }
    assert set(BESIDES) <= found, f"no longer needed: {sorted(set(BESIDES) - found)}"


def test_parts_use_only_the_packages_they_may():
    for path in FILES:
        part = part_of(names_of(path))
        allowed = OUTSIDE.get(part, {"numpy", "scipy"}) | {"gapless", *sys.stdlib_module_names}
        assert {module[0] for module, _, _ in imports_of(path)} <= allowed, path


def test_the_package_is_not_a_cycle_of_its_files():
    """Within a folder files import one way too: no import hides in a function to break a circle."""
    hidden = {
        str(path.relative_to(PACKAGE)): node.lineno
        for path in BELOW_THE_ROOT
        if part_of(names_of(path)) not in LATE
        if re.search(r"^\s+(from|import)\b", path.read_text(), re.MULTILINE)
        for function in statements_of(tree_of(path))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in statements_of(function)
        if isinstance(node, ast.Import | ast.ImportFrom) and imports_are_ours(node)
    }
    assert hidden == {}


def imports_are_ours(node):
    if isinstance(node, ast.ImportFrom):
        return node.level > 0 or (node.module or "").startswith("gapless")
    return any(name.name.startswith("gapless") for name in node.names)


def test_no_import_hides_in_a_string():
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in FILES
        if re.search(r"\bimport_module\(|\b__import__\(", path.read_text())
    }
    assert found == set(BY_NAME)


def test_the_root_can_be_taken_in():
    entries = {
        path.name
        for path in PACKAGE.iterdir()
        if path.name not in ("__init__.py", "__main__.py", "__pycache__", "py.typed")
    }
    assert len(entries) <= MOST_ENTRIES, sorted(entries)
    assert {path.suffix for path in PACKAGE.iterdir() if path.is_file()} == {".py", ".typed"}


def test_a_door_has_no_code():
    """An `__init__` says what the package offers: a docstring, imports and names."""
    for path in FILES:
        if path.name != "__init__.py" or path.parent.name == "core":
            continue
        kinds = {type(node) for node in tree_of(path).body}
        assert not kinds & {ast.FunctionDef, ast.ClassDef, ast.For, ast.While}, path


def test_only_the_bindings_know_python():
    core = ROOT / "src" / "core"
    knows = {
        path.relative_to(core).as_posix()
        for path in core.rglob("*.?pp")
        if re.search(r"#include\s*[<\"](nanobind|Python\.h|pybind)", path.read_text())
    }
    # What the processor can run is determined before any level of the core is loaded.
    assert knows == {"bindings/bindings.hpp", "bindings/processor.cpp"}, (
        "what is bound lives in bindings/, by way of bindings.hpp"
    )


# What each folder of the core may include of the others.
CORE_MAY_KNOW = {
    "clustering": {"base", "neighbors"},
    "base": set(),
    "linear": {"base"},
    "kernels": {"base", "linear"},
    "trees": {"base"},
    "boosting": {"base", "trees"},
    "neighbors": {"base"},
    "networks": {"base"},
    "text": {"base"},
}


def test_folders_of_the_core_include_one_way():
    core = ROOT / "src" / "core"
    for path in core.rglob("*.?pp"):
        folder = path.parent.name
        included = set(re.findall(r'#include "(\w+)/', path.read_text())) - {folder}
        assert folder == "bindings" or included <= CORE_MAY_KNOW[folder], (path, included)
