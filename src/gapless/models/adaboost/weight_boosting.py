"""What both kinds of AdaBoost share: reading, rounds, time limits and Ctrl-C, both gaps.

A fit works on the distinct rows in the order of their content, with summed weights, so that neither
the order of the rows nor how often they repeat changes the model.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.ensemble import BaseEnsemble
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import check_is_fitted

from ..._ground.columns import read_features
from ..._ground.interrupt import limit_name, time_limit
from ..._ground.stored import INPUT, Declaration, Each, FittedModel, Numbers, Unused
from ..._ground.validation import read_for_learner
from ...certificates import Certificate
from ...unseen import JUDGED, Changes, Population, as_numbers, fewer_rounds, more_rounds
from ..bagging import Ensemble, EnsembleData, EnsembleFit, fingerprint
from ..trees import fewer_limits

Array = np.ndarray


# Shared by the docstrings of both classes.
VOTED = """
random_state : int, RandomState instance or None
    Seeds the learners, and the draws of rows if there are any.
time_limit : float or None
    Seconds after which no new round begins; the first round is always done.
estimators_ : list of estimators
    The learners.
estimator_ : estimator
    The learner that they are copies of.
feature_importances_ : ndarray of shape (n_features,)
    The mean over the learners, by their weights.
generalization_ : Generalization
    The score to expect on unseen rows, by boosting again without some of the rows.
"""
TRAINING = """
X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
    Training rows, of any kind that the learner accepts. Never modified.
y : array-like of shape (n_samples,)
    Targets.
sample_weight : array-like of shape (n_samples,)
    Weights ≥ 0. Weight 2 is the row twice, weight 0 removes it.
