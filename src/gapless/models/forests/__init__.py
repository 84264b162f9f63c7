"""Random forests and extremely randomised trees.

`random_forests` has the four estimators, `forest` what they share. `growing` grows trees in
batches, each on its own draw of the rows; `out_of_bag` gives scores and importances and chooses the
size of leaves, by the rows that trees have not drawn; `leaves` finds rows that share leaves, for
similarities and quantiles.
"""

from typing import TYPE_CHECKING

from ..._ground.first_use import on_first_use

if TYPE_CHECKING:
    from .random_forests import (
        ExtraTreesClassifier,
        ExtraTreesRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )

__getattr__, __dir__, __all__ = on_first_use(__name__)
