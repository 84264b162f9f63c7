"""
Primal and dual meet: how a solver proves that it is done
=========================================================

Every point of the dual problem is a lower bound on the objective of a support vector machine. The
solver raises this bound step by step, while the objective falls, and where the two meet no better
machine exists. At any step the gap P − D bounds how far the machine is from the best possible
one, which nobody needs to know for that.

gapless stops when the gap is below its tolerance, and stores it as `certificate_`. Here the
solver is stopped after more and more steps; `certify` computes the gap anew, from the data and
the multipliers alone.
"""

import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

import gapless
from gapless import SVC, plots

X, y = make_moons(300, noise=0.3, random_state=0)
steps, found = [2**k for k in range(12)], []
for count in steps:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # stopped on purpose
        model = SVC(C=10.0, gamma=1.0, max_iter=count, tol=1e-9).fit(X, y)
    found.append(gapless.certify(model, X, y))
for count, certificate in list(zip(steps, found, strict=True))[::3]:
    values = f"P = {certificate.primal:9.3f}  D = {certificate.dual:9.3f}"
    print(f"steps {count:4d}  {values}  gap {certificate.gap:.2g}")
print(found[-1])

primal, dual = [one.primal for one in found], [one.dual for one in found]
left, right = plots.primal_dual(steps, primal, dual)
left.set_title("bounds", loc="left", fontsize="medium")
right.set_title("gap: proof of optimality", loc="left", fontsize="medium")
plt.show()
