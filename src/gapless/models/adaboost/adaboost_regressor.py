"""AdaBoost for numbers (AdaBoost.R2): the weighted median of learners on draws of hard rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin, _fit_context
from sklearn.metrics import r2_score
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import has_fit_parameter

from ..._ground.about import Example, Examples
from ..._ground.progress import watch, with_callbacks
from ..._ground.threads import single_blas
from ...certificates import Certificate
from ...unseen import Population, intervals_of, predict_with_intervals, take_over
from ..bagging import EnsembleData
from ..trees import DecisionTreeRegressor
from ._weight_boosting import Round, WeightBoosting, chosen_rows

Array = np.ndarray

# So many draws are as good as more.
MOST_DRAWS = 10_000_000
NO_BOUND = (
    "no bound: the learners are fitted to random samples, and their median minimises no known "
    "objective; see the score on unseen rows in generalization_."
)


class AdaBoostRegressor(RegressorMixin, WeightBoosting):
    """Regression by the weighted median of learners on random samples of rows (AdaBoost.R2).

    Each round draws rows with replacement, fits a learner to them, and lowers the weights of the
    rows that it predicts well: with the losses ℓᵢ of its errors, between 0 and 1, and their mean e,
    by the factor  β^(1 − ℓᵢ),  β = e/(1 − e).  The prediction is the median by the weights
    log(1/β).

    Parameters
    ----------
    estimator : regressor, default=None
        Any learner; None is `DecisionTreeRegressor(max_depth=3)`.
    n_estimators : int, default=50
        The largest number of rounds. They end when a learner makes no error, or one with e ≥ ½.
    learning_rate : float, default=1.0
        By what the weights of the learners, and the changes of the rows', are multiplied.
    loss : {"linear", "square", "exponential"}, default="linear"
        ℓ of the absolute error as a part r of the largest one: r, r² or 1 − exp(−r).
    random_state : int, RandomState instance or None, default=None
        Seeds the draws, and the learners.
    time_limit : float, default=None
        Seconds after which no further round is begun; the first is always done.

    Attributes
    ----------
    estimators_ : list of regressors
        The learners.
    estimator_ : regressor
        The learner that they are copies of.
    estimator_weights_ : ndarray of shape (n_estimators,)
        log(1/β) times the learning rate; 0 for rounds that were not needed.
    estimator_errors_ : ndarray of shape (n_estimators,)
        e of each learner; 1 for rounds that were not needed.
    feature_importances_ : ndarray of shape (n_features,)
        The mean over the learners, by their weights.
    certificate_ : Certificate
        Says that no bound is known, and why.
    generalization_ : Generalization
        What the median will score on unseen rows, by boosting again without some rows.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had names.

    Notes
    -----
    As many rows are drawn as there are, a row of weight s being ⌈s⌉ rows, from the distinct rows
    with chances by their weights; learners that take sample_weight are given how often each row was
    drawn. One row far from all others makes all other errors look small; gradient boosting with the
    Huber loss does not have that fault.

    References
    ----------
    Drucker (1997), Improving regressors using boosting techniques, ICML.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from gapless import AdaBoostRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = AdaBoostRegressor(random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.5)
    True
    """

    _examples: ClassVar[Examples] = (Example("diabetes", {"random_state": 0}),)

    _intervals = intervals_of
    _parameter_constraints: ClassVar[dict] = {
        **WeightBoosting._parameter_constraints,
        "loss": [StrOptions({"linear", "square", "exponential"})],
    }

    def __init__(
        self,
        estimator=None,
        *,
        n_estimators=50,
        learning_rate=1.0,
        loss="linear",
        random_state=None,
        time_limit=None,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.loss = loss
        self.random_state = random_state
        self.time_limit = time_limit

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None):
        """Fit the learners one after another.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training data, of any kind that the learner takes. Never written to.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights ≥ 0. Weight 2 means the row twice, weight 0 means the row is not there.

        Returns
        -------
        self : object
            The fitted estimator. Ctrl-C keeps the rounds that are done and raises
            KeyboardInterrupt; an error leaves the estimator as it was.
        """
        data = self._read(X, y, sample_weight)
        rows = Population.of(data.numbers, data.outputs.y, data.outputs.sample_weight)
        with single_blas(), watch(self, data.X, data.labels) as callback:
            rounds = self._in_time(self._rounds(data, rows))
            done, ending = self._collect(rounds, self.n_estimators, callback)
        learned = self._learned(data, rows, done, ending)
        nan = float("nan")
        found = Certificate("none", NO_BOUND, nan, -np.inf, np.inf, np.inf, 0.0, 1.0)
        learned["certificate_"] = self._with_end(found, len(done), ending)
        take_over(self, learned)
        self._end(ending, len(done), self.n_estimators)
        return self

    def _default(self):
        return DecisionTreeRegressor(max_depth=3)

    # ---- the rounds ------------------------------------------------------------------------------

    def _rounds(self, data: EnsembleData, rows: Population) -> Iterator[Round]:
        """Learners, until one makes no error or too large ones."""
        random_state = check_random_state(self.random_state)
        make = self._maker(random_state)
        X, y = chosen_rows(data, rows)
        size = int(min(np.ceil(rows.weights).sum(), MOST_DRAWS))
        weights = rows.weights / rows.weights.sum()
        for k in range(self.n_estimators):
            rng = np.random.default_rng(random_state.randint(np.iinfo(np.int32).max))
            learner = _fit(make(), X, y, rng.multinomial(size, weights / weights.sum()))
            losses = self._losses(np.abs(learner.predict(X) - y))
            error = float(weights @ losses)
            if error >= 0.5:
                if k == 0:  # better than nothing
                    yield Round(learner, 0.0, 1.0)
                return
            if error <= 0:
                yield Round(learner, 1.0, 0.0)
                return
            beta = error / (1 - error)
            yield Round(learner, self.learning_rate * float(np.log(1 / beta)), error)
            weights = weights * beta ** ((1 - losses) * self.learning_rate)
            weights /= weights.sum()

    def _losses(self, errors: Array) -> Array:
        """Losses between 0 and 1 of absolute errors."""
        parts = errors / (errors.max() or 1.0)
        if self.loss == "square":
            return parts**2
        return 1 - np.exp(-parts) if self.loss == "exponential" else parts

    # ---- predicting ------------------------------------------------------------------------------

    def _mean_of_members(self, X: Any) -> Array:
        """The weighted median of the learners, (n, 1)."""
        X = self._rows_of(X)
        said = np.stack([one.predict(X) for one in self.estimators_], axis=1)
        return _median(said, self.estimator_weights_[: len(self.estimators_)])[:, None]

    def predict(self, X, *, interval=None):
        """Predict targets, with intervals where they are asked for.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to predict.
        interval : float, default=None
            The share of new rows, such as 0.9, whose target is to be inside its interval. See
            `gapless.intervals` for what is promised; the first call fits ten times again.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Medians of the learners by their weights. With `interval`, a tuple `(prediction, lower,
            upper)` of such arrays.
        """
        if interval is not None:
            return predict_with_intervals(self, X, interval)
        return self._mean_of_members(X)[:, 0]

    def staged_predict(self, X):
        """Predict targets by the learners of each round and those before it.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        y : ndarray of shape (n_samples,)
            Predicted values.
        """
        X = self._rows_of(X)
        said = np.stack([one.predict(X) for one in self.estimators_], axis=1)
        for count in range(1, len(self.estimators_) + 1):
            yield _median(said[:, :count], self.estimator_weights_[:count])

    def staged_score(self, X, y, sample_weight=None):
        """R² after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts.

        Yields
        ------
        score : float
            R².
        """
        for predicted in self.staged_predict(X):
            yield r2_score(y, predicted, sample_weight=sample_weight)

    def _formula(self) -> None:
        """None: rows are drawn by their errors, and no sum of losses falls."""


def _fit(learner: Any, X: Any, y: Array, counts: Array) -> Any:
    """The learner, fitted to rows that were drawn so many times."""
    given = np.flatnonzero(counts)
    if has_fit_parameter(learner, "sample_weight"):
        options = {"sample_weight": counts[given].astype(np.float64)}
    else:
        options, given = {}, np.repeat(given, counts[given])
    learner.fit(_safe_indexing(X, given), y[given], **options)
    return learner


def _median(said: Array, weights: Array) -> Array:
    """The median of each row (n, members) by the weights of the members."""
    order = np.argsort(said, axis=1, kind="stable")
    below = np.cumsum(weights[order], axis=1)
    middle = np.argmax(below >= 0.5 * below[:, -1:], axis=1)
    rows = np.arange(len(said))
    return said[rows, order[rows, middle]]
