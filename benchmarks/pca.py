"""Compares PCA with the solvers of scikit-learn.

    python -m benchmarks.pca
    python -m benchmarks.pca --only mnist --one-thread
    python -m benchmarks.pca --sweep

The judge projects the rows on the components again, in float64, and prints by how much the
unexplained sum of squares exceeds the smallest one found. How many times as long the fastest peer
takes is printed for all peers, and for those with an excess of at most 1e-6. On all cores seconds
are those of the clock; with --one-thread they are those of the processor, which a busy machine
leaves alone. --sweep varies rows, columns and components, and prints the worst ratios.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import sklearn.decomposition

import gapless

from .kernels import RESULTS as KERNEL_RESULTS
from .kernels import timing
from .kmeans import ONE_THREAD, on_threads
from .paths import show, write
from .problems import data_folder

RESULTS = KERNEL_RESULTS.with_name("pca.csv")
LIBRARIES = ("gapless", "auto", "arpack", "covariance_eigh", "20 powers")
ENOUGH = 1e-6


# ---- data ----


def mnist(part: int, dtype: type) -> np.ndarray:
    """60,000 × 784 pixels."""
    stored = np.load(data_folder() / "mnist.npz")
    return stored["X_train"].reshape(-1, 784).astype(dtype)[::part]


def decaying(n: int, d: int, dtype: type, power: float = 0.5) -> np.ndarray:
    """Rows whose singular values fall as a power of their number; 0 is noise."""
    rng = np.random.default_rng(0)
    side = min(n, d)
    left = rng.standard_normal((n, side)) * np.arange(1.0, side + 1) ** -power
    return (left @ (rng.standard_normal((side, d)) / np.sqrt(d)) + 0.1).astype(dtype)


# ---- fits ----


def fit(library: str, X: np.ndarray, count: int) -> np.ndarray:
    """The components, (k, d)."""
    if library == "gapless":
        return gapless.PCA(count).fit(X).components_
    options = {"svd_solver": library}
    if library == "20 powers":
        options = {"svd_solver": "randomized", "iterated_power": 20}
    return sklearn.decomposition.PCA(count, random_state=0, **options).fit(X).components_


def unexplained(X: np.ndarray, components: np.ndarray) -> float:
    """The sum of squares that the plane of the components leaves, in float64."""
    V = np.linalg.qr(components.T.astype(float))[0]
    mean = X.mean(axis=0, dtype=float)
    total = 0.0
    for begin in range(0, len(X), 4096):
        rows = X[begin : begin + 4096].astype(float) - mean
        total += np.sum(rows**2) - np.sum((rows @ V) ** 2)
    return total


# ---- the comparison ----


@dataclass(frozen=True)
class ComponentProblem:
    name: str
    data: Callable[[int], np.ndarray]
    count: int


PROBLEMS = [
    problem
    for dtype in (np.float32, np.float64)
    for problem in (
        ComponentProblem(
            f"PCA, mnist 60,000 x 784 {np.dtype(dtype).name}, 50 components",
            lambda part, dtype=dtype: mnist(part, dtype),
            50,
        ),
        ComponentProblem(
            f"PCA, 5,000 x 5,000 {np.dtype(dtype).name}, 50 components",
            lambda part, dtype=dtype: decaying(5000 // part, 5000 // part, dtype),
            50,
        ),
    )
]
# Rows, columns, components.
SHAPES = [
    (500, 20, 5),
    (20_000, 30, 10),
    (100_000, 100, 20),
    (2_000, 2_000, 10),
    (300, 5_000, 20),
    (4_000, 1_500, 100),
    (1_500, 4_000, 3),
]


def compare(
    problem: ComponentProblem, libraries: list[str], repeats: int, part: int, is_single: bool
) -> list[dict]:
    """All solvers on one problem, or a part of its rows."""
    X = problem.data(part)
    # All eigenvectors of a large covariance take minutes.
    chosen = [name for name in libraries if name != "covariance_eigh" or X.shape[1] <= 1500]
    times: dict[str, list[float]] = {name: [] for name in chosen}
    found: dict[str, np.ndarray] = {}
    for name in chosen:
        fit(name, decaying(100, 20, np.float64), 2)  # imports
    with on_threads(is_single) as clock:
        for _ in range(repeats):
            # In turn, so that a busy moment of the machine does not hit one of them alone.
            for name in chosen:
                began = clock()
                found[name] = fit(name, X, problem.count)
                times[name].append(clock() - began)
    left = {name: unexplained(X, components) for name, components in found.items()}
    least = min(left.values())
    title, rows = problem.name + (ONE_THREAD if is_single else ""), []
    for name in chosen:
        excess = left[name] / least - 1
        rows.append(timing(title, name, [min(times[name])], f"excess {excess:.1e}"))
        rows[-1]["excess"] = excess
    return rows


def ratio(rows: list[dict], most: float = np.inf) -> float:
    """How many times as long the fastest peer takes, of those with at most this excess."""
    seconds = {r["library"]: float(r["seconds_median"]) for r in rows if r["excess"] <= most}
    ours = next(float(r["seconds_median"]) for r in rows if r["library"] == "gapless")
    peers = [value for name, value in seconds.items() if name != "gapless"]
    return min(peers, default=np.inf) / max(ours, 1e-4)


def sweep(libraries: list[str], repeats: int, part: int, is_single: bool) -> None:
    """Other shapes, with a few strong directions and with noise alone, and the worst ratio."""
    worst, equal = np.inf, np.inf
    for n, d, count in SHAPES:
        for power in (0.0, 0.5, 1.0):
            X = decaying(max(n // part, 100), d, np.float64, power)
            name = f"{len(X)} x {d}, {count} components, singular values j^-{power}"
            problem = ComponentProblem(name, lambda _, X=X: X, count)
            rows = compare(problem, libraries, repeats, 1, is_single)
            show(rows)
            worst, equal = min(worst, ratio(rows)), min(equal, ratio(rows, ENOUGH))
    print(f"\nworst ratio to the fastest peer: {worst:.2f}; of excess {ENOUGH:g}: {equal:.2f}")


def main() -> None:
    """Run the requested comparison."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default="", help="problems whose name contains this")
    parser.add_argument("--libraries", nargs="+", default=list(LIBRARIES), choices=LIBRARIES)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--one-thread", action="store_true", help="processor seconds on one thread")
    parser.add_argument("--sweep", action="store_true", help="other shapes; nothing written")
    parser.add_argument(
        "--quick", action="store_true", help="a tenth of the rows, one repeat, nothing written"
    )
    options = parser.parse_args()
    chosen = [p for p in PROBLEMS if options.only.lower() in p.name.lower()]
    if not chosen:
        known = "; ".join(p.name for p in PROBLEMS)
        raise SystemExit(f"--only {options.only!r} matches no problem; there are {known}.")
    repeats, part = (1, 10) if options.quick else (options.repeats, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if options.sweep:
            return sweep(options.libraries, repeats, part, options.one_thread)
        for problem in chosen:
            rows = compare(problem, options.libraries, repeats, part, options.one_thread)
            show(rows)
            fastest, equal = ratio(rows), ratio(rows, ENOUGH)
            others = f"{equal:.2f} x" if np.isfinite(equal) else "none"
            print(f"  fastest peer {fastest:.2f} x; with an excess of at most {ENOUGH:g}: {others}")
            if not options.quick:
                kept = [{k: v for k, v in row.items() if k != "excess"} for row in rows]
                write(kept, RESULTS, [p.name + how for p in PROBLEMS for how in ("", ONE_THREAD)])
    return None


if __name__ == "__main__":
    main()
