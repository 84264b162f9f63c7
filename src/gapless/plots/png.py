"""Pictures for a notebook: what a plot draws, as an image within the page."""

from __future__ import annotations

import base64
from collections.abc import Callable
from html import escape
from io import BytesIO
from typing import Any

import numpy as np

# Drawn on white, which a dark page shows as a card.
STYLE = "max-width:100%;background:white;border-radius:4px"


def inline_png(draw: Callable[[], Any], *, title: str, dpi: float = 90.0) -> str:
    """Draw a picture as an image that is part of a page of HTML.

    Parameters
    ----------
    draw : callable
        Draws a new figure and returns its axes, as the `plot` of a result does.
    title : str
        The alternative text of the picture.
    dpi : float, default=90.0
        Dots per inch.

    Returns
    -------
    str
        An `<img>` element that holds the picture itself; the figure is closed.
    """
    import matplotlib.pyplot as plt

    figure = np.ravel(np.asarray(draw(), dtype=object))[0].figure
    try:
        data = BytesIO()
        figure.savefig(data, format="png", dpi=dpi, bbox_inches="tight", facecolor="white")
    finally:
        plt.close(figure)
    code = base64.b64encode(data.getvalue()).decode()
    return f'<img alt="{escape(title)}" style="{STYLE}" src="data:image/png;base64,{code}">'
