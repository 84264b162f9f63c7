"""Compares what `gapless.choose` chooses for a table with scikit-learn's usual gradient boosting.

    python -m benchmarks.tables
    python -m benchmarks.tables --only titanic --time-limit 20

The tables are read as they are, `choose` has 60 seconds for everything after that, and sets a fifth
of the rows aside for its test. scikit-learn's HistGradientBoosting has its defaults, categories by
an OrdinalEncoder as its users do it, and the same rows to learn from and to be tested by. Scores
are the accuracy or R² of the test rows, each with the standard error of its mean, and the
difference with that of the rows in pairs. The whole comparison takes some minutes.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

import gapless
from gapless.data import Table, read_table, table_of

from .kernels import RESULTS as KERNEL_RESULTS
from .kernels import timed, timing
from .paths import show, write
from .problems import data_folder

RESULTS = KERNEL_RESULTS.with_name("tables.csv")
SECONDS = 60.0
SEED = 0


# ---- tables ----


@dataclass(frozen=True)
class Problem:
    """A table, its target, columns that are left out, and how it is read."""

    name: str
    target: str
    read: Callable[[], Table]
    drop: tuple[str, ...] = ()


def stored(name: str) -> Table:
    """A table of the data folder."""
    return read_table(data_folder() / f"{name}.csv.gz")


def covtype(rows: int | None = None) -> Table:
    """Ten numbers, the area and the soil, with seven kinds of forest; random rows of them."""
    arrays = np.load(data_folder() / "covtype.npz")
    frame = pl.DataFrame(
        {f"measure {j}": arrays["num"][:, j].astype(np.int64) for j in range(10)}
        | {name: np.char.add(name, arrays[name].astype(str)) for name in ("wilderness", "soil")}
        | {"cover": arrays["y"].astype(np.int64)}
    )
    return table_of(frame if rows is None else frame.sample(rows, seed=SEED))


PROBLEMS = (
    Problem("titanic", "survived", partial(stored, "titanic")),
    Problem("attrition", "Attrition", partial(stored, "attrition")),
    Problem("spam", "type", partial(stored, "spam")),
    Problem("california_housing", "median_house_value", partial(stored, "california_housing")),
    Problem("adult", "income", partial(stored, "adult"), drop=("split",)),
    Problem("covtype 100,000", "cover", partial(covtype, 100_000)),
    Problem("covtype", "cover", covtype),
)


# ---- models ----


def usual(frame: pl.DataFrame, y: np.ndarray, is_class: bool) -> Any:
    """scikit-learn's boosting with its defaults, on columns as its users encode them."""
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    columns = make_column_transformer(
        (encoder, make_column_selector(dtype_exclude="number")), remainder="passthrough"
    )
    cls = HistGradientBoostingClassifier if is_class else HistGradientBoostingRegressor
    return make_pipeline(columns, cls(random_state=SEED)).fit(frame.to_pandas(), y)


def row_scores(y: np.ndarray, predicted: np.ndarray, is_class: bool) -> np.ndarray:
    """What each row adds to the score: 1 where the class is right, or 1 − e²/variance."""
    if is_class:
        return (y == predicted).astype(float)
    return 1 - (y - predicted) ** 2 / np.var(y)


def said(scores: np.ndarray) -> str:
    return f"{scores.mean():.4f} ± {scores.std(ddof=1) / np.sqrt(len(scores)):.4f}"


def compare(problem: Problem, seconds: float) -> list[dict]:
    """Both libraries on one table."""
    table = problem.read()
    took, choice = timed(
        lambda: gapless.choose(
            table, problem.target, drop=problem.drop, time_limit=seconds, seed=SEED
        )
    )
    is_class = choice.task == "classification"
    ours = row_scores(choice.answers.y, choice.answers.predicted, is_class)
    features = [c.name for c in choice.columns if c.is_feature]
    frame, y = table.frame.select(features), table.frame[problem.target].to_numpy()
    y = y.astype(choice.answers.y.dtype)
    train, test = choice.split.train, choice.split.test
    took_usual, model = timed(usual, frame[train], y[train], is_class)
    theirs = row_scores(y[test], model.predict(frame[test].to_pandas()), is_class)
    judged = "accuracy" if is_class else "R²"
    behind = ours - theirs
    return [
        timing(
            problem.name,
            "gapless",
            [took],
            f"{judged} {said(ours)}, {choice.chosen}; {said(behind)} more than scikit-learn's",
        ),
        timing(problem.name, "sklearn", [took_usual], f"{judged} {said(theirs)}"),
    ]


def main() -> None:
    """Run the requested comparison."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default="", help="tables whose name contains this")
    parser.add_argument("--time-limit", type=float, default=SECONDS)
    parser.add_argument(
        "--quick", action="store_true", help="the smallest table, ten seconds, nothing written"
    )
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    rows: list[dict] = []
    for problem in PROBLEMS[:1] if args.quick else PROBLEMS:
        if args.only in problem.name:
            rows += compare(problem, min(args.time_limit, 10.0 if args.quick else np.inf))
            show(rows[-2:])
    if rows and not args.quick:
        write(rows, RESULTS, [problem.name for problem in PROBLEMS])


if __name__ == "__main__":
    main()
