"""The pictures of the gallery: a figure is taken when its script shows it, and not before.

sphinx-gallery would take, and close, whatever is drawn at the end of each part of a script.
"""

from __future__ import annotations

from typing import Any

from sphinx_gallery.scrapers import matplotlib_scraper


def shown_figures(block: tuple, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """The figures of a script, after the part that shows them."""
    is_shown = "plt.show()" in block[1]
    return matplotlib_scraper(block, block_vars, gallery_conf) if is_shown else ""
