"""What any model scores on unseen rows: by a held-out part, folds, leave-one-out or bootstrap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._ground.docstrings import described
from ..unseen import Generalization, Judge, Part, StandIn, generalize
from .held_out import (
    HeldOut,
    Resampled,
    as_time_allows,
    folds_in_words,
    resampled_with_verdict,
    score,
)
from .rows import RESAMPLED, Rows, Split

Array = np.ndarray


@described(RESAMPLED)
def hold_out(
    model: Any,
    X: Any,
    y: Any,
    *,
    test_size: float = 0.25,
    sample_weight: Any = None,
    scoring: Any = None,
    groups: Any = None,
    time: Any = None,
    random_state: int = 0,
) -> Resampled:
    """Fit a model to a part of the rows and score it on the others.

    Parameters
    ----------
    test_size : float, default=0.25
        The part that is held out.
    time : array-like of shape (n,), default=None
        When each row was seen: the latest rows are held out.

    Returns
    -------
    Resampled

    Notes
    -----
    Equal rows are held out together, so that weight 2 is the row twice, and classes keep their
    shares in both parts.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gapless import LinearDiscriminantAnalysis
    >>> from gapless.evaluation import hold_out
    >>> X, y = load_iris(return_X_y=True)
    >>> result = hold_out(LinearDiscriminantAnalysis(), X, y)
    >>> print(result.kind, result.method)
    balanced hold-out of 38 rows
    """
    rows = Rows.read(X, y, sample_weight, groups, time)
    if not 0 < test_size < 1:
        raise ValueError(f"test_size must be between 0 and 1, got {test_size!r}.")
    split = rows.hold_out(model, test_size, random_state)
    return HeldOut(model, rows, [split], scoring).result(f"hold-out of {len(split[1])} rows")


@described(RESAMPLED)
def k_fold(
    model: Any,
    X: Any,
    y: Any,
    *,
    k: int = 5,
    sample_weight: Any = None,
    scoring: Any = None,
    groups: Any = None,
    time: Any = None,
    random_state: int = 0,
) -> Resampled:
    """Hold out each of k parts of the rows in turn, and score all held-out rows together.

    Parameters
    ----------
    k : int, default=5
        The number of parts, and of fits.
    time : array-like of shape (n,), default=None
        When each row was seen: time is cut into k + 1 parts, and each is predicted from its past.

    Returns
    -------
    Resampled

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from gapless import Ridge
    >>> from gapless.evaluation import k_fold
    >>> X, y = load_diabetes(return_X_y=True)
    >>> print(k_fold(Ridge(alpha=0.1), X, y).verdict.partition(":")[0])
    balanced
    """
    rows = Rows.read(X, y, sample_weight, groups, time)
    splits = rows.folds(model, k, random_state)
    return HeldOut(model, rows, splits, scoring).result(folds_in_words(splits, time))


@described(RESAMPLED)
def leave_one_out(
    model: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    scoring: Any = None,
    groups: Any = None,
) -> Resampled | Generalization:
    """Leave out each row, or each group, in turn.

    Returns
    -------
    Generalization or Resampled
        The first for a model of gapless that knows it exactly from one fit; else from as many fits
        as there are distinct rows or groups.
    """
    rows = Rows.read(X, y, sample_weight, groups)
    if hasattr(model, "_fitted_to"):
        fitted = rows.fit(model, np.arange(len(rows)))
        counted = np.flatnonzero(rows.is_counted)
        known = generalize(
            fitted,
            rows.take(counted),
            rows.y[counted],
            None if rows.weights is None else rows.weights[counted],
            scoring=scoring,
            groups=None if rows.groups is None else rows.groups[counted],
        )
        if known.method.startswith(("loo", "refits")):
            return known
    splits = [rows.split(np.arange(rows.unit_count) == u) for u in range(rows.unit_count)]
    by = "row" if groups is None else "group"
    return HeldOut(model, rows, splits, scoring).result(f"refits (each {by} left out)")


# A row is drawn into a sample of n rows with probability 1 − (1 − 1/n)ⁿ, about 1 − 1/e.
INSIDE = 0.632
# Pairs of an answer and a target for each unit, to see what a model scores that knows nothing.
PAIRS = 20


@described(RESAMPLED)
def bootstrap(
    model: Any,
    X: Any,
    y: Any,
    *,
    refits: int = 50,
    sample_weight: Any = None,
    scoring: Any = None,
    groups: Any = None,
    time_limit: float | None = None,
    random_state: int = 0,
) -> Resampled:
    """Fit models to rows drawn with replacement, and score each on the rows it did not draw.

    Parameters
    ----------
    refits : int, default=50
        How many samples are drawn.
    time_limit : float, default=None
        Seconds for all samples: as many are drawn as there is time for, two at least.

    Returns
    -------
    Resampled
        By the .632+ rule: a model learns from 63 % of the rows only and would do better with all of
        them, so a part of its score on its training rows is added, the less the more it over-fits.

    References
    ----------
    Efron and Tibshirani (1997), Improvements on cross-validation: the .632+ bootstrap method,
    Journal of the American Statistical Association 92.
    """
    if refits < 2:
        raise ValueError(f"refits must be at least 2, got {refits!r}.")
    rows = Rows.read(X, y, sample_weight, groups)
    rng = np.random.default_rng(random_state)

    def once() -> tuple[Split, HeldOut]:
        sample = draw(rows, rng)
        held_out = HeldOut(model, rows, [sample], scoring)
        # Asked for now, so that the time limit holds for predictions as well.
        _ = held_out.unseen
        return sample, held_out

    refitted = as_time_allows([once] * refits, time_limit, fewest=2, wanted="two refits")
    samples, found = zip(*refitted)
    counted = np.flatnonzero(rows.is_counted)
    full = Part(rows.fit(model, counted), rows.take(counted), counted)
    own = StandIn([full], len(rows), rows.classes(model))
    train = score(own, rows, counted, scoring)
    chance = _chance(own, rows, scoring, rng)
    outside = float(np.nanmean([one.unseen for one in found]))
    weight = _weight_of_outside(train, outside, chance)
    return resampled_with_verdict(
        found[0].metric,
        train,
        (1 - weight) * train + weight * max(outside, min(chance, train)),
        _standard_error(found, [test for _, test in samples], rows),
        f"{len(found)} bootstrap samples, .632+",
        tuple(one.unseen for one in found),
    )


def draw(rows: Rows, rng: np.random.Generator) -> tuple[Array, Array]:
    """Rows drawn with replacement, as many units as there are, and those that were not drawn."""
    times = np.zeros(rows.unit_count, dtype=int)
    while not np.any(times == 0) or not np.any(times):
        drawn = rng.integers(0, rows.unit_count, rows.unit_count)
        times = np.bincount(drawn, minlength=rows.unit_count)
    of_row = np.where(rows.units >= 0, times[rows.units], -1)
    inside = np.flatnonzero(of_row > 0)
    return np.repeat(inside, of_row[inside]), np.flatnonzero(of_row == 0)


def _chance(own: StandIn, rows: Rows, scoring: Any, rng: np.random.Generator) -> float:
    """What the model scores when its answers have nothing to do with the targets."""
    # Rows by content, each as likely as it has weight: so weight 2 is the row twice.
    target = np.unique(rows.y, axis=0, return_inverse=True)[1].ravel()
    order = np.lexsort([target, rows.units])
    order = order[rows.is_counted[order]]
    reach = np.cumsum(rows.counts[order])
    draws = rng.random((2, PAIRS * rows.unit_count)) * reach[-1]
    predicted, true = order[np.searchsorted(reach, draws, side="right")]
    judge = Judge(own, rows.y, rows.counts, scoring)
    return float(judge.scorer(own, predicted[:, None], rows.y[true]))


def _weight_of_outside(train: float, outside: float, chance: float) -> float:
    """ŵ = 0.632/(1 − 0.368 R), R being the part of the way from train to chance (their eq. 29)."""
    if not train > chance:
        return INSIDE
    overfitting = np.clip((train - outside) / (train - chance), 0.0, 1.0)
    return float(INSIDE / (1 - (1 - INSIDE) * overfitting))


def _standard_error(found: Sequence[HeldOut], tests: list[Array], rows: Rows) -> float:
    """The error of the score outside: over units by each row's mean score, else by the samples'.

    The score of a sample varies with about 0.368 n rows, the mean of all samples with n.
    """
    if any(one.of_rows is None for one in found):
        return float(np.nanstd([one.unseen for one in found], ddof=1) * np.sqrt(1 - INSIDE))
    total, times = np.zeros(len(rows)), np.zeros(len(rows))
    for one, test in zip(found, tests):
        total[test] += np.asarray(one.of_rows)[test]
        times[test] += 1
    tested = np.flatnonzero(times)
    return rows.standard_error(total[tested] / times[tested], tested)
