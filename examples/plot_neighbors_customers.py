"""
Will the new customer leave? Distances and votes of five neighbours
===================================================================

Five customers of a bank are known, with gender, age and salary; a new one is a woman of 45 with a
salary of $100,000. The distance of two customers is a sum over the columns: for numbers the
difference as a share of the column's range, for categories 1 if they differ.

On the left, what each column contributes: customer 4 is nearest, because she is a woman too. On the
right, the vote of the k nearest ones, with its confidence: "yes" for every k, though unanimous only
for the nearest one or two.
"""

import matplotlib.pyplot as plt
import numpy as np

from gapless import KNeighborsClassifier, NearestNeighbors
from gapless.data import load_builtin
from gapless.plots.style import ACCENT, FAINT, INK, finished

X, left = load_builtin("customers", return_X_y=True)
new = type(X)({"gender": ["female"], "age": [45], "salary": [100_000]})


def distances(columns):
    """The distance of the new customer from each of the five, by some of the columns."""
    model = NearestNeighbors(n_neighbors=5, metric="mixed").fit(X[columns])
    found, rows = model.kneighbors(new[columns])
    return found[0][np.argsort(rows[0])]


total = distances(X.columns)
order = np.argsort(total)
figure, (one, two) = plt.subplots(1, 2, figsize=(8.6, 3.6), layout="constrained")
begin = np.zeros(5)
looks = {"gender": (INK, ""), "age": (ACCENT, ""), "salary": (FAINT, "///")}
for column, (color, hatch) in looks.items():
    part = distances([column])[order]
    one.barh(range(5), part, left=begin, color=color, hatch=hatch, edgecolor="white", height=0.6)
    one.containers[-1].set_label(column)
    begin += part
for place, row in enumerate(order):
    one.text(total[row] + 0.03, place, f"{total[row]:.3f}", va="center")
one.set_yticks(range(5), [f"customer {row + 1}, left: {left[row]}" for row in order])
one.set(ylim=(4.6, -0.6), xlim=(0, 2.0))
one.legend(frameon=False, ncols=3, loc="lower left", bbox_to_anchor=(0, 1), fontsize="small")
finished(one, "distance from the new customer", grid="x")

votes = [KNeighborsClassifier(k, metric="mixed", ties="nearest").fit(X, left) for k in range(1, 6)]
answers = [model.predict_with_confidence(new) for model in votes]
two.bar(range(1, 6), [confidence[0] for _, confidence in answers], color=ACCENT, width=0.6)
for k, (label, confidence) in enumerate(answers, start=1):
    two.text(k, confidence[0] + 0.02, f"{label[0]}\n{confidence[0]:.0%}", ha="center")
two.set_ylim(0, 1.2)
finished(two, "k, the number of neighbours", "confidence of the vote")

print("distances ", total.round(3))
print("of the largest possible", (total / 3).round(3))
print("neighbours", order + 1)
print("votes     ", [f"{label[0]} {confidence[0]:.0%}" for label, confidence in answers])
plt.show()
