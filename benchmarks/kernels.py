"""Compares kernel machines with scikit-learn (whose SVMs are LIBSVM) and scikit-learn-intelex.

    python -m benchmarks.kernels
    python -m benchmarks.kernels --only letter --libraries gapless sklearnex

Support vector machines with the Gaussian kernel, gamma="scale", all libraries at their tol=1e-3.
One judge computes primal, dual and gap of every model from its support vectors and coefficients, in
float64. C was chosen so that the peers take their usual time on these data: 10 for digits, letters
and prices, 1 for the census, 100 for the forests. Predictions are those of the same models. Tuning:
C and γ, and then the fit; peers by a grid of 5 × 5 and five folds; the judge prints the accuracy on
unseen rows. Kernel ridge: one fit; 50 strengths by leave-one-out, for scikit-learn by RidgeCV on
the eigenvectors of the kernel matrix. The last problem has 100,000 rows and an approximate kernel;
the judge prints the accuracy on others.

The whole comparison takes some minutes, most of them scikit-learn's.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from . import problems
from .paths import show, write

RESULTS = Path(__file__).parent / "results" / "kernels.csv"
MODULES = {"gapless": "gapless", "sklearnex": "sklearnex.svm", "sklearn": "sklearn.svm"}
FACTORS = (1 / 16, 1 / 4, 1.0, 4.0, 16.0)  # of gamma="scale", in the grid
CS = (0.1, 1.0, 10.0, 100.0, 1000.0)
ALPHAS = np.geomspace(1e-4, 1e2, 50)


# ---- data: rows to learn from, and others ----


@dataclass(frozen=True)
class Data:
    X: Any
    y: Any
    X_test: Any
    y_test: Any


def _split(X, y, train: int, test: int = 10_000) -> Data:
    return Data(X[:train], y[:train], X[train : train + test], y[train : train + test])


def _shuffled(X, y, train: int, test: int = 10_000) -> Data:
    order = np.random.default_rng(0).permutation(len(y))[: train + test]
    return _split(X[order], y[order], train, test)


def mnist() -> Data:
    X, y = problems.mnist()
    return _split(X.astype(float), y, 10_000)


def a9a() -> Data:
    X, y = problems.a9a()
    return Data(X.toarray(), y, X[:10_000].toarray(), y[:10_000])


def letter(train: int = 16_000) -> Data:
    stored = np.load(problems.data_folder() / "letter.npz")
    X, y = stored["X"] / 15.0, stored["y"]
    return Data(X[:train], y[:train], X[16_000:], y[16_000:])


def california(train: int = 16_500) -> Data:
    X, y = problems.california()
    return _shuffled(X[:, :8], y, train, 3_000)


def digits() -> Data:
    X, y = load_digits(return_X_y=True)
    return _shuffled(X / 16.0, y, 1_200, 597)


# ---- support vector machines ----


def svm_of(library: str, kind: str, options: dict):
    """An SVC or SVR of a library."""
    return getattr(importlib.import_module(MODULES[library]), kind)(**options)


def fit_svm(library: str, data: Data, options: dict) -> Any:
    model = svm_of(library, options["kind"], options["parameters"])
    return model.fit(data.X, data.y)


def judge_svm(model, data: Data, options: dict) -> str:
    """Relative gap (P − D)/P of all problems of a model together, and its test score."""
    gap = relative_gap(model, data.X, data.y, options)
    score = model.score(data.X_test, data.y_test)
    return f"gap {gap:.1e}, {len(model.support_)} vectors, score {score:.4f}"


def relative_gap(model, X, y, options: dict) -> float:
    """(P − D)/P of all problems of a model together, from its support vectors, in float64."""
    parameters = options["parameters"]
    C, gamma = parameters["C"], parameters["gamma"]
    gamma = 1 / (X.shape[1] * X.var()) if gamma == "scale" else gamma
    theta, sides = _coefficients(model, y)
    scores = _scores(X, theta, sides, gamma)
    primal = dual = 0.0
    for column, side in enumerate(sides):
        t, z = theta[:, column], scores[:, column] + np.ravel(model.intercept_)[column]
        half = 0.5 * t @ scores[:, column]
        if options["kind"] == "SVR":
            epsilon = parameters["epsilon"]
            loss = np.maximum(np.abs(y - z) - epsilon, 0)
            gain = y @ t - epsilon * np.abs(t).sum()
        else:
            loss = np.where(side != 0, np.maximum(1 - side * z, 0), 0)
            gain = np.abs(t).sum()
        primal, dual = primal + half + C * loss.sum(), dual + gain - half
    return float((primal - dual) / primal)


def _scores(X, theta, sides: list, gamma: float) -> np.ndarray:
    """K times each column of θ, for the rows that its problem has.

    Rows are taken class by class: two classes meet in one problem, a class with itself in many.
    """
    takes_part = np.column_stack([np.ones(len(X)) if s is None else s != 0 for s in sides])
    groups = np.unique(takes_part, axis=0, return_inverse=True)[1].ravel()
    rows = [np.flatnonzero(groups == g) for g in range(groups.max() + 1)]
    parts = [part for r in rows for part in np.array_split(r, -(-len(r) // 2000))]
    scores = np.zeros_like(theta)
    for one in parts:
        for other in parts:
            columns = np.flatnonzero(takes_part[one[0]] * takes_part[other[0]])
            K = rbf_kernel(X[one], X[other], gamma)
            scores[np.ix_(one, columns)] += K @ theta[np.ix_(other, columns)]
    return scores


def _coefficients(model, y) -> tuple[np.ndarray, list]:
    """θ on all rows, a column for each pair of classes, and the sides of the rows: ±1, or 0."""
    support, stored = model.support_, np.atleast_2d(model.dual_coef_)
    classes = getattr(model, "classes_", None)
    if classes is None or len(classes) == 2:
        theta = np.zeros((len(y), 1))
        theta[support, 0] = stored[0]
        return theta, [None if classes is None else np.where(y == classes[1], 1.0, -1.0)]
    pairs = list(combinations(range(len(classes)), 2))
    theta, sides = np.zeros((len(y), len(pairs))), []
    label = np.searchsorted(classes, y)
    for column, (first, second) in enumerate(pairs):
        for of, line in ((first, second - 1), (second, first)):
            rows = np.flatnonzero(label[support] == of)
            theta[support[rows], column] = stored[line, rows]
        sign = 1.0 if theta[label == first, column].sum() > 0 else -1.0
        sides.append(sign * (1.0 * (label == first) - 1.0 * (label == second)))
    return theta, sides


# ---- tuning ----


def tune(library: str, data: Data, options: dict) -> Any:
    if library == "gapless":
        model = svm_of(library, "SVC", {"C": "loo", "gamma": "loo"})
    else:
        scale = 1 / (data.X.shape[1] * data.X.var())
        grid = {"C": CS, "gamma": [factor * scale for factor in FACTORS]}
        # LIBSVM has one thread, so the search has all; sklearnex has its own.
        jobs = -1 if library == "sklearn" else 1
        model = GridSearchCV(svm_of(library, "SVC", {}), grid, cv=5, n_jobs=jobs)
    return model.fit(data.X, data.y)


def judge_score(model, data: Data, options: dict) -> str:
    return f"score {model.score(data.X_test, data.y_test):.4f}"


# ---- kernel ridge ----


def fit_ridge(library: str, data: Data, options: dict) -> Any:
    module = "gapless" if library == "gapless" else "sklearn.kernel_ridge"
    maker = importlib.import_module(module).KernelRidge
    return maker(alpha=0.1, kernel="rbf", gamma=0.5).fit(data.X, data.y)


def tune_ridge(library: str, data: Data, options: dict) -> Any:
    if library == "gapless":
        from gapless import KernelRidge

        return KernelRidge(alpha="loo", kernel="rbf", gamma=0.5).fit(data.X, data.y)
    values, vectors = np.linalg.eigh(rbf_kernel(data.X, gamma=0.5))
    features = vectors * np.sqrt(np.maximum(values, 0))
    chosen = RidgeCV(ALPHAS, fit_intercept=False).fit(features, data.y)
    coef = vectors @ (chosen.coef_ / np.sqrt(np.maximum(values, values.max() * 1e-15)))
    return _Expansion(data.X, coef)


@dataclass(frozen=True)
class _Expansion:
    """A function Σ cᵢ k(xᵢ, ·)."""

    X: np.ndarray
    coef: np.ndarray

    def predict(self, X):
        return rbf_kernel(X, self.X, 0.5) @ self.coef


def judge_error(model, data: Data, options: dict) -> str:
    return f"test error {np.mean((model.predict(data.X_test) - data.y_test) ** 2):.6f}"


# ---- many rows ----


def fit_many(library: str, data: Data, options: dict) -> Any:
    if library == "gapless":
        from gapless import KernelLogisticRegression

        options = {"approximation": "nystroem", "n_components": 300}
        return KernelLogisticRegression(gamma=0.1, **options).fit(data.X, data.y)
    from sklearn.kernel_approximation import Nystroem

    model = make_pipeline(
        Nystroem(gamma=0.1, n_components=300, random_state=0), LogisticRegression(max_iter=200)
    )
    return model.fit(data.X, data.y)


# ---- the comparison ----


@dataclass(frozen=True)
class KernelProblem:
    name: str
    data: Callable[[], Data]
    run: Callable[[str, Data, dict], Any]
    judge: Callable[[Any, Data, dict], str]
    options: dict = field(default_factory=dict)
    peers: tuple[str, ...] = ("sklearnex", "sklearn")


def _svc(C: float) -> dict:
    return {"kind": "SVC", "parameters": {"C": C, "gamma": "scale"}}


SVR_OPTIONS = {"kind": "SVR", "parameters": {"C": 10.0, "epsilon": 0.1, "gamma": "scale"}}
PROBLEMS = [
    KernelProblem("SVC, mnist 10,000", mnist, fit_svm, judge_svm, _svc(10.0)),
    KernelProblem("SVC, a9a 32,561", a9a, fit_svm, judge_svm, _svc(1.0)),
    KernelProblem(
        "SVC, covtype 20,000",
        lambda: _shuffled(*problems.covtype(), 20_000),
        fit_svm,
        judge_svm,
        _svc(100.0),
    ),
    KernelProblem("SVC, letter 16,000", letter, fit_svm, judge_svm, _svc(10.0)),
    KernelProblem("SVR, california 16,500", california, fit_svm, judge_svm, SVR_OPTIONS),
    KernelProblem("SVC tuned, digits 1,200", digits, tune, judge_score),
    KernelProblem("SVC tuned, letter 2,500", lambda: letter(2_500), tune, judge_score),
    KernelProblem(
        "kernel ridge, california 8,000",
        lambda: california(8_000),
        fit_ridge,
        judge_error,
        peers=("sklearn",),
    ),
    KernelProblem(
        "kernel ridge, 50 strengths, 3,000",
        lambda: california(3_000),
        tune_ridge,
        judge_error,
        peers=("sklearn",),
    ),
    KernelProblem(
        "approximate kernel, covtype 100,000",
        lambda: _shuffled(*problems.covtype(), 100_000),
        fit_many,
        judge_score,
        peers=("sklearn",),
    ),
]
PREDICTED = "prediction of it"


def compare(problem: KernelProblem, libraries: list[str], repeats: int) -> list[dict]:
    """All libraries on one problem; one row for each, and for the predictions of its models."""
    data, rows, models = problem.data(), [], {}
    for name in [one for one in libraries if one in ("gapless", *problem.peers)]:
        step = 5 if problem.run is tune else 50  # five folds need five rows of each class
        few = Data(data.X[::step], data.y[::step], data.X_test, data.y_test)
        problem.run(name, few, problem.options)  # imports
        runs = [
            timed(problem.run, name, data, problem.options) for _ in range(_count(name, repeats))
        ]
        models[name] = runs[-1][1]
        judged = problem.judge(models[name], data, problem.options)
        rows.append(timing(problem.name, name, [seconds for seconds, _ in runs], judged))
    if problem.run is fit_svm:
        for name, model in models.items():
            runs = [timed(model.predict, data.X_test) for _ in range(_count(name, repeats))]
            rows.append(timing(f"{problem.name}, {PREDICTED}", name, [run[0] for run in runs], ""))
    return rows


def _count(library: str, repeats: int) -> int:
    """scikit-learn is slow enough to be measured once."""
    return 1 if library == "sklearn" else repeats


def timed(run: Callable, *args) -> tuple[float, Any]:
    began = time.perf_counter()
    result = run(*args)
    return time.perf_counter() - began, result


def timing(problem: str, library: str, times: list[float], judged: str) -> dict:
    return {
        "problem": problem,
        "library": library,
        "seconds_median": f"{statistics.median(times):.4f}",
        "seconds_all": " ".join(f"{t:.4f}" for t in times),
        "judged": judged,
    }


def main() -> None:
    """Run the requested comparison."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default="", help="problems whose name contains this")
    parser.add_argument("--libraries", nargs="+", default=list(MODULES), choices=list(MODULES))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--quick", action="store_true", help="two short problems, one repeat, nothing written"
    )
    options = parser.parse_args()
    chosen = [p for p in PROBLEMS if options.only.lower() in p.name.lower()]
    if not chosen:
        known = "; ".join(p.name for p in PROBLEMS)
        raise SystemExit(f"--only {options.only!r} matches no problem; there are {known}.")
    names = [p.name for p in PROBLEMS]
    order = [name for one in names for name in (one, f"{one}, {PREDICTED}")]
    for problem in [p for p in chosen if p.run is tune] if options.quick else chosen:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = compare(problem, options.libraries, 1 if options.quick else options.repeats)
        for name in dict.fromkeys(row["problem"] for row in rows):
            show([row for row in rows if row["problem"] == name])
        if not options.quick:
            write(rows, RESULTS, order)


if __name__ == "__main__":
    main()
