"""`generalize` and `measure`: from a fit to a score on unseen rows, with a verdict.

Estimators call `measure` for their `generalization_`, users call `gapless.generalize` with a fitted
model and its data.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..certificates import known_offset
from ..streaming import is_in_parts
from .fitted import Array
from .leave_one_out import NotAvailable
from .resampled_clusters import ResampledClusters
from .result import Generalization, sentence, uncorrected
from .scores import Judge
from .trial import Outcome, Trial
from .verdict import judgement
from .without_targets import WithoutTargets, describe_unseen, unknown

# A fit that ended farther from the best one is not comparable with models fitted without a row.
FAR = 0.01


def generalize(
    model: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    scoring: Any = None,
    groups: Any = None,
    time: Any = None,
    offset: Any = None,
) -> Generalization:
    """Estimate the score of a fitted model on unseen rows.

    Parameters
    ----------
    model : estimator
        A fitted model of gapless.
    X, y : array-like
        The data it was fitted to; leave y out for a model without targets.
    sample_weight : array-like of shape (n,), optional
        The weights it was fitted with.
    scoring : str or callable, optional
        Any scorer of scikit-learn; by default accuracy, R², or D² of models for which that is the
        right measure, such as PoissonRegressor.
    groups : array-like of shape (n,), optional
        Labels of rows that belong together, such as those of one patient: a group is left out as a
        whole, and new data are assumed to come from new groups.
    time : array-like of shape (n,), optional
        The time of each row: rows are predicted by models of earlier rows alone.
    offset : array-like of shape (n,), optional
        The offsets it was fitted with, as PoissonRegressor takes them.

    Returns
    -------
    Generalization
        Prints as a sentence.

    Raises
    ------
    ValueError
        If X and y are not the data of the fit, or groups, time or scoring do not suit them.

    Notes
    -----
    The cost is that of a few fits. One x is left out at a time, with all its rows: weights count as
    repeated rows, and different targets at one x do not contradict each other. The standard error
    covers the predicted rows, not how the model would vary with other training rows. A model that
    has chosen a parameter, as with alpha="loo", is scored as if the value had been given, and
    `method` says so; its `generalization_` is corrected for the choice.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import gapless
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = gapless.Ridge(alpha=0.1).fit(X, y)
    >>> result = gapless.generalize(model, X, y, scoring="neg_mean_absolute_error")
    >>> print(f"{result.kind}: {result.unseen:.1f} ± {result.standard_error:.1f}")
    balanced: -44.5 ± 1.5
    """
    rebuild = getattr(model, "_fitted_to", None)
    if rebuild is None:
        raise TypeError(
            f"{type(model).__name__} cannot be judged this way, since its objective is not known; "
            "pass a fitted gapless model, such as gapless.Ridge, or use scikit-learn's "
            "cross_val_score."
        )
    in_parts = getattr(model, "_generalized_in_parts", None)
    if in_parts is not None and is_in_parts(X):
        given = {"scoring": scoring, "groups": groups, "time": time, "offset": offset}
        wrong = [name for name, value in given.items() if value is not None]
        if wrong:
            raise ValueError(
                f"{' and '.join(wrong)} cannot be used with tables in parts; leave it out, or pass "
                "a sample of the rows as an array."
            )
        return in_parts(X, y, sample_weight)
    fitted = rebuild(X, y, sample_weight, **known_offset(model, offset))
    result = measure(model, fitted, scoring=scoring, groups=groups, time=time)
    return uncorrected(result, model._tuned())


def measure(
    model: Any, fitted: Any, *, scoring: Any = None, groups: Any = None, time: Any = None
) -> Generalization:
    """Estimate the score of a model on unseen rows, given its fit; see `generalize`."""
    groups, time = _read_labels("groups", groups, fitted), _read_labels("time", time, fitted)
    if groups is not None and time is not None:
        raise ValueError("groups and time cannot both be given; choose one.")
    if isinstance(fitted, WithoutTargets | ResampledClusters):
        if scoring is not None:
            raise ValueError(
                f"{type(model).__name__} has no targets to score, so scoring={scoring!r} means "
                f"nothing; leave it out to get the {fitted.metric} of unseen rows."
            )
        if isinstance(fitted, WithoutTargets):
            return describe_unseen(fitted, groups, time)
        if time is not None:
            raise ValueError(
                f"{type(model).__name__} is judged by random parts of its rows, which have no "
                "order in time; leave time out, or give groups."
            )
        return fitted.judged(groups)
    weights = np.where(fitted.is_counted, fitted.weights, 0.0)
    judge = Judge(getattr(model, "_scored_as", model), fitted.y, weights, scoring)
    trial = Trial(fitted, judge, groups, time)
    train = judge.score(fitted.predictions)
    if trial.units.max(initial=-1) < 1:
        return unknown(judge.metric, train, "all rows are equal, so none can be left out")
    if judge.is_empty:
        return unknown(
            judge.metric, train, f"all targets are equal, so {judge.metric} means nothing"
        )
    found = getattr(model, "certificate_", None)
    is_stopped = getattr(found, "kind", "") == "stopped" and not fitted.refits_alike
    if found is not None and is_stopped and found.relative_gap > FAR:
        return unknown(
            judge.metric,
            train,
            f"the fit stopped too early (relative gap {found.relative_gap:.2g}) to be compared "
            "with models fitted without some rows; fit again with more time or iterations",
        )
    try:
        outcome = trial.run(fitted)
    except NotAvailable as reason:
        return unknown(judge.metric, train, str(reason))
    if not np.isfinite(outcome.score):
        return unknown(judge.metric, train, f"the {judge.metric} of held-out rows is not defined")
    kind, advice = _judgement(trial, outcome)
    return Generalization(
        metric=judge.metric,
        train=train,
        unseen=outcome.score,
        standard_error=outcome.standard_error,
        gap=train - outcome.score,
        method=outcome.method,
        disagreement=outcome.disagreement,
        verdict=sentence(kind, judge.metric, train, outcome.score, outcome.standard_error, advice),
    )


def _read_labels(name: str, labels: Any, fitted: Any) -> Array | None:
    """Groups or times, as numbers in their order."""
    if labels is None:
        return None
    values, numbers = np.unique(np.asarray(labels), return_inverse=True)
    if numbers.shape != fitted.weights.shape:
        raise ValueError(
            f"{name} has shape {np.shape(labels)}, but there are {len(fitted.weights)} rows."
        )
    if len(np.unique(numbers[fitted.is_counted])) < 2:
        raise ValueError(
            f"{name} has the same value, {values.tolist()[0]!r}, in all rows; there must be at "
            "least two."
        )
    return numbers


def _judgement(trial: Trial, outcome: Outcome) -> tuple[str, str]:
    """Over-fitted, under-fitted or balanced, and what to do."""
    if trial.fitted.expected is not None:
        return _judgement_of_share(outcome, trial.fitted.expected)
    return judgement(trial, outcome)


def _judgement_of_share(outcome: Outcome, expected: float) -> tuple[str, str]:
    """Whether a region holds the requested share of unseen rows."""
    if expected - outcome.score > 2 * outcome.standard_error:
        return "over-fitted", (
            f"more than 2 standard errors below the requested {expected:.3g}; use a wider kernel, "
            "e.g. a smaller gamma"
        )
    return "balanced", f"not more than 2 standard errors below the requested {expected:.3g}"
