"""Convolutional networks for images: CNNClassifier."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from ..._ground.about import Example, Examples, Formula
from ..._ground.docstrings import FEATURES, described
from ..._ground.drawing import pictures
from ..._ground.stored import Declaration, Each, Numbers, Unused
from ..._ground.threads import single_blas
from ..._ground.validation import (
    Training,
    read_classification,
    read_part_of_classes,
    read_rows,
)
from ...unseen import GIVEN, as_fitted, given_to_fit
from .augmentation import Augmentation
from .classifier import NetworkClassifier, classes_task
from .composition import Composition, Weights
from .inputs import check_finite
from .layers import Conv2D, Dense, Flatten, Layer, MaxPool2D, ReLU
from .objective import Rows
from .parameters import TRAINED

Array = np.ndarray

USUAL = "usual"
# The filters of the usual layers, and the units before the outputs.
FILTERS, UNITS = (16, 32), 64
# Images with fewer pixels on a side are not pooled.
LEAST_SIDE = 4
# Images of as many rows as colours, and square in the other axes, have their channels first.
COLOURS = (1, 3, 4)
Shape = tuple[int, ...]
IMAGES = """
X : array-like of shape (n, height, width), (n, height, width, channels) or (n, n_features)
    Images; flat rows become images of `image_shape`.
