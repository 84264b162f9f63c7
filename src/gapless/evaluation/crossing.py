"""When is the closed form of least squares faster than descent: measured, by the features."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._ground.design import Design
from .._ground.docstrings import described
from .._ground.drawing import AXES, pictures
from .._ground.notebook import ShownInNotebook
from .._ground.threads import threads
from ..losses import Squared
from ..penalties import L2
from ..problem import Problem
from ..solvers import solve

Array = np.ndarray

CLOSED_FORM = "cholesky"
DEFAULT = (10, 30, 100, 300, 1000)


@dataclass(frozen=True, eq=False)
class Crossover(ShownInNotebook):
    """Seconds that solvers of one ridge regression take by its number of features.

    Prints as a sentence.

    Attributes
    ----------
    features : ndarray of int, shape (m,)
        Numbers of features.
    seconds : dict of str to ndarray of shape (m,)
        CPU seconds on one thread of each solver, the smallest of the repeats; nan where it did not
        reach the tolerance.
    rows : int
        The number of rows.
    tol : float
        The relative gap that all reached.
    """

    features: Array
    seconds: dict[str, Array]
    rows: int
    tol: float

    def first_faster(self, solver: str) -> int | None:
        """The smallest number of features from which on `solver` beats the closed form."""
        with np.errstate(invalid="ignore"):
            is_faster = self.seconds[solver] < self.seconds[CLOSED_FORM]
        later = np.logical_and.accumulate(is_faster[::-1])[::-1]
        return int(self.features[np.argmax(later)]) if later.any() else None

    def __str__(self) -> str:
        words = []
        for name in self.seconds:
            if name == CLOSED_FORM:
                continue
            first = self.first_faster(name)
            if first is None:
                words.append(f"{name} never up to {self.features.max():,} features")
            else:
                words.append(f"{name} from {first:,} features on")
        return (
            f"with {self.rows:,} rows, faster than the closed form at a gap of {self.tol:.0e}: "
            f"{'; '.join(words)}."
        )

    @described(AXES)
    def plot(self, *, axes=None):
        """Draw the times.

        Returns
        -------
        axes : matplotlib Axes
            The axes with the drawing.
        """
        return pictures().crossover(self.features, self.seconds, rows=self.rows, axes=axes)


def crossover(
    n: int = 1000,
    ds: int | Sequence[int] = DEFAULT,
    *,
    solvers: Sequence[str] = ("gradient_descent", "cg"),
    strength: float | None = None,
    tol: float = 1e-6,
    repeats: int = 3,
    random_state: int = 0,
) -> Crossover:
    """Measure when descent beats the closed form of ridge regression.

    The closed form costs O(n·d·min(n, d)), T steps of descent O(T·n·d): the more features, the more
    steps the time of one closed form pays for.

    Parameters
    ----------
    n : int, default=1000
        Number of rows, of independent normal numbers; the target is a noisy sum of the features.
    ds : int or sequence of int, default=(10, 30, 100, 300, 1000)
        Numbers of features.
    solvers : sequence of str, default=("gradient_descent", "cg")
        What the closed form is compared with, any solvers of least squares.
    strength : float, default=None
        λ of the penalty ½λ‖w‖²; None takes n/10. A weaker one makes descent slower.
    tol : float, default=1e-6
        The gap to reach, relative to the objective without features.
    repeats : int, default=3
        How often each fit is timed.
    random_state : int, default=0
        Seed of the data.

    Returns
    -------
    crossover : Crossover
        The times, and `plot()`.

    Examples
    --------
    >>> from gapless import crossover
    >>> found = crossover(200, [5, 10], repeats=1)
    >>> sorted(found.seconds)
    ['cg', 'cholesky', 'gradient_descent']
    """
    features = np.unique(np.array(ds, dtype=int))
    if n < 2 or not len(features) or features[0] < 1 or repeats < 1:
        raise ValueError(
            f"n must be at least 2, ds numbers of at least 1, and repeats at least 1; got n={n!r}, "
            f"ds={ds!r}, repeats={repeats!r}."
        )
    names = [CLOSED_FORM, *(name for name in solvers if name != CLOSED_FORM)]
    seconds = {name: np.full(len(features), np.nan) for name in names}
    random = np.random.default_rng(random_state)
    for k, d in enumerate(features):
        X = random.standard_normal((n, d))
        y = X @ random.standard_normal(d) / np.sqrt(d) + random.standard_normal(n)
        penalty = L2(0.1 * n if strength is None else strength)
        for name in names:
            # A new problem each time, since one remembers what it has computed.
            problems = [
                Problem(Design(X), y, Squared(), penalty, np.ones(n)) for _ in range(repeats)
            ]
            seconds[name][k] = min(_seconds(problem, name, tol) for problem in problems)
    return Crossover(features, seconds, n, tol)


def _seconds(problem: Problem, solver: str, tol: float) -> float:
    """CPU seconds of one fit; nan if it misses the tolerance."""
    with threads(1):
        began = time.process_time()
        solution = solve(problem, solver, tol=tol, polish=False)
        spent = time.process_time() - began
    return spent if solution.status == "optimal" else np.nan
