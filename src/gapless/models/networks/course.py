"""How a network came to its weights: the calls of `fit`, which can be repeated on other rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._ground.design import Design
from ..._ground.interrupt import TimeLimit
from ..._ground.validation import Training
from ...losses import Loss
from ...solvers import Memory, StepSize, Update
from ...unseen import ChangeDial, NotAvailable, more_rounds
from .augmentation import Augmentation
from .composition import Weights
from .engines import Engine
from .history import History
from .objective import Rows
from .predictions import accuracy, explained
from .training import NOT_FINITE, Descent, Pace, Plan, Progress, kept_aside, outputs

Array = np.ndarray
Callback = Callable[[History, float], bool]

# What ends training before its time, so that the best epoch so far is kept.
CUTS = ("interrupted", "time_limit")


@dataclass(frozen=True, eq=False)
class Run:
    """One call of `fit`: how to train, and the random numbers to draw from.

    The parameters are those of `Network` and its `fit`; `state` is that of the random generator.
    `keeps_best` says that the best epoch is kept, though no rows are kept aside: after so many
    epochs the call was cut.
    """

    engine: Engine
    loss: Loss
    alpha: float
    rule: Update
    step: float | StepSize
    epochs: int
    batch_size: int
    clip: float | None
    shuffle: bool
    early_stopping: bool
    validation_fraction: float
    patience: float
    tol: float
    augment: Augmentation | None
    state: Any = None
    keeps_best: bool = False

    def train(
        self,
        progress: Progress,
        rows: Rows,
        random: Any,
        callback: Callback = lambda history, target: False,
    ) -> tuple[Progress, str]:
        """Where training leads from some progress, and why it ended; rows need weights above 0."""
        mean = float(rows.weights.mean())
        rows, aside = replace(rows, weights=rows.weights / mean), None
        if self.early_stopping:
            has_classes = self.loss.task != "regression"
            copies = np.ones(len(rows.weights))
            rows, aside = kept_aside(rows, copies, has_classes, self.validation_fraction, random)
        plan = Plan(
            self.rule,
            self.alpha / mean,
            min(int(self.batch_size), len(rows.weights)),
            int(self.epochs),
            self.shuffle,
            self.tol,
            self.patience if self.early_stopping else np.inf,
            self.clip,
            self.augment,
        )
        if isinstance(self.step, StepSize):
            pace = Pace(self.step, self.step.length(0))
        else:
            pace = Pace("constant", float(self.step))
        progress = replace(progress.continued(progress.weights.copy(), self.rule), pace=pace)
        score = explained(self.loss) if self.loss.task == "regression" else accuracy
        descent = Descent(self.engine, rows, self.loss, plan, score, aside)
        status = descent.through(progress, random, callback)
        keeps_best = self.early_stopping or self.keeps_best or status in CUTS
        if keeps_best and progress.best is not None:
            memory = self.rule.begin(progress.best.theta)
            progress = replace(progress, weights=progress.best, memory=memory)
        if not np.all(np.isfinite(progress.weights.theta)):
            raise ValueError(NOT_FINITE.format("step"))
        ended = "kept aside" if self.early_stopping and status == "settled" else status
        return replace(progress, best=None, ended=ended), status

    def again(self, progress: Progress, data: Training) -> Progress:
        """The same on other rows."""
        y = targets_for(self.loss, data)
        rows = Rows(data.X, y, data.weights, self.engine.composition.shape)
        rows = rows.some(np.flatnonzero(rows.weights > 0))
        random = np.random.RandomState()
        random.set_state(self.state)
        progress, status = self.train(progress, rows, random)
        if status == "interrupted":
            raise KeyboardInterrupt
        if status == "time_limit":
            raise TimeLimit
        return progress


@dataclass(frozen=True, eq=False)
class Course:
    """All calls of `fit` since the weights were drawn, and the network that came out.

    Parameters
    ----------
    start : Progress
        Before the first call.
    runs : tuple of Run
        The calls, all with the same rows.
    found : Weights
        What they have led to, in memory of its own.
    obstacle : str, default=""
        Why they cannot be repeated.
    """

    start: Progress
    runs: tuple[Run, ...]
    found: Weights
    obstacle: str = ""

    @property
    def engine(self) -> Engine:
        """What computes the network."""
        return self.runs[-1].engine

    @property
    def loss(self) -> Loss:
        """The ℓ of the last call."""
        return self.runs[-1].loss

    # ---- what refits use -------------------------------------------------------------------------

    @property
    def alpha(self) -> float:
        """The strength of the penalty in the last call."""
        return self.runs[-1].alpha

    @property
    def n_outputs_(self) -> int:
        """The number of outputs."""
        return self.engine.composition.outputs

    def _at(self, **changes: Any) -> Course:
        """The same with one penalty in all calls, or another number of epochs in the last one."""
        if "epochs" in changes:
            runs = (*self.runs[:-1], replace(self.runs[-1], **changes))
        else:
            runs = tuple(replace(run, **changes) for run in self.runs)
        return replace(self, runs=runs)

    def _richer(self) -> list[ChangeDial]:
        """More epochs, unless rows kept aside have ended them."""
        last = self.runs[-1]
        return [] if last.early_stopping else [more_rounds("epochs", last.epochs)]

    def _outputs(self, X: Any) -> Array:
        """The outputs for rows."""
        return self._by(self.found, X)

    def _refitted(self, data: Training, seed: int) -> Callable[[Design], Array]:
        """The outputs for rows by the same training on other rows."""
        if self.obstacle:
            raise NotAvailable(self.obstacle)
        progress = self.start
        for run in self.runs:
            progress = run.again(progress, data)
        weights = progress.weights
        return lambda design: self._by(weights, design.X).astype(np.float64)

    def _by(self, weights: Weights, X: Any) -> Array:
        n = X.shape[0]
        rows = Rows(X, np.zeros(n), np.ones(n), self.engine.composition.shape)
        return outputs(self.engine, weights, rows)


def beginning(weights: Weights, loss: Loss) -> Progress:
    """Progress before the first epoch."""
    metric = "R²" if loss.task == "regression" else "accuracy"
    pace = Pace("constant", 1.0)
    return Progress(weights, Memory(0, ()), None, pace, history=History(metric))


# ---- targets as the loss takes them, and as classes ----------------------------------------------


def as_training(loss: Loss, rows: Rows, sample_weight: Array, outputs: int) -> Training:
    """Rows with the positions of their classes, with labels 0 and 1, or with numbers."""
    y, classes = rows.y, None
    if loss.task == "multiclass":
        classes = np.arange(outputs)
    elif loss.task == "binary":
        y = (y > 0).astype(np.intp)
        classes = np.array([-1, 1]) if outputs == 1 else np.arange(outputs)
    y = y[:, 0] if y.ndim == 2 and outputs == 1 else y
    return Training(rows.X, y, sample_weight, rows.weights, classes)


def targets_for(loss: Loss, data: Training) -> Array:
    """The reverse: targets in the form that the loss takes."""
    if loss.task == "multiclass":
        return data.y
    y = np.where(data.y > 0, 1.0, -1.0) if loss.task == "binary" else data.y
    return y.reshape(len(y), -1)


def is_same(one: Training, other: Training) -> bool:
    """Whether two trainings have the same rows, targets and weights."""
    pairs = [(one.y, other.y), (one.weights, other.weights)]
    if sp.issparse(one.X) != sp.issparse(other.X) or one.X.shape != other.X.shape:
        return False
    if sp.issparse(one.X):
        return (one.X != other.X).nnz == 0 and all(np.array_equal(a, b) for a, b in pairs)
    return all(a is b or np.array_equal(a, b) for a, b in [*pairs, (one.X, other.X)])
