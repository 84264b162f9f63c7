"""A composition of one's own: layers, a loss, and training by any update rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from ... import losses
from ..._ground.interrupt import time_limit
from ..._ground.progress import watch
from ..._ground.stored import Declaration, Numbers, Value
from ..._ground.validation import read_weights
from ...certificates import Certificate
from ...losses import Loss
from ...solvers import Adam, Memory, StepSize, Update
from ._base import CURES, Differentiable, accuracy, explained
from .augmentation import Augmentation
from .composition import Composition, Weights
from .engines import BuiltIn, Engine
from .history import History, Underway
from .inputs import rows_of, targets_of
from .layers import Layer
from .objective import Rows, certificate_of, value_and_gradient
from .torch_engine import torch_engine
from .training import NOT_FINITE, Descent, Pace, Plan, Progress, kept_aside, outputs

Array = np.ndarray


class Network(BaseEstimator):
    """A sequence of layers with a loss: forward, backward, update.

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

    Notes
    -----
    `gapless.save` and `gapless.load` keep a network of gapless's layers, `gapless.certify(network,
    X, y)` says how long the gradient is. MLPClassifier, MLPRegressor and CNNClassifier(layers)
    judge themselves on unseen rows; a network only scores rows that are kept aside in `fit`.

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

    _stored: ClassVar[Declaration] = {
        "shape_": Numbers(None, types="iu", low=1, high=1 << 31),
        "progress_": Value(Progress),
    }
    layers: Sequence[Layer]
    loss: str | Loss
    alpha: float
    engine: str
    shape_: Array
    progress_: Progress

    def __init__(
        self,
        layers: Sequence[Layer],
        loss: str | Loss = "softmax",
        *,
        alpha: float = 0.0,
        engine: str = "numpy",
    ):
        if not isinstance(alpha, Real) or not alpha >= 0:
            raise ValueError(f"alpha must be at least 0, got {alpha!r}.")
        if engine not in ("numpy", "torch"):
            raise ValueError(f'engine must be "numpy" or "torch", got {engine!r}.')
        losses.by_name(loss)  # refuses an unknown one
        self.layers = layers
        self.loss = loss
        self.alpha = alpha
        self.engine = engine
        self._built: Composition | None = None

    # ---- weights ---------------------------------------------------------------------------------

    def build(
        self, shape: int | Sequence[int], random_state: Any = None, dtype: Any = np.float64
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
        return self._begun(shape, check_random_state(random_state), dtype)

    def _begun(self, shape: int | Sequence[int], random: Any, dtype: Any) -> Network:
        sides = tuple(shape) if isinstance(shape, Sequence | np.ndarray) else (shape,)
        for side in sides:
            _check_whole(side, "each side of shape")
        composition = Composition(tuple(self.layers), tuple(map(int, sides)))
        _ = composition.outputs  # refuses a network that does not end flat
        weights = composition.begin(random, np.dtype(dtype))
        metric = "R²" if self._loss.task == "regression" else "accuracy"
        pace = Pace("constant", 1.0)
        progress = Progress(weights, Memory(0, ()), None, pace, history=History(metric))
        self.shape_, self.progress_, self._built = (
            np.array(composition.shape),
            progress,
            composition,
        )
        return self

    @property
    def composition(self) -> Composition:
        """The layers with their shapes, once they are built."""
        if not hasattr(self, "progress_"):
            raise AttributeError("the network has no weights yet; call build(shape) or fit(X, y).")
        if self._built is None:
            self._built = Composition(tuple(self.layers), tuple(int(s) for s in self.shape_))
        return self._built

    @property
    def weights(self) -> Weights:
        """All parameters in one vector, and running statistics."""
        _ = self.composition
        return self.progress_.weights

    @property
    def parameters(self) -> list[Array]:
        """The parameters of all layers, views that may be changed in place."""
        return self.composition.arrays(self.weights.theta)

    @property
    def history(self) -> History:
        """What training has reached after each epoch."""
        return self.progress_.history if hasattr(self, "progress_") else History()

    # ---- forward, backward, update ---------------------------------------------------------------

    def predict(self, X: Any) -> Array:
        """The outputs for rows, (n, outputs): scores of classes, or numbers on the loss's scale."""
        return outputs(self._engine(), self.weights, self._queries(X))

    def activations(self, X: Any) -> list[Array]:
        """The outputs of every layer, for pictures of what they see."""
        rows, dtype = self._queries(X), self.weights.theta.dtype
        every = slice(0, len(rows.weights))
        return self.composition.activations(rows.inputs(every, dtype), self.weights)

    def objective(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[float, list[Array]]:
        """The objective and its gradient in each of the parameters, in float64."""
        rows = self._rows(X, y, sample_weight)
        value, gradient = value_and_gradient(
            self._engine(), self.weights, rows, self._loss, float(self.alpha)
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
        shuffle: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        patience: int = 10,
        tol: float = 1e-4,
        class_weight: Any = None,
        augment: Augmentation | None = None,
        random_state: Any = None,
        seconds: float | None = None,
    ) -> Network:
        """Make epochs of mini-batches, from the present weights.

        Parameters
        ----------
        X : array-like of shape (n, features), (n, height, width) or (n, height, width, channels)
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
        shuffle : bool, default=True
            Whether each epoch has the rows in another random order.
        early_stopping : bool, default=False
            Whether to keep rows aside, to stop when their score no longer rises, and to keep the
            weights of the best epoch.
        validation_fraction : float, default=0.1
            The fraction of the rows that early stopping keeps aside.
        patience : int, default=10
            The epochs without a higher score after which early stopping ends the training.
        tol : float, default=1e-4
            A score is higher if it rises by this much.
        class_weight : dict, "balanced" or None, default=None
            Weights of the classes, which multiply those of their rows.
        augment : Augmentation, optional
            Random shifts and turns of the images that are learned from.
        random_state : int, RandomState instance or None, default=None
            Seed of the weights, if there are none yet, and of the order of the rows.
        seconds : float, optional
            The time after which the best epoch so far is kept.

        Returns
        -------
        self : Network
            Ctrl-C keeps the best epoch so far and raises KeyboardInterrupt; an error leaves the
            network as it was.
        """
        for name, value in {"epochs": epochs, "batch_size": batch_size}.items():
            _check_whole(value, name)
        for name, limit in {"clip": clip, "seconds": seconds}.items():
            if limit is not None and not limit > 0:
                raise ValueError(f"{name} must be more than 0, got {limit!r}.")
        if not isinstance(step, StepSize) and not (isinstance(step, Real) and step > 0):
            raise ValueError(f"step must be a number above 0 or a StepSize, got {step!r}.")
        random = check_random_state(random_state)
        fresh = self
        if not hasattr(self, "progress_"):
            fresh = Network(self.layers, self.loss, alpha=self.alpha, engine=self.engine)
            fresh._begun(rows_of(X, None).shape[1:], random, np.float32)
        rows = fresh._rows(X, y, sample_weight, class_weight)
        if augment is not None and len(rows.shape) != 3:
            raise ValueError("augment changes images, and X has flat rows; leave it out.")
        mean = float(rows.weights.mean())
        rows, aside = replace(rows, weights=rows.weights / mean), None
        if early_stopping:
            has_classes = self._loss.task != "regression"
            copies = np.ones(len(rows.weights))
            rows, aside = kept_aside(rows, copies, has_classes, validation_fraction, random)
        rule = Adam() if rule is None else rule
        plan = Plan(
            rule,
            float(self.alpha) / mean,
            min(int(batch_size), len(rows.weights)),
            int(epochs),
            shuffle,
            tol,
            patience if early_stopping else np.inf,
            clip,
            augment,
        )
        length = step.length(0) if isinstance(step, StepSize) else float(step)
        pace = Pace(step if isinstance(step, StepSize) else "constant", length)
        progress = replace(fresh.progress_.continued(fresh.weights.copy(), rule), pace=pace)
        score = explained(self._loss) if self._loss.task == "regression" else accuracy
        descent = Descent(fresh._engine(), rows, self._loss, plan, score, aside)
        known = len(progress.history.loss)
        with watch(self, rows.X, rows.y) as callback, time_limit(seconds):
            status = descent.through(
                progress,
                random,
                lambda history, target: callback(Underway(history, known, int(epochs)), target),
            )
        is_cut = early_stopping or status in ("interrupted", "time_limit")
        if is_cut and progress.best is not None:
            memory = rule.begin(progress.best.theta)
            progress = replace(progress, weights=progress.best, memory=memory)
        if not np.all(np.isfinite(progress.weights.theta)):
            raise ValueError(NOT_FINITE.format("step"))
        ended = "kept aside" if early_stopping and status == "settled" else status
        self.shape_, self._built = fresh.shape_, fresh._built
        self.progress_ = replace(progress, best=None, ended=ended)
        if status == "interrupted":
            raise KeyboardInterrupt
        return self

    def __repr__(self) -> str:
        inside = ", ".join(map(repr, self.layers))
        return f"Network([{inside}], loss={self.loss!r})"

    @property
    def _loss(self) -> Loss:
        return losses.by_name(self.loss)

    def _engine(self) -> Engine:
        composition = self.composition
        return torch_engine(composition) if self.engine == "torch" else BuiltIn(composition)

    def _queries(self, X: Any) -> Rows:
        shape = self.composition.shape
        X = rows_of(X, shape)
        return Rows(X, np.zeros(X.shape[0]), np.ones(X.shape[0]), shape)

    def _rows(self, X: Any, y: Any, sample_weight: Any, class_weight: Any = None) -> Rows:
        composition = self.composition
        X = rows_of(X, composition.shape)
        y = targets_of(self._loss, y, X.shape[0], composition.outputs)
        weights = read_weights(sample_weight, X)
        if class_weight is not None:
            weights = weights * _of_classes(class_weight, y, weights, self._loss)
        return Rows(X, y, weights, composition.shape)

    def _certified(self, X: Any, y: Any, sample_weight: Any = None) -> Certificate:
        rows = self._rows(X, y, sample_weight)
        cure = CURES.get(self.progress_.ended, "").replace("max_iter", "epochs")
        weights, alpha = self.weights.astype(np.float64), float(self.alpha)
        return certificate_of(self._engine(), weights, rows, self._loss, alpha, cure)

    def _differentiable(self, X, y, sample_weight=None) -> Differentiable:
        """What training minimises, as a function of the arrays of all layers."""
        rows = self._rows(X, y, sample_weight)
        weights = self.weights.astype(np.float64)
        return Differentiable(self._engine(), weights, rows, self._loss, float(self.alpha))

    def _misfit(self) -> str | None:
        """Whether the parameters of a file are not those of its layers."""
        weights, composition = self.progress_.weights, self.composition
        if not isinstance(weights, Weights) or not isinstance(self.progress_.history, History):
            return "progress_ has no weights or no history"
        pairs = zip(composition.layers, composition.shapes)
        sizes = [array.shape for layer, shape in pairs for array in layer.running(shape)]
        found = [weights.theta, *weights.running]
        if any(getattr(array, "dtype", None) not in (np.float32, np.float64) for array in found):
            return "the weights are no numbers"
        if [(composition.size,), *sizes] != [array.shape for array in found]:
            return "the weights do not fit the layers"
        return None


def _check_whole(value: Any, name: str) -> None:
    if not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")


def _of_classes(class_weight: Any, y: Array, weights: Array, loss: Loss) -> Array:
    """The weight of each row's class."""
    labels = y if y.ndim == 1 else y[:, 0]
    if loss.task == "regression" or (y.ndim == 2 and y.shape[1] > 1):
        raise ValueError("class_weight needs one class for each row; pass sample_weight instead.")
    classes, position = np.unique(labels, return_inverse=True)
    if isinstance(class_weight, dict):
        factors = np.array([float(class_weight.get(c, 1.0)) for c in classes.tolist()])
    elif isinstance(class_weight, str) and class_weight == "balanced":
        mass = np.bincount(position, weights=weights)
        count = np.count_nonzero(mass)
        factors = np.divide(weights.sum(), count * mass, out=np.zeros(len(mass)), where=mass > 0)
    else:
        raise ValueError(f'class_weight must be a dict or "balanced", got {class_weight!r}.')
    if not np.all(factors >= 0) or not np.any(factors > 0):
        raise ValueError(f"class_weight must have weights of at least 0, got {class_weight!r}.")
    return factors[position]
