"""Compares trees, forests and boosting with scikit-learn, sklearnex, LightGBM and XGBoost.

    python -m benchmarks.trees
    python -m benchmarks.trees --only boosting --libraries gapless lightgbm

All libraries run on all cores, with the same number of trees and the same depth or leaves: one tree
and forests without a limit of depth, gradient boosting with 31 or 127 leaves, at most 255 bins and
a learning rate of 0.1, AdaBoost on trees of depth 1. One judge computes accuracy, log loss and for
AdaBoost the exponential loss from the predictions of every model. Predictions are probabilities of
the unseen rows by the same models.

Leaves of boosting have at least 20 rows, which is the default of all but XGBoost: it has a limit
for second derivatives instead, and a penalty of 1 on leaf values. One tree of ours tries every
threshold, as scikit-learn's does; our forest tries 255 per column with this many rows, sklearnex
has its own bins, and the accuracy shows what that costs. scikit-learn's single tree and AdaBoost
have one thread and no other choice.

The forests use covtype: ten numbers and 44 indicators, in float32, which all libraries accept.
XGBoost is left out of forests: without a depth limit its trees, one for each class, take a hundred
times as long. The whole comparison takes some minutes.
"""

from __future__ import annotations

import argparse
import importlib
import pickle
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, log_loss

from .kernels import RESULTS as KERNEL_RESULTS
from .kernels import Data, timed, timing
from .paths import show, write
from .problems import data_folder

RESULTS = KERNEL_RESULTS.with_name("trees.csv")
LIBRARIES = ("gapless", "lightgbm", "sklearnex", "xgboost", "sklearn")
UNSEEN = 100_000
PREDICTED = "prediction of it"
ROUNDS, RATE = 100, 0.1


# ---- data ----


def covtype(train: int, binary: bool = False) -> Data:
    """Random rows of covtype; seven classes, or the second one against the rest."""
    stored = np.load(data_folder() / "covtype.npz")
    rows = np.random.default_rng(0).permutation(len(stored["y"]))[: train + UNSEEN]
    X = np.hstack(
        [
            stored["num"][rows].astype(np.float32),
            np.eye(4, dtype=np.float32)[stored["wilderness"][rows]],
            np.eye(40, dtype=np.float32)[stored["soil"][rows]],
        ]
    )
    y = stored["y"][rows].astype(np.int64)
    y = (y == 2).astype(np.int64) if binary else y - y.min()
    return Data(X[:train], y[:train], X[train:], y[train:])


