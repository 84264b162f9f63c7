"""Quantiles of the target as linear functions of the features: QuantileRegressor."""

from __future__ import annotations

from numbers import Real
from typing import ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from ..._ground.about import Example, Examples, Formula, bias_term, chosen
from ..._ground.docstrings import described
from ..._ground.stored import Declaration, Unused
from ...losses import Quantile
from ...penalties import L1
from ...unseen import CV, LOO, ExplainedLoss
from ._base import SELECT
from .parameters import OF_TARGETS, SOLVED, WITH_ALPHA
from .problems import regression_problems
from .tasks import LinearRegressor


@described(OF_TARGETS, WITH_ALPHA, SOLVED)
class QuantileRegressor(LinearRegressor):
    """A quantile of the target as a linear function of the features, with an L1 penalty.

    Minimises  (1/S) Σᵢ sᵢ max(q(yᵢ − zᵢ), (1 − q)(zᵢ − yᵢ)) + α‖w‖₁  with zᵢ = xᵢᵀw + b and
    S = Σsᵢ, which is n without weights.

    Parameters
    ----------
    quantile : float, default=0.5
        The level q, between 0 and 1: a share q of the targets lies below the predictions. 0.5 is
        the median, which minimises absolute errors.
    solver : str, default="auto"
        A solver of gapless by name, or "auto". scikit-learn's "highs", "highs-ds" and "highs-ipm"
        mean "auto", which takes interior point steps.
    solver_options : dict, default=None
        Accepted for scikit-learn's sake; the solvers here have no options.

    Notes
    -----
    Costs n·d² for each of ten to forty interior point steps, after which the fit is exact: it
    passes through as many rows as it has coefficients. `score` is R², as in scikit-learn;
    `generalization_` is the share of the quantile loss that is explained, D², which is right for
    every level.

    References
    ----------
    Koenker and Bassett (1978), Regression quantiles. Portnoy and Koenker (1997), The Gaussian hare
    and the Laplacian tortoise, Statistical Science 12.

    Examples
    --------
    >>> from gapless import QuantileRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], [0.0, 1.0, 2.0, 30.0, 4.0]
    >>> model = QuantileRegressor(quantile=0.5, alpha=0.0).fit(X, y)
    >>> model.predict([[3.0]]).round(6)
    array([3.])
    """

    _examples: ClassVar[Examples] = (Example("diabetes", {"alpha": 0.1}),)

    _multi_output = False
    _averages = True
    _strength_name = "alpha"
    _guide = "generalized_linear_models"
    _peer_solvers: ClassVar[dict[str, str]] = dict.fromkeys(
        ("highs", "highs-ds", "highs-ipm"), "auto"
    )
    _stored: ClassVar[Declaration] = {
        **LinearRegressor._stored,
        "alpha_": Unused(),
        "path_": Unused(),
    }
    _parameter_constraints: ClassVar[dict] = {
        **LinearRegressor._parameter_constraints,
        **SELECT,
        "quantile": [Interval(Real, 0, 1, closed="neither")],
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({LOO, CV})],
        "solver_options": [dict, None],
    }

    def __init__(
        self,
        *,
        quantile=0.5,
        alpha=1.0,
        fit_intercept=True,
        solver="auto",
        solver_options=None,
        max_iter=None,
        tol=1e-6,
        warm_start=False,
        time_limit=None,
        select="min",
    ):
        self.quantile = quantile
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.solver_options = solver_options
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.select = select

    @property
    def _own_scoring(self) -> ExplainedLoss:
        return ExplainedLoss(Quantile(float(self.quantile)))

    def _problems(self, data):
        loss, penalty = Quantile(float(self.quantile)), L1(self.alpha * data.weights.sum())
        return regression_problems(data, loss, penalty, self.fit_intercept, joint=False)

    def _formula(self) -> Formula:
        z = f"xᵢᵀw{bias_term(self)}"
        return Formula(
            f"Σᵢ max(q(yᵢ − zᵢ), (1 − q)(zᵢ − yᵢ)) + nα‖w‖₁, zᵢ = {z}",
            {"q": self.quantile, "α": chosen(self, "alpha")},
        )
