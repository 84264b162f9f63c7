"""Small pictures as SVG: scales, axes, lines, bands and dots; colours come from the page's styles.

All are drawn for a width of 360, as wide as a phone, so that words are as large there as on paper.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from .phrases import short, shortened

WIDTH = 360.0
HEIGHT = 230.0
# Room for the labels of the axes, and the width of a letter.
LEFT, RIGHT, TOP, BOTTOM = 58.0, 10.0, 12.0, 38.0
LETTER = 6.6
# Letters that are shown when a mouse rests on a name.
MOST_LETTERS = 1000
# A logarithmic axis with fewer marks at powers of ten has some between them.
FEW_MARKS = 3

Points = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Scale:
    """Where numbers stand on an axis: from low at `start` to high at `end`."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def __call__(self, value: float) -> float:
        """The place of a number; on a logarithmic axis, zero stands where it begins."""
        low, high, at = self.low, self.high, value
        if self.is_log:
            low, high, at = math.log(low), math.log(high), math.log(max(at, self.low))
        # In halves: the distance of the largest numbers is beyond what a float can hold.
        share = (at / 2 - low / 2) / (high / 2 - low / 2) if high != low else 0.5
        return self.start + share * (self.end - self.start)

    def ticks(self, most: int = 5) -> list[float]:
        """Round numbers on the axis."""
        if self.is_log:
            return self._powers(most)
        if math.isinf(self.high - self.low):
            return [self.low, 0.0, self.high]
        step = _round_step((self.high - self.low) / most)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [k * step for k in range(first, last + 1)]

    def _powers(self, most: int) -> list[float]:
        powers = range(math.floor(math.log10(self.low)), math.floor(math.log10(self.high)) + 1)
        inside: list[float] = []
        for digits in ((1,), (1, 3), (1, 2, 5)):
            marks = [float(f"{digit}e{power}") for power in powers for digit in digits]
            inside = [x for x in marks if self.low <= 1.001 * x and 0.999 * x <= self.high]
            if len(inside) >= FEW_MARKS:
                break
        return inside[:: max(1, math.ceil(len(inside) / most))]


