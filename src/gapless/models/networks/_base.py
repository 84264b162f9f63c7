"""What the estimators share that train a network: fit = read → rows → training → attributes."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
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
from ...solvers import Memory
from ...unseen import JUDGED, ChangeDial, Remembering, as_fitted, more_rounds, take_over
from .composition import Composition, Weights
from .engines import BuiltIn, Engine
from .history import History, Underway
from .layers import Layer
from .objective import (
    CURES,
    DIVERGED,
    Differentiable,
    Rows,
    certificate_of,
    ends_far_above,
    value_and_gradient,
    without_bound,
)
from .parameters import (
    CONSTRAINTS,
    DATA,
    LBFGS,
    LITTLE_WORK,
    MOST_EVALUATIONS,
    check_together,
    pace_of,
    plan_of,
    precision_of,
    refuse_noise,
)
from .refits import NetworkFit
from .torch_engine import torch_engine
from .training import NOT_FINITE, Descent, Progress, kept_aside, minimise, outputs

Array = np.ndarray

NOT_CONVERGED = (
    "Stochastic Optimizer: Maximum iterations ({}) reached and the optimization hasn't converged "
    "yet; {}."
)
ONLY_PARTS = (
    "no bound is known: the model was fitted in parts, of which it keeps none; "
    "gapless.certify(model, X, y) computes the gradient for any rows."
)


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
    _on_demand = (*Remembering._on_demand, "certificate_")
    _keeps_certificate = True
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
    _parameter_constraints: ClassVar[dict] = CONSTRAINTS
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
        self._warn_of(data, trained)
        return self

    def _check_parameters(self) -> None:
        """Refuse parameters that do not go together."""
        check_together(self, has_augmentation=self._augmentation() is not None)

    def _train(
        self, data: Training, random: Any, callback: Any, *, is_warm: bool = False
    ) -> Trained:
        task = self._task(data)
        shape = task.rows.shape
        composition = Composition(self._layers_for(shape, task.outputs), shape)
        if self.solver == LBFGS:
            refuse_noise(composition)
        engine = self._engine(composition)
        dtype = precision_of(self, data)
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
            progress = Progress(weights, Memory(0, ()), None, pace_of(self), history=history)
        else:
            (rows, copies), aside = self._merged(task, data), None
            mean = float(np.mean(rows.weights)) if len(rows.weights) else 1.0
            rows = replace(rows, weights=rows.weights / mean)
            if self.early_stopping:
                has_classes = task.strata is not None
                fraction = self.validation_fraction
                rows, aside = kept_aside(rows, copies, has_classes, fraction, random)
            # Weights and penalty have one factor, so that the minimum stays where it is.
            plan = plan_of(self, len(rows.weights), float(copies.mean()), float(self.alpha) / mean)
            seen = int(getattr(self, "t_", 0)) if is_warm else 0
            progress = Progress.begin(start, plan.rule, pace_of(self), history, seen)
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

    def _engine(self, composition: Composition) -> Engine:
        return torch_engine(composition) if self.engine == "torch" else BuiltIn(composition)

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

    def _warn_of(self, data: Training, trained: Trained) -> None:
        """Say what ended a fit before it had settled."""
        status = trained.status
        if status == "max_iter":
            if self.solver == LBFGS:
                words = (
                    f"lbfgs failed to converge after {self.n_iter_} iteration(s): raise max_iter "
                    "or max_fun, or scale the data."
                )
            else:
                task, engine = self._task(data), self._engine(trained.composition)
                diverged = ends_far_above(
                    engine, task.rows, task.loss, float(self.alpha), trained.progress.history.loss
                )
                cure = DIVERGED.format("learning_rate_init") if diverged else "raise max_iter"
                words = NOT_CONVERGED.format(self.max_iter, cure)
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
            plan = plan_of(self, len(rows.weights), float(copies.mean()), float(self.alpha))
        before = vars(self).get("_optimizer")
        dtype = precision_of(self, data)
        if before is not None:
            dtype = np.promote_types(dtype, before.weights.theta.dtype)
        if self._has_weights():
            start = self._started(composition, dtype)
        else:
            start = composition.begin(random, dtype)
        if before is None:
            progress = Progress.begin(start, plan.rule, pace_of(self), History(task.metric))
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
                "" if self.solver == LBFGS else "learning_rate_init",
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


def _seed(random_state: Any, random: np.random.RandomState) -> int:
    """The seed with which a refit draws as the fit did, if it can be known."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(random.randint(np.iinfo(np.int32).max))


def _as_table(X: Any) -> Any:
    """Images as rows."""
    return X if sp.issparse(X) or X.ndim == 2 else X.reshape(len(X), -1)
