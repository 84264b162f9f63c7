"""The search for the parameters of a kernel that make the data of a process most probable."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import scipy.optimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from ..._ground.interrupt import TimeLimit, check, seconds_left, time_limit
from ...solvers import Trace
from ._base import Array
from .processes import Posterior, Process


class LikelihoodSearch:
    """Looks for the parameters of a kernel that make the data most probable, and keeps the best."""

    def __init__(self, process: Process, kernel: Any, callback: Any):
        self.process, self.kernel, self.callback = process, kernel, callback
        self.best: Posterior | None = None
        self.slopes: Array | None = None
        self.trace = Trace()

    def run(self, model: Any) -> str:
        """Search as the model says; "found", or what ended it."""
        is_open = model.optimizer is not None and len(self.kernel.theta) > 0
        if is_open:
            _check_positive(self.kernel.theta)
            self.kernel = self.kernel.at(np.clip(self.kernel.theta, *self.kernel.bounds.T))
        # Without one factorisation there is no model, however short the time.
        began = time.monotonic()
        self._look(self.kernel, False)
        if not is_open:
            return "found"
        try:
            with time_limit(seconds_left(model.time_limit, began)):
                for start in self._starts(model):
                    self._maximise(model.optimizer, start)
                if self.slopes is None and self.best is not None:
                    self.slopes = self.best.gradient()
        except TimeLimit:
            return "time_limit"
        except KeyboardInterrupt:
            return "interrupted"
        return "found"

    @property
    def slope(self) -> float:
        """The largest slope of the likelihood that leads to parameters within the bounds."""
        if self.slopes is None or self.best is None:
            return np.inf
        return inward(self.slopes, self.best.kernel)

    def _starts(self, model: Any):
        yield self.kernel.theta
        rng, bounds = check_random_state(model.random_state), self.kernel.bounds
        if model.n_restarts_optimizer and not np.isfinite(bounds).all():
            raise ValueError(
                "Multiple optimizer restarts (n_restarts_optimizer>0) requires that all bounds are "
                "finite."
            )
        for _ in range(model.n_restarts_optimizer):
            yield rng.uniform(bounds[:, 0], bounds[:, 1])

    def _maximise(self, optimizer: Any, start: Array) -> None:
        if callable(optimizer):
            optimizer(self.objective, start, bounds=self.kernel.bounds)
            return
        result = scipy.optimize.minimize(
            self.objective, start, method="L-BFGS-B", jac=True, bounds=self.kernel.bounds
        )
        if result.status != 0:
            warnings.warn(
                f"lbfgs failed to converge (status={result.status}): {result.message}. Scale the "
                "data, or begin with other parameters of the kernel.",
                ConvergenceWarning,
                stacklevel=6,
            )

    def objective(self, theta, eval_gradient=True):
        """Minus the log likelihood, and minus its gradient."""
        check()
        value, slopes = self._look(self.kernel.at(np.asarray(theta, dtype=float)), eval_gradient)
        self.trace.steps += 1
        self.trace.primal.append(-value)
        if self.callback(self.trace, np.inf):
            raise TimeLimit("a callback requested a stop")
        return (-value, -slopes) if eval_gradient else -value

    def _look(self, kernel: Any, eval_gradient: bool) -> tuple[float, Array]:
        posterior = self.process.posterior(kernel)
        if posterior is None:
            return -np.inf, np.zeros(len(kernel.theta))
        value = posterior.log_likelihood
        slopes = posterior.gradient() if eval_gradient else None
        if self.best is None or value > self.best.log_likelihood:
            self.best, self.slopes = posterior, slopes
        return value, np.zeros(0) if slopes is None else slopes


def inward(slopes: Array, kernel: Any) -> float:
    """The largest slope of the likelihood that leads to parameters within the bounds."""
    theta, (low, high) = kernel.theta, kernel.bounds.T
    leads_out = ((theta <= low) & (slopes < 0)) | ((theta >= high) & (slopes > 0))
    return float(np.max(np.abs(np.where(leads_out, 0.0, slopes)), initial=0.0))


def _check_positive(theta: Array) -> None:
    if not np.all(np.isfinite(theta)):
        raise ValueError(
            "the kernel has a parameter that is 0, such as the factor of a part, and only "
            "positive ones can be fitted; leave that part out, or set optimizer=None."
        )