"""


@dataclass(frozen=True, eq=False)
class ImageTraining(Training):
    """Validated training data whose rows are images of a shape."""

    shape: Shape = ()


@described(TRAINED, FEATURES)
class CNNClassifier(NetworkClassifier):
    """Classify images by a convolutional network.

    Minimises  Σᵢ sᵢ ℓ(yᵢ, f(xᵢ)) + ½α Σ‖W‖²  where f is a sequence of layers and ℓ the softmax
    cross-entropy, or the logistic loss for two classes.

    Parameters
    ----------
    layers : "usual" or list of Layer, default="usual"
        All layers but the last, which is a Dense layer with an output for each class. "usual" is
        Conv2D(16), ReLU, MaxPool2D, Conv2D(32), ReLU, MaxPool2D, Flatten, Dense(64), ReLU, without
        pooling where an image has fewer than 4 pixels on a side.
    image_shape : tuple of int, default=None
        (height, width) or (height, width, channels) of flat rows. If it is None, a row whose number
        of features is a square is a square image, and any other an image of one line.
    augment : Augmentation, default=None
        Random shifts and turns of the images that are learned from.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply those of their rows in the loss. They are no numbers
        of copies, which whole entries of `sample_weight` are: an epoch visits the rows as often as
        without them, and early stopping keeps the same rows aside.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    image_shape_ : ndarray of shape (3,)
        Height, width and channels of an image.
    theta_ : ndarray of shape (n_parameters,)
        The parameters of all layers in one vector.
    running_ : list of ndarray
        Running statistics of batch normalisation.
    parameters_ : list of ndarray
        `theta_` as arrays, layer by layer: weights (size, size, channels, filters) or (inputs,
        units), and biases.

    Notes
    -----
    Scale pixels to between 0 and 1. Convolution costs size²·channels·filters products per pixel,
    compiled, in float32. Weight 2 is the row repeated, weight 0 the row removed, and the order of
    the rows does not matter, unless shuffle=False; with batch normalisation that includes the means
    of a batch.

    References
    ----------
    LeCun, Bottou, Bengio and Haffner (1998), Gradient-based learning applied to document
    recognition, Proceedings of the IEEE 86.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from gapless import CNNClassifier
    >>> digits = load_digits()
    >>> form = {"batch_size": 32, "tol": 0.5, "n_iter_no_change": 1}
    >>> model = CNNClassifier(max_iter=4, random_state=0, **form)
    >>> model.fit(digits.images / 16, digits.target).score(digits.images / 16, digits.target) > 0.9
    True
    """

    _examples: ClassVar[Examples] = (
        Example("digits", {"max_iter": 10, "batch_size": 32, "random_state": 0}),
    )
    _computed = ("parameters_",)
    _stored: ClassVar[Declaration] = {
        **NetworkClassifier._stored,
        "image_shape_": Numbers(3, types="iu", low=1, high=1 << 20),
        "theta_": Numbers(None),
        "running_": Each(Numbers(None)),
        GIVEN: Unused(),
    }
    _parameter_constraints: ClassVar[dict] = {
        **NetworkClassifier._parameter_constraints,
        "layers": [StrOptions({USUAL}), list, tuple],
        "image_shape": [tuple, list, np.ndarray, None],
        "augment": [Augmentation, None],
    }

    def __init__(
        self,
        layers="usual",
        *,
        image_shape=None,
        augment=None,
        solver="adam",
        alpha=0.0001,
        batch_size="auto",
        learning_rate="constant",
        learning_rate_init=0.001,
        power_t=0.5,
        max_iter=20,
        shuffle=True,
        random_state=None,
        tol=1e-4,
        verbose=False,
        warm_start=False,
        momentum=0.9,
        nesterovs_momentum=True,
        early_stopping=False,
        validation_fraction=0.1,
        beta_1=0.9,
        beta_2=0.999,
        epsilon=1e-8,
        n_iter_no_change=10,
        class_weight=None,
        clip=None,
        engine="numpy",
        time_limit=None,
    ):
        self.layers = layers
        self.image_shape = image_shape
        self.augment = augment
        self.solver = solver
        self.alpha = alpha
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.learning_rate_init = learning_rate_init
        self.power_t = power_t
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.tol = tol
        self.verbose = verbose
        self.warm_start = warm_start
        self.momentum = momentum
        self.nesterovs_momentum = nesterovs_momentum
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.clip = clip
        self.engine = engine
        self.time_limit = time_limit

    # ---- reading ---------------------------------------------------------------------------------

    def _read(self, X, y, sample_weight, reset=True):
        flat, shape = _flattened(X)
        data = read_classification(
            self, flat, y, sample_weight, self.class_weight, fewest=1, reset=reset
        )
        self._check_classes(data, reset)
        return self._with_shape(data, shape, reset)

    def _read_part(self, X, y, classes, sample_weight):
        is_first = not hasattr(self, "classes_")
        flat, shape = _flattened(X)
        data = read_part_of_classes(self, flat, y, classes, sample_weight)
        return self._with_shape(data, shape, reset=is_first)

    def _with_shape(self, data: Training, shape: Shape | None, reset: bool) -> ImageTraining:
        """The data with the shape of their images."""
        features = data.X.shape[1]
        given = self._given_shape()
        if shape is None and given is not None:
            if math.prod(given) != features:
                raise ValueError(
                    f"image_shape {self.image_shape} has {math.prod(given)} numbers, but X has "
                    f"{features} features."
                )
            shape = given
        elif shape is not None and given is not None and shape != given:
            raise ValueError(
                f"X has images of {shape}, but image_shape is {self.image_shape}; leave it out."
            )
        if not reset:
            self._check_shape(shape)
            shape = self._fitted_shape()
        if shape is None:
            side = math.isqrt(features)
            shape = (side, side, 1) if side * side == features else (1, features, 1)
        return ImageTraining(**vars(data), shape=shape)

    def _given_shape(self) -> Shape | None:
        if self.image_shape is None:
            return None
        sides = tuple(self.image_shape)
        is_whole = all(isinstance(side, Integral) and int(side) >= 1 for side in sides)
        if len(sides) not in (2, 3) or not is_whole:
            raise ValueError(
                "image_shape must be (height, width) or (height, width, channels), got "
                f"{self.image_shape!r}."
            )
        height, width, *channels = (int(side) for side in sides)
        return (height, width, channels[0] if channels else 1)

    def _check_shape(self, shape: Shape | None) -> None:
        if shape is not None and shape != self._fitted_shape():
            raise ValueError(
                f"X has images of {shape}, but {type(self).__name__} was fitted to images of "
                f"{self._fitted_shape()}."
            )

    def _read_queries(self, X):
        flat, shape = _flattened(X)
        self._check_shape(shape)
        return read_rows(self, flat)

    # ---- the network -----------------------------------------------------------------------------

    def _task(self, data):
        return classes_task(data, Rows(data.X, data.y, data.weights, data.shape))

    def _layers_for(self, shape, outputs):
        own = _usual(shape) if isinstance(self.layers, str) else tuple(self.layers)
        return (*own, Dense(outputs))

    def _augmentation(self):
        return self.augment

    def _fitted_shape(self):
        return tuple(int(side) for side in self.image_shape_)

    def _composition(self):
        shape = self._fitted_shape()
        return Composition(as_fitted(self)._layers_for(shape, self.n_outputs_), shape)

    def _shown(self, composition, weights):
        return {
            "theta_": weights.theta,
            "running_": weights.running,
            **given_to_fit(self, ("layers", "alpha")),
        }

    def _has_weights(self):
        return hasattr(self, "theta_")

    def _kept_weights(self, composition):
        if self.theta_.shape != (composition.size,):
            raise ValueError(
                f"the last fit has {len(self.theta_)} parameters, but this network needs "
                f"{composition.size}; set warm_start=False."
            )
        return Weights(self.theta_.copy(), [array.copy() for array in self.running_])

    def _specifics(self, data):
        return {"classes_": data.classes, "image_shape_": np.array(data.shape)}

    def _misfit(self) -> str | None:
        """Whether the parameters of a file are not those of its layers."""
        composition = self._composition()
        if composition.size != len(self.theta_) or composition.outputs != self.n_outputs_:
            return "theta_ does not fit the layers"
        if math.prod(composition.shape) != self.n_features_in_:
            return "image_shape_ does not fit n_features_in_"
        pairs = zip(composition.layers, composition.shapes)
        sizes = [array.shape for layer, shape in pairs for array in layer.running(shape)]
        if sizes != [array.shape for array in self.running_]:
            return "running_ does not fit the layers"
        return None

    @property
    def parameters_(self) -> list[Array]:
        """The parameters of all layers, as arrays."""
        check_is_fitted(self)
        return self._composition().arrays(self.theta_)

    # ---- what users call -------------------------------------------------------------------------

    @described(IMAGES)
    def feature_maps(self, X):
        """What each layer makes of images.

        Returns
        -------
        maps : list of ndarray
            The outputs of the layers, (n, height, width, channels) or flat rows.
        """
        check_is_fitted(self)
        composition = self._composition()
        weights = self._kept_weights(composition)
        x = self._read_queries(X).reshape(-1, *composition.shape)
        with single_blas():
            return composition.activations(x.astype(weights.theta.dtype), weights)

    def plot_filters(self, layer=0):
        """Draw the weights of a convolution; see `plots.images`.

        Parameters
        ----------
        layer : int, default=0
            Which of the convolutions, from the input on.

        Returns
        -------
        axes : tuple of matplotlib Axes
            With an image for each filter, of its weights summed over the channels.
        """
        windows = [array for array in self.parameters_ if array.ndim == 4]
        if not 0 <= layer < len(windows):
            raise ValueError(
                f"there is no convolution {layer!r}; the network has {len(windows)}, numbered from "
                "0."
            )
        images = np.moveaxis(windows[layer].sum(axis=2), -1, 0)
        return pictures().images(images, title=f"filters of convolution {layer}")

    @described(IMAGES)
    def plot_feature_maps(self, X, layer=0):
        """Draw what a layer makes of the first of some images; see `plots.images`.

        Parameters
        ----------
        layer : int, default=0
            The number of the layer, from the input on.

        Returns
        -------
        axes : tuple of matplotlib Axes
            With an image for each channel.
        """
        maps = self.feature_maps(X)
        if not 0 <= layer < len(maps) or maps[layer].ndim != 4:
            there = [str(k) for k, array in enumerate(maps) if array.ndim == 4]
            raise ValueError(
                f"layer {layer!r} has no feature maps; layers {', '.join(there)} have some."
            )
        images = np.moveaxis(maps[layer][0], -1, 0)
        return pictures().images(images, title=f"feature maps of layer {layer}")

    def _formula(self) -> Formula:
        names = ", ".join(type(layer).__name__ for layer in self._composition().layers)
        return Formula(
            "Σᵢ ℓ(yᵢ, f(xᵢ)) + ½α Σ‖W‖², f by layers", {"f": names, "α": as_fitted(self).alpha}
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags


def _flattened(X: Any) -> tuple[Any, Shape | None]:
    """Images as flat rows, and their shape; X itself and None for flat rows."""
    if sp.issparse(X):
        raise TypeError(
            "Sparse data was passed for X, but images are dense; convert it with X.toarray()."
        )
    try:
        found = X if hasattr(X, "ndim") or hasattr(X, "columns") else np.asarray(X)
    except ValueError:
        # Rows of different lengths: the door of all estimators says which.
        return X, None
    if getattr(found, "ndim", 2) > 4:
        raise ValueError(
            f"X has shape {found.shape}; give images (n, height, width) or (n, height, width, "
            "channels), or flat rows."
        )
    if getattr(found, "ndim", 2) not in (3, 4):
        return X, None
    found = np.asarray(found)
    found = found if found.ndim == 4 else found[..., None]
    shape = (int(found.shape[1]), int(found.shape[2]), int(found.shape[3]))
    if shape[0] in COLOURS and shape[1] == shape[2] > max(COLOURS):
        raise ValueError(
            f"X has images of {shape}, as if of {shape[0]} × {shape[1]} pixels; channels come "
            "last: X.transpose(0, 2, 3, 1)."
        )
    if found.dtype.kind == "f":
        check_finite(found)
    return found.reshape(len(found), math.prod(shape)), shape


def _usual(shape: Shape) -> tuple[Layer, ...]:
    """Two convolutions with pooling, where there is something to pool, and a dense layer."""
    layers: list[Layer] = []
    side = min(shape[:2])
    for filters in FILTERS:
        layers += [Conv2D(filters), ReLU()]
        if side >= LEAST_SIDE:
            layers.append(MaxPool2D())
            side //= 2
    return (*layers, Flatten(), Dense(UNITS), ReLU())
