"""What to do next, in words that follow from numbers."""

from __future__ import annotations

import math

import numpy as np

from ..._ground.percent import percent
from ...evaluation import LearningCurve
from ...metrics import accuracy
from .. import Candidate, Choice
from .phrases import behind, joined, quoted
from .sections import Calibration, Learning, Validation
from .words import in_time, is_baseline, is_worse_than_estimated, test_rows

# An interval of a share wider than this means that the test is small.
WIDE = 0.1
# From this rank of simplicity on, models follow curves and interactions of columns.
BENDS = 4
# An expected rise counts from this part of the standard error on, if it is certain.
PART = 0.25
# The size that counts as half of the rows is at most this part of them: the sizes of a curve grow
# by factors of 1.6 to 2, so that the last but one is between a half and 0.63 of them.
ABOUT_HALF = 0.65
# Scores whose best value is 1, and which part of that, or else of the score, is hardly worth it.
OF_ONE, LITTLE = ("accuracy", "balanced_accuracy", "r2", "roc_auc"), 0.02
# From this share of rows on, equal rows of different classes matter little.
HIGH = 0.98
# Fits of at least this part of the rows can be expected to do the same.
ALIKE = 0.8
# If a curve ends this many times before all rows, its extrapolation is a guess.
FAR = 4
# The least values of parameters, and the part of a standard error below which the end of a range is
# flat.
LEAST, FLAT = {"min_samples_leaf": 1, "n_neighbors": 1, "ccp_alpha": 0.0}, 0.05
# Probabilities that are off by less are good enough to use.
SMALL = 0.01


def advice_of(
    choice: Choice,
    learning: Learning | None,
    validation: Validation | None,
    calibration: Calibration | None,
    ceiling: float | None,
) -> tuple[str, ...]:
    """What to do next, the most useful first.

    `ceiling` is the share of rows that the best of all models would get right, if known.
    """
    said = (
        _about_warnings(choice),
        _about_change(choice),
        _about_time(choice),
        _more_data_or_richer(choice, learning),
        _about_columns(ceiling),
        _about_range(validation),
        _about_calibration(calibration),
        _about_intervals(choice),
        _about_test(choice),
    )
    return tuple(text for text in said if text)


def _about_warnings(choice: Choice) -> str:
    warned = [one for one in choice.findings if one.severity == "warning"]
    if not warned:
        return ""
    names = list(dict.fromkeys(name for one in warned for name in one.columns))
    codes = joined(sorted({one.code for one in warned}))
    about = f" about {joined([quoted(name) for name in names[:3]])}" if names else ""
    return f"Check {codes}{about} first: if the warning is right, the scores are too optimistic."


def _about_change(choice: Choice) -> str:
    if not (in_time(choice) and is_worse_than_estimated(choice)):
        return ""
    return (
        "The latest rows differ from earlier ones, and the test score is worse than estimated: "
        "refit often, and add columns that follow what changes over time, such as a trend, the "
        f"season, or earlier values of {quoted(choice.target)}."
    )


def curve_in_words(choice: Choice, curve: LearningCurve) -> str:
    """What a learning curve shows: whether more rows would help, or else what.

    Only scores on unseen rows decide. A better score on training rows means little: forests and
    boosting memorise theirs, and are often the best on unseen ones all the same.
    """
    if is_baseline(choice):
        return _of_baseline_score(choice)
    if choice[choice.chosen].unseen == (1.0 if choice.higher_is_better else 0.0):
        return (
            f"There is nothing left to gain: {curve.metric} on the held-out rows is perfect. Only "
            "more rows could show rare mistakes."
        )
    last = int(curve.sizes[-1])
    if FAR * last < curve.wanted:
        return (
            f"Whether more rows would help is unknown: the learning curve ends at {last:,} of "
            f"about {curve.wanted:,} rows; a longer time limit would extend it. {_tried(choice)}"
        )
    if in_time(choice) and _prefers_late_rows(choice, curve):
        sign = -1 if curve.is_loss else 1
        return (
            f"The data change over time: on the rows that follow, {curve.metric} is "
            f"{sign * float(curve.unseen[-1]):.3g} for models of only the latest {last:,} rows and "
            f"{choice[choice.chosen].unseen:.3g} for models of the whole past. Drop old rows."
        )
    return _of_more_rows(choice, curve)


