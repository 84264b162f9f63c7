"""Data flows one way, and imports follow it: a file imports only what stands above it."""

import ast
import re
import sys
from functools import cache
from itertools import groupby
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "gapless"

# From the data to what people see. A part is a file or a folder of the package.
ORDER = [
    "_first_use",
    "_version",
    "_core",
    "_named",
    "_parameters",
    "_percent",
    "_tables",
    "stored",
    "interrupt",
    "threads",
    "lapack",
    "losses",
    "penalties",
    "design",
    "kernels",
    "kernel_matrix",
    "dual_points",
    "null_model",
    "problem",
    "solvers",
    "kernel_features",
    "optimality",
    "recession",
    "certificates",
    "leave_one_out",
    "selection_bias",
    "generalization",
    "conformal",
    "remembering",
    "search",
    "progress",
    "_validation",
    "weighted_fits",
    "word_counts",
    "parts",
    "linear",
    "kernel_machines",
    "svm",
    "trees",
    "ensembles",
    "neighbors",
    "bayes",
    "text",
    "metrics",
    "evaluation",
    "data",
    "choosing",
    "model_io",
    "plots",
    "report",
    "cli",
    "demo",
    "__main__",
    "__init__",
]
# Parts that stand side by side: neither may know the other.
STRANGERS = [
    ("losses", "penalties"),
    ("solvers", "optimality"),
    ("solvers", "recession"),
    ("solvers", "certificates"),
]
# Who may import what from outside; parts that are not listed may use NumPy and SciPy.
OUTSIDE = {
    "_named": set(),
    "_parameters": {"numpy"},
    "_percent": set(),
    "interrupt": set(),
    "threads": {"joblib", "scipy", "threadpoolctl"},
    "losses": {"numpy"},
    "penalties": {"numpy"},
    "generalization": {"numpy", "scipy", "sklearn"},
    "remembering": {"sklearn"},
    "progress": {"sklearn"},
    "_validation": {"numpy", "scipy", "sklearn"},
    "weighted_fits": {"sklearn"},
    "word_counts": {"numpy", "scipy", "sklearn"},
    "linear": {"numpy", "scipy", "sklearn"},
    "kernel_machines": {"numpy", "scipy", "sklearn"},
    "svm": {"numpy", "scipy", "sklearn"},
    "trees": {"numpy", "scipy", "sklearn"},
    "ensembles": {"joblib", "numpy", "scipy", "sklearn"},
    "bayes": {"numpy", "scipy", "sklearn"},
    "neighbors": {"numpy", "scipy", "sklearn"},
    "text": {"numpy", "scipy", "sklearn"},
    "metrics": {"numpy", "scipy", "sklearn"},
    "evaluation": {"numpy", "scipy", "sklearn"},
    "data": {"numpy", "polars", "scipy", "sklearn"},
    "choosing": {"numpy", "polars", "scipy", "sklearn"},
    "model_io": {"numpy", "safetensors", "scipy", "sklearn"},
    "plots": {"numpy", "matplotlib"},
    "report": {"jinja2", "markupsafe", "numpy", "polars", "scipy", "sklearn"},
    "cli": {"numpy", "polars", "scipy", "sklearn"},
    "demo": {"numpy", "sklearn", "matplotlib"},
    "_first_use": set(),
    "_version": set(),
    "__init__": set(),
}
# Parts that load others only when they are used: the public names, and the commands, whose help is
# there at once.
LATE = {"__init__", "cli"}
FILES = sorted(path for path in PACKAGE.rglob("*.py"))


def part_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


FILES_OF = {part: list(paths) for part, paths in groupby(FILES, part_of)}


@cache
def imports_of(path):
    """The absolute names of all modules that a file imports; `from . import a` means module a."""
    return tuple(_imports_of(path))


def _imports_of(path):
    package = ("gapless", *path.relative_to(PACKAGE).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*base, *([node.module] if node.module else [])))
            if module == "gapless":
                yield from (f"gapless.{name.name}" for name in node.names)
            else:
                yield module


@pytest.mark.parametrize("part", FILES_OF)
def test_imports_follow_the_data(part):
    assert part in ORDER, f"{part} is new: say in ORDER where it stands"
    for path in FILES_OF[part]:
        split = [(*name.split("."), "") for name in imports_of(path)]
        ours = {parts[1] for parts in split if parts[0] == "gapless"}
        for other in ours - {part} if part != "__init__" else ():
            assert other in ORDER, f"{path} imports {other}, which is not a part in ORDER"
            assert ORDER.index(other) < ORDER.index(part), f"{path} may not know {other}"
            assert {part, other} not in map(set, STRANGERS), f"{path} may not know {other}"


@pytest.mark.parametrize("part", FILES_OF)
def test_parts_use_only_the_packages_they_may(part):
    allowed = OUTSIDE.get(part, {"numpy", "scipy"}) | {"gapless", *sys.stdlib_module_names}
    for path in FILES_OF[part]:
        assert {name.partition(".")[0] for name in imports_of(path)} <= allowed, path


def test_the_package_is_not_a_cycle_of_its_files():
    """Within a folder files import one way too: no import hides in a function to break a circle."""
    hidden = {
        str(path.relative_to(PACKAGE)): node.lineno
        for path in FILES
        if part_of(path) not in LATE
        for function in ast.walk(ast.parse(path.read_text()))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom) and imports_are_ours(node)
    }
    assert hidden == {}


def imports_are_ours(node):
    if isinstance(node, ast.ImportFrom):
        return node.level > 0 or (node.module or "").startswith("gapless")
    return any(name.name.startswith("gapless") for name in node.names)


def test_only_the_bindings_know_python():
    knows = {
        path.name
        for path in (ROOT / "src" / "core").iterdir()
        if re.search(r"#include\s*[<\"](nanobind|Python\.h|pybind)", path.read_text())
    }
    # What the processor can run is asked before any level of the core is loaded.
    assert knows == {"bindings.hpp", "bindings_processor.cpp"}, (
        "what is bound lives in bindings_*.cpp, by way of bindings.hpp"
    )
