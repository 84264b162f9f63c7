"""Compares the libraries: seconds until the objective is within a stated excess of the best.

    python -m benchmarks.run                          all problems, all libraries
    python -m benchmarks.run --quick                  1,500 rows, one repeat: does all work?
    python -m benchmarks.run --only a9a --repeats 9   some problems, more repeats

Every library goes down a ladder of tolerances until the judge finds the excess small enough; that
rung is then timed again, the libraries taking turns so that noise hits all alike. The medians are
printed. Importing and the first, tiny fit (which compiles, if a library does that) have a column of
their own.
"""

from __future__ import annotations

import argparse
import csv
import importlib.metadata
import multiprocessing
import statistics
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from .judge import Judge
from .problems import PROBLEMS, Problem, shrink
from .worker import save_data, serve

RESULTS = Path(__file__).parent / "results"
LIBRARIES = ["gapless", "sklearn", "sklearnex", "skglm", "celer", "liblinear"]
PACKAGES = {
    "sklearn": "scikit-learn",
    "sklearnex": "scikit-learn-intelex",
    "liblinear": "liblinear-official",
}
LADDER = [10.0**-k for k in range(1, 11)]


@dataclass
class Entry:
    """A library's variant at one excess: the rung of the ladder that reaches it, and its times."""

    target: float
    library: str
    variant: str
    bias: str
    start_up: float
    tol: float | None = None
    excess: float = float("inf")
    objective: float = float("nan")
    note: str = ""
    seconds: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds) if self.seconds else float("inf")


class Worker:
    """The process of one library, started again when a fit had to be ended."""

    def __init__(self, library: str, problem: Problem, folder: Path):
        self.library, self.arguments = library, (library, problem, folder)
        self.variants: list[str] = []
        self.start_up = 0.0
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs, *self.arguments), daemon=True)
        self.process.start()
        theirs.close()
        self.variants, imported, first_fit = self.connection.recv()
        self.start_up = imported + first_fit

    def fit(self, variant: str, tol: float, cap: float):
        """(seconds, coefficients), or in words why there are none."""
        self.connection.send((variant, tol))
        if self.connection.poll(cap):
            answer = self.connection.recv()
            return f"{type(answer).__name__}: {answer}" if isinstance(answer, Exception) else answer
        self.process.kill()
        self.process.join()
        self._start()
        return f"more than {cap:g} s"

    def end(self) -> None:
        self.connection.send(None)
        self.process.join()


def main() -> None:
    """Run the requested comparison."""
    options = _arguments()
    chosen = [p for p in PROBLEMS if options.only.lower() in p.name.lower()]
    if not chosen:
        known = ", ".join(p.name for p in PROBLEMS)
        raise SystemExit(f"--only {options.only!r} matches no problem; there are {known}.")
    rows = []
    for problem in chosen:
        X, y = problem.data()
        if options.quick:
            X, y = shrink(X, y)
        print(
            f"\n{problem.name}: {X.shape[0]:,} × {X.shape[1]:,}, strength {problem.strength:g}",
            flush=True,
        )
        entries = compare(problem, X, y, options)
        for target in problem.excess:
            _print_table([entry for entry in entries if entry.target == target])
        rows += [_row(problem, X.shape, entry) for entry in entries]
    _write(RESULTS / ("quick.csv" if options.quick else "results.csv"), rows)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="1,500 rows of each data set, one repeat"
    )
    parser.add_argument("--only", default="", help="problems whose name contains this")
    parser.add_argument("--libraries", nargs="+", default=LIBRARIES, choices=LIBRARIES)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--cap", type=float, default=60.0, help="seconds after which a fit is ended"
    )
    options = parser.parse_args()
    if options.quick:
        options.repeats, options.cap = 1, min(options.cap, 10.0)
    return options


def compare(problem: Problem, X, y, options) -> list[Entry]:
    """Every variant of every library at every excess of the problem."""
    judge = Judge(problem, X, y)
    with tempfile.TemporaryDirectory() as folder:
        save_data(Path(folder), X, y)
        workers = [Worker(library, problem, Path(folder)) for library in options.libraries]
        entries = [
            (entry, worker)
            for worker in workers
            for variant in worker.variants
            for entry in descend(judge, worker, variant, options.cap)
        ]
        for _ in range(options.repeats):
            for entry, worker in entries:
                if entry.tol is not None:
                    timed = worker.fit(entry.variant, entry.tol, options.cap)
                    entry.seconds += [] if isinstance(timed, str) else [timed[0]]
        for worker in workers:
            worker.end()
    return [entry for entry, _ in entries]


