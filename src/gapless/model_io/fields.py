"""How values are stored: by which fields, and how they are built from them again."""

from __future__ import annotations

import dataclasses
import inspect
from functools import cache
from typing import Any

# Of a class that no rule tells the fields of.
FIELDS = {"scipy.BSpline": ("t", "c", "k", "extrapolate")}


@cache
def fields_of(cls: Any, name: str) -> tuple[str, ...]:
    """What values of a class, which has this name in files, are stored by and built from.

    The fields of a dataclass that its constructor takes, those of a named tuple, and of any other
    class, such as scikit-learn's splitters, what it declares or its constructor takes.
    """
    if name in FIELDS:
        return FIELDS[name]
    if dataclasses.is_dataclass(cls):
        return tuple(field.name for field in dataclasses.fields(cls) if field.init)
    if issubclass(cls, tuple):
        return tuple(cls._fields)
    declared = getattr(cls, "_stored", None)
    return tuple(inspect.signature(cls).parameters if declared is None else declared)


def contents(value: Any, name: str) -> dict[str, Any]:
    """The fields of a value, by name."""
    # A file has none of the training data, so a value computes now what needs them.
    value.__getstate__()
    cls: Any = type(value)
    return {field: getattr(value, field) for field in fields_of(cls, name)}
