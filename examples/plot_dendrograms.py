"""
Five samples under three linkages
=================================

Agglomerative clustering begins with single samples and merges the two closest clusters, until one
is left. What "close" means for clusters is the linkage: the smallest distance of their members
(single), the largest (complete) or the mean (average).

From the same five samples, given by the distances between them, the three linkages make three
trees. All begin with a and b, at 17; the other merges depend on the linkage. Cut into two clusters
(the colours), d is alone under single linkage, and together with c under the others.
"""

import matplotlib.pyplot as plt

from gapless import AgglomerativeClustering
from gapless.data import load_builtin

D, _ = load_builtin("samples", return_X_y=True)
figure, panels = plt.subplots(1, 3, figsize=(8.8, 3.6), layout="constrained")
for axes, linkage in zip(panels, ("single", "complete", "average")):
    model = AgglomerativeClustering(2, metric="precomputed", linkage=linkage).fit(D)
    model.dendrogram(names="abcde", axes=axes)
    heights = model.merge_table_[:, 2]
    axes.set_title(f"{linkage} linkage", loc="left", fontsize="small")
    axes.set(xlabel="", ylim=(0, 46), yticks=sorted({0.0, *heights}))
    print(f"{linkage} linkage merges at", *heights.astype(int))
for axes in panels[1:]:
    axes.set_ylabel("")
plt.show()
