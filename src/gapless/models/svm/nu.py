"""Support vector machines whose ν bounds the share of errors and of support vectors."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import ClassVar

from sklearn.utils._param_validation import Interval

from ..._ground.about import Example, Examples, Formula, chosen
from ..._ground.docstrings import FEATURES, described
from ..._ground.stored import Declaration, Unused
from ._base import MACHINE, SupportVectorMachine
from .objectives import NuMargin, NuTube, Objective
from .support_vectors import ONE_PROBLEM, SUPPORT
from .svc import CLASSIFIER, SupportVectorClassifier
from .svr import REGRESSOR, SupportVectorRegressor

NU = Interval(Real, 0.0, 1.0, closed="right")


@described(CLASSIFIER, MACHINE, SUPPORT, FEATURES)
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
    tol : float, default=1e-3
        Stop when no optimality condition is violated by more, as LIBSVM does, or more than `tol`
        times the size of the scores where that is below 1, and when the duality gap is at most
        `tol` times ρ²·P₀ with P₀ the objective at w = 0 of the SVC of C = 1/ρ.
    class_weight : dict or "balanced", default=None
        Weights of the classes, by which those of their rows are multiplied; "balanced" gives all
        classes the same total weight.

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


@described(REGRESSOR, ONE_PROBLEM, MACHINE, SUPPORT, FEATURES)
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

    Attributes
    ----------
    epsilon_ : float
        Half the width ε of the tube.

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
