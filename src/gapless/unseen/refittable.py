"""Fits that are no solution of a `Problem`: they say themselves what they predict for unseen rows.

Kernel and local regression derive from `Refittable`. What is asked of it here, and of `Fitted` in
`held_out`, is the same: held-out predictions by a formula, by refits, and by the past alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

import numpy as np

from .._ground.design import Design
from ..losses import Loss
from .fitted import Array
from .held_out import Estimate, by_formula, by_refits, by_time, folds_of
from .leave_one_out import NotAvailable
from .leave_one_out.distinct import counted_labels, units_of
from .leave_one_out.forward import time_windows
from .versions import Dial, scaling

Model = Callable[[Design], Array]


class Refittable(ABC):
    """A fit to rows with targets and weights that can be done again on some of the rows.

    Parameters
    ----------
    design : Design
        The n rows.
    y : ndarray of shape (n,) or (n, K)
        Targets.
    weights : ndarray of shape (n,)
        Weights ≥ 0; a row of weight 0 is no row.
    """

    has_classes = False
    ignores_shifts = False
    # What `scaled` makes stronger, in words.
    strength = "the penalty"
    # Whether scores are meant as probabilities of classes.
    has_probabilities = True
    # Whether the shape of the model stays the same however little it is held back.
    is_limited = False

    def __init__(self, design: Design, y: Array, weights: Array):
        self.design, self.y, self.weights = design, y, weights

    @property
    def is_large(self) -> bool:
        """Whether refits are dear; not where they are few and cheap, or there is a formula."""
        return False

    @property
    def is_plain(self) -> bool:
        """Whether it answers with classes alone, and never with probabilities."""
        return False

    @property
    def interpolates(self) -> bool:
        """Whether it repeats the targets of its own rows, whatever its freedom."""
        return False

    @property
    def expected(self) -> float | None:
        """The score that the model was asked to have, where it was asked for one."""
        return None

    @property
    def targets(self) -> Array:
        """The targets as numbers."""
        return self.y

    @property
    def outputs(self) -> int:
        """How many predictions a row has."""
        return int(np.size(self.y[:1]))

    @property
    def fit_weights(self) -> Array:
        """How much each row counts in the fit."""
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
        """What is left out at a time: the rows of each x, numbered 0, 1, … by content, else −1."""
        return units_of(self.same, self.labels, self.is_counted)

    @cached_property
    def predictions(self) -> Array:
        """What the model predicts for its own rows, (n, K)."""
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

        NotAvailable where there is no formula.
        """

    @abstractmethod
    def without_each(self, rows: Array) -> tuple[Array, Model]:
        """Rows predicted without their units, (r, K), and what predicts new rows so.

        That function has results of shape (new rows, r, K): by each of the models that left the
        unit of a row out. NotAvailable where there is no formula.
        """

    def scaled(self, factor: float) -> Refittable | None:
        """The fit with a penalty `factor` times as strong; None where there is none."""
        return None

    def simpler(self) -> list[Dial]:
        """The ways in which the fit can have less freedom."""
        return [scaling(self, 10.0)]

    def richer(self) -> list[Dial]:
        """The ways in which it can have more."""
        return [scaling(self, 0.1)]

    @property
    def plain_rows(self) -> Design | None:
        """The features from which errors may be predicted; None where they are none."""
        return self.design

    @property
    def asymmetric_loss(self) -> Loss | None:
        """The loss of a regression that asks for no mean, as of a quantile."""
        return None

    def with_shares(self, z: Array) -> Array:
        """Held-out scores as they are: without a loss no step in the biases is known."""
        return z

    def sample(self, rows: Array) -> Refittable:
        """The fit to some rows, as if they were all; asked of fits that are large."""
        raise NotAvailable("no subset of the rows represents all of them")

    def without(self, rows: Array) -> Model:
        """A model of the other rows."""
        is_kept = self.is_counted.copy()
        is_kept[rows] = False
        return self.fit_to(np.flatnonzero(is_kept))

    def predict(self, model: Model, rows: Array) -> Array:
        """What a model predicts for some of the rows, (rows, K)."""
        return model(self.design.rows(rows))


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
    steps = _growing(window)
    return Estimate(
        _predict_each(fitted, steps), "forward (each row predicted from earlier ones)", True
    )


def _growing(window: Array) -> Iterator[tuple[Array, Array]]:
    for now in range(1, int(window.max()) + 1):
        yield np.flatnonzero(window < now), np.flatnonzero(window == now)


def _predict_each(fitted: Refittable, parts: Iterable[tuple[Array, Array]]) -> Array:
    """Predictions of each test part by a model of its training part; NaN for rows in none."""
    z = np.full((len(fitted.y), fitted.outputs), np.nan)
    for train, test in parts:
        model = fitted.fit_to(train[fitted.is_counted[train]])
        z[test] = fitted.predict(model, test)
    return z
