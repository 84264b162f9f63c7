"""What GradientBoosting… share: boosting as Friedman described it, by gradients alone.

Trees are grown on the gradients as by least squares, and the values of their leaves then found by
one Newton step, or by the best constant (Friedman 2001). Columns are binned, as for
HistGradientBoosting….
"""

from __future__ import annotations

import math
import time
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context, clone
from sklearn.utils._param_validation import HasMethods, Hidden, Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from ... import losses
from ..._ground.columns import read_new
from ..._ground.stored import Declaration, FittedModel, Nothing, Unused, Word
from ...losses import Loss
from ..trees import DecisionTreeRegressor
from ._boosting import GradientBoosting
from .data import BoostingData
from .losses import MeanLoss
from .rounds import GrowthPlan, is_second_order
from .run import Drawing, Fitted, Run

Array = np.ndarray

ZERO = "zero"
EPS = np.finfo(float).eps
NOT_DEPRECATED = "deprecated"
# Parameters that each tree has too.
OF_TREES = (
    "min_samples_split",
    "min_samples_leaf",
    "min_weight_fraction_leaf",
    "min_impurity_decrease",
    "max_features",
    "max_leaf_nodes",
    "ccp_alpha",
)
# Losses that scikit-learn doubles when it reports them, to the deviance.
DOUBLED = (losses.Squared, losses.Logistic)


