"""
What a softmax classifier looks for in handwritten digits
=========================================================

The softmax classifier gives each digit k a score zₖ = ⟨wₖ, x⟩ + bₖ and the probability exp(zₖ)/Σⱼ
exp(zⱼ). With a picture of 8 × 8 pixels for x, the weights wₖ are pictures too: ink on blue pixels
speaks for the digit, ink on red ones against it. The zero wants an empty middle, and the one a
stroke there.
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
plt.show()
