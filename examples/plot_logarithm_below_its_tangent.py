"""
Why the Kullback-Leibler divergence is never negative
=====================================================

The logarithm lies below its tangent at 1: ln x ≤ x − 1, with equality at x = 1 alone. With x =
qᵢ/pᵢ this gives:

KL(p‖q) = −Σ pᵢ ln(qᵢ/pᵢ) ≥ −Σ pᵢ(qᵢ/pᵢ − 1) = Σ pᵢ − Σ qᵢ = 0.

Equality needs q = p. Below, p = (0.3, 0.7) and q = (t, 1 − t): the divergence, the difference of
cross-entropy and entropy, touches 0 at t = 0.3. It is not symmetric.
"""

import matplotlib.pyplot as plt
import numpy as np

from gapless import plots
from gapless.metrics import cross_entropy, entropy, kl_divergence

x = np.linspace(0.02, 3, 500)
p = np.array([0.3, 0.7])
t = np.linspace(0.01, 0.99, 99)
divergences = {
    "KL(p‖q)": np.array([float(kl_divergence(p, [a, 1 - a])) for a in t]),
    "KL(q‖p)": np.array([float(kl_divergence([a, 1 - a], p)) for a in t]),
}
q = [0.6, 0.4]
cross, own, apart = (float(of) for of in (cross_entropy(p, q), entropy(p), kl_divergence(p, q)))
print(f"q = {q}: cross-entropy {cross:.4f} − entropy {own:.4f} = KL(p‖q) {apart:.4f}")
print(f"the other way round: KL(q‖p) {float(kl_divergence(q, p)):.4f}")
for name, of in divergences.items():
    print(f"{name} is smallest, {of.min():.4f}, at t = {t[of.argmin()]:.2f}")

figure, (above, below) = plt.subplots(2, 1, figsize=(6.4, 6), layout="constrained")
plots.functions(x, {"x − 1": x - 1, "ln x": np.log(x)}, limits=(-2.5, 2), axes=above)
above.plot(1, 0, "o", color="0.1")
above.annotate("equal at x = 1", (1, 0), xytext=(8, -14), textcoords="offset points")
plots.functions(t, divergences, names=("t", "divergence in nats"), limits=(0, 1.5), axes=below)
below.axvline(p[0], color="0.4", linewidth=0.8, linestyle=":")
below.annotate("q = p", (p[0], 0.9), xytext=(5, 0), textcoords="offset points")
plt.show()
