"""Pictures for a page: matplotlib's SVG, made small, in the colours and fonts of the page.

Colours of `style` become variables of the page (`--accent`, `--faint`, …), so that a picture
follows its light and dark mode; fonts are the page's own. Only paths, circles and texts remain of
matplotlib's file: no ids that could clash, no links, no metadata, and the same bytes each time.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from html import escape
from io import StringIO
from itertools import groupby
from typing import Any
from xml.etree import ElementTree

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from .style import ACCENT, FAINT, INK, PAPER, RULE, SOFT

# As wide as a phone, so that words are as large there as on paper; sizes are in CSS pixels.
WIDTH, HEIGHT = 360.0, 230.0
# Room for the labels of the axes, for a row of a name, and for a character.
LEFT, RIGHT, TOP, BOTTOM = 58.0, 10.0, 12.0, 38.0
ROW, LETTER, LETTERS = 19.0, 6.6, 11.0
POINTS = 72.0  # matplotlib's SVG has this many units in an inch
MOST_LETTERS = 1000  # of a full name, shown when the mouse rests on a short one
VARIABLES = {
    **{ACCENT: "accent", FAINT: "faint", RULE: "rule", INK: "ink", SOFT: "soft", PAPER: "paper"}
}
# matplotlib's settings are global, so they are changed for one picture, in one place.
SETTINGS: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "gapless",
    "text.parse_math": False,
    "text.usetex": False,
    "font.family": "DejaVu Sans",
    "font.size": LETTERS,
    "xtick.labelsize": LETTERS,
    "ytick.labelsize": LETTERS,
    "axes.labelsize": LETTERS,
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.labelcolor": SOFT,
    "ytick.labelcolor": SOFT,
    "axes.unicode_minus": True,
    "path.simplify": True,
}
SVG = "{http://www.w3.org/2000/svg}"
LINK = "{http://www.w3.org/1999/xlink}href"
# Characters that XML cannot hold.
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
NUMBER = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")
# matplotlib's circle: eight arcs that begin below the centre.
CIRCLE = re.compile(r"M 0 (\d+\.?\d*)\s+(?:C [^C]*){8}z\s*")
# What matplotlib writes into every style, but browsers do anyway or the page decides.
USUAL = {"stroke-linecap": "square", "stroke-linejoin": "miter", "font-size": "", "font-family": ""}


def inline_svg(
    draw: Callable[[Axes], Any],
    *,
    title: str,
    rows: int | None = None,
    full_names: Mapping[str, str] | None = None,
) -> str:
    """Draw a picture as inline SVG for a page of HTML.

    Parameters
    ----------
    draw : callable
        Draws on given axes, by a function of `gapless.plots`.
    title : str
        The alternative text of the picture.
    rows : int, default=None
        The number of rows of names, which determines its height.
    full_names : mapping of str to str, default=None
        Shortened names, with their tooltips.

    Returns
    -------
    str
        An `<svg>` element of width 360. The page may set the variables `--accent`, `--faint`,
        `--rule`, `--ink`, `--soft` and `--paper`; legends are left to the caption.

    Notes
    -----
    Changes matplotlib's global settings while it draws: not for several threads at once.
    """
    height = HEIGHT if rows is None else TOP + ROW * max(rows, 1) + BOTTOM
    text = StringIO()
    with matplotlib.rc_context(SETTINGS), warnings.catch_warnings():
        # Characters that matplotlib's font lacks are drawn by the browser.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure = Figure(figsize=(WIDTH / POINTS, height / POINTS), facecolor="none")
        canvas = FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        draw(axes)
        _fit(figure, axes, height, rows is not None)
        canvas.print_svg(text, metadata={"Date": None})
    root = ElementTree.fromstring(FORBIDDEN.sub("\ufffd", text.getvalue()))
    inside = "".join(_elements(root, full_names or {}))
    name = escape(title[:MOST_LETTERS])
    size = f"0 0 {WIDTH:.0f} {height:.0f}"
    return f'<svg viewBox="{size}" role="img"><title>{name}</title>{inside}</svg>'


def _fit(figure: Figure, axes: Axes, height: float, has_names: bool) -> None:
    """Leave as much room around the axes as the page's fonts may need."""
    axes.set(facecolor="none", aspect="auto")
    legend = axes.get_legend()
    if legend is not None:
        legend.remove()
    left = LEFT
    if has_names:
        longest = max((len(name.get_text()) for name in axes.get_yticklabels()), default=0)
        left = min(LETTER * longest + 12.0, 150.0)
    figure.subplots_adjust(
        left=left / WIDTH,
        right=1.0 - RIGHT / WIDTH,
        top=1.0 - TOP / height,
        bottom=BOTTOM / height,
    )
    # The name of the vertical axis is at the edge, whatever the numbers need.
    axes.yaxis.set_label_coords(11.0 / WIDTH, 0.5, transform=figure.transFigure)
    axes.yaxis.label.set_y((BOTTOM + (height - TOP - BOTTOM) / 2.0) / height)


