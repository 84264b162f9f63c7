"""Compares classifiers of raw texts with scikit-learn's vectorisers and classifiers.

    python -m benchmarks.text
    python -m benchmarks.text --only svm

20 newsgroups, 11,314 texts to learn from and 7,532 others; the time is from raw texts to a fitted
model. Linear SVM: tf-idf, squared hinge, C = 1, one class against the rest; the judge computes the
objective with a free bias from the coefficients of every model, and how far it is at most above the
best one, by the dual bound of a fit of ours with a gap of 1e-8. scikit-learn penalises the bias,
and so solves a slightly different problem. Bayes: multinomial, counts, alpha = 1.
"""

from __future__ import annotations

import argparse
import gzip
import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import gapless

from .kernels import RESULTS as KERNEL_RESULTS
from .kernels import Data, timed, timing
from .paths import show, write
from .problems import data_folder

RESULTS = KERNEL_RESULTS.with_name("text.csv")
LIBRARIES = ("gapless", "sklearn")
PREDICTED = "prediction of it"


def newsgroups(train: int) -> Data:
    """Raw texts and the names of their groups."""
    with gzip.open(data_folder() / "newsgroups20.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines]
    parts = []
    for split, count in (("train", train), ("test", None)):
        chosen = [row for row in rows if row["split"] == split]
        order = np.random.default_rng(0).permutation(len(chosen))[:count]
        parts.append([chosen[k]["text"] for k in order])
        parts.append(np.array([chosen[k]["label"] for k in order]))
    return Data(*parts)


# ---- models ----


def svm(library: str) -> Any:
    """tf-idf and a linear support vector machine."""
    if library == "gapless":
        return gapless.TextClassifier("linear_svm")
    return make_pipeline(TfidfVectorizer(), LinearSVC())


def bayes(library: str) -> Any:
    """Counts and multinomial Bayes."""
    if library == "gapless":
        return gapless.TextClassifier("bayes")
    return make_pipeline(CountVectorizer(), MultinomialNB())


# ---- the judge ----


@dataclass(frozen=True)
class SquaredHinge:
    """½‖w‖² + Σ max(0, 1 − t(xᵀw + b))², summed over the classes, and its best value."""

    data: Data

    @cached_property
    def rows(self):
        return TfidfVectorizer().fit_transform(self.data.X)

    @cached_property
    def best(self) -> float:
        model = gapless.LinearSVC(tol=1e-8).fit(self.rows, self.data.y)
        return model.certificate_.dual

    def judge(self, model) -> str:
        fitted = getattr(model, "classifier_", None) or model[-1]
        margins = np.where(self.data.y[:, None] == fitted.classes_, 1.0, -1.0) * (
            self.rows @ fitted.coef_.T + fitted.intercept_
        )
        primal = 0.5 * np.sum(fitted.coef_**2) + np.sum(np.maximum(1 - margins, 0) ** 2)
        return f"objective {primal:.3f}, excess at most {primal / self.best - 1:.1e}"


@dataclass(frozen=True)
class Likelihood:
    """The log-probabilities of Bayes have no rival: they are what is counted."""

    data: Data

    def judge(self, model) -> str:
        p = model.predict_proba(self.data.X_test)
        return f"highest probability on the average {p.max(axis=1).mean():.6f}"


# ---- the comparison ----


@dataclass(frozen=True)
class TextProblem:
    name: str
    make: Callable[[str], Any]
    judge: Callable[[Data], Any]


PROBLEMS = [
    TextProblem("raw texts to linear SVM, 20 newsgroups", svm, SquaredHinge),
    TextProblem("raw texts to multinomial Bayes, 20 newsgroups", bayes, Likelihood),
]


def compare(problem: TextProblem, data: Data, libraries: list[str], repeats: int) -> list[dict]:
    """All libraries on one problem; rows of fits and of predictions."""
    fits, predictions, judge = [], [], problem.judge(data)
    for name in libraries:
        problem.make(name).fit(data.X[:50], data.y[:50]).predict(data.X[:50])  # imports
        runs = [timed(problem.make(name).fit, data.X, data.y) for _ in range(repeats)]
        model = runs[-1][1]
        judged = f"accuracy {np.mean(model.predict(data.X_test) == data.y_test):.4f}"
        judged = f"{judged}, {judge.judge(model)}"
        fits.append(timing(problem.name, name, [seconds for seconds, _ in runs], judged))
        runs = [timed(model.predict, data.X_test) for _ in range(repeats)]
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
        "--quick", action="store_true", help="1,000 texts, one repeat, nothing written"
    )
    options = parser.parse_args()
    chosen = [p for p in PROBLEMS if options.only.lower() in p.name.lower()]
    if not chosen:
        known = "; ".join(p.name for p in PROBLEMS)
        raise SystemExit(f"--only {options.only!r} matches no problem; there are {known}.")
    order = [name for p in PROBLEMS for name in (p.name, f"{p.name}, {PREDICTED}")]
    train, repeats = (1000, 1) if options.quick else (11_314, options.repeats)
    data = newsgroups(train)
    for problem in chosen:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = compare(problem, data, options.libraries, repeats)
        for name in dict.fromkeys(row["problem"] for row in rows):
            show([row for row in rows if row["problem"] == name])
        if not options.quick:
            write(rows, RESULTS, order)


if __name__ == "__main__":
    main()
