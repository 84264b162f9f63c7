"""
Lazy and eager learners: who works when
=======================================

A lazy learner, such as nearest neighbours, only stores its rows, and searches them for every row
that it is asked about. Eager ones commit themselves to a model while they learn, and then answer
quickly. Rings are times to learn, disks times to predict as many rows.

(The times are those of this machine, on the handwritten digits; the scale is logarithmic.)
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from gapless import (
    SVC,
    DecisionTreeClassifier,
    GaussianNB,
    KNeighborsClassifier,
    LogisticRegression,
)
from gapless.evaluation import timed

X, y = load_digits(return_X_y=True)
models = {
    "neighbours": KNeighborsClassifier(algorithm="brute"),
    "naive Bayes": GaussianNB(),
    "tree": DecisionTreeClassifier(),
    "support vectors": SVC(),
    "logistic regression": LogisticRegression(),
}
found = timed(models, X / 16, y, repeats=2)
found.plot()
print(found)
plt.show()
