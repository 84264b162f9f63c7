"""C4.5."""

from __future__ import annotations

from numbers import Real
from typing import ClassVar

from sklearn.utils._param_validation import Interval

from ._multiway import MultiwayClassifier
from .decision_tree import FROM_DTYPE
from .multiway_growing import Rule
from .validation import PESSIMISTIC


class C45Classifier(MultiwayClassifier):
    """C4.5: gain ratio, thresholds for numbers, missing values in parts, pessimistic pruning.

    A node asks for the attribute whose gain, divided by the information of its branches, is largest
    among those of at least average gain. The grown tree is pruned to the subtree with the least
    Σ over leaves of  n·U(errors, n),  U being the upper limit of the error rate at `confidence`.

    Parameters
    ----------
    confidence : float, default=0.25
        Where the upper limit of error rates is taken, 0 to 1; smaller values prune more.
    min_samples_leaf : float, default=2
        At least two branches must have so much weight.
    max_depth : int, default=None
        The largest number of questions.
    prune : {"pre_pruning", "reduced_error", "pessimistic"}, default="pessimistic"
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
        The nodes, with the gain and the gain ratio of each question.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_classes_ : int
        How many there are.
    bin_edges_ : list of None
        C4.5 cuts no numbers into bins.
    prune_trace_ : PruneTrace
        Every decision of the pruning: node, error with its split and as a leaf.
    certificate_ : Certificate
        That no subtree has a lower cost: the errors that it was pruned by, or the entropy.
    generalization_ : Generalization
        What the tree will score on unseen rows, by growing it again without some rows.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had names.

    Notes
    -----
    The gain of a test counts for the part of the rows whose value is known; the others go down all
    branches, in the same parts as the known ones, in the fit and in predictions. A threshold is a
    value that occurs, the largest one not above the middle of two neighbours. As in the book of
    1993, without the penalty for thresholds of release 8; subtrees are replaced by leaves, not by
    their largest branch. Grown in Python: for many rows DecisionTreeClassifier with
    criterion="gain_ratio" and prune="pessimistic" is much faster.

    References
    ----------
    Quinlan (1993), C4.5: Programs for Machine Learning, Morgan Kaufmann.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gapless import C45Classifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> print(C45Classifier().fit(X, y).to_text(max_depth=2))
    petal length (cm) ≤ 1.9: 0 (50)
    petal length (cm) > 1.9
    |   petal width (cm) ≤ 1.7: 1 (54, error 0.0926) … 3 leaves below
    |   petal width (cm) > 1.7: 2 (46, error 0.0217)
    """

    _parameter_constraints: ClassVar[dict] = {
        **MultiwayClassifier._parameter_constraints,
        "confidence": [Interval(Real, 0, 1, closed="neither")],
        "min_samples_leaf": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        confidence=0.25,
        min_samples_leaf=2,
        max_depth=None,
        prune=PESSIMISTIC,
        validation_fraction=0.2,
        categorical_features=FROM_DTYPE,
        time_limit=None,
    ):
        self.confidence = confidence
        self.min_samples_leaf = min_samples_leaf
        self.max_depth = max_depth
        self.prune = prune
        self.validation_fraction = validation_fraction
        self.categorical_features = categorical_features
        self.time_limit = time_limit

    def _rule(self):
        return Rule(True, float(self.min_samples_leaf), self.max_depth)

    def _confidence(self):
        return float(self.confidence)
