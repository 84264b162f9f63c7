"""Layers in sequence: where their weights are, forward through all of them, and backward."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from .layers import Layer, Mode
from .layers._base import PREDICTING, Shape

Array = np.ndarray


@dataclass(eq=False)
class Weights:
    """What a network has learned: all its parameters in one vector, and its running statistics."""

    theta: Array
    running: list[Array] = field(default_factory=list)

    def copy(self) -> Weights:
        """The same in memory of its own."""
        return Weights(self.theta.copy(), [array.copy() for array in self.running])

    def astype(self, dtype: Any) -> Weights:
        """The same in another precision, in memory of its own."""
        return Weights(self.theta.astype(dtype), [array.astype(dtype) for array in self.running])


@dataclass(frozen=True, eq=False)
class Composition:
    """Layers one after the other, for rows of a shape.

    Parameters
    ----------
    layers : tuple of Layer
        From the input to the output.
    shape : tuple of int
        The shape of a row: (features,) or (height, width, channels).
    """

    layers: tuple[Layer, ...]
    shape: Shape

    def __post_init__(self):
        for layer in self.layers:
            if not isinstance(layer, Layer):
                raise TypeError(
                    f"{layer!r} is not a layer; use those of gapless.networks.layers, such as "
                    "Dense(10), or a class of your own that derives from Layer."
                )
        if not self.layers:
            raise ValueError("a network needs at least one layer.")
        _ = self.shapes  # refuses layers that do not fit together

    @cached_property
    def shapes(self) -> list[Shape]:
        """The shape of a row before each layer, and after the last."""
        shapes = [self.shape]
        for layer in self.layers:
            shapes.append(layer.shape_after(shapes[-1]))
        return shapes

    @property
    def outputs(self) -> int:
        """The number of outputs for a row."""
        if len(self.shapes[-1]) != 1:
            raise ValueError(
                f"the network ends with rows of shape {self.shapes[-1]}; end it with Flatten() and "
                "Dense(outputs)."
            )
        return self.shapes[-1][0]

    @cached_property
    def parts(self) -> list[list[tuple[slice, Shape]]]:
        """For each layer, where its parameters are in the vector of all, and their shapes."""
        start, parts = 0, []
        for layer, shape in zip(self.layers, self.shapes):
            own = []
            for array in layer.initial(shape, np.random.RandomState(0)):
                own.append((slice(start, start + array.size), array.shape))
                start += array.size
            parts.append(own)
        return parts

    @property
    def size(self) -> int:
        """The number of parameters."""
        return max((part.stop for own in self.parts for part, _ in own), default=0)

    @cached_property
    def first_learning(self) -> int:
        """The first layer that has parameters: derivatives are not needed further back."""
        return next((k for k, own in enumerate(self.parts) if own), len(self.layers))

    @cached_property
    def joins_rows(self) -> bool:
        """Whether rows of a batch depend on each other."""
        return any(layer.joins_rows for layer in self.layers)

    @cached_property
    def is_random(self) -> bool:
        """Whether a layer draws random numbers while it learns."""
        return any(layer.is_random for layer in self.layers)

    @cached_property
    def work(self) -> int:
        """About how many multiplications one row takes forward."""
        work = 0
        for own, shape in zip(self.parts, self.shapes[1:]):
            pixels = math.prod(shape[:-1])
            work += pixels * sum(part.stop - part.start for part, _ in own) + math.prod(shape)
        return work

    # ---- weights ---------------------------------------------------------------------------------

    def begin(self, random: Any, dtype: Any) -> Weights:
        """Random weights, layer by layer."""
        pairs = list(zip(self.layers, self.shapes))
        drawn = [array.ravel() for layer, shape in pairs for array in layer.initial(shape, random)]
        running = [array.astype(dtype) for layer, shape in pairs for array in layer.running(shape)]
        theta = np.concatenate(drawn) if drawn else np.zeros(0)
        return Weights(theta.astype(dtype), running)

    def arrays(self, theta: Array) -> list[Array]:
        """The parameters as arrays of their shapes, views of the vector."""
        return [theta[part].reshape(shape) for own in self.parts for part, shape in own]

    def joined(self, arrays: Iterable[Any], dtype: Any) -> Array:
        """The vector of given parameters."""
        expected = [shape for own in self.parts for _, shape in own]
        found = [np.asarray(array, dtype=dtype) for array in arrays]
        if [array.shape for array in found] != expected:
            raise ValueError(
                f"the parameters have shapes {[array.shape for array in found]}, but this network "
                f"has {expected}."
            )
        return np.concatenate([array.ravel() for array in found]) if found else np.zeros(0, dtype)

    def of_layers(self, weights: Weights) -> list[list[Array]]:
        """For each layer its parameters and then its running statistics."""
        running = iter(weights.running)
        return [
            [weights.theta[part].reshape(size) for part, size in own] + list(islice(running, count))
            for own, count in zip(self.parts, self.statistics)
        ]

    @cached_property
    def statistics(self) -> list[int]:
        """How many running statistics each layer has."""
        return [len(layer.running(shape)) for layer, shape in zip(self.layers, self.shapes)]

    @cached_property
    def is_penalised(self) -> Array:
        """Which of the parameters a penalty shrinks: weights, not biases."""
        mask = np.zeros(self.size, dtype=bool)
        for layer, own in zip(self.layers, self.parts):
            for part, _ in own[: layer.penalised]:
                mask[part] = True
        return mask

    @cached_property
    def penalised_parts(self) -> list[slice]:
        """The same as parts of the vector."""
        return [
            part
            for layer, own in zip(self.layers, self.parts)
            for part, _ in own[: layer.penalised]
        ]

    # ---- forward and backward --------------------------------------------------------------------

    def forward(self, x: Array, weights: Weights, mode: Mode = PREDICTING) -> Array:
        """The outputs for a batch."""
        for layer, own in zip(self.layers, self.of_layers(weights)):
            x, _ = layer.forward(x, own, mode)
        return x

    def activations(self, x: Array, weights: Weights) -> list[Array]:
        """The outputs of every layer for a batch."""
        found = []
        for layer, own in zip(self.layers, self.of_layers(weights)):
            x, _ = layer.forward(x, own, PREDICTING)
            found.append(x)
        return found

    def propagate(
        self,
        x: Array,
        of_layers: list[list[Array]],
        slopes: Callable[[Array], Array],
        mode: Mode,
        gradient: Array,
    ) -> Array:
        """The outputs z for a batch; the gradient of the objective is written into a vector.

        `of_layers` are the parameters, and `slopes(z)` is the derivative of the objective with
        respect to z. Each layer hands the derivative with respect to its input on to the layer
        before it: the chain rule.
        """
        kept = []
        for layer, parameters in zip(self.layers, of_layers):
            x, needed = layer.forward(x, parameters, mode)
            kept.append(needed)
        dy: Array | None = slopes(x)
        for k in range(len(self.layers) - 1, self.first_learning - 1, -1):
            out = [gradient[part].reshape(shape) for part, shape in self.parts[k]]
            assert dy is not None
            needs_dx = k > self.first_learning
            dy = self.layers[k].derivatives(dy, kept[k], of_layers[k], out, needs_dx)
        return x
