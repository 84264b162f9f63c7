"""
What a softmax classifier looks for in handwritten digits
=========================================================

The softmax classifier gives each digit k a score zₖ = ⟨wₖ, x⟩ + bₖ and the probability exp(zₖ)/Σⱼ
exp(zⱼ). With a picture of 8 × 8 pixels for x, the weights wₖ are pictures too: ink on blue pixels
speaks for the digit, ink on red ones against it. The zero wants an empty middle, and the one a
stroke there.

Logistic regression has one picture of weights for two classes: what speaks for the one digit and
against the other. Between 3 and 8 it looks at the left side, where only the 8 has ink.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from gapless import LogisticRegression, plots

X, y = load_digits(return_X_y=True)
train, test = slice(0, 1000), slice(1000, None)
model = LogisticRegression(C=0.1).fit(X[train] / 16, y[train])
print(f"accuracy on {len(y[test])} unseen digits: {model.score(X[test] / 16, y[test]):.3f}")
print(model.certificate_)

plots.images(
    model.coef_.reshape(10, 8, 8),
    columns=5,
    names=[f"{digit}" for digit in range(10)],
    title="weights of the softmax classifier: blue for, red against",
)

pairs = [(3, 8), (1, 7), (4, 9), (5, 6), (0, 9)]
weights = []
for one, other in pairs:
    rows = (y[train] == one) | (y[train] == other)
    binary = LogisticRegression(C=0.1).fit(X[train][rows] / 16, y[train][rows])
    new = (y[test] == one) | (y[test] == other)
    score = binary.score(X[test][new] / 16, y[test][new])
    print(f"logistic regression of {one} and {other}: accuracy {score:.3f}")
    weights.append(binary.coef_.reshape(8, 8))
plots.images(
    weights,
    columns=5,
    names=[f"{other}, not {one}" for one, other in pairs],
    title="weights of logistic regression: blue for the first digit, red for the second",
)
plt.show()
