"""The matrices of distances that agglomeration passes through, one for each step, for teaching."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..._ground.drawing import numbered, pictures
from .linkage_checks import joined_row
from .merge_trees import MergeTree

Array = np.ndarray

# More rows than anyone reads.
MOST_ROWS = 200
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, eq=False)
class DistanceMatrix:
    """The distances between the clusters before a merge. Prints as a table.

    Attributes
    ----------
    step : int
        The number of the merge, from 1 on.
    names : tuple of str
        The clusters: "a", or "(a,b)" for two that merged.
    values : ndarray of shape (k, k)
        The distances between them.
    merged : tuple of (int, int), or None
        The positions of the clusters that merge next; None after the last merge.
    height : float
        Their distance; NaN after the last merge.
    """

    step: int
    names: tuple[str, ...]
    values: Array
    merged: tuple[int, int] | None
    height: float

    def __str__(self) -> str:
        title = numbered("D", self.step)
        cells = [[title, *self.names]]
        cells += [
            [name, *(f"{value:.5g}" for value in row)]
            for name, row in zip(self.names, self.values.tolist())
        ]
        width = max(len(cell) for row in cells for cell in row)
        lines = ["  ".join(cell.rjust(width) for cell in row).rstrip() for row in cells]
        if self.merged is not None:
            one, other = (self.names[i] for i in self.merged)
            lines.append(f"{one} and {other} are closest, at {self.height:.5g}.")
        return "\n".join(lines)


class DistanceMatrices(Sequence):
    """D₁, D₂, …: each is a row and a column smaller than the one before. Prints as tables."""

    def __init__(self, matrices: list[DistanceMatrix]):
        self._matrices = matrices

    def __getitem__(self, index):
        return self._matrices[index]

    def __len__(self) -> int:
        return len(self._matrices)

    def __str__(self) -> str:
        return "\n\n".join(str(matrix) for matrix in self._matrices)

    def plot(self, *, axes=None):
        """Draw the matrices side by side, each with the pair that merges next in a frame.

        Parameters
        ----------
        axes : sequence of matplotlib Axes, default=None
            Where to draw, one for each but the last, which has a single cluster; a new figure if
            None.

        Returns
        -------
        axes : tuple of matplotlib Axes
        """
        return pictures().distance_matrices(
            [(matrix.values, matrix.names, matrix.merged) for matrix in self._matrices[:-1]],
            axes=axes,
        )


def distance_matrices(
    tree: MergeTree, D: Array, weights: Array, linkage: str, names: Sequence[str] | None
) -> DistanceMatrices:
    """The matrices that the merges of a tree pass through, from the distances between rows."""
    n = tree.leaves
    if n > MOST_ROWS:
        raise ValueError(
            f"the {n} matrices of {n} rows are more than anyone reads; fit at most {MOST_ROWS} "
            "rows."
        )
    if names is not None and np.ndim(names) > 1:
        raise ValueError(
            "names must be one name for each row; the distances are those of the fit, and are not "
            "given again."
        )
    if names is not None and len(names) != n:
        raise ValueError(f"there are {len(names)} names for {n} rows; give one for each.")
    if names is None:
        names = LETTERS[:n] if n <= len(LETTERS) else [str(i) for i in range(n)]
    is_squared = linkage in ("ward", "centroid")
    D = D.astype(np.float64) ** (2 if is_squared else 1)
    if linkage == "ward":
        D *= 2 * np.outer(weights, weights) / np.add.outer(weights, weights)
    weight, labels, numbers = weights.astype(np.float64), [str(name) for name in names], [*range(n)]
    found = []
    for t, (one, other, height, _) in enumerate(tree.table.tolist()):
        a, b = sorted((numbers.index(int(one)), numbers.index(int(other))))
        found.append(_matrix(t, labels, D, is_squared, (a, b), height))
        new = joined_row(D, weight, a, b, linkage)
        new[a] = 0.0
        D[a], D[:, a] = new, new
        weight[a] += weight[b]
        labels[a] = f"({labels[a]},{labels[b]})"
        numbers[a] = n + t
        D, weight = np.delete(np.delete(D, b, 0), b, 1), np.delete(weight, b)
        del labels[b], numbers[b]
    found.append(_matrix(len(tree.table), labels, D, is_squared, None, float("nan")))
    return DistanceMatrices(found)


def _matrix(
    step: int,
    labels: list[str],
    D: Array,
    is_squared: bool,
    merged: tuple[int, int] | None,
    height: float,
) -> DistanceMatrix:
    values = np.sqrt(np.maximum(D, 0.0)) if is_squared else D.copy()
    return DistanceMatrix(step + 1, tuple(labels), values, merged, height)
