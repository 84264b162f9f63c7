"""Batches of a network of dense layers alone: gradients or whole steps in one call of the core.

The layers' own `forward` and `backward` say what is computed; this gives the same up to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from ..._ground import core
from ..._ground.interrupt import check, deadline
from ..._ground.threads import thread_count
from ...losses import Logistic, Loss, Softmax, Squared
from ...solvers import Adam, Memory, Momentum, Nesterov, Plain, Update
from .composition import Composition
from .engines import BuiltIn, Engine
from .layers import Dense, Identity, Layer, ReLU, Sigmoid, Tanh
from .objective import Rows

Array = np.ndarray

# The numbers by which the core knows them; those of losses are their positions. One's own loss need
# have no hash.
BENDS: dict[type[Layer], int] = {Identity: 0, ReLU: 1, Tanh: 2, Sigmoid: 3}
LOSSES: tuple[Loss, ...] = (Softmax(), Squared(), Logistic())
# One call takes at most so many multiplications, some 30 ms, and so Ctrl-C need not wait for a long
# batch; and at least so many rows.
MOST_WORK, LEAST_ROWS = 1 << 29, 16


@dataclass(frozen=True, eq=False)
class DenseBatches:
    """Some rows for a network of dense layers, as the core takes them.

    Parameters
    ----------
    rows : Rows
        Dense rows.
    classes, targets : ndarray, optional
        Positions of classes, or numbers in the precision of the network.
    sizes, bends : ndarray of int
        Inputs and units of each layer, and what follows each.
    loss : int
        Which loss.
    """

    rows: Rows
    classes: Array | None
    targets: Array | None
    sizes: Array
    bends: Array
    loss: int
    # Memory that is used again for each batch: the gradient, and entries of the rows.
    kept: dict[str, Array] = field(default_factory=dict)

    def gradient(
        self, theta: Array, batch: Array, strength: float, z: Array
    ) -> tuple[float, Array]:
        """Σ sᵢℓᵢ of a batch, and the gradient of its mean + ½ strength‖W‖²; writes its outputs.

        The gradient is overwritten by the next one.
        """
        ends = self._cuts(len(batch), theta.size)
        if len(ends) == 2:
            return self._of_piece(theta, batch, strength, z)
        total, gradient = 0.0, np.zeros_like(theta)
        for start, end in pairwise(ends):
            check()
            value, of_piece = self._of_piece(theta, batch[start:end], strength, z)
            total += value
            gradient += theta.dtype.type((end - start) / len(batch)) * of_piece
        return total, gradient

    def steps_at_once(self, rule: Update, batch_size: int, parameters: int) -> int:
        """How many steps of a rule one call takes; 0 if the core does not take them."""
        if _numbers(rule) is None:
            return 0
        return max(1, MOST_WORK // (3 * parameters)) // batch_size

    def steps(
        self,
        theta: Array,
        rows: Array,
        batch_size: int,
        strength: float,
        z: Array,
        rule: Update,
        lengths: Sequence[float],
        memory: Memory,
    ) -> tuple[float, Memory]:
        """A step by the gradient of each batch of the rows in turn; Σ sᵢℓᵢ, each before its step.

        Changes theta and the arrays of the memory.
        """
        kept = memory.arrays[0]
        value = core.dense_steps(
            *self._data(rows, batch_size, theta, z),
            theta,
            strength,
            batch_size,
            kept[0] if kept else None,
            kept[1] if len(kept) > 1 else None,
            np.array(_numbers(rule)),
            isinstance(rule, Nesterov),
            memory.steps,
            np.array(lengths, dtype=np.float64),
            thread_count(),
            deadline(),
        )
        return value, Memory(memory.steps + len(lengths), memory.arrays)

    @staticmethod
    def _cuts(rows: int, parameters: int) -> list[int]:
        """Where a batch is cut; forward, backward and the gradient take a product each."""
        at_once = max(LEAST_ROWS, MOST_WORK // (3 * parameters))
        pieces = -(-rows // at_once)
        return [rows * k // pieces for k in range(pieces + 1)]

    def _of_piece(
        self, theta: Array, batch: Array, strength: float, z: Array
    ) -> tuple[float, Array]:
        data = self._data(batch, len(batch), theta, z)
        value = core.dense_gradient(*data, theta, strength, thread_count(), deadline())
        return value, self.kept["gradient"]

    def _data(self, rows: Array, batch_size: int, theta: Array, z: Array) -> tuple[Any, ...]:
        """What both functions of the core take: the rows, the network, and memory."""
        given, room = self.rows, core.dense_scratch_size(batch_size, int(self.sizes[0]))
        return (
            given.X,
            given.positions,
            rows,
            self.classes,
            self.targets,
            given.weights,
            self.sizes,
            self.bends,
            self.loss,
            z,
            self._kept("index", room // 2, np.int32),
            self._kept("value", room, theta.dtype),
            self._kept("gradient", theta.size, theta.dtype),
        )

    def _kept(self, name: str, size: int, dtype: Any) -> Array:
        if name not in self.kept or len(self.kept[name]) < size:
            self.kept[name] = np.empty(size, dtype)
        return self.kept[name]


def dense_batches(engine: Engine, rows: Rows, loss: Loss, dtype: Any) -> DenseBatches | None:
    """The rows for the core, if it knows the layers and the loss of the network."""
    units = _units(engine.composition)
    X = rows.X
    is_known = isinstance(engine, BuiltIn) and units is not None and loss in LOSSES
    if not is_known or not isinstance(X, np.ndarray) or X.ndim != 2 or not len(rows.weights):
        return None
    if X.dtype not in (np.float32, np.float64) or not X.flags.c_contiguous:
        return None
    assert units is not None
    y = np.ascontiguousarray(rows.y)
    classes = y.astype(np.int64, copy=False) if y.ndim == 1 else None
    targets = y.astype(dtype, copy=False) if y.ndim == 2 else None
    sizes = np.array([*engine.composition.shape, *(k for k, _ in units)], np.int64)
    bends = np.array([bend for _, bend in units], np.int64)
    return DenseBatches(rows, classes, targets, sizes, bends, LOSSES.index(loss))


def _numbers(rule: Update) -> tuple[float, ...] | None:
    """The numbers of a rule that the core knows: of Adam, or the part of a change repeated."""
    match rule:
        case Adam():
            return rule.beta_1, rule.beta_2, rule.epsilon, rule.decay
        case Momentum() | Nesterov(factor=float()):
            factor = rule.factor
            return None if factor is None else (float(factor),)
        case Plain():
            return (0.0,)
    return None


def _units(composition: Composition) -> list[tuple[int, int]] | None:
    """The units of each dense layer and what follows it; None if there are other layers."""
    found: list[tuple[int, int]] = []
    is_bent = True
    for layer in composition.layers:
        if type(layer) is Dense:
            found.append((layer.units, BENDS[Identity]))
            is_bent = False
        elif type(layer) in BENDS and not is_bent:
            found[-1] = (found[-1][0], BENDS[type(layer)])
            is_bent = True
        else:
            return None
    return found or None
