"""Random forests (Breiman 2001): the best split among some columns, on rows drawn for each tree."""

from __future__ import annotations

from typing import ClassVar

from sklearn.base import ClassifierMixin, RegressorMixin

from ..._ground.about import Example, Examples
from ..._ground.stored import Declaration
from ..trees import TreeClassifierMixin, TreeRegressorMixin, warn_of_old_name
from .forest import (
    CONSTRAINTS_FOR_CLASSES,
    CONSTRAINTS_FOR_NUMBERS,
    STORED_FOR_CLASSES,
    STORED_FOR_NUMBERS,
    Forest,
)
from .leaves import predict_quantiles


class RandomForestClassifier(TreeClassifierMixin, ClassifierMixin, Forest):
    """Classification by the mean of trees on random rows, splitting on random columns.

    Parameters
    ----------
    n_estimators : int, default=100
        How many trees.
    criterion : {"gini", "entropy", "log_loss", "gain_ratio"}, default="gini"
        What a split must lower.
    max_depth : int, default=None
        The largest number of questions; None grows until leaves are pure or too small to split.
    min_samples_split : int or float, default=2
        The fewest rows of a node that is split; a float is a part of all rows.
    min_samples_leaf : int, float or "oob", default=1
        The fewest rows of a leaf; a float is a part of all rows. "oob" chooses 10, 3 or 1 by the
        rows that the first 20 trees have not drawn, in about one and a half times the time.
    min_weight_fraction_leaf : float, default=0.0
        The least weight of a leaf, as a part of all.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        How many columns are tried for a split, drawn among those that vary in the node; a float is
        a part of all columns.
    max_leaf_nodes : int, default=None
        The largest number of leaves; the split that gains most comes first.
    min_impurity_decrease : float, default=0.0
        What a split must gain, as a part of the weight of all rows.
    bootstrap : bool, default=True
        Whether each tree has rows drawn with replacement, or all of them.
    oob_score : bool or callable, default=False
        Whether `oob_score_` is computed with the fit, by a function of targets and predictions if
        one is given; `generalization_` has the score in any case.
    n_jobs : int, default=None
        How many threads; None leaves it to the environment. The forest is the same for any.
    random_state : int, RandomState or None, default=None
        Seeds draws and trees.
    verbose : int, default=0
        Has no effect; progress is shown on a terminal when a fit is long.
    warm_start : bool, default=False
        Whether a fit adds trees to those of the last one.
    class_weight : dict, list of dict, "balanced", "balanced_subsample" or None, default=None
        Weights of the classes; "balanced" gives all classes the same weight, and
        "balanced_subsample" does so in every draw.
    ccp_alpha : float, default=0.0
        The price of a leaf, by which each tree is pruned.
    max_samples : int or float, default=None
        How many rows are drawn for each tree: a number, or a part of the total weight; None draws
        as many as there are.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        1 where predictions may only rise with a feature, −1 where they may only fall, 0 elsewhere.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Which columns are categories: those of a table that hold categories, text or booleans; or a
        mask, numbers or names of columns.
    max_bins : int, "auto" or None, default="auto"
        At most so many bins for the values of a column, at quantiles; None tries every threshold.
        "auto" takes 255 bins from 20,000 rows on, where forests are as good and sooner grown.
    time_limit : float, default=None
        Seconds after which the trees grown so far are kept.

    Attributes
    ----------
    estimators_ : list of DecisionTreeClassifier
        The trees, made into estimators when asked for.
    trees_ : sequence of Tree
        The trees as arrays, each made when it is asked for; eight bytes a node are kept.
    classes_, n_classes_ : ndarray and int, or lists of them for several outputs
        The classes, and how many there are.
    oob_score_, oob_decision_function_ : float and ndarray of shape (n_samples, n_classes)
        Accuracy and class shares of rows by the trees that did not draw them.
    min_samples_leaf_ : int
        The chosen size, with min_samples_leaf="oob"; 1 where no row was out of bag.
    search_ : Search
        What was tried, with min_samples_leaf="oob": `search_.plot()` draws it.
    feature_importances_ : ndarray of shape (n_features,)
        What the splits of each feature take from the impurity, as parts of 1.
    certificate_ : Certificate
        Of kind "none": no objective is minimised.
    generalization_ : Generalization
        The score on unseen rows, out of bag where there is a bootstrap, with its standard error.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number and names of the features.

    Notes
    -----
    Rows are drawn from the distinct rows in the order of their content, so that neither the order
    of the rows nor repeats in place of weights change the forest. Growing costs about
    trees · n · √d · depth; predicting, trees · depth for each row.

    References
    ----------
    Breiman (2001), Random forests, Machine Learning 45.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gapless import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RandomForestClassifier(random_state=0).fit(X, y)
    >>> model.predict([[5.0, 3.4, 1.5, 0.2]])
    array([0])
    """

    _examples: ClassVar[Examples] = (Example("digits", {"random_state": 0}),)
    _stored: ClassVar[Declaration] = STORED_FOR_CLASSES
    _parameter_constraints: ClassVar[dict] = CONSTRAINTS_FOR_CLASSES

    def __init__(
        self,
        n_estimators=100,
        *,
        criterion="gini",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features="sqrt",
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        bootstrap=True,
        oob_score=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
        class_weight=None,
        ccp_alpha=0.0,
        max_samples=None,
        monotonic_cst=None,
        categorical_features="from_dtype",
        max_bins="auto",
        time_limit=None,
    ):
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.max_bins = max_bins
        self.time_limit = time_limit


