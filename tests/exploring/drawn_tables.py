"""Small tables with known groups, or none."""

import datetime

import numpy as np
import polars as pl


def three_groups(seed=0, n=240):
    """Rows of three kinds, in numbers, categories and dates; some values are missing."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, n)
    start = datetime.date(2020, 1, 1)
    days = 400 * kind + rng.integers(0, 60, n)
    size = np.array([0.0, 6.0, 12.0])[kind] + rng.normal(size=n)
    return kind, pl.DataFrame(
        {
            "size": [None if lost else x for x, lost in zip(size, rng.random(n) < 0.05)],
            "weight": np.array([5.0, 0.0, 5.0])[kind] + rng.normal(size=n),
            "noise": rng.normal(size=n),
            "colour": np.array(["red", "green", "blue"])[kind],
            "mood": rng.choice(["good", "bad"], n),
            "seen": [start + datetime.timedelta(int(day)) for day in days],
        }
    )


def one_cloud(seed=0, n=240):
    """Correlated numbers of one skewed cloud, and a category that depends on nothing."""
    rng = np.random.default_rng(seed)
    common = rng.gamma(2.0, size=n)
    return pl.DataFrame(
        {
            "a": common + 0.3 * rng.normal(size=n),
            "b": 2 * common + 0.5 * rng.normal(size=n),
            "c": rng.normal(size=n),
            "side": rng.choice(["left", "right"], n),
            "stars": rng.integers(1, 6, n),
        }
    )