def _elements(root: ElementTree.Element, full_names: Mapping[str, str]) -> Iterator[str]:
    """The parts of a picture from back to front, those of one style together."""
    shapes = {
        f"#{one.get('id')}": (one.get("d", ""), _style(one))
        for one in root.iter(f"{SVG}path")
        if one.get("id")
    }
    parts = (_element(one, shapes, full_names) for one in _drawn(root))
    for style, group in groupby((part for part in parts if part), key=lambda part: part[0]):
        inside = [text for _, text in group]
        if len(inside) == 1 and style:
            yield re.sub(r"^<\w+", rf'\g<0> style="{style}"', inside[0])
        elif style:
            yield f'<g style="{style}">{"".join(inside)}</g>'
        else:
            yield from inside


def _drawn(element: ElementTree.Element) -> Iterator[ElementTree.Element]:
    """Everything drawn, without groups, definitions and metadata."""
    for child in element:
        if child.tag == f"{SVG}g":
            yield from _drawn(child)
        elif child.tag not in (f"{SVG}defs", f"{SVG}metadata"):
            yield child


def _element(
    one: ElementTree.Element,
    shapes: Mapping[str, tuple[str, dict[str, str]]],
    full_names: Mapping[str, str],
) -> tuple[str, str] | None:
    """The style of an element, and its text without; None if there is nothing to see."""
    style = _style(one)
    if one.tag == f"{SVG}text":
        return _in_css(style), _words(one, full_names)
    if one.tag == f"{SVG}path":
        if style == {"fill": "none"}:
            return None
        return _in_css(style), f'<path d="{_path(one.get("d", ""))}"/>'
    if one.tag == f"{SVG}use":
        shape, more = shapes[one.get(LINK, "")]
        x, y = float(one.get("x", 0)), float(one.get("y", 0))
        round_one = CIRCLE.fullmatch(shape)
        if round_one:
            r = _short(float(round_one[1]))
            where = f'cx="{_short(x)}" cy="{_short(y)}" r="{r}"'
            return _in_css({**more, **style}), f"<circle {where}/>"
        return _in_css({**more, **style}), f'<path d="{_path(shape, x, y)}"/>'
    raise ValueError(f"inline_svg draws lines, dots, bars and words; {one.tag} is another thing.")


def _style(one: ElementTree.Element) -> dict[str, str]:
    pairs = (part.split(":", 1) for part in one.get("style", "").split(";") if ":" in part)
    return {name.strip(): value.strip() for name, value in pairs}


def _in_css(style: Mapping[str, str]) -> str:
    """A style with the page's colours, without the defaults."""
    kept = []
    for name, value in style.items():
        if USUAL.get(name) in (value, ""):
            continue
        variable = VARIABLES.get(value)
        kept.append(f"{name}:{f'var(--{variable},{value})' if variable else value}")
    return ";".join(kept)


def _path(shape: str, x: float = 0.0, y: float = 0.0) -> str:
    """A path moved by (x, y); all of matplotlib's commands have absolute pairs of numbers."""
    parts: list[str] = []
    command, is_x = "", True
    for word in shape.split():
        if not word.isalpha():
            parts.append(_short(float(word) + (x if is_x else y)))
            is_x = not is_x
        elif word != command or word == "M":
            # Written once for all that follow; each M begins a line of its own.
            command = word
            parts.append(word)
    return re.sub(r" ?([A-Za-z]) ?", r"\1", " ".join(parts))


def _words(one: ElementTree.Element, full_names: Mapping[str, str]) -> str:
    text = one.text or ""
    x, y = (_short(float(one.get(name, 0))) for name in "xy")
    turned = NUMBER.search(one.get("transform", ""))
    angle = float(turned[0]) if turned else 0.0
    turn = f' transform="rotate({_short(angle)} {x} {y})"' if angle else ""
    full = full_names.get(text, text)
    title = f"<title>{escape(full[:MOST_LETTERS])}</title>" if full != text else ""
    return f'<text x="{x}" y="{y}"{turn}>{title}{escape(text)}</text>'


def _short(value: float) -> str:
    """A position in a picture to a tenth of a pixel."""
    return f"{round(value, 1) + 0.0:g}"
