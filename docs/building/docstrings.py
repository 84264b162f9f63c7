"""An extension of Sphinx: docstrings are plain text with formulas, and become right markup.

They are written to be read as they are: ℓ*(y, u), |w|, coef_ are no markup in them, and `C=1` is
code. Members that come from scikit-learn are left to its own documentation.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

# Code and emphasis stay as they are; between them, characters that mean something to Sphinx do not.
KEPT = re.compile(
    r"(``.+?``|:\w[\w:]*:`[^`]+`|`[^`]+`|(?<![\w*])\*{1,2}[A-Za-z][\w ,’-]*\*{1,2}(?![\w*]))"
)
NAME = re.compile(r"`[A-Za-z_][\w.]*(?:\(\))?`")
# The first line of an entry in a section of numpydoc.
ENTRY = re.compile(r"^[\w.*, ]+ : ")
UNDERLINE = re.compile(r"^-{3,}$")


def escaped(text: str) -> str:
    """A line of prose whose formulas are text and whose quoted code is code."""
    parts = KEPT.split(text)
    for k, part in enumerate(parts):
        if k % 2 == 0:
            part = re.sub(r"([*|])", r"\\\1", part)
            parts[k] = re.sub(r"(?<=\w)_(?=\W|$)", r"\\_", part)
        elif part.startswith("`") and not part.startswith("``") and not NAME.fullmatch(part):
            parts[k] = f"`{part}`"
    return "".join(parts)


def change_docstring(
    app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Escape a docstring in place, before numpydoc reads it."""
    in_example = in_section = False
    for k, line in enumerate(lines):
        in_example = line.lstrip().startswith(">>>") or (in_example and line.strip() != "")
        in_section = in_section or bool(UNDERLINE.match(line))
        if in_example or UNDERLINE.match(line):
            continue
        # The names of an entry are numpydoc's to escape.
        names = ENTRY.match(line) if in_section else None
        start = names.end() if names else 0
        lines[k] = line[:start] + escaped(line[start:])


def change_gallery(app: Any, name: str, source: list[str]) -> None:
    """Escape the prose of an example, which stands in no block, before Sphinx reads it."""
    if name.startswith("gallery/plot_"):
        lines = source[0].split("\n")
        source[0] = "\n".join(
            line if line[:1] in (" ", ".", "") else escaped(line) for line in lines
        )


def skip_member(
    app: Any, what: str, name: str, member: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out what other packages define."""
    function = inspect.unwrap(getattr(member, "fget", member))
    module = getattr(function, "__module__", None) or ""
    return None if skip or module.startswith("gapless") else True


def setup(app: Any) -> dict[str, bool]:
    """Connect them to Sphinx."""
    app.connect("autodoc-process-docstring", change_docstring, priority=100)
    app.connect("source-read", change_gallery)
    app.connect("autodoc-skip-member", skip_member)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
