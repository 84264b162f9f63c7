"""Costs of decisions from a file: a table with a row for each true class, a column per decision."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from .._ground.cost_matrices import read_cost_matrix
from ..data import TableError, read_table

Array = np.ndarray


def read_costs(costs: Any, classes: Array) -> Array:
    """Costs (K, K) of all classes in their order, from a file, a table of numbers or a mapping.

    Parameters
    ----------
    costs : path, array-like of shape (K, K) or (K,), or mapping
        A file has the classes in its first column and in its header. A mapping gives for each class
        what missing it costs.
    classes : ndarray of shape (K,)
        All classes, sorted.

    Returns
    -------
    ndarray of shape (K, K)
        Row i, column j: what it costs to decide for class j where class i is true.

    Raises
    ------
    TableError
        When a class is missing or unknown, or a cost is not a number; the message names it.
    """
    table = _from_file(Path(costs), classes) if isinstance(costs, str | os.PathLike) else costs
    try:
        matrix = read_cost_matrix(table, classes)
    except ValueError as error:
        raise TableError(f"the costs cannot be used: {error}") from error
    if not np.any(matrix != matrix.diagonal()[:, None]):
        raise TableError(
            "all decisions cost the same, so it does not matter which one is taken; give mistakes "
            "a higher cost than correct decisions."
        )
    return matrix


def _from_file(path: Path, classes: Array) -> Array:
    frame = read_table(path).frame
    shape = (
        f"{path} must have a header with the predicted classes, and a row for each true class that "
        "begins with its name"
    )
    if frame.width < 2:
        raise TableError(f"{shape}; it has {frame.width} columns.")
    true = [str(label) for label in frame[:, 0].to_list()]
    names = [str(label) for label in classes.tolist()]
    for what, found in (("rows", true), ("columns", frame.columns[1:])):
        _check_classes(found, names, f"{shape}. Its {what}")
    by_name = frame.select(names).to_numpy()
    if by_name.dtype.kind not in "iuf" or not np.all(np.isfinite(by_name.astype(float))):
        raise TableError(f"{shape}; all costs must be numbers, and none may be missing.")
    return by_name[[true.index(name) for name in names]].astype(float)


def _check_classes(found: list[str], classes: list[str], where: str) -> None:
    unknown = [name for name in found if name not in classes]
    missing = [name for name in classes if name not in found]
    if unknown:
        raise TableError(
            f"{where} contain {unknown[0]!r}, which is not one of the classes {classes}."
        )
    if missing:
        raise TableError(f"{where} lack the class {missing[0]!r}.")
    if len(found) > len(classes):
        raise TableError(f"{where} name a class twice.")
