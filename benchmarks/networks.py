"""Compares the training of networks with scikit-learn's and PyTorch's.

    python -m benchmarks.networks
    python -m benchmarks.networks --quick

60,000 digits of MNIST in float32. A perceptron with one hidden layer of 128 units, with the same
batches and steps for all: a whole fit of 3 epochs, and one with as many epochs as it takes until
97 % of 10,000 other digits are right. A small convolutional network, the same layers for all, 3
epochs. The judge prints the accuracy on the other digits. Seconds are those of the processor on one
thread, and of the clock on all threads.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn.neural_network
from threadpoolctl import threadpool_limits

import gapless
from gapless._ground.threads import threads

from .bayes import mnist
from .kernels import RESULTS as KERNEL_RESULTS
from .kernels import Data, timing
from .paths import show, write

RESULTS = KERNEL_RESULTS.with_name("networks.csv")
HIDDEN, BATCH, STEP, GOAL, EPOCHS, MOST_EPOCHS = 128, 200, 0.003, 0.97, 3, 12
MLP, MLP_TO_GOAL = "MLP on MNIST, 3 epochs", "MLP to 97 % of MNIST"
CNN = "CNN on MNIST, 3 epochs"
THREADS = ("one thread", "all threads")
CNN_BATCH, CNN_STEP = 128, 0.002

Predict = Callable[[np.ndarray], np.ndarray]


def digits(part: int) -> Data:
    """Pixels between 0 and 1, in float32."""
    data = mnist(part, np.float32)
    return Data(data.X / 255, data.y, data.X_test / 255, data.y_test)


# ---- perceptrons ---------------------------------------------------------------------------------


def perceptron(cls: Any) -> Callable[[Data, int], Predict]:
    def train(data: Data, epochs: int) -> Predict:
        model = cls(
            HIDDEN, batch_size=BATCH, learning_rate_init=STEP, max_iter=epochs, random_state=0
        )
        return model.fit(data.X, data.y).predict

    return train


def torch_perceptron(data: Data, epochs: int) -> Predict:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(data.X.shape[1], HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 10))
    return torch_trained(model, data.X, data.X.shape[1:], data.y, epochs, BATCH, STEP)


# ---- convolution ---------------------------------------------------------------------------------


def our_convolution(data: Data, epochs: int) -> Predict:
    model = gapless.CNNClassifier(
        batch_size=CNN_BATCH, learning_rate_init=CNN_STEP, max_iter=epochs, random_state=0
    )
    return model.fit(data.X, data.y).predict


def torch_convolution(data: Data, epochs: int) -> Predict:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 49, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )
    return torch_trained(model, data.X, (1, 28, 28), data.y, epochs, CNN_BATCH, CNN_STEP)


def torch_trained(
    model: Any, X: Any, shape: tuple[int, ...], y: Any, epochs: int, batch: int, step: float
) -> Predict:
    import torch

    X, y = torch.from_numpy(X).reshape(-1, *shape), torch.from_numpy(np.asarray(y, dtype=np.int64))
    optimiser = torch.optim.Adam(model.parameters(), lr=step)
    loss = torch.nn.CrossEntropyLoss()
    for _ in range(epochs):
        order = torch.randperm(len(X))
        for rows in order.split(batch):
            optimiser.zero_grad()
            loss(model(X[rows]), y[rows]).backward()
            optimiser.step()

    def predict(X_new: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            scores = model(torch.from_numpy(X_new).reshape(-1, *shape))
        return scores.argmax(dim=1).numpy()

    return predict


PERCEPTRONS = {
    "gapless": perceptron(gapless.MLPClassifier),
    "sklearn": perceptron(sklearn.neural_network.MLPClassifier),
    "torch": torch_perceptron,
}
CONVOLUTIONS = {"gapless": our_convolution, "torch": torch_convolution}


def set_threads(count: int | None) -> int:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    return before


def timed(train: Any, data: Data, epochs: int, count: int | None) -> tuple[float, float]:
    """Seconds of the processor on one thread or of the clock on all; and the accuracy."""
    clock = time.process_time if count == 1 else time.perf_counter
    before = set_threads(count)
    try:
        with threads(count or before), threadpool_limits(count), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            began = clock()
            predict = train(data, epochs)
            taken = clock() - began
    finally:
        set_threads(before)
    return taken, float(np.mean(predict(data.X_test) == data.y_test))


def epochs_needed(train: Any, data: Data) -> int:
    """The fewest epochs after which enough of the other digits are right."""
    for epochs in range(1, MOST_EPOCHS):
        if timed(train, data, epochs, None)[1] >= GOAL:
            return epochs
    return MOST_EPOCHS


def compare(problem: str, libraries: Any, epochs: Any, data: Data, repeats: int) -> list[dict]:
    """All libraries, in turn, on one thread by processor and on all by the clock."""
    rows = []
    for count, name in zip((1, None), THREADS):
        times: dict[str, list[float]] = {library: [] for library in libraries}
        right: dict[str, float] = {}
        for _ in range(repeats):
            for library, train in libraries.items():
                taken, right[library] = timed(train, data, epochs[library], count)
                times[library].append(taken)
        judged = {k: f"accuracy {right[k]:.4f} after {epochs[k]} epochs" for k in libraries}
        rows += [
            timing(f"{problem}, {name}", library, [min(times[library])], judged[library])
            for library in libraries
        ]
    return rows


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description="Networks on MNIST, against peers.")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="", help="problems whose name contains this")
    parser.add_argument(
        "--quick", action="store_true", help="an epoch on a tenth of the rows, nothing written"
    )
    options = parser.parse_args()
    data = digits(10 if options.quick else 1)
    repeats = 1 if options.quick else options.repeats
    few = 1 if options.quick else EPOCHS
    rows = []
    if options.only in MLP:
        rows += compare(MLP, PERCEPTRONS, dict.fromkeys(PERCEPTRONS, few), data, repeats)
    if options.only in MLP_TO_GOAL and not options.quick:
        needed = {name: epochs_needed(train, data) for name, train in PERCEPTRONS.items()}
        rows += compare(MLP_TO_GOAL, PERCEPTRONS, needed, data, repeats)
    if options.only in CNN:
        rows += compare(CNN, CONVOLUTIONS, dict.fromkeys(CONVOLUTIONS, few), data, 1)
    problems = list(dict.fromkeys(row["problem"] for row in rows))
    for problem in problems:
        show([row for row in rows if row["problem"] == problem])
    if not options.quick:
        write(rows, RESULTS, [f"{p}, {t}" for p in (MLP, MLP_TO_GOAL, CNN) for t in THREADS])


if __name__ == "__main__":
    main()
