"""
Rings that kernel PCA pulls apart
=================================

No direction of the plane separates two rings, so PCA cannot. Kernel PCA looks for directions in the
feature space of a kernel, here k(x, z) = exp(−γ‖x − z‖²): each is a sum Σᵢ αᵢ φ(xᵢ), where α is an
eigenvector of the centred Gram matrix.

On the left, the rows with the level lines of the first component: it is a function of the radius,
found without being told which ring a row belongs to. On the right, the rows along the first two
components: a single threshold on the first one separates them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles

from gapless import PCA, KernelPCA, plots

X, ring = make_circles(300, factor=0.3, noise=0.06, random_state=0)
names = np.where(ring == 1, "inner ring", "outer ring")
model = KernelPCA(2, kernel="rbf", gamma=2.0).fit(X)
coordinates = model.transform(X)

x = np.linspace(-1.3, 1.3, 60)
plane = np.stack(np.meshgrid(x, x), axis=-1)
heights = model.transform(plane.reshape(-1, 2))[:, 0].reshape(60, 60)
figure, panels = plt.subplots(1, 2, figsize=(8.6, 3.8), layout="constrained")
panels[0].contour(x, x, heights, 9, colors=plots.style.FAINT, linewidths=0.8, linestyles="solid")
plots.embedding(X, coordinates, labels=names, axes=panels)
panels[0].set_title("rows, and level lines of component 1", fontsize="small", loc="left")

for name, c in {"PCA": PCA(1).fit_transform(X), "kernel PCA": coordinates}.items():
    inner, outer = c[ring == 1, 0], c[ring == 0, 0]
    is_apart = inner.min() > outer.max() or inner.max() < outer.min()
    print(f"{name}: does component 1 separate the rings? {'yes' if is_apart else 'no'}")
print(model.certificate_.verdict)
plt.show()
