"""How values are stored: by which fields, and how they are rebuilt from them."""

from __future__ import annotations

import dataclasses
import inspect
from functools import cache
from typing import Any

# For a class whose fields no rule gives.
FIELDS = {"scipy.BSpline": ("t", "c", "k", "extrapolate")}


@cache
def fields_of(cls: Any, name: str) -> tuple[str, ...]:
    """The fields by which values of a class are stored and rebuilt; `name` is its name in files.

    The fields of a dataclass that its constructor takes, those of a named tuple, and for any other
    class, such as scikit-learn's splitters, those it declares or its constructor takes.
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
    # A file lacks the training data, so a value now computes what needs them.
    value.__getstate__()
    cls: Any = type(value)
    return {field: getattr(value, field) for field in fields_of(cls, name)}