"""


@dataclass(frozen=True, eq=False)
class Round:
    """The result of one round: a learner, the weight of its vote, and its error."""

    learner: Any
    vote: float
    error: float


class VoteFit(EnsembleFit):
    """A boosted ensemble, as far as held-out predictions need it: how to refit it on some rows."""

    has_probabilities = False

    def simpler(self):
        """Fewer rounds."""
        return [self._dial(fewer_rounds("n_estimators", len(self.ensemble.estimators_)))]

    def richer(self):
        """More rounds, and richer learners."""
        return [
            self._dial(more_rounds("n_estimators", len(self.ensemble.estimators_))),
            self._dial(self._richer_learner),
        ]

    def _richer_learner(self, step: int) -> Changes | None:
        learner = self.ensemble._learner()
        found = fewer_limits(learner.get_params(), float(self.weights.sum()))(step)
        return None if found is None else {"estimator": clone(learner).set_params(**found)}


class WeightBoosting(Ensemble, BaseEnsemble):
    """Base class of AdaBoost for classes and for numbers.

    A subclass has `_default`, the default learner, and `_rounds`, which yields the rounds.
    """

    _guide = "adaboost"

    estimator_params = ()
    _stored: ClassVar[Declaration] = {
        "estimator_": Unused(),
        "estimators_": Each(FittedModel("predict", "features"), "members", least=1),
        "estimator_weights_": Numbers("members"),
        "estimator_errors_": Numbers("members"),
        **JUDGED,
        **INPUT,
        "_fingerprint": Unused(),
        "_is_stopped": Unused(),
    }
    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    }

    # ---- what a subclass defines -----------------------------------------------------------------

    def _default(self) -> Any:
        """The default learner."""
        raise NotImplementedError

    # ---- reading ---------------------------------------------------------------------------------

    def _learner(self) -> Any:
        return self._default() if self.estimator is None else self.estimator

    def _read(self, X, y, sample_weight=None, *, reset: bool = True) -> EnsembleData:
        X, names = self._read_X(X, reset=reset)
        outputs = self._read_targets(y, X, sample_weight)
        self._refuse_several(outputs)
        return EnsembleData(X, as_numbers(X), outputs, names)

    def _read_X(self, X: Any, *, reset: bool) -> tuple[Any, Array | None]:
        """X for the learner, and its feature names: a table if trees will read it."""
        reader = copy.copy(self)
        learner = self._learner()
        if hasattr(learner, "categorical_features"):
            reader.categorical_features = learner.categorical_features
            return read_features(reader, X, reset=reset)
        is_finite = get_tags(learner).input_tags.allow_nan is False
        return read_for_learner(self, X, reset=reset, allow_nd=True, ensure_all_finite=is_finite)

    # ---- fitting ---------------------------------------------------------------------------------

    def _maker(self, random_state: np.random.RandomState) -> Callable[[], Any]:
        """A function that makes a new learner, with its own seeds."""
        draft = copy.copy(self)
        draft.estimator_ = self._learner()
        return lambda: draft._make_estimator(append=False, random_state=random_state)

    def _in_time(self, rounds: Iterator[Round]) -> Iterator[list[Round]]:
        """Yield the rounds; all except the first within the time limit."""
        yield [next(rounds)]
        with time_limit(self.time_limit):
            for one in rounds:
                yield [one]

    def _learned(
        self, data: EnsembleData, rows: Population, rounds: list[Round], ending: str
    ) -> dict[str, Any]:
        """The attributes that both kinds learn."""
        weights, errors = np.zeros(self.n_estimators), np.ones(self.n_estimators)
        weights[: len(rounds)] = [one.vote for one in rounds]
        errors[: len(rounds)] = [one.error for one in rounds]
        learned = {
            "estimator_": self._learner(),
            "estimators_": [one.learner for one in rounds],
            "estimator_weights_": weights,
            "estimator_errors_": errors,
            "n_features_in_": data.X.shape[1],
            "_fingerprint": fingerprint(rows, data.outputs.y),
            "_is_stopped": bool(ending),
            "_training": (data,),
            "_calibration": None,
        }
        if data.feature_names is not None:
            learned["feature_names_in_"] = data.feature_names
        return learned

    def _with_end(self, certificate: Certificate, done: int, ending: Any) -> Certificate:
        """The certificate, which mentions it if the rounds ended early."""
        if not ending:
            return certificate
        verdict = f"stopped after {done} of {self.n_estimators} rounds; {certificate.verdict}"
        return replace(certificate, verdict=verdict)

    def _end(self, ending: str, grown: int, wanted: int) -> None:
        if ending == "interrupted":
            raise KeyboardInterrupt
        if ending == "time_limit":
            warnings.warn(
                f"{type(self).__name__} stopped at {limit_name(self.time_limit)} after "
                f"{grown} of {wanted} rounds; raise time_limit, or lower n_estimators.",
                ConvergenceWarning,
                stacklevel=4,
            )

    # ---- unseen data -----------------------------------------------------------------------------

    def _unfitted(self) -> Any:
        """An unfitted copy for other rows, with as many rounds and without a time limit."""
        twin = clone(self).set_params(time_limit=None)
        if self._is_stopped:
            twin.set_params(n_estimators=len(self.estimators_))
        return twin

    def _fitted(self, data: EnsembleData) -> VoteFit:
        self._check_same_data(data)
        return VoteFit(self, data)

    # ---- reading the members ---------------------------------------------------------------------

    def _rows_of(self, X: Any) -> Any:
        """Rows to predict, as the learners read them."""
        check_is_fitted(self)
        return self._read_X(X, reset=False)[0]

    def _raw_predict(self, X: Any) -> Array:
        """The joint prediction of the members, (n, K), from which predictions are made."""
        return self._mean_of_members(X)

    def _respond(self, scores: Array) -> Array:
        """Numbers are predicted unchanged."""
        return scores

    def staged_score(self, X, y, sample_weight=None):
        """The score after each round: accuracy, or R².

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
            The share of rows that are predicted correctly, or R².
        """
        score = accuracy_score if is_classifier(self) else r2_score
        for predicted in self.staged_predict(X):
            yield score(y, predicted, sample_weight=sample_weight)

    @property
    def feature_importances_(self):
        """The mean of the learners' feature importances, by the weights of their votes.

        Those of trees are by impurity: features with many values look more important than they are.
        `gapless.evaluation.permutation_importance` is not biased so.
        """
        check_is_fitted(self)
        weights = self.estimator_weights_[: len(self.estimators_)]
        try:
            of_each = [one.feature_importances_ for one in self.estimators_]
        except AttributeError as error:
            raise AttributeError(
                "Unable to compute feature importances since estimator does not have a "
                "feature_importances_ attribute"
            ) from error
        return np.average(of_each, axis=0, weights=weights if weights.sum() > 0 else None)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        of_learner = get_tags(self._learner()).input_tags
        tags.input_tags.sparse = of_learner.sparse
        tags.input_tags.allow_nan = of_learner.allow_nan
        return tags


def chosen_rows(data: EnsembleData, rows: Population) -> tuple[Any, Array]:
    """The distinct rows, and their targets as the caller gave them."""
    return _safe_indexing(data.X, rows.first), data.outputs.as_given[rows.first]
