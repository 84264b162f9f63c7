"""The Bayes decision rule: of all decisions, the one of least expected cost."""

from __future__ import annotations

import copy
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import (
    _fit_context,
    clone,
)
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ..._ground.about import Example, Examples
from ..._ground.around import AROUND, INSIDE, AroundClassifier, taken_from
from ..._ground.cost_matrices import (
    DECISION,
    TRUTH,
    abstaining_label,
    cheapest,
    expected_costs,
    read_cost_matrix,
    read_row_costs,
    realised_costs,
)
from ..._ground.docstrings import described
from ..._ground.stored import INPUT, Declaration, FittedModel, Labels, Maybe, Numbers, Value
from ..._ground.validation import read_labels, read_weights, readable_target
from ...certificates import Certificate, certify_model
from ...unseen import Generalization, Remembering, measure, take_over, uncorrected
from .gaussian import GaussianNB

Array = np.ndarray

ROW_COSTS = """
costs : array-like of shape (n_samples, K, K) or (n_samples, K)
    Costs of each row, as for `predict`.
"""
# The name of the score on unseen rows.
SAVED = "−cost"


@described(AROUND)
class BayesDecision(Remembering, AroundClassifier):
    """Decisions of least expected cost, from the probabilities of any classifier.

    h(x) = argmin_j Σ_i P(class i | x) · cost(i, j)  over all classes j, and abstaining.

    Parameters
    ----------
    estimator : classifier
        Any classifier with `predict_proba`, of gapless or not.
    cost_matrix : array-like of shape (K, K) or (K,), or dict, default=None
        Row i, column j: the cost of deciding for class j when class i is true, laid out as a
        confusion matrix; classes are sorted. Costs may be negative. K numbers, or a dict from
        labels, are the costs of missing each class. A dict of dicts, from true classes to decisions
        to costs, may have more classes than the rows. None costs 1 for each error, which gives the
        most probable class.
    cost_rows : {"truth", "decision"}, default="truth"
        What the rows of a cost table are: "decision" for the textbooks' λ_ij, the cost of deciding
        for class i when class j is true. Concerns arrays, dicts of dicts, and the tables given to
        `predict`; `costs_` always has a row for each true class.
    abstain_cost : float, default=None
        The cost of leaving a row undecided. None does not allow it.
    abstain_label : label, default=None
        What `predict` returns for these rows; None is −1, or "abstain" where classes are text.

    Attributes
    ----------
    costs_ : ndarray of shape (K, K)
        The cost of each decision; row i is for the true class i.
    certificate_ : Certificate
        That of the classifier, if it is one of gapless.
    generalization_ : Generalization
        Minus what a decision on unseen rows costs, or the accuracy there if no costs are given,
        where the classifier is one of gapless.

    Notes
    -----
    A decision is as good as the probabilities: `gapless.metrics.reliability_curve` shows whether
    they can be trusted, and `gapless.metrics.recalibrate` improves them. If abstaining costs more
    than every decision, nothing is left undecided. Costs that differ from row to row are passed to
    `predict`.

    References
    ----------
    Chow (1970), On optimum recognition error and reject tradeoff, IEEE Transactions on Information
    Theory 16. Elkan (2001), The foundations of cost-sensitive learning, International Joint
    Conference on Artificial Intelligence.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from gapless import BayesDecision, LogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = X / X.max(axis=0)
    >>> plain = BayesDecision(LogisticRegression(C=100.0)).fit(X, y)
    >>> careful = BayesDecision(LogisticRegression(C=100.0), {0: 20.0, 1: 1.0}).fit(X, y)
    >>> [int(((model.predict(X) == 1) & (y == 0)).sum()) for model in (plain, careful)]
    [5, 1]
    """

    _guide = "metrics"
    _examples: ClassVar[Examples] = (Example("breast_cancer", {"estimator": GaussianNB()}),)

    _stored: ClassVar[Declaration] = {
        "classes_": Labels(),
        "estimator_": FittedModel("predict_proba", "features", "classes"),
        "costs_": Numbers("classes", "classes") | Numbers("classes", None),
        **INPUT,
        "generalization_": Maybe(Value(Generalization)),
    }
    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "predict_proba"])],
        "cost_matrix": ["array-like", dict, None],
        "cost_rows": [StrOptions({TRUTH, DECISION})],
        "abstain_cost": [Interval(Real, None, None, closed="neither"), None],
        "abstain_label": "no_validation",
    }

    def __init__(
        self,
        estimator,
        cost_matrix=None,
        *,
        cost_rows="truth",
        abstain_cost=None,
        abstain_label=None,
    ):
        self.estimator = estimator
        self.cost_matrix = cost_matrix
        self.cost_rows = cost_rows
        self.abstain_cost = abstain_cost
        self.abstain_label = abstain_label

    @_fit_context(prefer_skip_nested_validation=False)
    @described(INSIDE)
    def fit(self, X, y, sample_weight=None, **fit_params):
        """Fit the classifier.

        Parameters
        ----------
        **fit_params : dict
            What else its `fit` takes.

        Returns
        -------
        self : object
            The fitted estimator; an error leaves it as it was.
        """
        y = y if y is None else column_or_1d(readable_target(y), warn=True)
        if sample_weight is not None:
            fit_params["sample_weight"] = sample_weight
        inner = clone(self.estimator).fit(X, y, **fit_params)
        learned = taken_from(inner)
        if self.abstain_cost is not None:
            abstaining_label(learned["classes_"], self.abstain_label)
        learned["costs_"] = read_cost_matrix(self.cost_matrix, learned["classes_"], self.cost_rows)
        take_over(self, learned)
        return self

    # ---- decisions -------------------------------------------------------------------------------

    @described(INSIDE)
    def predict_proba(self, X):
        """Probabilities of the classes, from the classifier.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, K)
            In the order of `classes_`.
        """
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    @described(INSIDE)
    def predict(self, X, costs=None):
        """Decide at the least expected cost.

        Parameters
        ----------
        costs : array-like of shape (n_samples, K, K) or (n_samples, K), default=None
            A cost matrix for each row, or the costs of missing each class there, in place of
            `cost_matrix`.

        Returns
        -------
        decisions : ndarray of shape (n_samples,)
            Classes, and `abstain_label` for rows left undecided.
        """
        decided = self._decide(*self._probabilities_and_costs(X, costs))
        if self.abstain_cost is None:
            return self.classes_[decided]
        label = abstaining_label(self.classes_, self.abstain_label)
        is_known = np.array([label]).dtype.kind == self.classes_.dtype.kind
        kind = np.result_type(self.classes_, np.array([label])) if is_known else object
        return np.append(self.classes_.astype(kind), np.array([label], dtype=kind))[decided]

    @described(INSIDE, ROW_COSTS)
    def conditional_risk(self, X, costs=None):
        """The expected cost of every decision.

        Returns
        -------
        risks : ndarray of shape (n_samples, K) or (n_samples, K + 1)
            For all classes, and for no decision if that is allowed.
        """
        return expected_costs(*self._probabilities_and_costs(X, costs), self.abstain_cost)

    @described(INSIDE, ROW_COSTS)
    def expected_risk(self, X, costs=None):
        """The expected cost of the decision of each row: the least of `conditional_risk`.

        Returns
        -------
        risks : ndarray of shape (n_samples,)
            Their mean is what decisions on such rows cost, if the probabilities are right.
        """
        return self.conditional_risk(X, costs).min(axis=1)

    @described(INSIDE, ROW_COSTS)
    def risk(self, X, y, sample_weight=None, costs=None):
        """The mean cost of the decisions, now that the classes are known.

        Returns
        -------
        risk : float
            `gapless.metrics.mean_cost` gives the same with a confidence interval.
        """
        p, table = self._probabilities_and_costs(X, costs)
        y = read_labels(y, p)
        true = np.searchsorted(self.classes_, y)
        is_known = self.classes_[np.minimum(true, len(self.classes_) - 1)] == y
        weights = read_weights(sample_weight, p)
        if not np.all(is_known | (weights == 0)):
            row = int(np.argmin(is_known | (weights == 0)))
            raise ValueError(
                f"y has {y.tolist()[row]!r} in row {row}, which is not one of the training "
                "classes, so its cost is not known; drop the row."
            )
        true = np.where(is_known, true, 0)
        each = realised_costs(true, self._decide(p, table), table, self.abstain_cost)
        return float(np.average(each, weights=weights))

    def _probabilities_and_costs(self, X: Any, costs: Any) -> tuple[Array, Array]:
        p = np.asarray(self.predict_proba(X), dtype=float)
        if costs is None:
            return p, self.costs_
        return p, read_row_costs(costs, len(p), len(self.classes_), self.cost_rows)

    def _decide(self, probabilities: Array, costs: Array) -> Array:
        return cheapest(probabilities, costs, self.abstain_cost)

    # ---- both gaps -------------------------------------------------------------------------------

    @property
    def certificate_(self) -> Certificate:  # type: ignore[override]
        """How far the classifier is at most from the best one; for classifiers of gapless."""
        return self.estimator_.certificate_

    @cached_property
    def generalization_(self) -> Generalization:
        """Minus the cost of a decision on unseen rows; computed on first access.

        From the held-out predictions of the classifier, which must be one of gapless. Without costs
        it is the accuracy.
        """
        fitted = self._remembered("gapless.generalize(model, X, y, sample_weight)")
        scoring = None if self.cost_matrix is None and self.abstain_cost is None else saved
        return uncorrected(measure(self, fitted, scoring=scoring), self._tuned())

    @property
    def _holds_training(self) -> bool:
        return getattr(vars(self).get("estimator_"), "_holds_training", False)

    def _remembered(self, cure: str) -> Any:
        check_is_fitted(self)
        if not isinstance(self.estimator_, Remembering):
            raise AttributeError(
                f"{type(self.estimator_).__name__} is not a gapless model and has no held-out "
                "predictions; use scikit-learn's cross_val_score."
            )
        return self.estimator_._remembered(cure)

    def _tuned(self) -> tuple[str, ...]:
        return self.estimator_._tuned()

    def _fitted_to(self, X, y, sample_weight=None) -> Any:
        return self.estimator_._fitted_to(X, y, sample_weight)

    def _certified(self, X, y=None, sample_weight=None) -> Certificate:
        return certify_model(self.estimator_, X, y, sample_weight)

    def _standing_in(self, z: Array) -> Any:
        """A copy that decides about row i, requested by X = [[i]], from the prediction z[i]."""
        twin = copy.copy(self)
        twin.estimator_ = self.estimator_._standing_in(z)
        return twin

    def _formula(self) -> None:
        """None: the classifier inside minimises something, and decisions follow from it."""


def saved(model: BayesDecision, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Minus the mean cost of the decisions, as a scorer: higher is better."""
    return -model.risk(X, y, sample_weight)


saved.__name__ = SAVED
