"""GradientBoosting…: small trees by gradients alone, as Friedman described it.

Trees are grown on the gradients by least squares; the values of their leaves then come from one
Newton step, or the best constant (Friedman 2001). Columns are binned, as for HistGradientBoosting….
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context, is_classifier
from sklearn.utils._param_validation import HasMethods, Hidden, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ... import losses
from ..._ground.about import Example, Examples
from ..._ground.columns import read_new
from ..._ground.docstrings import FEATURES, described
from ..._ground.stored import Declaration, FittedModel, Nothing, Unused, Word
from ...losses import Loss
from ..trees import (
    GROWN,
    ROWS,
    TRAINING,
    columns_tried,
    constraints_of_trees,
    row_count,
)
from .as_sklearn import MeanLoss, Report, as_regressors
from .boosting import BOOSTED, GradientBoosting
from .data import BoostingData
from .losses import classification_loss, fitted_init, init_scores, regression_loss
from .predictions import BoostedClassifier, BoostedRegressor
from .rounds import GrowthPlan, Rounds, is_second_order
from .run import BoostedRun, Drawing, Run

Array = np.ndarray

# Shared by the docstrings of both classes.
PLAIN = """
n_estimators : int
    The number of rounds.
subsample : float
    The share of the rows used in each round; below 1, losses out of bag are known.
criterion : str
    Has no effect, and is deprecated in scikit-learn.
init : estimator, "zero" or None
    What the scores start from: the predictions of an estimator, 0, or the best constant.
verbose : int
    1 prints losses once in a while, 2 after each round.
validation_fraction : float
    The share of the rows held out if `n_iter_no_change` is set.
n_iter_no_change : int or None
    Rounds end when the loss of the held-out rows has not dropped by `tol` in this many of them.
tol : float
    How much the loss must drop for the rounds to go on.
ccp_alpha : float
    The price of a leaf, by which trees are pruned.
n_estimators_ : int
    The number of rounds.
estimators_ : ndarray of DecisionTreeRegressor
    The trees as estimators, a row for each round.
init_ : estimator, "zero" or None
    What the scores start from; `start_` if None.
train_score_ : ndarray of shape (n_estimators_,)
    The loss of the training rows after each round (squared error and log loss: twice ours).
oob_improvement_, oob_scores_ : ndarray of shape (n_estimators_,)
    How much each round lowered the loss of the rows it did not use, and that loss.
oob_score_ : float
    The last of them.
feature_importances_ : ndarray of shape (n_features,)
    How much the splits on each feature decrease the squared error, as shares of 1.
max_features_ : int
    How many columns each split considers.
