"""The pictures of a report, each drawn from one of its sections."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from markupsafe import Markup

from ..._ground.percent import percent
from .column_sections import Coefficient, Dependence, Distribution, Importance
from .phrases import distinguishable, shortened, squeezed
from .plain import Value
from .row_sections import Calibration, Curve, Residuals
from .sections import Learning, Model, Validation
from .svg import (
    BOTTOM,
    HEIGHT,
    LEFT,
    LETTER,
    RIGHT,
    TOP,
    WIDTH,
    Picture,
    Points,
    Scale,
    across,
    ink,
    up,
    with_axes,
    with_level,
    with_upright,
)

# Letters of a name beside a bar, and the height of its row.
NAME, ROW = 20, 19.0
# A model is left out of a picture that is so many times as wide with it.
FAR = 2.0
# So many of each are drawn.
MOST_BARS, MOST_DOTS = 15, 40
# The styles of several lines in one picture.
STYLES = ("new", "own", "new dashed", "own dashed", "new dotted")
SPARK_WIDTH, SPARK_HEIGHT = 96.0, 20.0


def comparison(models: Sequence[Model], metric: str) -> Picture:
    """The unseen score of each model with its standard error, and its training score."""
    judged = [one for one in models if one.unseen is not None and one is not far_behind(models)]
    ends = [end for one in judged for end in (*_around(one), one.train)]
    picture = _rows_of([one.family for one in judged], ends, f"{metric} of each model")
    for k, one in enumerate(judged):
        y = float(k)
        if one.train is not None and one.unseen is not None:
            picture.stroke((one.unseen, y), (one.train, y), "guide")
            picture.dot(one.train, y, "own", 3.0)
        low, high = _around(one)
        if low is not None and high is not None:
            picture.stroke((low, y), (high, y), "error")
        if one.unseen is not None:
            picture.dot(one.unseen, y, "new strong" if one.is_chosen else "new", 4.0)
    return with_level(picture, metric, 4)


def far_behind(models: Sequence[Model]) -> Model | None:
    """The worst model, if the others could not be told apart in a picture that shows it too."""
    scores = [one.unseen for one in models if one.unseen is not None]
    if len(scores) < 4:
        return None
    reach, without = (max(of) - min(of) for of in (scores, scores[:-1]))
    worst = [one for one in models if one.unseen is not None][-1]
    return worst if reach > FAR * without and not worst.is_chosen else None


def _around(one: Model) -> tuple[float | None, float | None]:
    if one.unseen is None or one.standard_error is None:
        return one.unseen, one.unseen
    return one.unseen - one.standard_error, one.unseen + one.standard_error


def _rows_of(
    names: Sequence[str], values: Sequence[float | None], says: str, *, least: float | None = None
) -> Picture:
    """A picture with one row for each name, and a horizontal scale for the values."""
    height = TOP + ROW * max(len(names), 1) + BOTTOM
    room = min(LETTER * max([len(squeezed(name, NAME)) for name in names] or [0]) + 12, 150.0)
    scale = across([*values, least])
    x = Scale(
        scale.low if least is None else min(least, scale.low), scale.high, room, WIDTH - RIGHT
    )
    y = Scale(-0.5, len(names) - 0.5, TOP, height - BOTTOM)
    picture = Picture(x, Scale(y.high, y.low, y.end, y.start), says, height)
    for k, name in enumerate(names):
        place = picture.y(float(k))
        picture.words(squeezed(name, NAME), room - 8, place + 3.5, "tick", "end", name)
    for tick in x.ticks(4):
        a = x(tick)
        picture.parts.append(ink("line", x1=a, y1=TOP, x2=a, y2=height - BOTTOM, kind="grid"))
    return picture


def importances(found: Sequence[Importance], metric: str) -> Picture:
    """A bar for each column, with two standard errors to either side."""
    shown = found[:MOST_BARS]
    errors = [2 * (one.standard_error or 0.0) for one in shown]
    ends = [one.value + side * e for one, e in zip(shown, errors) for side in (-1, 1)]
    says = f"how much {metric} worsens when a column is shuffled"
    picture = _rows_of([one.name for one in shown], ends, says, least=0.0)
    for k, (one, error) in enumerate(zip(shown, errors)):
        picture.bar(0.0, one.value, picture.y(float(k)), 10.0, "new")
        picture.stroke((one.value - error, float(k)), (one.value + error, float(k)), "error plain")
    picture.stroke((0.0, -0.5), (0.0, len(shown) - 0.5), "floor")
    return with_level(picture, f"loss of {metric}", 4)


def coefficients(found: Sequence[Coefficient]) -> Picture:
    """A bar to the left or right for each coefficient."""
    shown = found[:MOST_BARS]
    # Where all speak for one class, the page says so once.
    speak = {one.of for one in shown}
    names = [f"{one.of}: {one.name}" if len(speak) > 1 else one.name for one in shown]
    picture = _rows_of(names, [one.value for one in shown], "coefficients", least=0.0)
    for k, one in enumerate(shown):
        picture.bar(0.0, one.value, picture.y(float(k)), 10.0, "new" if one.value > 0 else "own")
    picture.stroke((0.0, -0.5), (0.0, len(shown) - 0.5), "floor")
    return with_level(picture, "coefficient (of scaled columns)", 4)


def learning(curve: Learning) -> Picture:
    """Scores of training and of unseen rows by the number of rows, and what more would bring."""
    low, high = _beside(curve.unseen, curve.standard_errors)
    sizes = [*curve.sizes, *curve.more_sizes]
    picture = Picture(
        across(sizes, is_log=True),
        up([*curve.train, *low, *high, *curve.more_unseen]),
        f"{curve.metric} by the number of rows to learn from",
    )
    with_axes(picture, "rows to learn from", curve.metric)
    picture.band(curve.sizes, low, high, "new")
    more_low, more_high = (
        [_inside(value, picture.y) for value in side]
        for side in _beside(curve.more_unseen, curve.more_errors)
    )
    picture.band(curve.more_sizes, more_low, more_high, "new faint")
    picture.line(curve.sizes, curve.train, "own")
    picture.dots(curve.sizes, curve.train, "own")
    picture.line(curve.more_sizes, curve.more_unseen, "new dashed")
    picture.line(curve.sizes, curve.unseen, "new")
    picture.dots(curve.sizes, curve.unseen, "new")
    return picture


def _beside(values: Points, errors: Points) -> tuple[list[float | None], list[float | None]]:
    """What lies one error below and above; the value itself where the error is unknown."""
    pairs = list(zip(values, errors))
    return (
        [None if value is None else value - (error or 0.0) for value, error in pairs],
        [None if value is None else value + (error or 0.0) for value, error in pairs],
    )


def _inside(value: float | None, scale: Scale) -> float | None:
    return None if value is None else min(max(value, scale.low), scale.high)


def validation(curve: Validation) -> Picture:
    """Both scores by the value of a parameter, the best and the chosen one."""
    low, high = _beside(curve.unseen, curve.standard_errors)
    numbers = _as_numbers(curve.values)
    places: list[float | None] = numbers or [float(k) for k in range(len(curve.values))]
    picture = Picture(
        across(places, is_log=curve.is_log and numbers is not None),
        up([*low, *high, *curve.train]),
        f"{curve.metric} by {curve.parameter}",
    )
    with_upright(picture, curve.metric)
    if numbers is None:
        _level_of_names(picture, [str(value) for value in curve.values], curve.parameter)
    else:
        with_level(picture, curve.parameter)
    order = sorted(range(len(places)), key=lambda k: places[k] or 0.0)
    xs, ys = [places[k] for k in order], [curve.unseen[k] for k in order]
    picture.band(xs, [low[k] for k in order], [high[k] for k in order], "new")
    own = [curve.train[k] for k in order]
    picture.line(xs, own, "own")
    if sum(value is not None for value in own) <= MOST_DOTS:
        picture.dots(xs, own, "own")
    picture.line(xs, ys, "new")
    if len(xs) <= MOST_DOTS:
        picture.dots(xs, ys, "new")
    worse = low if curve.higher_is_better else high
    limit, best, chosen = worse[curve.best], places[curve.best], places[curve.chosen]
    if limit is not None and curve.standard_errors[curve.best] is not None:
        picture.stroke((picture.x.low, limit), (picture.x.high, limit), "guide dashed")
    top, score = curve.unseen[curve.best], curve.unseen[curve.chosen]
    if best is not None and top is not None:
        picture.dot(best, top, "new hollow", 4.5)
    if chosen is not None and score is not None:
        picture.dot(chosen, score, "new strong", 4.5)
    return picture


def _as_numbers(values: Sequence[Value]) -> list[float | None] | None:
    """Values as numbers, if all of them are."""
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return None
    return [float(value) for value in values if isinstance(value, int | float)]


def _level_of_names(picture: Picture, names: Sequence[str], label: str) -> None:
    """A horizontal axis of names, shortened until they fit beside each other."""
    scale, floor = picture.x, picture.y.start
    room = (scale.end - scale.start) / max(len(names), 1)
    picture.parts.append(
        ink("line", x1=scale.start, y1=floor, x2=scale.end, y2=floor, kind="floor")
    )
    shown = distinguishable(names, max(int(room / LETTER), 2))
    for k, (name, fits) in enumerate(zip(names, shown)):
        picture.words(fits, scale(float(k)), floor + 15, "tick", "middle", name)
    middle = (scale.start + scale.end) / 2
    picture.words(shortened(label, 48), middle, floor + 31, "axis", "middle", label)


def roc(curves: Sequence[Curve]) -> Picture:
    """The share of each kind that is called positive, at every threshold."""
    picture = _unit_square("ROC curve")
    of = _looked_for(curves)
    with_axes(picture, f"share of others predicted as {of}", f"share of {of} found")
    picture.stroke((0.0, 0.0), (1.0, 1.0), "guide dashed")
    return _with_curves(picture, curves)


def precision_recall(curves: Sequence[Curve]) -> Picture:
    """Which part of what is called positive is so, by the part that is found."""
    picture = _unit_square("precision by recall")
    with_axes(picture, f"recall: share of {_looked_for(curves)} found", "precision")
    if len(curves) == 1 and curves[0].chance is not None:
        picture.stroke((0.0, curves[0].chance), (1.0, curves[0].chance), "guide dashed")
    return _with_curves(picture, curves)


def _looked_for(curves: Sequence[Curve]) -> str:
    return curves[0].of if len(curves) == 1 else "a class"


def _unit_square(says: str) -> Picture:
    x = Scale(0.0, 1.0, LEFT, WIDTH - RIGHT)
    return Picture(x, Scale(0.0, 1.0, HEIGHT - BOTTOM, TOP), says)


def _with_curves(picture: Picture, curves: Sequence[Curve]) -> Picture:
    """One curve with its band, or several without, since bands would hide each other."""
    if len(curves) == 1:
        picture.band(curves[0].x, curves[0].low, curves[0].high, "new")
    for curve, style in zip(curves, STYLES):
        picture.line(curve.x, curve.y, style)
    return picture


def swatch(place: int, kind: str = "line") -> Markup:
    """How the line or dots of a name look, for the words below a picture of several."""
    style = f"{kind} {STYLES[place]}"
    shape = (
        ink("line", x1=0, y1=5, x2=22, y2=5, kind=style)
        if kind == "line"
        else ink("circle", cx=11, cy=5, r=3.5, kind=style)
    )
    return ink("svg", shape, viewBox="0 0 22 10", kind="swatch", aria_hidden="true")


def calibration(curve: Calibration) -> Picture:
    """What happened against what was said, with intervals; dots are as large as their bins."""
    picture = _unit_square("calibration")
    with_axes(picture, f"probability of {curve.of}", "observed share")
    picture.stroke((0.0, 0.0), (1.0, 1.0), "guide dashed")
    picture.intervals(curve.said, curve.low, curve.high, "error")
    largest = max((size or 0.0 for size in curve.sizes), default=1.0) or 1.0
    for said, happened, size in zip(curve.said, curve.happened, curve.sizes):
        if said is not None and happened is not None:
            picture.dot(said, happened, "new", 2.0 + 3.5 * ((size or 0.0) / largest) ** 0.5)
    return picture


def predicted(rows: Residuals, target: str) -> Picture:
    """True against predicted numbers, each with its prediction interval."""
    scale = across([*rows.true, *rows.predicted])
    # Both axes have the same range, so that the diagonal is where both agree.
    picture = Picture(
        scale,
        Scale(scale.low, scale.high, HEIGHT - BOTTOM, TOP),
        f"true against predicted {target}",
    )
    with_axes(picture, f"predicted {target}", f"true {target}")
    lower = [_inside(value, picture.y) for value in rows.lower]
    upper = [_inside(value, picture.y) for value in rows.upper]
    picture.intervals(rows.predicted, lower, upper, "error faint")
    picture.stroke((scale.low, scale.low), (scale.high, scale.high), "guide dashed")
    picture.dots(rows.predicted, rows.true, "new small", 1.8)
    return picture


def residuals(rows: Residuals, target: str) -> Picture:
    """What is left to explain, by what was predicted."""
    left = [
        None if true is None or said is None else true - said
        for true, said in zip(rows.true, rows.predicted)
    ]
    picture = Picture(across(rows.predicted), up([*left, 0.0]), f"residuals by predicted {target}")
    with_axes(picture, f"predicted {target}", "true − predicted")
    picture.stroke((picture.x.low, 0.0), (picture.x.high, 0.0), "guide dashed")
    picture.dots(rows.predicted, left, "new small", 1.8)
    return picture


def dependence(found: Dependence) -> Picture:
    """Mean predictions by the value of one column; a line for each class."""
    ends = [value for line in found.lines for value in line.values]
    numbers = _as_numbers(found.values)
    places: list[float | None] = numbers or [float(k) for k in range(len(found.values))]
    picture = Picture(
        across(places, room=0.03 if numbers else 0.5 / max(len(places) - 1, 1)),
        up(ends, room=0.1),
        f"{found.answer} by {found.column}",
    )
    with_upright(picture, found.answer)
    if numbers is None:
        _level_of_names(picture, [str(value) for value in found.values], found.column)
    else:
        with_level(picture, found.column)
    for line, style in zip(found.lines, STYLES):
        if mark_of(found) == "line":
            picture.line(places, line.values, style)
            picture.dots(places, line.values, style, 1.8)
        else:
            picture.dots(places, line.values, style, 3.5)
    return picture


def mark_of(found: Dependence) -> str:
    """Lines join numbers; levels, which have no order, have dots."""
    return "dot" if _as_numbers(found.values) is None else "line"


def spark(found: Distribution) -> str:
    """The distribution of a column as a row of small bars."""
    if not found.shares:
        return ""
    largest, many = max(found.shares) or 1.0, len(found.shares)
    wide = SPARK_WIDTH / max(many, 6)
    bars = []
    for k, share in enumerate(found.shares):
        tall = max(SPARK_HEIGHT * share / largest, 0.6 if share else 0.0)
        bars.append(
            ink(
                "rect",
                x=k * wide,
                y=SPARK_HEIGHT - tall,
                width=max(wide - 1.0, 0.8),
                height=tall,
                kind="bar own" if found.kind == "bins" else "bar level",
            )
        )
    title = ink("title", in_words(found))
    box = ink("svg", title + title.__class__("").join(bars), viewBox="0 0 96 20", kind="spark")
    return box


def in_words(found: Distribution) -> str:
    """A distribution in words: the range of bins, or the shares of levels."""
    if found.kind == "bins":
        return f"{found.labels[0]} to {found.labels[-1]}" if found.labels else ""
    pairs = zip_longest(found.labels, found.shares, fillvalue=0.0)
    return ", ".join(f"{label} ({_share(float(share))})" for label, share in pairs)


def _share(share: float) -> str:
    return percent(share, 0) if share >= 0.005 else "below 1 %"
