"""
How many clusters? Silhouettes
==============================

The sum of squares always falls with more clusters, so it cannot say how many there are. The
silhouette of a row compares its mean distance a to its own cluster with that to the nearest other
cluster, b: (b − a)/max(a, b). It is near 1 where a row clearly belongs, 0 between two clusters, and
negative (grey) where another cluster would be nearer.

With too few clusters different groups share one; with too many, groups are cut into halves whose
silhouettes are short. On this table, picked for its clear gaps, the mean is largest for the right
number. Where groups touch it prefers fewer: of 40 tables drawn like this one, it was largest for
four clusters on 18, and for two or three on the others.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs

from gapless import KMeans, plots
from gapless.metrics import silhouettes

X, _ = make_blobs(300, centers=4, cluster_std=1.0, random_state=3)
figure = plt.figure(figsize=(9, 5.8), layout="constrained")
panels = figure.subplots(2, 4)
for k, (above, below) in zip((2, 3, 4, 6), panels.T):
    model = KMeans(k, n_init=5, random_state=0).fit(X)
    found = silhouettes(X, model.labels_)
    plots.grouped_rows(*X.T, model.labels_, names=[""] * k, labels=("", ""), axes=above)
    above.set(xticks=[], yticks=[])
    above.set_title(f"{k} clusters", fontsize="small", loc="left")
    found.plot(axes=below)
    below.set_xlim(-0.2, 1)
    mean = found.mean.value
    print(f"{k} clusters: sum of squares {model.inertia_:6.0f}, mean silhouette {mean:.3f}")
print("KMeans('auto') finds", KMeans("auto", random_state=0).fit(X).n_clusters_)
plt.show()
