"""The pictures of a report: each passes the numbers of a section to a drawing function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
from markupsafe import Markup

from ..._ground.drawing import pictures
from ..._ground.percent import percent
from .phrases import distinguishable, shortened, squeezed
from .sections import (
    Calibration,
    Coefficient,
    Curve,
    Dependence,
    Distribution,
    Importance,
    Learning,
    Model,
    Residuals,
    Validation,
    Value,
)

# Characters of a name next to a row, and along the two axes.
NAME, ACROSS, UP = 20, 48, 32
# Characters of all the names next to each other below a picture.
LEVELS = 44
# A model is left out of a picture that would be this many times as wide with it.
FAR = 2.0
MOST_BARS = 15
# Larger numbers are drawn here: the sum of two would be infinite; and smaller ones, too.
LARGEST, SMALLEST = 1e300, 1e-300


def draw_picture(
    draw: Callable[..., Any],
    *numbers: Any,
    title: str,
    rows: int | None = None,
    full_names: Mapping[str, str] | None = None,
    **named: Any,
) -> Markup:
    """The output of a function of `plots`, as a part of the page."""

    def on(axes: Any) -> None:
        draw(*numbers, **named, axes=axes)
        for axis, most in ((axes.xaxis, ACROSS), (axes.yaxis, UP)):
            axis.label.set_text(shortened(axis.label.get_text(), most))

    return Markup(pictures().inline_svg(on, title=title, rows=rows, full_names=full_names))


def floats(values: Sequence[Value]) -> np.ndarray:
    """Numbers that can be drawn, nan for unknown ones."""
    known = np.clip(np.array(values, dtype=float), -LARGEST, LARGEST)
    return np.where(np.abs(known) < SMALLEST, 0.0, known)


def comparison(models: Sequence[Model], metric: str, higher_is_better: bool = True) -> Markup:
    """The unseen score of each model with its standard error, and its training score."""
    judged = [one for one in models if one.unseen is not None and one is not far_behind(models)]
    names = _names([one.family for one in judged])
    return draw_picture(
        pictures().comparison,
        names,
        floats([one.train for one in judged]),
        floats([one.unseen for one in judged]),
        floats([one.standard_error for one in judged]),
        chosen=next((name for name, one in zip(names, judged) if one.is_chosen), None),
        metric=metric,
        higher_is_better=higher_is_better,
        title=f"{metric} of each model",
        rows=len(judged),
    )


def far_behind(models: Sequence[Model]) -> Model | None:
    """The worst model, if including it would make the others indistinguishable in a picture."""
    scores = [one.unseen for one in models if one.unseen is not None]
    if len(scores) < 4:
        return None
    reach, without = (max(of) - min(of) for of in (scores, scores[:-1]))
    worst = [one for one in models if one.unseen is not None][-1]
    return worst if reach > FAR * without and not worst.is_chosen else None


def _names(names: Sequence[str]) -> list[str]:
    return [squeezed(name, NAME) for name in names]


def importances(found: Sequence[Importance], metric: str) -> Markup:
    """A bar for each column, with two standard errors to either side."""
    shown = found[:MOST_BARS]
    names = _names([one.name for one in shown])
    return draw_picture(
        pictures().importances,
        names,
        floats([one.value for one in shown]),
        [2 * (one.standard_error or 0.0) for one in shown],
        label=f"loss of {metric}",
        title=f"how much {metric} worsens when a column is shuffled",
        rows=len(shown),
        full_names=dict(zip(names, (one.name for one in shown))),
    )


def coefficients(found: Sequence[Coefficient]) -> Markup:
    """A bar to the left or right for each coefficient."""
    # If all point to one class, the page says so once.
    speak = {one.of for one in found[:MOST_BARS]}
    names = [f"{one.of}: {one.name}" if len(speak) > 1 else one.name for one in found]
    values = [one.value for one in found]
    return bars(names, values, "coefficient (of scaled columns)", "coefficients")


def bars(names: Sequence[str], values: Sequence[float], label: str, title: str) -> Markup:
    """A bar to the left or right for each of the first names."""
    full = list(names[:MOST_BARS])
    short = _names(full)
    return draw_picture(
        pictures().coefficients,
        short,
        floats(values[:MOST_BARS]),
        label=label,
        title=title,
        rows=len(short),
        full_names=dict(zip(short, full)),
    )


def learning(curve: Learning) -> Markup:
    """Training and unseen scores by the number of rows, and the expected gain of more."""
    return draw_picture(
        pictures().learning,
        *map(floats, (curve.sizes, curve.train, curve.unseen, curve.standard_errors)),
        beyond=tuple(map(floats, (curve.more_sizes, curve.more_unseen, curve.more_errors))),
        metric=curve.metric,
        title=f"{curve.metric} by the number of rows to learn from",
    )


def validation(curve: Validation) -> Markup:
    """Both scores by the value of a parameter, the best and the chosen one."""
    values, full_names = _along(curve.values)
    return draw_picture(
        pictures().validation,
        values,
        *map(floats, (curve.train, curve.unseen, curve.standard_errors)),
        best=curve.best,
        chosen=curve.chosen,
        parameter=curve.parameter,
        metric=curve.metric,
        higher_is_better=curve.higher_is_better,
        is_log=curve.is_log,
        title=f"{curve.metric} by {curve.parameter}",
        full_names=full_names,
    )


def _along(values: Sequence[Value]) -> tuple[Sequence[Value], dict[str, str]]:
    """Numbers unchanged; other values as names that fit next to each other, and in full."""
    if _are_numbers(values):
        return floats(values).tolist(), {}
    full = [str(value) for value in values]
    names = distinguishable(full, max(LEVELS // max(len(full), 1), 2))
    return names, dict(zip(names, full))


def _are_numbers(values: Sequence[Value]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def roc(curves: Sequence[Curve]) -> Markup:
    """The share of each kind predicted positive, at every threshold."""
    return _of_classes(pictures().roc, curves, "ROC curve")


def precision_recall(curves: Sequence[Curve]) -> Markup:
    """The share of predicted positives that are right, by the share that is found."""
    chance = curves[0].chance if len(curves) == 1 else None
    return _of_classes(
        pictures().precision_recall, curves, "precision by recall", prevalence=chance
    )


def _of_classes(
    draw: Callable[..., Any], curves: Sequence[Curve], title: str, **named: Any
) -> Markup:
    """One curve with its band, or several without, since bands would hide each other."""
    is_one = len(curves) == 1
    of = curves[0].of if is_one else "a class"

    def all_of_them(**on: Any) -> None:
        for style, curve in enumerate(curves):
            x, y, low, high = map(floats, (curve.x, curve.y, curve.low, curve.high))
            band = (low, high) if is_one else None
            draw(x, y, band=band, of=of, style=style, **named, **on)

    return draw_picture(all_of_them, title=title)


def calibration(curve: Calibration) -> Markup:
    """Observed shares against probabilities, with intervals; dots are as large as their bins."""
    return draw_picture(
        pictures().reliability,
        *(curve.said, curve.happened),
        low=curve.low,
        high=curve.high,
        sizes=curve.sizes,
        of=curve.of,
        title="calibration",
    )


def predicted(rows: Residuals, target: str) -> Markup:
    """True against predicted numbers, each with its prediction interval."""
    return draw_picture(
        pictures().predicted,
        *map(floats, (rows.predicted, rows.true)),
        lower=floats(rows.lower),
        upper=floats(rows.upper),
        target=target,
        title=f"true against predicted {target}",
    )


def residuals(rows: Residuals, target: str) -> Markup:
    """Residuals by the predicted value."""
    return draw_picture(
        pictures().residuals,
        *map(floats, (rows.predicted, rows.true)),
        target=target,
        title=f"residuals by predicted {target}",
    )


def dependence(found: Dependence) -> Markup:
    """Mean predictions by the value of one column; a line for each class."""
    values, full_names = _along(found.values)
    means = np.array([floats(line.values) for line in found.lines]).T
    return draw_picture(
        *(pictures().partial_dependence, values, means),
        column=found.column,
        answer=found.answer,
        title=f"{found.answer} by {found.column}",
        full_names=full_names,
    )


def mark_of(found: Dependence) -> str:
    """Lines join numbers; levels, which have no order, have dots."""
    return "line" if _are_numbers(found.values) else "dot"


def in_words(found: Distribution) -> str:
    """A distribution in words: the range of bins, or the shares of levels."""
    if found.kind == "bins":
        return f"{found.labels[0]} to {found.labels[-1]}" if found.labels else ""
    pairs = zip_longest(found.labels, found.shares, fillvalue=0.0)
    return ", ".join(f"{label} ({_share(float(share))})" for label, share in pairs)


def _share(share: float) -> str:
    return percent(share, 0) if share >= 0.005 else "below 1 %"
