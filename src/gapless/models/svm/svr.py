"""Support vector regression with the ε-insensitive loss: SVR."""

from __future__ import annotations

from numbers import Real
from typing import ClassVar

from sklearn.base import RegressorMixin
from sklearn.utils._param_validation import Interval, StrOptions

from ..._ground.about import Example, Examples, Formula, chosen
from ..._ground.docstrings import FEATURES, described
from ..._ground.stored import Declaration, Unused
from ..._ground.validation import Training, read_regression
from ...unseen import intervals_of, predict_with_intervals
from ._base import MACHINE, OPEN, SupportVectorMachine
from .objectives import Objective, Tube
from .on_features import APPROXIMATED, CONSTRAINTS, WithApproximation
from .support_vectors import ONE_PROBLEM, SUPPORT
from .training_rows import check_precomputed, counted_weights, read_any
from .tuning import TUNED

# What the regressors share, for `described`.
REGRESSOR = """
tol : float
    Stop when no optimality condition is violated by more, as LIBSVM does, or more than `tol` times
    the spread of y where that is below 1, and when the duality gap is at most `tol` times the
    objective at w = 0.
kkt_status_ : ndarray of str, shape (n_samples,)
    "inactive" (multiplier 0), "on margin" (between 0 and its bound, at the edge of the tube),
    "bounded" (at its bound, outside), or "absent" for a row of weight 0.
"""


class SupportVectorRegressor(RegressorMixin, SupportVectorMachine):
    """Base of the regressors: they predict their scores."""

    _intervals = intervals_of

    def _read(self, X, y, sample_weight, *, reset=True) -> Training:
        if self._is_precomputed:
            check_precomputed(X)
        sample_weight = counted_weights(sample_weight)
        return read_any(read_regression, self, X, y, sample_weight, reset=reset)

    def predict(self, X, *, interval=None):
        """Predict targets, with intervals if requested.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to predict; kernel values with the training rows if kernel="precomputed".
        interval : float, default=None
            The share of new rows, such as 0.9, whose target is to be inside its interval. See
            `gapless.intervals` for what is promised; the first call makes ten more fits.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predicted values. With `interval`, a tuple `(prediction, lower, upper)` of such arrays.
        """
        if interval is None:
            return self._scores(X)[:, 0]
        return predict_with_intervals(self, X, interval)


@described(TUNED, APPROXIMATED, REGRESSOR, ONE_PROBLEM, MACHINE, SUPPORT, FEATURES)
class SVR(WithApproximation, SupportVectorRegressor):
    """Support vector regression.

    Minimises  ½‖w‖² + C Σᵢ sᵢ max(0, |yᵢ − ⟨w, φ(xᵢ)⟩ − b| − ε), where ⟨φ(x), φ(z)⟩ is the kernel.

    Parameters
    ----------
    C : float, "loo" or array-like, default=1.0
        Weight C > 0 of the errors; np.inf allows none beyond epsilon. "loo" chooses it by scores on
        held-out rows; a list chooses among its values in the same way.
    epsilon : float, "loo" or array-like, default=0.1
        Half the width ε ≥ 0 of the tube in which errors cost nothing. "loo", or a list, as for C.

    Attributes
    ----------
    epsilon_ : float
        The chosen ε, with "loo" or a list.

    Notes
    -----
    Time grows with n²·d for the kernel values and with the number of support vectors, which are all
    rows outside the tube: a larger epsilon gives fewer. C and epsilon have the unit of y.

    References
    ----------
    Smola and Schölkopf (2004), A tutorial on support vector regression.

    Examples
    --------
    >>> from gapless import SVR
    >>> model = SVR(kernel="linear", C=10, epsilon=0.5).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> print(model.predict([[1.0], [4.0]]).round(3))
    [1.  2.5]
    """

    _examples: ClassVar[Examples] = (Example("diabetes", {"C": 50.0, "epsilon": 5.0}),)

    _tunable = ("C", "gamma", "epsilon")
    _stored: ClassVar[Declaration] = {
        **SupportVectorRegressor._stored,
        **WithApproximation._feature_attributes,
        "C_": Unused(),
        "gamma_": Unused(),
        "epsilon_": Unused(),
        "search_": Unused(),
    }
    _parameter_constraints: ClassVar[dict] = {
        **SupportVectorMachine._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="right"), *OPEN],
        "gamma": [*SupportVectorMachine._parameter_constraints["gamma"], *OPEN],
        "select": [StrOptions({"min", "1se"})],
        "epsilon": [Interval(Real, 0.0, None, closed="left"), *OPEN],
        "random_state": ["random_state"],
        **CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        tol=1e-3,
        C=1.0,
        epsilon=0.1,
        shrinking=True,
        cache_size=None,
        verbose=False,
        max_iter=-1,
        time_limit=None,
        select="min",
        approximation="auto",
        n_components=None,
        random_state=None,
    ):
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.select = select
        self.approximation = approximation
        self.n_components = n_components
        self.random_state = random_state

    def _objective(self) -> Objective:
        return Tube(float(self.C), float(self.epsilon))

    def _formula(self) -> Formula:
        numbers = {"C": chosen(self, "C"), "ε": chosen(self, "epsilon")}
        return Formula(
            "½‖w‖² + C Σᵢ max(0, |yᵢ − ⟨w, φ(xᵢ)⟩ − b| − ε)",
            {**numbers, "kernel": chosen(self, "kernel")},
        )