"""
ZERO, HUBER = "zero", "huber"
NOT_DEPRECATED = "deprecated"
# Losses that scikit-learn reports doubled, as the deviance.
DOUBLED = (losses.Squared, losses.Logistic)


class PlainGradientBoosting(GradientBoosting):
    """Base of both."""

    _computed = ("estimators_", "feature_importances_")
    _stored: ClassVar[Declaration] = {
        **GradientBoosting._stored,
        "init_": FittedModel("predict", "features") | Word(ZERO) | Nothing(),
        "max_features_": Unused(),
        "train_score_": Unused(),
        "_out_of_bag": Unused(),
    }
    _parameter_constraints: ClassVar[dict] = {
        **GradientBoosting._parameter_constraints,
        **constraints_of_trees(
            "min_samples_split",
            "min_samples_leaf",
            "min_weight_fraction_leaf",
            "min_impurity_decrease",
            "max_features",
        ),
        "loss": [str, Loss],
        "learning_rate": [Interval(Real, 0.0, None, closed="left")],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "subsample": [Interval(Real, 0.0, 1.0, closed="right")],
        "criterion": [
            StrOptions({"squared_error"}),
            Hidden(StrOptions({NOT_DEPRECATED, "friedman_mse"})),
        ],
        "init": [StrOptions({ZERO}), None, HasMethods(["fit", "predict"])],
        "validation_fraction": [Interval(Real, 0.0, 1.0, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "ccp_alpha": [Interval(Real, 0.0, None, closed="left")],
    }

    @_fit_context(
        # A fit of `init` validates its own parameters.
        prefer_skip_nested_validation=False
    )
    @described(TRAINING)
    def fit(self, X, y, sample_weight=None, monitor=None):
        """Fit the trees, round by round.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Targets.
        monitor : callable, default=None
            Called after each round with its number, the model so far, and an empty dict; the fit
            ends if it returns True.

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
        """The model after a round, as far as a monitor may look at it."""
        return self._at(trees_=run.trees, trace_=run.trace, train_score_=np.array(run.training[1:]))

    # ---- hooks of the base -----------------------------------------------------------------------

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
            min_leaf_rows=row_count(self.min_samples_leaf, rows),
            min_split_rows=row_count(self.min_samples_split, rows, least=2),
            max_columns=self._columns_tried(data),
            min_leaf_weight=self.min_weight_fraction_leaf * total,
            min_gain=self.min_impurity_decrease * total,
            second_order=False,
            leaves=leaves,
            price=self.ccp_alpha * total,
        )

    def _columns_tried(self, data: BoostingData) -> int:
        """The number of columns tried in a node."""
        d = len(data.columns)
        return min(columns_tried(self.max_features, d), d)

    _rounds_parameter = "n_estimators"

    def _wanted(self) -> int:
        return int(self.n_estimators)

    def _held_out_share(self, data: BoostingData) -> float | None:
        return None if self.n_iter_no_change is None else self.validation_fraction

    def _ending(self, data: BoostingData, run: Run, scores: list[float]) -> str:
        """End when this round improves on none of the last ones by `tol`."""
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

    def _learned(self, data: BoostingData, fitted: BoostedRun) -> dict[str, Any]:
        run = fitted.run
        pairs = np.zeros((len(run.trees), 2))
        if run.out_of_bag:
            pairs = np.array(run.out_of_bag)
        return super()._learned(data, fitted) | {
            "max_features_": self._columns_tried(data),
            "train_score_": _factor(data.loss) * np.array(run.training[1:]),
            "_out_of_bag": pairs,
        }

    # ---- reading ---------------------------------------------------------------------------------

    @property
    def n_estimators_(self) -> int:
        """The number of rounds."""
        return len(self.trees_)

    @property
    def estimators_(self) -> Array:
        """The trees as regressors: an array with a row for each round."""
        return as_regressors(self)

    @property
    def _loss(self) -> MeanLoss:
        """`loss_`, where tools that read scikit-learn's models look for it, called like theirs."""
        return MeanLoss(self.loss_, is_classifier(self))

    @property
    def feature_importances_(self) -> Array:
        """How much the splits on each feature decrease the squared error, as shares of 1."""
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
        """How much each round lowered the mean loss of the rows it did not use."""
        return self._oob()[:, 0] - self._oob()[:, 1]

    @property
    def oob_scores_(self) -> Array:
        """The mean loss of the rows that each round did not use."""
        return self._oob()[:, 1]

    @property
    def oob_score_(self) -> float:
        """The same for the last round."""
        return float(self._oob()[-1, 1])

    def _leaves(self, X: Any) -> Array:
        check_is_fitted(self)
        F = read_new(self, self.encoding_, X)
        return self._leaves_of(F).astype(np.float64)


def _factor(loss: Loss) -> float:
    """The factor by which scikit-learn multiplies a loss when it reports it."""
    return 2.0 if isinstance(loss, DOUBLED) else 1.0


@described(PLAIN, BOOSTED, GROWN, FEATURES)
class GradientBoostingClassifier(BoostedClassifier, PlainGradientBoosting):
    """Gradient boosting of small trees for classification.

    Each round fits a tree, or one for each of several classes, to the gradients of
    Σᵢ sᵢ ℓ(yᵢ, zᵢ)  by least squares, and adds to the scores z a Newton step in each of its leaves,
    times `learning_rate`.

    Parameters
    ----------
    loss : str or Loss, default="log_loss"
        "log_loss", "exponential", the name of any other classification loss of gapless, or an
        instance of a loss, which may be your own.

    Attributes
    ----------
    n_classes_ : int
        The number of classes.

    Notes
    -----
    HistGradientBoosting… also uses curvatures and is the better choice for large data. Columns of
    more than `max_bins` values are binned, where scikit-learn tries every threshold.

    References
    ----------
    Friedman (2001), Greedy function approximation: a gradient boosting machine, Annals of
    Statistics 29. Friedman (2002), Stochastic gradient boosting, Computational Statistics & Data
    Analysis 38.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gapless import GradientBoostingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GradientBoostingClassifier(n_estimators=10).fit(X, y)
    >>> print(model.predict(X[[0, 50, 100]]))
    [0 1 2]
    """

    _examples: ClassVar[Examples] = (Example("breast_cancer", {"random_state": 0}),)

    _parameter_constraints: ClassVar[dict] = {
        **PlainGradientBoosting._parameter_constraints,
        "init": [StrOptions({ZERO}), None, HasMethods(["fit", "predict_proba"])],
    }

    def __init__(
        self,
        *,
        loss="log_loss",
        learning_rate=0.1,
        n_estimators=100,
        subsample=1.0,
        criterion=NOT_DEPRECATED,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_depth=3,
        min_impurity_decrease=0.0,
        init=None,
        random_state=None,
        max_features=None,
        verbose=0,
        max_leaf_nodes=None,
        warm_start=False,
        validation_fraction=0.1,
        n_iter_no_change=None,
        tol=1e-4,
        ccp_alpha=0.0,
        max_bins=255,
        categorical_features="from_dtype",
        time_limit=None,
    ):
        self.loss = loss
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.subsample = subsample
        self.criterion = criterion
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_depth = max_depth
        self.min_impurity_decrease = min_impurity_decrease
        self.init = init
        self.random_state = random_state
        self.max_features = max_features
        self.verbose = verbose
        self.max_leaf_nodes = max_leaf_nodes
        self.warm_start = warm_start
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.ccp_alpha = ccp_alpha
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.time_limit = time_limit

    def _loss_of(self, outputs: Any) -> Loss:
        return classification_loss(self.loss, len(outputs.classes[0]))

    @property
    def n_classes_(self) -> int:
        """The number of classes."""
        return len(self.classes_)

    @described(ROWS)
    def apply(self, X):
        """The leaf of each row in each tree.

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_estimators_, trees of a round)
            Numbers of nodes.
        """
        return self._leaves(X)


