"""Packages whose names are imported on first use, so that one model does not bring all others."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def on_first_use(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package that imports each of its names when it is asked for.

    Parameters
    ----------
    package : str
        The `__name__` of the package. None of its files is called as one of its names: an import of
        that file would put it in the place of what it defines.
    homes : mapping of str to str
        Each name, and the module of the package that it lives in; "module:other" where it is called
        otherwise there, and "" for a module that is the name itself.

    Returns
    -------
    __getattr__ : function
        Imports a name and leaves it in the package.
    __dir__ : function
        The names, imported or not.
    """
    own = vars(sys.modules[package])

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, attribute = homes[name].partition(":")
        value = importlib.import_module(f".{module or name}", package)
        own[name] = getattr(value, attribute or name) if module else value
        return own[name]

    def names() -> list[str]:
        # What the file of the package itself imports is nobody's to complete.
        return sorted({*homes, *(name for name in own if name.startswith("__"))})

    return find, names
