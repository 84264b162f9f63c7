"""Compares naive Bayes with scikit-learn.

    python -m benchmarks.bayes
    python -m benchmarks.bayes --only newsgroups

A run is a fit and the prediction of other rows. Gaussian: 60,000 digits of MNIST and 10,000 others,
float64 and float32. Multinomial: counts of words of 20 newsgroups, 11,314 texts and 7,532 others;
the counting is not included. The judge prints the accuracy, and the largest difference of
log-probabilities from scikit-learn's.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn.naive_bayes
from sklearn.feature_extraction.text import CountVectorizer

import gapless

from .kernels import RESULTS as KERNEL_RESULTS
from .kernels import Data, timed, timing
from .paths import show, write
from .problems import data_folder
from .text import newsgroups

RESULTS = KERNEL_RESULTS.with_name("bayes.csv")
LIBRARIES = {"gapless": gapless, "sklearn": sklearn.naive_bayes}


# ---- data ----


def mnist(part: int, dtype: type) -> Data:
    """Pixels of digits, and which digits they are."""
    stored = np.load(data_folder() / "mnist.npz")
    X, X_test = (stored[name].reshape(-1, 784).astype(dtype) for name in ("X_train", "X_test"))
    rows = slice(None, len(X) // part)
    return Data(X[rows], stored["y_train"][rows], X_test, stored["y_test"])


def words(part: int) -> Data:
    """Counts of words, and the groups of the texts."""
    raw = newsgroups(11_314 // part)
    wording = CountVectorizer()
    return Data(wording.fit_transform(raw.X), raw.y, wording.transform(raw.X_test), raw.y_test)


# ---- the comparison ----


@dataclass(frozen=True)
class BayesProblem:
    name: str
    model: str
    data: Callable[[int], Data]


PROBLEMS = [
    BayesProblem("Gaussian, MNIST", "GaussianNB", lambda part: mnist(part, np.float64)),
    BayesProblem("Gaussian, MNIST, float32", "GaussianNB", lambda part: mnist(part, np.float32)),
    BayesProblem("multinomial, 20 newsgroups", "MultinomialNB", words),
]


def run(library: str, problem: BayesProblem, data: Data) -> tuple[Any, Any]:
    """The fitted model and its predictions."""
    model = getattr(LIBRARIES[library], problem.model)().fit(data.X, data.y)
    return model, model.predict(data.X_test)


def judge(problem: BayesProblem, data: Data, model: Any, predicted: Any) -> str:
    """Accuracy on the other rows, and the distance from scikit-learn's probabilities."""
    few = data.X_test[:1000]
    peer = getattr(sklearn.naive_bayes, problem.model)().fit(data.X, data.y)
    apart = np.abs(model.predict_proba(few) - peer.predict_proba(few)).max()
    return f"accuracy {np.mean(predicted == data.y_test):.4f}, probabilities {apart:.1e} apart"


def compare(problem: BayesProblem, libraries: list[str], repeats: int, part: int) -> list[dict]:
    """All libraries on one problem, or a part of its rows."""
    data = problem.data(part)
    times: dict[str, list[float]] = {name: [] for name in libraries}
    answers: dict[str, Any] = {}
    for name in libraries:
        run(name, problem, Data(data.X[:99], data.y[:99], data.X_test[:9], None))  # imports
    for _ in range(repeats):
        # In turn, so that a busy moment of the machine does not hit one of them alone.
        for name in libraries:
            answers.pop(name, None)
            seconds, answers[name] = timed(run, name, problem, data)
            times[name].append(seconds)
    return [
        timing(problem.name, name, times[name], judge(problem, data, *answers[name]))
        for name in libraries
    ]


def main() -> None:
    """Run the requested comparison."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default="", help="problems whose name contains this")
    parser.add_argument("--libraries", nargs="+", default=list(LIBRARIES), choices=LIBRARIES)
    parser.add_argument("--repeats", type=int, default=7)
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
        rows = compare(problem, options.libraries, repeats, part)
        show(rows)
        if not options.quick:
            write(rows, RESULTS, [p.name for p in PROBLEMS])


if __name__ == "__main__":
    main()
