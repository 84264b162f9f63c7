"""Can a model over-fit? A correct one that is rich enough reproduces a few training rows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from numbers import Integral
from typing import Any

import numpy as np

from .._ground.docstrings import described
from .._ground.notebook import ShownInNotebook
from .rows import RESAMPLED, Rows

# A regression has reproduced its targets if this part of their variance is left.
LEFT = 1e-3


@dataclass(frozen=True)
class Memorised(ShownInNotebook):
    """Whether a model reproduces a few rows that it was fitted to. Prints as a sentence.

    Attributes
    ----------
    rows : int
        How many rows it was fitted to.
    error : float
        Its error on these rows: the share of wrong classes, or of the variance that is left.
    unseen : float
        The same on all other rows, usually much larger; NaN if there are none.
    tol : float
        The largest error that counts as none.
    """

    rows: int
    error: float
    unseen: float
    tol: float

    @property
    def is_memorised(self) -> bool:
        """Whether no error is left on the rows of the fit."""
        return self.error <= self.tol

    @property
    def verdict(self) -> str:
        """The finding as a sentence."""
        others = "" if np.isnan(self.unseen) else f" ({self.unseen:.3g} on the other rows)"
        if self.is_memorised:
            return (
                f"memorised: {self.rows} rows are reproduced, error {self.error:.3g}{others}; the "
                "model can learn."
            )
        return (
            f"not memorised: an error of {self.error:.3g} is left on {self.rows} rows{others}; "
            "weaken the penalty, allow more iterations, or use a richer model, and if that does "
            "not help, look for a mistake in the features, the targets or the code."
        )

    def __str__(self) -> str:
        return self.verdict

    def to_dict(self) -> dict[str, Any]:
        """The same data as plain numbers and strings."""
        return asdict(self)


@described(RESAMPLED)
def memorise(
    model: Any, X: Any, y: Any, *, rows: int = 20, tol: float | None = None, random_state: int = 0
) -> Memorised:
    """Fit a model to a few rows, and see whether it reproduces them.

    Parameters
    ----------
    rows : int, default=20
        How many distinct rows to draw; classes keep their shares.
    tol : float, default=None
        The largest error that counts as none; None is 0 for classes, and 0.001 of the variance for
        numbers.

    Returns
    -------
    Memorised

    Notes
    -----
    A sanity check of a new model, not a goal: with its regularisation turned off it should reach an
    error of 0 on a few rows, and a large one on others. A model that cannot is too rigid for the
    features, or wrong.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from gapless import SVC, LogisticRegression
    >>> from gapless.evaluation import memorise
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> print(memorise(SVC(C=1e6), X, y).is_memorised)
    True
    >>> print(memorise(LogisticRegression(C=1e-9), X, y).verdict.partition(":")[0])
    not memorised
    """
    if not isinstance(rows, Integral) or rows < 2:
        raise ValueError(f"rows must be a whole number of at least 2, got {rows!r}.")
    data = Rows.read(X, y)
    chosen = np.isin(data.units, data.shuffled(model, random_state)[:rows])
    # Rows of one x may contradict each other, so one of them is enough.
    _, first = np.unique(data.units[chosen], return_index=True)
    few = np.flatnonzero(chosen)[first]
    classes = data.classes(model)
    if classes is not None and len(np.unique(data.y[few])) < 2:
        raise ValueError(
            f"the {len(few)} rows drawn are all of one class; raise rows, or set random_state."
        )
    fitted = data.fit(model, few)
    others = np.flatnonzero(~chosen)
    error, unseen = (_error(fitted, data, part, few, classes is not None) for part in (few, others))
    default = 0.0 if classes is not None else LEFT
    return Memorised(len(few), error, unseen, default if tol is None else tol)


def _error(fitted: Any, data: Rows, part: Any, few: Any, has_classes: bool) -> float:
    """The share of wrong classes, or of the variance of the few targets that is left."""
    if not len(part):
        return float("nan")
    y, z = data.y[part], np.asarray(fitted.predict(data.take(part)))
    if has_classes:
        return float(np.mean(z != y))
    if z.size != y.size:
        raise ValueError(
            f"{type(fitted).__name__} gives outputs of shape {z.shape} for targets of shape "
            f"{y.shape}, and memorise compares predictions; fit a few rows yourself, and compare "
            "e.g. predict(X).argmax(axis=1) with y."
        )
    variance = float(np.mean((data.y[few] - data.y[few].mean(axis=0)) ** 2))
    return float(np.mean((z.reshape(y.shape) - y) ** 2)) / (variance if variance > 0 else 1.0)
