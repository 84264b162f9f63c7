"""HistGradientBoosting…: larger trees by gradient and curvature, on binned columns."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context, is_classifier
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt, StrOptions

from ..._ground.about import Example, Examples
from ..._ground.docstrings import FEATURES, described
from ..._ground.stored import Declaration, Unused
from ...losses import Loss
from ...unseen import CV
from ..trees import GROWN, TRAINING
from .as_sklearn import BinMapper, Predictor, Preprocessor
from .boosting import BOOSTED, GradientBoosting, Validation
from .data import BoostingData, read_groups, read_monotone, table_of
from .losses import classification_loss, regression_loss
from .number_of_rounds import BRIER, LOSS, UNTRIED_ROUNDS, choose_rounds
from .predictions import BoostedClassifier, BoostedRegressor
from .rounds import GrowthPlan, is_second_order
from .run import BoostedRun, Run

Array = np.ndarray

# Shared by the docstrings of both classes.
HIST = """
max_iter : int or "cv"
    The number of rounds; "cv" chooses it by 5-fold cross-validation, up to 1,000, as the one with
    the lowest mean loss of held-out rows. Rows of equal features are held out together.
max_leaf_nodes : int or None
    The maximum number of leaves of a tree.
min_samples_leaf : int
    The minimum number of rows in a leaf; a row of weight s counts as ⌈s⌉ rows.
l2_regularization : float
    λ in the penalty ½λ Σ value² over the leaves of each tree.
max_features : float
    The share of the columns that each split considers, drawn for each node.
categorical_features : "from_dtype", array-like or None
    Which columns hold categories: by default those of a table whose type is categorical or text; or
    a mask, indices or names of columns. In a column of numbers among these, negative numbers are
    missing values.
monotonic_cst : array-like, dict or None
    For each column 1 if predictions must not fall with it, −1 if they must not rise.
interaction_cst : {"pairwise", "no_interactions"}, sequence of groups or None
    Groups of columns that may occur together on the way to a leaf.
early_stopping : "auto" or bool
    Whether rounds end when predictions of held-out rows stop improving; "auto" does so for more
    than 10,000 rows.
scoring : str, callable or None
    How rounds are judged: by the loss, or by any scorer of scikit-learn.
validation_fraction : float, int or None
    The share or number of rows held out to judge rounds; None judges by the training rows.
n_iter_no_change : int
    Rounds end when none of this many is better by `tol` than the one before them.
tol : float
    How much better a round must be for the rounds to go on.
verbose : int
    Has no effect; a long fit shows its progress on a terminal.
time_limit : float or None
    Seconds after which the rounds so far are kept. Folds take at most three quarters of them.
n_iter_ : int
    The number of rounds.
n_trees_per_iteration_ : int
    The number of trees of a round.
search_ : Search
    With max_iter="cv", the score on held-out rows after each round, such as the negative loss.
train_score_, validation_score_ : ndarray
    The scores by which rounds were judged, if they were; higher is better.
do_early_stopping_ : bool
    Whether rounds could end early.
is_categorical_ : ndarray of bool or None
    Which columns hold categories.
