"""Decision trees: grown, pruned, judged, and read.

`columns` reads X and `growing` calls the core, `multiway` grows trees with a branch for every
category; `pruning` finds the best subtree for a cost, `judging` proves it from the data, `outline`
says a tree in words, `packed` predicts. Called by ensembles and by users. Imports what estimators
share, and the core.
"""

from typing import TYPE_CHECKING

from .._first_use import on_first_use

if TYPE_CHECKING:
    from .c45 import C45Classifier
    from .classifier import DecisionTreeClassifier
    from .id3 import ID3Classifier
    from .regressor import DecisionTreeRegressor

__all__ = ["C45Classifier", "DecisionTreeClassifier", "DecisionTreeRegressor", "ID3Classifier"]

# Each name, and the file it lives in.
_HOMES = {
    "C45Classifier": "c45",
    "DecisionTreeClassifier": "classifier",
    "DecisionTreeRegressor": "regressor",
    "ID3Classifier": "id3",
}
__getattr__, __dir__ = on_first_use(__name__, _HOMES)
