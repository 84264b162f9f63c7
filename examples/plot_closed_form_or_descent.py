"""
When descent beats the closed form
==================================

Ridge regression has a closed form, w = (XᵀX + λI)⁻¹Xᵀy, which costs about n·d² to form and d³ to
solve, while T steps of descent cost T·n·d. With few features nothing beats the closed form; the
more there are, the more steps of descent the time of one closed form pays for. Measured here on
2,000 random rows, on one thread, up to the same duality gap: the crossing of the lines depends on
the machine and on the conditioning, that there is one does not. `solver="auto"` chooses
accordingly.
"""

import matplotlib.pyplot as plt

from gapless import crossover

found = crossover(2000, (10, 30, 100, 300, 1000, 2000), repeats=2)
print(found)
for name, seconds in found.seconds.items():
    times = ", ".join(f"{1e3 * s:.3g}" for s in seconds)
    print(f"{name:>16}: {times} ms for {', '.join(map(str, found.features))} features")

found.plot()
plt.show()
