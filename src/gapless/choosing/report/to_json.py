"""A report as JSON, and back: strict, since the text may come from a file of unknown origin."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from .sections import Confusion, Report, Residuals, Validation

FORMAT = 2
Kind = TypeVar("Kind")


def to_json(report: Any, *, indent: int | None = None) -> str:
    """Write a report as JSON.

    Parameters
    ----------
    report : Report, or another with `to_dict`
        The report.
    indent : int or None, default=None
        Spaces per level; one line if None.

    Returns
    -------
    str
        `from_json` restores the same report.
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
        If the text is not a report of this version; the message names the place.
    """
    report = read_json(text, Report)
    _check(report)
    return report


def read_json(text: str, kind: type[Kind]) -> Kind:
    """Read a report of a kind, a dataclass of plain fields; others raise ValueError."""
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the report is not valid JSON: {error}.") from None
    if not isinstance(plain, dict) or plain.pop("format", None) != FORMAT:
        raise ValueError(
            f"the report does not have format {FORMAT}; write it again with this version."
        )
    report = _read(kind, plain, "report")
    assert isinstance(report, kind)
    return report


def _check(report: Report) -> None:
    """Refuse data of the right types that could not be rendered."""
    fits = {
        "gaps": len(report.gaps) == 2,
        "versions": "gapless" in report.versions,
        "models": bool(report.models),
        "validation": report.validation is None or _is_curve(report.validation),
        "confusion": report.confusion is None or _is_square(report.confusion),
        "residuals": report.residuals is None or _has_level(report.residuals),
    }
    for name, is_right in fits.items():
        if not is_right:
            raise ValueError(f"report.{name} does not match the rest of the report.")


def _is_curve(one: Validation) -> bool:
    """Whether all values have scores, and the best and the chosen one are among them."""
    lengths = {len(of) for of in (one.values, one.train, one.unseen, one.standard_errors)}
    return len(lengths) == 1 and all(0 <= k < len(one.values) for k in (one.best, one.chosen))


def _is_square(one: Confusion) -> bool:
    """Whether the matrix has a row and a column for each class."""
    lengths = [len(one.counts), *(len(row) for row in one.counts)]
    return all(length == len(one.classes) for length in lengths)


def _has_level(one: Residuals) -> bool:
    """Whether a coverage comes with the requested one."""
    return one.coverage is None or None not in (one.coverage.value, one.level)


def _read(kind: Any, plain: Any, where: str) -> Any:
    """A plain value as the type of a field, or an error that says where it does not fit."""
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
    # A bool is an int to Python, and an integer is read as an int even if a float is meant.
    if kind is float and type(plain) in (int, float) and abs(plain) <= sys.float_info.max:
        return float(plain)
    if kind is str and type(plain) is str:
        # Half a pair of surrogates could not be written to a file.
        return plain.encode("utf-8", "replace").decode()
    if kind in (int, bool) and type(plain) is kind:
        return plain
    raise ValueError(f"{where} must be {_name(kind)}, not {type(plain).__name__}.")


def _read_one_of(kinds: tuple[Any, ...], plain: Any, where: str) -> Any:
    if plain is None and types.NoneType in kinds:
        return None
    same = [kind for kind in kinds if type(plain) is kind]
    others = [kind for kind in kinds if kind is not types.NoneType]
    return _read((same or others)[0], plain, where)


def _read_fields(kind: Any, plain: Mapping[str, Any], where: str) -> Any:
    hints = get_type_hints(kind)
    names = {field.name for field in fields(kind)}
    # Reports of earlier versions lack newer fields, which have defaults.
    needed = {field.name for field in fields(kind) if field.default is MISSING}
    for what, odd in (("lacks", needed - set(plain)), ("has unknown", set(plain) - names)):
        if odd:
            raise ValueError(f"{where} {what} fields: {', '.join(sorted(odd))}.")
    return kind(**{name: _read(hints[name], plain[name], f"{where}.{name}") for name in plain})


def _name(kind: Any) -> str:
    return getattr(kind, "__name__", str(kind))
