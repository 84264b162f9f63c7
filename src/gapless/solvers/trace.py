"""The trace of a solver: what it reached after each step, and when."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .._ground.docstrings import described
from .._ground.drawing import AXES, pictures
from .._ground.notebook import ShownInNotebook

Array = np.ndarray


@dataclass(repr=False)
class Trace(ShownInNotebook):
    """Objective, gap and time of each iterate of a solver, in lists of the same length.

    Prints as a sentence.

    Attributes
    ----------
    primal : list of float
        The objective P, Σ sᵢℓᵢ + R(w), of every iterate.
    gap : list of float
        The smallest P so far minus the best lower bound so far; nan where it was not computed.
    seconds : list of float
        Since the start of the solver.
    iterations : list of float
        The number of the step that ended here: 0 for the start; the polish after the last step
        counts as one more. Not whole inside an epoch.
    steps : int
        How many steps were counted.
    iterates : list of (w, b)
        Coefficients and bias of every iterate, if the solver was asked for them with
        `keep_iterates=True`.
    """

    primal: list[float] = field(default_factory=list)
    gap: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    steps: int = 0
    iterations: list[float] = field(default_factory=list)
    iterates: list[tuple[Array, Array]] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"

    def __str__(self) -> str:
        if not self.primal:
            return "no steps"
        ways = f"{self.primal[0]:.6g} to {min(self.primal):.6g}"
        known = [gap for gap in self.gap if np.isfinite(gap)]
        proved = f", gap {max(known[-1], 0):.2g}" if known else ""  # below 0 by rounding
        steps = "1 step" if self.steps == 1 else f"{self.steps} steps"
        return f"{steps} in {self.seconds[-1]:.2g} s, objective from {ways}{proved}"

    def record(self, primal: float, gap: float, seconds: float, iteration: float) -> None:
        """Add an iterate."""
        self.primal.append(primal)
        self.gap.append(gap)
        self.seconds.append(seconds)
        self.iterations.append(iteration)

    def follow(self, earlier: Trace) -> None:
        """Put the iterates of a solver that ran before in front of these."""
        seconds, step = (earlier.seconds or [0.0])[-1], (earlier.iterations or [0.0])[-1]
        self.seconds = earlier.seconds + [seconds + own for own in self.seconds]
        self.iterations = earlier.iterations + [step + own for own in self.iterations]
        self.primal, self.gap = earlier.primal + self.primal, earlier.gap + self.gap
        self.iterates = earlier.iterates + self.iterates
        self.steps += earlier.steps

    @property
    def lower_bound(self) -> float:
        """The largest value that the objective is known not to fall below; −∞ if none is known."""
        best = np.minimum.accumulate(np.array([*self.primal, np.inf]))[:-1]
        with np.errstate(invalid="ignore"):  # ∞ − ∞, where neither is known
            bounds = best - np.array(self.gap)
        return float(np.max(bounds, initial=-np.inf, where=np.isfinite(bounds)))

    @described(AXES)
    def plot(self, *, against: str = "iterations", axes=None):
        """Draw how far the objective is above the best possible one; see `plots.convergence`.

        Parameters
        ----------
        against : {"iterations", "seconds"}, default="iterations"
            What the horizontal axis shows.

        Returns
        -------
        axes : matplotlib Axes
            The axes with the drawing.
        """
        return pictures().convergence({"objective": self}, against=against, axes=axes)
