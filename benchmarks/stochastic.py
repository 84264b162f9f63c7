"""Compares epochs of stochastic gradient descent with scikit-learn's.

    python -m benchmarks.stochastic
    python -m benchmarks.stochastic --quick

The hinge loss on 60,000 digits of MNIST, each of the ten against the rest. scikit-learn takes the
rows one by one; ours are also in batches, all classes at once. Seconds are those of the processor,
on one thread, per epoch: the difference between fits of one and of several epochs, so that reading
the data and the certificate do not count. The judge prints the accuracy on 10,000 other digits, and
what a fit costs beside its epochs.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
import sklearn.linear_model
from threadpoolctl import threadpool_limits

import gapless
from gapless._ground.threads import threads

from .bayes import mnist
from .kernels import RESULTS as KERNEL_RESULTS
from .kernels import Data, timing
from .paths import show, write

RESULTS = KERNEL_RESULTS.with_name("stochastic.csv")
EPOCHS = 5
QUICK = 10  # a quick run takes every so-manieth row
LIBRARIES: dict[str, tuple[Any, dict[str, Any]]] = {
    "sklearn, single rows": (sklearn.linear_model.SGDClassifier, {}),
    "gapless, single rows": (gapless.SGDClassifier, {}),
    "gapless, batches of 32": (gapless.SGDClassifier, {"batch_size": 32}),
    "gapless, batches of 256": (gapless.SGDClassifier, {"batch_size": 256}),
}


def digits(part: int) -> Data:
    """Pixels between 0 and 1."""
    data = mnist(part, np.float64)
    return Data(data.X / 255, data.y, data.X_test / 255, data.y_test)


def seconds(library: str, data: Data, epochs: int) -> tuple[float, Any]:
    """Processor seconds of a fit with this many epochs, and the model."""
    cls, parameters = LIBRARIES[library]
    model = cls(**parameters, max_iter=epochs, tol=None, random_state=0)
    began = time.process_time()
    model.fit(data.X, data.y)
    return time.process_time() - began, model


def compare(repeats: int, part: int) -> list[dict]:
    """All libraries, in turn."""
    data = digits(part)
    times: dict[str, list[float]] = {name: [] for name in LIBRARIES}
    beside: dict[str, list[float]] = {name: [] for name in LIBRARIES}
    models: dict[str, Any] = {}
    with threadpool_limits(1), threads(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(repeats):
            for name in LIBRARIES:
                one, _ = seconds(name, data, 1)
                all_, models[name] = seconds(name, data, 1 + EPOCHS)
                times[name].append((all_ - one) / EPOCHS)
                beside[name].append(one - times[name][-1])
    return [
        timing(name_of(part), name, [min(times[name])], judge(models[name], data, beside[name]))
        for name in LIBRARIES
    ]


def name_of(part: int) -> str:
    """The problem, on every row or every so-manieth."""
    return "hinge, MNIST" if part == 1 else f"hinge, MNIST, one of {part} rows"


def judge(model: Any, data: Data, beside: list[float]) -> str:
    """Accuracy on the other rows, and the seconds that are no epoch's."""
    accuracy = model.score(data.X_test, data.y_test)
    return f"accuracy {accuracy:.4f}, {max(min(beside), 0.0):.2f} s beside the epochs"


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description="Epochs of SGD on MNIST, against scikit-learn.")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    arguments = parser.parse_args()
    part = QUICK if arguments.quick else 1
    rows = compare(arguments.repeats, part)
    show(rows)
    write(rows, RESULTS, [name_of(1), name_of(QUICK)])


if __name__ == "__main__":
    main()
