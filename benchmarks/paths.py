"""Compares regularisation paths and the choice of a strength by folds.

    python -m benchmarks.paths                        all problems, gapless, celer, scikit-learn
    python -m benchmarks.paths --only golub --libraries gapless celer skglm sklearn
    python -m benchmarks.paths --only mcp --libraries gapless skglm

100 strengths from λ_max to λ_max/1000, squared loss with L1 or elastic net, or the minimax concave
penalty, down to λ_max/20: there the libraries end in different local minima, and the judge sums the
objectives of all strengths. CPU seconds count for MCP. The peers run at their
default tolerance 1e-4, gapless at 1e-5; the judge recomputes every objective of a path in float64
and prints how much a library is above the best one at its worst strength, relative to the objective
at w = 0. By folds he prints which strength has the smallest error, and that error. A choice by
folds counts six paths for each library: that of all rows, from which the chosen model comes, too.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.model_selection import KFold

from .problems import california, data_folder

RESULTS = Path(__file__).parent / "results" / "paths.csv"
STRENGTHS, SMALLEST, FOLDS = 100, 1e-3, 5
SMALLEST_CONCAVE = 0.05
MOST_COLUMNS = 50_000


@dataclass(frozen=True)
class PathProblem:
    """A path on centred data (`by_folds` False), or a choice by five folds with a bias."""

    name: str
    data: Callable[[], tuple]
    l1_ratio: float = 1.0
    by_folds: bool = False
    gamma: float | None = None


def correlated(n: int, d: int) -> tuple:
    """Columns of correlation ½ with the next one, 100 of which matter; signal-to-noise ratio 3."""
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.standard_normal((d, n)).T)
    for j in range(1, d):
        X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
    w = np.zeros(d)
    w[rng.choice(d, 100, replace=False)] = rng.standard_normal(100)
    z = X @ w
    return X, z + rng.standard_normal(n) * np.std(z) / 3


def golub() -> tuple:
    """72 × 7,129 standardised gene expressions; two kinds of leukaemia as ±1."""
    stored = np.load(data_folder() / "microarray_golub.npz")
    X = np.asfortranarray(stored["X"], dtype=float)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return np.asfortranarray(X), np.where(stored["y"] == stored["y"][0], 1.0, -1.0)


def tall() -> tuple:
    """16,500 × 164: the cubic features of california housing."""
    X, y = california()
    return np.asfortranarray(X[:16_500]), y[:16_500]


PROBLEMS = [
    PathProblem("MCP path, 1,000 x 10,000", lambda: correlated(1000, 10_000), gamma=3.0),
    PathProblem("lasso path, 1,000 x 50,000", lambda: correlated(1000, 50_000)),
    PathProblem("lasso path, golub", golub),
    PathProblem("lasso by folds, 1,000 x 10,000", lambda: correlated(1000, 10_000), by_folds=True),
    PathProblem(
        "elastic net by folds, 1,000 x 10,000",
        lambda: correlated(1000, 10_000),
        l1_ratio=0.5,
        by_folds=True,
    ),
    PathProblem("lasso by folds, california 16,500 x 164", tall, by_folds=True),
]


def gapless_path(X, y, alphas, ratio):
    from gapless import enet_path

    return enet_path(X, y, l1_ratio=ratio, alphas=alphas, tol=1e-5)[1]


def gapless_folds(X, y, alphas, ratio, folds):
    from gapless import ElasticNetCV

    model = ElasticNetCV(l1_ratio=ratio, alphas=alphas, cv=folds, tol=1e-5).fit(X, y)
    return np.mean(model.mse_path_, axis=-1).ravel()


def sklearn_path(X, y, alphas, ratio):
    from sklearn.linear_model import enet_path

    return enet_path(X, y, l1_ratio=ratio, alphas=alphas)[1]


def sklearn_folds(X, y, alphas, ratio, folds):
    from sklearn.linear_model import ElasticNetCV

    model = ElasticNetCV(l1_ratio=ratio, alphas=alphas, cv=folds).fit(X, y)
    return np.mean(model.mse_path_, axis=-1).ravel()


def celer_path(X, y, alphas, ratio):
    from celer import celer_path as path

    return path(X, y, "lasso", alphas=alphas, l1_ratio=ratio, tol=1e-4)[1]


def celer_folds(X, y, alphas, ratio, folds):
    """By its path function: its classes for folds do not work with scikit-learn 1.9."""
    celer_path(np.asfortranarray(X - X.mean(axis=0)), y - y.mean(), alphas, ratio)
    errors = []
    for train, test in folds:
        mean, y_mean = X[train].mean(axis=0), y[train].mean()
        W = celer_path(np.asfortranarray(X[train] - mean), y[train] - y_mean, alphas, ratio)
        z = (X[test] - mean) @ W + y_mean
        errors.append(np.mean((z - y[test, None]) ** 2, axis=0))
    return np.mean(errors, axis=0)


def skglm_path(X, y, alphas, ratio):
    from skglm import ElasticNet

    return ElasticNet(l1_ratio=ratio, fit_intercept=False).path(X, y, alphas)[1]


def gapless_mcp(X, y, alphas, gamma):
    from gapless import mcp_path

    return mcp_path(X, y, gamma=gamma, alphas=alphas, tol=1e-5)[1]


def skglm_mcp(X, y, alphas, gamma):
    from skglm import MCPRegression

    return MCPRegression(gamma=gamma, fit_intercept=False, tol=1e-4).path(X, y, alphas)[1]


CONCAVE = {"gapless": gapless_mcp, "skglm": skglm_mcp}
PATHS = {
    "gapless": gapless_path,
    "celer": celer_path,
    "sklearn": sklearn_path,
    "skglm": skglm_path,
}
BY_FOLDS = {"gapless": gapless_folds, "celer": celer_folds, "sklearn": sklearn_folds}


def compare(problem: PathProblem, libraries: list[str], repeats: int, columns: int) -> list[dict]:
    """Every library on one problem, or its first columns, taking turns; one row for each."""
    X, y = problem.data()
    X = X[:, :columns]
    Xc, yc = np.asfortranarray(X - X.mean(axis=0)), y - y.mean()
    largest = np.max(np.abs(Xc.T @ yc)) / len(y) / problem.l1_ratio
    smallest = SMALLEST if problem.gamma is None else SMALLEST_CONCAVE
    alphas = np.geomspace(largest, smallest * largest, STRENGTHS)
    folds = list(KFold(FOLDS).split(X))
    known = BY_FOLDS if problem.by_folds else PATHS if problem.gamma is None else CONCAVE
    shape = problem.l1_ratio if problem.gamma is None else problem.gamma
    clock = time.perf_counter if problem.gamma is None else time.process_time
    seconds: dict[str, list[float]] = {name: [] for name in libraries if name in known}
    answers = {}
    for name in seconds:  # the first, tiny call imports and compiles
        few = (X[:50, :20], y[:50]) if problem.by_folds else (Xc[:50, :20].copy("F"), yc[:50])
        some = [list(KFold(FOLDS).split(few[0]))] if problem.by_folds else []
        known[name](*few, alphas[:3], shape, *some)
    for _ in range(repeats):
        for name in seconds:
            data = (X, y, alphas, shape, folds) if problem.by_folds else ()
            began = clock()
            answers[name] = known[name](*(data or (Xc, yc, alphas, shape)))
            seconds[name].append(clock() - began)
    judged = _judge_folds(answers) if problem.by_folds else _judge(problem, Xc, yc, alphas, answers)
    return [
        {
            "problem": problem.name,
            "library": name,
            "seconds_median": f"{statistics.median(times):.4f}",
            "seconds_all": " ".join(f"{t:.4f}" for t in times),
            "judged": judged[name],
        }
        for name, times in seconds.items()
    ]


def _judge(problem, X, y, alphas, answers) -> dict[str, str]:
    """The largest excess over the best library at any strength, relative to P at w = 0."""
    values = {}
    if problem.gamma is not None:
        return _judge_concave(problem.gamma, X, y, alphas, answers)
    for name, W in answers.items():
        R = y[:, None] - X @ W
        penalty = problem.l1_ratio * np.abs(W).sum(0) + 0.5 * (1 - problem.l1_ratio) * (W**2).sum(0)
        values[name] = 0.5 * np.sum(R**2, axis=0) + len(y) * alphas * penalty
    best = np.min(list(values.values()), axis=0)
    scale = 0.5 * np.sum(y**2)
    return {name: f"excess {np.max((v - best) / scale):.1e}" for name, v in values.items()}


def _judge_concave(gamma, X, y, alphas, answers) -> dict[str, str]:
    """The mean objective of a path, relative to P at w = 0, and the largest excess."""
    values = {}
    for name, W in answers.items():
        R, t = y[:, None] - X @ W, np.minimum(np.abs(W), gamma * alphas)
        values[name] = 0.5 * np.sum(R**2, axis=0) + len(y) * np.sum(
            alphas * t - t**2 / (2 * gamma), axis=0
        )
    best, scale = np.min(list(values.values()), axis=0), 0.5 * np.sum(y**2)
    return {
        name: f"mean {np.mean(v) / scale:.6f}, excess {np.max((v - best) / scale):.1e}"
        for name, v in values.items()
    }


def _judge_folds(answers) -> dict[str, str]:
    return {
        name: f"strength {np.argmin(errors)}, error {np.min(errors):.5g}"
        for name, errors in answers.items()
    }


def show(rows: list[dict]) -> None:
    """Print the rows of one problem, the fastest first."""
    print(f"\n{rows[0]['problem']}")
    ours = next((float(r["seconds_median"]) for r in rows if r["library"] == "gapless"), None)
    for row in sorted(rows, key=lambda row: float(row["seconds_median"])):
        ratio = f"{float(row['seconds_median']) / ours:6.2f} x" if ours else ""
        print(f"  {row['library']:10} {row['seconds_median']:>9} s {ratio}  {row['judged']}")


def main() -> None:
    """Run the requested comparison."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default="", help="problems whose name contains this")
    parser.add_argument(
        "--libraries", nargs="+", default=["gapless", "celer", "sklearn"], choices=list(PATHS)
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--quick",
        action="store_true",
        help="1,000 columns of each problem, one repeat, nothing written",
    )
    options = parser.parse_args()
    chosen = [p for p in PROBLEMS if options.only.lower() in p.name.lower()]
    if not chosen:
        known = "; ".join(p.name for p in PROBLEMS)
        raise SystemExit(f"--only {options.only!r} matches no problem; there are {known}.")
    repeats, columns = (1, 1000) if options.quick else (options.repeats, MOST_COLUMNS)
    for problem in chosen:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = compare(problem, options.libraries, repeats, columns)
        show(rows)
        if not options.quick:
            write(rows, RESULTS, [problem.name for problem in PROBLEMS])


def write(rows: list[dict], results: Path, order: list[str]) -> None:
    """Write the rows in place of those of the same problem and library; the others stay."""
    done, kept = {(row["problem"], row["library"]) for row in rows}, []
    if results.exists():
        with results.open(newline="") as file:
            kept = [r for r in csv.DictReader(file) if (r["problem"], r["library"]) not in done]
    with results.open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(sorted(kept + rows, key=lambda row: order.index(row["problem"])))


if __name__ == "__main__":
    main()
