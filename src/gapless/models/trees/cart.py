"""The decision trees with two branches, for classes and for numbers (Breiman et al. 1984)."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils._param_validation import Hidden, StrOptions

from ..._ground.about import Example, Examples
from ..._ground.docstrings import FEATURES, described
from ..._ground.stored import Declaration, Each, Labels, LabelsOfOutputs, Numbers, Whole
from .decision_tree import FROM_DTYPE, DecisionTree
from .descriptions import CART, CLASSES, GROWN, NUMBERS, PRUNED
from .growing import TreeData
from .tree_model import (
    PESSIMISTIC,
    PRE,
    REDUCED,
    TreeClassifierMixin,
    TreeRegressorMixin,
)

OLD_NAME = "friedman_mse"


@described(CART, GROWN, PRUNED, CLASSES, FEATURES)
class DecisionTreeClassifier(TreeClassifierMixin, ClassifierMixin, DecisionTree):
    """A decision tree whose leaves predict classes (CART).

    The tree is grown split by split, each the one that lowers  Σ over leaves of  n·impurity  most.
    Pruning then takes the subtree T with the lowest  R(T) + α·leaves,  where R(T) is the mean
    impurity of its leaves; the certificate proves that.

    Parameters
    ----------
    class_weight : dict, list of dict or "balanced", default=None
        Factors for the weights of the rows of each class; a list for several outputs.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        1 where the probability of the second class may only rise with a feature, −1 where it may
        only fall, 0 elsewhere; two classes only.

    Notes
    -----
    Growing costs about n·d·depth. Missing values (NaN) go to the side where the split gains more.
    A column may have any number of categories; for two classes the best of all subsets goes left.
    Finding the best tree of all takes too long; what the certificate covers is the pruning.
    `to_text()`, `rules()`, `path_of(x)` and `gapless.plots.tree(model)` show the tree.

    References
    ----------
    Breiman, Friedman, Olshen and Stone (1984), Classification and Regression Trees, Wadsworth.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gapless import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = DecisionTreeClassifier(max_depth=2).fit(X, y)
    >>> print(model.to_text())
    petal length (cm) ≤ 2.45: 0 (50)
    petal length (cm) > 2.45
    |   petal width (cm) ≤ 1.75: 1 (54, error 0.0926)
    |   petal width (cm) > 1.75: 2 (46, error 0.0217)
    """

    _examples: ClassVar[Examples] = (Example("breast_cancer", {"ccp_alpha": "cv"}),)

    _stored: ClassVar[Declaration] = {
        **DecisionTree._stored,
        "classes_": Labels() | LabelsOfOutputs(),
        "n_classes_": Whole(1) | Each(Whole(1), "outputs") | Numbers("outputs", types="iu"),
    }
    _parameter_constraints: ClassVar[dict] = {
        **DecisionTree._parameter_constraints,
        "criterion": [StrOptions({"gini", "entropy", "log_loss", "gain_ratio"})],
        "class_weight": [dict, list, StrOptions({"balanced"}), None],
        "prune": [StrOptions({PRE, REDUCED, PESSIMISTIC}), None],
    }

    def __init__(
        self,
        *,
        criterion="gini",
        splitter="best",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features=None,
        random_state=None,
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        class_weight=None,
        ccp_alpha=0.0,
        monotonic_cst=None,
        categorical_features=FROM_DTYPE,
        max_bins=None,
        prune=None,
        validation_fraction=0.2,
        select="min",
        time_limit=None,
    ):
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.max_bins = max_bins
        self.prune = prune
        self.validation_fraction = validation_fraction
        self.select = select
        self.time_limit = time_limit

    def _kept_of(self, data: TreeData) -> dict[str, Any]:
        return super()._kept_of(data) | class_attributes(data)

    def _classes(self) -> list[np.ndarray]:
        return self.classes_ if isinstance(self.classes_, list) else [self.classes_]


def class_attributes(data: TreeData) -> dict[str, Any]:
    """`classes_` and `n_classes_`, flat for one output as in scikit-learn."""
    classes = data.outputs.classes or []
    if len(classes) == 1:
        return {"classes_": classes[0], "n_classes_": len(classes[0])}
    return {"classes_": classes, "n_classes_": np.array([len(own) for own in classes])}


@described(CART, GROWN, PRUNED, NUMBERS, FEATURES)
class DecisionTreeRegressor(TreeRegressorMixin, RegressorMixin, DecisionTree):
    """A decision tree whose leaves predict numbers (CART).

    The tree is grown split by split, each the one that lowers  Σ over leaves of  n·impurity  most.
    Pruning then takes the subtree T with the lowest  R(T) + α·leaves,  where R(T) is the mean loss
    of its leaves; the certificate proves that.

    Parameters
    ----------
    prune : {"pre_pruning", "reduced_error"}, default=None
        How splits are pruned by errors: keep a split that lowers the squared error on held-out rows
        at once ("pre_pruning"), or together with all splits below it ("reduced_error"). None does
        not prune by errors.

    Notes
    -----
    Growing costs about n·d·depth, for absolute errors a factor log n more. Missing values (NaN) go
    to the side where the split gains more; of any number of categories the best subset goes left.
    Predictions are constant in each leaf, so a tree never predicts beyond the targets it learned
    from.

    References
    ----------
    Breiman, Friedman, Olshen and Stone (1984), Classification and Regression Trees, Wadsworth.

    Examples
    --------
    >>> import numpy as np
    >>> from gapless import DecisionTreeRegressor
    >>> x = np.arange(8.0)[:, None]
    >>> model = DecisionTreeRegressor().fit(x, np.where(x[:, 0] < 3, 1.0, 5.0))
    >>> print(model.to_text())
    x0 ≤ 2.5: 1 (3)
    x0 > 2.5: 5 (5)
    """

    _examples: ClassVar[Examples] = (Example("diabetes", {"ccp_alpha": "cv"}),)

    _parameter_constraints: ClassVar[dict] = {
        **DecisionTree._parameter_constraints,
        "criterion": [
            StrOptions({"squared_error", "absolute_error", "poisson"}),
            Hidden(StrOptions({OLD_NAME})),
        ],
        "prune": [StrOptions({PRE, REDUCED}), None],
    }

    def __init__(
        self,
        *,
        criterion="squared_error",
        splitter="best",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features=None,
        random_state=None,
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        ccp_alpha=0.0,
        monotonic_cst=None,
        categorical_features=FROM_DTYPE,
        max_bins=None,
        prune=None,
        validation_fraction=0.2,
        select="min",
        time_limit=None,
    ):
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.max_bins = max_bins
        self.prune = prune
        self.validation_fraction = validation_fraction
        self.select = select
        self.time_limit = time_limit
        warn_of_old_name(criterion)

    def _read(self, X, y, sample_weight=None, *, reset=True):
        if self.criterion == "poisson" and y is not None:
            check_counts(np.asarray(y), sample_weight)
        return super()._read(X, y, sample_weight, reset=reset)


def warn_of_old_name(criterion: Any) -> None:
    """Warn that a name is deprecated, at the caller's line, as scikit-learn does."""
    if isinstance(criterion, str) and criterion == OLD_NAME:
        warnings.warn(
            f'criterion="{OLD_NAME}" is deprecated, as in scikit-learn: it is another name for '
            '"squared_error"; use that.',
            FutureWarning,
            stacklevel=3,
        )


def check_counts(y: Any, sample_weight: Any, needed: str = "positive") -> None:
    """Refuse targets that no Poisson distribution has; rows without weight do not count.

    What is `needed` of their sum is in the words of scikit-learn's class of the same name.
    """
    if y.dtype.kind not in "biuf":
        return
    if sample_weight is not None and np.shape(sample_weight) == y.shape[:1]:
        y = y[np.asarray(sample_weight) > 0]
    cure = 'use criterion="squared_error".'
    if np.any(y < 0):
        raise ValueError(
            "Some value(s) of y are negative which is not allowed for Poisson regression: the "
            f"smallest is {y.min():g}; {cure}"
        )
    if np.sum(y) <= 0:
        raise ValueError(
            f"Sum of y is not {needed} which is necessary for Poisson regression: all targets are "
            f"0; {cure}"
        )
