"""
A perceptron learns three bits, row by row
==========================================

Eight rows of three bits; the class is 1 if at least two of the bits are, else −1. The perceptron
reads one row after the other. Where it is wrong (a score of 0 counts as 1), it moves its weights
by Δw = λ(y − ŷ)x with λ = 0.1, and elsewhere it leaves them as they are.

Each step of a line in the upper picture is one such mistake. After six epochs no row is wrong any
more, and the weights stay: w = (−0.6, 0.4, 0.4, 0.2), the first one being the bias.
"""

import matplotlib.pyplot as plt
import numpy as np

from gapless import Perceptron, plots
from gapless.data import load_builtin

X, y = load_builtin("bits", return_X_y=True)
model = Perceptron(learning_rate=0.1, shuffle=False, record="rows").fit(X, y)

# %%
# The weights at the start and after each epoch, as a textbook prints them.

rows, mistakes = len(X), [0, *model.trace_.mistakes]
weights = np.array(model.trace_.weights)
print("epoch     w0    w1    w2    w3  mistakes")
for epoch, w in enumerate(weights[::rows]):
    values = " ".join(f"{value + 0.0:5.1f}" for value in w)
    print(f"{epoch:5d}  {values}  {mistakes[epoch]:8g}")

plots.perceptron(weights, model.trace_.mistakes, rows=rows)
plt.show()
