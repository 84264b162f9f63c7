"""Confusion matrix: which class was mistaken for which, with the share of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._ground.docstrings import described
from .._ground.drawing import AXES, pictures
from .._ground.notebook import ShownInNotebook
from .inputs import read_decisions
from .intervals import EXACT, MEASURED, share

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class ConfusionMatrix(ShownInNotebook):
    """How often each class was predicted for each. Also behaves like scikit-learn's array.

    Attributes
    ----------
    counts : ndarray of shape (K, K)
        Row i, column j: the rows of class i that were predicted to be of class j, by weight.
    classes : ndarray of shape (K,)
        The classes.
    sizes : ndarray of shape (K,)
        How many rows each class has; with weights that are not counts, effective numbers.
    level : float
        Confidence level of intervals.
    """

    counts: Array
    classes: Array
    sizes: Array
    level: float

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.counts, dtype=dtype, copy=copy)

    def __getitem__(self, at: Any) -> Any:
        return self.counts[at]

    def __len__(self) -> int:
        return len(self.counts)

    def shares(self, method: str = EXACT) -> tuple[Array, Array, Array]:
        """The share of each class that was predicted to be of each, with low and high ends.

        Parameters
        ----------
        method : {"exact", "wilson"}, default="exact"
            The kind of interval; each holds for its cell alone.

        Returns
        -------
        value, low, high : ndarray of shape (K, K)
            Each row of `value` sums to 1; a class without rows has 0, and intervals from 0 to 1.
        """
        total = self.counts.sum(axis=1, keepdims=True)
        value = np.divide(self.counts, total, out=np.zeros(self.counts.shape), where=total > 0)
        low, high = share(value * self.sizes[:, None], self.sizes[:, None], self.level, method)
        return value, low, high

    def __str__(self) -> str:
        names = [str(label) for label in self.classes.tolist()]
        cells = [[f"{x:g}" for x in row] for row in self.counts]
        width = max(len(text) for text in [*names, *(cell for row in cells for cell in row)])
        left = max(max(map(len, names)), len("true"))
        lines = [f"{'true':<{left}} | predicted"]
        lines += [f"{'':<{left}} | " + " ".join(f"{name:>{width}}" for name in names)]
        lines += [
            f"{name:<{left}} | " + " ".join(f"{cell:>{width}}" for cell in row)
            for name, row in zip(names, cells)
        ]
        return "\n".join(lines)

    @described(AXES)
    def plot(self, *, axes=None):
        """Draw the shares of each class as shades, with the counts; returns the axes."""
        plots = pictures()
        value, low, high = self.shares()
        names = [str(label) for label in self.classes.tolist()]
        return plots.confusion(self.counts, value, names, low=low, high=high, axes=axes)


@described(MEASURED)
def confusion_matrix(
    y_true: Any,
    y_pred: Any,
    *,
    labels: Any = None,
    sample_weight: Any = None,
    level: float = 0.95,
) -> ConfusionMatrix:
    """Count which class was predicted for the rows of each class.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        True and predicted classes.
    labels : array-like of shape (K,), default=None
        The classes and their order; rows of others are left out. None takes all of them, sorted.

    Returns
    -------
    ConfusionMatrix
        Plain data with `shares()` and `plot()`.

    Examples
    --------
    >>> from gapless.metrics import confusion_matrix
    >>> print(confusion_matrix(["cat", "dog", "dog", "cat"], ["cat", "dog", "cat", "cat"]))
    true | predicted
         | cat dog
    cat  |   2   0
    dog  |   1   1
    """
    data = read_decisions(y_true, y_pred, sample_weight, labels)
    K, rows = len(data.classes), data.rows
    is_in = (data.true >= 0) & (data.predicted >= 0)
    cell = (data.true * K + data.predicted)[is_in]
    counts = np.bincount(cell, rows.mass[is_in], K * K).reshape(K, K)
    sizes = [rows.only(is_in & (data.true == k)).size for k in range(K)]
    if np.all(counts == np.floor(counts)):
        counts = counts.astype(np.int64)
    return ConfusionMatrix(counts, data.classes, np.array(sizes), level)
