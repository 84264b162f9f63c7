"""How much of an error is there whatever rows were drawn, and how much depends on the draw."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp, xlogy
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
        The mean error of the models: squared for numbers, the share of wrong classes for classes,
        or the loss that `scoring` named.
    bias : float
        The error of the typical prediction of each row. For numbers the mean squared distance of
        the mean prediction from the target; for classes the share of rows whose most frequent
        prediction is wrong.
    variance : float
        What the variation of the predictions adds to the error. For classes it adds if the most
        frequent prediction is right and subtracts if it is wrong, so it may be negative; for
        absolute errors too.
    noise : float
        The error that the best possible predictions would have; 0 if `truth` was not given, and
        then a part of the bias.
    has_truth : bool
        Whether noise is separated from bias.
    adds, subtracts : float
        The two parts of the variance, variance = adds − subtracts: of rows to whose error it adds,
        and of those from whose error it subtracts. `subtracts` is 0 except for the 0-1 loss and
        absolute errors.
    loss : str
        "squared error", "1 − R²", "absolute error", "0-1 loss", "log loss" or "Brier score".
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
    def plot(self, *, log=False, axes=None):
        """Draw the parts as one bar, or as points on a logarithmic axis; returns the axes.

        Parameters
        ----------
        log : bool, default=False
            Whether the axis is logarithmic, for parts of very different sizes.
        """
        plots = pictures()
        return plots.bias_variance({"": self.to_dict()}, loss=self.loss, log=log, axes=axes)


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
    scoring: str | None = None,
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
        separates noise from bias. For scores of probabilities a row of them, shape (m, K).
    refits : int, default=50
        How many models are fitted.
    scoring : str, default=None
        The score whose loss is split: "neg_mean_squared_error", "r2" or "neg_mean_absolute_error"
        for numbers, "accuracy", "neg_log_loss" or "neg_brier_score" for classes. None is the first
        of either.
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
    and may be right in rows with it, which subtracts. Absolute error, after James: the same with
    the median of the predictions, and variance is what their spread around it adds. Log loss, after
    Heskes: the typical prediction is the geometric mean of the probabilities, divided by its sum Z,
    and the variance −log Z ≥ 0, their mean KL divergence from it. Brier score: squared errors of
    probabilities.

    References
    ----------
    Geman, Bienenstock and Doursat (1992), Neural Computation 4. Domingos (2000), A unified
    bias-variance decomposition, ICML. James (2003), Variance and bias for general loss functions,
    Machine Learning 51. Heskes (1998), Bias/variance decompositions for likelihood-based
    estimators, Neural Computation 10.

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
    split = _split_by(scoring, model)
    rows = Rows.read(X, y, sample_weight, groups)
    if rows.y.ndim != 1:
        raise ValueError(f"y has shape {rows.y.shape}, but only one target at a time is supported.")
    target = rows.y if y_test is None else np.asarray(y_test)
    counts = rows.counts if y_test is None else np.ones(len(target))
    classes = np.unique(np.concatenate([rows.y, target])) if split in _OF_PROBABILITIES else None
    rng = np.random.default_rng(random_state)

    def once() -> tuple[Array, Array]:
        """What a model of drawn rows answers, and for which rows."""
        inside, outside = draw(rows, rng)
        fitted = rows.fit(model, inside)
        if X_test is not None:
            return _answers(fitted, X_test, classes), np.ones(len(target), dtype=bool)
        some = _answers(fitted, rows.take(outside), classes)
        kind = some.dtype if some.ndim > 1 else target.dtype if is_classifier(model) else float
        answer = np.zeros((len(target), *some.shape[1:]), dtype=kind)
        answer[outside] = some
        return answer, np.isin(np.arange(len(target)), outside)

    refitted = as_time_allows([once] * refits, time_limit, fewest=2, wanted="two refits")
    answers, known = (np.array(each) for each in zip(*refitted))
    best = None if truth is None else np.asarray(truth)
    if best is not None and best.shape != answers.shape[1:]:
        raise ValueError(
            f"truth has shape {best.shape}, but what is predicted has shape {answers.shape[1:]}."
        )
    if classes is not None:
        target = np.searchsorted(classes, target)
    return split(answers, known, target, counts, best)


def _split_by(scoring: str | None, model: Any) -> Any:
    """The function that splits the loss of this score."""
    ways = _OF_CLASSES if is_classifier(model) else _OF_NUMBERS
    way = next(iter(ways)) if scoring is None else scoring
    if not isinstance(way, str) or way not in ways:
        raise ValueError(
            f"scoring={scoring!r} has no parts that add up; for {type(model).__name__} choose from "
            f"{', '.join(ways)}."
        )
    if ways[way] in _OF_PROBABILITIES and not hasattr(model, "predict_proba"):
        raise ValueError(f"scoring={way!r} needs probabilities, which {model!r} does not have.")
    return ways[way]


def _answers(fitted: Any, X: Any, classes: Array | None) -> Array:
    """Predictions, or the probabilities of all classes, also of those that were not drawn."""
    if classes is None:
        return np.asarray(fitted.predict(X))
    found = np.asarray(fitted.predict_proba(X), dtype=float)
    wide = np.zeros((len(found), len(classes)))
    wide[:, np.searchsorted(classes, fitted.classes_)] = found
    return wide


@dataclass(frozen=True, eq=False)
class _Typical:
    """For each of n rows: its error, that of the typical prediction, and what variation adds.

    All are means over the models that predicted the row.
    """

    error: Array
    bias: Array
    variance: Array

    def result(
        self, known: Array, counts: Array, loss: str, has_truth: bool, unit: float = 1.0
    ) -> BiasVariance:
        """The means over rows; `unit` is the size of the error that counts as 1."""
        weights = counts * known.any(axis=0)
        error, bias, adds, subtracts = (
            float(np.average(each, weights=weights)) / unit
            for each in (
                self.error,
                self.bias,
                np.maximum(self.variance, 0.0),
                np.maximum(-self.variance, 0.0),
            )
        )
        return BiasVariance(
            error=error,
            bias=bias,
            variance=adds - subtracts,
            noise=_rest(error, bias + adds - subtracts) if has_truth else 0.0,
            has_truth=has_truth,
            adds=adds,
            subtracts=subtracts,
            loss=loss,
            refits=len(known),
            rows=int(np.sum(weights > 0)),
        )


def _mean(values: Array, known: Array) -> Array:
    """The mean over the models that predicted a row, of values (refits, n) or (refits, n, K)."""
    shape = known.shape + (1,) * (values.ndim - 2)
    return np.sum(values * known.reshape(shape), axis=0) / np.maximum(
        known.sum(axis=0).reshape(shape[1:]), 1
    )


def _of_numbers(
    answers: Array, known: Array, y: Array, counts: Array, truth: Array | None
) -> BiasVariance:
    return _of_squares(answers, known, y, truth).result(
        known, counts, "squared error", truth is not None
    )


def _of_shares(
    answers: Array, known: Array, y: Array, counts: Array, truth: Array | None
) -> BiasVariance:
    """Squared errors in units of the variance of the targets."""
    weights = counts * known.any(axis=0)
    spread = float(np.average((y - np.average(y, weights=weights)) ** 2, weights=weights))
    if not spread > 0:
        raise ValueError('scoring="r2" needs targets that differ; use "neg_mean_squared_error".')
    parts = _of_squares(answers, known, y, truth)
    return parts.result(known, counts, "1 − R²", truth is not None, spread)


def _of_squares(answers: Array, known: Array, y: Array, truth: Array | None) -> _Typical:
    mean = _mean(answers, known)
    return _Typical(
        error=_mean((answers - y) ** 2, known),
        bias=((y if truth is None else truth) - mean) ** 2,
        variance=_mean((answers - mean) ** 2, known),
    )


def _of_distances(
    answers: Array, known: Array, y: Array, counts: Array, truth: Array | None
) -> BiasVariance:
    aim = y if truth is None else truth
    # Rows that no model predicted have no weight.
    middle = np.ma.median(np.ma.masked_array(answers, ~known), axis=0).filled(0.0)
    bias = np.abs(aim - middle)
    parts = _Typical(
        error=_mean(np.abs(answers - y), known),
        bias=bias,
        variance=_mean(np.abs(answers - aim), known) - bias,
    )
    return parts.result(known, counts, "absolute error", truth is not None)


def _of_classes(
    answers: Array, known: Array, y: Array, counts: Array, truth: Array | None
) -> BiasVariance:
    aim = y if truth is None else truth
    classes = np.unique(np.concatenate([answers[known], y, aim]))
    votes = np.array([np.sum(known & (answers == c), axis=0) for c in classes])
    share = votes / np.maximum(votes.sum(axis=0), 1)
    main = np.argmax(votes, axis=0)
    each = np.arange(len(y))
    reached = share[np.searchsorted(classes, aim), each]
    is_biased = classes[main] != aim
    parts = _Typical(
        error=1 - share[np.searchsorted(classes, y), each],
        bias=is_biased.astype(float),
        variance=np.where(is_biased, -reached, 1 - share[main, each]),
    )
    return parts.result(known, counts, "0-1 loss", truth is not None)


def _of_surprise(
    answers: Array, known: Array, y: Array, counts: Array, truth: Array | None
) -> BiasVariance:
    logs = np.log(np.maximum(answers, np.finfo(float).eps))
    mean = _mean(logs, known)
    total = logsumexp(mean, axis=1)
    typical, each = mean - total[:, None], np.arange(len(y))
    bias = -typical[each, y]
    if truth is not None:
        bias = np.sum(xlogy(truth, truth) - truth * typical, axis=1)
    parts = _Typical(error=-mean[each, y], bias=bias, variance=np.maximum(-total, 0.0))
    return parts.result(known, counts, "log loss", truth is not None)


def _of_forecasts(
    answers: Array, known: Array, y: Array, counts: Array, truth: Array | None
) -> BiasVariance:
    hit = np.eye(answers.shape[2])[y]
    mean = _mean(answers, known)
    # (p − y)² of two classes counts each once, as in scikit-learn.
    scale = 0.5 if answers.shape[2] == 2 else 1.0
    parts = _Typical(
        error=scale * _mean((answers - hit) ** 2, known).sum(axis=1),
        bias=scale * np.sum(((hit if truth is None else truth) - mean) ** 2, axis=1),
        variance=scale * _mean((answers - mean) ** 2, known).sum(axis=1),
    )
    return parts.result(known, counts, "Brier score", truth is not None)


# Which loss each score has; the first one of either kind is the usual one.
_OF_NUMBERS = {
    "neg_mean_squared_error": _of_numbers,
    "r2": _of_shares,
    "neg_mean_absolute_error": _of_distances,
}
_OF_CLASSES = {
    "accuracy": _of_classes,
    "neg_log_loss": _of_surprise,
    "neg_brier_score": _of_forecasts,
}
_OF_PROBABILITIES = (_of_surprise, _of_forecasts)


def _rest(error: float, parts: float) -> float:
    """What the parts leave of an error; what is only their rounding is nothing."""
    rest = float(error - parts)
    return rest if abs(rest) > ROUNDING * (error + abs(parts)) else 0.0
