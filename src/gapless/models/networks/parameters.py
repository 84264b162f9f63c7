"""The parameters that all networks share: what they mean, which values they take, what they make.

`_base` trains by what is made of them here: the plan, the update rule, the pace and the precision.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval, Options, StrOptions

from ..._ground.progress import CALLBACK_FRAMES
from ..._ground.validation import Training
from ...solvers import Adam, Momentum, Nesterov, Plain, StepSize, Update
from .composition import Composition
from .training import Pace, Plan

Array = np.ndarray

LBFGS = "lbfgs"
# The most evaluations of L-BFGS, where it is no parameter.
MOST_EVALUATIONS = 15_000
# Rows per step with batch_size="auto".
USUAL_BATCH = 200
# An epoch of rows that stand for several copies makes up to this many steps.
STEPS = 20
# Numbers up to this size lose nothing that matters in float32.
MODERATE = 1e4
# A certificate of at most this many multiplications is computed by the fit, others on demand.
LITTLE_WORK = 1e7
# Shared by the docstrings of several classes and methods.
DATA = """
X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
    Training data.
y : array-like of shape (n_samples,) or (n_samples, n_outputs)
    Classes, or numbers.
sample_weight : array-like of shape (n_samples,)
    Weights ≥ 0. Weight 2 means the row twice, weight 0 means the row is not there.
"""
ROWS = """
X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
    Rows to predict; CNNClassifier also takes images as `fit` does.
"""
TRAINED = """
solver : {"adam", "sgd", "lbfgs"} or Update
    Adam; stochastic gradient descent with `momentum`; L-BFGS on all rows at once, for small data;
    or an update rule of gapless.solvers, such as Adam(decay=0.01), which is AdamW, or
    AveragedMomentum(0.1).
alpha : float
    Strength of the penalty ½α‖W‖² on the weights of all layers, beside the sum of the losses.
batch_size : int or "auto"
    Rows per step; "auto" is 200, or all of fewer rows.
learning_rate : {"constant", "invscaling", "adaptive"} or StepSize
    η₀; η₀/(rows seen + 1)ᵖ; η₀, a fifth of it whenever progress ends; or η of each step by a rule
    of gapless.solvers, such as Cosine(0.01, steps=2000).
learning_rate_init : float
    The length η₀ of the first steps.
power_t : float
    p.
max_iter : int
    The most epochs, or steps of L-BFGS.
shuffle : bool
    Whether each epoch has the rows in another random order. False takes them as they are, and
    equal rows one by one.
random_state : int, RandomState instance or None
    Seed of the first weights, of the order of the rows, of what is dropped and of the rows kept
    aside; the same seed gives the same bits, for any number of threads.
tol : float
    Training ends when the loss falls by less than this for `n_iter_no_change` epochs, or the score
    on the rows kept aside rises by less; for L-BFGS the largest entry of the gradient.
verbose : bool
    Whether to print the loss of each epoch; long fits show their progress on a terminal anyway.
warm_start : bool
    Whether to start from the weights of the last fit.
momentum : float
    The part of the last change that "sgd" repeats.
nesterovs_momentum : bool
    Whether "sgd" takes the gradient ahead.
early_stopping : bool
    Whether to keep rows aside, to stop when their score no longer rises, and to keep the weights of
    the best epoch.
validation_fraction : float
    The fraction of the rows that early stopping keeps aside.
beta_1 : float
    How slowly the mean of the gradients forgets in Adam.
beta_2 : float
    How slowly the mean of their squares forgets.
epsilon : float
    Keeps the quotient of Adam finite.
n_iter_no_change : int
    Epochs without progress after which training ends.
clip : float
    Gradients of a batch that are longer are shortened to this norm; None leaves them.
engine : {"numpy", "torch"}
    What computes: NumPy with the compiled core, or PyTorch, on a GPU if there is one; both take the
    same steps, up to rounding.
time_limit : float
    Seconds after which the best epoch so far is kept.
loss_ : float
    The objective per row, of the last epoch.
best_loss_ : float or None
    The lowest; None with early stopping.
loss_curve_ : list of float
    `loss_` of all epochs.
validation_scores_ : list of float or None
    Accuracy or R² on the rows kept aside, with early stopping.
best_validation_score_ : float or None
    The best of them.
history_ : History
    Loss, scores, time and step size of each epoch, with a picture: `history_.plot()`.
t_ : int
    Number of rows seen by the steps so far.
n_iter_ : int
    Number of epochs, or of steps of L-BFGS.
n_outputs_ : int
    Number of outputs of the network.
certificate_ : Certificate
    Of kind "stationary", if the gradient is next to 0, else "stopped". No bound on the best network
    is known. Of a large fit it is computed on first access.
generalization_ : Generalization
    What the model will score on unseen rows: refitted without some rows, of which it keeps one part
    aside if there are many.
