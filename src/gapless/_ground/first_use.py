"""Packages whose names are imported on first use, so that one model does not load all others."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from typing import Any, NamedTuple


class Home(NamedTuple):
    """The origin of a name: `from .module import attribute`, with as many dots as its level."""

    level: int
    module: str
    attribute: str


def on_first_use(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package that imports names on first use.

    The package lists its names once, in the imports under its `if TYPE_CHECKING:`, where people,
    editors and type checkers find them; this function reads these imports and runs each when
    needed.

    Parameters
    ----------
    package : str
        The `__name__` of the package. None of its files may share a name with what it offers:
        importing the file would replace what it defines.

    Returns
    -------
    __getattr__ : function
        Imports a name and leaves it in the package.
    __dir__ : function
        The names, imported or not.
    __all__ : list of str
        The names, except those of packages: `from gapless import *` does not import `data`.
    """
    own = vars(sys.modules[package])
    source = own["__loader__"].get_source(package)
    if source is None:
        raise ImportError(f"{package} needs its source files; install gapless with them.")
    homes = _homes(source)

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        level, module, attribute = homes[name]
        if module:
            found = getattr(__import__(module, own, own, [attribute], level), attribute)
        else:
            found = importlib.import_module(f".{attribute}", package)
        own[name] = found
        return found

    def names() -> list[str]:
        # What the package's own file imports should not be offered for completion.
        return sorted({*homes, *(name for name in own if name.startswith("__"))})

    public = sorted(name for name, home in homes.items() if home.module and name[:2] != "__")
    return find, names, public


def _homes(source: str) -> dict[str, Home]:
    """Each name imported under `if TYPE_CHECKING:`, and where it comes from."""
    return {
        name.asname or name.name: Home(line.level, line.module or "", name.name)
        for block in ast.parse(source).body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for line in block.body
        if isinstance(line, ast.ImportFrom)
        for name in line.names
    }
