"""The page of the gallery: every picture with its title, what to notice, and the script."""

from __future__ import annotations

import re
from collections.abc import Sequence

import jinja2
import markupsafe

from .drawing import Drawn

QUOTED = re.compile(r"``?([^`]+)``?")


def index_page(drawn: Sequence[Drawn]) -> str:
    """Write the page of some pictures, which are files beside it.

    Parameters
    ----------
    drawn : sequence of Drawn
        What `draw` returned.

    Returns
    -------
    str
        HTML, to be written as UTF-8 into the folder of the pictures.
    """
    loader = jinja2.PackageLoader("gapless.plots.gallery", ".")
    made = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    made.filters["inline"] = _inline
    return made.get_template("page.html").render(drawn=drawn)


def _inline(paragraph: str) -> markupsafe.Markup:
    """A paragraph of a docstring as HTML: what is in backticks is code."""
    return markupsafe.Markup(QUOTED.sub(r"<code>\1</code>", str(markupsafe.escape(paragraph))))
