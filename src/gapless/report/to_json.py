"""A report as JSON, and back: strict, since the text may come from a file of unknown origin."""

from __future__ import annotations

import json
import math
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

from .sections import Report

FORMAT = 1


def to_json(report: Report, *, indent: int | None = None) -> str:
    """Write a report as JSON.

    Parameters
    ----------
    report : Report
        The report.
    indent : int or None, default=None
        Blanks per level; one line if None.

    Returns
    -------
    str
        `from_json` gives the same report again.
    """
    plain = {"format": FORMAT} | report.to_dict()
    return json.dumps(plain, indent=indent, ensure_ascii=False, allow_nan=False)


def from_json(text: str) -> Report:
    """Read a report that `to_json` has written.

    Parameters
    ----------
    text : str
        JSON.

    Returns
    -------
    Report

    Raises
    ------
    ValueError
        When the text is no report of this version; the message says where.
    """
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the report is no JSON: {error}.") from None
    if not isinstance(plain, dict) or plain.pop("format", None) != FORMAT:
        raise ValueError(f"the report is not of format {FORMAT}; make it again with `gapless fit`.")
    report = _read(Report, plain, "report")
    assert isinstance(report, Report)
    return report


def _read(kind: Any, plain: Any, where: str) -> Any:
    """A plain value as the type that a field has, or an error that says where it does not fit."""
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _read_one_of(get_args(kind), plain, where)
    if is_dataclass(kind) and isinstance(plain, Mapping):
        return _read_fields(kind, plain, where)
    if origin is tuple and isinstance(plain, list):
        inner = get_args(kind)[0]
        return tuple(_read(inner, each, f"{where}[{k}]") for k, each in enumerate(plain))
    if origin is dict and isinstance(plain, dict):
        inner = get_args(kind)[1]
        return {name: _read(inner, each, f"{where}.{name}") for name, each in plain.items()}
    if kind is types.NoneType and plain is None:
        return None
    # A bool is an int to Python, and a whole number is read as an int where a float is meant.
    if kind is float and type(plain) in (int, float) and math.isfinite(plain):
        return float(plain)
    if kind in (str, int, bool) and type(plain) is kind:
        return plain
    raise ValueError(f"{where} does not fit: {type(plain).__name__} instead of {_name(kind)}.")


def _read_one_of(kinds: tuple[Any, ...], plain: Any, where: str) -> Any:
    if plain is None and types.NoneType in kinds:
        return None
    same = [kind for kind in kinds if type(plain) is kind]
    others = [kind for kind in kinds if kind is not types.NoneType]
    return _read((same or others)[0], plain, where)


def _read_fields(kind: Any, plain: Mapping[str, Any], where: str) -> Any:
    hints = get_type_hints(kind)
    names = {field.name for field in fields(kind)}
    if names != set(plain):
        odd = ", ".join(sorted(names ^ set(plain)))
        raise ValueError(f"{where} lacks or has too many of: {odd}.")
    return kind(**{name: _read(hints[name], plain[name], f"{where}.{name}") for name in names})


def _name(kind: Any) -> str:
    return getattr(kind, "__name__", str(kind))
