"""Ranking: which of the judged families is best, which is chosen, and all of them in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.compose import TransformedTargetRegressor

from .._ground.interrupt import TimeLimit
from ..data import TableError
from ..evaluation import HeldOut, Rows, corrected, is_clearly_behind
from ..models.bayes import BayesDecision
from .choice import Candidate, Status
from .fitted_models import settings_of, tuning_of
from .gap_verdicts import with_gap_verdicts
from .judging import FamilyTrial
from .metric import LEVEL, Metric
from .score_errors import ScoreErrors

Array = np.ndarray

# Scores this close, relative to their size, differ by rounding alone.
TIE = 1e-9


@dataclass(frozen=True, eq=False)
class Ranking:
    """All families in order, and the expected score of the chosen one.

    Attributes
    ----------
    candidates : tuple of Candidate
        All families, the simplest first.
    best, chosen : FamilyTrial
        The best score, and the simplest family within one standard error of it.
    expected, expected_error : float
        The score of the chosen one on unseen rows, with the metric's own sign, corrected for
        selection, and its standard error.
    expected_range : tuple of two floats
        The range that contains the test score with a probability of 95 %.
    residuals : ndarray or None
        True minus predicted numbers of held-out rows by the chosen one; None for classes.
    """

    candidates: tuple[Candidate, ...]
    best: FamilyTrial
    chosen: FamilyTrial
    expected: float
    expected_error: float
    expected_range: tuple[float, float]
    residuals: Array | None


def rank(
    trials: Sequence[FamilyTrial], rows: Rows, metric: Metric, test_units: int | None = None
) -> Ranking:
    """Choose the simplest family within one standard error of the best.

    The error is that of the difference: both are scored on the same rows, most of which are as hard
    for one as for the other (Breiman, Friedman, Olshen and Stone 1984, section 3.4, for the rule).
    A family judged on some of its rows is chosen only if none judged on all is that near: its score
    with the others is not known. The test has `test_units` rows or groups; as many as there are for
    training if None.
    """
    order = sorted(trials, key=lambda trial: trial.family.complexity)
    judged = [trial for trial in order if trial.held is not None]
    held = [trial.held for trial in judged if trial.held is not None]
    if not held and not any(trial.failure for trial in order):
        raise TimeLimit("there was no time for any model; allow a longer time_limit.")
    if not held:
        raise TableError(f"no model could be judged by {metric.title}. {_failures(order)}.")
    unseen = np.array([one.unseen for one in held])
    best = int(np.argmax(unseen))
    behind = unseen[best] - unseen
    errors = ScoreErrors(rows, metric)
    behind_errors = np.array([errors.behind(one, held[best]) for one in held])
    near = behind <= np.maximum(behind_errors, TIE * np.abs(unseen[best]))
    is_whole = np.array([trial.is_whole for trial in judged])
    if np.any(near & is_whole):
        near &= is_whole
    simplest = min(
        np.flatnonzero(near),
        key=lambda k: (judged[k].family.complexity, -unseen[k]),
    )
    after = corrected(held, rows, int(simplest))
    assert after is not None, "metrics of tables know what each row contributes"
    lost = max(after.optimism, 0.0)
    # What the columns are worth is measured from the baseline, or else from the simplest family.
    simplest_held = held[0]
    baseline = next(
        (one for trial, one in zip(judged, held, strict=True) if trial.family.complexity == 0),
        simplest_held,
    )
    places = {trial.family.name: k for k, trial in enumerate(judged)}
    candidates = []
    for trial in order:
        candidate = _unjudged(trial)
        if trial.held is not None:
            k = places[trial.family.name]
            candidate = replace(
                _judged(candidate, trial.held, errors),
                behind=float(behind[k]),
                behind_error=float(behind_errors[k]),
                is_clearly_behind=is_clearly_behind(trial.held, held[best], baseline, rows),
                expected=float(metric.with_own_sign(unseen[k] - lost)),
            )
        candidates.append(candidate)
    chosen = held[simplest]
    return Ranking(
        with_gap_verdicts(candidates, judged[best].family.name, metric),
        judged[best],
        judged[simplest],
        float(metric.with_own_sign(after.unseen)),
        errors.expected(after, chosen),
        _range(
            float(metric.with_own_sign(after.unseen)),
            errors.of_test(after, chosen, test_units or rows.unit_count),
            metric,
        ),
        rows.y[chosen.tested] - chosen.predicted if metric.classes is None else None,
    )


def _range(expected: float, error: float, metric: Metric) -> tuple[float, float]:
    """The 95 % range of a test score, within the metric's bounds."""
    reach = float(norm.isf((1 - LEVEL) / 2)) * error
    low, high = np.clip([expected - reach, expected + reach], *metric.bounds)
    return float(low), float(high)


def _failures(trials: Sequence[FamilyTrial]) -> str:
    """Why families have no score, each reason once."""
    having: dict[str, list[str]] = {}
    for trial in trials:
        having.setdefault(trial.failure or trial.reason, []).append(trial.family.name)
    return "; ".join(f"{', '.join(names)}: {reason}" for reason, names in having.items())


def _unjudged(trial: FamilyTrial) -> Candidate:
    """A family without its scores."""
    not_judged: Status = "stopped" if trial.rows else "skipped"
    return Candidate(
        family=trial.family.name,
        model=trial.model,
        complexity=trial.family.complexity,
        status="failed" if trial.failure else not_judged,
        reason=trial.failure or trial.reason,
        rows=trial.rows,
        seconds=trial.seconds,
    )


def _judged(candidate: Candidate, held: HeldOut, errors: ScoreErrors) -> Candidate:
    """A family with its scores, with their own sign."""
    metric = errors.metric
    return described(
        replace(
            candidate,
            status="judged",
            train=float(metric.with_own_sign(held.train)),
            unseen=float(metric.with_own_sign(held.unseen)),
            standard_error=errors.of(held),
            gap=float(held.train - held.unseen),
        ),
        held.first.pipeline,
    )


def described(candidate: Candidate, fitted: Any) -> Candidate:
    """A candidate described by its fitted pipeline: certificate, settings and tuning."""
    model = model_of(fitted)
    certificate = getattr(model, "certificate_", None)
    return replace(
        candidate,
        optimality="" if certificate is None else str(certificate.verdict),
        settings=settings_of(model),
        tuning=tuning_of(model),
    )


def model_of(pipeline: Any) -> Any:
    """The model at the end of a pipeline, without the costs or the unit of the target around it."""
    last = pipeline[-1]
    if isinstance(last, TransformedTargetRegressor):
        return last.regressor_
    return last.estimator_ if isinstance(last, BayesDecision) else last
