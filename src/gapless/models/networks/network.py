"""A composition of one's own: layers, a loss, and training by any update rule."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from ... import losses
from ..._ground.interrupt import time_limit
from ..._ground.progress import CallbackSupport, watch, with_callbacks
from ..._ground.stored import Declaration, Numbers, Value
from ..._ground.validation import Training, read_weights
from ...certificates import Certificate
from ...losses import Loss
from ...solvers import Adam, StepSize, Update
from ...unseen import JUDGED, Remembering, take_over
from .augmentation import Augmentation
from .composition import Composition, Weights
from .course import CUTS, Course, Run, as_training, beginning, is_same, targets_for
from .engines import BuiltIn, Engine
from .history import History, Underway
from .inputs import rows_of, targets_of
from .layers import Layer
from .objective import CURES, Differentiable, Rows, certificate_of, value_and_gradient
from .predictions import OutputsRead
from .refits import NetworkFit
from .torch_engine import torch_engine
from .training import Progress, outputs

Array = np.ndarray

FIT_AGAIN = "fit again: only a network that was fitted, and no copy of it, can repeat its training"
# What `fit` calls the parameters that cures name.
OWN_NAMES = {"max_iter": "epochs", "time_limit": "seconds"}
CUT_SHORT = "the training was stopped within its first epoch, which cannot be repeated"


class Network(Remembering, CallbackSupport, BaseEstimator):
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
    certificate_ : Certificate
        Of kind "stationary", if the gradient is next to 0, else "stopped". No bound on the best
        network is known. Computed on first access.
    generalization_ : Generalization
        What the network will score on unseen rows: trained again, from the weights it began with,
        without some rows; with many rows, without one part. Computed on first access.

    Notes
    -----
    `gapless.save` and `gapless.load` keep a network of gapless's layers, but not its training data:
    `gapless.certify(network, X, y)` still says how long the gradient is, and only a network that
    has been fitted since can be judged on unseen rows.

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

    _on_demand = (*Remembering._on_demand, "certificate_")
    _keeps_certificate = True
    _stored: ClassVar[Declaration] = {
        **JUDGED,
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
        learned = {
            "shape_": np.array(composition.shape),
            "progress_": beginning(weights, self._loss),
            "_built": composition,
        }
        self.__dict__.pop("_training", None)
        take_over(self, learned)
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

    @with_callbacks
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
        run = Run(
            engine=fresh._engine(),
            loss=self._loss,
            alpha=float(self.alpha),
            rule=Adam() if rule is None else rule,
            step=step,
            epochs=int(epochs),
            batch_size=int(batch_size),
            clip=clip,
            shuffle=shuffle,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            patience=patience,
            tol=tol,
            augment=augment,
            state=random.get_state(),
        )
        before, known = fresh.progress_, len(fresh.progress_.history.loss)
        # Rows of weight 0 are not there.
        counted = rows.some(np.flatnonzero(rows.weights > 0)) if not rows.weights.all() else rows
        with watch(self, rows.X, rows.y, int(epochs)) as callback, time_limit(seconds):
            progress, status = run.train(
                before,
                counted,
                random,
                lambda history, target: callback(Underway(history, known, int(epochs)), target),
            )
        if status in (*CUTS, "callback"):
            made = len(progress.history.loss) - known
            run = replace(run, epochs=made, keeps_best=status in CUTS)
        given = read_weights(sample_weight, rows.X)
        data = as_training(self._loss, rows, given, fresh.composition.outputs)
        learned = {
            "shape_": fresh.shape_,
            "_built": fresh._built,
            "progress_": progress,
            "_training": (data, fresh._course(run, data, before, progress)),
        }
        take_over(self, learned)
        if status == "interrupted":
            raise KeyboardInterrupt
        return self

    def _course(self, run: Run, data: Training, before: Progress, after: Progress) -> Course:
        """What has led to these weights, by this call of fit and those before."""
        start, runs, obstacle = beginning(before.weights.copy(), self._loss), (run,), ""
        # A first epoch that was cut has moved the weights, and left no history.
        if before.history.loss or before.ended:
            past = vars(self).get("_training")
            if past is None:
                obstacle = "the network had been trained on rows that it no longer has"
            elif not is_same(past[0], data):
                obstacle = "the network had been trained on other rows, or with other weights"
            elif not np.array_equal(past[1].found.theta, before.weights.theta):
                obstacle = "the parameters had been changed by hand between two calls of fit"
            else:
                start, runs, obstacle = past[1].start, (*past[1].runs, run), past[1].obstacle
        if not run.epochs:
            obstacle = obstacle or CUT_SHORT
        return Course(start, runs, after.weights.copy(), obstacle)

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

    # ---- both gaps -------------------------------------------------------------------------------

    @functools.cached_property
    def certificate_(self) -> Certificate:  # type: ignore[override]
        """How near the weights are to a stationary point; computed on first access."""
        data, _ = self._kept_training("call gapless.certify(network, X, y, sample_weight)")
        y = targets_for(self._loss, data)
        return self._certificate(Rows(data.X, y, data.weights, self.composition.shape))

    def _certified(self, X: Any, y: Any, sample_weight: Any = None) -> Certificate:
        return self._certificate(self._rows(X, y, sample_weight))

    def _certificate(self, rows: Rows) -> Certificate:
        cure = CURES.get(self.progress_.ended, "")
        for name, own in OWN_NAMES.items():
            cure = cure.replace(name, own)
        weights, alpha = self.weights.astype(np.float64), float(self.alpha)
        return certificate_of(self._engine(), weights, rows, self._loss, alpha, cure, "step")

    def _fitted_to(self, X: Any, y: Any, sample_weight: Any = None) -> NetworkFit:
        rows = self._rows(X, y, sample_weight)
        given = read_weights(sample_weight, rows.X)
        data, course = self._kept_training(FIT_AGAIN)
        found = as_training(self._loss, rows, given, self.composition.outputs)
        if not is_same(replace(data, weights=data.sample_weight), found):
            raise ValueError(
                "X, y and sample_weight are not the data of the last fit; pass those, or fit again."
            )
        return self._fitted(data, course)

    def _remembered(self, cure: str) -> NetworkFit:
        return self._fitted(*self._kept_training(FIT_AGAIN))

    def _fitted(self, data: Training, course: Course) -> NetworkFit:
        if not np.array_equal(course.found.theta, self.weights.theta):
            raise ValueError(
                "the parameters have been changed since the fit, which can only be repeated as it "
                "was; fit again."
            )
        fitted = NetworkFit(course, data, 0)
        # Labels get some in any case: those of the logistic loss.
        if data.y.ndim == 1:
            fitted.has_probabilities = course.loss.has_probabilities
        return fitted

    @property
    def _scored_as(self) -> OutputsRead:
        """What is scored on unseen rows: predictions, in place of outputs."""
        data, course = self._kept_training(FIT_AGAIN)
        return OutputsRead(course.loss, data.classes, data.y.ndim == 2)

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
