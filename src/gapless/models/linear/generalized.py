"""Generalised linear models of counts and amounts: Poisson-, Gamma- and TweedieRegressor.

The mean of the target is exp(Xw + b + offset), and the objective a mean of half deviances.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, column_or_1d

from ..._ground.about import Example, Examples, Formula, bias_term, chosen
from ..._ground.docstrings import described
from ..._ground.stored import Declaration, Unused
from ...losses import Gamma, Loss, Poisson, Squared, Tweedie
from ...penalties import L2
from ...streaming import is_in_parts, named_columns
from ...unseen import CV, LOO, ExplainedLoss
from ._base import SELECT, LinearModel
from .offsets import OFFSET, with_offset, without_offset
from .parameters import DATA, OF_TARGETS, ROWS, SOLVED, WITH_ALPHA
from .problems import regression_problems
from .tasks import LinearRegressor

Array = np.ndarray

# What the three classes describe alike.
GENERALIZED = """
solver : str
    A solver of gapless by name, or "auto". Of scikit-learn's names "lbfgs" means "auto" and
    "newton-cholesky" means "newton_cholesky".
"""


class GeneralizedLinearRegressor(LinearRegressor):
    """Base of the three: half a mean deviance with a ridge penalty, and rows with offsets."""

    _multi_output = False
    _averages = True
    _takes_offset = True
    _defers = True
    _strength_name = "alpha"
    _guide = "generalized_linear_models"
    _peer_solvers: ClassVar[dict[str, str]] = {
        "lbfgs": "auto",
        "newton-cholesky": "newton_cholesky",
    }
    _stored: ClassVar[Declaration] = {
        **LinearRegressor._stored,
        "alpha_": Unused(),
        "path_": Unused(),
    }
    _parameter_constraints: ClassVar[dict] = {
        **LinearRegressor._parameter_constraints,
        **SELECT,
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({LOO, CV})],
        "verbose": ["verbose"],
    }

    def _loss(self) -> Loss:
        """Half the deviance, as a function of the logarithm of the mean."""
        raise NotImplementedError

    def _problems(self, data):
        penalty = L2(self.alpha * data.weights.sum())
        return regression_problems(data, self._loss(), penalty, self.fit_intercept, joint=False)

    def _respond(self, scores):
        return self._loss().inverse_link(scores)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self._has_positive_targets()
        return tags

    def _has_positive_targets(self) -> bool:
        """Whether targets below 0 are refused."""
        return True

    # ---- rows with offsets -----------------------------------------------------------------------

    @described(OFFSET, DATA)
    def fit(self, X, y, sample_weight=None, offset=None):
        """Fit the model.

        Returns
        -------
        self : object
            The fitted estimator. Ctrl-C keeps the best coefficients found so far and raises
            KeyboardInterrupt; an error leaves the estimator as it was.
        """
        return LinearModel.fit(self, X, *self._without_offset(y, sample_weight, offset))

    @described(OFFSET, ROWS)
    def predict(self, X, *, offset=None, interval=None):
        """Predict means, with intervals if requested.

        Parameters
        ----------
        interval : float, default=None
            The share of new rows, such as 0.9, whose target is to be inside its interval. See
            `gapless.intervals` for what is promised; the first call may fit ten times again. With
            offsets only where errors scale as the means do: GammaRegressor, and powers 0 and 2.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predicted means. With `interval`, a tuple `(prediction, lower, upper)` of such arrays.
        """
        found = LinearRegressor.predict(self, X, interval=interval)
        if offset is None:
            return found
        return with_offset(self._loss(), found, X, offset, interval is not None)

    @described(OFFSET)
    def score(self, X, y, sample_weight=None, offset=None):
        """D², the share of the deviance that the model explains; 1 is the best.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to predict; or a table in parts.
        y : array-like of shape (n_samples,)
            Their targets; for a table in parts also the name of its column.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights; for a table in parts also the name of its column.

        Returns
        -------
        score : float
            1 − D(y, predictions)/D(y, the best constant rate), D the weighted sum of deviances.
        """
        y, weights = named_columns(X, y, sample_weight)
        y, weights = self._without_offset(y, weights, offset)
        if is_in_parts(X):
            # The rows are checked as they are predicted.
            y = column_or_1d(y, dtype=np.float64)
            weights = _check_sample_weight(weights, y, dtype=np.float64, ensure_non_negative=True)
            self._loss().check_targets(y)
            return self._own_scoring(self, X, y, weights)
        data = self._read(X, y, weights, reset=False)
        self._loss().check_targets(data.y)
        return self._own_scoring(self, X, data.y, data.sample_weight)

    @property
    def _own_scoring(self) -> ExplainedLoss:
        return ExplainedLoss(self._loss())

    def _certification_problem(self, X, y, sample_weight=None, offset=None):
        return super()._certification_problem(X, *self._without_offset(y, sample_weight, offset))

    def _fitted_to(self, X, y, sample_weight=None, offset=None):
        return super()._fitted_to(X, *self._without_offset(y, sample_weight, offset))

    def _without_offset(self, y: Any, sample_weight: Any, offset: Any) -> tuple[Any, Any]:
        if offset is None:
            return y, sample_weight
        return without_offset(self._loss(), y, sample_weight, offset)


@described(GENERALIZED, OF_TARGETS, WITH_ALPHA, SOLVED)
class PoissonRegressor(GeneralizedLinearRegressor):
    """Counts whose mean is exp(Xw + b), with a ridge penalty.

    Minimises  (1/S) Σᵢ sᵢ (μᵢ − yᵢ + yᵢ log(yᵢ/μᵢ)) + ½α‖w‖²  with μᵢ = exp(xᵢᵀw + b + oᵢ) and
    S = Σᵢ sᵢ exp(oᵢ), which is n without weights and offsets o.

    Notes
    -----
    A step costs n·d². A count y in an exposure e is fitted with offset=log e, which is the same as
    the rate y/e with the sample weight e, so α refers to the mean deviance of a unit of exposure.
    If the counts vary more than Poisson ones, coefficients are still consistent.

    References
    ----------
    McCullagh and Nelder (1989), Generalized linear models.

    Examples
    --------
    >>> import numpy as np
    >>> from gapless import PoissonRegressor
    >>> X, claims, years = [[0.0], [0.0], [1.0], [1.0]], [1, 2, 3, 9], [1.0, 2.0, 1.0, 3.0]
    >>> model = PoissonRegressor(alpha=0.0).fit(X, claims, offset=np.log(years))
    >>> model.predict([[0.0], [1.0]]).round(6)
    array([1., 3.])
    >>> model.predict([[1.0]], offset=[np.log(2.0)]).round(6)
    array([6.])
    """

    _examples: ClassVar[Examples] = (Example("diabetes", {"alpha": 1e-3}),)

    def __init__(
        self,
        *,
        alpha=1.0,
        fit_intercept=True,
        solver="auto",
        max_iter=100,
        tol=1e-6,
        warm_start=False,
        verbose=0,
        time_limit=None,
        select="min",
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.time_limit = time_limit
        self.select = select

    def _loss(self) -> Loss:
        return Poisson()

    def _formula(self) -> Formula:
        return _half_deviance(self, "μᵢ − yᵢ + yᵢ log(yᵢ/μᵢ)")


@described(GENERALIZED, OF_TARGETS, WITH_ALPHA, SOLVED)
class GammaRegressor(GeneralizedLinearRegressor):
    """Positive amounts whose mean is exp(Xw + b) and whose spread grows with it, by ridge.

    Minimises  (1/S) Σᵢ sᵢ (log(μᵢ/yᵢ) + yᵢ/μᵢ − 1) + ½α‖w‖²  with μᵢ = exp(xᵢᵀw + b + oᵢ) and
    S = Σsᵢ, which is n without weights.

    Notes
    -----
    A step costs n·d². An offset o is the same as the target y·exp(−o): a relative error counts the
    same whatever the size of the amount. Targets of 0 need TweedieRegressor with 1 < power < 2.

    References
    ----------
    McCullagh and Nelder (1989), Generalized linear models.

    Examples
    --------
    >>> from gapless import GammaRegressor
    >>> model = GammaRegressor(alpha=0.0).fit([[0.0], [0.0], [1.0], [1.0]], [1.0, 3.0, 4.0, 8.0])
    >>> model.predict([[0.0], [1.0]]).round(6)
    array([2., 6.])
    """

    _examples: ClassVar[Examples] = (Example("diabetes", {"alpha": 1e-3}),)

    def __init__(
        self,
        *,
        alpha=1.0,
        fit_intercept=True,
        solver="auto",
        max_iter=100,
        tol=1e-6,
        warm_start=False,
        verbose=0,
        time_limit=None,
        select="min",
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.time_limit = time_limit
        self.select = select

    def _loss(self) -> Loss:
        return Gamma()

    def _formula(self) -> Formula:
        return _half_deviance(self, "log(μᵢ/yᵢ) + yᵢ/μᵢ − 1")


@described(GENERALIZED, OF_TARGETS, WITH_ALPHA, SOLVED)
class TweedieRegressor(GeneralizedLinearRegressor):
    """Amounts whose variance is a power of their mean, many of them perhaps 0, by ridge.

    Minimises  (1/S) Σᵢ sᵢ ½dₚ(yᵢ, μᵢ) + ½α‖w‖²  with μᵢ = exp(xᵢᵀw + b + oᵢ), the deviance dₚ of
    the power p, and S = Σᵢ sᵢ exp((2 − p)oᵢ), which is n without weights and offsets o. For p = 0
    it is ½(yᵢ − μᵢ)² with μᵢ = xᵢᵀw + b + oᵢ by default.

    Parameters
    ----------
    power : float, default=0.0
        The power p: 0 for the squared loss, 1 for counts (Poisson), between 1 and 2 for sums of a
        random number of amounts, with zeros, 2 for positive amounts (gamma), 3 for the inverse
        Gaussian. No power is between 0 and 1.
    link : {"auto", "identity", "log"}, default="auto"
        The scale of Xw + b: "auto" is "identity" for p ≤ 0, which p = 0 alone can have here, and
        "log" otherwise.

    Notes
    -----
    A step costs n·d². With a logarithm and a power beyond 2, or not above 0, the objective is not
    convex, and the certificate says "stationary".

    References
    ----------
    Jørgensen (1987), Exponential dispersion models, Journal of the Royal Statistical Society B 49.

    Examples
    --------
    >>> from gapless import TweedieRegressor
    >>> model = TweedieRegressor(power=1.5, alpha=0.0)
    >>> model = model.fit([[0.0], [0.0], [1.0], [1.0]], [0.0, 2.0, 3.0, 5.0])
    >>> model.predict([[0.0], [1.0]]).round(6)
    array([1., 4.])
    """

    _examples: ClassVar[Examples] = (Example("diabetes", {"power": 1.5, "alpha": 1e-3}),)
    _parameter_constraints: ClassVar[dict] = {
        **GeneralizedLinearRegressor._parameter_constraints,
        "power": [Interval(Real, None, None, closed="neither")],
        "link": [StrOptions({"auto", "identity", "log"})],
    }

    def __init__(
        self,
        *,
        power=0.0,
        alpha=1.0,
        fit_intercept=True,
        link="auto",
        solver="auto",
        max_iter=100,
        tol=1e-6,
        warm_start=False,
        verbose=0,
        time_limit=None,
        select="min",
    ):
        self.power = power
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.link = link
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.time_limit = time_limit
        self.select = select

    def _check_parameters(self):
        if 0 < self.power < 1:
            raise ValueError(
                f"no distribution has power={self.power!r}; use a power of at least 1, or 0."
            )
        if self._has_identity() and self.power != 0:
            raise ValueError(
                f"power={self.power!r} with the identity as link has no minimum that could be "
                'proved, and means below 0; use link="log", or power=0.'
            )

    def _has_identity(self) -> bool:
        """Whether means are Xw + b, not exp(Xw + b)."""
        return self.power <= 0 if self.link == "auto" else self.link == "identity"

    def _loss(self) -> Loss:
        return Squared() if self._has_identity() else Tweedie(float(self.power))

    def _has_positive_targets(self):
        return not self._has_identity()

    def _formula(self) -> Formula:
        if self._has_identity():
            return Formula(
                f"½ Σᵢ (yᵢ − xᵢᵀw{bias_term(self, '−')})² + ½nα‖w‖²",
                {"α": chosen(self, "alpha")},
            )
        found = _half_deviance(self, "½dₚ(yᵢ, μᵢ)")
        return Formula(found.text, {**found.numbers, "p": self.power})


def _half_deviance(model, term: str) -> Formula:
    """The objective of a model with means exp(Xw + b)."""
    return Formula(
        f"Σᵢ ({term}) + ½nα‖w‖², μᵢ = exp(xᵢᵀw{bias_term(model)})",
        {"α": chosen(model, "alpha")},
    )
