"""Bagging of any learner (Breiman 1996): the mean of members fitted to random draws of the rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any, ClassVar

import numpy as np
import sklearn.ensemble
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..._ground.about import Example, Examples
from ..._ground.docstrings import FEATURES, described
from ..._ground.shapley import Contributions
from ..._ground.stored import Declaration, Labels, Unused, Whole
from ...unseen import intervals_of, predict_set, predict_with_intervals, sets_of
from ..trees import ROWS, DecisionTreeClassifier, DecisionTreeRegressor
from .members import (
    BAGGED,
    ROUTED,
    Bagging,
    decisions,
    log_probabilities,
    numbers,
    probabilities,
    votes,
)
from .out_of_bag import EnsembleData, warn_if_unpredicted

Array = np.ndarray


SOFT, HARD = "soft", "hard"


def _members_decide(ensemble: Any) -> bool:
    """Whether the members have decision values, and their mean decides."""
    if ensemble.voting == HARD:
        return False
    members = getattr(ensemble, "estimators_", None) or [ensemble._get_estimator()]
    return hasattr(members[0], "decision_function")


@described(BAGGED, FEATURES)
class BaggingClassifier(Bagging, sklearn.ensemble.BaggingClassifier):
    """Classification by the mean probabilities, or votes, of learners on random samples of rows.

    Parameters
    ----------
    estimator : estimator, default=None
        The learner, ours or scikit-learn's; None is a `DecisionTreeClassifier`.
    voting : {"soft", "hard"}, default="soft"
        "soft" averages the members' probabilities (or votes, if they have none). "hard" predicts
        argmax_y Σ_t 1(h_t(x) = y), the class that most members predict, and among equals the first
        one; probabilities are then the shares of the votes, out of bag too.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_classes_ : int
        The number of classes.
    oob_score_ : float
        The accuracy on the rows, each predicted by the members that did not draw it.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        The mean of their probabilities, or the shares of their votes.

    Notes
    -----
    Rows are drawn from the distinct rows, sorted by content, so members do not depend on the order
    of the rows, and repeating a row is the same as doubling its weight. A learner that accepts
    weights gets all distinct rows, with how often each was drawn; any other gets the rows that were
    drawn. If a draw has a single class and the learner refuses it, the member predicts that class.
    A table with categories or text, or any table for a pipeline, is passed on as a table of the
    columns that were drawn.

    References
    ----------
    Breiman (1996), Bagging predictors, Machine Learning 24.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from gapless import BaggingClassifier, LogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = BaggingClassifier(LogisticRegression(), random_state=0).fit(X / X.max(axis=0), y)
    >>> len(model.estimators_)
    10
    """

    _examples: ClassVar[Examples] = (Example("breast_cancer", {"random_state": 0}),)

    _answer = "predict_proba"
    _stored: ClassVar[Declaration] = {
        **Bagging._stored,
        "classes_": Labels(),
        "n_classes_": Whole(size="classes"),
        "oob_decision_function_": Unused(),
    }
    _parameter_constraints: ClassVar[dict] = {
        **Bagging._parameter_constraints,
        "voting": [StrOptions({SOFT, HARD})],
    }

    def __init__(
        self,
        estimator=None,
        n_estimators=10,
        *,
        max_samples=None,
        max_features=1.0,
        bootstrap=True,
        bootstrap_features=False,
        oob_score=False,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        time_limit=None,
        voting="soft",
    ):
        super().__init__(
            estimator,
            n_estimators,
            max_samples=max_samples,
            max_features=max_features,
            bootstrap=bootstrap,
            bootstrap_features=bootstrap_features,
            oob_score=oob_score,
            warm_start=warm_start,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            time_limit=time_limit,
        )
        self.voting = voting

    predict_set = predict_set
    _sets = sets_of

    def _get_estimator(self) -> Any:
        return DecisionTreeClassifier() if self.estimator is None else self.estimator

    def _misfit(self) -> str | None:
        known = np.arange(len(self.classes_))
        for member in self.estimators_:
            if not np.isin(getattr(member, "classes_", known), known).all():
                return "estimators_ has a member with classes other than classes_"
        return super()._misfit()

    @described(ROWS, ROUTED)
    def predict_proba(self, X, **params):
        """Mean probabilities of the members; shares of their votes with `voting="hard"`.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        return self._mean_of_members(X, **params)

    @described(ROWS, ROUTED)
    def predict_log_proba(self, X, **params):
        """Logarithms of the mean probabilities.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        check_is_fitted(self)
        if self.voting == HARD:
            with np.errstate(divide="ignore"):
                return np.log(self._mean_of_members(X, **params))
        ask = partial(log_probabilities, count=self.n_classes_)
        predicted = self._member_outputs(X, ask, "predict_log_proba", params)
        return reduce(np.logaddexp, predicted) - np.log(len(self.estimators_))

    @available_if(_members_decide)
    @described(ROWS, ROUTED)
    def decision_function(self, X, **params):
        """Mean decision values of the members.

        Returns
        -------
        score : ndarray of shape (n_samples,) or (n_samples, n_classes)
            As those of the learner, without members whose draw had a single class.
        """
        check_is_fitted(self)
        known = [
            z
            for z in self._member_outputs(X, decisions, "decision_function", params)
            if z is not None
        ]
        return sum(known) / len(known)

    def _specifics(self, data: EnsembleData) -> dict[str, Any]:
        classes = (data.outputs.classes or [])[0]
        return {"classes_": classes, "n_classes_": len(classes)}

    def _averages_answers(self) -> bool:
        return self.voting != HARD

    def _with_all_answers(self, member: Any, of_member: Contributions) -> Contributions:
        # A member knows the classes of its draw, as positions.
        return of_member.among(np.asarray(member.classes_, dtype=int), self.n_classes_)

    @property
    def _ask_member(self) -> Callable:
        return partial(votes if self.voting == HARD else probabilities, count=self.n_classes_)

    def _out_of_bag_attributes(self, data: EnsembleData) -> dict[str, Any]:
        sums, used = self._out_of_bag(data)
        is_counted = data.outputs.sample_weight > 0
        warn_if_unpredicted(used[is_counted])
        with np.errstate(invalid="ignore"):
            shares = sums / used[:, None]
        score = accuracy_score(
            data.outputs.y[is_counted, 0],
            np.argmax(sums[is_counted], axis=1),
            sample_weight=data.outputs.sample_weight[is_counted],
        )
        return {"oob_score_": score, "oob_decision_function_": shares}


@described(BAGGED, FEATURES)
class BaggingRegressor(Bagging, sklearn.ensemble.BaggingRegressor):
    """Regression by the mean of learners on random samples of rows.

    Parameters
    ----------
    estimator : estimator, default=None
        The learner, ours or scikit-learn's; None is a `DecisionTreeRegressor`.

    Attributes
    ----------
    oob_score_ : float
        R² on the rows, each predicted by the members that did not draw it.
    oob_prediction_ : ndarray of shape (n_samples,)
        The mean of their predictions.

    Notes
    -----
    See `BaggingClassifier` for how rows are drawn.

    References
    ----------
    Breiman (1996), Bagging predictors, Machine Learning 24.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from gapless import BaggingRegressor, KernelRidge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BaggingRegressor(KernelRidge(alpha=0.1), random_state=0).fit(X, y)
    >>> model.generalization_.method
    'out of bag (10 members)'
    """

    _examples: ClassVar[Examples] = (Example("diabetes", {"random_state": 0}),)

    _stored: ClassVar[Declaration] = {**Bagging._stored, "oob_prediction_": Unused()}
    _intervals = intervals_of

    def _get_estimator(self) -> Any:
        return DecisionTreeRegressor() if self.estimator is None else self.estimator

    @property
    def _ask_member(self) -> Callable:
        return numbers

    @described(ROWS, ROUTED)
    def predict(self, X, *, interval=None, **params):
        """Mean predictions of the members, with prediction intervals on request.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The means. With `interval`, a tuple `(prediction, lower, upper)` of such arrays.
        """
        if interval is not None:
            return predict_with_intervals(self, X, interval)
        z = self._mean_of_members(X, **params)
        return z[:, 0] if z.shape[1] == 1 else z

    def _out_of_bag_attributes(self, data: EnsembleData) -> dict[str, Any]:
        sums, used = self._out_of_bag(data)
        is_counted = data.outputs.sample_weight > 0
        warn_if_unpredicted(used[is_counted])
        mean = sums / np.maximum(used, 1)[:, None]
        score = r2_score(
            data.outputs.y[is_counted],
            mean[is_counted],
            sample_weight=data.outputs.sample_weight[is_counted],
        )
        return {
            "oob_score_": score,
            "oob_prediction_": mean[:, 0] if data.outputs.is_flat else mean,
        }
