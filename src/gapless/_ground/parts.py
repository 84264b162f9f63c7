"""Estimators made of parts that have parameters of their own: losses, penalties and kernels.

`loss__delta` or `kernel__gamma` can be set and searched like any parameter. Parts are values, so
setting a parameter creates another loss, penalty or kernel. An estimator lists its parts in
`_part_kinds`, and uses `get_params` and `set_params` of this file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar


def _fields(part: Any) -> dict[str, Any]:
    return {field.name: getattr(part, field.name) for field in dataclasses.fields(part)}


@dataclass(frozen=True)
class PartKind:
    """Losses, penalties or kernels: how to find one by name, list its parameters, replace them."""

    by_name: Callable[[Any], Any]
    parameters: Callable[[Any], dict[str, Any]] = _fields
    replace: Callable[..., Any] = dataclasses.replace


def get_params(self, deep=True):
    """The parameters by name; with `deep`, those of the parts too."""
    params = {name: getattr(self, name) for name in self._get_param_names()}
    if deep:
        for part in self._part_kinds:
            params |= {f"{part}__{name}": value for name, value in _inner(self, part).items()}
    return params


def set_params(self, **params):
    """Set parameters by name, `penalty__strength` for the strength of the penalty."""
    nested = {key: value for key, value in params.items() if "__" in key}
    known = self.get_params()
    for key in params:
        if key not in known and key.partition("__")[0] not in self._part_kinds:
            raise ValueError(
                f"Invalid parameter {key!r} for {type(self).__name__}. "
                f"Valid parameters are: {sorted(known)!r}."
            )
    for key, value in params.items():
        if key not in nested:
            setattr(self, key, value)
    for key, value in nested.items():
        part, _, name = key.partition("__")
        inner = _inner(self, part)
        if name not in inner:
            raise ValueError(
                f"Invalid parameter {name!r} for {part}={getattr(self, part)!r}. "
                f"Valid parameters are: {sorted(inner)!r}."
            )
        kind = self._part_kinds[part]
        before = kind.by_name(getattr(self, part))
        setattr(self, part, kind.replace(before, **{name: value}))
    return self


def _inner(estimator: Any, part: str) -> dict[str, Any]:
    """The parameters of a part; none for anything that is not a part, which `fit` will refuse."""
    kind = estimator._part_kinds[part]
    try:
        return kind.parameters(kind.by_name(getattr(estimator, part)))
    except (TypeError, ValueError):
        return {}


class OfParts:
    """Base class of estimators whose parts have parameters of their own.

    A class without room for another base assigns the two methods itself.
    """

    _part_kinds: ClassVar[dict[str, PartKind]]
    get_params = get_params
    set_params = set_params
