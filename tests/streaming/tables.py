"""Small tables for fits in parts."""

import numpy as np
import polars as pl

N, D, ROWS = 1500, 5, 128
NAMES = [f"x{j}" for j in range(D)]


def make_table(seed=0):
    """Columns of different size and place; numbers, counts, two and three classes, weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D)) * [1.0, 10.0, 0.1, 1.0, 3.0] + [0.0, 100.0, 0.0, 5.0, -1.0]
    z = (X - X.mean(axis=0)) / X.std(axis=0) @ [1.0, -0.5, 0.3, 0.0, 0.7]
    return pl.DataFrame(
        dict(zip(NAMES, X.T))
        | {
            "number": z + rng.normal(size=N),
            "amount": np.exp(0.3 * z + 0.3 * rng.normal(size=N)),
            "count": rng.poisson(np.exp(0.3 * z)),
            "answer": np.where(z + rng.logistic(size=N) > 0, "yes", "no"),
            "class": np.digitize(z + rng.logistic(size=N), [-1, 1]),
            "weight": rng.integers(0, 3, size=N).astype(float),
        }
    )


def features_of(table):
    return table.select(NAMES).to_numpy()
