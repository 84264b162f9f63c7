"""The geometry of linear classifiers: distances to their planes, margins, planes side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline

from .._ground.docstrings import described
from .._ground.drawing import AXES, pictures
from .._ground.notebook import ShownInNotebook

Array = np.ndarray


def distances_to_plane(model: Any, X: Any) -> Array:
    """Signed distances (⟨w, x⟩ + b)/‖w‖ of rows to the planes of a linear classifier.

    Parameters
    ----------
    model : classifier
        Any fitted one with `coef_` and `intercept_`, of gapless or scikit-learn, or a pipeline that
        ends in one: distances are then those between the rows that the last step gets.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        The rows.

    Returns
    -------
    distances : ndarray of shape (n_samples,) or (n_samples, n_planes)
        For two classes positive on the side of `classes_[1]`; for more a column for each row of
        `coef_`.

    Examples
    --------
    >>> from gapless import LinearSVC
    >>> from gapless.evaluation import distances_to_plane
    >>> model = LinearSVC(C=float("inf")).fit([[0.0, 0.0], [4.0, 0.0]], ["left", "right"])
    >>> distances_to_plane(model, [[0.0, 7.0], [5.0, 1.0]]).round(6).tolist()
    [-2.0, 3.0]
    """
    rows, w, b = _planes(model, X)
    found = _scores(rows, w, b) / _lengths(w, model)
    return found[:, 0] if found.shape[1] == 1 else found


def geometric_margin(model: Any, X: Any, y: Any) -> float:
    """The distance of the nearest row to the border of its class, negative on the wrong side.

    Parameters
    ----------
    model : classifier
        Any fitted one with `coef_` and `intercept_` that predicts the class of the largest score.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,)
        Their classes.

    Returns
    -------
    margin : float
        minᵢ tᵢ(⟨w, xᵢ⟩ + b)/‖w‖ with t = ±1: the distance on one side of the plane, so for a hard
        margin half of `margin_`, which is the width 2/‖w‖ from one side to the other. For more
        classes the same for the planes ⟨w_y − wₖ, x⟩ + b_y − bₖ = 0 between a row's own class and
        each other one.

    Examples
    --------
    >>> from gapless import LinearSVC
    >>> from gapless.evaluation import geometric_margin
    >>> X, y = [[0.0, 0.0], [4.0, 0.0], [9.0, 3.0]], [0, 1, 1]
    >>> model = LinearSVC(C=float("inf")).fit(X, y)
    >>> round(geometric_margin(model, X, y), 6), round(model.margin_, 6)
    (2.0, 4.0)
    """
    rows, w, b = _planes(model, X)
    own = _positions(model, y, rows.shape[0])
    scores = _scores(rows, w, b)
    if len(w) == 1:
        return float(np.min(np.where(own == 1, 1, -1) * scores[:, 0]) / _lengths(w, model)[0])
    if len(w) != len(model.classes_) or not np.array_equal(
        model.classes_[scores.argmax(axis=1)], model.predict(X)
    ):
        raise ValueError(
            f"{type(model).__name__} does not predict the class of its largest score, as machines "
            "for pairs of classes do not; take distances_to_plane, or two classes at a time."
        )
    apart = np.linalg.norm(w[:, None] - w, axis=2)
    np.fill_diagonal(apart, 1.0)
    lead = (scores[np.arange(len(own)), own][:, None] - scores) / apart[own]
    lead[np.arange(len(own)), own] = np.inf
    return float(lead.min())


@dataclass(frozen=True, eq=False)
class Plane:
    """One plane ⟨w, x⟩ + b = 0 between two classes.

    Attributes
    ----------
    name : str
        What the caller calls it.
    normal : ndarray of shape (n_features,)
        w/‖w‖.
    offset : float
        b/‖w‖, the signed distance of the origin.
    geometric_margin : float
        Distance of the nearest row, negative if some row is on the wrong side.
    errors : int
        How many rows are on the wrong side, or on the plane.
    nearest : int
        The row that decides it: the nearest one.
    """

    name: str
    normal: Array
    offset: float
    geometric_margin: float
    errors: int
    nearest: int


@dataclass(frozen=True, eq=False)
class PlaneComparison(ShownInNotebook):
    """Planes between two classes, the largest geometric margin first. Prints as a table.

    Attributes
    ----------
    planes : tuple of Plane
        The planes, by falling geometric margin.
    points : ndarray of shape (n_samples, n_features)
        The rows.
    labels : ndarray of int, shape (n_samples,)
        Position in `classes` of the class of each row.
    classes : ndarray of shape (2,)
        The classes.
    """

    planes: tuple[Plane, ...]
    points: Array
    labels: Array
    classes: Array

    def __getitem__(self, name: str) -> Plane:
        return {one.name: one for one in self.planes}[name]

    def __str__(self) -> str:
        best = self.planes[0]
        separating = sum(one.errors == 0 for one in self.planes)
        first = f"{separating} of {len(self.planes)} planes separate the classes"
        if separating:
            first += (
                f"; the largest geometric margin is {best.geometric_margin:.4g}, of {best.name}"
            )
        width = max(len(one.name) for one in self.planes)
        lines = [f"{first}.", f"{'':<{width}}  geometric margin  errors  nearest row"]
        for one in self.planes:
            numbers = f"{one.geometric_margin:16.4g}  {one.errors:6d}  {one.nearest:11d}"
            lines.append(f"{one.name:<{width}}  {numbers}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<PlaneComparison of {len(self.planes)} planes: {self.planes[0].name} is best>"

    def to_dict(self) -> dict[str, Any]:
        """The planes as plain numbers and strings."""
        return {
            "planes": [asdict(one) | {"normal": one.normal.tolist()} for one in self.planes],
            "classes": self.classes.tolist(),
        }

    @described(AXES)
    def plot(self, *, axes=None):
        """Draw the rows and the lines between them, for two features; returns the axes."""
        if self.points.shape[1] != 2:
            raise ValueError(
                f"a picture of lines needs two features, and X has {self.points.shape[1]}; print "
                "the comparison, or choose two columns."
            )
        return pictures().planes(
            self.points,
            self.labels,
            [(one.name, one.normal, one.offset, one.geometric_margin) for one in self.planes],
            classes=self.classes,
            axes=axes,
        )


def compare_planes(planes: Mapping[str, Any], X: Any, y: Any) -> PlaneComparison:
    """Compare planes between two classes by their distance to the nearest row.

    Parameters
    ----------
    planes : mapping of str to classifier or (w, b)
        Fitted linear classifiers, or coefficients and bias of a plane.
    X : array-like of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,)
        Their classes; ⟨w, x⟩ + b > 0 is the side of the second one.

    Returns
    -------
    PlaneComparison
        Prints as a table, and has `plot()` for two features.

    Examples
    --------
    >>> from gapless import LinearSVC
    >>> from gapless.evaluation import compare_planes
    >>> X, y = [[0, 0], [1, 0], [3, 0], [4, 1]], ["no", "no", "yes", "yes"]
    >>> svm = LinearSVC(C=float("inf")).fit(X, y)
    >>> planes = {"x > 1.5": ([1, 0], -1.5), "widest": svm, "x > 3": ([1, 0], -3)}
    >>> print(compare_planes(planes, X, y))
    2 of 3 planes separate the classes; the largest geometric margin is 1, of widest.
             geometric margin  errors  nearest row
    widest                  1       0            1
    x > 1.5               0.5       0            1
    x > 3                   0       1            2
    """
    if not planes:
        raise ValueError("planes is empty; give at least one.")
    points = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=float)
    classes, labels = np.unique(np.asarray(y), return_inverse=True)
    if len(classes) != 2:
        raise ValueError(f"planes are compared between two classes, and y has {len(classes)}.")
    found = []
    for name, given in planes.items():
        rows, w, b = _given(given, X, points)
        if len(w) != 1:
            raise ValueError(f"{name!r} has {len(w)} planes; fit it to two classes.")
        size = _lengths(w, given)[0]
        distances = np.where(labels == 1, 1, -1) * _scores(rows, w, b)[:, 0] / size
        nearest = int(np.argmin(distances))
        errors = int(np.sum(distances <= 0))
        margin = float(distances[nearest])
        found.append(Plane(str(name), w[0] / size, float(b[0] / size), margin, errors, nearest))
    ordered = sorted(found, key=lambda one: -one.geometric_margin)
    return PlaneComparison(tuple(ordered), points, labels, classes)


def _given(given: Any, X: Any, points: Array) -> tuple[Any, Array, Array]:
    """The rows, and w (1, d) and b (1,) of a classifier, or of a pair."""
    if not isinstance(given, tuple | list):
        return _planes(given, X)
    w, b = np.atleast_2d(np.asarray(given[0], dtype=float)), np.atleast_1d(float(given[1]))
    if w.shape[1] != points.shape[1]:
        raise ValueError(f"w has {w.shape[1]} entries, and X has {points.shape[1]} columns.")
    return points, w, b


def _planes(model: Any, X: Any) -> tuple[Any, Array, Array]:
    """The rows as the plane sees them, w (planes, d) and b (planes,)."""
    if isinstance(model, Pipeline):
        return _planes(model[-1], model[:-1].transform(X) if len(model) > 1 else X)
    try:
        coef, intercept = model.coef_, model.intercept_
    except AttributeError:
        raise ValueError(
            f"{type(model).__name__} has no coef_, so there is no plane; fit a linear classifier, "
            'such as LinearSVC or SVC(kernel="linear").'
        ) from None
    w = np.atleast_2d(coef.toarray() if sp.issparse(coef) else np.asarray(coef, dtype=float))
    rows = X if sp.issparse(X) else np.asarray(X, dtype=float)
    if rows.ndim != 2 or rows.shape[1] != w.shape[1]:
        raise ValueError(f"X has shape {rows.shape}, and the planes have {w.shape[1]} coordinates.")
    return rows, w, np.broadcast_to(np.asarray(intercept, dtype=float), len(w))


def _scores(rows: Any, w: Array, b: Array) -> Array:
    return np.asarray(rows @ w.T) + b


def _lengths(w: Array, model: Any) -> Array:
    """‖w‖ of each plane."""
    sizes = np.linalg.norm(w, axis=1)
    if not np.all(sizes > 0):
        raise ValueError(
            f"all coefficients of {type(model).__name__} are 0, so there is no plane; weaken its "
            "penalty."
        )
    return sizes


def _positions(model: Any, y: Any, n: int) -> Array:
    """The place of each class in `classes_`."""
    classes, labels = np.asarray(model.classes_), np.asarray(y)
    if labels.shape != (n,):
        raise ValueError(f"y has shape {labels.shape}, and X has {n} rows.")
    places = np.searchsorted(classes, labels)
    unknown = places == len(classes)
    unknown |= classes[np.where(unknown, 0, places)] != labels
    if unknown.any():
        raise ValueError(f"y has class {labels[unknown][0]!r}, which the model does not know.")
    return places
