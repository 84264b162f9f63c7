"""AdaBoost: learners fitted one after another, each to what those before it get wrong.

For classes a weighted vote (SAMME), for numbers a weighted median (AdaBoost.R2).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context, clone
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.extmath import softmax
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from ..._ground.about import Example, Examples, Formula
from ..._ground.columns import Columns
from ..._ground.docstrings import FEATURES, described
from ..._ground.progress import watch, with_callbacks
from ..._ground.stored import Declaration, Labels, Unused, Whole
from ..._ground.threads import single_blas
from ...certificates import Certificate
from ...unseen import (
    Population,
    sets_of,
    take_over,
)
from ..bagging import EnsembleData
from ..boosting import BoostedClassifier, BoostedRegressor
from ..trees import LARGEST_SEED, DecisionTreeClassifier, DecisionTreeRegressor
from .margins import (
    Margins,
    TraceKeeper,
    bound_of,
    certificate_of_stumps,
    certificate_without_bound,
)
from .weak_learners import (
    AnyLearner,
    StumpLearner,
    Stumps,
    is_plain_stump,
    votes_of,
    votes_of_trees,
)
from .weight_boosting import TRAINING, VOTED, Round, WeightBoosting, chosen_rows

Array = np.ndarray

# More draws of rows than these change a learner no more.
ENOUGH_DRAWS = 10_000_000
NO_BOUND = (
    "no bound: the learners are fitted to random samples, and their median minimises no known "
    "objective; see the score on unseen rows in generalization_."
)
# Beyond this exp overflows.
LARGEST_EXPONENT = 700.0
OTHER_LEARNER = (
    "how far that is from the best possible is known only for stumps on numbers, or for two classes"
)


@described(VOTED, FEATURES)
class AdaBoostClassifier(BoostedClassifier, WeightBoosting):
    """Classification by a weighted vote of simple learners (AdaBoost, SAMME).

    Minimises greedily  L = Σᵢ sᵢ exp(−mᵢ),  mᵢ = Σₜ αₜ(1[hₜ(xᵢ) = yᵢ] − 1/K):  each round fits a
    learner hₜ to the rows with weights sᵢ exp(−mᵢ), and adds it with the αₜ that lowers L most. For
    two classes this is exp(−yᵢF(xᵢ)) with F = ½ Σ αₜhₜ.

    Parameters
    ----------
    estimator : classifier, default=None
        Any learner that accepts sample_weight; None is `DecisionTreeClassifier(max_depth=1)`, a
        stump.
    n_estimators : int, default=50
        The maximum number of rounds. They end early when a learner makes no error, or when none is
        better than guessing.
    learning_rate : float, default=1.0
        The factor of the best αₜ; smaller steps need more rounds.

    Attributes
    ----------
    estimator_weights_ : ndarray of shape (n_estimators,)
        The αₜ; 0 for rounds that were not done.
    estimator_errors_ : ndarray of shape (n_estimators,)
        The error of each learner on its weights of the rows; 1 for rounds that were not done.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_classes_ : int
        The number of classes.
    trace_ : MarginTrace
        Loss, training error and distribution of the margins after each round; `trace_.plot()`.
    certificate_ : Certificate
        For stumps, a bound: no vote of stumps with as much total weight Σα, or less, has a lower
        loss. For other learners, or categories and more than two classes, the loss alone.
    dual_ : ndarray
        The weights of the distinct rows that prove the bound: their mean over the rounds.

    Notes
    -----
    With stumps the columns are sorted once, and a round costs n·d: one pass of sums over each
    column. Missing values go to the better side, and of the categories of a column the best subset
    goes left; with more than two classes `DecisionTreeClassifier` chooses it, which takes longer.
    The loss grows exponentially for misclassified rows, so mislabelled rows get most of the weight;
    gradient boosting with the logistic loss is more robust.

    References
    ----------
    Freund and Schapire (1997), A decision-theoretic generalization of on-line learning and an
    application to boosting, J. Comput. Syst. Sci. 55. Zhu, Zou, Rosset and Hastie (2009),
    Multi-class AdaBoost, Statistics and its Interface 2.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from gapless import AdaBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=20).fit(X, y)
    >>> model.certificate_.kind
    'bound'
    >>> bool(model.trace_.loss[-1] < 0.2)
    True
    """

    _examples: ClassVar[Examples] = (Example("breast_cancer"),)

    _stored: ClassVar[Declaration] = {
        **WeightBoosting._stored,
        "classes_": Labels(),
        "n_classes_": Whole(size="classes"),
        "trace_": Unused(),
        "dual_": Unused(),
    }
    _sets = sets_of

    def __init__(
        self,
        estimator=None,
        *,
        n_estimators=50,
        learning_rate=1.0,
        random_state=None,
        time_limit=None,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.time_limit = time_limit

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=False)
    @described(TRAINING)
    def fit(self, X, y, sample_weight=None):
        """Fit the learners one after another.

        Returns
        -------
        self : object
            The fitted estimator. Ctrl-C keeps the rounds done so far and raises
            KeyboardInterrupt; an error leaves the estimator as it was.
        """
        with single_blas():
            return self._fit(self._read(X, y, sample_weight))

    def _fit(self, data: EnsembleData) -> AdaBoostClassifier:
        learner = self._learner()
        if not has_fit_parameter(learner, "sample_weight"):
            raise ValueError(
                f"{type(learner).__name__} doesn't support sample_weight, which AdaBoost uses to "
                "weight the rows; use another learner, or BaggingClassifier."
            )
        rows = self._distinct(data)
        margins, stumps = self._no_votes(data, rows), self._stumps(data, rows)
        keeper, dual = TraceKeeper(margins), np.zeros(len(rows.first))
        rounds = self._rounds(self._weak_learner(data, rows, stumps), keeper, dual)
        with watch(self, data.X, data.outputs.as_given) as callback:
            done, ending = self._collect(self._in_time(rounds), self.n_estimators, callback)
        if len(keeper) != len(done):  # Ctrl-C came between the two
            keeper.cut(len(done))
            margins = self._votes_of(done, data, rows)
        learned = self._learned(data, rows, done, ending)
        learned |= {
            "classes_": _classes_of(data),
            "n_classes_": margins.classes,
            "trace_": keeper.trace(),
            "dual_": dual,
            "certificate_": self._with_end(_certificate(stumps, margins, dual), len(done), ending),
        }
        take_over(self, learned)
        self._end(ending, len(done), self.n_estimators)
        return self

    def _default(self):
        return DecisionTreeClassifier(max_depth=1)

    # ---- the rounds ------------------------------------------------------------------------------

    def _distinct(self, data: EnsembleData) -> Population:
        return Population.of(data.numbers, data.outputs.y, data.outputs.sample_weight)

    def _no_votes(self, data: EnsembleData, rows: Population) -> Margins:
        y = data.outputs.y[rows.first, 0].astype(np.int32)
        return Margins(y, rows.weights, len(_classes_of(data)))

    def _stumps(self, data: EnsembleData, rows: Population) -> Stumps | None:
        """All stumps on the rows, if the learner is a plain stump and the best can be found.

        With more than two classes the best subset of the levels of a category cannot.
        """
        classes = len(_classes_of(data))
        if classes < 2 or not is_plain_stump(self._learner()):
            return None
        columns = Columns.read(data.X)
        if classes > 2 and columns.is_category.any():
            return None
        return Stumps.of(columns, rows.first, data.outputs.y[rows.first, 0], classes)

    def _weak_learner(
        self, data: EnsembleData, rows: Population, stumps: Stumps | None
    ) -> Callable:
        """The function that finds the learner of a round."""
        classes, random_state = _classes_of(data), check_random_state(self.random_state)
        if stumps is not None:
            names = data.feature_names if stumps.columns.is_category.any() else None
            return StumpLearner(clone(self._learner()), stumps, classes, random_state, names)
        return AnyLearner(self._maker(random_state), *chosen_rows(data, rows), classes)

    def _rounds(self, learn: Callable, keeper: TraceKeeper, dual: Array) -> Iterator[Round]:
        """Learners, until one makes no error or guesses; `dual` becomes the mean of the weights."""
        margins, classes = keeper.margins, keeper.margins.classes
        for k in range(self.n_estimators):
            weights = margins.distribution()
            learner, predicted = learn(weights)
            error = float(weights @ (predicted != margins.y))
            if error >= 1 - 1 / classes and classes > 1:
                if k == 0:
                    raise ValueError(_worse_than_random(learner, error, classes))
                return
            vote = 1.0
            if error > 0:
                vote = self.learning_rate * (np.log((1 - error) / error) + np.log(classes - 1))
            margins.add(vote, predicted)
            dual += (weights - dual) / (k + 1)
            keeper.note(error)
            yield Round(learner, float(vote), error)
            if error <= 0:
                return
            if max(margins.log_loss, vote) > LARGEST_EXPONENT:
                warnings.warn(
                    f"Sample weights have reached infinite values, at iteration {k}, causing "
                    "overflow. Iterations stopped. Try lowering the learning rate.",
                    stacklevel=6,
                )
                return

    # ---- the certificate -------------------------------------------------------------------------

    def _certified(self, X, y, sample_weight=None) -> Certificate:
        """The certificate, recomputed from the data of the fit and the stored learners."""
        check_is_fitted(self)
        data = self._read(X, y, sample_weight, reset=False)
        self._check_same_data(data)
        rows = self._distinct(data)
        rounds = [
            Round(one, float(vote), 0.0)
            for one, vote in zip(self.estimators_, self.estimator_weights_)
        ]
        with single_blas():
            margins = self._votes_of(rounds, data, rows)
            found = _certificate(self._stumps(data, rows), margins, self.dual_)
        return self._with_end(found, len(rounds), self._is_stopped)

    def _votes_of(self, rounds: list[Round], data: EnsembleData, rows: Population) -> Margins:
        """The vote of these rounds on the data."""
        margins = self._no_votes(data, rows)
        X, _ = chosen_rows(data, rows)
        for one in rounds:
            margins.add(one.vote, np.argmax(votes_of(one.learner, X, _classes_of(data)), axis=1))
        return margins

    def _formula(self) -> Formula:
        return Formula(
            "Σᵢ exp(−mᵢ), mᵢ = Σₜ αₜ(1[hₜ(xᵢ) = yᵢ] − 1/K)", {"rounds": len(self.estimators_)}
        )

    # ---- what the vote predicts ------------------------------------------------------------------

    def _mean_of_members(self, X: Any) -> Array:
        """The share of votes for each class, (n, K)."""
        X, count = self._rows_of(X), len(self.estimators_)
        votes = self.estimator_weights_[:count]
        sums = votes_of_trees(self.estimators_, votes, X, self.classes_)
        if sums is None:
            sums = sum(
                vote * votes_of(one, X, self.classes_) for one, vote in zip(self.estimators_, votes)
            )
        return sums / votes.sum()

    def _staged_raw(self, X: Any) -> Iterator[Array]:
        X, total = self._rows_of(X), 0.0
        sums = np.zeros((X.shape[0], self.n_classes_))
        for one, vote in zip(self.estimators_, self.estimator_weights_):
            sums += vote * votes_of(one, X, self.classes_)
            total += vote
            yield sums / total

    def _classes(self, z: Array) -> Array:
        return self.classes_.take(np.argmax(z, axis=1), axis=0)

    def _decisions(self, z: Array) -> Array:
        """Scores of the classes from their shares of the votes, as in scikit-learn."""
        classes = z.shape[1]
        if classes == 1:
            return np.zeros_like(z)
        if classes == 2:
            return 2 * (z[:, 1] - z[:, 0])
        return z - (1 - z) / (classes - 1)

    def _probabilities(self, z: Array) -> Array:
        """Softmax of the scores (Zhu, Zou, Rosset and Hastie 2009, equation 15).

        They agree with the predictions, and stay far from 0 and 1.
        """
        classes = z.shape[1]
        if classes == 1:
            return np.ones_like(z)
        if classes == 2:
            half = z[:, 1] - z[:, 0]
            return softmax(np.column_stack([-half, half]), copy=False)
        return softmax(self._decisions(z) / (classes - 1), copy=False)

    def _log_probabilities(self, z: Array) -> Array:
        return np.log(self._probabilities(z))


def _classes_of(data: EnsembleData) -> Array:
    """The classes of the one output."""
    classes = data.outputs.classes
    assert classes is not None
    return classes[0]


def _certificate(stumps: Stumps | None, margins: Margins, dual: Array) -> Certificate:
    if stumps is None:
        return certificate_without_bound(margins, OTHER_LEARNER)
    return certificate_of_stumps(margins, bound_of(stumps, margins, dual))


def _worse_than_random(learner: Any, error: float, classes: int) -> str:
    return (
        "BaseClassifier in AdaBoostClassifier ensemble is worse than random, ensemble can not be "
        f"fit: {type(learner).__name__} has error {error:.3g} on {classes} classes; use another "
        "learner."
    )


@described(VOTED, FEATURES)
class AdaBoostRegressor(BoostedRegressor, WeightBoosting):
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
        The maximum number of rounds. They end early when a learner makes no error, or has e ≥ ½.
    learning_rate : float, default=1.0
        The factor of the learners' weights, and of the exponents of the rows' factors.
    loss : {"linear", "square", "exponential"}, default="linear"
        ℓ of the absolute error divided by the largest one, r: r, r² or 1 − exp(−r).

    Attributes
    ----------
    estimator_weights_ : ndarray of shape (n_estimators,)
        log(1/β) times the learning rate; 0 for rounds that were not done.
    estimator_errors_ : ndarray of shape (n_estimators,)
        e of each learner; 1 for rounds that were not done.
    certificate_ : Certificate
        Says that no bound is known, and why.

    Notes
    -----
    As many rows are drawn as there are, a row of weight s counting as ⌈s⌉ rows, from the distinct
    rows with probabilities by their weights; learners that accept sample_weight get how often each
    row was drawn. One outlier makes all other errors look small; gradient boosting with the Huber
    loss is more robust.

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
    @described(TRAINING)
    def fit(self, X, y, sample_weight=None):
        """Fit the learners one after another.

        Returns
        -------
        self : object
            The fitted estimator. Ctrl-C keeps the rounds done so far and raises
            KeyboardInterrupt; an error leaves the estimator as it was.
        """
        data = self._read(X, y, sample_weight)
        rows = Population.of(data.numbers, data.outputs.y, data.outputs.sample_weight)
        with single_blas(), watch(self, data.X, data.outputs.as_given) as callback:
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
        size = int(min(np.ceil(rows.weights).sum(), ENOUGH_DRAWS))
        weights = rows.weights / rows.weights.sum()
        for k in range(self.n_estimators):
            rng = np.random.default_rng(random_state.randint(LARGEST_SEED))
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
        predicted = self._by_learner(X)
        return _median(predicted, self.estimator_weights_[: len(self.estimators_)])[:, None]

    def _staged_raw(self, X: Any) -> Iterator[Array]:
        predicted = self._by_learner(X)
        for count in range(1, len(self.estimators_) + 1):
            yield _median(predicted[:, :count], self.estimator_weights_[:count])[:, None]

    def _by_learner(self, X: Any) -> Array:
        """The predictions of each learner, (n, learners)."""
        X = self._rows_of(X)
        return np.stack([one.predict(X) for one in self.estimators_], axis=1)

    def _formula(self) -> None:
        """None: rows are drawn by their errors, and no sum of losses is minimised."""


def _fit(learner: Any, X: Any, y: Array, counts: Array) -> Any:
    """The learner, fitted to rows that were drawn `counts` times."""
    given = np.flatnonzero(counts)
    if has_fit_parameter(learner, "sample_weight"):
        options = {"sample_weight": counts[given].astype(np.float64)}
    else:
        options, given = {}, np.repeat(given, counts[given])
    learner.fit(_safe_indexing(X, given), y[given], **options)
    return learner


def _median(predicted: Array, weights: Array) -> Array:
    """The median of each row (n, members), weighted by the members' weights."""
    order = np.argsort(predicted, axis=1, kind="stable")
    below = np.cumsum(weights[order], axis=1)
    middle = np.argmax(below >= 0.5 * below[:, -1:], axis=1)
    rows = np.arange(len(predicted))
    return predicted[rows, order[rows, middle]]
