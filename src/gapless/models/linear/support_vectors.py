"""Linear support vector machines: LinearSVR, LinearSVC."""

from __future__ import annotations

from numbers import Real
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ..._ground.about import Example, Examples, Formula, bias_term, chosen
from ..._ground.docstrings import described
from ..._ground.stored import Declaration, Unused
from ...losses import (
    CrammerSinger,
    EpsilonInsensitive,
    Hinge,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from ...penalties import L1, L2
from ...unseen import CV, LOO
from ._base import SELECT
from .parameters import OF_CLASSES, OF_TARGETS, SOLVED, WITH_C
from .problems import classification_problems, regression_problems
from .tasks import LinearClassifier, LinearRegressor


@described(OF_TARGETS, WITH_C, SOLVED)
class LinearSVR(LinearRegressor):
    """Linear support vector regression.

    Minimises  C Σᵢ sᵢ ℓ(yᵢ − xᵢᵀw − b) + ½‖w‖²  with ℓ(r) = max(0, |r| − ε), or its square.

    Parameters
    ----------
    epsilon : float, default=0.0
        Half-width ε ≥ 0 of the tube in which errors cost nothing.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        The loss ℓ.
    fit_intercept : bool, default=True
        Whether to fit the bias b. It is not penalised, other than in scikit-learn.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients w.
    intercept_ : ndarray of shape (1,)
        Bias b.
    dual_ : ndarray of shape (n_samples,)
        Dual point θ, which proves the certificate; times C these are the dual coefficients of the
        objective above.

    Notes
    -----
    A step costs n·d. The objective is scaled by 1/C inside, so that the certificate is in units of
    the loss.

    References
    ----------
    Ho and Lin (2012), Large-scale linear support vector regression.

    Examples
    --------
    >>> from gapless import LinearSVR
    >>> model = LinearSVR(C=10.0).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0])
    >>> model.coef_.round(4)
    array([1.])
    """

    _examples: ClassVar[Examples] = (Example("diabetes", {"C": 10.0, "epsilon": 5.0}),)

    _not_converged = "Liblinear failed to converge, increase the number of iterations"
    _multi_output = False
    _strength_name = "C"
    _stored: ClassVar[Declaration] = {**LinearRegressor._stored, "C_": Unused(), "path_": Unused()}
    _losses: ClassVar[dict] = {
        "epsilon_insensitive": EpsilonInsensitive,
        "squared_epsilon_insensitive": SquaredEpsilonInsensitive,
    }
    _parameter_constraints: ClassVar[dict] = {
        **LinearRegressor._parameter_constraints,
        **SELECT,
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "C": [Interval(Real, 0, None, closed="neither"), StrOptions({LOO, CV})],
        "loss": [StrOptions(set(_losses))],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "dual": ["boolean", StrOptions({"auto"})],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        epsilon=0.0,
        tol=1e-6,
        C=1.0,
        loss="epsilon_insensitive",
        fit_intercept=True,
        intercept_scaling=1.0,
        dual="auto",
        verbose=0,
        random_state=None,
        max_iter=1000,
        solver="auto",
        warm_start=False,
        time_limit=None,
        select="min",
    ):
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.solver = solver
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.select = select

    def _problems(self, data):
        loss = self._losses[self.loss](float(self.epsilon))
        return regression_problems(data, loss, L2(1 / self.C), self.fit_intercept, joint=False)

    def _specifics(self, data, learned, solutions, certificates):
        specifics = super()._specifics(data, learned, solutions, certificates)
        return specifics | {"intercept_": np.atleast_1d(specifics["intercept_"])}

    def _formula(self) -> Formula:
        square = "²" if self.loss.startswith("squared") else ""
        loss = f"max(0, |yᵢ − xᵢᵀw{bias_term(self, '−')}| − ε){square}"
        return Formula(
            f"C Σᵢ {loss} + ½‖w‖²", {"C": chosen(self, "C"), "ε": chosen(self, "epsilon")}
        )


@described(OF_CLASSES, WITH_C, SOLVED)
class LinearSVC(LinearClassifier):
    """Linear support vector classifier; one against the rest for more than two classes.

    Minimises  C Σᵢ sᵢ ℓ(tᵢ(xᵢᵀw + b)) + R(w)  with t = ±1, ℓ(m) = max(0, 1 − m) or its square, and
    R = ½‖w‖² or ‖w‖₁. The bias is free; scikit-learn penalises it, so the two differ a little
    unless `fit_intercept` is False. With multi_class="crammer_singer" there is one problem for all
    classes, C Σᵢ sᵢ max(0, maxₖ 1 + zₖ − z_y) + R(W) over k ≠ y with the scores z = Wᵀxᵢ + b.

    Parameters
    ----------
    penalty : {"l1", "l2"}, default="l2"
        The penalty R.
    loss : {"hinge", "squared_hinge"}, default="squared_hinge"
        The loss ℓ; without effect where multi_class="crammer_singer".
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        One problem for each class against the rest, or one for all of them, with the loss above in
        place of `loss`.

    Attributes
    ----------
    dual_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Dual point θ, which proves the certificate; times C these are the dual coefficients of the
        objective above.

    Notes
    -----
    A step costs n·d. The objective is scaled by 1/C inside, so that the certificate is in units of
    the loss. For probabilities use LogisticRegression.

    References
    ----------
    Hsieh, Chang, Lin, Keerthi and Sundararajan (2008), A dual coordinate descent method for
    large-scale linear SVM. Crammer and Singer (2001), On the algorithmic implementation of
    multiclass kernel-based vector machines.

    Examples
    --------
    >>> from gapless import LinearSVC
    >>> model = LinearSVC(loss="hinge").fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> model.predict([[0.5], [2.5]])
    array([0, 1])
    """

    _examples: ClassVar[Examples] = (Example("breast_cancer", {"loss": "hinge"}), Example("iris"))

    _not_converged = "Liblinear failed to converge, increase the number of iterations"
    _strength_name = "C"
    _stored: ClassVar[Declaration] = {**LinearClassifier._stored, "C_": Unused(), "path_": Unused()}
    _losses: ClassVar[dict] = {"hinge": Hinge, "squared_hinge": SquaredHinge}
    _penalties: ClassVar[dict] = {"l1": L1, "l2": L2}
    _parameter_constraints: ClassVar[dict] = {
        **LinearClassifier._parameter_constraints,
        **SELECT,
        "penalty": [StrOptions(set(_penalties))],
        "loss": [StrOptions(set(_losses))],
        "dual": ["boolean", StrOptions({"auto"})],
        "C": [Interval(Real, 0, None, closed="neither"), StrOptions({LOO, CV})],
        "multi_class": [StrOptions({"ovr", "crammer_singer"})],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        penalty="l2",
        loss="squared_hinge",
        *,
        dual="auto",
        tol=1e-6,
        C=1.0,
        multi_class="ovr",
        fit_intercept=True,
        intercept_scaling=1,
        class_weight=None,
        verbose=0,
        random_state=None,
        max_iter=1000,
        solver="auto",
        warm_start=False,
        time_limit=None,
        select="min",
    ):
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.solver = solver
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.select = select

    def _problems(self, data):
        loss, strength = self._losses[self.loss](), 1 / self.C
        if self.multi_class == "crammer_singer" and len(data.classes) > 2:
            loss = CrammerSinger()
        elif self.multi_class == "crammer_singer":
            # The best coefficients of two classes are opposite: W = (−w, w)/2 has half the square.
            loss, strength = Hinge(), strength / 2 if self.penalty == "l2" else strength
        penalty = self._penalties[self.penalty](strength)
        return classification_problems(data, loss, penalty, self.fit_intercept)

    def _formula(self) -> Formula:
        square = "²" if self.loss == "squared_hinge" else ""
        loss = f"max(0, 1 − tᵢ(xᵢᵀw{bias_term(self)})){square}"
        penalty = "‖w‖₁" if self.penalty == "l1" else "½‖w‖²"
        each = ", for each class against the others" if len(self.classes_) > 2 else ""
        return Formula(f"C Σᵢ {loss} + {penalty}{each}", {"C": chosen(self, "C")})
