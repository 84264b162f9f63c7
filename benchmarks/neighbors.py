"""Compares the search for nearest neighbours with scikit-learn, scikit-learn-intelex and faiss.

    python -m benchmarks.neighbors
    python -m benchmarks.neighbors --only mnist --libraries gapless sklearnex

Five neighbours of rows that were not learned from, in Euclidean distance; building the index and
asking are timed together, on all cores. All searches are exact: the judge measures the distances of
the neighbours again, in float64, and prints their sum, and how many rows have other neighbours than
those that gapless finds. Products in float32, as the peers compute distances, may swap rows that
are equally near to six digits.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .kernels import RESULTS as KERNEL_RESULTS
from .kernels import timed, timing
from .paths import show, write
from .problems import data_folder

RESULTS = KERNEL_RESULTS.with_name("neighbors.csv")
LIBRARIES = ("gapless", "sklearnex", "faiss", "sklearn")
MODULES = {"gapless": "gapless", "sklearnex": "sklearnex.neighbors", "sklearn": "sklearn.neighbors"}
K = 5


# ---- data: rows to learn from, and rows to ask for ----


def mnist(part: int) -> tuple[np.ndarray, np.ndarray]:
    """60,000 × 784 pixels in float32, and 10,000 others."""
    stored = np.load(data_folder() / "mnist.npz")
    X, Q = (stored[f"X_{name}"].reshape(-1, 784).astype(np.float32) for name in ("train", "test"))
    return X[::part], Q[::part]


def normal(part: int, dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """200,000 × 10 normal numbers, and 20,000 others."""
    X = np.random.default_rng(0).standard_normal((220_000, 10)).astype(dtype)
    return X[:200_000:part], X[200_000::part]


# ---- searches ----


def search(library: str, X: np.ndarray, Q: np.ndarray, k: int = K) -> np.ndarray:
    """Positions of the k nearest rows."""
    if library == "faiss":
        index = importlib.import_module("faiss").IndexFlatL2(X.shape[1])
        index.add(np.ascontiguousarray(X, dtype=np.float32))
        return index.search(np.ascontiguousarray(Q, dtype=np.float32), k)[1]
    maker = importlib.import_module(MODULES[library]).NearestNeighbors
    return maker(n_neighbors=k, n_jobs=-1).fit(X).kneighbors(Q, return_distance=False)


def judge(X: np.ndarray, Q: np.ndarray, rows: np.ndarray, ours: np.ndarray) -> str:
    """The sum of the distances, and how many rows have other neighbours than ours."""
    total = sum(
        np.sum(np.sqrt(np.sum((X[rows[:, k]].astype(float) - Q) ** 2, axis=1))) for k in range(K)
    )
    others = np.count_nonzero(np.any(np.sort(rows, axis=1) != np.sort(ours, axis=1), axis=1))
    return f"sum of distances {total:.8g}, {others} rows with other neighbours"


# ---- the comparison ----


@dataclass(frozen=True)
class NeighborProblem:
    name: str
    data: Callable[[int], tuple[np.ndarray, np.ndarray]]


PROBLEMS = [
    NeighborProblem("5-NN, mnist 60,000 x 784, 10,000 queries", mnist),
    NeighborProblem(
        "5-NN, normal 200,000 x 10, 20,000 queries", lambda part: normal(part, np.float64)
    ),
    NeighborProblem(
        "5-NN, normal 200,000 x 10 float32, 20,000 queries", lambda part: normal(part, np.float32)
    ),
]


def available(library: str) -> bool:
    """Whether a library is installed."""
    return importlib.util.find_spec(library) is not None


def compare(problem: NeighborProblem, libraries: list[str], repeats: int, part: int) -> list[dict]:
    """All libraries on one problem, or a part of its rows."""
    X, Q = problem.data(part)
    chosen = list(filter(available, libraries))
    times: dict[str, list[float]] = {name: [] for name in chosen}
    answers: dict[str, np.ndarray] = {}
    for name in chosen:
        search(name, X[:1000], Q[:100])  # imports
    for repeat in range(repeats):
        # In turn, so that a busy moment of the machine does not hit one of them alone.
        for name in chosen:
            if name == "sklearn" and repeat:  # slow enough to be measured once
                continue
            seconds, answers[name] = timed(search, name, X, Q)
            times[name].append(seconds)
    ours = answers.get("gapless")
    if ours is None:
        ours = search("gapless", X, Q)
    return [
        timing(problem.name, name, times[name], judge(X, Q, answers[name], ours)) for name in chosen
    ]


def main() -> None:
    """Run the requested comparison."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default="", help="problems whose name contains this")
    parser.add_argument("--libraries", nargs="+", default=list(LIBRARIES), choices=LIBRARIES)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--quick", action="store_true", help="a tenth of the rows, one repeat, nothing written"
    )
    options = parser.parse_args()
    chosen = [p for p in PROBLEMS if options.only.lower() in p.name.lower()]
    if not chosen:
        known = "; ".join(p.name for p in PROBLEMS)
        raise SystemExit(f"--only {options.only!r} matches no problem; there are {known}.")
    repeats, part = (1, 10) if options.quick else (options.repeats, 1)
    for problem in chosen:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = compare(problem, options.libraries, repeats, part)
        show(rows)
        if not options.quick:
            write(rows, RESULTS, [p.name for p in PROBLEMS])


if __name__ == "__main__":
    main()
