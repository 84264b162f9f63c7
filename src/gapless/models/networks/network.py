"""A composition of one's own: layers, a loss, and training by any update rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ... import losses
from ..._ground.interrupt import time_limit
from ..._ground.validation import read_weights
from ...losses import Loss
from ...solvers import Adam, StepSize, Update
from ._base import Differentiable, accuracy, explained
from .composition import Composition, Weights
from .engines import BuiltIn, Engine
from .history import History
from .layers import Layer
from .objective import Rows, value_and_gradient
from .torch_engine import torch_engine
from .training import NOT_FINITE, Descent, Pace, Plan, Progress, outputs

Array = np.ndarray


class Network:
    """Layers in a row with a loss: forward, backward, update.

    Minimises  Σᵢ sᵢ ℓ(yᵢ, f(xᵢ)) + ½α Σ‖W‖²  over the parameters of all layers.

    Parameters
    ----------
    layers : list of Layer
        From the input to the output, of `gapless.networks.layers` or one's own.
    loss : str or Loss, default="softmax"
        Any loss of gapless by name or as an instance. Targets are classes 0, 1, … for a loss of
        several classes such as "softmax", −1 and +1 for "logistic" or "hinge", and else numbers.
    alpha : float, default=0.0
        Strength α ≥ 0 of the penalty.
    engine : {"numpy", "torch"}, default="numpy"
        What computes.

    Attributes
    ----------
    parameters : list of ndarray
        The parameters of all layers, in their order; they may be changed in place.
    history : History
        What training has reached after each epoch.

    Examples
    --------
    >>> import numpy as np
    >>> from gapless import networks
    >>> from gapless.evaluation import gradient_check
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> y = np.array([0, 1, 1, 0])  # exclusive or, which no linear model can do
    >>> layers = [networks.layers.Dense(8), networks.layers.Tanh(), networks.layers.Dense(2)]
    >>> network = networks.Network(layers).build(2, random_state=0)
    >>> gradient_check(network, X, y).is_right
    True
    >>> network.fit(X, y, epochs=200, step=0.05).predict(X).argmax(axis=1)
    array([0, 1, 1, 0])
    """

    def __init__(
        self,
        layers: Sequence[Layer],
        loss: str | Loss = "softmax",
        *,
        alpha: float = 0.0,
        engine: str = "numpy",
    ):
        self.layers, self.loss = tuple(layers), losses.by_name(loss)
        if not alpha >= 0:
            raise ValueError(f"alpha must be at least 0, got {alpha!r}.")
        if engine not in ("numpy", "torch"):
            raise ValueError(f'engine must be "numpy" or "torch", got {engine!r}.')
        self.alpha, self.engine = float(alpha), engine
        self.history = History("accuracy" if self.loss.task != "regression" else "R²")
        self._composition: Composition | None = None
        self._weights: Weights | None = None
        self._progress: Progress | None = None

    # ---- weights ---------------------------------------------------------------------------------

    def build(
        self, shape: int | tuple[int, ...], random_state: Any = None, dtype: Any = np.float64
    ) -> Network:
        """Draw random weights for rows of a shape; `fit` does it itself if need be.

        Parameters
        ----------
        shape : int or tuple of int
            The number of features, or (height, width, channels).
        random_state : int, RandomState instance or None, default=None
            Seed of the weights.
        dtype : dtype, default=float64
            The precision of all computations; float32 takes half the time.

        Returns
        -------
        self : Network
        """
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        composition = Composition(self.layers, shape)
        weights = composition.begin(check_random_state(random_state), np.dtype(dtype))
        self._composition, self._weights, self._progress = composition, weights, None
        return self

    @property
    def composition(self) -> Composition:
        """The layers with their shapes, once they are built."""
        if self._composition is None:
            raise AttributeError("the network has no weights yet; call build(shape) or fit(X, y).")
        return self._composition

    @property
    def weights(self) -> Weights:
        """All parameters in one vector, and running statistics."""
        _ = self.composition
        assert self._weights is not None
        return self._weights

    @property
    def parameters(self) -> list[Array]:
        """The parameters of all layers, views that may be changed in place."""
        return self.composition.arrays(self.weights.theta)

    # ---- forward, backward, update ---------------------------------------------------------------

    def predict(self, X: Any) -> Array:
        """The outputs for rows, (n, outputs): scores of classes, or numbers on the loss's scale."""
        rows = self._rows(X, np.zeros(len(X)), None)
        return outputs(self._engine(), self.weights, rows)

    def activations(self, X: Any) -> list[Array]:
        """The outputs of every layer, for pictures of what they see."""
        rows = self._rows(X, np.zeros(len(X)), None)
        every = slice(0, len(rows.weights))
        return self.composition.activations(
            rows.inputs(every, self.weights.theta.dtype), self.weights
        )

    def objective(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[float, list[Array]]:
        """The objective and its gradient in each of the parameters, in float64."""
        rows = self._rows(X, y, sample_weight)
        value, gradient = value_and_gradient(
            self._engine(), self.weights, rows, self.loss, self.alpha
        )
        return value, self.composition.arrays(gradient)

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        epochs: int = 10,
        batch_size: int = 32,
        rule: Update | None = None,
        step: float | StepSize = 0.001,
        clip: float | None = None,
        random_state: Any = None,
        seconds: float | None = None,
    ) -> Network:
        """Make epochs of mini-batches, from the present weights.

        Parameters
        ----------
        X : array-like of shape (n, features) or (n, height, width, channels)
            Rows.
        y : array-like of shape (n,) or (n, outputs)
            Targets in the form that the loss takes.
        sample_weight : array-like of shape (n,), optional
            Weights ≥ 0.
        epochs : int, default=10
            Passes over the rows.
        batch_size : int, default=32
            Rows per step.
        rule : Update, optional
            What a step makes of the gradient; by default Adam().
        step : float or StepSize, default=0.001
            The length of steps, or a rule for it.
        clip : float, optional
            Longer gradients are shortened to this norm.
        random_state : int, RandomState instance or None, default=None
            Seed of the weights, if there are none yet, and of the order of the rows.
        seconds : float, optional
            The time after which the best epoch so far is kept.

        Returns
        -------
        self : Network
            Ctrl-C keeps the best epoch so far and raises KeyboardInterrupt.
        """
        random = check_random_state(random_state)
        if self._composition is None:
            self.build(np.shape(X)[1:], random, np.float32)
        rows = self._rows(X, y, sample_weight)
        rule = Adam() if rule is None else rule
        mean = float(rows.weights.mean())
        rows = Rows(rows.X, rows.y, rows.weights / mean, rows.shape)
        plan = Plan(
            rule, self.alpha / mean, batch_size, epochs, tol=0.0, patience=np.inf, clip=clip
        )
        first = step if isinstance(step, StepSize) else "constant"
        length = step.length(0) if isinstance(step, StepSize) else float(step)
        pace, weights = Pace(first, length), self.weights.copy()
        if self._progress is None:
            progress = Progress.begin(weights, rule, pace, self.history.copy())
        else:
            progress = replace(self._progress.continued(weights, rule), pace=pace)
        score = explained(self.loss) if self.loss.task == "regression" else accuracy
        descent = Descent(self._engine(), rows, self.loss, plan, score)
        with time_limit(seconds):
            status = descent.through(progress, random)
        if status in ("interrupted", "time_limit") and progress.best is not None:
            memory = rule.begin(progress.best.theta)
            progress = replace(progress, weights=progress.best, memory=memory)
        if not np.all(np.isfinite(progress.weights.theta)):
            raise ValueError(NOT_FINITE)
        self._weights, self.history = progress.weights, progress.history
        self._progress = replace(progress, best=None)
        if status == "interrupted":
            raise KeyboardInterrupt
        return self

    def __repr__(self) -> str:
        inside = ", ".join(map(repr, self.layers))
        return f"Network([{inside}], loss={self.loss!r})"

    def _engine(self) -> Engine:
        composition = self.composition
        return torch_engine(composition) if self.engine == "torch" else BuiltIn(composition)

    def _rows(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        X, y = np.asarray(X), np.asarray(y)
        if X.dtype not in (np.float32, np.float64):
            X = X.astype(np.float64)
        shape = self.composition.shape
        if X.shape[1:] != shape and int(np.prod(X.shape[1:])) != int(np.prod(shape)):
            raise ValueError(
                f"X has rows of shape {X.shape[1:]}, but the network was built for {shape}."
            )
        if len(X) != len(y):
            raise ValueError(f"X has {len(X)} rows, but y has {len(y)}.")
        y = y.astype(np.intp) if self.loss.task == "multiclass" else y.reshape(len(y), -1)
        weights = read_weights(sample_weight, X)
        return Rows(X, y, weights, shape)

    def _differentiable(self, X, y, sample_weight=None) -> Differentiable:
        """What training minimises, as a function of the arrays of all layers."""
        rows = self._rows(X, y, sample_weight)
        weights = self.weights.astype(np.float64)
        return Differentiable(self._engine(), weights, rows, self.loss, self.alpha)
