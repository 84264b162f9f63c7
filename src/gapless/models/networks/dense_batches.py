"""Batches of a network of dense layers alone: their gradient in one call of the core.

The layers' own `forward` and `backward` say what is computed; this gives the same up to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from ..._ground import core
from ..._ground.interrupt import check, deadline
from ..._ground.threads import thread_count
from ...losses import Logistic, Loss, Softmax, Squared
from .composition import Composition
from .engines import BuiltIn, Engine
from .layers import Dense, Identity, Layer, ReLU, Sigmoid, Tanh
from .objective import Rows

Array = np.ndarray

# The numbers by which the core knows them.
BENDS: dict[type[Layer], int] = {Identity: 0, ReLU: 1, Tanh: 2, Sigmoid: 3}
LOSSES: dict[Loss, int] = {Softmax(): 0, Squared(): 1, Logistic(): 2}
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

    @staticmethod
    def _cuts(rows: int, parameters: int) -> list[int]:
        """Where a batch is cut; forward, backward and the gradient take a product each."""
        at_once = max(LEAST_ROWS, MOST_WORK // (3 * parameters))
        pieces = -(-rows // at_once)
        return [rows * k // pieces for k in range(pieces + 1)]

    def _of_piece(
        self, theta: Array, batch: Array, strength: float, z: Array
    ) -> tuple[float, Array]:
        rows, room = self.rows, core.dense_scratch_size(len(batch), int(self.sizes[0]))
        gradient = self._kept("gradient", theta.size, theta.dtype)
        value = core.dense_gradient(
            rows.X,
            rows.positions,
            batch,
            self.classes,
            self.targets,
            rows.weights,
            self.sizes,
            self.bends,
            self.loss,
            theta,
            strength,
            z,
            gradient,
            self._kept("index", room // 4, np.int32),
            self._kept("value", room, theta.dtype),
            thread_count(),
            deadline(),
        )
        return value, gradient

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
    return DenseBatches(rows, classes, targets, sizes, bends, LOSSES[loss])


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
