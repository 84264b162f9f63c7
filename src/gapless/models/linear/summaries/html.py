"""A summary as a piece of HTML for notebooks: one table, no scripts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ...._ground.notebook import table


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
    below = "".join(
        f"<p><b>{escape(heading)}:</b> {'<br>'.join(map(escape, sentences))}</p>"
        for heading, sentences in sections
    )
    return (
        f"<div><p><b>{escape(title)}</b><br>minimises {escape(objective)}</p>"
        f"{table(headings, cells, texts)}{f'<p>{escape(note)}</p>' if note else ''}{below}</div>"
    )
