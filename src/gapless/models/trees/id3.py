"""ID3."""

from __future__ import annotations

from numbers import Integral
from typing import ClassVar

from sklearn.utils._param_validation import Interval

from ..._ground.columns import edges_of
from ._multiway import MultiwayClassifier
from .decision_tree import FROM_DTYPE
from .multiway_growing import Rule


class ID3Classifier(MultiwayClassifier):
    """ID3: a branch for every category of the attribute that gains most information.

    A node asks for the attribute with the largest  H(classes) − Σ nᵥ/n·H(classes in branch v),
    never twice for the same one, until its rows are of one class or nothing is left to ask. A
    branch without rows predicts the majority above it.

    Parameters
    ----------
    max_depth : int, default=None
        The largest number of questions.
    max_bins : int, default=5
        ID3 knows categories alone: a column of numbers becomes one, with a category for each value
        if there are no more than this, and else with so many bins at quantiles.
    prune : {"pre_pruning", "reduced_error", "pessimistic"}, default=None
        How the tree is pruned: keep a split where it lowers the error on validation rows at once
        ("pre_pruning"), or with all that is below it ("reduced_error"); or where it lowers an upper
        limit of the error, from the training rows themselves ("pessimistic"). None does not prune.
    validation_fraction : float, default=0.2
        The part of the distinct rows that is set aside for the first two, unless `fit` is given
        X_val and y_val.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Which columns are categories: those of a table that hold categories, text or booleans; or a
        mask, numbers or names of columns.
    time_limit : float, default=None
        Seconds after which the deepest tree that is complete is kept.

    Attributes
    ----------
    tree_ : MultiwayTree
        The nodes, with the gain of each question in bits.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_classes_ : int
        How many there are.
    bin_edges_ : list of (ndarray or None)
        Where the numbers of each column are cut; None for categories.
    prune_trace_ : PruneTrace
        Every decision of the pruning, where there was any: node, error with its split and as leaf.
    certificate_ : Certificate
        That no subtree has a lower cost: entropy, or the errors that it was pruned by.
    generalization_ : Generalization
        What the tree will score on unseen rows, by growing it again without some rows.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had names.

    Notes
    -----
    Attributes with many values gain most however little they say, such as a number of each row;
    C45Classifier corrects for it. A row with a missing value, or one that was never seen, goes down
    all branches with parts of its weight, as in C4.5.

    References
    ----------
    Quinlan (1986), Induction of decision trees, Machine Learning 1.

    Examples
    --------
    >>> import pandas as pd
    >>> from gapless import ID3Classifier
    >>> days = pd.DataFrame({"wind": ["weak", "weak", "strong", "strong"], "hot": list("ynyn")})
    >>> print(ID3Classifier().fit(days, ["play", "play", "stay", "stay"]).to_text())
    wind = strong: stay (2)
    wind = weak: play (2)
    """

    _parameter_constraints: ClassVar[dict] = {
        **MultiwayClassifier._parameter_constraints,
        "max_bins": [Interval(Integral, 2, None, closed="left")],
    }

    def __init__(
        self,
        *,
        max_depth=None,
        max_bins=5,
        prune=None,
        validation_fraction=0.2,
        categorical_features=FROM_DTYPE,
        time_limit=None,
    ):
        self.max_depth = max_depth
        self.max_bins = max_bins
        self.prune = prune
        self.validation_fraction = validation_fraction
        self.categorical_features = categorical_features
        self.time_limit = time_limit

    def _rule(self):
        return Rule(uses_ratio=False, max_depth=self.max_depth)

    def _edges(self, F, weights, is_category):
        return [
            None if is_level else edges_of(column.astype(float), weights, self.max_bins)
            for column, is_level in zip(F.T, is_category)
        ]
