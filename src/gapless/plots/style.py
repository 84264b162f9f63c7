"""The look that all pictures share: colours, line styles, axes and the numbers along them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, Formatter, MaxNLocator, NullLocator

# Unseen rows, or the subject of a picture; training rows, or what it is compared with; thin lines
# behind the data. `svg` knows these colours and leaves them to the page.
ACCENT, FAINT, RULE = "#1f5fa8", "#9aa1ab", "#e2e4e7"
INK, SOFT, PAPER = "#1d2126", "#5d6570", "#ffffff"
# Several lines on the same axes, distinguishable without colours too.
DASHED, DOTTED = (0, (3.0, 1.8)), (0, (0.9, 1.8))
DASHES: tuple[Any, ...] = ("-", DASHED, (0, (6.0, 2.0, 1.0, 2.0)))
STYLES: tuple[dict[str, Any], ...] = (
    {"color": ACCENT, "linestyle": "-"},
    {"color": FAINT, "linestyle": "-"},
    {"color": ACCENT, "linestyle": DASHED},
    {"color": FAINT, "linestyle": DASHED},
    {"color": ACCENT, "linestyle": DOTTED},
)
# Classes and groups, in an order in which the first few differ most, for every eye: the colours of
# Okabe and Ito (2008), Color universal design, with the page's own blue and black. Each class has a
# mark too, for paper without colours.
CLASSES = (ACCENT, "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", INK, "#f0e442")
MARKS = "os^Dvp*X"
# Lines and points that are equally important, distinguishable by colour-blind readers (Okabe and
# Ito 2008) and, by dashes and markers, in print without colours.
LOOKS: tuple[dict[str, Any], ...] = (
    {"color": ACCENT, "linestyle": "-", "marker": "o"},
    {"color": "#d55e00", "linestyle": DASHED, "marker": "s"},
    {"color": "#007a5a", "linestyle": (0, (6.0, 1.8, 0.9, 1.8)), "marker": "^"},
    {"color": INK, "linestyle": DOTTED, "marker": "D"},
    {"color": "#b0568a", "linestyle": (0, (8.0, 2.4)), "marker": "v"},
    {"color": "#a87400", "linestyle": (0, (3.0, 1.2, 0.9, 1.2, 0.9, 1.2)), "marker": "P"},
    {"color": SOFT, "linestyle": (0, (1.6, 1.0)), "marker": "X"},
    {"color": "#4a9fd8", "linestyle": (0, (10.0, 1.6, 2.4, 1.6)), "marker": "<"},
    {"color": "#c9302c", "linestyle": (0, (4.5, 3.0)), "marker": ">"},
    {"color": "#6b8e23", "linestyle": (0, (0.9, 3.0)), "marker": "*"},
)
# What data is compared with: chance, agreement, a tolerance.
GUIDE: dict[str, Any] = {"color": FAINT, "linewidth": 1.0, "linestyle": (0, (4.0, 3.0))}
WIDE = 20  # values whose largest is this many times the smallest get a logarithmic axis
FEW_MARKS = 3  # a logarithmic axis with fewer powers of ten also has marks between them
MOST_MARKS = 6
MOST_DIGITS = 16  # a float64 has no more


def of_class(k: int) -> dict[str, Any]:
    """The colour and the mark of class number k; beyond the last colour other marks begin."""
    again, place = divmod(k, len(CLASSES))
    return {"color": CLASSES[place], "marker": MARKS[(place + again) % len(MARKS)]}


def look(k: int) -> dict[str, Any]:
    """Colour, dashes and marker of the k-th of several lines, the first of which is solid."""
    return dict(LOOKS[k % len(LOOKS)])


def legend_beside(axes: Axes, title: str | None = None) -> None:
    """Name the lines that have names to the right of the axes, where they hide nothing."""
    if axes.get_legend_handles_labels()[1]:
        place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
        axes.legend(frameon=False, fontsize="small", title=title, **place)


def named_height(axes: Axes, height: float, name: str) -> None:
    """A dashed line across the axes, named at its right end, outside, where it hides nothing."""
    axes.axhline(height, **GUIDE)
    place: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    look_of_text: dict[str, Any] = {"color": SOFT, "fontsize": "small", "va": "center"}
    axes.annotate(name, (1, height), xytext=(3, 0), **place, **look_of_text)


def axes_for(axes: Axes | None, width: float = 6.4, height: float = 3.6) -> Axes:
    """The axes to draw on: those given, or new ones of this many inches."""
    return figure_of(width, height).subplots() if axes is None else axes


def figure_of(width: float, height: float) -> Any:
    """A new figure that notebooks and `plt.show()` display."""
    # pyplot looks for a screen; pictures for a page do without.
    import matplotlib.pyplot as plt

    return plt.figure(figsize=(width, height), layout="constrained")


def finished(
    axes: Axes,
    xlabel: str = "",
    ylabel: str = "",
    *,
    grid: Literal["x", "y", "both"] = "y",
    title: str = "",
) -> Axes:
    """The axes with names, thin lines behind the data and few, short numbers."""
    axes.set(xlabel=xlabel, ylabel=ylabel)
    if title:
        axes.set_title(title, fontsize="small", loc="left")
    axes.grid(True, axis=grid, color=RULE, linewidth=1.0)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, which="both")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(FAINT)
    for axis in (axes.xaxis, axes.yaxis):
        if isinstance(axis.get_major_locator(), FixedLocator):
            continue  # names, or the marks of a logarithmic axis
        axis.set_major_locator(MaxNLocator(MOST_MARKS, steps=[1, 2, 5, 10]))
        axis.set_major_formatter(ShortNumbers())
    for text in axes.findobj(Text):
        text.set_parse_math(False)  # a column may be called "$a"
    return axes


class ShortNumbers(Formatter):
    """Marks of an axis in few characters, but enough to tell them apart."""

    def __call__(self, value: float, pos: int | None = None) -> str:
        """The mark at one value."""
        return short(value)

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """The marks at all these values."""
        words = [short(value) for value in values]
        for digits in range(5, MOST_DIGITS):
            if len(set(words)) == len(set(values)):
                break
            words = [f"{value:.{digits}g}".replace("-", "−") for value in values]
        return words


def short(value: float) -> str:
    """A number in few characters: 12k, 1.5M, 0.25."""
    if value == 0:
        return "0"
    size = abs(value)
    for power, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if power * 0.9995 <= size < power * 1e3 and size >= 1e4:
            return f"{value / power:.3g}{letter}".replace("-", "−")
    return f"{value:.4g}".replace("-", "−")


def with_logarithms(axes: Axes, which: Literal["x", "y"], values: Sequence[float]) -> None:
    """Make an axis logarithmic, with a few round marks between its ends."""
    known = [x for x in values if x > 0 and math.isfinite(x)]
    axes.set(**{f"{which}scale": "log"})
    axis: Axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_minor_locator(NullLocator())
    if known:
        axis.set_major_locator(FixedLocator(_powers(min(known), max(known))))
        axis.set_major_formatter(ShortNumbers())


def _powers(low: float, high: float) -> list[float]:
    """Powers of ten in a range; with a few numbers in between if there are too few."""
    powers = range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)
    inside: list[float] = []
    for digits in ((1,), (1, 3), (1, 2, 5)):
        marks = [float(f"{digit}e{power}") for power in powers for digit in digits]
        inside = [x for x in marks if low <= 1.001 * x and 0.999 * x <= high]
        if len(inside) >= FEW_MARKS:
            break
    return inside[:: max(1, math.ceil(len(inside) / MOST_MARKS))]


def are_numbers(values: Sequence[Any]) -> bool:
    """Whether values are numbers with a position on an axis."""
    return all(isinstance(value, Real) and not isinstance(value, bool) for value in values)


def places(axes: Axes, values: Sequence[Any], *, is_log: bool | None = None) -> np.ndarray:
    """The position of each value on the horizontal axis: numbers by value, others in order.

    None for `is_log` decides by the numbers: a wide range of positive ones gets logarithms.
    """
    if not are_numbers(values):
        axes.set_xticks(range(len(values)), [str(value) for value in values])
        # Half a step at either end, where names are centred.
        axes.set_xlim(-0.5, max(len(values), 1) - 0.5)
        return np.arange(len(values), dtype=float)
    at = np.array([float(value) for value in values])
    if is_log is None:
        is_log = bool(at.min() > 0 and at.max() > WIDE * at.min())
    if is_log:
        with_logarithms(axes, "x", at.tolist())
        known = at[at > 0]
        # Values without a logarithm go to the beginning of the axis.
        return np.maximum(at, known.min(initial=np.inf) if len(known) else 1.0)
    return at
