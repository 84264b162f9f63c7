"""Compares fits to a Parquet file that is read in parts with what others do with such a file.

    python -m benchmarks.parts
    python -m benchmarks.parts --quick

Logistic regression and ridge regression on drawn rows of 30 columns. scikit-learn learns the same
parts by `partial_fit`, with settings that suit the data; the judge computes the objective of every
model over all rows. Seconds are those of the processor, on one thread, reading included.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import sklearn.linear_model
from threadpoolctl import threadpool_limits

import gapless
from gapless._ground.threads import threads

from .kernels import RESULTS as KERNEL_RESULTS
from .paths import show, write

RESULTS = KERNEL_RESULTS.with_name("parts.csv")
ROWS, QUICK_ROWS, COLUMNS, AT_ONCE = 4_000_000, 200_000, 30, 500_000
NAMES = [f"x{j}" for j in range(COLUMNS)]
EPOCHS = 3


def draw(path: Path, rows: int) -> None:
    """Write classes and numbers that depend on the columns, piece by piece."""
    rng = np.random.default_rng(0)
    w = rng.normal(size=COLUMNS)
    pieces = path.with_suffix("")
    pieces.mkdir()
    for k, first in enumerate(range(0, rows, AT_ONCE)):
        X = rng.normal(size=(min(AT_ONCE, rows - first), COLUMNS))
        z = X @ w
        frame = pl.DataFrame(dict(zip(NAMES, X.T))).with_columns(
            answer=z + rng.logistic(size=len(z)) > 0, number=z + rng.normal(size=len(z))
        )
        frame.write_parquet(pieces / f"{k:04}.parquet")


def logistic(parts: gapless.Parts, w: Any, b: Any) -> float:
    """Σ log(1 + exp(−tz)) + ½‖w‖² over all rows."""
    total = 0.5 * float(w @ w)
    for part in parts:
        z = part[:, :COLUMNS] @ w + b
        total += float(np.logaddexp(0, -(2 * part[:, COLUMNS] - 1) * z).sum())
    return total


def squares(parts: gapless.Parts, w: Any, b: Any) -> float:
    """½Σ(y − z)² + ½‖w‖² over all rows."""
    total = 0.5 * float(w @ w)
    for part in parts:
        total += 0.5 * float(np.sum((part[:, COLUMNS] - part[:, :COLUMNS] @ w - b) ** 2))
    return total


def by_epochs(model: Any, parts: gapless.Parts, epochs: int) -> Any:
    """scikit-learn's way: the parts one by one, several times."""
    options = {"classes": [0, 1]} if hasattr(model, "decision_function") else {}
    for _ in range(epochs):
        for part in parts:
            model.partial_fit(part[:, :COLUMNS], part[:, COLUMNS], **options)
    return model


def fits(parts: gapless.Parts, target: str) -> dict[str, Callable[[], Any]]:
    """The libraries and what each does."""
    if target == "answer":
        peer, losses, ours = (
            sklearn.linear_model.SGDClassifier,
            "log_loss",
            gapless.LogisticRegression(),
        )
    else:
        peer, losses, ours = sklearn.linear_model.SGDRegressor, "squared_error", gapless.Ridge()
    tuned = {
        "loss": losses,
        "alpha": 1 / parts.n,
        "average": 10_000,
        "learning_rate": "invscaling",
        "eta0": 0.1 if target == "answer" else 0.01,
        "power_t": 0.25,
        "random_state": 0,
    }
    plain = {"loss": losses, "alpha": 1 / parts.n, "random_state": 0}
    return {
        "gapless": lambda: ours.fit(parts, target),
        "sklearn SGD, tuned, 1 epoch": lambda: by_epochs(peer(**tuned), parts, 1),
        f"sklearn SGD, tuned, {EPOCHS} epochs": lambda: by_epochs(peer(**tuned), parts, EPOCHS),
        "sklearn SGD, its defaults, 1 epoch": lambda: by_epochs(peer(**plain), parts, 1),
    }


def compare(folder: Path, target: str) -> list[dict]:
    """All libraries on one target."""
    parts = gapless.in_parts(folder, columns=[*NAMES, target])
    judge = logistic if target == "answer" else squares
    found = []
    for library, fit in fits(parts, target).items():
        began = time.process_time()
        with threadpool_limits(1), threads(1):
            model = fit()
        spent = time.process_time() - began
        value = judge(parts, np.ravel(model.coef_), float(np.ravel(model.intercept_)[0]))
        found.append(
            {
                "problem": f"{'logistic' if target == 'answer' else 'ridge'}, {parts.n} rows",
                "library": library,
                "seconds_median": f"{spent:.2f}",
                "objective": value,
            }
        )
    best = min(row["objective"] for row in found)
    null = judge(parts, np.zeros(COLUMNS), 0.0)
    for row in found:
        row["judged"] = f"excess {(row['objective'] - best) / null:.1e}"
    return found


def main() -> None:
    """Draw, compare, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rows; nothing is written")
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "rows.parquet"
        draw(file, QUICK_ROWS if quick else ROWS)
        found = [compare(file.with_suffix(""), target) for target in ("answer", "number")]
    for rows in found:
        show(rows)
    if not quick:
        write(
            [row for rows in found for row in rows], RESULTS, [rows[0]["problem"] for rows in found]
        )


if __name__ == "__main__":
    main()
