"""GradientBoostingClassifier and GradientBoostingRegressor: small trees, by gradients alone."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from ... import losses
from ..._ground.about import Example, Examples
from ...losses import Loss
from ._plain_boosting import NOT_DEPRECATED, ZERO, PlainGradientBoosting
from .losses import classification_loss, regression_loss
from .predictions import BoostedClassifier, BoostedRegressor
from .rounds import Rounds

HUBER = "huber"


class GradientBoostingClassifier(BoostedClassifier, PlainGradientBoosting):
    """Gradient boosting of small trees for classification.

    Each round fits a tree, or one for each of several classes, to the gradients of
    Σᵢ sᵢ ℓ(yᵢ, zᵢ)  by least squares, and adds to the scores z a Newton step in each of its leaves,
    times `learning_rate`.

    Parameters
    ----------
    loss : str or Loss, default="log_loss"
        "log_loss", "exponential", the name of any loss of gapless for classes, or an instance, of
        one's own too.
    learning_rate : float, default=0.1
        What the values of leaves are multiplied with; smaller ones need more rounds.
    n_estimators : int, default=100
        The number of rounds.
    subsample : float, default=1.0
        The part of the rows that each round is given; below 1, losses out of bag are known.
    criterion : str, default="deprecated"
        Has no effect, and is deprecated in scikit-learn.
    min_samples_split : int or float, default=2
        Rows, or the part of all rows, that a node needs to be split.
    min_samples_leaf : int or float, default=1
        Rows, or the part of all rows, that a leaf needs; a row of weight s counts as ⌈s⌉ rows.
    min_weight_fraction_leaf : float, default=0.0
        The part of the weight of all rows that a leaf needs.
    max_depth : int or None, default=3
        The largest number of questions on the way to a leaf.
    min_impurity_decrease : float, default=0.0
        By how much a split must lower the mean squared error, counted over all rows.
    init : estimator, "zero" or None, default=None
        What scores begin with: the predictions of an estimator, 0, or the best constant.
    random_state : int, RandomState or None, default=None
        For the rows that are held out or drawn and the columns that are drawn.
    max_features : int, float, "sqrt", "log2" or None, default=None
        How many columns are tried for a split, drawn for each node among those not constant there.
    verbose : int, default=0
        With 1, losses are printed once in a while, with 2 after each round.
    max_leaf_nodes : int or None, default=None
        The largest number of leaves of a tree.
    warm_start : bool, default=False
        Whether a fit goes on from the trees of the one before.
    validation_fraction : float, default=0.1
        The part of the rows that is held out if `n_iter_no_change` is set.
    n_iter_no_change : int or None, default=None
        Rounds end when the loss of held-out rows is not lower than in one of so many before,
    tol : float, default=1e-4
        by this much.
    ccp_alpha : float, default=0.0
        The price of a leaf, by which trees are pruned.
    max_bins : int, default=255
        Bins of a column of numbers, at quantiles; and the largest number of levels of a category.
    categorical_features : mask, indices, names, "from_dtype" or None, default="from_dtype"
        Which columns are categories; by default those whose type in a table says so.
    time_limit : float, default=None
        Seconds after which the rounds so far are kept.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, in order.
    n_classes_ : int
        Their number.
    n_estimators_ : int
        The number of rounds.
    estimators_ : ndarray of DecisionTreeRegressor
        The trees, a row for each round.
    trees_ : list of lists of Tree
        The same as arrays.
    init_ : estimator, "zero" or None
        What scores begin with; if None, with `start_`.
    start_ : ndarray
        Scores before the first round, where they are constant.
    trace_ : BoostingTrace
        Training and validation loss by rounds.
    train_score_ : ndarray of shape (n_estimators_,)
        The loss of the training rows after each round (squared error and log loss: twice ours).
    oob_improvement_, oob_scores_ : ndarray of shape (n_estimators_,)
        By how much each round lowered the loss of rows that it was not given, and that loss.
    oob_score_ : float
        The last of them.
    feature_importances_ : ndarray of shape (n_features,)
        How much the splits by each column have lowered squared errors.
    max_features_ : int
        How many columns are tried for a split.
    loss_ : Loss
        What was minimised.
    certificate_ : Certificate
        What the training loss reached; no bound is known for sums of trees.
    generalization_ : Generalization
        What the model will score on unseen rows, by boosting again without some rows.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had names.

    Notes
    -----
    HistGradientBoosting… uses curvatures too and is the better choice for large data. Columns of
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

    def apply(self, X):
        """The leaf of each row in each tree.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_estimators_, trees of a round)
            Numbers of nodes.
        """
        return self._leaves(X)


