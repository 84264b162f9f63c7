"""Support vector machines whose ν bounds the share of errors and of support vectors."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import ClassVar

from sklearn.utils._param_validation import Interval

from ..._ground.about import Example, Examples, Formula, chosen
from ..._ground.stored import Declaration, Unused
from ._base import SupportVectorMachine
from .objectives import NuMargin, NuTube, Objective
from .svc import SupportVectorClassifier
from .svr import SupportVectorRegressor

NU = Interval(Real, 0.0, 1.0, closed="right")


class NuSVC(SupportVectorClassifier):
    """Support vector classification with ν instead of C.

    Minimises  ½‖w‖² − νSρ + Σᵢ sᵢ max(0, ρ − tᵢ(⟨w, φ(xᵢ)⟩ + b))  over w, b and ρ ≥ 0 with t = ±1
    and S = Σsᵢ, for two classes once, for more once for each pair of them. At most a share ν of the
    rows is inside the margin, at least a share ν are support vectors. w/ρ and b/ρ, which are kept,
    are the SVC of C = 1/ρ.

    Parameters
    ----------
    nu : float, default=0.5
        ν in (0, 1]; where it is more than twice the share of the smaller of two classes, that is
        taken, with a warning.
    kernel : str, Kernel or callable, default="rbf"
        "linear", "poly", "rbf", "sigmoid", "laplacian", "cosine", "chi2" and others, see
        `gapless.kernels`; "precomputed" if X holds kernel values; or a function of two lists of
        rows that returns their kernel values.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        γ ≥ 0 of the kernels that have one; "scale" is 1/(n_features·Var(X)), "auto"
        1/n_features.
    coef0 : float, default=0.0
        The constant of the polynomial and the sigmoid kernel.
    shrinking : bool, default=True
        Accepted for scikit-learn's sake; the solver shrinks where that pays.
    probability : bool, default="deprecated"
        Deprecated in scikit-learn 1.9: `predict_proba` is there without it, unless it is False.
    tol : float, default=1e-3
        Stop when no optimality condition is violated by more, as LIBSVM does, or more than `tol`
        times the size of the scores where that is below 1, and when the duality gap is at most
        `tol` times ρ²·P₀ with P₀ the objective at w = 0 of the SVC of C = 1/ρ.
    cache_size : float, default=None
        Megabytes that kernel values may take; None for what fits the memory.
    class_weight : dict or "balanced", default=None
        Weights of the classes, by which those of their rows are multiplied; "balanced" gives all
        classes the same total weight.
    verbose : bool, default=False
        Accepted for scikit-learn's sake; long fits show their progress on a terminal.
    max_iter : int, default=-1
        Largest number of steps for each problem; −1 for no limit.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Whether `decision_function` has a column for each class or for each pair of classes.
    break_ties : bool, default=None
        How `predict` decides where classes have equally many votes: by the sum of their scores
        (None, True), or for the first of them, as LIBSVM does (False).
    random_state : int, RandomState instance or None, default=None
        Accepted for scikit-learn's sake; nothing here is random.
    multi_class : {"ovo", "ovr"}, default="ovo"
        One problem for each pair of classes, or for each class against the rest.
    time_limit : float, default=None
        Seconds after which the best solution found so far is kept.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, classes_, class_weight_
        As those of `SVC`.
    kernel_, margin_, kkt_status_, kkt_violation_, fit_status_, n_iter_, shape_fit_
        As those of `SVC`.
    certificate_ : Certificate
        How far the fit can be from the best possible one, over all problems.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had names.

    Notes
    -----
    The dual is  max −½θᵀKθ  with tᵢθᵢ from 0 to sᵢ, of sum νS/2 over either class. Weights of
    classes count here; scikit-learn ignores them.

    References
    ----------
    Schölkopf, Smola, Williamson and Bartlett (2000), New support vector algorithms.

    Examples
    --------
    >>> from gapless import NuSVC
    >>> model = NuSVC(nu=0.5, kernel="linear").fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> print(model.predict([[-1.0], [4.0]]))
    [0 1]
    """

    _examples: ClassVar[Examples] = (Example("breast_cancer", {"nu": 0.1}),)

    _parameter_constraints: ClassVar[dict] = {
        **SupportVectorClassifier._parameter_constraints,
        "nu": [NU],
    }

    _one_class = "specified nu is infeasible: all samples with positive weights are of one class"

    def __init__(
        self,
        *,
        nu=0.5,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        shrinking=True,
        probability="deprecated",
        tol=1e-3,
        cache_size=None,
        class_weight=None,
        verbose=False,
        max_iter=-1,
        decision_function_shape="ovr",
        break_ties=None,
        random_state=None,
        multi_class="ovo",
        time_limit=None,
    ):
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.multi_class = multi_class
        self.time_limit = time_limit

    def _objective(self) -> Objective:
        return NuMargin(float(self.nu))

    def _specifics(self, data, rows, machine, solved):
        sums = [
            (machine.weights[part.rows][part.y > 0].sum(), machine.weights[part.rows].sum())
            for part in machine.parts
        ]
        largest = min(2 * min(positive, total - positive) / total for positive, total in sums)
        if self.nu > largest * (1 + 1e-12):
            warnings.warn(
                f"specified nu is infeasible: nu={self.nu:g} is more than {largest:.3g}, twice "
                "the share of the smaller of two classes; the largest possible value was used "
                "there. Lower nu.",
                UserWarning,
                stacklevel=5,
            )
        return super()._specifics(data, rows, machine, solved)

    def _formula(self) -> Formula:
        return Formula(
            "½‖w‖² − νnρ + Σᵢ max(0, ρ − tᵢ(⟨w, φ(xᵢ)⟩ + b))",
            {"ν": self.nu, "kernel": chosen(self, "kernel")},
        )


class NuSVR(SupportVectorRegressor):
    """Support vector regression with ν instead of ε, which the fit chooses.

    Minimises  ½‖w‖² + C(νSε + Σᵢ sᵢ max(0, |yᵢ − ⟨w, φ(xᵢ)⟩ − b| − ε))  over w, b and ε ≥ 0 with
    S = Σsᵢ. At most a share ν of the rows is outside the tube, at least a share ν are support
    vectors.

    Parameters
    ----------
    nu : float, default=0.5
        ν in (0, 1].
    C : float, default=1.0
        Weight C > 0 of the errors.
    kernel : str, Kernel or callable, default="rbf"
        "linear", "poly", "rbf", "sigmoid", "laplacian", "cosine", "chi2" and others, see
        `gapless.kernels`; "precomputed" if X holds kernel values; or a function of two lists of
        rows that returns their kernel values.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        γ ≥ 0 of the kernels that have one; "scale" is 1/(n_features·Var(X)), "auto"
        1/n_features.
    coef0 : float, default=0.0
        The constant of the polynomial and the sigmoid kernel.
    shrinking : bool, default=True
        Accepted for scikit-learn's sake; the solver shrinks where that pays.
    tol : float, default=1e-3
        Stop when no optimality condition is violated by more, as LIBSVM does, or more than `tol`
        times the spread of y where that is below 1, and when the duality gap is at most
        `tol` times the objective at w = 0.
    cache_size : float, default=None
        Megabytes that kernel values may take; None for what fits the memory.
    verbose : bool, default=False
        Accepted for scikit-learn's sake; long fits show their progress on a terminal.
    max_iter : int, default=-1
        Largest number of steps; −1 for no limit.
    time_limit : float, default=None
        Seconds after which the best solution found so far is kept.

    Attributes
    ----------
    epsilon_ : float
        Half the width ε of the tube.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, kernel_
        As those of `SVR`.
    kkt_status_, kkt_violation_, fit_status_, n_iter_, shape_fit_
        As those of `SVR`.
    certificate_ : Certificate
        How far the fit can be from the best possible one.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had names.

    Notes
    -----
    The dual is  max Σ yᵢθᵢ − ½θᵀKθ  with |θᵢ| ≤ Csᵢ, Σθ = 0 and Σ|θᵢ| ≤ CνS.

    References
    ----------
    Schölkopf, Smola, Williamson and Bartlett (2000), New support vector algorithms.

    Examples
    --------
    >>> from gapless import NuSVR
    >>> model = NuSVR(nu=0.5, C=10, kernel="linear").fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> print(model.predict([[1.0]]).round(3))
    [1.]
    """

    _examples: ClassVar[Examples] = (Example("diabetes", {"C": 50.0}),)

    _stored: ClassVar[Declaration] = {**SupportVectorRegressor._stored, "epsilon_": Unused()}
    _parameter_constraints: ClassVar[dict] = {
        **SupportVectorMachine._parameter_constraints,
        "nu": [NU],
        "C": [Interval(Real, 0.0, None, closed="neither")],
    }

    def __init__(
        self,
        *,
        nu=0.5,
        C=1.0,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        shrinking=True,
        tol=1e-3,
        cache_size=None,
        verbose=False,
        max_iter=-1,
        time_limit=None,
    ):
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.time_limit = time_limit

    def _objective(self) -> Objective:
        return NuTube(float(self.C), float(self.nu))

    def _specifics(self, data, rows, machine, solved):
        return {"epsilon_": solved[0].point.width}

    def _formula(self) -> Formula:
        return Formula(
            "½‖w‖² + C(νnε + Σᵢ max(0, |yᵢ − ⟨w, φ(xᵢ)⟩ − b| − ε))",
            {"C": self.C, "ν": self.nu, "kernel": chosen(self, "kernel")},
        )
