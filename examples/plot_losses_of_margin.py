"""
Losses of a classifier against the margin
=========================================

A score z for a row of class y = ±1 is right where the margin m = yz is positive. What one wants to
minimise is the 0-1 loss, the number of mistakes; it is flat, so there is no slope to follow, and a
convex loss takes its place:

hinge max(0, 1 − m), logistic log(1 + e⁻ᵐ), exponential e⁻ᵐ, squared (1 − m)².

Those that lie above the 0-1 loss everywhere bound the number of mistakes. The logistic loss passes
through log 2 ≈ 0.69 at m = 0, so it is such a bound only when divided by log 2. Far on the left,
the exponential and the squared loss explode: a single wrong row can outweigh all others. The
squared loss also rises on the right, where rows are right beyond doubt.
"""

import matplotlib.pyplot as plt
import numpy as np

from gapless import plots
from gapless.losses import Exponential, Hinge, Logistic, Squared, ZeroOne

margins = np.linspace(-3, 3, 601)
y = np.ones_like(margins)  # with y = 1 the score is the margin
losses = {
    "0-1": ZeroOne(),
    "hinge": Hinge(),
    "logistic / log 2": Logistic(base2=True),
    "logistic": Logistic(),
    "exponential": Exponential(),
    "squared": Squared(),
}
values = {name: loss.value(y, margins) for name, loss in losses.items()}
values["squared"] *= 2  # ours is ½(1 − m)², so that its slope is m − 1

# %%
# Which of them bound the 0-1 loss, and what they charge a row that is far on the wrong side:
for name, of in values.items():
    is_bound = np.all(of >= values["0-1"])
    print(f"{name:>16}: {of[0]:6.2f} at m = −3, a bound of 0-1: {'yes' if is_bound else 'no'}")

axes = plots.losses(margins, values, against="margin yz", highest=4.2)
axes.set_title("right of the dashed line the sign is right", fontsize="small", loc="left")
plt.show()
