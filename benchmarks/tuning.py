"""Compares the choice of a ridge penalty by leave-one-out with what scikit-learn offers.

    python -m benchmarks.tuning
    python -m benchmarks.tuning --only spam --repeats 10

Ridge regression: 100 strengths, both by exact leave-one-out; the judge prints the strength that was
chosen and its held-out error. Logistic regression: 30 values of C, gapless by leave-one-out,
scikit-learn by five folds and log loss. Each repetition trains on another random half of the rows,
and the judge prints the mean log loss on the other halves. scikit-learn's RidgeCV is slow enough to
be measured once, and on 100,000 rows takes the better part of a minute.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler

from .paths import show, write
from .problems import data_folder

RESULTS = Path(__file__).parent / "results" / "tuning.csv"
ALPHAS, CS = np.geomspace(1e-2, 1e6, 100), 30


@dataclass(frozen=True)
class TuningProblem:
    """Data, and which of the two comparisons they are for."""

    name: str
    data: Callable[[], tuple]
    compare: Callable[[str, tuple, int], tuple[list[float], str]]


def noisy(n: int, d: int) -> tuple:
    """Normal columns, all of which matter a little."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    return X, 0.1 * X @ rng.standard_normal(d) + 3 * rng.standard_normal(n)


def spam() -> tuple:
    """4,601 e-mails × 57 frequencies of words."""
    lines = np.genfromtxt(data_folder() / "spam.csv.gz", delimiter=",", dtype=str, skip_header=1)
    return lines[:, :-1].astype(float), np.char.strip(lines[:, -1], '"')


def tune_ridge(library: str, data: tuple, repeats: int) -> tuple[list[float], str]:
    """Seconds, and what was chosen."""
    X, y = data
    times = []
    for _ in range(repeats if library == "gapless" else 1):
        model = ridge_model(library)
        began = time.perf_counter()
        model.fit(X, y)
        times.append(time.perf_counter() - began)
    return times, f"alpha {model.alpha_:.4g}, error {-model.best_score_:.6g}"


def ridge_model(library: str):
    """RidgeCV of a library."""
    if library == "gapless":
        from gapless import RidgeCV
    else:
        from sklearn.linear_model import RidgeCV
    return RidgeCV(alphas=ALPHAS)


def tune_logistic(library: str, data: tuple, repeats: int) -> tuple[list[float], str]:
    """Seconds on random halves, and the mean log loss on the others."""
    X, y = data
    times, losses = [], []
    for seed in range(repeats):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[: len(y) // 2], order[len(y) // 2 :]
        scaler = StandardScaler().fit(X[train])
        seen, unseen = scaler.transform(X[train]), scaler.transform(X[test])
        model = logistic_model(library)
        began = time.perf_counter()
        model.fit(seen, y[train])
        times.append(time.perf_counter() - began)
        losses.append(log_loss(y[test], model.predict_proba(unseen)))
    return times, f"log loss {np.mean(losses):.4f}"


def logistic_model(library: str):
    """LogisticRegressionCV of a library, which chooses by log loss."""
    if library == "gapless":
        from gapless import LogisticRegressionCV

        return LogisticRegressionCV(Cs=CS, l1_ratios=(0,), cv="loo", use_legacy_attributes=False)
    from sklearn.linear_model import LogisticRegressionCV

    options = {"l1_ratios": (0,), "use_legacy_attributes": False}
    return LogisticRegressionCV(Cs=CS, cv=5, scoring="neg_log_loss", **options)


PROBLEMS = [
    TuningProblem("ridge by leave-one-out, 10,000 x 300", lambda: noisy(10_000, 300), tune_ridge),
    TuningProblem("ridge by leave-one-out, 100,000 x 300", lambda: noisy(100_000, 300), tune_ridge),
    TuningProblem(
        "logistic, 30 C, half of breast cancer",
        lambda: load_breast_cancer(return_X_y=True),
        tune_logistic,
    ),
    TuningProblem("logistic, 30 C, half of spam", spam, tune_logistic),
]
QUICK = PROBLEMS[::2]


def compare(problem: TuningProblem, repeats: int) -> list[dict]:
    """Both libraries on one problem; one row for each."""
    data, rows = problem.data(), []
    step = max(len(data[1]) // 150, 1)
    for name in ("gapless", "sklearn"):
        problem.compare(name, tuple(part[::step] for part in data), 1)  # imports
        times, judged = problem.compare(name, data, repeats)
        rows.append(
            {
                "problem": problem.name,
                "library": name,
                "seconds_median": f"{statistics.median(times):.4f}",
                "seconds_all": " ".join(f"{t:.4f}" for t in times),
                "judged": judged,
            }
        )
    return rows


def main() -> None:
    """Run the requested comparison."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default="", help="problems whose name contains this")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--quick", action="store_true", help="the small problems, one repeat, nothing written"
    )
    options = parser.parse_args()
    chosen = [p for p in PROBLEMS if options.only.lower() in p.name.lower()]
    if not chosen:
        known = "; ".join(p.name for p in PROBLEMS)
        raise SystemExit(f"--only {options.only!r} matches no problem; there are {known}.")
    for problem in [p for p in chosen if p in QUICK] if options.quick else chosen:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = compare(problem, 1 if options.quick else options.repeats)
        show(rows)
        if not options.quick:
            write(rows, RESULTS, [problem.name for problem in PROBLEMS])


if __name__ == "__main__":
    main()
