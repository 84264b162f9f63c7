"""Extremely randomised trees (Geurts, Ernst and Wehenkel 2006): thresholds are drawn, too."""

from __future__ import annotations

from typing import ClassVar

from sklearn.base import ClassifierMixin, RegressorMixin

from ..._ground.about import Example, Examples
from ..._ground.docstrings import FEATURES, described
from ..._ground.stored import Declaration
from ..trees import (
    CLASSES,
    GROWN,
    NUMBERS,
    TreeClassifierMixin,
    TreeRegressorMixin,
    warn_of_old_name,
)
from .forest import (
    CONSTRAINTS_FOR_CLASSES,
    CONSTRAINTS_FOR_NUMBERS,
    FOR_CLASSES,
    FOR_NUMBERS,
    FOREST,
    STORED_FOR_CLASSES,
    STORED_FOR_NUMBERS,
    Forest,
)
from .leaves import predict_quantiles


@described(FOREST, GROWN, CLASSES, FOR_CLASSES, FEATURES)
class ExtraTreesClassifier(TreeClassifierMixin, ClassifierMixin, Forest):
    """Classification by the mean of trees whose thresholds are drawn at random.

    Notes
    -----
    Thresholds are drawn at random, one for each column that is tried, and the best of those splits
    is taken: trees are sooner grown and less alike than those of a random forest. By default every
    tree has all rows, so that `generalization_` takes fits of its own; bootstrap=True gives it out
    of bag.

    References
    ----------
    Geurts, Ernst and Wehenkel (2006), Extremely randomized trees, Machine Learning 63.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gapless import ExtraTreesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ExtraTreesClassifier(random_state=0).fit(X, y)
    >>> model.predict([[5.0, 3.4, 1.5, 0.2]])
    array([0])
    """

    _examples: ClassVar[Examples] = (Example("digits", {"bootstrap": True, "random_state": 0}),)
    _stored: ClassVar[Declaration] = STORED_FOR_CLASSES
    _parameter_constraints: ClassVar[dict] = CONSTRAINTS_FOR_CLASSES
    _splitter = "random"

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
        bootstrap=False,
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


@described(FOREST, GROWN, NUMBERS, FOR_NUMBERS, FEATURES)
class ExtraTreesRegressor(TreeRegressorMixin, RegressorMixin, Forest):
    """Regression by the mean of trees whose thresholds are drawn at random.

    Notes
    -----
    Thresholds are drawn at random, one for each column that is tried, and the best of those splits
    is taken: trees are sooner grown and less alike than those of a random forest. By default every
    tree has all rows, so that `generalization_` takes fits of its own; bootstrap=True gives it out
    of bag.

    References
    ----------
    Geurts, Ernst and Wehenkel (2006), Extremely randomized trees, Machine Learning 63.

    Examples
    --------
    >>> import numpy as np
    >>> from gapless import ExtraTreesRegressor
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> model = ExtraTreesRegressor(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.predict([[1.5]]).round(1)
    array([1.])
    """

    _examples: ClassVar[Examples] = (Example("diabetes", {"bootstrap": True, "random_state": 0}),)
    _stored: ClassVar[Declaration] = STORED_FOR_NUMBERS
    _parameter_constraints: ClassVar[dict] = CONSTRAINTS_FOR_NUMBERS
    predict_quantiles = predict_quantiles
    _splitter = "random"

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
        bootstrap=False,
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
