"""How results show themselves in a notebook: what they print, as HTML, and below it their picture.

No colours are set, so that the page decides, light or dark; no scripts, nothing to load.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from .drawing import pictures

TABLE = "border-collapse:collapse;margin:0.5em 0"
CELL = "padding:0.1em 0.7em;white-space:nowrap;text-align:{side}"
LINES = "margin:0.3em 0;line-height:1.3"
MOST_LETTERS = 200  # of the words in place of a picture
# The verdict at the beginning of a sentence: a few words before a colon.
VERDICT = re.compile(r"^([^:(\n]{1,40}):(?= )")
# A line whose columns are aligned by spaces.
ALIGNED = re.compile(r"\S {2,}\S|^ {2,}\S| \| ")


class ShownInNotebook:
    """A result that prints as sentences or a table, and may have a `plot()`."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return f"<div>{as_html(str(self))}{picture_of(self)}</div>"


def as_html(text: str) -> str:
    """What a result prints: sentences as paragraphs, aligned lines as they are."""
    parts: list[str] = []
    aligned: list[str] = []
    for line in [*text.removeprefix("<").removesuffix(">").splitlines(), ""]:
        if ALIGNED.search(line):
            aligned.append(line)
            continue
        if aligned:
            parts.append(as_printed("\n".join(aligned)))
            aligned = []
        if line:
            parts.append(_paragraph(line))
    return "".join(parts)


def as_printed(text: str) -> str:
    """Lines as they are."""
    return f'<pre style="{LINES}">{escape(text)}</pre>'


def _paragraph(line: str) -> str:
    if line.startswith("(") and line.endswith(")"):
        return f'<p style="margin:0.2em 0;opacity:0.75"><small>{escape(line[1:-1])}</small></p>'
    sentence = VERDICT.sub(r"<b>\1</b>:", escape(line, quote=False))
    return f'<p style="margin:0.2em 0">{sentence}</p>'


def picture_of(result: Any) -> str:
    """The picture that a result draws of itself, within the page; nothing without one."""
    if not callable(getattr(result, "plot", None)):
        return ""
    return pictures().inline_png(result.plot, title=str(result).partition("\n")[0][:MOST_LETTERS])


def table(head: Sequence[str], rows: Iterable[Sequence[str]], texts: int = 1) -> str:
    """A table whose first `texts` columns are words and whose others are numbers."""
    body = "".join(f"<tr>{_cells('td', row, texts)}</tr>" for row in rows)
    return (
        f'<table style="{TABLE}"><thead><tr>{_cells("th", head, texts)}</tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )


def _cells(tag: str, texts: Sequence[str], left: int) -> str:
    sides = ("left" if k < left else "right" for k in range(len(texts)))
    return "".join(
        f'<{tag} style="{CELL.format(side=side)}">{escape(text)}</{tag}>'
        for side, text in zip(sides, texts)
    )
