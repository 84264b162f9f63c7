"""Linear support vector machines: LinearSVR, LinearSVC."""

from __future__ import annotations

from functools import cached_property
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..._ground.about import Example, Examples, Formula, bias_term, chosen
from ..._ground.docstrings import described
from ..._ground.stored import Declaration, Maybe, Unused, Value
from ...losses import (
    CrammerSinger,
    EpsilonInsensitive,
    Hinge,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from ...penalties import L1, L2
from ...problem import Parameters, Problem
from ...unseen import CV, KEPT_ROWS, LOO, LaterProbabilities, with_largest
from ._base import SELECT
from .hard_margin import NotSeparable, enough
from .kkt import row_conditions, without_rounding
from .parameters import OF_CLASSES, OF_TARGETS, ROWS, SOLVED, WITH_C
from .path_choice import PathChoice
from .problems import (
    classification_problems,
    dense,
    fitted_of,
    narrowed,
    regression_problems,
    unpack,
)
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
            f"Σᵢ {loss} + ‖w‖²/(2C)", {"C": chosen(self, "C"), "ε": chosen(self, "epsilon")}
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
    C : float, "loo" or "cv", default=1.0
        Weight C > 0 of the errors; np.inf allows none, whatever the loss, which needs classes that
        a plane separates. "loo" chooses it by leave-one-out, "cv" by folds.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        One problem for each class against the rest, or one for all of them, with the loss above in
        place of `loss`.

    Attributes
    ----------
    dual_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Dual point θ, which proves the certificate; times C these are the dual coefficients of the
        objective above.
    alpha_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Multipliers α ≥ 0 of the training rows: C·|θ|, for more than two classes a column for each
        problem. The hinge has α ≤ C·s for a row of weight s: that of weight 2 is the sum of those
        of a row given twice. The squared hinge has α = 2C·s·ξ. With multi_class="crammer_singer"
        the columns are the rivals of the row's own class, which has 0 in its own.
    support_ : ndarray of shape (n_SV,)
        Rows with a multiplier above 0 in any problem, in the order of the data.
    slack_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Slacks ξ = max(0, 1 − t·score) of the training rows, by how much each is short of the
        margin, whatever its weight; with multi_class="crammer_singer" one for each row, its loss.
        Computed on first access, from the data that the fit refers to, as are the next two.
    kkt_status_ : ndarray of str, shape (n_samples,)
        "inactive" (multiplier 0), "on margin" (between 0 and its bound), "bounded" (at it),
        "active" (above 0 where the squared hinge has no bound), or "absent" for a row of weight 0;
        the last of these in any of its problems.
    kkt_violation_ : ndarray of shape (n_samples,)
        By how much the score of each row violates what its multiplier demands.
    margin_ : float or ndarray of shape (n_classes,)
        Width 2/‖w‖ of the margin, from one side of the plane to the other, twice the geometric
        margin.
    probabilities_ : LaterProbabilities
        How scores become probabilities; fitted when `predict_proba` is first called.
    C_ : float
        The chosen C, with C="loo" and "cv"; with C=np.inf one beyond which nothing changes.

    Notes
    -----
    A step costs n·d. The objective is scaled by 1/C inside, so that the certificate is in units of
    the loss. Probabilities come from sigmoids on held-out scores, as those of `SVC`; those of
    LogisticRegression are part of its objective, and need no further fits.

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
    _stored: ClassVar[Declaration] = {
        **LinearClassifier._stored,
        "C_": Unused(),
        "path_": Unused(),
        "slack_": Unused(),
        "kkt_status_": Unused(),
        "kkt_violation_": Unused(),
        "probabilities_": Maybe(Value(LaterProbabilities)),
    }
    _on_demand = (*LinearClassifier._on_demand, "slack_", "kkt_status_", "kkt_violation_")
    _losses: ClassVar[dict] = {"hinge": Hinge, "squared_hinge": SquaredHinge}
    _penalties: ClassVar[dict] = {"l1": L1, "l2": L2}
    _parameter_constraints: ClassVar[dict] = {
        **LinearClassifier._parameter_constraints,
        **SELECT,
        "penalty": [StrOptions(set(_penalties))],
        "loss": [StrOptions(set(_losses))],
        "dual": ["boolean", StrOptions({"auto"})],
        "C": [Interval(Real, 0, None, closed="right"), StrOptions({LOO, CV})],
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

    # ---- C = ∞ -----------------------------------------------------------------------------------

    @property
    def _is_hard(self) -> bool:
        """Whether no row may be short of the margin."""
        return not isinstance(self.C, str) and bool(np.isinf(self.C))

    def _tuned(self):
        # A finite C stands for infinity.
        return ("C",) if self._is_hard else super()._tuned()

    def _at(self, **values):
        # With such a C only the hinge itself leaves no loss.
        return super()._at(**(values | {"loss": "hinge"} if self._is_hard else values))

    def _choose(self, data, callback):
        if not self._is_hard:
            return super()._choose(data, callback)
        if self.multi_class == "crammer_singer" and len(data.classes) > 2:
            raise ValueError(
                'C=inf is not available for multi_class="crammer_singer"; set a large C, or use '
                'multi_class="ovr".'
            )
        try:
            C = enough(lambda C: self._at(C=C)._problems(data), self.tol)
        except NotSeparable as found:
            some = "the classes are not separable"
            if len(data.classes) > 2:
                alone = data.classes.tolist()[found.place]
                some = f"no plane separates class {alone!r} from the others"
            raise ValueError(
                f"LinearSVC: {some}, so C=inf has no solution; set a finite C."
            ) from None
        return PathChoice({"C": C})

    def _unchosen(self, status):
        if not self._is_hard:
            return super()._unchosen(status)
        if status == "interrupted":
            raise KeyboardInterrupt
        raise ValueError(
            "LinearSVC found no margin within the time limit; raise time_limit, or set a finite C."
        )

    def _corrected(self, fitted, plain):
        if self._is_hard:
            vars(self).pop("_choice", None)
        return super()._corrected(fitted, plain)

    # ---- the multipliers and slacks of the training rows -----------------------------------------

    @property
    def alpha_(self):
        """Multipliers α of the training rows, (n_samples,) or (n_samples, n_classes)."""
        check_is_fitted(self)
        theta = without_rounding(self.dual_)
        if self._is_joint:
            # θ of the own class is the sum of those of its rivals: no multiplier of a constraint.
            return self._settled().C * np.maximum(-theta, 0.0)
        return self._settled().C * np.abs(theta)

    @property
    def support_(self):
        """Rows with a multiplier above 0, in the order of the data."""
        check_is_fitted(self)
        theta = without_rounding(self.dual_)
        return np.flatnonzero(theta if theta.ndim == 1 else theta.any(axis=1)).astype(np.int32)

    @property
    def margin_(self):
        """Width 2/‖w‖ of the margin, one or one for each class."""
        check_is_fitted(self)
        sizes = np.linalg.norm(dense(self.coef_).astype(float), axis=1)
        with np.errstate(divide="ignore"):
            widths = 2 / sizes
        return float(widths[0]) if len(widths) == 1 else widths

    @property
    def _is_joint(self) -> bool:
        """Whether there is one problem for more than two classes."""
        return self.multi_class == "crammer_singer" and len(self.classes_) > 2

    @cached_property
    def slack_(self):
        """Slacks ξ of the training rows, (n_samples,) or (n_samples, n_classes)."""
        problems, parameters = self._solved("slacks are max(0, 1 − t·score), with t = ±1")
        found = []
        for problem, at in zip(problems, parameters):
            z = problem.predictions(at.w, at.b)
            lost = problem.loss.value(problem.y, z) if problem.outputs else 1 - problem.y * z
            found.append(np.where(problem.weights > 0, np.maximum(lost, 0.0), 0.0))
        return found[0] if len(found) == 1 else np.stack(found, axis=1)

    @cached_property
    def kkt_status_(self):
        """How the multiplier of each training row stands, in words."""
        return self._conditions[0]

    @cached_property
    def kkt_violation_(self):
        """By how much the score of each training row violates what its multiplier demands."""
        return self._conditions[1]

    @property
    def _conditions(self):
        return row_conditions(*self._solved("fit again"))

    def _solved(self, cure: str) -> tuple[list[Problem], list[Parameters]]:
        """The problems of the fit and their solution."""
        data, problems = self._kept_training(cure)
        coef = narrowed(self.coef_, data.columns)
        return problems, unpack(problems, coef, self.intercept_, self.dual_)

    # ---- probabilities ---------------------------------------------------------------------------

    def _learned(self, data, problems, solutions, features=None):
        learned = super()._learned(data, problems, solutions, features)
        fitted = None
        if problems[0].n <= KEPT_ROWS:
            fitted = fitted_of(self, data, (problems, [one.parameters for one in solutions]))
        later = LaterProbabilities(_sides(len(data.classes)), fitted=fitted)
        return learned | {"probabilities_": later}

    def _misfit(self) -> str | None:
        """What is wrong with a model from a file."""
        later = vars(self).get("probabilities_")
        if later is None:
            return None
        own = [later.sides] if later.found is None else [later.sides, later.found.pairs]
        sides: Any = _sides(len(self.classes_))
        if all(np.array_equal(found, sides) for found in own):
            return None
        return "probabilities_ belong to other pairs of classes"

    def _has_later(self) -> bool:
        # Models in files of earlier versions have none.
        return "probabilities_" in vars(self) or not hasattr(self, "coef_")

    @available_if(_has_later)
    @described(ROWS)
    def predict_proba(self, X):
        """Probabilities of the classes.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            The predicted class has the largest. They come from sigmoids on held-out scores, which
            are computed on the first call, or when a model of few rows is saved; call it once
            before saving a model of many rows.
        """
        check_is_fitted(self)
        scores = self._scores(X)
        chosen = (scores[:, 0] > 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(1)
        cure = "predict_proba once before a model of many rows is saved or copied, or fit it again"
        found = self.probabilities_.get(lambda: self._remembered(cure))
        p = found.of(scores.astype(float), chosen)
        # Rounding may make two classes equal, and the first would pass for the prediction.
        return p if p.dtype == scores.dtype else with_largest(p.astype(scores.dtype), chosen)

    @available_if(_has_later)
    @described(ROWS)
    def predict_log_proba(self, X):
        """Logarithms of the probabilities of the classes.

        Returns
        -------
        log_p : ndarray of shape (n_samples, n_classes)
            Logarithms of what `predict_proba` returns, −∞ for a probability that is 0.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _formula(self) -> Formula:
        square = "²" if self.loss == "squared_hinge" else ""
        loss = f"max(0, 1 − tᵢ(xᵢᵀw{bias_term(self)})){square}"
        penalty = "‖w‖₁/C" if self.penalty == "l1" else "‖w‖²/(2C)"
        each = ", for each class against the others" if len(self.classes_) > 2 else ""
        if self._is_hard:
            penalty = "‖w‖₁" if self.penalty == "l1" else "½‖w‖²"
            return Formula(f"{penalty} with tᵢ(xᵢᵀw{bias_term(self)}) ≥ 1 for all rows{each}")
        return Formula(f"Σᵢ {loss} + {penalty}{each}", {"C": chosen(self, "C")})


def _sides(count: int) -> np.ndarray | None:
    """The pair of two classes, whose score decides; None for one score per class."""
    return np.array([[1, 0]]) if count == 2 else None
