"""
The matrices that clustering passes through
===========================================

Single linkage by hand: in the matrix of distances look for the smallest entry, here D₁(a, b) = 17,
merge its row and its column, and fill the new ones with the smaller of the two distances:

D₂((a,b), c) = min(D₁(a, c), D₁(b, c)) = min(21, 30) = 21.

Each matrix has a row and a column less than the one before; darker cells are closer, and the pair
that merges next is framed. Of two pairs at 21 the first one merges.
"""

import matplotlib.pyplot as plt

from gapless import AgglomerativeClustering
from gapless.data import load_builtin

D, _ = load_builtin("samples", return_X_y=True)
model = AgglomerativeClustering(metric="precomputed", linkage="single").fit(D)
matrices = model.distance_matrices("abcde")

figure, panels = plt.subplots(2, 2, figsize=(7.6, 7.2), layout="constrained")
matrices.plot(axes=panels.flat)
print(matrices[1])
print("merges at", *model.merge_table_[:, 2].astype(int))
plt.show()
