"""
Handwritten digits: what a support vector machine gets wrong
============================================================

A machine with a Gaussian kernel learns from 1,000 digits of 8 × 8 pixels, pixel by pixel, and
reads the other 797. It is right for 98 % of them. Below are all the digits that it misreads, with
the class it takes them for and the true one in brackets; for some of them a person would not be
sure either.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from gapless import SVC

X, y = load_digits(return_X_y=True)
train, test, y_train, y_test = train_test_split(X, y, train_size=1000, random_state=0, stratify=y)
model = SVC().fit(train, y_train)
read = model.predict(test)
wrong = np.flatnonzero(read != y_test)
print(f"{np.mean(read == y_test):.1%} of {len(y_test)} digits are read, {len(wrong)} misread")
print(f"{len(model.support_)} of {len(y_train)} training digits are support vectors")
print(model.certificate_)

columns = 6
shape = -(-len(wrong) // columns), columns
figure, panels = plt.subplots(*shape, figsize=(7.2, 1.5 * shape[0]), layout="constrained")
for axes in panels.flat:
    axes.axis("off")
for axes, k in zip(panels.flat, wrong, strict=False):
    axes.imshow(test[k].reshape(8, 8), cmap="gray_r")
    axes.set_title(f"{read[k]} ({y_test[k]})", fontsize="small")
plt.show()
