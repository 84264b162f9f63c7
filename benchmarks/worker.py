"""A process that fits one library's models on demand, so that a slow one can be ended."""

from __future__ import annotations

import importlib
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from .problems import Problem, shrink


def save_data(folder: Path, X, y) -> None:
    """Put the data where the workers find it."""
    if sp.issparse(X):
        sp.save_npz(folder / "X.npz", X, compressed=False)
    else:
        np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)


def load_data(folder: Path) -> tuple:
    """The data that `save_data` put there."""
    sparse = folder / "X.npz"
    X = sp.load_npz(sparse) if sparse.exists() else np.load(folder / "X.npy")
    return X, np.load(folder / "y.npy")


def serve(connection, library: str, problem: Problem, folder: Path) -> None:
    """Report the variants and the cost of starting, then fit (variant, tol) on request.

    Returns an exception instead if a library raises one: it concerns that library alone.
    """
    X, y = load_data(folder)
    began = time.perf_counter()
    fits = importlib.import_module(f".libraries.{library}", __package__).variants(problem)
    imported = time.perf_counter() - began
    # The first fit compiles where a library compiles at run time; on few rows it costs little else.
    began = time.perf_counter()
    for fit in fits.values():
        _answer(fit, _prepare(fit, *shrink(X, y, 300)), 0.1)
    connection.send((list(fits), imported, time.perf_counter() - began))
    prepared = {name: _prepare(fit, X, y) for name, fit in fits.items()}
    while (asked := connection.recv()) is not None:
        variant, tol = asked
        connection.send(_answer(fits[variant], prepared[variant], tol))


def _answer(fit, data: tuple, tol: float):
    began = time.perf_counter()
    try:
        fitted = fit(*data, tol)
    except Exception as error:
        return error
    return time.perf_counter() - began, fitted


def _prepare(fit, X, y) -> tuple:
    return fit.prepare(X, y) if hasattr(fit, "prepare") else (X, y)