def _of_more_rows(choice: Choice, curve: LearningCurve) -> str:
    """The gain from twice as many rows, compared with what is known about the present ones."""
    chosen, size = choice[choice.chosen], max(int(curve.sizes[-1]), curve.wanted)
    now, about = _now(choice, curve, size)
    # The law of the curve gives the gain from more rows; its start is known better.
    gain = max(_not_worse(curve, 2 * size) - _not_worse(curve, size), 0.0)
    sign = -1 if curve.is_loss else 1
    here, there = f"{about}{sign * now:.3g}", f"about {sign * (now + gain):.3g}"
    brings = f"twice as many rows would take {curve.metric} from {here} to {there}"
    is_same = here.split()[-1] == there.split()[-1]
    if is_same:
        brings = f"twice as many rows would leave {curve.metric} at {there}"
    half, last = (f"{sign * float(curve.unseen[k]):.3g}" for k in (_half(curve), -1))
    if is_same and half != last and _still_rises(curve):
        return (
            f"Get more data: {curve.metric} still moves from {half} to {last} over the second half "
            "of the learning curve."
        )
    is_worth_it = not is_same and gain > _little(choice, now)
    if is_worth_it and (gain > curve.error or (_still_rises(curve) and gain > PART * curve.error)):
        return f"Get more data: {brings}."
    if is_worth_it and gain > PART * curve.error and not _has_met(chosen):
        return (
            f"More rows are likelier to help than a richer model: {brings}, with a standard error "
            f"of {curve.error:.2g}, and the model scores {chosen.gap or 0.0:.2g} better on "
            "training rows than on unseen ones."
        )
    within = f", a gain below the standard error of {curve.error:.2g}" if gain < curve.error else ""
    within = "" if is_same else within
    said = [f"More rows alone would hardly help: {brings}{within}."]
    if is_worth_it:
        said = [f"It is uncertain whether more rows would help: {brings}{within}."]
    if _has_met(chosen):
        said.append("The model does about as well on unseen rows as on training rows.")
    return " ".join([*said, _tried(choice)])


def _now(choice: Choice, curve: LearningCurve, size: int) -> tuple[float, str]:
    """The score of the present rows, higher being better, and "about " if it is a guess.

    That of the comparison if it used about as many rows, else the end of the curve, or the law's
    value for all rows, which is no less.
    """
    chosen = choice[choice.chosen]
    if chosen.unseen is not None and not in_time(choice) and ALIKE < chosen.rows / size < 1 / ALIKE:
        return -chosen.unseen if curve.is_loss else chosen.unseen, ""
    if size == int(curve.sizes[-1]):
        return float(curve.unseen[-1]), ""
    return _not_worse(curve, size), "about "


def _not_worse(curve: LearningCurve, size: float) -> float:
    """The expected score of more rows, no less than now: the law may miss a late rise."""
    return max(curve.expected(size)[0], float(curve.unseen[-1]))


def _little(choice: Choice, now: float) -> float:
    """The gain that is hardly worth more rows: a part of what the best score lacks, or of it."""
    return LITTLE * (max(1.0 - now, 0.0) if choice.metric in OF_ONE else abs(now))


def _still_rises(curve: LearningCurve) -> bool:
    """Whether all rows are clearly better than about half of them, in the same folds."""
    apart = curve.of_folds[-1] - curve.of_folds[_half(curve)]
    error = np.nanstd(apart, ddof=1) / len(apart) ** 0.5
    return bool(np.nanmean(apart) > 2 * error)


def _half(curve: LearningCurve) -> int:
    """The position of the largest size up to about half of the last; 0 if there is none."""
    small = np.flatnonzero(curve.sizes <= ABOUT_HALF * curve.sizes[-1])
    return int(small[-1]) if len(small) else 0


def _prefers_late_rows(choice: Choice, curve: LearningCurve) -> bool:
    """Whether models of the latest rows are clearly better than those of the whole past."""
    chosen = choice[choice.chosen]
    if chosen.unseen is None:
        return False
    whole = -chosen.unseen if curve.is_loss else chosen.unseen
    apart = float(curve.unseen[-1]) - whole
    return apart > 2 * math.hypot(curve.error, chosen.standard_error or 0.0)


def _of_baseline_score(choice: Choice) -> str:
    """What to do if no model is clearly better than the baseline."""
    if len(choice.judged) == 1:
        return "Whether the columns are informative is unknown: no model that uses them was tried."
    columns = "look for columns more closely related to the target"
    if max(one.complexity for one in choice.judged) < BENDS:
        return (
            "Only simple models were compared, and none found a relationship: try a richer one, "
            f"which can follow curves and interactions. If that does not help, {columns}."
        )
    ahead = f"the best of them, {choice.best}, is {behind(choice[choice.chosen])} ahead"
    if choice.best != choice.chosen and _may_matter(choice):
        return f"More rows could show whether another model is better: {ahead}. Also {columns}."
    return (
        "Neither more rows nor a richer model is likely to help: none of the models compared found "
        f"a relationship in these columns. Instead, {columns}."
    )


