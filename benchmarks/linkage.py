"""Compares hierarchical clustering with fastcluster, genieclust and SciPy: time, memory, heights.

    python -m benchmarks.linkage
    python -m benchmarks.linkage --only single --libraries gapless fastcluster

Each library runs in a process of its own, on one thread, so that its memory is its own too; they
take turns, and the fastest of several runs counts. Seconds are those of the processor, which a busy
machine does not change much. The judge compares the heights of all merges with SciPy's format of
the first peer: the largest relative difference is printed. `--sweep` varies rows and columns.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from .kernels import RESULTS as KERNEL_RESULTS
from .paths import show, write

RESULTS = KERNEL_RESULTS.with_name("linkage.csv")
LIBRARIES = ("gapless", "fastcluster", "genieclust", "scipy")
# The linkages of each library that need memory linear in the rows.
LINEAR = {"fastcluster": ("single", "ward", "centroid")}
METHODS = {"genieclust": ("single",)}


@dataclass(frozen=True)
class LinkageProblem:
    """Rows to cluster, by one linkage."""

    method: str
    kind: str
    rows: int
    columns: int

    @property
    def name(self) -> str:
        """As it is printed."""
        return f"{self.method} linkage, {self.kind} {self.rows:,} x {self.columns}"

    def data(self) -> np.ndarray:
        """Noise, or twenty clusters."""
        rng = np.random.default_rng(0)
        if self.kind == "noise":
            return rng.uniform(size=(self.rows, self.columns))
        centers = 5 * rng.normal(size=(20, self.columns))
        own = rng.integers(0, len(centers), self.rows)
        return centers[own] + rng.normal(size=(self.rows, self.columns))


PROBLEMS = [
    LinkageProblem(method, kind, 20_000, 16)
    for method in ("single", "complete", "average", "ward")
    for kind in ("clusters", "noise")
]
SWEEP = [
    LinkageProblem(method, "clusters", rows, columns)
    for method, sizes in (
        ("single", ((2000, 2), (2000, 64), (20_000, 2), (20_000, 64), (50_000, 4))),
        ("ward", ((2000, 2), (2000, 64), (20_000, 2), (10_000, 64), (30_000, 4))),
        ("complete", ((1000, 2), (3000, 64), (8000, 4))),
        ("average", ((1000, 2), (3000, 64), (8000, 4))),
        ("centroid", ((2000, 2), (10_000, 16))),
    )
    for rows, columns in sizes
]


def heights_of(library: str, method: str, X: np.ndarray) -> np.ndarray:
    """The heights of all merges."""
    if library == "gapless":
        from gapless import AgglomerativeClustering

        return AgglomerativeClustering(linkage=method).fit(X).merge_table_[:, 2]
    if library == "fastcluster":
        import fastcluster

        is_linear = method in LINEAR[library]
        return (fastcluster.linkage_vector if is_linear else fastcluster.linkage)(X, method)[:, 2]
    if library == "genieclust":
        # The spanning tree that genieclust begins with; its edges are the merges.
        import quitefastmst

        return np.asarray(quitefastmst.mst_euclid(X)[0])
    from scipy.cluster.hierarchy import linkage

    return linkage(X, method)[:, 2]


def run_here(library: str, problem: LinkageProblem, out: str) -> None:
    """One run in this process; prints seconds and megabytes, and stores the heights."""
    X = problem.data()
    heights_of(library, problem.method, X[:64])  # imports
    began = time.process_time()
    heights = heights_of(library, problem.method, X)
    seconds = time.process_time() - began
    np.save(out, np.sort(heights))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(json.dumps({"seconds": seconds, "megabytes": peak}))


def run_apart(library: str, problem: LinkageProblem, out: Path) -> dict:
    """One run in a process of its own, on one thread."""
    one = dict.fromkeys(("GAPLESS_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    spec = [problem.method, problem.kind, str(problem.rows), str(problem.columns)]
    command = [sys.executable, "-m", "benchmarks.linkage", "--run", library, *spec, str(out)]
    done = subprocess.run(
        command, env={**os.environ, **one}, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def _is_there(library: str) -> bool:
    """Whether a library is installed."""
    return find_spec("quitefastmst" if library == "genieclust" else library) is not None


def compare(problem: LinkageProblem, libraries: list[str], repeats: int) -> list[dict]:
    """All libraries on one problem, by turns."""
    chosen = [
        name
        for name in libraries
        if _is_there(name) and problem.method in METHODS.get(name, (problem.method,))
    ]
    found: dict[str, list[dict]] = {name: [] for name in chosen}
    heights = {}
    with tempfile.TemporaryDirectory() as folder:
        for repeat in range(repeats):
            for name in chosen:
                if name == "scipy" and repeat:  # slow enough to be measured once
                    continue
                out = Path(folder) / f"{name}.npy"
                found[name].append(run_apart(name, problem, out))
                heights[name] = np.load(out)
    reference = heights[next((name for name in chosen if name != "gapless"), chosen[0])]
    rows = []
    for name in chosen:
        differ = np.max(np.abs(heights[name] - reference) / np.maximum(reference, 1e-300))
        seconds = min(run["seconds"] for run in found[name])
        peak = max(run["megabytes"] for run in found[name])
        agreement = f"heights differ by {differ:.1e}" if len(chosen) > 1 else "no peer to compare"
        judged = f"{agreement}, {peak:,.0f} MB at most"
        rows.append(
            {
                "problem": problem.name,
                "library": name,
                "seconds_median": f"{seconds:.4f}",
                "judged": judged,
            }
        )
    return rows


def worst_ratio(tables: list[list[dict]]) -> str:
    """The problem on which the best peer is least behind, or most ahead."""
    ratios = []
    for rows in tables:
        seconds = {row["library"]: float(row["seconds_median"]) for row in rows}
        ours = seconds.pop("gapless", None)
        if ours and seconds:
            ratios.append((min(seconds.values()) / ours, rows[0]["problem"]))
    return (
        "nothing compared"
        if not ratios
        else "worst: {:.2f} x the best peer, {}".format(*min(ratios))
    )


def main() -> None:
    """Run the requested comparison."""
    if len(sys.argv) > 1 and sys.argv[1] == "--run":
        library, method, kind, rows, columns, out = sys.argv[2:]
        run_here(library, LinkageProblem(method, kind, int(rows), int(columns)), out)
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default="", help="problems whose name contains this")
    parser.add_argument("--libraries", nargs="+", default=list(LIBRARIES), choices=LIBRARIES)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--sweep", action="store_true", help="other numbers of rows and columns")
    parser.add_argument(
        "--quick", action="store_true", help="a tenth of the rows, one repeat, nothing written"
    )
    options = parser.parse_args()
    problems = SWEEP if options.sweep else PROBLEMS
    chosen = [p for p in problems if options.only.lower() in p.name.lower()]
    if not chosen:
        known = "; ".join(p.name for p in problems)
        raise SystemExit(f"--only {options.only!r} matches no problem; there are {known}.")
    if options.quick:
        chosen = [LinkageProblem(p.method, p.kind, p.rows // 10, p.columns) for p in chosen]
    tables = []
    for problem in chosen:
        rows = compare(problem, options.libraries, 1 if options.quick else options.repeats)
        tables.append(rows)
        show(rows)
        if not options.quick:
            write(rows, RESULTS, [p.name for p in PROBLEMS + SWEEP])
    print(f"\n{worst_ratio(tables)}")


if __name__ == "__main__":
    main()