class RandomForestRegressor(TreeRegressorMixin, RegressorMixin, Forest):
    """Regression by the mean of trees on random rows, splitting on random columns.

    Parameters
    ----------
    n_estimators : int, default=100
        How many trees.
    criterion : {"squared_error", "absolute_error", "poisson"}, default="squared_error"
        What a split must lower.
    max_depth : int, default=None
        The largest number of questions; None grows until leaves are pure or too small to split.
    min_samples_split : int or float, default=2
        The fewest rows of a node that is split; a float is a part of all rows.
    min_samples_leaf : int, float or "oob", default=1
        The fewest rows of a leaf; a float is a part of all rows. "oob" chooses 10, 3 or 1 by the
        rows that the first 20 trees have not drawn, in about one and a half times the time.
    min_weight_fraction_leaf : float, default=0.0
        The least weight of a leaf, as a part of all.
    max_features : {"sqrt", "log2"}, int, float or None, default=1.0
        How many columns are tried for a split, drawn among those that vary in the node; a float is
        a part of all columns.
    max_leaf_nodes : int, default=None
        The largest number of leaves; the split that gains most comes first.
    min_impurity_decrease : float, default=0.0
        What a split must gain, as a part of the weight of all rows.
    bootstrap : bool, default=True
        Whether each tree has rows drawn with replacement, or all of them.
    oob_score : bool or callable, default=False
        Whether `oob_score_` is computed with the fit, by a function of targets and predictions if
        one is given; `generalization_` has the score in any case.
    n_jobs : int, default=None
        How many threads; None leaves it to the environment. The forest is the same for any.
    random_state : int, RandomState or None, default=None
        Seeds draws and trees.
    verbose : int, default=0
        Has no effect; progress is shown on a terminal when a fit is long.
    warm_start : bool, default=False
        Whether a fit adds trees to those of the last one.
    ccp_alpha : float, default=0.0
        The price of a leaf, by which each tree is pruned.
    max_samples : int or float, default=None
        How many rows are drawn for each tree: a number, or a part of the total weight; None draws
        as many as there are.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        1 where predictions may only rise with a feature, −1 where they may only fall, 0 elsewhere.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Which columns are categories: those of a table that hold categories, text or booleans; or a
        mask, numbers or names of columns.
    max_bins : int, "auto" or None, default="auto"
        At most so many bins for the values of a column, at quantiles; None tries every threshold.
        "auto" takes 255 bins from 20,000 rows on, where forests are as good and sooner grown.
    time_limit : float, default=None
        Seconds after which the trees grown so far are kept.

    Attributes
    ----------
    estimators_ : list of DecisionTreeRegressor
        The trees, made into estimators when asked for.
    trees_ : sequence of Tree
        The trees as arrays, each made when it is asked for; eight bytes a node are kept.
    oob_score_, oob_prediction_ : float and ndarray of shape (n_samples,)
        R² and predictions of rows by the trees that did not draw them.
    min_samples_leaf_ : int
        The chosen size, with min_samples_leaf="oob"; 1 where no row was out of bag.
    search_ : Search
        What was tried, with min_samples_leaf="oob": `search_.plot()` draws it.
    feature_importances_ : ndarray of shape (n_features,)
        What the splits of each feature take from the impurity, as parts of 1.
    certificate_ : Certificate
        Of kind "none": no objective is minimised.
    generalization_ : Generalization
        The score on unseen rows, out of bag where there is a bootstrap, with its standard error.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number and names of the features.

    Notes
    -----
    Rows are drawn from the distinct rows in the order of their content, so that neither the order
    of the rows nor repeats in place of weights change the forest. All columns are tried for a
    split by default, as in scikit-learn; max_features=1/3 is sooner grown and often better. A
    forest never predicts beyond the targets it has seen.

    References
    ----------
    Breiman (2001), Random forests, Machine Learning 45. Meinshausen (2006), Quantile regression
    forests, Journal of Machine Learning Research 7.

    Examples
    --------
    >>> import numpy as np
    >>> from gapless import RandomForestRegressor
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> model = RandomForestRegressor(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.predict([[1.5]]).round(1)
    array([1.])
    """

    _examples: ClassVar[Examples] = (Example("diabetes", {"random_state": 0}),)
    _stored: ClassVar[Declaration] = STORED_FOR_NUMBERS
    _parameter_constraints: ClassVar[dict] = CONSTRAINTS_FOR_NUMBERS
    predict_quantiles = predict_quantiles

    def __init__(
        self,
        n_estimators=100,
        *,
        criterion="squared_error",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features=1.0,
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        bootstrap=True,
        oob_score=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
        ccp_alpha=0.0,
        max_samples=None,
        monotonic_cst=None,
        categorical_features="from_dtype",
        max_bins="auto",
        time_limit=None,
    ):
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.max_bins = max_bins
        self.time_limit = time_limit
        warn_of_old_name(criterion)
