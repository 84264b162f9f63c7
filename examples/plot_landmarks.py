"""
Landmarks come closer to a kernel than random features
======================================================

With n rows a kernel has n² values. Landmarks describe each row by its kernel with a few others,
φ(x) = K(Z, Z)^(−½) k(Z, x), and random features by waves cos(ωᵀx + b), so that inner products of
the new columns are nearly the kernel, and linear models do the rest in time n·r².

Left: the rows of two moons, and the ten landmarks among them. Right: the error of all inner
products, relative to the kernel matrix. That of random features falls like 1/√r, whatever the
data; landmarks look at the data, and fifty of them are enough for this smooth kernel.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from gapless import Nystroem, RBFSampler
from gapless.kernels import Gaussian
from gapless.plots.style import ACCENT, FAINT, STYLES, finished, with_logarithms

X, y = make_moons(400, noise=0.1, random_state=0)
kernel = Gaussian(gamma=1.0).gram(X)


def error(features):
    """The root mean square error of the inner products, relative to that of the kernel."""
    return np.linalg.norm(features @ features.T - kernel) / np.linalg.norm(kernel)


sizes = [4, 6, 10, 16, 26, 50, 100]
landmarks = [
    error(Nystroem(gamma=1.0, n_components=r, random_state=0).fit_transform(X)) for r in sizes
]
waves = [
    error(RBFSampler(gamma=1.0, n_components=r, random_state=0).fit_transform(X)) for r in sizes
]
for r, a, b in zip(sizes, landmarks, waves):
    print(f"{r:3d} features: error {a:.1e} with landmarks, {b:.1e} with random features")

ten = Nystroem(gamma=1.0, n_components=10, random_state=0).fit(X)
figure, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.6), layout="constrained")
left.scatter(*X.T, s=8, color=FAINT, label="rows")
left.scatter(*ten.components_.T, s=60, color=ACCENT, marker="^", label="landmarks")
left.set_aspect("equal")
left.legend(loc="upper right", fontsize="small")
finished(left, "first column", "second column")
right.plot(sizes, landmarks, marker="o", label="landmarks", **STYLES[0])
right.plot(sizes, waves, marker="s", label="random features", **STYLES[3])
with_logarithms(right, "x", sizes)
with_logarithms(right, "y", [*landmarks, *waves])
right.legend(fontsize="small")
finished(right, "number of features r", "relative error of inner products", grid="both")
plt.show()
