"""Generalization: a model's score on unseen data, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from .._ground.notebook import ShownInNotebook
from .selection_bias import Corrected


@dataclass(frozen=True)
class Disagreement:
    """How far approximate held-out predictions are from those of real refits.

    Attributes
    ----------
    refits : int
        The number of rows, or groups, whose models were refitted.
    largest, mean : float
        Differences of their predictions, on the scale of the loss: for regression in the units of
        the target.
    part : float
        The same as a part of how far predictions move when their row is left out.
    score : float
        The effect on the score if all predictions missed twice that part of their way.
    """

    refits: int
    largest: float
    mean: float
    part: float
    score: float


@dataclass(frozen=True)
class Generalization(ShownInNotebook):
    """A model's score on unseen rows. Prints as a sentence.

    Attributes
    ----------
    metric : str
        The score's name; higher is better, as for every scorer of scikit-learn.
    train : float
        The score on the rows of the fit.
    unseen : float
        The estimated score on rows that the fit has not seen.
    standard_error : float
        Of `unseen`: how much it would vary with other rows to predict.
    gap : float
        train − unseen.
    method : str
        How rows were held out: "loo" (exact), "approximate loo" (one Newton step), "span", "refits"
        (a refit without each row), "5-fold", "hold-out" or "forward", and why a simpler one was not
        available.
    disagreement : Disagreement or None
        With real refits, for approximate methods.
    verdict : str
        "over-fitted", "under-fitted", "balanced" or "unknown", and why, in words.
    """

    metric: str
    train: float
    unseen: float
    standard_error: float
    gap: float
    method: str
    disagreement: Disagreement | None
    verdict: str

    @property
    def kind(self) -> str:
        """The first word of the verdict."""
        return self.verdict.partition(":")[0]

    def __str__(self) -> str:
        if not math.isfinite(self.gap):
            return self.verdict
        numbers = f"train − unseen = {self.gap:.3g}, by {self.method}"
        if self.disagreement is not None:
            numbers += (
                f"; {self.disagreement.refits} refits differ by {self.disagreement.mean:.2g} in "
                f"their predictions and by {self.disagreement.score:.2g} in the score"
            )
        return f"{self.verdict}\n({numbers})"

    def __repr__(self) -> str:
        return (
            f"<Generalization {self.kind}: {self.metric} {self.unseen:.3g} ± "
            f"{self.standard_error:.2g} unseen, {self.train:.3g} train>"
        )

    def to_dict(self) -> dict[str, Any]:
        """The same data as plain numbers and strings."""
        return asdict(self)


def uncorrected(result: Generalization, tuned: Sequence[str]) -> Generalization:
    """The result for a model that chose parameters, worded as if they had been given."""
    if not tuned or result.kind == "unknown":
        return result
    choice = " and ".join(tuned)
    return replace(result, method=f"{result.method}; not corrected for the selection of {choice}")


def chosen_among(
    result: Generalization,
    found: Corrected,
    models: int,
    method: str = "loo",
    *,
    kind: str | None = None,
    rows: int | None = None,
) -> Generalization:
    """The result for a model chosen among `models`, corrected for that.

    Its verdict is of the same kind, unless another is named; `rows` is the size of the sample, if
    one was used to choose.
    """
    how = "corrected for selection among" if found.is_winner else "minus the optimism found among"
    numbers = result.metric, result.train, found.unseen, found.standard_error
    advice = f"selection had inflated it by {max(found.optimism, 0.0):.2g}"
    return replace(
        result,
        unseen=found.unseen,
        standard_error=found.standard_error,
        gap=result.train - found.unseen,
        method=f"{method}, {how} {models} models{'' if rows is None else f' on {rows} rows'}",
        verdict=sentence(kind or result.kind, *numbers, advice),
    )


def sentence(
    kind: str, metric: str, train: float, unseen: float, standard_error: float, advice: str
) -> str:
    """The verdict in words: its kind, both scores, and the advice."""
    digits = _decimals(standard_error, unseen)
    return (
        f"{kind}: {metric} {unseen:.{digits}f} ± {standard_error:.{digits}f} on unseen rows, "
        f"{train:.{digits}f} on training rows; {advice}."
    )


def _decimals(standard_error: float, unseen: float) -> int:
    """Decimals that show two digits of the error, unless it is due to rounding."""
    is_error = standard_error > 1e-9 * abs(unseen)
    size = standard_error if is_error else abs(unseen) / 10
    if not (math.isfinite(size) and size > 0):
        return 3
    return min(max(1 - math.floor(math.log10(size)), 0), 12)