class PlainGradientBoosting(GradientBoosting):
    """Base of both."""

    _stored: ClassVar[Declaration] = {
        **GradientBoosting._stored,
        "init_": FittedModel("predict", "features") | Word(ZERO) | Nothing(),
        "max_features_": Unused(),
        "train_score_": Unused(),
        "_out_of_bag": Unused(),
    }
    _parameter_constraints: ClassVar[dict] = {
        "loss": [str, Loss],
        "learning_rate": [Interval(Real, 0.0, None, closed="left")],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "subsample": [Interval(Real, 0.0, 1.0, closed="right")],
        "criterion": [
            StrOptions({"squared_error"}),
            Hidden(StrOptions({NOT_DEPRECATED, "friedman_mse"})),
        ],
        "min_samples_split": [
            Interval(Integral, 2, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="right"),
        ],
        "min_samples_leaf": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="neither"),
        ],
        "min_weight_fraction_leaf": [Interval(Real, 0.0, 0.5, closed="both")],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_impurity_decrease": [Interval(Real, 0.0, None, closed="left")],
        "init": [StrOptions({ZERO}), None, HasMethods(["fit", "predict"])],
        "random_state": ["random_state"],
        "max_features": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="right"),
            StrOptions({"sqrt", "log2"}),
            None,
        ],
        "verbose": ["verbose"],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "warm_start": ["boolean"],
        "validation_fraction": [Interval(Real, 0.0, 1.0, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "ccp_alpha": [Interval(Real, 0.0, None, closed="left")],
        "max_bins": [Interval(Integral, 2, 255, closed="both")],
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    }

    @_fit_context(
        # A fit of `init` validates its own parameters.
        prefer_skip_nested_validation=False
    )
    def fit(self, X, y, sample_weight=None, monitor=None):
        """Boost.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training data. NaN is a missing value. Columns of a table that hold categories or text
            are taken as they are. Never written to.
        y : array-like of shape (n_samples,)
            Target values.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights ≥ 0. Weight 2 means the row twice, weight 0 means the row is not there.
        monitor : callable, default=None
            Called after each round with its number, the model as it is then, and an empty dict; if
            it returns True, the fit ends.

        Returns
        -------
        self : object
            The fitted estimator. Ctrl-C keeps the rounds so far and raises KeyboardInterrupt; an
            error leaves the estimator as it was.
        """
        if self.criterion != NOT_DEPRECATED:
            warnings.warn(
                "The parameter `criterion` is deprecated in scikit-learn and will be removed there "
                "in 1.11; it has no effect, leave it out.",
                FutureWarning,
                stacklevel=3,
            )
        report = Report(self) if self.verbose else None

        def after_round(run: Run) -> bool:
            if report is not None:
                report(run)
            return monitor is not None and bool(
                monitor(len(run.trees) - 1, self._snapshot(run), {})
            )

        return self._fit(X, y, sample_weight, monitor=after_round)

    def _snapshot(self, run: Run) -> Any:
        """The model as it is after a round, as far as a monitor may look at it."""
        return self._at(trees_=run.trees, trace_=run.trace, train_score_=np.array(run.training[1:]))

    # ---- what is said to the base ----------------------------------------------------------------

    def _plan(self, data: BoostingData) -> GrowthPlan:
        rows = float(np.ceil(data.repeats).sum())
        total = float(data.weights.sum())
        leaves = "model" if isinstance(data.loss, losses.Squared) else "search"
        if leaves == "search" and is_second_order(data.loss):
            leaves = "newton"
        return GrowthPlan(
            learning_rate=self.learning_rate,
            max_leaves=self.max_leaf_nodes,
            max_depth=self.max_depth,
            min_leaf_rows=_count(self.min_samples_leaf, rows, 1),
            min_split_rows=_count(self.min_samples_split, rows, 2),
            max_columns=self._max_features(len(data.columns)),
            min_leaf_weight=self.min_weight_fraction_leaf * total,
            min_gain=self.min_impurity_decrease * total,
            second_order=False,
            leaves=leaves,
            price=self.ccp_alpha * total,
        )

    def _max_features(self, d: int) -> int:
        """How many columns are tried in a node."""
        wanted = self.max_features
        if wanted is None:
            return d
        if isinstance(wanted, str):
            return max(1, int(np.sqrt(d) if wanted == "sqrt" else np.log2(d)))
        return min(int(wanted), d) if isinstance(wanted, Integral) else max(1, int(wanted * d))

    _rounds_parameter = "n_estimators"

    def _wanted(self) -> int:
        return int(self.n_estimators)

    def _held_out_share(self, data: BoostingData) -> float | None:
        return None if self.n_iter_no_change is None else self.validation_fraction

    def _ending(self, data: BoostingData, run: Run, scores: list[float]) -> str:
        """Ends where no round of the last ones was worse by `tol` than this one."""
        count = self.n_iter_no_change
        if count is None or len(run.trees) <= count:
            return ""
        recent = run.validation[-1 - count : -1]
        return "" if any(run.validation[-1] + self.tol < loss for loss in recent) else "early"

    def _check_more_rounds(self) -> None:
        if self.n_estimators < self.n_estimators_:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to "
                f"estimators_.shape[0]={self.n_estimators_} when warm_start==True; raise it, or "
                "set warm_start=False."
            )

    def _drawing(self, data: BoostingData) -> Drawing | None:
        if self.subsample == 1.0:
            return None
        return Drawing(data.population, float(self.subsample), len(data.y))

    def _start_scores(self, data: BoostingData) -> tuple[Array, dict[str, Any]]:
        if self.init is None:
            z, learned = super()._start_scores(data)
            return z, learned | {"init_": None}
        start = np.zeros(data.scores)
        if isinstance(self.init, str):
            return np.zeros((len(data.y), data.scores)), {"start_": start, "init_": ZERO}
        model = fitted_init(self.init, data)
        return init_scores(model, data.F, data.loss), {"start_": start, "init_": model}

    def _starts(self, F: Any, X: Any, learned: Any) -> Array:
        init = learned["init_"]
        if init is None or isinstance(init, str):
            return super()._starts(F, X, learned)
        return init_scores(init, F, learned["loss_"])

    def _resumed(self, earlier: dict[str, Any]) -> Run:
        run = super()._resumed(earlier)
        run.out_of_bag = [tuple(pair) for pair in earlier["_out_of_bag"]]
        return run

    def _learned(self, data: BoostingData, fitted: Fitted) -> dict[str, Any]:
        run = fitted.run
        pairs = np.zeros((len(run.trees), 2))
        if run.out_of_bag:
            pairs = np.array(run.out_of_bag)
        return super()._learned(data, fitted) | {
            "max_features_": self._max_features(len(data.columns)),
            "train_score_": _factor(data.loss) * np.array(run.training[1:]),
            "_out_of_bag": pairs,
        }

    # ---- reading ---------------------------------------------------------------------------------

    @property
    def n_estimators_(self) -> int:
        """The number of rounds."""
        return len(self.trees_)

    @property
    def n_trees_per_iteration_(self) -> int:
        """The number of trees of a round: one, or one for each class."""
        return len(self.start_)

    @property
    def estimators_(self) -> Array:
        """The trees as regressors, (n_estimators_, trees of a round)."""
        out = np.empty((len(self.trees_), len(self.start_)), dtype=object)
        for place in np.ndindex(*out.shape):
            tree = self.trees_[place[0]][place[1]]
            model = DecisionTreeRegressor(
                max_depth=max(tree.max_depth, 1),
                **{name: getattr(self, name) for name in OF_TREES},
            )
            model.__dict__.update(
                tree_=tree,
                n_features_in_=self.n_features_in_,
                n_outputs_=1,
                encoding_=self.encoding_,
                max_features_=self.max_features_,
            )
            out[place] = model
        return out

    @property
    def _loss(self) -> MeanLoss:
        """Where tools that read scikit-learn's models look for `loss_`, called as theirs are."""
        return MeanLoss(self.loss_)

    @property
    def feature_importances_(self) -> Array:
        """How much the splits by each column have lowered squared errors, as shares of 1."""
        check_is_fitted(self)
        trees = [tree for each in self.trees_ for tree in each if tree.node_count > 1]
        if not trees:
            return np.zeros(self.n_features_in_)
        total = np.mean([t.compute_feature_importances(normalize=False) for t in trees], axis=0)
        return total / total.sum()

    def _oob(self) -> Array:
        if self.subsample == 1.0:
            raise AttributeError("out-of-bag losses need subsample < 1; set it.")
        return _factor(self.loss_) * self._out_of_bag

    @property
    def oob_improvement_(self) -> Array:
        """By how much each round lowered the mean loss of the rows that it was not given."""
        return self._oob()[:, 0] - self._oob()[:, 1]

    @property
    def oob_scores_(self) -> Array:
        """The mean loss of the rows that each round was not given."""
        return self._oob()[:, 1]

    @property
    def oob_score_(self) -> float:
        """The same of the last round."""
        return float(self._oob()[-1, 1])

    def _leaves(self, X: Any) -> Array:
        check_is_fitted(self)
        F = read_new(self, self.encoding_, X)
        return self._leaves_of(F).astype(np.float64)