"""
CONSTRAINTS: dict[str, list] = {
    "solver": [StrOptions({LBFGS, "sgd", "adam"}), Update],
    "alpha": [Interval(Real, 0, None, closed="left")],
    "batch_size": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
    "learning_rate": [StrOptions({"constant", "invscaling", "adaptive"}), StepSize],
    "learning_rate_init": [Interval(Real, 0, None, closed="neither")],
    "power_t": [Interval(Real, 0, None, closed="left")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "shuffle": ["boolean"],
    "random_state": ["random_state"],
    "tol": [Interval(Real, 0, None, closed="left")],
    "verbose": ["verbose"],
    "warm_start": ["boolean"],
    "momentum": [Interval(Real, 0, 1, closed="both")],
    "nesterovs_momentum": ["boolean"],
    "early_stopping": ["boolean"],
    "validation_fraction": [Interval(Real, 0, 1, closed="left")],
    "beta_1": [Interval(Real, 0, 1, closed="left")],
    "beta_2": [Interval(Real, 0, 1, closed="left")],
    "epsilon": [Interval(Real, 0, None, closed="neither")],
    "n_iter_no_change": [
        Interval(Integral, 1, None, closed="left"),
        Options(Real, {np.inf}),
    ],
    "clip": [Interval(Real, 0, None, closed="neither"), None],
    "engine": [StrOptions({"numpy", "torch"})],
    "time_limit": [Interval(Real, 0, None, closed="neither"), None],
}


def check_together(model: Any, has_augmentation: bool) -> None:
    """Refuse parameters that do not go together."""
    if model.solver != LBFGS:
        return
    # L-BFGS takes steps along the gradient of all rows, and does nothing at random.
    needs_batches = {
        "clip": model.clip is not None,
        "early_stopping": model.early_stopping,
        "augment": has_augmentation,
    }
    for name in (name for name, is_set in needs_batches.items() if is_set):
        raise ValueError(
            f'{name} works on batches, which solver="lbfgs" does not make; leave it out, or '
            'use solver="adam" or "sgd".'
        )


def is_stochastic(model: Any) -> bool:
    """Whether it learns from batches; an error that says so for L-BFGS."""
    if model.solver == LBFGS:
        raise AttributeError(
            "partial_fit is only available for stochastic optimizers. lbfgs is not stochastic."
        )
    return True


def plan_of(model: Any, rows: int, copies: float, alpha: float) -> Plan:
    """How to descend over rows that stand for so many copies each."""
    size = min(USUAL_BATCH, rows) if model.batch_size == "auto" else model.batch_size
    if size > rows:
        warnings.warn(
            f"Got `batch_size` less than 1 or larger than sample size: {size} for {rows} "
            "distinct rows; all of them are one batch.",
            stacklevel=5 + CALLBACK_FRAMES,
        )
    size = max(1, min(size, rows))
    return Plan(
        rule=rule_of(model),
        alpha=alpha,
        batch_size=size,
        max_iter=model.max_iter,
        shuffle=model.shuffle,
        tol=model.tol,
        patience=model.n_iter_no_change,
        clip=model.clip,
        augment=model._augmentation(),
        passes=_passes(-(-rows // size), copies),
    )


def rule_of(model: Any) -> Update:
    """What a step makes of the gradient."""
    if isinstance(model.solver, Update):
        return model.solver
    if model.solver == "adam":
        return Adam(model.beta_1, model.beta_2, model.epsilon)
    if not model.momentum:
        return Plain()
    factor = min(float(model.momentum), 1 - np.finfo(float).eps)
    return Nesterov(factor) if model.nesterovs_momentum else Momentum(factor)


def pace_of(model: Any) -> Pace:
    """How long steps are."""
    is_sgd = model.solver != "adam" or isinstance(model.learning_rate, StepSize)
    kind = model.learning_rate if is_sgd else "constant"
    return Pace(kind, float(model.learning_rate_init), float(model.power_t))


def precision_of(model: Any, data: Training) -> Any:
    """float32 for steps along noisy gradients, float64 for L-BFGS and for large numbers."""
    if model.solver == LBFGS:
        return np.dtype(np.float64)
    numbers = (data.X.data if sp.issparse(data.X) else data.X, data.y)
    if _largest(numbers) <= MODERATE:
        return np.dtype(np.float32)
    # Rows of weight 0 are not there.
    counted = data.weights > 0
    X = data.X.tocsr()[counted].data if sp.issparse(data.X) else data.X[counted]
    is_large = _largest((X, data.y[counted])) > MODERATE
    return np.dtype(np.float64 if is_large else np.float32)


def _passes(steps: int, copies: float) -> int:
    """How often an epoch visits rows that take so many steps and stand for so many copies each.

    Once would be a single step for a table of a few distinct rows, however long it is.
    """
    return max(1, min(round(copies), -(-STEPS // steps)))


def refuse_noise(composition: Composition) -> None:
    """L-BFGS needs the same objective at every step."""
    for layer in composition.layers:
        if layer.is_random or layer.joins_rows:
            raise ValueError(
                f"{type(layer).__name__} works on batches that are learned from, which "
                'solver="lbfgs" does not make; leave it out, or use solver="adam" or "sgd".'
            )


def _largest(numbers: tuple[Array, ...]) -> float:
    """The largest size of all numbers."""
    return max((float(max(abs(x.max()), abs(x.min()))) for x in numbers if x.size), default=0.0)
