"""HistGradientBoostingClassifier and …Regressor: trees by gradients and curvatures, on bins."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from ..._ground.about import Example, Examples
from ...losses import Loss
from ._hist_boosting import HistGradientBoosting
from .losses import classification_loss, regression_loss
from .predictions import BoostedClassifier, BoostedRegressor


class HistGradientBoostingClassifier(BoostedClassifier, HistGradientBoosting):
    """Gradient boosting of trees for classification, on binned columns.

    Each round adds a tree f, or one for each of several classes, to the scores z that lowers
    Σᵢ sᵢ ℓ(yᵢ, zᵢ + f(xᵢ)) + ½λ Σ value², by its second-order model at z.

    Parameters
    ----------
    loss : str or Loss, default="log_loss"
        "log_loss", the name of any loss of gapless for classes, or an instance, of one's own too.
        Losses with kinks, such as "hinge", are boosted by their gradient, with the best constant in
        each leaf, and have no probabilities.
    learning_rate : float, default=0.1
        What the values of leaves are multiplied with; smaller ones need more rounds.
    max_iter : int or "cv", default=100
        The number of rounds; "cv" chooses it by 5-fold cross-validation, at most 1,000, as the one
        with the least mean loss of rows held out. Rows of one x are held out together.
    max_leaf_nodes : int or None, default=31
        The largest number of leaves of a tree.
    max_depth : int or None, default=None
        The largest number of questions on the way to a leaf.
    min_samples_leaf : int, default=20
        Rows that a leaf needs; a row of weight s counts as ⌈s⌉ rows.
    l2_regularization : float, default=0
        λ in the penalty ½λ Σ value² over the leaves of each tree.
    max_features : float, default=1.0
        The share of the columns that are tried for a split, drawn for each node.
    max_bins : int, default=255
        Bins of a column of numbers, at quantiles; and the largest number of levels of a category.
    categorical_features : mask, indices, names, "from_dtype" or None, default="from_dtype"
        Which columns are categories; by default those whose type in a table says so. In columns of
        numbers that are named here, those below 0 are missing values.
    monotonic_cst : array-like or dict, default=None
        For each column 1 if predictions must not fall with it, −1 if they must not rise.
    interaction_cst : {"pairwise", "no_interactions"} or sequence of groups, default=None
        Columns that may meet on the way to a leaf.
    warm_start : bool, default=False
        Whether a fit goes on from the trees of the one before.
    early_stopping : "auto" or bool, default="auto"
        Whether rounds end when held-out rows are predicted no better; "auto" does so for more than
        10,000 rows.
    scoring : str, callable or None, default="loss"
        How rounds are judged: by the loss, or by any scorer of scikit-learn. With max_iter="cv" by
        the loss or by "neg_brier_score", the squared error of probabilities with its sign turned:
        log loss is least after few rounds, where trees are large and soon too sure of themselves,
        while decisions still get better.
    validation_fraction : float, int or None, default=0.1
        The part of the rows that is held out to judge rounds; None judges by the training rows.
    n_iter_no_change : int, default=10
        Rounds end when none of so many is better than the one before them,
    tol : float, default=1e-7
        by this much.
    verbose : int, default=0
        Has no effect: long fits show a line of progress on a terminal.
    random_state : int, RandomState or None, default=None
        For the rows that are held out and the columns that are drawn.
    class_weight : dict or "balanced", default=None
        What the weights of rows are multiplied with, by class.
    time_limit : float, default=None
        Seconds after which the rounds so far are kept. Folds take at most three quarters of them.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, in order.
    n_iter_ : int
        The number of rounds.
    n_trees_per_iteration_ : int
        Trees of a round.
    trees_ : list of lists of Tree
        The trees of each round.
    start_ : ndarray
        Scores before the first round: the best constant.
    trace_ : BoostingTrace
        Training and validation loss by rounds.
    search_ : Search
        With max_iter="cv", the score of unseen rows for each number of rounds, such as their loss
        with its sign turned.
    train_score_, validation_score_ : ndarray
        The scores by which rounds were judged, if they were; the larger the better.
    do_early_stopping_ : bool
        Whether rounds could end early.
    is_categorical_ : ndarray of bool or None
        Which columns are categories.
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
    A round costs a few bytes and additions for each row and column, whatever the number of distinct
    values. Folds that choose the number of rounds take about five times as long as the fit.
    Indicators that exclude each other share a byte. Sums are of whole numbers, so that the model
    has the same bits for any number of threads and any order of the rows.

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