def _factor(loss: Loss) -> float:
    """What scikit-learn multiplies a loss with where it reports it."""
    return 2.0 if isinstance(loss, DOUBLED) else 1.0


def _count(wanted: float, rows: float, least: int) -> int:
    """A number of rows, given as such or as a part of all."""
    if isinstance(wanted, Integral):
        return int(wanted)
    return max(least, math.ceil(wanted * rows))


# ---- the scores to begin with --------------------------------------------------------------------


def fitted_init(init: Any, data: BoostingData) -> Any:
    """A fitted copy of the estimator that scores begin with."""
    model = clone(init)
    X, y = data.F, data.given()
    if not data.has_weights:
        return model.fit(X, y)
    message = f"The initial estimator {type(model).__name__} does not support sample weights."
    try:
        return model.fit(X, y, sample_weight=data.weights)
    except TypeError as error:
        if "unexpected keyword argument 'sample_weight'" in str(error):
            raise ValueError(message) from error
        raise
    except ValueError as error:
        # What a pipeline says of parameters without the name of a step.
        if "stepname__parameter" in str(error):
            raise ValueError(message) from error
        raise


def init_scores(model: Any, X: Any, loss: Loss) -> Array:
    """What a fitted estimator predicts, as scores of the loss, (n, K)."""
    if loss.task == "regression":
        y = np.asarray(model.predict(X), dtype=np.float64)
        return (y if loss.targets == "real" else np.log(np.maximum(y, EPS))).reshape(-1, 1)
    p = np.clip(model.predict_proba(X), EPS, 1 - EPS)
    if loss.task == "multiclass":
        z = np.log(p)
        return z - z.mean(axis=1, keepdims=True)
    return (_log_odds(p[:, 1]) / _log_odds(loss.inverse_link(np.ones(1)))).reshape(-1, 1)


def _log_odds(p: Array) -> Array:
    return np.log(p / (1 - p))


# ---- lines on standard output --------------------------------------------------------------------


class Report:
    """Lines on standard output, as scikit-learn prints them with `verbose`."""

    def __init__(self, model: Any):
        self.model, self.began, self.first = model, time.monotonic(), 0
        self.has_oob = model.subsample < 1
        names = ["Train Loss", *(["OOB Improve"] if self.has_oob else []), "Remaining Time"]
        print(" ".join([f"{'Iter':>10}", *(f"{name:>16}" for name in names)]))

    def __call__(self, run: Run) -> None:
        """Print the line of a round, if it has one."""
        done = len(run.trees)
        # Every round for ten of them, then every tenth, and so on; each with verbose above 1.
        every = 1 if self.model.verbose > 1 else 10 ** max(math.ceil(math.log10(done)) - 1, 0)
        if done % every:
            return
        left = (self.model.n_estimators - done) * (time.monotonic() - self.began) / done
        words = [f"{done:>10d}", f"{run.training[-1]:>16.4f}"]
        if self.has_oob:
            before, after = run.out_of_bag[-1]
            words.append(f"{before - after:>16.4f}")
        words.append(f"{f'{left / 60:.2f}m' if left > 60 else f'{left:.2f}s':>16}")
        print(" ".join(words))
