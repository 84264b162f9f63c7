"""Which of two models is better, from their predictions for the same rows."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import binomtest

from .._ground.docstrings import described
from .._ground.notebook import ShownInNotebook
from .areas import average_of_precision, mean_of, read_rankings, roc_area
from .classification import F1, PRECISION, RECALL, Kind, mean_over_classes, positive_place
from .estimates import Ratio, Smooth
from .inputs import read_decisions, read_forecasts, read_numbers
from .intervals import MEASURED, Score, check_level, decimals, written
from .probabilities import squared_distance, surprise
from .regression import distances, roots, squares, unexplained

Array = np.ndarray

Measured = Ratio | Smooth


@dataclass(frozen=True)
class Comparison(ShownInNotebook):
    """Two models measured on the same rows. Prints as a sentence.

    Attributes
    ----------
    metric : str
        What was measured.
    a, b : float
        The value of each model.
    difference : Score
        a − b, with its interval.
    p_value : float
        How probable so large a difference is, either way, between models that are equally good.
    better : str
        "a" or "b" if the interval does not hold 0, else "".
    """

    metric: str
    a: float
    b: float
    difference: Score
    p_value: float
    better: str

    def __float__(self) -> float:
        return self.difference.value

    def __str__(self) -> str:
        d = self.difference
        digits = decimals(d.low, d.high, d.value)
        a, b, value, low, high = (
            written(x, digits) for x in (self.a, self.b, d.value, d.low, d.high)
        )
        verdict = f"{self.better} is better" if self.better else "no clear difference"
        return (
            f"{verdict}: {self.metric} {a} for a, {b} for b; a − b = {value} ({low} to {high} at "
            f"{100 * d.level:g} %, {d.method}), p = {self.p_value:.2g}"
        )

    def __repr__(self) -> str:
        return f"<Comparison {self.metric}: {self.a:.4g} and {self.b:.4g}, p = {self.p_value:.2g}>"

    def to_dict(self) -> dict[str, Any]:
        """The same data as plain numbers and strings."""
        return asdict(self)


@described(MEASURED)
def compare(
    y: Any,
    a: Any,
    b: Any,
    metric: Any = "accuracy",
    *,
    sample_weight: Any = None,
    level: float = 0.95,
    **options: Any,
) -> Comparison:
    """Compare two models by their predictions for the same rows.

    Parameters
    ----------
    y : array-like of shape (n,)
        What is true.
    a, b : array-like
        The predictions of either model, as the metric takes them: classes, scores, probabilities or
        numbers.
    metric : str or function of `gapless.metrics`, default="accuracy"
        What is compared: accuracy, error_rate, precision, recall, f1, log_loss, brier, roc_auc,
        average_precision, mse, rmse, mae or r2.
    **options : dict
        Further options of the metric: `pos_label`, `average` or `labels`.

    Returns
    -------
    Comparison
        The difference a − b with its interval, and a p-value.

    Notes
    -----
    Most rows are as easy, or as hard, for both models, so a difference is known much better than
    either value: intervals may overlap although one model is clearly better.
    Classes are compared by the rows that one model has right and the other wrong: McNemar's exact
    test, and the interval of Bonett and Price. Means over rows and R² use the bootstrap of
    Student's t of the differences, areas under curves the ends of both and DeLong's covariance,
    others Student's t.

    References
    ----------
    McNemar (1947), Psychometrika 12. Bonett and Price (2012), Journal of Educational and Behavioral
    Statistics 37. DeLong, DeLong and Clarke-Pearson (1988), Biometrics 44.

    Examples
    --------
    >>> from gapless.metrics import compare
    >>> y = [0, 1] * 20
    >>> a, b = [0, 1] * 19 + [1, 0], [0, 1] * 14 + [1, 0] * 6
    >>> print(compare(y, a, b))
    a is better: accuracy 0.95 for a, 0.70 for b; a − b = 0.25 (0.09 to 0.38 at 95 %, Bonett–Price;
    McNemar's exact test), p = 0.002
    """
    check_level(level)
    name = metric if isinstance(metric, str) else getattr(metric, "__name__", repr(metric))
    if name not in METRICS:
        raise ValueError(
            f"metric={name!r} is not known; use one of {', '.join(sorted(METRICS))}, or a function "
            "of that name in gapless.metrics."
        )
    if len(np.asarray(a)) != len(np.asarray(b)):
        raise ValueError(
            f"a has {len(np.asarray(a))} rows and b has {len(np.asarray(b))}; pass the predictions "
            "of both models for the same rows."
        )
    measure, is_loss = METRICS[name]
    unknown = set(options) - set(inspect.signature(measure).parameters)
    if unknown:
        raise ValueError(f"{name} does not accept {', '.join(sorted(unknown))}; leave it out.")
    one, other = (measure(y, z, sample_weight, **options) for z in (a, b))
    # R² is what errors leave: measured by errors, it has the opposite sign.
    sign = -1.0 if name == "r2" else 1.0
    value_a, value_b = (1 - of.value if name == "r2" else of.value for of in (one, other))
    if name in OF_CLASSES:
        low, high, method, p_value = _mcnemar(one, other, level)
    else:
        difference = one.minus(other)
        found = difference.interval(level)
        low, high = sorted((sign * found.low, sign * found.high))
        method, p_value = found.method, difference.p_value()
    better = ""
    if low > 0 or high < 0:
        better = "a" if (low > 0) != is_loss else "b"
    n = one.rows.size
    gap = Score(f"difference in {name}", value_a - value_b, low, high, level, method, n)
    return Comparison(name, value_a, value_b, gap, p_value, better)


# ---- classes -------------------------------------------------------------------------------------


def _mcnemar(a: Ratio, b: Ratio, level: float) -> tuple[float, float, str, float]:
    """From the rows that count for one model alone: ends of a − b, how, and a p-value."""
    rows, n = a.rows, a.rows.size
    one, other = (
        n * rows.sum((x > z).astype(float)) / rows.total for x, z in ((a.a, b.a), (b.a, a.a))
    )
    # One more row of either kind keeps the level with few rows (Bonett and Price 2012).
    p, q = (one + 1) / (n + 2), (other + 1) / (n + 2)
    reach = ndtri((1 + level) / 2) * np.sqrt((p + q - (p - q) ** 2) / (n + 2))
    low, high = max(p - q - reach, -1.0), min(p - q + reach, 1.0)
    is_counted = np.all(rows.weights == 1)
    if not is_counted:
        return low, high, "Bonett–Price, effective rows", a.minus(b).p_value()
    m = round(one + other)
    p_value = float(binomtest(round(one), m).pvalue) if m else 1.0
    return low, high, "Bonett–Price; McNemar's exact test", p_value


# ---- how each metric is measured -----------------------------------------------------------------


def _hits(y: Any, z: Any, weights: Any) -> Ratio:
    data = read_decisions(y, z, weights)
    return Ratio.mean((data.true == data.predicted).astype(float), data.rows, (0.0, 1.0))


def _errors(y: Any, z: Any, weights: Any) -> Ratio:
    hits = _hits(y, z, weights)
    return Ratio.mean(1 - hits.a, hits.rows, (0.0, 1.0))


def _of_classes(kind: Kind) -> Callable:
    def measure(
        y: Any, z: Any, weights: Any, average: str = "binary", pos_label: Any = None
    ) -> Smooth:
        data = read_decisions(y, z, weights)
        if average in ("macro", "weighted"):
            return mean_over_classes(kind, data, average)
        if average != "binary":
            raise ValueError(f"average={average!r}; compare takes 'binary', 'macro', 'weighted'.")
        return kind.ratio(data, positive_place(data, pos_label)).smooth

    return measure


def _of_probabilities(measured: Callable) -> Callable:
    def measure(y: Any, p: Any, weights: Any, labels: Any = None, pos_label: Any = None) -> Ratio:
        return measured(read_forecasts(y, p, weights, labels, pos_label))

    return measure


def _of_scores(measured: Callable) -> Callable:
    def measure(y: Any, scores: Any, weights: Any, pos_label: Any = None) -> Smooth:
        return mean_of([measured(part) for part in read_rankings(y, scores, pos_label, weights)])

    return measure


def _of_numbers(measured: Callable) -> Callable:
    def measure(y: Any, z: Any, weights: Any) -> Measured:
        return measured(read_numbers(y, z, weights))

    return measure


OF_CLASSES = ("accuracy", "error_rate")
# Each metric: how it is measured, and whether less is better.
METRICS: dict[str, tuple[Callable, bool]] = {
    "accuracy": (_hits, False),
    "error_rate": (_errors, True),
    "precision": (_of_classes(PRECISION), False),
    "recall": (_of_classes(RECALL), False),
    "f1": (_of_classes(F1), False),
    "log_loss": (_of_probabilities(surprise), True),
    "brier": (_of_probabilities(squared_distance), True),
    "roc_auc": (_of_scores(roc_area), False),
    "average_precision": (_of_scores(average_of_precision), False),
    "mse": (_of_numbers(squares), True),
    "rmse": (_of_numbers(roots), True),
    "mae": (_of_numbers(distances), True),
    "r2": (_of_numbers(unexplained), False),
}
