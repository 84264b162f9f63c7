"""Describe parameters once that several estimators or functions share.

A table is numpydoc text, kept next to the base class of a family:

    SOLVED = '''
    tol : float
        Stop when the duality gap is at most tol times the objective at w = 0.
    certificate_ : Certificate
        How far the fit is from the best one.
    '''

    @described(SOLVED)
    class Ridge(LinearModel):
        ...

`described` completes the docstring below it: parameters come in the order of the signature, each
with its default from there; names that end in an underscore are attributes and come after the
class's own. A docstring's own entries stay unchanged, and of several tables the first that
describes a name counts.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

T = TypeVar("T", bound=Callable[..., Any])

# "name : type", or "name, other : type".
HEAD = re.compile(r"(\*{0,2}\w+(?:, \*{0,2}\w+)*) : \S")
RULE = re.compile(r"-{3,}$")
# An entry: the line with its name and type, and the lines below it.
Entry = list[str]

# What almost every estimator stores about X.
FEATURES = """
n_features_in_ : int
    Number of features.
feature_names_in_ : ndarray of shape (n_features,)
    Names of the features, where X had names.
"""


def described(*tables: str) -> Callable[[T], T]:
    """Complete the docstring of a class or a function from tables of shared entries."""
    shared: list[Entry] = []
    for table in tables:
        entries = _entries(inspect.cleandoc(table).split("\n"))
        shared += _only(entries, _all_names(entries) - _all_names(shared))

    def complete(what: T) -> T:
        if what.__doc__:  # python -OO has none
            what.__doc__ = _completed(what.__doc__, inspect.signature(what), shared)
        return what

    return complete


def sections(doc: str) -> dict[str, list[str]]:
    """The lines of a docstring by section title; "" holds what comes before the first."""
    found: dict[str, list[str]] = {"": []}
    lines = inspect.cleandoc(doc).split("\n")
    title = ""
    for k, line in enumerate(lines):
        if k + 1 < len(lines) and RULE.match(lines[k + 1]) and line.strip():
            title = line.strip()
            found[title] = []
        elif not (title and RULE.match(line)):
            found[title].append(line)
    return found


def names_of(lines: Sequence[str]) -> dict[str, str]:
    """The names described by the entries of a section, each with the line that gives its type."""
    return {name: entry[0] for entry in _entries(lines) for name in _names(entry)}


def _entries(lines: Iterable[str]) -> list[Entry]:
    entries: list[Entry] = []
    for line in lines:
        if HEAD.match(line):
            entries.append([line])
        elif line.strip() and not entries:
            raise ValueError(f"the section begins with {line!r} and not with a name and its type.")
        elif line.strip():
            entries[-1].append(line)
    return entries


def _names(entry: Entry) -> list[str]:
    return [name.strip("* ") for name in entry[0].partition(" : ")[0].split(",")]


def _all_names(entries: Iterable[Entry]) -> set[str]:
    return {name for entry in entries for name in _names(entry)}


def _only(entries: Iterable[Entry], wanted: set[str]) -> list[Entry]:
    """The entries of the names that are wanted; an entry of several loses the others."""
    kept = []
    for head, *text in entries:
        names = [name for name in head.partition(" : ")[0].split(", ") if name.strip("*") in wanted]
        if names:
            kept.append([f"{', '.join(names)} : {head.partition(' : ')[2]}", *text])
    return kept


def _completed(doc: str, signature: inspect.Signature, shared: Sequence[Entry]) -> str:
    found = sections(doc)
    order = list(signature.parameters)
    own, attributes = (_entries(found.get(part, [])) for part in ("Parameters", "Attributes"))
    unknown = _all_names(own) - set(order)
    if unknown:
        raise ValueError(f"{', '.join(sorted(unknown))}: described, but not a parameter.")
    added = _only(shared, set(order) - _all_names(own))
    fitted = {name for name in _all_names(shared) if name.endswith("_")}
    parameters = sorted(
        own + [_with_default(entry, signature) for entry in added],
        key=lambda entry: min(map(order.index, _names(entry))),
    )
    attributes += _only(shared, fitted - _all_names(attributes))
    rest = {k: v for k, v in found.items() if k not in ("", "Parameters", "Attributes")}
    told = {"": found[""], "Parameters": _lines(parameters), "Attributes": _lines(attributes)}
    return "\n\n".join(
        (f"{title}\n{'-' * len(title)}\n" if title else "") + "\n".join(lines).strip("\n")
        for title, lines in (told | rest).items()
        if lines
    )


def _lines(entries: Iterable[Entry]) -> list[str]:
    return [line for entry in entries for line in entry]


def _with_default(entry: Entry, signature: inspect.Signature) -> Entry:
    default = signature.parameters[_names(entry)[0]].default
    if "default=" in entry[0] or default is inspect.Parameter.empty:
        return entry
    return [f"{entry[0]}, default={as_written(default)}", *entry[1:]]


def as_written(value: Any) -> str:
    """A default as one would write it: "auto", 1e-6."""
    if isinstance(value, str):
        return f'"{value}"'
    return re.sub(r"e([+-])0+(\d)", r"e\1\2", repr(value)).replace("e+", "e")
