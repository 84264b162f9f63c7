"""Compares fits away from the usual parameters: the geometric mean, and the worst ratio.

    python -m benchmarks.sweep                                     all, about an hour
    python -m benchmarks.sweep --quick                             some minutes, nothing written
    python -m benchmarks.sweep --only "SVC, letter" --measure cpu  some cases, one measure
    python -m benchmarks.sweep --list                              the names of all cases

A case is a model, a table and its parameters: support vector machines over C and γ, logistic
regression, softmax and linear machines over C, ridge over α, lasso over λ, trees over depth,
forests over max_features, boosting over leaves and bins, neighbours over k and dimension. Its
ratio is the time of the best peer over that of gapless at equal gap: a peer runs at its usual
tolerance (linear models also at 1e-7), the judge measures its gap, and gapless runs at the
loosest tolerance that has no larger one. Trees and
neighbours have no gap; there all libraries answer the same question.

There are two measures: CPU seconds of one thread on one core, which hardly depend on what else the
machine does, and wall time on all cores. Fits of less than half a second are repeated, and the
fastest counts. A peer is ended at ten times what gapless took, and a case then counts as if it had
finished there. Where the processor has AVX-512, gapless runs with it (level v4) and without (v3).
"""

from __future__ import annotations

import argparse
import csv
import importlib
import math
import multiprocessing
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler

from gapless._ground.core import processor

from . import kernels, neighbors, problems, trees
from .judge import Judge
from .paths import correlated

RESULTS = kernels.RESULTS.with_name("sweep.csv")
OURS = "gapless"
# Where gapless starts, and down to where it goes, until its gap is no larger than that of a peer.
FIRST_TOL, LADDER = 1e-4, [10.0**-k for k in range(1, 15)]
# A peer's answer that is further from the best counts as none.
MOST_EXCESS = 0.1
# Below this all are equal: the lower bound itself has no more digits.
LEAST_EXCESS = 1e-10
# A peer may take this many times our time, and at least this many seconds.
SLOWER, LEAST_LIMIT = 10.0, 1.0
# Fits are repeated until they have taken so long together, at most so often.
ENOUGH_SECONDS, MOST_REPEATS = 0.5, 5
CPU, WALL = "cpu", "wall"
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "GAPLESS_NUM_THREADS")


# ---- cases ----


def nothing(model, X, y) -> None:
    """What the judge needs of a model that has no gap."""


@dataclass(frozen=True)
class Case:
    """A model on a table.

    `fits(library)` has the ways in which a library fits it, fit(X, y, tol) → a model; `answer` says
    in the worker's process what the judge needs of a model; peers run at the tolerances `rungs`.
    """

    name: str
    table: str
    fits: Callable[[str], dict[str, Callable]]
    peers: tuple[str, ...]
    rungs: tuple[float | None, ...] = (None,)
    answer: Callable = nothing
    problem: problems.Problem | None = None

    @property
    def family(self) -> str:
        return self.name.split(",")[0]

    @property
    def has_gap(self) -> bool:
        return self.rungs != (None,)


@lru_cache(maxsize=2)
def table(name: str, part: int = 1) -> tuple:
    """X and y of a table, or of a part of its rows."""
    X, y = TABLES[name]()
    return (X, y) if part == 1 else (X[::part], y[::part])


def _some(X, y, rows: int) -> tuple:
    chosen = np.random.default_rng(0).permutation(X.shape[0])[:rows]
    return X[chosen], y[chosen]


def letter() -> tuple:
    data = kernels.letter()
    return _some(StandardScaler().fit_transform(data.X), data.y, 8_000)


def a9a_rows() -> tuple:
    X, y = _some(*problems.a9a(), 8_000)
    return X.toarray(), y


def california() -> tuple:
    X, y = problems.california()
    return _some(np.ascontiguousarray(X[:, :8]), y, 8_000)


def digits() -> tuple:
    data = kernels.digits()
    return np.vstack([data.X, data.X_test]), np.concatenate([data.y, data.y_test])


def forests(rows: int, binary: bool = False) -> tuple:
    data = trees.covtype(rows, binary)
    return data.X, data.y


def normal(columns: int) -> tuple:
    """20,000 training rows and 2,000 query rows, as X and y."""
    X = np.random.default_rng(0).standard_normal((22_000, columns))
    return X[:20_000], X[20_000:]


