"""Compares k-means with scikit-learn, scikit-learn-intelex and faiss, from the same start.

    python -m benchmarks.kmeans
    python -m benchmarks.kmeans --only mnist --one-thread
    python -m benchmarks.kmeans --sweep

All take Lloyd's steps from the same rows with the same tolerance; faiss, which has none, as many
steps as gapless took. The judge computes the sum of squares of the centres again, in float64. On
all cores seconds are those of the clock; with --one-thread they are those of the processor, which a
busy machine leaves alone. --sweep varies rows, columns and clusters, and prints the worst ratio to
the best peer.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import threadpoolctl

from gapless._ground.threads import threads

from .kernels import RESULTS as KERNEL_RESULTS
from .kernels import timing
from .neighbors import available
from .paths import show, write
from .problems import data_folder

RESULTS = KERNEL_RESULTS.with_name("kmeans.csv")
LIBRARIES = ("gapless", "sklearn", "sklearnex", "faiss")
MODULES = {"gapless": "gapless", "sklearnex": "sklearnex.cluster", "sklearn": "sklearn.cluster"}
MOST_STEPS = 100
# What is added to the name of a problem whose seconds are those of the processor.
ONE_THREAD = ", one thread"


# ---- data ----


def mnist(part: int) -> np.ndarray:
    """60,000 × 784 pixels in float32."""
    stored = np.load(data_folder() / "mnist.npz")
    return stored["X_train"].reshape(-1, 784).astype(np.float32)[::part]


def blobs(n: int, d: int, k: int, dtype: type = np.float32) -> np.ndarray:
    """Gaussians of variance 1 around k centres of variance 4."""
    rng = np.random.default_rng(0)
    centers = 2 * rng.standard_normal((k, d))
    return (centers[rng.integers(k, size=n)] + rng.standard_normal((n, d))).astype(dtype)


def noise(n: int, d: int, dtype: type = np.float32) -> np.ndarray:
    """Uniform numbers: no clusters at all."""
    return np.random.default_rng(0).uniform(size=(n, d)).astype(dtype)


# ---- fits ----


def fit(library: str, X: np.ndarray, start: np.ndarray, steps: int) -> tuple[np.ndarray, int]:
    """Centres, and how many steps it took."""
    k = len(start)
    if library == "faiss":
        faiss = importlib.import_module("faiss")
        model = faiss.Kmeans(X.shape[1], k, niter=steps, max_points_per_centroid=10**9)
        model.train(np.ascontiguousarray(X, np.float32), init_centroids=start.astype(np.float32))
        return model.centroids, steps
    maker = importlib.import_module(MODULES[library]).KMeans
    found = maker(k, init=start, n_init=1, max_iter=MOST_STEPS).fit(X)
    return found.cluster_centers_, found.n_iter_


def judge(X: np.ndarray, centers: np.ndarray, steps: int) -> tuple[float, str]:
    """The sum of squares in float64, and in words."""
    centers = centers.astype(float)
    total = 0.0
    for begin in range(0, len(X), 4096):
        rows = X[begin : begin + 4096].astype(float)
        label = np.argmin(np.sum(centers**2, axis=1) - 2 * rows @ centers.T, axis=1)
        total += np.sum((rows - centers[label]) ** 2)
    return total, f"sum of squares {total:.7g} in {steps} steps"


# ---- the comparison ----


@dataclass(frozen=True)
class ClusterProblem:
    name: str
    data: Callable[[int], np.ndarray]
    k: int


MILLION = 1_000_000
PROBLEMS = [
    ClusterProblem("k-means, mnist 60,000 x 784 float32, k = 100", mnist, 100),
    *(
        ClusterProblem(
            f"k-means, {kind} 1,000,000 x 16 {np.dtype(dtype).name}, k = 20",
            lambda part, kind=kind, dtype=dtype: (
                blobs(MILLION // part, 16, 20, dtype)
                if kind == "blobs"
                else noise(MILLION // part, 16, dtype)
            ),
            20,
        )
        for kind in ("blobs", "noise")
        for dtype in (np.float32, np.float64)
    ),
]
# Rows, columns, clusters.
SHAPES = [
    (1_000, 4, 3),
    (20_000, 10, 8),
    (100_000, 2, 50),
    (50_000, 8, 200),
    (50_000, 32, 30),
    (30_000, 48, 20),
    (30_000, 64, 100),
    (10_000, 256, 30),
    (5_000, 1_000, 10),
]


@contextlib.contextmanager
def on_threads(is_single: bool) -> Iterator[Callable[[], float]]:
    """The clock: of all threads, or that of the processor on one."""
    if not is_single:
        yield time.perf_counter
        return
    with threads(1), threadpoolctl.threadpool_limits(1):
        yield time.process_time


def compare(
    problem: ClusterProblem, libraries: list[str], repeats: int, part: int, is_single: bool
) -> list[dict]:
    """All libraries on one problem, or a part of its rows."""
    X = problem.data(part)
    start = X[np.random.default_rng(1).choice(len(X), problem.k, replace=False)]
    chosen = [name for name in libraries if available(name)]
    chosen = [name for name in chosen if name != "faiss" or X.dtype == np.float32]
    times: dict[str, list[float]] = {name: [] for name in chosen}
    found: dict[str, tuple[np.ndarray, int]] = {}
    for name in chosen:
        fit(name, X[:1000], X[:5], 2)  # imports
    with on_threads(is_single) as clock:
        steps = fit("gapless", X, start, 0)[1] if "faiss" in chosen else 0
        for _ in range(repeats):
            # In turn, so that a busy moment of the machine does not hit one of them alone.
            for name in chosen:
                began = clock()
                found[name] = fit(name, X, start, steps)
                times[name].append(clock() - began)
    # The least of several is what the work takes; the rest is other people's.
    return [
        timing(problem.name, name, [min(times[name])], judge(X, *found[name])[1]) for name in chosen
    ]


def ratio(rows: list[dict]) -> float:
    """How many times as long the best peer takes."""
    seconds = {row["library"]: float(row["seconds_median"]) for row in rows}
    ours = seconds.pop("gapless")
    return min(seconds.values()) / max(ours, 1e-4)


def swept(part: int) -> list[ClusterProblem]:
    """Other shapes, with clusters and without."""
    problems = []
    for n, d, k in SHAPES:
        size = max(n // part, 2 * k)
        for kind in ("blobs", "noise"):

            def data(_: int, kind: str = kind, shape: tuple = (size, d, k)) -> np.ndarray:
                return blobs(*shape) if kind == "blobs" else noise(*shape[:2])

            problems.append(ClusterProblem(f"k-means, {kind} {size:,} x {d}, k = {k}", data, k))
    return problems


def run(
    problems: list[ClusterProblem], libraries: list[str], repeats: int, part: int, is_single: bool
) -> None:
    """Compare on all problems, write what is not a part of them, and print the worst ratio."""
    ratios = []
    known = [p.name + suffix for p in PROBLEMS + swept(1) for suffix in ("", ONE_THREAD)]
    for problem in problems:
        rows = compare(problem, libraries, repeats, part, is_single)
        if is_single:
            rows = [{**row, "problem": row["problem"] + ONE_THREAD} for row in rows]
        show(rows)
        if part == 1:
            write(rows, RESULTS, known)
        if len(rows) > 1:
            ratios.append((ratio(rows), problem.name))
    if ratios:
        print("\nworst: {:.2f} x the best peer, {}".format(*min(ratios)))


def main() -> None:
    """Run the requested comparison."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default="", help="problems whose name contains this")
    parser.add_argument("--libraries", nargs="+", default=list(LIBRARIES), choices=LIBRARIES)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--one-thread", action="store_true", help="processor seconds on one thread")
    parser.add_argument("--sweep", action="store_true", help="other shapes")
    parser.add_argument(
        "--quick", action="store_true", help="a tenth of the rows, one repeat, nothing written"
    )
    options = parser.parse_args()
    problems = swept(10 if options.quick else 1) if options.sweep else PROBLEMS
    chosen = [p for p in problems if options.only.lower() in p.name.lower()]
    if not chosen:
        known = "; ".join(p.name for p in problems)
        raise SystemExit(f"--only {options.only!r} matches no problem; there are {known}.")
    repeats, part = (1, 10) if options.quick else (options.repeats, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(chosen, options.libraries, repeats, part, options.one_thread)


if __name__ == "__main__":
    main()