class HistGradientBoostingRegressor(BoostedRegressor, HistGradientBoosting):
    """Gradient boosting of trees for regression, on binned columns.

    Each round adds a tree f to the scores z that lowers  Σᵢ sᵢ ℓ(yᵢ, zᵢ + f(xᵢ)) + ½λ Σ value²,
    by its second-order model at z; the prediction is the inverse link of the score.

    Parameters
    ----------
    loss : str or Loss, default="squared_error"
        "squared_error", "absolute_error", "poisson", "gamma", "quantile", the name of any loss of
        gapless for numbers, or an instance, of one's own too. Losses with kinks are boosted by
        their gradient, with the best constant in each leaf.
    quantile : float, default=None
        The level of loss="quantile", from 0 to 1.
    learning_rate : float, default=0.1
        What the values of leaves are multiplied with; smaller ones need more rounds.
    max_iter : int or "cv", default=100
        The number of rounds; "cv" chooses it by 5-fold cross-validation, at most 1,000, as the one
        with the least mean loss of rows held out. Rows of one x are held out together.
    max_leaf_nodes : int or None, default=31
        The largest number of leaves of a tree.
    max_depth : int or None, default=None
        The largest number of questions on the way to a leaf.
    min_samples_leaf : int, default=20
        Rows that a leaf needs; a row of weight s counts as ⌈s⌉ rows.
    l2_regularization : float, default=0
        λ in the penalty ½λ Σ value² over the leaves of each tree.
    max_features : float, default=1.0
        The share of the columns that are tried for a split, drawn for each node.
    max_bins : int, default=255
        Bins of a column of numbers, at quantiles; and the largest number of levels of a category.
    categorical_features : mask, indices, names, "from_dtype" or None, default="from_dtype"
        Which columns are categories; by default those whose type in a table says so. In columns of
        numbers that are named here, those below 0 are missing values.
    monotonic_cst : array-like or dict, default=None
        For each column 1 if predictions must not fall with it, −1 if they must not rise.
    interaction_cst : {"pairwise", "no_interactions"} or sequence of groups, default=None
        Columns that may meet on the way to a leaf.
    warm_start : bool, default=False
        Whether a fit goes on from the trees of the one before.
    early_stopping : "auto" or bool, default="auto"
        Whether rounds end when held-out rows are predicted no better; "auto" does so for more than
        10,000 rows.
    scoring : str, callable or None, default="loss"
        How rounds are judged: by the loss, or by any scorer of scikit-learn.
    validation_fraction : float, int or None, default=0.1
        The part of the rows that is held out to judge rounds; None judges by the training rows.
    n_iter_no_change : int, default=10
        Rounds end when none of so many is better than the one before them,
    tol : float, default=1e-7
        by this much.
    verbose : int, default=0
        Has no effect: long fits show a line of progress on a terminal.
    random_state : int, RandomState or None, default=None
        For the rows that are held out and the columns that are drawn.
    time_limit : float, default=None
        Seconds after which the rounds so far are kept. Folds take at most three quarters of them.

    Attributes
    ----------
    n_iter_ : int
        The number of rounds.
    n_trees_per_iteration_ : int
        Trees of a round.
    trees_ : list of lists of Tree
        The trees of each round.
    start_ : ndarray
        Scores before the first round: the best constant.
    trace_ : BoostingTrace
        Training and validation loss by rounds.
    search_ : Search
        With max_iter="cv", the loss of unseen rows with its sign turned, for each number of rounds.
    train_score_, validation_score_ : ndarray
        The scores by which rounds were judged, if they were; the larger the better.
    do_early_stopping_ : bool
        Whether rounds could end early.
    is_categorical_ : ndarray of bool or None
        Which columns are categories.
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
    A round costs a few bytes and additions for each row and column, whatever the number of distinct
    values. Folds that choose the number of rounds take about five times as long as the fit.
    Indicators that exclude each other share a byte. Sums are of whole numbers, so that the model
    has the same bits for any number of threads and any order of the rows.

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
