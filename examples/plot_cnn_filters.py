"""
What a convolutional network sees in a digit
============================================

A convolution moves a small window over the image and multiplies what it sees by the weights of a
filter: the result is large where the image looks like the filter. ReLU sets what is negative to 0,
and max pooling keeps the largest of every 2 × 2 values, so that a stroke may lie a little to the
left or to the right.

Filters (blue above 0, red below) turn out to be detectors of edges and strokes in some direction,
learned from the digits alone. Each column shows one of them and what it makes of two digits.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from gapless import CNNClassifier
from gapless.networks import layers

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X.reshape(-1, 8, 8) / 16, y, random_state=0)
parts = [layers.Conv2D(8), layers.ReLU(), layers.MaxPool2D(), layers.Flatten()]
model = CNNClassifier(
    parts, batch_size=32, learning_rate_init=0.01, tol=0.02, n_iter_no_change=2, random_state=0
).fit(X, y)

filters = np.moveaxis(model.parameters_[0][:, :, 0], -1, 0)
chosen = [int(np.flatnonzero(y_test == digit)[0]) for digit in (0, 7)]
figure, panels = plt.subplots(5, 9, figsize=(9, 5.2), layout="constrained")
for axes in panels.flat:
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
size = np.abs(filters).max()
for axes, weights in zip(panels[0, 1:], filters):
    axes.imshow(weights, cmap="RdBu", vmin=-size, vmax=size)
panels[0, 1].set_ylabel("filter", rotation=0, ha="right", va="center")
for place, row in zip((1, 3), chosen):
    panels[place, 0].imshow(X_test[row], cmap="gray_r")
    panels[place, 0].set_title("digit", fontsize="small")
    maps = model.feature_maps(X_test[[row]])
    for line, layer, name in ((place, 1, "after\nReLU"), (place + 1, 2, "after\npooling")):
        for axes, image in zip(panels[line, 1:], np.moveaxis(maps[layer][0], -1, 0)):
            axes.imshow(image, cmap="gray_r", vmin=0, vmax=maps[layer].max())
        panels[line, 1].set_ylabel(name, rotation=0, ha="right", va="center", fontsize="small")

print(model.history_)
print(f"accuracy on {len(y_test)} unseen digits: {model.score(X_test, y_test):.3f}")
print("shapes, layer by layer:", [tuple(of.shape[1:]) for of in maps])
plt.show()
