"""Groups of rows that are alike, found without targets.

k-means: `seeding` draws the first centres, `mini_batches` and `lloyd` move them, `kmeans_runs`
keeps the best of several starts (`batch_runs` of those that take no steps but on batches),
`kmeans_bound` proves how far it is from the best one, `kmeans_held_out` describes unseen rows by it
and chooses the number of clusters, where `gaps_between` finds them apart.

Hierarchies: `agglomerative` merges from the bottom up and `divisive` splits from the top down;
`linkages` makes merges in the compiled core, `merge_trees` is their table, `linkage_checks` the
certificate, `stable_cuts` says how stable the clusters are, `hierarchy` is what both share.
"""

from typing import TYPE_CHECKING

from ..._ground.first_use import on_first_use

if TYPE_CHECKING:
    from .agglomerative import AgglomerativeClustering
    from .divisive import DivisiveClustering
    from .gaps_between import (
        counts_between,
        doubt,
        in_order_of,
        line_between,
        neighbours,
        part_midway,
    )
    from .kmeans import KMeans
    from .mini_batch_kmeans import MiniBatchKMeans

__getattr__, __dir__, __all__ = on_first_use(__name__)
