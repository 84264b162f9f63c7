"""The second gap of fits to rows that are read in parts: each fold of parts is left out once.

One pass scores every row by the model of the other folds; only sums are kept. With vᵢ the numbers
of a row (its losses under several models, its errors), Σsv and Σs²vvᵀ give all means, their
standard errors and all paired comparisons.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .paired import PART, PART_OF_CONSTANT, SURE
from .result import Generalization, sentence
from .without_targets import NEITHER as NO_VERSION
from .without_targets import unknown

Array = np.ndarray

# The columns of the sums: losses of the model, of held-out models and of a constant, errors of the
# first two, then the losses of other versions.
TRAIN, UNSEEN, CONSTANT, WRONG, WRONG_UNSEEN, FIRST_RIVAL = range(6)
# Those of a fit without targets: distortions in the first three, then surprises under the held-out
# models and under other versions of them.
SURPRISE, FIRST_VERSION = 3, 4
NEITHER = "neither a stronger nor a weaker penalty does clearly better"
ALONE = "a constant does not predict them better"


@dataclass(frozen=True, eq=False)
class ScoreSums:
    """Sums over rows of what several models lose; sums of parts add.

    Attributes
    ----------
    weight : float
        Σs.
    sums : ndarray of shape (m,)
        Σsv.
    products : ndarray of shape (m, m)
        Σs²vvᵀ.
    squares : float
        Σs².
    """

    weight: float
    sums: Array
    products: Array
    squares: float

    @classmethod
    def of_rows(cls, values: Array, weights: Array) -> ScoreSums:
        """The sums of some rows: values (n, m), weights (n,)."""
        scaled = weights[:, None] * values
        return cls(
            float(weights.sum()), scaled.sum(axis=0), scaled.T @ scaled, float(np.sum(weights**2))
        )

    def __add__(self, other: ScoreSums) -> ScoreSums:
        return ScoreSums(
            self.weight + other.weight,
            self.sums + other.sums,
            self.products + other.products,
            self.squares + other.squares,
        )

    def mean(self, column: int) -> float:
        """The mean of a column."""
        return float(self.sums[column] / self.weight)

    def ratio(self, column: int) -> tuple[float, float]:
        """1 − (loss of a model)/(loss of the constant), and its standard error (delta method)."""
        lost, constant = float(self.sums[column]), float(self.sums[CONSTANT])
        if not constant > 0:
            return float("nan"), float("nan")
        r = lost / constant
        P = self.products
        square = P[column, column] - 2 * r * P[column, CONSTANT] + r**2 * P[CONSTANT, CONSTANT]
        return 1 - r, float(np.sqrt(max(square, 0.0))) / constant

    def share(self, column: int) -> tuple[float, float]:
        """The share of rows without the error of a column, and its standard error."""
        p = self.mean(column)
        return 1 - p, float(np.sqrt(max(p * (1 - p) * self.squares, 0.0))) / self.weight

    def lead(self, rival: int, over: int = UNSEEN) -> tuple[float, float]:
        """How much less a rival loses than the held-out models, and in standard errors."""
        a, b = over, rival
        gain = self.mean(a) - self.mean(b)
        P = self.products
        square = (P[a, a] - 2 * P[a, b] + P[b, b]) / self.weight**2
        square -= gain**2 * self.squares / self.weight**2
        error = float(np.sqrt(max(square, 0.0)))
        if error > 0:
            return gain, gain / error
        return gain, float(np.copysign(np.inf, gain)) if gain else 0.0


def judged_in_parts(
    found: ScoreSums,
    metric: str,
    has_classes: bool,
    rivals: list[tuple[str, bool]],
    method: str,
    neither: str = NEITHER,
    constant: int = CONSTANT,
) -> Generalization:
    """The score on unseen rows and a verdict; `rivals` are names, and whether each is simpler.

    `neither` are the words for rivals that are no better, and `constant` is the column of what
    constants lose on rows that they have not seen either.
    """
    if has_classes:
        train, _ = found.share(WRONG)
        unseen, error = found.share(WRONG_UNSEEN)
    else:
        train, _ = found.ratio(TRAIN)
        unseen, error = found.ratio(UNSEEN)
    kind, advice = _judgement(found, rivals, neither, constant)
    return Generalization(
        metric=metric,
        train=train,
        unseen=unseen,
        standard_error=error,
        gap=train - unseen,
        method=method,
        disagreement=None,
        verdict=sentence(kind, metric, train, unseen, error, advice),
    )


def described_in_parts(
    found: ScoreSums,
    metric: str,
    plain: float,
    versions: list[tuple[str, bool]],
    advantage: str,
    smallest_gain: Callable[[float], float],
    method: str,
) -> Generalization:
    """How well a fit without targets describes unseen rows; see `without_targets`.

    `plain` is the sum of the distortions around the mean of all rows. `versions` are names, and
    whether each has less freedom; `advantage` is what a better one does,
    and `smallest_gain` the least fall of the mean surprise, from its value, that counts.
    """
    kind, advice = "balanced", NO_VERSION
    best = smallest_gain(found.mean(SURPRISE))
    for k, (name, is_simpler) in enumerate(versions):
        gain, surprise = found.lead(FIRST_VERSION + k, over=SURPRISE)
        if gain > best and surprise > SURE:
            best, advice = gain, f"{name} {advantage}"
            kind = "over-fitted" if is_simpler else "under-fitted"
    return share_in_parts(found, metric, plain, lambda: (kind, advice), method)


def share_in_parts(
    found: ScoreSums,
    metric: str,
    plain: float,
    judgement: Callable[[], tuple[str, str]],
    method: str,
) -> Generalization:
    """The share of the distortion around the mean that a fit removes, with a verdict on it."""
    train = 1 - float(found.sums[TRAIN]) / plain if plain > 0 else float("nan")
    unseen, error = found.ratio(UNSEEN)
    if not np.isfinite(unseen):
        return unknown(metric, train, f"the {metric} of unseen rows is not defined")
    kind, advice = judgement()
    verdict = sentence(kind, metric, train, unseen, error, advice)
    return Generalization(metric, train, unseen, error, train - unseen, method, None, verdict)


def _judgement(
    found: ScoreSums, rivals: list[tuple[str, bool]], neither: str, constant: int
) -> tuple[str, str]:
    enough = PART * max(found.mean(CONSTANT), 0.0)
    gain, surprise = found.lead(constant)
    if gain > PART_OF_CONSTANT * max(found.mean(CONSTANT), 0.0) and surprise > SURE:
        return "over-fitted", "a constant predicts unseen rows better"
    best: tuple[float, str, bool] | None = None
    for k, (name, is_simpler) in enumerate(rivals):
        gain, surprise = found.lead(FIRST_RIVAL + k)
        if gain > enough and surprise > SURE and (best is None or gain > best[0]):
            best = gain, name, is_simpler
    if best is not None:
        return ("over-fitted" if best[2] else "under-fitted"), f"{best[1]} does clearly better"
    return "balanced", neither if rivals else ALONE
