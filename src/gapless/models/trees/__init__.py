"""Decision trees: grown, pruned, judged, and read.

`tree_model` is what all single trees share, `decision_tree` the trees of two branches, `multiway`
those with a branch for every category. `growing` calls the core, where src/core/trees/splits.cpp
picks a split; `pruning` finds the best subtree for a cost, `judging` proves it from the data,
`refits` grows trees again for unseen rows, `outline` puts a tree in words, `packed` predicts,
`compact` keeps forests small, `partial_dependence` averages trees without predicting rows,
`contributions` divides a prediction among the columns, and `descriptions` has the words that
docstrings share.
Called by bagging, forests, boosting, AdaBoost and users. Imports what estimators share, and the
core.
"""

from typing import TYPE_CHECKING

from ..._ground.first_use import on_first_use

if TYPE_CHECKING:
    from .cart import (
        OLD_NAME,
        DecisionTreeClassifier,
        DecisionTreeRegressor,
        check_counts,
        warn_of_old_name,
    )
    from .compact import STATISTICS, CompactTrees
    from .contributions import contributions_of
    from .decision_tree import DecisionTree, constraints_of_trees
    from .descriptions import CLASSES, GROWN, NUMBERS, ROWS, TRAINING
    from .growing import (
        LARGEST_SEED,
        NO_LIMIT,
        Options,
        Targets,
        TreeData,
        columns_tried,
        grow,
        grow_forest,
        row_count,
    )
    from .multiway import LEAF, MultiwayTree
    from .multiway_classifiers import C45Classifier, ID3Classifier
    from .packed import ROOM, AskedColumns, PackedTrees
    from .partial_dependence import mean_of_model
    from .pruning import pruned_at
    from .refits import fewer_limits, larger_leaves
    from .tree import Tree, used_values
    from .tree_model import TreeClassifierMixin, TreeRegressorMixin

__getattr__, __dir__, __all__ = on_first_use(__name__)
