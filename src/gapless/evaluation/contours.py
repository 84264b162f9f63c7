"""The objective of a model over two of its coefficients, and the way a solver took there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._ground.docstrings import described
from .._ground.drawing import AXES, numbered, pictures
from .._ground.interrupt import check
from .._ground.notebook import ShownInNotebook
from ..solvers import solve

Array = np.ndarray

# The part of the grid beyond the paths, on each side.
MARGIN = 0.15
# Iterates this many times further from the solution than the start are left to the imagination.
FAR = 2.0
# The gap of the minimiser, relative to the objective without features.
EXACTLY = 1e-9


@dataclass(frozen=True, eq=False)
class Landscape(ShownInNotebook):
    """An objective over two coefficients, with the paths of solvers. Prints as a sentence.

    Attributes
    ----------
    x, y : ndarray of shape (m,)
        Values of the two coefficients.
    values : ndarray of shape (m, m)
        The objective at (x[j], y[i]); the other coefficients and the bias are those of its
        minimiser.
    paths : dict of str to ndarray of shape (t, 2)
        The iterates of each solver.
    objectives : dict of str to ndarray of shape (t,)
        The objective of each iterate, as traced.
    best : tuple of two floats
        The coefficients of the minimiser.
    names : tuple of two str
        Names of the coefficients.
    """

    x: Array
    y: Array
    values: Array
    paths: dict[str, Array]
    objectives: dict[str, Array]
    best: tuple[float, float]
    names: tuple[str, str]

    def __str__(self) -> str:
        ends = [
            f"{name} took {len(path) - 1} step{'s' * (len(path) != 2)} to "
            f"{self.objectives[name].min():.6g}"
            for name, path in self.paths.items()
        ]
        return f"the objective falls from {next(iter(self.objectives.values()))[0]:.6g}: " + (
            ", ".join(ends) + "."
        )

    @described(AXES)
    def plot(self, *, axes=None):
        """Draw contours and paths.

        Returns
        -------
        axes : matplotlib Axes
            The axes with the drawing.
        """
        return pictures().landscape(
            self.x, self.y, self.values, self.paths, best=self.best, names=self.names, axes=axes
        )


def landscape(
    models: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    features: tuple[int, int] = (0, 1),
    size: int = 81,
) -> Landscape:
    """Compute an objective over two coefficients, with the paths of the models' solvers.

    Parameters
    ----------
    models : estimator, or mapping of str to estimators
        Fitted linear models with one objective, and with solvers that keep their iterates, such as
        `GradientDescent(keep_iterates=True)` or `Named("newton")`.
    X, y, sample_weight
        What they were fitted to.
    features : tuple of two ints, default=(0, 1)
        The coefficients to vary.
    size : int, default=81
        Grid points in each direction.

    Returns
    -------
    landscape : Landscape
        Values, paths, and `plot()`.

    Notes
    -----
    With more than two features, or a bias, this is a section through the objective at its
    minimiser, and paths are drawn as if seen from above.

    Examples
    --------
    >>> import numpy as np
    >>> from gapless import Ridge, landscape
    >>> from gapless.solvers import GradientDescent
    >>> X, y = np.array([[3.0, 0.0], [0.0, 1.0]]), np.array([3.0, 1.0])
    >>> solver = GradientDescent(step=0.2, keep_iterates=True)
    >>> model = Ridge(alpha=0.01, fit_intercept=False, tol=1e-3, solver=solver).fit(X, y)
    >>> print(landscape(model, X, y))
    the objective falls from 5: gradient_descent took 50 steps to 0.00995671.
    """
    named = models if isinstance(models, Mapping) else {None: models}
    if not named:
        raise ValueError("models is empty; give a fitted model, or a dictionary of them.")
    traces: dict[str, Any] = {}
    for name, model in named.items():
        check_is_fitted(model)
        traces[name or model.solver_] = _trace(model, name)
    problem, _ = model._certification_problem(X, y, sample_weight)[0]
    solution = solve(problem, tol=EXACTLY).parameters
    i, j = features
    if problem.outputs is not None or not 0 <= min(i, j) < max(i, j) < problem.d:
        raise ValueError(
            f"features={features!r} must be two of the {problem.d} coefficients of one output."
        )
    paths = {
        name: np.array([(w[i], w[j]) for w, _ in trace.iterates]) for name, trace in traces.items()
    }
    best = float(solution.w[i]), float(solution.w[j])
    x, y_axis = _grid(list(paths.values()), best, size)
    values = np.empty((size, size))
    w = np.array(solution.w, dtype=float)
    for row, value in enumerate(y_axis):
        check()
        for column, across in enumerate(x):
            w[i], w[j] = across, value
            values[row, column] = problem.primal(w, solution.b)
    labels = getattr(model, "feature_names_in_", None)
    one, other = (numbered("w", k + 1) if labels is None else str(labels[k]) for k in (i, j))
    objectives = {name: np.array(trace.primal) for name, trace in traces.items()}
    return Landscape(x, y_axis, values, paths, objectives, best, (one, other))


def _trace(model: Any, name: str | None) -> Any:
    """The trace of a model, which must have its iterates."""
    trace = getattr(model, "trace_", None)
    if not getattr(trace, "iterates", None):
        said = type(model).__name__ if name is None else f"{name!r}"
        raise ValueError(
            f"{said} did not keep its iterates; fit it with a solver such as "
            'GradientDescent(keep_iterates=True) or Named("newton").'
        )
    return trace


def _grid(paths: list[Array], best: tuple[float, float], size: int) -> tuple[Array, Array]:
    """Coordinates that show the paths where they are not far away, and the solution."""
    middle, points = np.array(best), np.vstack(paths)
    reach = FAR * max(float(np.max(np.abs(path[0] - middle))) for path in paths)
    near = points[np.all(np.abs(points - middle) <= (reach or np.inf), axis=1)]
    near = np.vstack([near, middle])
    low, high = near.min(axis=0), near.max(axis=0)
    width = np.maximum(high - low, 0.2 * np.max(high - low) or 1.0)
    centre = 0.5 * (low + high)
    ends = centre - (0.5 + MARGIN) * width, centre + (0.5 + MARGIN) * width
    return np.linspace(ends[0][0], ends[1][0], size), np.linspace(ends[0][1], ends[1][1], size)