DIMENSIONS = (2, 5, 10, 20, 50, 200)
TABLES: dict[str, Callable[[], tuple]] = {
    "letter": letter,
    "covtype 10,000": lambda: _some(*problems.covtype(), 10_000),
    "covtype 50,000": lambda: _some(*problems.covtype(), 50_000),
    "a9a": a9a_rows,
    "a9a sparse": problems.a9a,
    "digits": digits,
    "california": california,
    "california cubic": problems.california,
    "newsgroups": problems.newsgroups_computers,
    "golub": problems.golub,
    "iris": lambda: load_iris(return_X_y=True),
    "categories 544 x 69": problems.categories,
    "normal 500 x 300": problems.normal_classes,
    "correlated 1,000 x 10,000": lambda: correlated(1_000, 10_000),
    "forest cover": lambda: forests(50_000),
    "forest cover, two classes": lambda: forests(50_000, binary=True),
    **{f"normal {d}": partial(normal, d) for d in DIMENSIONS},
}


# Support vector machines.


def machine_fits(kind: str, parameters: dict, library: str) -> dict[str, Callable]:
    def fit(X, y, tol):
        return kernels.svm_of(library, kind, {**parameters, "tol": tol}).fit(X, y)

    return {"default": fit}


def machine_gap(options: dict, model, X, y) -> float:
    return kernels.relative_gap(model, X, y, options)


def machine(kind: str, name: str, C: float, gamma: float | str) -> Case:
    parameters = {"C": C, "gamma": gamma} | ({"epsilon": 0.1} if kind == "SVR" else {})
    return Case(
        f"{kind}, {name}, C={C:g}, gamma={gamma}",
        name,
        partial(machine_fits, kind, parameters),
        ("sklearnex", "sklearn"),
        (1e-3,),
        partial(machine_gap, {"kind": kind, "parameters": parameters}),
    )


# Linear models.


def linear_fits(problem: problems.Problem, library: str) -> dict[str, Callable]:
    return importlib.import_module(f".libraries.{library}", __package__).variants(problem)


def coefficients(fitted, X, y):
    return fitted


def linear(
    kind: str, name: str, loss: str, penalty: str, said: str, strength: float, **more: Any
) -> Case:
    title = f"{kind}, {name}, {said}"
    problem = problems.Problem(title, partial(table, name), loss, penalty, strength, (), **more)
    fits = partial(linear_fits, problem)
    peers = ("sklearn", "sklearnex", "skglm", "celer", "liblinear")
    return Case(title, name, fits, peers, (1e-4, 1e-7), coefficients, problem)


def lasso(name: str, share: float) -> Case:
    """Lasso at a share of the λ from which all coefficients are 0; found when the case is run."""
    return linear("lasso", name, "squared", "l1", f"lambda={share:g} max", share)


def elastic_net(name: str, share: float) -> Case:
    """The same with as much of the square."""
    said = f"lambda={share:g} max"
    return linear("elastic net", name, "squared", "elastic_net", said, share / 0.5, l1_ratio=0.5)


def with_strength(case: Case, part: int) -> Case:
    """The case with a number for its strength."""
    if case.family not in ("lasso", "elastic net") or case.problem is None:
        return case
    X, y = table(case.table, part)
    largest = np.max(np.abs(X.T @ (y - y.mean())))
    problem = replace(case.problem, strength=float(case.problem.strength * largest))
    return replace(case, problem=problem, fits=partial(linear_fits, problem))


# Trees and neighbours.


def tree_fits(kind: str, options: dict, library: str) -> dict[str, Callable]:
    def fit(X, y, tol):
        return TREES[kind](library, **options).fit(X, y)

    return {"default": fit}


def one_tree(library: str, regression: bool, **options) -> Any:
    name = "DecisionTreeRegressor" if regression else "DecisionTreeClassifier"
    return trees.maker_of(library, name, "sklearn.tree")(random_state=0, **options)


def forest(library: str, regression: bool, **options) -> Any:
    name = "RandomForestRegressor" if regression else "RandomForestClassifier"
    maker = trees.maker_of(library, name, f"{library}.ensemble")
    return maker(50, n_jobs=-1, random_state=0, **options)


