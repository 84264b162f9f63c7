"""How much of an error is there whatever rows were drawn, and how much depends on the draw."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from .._ground.docstrings import described
from .._ground.drawing import AXES, pictures
from .._ground.notebook import ShownInNotebook
from .._ground.percent import percent
from .held_out import as_time_allows
from .resampling import draw
from .rows import RESAMPLED, Rows

Array = np.ndarray

# Sums over rows are off by about this part.
ROUNDING = 1e-13


@dataclass(frozen=True)
class BiasVariance(ShownInNotebook):
    """The parts of an error. Prints as a sentence.

    Attributes
    ----------
    error : float
        The mean error of the models: squared for numbers, the share of wrong classes for classes.
    bias : float
        For numbers the mean squared distance of the mean prediction from the target; for classes
        the share of rows whose most frequent prediction is wrong.
    variance : float
        What the variation of the predictions adds to the error. For classes it adds if the most
        frequent prediction is right and subtracts if it is wrong, so it may be negative.
    noise : float
        The error that the best possible predictions would have; 0 if `truth` was not given, and
        then a part of the bias.
    has_truth : bool
        Whether noise is separated from bias.
    adds, subtracts : float
        The two parts of the variance of classes, variance = adds − subtracts; `subtracts` is 0 for
        numbers.
    loss : str
        "squared error" or "0-1 loss".
    refits : int
        How many models were fitted.
    rows : int
        How many rows were predicted.

    Notes
    -----
    error = noise + bias + variance, exactly.
    """

    error: float
    bias: float
    variance: float
    noise: float
    has_truth: bool
    adds: float
    subtracts: float
    loss: str
    refits: int
    rows: int

    def __str__(self) -> str:
        bias = "bias" if self.has_truth else "bias and noise"
        noise = f" + noise {self.noise:.4g}" if self.has_truth else ""
        parts = (
            f"{self.loss} {self.error:.4g} = {bias} {self.bias:.4g} + variance "
            f"{self.variance:.4g}{noise}"
        )
        if self.variance <= 0:
            return f"{parts}; variance does not add to it; a richer model can lower the bias."
        return (
            f"{parts}; averaging, a simpler model or more rows can lower the variance "
            f"({percent(self.variance / self.error, 0)}), a richer model the bias."
        )

    def __repr__(self) -> str:
        return f"<BiasVariance {self.loss}: bias {self.bias:.3g}, variance {self.variance:.3g}>"

    def to_dict(self) -> dict[str, Any]:
        """The same data as plain numbers and strings."""
        return asdict(self)

    @described(AXES)
    def plot(self, *, axes=None):
        """Draw the parts as one bar; returns the axes."""
        plots = pictures()
        return plots.bias_variance({"": self.to_dict()}, loss=self.loss, axes=axes)


@described(RESAMPLED)
def bias_variance(
    model: Any,
    X: Any,
    y: Any,
    *,
    X_test: Any = None,
    y_test: Any = None,
    truth: Any = None,
    refits: int = 50,
    sample_weight: Any = None,
    groups: Any = None,
    time_limit: float | None = None,
    random_state: int = 0,
) -> BiasVariance:
    """Split the error of a model into bias and variance, by fits to rows drawn with replacement.

    Parameters
    ----------
    X_test, y_test : array-like, default=None
        Rows to predict. If None, each row is predicted by the models that did not draw it.
    truth : array-like, default=None
        The best possible prediction of each predicted row, if known, as for simulated data; it
        separates noise from bias.
    refits : int, default=50
        How many models are fitted.
    time_limit : float, default=None
        Seconds for all fits: as many models are fitted as there is time for, two at least.

    Returns
    -------
    BiasVariance

    Notes
    -----
    Squared error: with p̄ the mean prediction of a row over the models, the mean of (y − p)² is
    (y − p̄)² + the mean of (p − p̄)². 0-1 loss, after Domingos: with m the most frequent prediction,
    a row is biased if m ≠ y; predictions other than m are wrong in rows without bias, which adds,
    and may be right in rows with it, which subtracts.

    References
    ----------
    Geman, Bienenstock and Doursat (1992), Neural Computation 4. Domingos (2000), A unified
    bias-variance decomposition, ICML.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from gapless import DecisionTreeRegressor
    >>> from gapless.evaluation import bias_variance
    >>> X, y = load_diabetes(return_X_y=True)
    >>> stump = bias_variance(DecisionTreeRegressor(max_depth=1), X, y)
    >>> tree = bias_variance(DecisionTreeRegressor(), X, y)
    >>> print(stump.bias > tree.bias, stump.variance < tree.variance)
    True True
    """
    if refits < 2:
        raise ValueError(f"refits must be at least 2, got {refits!r}.")
    if (X_test is None) != (y_test is None):
        raise ValueError("X_test and y_test go together; give both or neither.")
    rows = Rows.read(X, y, sample_weight, groups)
    if rows.y.ndim != 1:
        raise ValueError(f"y has shape {rows.y.shape}, but only one target at a time is supported.")
    target = rows.y if y_test is None else np.asarray(y_test)
    counts = rows.counts if y_test is None else np.ones(len(target))
    rng = np.random.default_rng(random_state)

    def once() -> tuple[Array, Array]:
        """What a model of drawn rows answers, and for which rows."""
        inside, outside = draw(rows, rng)
        fitted = rows.fit(model, inside)
        if X_test is not None:
            return np.asarray(fitted.predict(X_test)), np.ones(len(target), dtype=bool)
        answer = np.zeros(len(target), dtype=target.dtype if is_classifier(model) else float)
        answer[outside] = fitted.predict(rows.take(outside))
        return answer, np.isin(np.arange(len(target)), outside)

    refitted = as_time_allows([once] * refits, time_limit, fewest=2, wanted="two refits")
    answers, known = zip(*refitted)
    best = None if truth is None else np.asarray(truth)
    if best is not None and best.shape != target.shape:
        raise ValueError(f"truth has shape {best.shape}, but {len(target)} rows are predicted.")
    split = _of_classes if is_classifier(model) else _of_numbers
    return split(np.array(answers), np.array(known), target, counts, best)


def _of_numbers(
    answers: Array, known: Array, y: Array, counts: Array, truth: Array | None
) -> BiasVariance:
    times = known.sum(axis=0)
    weights = counts * (times > 0)
    times = np.maximum(times, 1)
    mean = np.sum(answers * known, axis=0) / times
    variance = np.average(np.sum(known * (answers - mean) ** 2, axis=0) / times, weights=weights)
    error = np.average(np.sum(known * (answers - y) ** 2, axis=0) / times, weights=weights)
    aim = y if truth is None else truth
    bias = np.average((aim - mean) ** 2, weights=weights)
    return BiasVariance(
        error=float(error),
        bias=float(bias),
        variance=float(variance),
        noise=0.0 if truth is None else _rest(error, bias + variance),
        has_truth=truth is not None,
        adds=float(variance),
        subtracts=0.0,
        loss="squared error",
        refits=len(answers),
        rows=int(np.sum(weights > 0)),
    )


def _of_classes(
    answers: Array, known: Array, y: Array, counts: Array, truth: Array | None
) -> BiasVariance:
    aim = y if truth is None else truth
    classes = np.unique(np.concatenate([answers[known], y, aim]))
    votes = np.array([np.sum(known & (answers == c), axis=0) for c in classes])
    times = votes.sum(axis=0)
    weights = counts * (times > 0)
    share = votes / np.maximum(times, 1)
    main = np.argmax(votes, axis=0)
    each = np.arange(len(y))
    right = share[np.searchsorted(classes, y), each]
    reached = share[np.searchsorted(classes, aim), each]
    is_biased = classes[main] != aim
    error = np.average(1 - right, weights=weights)
    bias = np.average(is_biased, weights=weights)
    adds = np.average(np.where(is_biased, 0.0, 1 - share[main, each]), weights=weights)
    subtracts = np.average(np.where(is_biased, reached, 0.0), weights=weights)
    return BiasVariance(
        error=float(error),
        bias=float(bias),
        variance=float(adds - subtracts),
        noise=0.0 if truth is None else _rest(error, bias + adds - subtracts),
        has_truth=truth is not None,
        adds=float(adds),
        subtracts=float(subtracts),
        loss="0-1 loss",
        refits=len(answers),
        rows=int(np.sum(weights > 0)),
    )


def _rest(error: float, parts: float) -> float:
    """What the parts leave of an error; what is only their rounding is nothing."""
    rest = float(error - parts)
    return rest if abs(rest) > ROUNDING * (error + abs(parts)) else 0.0
