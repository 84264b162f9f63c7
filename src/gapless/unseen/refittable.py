"""Fits that do not solve a `Problem`: they define their own predictions for unseen rows.

Every family that does not solve a `Problem` derives from `Refittable`. It is used like `Fitted` in
`held_out`: held-out predictions by a formula, by refits, and from the past alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from functools import cached_property

import numpy as np

from .._ground.design import Design
from ..losses import Loss
from .fitted import LARGE_ROWS, Array
from .folds import FEW_UNITS
from .held_out import Estimate, by_formula, by_refits, by_time, folds_of
from .leave_one_out import NotAvailable
from .leave_one_out.distinct import counted_labels, units_of
from .leave_one_out.forward import growing, time_windows
from .versions import Dial, scaling

Model = Callable[[Design], Array]


class Refittable(ABC):
    """A fit to rows with targets and weights that can be repeated on some of the rows.

    Parameters
    ----------
    design : Design
        The n rows.
    y : ndarray of shape (n,) or (n, K)
        Targets.
    weights : ndarray of shape (n,)
        Weights ≥ 0; rows of weight 0 are ignored.
    """

    has_classes = False
    ignores_shifts = False
    # What `scaled` strengthens, in words.
    strength = "the penalty"
    # Whether scores are meant as probabilities of classes.
    has_probabilities = True
    # Whether a refit takes the steps of the fit and ends as far from the optimum as it.
    refits_alike = False
    # Up to so many units are left out one at a time.
    few_units = FEW_UNITS
    # Whether the model keeps its shape however little it is regularised.
    is_limited = False

    def __init__(self, design: Design, y: Array, weights: Array):
        self.design, self.y, self.weights = design, y, weights

    @property
    def is_large(self) -> bool:
        """Whether refits are expensive; not if they are few and cheap, or there is a formula."""
        return False

    @property
    def is_plain(self) -> bool:
        """Whether it predicts classes alone, never probabilities."""
        return False

    @property
    def interpolates(self) -> bool:
        """Whether it reproduces the targets of its training rows, whatever its freedom."""
        return False

    @property
    def expected(self) -> float | None:
        """The requested score of the model, if any."""
        return None

    @property
    def targets(self) -> Array:
        """The targets as numbers."""
        return self.y

    @property
    def outputs(self) -> int:
        """The number of predictions per row."""
        return int(np.size(self.y[:1]))

    @property
    def fit_weights(self) -> Array:
        """The weight of each row in the fit."""
        return self.weights

    @cached_property
    def is_counted(self) -> Array:
        """Which rows have any weight."""
        return self.weights > 0

    @property
    def same(self) -> Array:
        """Numbers of the rows x, the same for equal ones."""
        return self.design.equal_x

    @cached_property
    def labels(self) -> Array:
        """Numbers of the rows (x, y), the same for equal ones, by content."""
        return self.design.equal_rows(self.y)

    @cached_property
    def distinct(self) -> Array:
        """Which distinct row (x, y) each row is: 0, 1, … by content, −1 for rows without weight."""
        return counted_labels(self.labels, self.is_counted)

    @cached_property
    def units(self) -> Array:
        """The units to leave out: the rows of each x, numbered 0, 1, … by content, else −1."""
        return units_of(self.same, self.labels, self.is_counted)

    @cached_property
    def predictions(self) -> Array:
        """The model's predictions for its training rows, (n, K)."""
        return self.model(self.design)

    @property
    @abstractmethod
    def model(self) -> Model:
        """The model itself: a function that predicts rows, (rows, K)."""

    @abstractmethod
    def fit_to(self, rows: Array) -> Model:
        """A model of some of the rows alone."""

    @abstractmethod
    def held_out(self, groups: Array | None) -> Array:
        """Each row predicted without its unit, or without its group, exactly: (n, K).

        NotAvailable if there is no formula.
        """

    @abstractmethod
    def without_each(self, rows: Array) -> tuple[Array, Model]:
        """Rows predicted without their units, (r, K), and a function that predicts new rows so.

        That function returns shape (new rows, r, K): predictions by each of the models that left
        the unit of a row out. NotAvailable if there is no formula.
        """

    def scaled(self, factor: float) -> Refittable | None:
        """The fit with a penalty `factor` times as strong; None if there is none."""
        return None

    def simpler(self) -> list[Dial]:
        """The ways to give the fit less freedom."""
        return [scaling(self, 10.0)]

    def richer(self) -> list[Dial]:
        """The ways to give it more."""
        return [scaling(self, 0.1)]

    @property
    def plain_rows(self) -> Design | None:
        """The features from which errors may be predicted; None if they are not features."""
        return self.design

    @property
    def asymmetric_loss(self) -> Loss | None:
        """The loss of a regression that does not aim at a mean, such as a quantile's."""
        return None

    def with_shares(self, z: Array) -> Array:
        """Held-out scores unchanged: without a loss no step in the biases is known."""
        return z

    def sample(self, rows: Array) -> Refittable:
        """The fit to some rows, as if they were all; used for large fits."""
        raise NotAvailable("no subset of the rows represents all of them")

    def without(self, rows: Array) -> Model:
        """A model of the other rows."""
        is_kept = self.is_counted.copy()
        is_kept[rows] = False
        return self.fit_to(np.flatnonzero(is_kept))

    def predict(self, model: Model, rows: Array) -> Array:
        """A model's predictions for some of the rows, (rows, K)."""
        return model(self.design.rows(rows))


class OnlyRefittable(Refittable):
    """A fit without a formula: one row can change everything it has learned."""

    # Why rows cannot be left out without another fit.
    reason = "the model must be refitted"

    @property
    def is_large(self) -> bool:
        """Whether another fit takes most of a second."""
        return len(self.y) > LARGE_ROWS

    def held_out(self, groups: Array | None) -> Array:
        """Not known."""
        raise NotAvailable(self.reason)

    def without_each(self, rows: Array) -> tuple[Array, Model]:
        """Not known either."""
        raise NotAvailable(self.reason)


@by_formula.register
def _by_formula(fitted: Refittable, groups: Array | None = None) -> Estimate:
    return Estimate(fitted.held_out(groups), "loo", True)


@by_refits.register
def _by_refits(fitted: Refittable, units: Array, reason: str, by: str = "row") -> Estimate:
    folds, method = folds_of(fitted, units, by)
    z = _predict_each(fitted, folds)
    return Estimate(z, f"{method}, because {reason}" if reason else method, True)


@by_time.register
def _by_time(fitted: Refittable, time: Array) -> Estimate:
    window = time_windows(time, fitted.weights)
    if window.max() == 0:
        raise NotAvailable("all rows have the same time, so none comes before another")
    steps = growing(window)
    return Estimate(
        _predict_each(fitted, steps), "forward (each row predicted from earlier ones)", True
    )


def _predict_each(fitted: Refittable, parts: Iterable[tuple[Array, Array]]) -> Array:
    """Predictions of each test part by a model of its training part; NaN for rows in none."""
    z = np.full((len(fitted.y), fitted.outputs), np.nan)
    for train, test in parts:
        model = fitted.fit_to(train[fitted.is_counted[train]])
        z[test] = fitted.predict(model, test)
    return z
