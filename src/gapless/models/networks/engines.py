"""How a batch is computed: by NumPy and the compiled core, in pieces that threads share.

A batch is cut into pieces whose number depends on the network and the batch alone, and their
gradients are added in order: results have the same bits for any number of threads. A piece also
stays in the cache of its core.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from ..._ground.threads import single_blas, thread_count, threads
from .composition import Composition, Weights
from .layers import Mode
from .layers.joined import joined

Array = np.ndarray

# A piece of a batch has at least this many rows and takes this many multiplications.
LEAST_ROWS, LEAST_WORK, MOST_PIECES = 16, 1 << 23, 8
# Rows that are predicted at once.
AT_ONCE = 2000


class Engine(Protocol):
    """What training needs: outputs, and gradients for the derivatives of the outputs."""

    composition: Composition

    def running(self) -> Any:
        """What must be open while it computes, a context manager."""

    def outputs(self, weights: Weights, x: Array) -> Array:
        """The outputs for a batch."""

    def gradient(
        self,
        weights: Weights,
        x: Array,
        slopes: Callable[[Array, slice], Array],
        seed: Sequence[int] | None,
        row_weights: Array | None = None,
    ) -> tuple[Array, Array]:
        """Outputs and gradient; `slopes(z, rows)` are the derivatives for some rows of the batch.

        With a seed the network learns: dropout drops by it, and running statistics are updated.
        """


def pieces_of(composition: Composition, rows: int) -> list[slice]:
    """The pieces of a batch, whatever the number of threads."""
    if composition.joins_rows:
        return [slice(0, rows)]
    by_work = rows * composition.work // LEAST_WORK
    count = max(1, min(rows // LEAST_ROWS, by_work, MOST_PIECES))
    ends = [rows * k // count for k in range(count + 1)]
    return [slice(a, b) for a, b in pairwise(ends)]


class BuiltIn:
    """The built-in engine.

    Parameters
    ----------
    composition : Composition
        The network.
    """

    name = "numpy"

    def __init__(self, composition: Composition):
        self.composition = composition
        self._joined = Composition(joined(composition.layers), composition.shape)
        self._pool: ThreadPoolExecutor | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """BLAS is kept to one thread, and ours wait for pieces.

        Ctrl-C, a time limit or an error does not wait for the pieces that other threads work on,
        which takes long on a busy machine: they run to their end, and nobody reads their results.
        """
        workers = thread_count()
        if workers < 2 or self._pool is not None:
            with single_blas():
                yield
            return
        with single_blas():
            self._pool = pool = ThreadPoolExecutor(workers - 1)
            is_done = False
            try:
                yield
                is_done = True
            finally:
                self._pool = None
                pool.shutdown(wait=is_done, cancel_futures=not is_done)

    def outputs(self, weights: Weights, x: Array) -> Array:
        """The outputs for a batch, in pieces."""
        pieces = pieces_of(self.composition, x.shape[0])
        return np.concatenate(
            self._map(lambda rows: self._joined.forward(x[rows], weights), pieces)
        )

    def gradient(self, weights, x, slopes, seed, row_weights=None):
        """Outputs and gradient for a batch, in pieces whose gradients are added in order."""
        pieces = pieces_of(self.composition, x.shape[0])

        of_layers = self._joined.of_layers(weights)
        gradients = np.empty((len(pieces), weights.theta.size), weights.theta.dtype)

        def of_piece(k: int) -> Array:
            rows = pieces[k]
            random = None
            if seed is not None and self.composition.is_random:
                random = np.random.default_rng((*seed, k))
            own = None if row_weights is None else row_weights[rows]
            mode = Mode(seed is not None, random, own)
            return self._joined.propagate(
                x[rows], of_layers, lambda z: slopes(z, rows), mode, gradients[k]
            )

        outputs = self._map(of_piece, range(len(pieces)))
        gradient = gradients[0]
        for more in gradients[1:]:
            gradient += more
        return outputs[0] if len(outputs) == 1 else np.concatenate(outputs), gradient

    def _map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """function(item) for all items, in their order; the calling thread works, too."""
        if self._pool is None or len(items) < 2:
            return [function(item) for item in items]
        workers = min(thread_count(), len(items))
        done: list[Any] = [None] * len(items)
        numbers = iter(range(len(items)))

        def work() -> None:
            with threads(1):
                # Threads take one item after the other; next() of a range is atomic.
                for k in numbers:
                    done[k] = function(items[k])

        try:
            helpers = [
                self._pool.submit(contextvars.copy_context().run, work) for _ in range(workers - 1)
            ]
            work()
            for helper in helpers:
                helper.result()
        finally:
            # After an error no thread begins another item.
            for _ in numbers:
                pass
        return done