@described(PLAIN, BOOSTED, GROWN, FEATURES)
class GradientBoostingRegressor(BoostedRegressor, PlainGradientBoosting):
    """Gradient boosting of small trees for regression.

    Each round fits a tree to the gradients of  Σᵢ sᵢ ℓ(yᵢ, zᵢ)  by least squares, and adds to the
    scores z what lowers the loss most in each of its leaves, times `learning_rate`.

    Parameters
    ----------
    loss : str or Loss, default="squared_error"
        "squared_error", "absolute_error", "huber", "quantile", the name of any other regression
        loss of gapless, or an instance of a loss, which may be your own.
    alpha : float, default=0.9
        The level of loss="quantile"; for loss="huber", the share of errors counted as small.

    Notes
    -----
    See `GradientBoostingClassifier` for how it differs from scikit-learn and from
    HistGradientBoosting….

    References
    ----------
    Friedman (2001), Greedy function approximation: a gradient boosting machine, Annals of
    Statistics 29. Friedman (2002), Stochastic gradient boosting, Computational Statistics & Data
    Analysis 38.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from gapless import GradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GradientBoostingRegressor(n_estimators=20).fit(X, y)
    >>> print(f"{model.score(X, y):.2f}")
    0.61
    """

    _examples: ClassVar[Examples] = (Example("diabetes", {"random_state": 0}),)

    _parameter_constraints: ClassVar[dict] = {
        **PlainGradientBoosting._parameter_constraints,
        "alpha": [Interval(Real, 0.0, 1.0, closed="neither")],
    }

    def __init__(
        self,
        *,
        loss="squared_error",
        learning_rate=0.1,
        n_estimators=100,
        subsample=1.0,
        criterion=NOT_DEPRECATED,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_depth=3,
        min_impurity_decrease=0.0,
        init=None,
        random_state=None,
        max_features=None,
        alpha=0.9,
        verbose=0,
        max_leaf_nodes=None,
        warm_start=False,
        validation_fraction=0.1,
        n_iter_no_change=None,
        tol=1e-4,
        ccp_alpha=0.0,
        max_bins=255,
        categorical_features="from_dtype",
        time_limit=None,
    ):
        self.loss = loss
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.subsample = subsample
        self.criterion = criterion
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_depth = max_depth
        self.min_impurity_decrease = min_impurity_decrease
        self.init = init
        self.random_state = random_state
        self.max_features = max_features
        self.alpha = alpha
        self.verbose = verbose
        self.max_leaf_nodes = max_leaf_nodes
        self.warm_start = warm_start
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.ccp_alpha = ccp_alpha
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.time_limit = time_limit

    def _loss_of(self, outputs: Any) -> Loss:
        return regression_loss(self.loss, self.alpha)

    def _adapt(self, rounds: Rounds) -> None:
        """The δ of Huber's loss is a quantile of the errors so far (Friedman 2001, equation 24)."""
        if self.loss != HUBER:
            return
        errors = np.abs(rounds.y - rounds.z[:, 0])
        order = np.argsort(errors)
        reached = np.cumsum(rounds.weights[order])
        place = np.searchsorted(reached, self.alpha * reached[-1] * (1 - 1e-12))
        delta = float(errors[order[min(place, len(order) - 1)]])
        rounds.loss = losses.Huber(max(delta, float(np.finfo(float).tiny)))
        rounds.evaluate()

    @described(ROWS)
    def apply(self, X):
        """The leaf of each row in each tree.

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_estimators_)
            Numbers of nodes.
        """
        return self._leaves(X)[:, :, 0]
