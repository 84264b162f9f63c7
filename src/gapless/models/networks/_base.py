"""What the estimators share that train a network: fit = read → rows → training → attributes."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..._ground.design import Design
from ..._ground.distinct_rows import DistinctRows
from ..._ground.docstrings import described
from ..._ground.interrupt import IN_SECONDS, TimeLimit, limit_name, time_limit
from ..._ground.progress import CALLBACK_FRAMES, CallbackSupport, watch, with_callbacks
from ..._ground.stored import (
    INPUT,
    Declaration,
    Each,
    Maybe,
    Nothing,
    Number,
    Unused,
    Value,
    Whole,
)
from ..._ground.validation import Training
from ...certificates import Certificate
from ...losses import Loss
from ...solvers import (
    Adam,
    Memory,
    Momentum,
    Nesterov,
    Plain,
    StepSize,
    Update,
)
from ...unseen import JUDGED, ChangeDial, Remembering, as_fitted, more_rounds, take_over
from .composition import Composition, Weights
from .engines import BuiltIn, Engine
from .history import History, Underway
from .layers import Layer
from .objective import Rows, certificate_of, value_and_gradient
from .refits import NetworkFit
from .torch_engine import torch_engine
from .training import NOT_FINITE, Descent, Pace, Plan, Progress, kept_aside, minimise, outputs

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
LITTLE_WORK = 1e9
NOT_CONVERGED = (
    "Stochastic Optimizer: Maximum iterations ({}) reached and the optimization hasn't converged "
    "yet; raise max_iter."
)
ONLY_PARTS = (
    "no bound is known: the model was fitted in parts, of which it keeps none; "
    "gapless.certify(model, X, y) computes the gradient for any rows."
)
# What to do about a gradient that is not next to 0, by what ended the training.
IF_BETTER = "if that improves the score on unseen rows"
CURES = {
    "max_iter": f"raise max_iter {IF_BETTER}",
    "settled": f"lower tol or raise n_iter_no_change {IF_BETTER}",
    "tol": f"lower tol {IF_BETTER}",
    "kept aside": "the rows kept aside ended it, which the objective counts, too",
    "time_limit": "raise time_limit",
    "interrupted": "fit again, and let it end",
}
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
    Rows to predict.
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


@dataclass(frozen=True, eq=False)
class Task:
    """What a network is trained for: its loss, its rows in the form of it, and its score."""

    loss: Loss
    rows: Rows
    outputs: int
    score: Callable[[Array, Array, Array], float]
    metric: str
    # What the rows kept aside should have in common with the others; None for regression.
    strata: Array | None = None


@dataclass(frozen=True, eq=False)
class Trained:
    """What training leaves."""

    composition: Composition
    weights: Weights
    progress: Progress
    status: str
    epochs: int


class NetworkModel(Remembering, CallbackSupport, BaseEstimator):
    """Base class of estimators that train a network.

    A subclass has `_read` (the data), `_task` (loss and targets), `_layers_for` (the layers) and
    `_shown` (the weights as its attributes) with its reverse `_kept_weights`.
    """

    _guide = "networks"
    _on_demand = ("generalization_", "certificate_")
    _stored: ClassVar[Declaration] = {
        **JUDGED,
        **INPUT,
        "loss_": Number(is_finite=False),
        "best_loss_": Number(is_finite=False) | Nothing(),
        "loss_curve_": Each(Number(is_finite=False)),
        "validation_scores_": Each(Number(is_finite=False)) | Nothing(),
        "best_validation_score_": Number(is_finite=False) | Nothing(),
        "history_": Maybe(Value(History)),
        "t_": Whole(),
        "n_iter_": Whole(),
        "n_outputs_": Whole(1, size="outputs"),
        "_optimizer": Unused(),
        "_no_improvement_count": Unused(),
    }
    _parameter_constraints: ClassVar[dict] = {
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
    n_features_in_: int
    n_outputs_: int

    # ---- what a subclass defines -----------------------------------------------------------------

    def _task(self, data: Training) -> Task:
        """What to train for."""
        raise NotImplementedError

    def _layers_for(self, shape: tuple[int, ...], outputs: int) -> tuple[Layer, ...]:
        """All layers, for rows of a shape and so many outputs."""
        raise NotImplementedError

    def _shown(self, composition: Composition, weights: Weights) -> dict[str, Any]:
        """The weights as attributes."""
        raise NotImplementedError

    def _kept_weights(self, composition: Composition) -> Weights:
        """The weights from these attributes."""
        raise NotImplementedError

    def _augmentation(self) -> Callable[[Array, np.random.Generator], Array] | None:
        return None

    # ---- fitting ---------------------------------------------------------------------------------

    @described(DATA)
    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Train the network.

        Returns
        -------
        self : object
            The fitted estimator. Ctrl-C keeps the best epoch so far and raises KeyboardInterrupt;
            an error leaves the estimator as it was.
        """
        self._check_parameters()
        is_warm = self.warm_start and hasattr(self, "n_outputs_")
        data = self._read(X, y, sample_weight, reset=not is_warm)
        random = check_random_state(self.random_state)
        seed = _seed(self.random_state, random)
        with watch(self, data.X, data.y, self.max_iter) as callback, time_limit(self.time_limit):
            trained = self._train(data, random, callback, is_warm=is_warm)
        learned = self._learned(data, trained)
        learned["_training"] = data, seed
        if trained.composition.work * data.X.shape[0] <= LITTLE_WORK:
            learned["certificate_"] = self._certificate(
                data, trained.composition, trained.weights, trained.progress.ended
            )
        take_over(self, learned)
        if trained.status == "interrupted":
            raise KeyboardInterrupt
        self._warn_of(trained.status)
        return self

    def _check_parameters(self) -> None:
        """Refuse parameters that do not go together."""
        if self.solver != LBFGS:
            return
        # L-BFGS takes steps along the gradient of all rows, and does nothing at random.
        needs_batches = {
            "clip": self.clip is not None,
            "early_stopping": self.early_stopping,
            "augment": self._augmentation() is not None,
        }
        for name in (name for name, is_set in needs_batches.items() if is_set):
            raise ValueError(
                f'{name} works on batches, which solver="lbfgs" does not make; leave it out, or '
                'use solver="adam" or "sgd".'
            )

    def _train(
        self, data: Training, random: Any, callback: Any, *, is_warm: bool = False
    ) -> Trained:
        task = self._task(data)
        shape = task.rows.shape
        composition = Composition(self._layers_for(shape, task.outputs), shape)
        if self.solver == LBFGS:
            _refuse_noise(composition)
        engine = self._engine(composition)
        dtype = self._precision(data)
        start = composition.begin(random, dtype)
        if is_warm:
            start = self._started(composition, dtype)
        history = self.history_.copy() if is_warm and "history_" in vars(self) else History()
        history.metric, known = task.metric, len(history.loss)
        if self.solver == LBFGS:
            weights, status = minimise(
                engine,
                start,
                task.rows,
                task.loss,
                float(self.alpha),
                tol=self.tol,
                max_iter=self.max_iter,
                max_fun=getattr(self, "max_fun", MOST_EVALUATIONS),
                callback=self._told(callback, known),
                history=history,
                score=task.score,
            )
            progress = Progress(weights, Memory(0, ()), None, self._pace(), history=history)
        else:
            (rows, copies), aside = self._merged(task, data), None
            mean = float(np.mean(rows.weights)) if len(rows.weights) else 1.0
            rows = replace(rows, weights=rows.weights / mean)
            if self.early_stopping:
                has_classes = task.strata is not None
                fraction = self.validation_fraction
                rows, aside = kept_aside(rows, copies, has_classes, fraction, random)
            # Weights and penalty have one factor, so that the minimum stays where it is.
            plan = self._plan(len(rows.weights), float(copies.mean()), float(self.alpha) / mean)
            seen = int(getattr(self, "t_", 0)) if is_warm else 0
            progress = Progress.begin(start, plan.rule, self._pace(), history, seen)
            descent = Descent(engine, rows, task.loss, plan, task.score, aside)
            status = descent.through(progress, random, self._told(callback, known))
            is_cut = self.early_stopping or status in ("interrupted", "time_limit")
            if is_cut and progress.best is not None:
                # What the rule remembers belongs to the last weights, which are given up.
                memory = plan.rule.begin(progress.best.theta)
                progress = replace(progress, weights=progress.best, memory=memory)
        if not np.all(np.isfinite(progress.weights.theta)):
            raise ValueError(NOT_FINITE.format("learning_rate_init"))
        settled = "tol" if self.solver == LBFGS else "kept aside" if self.early_stopping else status
        progress.ended = settled if status == "settled" else status
        return Trained(composition, progress.weights, progress, status, len(history.loss) - known)

    def _merged(self, task: Task, data: Training) -> tuple[Rows, Array]:
        """The rows to visit: equal ones as one, by content; and of how many copies each is made.

        Whole weights are numbers of copies.
        """
        rows = task.rows
        if self.shuffle:
            distinct = DistinctRows.by(Design(_as_table(rows.X)).equal_rows(data.y), rows.weights)
            positions, weights = distinct.first, distinct.weights
            copies = distinct.sums(data.sample_weight)
        else:
            positions = np.flatnonzero(rows.weights > 0)
            weights, copies = rows.weights[positions], data.sample_weight[positions]
        if np.any(copies != np.floor(copies)):
            copies = np.ones(len(positions))
        if len(positions) == len(rows.weights) and np.all(np.diff(positions) == 1):
            return Rows(rows.X, rows.y, weights, rows.shape), copies
        return Rows(rows.X, rows.y[positions], weights, rows.shape, positions), copies

    def _plan(self, rows: int, copies: float, alpha: float) -> Plan:
        """How to descend over rows that stand for so many copies each."""
        size = min(USUAL_BATCH, rows) if self.batch_size == "auto" else self.batch_size
        if size > rows:
            warnings.warn(
                f"Got `batch_size` less than 1 or larger than sample size: {size} for {rows} "
                "distinct rows; all of them are one batch.",
                stacklevel=5 + CALLBACK_FRAMES,
            )
        size = max(1, min(size, rows))
        return Plan(
            rule=self._rule(),
            alpha=alpha,
            batch_size=size,
            max_iter=self.max_iter,
            shuffle=self.shuffle,
            tol=self.tol,
            patience=self.n_iter_no_change,
            clip=self.clip,
            augment=self._augmentation(),
            passes=_passes(-(-rows // size), copies),
        )

    def _rule(self) -> Update:
        """What a step makes of the gradient."""
        if isinstance(self.solver, Update):
            return self.solver
        if self.solver == "adam":
            return Adam(self.beta_1, self.beta_2, self.epsilon)
        if not self.momentum:
            return Plain()
        factor = min(float(self.momentum), 1 - np.finfo(float).eps)
        return Nesterov(factor) if self.nesterovs_momentum else Momentum(factor)

    def _pace(self) -> Pace:
        is_sgd = self.solver != "adam" or isinstance(self.learning_rate, StepSize)
        kind = self.learning_rate if is_sgd else "constant"
        return Pace(kind, float(self.learning_rate_init), float(self.power_t))

    def _engine(self, composition: Composition) -> Engine:
        return torch_engine(composition) if self.engine == "torch" else BuiltIn(composition)

    def _precision(self, data: Training) -> Any:
        """float32 for steps along noisy gradients, float64 for L-BFGS and for large numbers."""
        if self.solver == LBFGS:
            return np.dtype(np.float64)
        numbers = (data.X.data if sp.issparse(data.X) else data.X, data.y)
        if _largest(numbers) <= MODERATE:
            return np.dtype(np.float32)
        # Rows of weight 0 are not there.
        counted = data.weights > 0
        X = data.X.tocsr()[counted].data if sp.issparse(data.X) else data.X[counted]
        is_large = _largest((X, data.y[counted])) > MODERATE
        return np.dtype(np.float64 if is_large else np.float32)

    def _started(self, composition: Composition, dtype: Any) -> Weights:
        """The weights that the model shows, if they are of the same network."""
        return self._kept_weights(composition).astype(dtype)

    def _told(self, callback: Any, known: int = 0) -> Callable[[Any, float], bool]:
        """What to do after an epoch, if a history begins with so many known ones."""
        unit = "step" if self.solver == LBFGS else "epoch"

        def after_epoch(history: History, target: float) -> bool:
            if self.verbose:
                print(f"Iteration {len(history.loss)}, loss = {history.loss[-1]:.8f}")
                if history.validation:
                    print(f"Validation score: {history.validation[-1]:f}")
            return bool(callback(Underway(history, known, self.max_iter, unit), target))

        return after_epoch

    def _learned(self, data: Training, trained: Trained) -> dict[str, Any]:
        """Every attribute that a fit leaves."""
        progress, history = trained.progress, trained.progress.history
        dtype = data.X.dtype
        has_scores = progress.highest > -math.inf
        learned = {
            **self._shown(trained.composition, trained.weights.astype(dtype)),
            "loss_": history.loss[-1] if history.loss else math.nan,
            "best_loss_": None if has_scores else min(history.loss, default=math.inf),
            "loss_curve_": list(history.loss),
            "validation_scores_": list(history.validation) if has_scores else None,
            "best_validation_score_": progress.highest if has_scores else None,
            "history_": history,
            "t_": progress.rows_seen,
            "n_iter_": trained.epochs,
            "n_outputs_": trained.composition.outputs,
            "n_features_in_": int(np.prod(data.X.shape[1:])),
            "_optimizer": replace(progress, best=None),
            "_no_improvement_count": progress.no_improvement,
        }
        if data.feature_names is not None:
            learned["feature_names_in_"] = data.feature_names
        return learned | self._specifics(data)

    def _specifics(self, data: Training) -> dict[str, Any]:
        """More attributes."""
        return {}

    def _warn_of(self, status: str) -> None:
        """Say what ended a fit before it had settled."""
        if status == "max_iter":
            words = NOT_CONVERGED.format(self.max_iter)
            if self.solver == LBFGS:
                words = (
                    f"lbfgs failed to converge after {self.n_iter_} iteration(s): raise max_iter "
                    "or max_fun, or scale the data."
                )
            warnings.warn(words, ConvergenceWarning, stacklevel=4 + CALLBACK_FRAMES)
        if status == "time_limit":
            warnings.warn(
                f"{type(self).__name__} reached {limit_name(self.time_limit, IN_SECONDS)} after "
                f"{self.n_iter_} epochs; the best of them is kept. Raise time_limit.",
                ConvergenceWarning,
                stacklevel=4 + CALLBACK_FRAMES,
            )

    # ---- learning in parts -----------------------------------------------------------------------

    def _learn_part(self, data: Training) -> None:
        """One epoch on some rows, from where the last part ended."""
        if self.early_stopping:
            raise ValueError(
                "partial_fit does not support early_stopping=True; the caller decides when to stop."
            )
        task = self._task(data)
        shape = task.rows.shape
        composition = Composition(self._layers_for(shape, task.outputs), shape)
        random = check_random_state(self.random_state)
        rows, copies = self._merged(task, data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plan = self._plan(len(rows.weights), float(copies.mean()), float(self.alpha))
        before = vars(self).get("_optimizer")
        dtype = self._precision(data)
        if before is not None:
            dtype = np.promote_types(dtype, before.weights.theta.dtype)
        if self._has_weights():
            start = self._started(composition, dtype)
        else:
            start = composition.begin(random, dtype)
        if before is None:
            progress = Progress.begin(start, plan.rule, self._pace(), History(task.metric))
        else:
            progress = before.continued(start, plan.rule)
        descent = Descent(self._engine(composition), rows, task.loss, plan, task.score)
        with time_limit(self.time_limit):
            status = descent.through(progress, random, self._told(lambda *_: False), epochs=1)
        if not np.all(np.isfinite(progress.weights.theta)):
            raise ValueError(NOT_FINITE.format("learning_rate_init"))
        trained = Trained(composition, progress.weights, progress, status, 1)
        learned = self._learned(data, trained)
        learned["certificate_"] = without_bound(ONLY_PARTS)
        take_over(self, learned)
        if status == "interrupted":
            raise KeyboardInterrupt

    def _has_weights(self) -> bool:
        raise NotImplementedError

    # ---- predicting ------------------------------------------------------------------------------

    def _composition(self) -> Composition:
        """The network of the fit."""
        raise NotImplementedError

    def _outputs(self, X: Any) -> Array:
        """The outputs of the network for rows that were read, (n, outputs)."""
        composition = self._composition()
        X = X.tocsr() if sp.issparse(X) else X
        n = X.shape[0]
        rows = Rows(X, np.zeros(n), np.ones(n), composition.shape)
        return outputs(self._engine(composition), self._kept_weights(composition), rows)

    def _scores(self, X: Any) -> Array:
        check_is_fitted(self)
        return self._outputs(self._read_queries(X))

    def _read_queries(self, X: Any) -> Any:
        raise NotImplementedError

    # ---- both gaps -------------------------------------------------------------------------------

    @functools.cached_property
    def certificate_(self) -> Certificate:  # type: ignore[override]
        """How near the weights are to a stationary point; computed on first access."""
        data, *_ = self._kept_training("call gapless.certify(model, X, y, sample_weight)")
        return as_fitted(self)._certificate_of_fit(data)

    def _certificate_of_fit(self, data: Training) -> Certificate:
        composition, progress = self._composition(), vars(self).get("_optimizer")
        ended = "" if progress is None else progress.ended
        return self._certificate(data, composition, self._kept_weights(composition), ended)

    def _certificate(
        self, data: Training, composition: Composition, weights: Weights, ended: str
    ) -> Certificate:
        task = self._task(data)
        weights = weights.astype(data.X.dtype)
        try:
            return certificate_of(
                self._engine(composition),
                weights,
                task.rows,
                task.loss,
                float(self.alpha),
                CURES.get(ended, ""),
            )
        except (TimeLimit, KeyboardInterrupt):
            return without_bound("no bound is known: the fit was interrupted; fit again.")

    def _certified(self, X, y, sample_weight=None) -> Certificate:
        twin = as_fitted(self)
        return twin._certificate_of_fit(twin._reread(X, y, sample_weight))

    def _fitted_to(self, X, y, sample_weight=None) -> Any:
        random = check_random_state(self.random_state)
        data = self._reread(X, y, sample_weight)
        return self._fitted(data, _seed(self.random_state, random))

    def _fitted(self, data: Training, seed: int) -> NetworkFit:
        known = vars(self).get("certificate_")
        if known is not None and np.isfinite(known.primal):
            self._check_objective(self._certified_value(data), rounding=1e-4 * known.scale)
        return NetworkFit(as_fitted(self), data, seed)

    def _certified_value(self, data: Training) -> float:
        given = as_fitted(self)
        task, composition, alpha = given._task(data), self._composition(), float(given.alpha)
        weights = self._kept_weights(composition)
        return value_and_gradient(self._engine(composition), weights, task.rows, task.loss, alpha)[
            0
        ]

    def _refitted(self, data: Training, seed: int) -> Callable[[Design], Array]:
        """The outputs for rows by the same fit to other rows."""
        twin = self._at(warm_start=False, verbose=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trained = twin._train(data, np.random.RandomState(seed), lambda *_: False)
        if trained.status == "interrupted":
            raise KeyboardInterrupt
        if trained.status == "time_limit":
            raise TimeLimit
        engine = self._engine(trained.composition)
        weights = trained.weights.astype(data.X.dtype)

        def predict(design: Design) -> Array:
            X = design.X.tocsr() if sp.issparse(design.X) else design.X
            n = X.shape[0]
            rows = Rows(X, np.zeros(n), np.ones(n), trained.composition.shape)
            return outputs(engine, weights, rows).astype(np.float64)

        return predict

    def _richer(self) -> list[ChangeDial]:
        """What gives the network more freedom: more epochs, if they ran out."""
        ran_out = self.n_iter_ >= self.max_iter
        return [more_rounds("max_iter", int(self.max_iter))] if ran_out else []

    def _differentiable(self, X, y, sample_weight=None) -> Differentiable:
        """What the fit minimises, as a function of the arrays of all layers."""
        given = as_fitted(self)
        data = given._reread(X, y, sample_weight)
        task, composition = given._task(data), self._composition()
        weights, engine = self._kept_weights(composition), self._engine(composition)
        theta = weights.astype(np.float64)
        return Differentiable(engine, theta, task.rows, task.loss, float(given.alpha))


@dataclass(frozen=True, eq=False)
class Differentiable:
    """The objective per weight of a row, as a function of a list of arrays, in float64."""

    engine: Engine
    weights: Weights
    rows: Rows
    loss: Loss
    alpha: float
    # Of what is dropped while it learns; None to predict.
    seed: int | None = None

    @property
    def modes(self) -> list[Differentiable]:
        """The same as it predicts, and as it learns."""
        return [replace(self, seed=None), replace(self, seed=0)]

    @property
    def composition(self) -> Composition:
        """The network."""
        return self.engine.composition

    @property
    def sizes(self) -> list[Array]:
        """Arrays in the shape of the parameters, each filled with their size."""
        arrays = self.composition.arrays(self.weights.theta)
        return [np.full(a.shape, float(np.sqrt(np.mean(a**2))) or 1.0) for a in arrays]

    def value(self, arrays: list[Array]) -> float:
        """The objective."""
        return self._both(arrays)[0]

    def gradient(self, arrays: list[Array]) -> list[Array]:
        """Its gradient."""
        return self.composition.arrays(self._both(arrays)[1])

    def _both(self, arrays: list[Array]) -> tuple[float, Array]:
        running = [array.copy() for array in self.weights.running]
        weights = Weights(self.composition.joined(arrays, np.float64), running)
        total = float(self.rows.weights.sum())
        value, gradient = value_and_gradient(
            self.engine, weights, self.rows, self.loss, self.alpha, seed=self.seed
        )
        return value / total, gradient / total


def without_bound(verdict: str) -> Certificate:
    """A certificate of kind "none"."""
    nothing = float("nan")
    return Certificate("none", verdict, nothing, -np.inf, np.inf, np.inf, nothing, nothing)


def _seed(random_state: Any, random: np.random.RandomState) -> int:
    """The seed with which a refit draws as the fit did, if it can be known."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(random.randint(np.iinfo(np.int32).max))


def _passes(steps: int, copies: float) -> int:
    """How often an epoch visits rows that take so many steps and stand for so many copies each.

    Once would be a single step for a table of a few distinct rows, however long it is.
    """
    return max(1, min(round(copies), -(-STEPS // steps)))


def _refuse_noise(composition: Composition) -> None:
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


def _as_table(X: Any) -> Any:
    """Images as rows."""
    return X if sp.issparse(X) or X.ndim == 2 else X.reshape(len(X), -1)