def descend(judge: Judge, worker: Worker, variant: str, cap: float) -> list[Entry]:
    """Go down the ladder of tolerances: for each requested excess, the first rung to reach it."""
    entries = [Entry(t, worker.library, variant, "", worker.start_up) for t in judge.problem.excess]
    spent = 0.0
    for tol in LADDER:
        timed = worker.fit(variant, tol, cap)
        if isinstance(timed, str):
            for entry in entries:
                entry.note = timed.splitlines()[0][:80] if entry.tol is None else ""
            break
        seconds, fitted = timed
        spent += seconds
        excess = judge.excess(fitted)
        for entry in entries:
            if entry.tol is None:
                entry.bias, entry.excess, entry.objective = (
                    fitted.bias,
                    excess,
                    judge.objective(fitted),
                )
                entry.tol = tol if excess <= entry.target else None
        if entries[-1].tol is not None or spent > 3 * cap:
            break
    return entries


def _print_table(entries: list[Entry]) -> None:
    entries = sorted(entries, key=lambda entry: entry.median)
    print(f"  to excess ≤ {entries[0].target:g}:")
    print(f"    {'library':40} {'seconds':>9} {'excess':>9} {'tol':>7} {'start-up':>9}  bias")
    for e in entries:
        seconds = f"{e.median:9.3f}" if e.seconds else f"{'never':>9}"
        tol = f"{e.tol:7.0e}" if e.tol else f"{'':7}"
        name = f"{e.library} ({e.variant})"
        print(
            f"    {name:40} {seconds} {e.excess:9.1e} {tol} {e.start_up:8.2f}s  {e.note or e.bias}"
        )
    print(f"    {_verdict(entries)}", flush=True)


def _verdict(entries: list[Entry]) -> str:
    """How many times faster gapless is than scikit-learn and than the best peer."""
    fastest = {
        library: min(group, key=lambda e: e.median)
        for library, group in _by_library(entries).items()
    }
    ours = fastest.pop("gapless", None)
    if ours is None or not ours.seconds:
        return "gapless does not reach it."
    best = min(fastest.values(), key=lambda e: e.median, default=None)
    said = []
    for peer in filter(None, (fastest.get("sklearn"), best)):
        name = f"{peer.library} ({peer.variant})"
        said.append(
            f"{peer.median / ours.median:.2f} × as fast as {name}"
            if peer.seconds
            else f"{name} never arrives"
        )
    return "gapless: " + "; ".join(dict.fromkeys(said)) if said else "gapless alone was run."


def _by_library(entries: list[Entry]) -> dict[str, list[Entry]]:
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.library, []).append(entry)
    return groups


def _row(problem: Problem, shape: tuple[int, int], entry: Entry) -> dict:
    return {
        "problem": problem.name,
        "n": shape[0],
        "d": shape[1],
        "target_excess": entry.target,
        "library": entry.library,
        "version": importlib.metadata.version(PACKAGES.get(entry.library, entry.library)),
        "variant": entry.variant,
        "bias": entry.bias,
        "tol": entry.tol,
        "seconds_median": f"{entry.median:.4f}",
        "seconds_all": " ".join(f"{s:.4f}" for s in entry.seconds),
        "excess": f"{entry.excess:.3e}",
        "objective": f"{entry.objective:.10g}",
        "start_up_seconds": f"{entry.start_up:.2f}",
        "note": entry.note,
    }


def _write(path: Path, rows: list[dict]) -> None:
    """Write the rows, in place of those of the same problem and library; the others stay."""
    path.parent.mkdir(exist_ok=True)
    done = {(row["problem"], row["library"]) for row in rows}
    kept = []
    if path.exists():
        with path.open(newline="") as file:
            kept = [r for r in csv.DictReader(file) if (r["problem"], r["library"]) not in done]
    order = [problem.name for problem in PROBLEMS]
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(sorted(kept + rows, key=lambda row: order.index(row["problem"])))
    print(
        f"\nwritten to {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}"
    )


if __name__ == "__main__":
    main()
