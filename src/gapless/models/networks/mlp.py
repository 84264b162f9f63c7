"""Multi-layer perceptrons: MLPClassifier and MLPRegressor."""

from __future__ import annotations

from numbers import Integral
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import RegressorMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if

from ... import losses
from ..._ground.about import Example, Examples, Formula
from ..._ground.docstrings import FEATURES, described
from ..._ground.stored import Declaration, Each, Flag, Numbers, Whole, Word
from ..._ground.validation import (
    Training,
    is_multilabel,
    known_classes,
    read_classification,
    read_multilabel,
    read_part_of_classes,
    read_regression,
    read_rows,
)
from ...losses import Loss
from ...unseen import GIVEN, as_fitted, given_to_fit
from ._base import NetworkModel, Task
from .classifier import NetworkClassifier, classes_task
from .composition import Composition, Weights
from .layers import Dense, Identity, Layer, ReLU, Sigmoid, Tanh
from .objective import Rows
from .parameters import DATA, ROWS, TRAINED, is_stochastic
from .predictions import explained
from .refits import wider

Array = np.ndarray

ACTIVATIONS: dict[str, Layer] = {
    "identity": Identity(),
    "logistic": Sigmoid(),
    "tanh": Tanh(),
    "relu": ReLU(),
}
# The first weights of layers before a sigmoid are smaller (Glorot and Bengio 2010).
SPREADS = {"logistic": 2.0}
PERCEPTRON = """
hidden_layer_sizes : int or array-like of int
    The number of units of each hidden layer.
activation : {"relu", "tanh", "logistic", "identity"}
    The function of each hidden unit: max(0, x), tanh x, 1/(1 + exp(−x)), or x.
max_fun : int
    The most evaluations of the objective by "lbfgs".
coefs_ : list of ndarray of shape (units before, units)
    The weights W of each layer.
intercepts_ : list of ndarray of shape (units,)
    The biases b of each layer.
n_layers_ : int
    Number of layers, the input among them.
out_activation_ : str
    What becomes of the outputs: "softmax", "logistic", "identity" or "exp".
"""


class MultilayerPerceptron(NetworkModel):
    """What both perceptrons share: dense layers with an activation between."""

    _stored: ClassVar[Declaration] = {
        **NetworkModel._stored,
        "coefs_": Each(Numbers(None, None), least=1),
        "intercepts_": Each(Numbers(None), least=1),
        "n_layers_": Whole(2),
        "out_activation_": Word(),
        GIVEN: NetworkModel._stored["_optimizer"],
    }
    _parameter_constraints: ClassVar[dict] = {
        **NetworkModel._parameter_constraints,
        "hidden_layer_sizes": ["array-like", Interval(Integral, 1, None, closed="left")],
        "activation": [StrOptions(set(ACTIVATIONS))],
        "max_fun": [Interval(Integral, 1, None, closed="left")],
    }

    # The parameters of the fit that predictions and both gaps depend on.
    _read_later: ClassVar[tuple[str, ...]] = ("activation", "alpha")

    def _sizes(self) -> list[int]:
        """The units of the hidden layers."""
        sizes = np.atleast_1d(np.asarray(self.hidden_layer_sizes))
        is_whole = sizes.ndim == 1 and (sizes.size == 0 or sizes.dtype.kind in "iu")
        if not is_whole or np.any(sizes <= 0):
            raise ValueError(
                "hidden_layer_sizes must be > 0, whole numbers of units, got "
                f"{np.ravel(self.hidden_layer_sizes).tolist()}."
            )
        return [int(size) for size in sizes]

    def _check_parameters(self):
        super()._check_parameters()
        self._sizes()

    def _layers_for(self, shape, outputs):
        return _dense_layers(self._sizes(), self.activation, outputs)

    def _composition(self):
        sizes = [W.shape[1] for W in self.coefs_[:-1]]
        layers = _dense_layers(sizes, as_fitted(self).activation, self.n_outputs_)
        return Composition(layers, (self.n_features_in_,))

    def _shown(self, composition, weights):
        arrays = [array.copy() for array in composition.arrays(weights.theta)]
        return {
            "coefs_": arrays[0::2],
            "intercepts_": arrays[1::2],
            "n_layers_": len(arrays) // 2 + 1,
            **given_to_fit(self, self._read_later),
        }

    def _has_weights(self):
        return hasattr(self, "coefs_")

    def _kept_weights(self, composition):
        pairs = [array for pair in zip(self.coefs_, self.intercepts_) for array in pair]
        return Weights(composition.joined(pairs, self.coefs_[0].dtype))

    def _misfit(self) -> str | None:
        """Whether the layers of a file do not fit together."""
        width = self.n_features_in_
        if len(self.coefs_) != len(self.intercepts_):
            return "coefs_ and intercepts_ are not of the same layers"
        if self.n_layers_ != len(self.coefs_) + 1:
            return "n_layers_ is not the number of coefs_ plus 1"
        if as_fitted(self).activation not in ACTIVATIONS:
            return "the activation is not known"
        for W, b in zip(self.coefs_, self.intercepts_):
            if W.shape[0] != width or W.shape[1] != len(b) or not len(b):
                return "coefs_ and intercepts_ do not fit together"
            width = W.shape[1]
        return None if width == self.n_outputs_ else "the last layer has not n_outputs_ units"

    def _read_queries(self, X):
        return read_rows(self, X)

    def _richer(self):
        sizes = self._sizes()
        return super()._richer() + ([wider(sizes)] if sizes else [])

    def _formula(self) -> Formula:
        units = " → ".join(str(size) for size in [self.n_features_in_, *self._units()])
        text = "Σᵢ ℓ(yᵢ, f(xᵢ)) + ½α Σ‖W‖², f by dense layers"
        return Formula(text, {"units": units, "α": as_fitted(self).alpha})

    def _units(self) -> list[int]:
        return [len(b) for b in self.intercepts_]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _dense_layers(sizes: list[int], activation: str, outputs: int) -> tuple[Layer, ...]:
    spread = SPREADS.get(activation, 6.0)
    hidden = [layer for size in sizes for layer in (Dense(size, spread), ACTIVATIONS[activation])]
    return (*hidden, Dense(outputs, spread))


