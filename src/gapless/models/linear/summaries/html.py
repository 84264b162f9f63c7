"""A summary as a piece of HTML for notebooks: one table, no scripts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

STYLE = "border-collapse:collapse;margin:0.5em 0"
CELL = "padding:0.1em 0.7em;text-align:{side}"


def page(
    title: str,
    objective: str,
    headings: Sequence[str],
    cells: Sequence[Sequence[str]],
    note: str,
    sections: Sequence[tuple[str, Sequence[str]]],
) -> str:
    """A heading, the objective, the table of coefficients, and what is said below it."""
    texts = 2 if list(headings[1:2]) == ["of"] else 1
    rows = "".join(f"<tr>{_cells('td', row, texts)}</tr>" for row in cells)
    below = "".join(
        f"<p><b>{escape(heading)}:</b> {'<br>'.join(map(escape, sentences))}</p>"
        for heading, sentences in sections
    )
    return (
        f"<div><p><b>{escape(title)}</b><br>minimises {escape(objective)}</p>"
        f'<table style="{STYLE}"><thead><tr>{_cells("th", headings, texts)}</tr></thead>'
        f"<tbody>{rows}</tbody></table>{f'<p>{escape(note)}</p>' if note else ''}{below}</div>"
    )


def _cells(tag: str, texts: Sequence[str], left: int) -> str:
    """Cells of a row; the first `left` of them are texts, the others numbers."""
    sides = ("left" if k < left else "right" for k in range(len(texts)))
    return "".join(
        f'<{tag} style="{CELL.format(side=side)}">{escape(text)}</{tag}>'
        for side, text in zip(sides, texts)
    )
