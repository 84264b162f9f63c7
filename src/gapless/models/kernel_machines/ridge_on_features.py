"""Least squares on features of a kernel, for more rows than a Gram matrix allows.

`KernelRidge` uses this when landmarks or random features replace its kernel. Support vector
machines use it to find how many features are enough: leave-one-out of least squares is exact, and
costs no more than a fit.
"""

from __future__ import annotations

import time
from typing import Any, ClassVar

import numpy as np

from ..._ground.interrupt import seconds_left
from ..._ground.validation import Training
from ...kernels import Kernel
from ...problem import UNFINISHED, Problem
from ...unseen import Fitted
from ..linear import Ridge, fitted_of, unpack
from ..risk import WithKernel

Array = np.ndarray

# Up to this many distinct rows kernel ridge solves the equations of the kernel matrix itself: 1.6
# GB in float32, and half a minute on two cores.
EXACT_ROWS = 20_000


class RidgeOnFeatures(WithKernel, Ridge):
    """½ Σᵢ sᵢ (yᵢ − φ(xᵢ)ᵀw − b)² + ½α‖w‖², with the kernel and its strengths as numbers.

    Parameters
    ----------
    alpha : float or ndarray of shape (n_targets,)
        Strength of the penalty, or one for each target.
    kernel : Kernel
        The kernel, all parameters numbers.
    approximation : {"nystroem", "random_features"}
        What replaces it.
    n_components : int or None
        How many features; None doubles them until leave-one-out no longer improves.
    random_state : int
        Seed of what is drawn.
    **options
        `fit_intercept`, `tol` and `time_limit`, as of Ridge.
    """

    _further: ClassVar[str] = "fit again with more time, or set n_components"

    def __init__(
        self,
        alpha: Any,
        kernel: Kernel,
        approximation: str,
        n_components: int | None = None,
        random_state: int = 0,
        **options: Any,
    ):
        super().__init__(alpha, random_state=random_state, **options)
        self.kernel = kernel
        self.approximation = approximation
        self.n_components = n_components

    def _kernel(self):
        return self.kernel

    @classmethod
    def of(cls, model: Any) -> RidgeOnFeatures:
        """A fitted kernel ridge as least squares on its features."""
        found = cls(
            model._settled_alpha(),
            model.kernel_,
            model.features_.kind,
            fit_intercept=model.fit_intercept,
            tol=model.tol,
        )
        for name in ("coef_", "intercept_", "features_", "certificate_", "n_features_in_"):
            setattr(found, name, getattr(model, name))
        if "feature_names_in_" in vars(model):
            found.feature_names_in_ = model.feature_names_in_
        if "dual_coef_" in vars(model):
            found.X_fit_, found.dual_coef_ = model.X_fit_, model.dual_coef_.T
        # For least squares the slopes of the loss are the dual point.
        found.dual_ = None
        return found

    def learn(
        self, data: Training, callback: Any, seconds: float | None
    ) -> tuple[dict[str, Any], str]:
        """The attributes of a kernel ridge, and what ended the fit; `seconds` limits it."""
        began = time.monotonic()
        mapped, left = self._map_in_time(data, callback, seconds)
        problems = self._problems(mapped.data)
        solutions = self._solve(problems, callback, None, left, mapped)
        self.time_limit = seconds_left(seconds, began)
        found = self._learned(data, problems, solutions, mapped.features)
        shape = data.y.shape[1:]
        learned = {
            "coef_": found["coef_"].reshape(*shape, -1),
            "intercept_": found["intercept_"],
            "features_": found["features_"],
            "certificate_": found["certificate_"],
            "kernel_": found["features_"].kernel,
        }
        if "dual_coef_" in found:
            learned["dual_coef_"] = found["dual_coef_"].reshape(*shape, -1).T
            learned["X_fit_"] = found["X_fit_"]
        ending = solutions[-1].status
        # If there was no time for features, one replaces all.
        is_late = ending == "optimal" and found["features_"].kind == UNFINISHED
        return learned, "time_limit" if is_late else ending

    def on(self, data: Training) -> list[Problem]:
        """The problems on the data of the fit."""
        return self._problems(self._remap(data))

    def fitted(self, data: Training) -> Fitted:
        """The fit, as far as held-out predictions need it."""
        problems = self.on(data)
        parameters = unpack(problems, self.coef_, self.intercept_, None)
        return fitted_of(self, data, (problems, parameters))
