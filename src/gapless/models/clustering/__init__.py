"""Groups of rows that are alike, found without targets.

k-means: `seeding` draws the first centres, `lloyd` moves them, `kmeans_bound` proves how far the
result is from the best one, `kmeans_held_out` describes unseen rows by it and chooses the number of
clusters.
"""

from typing import TYPE_CHECKING

from ..._ground.first_use import on_first_use

if TYPE_CHECKING:
    from .kmeans import KMeans

__getattr__, __dir__, __all__ = on_first_use(__name__)
