"""Training: epochs of mini-batches along the gradient, or L-BFGS on all rows.

The update rules and step sizes are those of `solvers`, which linear models use, too.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.optimize
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from ..._ground.interrupt import TimeLimit, check
from ...losses import Loss
from ...solvers import Memory, StepSize, Update, clipped
from .composition import Weights
from .dense_batches import DenseBatches, dense_batches
from .engines import AT_ONCE, Engine
from .history import History
from .objective import Rows, penalty, row_losses, value_and_gradient

Array = np.ndarray

# "adaptive" divides its steps by this, and takes none shorter than this.
SHORTENING, SHORTEST = 5.0, 1e-6
# So many steps L-BFGS remembers, as in scikit-learn.
MEMORY = 10
NOT_FINITE = (
    "Solver produced non-finite parameter weights. The input data may contain large values and "
    "need to be preprocessed: rescale X, e.g. with StandardScaler(), or shorten the steps, {}."
)
# A row that stands for more copies is drawn in this many pieces.
MOST_PIECES = 20
TOO_SMALL = (
    "The validation set is too small. Increase 'validation_fraction' or the size of your dataset."
)


@dataclass
class Pace:
    """How long the steps are: by scikit-learn's names, or by a rule of gapless.

    Parameters
    ----------
    kind : {"constant", "invscaling", "adaptive"} or StepSize
        η₀; η₀/(rows seen + 1)ᵖ; η₀, a fifth of it whenever progress ends; or η of each step.
    first : float
        η₀.
    power : float, default=0.5
        p.
    learning_rate : float, optional
        The present length; η₀ before the first step.
    """

    kind: str | StepSize
    first: float
    power: float = 0.5
    learning_rate: float = 0.0

    def __post_init__(self):
        self.learning_rate = self.learning_rate or self.first

    def length(self, step: int) -> float:
        """η of a step 0, 1, …"""
        if isinstance(self.kind, StepSize):
            self.learning_rate = self.kind.length(step)
        return self.learning_rate

    def after_epoch(self, rows_seen: int) -> None:
        """The steps of the next epoch."""
        if self.kind == "invscaling":
            self.learning_rate = self.first / (rows_seen + 1) ** self.power

    def shortened(self) -> bool:
        """Whether steps could be shortened when progress had ended."""
        if self.kind != "adaptive" or self.learning_rate <= SHORTEST:
            return False
        self.learning_rate /= SHORTENING
        return True


@dataclass(frozen=True, eq=False)
class Plan:
    """How to descend.

    Parameters
    ----------
    rule : Update
        What a step makes of the gradient.
    alpha : float
        The strength of ½‖W‖² beside the sum of the losses.
    batch_size : int
        Rows per step.
    max_iter : int
        The most epochs.
    shuffle : bool, default=True
        Whether each epoch has the rows in another random order.
    tol : float, default=1e-4
        Progress is a fall of the loss, or a rise of the validation score, by more than this.
    patience : float, default=10
        The epochs without progress after which training ends.
    clip : float, optional
        Longer gradients are shortened to this norm.
    augment : callable, optional
        (x, random) → x: changes each batch of images at random.
    passes : int, default=1
        How often an epoch visits the rows.
    """

    rule: Update
    alpha: float
    batch_size: int
    max_iter: int
    shuffle: bool = True
    tol: float = 1e-4
    patience: float = 10
    clip: float | None = None
    augment: Callable[[Array, np.random.Generator], Array] | None = None
    passes: int = 1


@dataclass(eq=False)
class Progress:
    """Where training is: weights, what the rule remembers, and the best epoch so far."""

    weights: Weights
    memory: Memory
    # The rule that the memory is of.
    rule: Update | None
    pace: Pace
    rows_seen: int = 0
    history: History = field(default_factory=History)
    no_improvement: int = 0
    lowest: float = math.inf
    highest: float = -math.inf
    best: Weights | None = None
    # What ended the training.
    ended: str = ""

    @classmethod
    def begin(
        cls, weights: Weights, rule: Update, pace: Pace, history: History, rows_seen: int = 0
    ) -> Progress:
        """Before the first step."""
        return cls(weights, rule.begin(weights.theta), rule, pace, rows_seen, history)

    def continued(self, weights: Weights, rule: Update) -> Progress:
        """Where training goes on from weights, which may have been changed since.

        What another rule, or the rule of a network of another size, remembers is forgotten.
        """
        memory = rule.begin(weights.theta)
        if self.rule == rule and _forms(memory) == _forms(self.memory):
            arrays = tuple(tuple(a.copy() for a in own) for own in self.memory.arrays)
            memory = Memory(self.memory.steps, arrays)
        pace, history = replace(self.pace), self.history.copy()
        return Progress(weights, memory, rule, pace, self.rows_seen, history)

    @property
    def learning_rate(self) -> float:
        """The present length of steps."""
        return self.pace.learning_rate


def _forms(memory: Memory) -> list[tuple[Any, Any]]:
    return [(array.shape, array.dtype) for own in memory.arrays for array in own]


class Descent:
    """Epochs of mini-batches.

    Parameters
    ----------
    engine : Engine
        Computes gradients.
    rows : Rows
        What to learn from; weights are relative to their mean.
    loss : Loss
        ℓ.
    plan : Plan
        How.
    score : callable, optional
        (y, z, weights) → the score of some rows.
    aside : Rows, optional
        The rows to stop by.
    """

    def __init__(
        self,
        engine: Engine,
        rows: Rows,
        loss: Loss,
        plan: Plan,
        score: Callable[[Array, Array, Array], float] | None = None,
        aside: Rows | None = None,
    ):
        self.engine, self.rows, self.loss, self.plan = engine, rows.in_order(), loss, plan
        self.score, self.aside = score, aside
        self.total = float(rows.weights.sum())
        self._prepared: dict[Any, DenseBatches | None] = {}
        # Of all rows, each at its turn in an epoch.
        self._outputs = np.empty((len(rows.weights), engine.composition.outputs))

    def through(
        self,
        progress: Progress,
        random: Any,
        callback: Callable[[Any, float], bool] = lambda history, target: False,
        epochs: int | None = None,
    ) -> str:
        """Make epochs; why they ended: "settled", "max_iter", "time_limit", "callback"…"""
        began = time.monotonic() - progress.history.last_second
        seed = int(random.randint(np.iinfo(np.int32).max))
        count = self.plan.max_iter if epochs is None else epochs
        try:
            with self.engine.running(), np.errstate(all="ignore"):
                for epoch in range(count):
                    for visit in range(1, self.plan.passes):
                        self._visit(progress, self._order(random), (seed, epoch, visit))
                    self._epoch(progress, self._order(random), (seed, epoch), began)
                    requested = callback(progress.history, self.plan.tol)
                    # Once a weight is not finite, no step makes it so again.
                    if self._has_settled(progress) or not np.all(
                        np.isfinite(progress.weights.theta)
                    ):
                        return "settled"
                    if requested:
                        return "callback"
        except TimeLimit:
            return "time_limit"
        except KeyboardInterrupt:
            return "interrupted"
        return "max_iter"

    def _order(self, random: Any) -> Array:
        """The order of the rows in a visit."""
        order = np.arange(len(self.rows.weights))
        # In a batch of all rows the order means nothing, and would cost the last bits.
        if self.plan.shuffle and self.plan.batch_size < len(order):
            order = random.permutation(len(order))
        return order

    def _epoch(self, progress: Progress, order: Array, seed: tuple[int, int], began: float) -> None:
        """The last visit of an epoch, which is recorded."""
        loss, z = self._visit(progress, order, seed)
        penalised = penalty(self.engine.composition, progress.weights.theta, self.plan.alpha)
        level = (loss + penalised) / self.total
        self._record(progress, level, self._score(self.rows, z), time.monotonic() - began)
        progress.pace.after_epoch(progress.rows_seen)

    def _visit(
        self, progress: Progress, order: Array, seed: tuple[int, ...]
    ) -> tuple[float, Array]:
        """A step for each batch; the sum of the losses before their steps, and the outputs."""
        size = self.plan.batch_size
        loss, z = 0.0, self._outputs
        # Batch normalisation cannot learn from a last batch of one row, which has no spread.
        fewest = 2 if self.engine.composition.joins_rows else 1
        ends = [*range(size, len(order) - fewest + 1, size), len(order)]
        at_once = self._steps_at_once(progress)
        if at_once:
            for start in range(0, len(order), at_once * size):
                check()
                loss += self._steps(progress, order[start : start + at_once * size], z)
        else:
            for k, (start, end) in enumerate(pairwise([0, *ends])):
                check()
                loss += self._step(progress, order[start:end], (*seed, k), z)
        progress.rows_seen += len(order)
        return loss, z

    def _score(self, rows: Rows, z: Array) -> float:
        """The score of outputs; NaN if there is none."""
        if self.score is None or not np.all(np.isfinite(z)):
            return math.nan
        return float(self.score(rows.y, z, rows.weights))

    def _steps_at_once(self, progress: Progress) -> int:
        """How many steps the core takes in one call; 0 if they are taken one by one."""
        plan, theta = self.plan, progress.weights.theta
        known = self._batches(theta.dtype)
        if known is None or plan.clip is not None:
            return 0
        return known.steps_at_once(plan.rule, plan.batch_size, theta.size)

    def _steps(self, progress: Progress, rows: Array, outputs: Array) -> float:
        """Steps for the batches of some rows, by the core; the sum of the losses before them."""
        plan, theta = self.plan, progress.weights.theta
        known, first = self._batches(theta.dtype), progress.memory.steps
        assert known is not None
        lengths = [progress.pace.length(first + k) for k in range(-(-len(rows) // plan.batch_size))]
        value, progress.memory = known.steps(
            theta,
            rows,
            plan.batch_size,
            plan.alpha / len(self.rows.weights),
            outputs,
            plan.rule,
            lengths,
            progress.memory,
        )
        return value

    def _step(
        self, progress: Progress, batch: Array, seed: tuple[int, ...], outputs: Array
    ) -> float:
        """One step; the sum of the losses of the batch before it. Writes its outputs."""
        plan, weights = self.plan, progress.weights
        ahead = plan.rule.look_ahead(weights.theta, progress.memory)
        at = weights if ahead is weights.theta else replace(weights, theta=ahead)
        # A batch stands for all rows: its mean gradient for Σ sᵢℓᵢ/n, so the penalty is α/n.
        strength = plan.alpha / len(self.rows.weights)
        known = self._batches(weights.theta.dtype)
        if known is None:
            value, gradient = self._by_layers(at, batch, seed, strength, outputs)
        else:
            value, gradient = known.gradient(at.theta, batch, strength, outputs)
        gradient = clipped(gradient, plan.clip)
        length = progress.pace.length(progress.memory.steps)
        progress.memory = plan.rule.step_in_place(weights.theta, gradient, length, progress.memory)
        return value

    def _batches(self, dtype: Any) -> DenseBatches | None:
        """The rows as the core takes them, if it computes the whole gradient of a batch."""
        if self.plan.augment is not None:
            return None
        if dtype not in self._prepared:
            self._prepared[dtype] = dense_batches(self.engine, self.rows, self.loss, dtype)
        return self._prepared[dtype]

    def _by_layers(
        self, at: Weights, batch: Array, seed: tuple[int, ...], strength: float, outputs: Array
    ) -> tuple[float, Array]:
        """The sum of the losses of a batch, and the gradient, by one layer after the other."""
        dtype = at.theta.dtype
        x, y = self.rows.inputs(batch, dtype), self.rows.targets(batch, dtype)
        if self.plan.augment is not None:
            x = self.plan.augment(x, np.random.default_rng((*seed, 1 << 20)))
        s = self.rows.weights[batch]
        share = (s / len(batch)).astype(dtype)[:, None]

        def slopes(z: Array, rows: slice) -> Array:
            return share[rows] * self.loss.gradient(y[rows], z)

        z, gradient = self.engine.gradient(at, x, slopes, seed, s)
        if strength:
            for part in self.engine.composition.penalised_parts:
                gradient[part] += dtype.type(strength) * at.theta[part]
        outputs[batch] = z
        return float(s @ row_losses(self.loss, y, z)), gradient

    def _record(self, progress: Progress, level: float, score: float, seconds: float) -> None:
        history, found = progress.history, math.nan
        # Before the lists grow, which stay of one length if the time limit strikes meanwhile.
        if self.aside is not None and self.score is not None:
            found = self._score(self.aside, outputs(self.engine, progress.weights, self.aside))
        history.loss.append(level)
        history.score.append(score)
        history.seconds.append(seconds)
        history.step_size.append(progress.learning_rate)
        if self.aside is not None and self.score is not None:
            # Earlier calls may have kept no rows aside.
            history.validation += [math.nan] * (len(history.loss) - 1 - len(history.validation))
            history.validation.append(found)
            has_gained = not found < progress.highest + self.plan.tol
            is_best = found > progress.highest
            progress.highest = max(progress.highest, found) if found == found else progress.highest
        else:
            has_gained = not level > progress.lowest - self.plan.tol
            is_best = level < progress.lowest
            progress.lowest = min(progress.lowest, level)
        progress.no_improvement = 0 if has_gained else progress.no_improvement + 1
        if is_best:
            progress.best = progress.weights.copy()

    def _has_settled(self, progress: Progress) -> bool:
        if progress.no_improvement <= self.plan.patience:
            return False
        if not progress.pace.shortened():
            return True
        progress.no_improvement = 0
        return False


def kept_aside(
    rows: Rows, copies: Array, has_classes: bool, fraction: float, random: Any
) -> tuple[Rows, Rows]:
    """Rows to learn from, and rows of all classes alike that early stopping keeps aside.

    A row that stands for several copies is on both sides, as they would be if they were drawn one
    by one: with all of a kind on one side, the other would learn that there are none.
    """
    if not 0 < fraction < 1:
        raise ValueError(
            "early_stopping keeps rows aside: validation_fraction must be more than 0 and less "
            f"than 1, got {fraction!r}."
        )
    pieces = np.clip(copies, 1, MOST_PIECES).astype(int)
    drawn = np.repeat(np.arange(len(copies)), pieces)
    n = len(drawn)
    strata, splitter = None, ShuffleSplit
    if has_classes and (rows.y.ndim == 1 or rows.y.shape[1] == 1):
        strata = (rows.y if rows.y.ndim == 1 else rows.y[:, 0] > 0)[drawn]
        splitter = StratifiedShuffleSplit
        counts = np.unique(strata, return_counts=True)[1]
        if counts.min() < 2:
            raise ValueError(
                "early_stopping keeps rows of every class aside, and a class has a single row; add "
                "rows of it, or set early_stopping=False."
            )
        if min(n * fraction, n * (1 - fraction)) < len(counts):
            raise ValueError(
                f"early_stopping keeps rows of every class aside, but validation_fraction="
                f"{fraction!r} of {n} rows is too few for {len(counts)} classes; change it, or set "
                "early_stopping=False."
            )
    if n * fraction <= 1:
        raise ValueError(TOO_SMALL)
    parts = next(splitter(1, test_size=fraction, random_state=random).split(np.zeros(n), strata))
    if len(parts[1]) < 2:
        raise ValueError(TOO_SMALL)
    learned, aside = (
        _weighing(rows, np.bincount(drawn[part], minlength=len(copies)) / pieces) for part in parts
    )
    return learned, aside


def _weighing(rows: Rows, shares: Array) -> Rows:
    """The rows of which there is a share, with that share of their weights."""
    kept = np.flatnonzero(shares)
    some = rows.some(kept)
    return replace(some, weights=some.weights * shares[kept])


def outputs(engine: Engine, weights: Weights, rows: Rows) -> Array:
    """The outputs for all rows, some at a time."""
    dtype = weights.theta.dtype
    found = []
    with engine.running():
        for part in rows.parts(AT_ONCE):
            check()
            found.append(engine.outputs(weights, rows.inputs(part, dtype)))
    return np.concatenate(found)


def minimise(
    engine: Engine,
    weights: Weights,
    rows: Rows,
    loss: Loss,
    alpha: float,
    *,
    tol: float,
    max_iter: int,
    max_fun: int,
    callback: Callable[[Any, float], bool],
    history: History,
    score: Callable[[Array, Array, Array], float],
) -> tuple[Weights, str]:
    """L-BFGS on all rows (Liu and Nocedal 1989); the best weights, and why it ended."""
    began, total = time.monotonic() - history.last_second, float(rows.weights.sum())
    best: list[Any] = [math.inf, weights.theta.copy()]
    n, rows = len(rows.weights), rows.in_order()
    z, every = np.zeros((n, engine.composition.outputs)), np.arange(n)
    known = dense_batches(engine, rows, loss, weights.theta.dtype)

    def both(theta: Array) -> tuple[float, Array]:
        if known is None:
            return value_and_gradient(engine, replace(weights, theta=theta), rows, loss, alpha, z)
        value, mean = known.gradient(theta, every, alpha / n, z)
        return value + penalty(engine.composition, theta, alpha), n * mean

    def objective(theta: Array) -> tuple[float, Array]:
        check()
        value, gradient = both(theta)
        if value < best[0]:
            best[:] = value, theta.copy()
        return value / total, gradient / total

    def after_step(intermediate_result: Any) -> None:
        history.loss.append(float(intermediate_result.fun))
        # The outputs of the last evaluation, which is that of the step that was taken.
        history.score.append(score(rows.y, z, rows.weights))
        history.seconds.append(time.monotonic() - began)
        history.step_size.append(math.nan)
        if callback(history, tol):
            raise StopIteration

    status = "max_iter"
    try:
        with engine.running(), np.errstate(all="ignore"):
            found = scipy.optimize.minimize(
                objective,
                weights.theta,
                jac=True,
                method="L-BFGS-B",
                callback=after_step,
                options={"maxiter": max_iter, "maxfun": max_fun, "gtol": tol, "maxcor": MEMORY},
            )
        status = {0: "settled", 1: "max_iter", 99: "callback"}.get(found.status, "settled")
        if np.isfinite(found.fun):
            best[1] = found.x
    except TimeLimit:
        status = "time_limit"
    except KeyboardInterrupt:
        status = "interrupted"
    return replace(weights, theta=best[1]), status
