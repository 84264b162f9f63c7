"""
How ID3 grows: the gain of every attribute at each node
=======================================================

Fourteen days, and whether a game was played (Quinlan 1986). At each node ID3 asks every attribute
how much it would tell about the class:

Gain(D, a) = Ent(D) − Σᵥ nᵥ/n · Ent(Dᵥ),   Ent = −Σₖ pₖ log₂ pₖ.

Dᵥ are the nᵥ of the n days with the value v. ID3 splits by the attribute with the largest gain:
outlook at the root. Overcast days are then all "yes"; on sunny days humidity decides, on rainy ones
the wind. The tree is read from left to right.
"""

import matplotlib.pyplot as plt

from gapless import ID3Classifier, plots
from gapless.data import load_builtin

X, y = load_builtin("tennis", return_X_y=True)
model = ID3Classifier().fit(X, y)

figure = plt.figure(figsize=(8.6, 5.8), layout="constrained")
above, below = figure.subfigures(2, 1, height_ratios=[3.4, 2])
plots.tree(model, axes=above.subplots())
outline = model.outline()
inner = [node for node, children in enumerate(outline.children) if children]
for node, axes in zip(inner, below.subplots(1, len(inner))):
    gains = model.gains(node)
    free = [one for one in gains.attributes if not one.is_used]
    plots.importances([a.name for a in free], [a.gain for a in free], axes=axes, label="gain, bits")
    for place, attribute in enumerate(free):
        axes.text(attribute.gain, place, f" {attribute.gain:.3f}", va="center", fontsize="small")
    where = outline.condition[node] or "all days"
    axes.set_title(f"{where}: {gains.entropy:.3f} bits", fontsize="small", loc="left")
    axes.set_xlim(0, 1.35 * free[0].gain)

print(model.gains(0))
print(model.to_text())
plt.show()