def _round_step(least: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is at least so large."""
    if not (math.isfinite(least) and least > 0):
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * k for k in (1, 2, 5, 10) if power * k >= least * (1 - 1e-9))


def across(values: Iterable[float | None], *, is_log: bool = False, room: float = 0.03) -> Scale:
    """The horizontal scale for some numbers."""
    return _scale(values, LEFT, WIDTH - RIGHT, is_log, room)


def up(values: Iterable[float | None], *, height: float = HEIGHT, room: float = 0.06) -> Scale:
    """The vertical scale for some numbers."""
    return _scale(values, height - BOTTOM, TOP, False, room)


def _scale(
    values: Iterable[float | None], start: float, end: float, is_log: bool, room: float
) -> Scale:
    known = [x for x in values if x is not None and (x > 0 or not is_log)]
    low, high = (min(known), max(known)) if known else (1.0, 1.0)
    if is_log:
        grown = (high / low) ** room if high > low else 2.0
        most, least = sys.float_info.max, sys.float_info.min
        return Scale(max(low / grown, least), min(high * grown, most), start, end, True)
    extra = room * (high - low) if high > low else max(abs(high) * 0.1, 0.5)
    return Scale(low - extra, high + extra, start, end)


def ink(tag: str, words: str | None = None, **attributes: float | str) -> Markup:
    """One element; everything in it is escaped. `kind` is its class, `_` in names becomes `-`."""
    parts = [
        Markup(' {}="{}"').format(
            "class" if name == "kind" else name.replace("_", "-"),
            f"{value:.1f}" if isinstance(value, float) else value,
        )
        for name, value in attributes.items()
    ]
    inside = Markup("").join(parts)
    if words is None:
        return Markup("<{}{}/>").format(Markup(tag), inside)
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(tag), inside, words)


@dataclass
class Picture:
    """A picture that grows by what is drawn on it; `str()` of it is the SVG.

    Parameters
    ----------
    x, y : Scale
        The two axes.
    says : str
        What it shows, for those who do not see it.
    height : float, default=HEIGHT
        Its height.
    """

    x: Scale
    y: Scale
    says: str
    height: float = HEIGHT
    parts: list[Markup] = field(default_factory=list)

    def line(self, xs: Points, ys: Points, kind: str) -> None:
        """Join points."""
        places = [f"{self.x(a):.1f},{self.y(b):.1f}" for a, b in _known(xs, ys)]
        if places:
            self.parts.append(ink("polyline", points=" ".join(places), kind=f"line {kind}"))

    def band(self, xs: Points, low: Points, high: Points, kind: str) -> None:
        """Fill what lies between two lines."""
        lower = [f"{self.x(a):.1f},{self.y(b):.1f}" for a, b in _known(xs, low)]
        upper = [f"{self.x(a):.1f},{self.y(b):.1f}" for a, b in _known(xs, high)]
        if lower and upper:
            around = " ".join([*lower, *reversed(upper)])
            self.parts.append(ink("polygon", points=around, kind=f"band {kind}"))

    def dots(self, xs: Points, ys: Points, kind: str, size: float = 2.5) -> None:
        """Draw a dot at each point."""
        for a, b in _known(xs, ys):
            self.dot(a, b, kind, size)

    def dot(self, a: float, b: float, kind: str, size: float = 2.5) -> None:
        """Draw one dot."""
        self.parts.append(ink("circle", cx=self.x(a), cy=self.y(b), r=size, kind=f"dot {kind}"))

    def stroke(self, start: tuple[float, float], end: tuple[float, float], kind: str) -> None:
        """Draw a straight line between two points, given in numbers of the axes."""
        (a, b), (c, d) = start, end
        self.parts.append(
            ink("line", x1=self.x(a), y1=self.y(b), x2=self.x(c), y2=self.y(d), kind=kind)
        )

    def intervals(self, xs: Points, low: Points, high: Points, kind: str) -> None:
        """Draw an upright line from low to high at each x."""
        for a, b, c in zip(xs, low, high):
            if a is not None and b is not None and c is not None:
                self.stroke((a, b), (a, c), kind)

    def bar(self, left: float, right: float, y: float, thickness: float, kind: str) -> None:
        """Draw a bar from one x to another around the place y of the picture."""
        a, b = sorted((self.x(left), self.x(right)))
        top, width = y - thickness / 2, max(b - a, 0.5)
        self.parts.append(
            ink("rect", x=a, y=top, width=width, height=thickness, kind=f"bar {kind}")
        )

    def words(
        self, text: str, x: float, y: float, kind: str = "", anchor: str = "start", full: str = ""
    ) -> None:
        """Write at a place of the picture; `full` is shown when a mouse rests on it."""
        inside = (
            text
            if not full or full == text
            else ink("title", full[:MOST_LETTERS]) + Markup("{}").format(text)
        )
        self.parts.append(ink("text", inside, x=x, y=y, kind=f"said {kind}", text_anchor=anchor))

    def __str__(self) -> str:
        return self.__html__()

    def __html__(self) -> str:
        """The picture as it stands in a page."""
        return Markup(
            '<svg viewBox="0 0 {:.0f} {:.0f}" role="img" aria-label="{}">{}</svg>'
        ).format(WIDTH, self.height, self.says, Markup("").join(self.parts))


def _known(xs: Points, ys: Points) -> list[tuple[float, float]]:
    return [(a, b) for a, b in zip(xs, ys) if a is not None and b is not None]


def with_axes(picture: Picture, x_label: str, y_label: str) -> Picture:
    """The picture with marks and names on both axes, drawn before anything else."""
    with_upright(picture, y_label)
    return with_level(picture, x_label)


def with_upright(picture: Picture, label: str) -> None:
    """Marks, thin lines and the name of the vertical axis."""
    scale, left, right = picture.y, picture.x.start, picture.x.end
    for tick in scale.ticks(5):
        y = scale(tick)
        picture.parts.append(ink("line", x1=left, y1=y, x2=right, y2=y, kind="grid"))
        picture.words(short(tick), left - 6, y + 3.5, "tick", "end")
    middle = (scale.start + scale.end) / 2
    name = shortened(label, 32)
    picture.parts.append(
        ink(
            "text",
            name,
            kind="said axis",
            text_anchor="middle",
            transform=f"translate(11 {middle:.0f}) rotate(-90)",
        )
    )


def with_level(picture: Picture, label: str, most: int = 6) -> Picture:
    """Marks and the name of the horizontal axis."""
    scale, floor = picture.x, picture.y.start
    picture.parts.append(
        ink("line", x1=scale.start, y1=floor, x2=scale.end, y2=floor, kind="floor")
    )
    for tick in scale.ticks(most):
        x = scale(tick)
        picture.parts.append(ink("line", x1=x, y1=floor, x2=x, y2=floor + 3, kind="floor"))
        picture.words(short(tick), x, floor + 15, "tick", "middle")
    middle = (scale.start + scale.end) / 2
    picture.words(shortened(label, 48), middle, floor + 31, "axis", "middle", label)
    return picture
