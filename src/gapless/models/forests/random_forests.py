"""Random forests (Breiman 2001) and extremely randomised trees (Geurts et al. 2006).

A random forest takes the best split among some columns, on rows drawn for each tree; extra trees
take the best of thresholds that are drawn, one for each column.
"""

from __future__ import annotations

from typing import ClassVar

from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils._param_validation import StrOptions

from ..._ground.about import Example, Examples
from ..._ground.docstrings import FEATURES, described
from ..._ground.stored import Declaration, Each, Labels, LabelsOfOutputs, Unused, Whole
from ..trees import (
    CLASSES,
    GROWN,
    NUMBERS,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    TreeClassifierMixin,
    TreeRegressorMixin,
    warn_of_old_name,
)
from .forest import SUBSAMPLE, Forest
from .leaves import predict_quantiles

# Shared by the docstrings of all forests, or of those of one task.
FOREST = """
n_estimators : int
    The number of trees.
min_samples_leaf : int, float or "oob"
    The minimum number of rows in a leaf; a float is a share of all rows. "oob" chooses 10, 3 or 1
    by the out-of-bag rows of the first 20 trees, which makes a fit about one and a half times as
    long; it needs bootstrap=True.
bootstrap : bool
    Whether each tree is grown on rows drawn with replacement, or on all rows.
oob_score : bool or callable
    Whether the fit computes `oob_score_`, by a function of targets and predictions if one is given;
    `generalization_` has the score in any case.
n_jobs : int or None
    The number of threads; None leaves it to the environment. It does not change the forest.
random_state : int, RandomState instance or None
    Seeds the draws and the trees.
verbose : int
    Has no effect; a long fit shows its progress on a terminal.
warm_start : bool
    Whether a fit adds trees to those of the last one.
class_weight : dict, list of dict, "balanced", "balanced_subsample" or None
    Weights of the classes; "balanced" gives all classes the same total weight, and
    "balanced_subsample" does so in every draw.
ccp_alpha : float
    The price of a leaf, by which each tree is pruned.
max_samples : int, float or None
    How many rows are drawn for each tree: a number, or a share of the total weight; None draws as
    many as there are.
max_bins : int, "auto" or None
    The maximum number of bins for the values of a column, at quantiles; None tries every threshold.
    "auto" uses 255 bins from 20,000 rows on, where forests grow faster and are as good.
time_limit : float or None
    Seconds after which the trees grown so far are kept.
estimators_ : list of DecisionTreeClassifier or DecisionTreeRegressor
    The trees as estimators, made on demand.
trees_ : sequence of Tree
    The trees as arrays, each made on demand; eight bytes are kept for each node.
columns_ : Columns
    How X was read: the categories, and which columns had missing values.
n_outputs_ : int
    The number of outputs.
max_features_ : int
    How many columns each split considers.
min_samples_leaf_ : int
    The size chosen by min_samples_leaf="oob"; 1 if no row was out of bag.
search_ : Search
    What min_samples_leaf="oob" tried; `search_.plot()` draws it.
feature_importances_ : ndarray of shape (n_features,)
    How much the splits on each feature decrease the impurity, as shares of 1.
certificate_ : Certificate
    Of kind "none": no objective is minimised.
generalization_ : Generalization
    The score to expect on unseen rows, out of bag if there is a bootstrap, with its standard error.
"""
FOR_CLASSES = """
oob_score_, oob_decision_function_ : float and ndarray of shape (n_samples, n_classes)
    Accuracy and class shares of the rows, by the trees that did not draw them.
"""
FOR_NUMBERS = """
oob_score_, oob_prediction_ : float and ndarray of shape (n_samples,)
    R² and predictions of the rows, by the trees that did not draw them.
"""
STORED_FOR_CLASSES: Declaration = {
    **Forest._stored,
    "classes_": Labels() | LabelsOfOutputs(),
    "n_classes_": Whole(1) | Each(Whole(1), "outputs"),
    "oob_decision_function_": Unused(),
}
STORED_FOR_NUMBERS: Declaration = {**Forest._stored, "oob_prediction_": Unused()}
CONSTRAINTS_FOR_CLASSES = {
    **Forest._parameter_constraints,
    "criterion": DecisionTreeClassifier._parameter_constraints["criterion"],
    "class_weight": [StrOptions({SUBSAMPLE, "balanced"}), dict, list, None],
}
CONSTRAINTS_FOR_NUMBERS = {
    **Forest._parameter_constraints,
    "criterion": DecisionTreeRegressor._parameter_constraints["criterion"],
}


@described(FOREST, GROWN, CLASSES, FOR_CLASSES, FEATURES)
class RandomForestClassifier(TreeClassifierMixin, ClassifierMixin, Forest):
    """Classification by the mean of trees on random rows, splitting on random columns.

    Notes
    -----
    Rows are drawn from the distinct rows, sorted by content, so the forest does not depend on the
    order of the rows, and repeating a row is the same as doubling its weight. Growing costs about
    trees · n · √d · depth, and predicting a row trees · depth.

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


@described(FOREST, GROWN, NUMBERS, FOR_NUMBERS, FEATURES)
class RandomForestRegressor(TreeRegressorMixin, RegressorMixin, Forest):
    """Regression by the mean of trees on random rows, splitting on random columns.

    Notes
    -----
    See `RandomForestClassifier` for how rows are drawn. By default every split considers all
    columns, as in scikit-learn; max_features=1/3 is faster and often better. A forest never
    predicts beyond the targets it learned from.

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


@described(FOREST, GROWN, CLASSES, FOR_CLASSES, FEATURES)
class ExtraTreesClassifier(TreeClassifierMixin, ClassifierMixin, Forest):
    """Classification by the mean of trees whose thresholds are drawn at random.

    Notes
    -----
    One threshold is drawn at random for each column that a split considers, and the best of these
    splits is made: trees grow faster and differ more than those of a random forest. By default each
    tree is grown on all rows, and `generalization_` needs more fits; with bootstrap=True it comes
    out of bag.

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
    See `ExtraTreesClassifier` for how trees are grown.

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