TREES = {
    "tree": one_tree,
    "forest": forest,
    "boosting": trees.boosting,
    "AdaBoost": trees.adaboost,
}
TREE_PEERS = {"forest": ("sklearnex", "sklearn"), "boosting": ("lightgbm", "xgboost", "sklearn")}


def of_trees(kind: str, name: str, said: str, **options) -> Case:
    title = ", ".join(filter(None, (kind, name, said)))
    return Case(title, name, partial(tree_fits, kind, options), TREE_PEERS.get(kind, ("sklearn",)))


def neighbor_fits(k: int, library: str) -> dict[str, Callable]:
    if not neighbors.available(library):
        return {}
    return {"default": lambda X, queries, tol: neighbors.search(library, X, queries, k)}


def nearest(columns: int, k: int) -> Case:
    name = f"normal {columns}"
    title = f"neighbours, {name}, k={k}"
    return Case(title, name, partial(neighbor_fits, k), ("sklearnex", "faiss", "sklearn"))


MACHINES = [
    ("SVC", "letter"),
    ("SVC", "covtype 10,000"),
    ("SVC", "a9a"),
    ("SVC", "digits"),
    ("SVR", "california"),
]
LINEAR_TABLES = ["newsgroups", "a9a sparse", "covtype 50,000", "golub"]
LASSO_TABLES = ["newsgroups", "california cubic", "correlated 1,000 x 10,000", "golub"]
SOFTMAX_TABLES = ["iris", "categories 544 x 69", "normal 500 x 300"]


def cases() -> Iterator[Case]:
    """All cases, family by family."""
    for kind, name in MACHINES:
        for C in (0.1, 1.0, 10.0, 100.0, 1000.0):
            for gamma in (0.1, 1.0, 10.0, "scale"):
                yield machine(kind, name, C, gamma)
    for penalty in ("l1", "l2"):
        for name in LINEAR_TABLES:
            for C in (0.01, 0.1, 1.0, 10.0, 100.0):
                said = f"C={C:g}"
                yield linear(f"logistic {penalty}", name, "logistic", penalty, said, 1 / C)
    for penalty in ("l1", "l2"):
        for name in SOFTMAX_TABLES:
            for C in (0.01, 1.0, 100.0):
                kind, said = f"softmax {penalty}", f"C={C:g}"
                yield linear(kind, name, "softmax", penalty, said, 1 / C, classes="softmax")
    for loss in ("hinge", "squared_hinge"):
        for name in LINEAR_TABLES:
            for C in (0.01, 1.0, 100.0):
                said = f"{loss.replace('_', ' ')}, C={C:g}"
                yield linear("linear SVC", name, loss, "l2", said, 1 / C)
    for loss in ("epsilon_insensitive", "squared_epsilon_insensitive"):
        for C in (0.01, 1.0, 100.0):
            said = f"{loss.replace('_', ' ')}, C={C:g}"
            yield linear("linear SVR", "california", loss, "l2", said, 1 / C)
    for name in ("california cubic", "covtype 50,000", "a9a sparse"):
        for alpha in (0.01, 1.0, 100.0):
            yield linear("ridge", name, "squared", "l2", f"alpha={alpha:g}", alpha)
    for name in LASSO_TABLES:
        for share in (0.3, 0.1, 0.03, 0.01, 0.003):
            yield lasso(name, share)
    for share in (0.5, 0.1, 0.01):
        yield elastic_net("california cubic", share)
    for name, regression in (("forest cover", False), ("california", True)):
        for depth in (1, 3, 6, 10, 20, None):
            yield of_trees("tree", name, f"depth={depth}", regression=regression, max_depth=depth)
        for share in (0.1, "sqrt", 0.5, 1.0):
            said, options = f"max_features={share}", {"max_features": share}
            yield of_trees("forest", name, said, regression=regression, **options)
    for leaves in (4, 31, 127, 255):
        for bins in (15, 63, 255):
            said, options = f"{leaves} leaves, {bins} bins", {"leaves": leaves, "bins": bins}
            yield of_trees("boosting", "forest cover, two classes", said, **options)
    yield of_trees("boosting", "forest cover", "31 leaves, 255 bins")
    yield of_trees("AdaBoost", "forest cover, two classes", "")
    for columns in DIMENSIONS:
        for k in (1, 5, 20, 100):
            yield nearest(columns, k)


