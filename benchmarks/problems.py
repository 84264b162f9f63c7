"""The problems: data, objective, and the excess at which times are compared.

All minimise P(w, b) = Σᵢ ℓ(yᵢ, xᵢᵀw + b) + λ·R(w), sums and not means. The data sets are in
`$GAPLESS_DATA`, or in `shared/data` next to the repository.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

ROOT = Path(__file__).resolve().parents[1]
# Errors up to this cost nothing in the ε-insensitive losses.
EPSILON = 0.1


@dataclass(frozen=True)
class Problem:
    """One line of the comparison.

    `classes` says how several columns of predictions arise: "one" (a single column), "softmax" or
    "one_vs_rest". `excess` lists the relative excesses (P − P*)/P* at which the times are compared,
    the loosest first.
    """

    name: str
    data: Callable[[], tuple]
    loss: str
    penalty: str
    strength: float
    excess: tuple[float, ...]
    l1_ratio: float = 1.0
    classes: str = "one"


def data_folder() -> Path:
    folder = Path(os.environ.get("GAPLESS_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        raise SystemExit(
            f"no data in {folder}; set GAPLESS_DATA to the folder that has covtype.npz, mnist.npz, "
            "a9a.npz, newsgroups20.jsonl.gz and california_housing.csv.gz."
        )
    return folder


def covtype() -> tuple:
    """300,000 × 54 dense: 10 standardised measurements, 44 indicators; class 2 against the rest."""
    stored = np.load(data_folder() / "covtype.npz")
    rows = np.sort(np.random.default_rng(0).permutation(len(stored["y"]))[:300_000])
    numbers = StandardScaler().fit_transform(stored["num"][rows].astype(float))
    X = np.hstack(
        [numbers, np.eye(4)[stored["wilderness"][rows]], np.eye(40)[stored["soil"][rows]]]
    )
    return X, np.where(stored["y"][rows] == 2, 1.0, -1.0)


def mnist() -> tuple:
    """60,000 × 784 dense float32 in [0, 1]; ten digits."""
    stored = np.load(data_folder() / "mnist.npz")
    X = stored["X_train"].reshape(60_000, 784).astype(np.float32) / np.float32(255)
    return X, stored["y_train"].astype(np.int64)


def a9a() -> tuple:
    """32,561 × 123 sparse binary features of the adult census; income above 50,000 or not."""
    stored = np.load(data_folder() / "a9a.npz")
    X = np.unpackbits(stored["X_train"], axis=1)[:, : int(stored["d"])]
    return sp.csr_matrix(X, dtype=float), stored["y_train"].astype(float)


@cache
def _newsgroups() -> tuple:
    with gzip.open(data_folder() / "newsgroups20.jsonl.gz", "rt") as lines:
        posts = [post for post in map(json.loads, lines) if post["split"] == "train"]
    X = TfidfVectorizer(min_df=2).fit_transform(post["text"] for post in posts)
    return sp.csr_matrix(X), np.array([post["label"] for post in posts])


def newsgroups() -> tuple:
    """11,314 × 56,436 sparse tf-idf of words; twenty groups."""
    X, groups = _newsgroups()
    return X, np.unique(groups, return_inverse=True)[1]


def newsgroups_computers() -> tuple:
    """The same words; a group about computers (comp.*) or not, as ±1."""
    X, groups = _newsgroups()
    return X, np.where(np.char.startswith(groups, "comp."), 1.0, -1.0)


def golub() -> tuple:
    """72 × 7,129 dense: standardised activities of genes; two kinds of leukaemia."""
    stored = np.load(data_folder() / "microarray_golub.npz")
    X = StandardScaler().fit_transform(stored["X"].astype(float))
    return X, np.where(stored["y"] == 1, 1.0, -1.0)


def categories(rows: int = 544, columns: int = 23, levels: int = 3, classes: int = 19) -> tuple:
    """Rows × (columns · levels) dense zeros and ones, as a survey gives them; drawn by class."""
    rng = np.random.default_rng(0)
    y = np.concatenate([np.arange(classes), rng.integers(0, classes, rows - classes)])
    chances = rng.dirichlet(np.full(levels, 0.4), (classes, columns))
    drawn = (rng.random((rows, columns, 1)) > chances[y].cumsum(axis=2)[:, :, :-1]).sum(axis=2)
    return np.eye(levels)[drawn].reshape(rows, -1), y


def normal_classes(rows: int = 500, columns: int = 300, classes: int = 19) -> tuple:
    """Standardised normal columns, half of them correlated, around a centre for each class."""
    rng = np.random.default_rng(0)
    y = np.concatenate([np.arange(classes), rng.integers(0, classes, rows - classes)])
    X = rng.normal(size=(rows, columns)) + rng.normal(0, 3 / columns**0.5, (classes, columns))[y]
    half = columns // 2
    X[:, :half] += 0.7 * X[:, half : 2 * half]
    return StandardScaler().fit_transform(X), y


def california() -> tuple:
    """20,433 × 164 dense: standardised monomials of degree 1 to 3 of eight features; the price."""
    with gzip.open(data_folder() / "california_housing.csv.gz", "rt") as lines:
        table = np.genfromtxt(lines, delimiter=",", skip_header=1, usecols=range(9))
    table = table[~np.isnan(table).any(axis=1)]
    basis = PolynomialFeatures(3, include_bias=False)
    X = StandardScaler().fit_transform(
        basis.fit_transform(StandardScaler().fit_transform(table[:, :8]))
    )
    return X, StandardScaler().fit_transform(table[:, 8:]).ravel()


PROBLEMS = [
    Problem("covtype logistic L2", covtype, "logistic", "l2", 1.0, (1e-6,)),
    Problem("newsgroups logistic L1", newsgroups_computers, "logistic", "l1", 1.0, (5e-5, 1e-5)),
    Problem("mnist softmax L2", mnist, "softmax", "l2", 100.0, (1e-4,), classes="softmax"),
    Problem(
        "newsgroups squared hinge",
        newsgroups,
        "squared_hinge",
        "l2",
        1.0,
        (1e-4,),
        classes="one_vs_rest",
    ),
    Problem("a9a hinge", a9a, "hinge", "l2", 1.0, (8e-5, 1e-6)),
    Problem("covtype ridge", covtype, "squared", "l2", 10.0, (1e-8,)),
    Problem("newsgroups lasso", newsgroups_computers, "squared", "l1", 1.0, (1e-6,)),
    Problem(
        "california elastic net", california, "squared", "elastic_net", 20.0, (1e-6,), l1_ratio=0.5
    ),
]


def shrink(X, y, rows: int = 1500) -> tuple:
    """A random part of the rows, for a first look."""
    chosen = np.sort(np.random.default_rng(0).permutation(X.shape[0])[:rows])
    return X[chosen], y[chosen]