class GradientBoostingRegressor(BoostedRegressor, PlainGradientBoosting):
    """Gradient boosting of small trees for regression.

    Each round fits a tree to the gradients of  Σᵢ sᵢ ℓ(yᵢ, zᵢ)  by least squares, and adds to the
    scores z what lowers the loss most in each of its leaves, times `learning_rate`.

    Parameters
    ----------
    loss : str or Loss, default="squared_error"
        "squared_error", "absolute_error", "huber", "quantile", the name of any loss of gapless for
        numbers, or an instance, of one's own too.
    learning_rate : float, default=0.1
        What the values of leaves are multiplied with; smaller ones need more rounds.
    n_estimators : int, default=100
        The number of rounds.
    subsample : float, default=1.0
        The part of the rows that each round is given; below 1, losses out of bag are known.
    criterion : str, default="deprecated"
        Has no effect, and is deprecated in scikit-learn.
    min_samples_split : int or float, default=2
        Rows, or the part of all rows, that a node needs to be split.
    min_samples_leaf : int or float, default=1
        Rows, or the part of all rows, that a leaf needs; a row of weight s counts as ⌈s⌉ rows.
    min_weight_fraction_leaf : float, default=0.0
        The part of the weight of all rows that a leaf needs.
    max_depth : int or None, default=3
        The largest number of questions on the way to a leaf.
    min_impurity_decrease : float, default=0.0
        By how much a split must lower the mean squared error, counted over all rows.
    init : estimator, "zero" or None, default=None
        What scores begin with: the predictions of an estimator, 0, or the best constant.
    random_state : int, RandomState or None, default=None
        For the rows that are held out or drawn and the columns that are drawn.
    max_features : int, float, "sqrt", "log2" or None, default=None
        How many columns are tried for a split, drawn for each node among those not constant there.
    alpha : float, default=0.9
        The level of loss="quantile"; for loss="huber", the part of the errors that is small.
    verbose : int, default=0
        With 1, losses are printed once in a while, with 2 after each round.
    max_leaf_nodes : int or None, default=None
        The largest number of leaves of a tree.
    warm_start : bool, default=False
        Whether a fit goes on from the trees of the one before.
    validation_fraction : float, default=0.1
        The part of the rows that is held out if `n_iter_no_change` is set.
    n_iter_no_change : int or None, default=None
        Rounds end when the loss of held-out rows is not lower than in one of so many before,
    tol : float, default=1e-4
        by this much.
    ccp_alpha : float, default=0.0
        The price of a leaf, by which trees are pruned.
    max_bins : int, default=255
        Bins of a column of numbers, at quantiles; and the largest number of levels of a category.
    categorical_features : mask, indices, names, "from_dtype" or None, default="from_dtype"
        Which columns are categories; by default those whose type in a table says so.
    time_limit : float, default=None
        Seconds after which the rounds so far are kept.

    Attributes
    ----------
    n_estimators_ : int
        The number of rounds.
    estimators_ : ndarray of DecisionTreeRegressor
        The trees, a row for each round.
    trees_ : list of lists of Tree
        The same as arrays.
    init_ : estimator, "zero" or None
        What scores begin with; if None, with `start_`.
    start_ : ndarray
        Scores before the first round, where they are constant.
    trace_ : BoostingTrace
        Training and validation loss by rounds.
    train_score_ : ndarray of shape (n_estimators_,)
        The loss of the training rows after each round (squared error and log loss: twice ours).
    oob_improvement_, oob_scores_ : ndarray of shape (n_estimators_,)
        By how much each round lowered the loss of rows that it was not given, and that loss.
    oob_score_ : float
        The last of them.
    feature_importances_ : ndarray of shape (n_features,)
        How much the splits by each column have lowered squared errors.
    max_features_ : int
        How many columns are tried for a split.
    loss_ : Loss
        What was minimised.
    certificate_ : Certificate
        What the training loss reached; no bound is known for sums of trees.
    generalization_ : Generalization
        What the model will score on unseen rows, by boosting again without some rows.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had names.

    Notes
    -----
    HistGradientBoosting… uses curvatures too and is the better choice for large data. Columns of
    more than `max_bins` values are binned, where scikit-learn tries every threshold.

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

    def apply(self, X):
        """The leaf of each row in each tree.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_estimators_)
            Numbers of nodes.
        """
        return self._leaves(X)[:, :, 0]
