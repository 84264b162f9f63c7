"""
Sparse in rows or sparse in columns
===================================

Two meanings of sparse, for the same 100 rows of 40 columns, of which only four matter. The support
vector machine is sparse in rows: hinge loss is 0 beyond the margin, so most rows have no influence
and could be left out, while all columns have a weight. Logistic regression with an L1 penalty is
sparse in columns: most weights are exactly 0, while all rows pull on the others. With the hinge
loss and the L1 penalty together, both happen at once.

The picture shows the part of the table that each model uses: a cell is blue where its row pulls
and its column has a weight. Rows that pull are shown on top.
"""

import matplotlib.pyplot as plt
import numpy as np

from gapless import RiskClassifier
from gapless.penalties import L1, L2
from gapless.plots.style import finished

rng = np.random.default_rng(0)
X = rng.normal(size=(100, 40))
y = np.where(X[:, :4] @ [2.0, -2.0, 1.5, 1.5] + 0.3 * rng.normal(size=100) > 0, 1, -1)

models = {
    "hinge, L2 (SVM)": RiskClassifier("hinge", penalty=L2(1.0)),
    "logistic, L1": RiskClassifier("logistic", penalty=L1(3.0)),
    "hinge, L1": RiskClassifier("hinge", penalty=L1(12.0)),
}
figure, panels = plt.subplots(1, 3, figsize=(8.4, 5.6), sharey=True, layout="constrained")
for (name, model), axes in zip(models.items(), panels, strict=True):
    model.fit(X, y)
    # The pull of each row is its multiplier; 1e-6 is far below the smallest that matters.
    is_row_used, is_column_used = abs(model.dual_) > 1e-6, model.coef_[0] != 0
    used = np.outer(np.sort(is_row_used)[::-1], is_column_used).astype(float)
    axes.imshow(used, cmap="Blues", vmin=0, vmax=1.6, aspect="auto", interpolation="nearest")
    title = f"{name}:\n{is_row_used.sum()} of 100 rows, {is_column_used.sum()} of 40 columns"
    finished(axes, "column", "row" if axes is panels[0] else "", grid="x", title=title)
    print(title.replace("\n", " "))
plt.show()
