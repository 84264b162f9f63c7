"""What a classifier predicts in the plane, for a picture of its regions and margins."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._ground.drawing import pictures

Array = np.ndarray

# How far the plane reaches beyond the points, as a part of their range.
ROOM = 0.08


@dataclass(frozen=True, eq=False)
class DecisionGrid:
    """Predictions on a grid of the plane, and the points that the model learned from.

    Parameters
    ----------
    x, y : ndarray of shape (m,)
        The two coordinates of the grid.
    regions : ndarray of shape (m, m)
        Position in `classes` of the class predicted at (x[j], y[i]).
    scores : ndarray of shape (m, m) or None
        The decision function there; None for more than two classes, or without such a function.
    points : ndarray of shape (n, 2)
        The training rows.
    labels : ndarray of shape (n,)
        Position in `classes` of the class of each point.
    classes : ndarray
        The classes.
    support : ndarray of int
        The points that are support vectors, if the model has some.
    names : tuple of two str
        Names of the two features.
    bounded : ndarray of int
        Those of the support vectors whose multiplier is at its bound, if the model knows.
    """

    x: Array
    y: Array
    regions: Array
    scores: Array | None
    points: Array
    labels: Array
    classes: Array
    support: Array
    names: tuple[str, str]
    bounded: Array = field(default_factory=lambda: np.zeros(0, dtype=int))

    def plot(self, axes=None, *, legend=True):
        """Draw the regions, the margins (scores −1, 0 and 1) and the points; returns the axes.

        Support vectors are circled, and bounded ones have a square around them. `legend=False`
        leaves out the names of the classes.
        """
        plots = pictures()
        return plots.decision(
            self.x,
            self.y,
            self.regions,
            self.points,
            self.labels,
            classes=self.classes,
            scores=self.scores,
            support=self.support,
            bounded=self.bounded,
            legend=legend,
            names=self.names,
            axes=axes,
        )


def decision_grid(model: Any, X: Any, y: Any, resolution: int = 200) -> DecisionGrid:
    """Predict a grid of the plane with a fitted classifier of two features.

    Parameters
    ----------
    model : classifier
        Fitted to two features; any that follows scikit-learn's conventions.
    X : array-like of shape (n, 2)
        The data it was fitted to.
    y : array-like of shape (n,)
        Their classes.
    resolution : int, default=200
        Points of the grid along each axis, at least 2.

    Returns
    -------
    DecisionGrid
        Plain data with `plot()`.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from gapless import SVC
    >>> from gapless.evaluation import decision_grid
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> grid = decision_grid(SVC().fit(X, y), X, y, resolution=50)
    >>> grid.regions.shape
    (50, 50)
    """
    names = tuple(str(name) for name in getattr(X, "columns", ("x₁", "x₂")))
    points = np.asarray(X, dtype=float)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(
            f"a plot of the plane needs two features, but X has shape {points.shape}; choose two "
            "columns and fit the model to them."
        )
    if resolution < 2:
        raise ValueError(f"resolution must be at least 2, got {resolution!r}.")
    if not hasattr(model, "classes_"):
        raise ValueError(
            f"a plot of regions needs a fitted classifier, but this {type(model).__name__} has no "
            "classes_; fit it first, or use a classifier instead of a regressor."
        )
    classes = np.asarray(model.classes_)
    low, high = points.min(axis=0), points.max(axis=0)
    room = ROOM * np.where(high > low, high - low, 1.0)
    across, up = np.linspace(low - room, high + room, resolution).T
    plane = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    # A table with names is answered by names.
    rows = plane if not hasattr(X, "columns") else type(X)(dict(zip(X.columns, plane.T)))
    shape = resolution, resolution
    scores = None
    if len(classes) == 2 and hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(rows), dtype=float).reshape(shape)
    support = np.asarray(getattr(model, "support_", ()), dtype=int)
    return DecisionGrid(
        x=across,
        y=up,
        regions=np.searchsorted(classes, model.predict(rows)).reshape(shape),
        scores=scores,
        points=points,
        labels=np.searchsorted(classes, np.asarray(y)),
        classes=classes,
        support=support,
        names=(names[0], names[1]),
        bounded=_bounded(model, support, points),
    )


def _bounded(model: Any, support: Array, points: Array) -> Array:
    """The support vectors whose multipliers are at their bound, if the model knows."""
    status = np.asarray(getattr(model, "kkt_status_", ())) if len(support) else np.zeros(0)
    # A model of other rows has its own.
    known = support if len(status) == len(points) else support[:0]
    return np.sort(known[status[known] == "bounded"])
