"""Regression that outliers cannot dominate, with the scale of the errors: HuberRegressor."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from numbers import Real
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ..._ground.about import Example, Examples, Formula, bias_term
from ..._ground.docstrings import described
from ..._ground.interrupt import TimeLimit, time_limit
from ..._ground.stored import Declaration, Number, Unused
from ...losses import Squared
from ...penalties import L2
from ...problem import WithScale
from ...solvers import solve_with_scale
from ._base import unsolved
from .parameters import OF_TARGETS, SOLVED
from .problems import fitted_of, regression_problems, unpack
from .tasks import LinearRegressor


@described(OF_TARGETS, SOLVED)
class HuberRegressor(LinearRegressor):
    """Linear regression robust to outliers, whose scale of the errors is estimated, too.

    Minimises  Σᵢ sᵢ (σ + σ·H((xᵢᵀw + b − yᵢ)/σ)) + α‖w‖²  over w, b and σ ≥ 0, with H(t) = t² for
    |t| ≤ ε and 2ε|t| − ε² beyond, as scikit-learn does. So ε counts in units of σ, and the fit does
    not depend on the unit of the target.

    Parameters
    ----------
    epsilon : float, default=1.35
        Errors beyond εσ are outliers, ε ≥ 1. 1.35 is 95 % as efficient as least squares for
        normal errors; 1 is least absolute deviations.
    alpha : float, default=0.0001
        Strength α ≥ 0 of the penalty, without the ½ of other models.
    max_iter : int, default=100
        Largest number of steps.

    Attributes
    ----------
    scale_ : float
        The estimated scale σ of the errors.
    outliers_ : ndarray of bool, shape (n_samples,)
        The rows whose errors are beyond εσ.

    Notes
    -----
    A step costs n·d², and about ten suffice. The objective is convex in (w, b, σ) together, so the
    certificate is a duality gap as for other models: D(θ) = θᵀy − ‖Xᵀθ‖²/4α with |θᵢ| ≤ 2εsᵢ and
    Σθᵢ²/sᵢ ≤ 4Σsᵢ. `generalization_` holds rows out with σ as it is. RiskRegressor with
    `losses.Huber` has a given scale, and any penalty.

    References
    ----------
    Huber (1981), Robust statistics, chapter 7.8. Owen (2007), A robust hybrid of lasso and ridge
    regression.

    Examples
    --------
    >>> from gapless import HuberRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], [0.1, 0.9, 2.1, 30.0, 3.9, 5.1]
    >>> model = HuberRegressor(alpha=0.0).fit(X, y)
    >>> bool(abs(model.coef_[0] - 1) < 0.05), model.outliers_.tolist()
    (True, [False, False, False, True, False, False])
    """

    _examples: ClassVar[Examples] = (Example("diabetes", {"alpha": 0.01}),)

    _multi_output = False
    _defers = True
    _guide = "generalized_linear_models"
    _stored: ClassVar[Declaration] = {
        **LinearRegressor._stored,
        "scale_": Number(),
        "outliers_": Unused(),
    }
    # Only one solver is for an unknown scale.
    solver = "auto"
    _parameter_constraints: ClassVar[dict] = {
        **{
            name: values
            for name, values in LinearRegressor._parameter_constraints.items()
            if name != "solver"
        },
        "epsilon": [Interval(Real, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        epsilon=1.35,
        max_iter=100,
        alpha=0.0001,
        warm_start=False,
        fit_intercept=True,
        tol=1e-6,
        time_limit=None,
    ):
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.alpha = alpha
        self.warm_start = warm_start
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.time_limit = time_limit

    def _problems(self, data):
        penalty = L2(2 * self.alpha)
        plain = regression_problems(data, Squared(), penalty, self.fit_intercept, joint=False)
        return [WithScale.of(problem, float(self.epsilon)) for problem in plain]

    def _solve(self, problems, callback, choice, seconds, mapped, columns=None):
        problem, (start,) = problems[0], self._starts(problems, columns)
        options = {"tol": self.tol, "max_iter": self.max_iter, "callback": callback}
        with time_limit(seconds), suppress(TimeLimit):
            return [solve_with_scale(problem, start, **options)]
        return [unsolved(problem, start, "time_limit", "newton_with_scale")]

    def _specifics(self, data, learned, solutions, certificates):
        specifics = super()._specifics(data, learned, solutions, certificates)
        problem = self._problems(data)[0]
        w, b = specifics["coef_"].astype(float), specifics["intercept_"]
        z = problem.predictions(w, np.asarray(b, dtype=float))
        scale = problem.best_scale(z)
        # Where most rows are on one plane, the scale is that of rounding, which makes no outliers.
        terms = np.sqrt(problem.d * problem.design.row_square_sums(w**2)) + abs(float(b))
        rounding = 8 * np.finfo(specifics["coef_"].dtype).eps * (terms + np.abs(problem.y))
        outliers = np.abs(z - problem.y) > self.epsilon * scale + rounding
        return specifics | {"scale_": scale, "outliers_": outliers}

    def _fitted(self, data, problems):
        """The fit for the estimated scale, which held-out rows do not change."""
        problem = problems[0]
        (at,) = unpack(problems, self.coef_, self.intercept_, self.dual_)
        self._check_objective(problem.primal(at.w, at.b))
        given = problem.at_scale(max(self.scale_, np.finfo(float).tiny))
        theta = None if at.theta is None else at.theta * (0.5 * self.scale_)
        return fitted_of(self, data, ([given], [replace(at, theta=theta)]))

    def _formula(self) -> Formula:
        error = f"(xᵢᵀw{bias_term(self)} − yᵢ)/σ"
        return Formula(
            f"Σᵢ (σ + σ H({error})) + α‖w‖², H(t) = t² up to ε, then 2ε|t| − ε²",
            {"ε": self.epsilon, "α": self.alpha, "σ": self.scale_},
        )