# ---- running ----


@dataclass(frozen=True)
class Setting:
    """How a process measures: the seconds that count, and the instruction set of the core."""

    measure: str
    level: str | None = None

    @contextmanager
    def environment(self) -> Iterator[None]:
        """The variables that a process of it starts with."""
        before = dict(os.environ)
        if self.measure == CPU:
            os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
        if self.level is not None:
            os.environ["GAPLESS_ISA"] = self.level
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)


def serve(connection, library: str, measure: str, part: int) -> None:
    """Answer (case, None, …) with the names of the variants, and others with a fit."""
    warnings.simplefilter("ignore")
    if measure == CPU:
        # Libraries with other threads than OpenMP's look at the cores that they may use.
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    name, fits = None, {}
    while (asked := connection.recv()) is not None:
        case, variant, tol, limit = asked
        try:
            if name != case.name:
                name, fits = case.name, case.fits(library)
            if variant is None:
                connection.send(list(fits))
            else:
                data = table(case.table, part)
                connection.send(measured(fits[variant], case, data, tol, measure, limit))
        except Exception as error:
            connection.send(error)


def measured(
    fit: Callable, case: Case, data: tuple, tol: float | None, measure: str, limit: float
) -> tuple:
    """The seconds of the fastest of some fits, and the answer; the process ends at the limit."""
    clock = time.process_time if measure == CPU else time.perf_counter
    fit(*_prepared(fit, *_few(*data)), tol if tol is None else 0.1)  # imports, and may compile
    prepared, taken = _prepared(fit, *data), []
    while len(taken) < MOST_REPEATS and sum(taken) < ENOUGH_SECONDS:
        with ended_after(limit, clock):
            began = clock()
            model = fit(*prepared, tol)
            taken.append(clock() - began)
    return min(taken), case.answer(model, *data)


@contextmanager
def ended_after(seconds: float, clock: Callable[[], float]) -> Iterator[None]:
    """End the process unless the block ends in time.

    A timer of the system would measure too, but makes the clock of CPU seconds a coarse one.
    """
    end, done = clock() + seconds, threading.Event()

    def watch() -> None:
        while not done.wait(0.05):
            if clock() > end:
                os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        done.set()


