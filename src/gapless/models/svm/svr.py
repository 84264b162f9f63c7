"""Support vector regression with the ε-insensitive loss: SVR."""

from __future__ import annotations

from numbers import Real
from typing import ClassVar

from sklearn.base import RegressorMixin
from sklearn.utils._param_validation import Interval, StrOptions

from ..._ground.about import Example, Examples, Formula, chosen
from ..._ground.stored import Declaration, Unused
from ..._ground.validation import Training, read_regression
from ...unseen import intervals_of, predict_with_intervals
from ._base import OPEN, SupportVectorMachine
from .objectives import Objective, Tube
from .on_features import CONSTRAINTS, WithApproximation
from .training_rows import check_precomputed, counted_weights, read_any


class SupportVectorRegressor(RegressorMixin, SupportVectorMachine):
    """Base of the regressors: they predict their scores."""

    _intervals = intervals_of

    def _read(self, X, y, sample_weight, *, reset=True) -> Training:
        if self._is_precomputed:
            check_precomputed(X)
        sample_weight = counted_weights(sample_weight)
        return read_any(read_regression, self, X, y, sample_weight, reset=reset)

    def predict(self, X, *, interval=None):
        """Predict targets, with intervals where they are asked for.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to predict; kernel values with the training rows if kernel="precomputed".
        interval : float, default=None
            The share of new rows, such as 0.9, whose target is to be inside its interval. See
            `gapless.intervals` for what is promised; the first call fits ten times again.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predicted values. With `interval`, a tuple `(prediction, lower, upper)` of such arrays.
        """
        if interval is None:
            return self._scores(X)[:, 0]
        return predict_with_intervals(self, X, interval)


class SVR(WithApproximation, SupportVectorRegressor):
    """Support vector regression.

    Minimises  ½‖w‖² + C Σᵢ sᵢ max(0, |yᵢ − ⟨w, φ(xᵢ)⟩ − b| − ε), where ⟨φ(x), φ(z)⟩ is the kernel.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        "linear", "poly", "rbf", "sigmoid", "laplacian", "cosine", "chi2" and others, see
        `gapless.kernels`; "precomputed" if X holds kernel values; or a function of two lists of
        rows that returns their kernel values.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto", "loo"}, float or array-like, default="scale"
        γ ≥ 0 of the kernels that have one; "scale" is 1/(n_features·Var(X)), "auto"
        1/n_features. "loo", or a list, as for C.
    coef0 : float, default=0.0
        The constant of the polynomial and the sigmoid kernel.
    tol : float, default=1e-3
        Stop when no optimality condition is violated by more, as LIBSVM does, or more than `tol`
        times the spread of y where that is below 1, and when the duality gap is at most
        `tol` times the objective at w = 0.
    C : float, "loo" or array-like, default=1.0
        Weight C > 0 of the errors; np.inf allows none beyond epsilon. "loo" chooses it by what
        machines say of rows that they have not seen, as does a list, among its values.
    epsilon : float, "loo" or array-like, default=0.1
        Half the width ε ≥ 0 of the tube in which errors cost nothing. "loo", or a list, as for C.
    shrinking : bool, default=True
        Accepted for scikit-learn's sake; the solver shrinks where that pays.
    cache_size : float, default=None
        Megabytes that kernel values may take; None for what fits the memory.
    verbose : bool, default=False
        Accepted for scikit-learn's sake; long fits show their progress on a terminal.
    max_iter : int, default=-1
        Largest number of steps; −1 for no limit.
    time_limit : float, default=None
        Seconds after which the best solution found so far is kept; a choice of parameters takes
        at most half of them.
    select : {"min", "1se"}, default="min"
        Of parameters that are chosen: the best, or the machine with the fewest support vectors
        inside the margin's bounds that is within one standard error of it.
    approximation : {"auto", "nystroem", "random_features"} or None, default="auto"
        What stands for the kernel: itself (None), landmarks among the rows, or random features;
        "auto" takes the kernel itself up to 50,000 distinct rows, and landmarks beyond. The
        certificate says which objective it concerns.
    n_components : int, default=None
        How many landmarks or random features. None doubles them until leave-one-out of least
        squares on them no longer improves by half its standard error.
    random_state : int, RandomState instance or None, default=None
        Seed of landmarks or random features, 0 for None.

    Attributes
    ----------
    support_ : ndarray of shape (n_SV,)
        Rows of the support vectors.
    support_vectors_ : {ndarray, sparse matrix} of shape (n_SV, n_features)
        The support vectors; empty for kernel="precomputed".
    n_support_ : ndarray of shape (1,)
        How many support vectors there are.
    dual_coef_ : {ndarray, sparse matrix} of shape (1, n_SV)
        Signed multipliers: ⟨w, φ(x)⟩ is their sum over kernel values.
    intercept_ : ndarray of shape (1,)
        Bias b.
    coef_ : ndarray of shape (1, n_features)
        Coefficients w, for a linear kernel.
    kernel_ : Kernel
        The kernel with all its parameters as numbers.
    features_ : KernelFeatures
        The features of landmarks, or random ones, where they stand for the kernel.
    feature_coef_ : ndarray of shape (n_problems, n_components)
        Their coefficients w, by which rows are then scored; `dual_coef_` are the multipliers of the
        training rows, of which w is the sum over features.
    certificate_ : Certificate
        How far the fit can be from the best possible one.
    kkt_status_ : ndarray of str, shape (n_samples,)
        "inactive" (multiplier 0), "on margin" (between 0 and its bound, at the edge of the tube),
        "bounded" (at its bound, outside), or "absent" for a row of weight 0.
    kkt_violation_ : ndarray of shape (n_samples,)
        By how much the prediction of each row violates what its multiplier demands.
    fit_status_ : int
        0 if the solver reached its tolerance, else 1.
    n_iter_ : int
        Number of steps.
    shape_fit_ : tuple of int
        Shape of the training data.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had names.
    C_, gamma_, epsilon_ : float
        The chosen values, of parameters that were to be chosen.
    search_ : Search
        What was tried for them, and how it did on rows that had been left out.

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
