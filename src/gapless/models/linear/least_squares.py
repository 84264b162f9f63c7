"""Ordinary least squares: LinearRegression."""

from __future__ import annotations

from numbers import Integral
from typing import ClassVar

from ..._ground.about import Example, Examples, Formula, bias_term
from ...losses import Squared
from ...penalties import Box, NoPenalty
from .problems import regression_problems
from .tasks import LinearRegressor


class LinearRegression(LinearRegressor):
    """Ordinary least squares.

    Minimises  ½ Σᵢ sᵢ (yᵢ − xᵢᵀw − b)²,  in closed form. Where several w do it, the one of smallest
    norm.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to fit the bias b.
    copy_X : bool, default=True
        Accepted for scikit-learn's sake; X is never written to.
    tol : float, default=1e-6
        Iterative solvers stop when the duality gap is at most `tol` times the objective at w = 0.
    n_jobs : int, default=None
        Accepted for scikit-learn's sake; the number of threads is GAPLESS_NUM_THREADS.
    positive : bool, default=False
        Whether to keep all coefficients ≥ 0.
    solver : str, default="auto"
        A solver of gapless by name, or "auto".
    max_iter : int, default=None
        Largest number of steps; None leaves it to the solver.
    warm_start : bool, default=False
        Whether to start from the coefficients of the last fit.
    time_limit : float, default=None
        Seconds after which the best coefficients found so far are kept.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients w.
    intercept_ : float or ndarray of shape (n_targets,)
        Bias b.
    dual_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Dual point θ, which proves the certificate.
    certificate_ : Certificate
        How far the fit can be from the best possible one.
    generalization_ : Generalization
        What the model will score on data it has not seen; computed when first asked for.
    trace_ : Trace or list of Trace
        Objective, gap and seconds of every step; one per problem that was solved.
    solver_ : str
        The solver that ran, or the name of scikit-learn's that was asked for.
    n_iter_ : int
        Number of steps.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had names.

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