def _rows(data: Training, y: Array) -> Rows:
    X = data.X.tocsr() if sp.issparse(data.X) else data.X
    return Rows(X, y, data.weights, (X.shape[1],))


@described(PERCEPTRON, TRAINED, FEATURES)
class MLPClassifier(NetworkClassifier, MultilayerPerceptron):
    """Classify by a network of dense layers: a multi-layer perceptron.

    Minimises  Σᵢ sᵢ ℓ(yᵢ, f(xᵢ)) + ½α Σ‖W‖²  where f is a sequence of layers, each h ← g(hW + b),
    and ℓ the softmax cross-entropy, or the logistic loss for two classes or several labels.

    Parameters
    ----------
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply those of their rows in the loss. They are no numbers
        of copies, which whole entries of `sample_weight` are: an epoch visits the rows as often as
        without them, and early stopping keeps the same rows aside.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.

    Notes
    -----
    An epoch costs about 6·n·(number of weights) operations, in float32, except for L-BFGS and
    numbers above 10,000. Features should have similar scales, e.g. by StandardScaler(). Trees and
    forests usually do better on small tables. Weight 2 is the row repeated, weight 0 the row
    removed, and the order of the rows does not matter, unless shuffle=False. In `partial_fit` a
    weight multiplies the step. scikit-learn's "sgd" and "adam" divide the penalty by the size of a
    batch; here it is the same for all solvers.

    References
    ----------
    Rumelhart, Hinton and Williams (1986), Learning representations by back-propagating errors,
    Nature 323. Glorot and Bengio (2010), Understanding the difficulty of training deep feedforward
    neural networks. Kingma and Ba (2015), Adam: a method for stochastic optimization.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import scale
    >>> from gapless import MLPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MLPClassifier(16, max_iter=300, learning_rate_init=0.01, random_state=0)
    >>> model.fit(scale(X), y).score(scale(X), y) > 0.95
    True
    """

    _examples: ClassVar[Examples] = (
        Example("wine", {"hidden_layer_sizes": 20, "max_iter": 1000, "random_state": 0}),
    )
    _stored: ClassVar[Declaration] = {
        **MultilayerPerceptron._stored,
        **NetworkClassifier._stored,
        "_is_multilabel": Flag(),
    }
    _parameter_constraints: ClassVar[dict] = {
        **MultilayerPerceptron._parameter_constraints,
        **NetworkClassifier._parameter_constraints,
    }

    def __init__(
        self,
        hidden_layer_sizes=(100,),
        activation="relu",
        *,
        solver="adam",
        alpha=0.0001,
        batch_size="auto",
        learning_rate="constant",
        learning_rate_init=0.001,
        power_t=0.5,
        max_iter=200,
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
        max_fun=15000,
        class_weight=None,
        clip=None,
        engine="numpy",
        time_limit=None,
    ):
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
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
        self.max_fun = max_fun
        self.class_weight = class_weight
        self.clip = clip
        self.engine = engine
        self.time_limit = time_limit

    def _read(self, X, y, sample_weight, reset=True):
        if is_multilabel(y):
            data = read_multilabel(self, X, y, sample_weight, self.class_weight, reset=reset)
        else:
            data = read_classification(
                self, X, y, sample_weight, self.class_weight, fewest=1, reset=reset
            )
        self._check_classes(data, reset)
        return data

    def _task(self, data):
        return classes_task(data, _rows(data, data.y))

    def _specifics(self, data):
        several = data.y.ndim == 2
        classes = 0 if data.classes is None else len(data.classes)
        return {
            "classes_": data.classes,
            "_is_multilabel": several,
            "out_activation_": "softmax" if classes > 2 and not several else "logistic",
        }

    def _read_part(self, X, y, classes, sample_weight):
        if not is_multilabel(y):
            return read_part_of_classes(self, X, y, classes, sample_weight)
        known_classes(self, classes)
        is_first = not hasattr(self, "classes_")
        return read_multilabel(self, X, y, sample_weight, self.class_weight, reset=is_first)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


