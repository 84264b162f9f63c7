"""Compares kernel PCA and denoising by it with scikit-learn.

    python -m benchmarks.kernel_pca
    python -m benchmarks.kernel_pca --only usps --threads 1

20 components of 8,000 digits with a Gaussian kernel: the judge computes the variance that the
projections of the training rows keep, from the coefficients of each library and in float64. And the
denoising of digits: 4,000 noisy rows to learn from, 500 others to clean; the judge knows the clean
ones. The parameters of every row were chosen on further noisy training rows: with the map that
scikit-learn learns, both libraries are best at the same ones. Times are processor seconds on one
thread, the least of several, so that they can be compared on a busy machine; with --threads 2 they
are seconds.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import sklearn.decomposition
import threadpoolctl

import gapless
from gapless._ground.threads import threads

from .kernels import RESULTS as KERNEL_RESULTS
from .kernels import timing
from .paths import show, write
from .problems import data_folder

RESULTS = KERNEL_RESULTS.with_name("kernel_pca.csv")
COMPONENTS = 20
# About 1/(784 · variance of the pixels), the width of SVC(gamma="scale").
GAMMA = 0.0133
NOISE = 0.25

Array = np.ndarray
Fit = Callable[[Any], Any]


# ---- components ----


def digits(part: int, dtype: type) -> Array:
    """8,000 × 784 pixels from 0 to 1."""
    stored = np.load(data_folder() / "mnist.npz")["X_train"][:8000:part]
    return stored.reshape(-1, 784).astype(dtype) / dtype(255)


def ours(X: Array) -> Array:
    """The coordinates of the rows by gapless."""
    model = gapless.KernelPCA(COMPONENTS, kernel="rbf", gamma=GAMMA, random_state=0)
    return model.fit_transform(X)


def theirs(solver: str, X: Array) -> Array:
    """Those by scikit-learn."""
    maker = partial(sklearn.decomposition.KernelPCA, kernel="rbf", gamma=GAMMA, random_state=0)
    return maker(COMPONENTS, eigen_solver=solver).fit_transform(X)


def kept(X: Array, coordinates: Array) -> str:
    """The share of the variance in feature space that the span of the coordinates keeps."""
    X = X.astype(np.float64)
    K = gapless.kernels.Gaussian(GAMMA).gram(X)
    means = K.mean(axis=0)
    total = np.trace(K) - len(K) * means.mean()
    V = np.linalg.qr(coordinates.astype(np.float64) - coordinates.mean(axis=0))[0]
    product = K @ V
    product -= product.mean(axis=0)
    return f"variance kept {np.sum(V * product) / total:.9f}"


# ---- denoising ----


@dataclass(frozen=True)
class Noisy:
    """Rows to learn from and rows to clean, and the latter without noise."""

    train: Array
    test: Array
    clean: Array


def usps(part: int) -> Noisy:
    """Digits of 16 × 16 pixels from 0 to 1, and noise of standard deviation 0.25 on all of them."""
    stored, rng = np.load(data_folder() / "usps.npz"), np.random.RandomState(0)
    X, clean = stored["X_train"][:4000:part].astype(float), stored["X_test"][:500].astype(float)
    train = X + rng.normal(scale=NOISE, size=X.shape)
    return Noisy(train, clean + rng.normal(scale=NOISE, size=clean.shape), clean)


# The best of γ from 0.00125 to 0.02, 80 to 160 components and α from 0.001 to 1, by rows 4,000 to
# 4,499 with noise of their own.
MAP = {"n_components": 160, "gamma": 0.005, "alpha": 0.03}


def fixed_point(data: Noisy) -> Array:
    """Pre-images by the fixed point, which needs no map."""
    model = gapless.KernelPCA(80, kernel="rbf", gamma=0.01, random_state=0)
    return model.fit(data.train).denoise(data.test)


def learned_map(maker: Callable, data: Noisy) -> Array:
    """Pre-images by a map from coordinates to rows, learned by kernel ridge regression."""
    model = maker(kernel="rbf", fit_inverse_transform=True, random_state=0, **MAP)
    return model.fit(data.train).inverse_transform(model.transform(data.test))


def linear(data: Noisy) -> Array:
    """Linear PCA, with the number of components that is best."""
    model = sklearn.decomposition.PCA(64, random_state=0).fit(data.train)
    return model.inverse_transform(model.transform(data.test))


def error(data: Noisy, found: Array) -> str:
    """The mean squared error of the cleaned pixels, and that of the noisy ones."""
    before, after = (np.mean((rows - data.clean) ** 2) for rows in (data.test, found))
    return f"mean squared error {after:.4f} (noisy: {before:.4f})"


# ---- the comparison ----


@dataclass(frozen=True)
class Problem:
    name: str
    data: Callable[[int], Any]
    libraries: dict[str, Fit]
    judge: Callable[[Any, Any], str]


COMPONENT_LIBRARIES: dict[str, Fit] = {
    "gapless": ours,
    "sklearn randomized": partial(theirs, "randomized"),
    "sklearn arpack": partial(theirs, "arpack"),
}
PROBLEMS = [
    Problem(
        "20 components, mnist 8,000",
        lambda part: digits(part, np.float64),
        COMPONENT_LIBRARIES,
        kept,
    ),
    Problem(
        "20 components, mnist 8,000 float32",
        lambda part: digits(part, np.float32),
        COMPONENT_LIBRARIES,
        kept,
    ),
    Problem(
        "denoising, usps 4,000",
        usps,
        {
            "gapless": partial(learned_map, partial(gapless.KernelPCA, pre_image="ridge")),
            "gapless fixed point": fixed_point,
            "sklearn": partial(
                learned_map, partial(sklearn.decomposition.KernelPCA, eigen_solver="randomized")
            ),
            "linear PCA": linear,
        },
        error,
    ),
]


def compare(problem: Problem, repeats: int, part: int, count: int) -> list[dict]:
    """All libraries on one problem, or a part of its rows, in turn."""
    data = problem.data(part)
    clock = time.process_time if count == 1 else time.perf_counter
    times: dict[str, list[float]] = {name: [] for name in problem.libraries}
    answers: dict[str, Any] = {}
    with ExitStack() as stack:
        stack.enter_context(threadpoolctl.threadpool_limits(count))
        stack.enter_context(threads(count))
        for fit in problem.libraries.values():
            fit(problem.data(40))  # imports
        for _ in range(repeats):
            for name, fit in problem.libraries.items():
                began = clock()
                answers[name] = fit(data)
                times[name].append(clock() - began)
    return [
        timing(problem.name, name, [min(times[name])], problem.judge(data, answers[name]))
        for name in problem.libraries
    ]


def main() -> None:
    """Run the requested comparison."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default="", help="problems whose name contains this")
    parser.add_argument("--threads", type=int, default=1)
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
            rows = compare(problem, repeats, part, options.threads)
        show(rows)
        if not options.quick:
            write(rows, RESULTS, [p.name for p in PROBLEMS])


if __name__ == "__main__":
    main()
