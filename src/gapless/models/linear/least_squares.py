"""Ordinary least squares: LinearRegression."""

from __future__ import annotations

from numbers import Integral
from typing import ClassVar

from ..._ground.about import Example, Examples, Formula, bias_term
from ..._ground.docstrings import described
from ...losses import Squared
from ...penalties import Box, NoPenalty
from .parameters import OF_TARGETS, SOLVED
from .problems import regression_problems
from .tasks import LinearRegressor


@described(OF_TARGETS, SOLVED)
class LinearRegression(LinearRegressor):
    """Ordinary least squares.

    Minimises  ½ Σᵢ sᵢ (yᵢ − xᵢᵀw − b)²,  in closed form. Where several w do it, the one of smallest
    norm.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to fit the bias b.
    tol : float, default=1e-6
        Iterative solvers stop when the duality gap is at most `tol` times the objective at w = 0.

    Notes
    -----
    Costs n·d² for n ≥ d and n²·d otherwise. With highly correlated features the coefficients vary
    wildly from one sample to the next; prefer Ridge then.

    Examples
    --------
    >>> from gapless import LinearRegression
    >>> model = LinearRegression().fit([[1, 1], [1, 2], [2, 2], [2, 3]], [6, 8, 9, 11])
    >>> model.coef_.round(6)
    array([1., 2.])
    """

    _examples: ClassVar[Examples] = (Example("diabetes"),)

    _parameter_constraints: ClassVar[dict] = {
        **LinearRegressor._parameter_constraints,
        "copy_X": ["boolean"],
        "n_jobs": [None, Integral],
        "positive": ["boolean"],
    }

    def __init__(
        self,
        *,
        fit_intercept=True,
        copy_X=True,
        tol=1e-6,
        n_jobs=None,
        positive=False,
        solver="auto",
        max_iter=None,
        warm_start=False,
        time_limit=None,
    ):
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.tol = tol
        self.n_jobs = n_jobs
        self.positive = positive
        self.solver = solver
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.time_limit = time_limit

    def _problems(self, data):
        penalty = Box(lower=0.0) if self.positive else NoPenalty()
        return regression_problems(
            data, Squared(), penalty, self.fit_intercept, joint=not self.positive
        )

    def _formula(self) -> Formula:
        return Formula(f"½ Σᵢ (yᵢ − xᵢᵀw{bias_term(self, '−')})²")