"""
AUTO = "auto"
# early_stopping="auto" holds rows out if there are more than this many.
MANY_ROWS = 10_000


class HistGradientBoosting(GradientBoosting):
    """Base of both."""

    _stored: ClassVar[Declaration] = {
        **GradientBoosting._stored,
        "train_score_": Unused(),
        "validation_score_": Unused(),
        "do_early_stopping_": Unused(),
        "is_categorical_": Unused(),
        "search_": Unused(),
    }
    _parameter_constraints: ClassVar[dict] = {
        **GradientBoosting._parameter_constraints,
        "loss": [str, Loss, HasMethods("loss_gradient")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), StrOptions({CV})],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "l2_regularization": [Interval(Real, 0, None, closed="left")],
        "max_features": [Interval(RealNotInt, 0, 1, closed="right")],
        "monotonic_cst": ["array-like", dict, None],
        "interaction_cst": [list, tuple, StrOptions({"pairwise", "no_interactions"}), None],
        "early_stopping": ["boolean", StrOptions({AUTO})],
        "scoring": [str, callable, None],
        "validation_fraction": [
            Interval(RealNotInt, 0, 1, closed="neither"),
            Interval(Integral, 1, None, closed="left"),
            None,
        ],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }
    # As in scikit-learn's classes.
    _negative_is_missing: ClassVar[bool] = True
    _takes_infinity: ClassVar[bool] = True

    @_fit_context(prefer_skip_nested_validation=True)
    @described(TRAINING)
    def fit(self, X, y, sample_weight=None, *, X_val=None, y_val=None, sample_weight_val=None):
        """Fit the trees, round by round.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training rows. NaN is a missing value; ±∞ are larger or smaller than all numbers.
            Columns of a table that hold categories or text need no encoding. Never modified.
        y : array-like of shape (n_samples,)
            Targets.
        X_val, y_val, sample_weight_val : array-like, default=None
            Held-out rows to judge rounds by, instead of some of the training rows.

        Returns
        -------
        self : object
            The fitted estimator. Ctrl-C keeps the rounds so far and raises KeyboardInterrupt; an
            error, or Ctrl-C while folds choose the number of rounds, leaves the estimator as it
            was.
        """
        self._check_one_way(X_val)
        return self._fit(X, y, sample_weight, self._validation(X_val, y_val, sample_weight_val))

    def _check_one_way(self, X_val: Any) -> None:
        """Refuse a second way to set the number of rounds besides folds."""
        if self.max_iter != CV:
            return
        others = {
            "warm_start=True": self.warm_start,
            "early_stopping=True": self.early_stopping is True,
            "X_val": X_val is not None,
        }
        for other, is_there in others.items():
            if is_there:
                raise ValueError(
                    'max_iter="cv" chooses the number of rounds by folds, which contradicts '
                    f"{other}; leave it out, or give a number as max_iter."
                )
        known = (LOSS, BRIER) if is_classifier(self) else (LOSS,)
        if self.scoring not in known:
            raise ValueError(
                f'max_iter="cv" judges rounds by scoring={" or ".join(map(repr, known))}, got '
                f"{self.scoring!r}; set one of these, or give a number as max_iter."
            )

    def _validation(self, X_val: Any, y_val: Any, weights: Any) -> Validation | None:
        """The rows to judge rounds by, if given."""
        if X_val is None and y_val is None:
            return None
        for name, part, other in (("X_val", X_val, "y_val"), ("y_val", y_val, "X_val")):
            if part is None:
                raise ValueError(f"{other} is provided, but {name} was not provided; pass both.")
        if self.early_stopping is False:
            raise ValueError(
                "X_val and y_val are passed to fit while at the same time early_stopping is False; "
                "set early_stopping=True, or leave them out."
            )
        return Validation(X_val, y_val, weights)

    # ---- hooks of the base -----------------------------------------------------------------------

    def _check_classes(self, outputs: Any) -> None:
        """A single class is allowed: it is then predicted for all rows."""

    def _plan(self, data: BoostingData) -> GrowthPlan:
        d = len(data.columns)
        is_smooth = is_second_order(data.loss)
        return GrowthPlan(
            learning_rate=self.learning_rate,
            max_leaves=self.max_leaf_nodes,
            max_depth=self.max_depth,
            min_leaf_rows=self.min_samples_leaf,
            max_columns=None if self.max_features == 1.0 else max(1, int(self.max_features * d)),
            l2=self.l2_regularization,
            second_order=is_smooth,
            leaves="model" if is_smooth else "search",
            groups=table_of(self._check_interaction_cst(d), d),
        )

    def _monotone(self, data: BoostingData) -> Array:
        return read_monotone(self._reader(data), data.columns, data.scores)

    def _check_interaction_cst(self, n_features: int) -> list[set[int]] | None:
        """Columns that may interact on the way to a leaf, by groups."""
        return read_groups(self.interaction_cst, n_features)

    def _boost(self, data: BoostingData, seed: int, **options: Any) -> BoostedRun:
        """All rounds; if folds choose their number, these come first, on the same rows."""
        if self.max_iter != CV:
            return super()._boost(data, seed, **options)
        weights = options.get("weights")
        own = data.of(np.flatnonzero((data.weights if weights is None else weights) > 0))
        search, is_finished = choose_rounds(self, own, seed, options.get("watchers", (None,))[0])
        rounds = int(search.best.get("rounds", UNTRIED_ROUNDS))
        settled = self._at(max_iter=rounds, early_stopping=False, scoring=LOSS)
        fitted = settled._boost(data, seed, **options)
        fitted.learned["search_"] = search
        if not is_finished:
            fitted.run.ending = fitted.run.ending or "folds"
        return fitted

    _rounds_parameter = "max_iter"

    def _wanted(self) -> int:
        return int(self.max_iter)

    def _unfinished(self, run: Run) -> str:
        if run.ending == "folds":
            return (
                "before the folds that choose the number of rounds had finished, and used "
                f"{run.wanted} rounds; raise time_limit, or give a number as max_iter"
            )
        words = super()._unfinished(run)
        return f"{words} and max_iter={run.wanted}" if self.max_iter == CV else words

    def _stops_early(self, data: BoostingData) -> bool:
        if self.max_iter == CV:
            return False
        if self.early_stopping == AUTO:
            return float(np.ceil(data.repeats).sum()) > MANY_ROWS
        return bool(self.early_stopping)

    def _held_out_share(self, data: BoostingData) -> float | int | None:
        return self.validation_fraction if self._stops_early(data) else None

    def _ending(self, data: BoostingData, run: Run, scores: list[float]) -> str:
        return "early" if self._stops_early(data) and self._should_stop(scores) else ""

    def _should_stop(self, scores: list[float]) -> bool:
        """Whether none of the last rounds is better by `tol` than the one before them."""
        place = self.n_iter_no_change + 1
        if len(scores) < place:
            return False
        return not any(score > scores[-place] + self.tol for score in scores[1 - place :])

    def _check_more_rounds(self) -> None:
        if self.max_iter < self.n_iter_:
            raise ValueError(
                f"max_iter={self.max_iter} must be larger than or equal to n_iter_={self.n_iter_} "
                "when warm_start==True; raise it, or set warm_start=False."
            )

    def _learned(self, data: BoostingData, fitted: BoostedRun) -> dict[str, Any]:
        trace = fitted.run.trace
        is_early = self._stops_early(data)
        train = np.array(fitted.train_scores) if fitted.train_scores else -trace.training
        held = np.zeros(0) if trace.validation is None else -trace.validation
        if fitted.scores and trace.validation is not None:
            held = np.array(fitted.scores)
        return super()._learned(data, fitted) | {
            "do_early_stopping_": is_early,
            "train_score_": train if is_early else np.zeros(0),
            "validation_score_": held,
            "is_categorical_": data.columns.is_category if data.columns.is_category.any() else None,
        }

    @property
    def _predictors(self) -> list[list[Predictor]]:
        """The trees for tools that read those of scikit-learn, such as SHAP."""
        return [[Predictor(tree) for tree in trees] for trees in self.trees_]

    @property
    def _bin_mapper(self) -> BinMapper:
        """The bins of the training rows, where such tools look for them."""
        return BinMapper(self._edges, self.encoding_)

    @property
    def _preprocessor(self) -> Preprocessor | None:
        """The names of categories, where they look for them; None without categories."""
        return Preprocessor(self.encoding_) if self.encoding_.is_category.any() else None

    @property
    def _baseline_prediction(self) -> Array:
        """`start_`, where such tools look for it."""
        return self.start_.reshape(1, -1)

    @property
    def n_iter_(self) -> int:
        """The number of rounds."""
        return len(self.trees_)


@described(HIST, BOOSTED, GROWN, FEATURES)
class HistGradientBoostingClassifier(BoostedClassifier, HistGradientBoosting):
    """Gradient boosting of trees for classification, on binned columns.

    Each round adds a tree f, or one for each of several classes, to the scores z that lowers
    Σᵢ sᵢ ℓ(yᵢ, zᵢ + f(xᵢ)) + ½λ Σ value², by its second-order model at z.

    Parameters
    ----------
    loss : str or Loss, default="log_loss"
        "log_loss", the name of any other classification loss of gapless, or an instance of a loss,
        which may be your own. Losses with kinks, such as "hinge", are boosted by their gradient,
        with the best constant in each leaf, and have no probabilities.
    scoring : str, callable or None, default="loss"
        How rounds are judged: by the loss, or by any scorer of scikit-learn. With max_iter="cv", by
        the loss or by "neg_brier_score", the negative squared error of probabilities: the log loss
        of large trees is lowest after few rounds, since their probabilities soon become too extreme
        while the predicted classes still improve.
    class_weight : dict or "balanced", default=None
        Factors for the weights of the rows of each class.

    Notes
    -----
    A round costs a few bytes and additions for each row and column, however many distinct values
    there are. Folds that choose the number of rounds take about five times as long as the fit.
    Indicators that exclude each other share a byte. All sums are of whole numbers, so the model has
    the same bits for any number of threads and any order of the rows.

    References
    ----------
    Friedman (2001), Greedy function approximation: a gradient boosting machine, Annals of
    Statistics 29. Chen and Guestrin (2016), XGBoost, KDD. Ke et al. (2017), LightGBM, NIPS.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gapless import HistGradientBoostingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = HistGradientBoostingClassifier(max_iter=10).fit(X, y)
    >>> print(model.predict(X[[0, 50, 100]]))
    [0 1 2]
    """

    _examples: ClassVar[Examples] = (Example("breast_cancer"),)

    _parameter_constraints: ClassVar[dict] = {
        **HistGradientBoosting._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        loss="log_loss",
        *,
        learning_rate=0.1,
        max_iter=100,
        max_leaf_nodes=31,
        max_depth=None,
        min_samples_leaf=20,
        l2_regularization=0.0,
        max_features=1.0,
        max_bins=255,
        categorical_features="from_dtype",
        monotonic_cst=None,
        interaction_cst=None,
        warm_start=False,
        early_stopping="auto",
        scoring="loss",
        validation_fraction=0.1,
        n_iter_no_change=10,
        tol=1e-7,
        verbose=0,
        random_state=None,
        class_weight=None,
        time_limit=None,
    ):
        self.loss = loss
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_features = max_features
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.warm_start = warm_start
        self.early_stopping = early_stopping
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.class_weight = class_weight
        self.time_limit = time_limit

    def _loss_of(self, outputs: Any) -> Loss:
        return classification_loss(self.loss, len(outputs.classes[0]))


@described(HIST, BOOSTED, GROWN, FEATURES)
class HistGradientBoostingRegressor(BoostedRegressor, HistGradientBoosting):
    """Gradient boosting of trees for regression, on binned columns.

    Each round adds a tree f to the scores z that lowers  Σᵢ sᵢ ℓ(yᵢ, zᵢ + f(xᵢ)) + ½λ Σ value²,
    by its second-order model at z; the prediction is the inverse link of the score.

    Parameters
    ----------
    loss : str or Loss, default="squared_error"
        "squared_error", "absolute_error", "poisson", "gamma", "quantile", the name of any other
        regression loss of gapless, or an instance of a loss, which may be your own. Losses with
        kinks are boosted by their gradient, with the best constant in each leaf.
    quantile : float, default=None
        The level of loss="quantile", from 0 to 1.

    Notes
    -----
    See `HistGradientBoostingClassifier` for what a fit costs.

    References
    ----------
    Friedman (2001), Greedy function approximation: a gradient boosting machine, Annals of
    Statistics 29. Chen and Guestrin (2016), XGBoost, KDD. Ke et al. (2017), LightGBM, NIPS.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from gapless import HistGradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = HistGradientBoostingRegressor(max_iter=20).fit(X, y)
    >>> print(f"{model.trace_.training[0]:.0f} to {model.trace_.training[-1]:.0f}")
    2965 to 900
    """

    _examples: ClassVar[Examples] = (Example("diabetes", {"learning_rate": 0.03}),)

    _parameter_constraints: ClassVar[dict] = {
        **HistGradientBoosting._parameter_constraints,
        "quantile": [Interval(Real, 0, 1, closed="both"), None],
    }

    def __init__(
        self,
        loss="squared_error",
        *,
        quantile=None,
        learning_rate=0.1,
        max_iter=100,
        max_leaf_nodes=31,
        max_depth=None,
        min_samples_leaf=20,
        l2_regularization=0.0,
        max_features=1.0,
        max_bins=255,
        categorical_features="from_dtype",
        monotonic_cst=None,
        interaction_cst=None,
        warm_start=False,
        early_stopping="auto",
        scoring="loss",
        validation_fraction=0.1,
        n_iter_no_change=10,
        tol=1e-7,
        verbose=0,
        random_state=None,
        time_limit=None,
    ):
        self.loss = loss
        self.quantile = quantile
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_features = max_features
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.warm_start = warm_start
        self.early_stopping = early_stopping
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.time_limit = time_limit

    def _loss_of(self, outputs: Any) -> Loss:
        return regression_loss(self.loss, self.quantile)
