"""
Bagging, a random forest, and their errors out of bag
=====================================================

Each tree is grown on rows drawn with replacement, and never sees about a third of them. Predicting
every row by the trees that did not draw it gives an honest error without a test set: out of bag.

One tree changes a lot with its rows; the vote of many does not, so the error falls with their
number and then stays. A random forest also lets each split choose among a few random columns only,
which makes its trees less alike and, on these digits, their vote better; on other tables plain
bagging does as well. Dashed: the errors on rows set aside. Those out of bag are a little cautious,
since each row is judged by a third of the trees only.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from gapless import DecisionTreeClassifier, RandomForestClassifier
from gapless.plots.style import DASHED, FAINT, INK, STYLES, finished, with_logarithms

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, train_size=900, random_state=0)
forests = {
    "bagged trees": RandomForestClassifier(200, max_features=None, random_state=0),
    "random forest": RandomForestClassifier(200, max_features="sqrt", random_state=0),
}
figure, axes = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
alone = 1 - DecisionTreeClassifier(random_state=0).fit(X, y).score(X_test, y_test)
axes.axhline(alone, color=FAINT, linewidth=1.0)
axes.text(200, alone, "a single tree", ha="right", va="bottom", color=INK)
print(f"a single tree: {alone:.3f} of the test rows wrong")
for (name, model), style in zip(forests.items(), (STYLES[1], STYLES[0])):
    curve = model.fit(X, y).oob_curve(np.unique(np.geomspace(8, 200, 24).astype(int)))
    axes.plot(curve.counts, 1 - curve.scores, linewidth=1.8, **style, label=f"{name}, out of bag")
    error = 1 - model.score(X_test, y_test)
    axes.axhline(error, color=style["color"], linestyle=DASHED, linewidth=1.2)
    print(f"{name}: {1 - curve.scores[-1]:.3f} out of bag, {error:.3f} of the test rows wrong")
axes.plot([], [], color=FAINT, linestyle=DASHED, label="200 trees on test rows")
with_logarithms(axes, "x", [8, 200])
axes.set_ylim(0, None)
axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(0.55, 0.82))
finished(axes, "trees", "error rate")
plt.show()