def _may_matter(choice: Choice) -> bool:
    """Whether the best model may be far enough ahead of the baseline to be wanted."""
    baseline = choice[choice.chosen]
    most = (baseline.behind or 0.0) + 2 * (baseline.behind_error or 0.0)
    return most > LITTLE * (1.0 if choice.metric in OF_ONE else abs(baseline.unseen or 1.0))


def _has_met(one: Candidate) -> bool:
    """Whether training and unseen scores are at most two standard errors apart."""
    return one.gap is not None and one.gap <= 2 * (one.standard_error or 0.0)


def _tried(choice: Choice) -> str:
    """What the comparison shows about simpler and richer models, by the rule of the choice."""
    chosen = choice[choice.chosen]
    others = [
        one.complexity - chosen.complexity
        for one in choice.candidates
        if one.is_judged and one.complexity and one is not chosen
    ]
    if not others:
        return "No other model was compared: try a richer one, or get better columns."
    found, promise = [], "try a richer one, or get better columns"
    if min(others) < 0:
        found.append("no simpler one is within a standard error of the best")
    if max(others) > 0:
        found.append("no richer one is better by more than a standard error")
        promise = "better columns are the most promising step"
    said = ", and ".join(found) or "none is better by more than a standard error"
    return f"Of the models compared, {said}: {promise}."


def _more_data_or_richer(choice: Choice, learning: Learning | None) -> str:
    if learning is not None:
        return learning.advice
    if is_baseline(choice):
        return _of_baseline_score(choice)
    return f"Whether more rows would help is unknown without a learning curve. {_tried(choice)}"


def _about_columns(ceiling: float | None) -> str:
    if ceiling is None or ceiling > HIGH:
        return ""
    return (
        "Get more columns: some rows that are equal in all columns differ in the target (D205), so "
        f"no model that uses only these columns can get more than {percent(ceiling)} of these rows "
        "right."
    )


def _about_time(choice: Choice) -> str:
    learned, there = choice.model.rows_, len(choice.split.train)
    missed = []
    for status, words in (("skipped", "could not be tried"), ("stopped", "could not be judged")):
        names = [one.family for one in choice.candidates if one.status == status]
        missed += [f"{joined(names)} {words}"] if names else []
    if learned < there:
        missed.append(f"the model learned from {learned:,} of {there:,} rows")
    return f"Allow more time: {'; '.join(missed)}." if missed else ""


def _about_range(validation: Validation | None) -> str:
    if validation is None or len(validation.values) < 3 or validation.parameter == "rounds":
        return ""
    best = validation.best
    if 0 < best < len(validation.values) - 1:
        return ""
    value = validation.values[best]
    if not isinstance(value, int | float) or _cannot_go_on(validation):
        return ""
    return (
        f"The best {validation.parameter} is {value:.3g}, at the end of the range tried: values "
        "beyond it may be better."
    )


def _cannot_go_on(validation: Validation) -> bool:
    """Whether there is nothing beyond the end: no smaller value, or no better score."""
    best = validation.best
    value, beside = validation.values[best], 1 if best == 0 else best - 1
    least = LEAST.get(validation.parameter)
    if best == 0 and least is not None and isinstance(value, int | float) and value <= least:
        return True
    at, error = validation.unseen[best], validation.standard_errors[best]
    near = validation.unseen[beside]
    if at is None or near is None:
        return True
    return error is not None and abs(at - near) <= FLAT * error


def _about_calibration(calibration: Calibration | None) -> str:
    if calibration is None or (calibration.error.low or 0.0) < SMALL:
        return ""
    return (
        "If you use the probabilities, recalibrate them first (gapless.metrics.recalibrate): they "
        "are off by more than chance explains."
    )


def _about_intervals(choice: Choice) -> str:
    """Whether clearly fewer test rows lie in their intervals than should."""
    answers = choice.answers
    if answers.lower is None or answers.upper is None:
        return ""
    inside = (answers.lower <= answers.y) & (answers.y <= answers.upper)
    held = accuracy(np.ones(len(inside)), inside.astype(float))
    if held.high >= answers.coverage:
        return ""
    return (
        "Do not rely on the prediction intervals yet: those meant to contain "
        f"{percent(answers.coverage)} of unseen rows contain only {percent(held.value)} of the "
        "test rows."
    )


def _about_test(choice: Choice) -> str:
    width = choice.test.high - choice.test.low
    if not (math.isfinite(width) and choice.metric in ("accuracy", "r2", "roc_auc", "error_rate")):
        return ""
    if width <= WIDE:
        return ""
    more = "rows" if choice.test_groups is None else "groups"
    return (
        f"The test score rests on {test_rows(choice, 'row')}, and its interval is {width:.2g} "
        f"wide: more {more} would show more precisely how good the model is."
    )
