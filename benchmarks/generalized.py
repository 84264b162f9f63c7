"""Compares quantile, Huber, Poisson and gamma regression with scikit-learn.

    python -m benchmarks.generalized                  all problems
    python -m benchmarks.generalized --only quantile --quick

CPU seconds on one thread. Each library climbs a ladder of tolerances until its objective, which the
judge recomputes in float64 by formulas of his own, is at most 1e-6 above the best one known; the
time is that of the first rung that reaches it, the minimum over repeats. scikit-learn's GLMs run
with both of their solvers, and the faster one counts.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from .problems import covtype, data_folder

RESULTS = Path(__file__).parent / "results" / "generalized.csv"
ENOUGH = 1e-6
LADDER = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
EPSILON = 1.35
HEADER = (
    "problem",
    "rows",
    "columns",
    "gapless",
    "excess",
    "peer",
    "seconds",
    "behind",
    "ratio",
    "note",
)
QUICK = "one repeat on a tenth of the rows, beside other work on the machine"


def california(rows: int = 16_500) -> tuple:
    """16,500 × 8: standardised features of districts, and the median price of their houses."""
    with gzip.open(data_folder() / "california_housing.csv.gz", "rt") as lines:
        table = np.genfromtxt(lines, delimiter=",", skip_header=1, usecols=range(9))
    table = table[~np.isnan(table).any(axis=1)][:rows]
    return StandardScaler().fit_transform(table[:, :8]), table[:, 8] / 1e5


def drawn(make: Callable) -> Callable[[], tuple]:
    """Rows of covtype, 300,000 × 54, with targets drawn around a linear function of them."""

    def data() -> tuple:
        rng = np.random.default_rng(0)
        X = covtype()[0]
        return X, make(rng, X @ (0.1 * rng.normal(size=X.shape[1])))

    return data


@dataclass(frozen=True)
class Comparison:
    """A line: data, the objective of fitted coefficients, and the models at a tolerance."""

    name: str
    data: Callable[[], tuple]
    objective: Callable[[Any, Any, Any], float]
    ours: Callable[[float], Any]
    theirs: dict[str, Callable[[float], Any]]
    wanted: float


def quantile(level: float, alpha: float) -> Callable:
    def objective(model, X, y):
        r = y - X @ model.coef_ - model.intercept_
        return np.mean(np.maximum(level * r, (level - 1) * r)) + alpha * np.abs(model.coef_).sum()

    return objective


def huber(model, X, y) -> float:
    """σ is a part of the fit; ours and theirs are compared at their own."""
    t = np.abs(y - X @ model.coef_ - model.intercept_) / model.scale_
    H = np.where(t <= EPSILON, t**2, 2 * EPSILON * t - EPSILON**2)
    return float(np.sum(model.scale_ * (1 + H)) + 1e-4 * np.sum(model.coef_**2))


def poisson(model, X, y) -> float:
    z = X @ model.coef_ + model.intercept_
    of_counts = np.where(y > 0, y * np.log(np.where(y > 0, y, 1.0)), 0.0) - y
    return float(np.mean(np.exp(z) - y * z + of_counts) + 0.5e-4 * np.sum(model.coef_**2))


def gamma(model, X, y) -> float:
    z = X @ model.coef_ + model.intercept_
    return float(np.mean(z - np.log(y) + y * np.exp(-z) - 1) + 0.5e-4 * np.sum(model.coef_**2))


def comparisons() -> list[Comparison]:
    from sklearn import linear_model as peers

    import gapless

    def quantiles(name, level, alpha, wanted):
        def ours(tol):
            return gapless.QuantileRegressor(quantile=level, alpha=alpha, tol=tol)

        def theirs(tol):
            return peers.QuantileRegressor(quantile=level, alpha=alpha)

        return Comparison(name, california, quantile(level, alpha), ours, {"highs": theirs}, wanted)

    def generalized(name, objective, make):
        def solved(solver):
            cls = getattr(peers, name)
            return lambda tol: cls(alpha=1e-4, tol=tol, solver=solver, max_iter=10_000)

        return Comparison(
            f"{name}, covtype",
            drawn(make),
            objective,
            lambda tol: getattr(gapless, name)(alpha=1e-4, tol=tol),
            {solver: solved(solver) for solver in ("lbfgs", "newton-cholesky")},
            3.0,
        )

    return [
        quantiles("quantile 0.5", 0.5, 0.0, 100.0),
        quantiles("quantile 0.9", 0.9, 0.0, 100.0),
        quantiles("quantile 0.5, L1", 0.5, 0.01, 30.0),
        Comparison(
            "HuberRegressor, covtype",
            drawn(lambda rng, z: z + rng.standard_t(2, size=len(z))),
            huber,
            lambda tol: gapless.HuberRegressor(tol=tol),
            {"lbfgs": lambda tol: peers.HuberRegressor(tol=tol, max_iter=10_000)},
            3.0,
        ),
        generalized("PoissonRegressor", poisson, lambda rng, z: rng.poisson(np.exp(z)) * 1.0),
        generalized("GammaRegressor", gamma, lambda rng, z: rng.gamma(2, np.exp(z) / 2) + 1e-9),
    ]


def seconds_of(make: Callable, X, y, repeats: int) -> tuple[float, Any]:
    """CPU seconds of a fit, the least of some, and the model."""
    least = np.inf
    for _ in range(repeats):
        model = make()
        began = time.process_time()
        model.fit(X, y)
        least = min(least, time.process_time() - began)
    return least, model


def climb(make: Callable, objective: Callable, X, y, best: float, repeats: int) -> tuple:
    """The seconds and the excess of the first tolerance that is enough, or of the last."""
    for tol in LADDER:
        model = make(tol).fit(X, y)
        excess = objective(model, X, y) / best - 1
        if excess <= ENOUGH:
            break
    return seconds_of(lambda: make(tol), X, y, repeats)[0], excess, tol


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="problems with this in their name")
    parser.add_argument("--quick", action="store_true", help="one repeat, a tenth of the rows")
    options = parser.parse_args()
    rows = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for line in comparisons():
            if options.only not in line.name:
                continue
            X, y = line.data()
            if options.quick:
                X, y = np.ascontiguousarray(X[::10]), y[::10]
            best = line.objective(line.ours(1e-12).fit(X, y), X, y)
            repeats = 1 if options.quick else 3
            own, excess, _ = climb(line.ours, line.objective, X, y, best, repeats)
            found = {
                name: climb(make, line.objective, X, y, best, 1)
                for name, make in line.theirs.items()
            }
            name, (peer, behind, _) = min(found.items(), key=lambda item: item[1][0])
            ratio = peer / own
            print(
                f"{line.name:26} gapless {own:7.3f} s (excess {excess:.0e})   scikit-learn {name} "
                f"{peer:7.3f} s (excess {behind:.0e})   {ratio:6.1f} x   wanted {line.wanted:g} x"
            )
            note = QUICK if options.quick else ""
            rows.append((line.name, *X.shape, own, excess, name, peer, behind, ratio, note))
    store(rows)


def store(rows: list[tuple]) -> None:
    """Write the results; those of other problems stay."""
    others = []
    if RESULTS.exists():
        with RESULTS.open(newline="") as file:
            others = list(csv.reader(file))[1:]
    new = {row[0] for row in rows}
    with RESULTS.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        writer.writerows([row for row in others if row[0] not in new])
        writer.writerows(rows)


if __name__ == "__main__":
    main()