@described(PERCEPTRON, TRAINED, FEATURES)
class MLPRegressor(RegressorMixin, MultilayerPerceptron):
    """Predict numbers by a network of dense layers: a multi-layer perceptron.

    Minimises  Σᵢ sᵢ ℓ(yᵢ, f(xᵢ)) + ½α Σ‖W‖²  where f is a sequence of layers, each h ← g(hW + b).

    Parameters
    ----------
    loss : {"squared_error", "poisson"} or Loss, default="squared_error"
        The loss ℓ: half of the square, half the Poisson deviance of counts with mean exp(f), or
        any loss of gapless for regression by name, such as "huber", or as an instance.

    Notes
    -----
    An epoch costs about 6·n·(number of weights) operations, in float32, except for L-BFGS and
    numbers above 10,000. Features and targets should have similar scales, e.g. by
    StandardScaler(). Weight 2 is the row repeated, weight 0 the row removed, and the order of the
    rows does not matter, unless shuffle=False. In `partial_fit` a weight multiplies the step.

    References
    ----------
    Rumelhart, Hinton and Williams (1986), Learning representations by back-propagating errors,
    Nature 323. Kingma and Ba (2015), Adam: a method for stochastic optimization.

    Examples
    --------
    >>> import numpy as np
    >>> from gapless import MLPRegressor
    >>> X = np.linspace(-2, 2, 100)[:, None]
    >>> model = MLPRegressor(20, "tanh", solver="lbfgs", max_iter=500, random_state=0)
    >>> model.fit(X, np.sin(2 * X[:, 0])).score(X, np.sin(2 * X[:, 0])) > 0.99
    True
    """

    _examples: ClassVar[Examples] = (
        Example(
            "diabetes",
            {
                "hidden_layer_sizes": 20,
                "solver": "lbfgs",
                "alpha": 100.0,
                "max_iter": 2000,
                "random_state": 0,
            },
        ),
    )
    _stored: ClassVar[Declaration] = {
        **MultilayerPerceptron._stored,
        "_is_flat": Flag(),
    }
    _parameter_constraints: ClassVar[dict] = {
        **MultilayerPerceptron._parameter_constraints,
        "loss": [str, Loss],
    }
    _read_later = (*MultilayerPerceptron._read_later, "loss")

    def __init__(
        self,
        loss="squared_error",
        hidden_layer_sizes=(100,),
        activation="relu",
        *,
        solver="adam",
        alpha=0.0001,
        batch_size="auto",
        learning_rate="constant",
        learning_rate_init=0.001,
        power_t=0.5,
        max_iter=200,
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
        max_fun=15000,
        clip=None,
        engine="numpy",
        time_limit=None,
    ):
        self.loss = loss
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
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
        self.max_fun = max_fun
        self.clip = clip
        self.engine = engine
        self.time_limit = time_limit

    def _check_parameters(self):
        super()._check_parameters()
        loss = self._loss()
        if loss.task != "regression":
            raise ValueError(
                f"the {loss.name} loss is for classes; use MLPClassifier, or a loss such as "
                '"squared_error".'
            )

    def _loss(self) -> Loss:
        known = {"squared_error": losses.Squared()}
        found = known.get(self.loss) if isinstance(self.loss, str) else None
        return losses.by_name(self.loss) if found is None else found

    def _read(self, X, y, sample_weight, reset=True):
        data = read_regression(self, X, y, sample_weight, multi_output=True, reset=reset)
        self._loss().check_targets(data.y)
        return data

    def _task(self, data):
        y = data.y.reshape(len(data.y), -1)
        loss = self._loss()
        return Task(loss, _rows(data, y), y.shape[1], explained(loss), "R²")

    def _specifics(self, data):
        is_linked = self._loss().has_link
        return {
            "_is_flat": data.y.ndim == 1 or data.y.shape[1] == 1,
            "out_activation_": "exp" if is_linked else "identity",
        }

    @available_if(is_stochastic)
    @described(DATA)
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, sample_weight=None):
        """Make one epoch on these rows, from where the last call ended.

        Returns
        -------
        self : object
            The fitted estimator. It keeps no reference to its data: pass them to
            `gapless.certify` and `gapless.generalize`.
        """
        self._check_parameters()
        self._learn_part(self._read(X, y, sample_weight, reset=not self._has_weights()))
        return self

    @described(ROWS)
    def predict(self, X):
        """Predict numbers.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predicted targets.
        """
        found = as_fitted(self)._loss().inverse_link(self._scores(X))
        return found[:, 0] if self._is_flat else found

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
