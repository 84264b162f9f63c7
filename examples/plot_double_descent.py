"""
Double descent: more features than rows
=======================================

Least squares on more and more random features of 100 diabetes patients. Up to the number of rows
the story is the classical one: the training error falls to 0 and the test error rises to a peak,
where exactly one solution fits all rows, and its weights are huge. Beyond, there are many such
solutions; taken is the one with the smallest norm, which becomes smoother with every feature, and
the test error descends a second time. A little ridge penalty takes the peak away altogether. Both
axes are logarithmic, since the error at the peak is a thousand times the lowest.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes

from gapless import double_descent
from gapless.plots.style import look

X, y = load_diabetes(return_X_y=True)
data = X[:100], y[:100], X[100:], y[100:]
plain = double_descent(*data, draws=3)
restrained = double_descent(*data, draws=3, penalty=10.0)
print(f"without a penalty, {plain}")
print(f"with one, {restrained}")

axes = plain.plot()
axes.plot(restrained.features, restrained.test, label="test rows, with a penalty", **look(1))
axes.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
plt.show()
