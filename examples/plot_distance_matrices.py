"""
The matrices that clustering passes through, under three linkages
=================================================================

In the matrix of distances look for the smallest entry, here D₁(a, b) = 17, merge its row and its
column, and fill in the distances of the new cluster. Under single linkage the smaller of the two
counts, under complete linkage the larger, under average linkage the mean over all pairs of rows:

D₂((a,b), c) = min(21, 30) = 21,   max(21, 30) = 30,   (21 + 30)/2 = 25.5.

Each matrix has a row and a column less than the one above it; darker cells are closer, and the pair
that merges next is framed. Of two pairs at 21 the first one merges.
"""

import matplotlib.pyplot as plt

from gapless import AgglomerativeClustering
from gapless.data import load_builtin

D, _ = load_builtin("samples", return_X_y=True)
figure, panels = plt.subplots(
    4, 3, figsize=(9.4, 11.2), height_ratios=[5, 4, 3, 2.6], layout="constrained"
)
figure.get_layout_engine().set(h_pad=0.1)
for linkage, column in zip(("single", "complete", "average"), panels.T, strict=True):
    model = AgglomerativeClustering(metric="precomputed", linkage=linkage).fit(D)
    model.distance_matrices("abcde").plot(axes=column)
    column[0].set_title(f"{linkage} linkage")
    print(f"{linkage}: merges at", *(f"{height:g}" for height in model.merge_table_[:, 2]))
plt.show()
