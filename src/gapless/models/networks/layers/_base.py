"""What a layer is: a function of a batch and of some arrays, with its two derivatives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

Array = np.ndarray
# The shape of one row of a batch: (features,) or (height, width, channels).
Shape = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Mode:
    """How a batch goes through a network: to predict it, or to learn from it.

    Parameters
    ----------
    is_learning : bool, default=False
        Whether dropout drops, and batch normalisation uses the batch.
    random : Generator, optional
        Draws what is dropped.
    weights : ndarray of shape (n,), optional
        The weights of the rows, for the means of batch normalisation.
    """

    is_learning: bool = False
    random: np.random.Generator | None = None
    weights: Array | None = None


PREDICTING = Mode()


class Layer(ABC):
    """y = f(x; parameters) for a batch x, one row after the other along the first axis.

    `forward` returns y and what the derivatives need; `backward` is the derivative with respect to
    x, `gradient` that with respect to the parameters, each applied to dy, the derivative of the
    objective with respect to y. A layer changes none of these arrays, except its running
    statistics while it learns.
    """

    # Whether rows of a batch depend on each other, so that it may not be cut into pieces.
    joins_rows: ClassVar[bool] = False
    # Whether it draws from Mode.random while it learns.
    is_random: ClassVar[bool] = False
    # How many of the first parameters a penalty shrinks: weights, not biases.
    penalised: ClassVar[int] = 0

    def shape_after(self, shape: Shape) -> Shape:
        """The shape of a row of y."""
        return shape

    def initial(self, shape: Shape, random: Any) -> list[Array]:
        """The parameters that are learned, before the first step, for rows of this shape."""
        return []

    def running(self, shape: Shape) -> list[Array]:
        """Statistics that are kept up to date while learning, and follow the parameters."""
        return []

    @abstractmethod
    def forward(self, x: Array, parameters: Sequence[Array], mode: Mode) -> tuple[Array, Any]:
        """y, and what `backward` and `gradient` need."""

    @abstractmethod
    def backward(self, dy: Array, kept: Any, parameters: Sequence[Array]) -> Array:
        """dx, the derivative with respect to x."""

    def gradient(self, dy: Array, kept: Any, parameters: Sequence[Array]) -> list[Array]:
        """The derivative with respect to each of the parameters that are learned."""
        return []

    def derivatives(
        self,
        dy: Array,
        kept: Any,
        parameters: Sequence[Array],
        out: Sequence[Array],
        needs_dx: bool,
    ) -> Array | None:
        """Both at once: dx if it is needed; the gradient is written into `out`."""
        for place, found in zip(out, self.gradient(dy, kept, parameters)):
            place[...] = found
        return self.backward(dy, kept, parameters) if needs_dx else None


def glorot(random: Any, shape: Shape, fan_in: int, fan_out: int, spread: float) -> Array:
    """Uniform between ±√(spread/(fan_in + fan_out)) (Glorot and Bengio 2010)."""
    bound = np.sqrt(spread / (fan_in + fan_out))
    return random.uniform(-bound, bound, shape)


# A window of a convolution or of pooling is no larger, so that its places fit into 16 bits.
LARGEST_WINDOW = 128


def check_whole(layer: Layer, *names: str) -> None:
    """Refuse sizes that are not whole numbers of at least 1."""
    for name in names:
        value = getattr(layer, name)
        if not isinstance(value, Integral) or int(value) < 1:
            raise ValueError(
                f"{name} must be a whole number of at least 1 in {type(layer).__name__}, got "
                f"{value!r}."
            )
        if name == "size" and int(value) > LARGEST_WINDOW:
            raise ValueError(f"size must be at most {LARGEST_WINDOW}, got {value!r}.")


def check_rows(layer: Layer, shape: Shape, dimensions: int) -> None:
    """Refuse rows of another form, and say what to do."""
    if len(shape) == dimensions:
        return
    name = type(layer).__name__
    if dimensions == 1:
        raise ValueError(
            f"{name} needs flat rows, got rows of shape {shape}; put Flatten() before."
        )
    raise ValueError(
        f"{name} needs images, rows of shape (height, width, channels), got rows of shape {shape}; "
        "give images (n, height, width, channels), or flat rows to CNNClassifier with image_shape, "
        "and put the layer before Flatten()."
    )