def _few(X, y) -> tuple:
    """Some rows, of all classes."""
    if y.ndim == 2:  # query rows
        return X[:500], y[:50]
    first = np.unique(y, return_index=True)[1][:100]
    rows = np.unique(np.concatenate([first, np.arange(0, len(y), max(len(y) // 300, 1))]))
    return X[rows], y[rows]


def _prepared(fit: Callable, X, y) -> tuple:
    return fit.prepare(X, y) if hasattr(fit, "prepare") else (X, y)


class Worker:
    """The process of one library in one setting, started again when a fit has ended it."""

    def __init__(self, library: str, setting: Setting, part: int):
        self.library, self.setting, self.part = library, setting, part
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        arguments = (theirs, self.library, self.setting.measure, self.part)
        self.process = context.Process(target=serve, args=arguments, daemon=True)
        with self.setting.environment():
            self.process.start()
        theirs.close()

    def variants(self, case: Case) -> list[str]:
        """The ways in which the library fits it; none where it is not installed."""
        self.connection.send((case, None, None, 0))
        said = self.connection.recv()
        return [] if isinstance(said, Exception) else said

    def fit(self, case: Case, variant: str, tol: float | None, limit: float) -> Run:
        """What a fit took, and what it is worth."""
        self.connection.send((case, variant, tol, limit))
        try:
            said = self.connection.recv()
        except EOFError:
            self.process.join()
            self._start()
            return Run(self.library, variant, tol, limit, None, "ended")
        if isinstance(said, Exception):
            return Run(self.library, variant, tol, math.inf, None, f"{type(said).__name__}: {said}")
        return Run(self.library, variant, tol, *said)

    def end(self) -> None:
        self.connection.send(None)
        self.process.join()


@dataclass(frozen=True)
class Run:
    """A fit: its seconds, the answer, and in words why there is none."""

    library: str
    variant: str
    tol: float | None
    seconds: float
    answer: Any
    failure: str = ""


# ---- the race ----


class Race:
    """One case by all libraries, in one measure."""

    def __init__(self, case: Case, part: int, cap: float):
        self.case, self.cap = case, cap
        self.judge = None if case.problem is None else Judge(case.problem, *table(case.table, part))

    def excess(self, run: Run) -> float:
        """How far a fit is from the best; 0 without a gap, infinite without an answer."""
        if run.failure:
            return math.inf
        if self.judge is not None:
            return max(self.judge.excess(run.answer), 0.0)
        return 0.0 if run.answer is None else max(run.answer, 0.0)

    def run_peers(self, workers: list[Worker], ours: Run) -> list[Run]:
        """All peers, the slow ones ended."""
        limit = min(max(SLOWER * ours.seconds, LEAST_LIMIT), self.cap)
        runs = []
        for worker in workers:
            for variant in worker.variants(self.case):
                for tol in self.case.rungs:
                    runs.append(worker.fit(self.case, variant, tol, limit))
                    if runs[-1].failure:
                        break
        return runs

    def first(self, worker: Worker) -> Run:
        """Ours at a usual tolerance, which determines how long peers may take."""
        return worker.fit(self.case, worker.variants(self.case)[0], self.tol, self.cap)

    @property
    def tol(self) -> float | None:
        return FIRST_TOL if self.case.has_gap else None

    def against(self, worker: Worker, first: Run, peers: list[Run]) -> dict | None:
        """The best peer, with the ratio; None without any."""
        known, found = {first.tol: first}, []
        for peer in peers:
            if peer.failure == "ended":
                found.append((peer.seconds / first.seconds, peer, first))
            elif self.excess(peer) <= MOST_EXCESS:
                ours = self._as_good(worker, known, self.excess(peer))
                found.append((0.0 if ours.failure else peer.seconds / ours.seconds, peer, ours))
        if not found:
            return None
        ratio, peer, ours = min(found, key=lambda one: one[0])
        return {
            "case": self.case.name,
            "measure": worker.setting.measure,
            "level": worker.setting.level or "",
            "ratio": f"{ratio:.3f}",
            "at_least": "yes" if peer.failure else "",
            "seconds": f"{ours.seconds:.4f}",
            "tol": ours.tol or "",
            "excess": f"{self.excess(ours):.1e}",
            "peer": f"{peer.library} ({peer.variant})",
            "peer_seconds": f"{peer.seconds:.4f}",
            "peer_tol": peer.tol or "",
            "peer_excess": "" if peer.failure else f"{self.excess(peer):.1e}",
        }

    def _as_good(self, worker: Worker, known: dict, excess: float) -> Run:
        """Ours at the loosest tolerance that leaves no larger excess."""
        run = known[self.tol]
        for tol in LADDER if self.case.has_gap else ():
            if tol not in known:
                known[tol] = worker.fit(self.case, run.variant, tol, self.cap)
            run = known[tol]
            if self.excess(run) <= max(excess, LEAST_EXCESS):
                return run
        return run if not self.case.has_gap else replace(run, failure="not reached")


class Company:
    """The processes of all libraries and settings, started on first use."""

    def __init__(self, part: int):
        self.part = part
        self.workers: dict[tuple[str, Setting], Worker] = {}

    def __call__(self, library: str, setting: Setting) -> Worker:
        if (library, setting) not in self.workers:
            self.workers[library, setting] = Worker(library, setting, self.part)
        return self.workers[library, setting]

    def end(self) -> None:
        for worker in self.workers.values():
            worker.end()
        self.workers.clear()


def run(case: Case, company: Company, options: argparse.Namespace) -> list[dict]:
    """The rows of a case: one for each measure and level."""
    race, rows = Race(with_strength(case, company.part), company.part, options.cap), []
    for measure in options.measures:
        ours = {level: company(OURS, Setting(measure, level)) for level in options.levels}
        firsts = {level: race.first(worker) for level, worker in ours.items()}
        peers = [company(name, Setting(measure)) for name in case.peers]
        runs = race.run_peers(peers, min(firsts.values(), key=lambda one: one.seconds))
        for level, worker in ours.items():
            rows.append(race.against(worker, firsts[level], runs))
    return [row for row in rows if row is not None]


# ---- the command ----


def main() -> None:
    """Run the requested comparison."""
    options = arguments()
    chosen = [case for case in cases() if options.only.lower() in case.name.lower()]
    if not chosen:
        raise SystemExit(f"--only {options.only!r} matches no case; --list shows them.")
    if options.list:
        print(*[case.name for case in chosen], sep="\n")
        return
    if options.quick:
        chosen = chosen[::7]  # coprime to the numbers of parameters, so that all values occur
    rows, families, company = [], [case.family for case in chosen], Company(options.part)
    alone: list[str] = []
    for k, case in enumerate(chosen):
        began = time.perf_counter()
        new = run(case, company, options)
        rows += new
        progress = f"[{k + 1}/{len(chosen)}, {time.perf_counter() - began:.0f} s]"
        for row in new:
            show(row, progress)
        if not new:
            alone.append(case.name)
            print(f"{progress} {case.name}: no peer comes within {MOST_EXCESS:.0%} of the best")
        if not options.quick:
            write(new)
        if case.family not in families[k + 1 :]:
            company.end()  # tables and models of a family take memory
    summarise(rows)
    if alone:
        print(f"\nwithout a peer, and in no mean: {'; '.join(alone)}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    parser.add_argument("--measure", choices=(CPU, WALL), help="one of the two; both by default")
    parser.add_argument(
        "--levels",
        nargs="+",
        help="instruction sets, as of GAPLESS_ISA; by default v3, and v4 where it is there",
    )
    parser.add_argument("--cap", type=float, default=30.0, help="seconds that a fit may take")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a seventh of the cases, half of the rows, CPU, no file",
    )
    options = parser.parse_args()
    options.levels = options.levels or usual_levels()
    options.measures = [options.measure] if options.measure else [CPU, WALL]
    options.part = 1
    if options.quick:
        options.measures, options.part, options.cap = [options.measure or CPU], 2, 10.0
    return options


def usual_levels() -> list[str]:
    """What most processors have, and the newest instructions where this one has them."""
    return ["v3", "v4"] if processor.level == "v4" else [processor.level]


def show(row: dict, progress: str) -> None:
    """One line for a case."""
    level = f" {row['level']}" if row["level"] else ""
    least = "≥ " if row["at_least"] else ""
    print(
        f"{progress} {row['case']}, {row['measure']}{level}: {least}{float(row['ratio']):.2f} × "
        f"{row['peer']}, {row['seconds']} s against {row['peer_seconds']} s, "
        f"excess {row['excess']} and {row['peer_excess'] or '?'}",
        flush=True,
    )


def summarise(rows: list[dict]) -> None:
    """Geometric mean and worst ratio of each family, and of all."""
    groups: dict[tuple[str, str, str], list[dict]] = {}
    for row in rows:
        for family in (row["case"].split(",")[0], "all"):
            groups.setdefault((row["measure"], row["level"], family), []).append(row)
    print(f"\n{'measure':8} {'level':6} {'family':12} {'cases':>5} {'mean':>7}   worst")
    for (measure, level, family), members in groups.items():
        ratios = [max(float(row["ratio"]), 1e-3) for row in members]
        mean, worst = math.exp(np.mean(np.log(ratios))), members[int(np.argmin(ratios))]
        print(
            f"{measure:8} {level:6} {family:12} {len(members):5} {mean:7.2f}   "
            f"{float(worst['ratio']):.2f} {worst['case']}"
        )


def write(rows: list[dict]) -> None:
    """Write the rows in place of those of the same case, measure and level; the others stay."""

    def key(row: dict) -> tuple[str, str, str]:
        return row["case"], row["measure"], row["level"]

    done, kept = {key(row) for row in rows}, []
    if RESULTS.exists():
        with RESULTS.open(newline="") as file:
            kept = [row for row in csv.DictReader(file) if key(row) not in done]
    order = {case.name: k for k, case in enumerate(cases())}
    together = [row for row in kept + rows if row["case"] in order]
    if not together:
        return
    with RESULTS.open("w", newline="") as file:
        lines = csv.DictWriter(file, list(together[0]), lineterminator="\n")
        lines.writeheader()
        lines.writerows(sorted(together, key=lambda row: (order[row["case"]], *key(row)[1:])))


if __name__ == "__main__":
    main()
