"""
Backpropagation by numbers, and the check of its gradients
==========================================================

A network of two inputs, two sigmoid units and one output, for a single row. Forward, each unit adds
up its inputs times their weights (black) and its bias. Backward, the chain rule gives the
derivative of the loss ½(ŷ − y)² in every weight (blue): that of a weight is the value at its start
times the derivative at its end. The update then subtracts a multiple of it.

On the right, one derivative compared with (L(w + h) − L(w − h))/2h for smaller and smaller h: the
difference falls with h² until rounding takes over. ``gradient_check`` compares all of them at the
best h, about ∛ε.
"""

import matplotlib.pyplot as plt
import numpy as np

from gapless import plots
from gapless.evaluation import gradient_check
from gapless.networks import Network, layers

x, y = np.array([[1.0, 0.5]]), np.array([0.2])
network = Network([layers.Dense(2), layers.Sigmoid(), layers.Dense(1)], loss="squared").build(2)
given = [[[0.3, -0.8], [0.6, 0.4]], [0.1, -0.2], [[0.9], [-1.2]], [0.5]]
for array, numbers in zip(network.parameters, given):
    array[...] = numbers
loss, gradient = network.objective(x, y)
W1, b1, W2, b2 = network.parameters
dW1, db1, dW2, db2 = gradient
_, hidden, output = network.activations(x)

figure = plt.figure(figsize=(9, 4.2), layout="constrained")
left, right = figure.subfigures(1, 2, width_ratios=[5, 3])
axes = plots.computation(
    [W1, W2],
    [x[0], hidden[0], output[0]],
    gradients=[dW1, dW2],
    biases=[b1, b2],
    bias_gradients=[db1, db2],
    names=[["x₁", "x₂"], ["h₁", "h₂"], [f"ŷ, where y = {y[0]}"]],
    axes=left.subplots(),
)
axes.set_title("weights, and in blue their derivatives", fontsize="small", loc="left")


def difference(h):
    """The central difference of the loss in the first weight."""
    values = []
    for step in (h, -h):
        W1[0, 0] += step
        values.append(network.objective(x, y)[0])
        W1[0, 0] -= step
    return (values[0] - values[1]) / (2 * h)


steps = np.geomspace(1e-12, 1, 37)
errors = [max(abs(difference(h) - dW1[0, 0]), 1e-16) for h in steps]
axes = right.subplots()
axes.plot(steps, errors, color=plots.style.ACCENT, marker="o", markersize=3)
axes.axvline(np.cbrt(np.finfo(float).eps), **plots.style.GUIDE)
plots.style.with_logarithms(axes, "x", steps)
plots.style.with_logarithms(axes, "y", errors)
plots.style.finished(axes, "h", "|difference − derivative|")

W1 -= 0.5 * dW1
print(f"loss {loss:.6f}; after a step of 0.5 in the first weights {network.objective(x, y)[0]:.6f}")
print(gradient_check(network, x, y))
plt.show()
