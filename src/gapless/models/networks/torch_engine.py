"""The same networks on PyTorch: an optional engine, on a GPU if there is one.

A layer is translated into PyTorch's functions; weights move both ways without a change of meaning.
Derivatives of the outputs come from the losses of gapless, so every loss works.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import singledispatch
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._ground.threads import single_blas, thread_count
from .composition import Composition, Weights
from .engines import LEAST_WORK, pieces_of
from .layers import (
    AveragePool2D,
    BatchNorm,
    Conv2D,
    Dense,
    Dropout,
    Flatten,
    Identity,
    Layer,
    MaxPool2D,
    Mode,
    ReLU,
    Sigmoid,
    Tanh,
)
from .layers.regularising import ROUNDING, check_spread

Array = np.ndarray

MISSING = (
    'engine="torch" needs PyTorch, which is not installed; install it with pip install '
    "'gapless[torch]', or use the built-in engine, engine=\"numpy\"."
)


def torch_engine(composition: Composition) -> Torch:
    """The engine for a network; an error that says how to get PyTorch if it is missing."""
    try:
        torch = importlib.import_module("torch")
    except ImportError as error:
        raise ImportError(MISSING) from error
    return Torch(composition, torch)


class Torch:
    """PyTorch as an engine.

    Parameters
    ----------
    composition : Composition
        The network.
    torch : module
        PyTorch.
    """

    name = "torch"

    def __init__(self, composition: Composition, torch: Any):
        self.composition, self.torch = composition, torch
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        # An unknown layer is refused before anything is computed.
        self.steps = [step_of(layer) for layer in composition.layers]

    @contextmanager
    def running(self) -> Iterator[None]:
        """Nothing to keep open, except that NumPy's BLAS leaves the cores to PyTorch."""
        with single_blas():
            yield

    def outputs(self, weights: Weights, x: Array) -> Array:
        """The outputs for a batch."""
        with self.torch.no_grad(), self._threads(x.shape[0]):
            z = self._through(self._moved(x), self._arrays(weights), Mode())
        return z.cpu().numpy()

    def gradient(
        self,
        weights: Weights,
        x: Array,
        slopes: Callable[[Array, slice], Array],
        seed: Any,
        row_weights: Array | None = None,
    ) -> tuple[Array, Array]:
        """Outputs and gradient for a batch; PyTorch goes backward by itself."""
        with self._threads(x.shape[0]):
            return self._gradient(weights, x, slopes, seed, row_weights)

    def _gradient(
        self,
        weights: Weights,
        x: Array,
        slopes: Callable[[Array, slice], Array],
        seed: Any,
        row_weights: Array | None,
    ) -> tuple[Array, Array]:
        theta = self._moved(weights.theta).requires_grad_()
        random = None
        if seed is not None:
            random = _OfPieces(seed, pieces_of(self.composition, x.shape[0]))
        mode = Mode(seed is not None, random, row_weights)  # type: ignore[arg-type]
        running = [self._moved(array) for array in weights.running]
        z = self._through(self._moved(x), self._of_layers(theta, running), mode)
        outputs = z.detach().cpu().numpy()
        dz = self._moved(np.ascontiguousarray(slopes(outputs, slice(0, len(outputs)))))
        (found,) = self.torch.autograd.grad(z, theta, dz)
        for kept, new in zip(weights.running, running):
            kept[...] = new.detach().cpu().numpy()
        return outputs, found.cpu().numpy().copy()

    @contextmanager
    def _threads(self, rows: int) -> Iterator[None]:
        """As many threads as a batch of so many rows is worth, and then as many as before.

        Threads wait for each other after every layer, which takes longer than a small batch, and
        on a busy machine far longer.
        """
        before = self.torch.get_num_threads()
        worth = max(1, rows * self.composition.work // LEAST_WORK)
        self.torch.set_num_threads(min(thread_count(), worth))
        try:
            yield
        finally:
            self.torch.set_num_threads(before)

    def _through(self, x: Any, of_layers: list[list[Any]], mode: Mode) -> Any:
        for step, parameters in zip(self.steps, of_layers):
            x = step(self.torch, x, parameters, mode)
        return x

    def _arrays(self, weights: Weights) -> list[list[Any]]:
        running = [self._moved(array) for array in weights.running]
        return self._of_layers(self._moved(weights.theta), running)

    def _of_layers(self, theta: Any, running: list[Any]) -> list[list[Any]]:
        left = iter(running)
        composition = self.composition
        return [
            [theta[part].reshape(size) for part, size in own]
            + [next(left) for _ in layer.running(shape)]
            for layer, own, shape in zip(composition.layers, composition.parts, composition.shapes)
        ]

    def _moved(self, array: Any) -> Any:
        array = array.toarray() if sp.issparse(array) else np.array(array, order="C")
        return self.torch.from_numpy(array).to(self.device)


class _OfPieces:
    """Random numbers for a batch: those that the built-in engine draws for its pieces."""

    def __init__(self, seed: Any, pieces: list[slice]):
        self.pieces = pieces
        self.sources = [np.random.default_rng((*seed, k)) for k in range(len(pieces))]

    def random(self, shape: tuple[int, ...], dtype: Any = np.float64) -> Array:
        """Uniform numbers for all rows."""
        return np.concatenate(
            [
                source.random((rows.stop - rows.start, *shape[1:]), dtype=dtype)
                for source, rows in zip(self.sources, self.pieces)
            ]
        )


# ---- layers as functions (torch, x, parameters, mode) → y ----------------------------------------

Step = Callable[[Any, Any, list[Any], Mode], Any]


@singledispatch
def step_of(layer: Layer) -> Step:
    """What a layer is in PyTorch."""
    raise TypeError(
        f'{type(layer).__name__} is not known to engine="torch"; use engine="numpy", which '
        "takes any layer."
    )


@step_of.register
def _(layer: Dense) -> Step:
    return lambda torch, x, own, mode: x @ own[0] + own[1]


@step_of.register
def _(layer: Conv2D) -> Step:
    def step(torch, x, own, mode):
        # Ours are (rows, columns, channels, filters), PyTorch's (filters, channels, rows, columns).
        W, b = own[0].permute(3, 2, 0, 1), own[1]
        y = torch.nn.functional.conv2d(
            x.permute(0, 3, 1, 2), W, b, stride=layer.stride, padding=layer.margin
        )
        return y.permute(0, 2, 3, 1)

    return step


@step_of.register
def _(layer: MaxPool2D) -> Step:
    return _pooled("max_pool2d", layer)


@step_of.register
def _(layer: AveragePool2D) -> Step:
    return _pooled("avg_pool2d", layer)


def _pooled(name: str, layer: MaxPool2D | AveragePool2D) -> Step:
    def step(torch, x, own, mode):
        function = getattr(torch.nn.functional, name)
        return function(x.permute(0, 3, 1, 2), layer.size, layer.stride).permute(0, 2, 3, 1)

    return step


@step_of.register
def _(layer: Flatten) -> Step:
    return lambda torch, x, own, mode: x.reshape(len(x), -1)


@step_of.register
def _(layer: Identity) -> Step:
    return lambda torch, x, own, mode: x


@step_of.register
def _(layer: ReLU) -> Step:
    return lambda torch, x, own, mode: torch.relu(x)


@step_of.register
def _(layer: Tanh) -> Step:
    return lambda torch, x, own, mode: torch.tanh(x)


@step_of.register
def _(layer: Sigmoid) -> Step:
    return lambda torch, x, own, mode: torch.sigmoid(x)


@step_of.register
def _(layer: Dropout) -> Step:
    def step(torch, x, own, mode):
        if not mode.is_learning or not layer.part:
            return x
        assert mode.random is not None
        kept = mode.random.random(tuple(x.shape), dtype=np.float32) >= layer.part
        return x * torch.from_numpy(kept).to(x.device) / (1 - layer.part)

    return step


@step_of.register
def _(layer: BatchNorm) -> Step:
    def step(torch, x, own, mode):
        gamma, beta, mean, variance = own
        if mode.is_learning:
            check_spread(tuple(x.shape))
            rows = torch.ones(len(x), dtype=x.dtype, device=x.device)
            if mode.weights is not None:
                rows = torch.as_tensor(mode.weights, dtype=x.dtype, device=x.device)
            share = rows / (rows.sum() * int(np.prod(x.shape[1:-1])))
            share = share.reshape(-1, *([1] * (x.ndim - 1))).expand(*x.shape[:-1], 1)
            over = tuple(range(x.ndim - 1))
            batch_mean = (share * x).sum(dim=over)
            batch_variance = (share * (x - batch_mean) ** 2).sum(dim=over)
            count = 1 / float((share**2).sum())
            with torch.no_grad():
                mean += layer.momentum * (batch_mean - mean)
                if count > 1 + ROUNDING:
                    population = batch_variance * (count / (count - 1))
                    variance += layer.momentum * (population - variance)
            mean, variance = batch_mean, batch_variance
        return gamma * (x - mean) / torch.sqrt(variance + layer.epsilon) + beta

    return step