def sphere(train: int) -> Data:
    """Twenty normal columns; the class is whether ten of them are far from 0, with some noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((train + UNSEEN, 20))
    far = np.sum(X[:, :10] ** 2, axis=1) + rng.standard_normal(len(X)) > 9.34
    y = far.astype(np.int64)
    return Data(X[:train], y[:train], X[train:], y[train:])


# ---- models ----


def tree(library: str) -> Any:
    """One tree, grown until its leaves are pure."""
    return maker_of(library, "DecisionTreeClassifier", "sklearn.tree")(random_state=0)


def forest(library: str) -> Any:
    """100 trees, each node split by the best of √d columns."""
    maker = maker_of(library, "RandomForestClassifier", f"{library}.ensemble")
    return maker(ROUNDS, n_jobs=-1, random_state=0)


def boosting(library: str, leaves: int = 31, bins: int = 255) -> Any:
    """100 rounds of trees with `leaves` leaves, and at most `bins` bins for a column."""
    shared = {"n_estimators": ROUNDS, "learning_rate": RATE, "n_jobs": -1}
    if library == "lightgbm":
        maker = importlib.import_module("lightgbm").LGBMClassifier
        return maker(num_leaves=leaves, max_bin=bins, verbose=-1, **shared)
    if library == "xgboost":
        maker = importlib.import_module("xgboost").XGBClassifier
        options = {"max_depth": 0, "max_leaves": leaves, "grow_policy": "lossguide"}
        return maker(max_bin=bins, **shared, **options)
    maker = maker_of(library, "HistGradientBoostingClassifier", "sklearn.ensemble")
    shared = {"max_iter": ROUNDS, "learning_rate": RATE, "early_stopping": False}
    return maker(max_leaf_nodes=leaves, max_bins=bins, **shared)


def adaboost(library: str) -> Any:
    """100 rounds of trees of depth 1."""
    maker = maker_of(library, "AdaBoostClassifier", "sklearn.ensemble")
    return maker(n_estimators=ROUNDS, random_state=0)


def maker_of(library: str, name: str, peer: str) -> Callable:
    """The class of that name, of gapless or of the module of a peer."""
    return getattr(importlib.import_module("gapless" if library == "gapless" else peer), name)


# ---- the judge ----


def judge_accuracy(model, data: Data) -> str:
    """The share of unseen rows that are right, and the size of the tree."""
    accuracy = accuracy_score(data.y_test, model.predict(data.X_test))
    return f"accuracy {accuracy:.4f}, depth {model.get_depth()}, {model.get_n_leaves()} leaves"


def judge_probabilities(model, data: Data) -> str:
    """The same share, and the log loss, both from the probabilities."""
    p = model.predict_proba(data.X_test)
    accuracy = np.mean(np.argmax(p, axis=1) == data.y_test)
    return f"accuracy {accuracy:.4f}, log loss {log_loss(data.y_test, p):.4f}"


def judge_forest(model, data: Data) -> str:
    """The same, and how many bytes of a pickle there are for each node."""
    nodes = sum(one.tree_.node_count for one in model.estimators_)
    size = len(pickle.dumps(model)) / nodes
    return f"{judge_probabilities(model, data)}, {size:.0f} bytes a node"


def judge_margins(model, data: Data) -> str:
    """Mean exponential loss and error of the training rows, and accuracy on the others."""
    sign = 2.0 * data.y - 1.0
    votes = np.sum(
        [
            0.5 * weight * (2.0 * one.predict(data.X) - 1.0)
            for weight, one in zip(model.estimator_weights_, model.estimators_)
        ],
        axis=0,
    )
    error = np.mean(model.predict(data.X) != data.y)
    accuracy = np.mean(model.predict(data.X_test) == data.y_test)
    loss = np.mean(np.exp(-sign * votes))
    return f"exponential loss {loss:.5f}, training error {error:.4f}, accuracy {accuracy:.4f}"


# ---- the comparison ----


@dataclass(frozen=True)
class TreeProblem:
    name: str
    data: Callable[[int], Data]
    rows: int
    make: Callable[[str], Any]
    judge: Callable[[Any, Data], str]
    peers: tuple[str, ...] = ("sklearn",)


PROBLEMS = [
    TreeProblem("tree, covtype 400,000", covtype, 400_000, tree, judge_accuracy),
    TreeProblem(
        "forest, covtype 100,000",
        covtype,
        100_000,
        forest,
        judge_forest,
        ("sklearnex", "sklearn"),
    ),
    TreeProblem(
        "boosting, covtype 100,000, two classes",
        lambda rows: covtype(rows, binary=True),
        100_000,
        boosting,
        judge_probabilities,
        ("lightgbm", "xgboost", "sklearn"),
    ),
    TreeProblem(
        "boosting, covtype 100,000, two classes, 127 leaves",
        lambda rows: covtype(rows, binary=True),
        100_000,
        partial(boosting, leaves=127),
        judge_probabilities,
        ("lightgbm", "xgboost", "sklearn"),
    ),
    TreeProblem(
        "boosting, covtype 100,000, seven classes",
        covtype,
        100_000,
        boosting,
        judge_probabilities,
        ("lightgbm", "xgboost", "sklearn"),
    ),
    TreeProblem("AdaBoost, 50,000 x 20", sphere, 50_000, adaboost, judge_margins),
]


def compare(problem: TreeProblem, libraries: list[str], repeats: int, part: int) -> list[dict]:
    """All libraries on one problem, or a part of its rows; rows of fits and of predictions."""
    data = problem.data(problem.rows // part)
    few = slice(None, 2000)
    fits, predictions = [], []
    for name in [one for one in libraries if one in ("gapless", *problem.peers)]:
        problem.make(name).fit(data.X[few], data.y[few]).predict_proba(data.X[few])  # imports
        # scikit-learn is slow enough to be measured once.
        count = 1 if name == "sklearn" else repeats
        runs = [timed(problem.make(name).fit, data.X, data.y) for _ in range(count)]
        model = runs[-1][1]
        judged = problem.judge(model, data)
        fits.append(timing(problem.name, name, [seconds for seconds, _ in runs], judged))
        runs = [timed(model.predict_proba, data.X_test) for _ in range(repeats)]
        of_it = f"{problem.name}, {PREDICTED}"
        predictions.append(timing(of_it, name, [seconds for seconds, _ in runs], ""))
    return fits + predictions


def main() -> None:
    """Run the requested comparison."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default="", help="problems whose name contains this")
    parser.add_argument("--libraries", nargs="+", default=list(LIBRARIES), choices=LIBRARIES)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a tenth of the rows, one repeat, nothing written",
    )
    options = parser.parse_args()
    chosen = [p for p in PROBLEMS if options.only.lower() in p.name.lower()]
    if not chosen:
        known = "; ".join(p.name for p in PROBLEMS)
        raise SystemExit(f"--only {options.only!r} matches no problem; there are {known}.")
    order = [name for p in PROBLEMS for name in (p.name, f"{p.name}, {PREDICTED}")]
    repeats, part = (1, 10) if options.quick else (options.repeats, 1)
    for problem in chosen:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = compare(problem, options.libraries, repeats, part)
        for name in dict.fromkeys(row["problem"] for row in rows):
            show([row for row in rows if row["problem"] == name])
        if not options.quick:
            write(rows, RESULTS, order)


if __name__ == "__main__":
    main()
