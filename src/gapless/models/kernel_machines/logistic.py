"""Kernel logistic regression: probabilities of classes whose boundary may have any shape.

For each scale γ of the kernel tried, the strengths of the penalty are followed as for linear
models, on features of that kernel; the scales coarse first, then finer around the best.
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ... import kernels
from ..._ground.about import Example, Examples, Formula, bias_term, chosen
from ..._ground.distinct_rows import DistinctRows
from ..._ground.docstrings import described
from ..._ground.stored import Declaration, Unused
from ..._ground.validation import Training
from ...losses import Logistic, Softmax
from ...penalties import L2
from ...problem import EXACT, NYSTROEM, factor
from ...unseen import LOO, Fitted
from ..linear import (
    OF_CLASSES,
    SELECT,
    SOLVED,
    LinearClassifier,
    PathChoice,
    ScoredPath,
    classification_problems,
    fitted_of,
    follow,
    logistic_loss,
    tune,
)
from ..risk import KERNEL_CONSTRAINTS, ON_KERNEL, WithKernel
from .tuning import explore, search_of

Array = np.ndarray

# The score that chooses models: minus the mean loss of a row, times its class weight.
METRIC = "neg_log_loss"
# How often the step between scales is halved around the best.
HALVINGS = 1
# Features of models that only serve to choose: exact ones up to FEW_ROWS rows, else MOST_FEATURES,
# or FEW_FEATURES beyond MANY_ROWS rows; with several classes, UNKNOWNS in all, for which Newton's
# method still solves at once.
FEW_ROWS, MANY_ROWS, MOST_FEATURES, FEW_FEATURES, UNKNOWNS = 500, 10_000, 500, 256, 1500


@described(ON_KERNEL, OF_CLASSES, SOLVED)
class KernelLogisticRegression(WithKernel, LinearClassifier):
    """Logistic regression with a kernel; for more than two classes by softmax.

    Minimises  Σᵢ sᵢ ℓ(yᵢ, f(xᵢ) + b) + 1/(2C) ‖f‖²  over functions f of the kernel's space, ℓ the
    log loss. The bias b is free. By the representer theorem f(x) = Σⱼ αⱼ k(zⱼ, x) for training
    rows zⱼ.

    Parameters
    ----------
    C : float or "loo", default=1.0
        Weight C > 0 of the errors against the penalty; "loo" chooses it by leave-one-out.
    kernel : str, Kernel or callable, default="rbf"
        The kernel: a name ("linear", "poly", "rbf", "sigmoid", "laplacian", "cosine",
        "precomputed", …), an instance of `gapless.kernels.Kernel`, or a function of (X, Z).
    gamma : {"scale", "auto", "loo"} or float, default="scale"
        γ of named kernels that have one; "scale" is 1/(d · variance of X), "auto" is 1/d, and
        "loo" chooses it by leave-one-out, together with C.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=0.0
        Constant of the polynomial and the sigmoid kernel.
    tol : float, default=1e-6
        Stop when the duality gap is at most `tol` times the objective at f = 0.
    select : {"min", "1se"}, default="min"
        With C="loo": the best strength, or the strongest penalty within one standard error.

    Attributes
    ----------
    X_fit_ : {ndarray, sparse matrix} of shape (m, n_features)
        The rows zⱼ; their positions if the kernel is precomputed. Not there with random features.
    dual_coef_ : ndarray of shape (1, m) or (n_classes, m)
        The αⱼ, float64; one row for two classes. Not there with random features.
    coef_ : ndarray of shape (1, r) or (n_classes, r)
        The same function as coefficients of the features.
    features_ : KernelFeatures
        The features of the kernel on which the model is linear; it knows the kernel with all its
        parameters, and `transform` gives the features of any rows.
    certificate_ : Certificate
        How far the fit can be from the best possible one; its verdict says if that concerns the
        kernel or its approximation.
    n_iter_ : ndarray of shape (1,)
        Number of steps.
    C_, gamma_ : float
        The chosen values, with C="loo" and gamma="loo".
    path_ : Path
        The models along all C and their scores on unseen rows, with C="loo".
    search_ : Search
        Every pair of gamma and C that was tried, with its score on unseen rows and its standard
        error, with gamma="loo".

    Notes
    -----
    With the kernel itself the fit takes O(n³) operations and 16n² bytes; with r landmarks O(n·r²)
    and 8·n·r bytes (4·n·r for float32 data). The objective is scaled by 1/C inside, so that the
    certificate is in units of the loss. All rows contribute to f; where only few should, use SVC.

    References
    ----------
    Zhu and Hastie (2005), Kernel logistic regression and the import vector machine, J. Comput.
    Graph. Stat. 14.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from gapless import KernelLogisticRegression
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = KernelLogisticRegression(C=10.0).fit(X, y)
    >>> model.certificate_.kind
    'optimal'
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    _guide = "large_kernels"
    _examples: ClassVar[Examples] = (Example("breast_cancer"),)

    _strength_name = "C"
    _stored: ClassVar[Declaration] = {
        **LinearClassifier._stored,
        **WithKernel._kernel_attributes,
        "C_": Unused(),
        "gamma_": Unused(),
        "path_": Unused(),
        "search_": Unused(),
    }
    _parameter_constraints: ClassVar[dict] = {
        **LinearClassifier._parameter_constraints,
        **SELECT,
        **KERNEL_CONSTRAINTS,
        "C": [Interval(Real, 0, None, closed="neither"), StrOptions({LOO})],
        "gamma": [
            Interval(Real, 0, None, closed="left"),
            StrOptions({"scale", "auto", LOO}),
        ],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
    }

    def __init__(
        self,
        C=1.0,
        *,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=0.0,
        fit_intercept=True,
        class_weight=None,
        approximation="auto",
        n_components=None,
        random_state=0,
        tol=1e-6,
        max_iter=100,
        solver="auto",
        warm_start=False,
        time_limit=None,
        select="min",
    ):
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.approximation = approximation
        self.n_components = n_components
        self.random_state = random_state
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.select = select

    def _tuned(self):
        is_open = isinstance(self.gamma, str) and self.gamma == LOO
        return (*super()._tuned(), "gamma") if is_open else super()._tuned()

    def _choose(self, data, callback):
        if "gamma" in self._tuned():
            return tune_scale(self, data, callback)
        if self._tuned():
            # Its start belongs to rougher features than those of the fit.
            return replace(super()._choose(rough(self, data), callback), start=None)
        return None

    def _unchosen(self, status):
        choice = super()._unchosen(status)
        if "gamma" not in choice.values:
            return choice
        return replace(choice, values={**choice.values, "gamma": "scale"})

    def _kernel(self):
        return kernels.by_name(self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0)

    def _specifics(self, data, learned, solutions, certificates):
        specifics = super()._specifics(data, learned, solutions, certificates)
        return specifics | {"n_iter_": np.array([learned["n_iter_"]], dtype=np.int32)}

    def _loss_of_probabilities(self):
        return logistic_loss(self)

    def _problems(self, data):
        loss = Logistic() if len(data.classes) == 2 else Softmax()
        return classification_problems(data, loss, L2(1 / self.C), self.fit_intercept)

    def _formula(self) -> Formula:
        return Formula(
            f"Σᵢ log loss(yᵢ, f(xᵢ){bias_term(self)}) + (1/2C)‖f‖²",
            {"C": chosen(self, "C"), "kernel": chosen(self, "kernel")},
        )


# ---- choosing the scale and C --------------------------------------------------------------------


def rough(model: Any, data: Training) -> Training:
    """The data as features good enough to compare strengths and scales."""
    distinct = DistinctRows.of(data.X, data.weights)
    rows, classes = len(distinct.first), len(data.classes) if data.classes is not None else 0
    rank = MOST_FEATURES if rows <= MANY_ROWS else FEW_FEATURES
    if classes > 2:
        rank = min(rank, UNKNOWNS // classes - 1)
    kind = EXACT if rows <= min(FEW_ROWS, rank) else NYSTROEM
    kernel = model._kernel()
    features = factor(kernel, data.X, data.weights, kind=kind, rank=rank, seed=model.random_state)
    return replace(data, X=features.train)


def tune_scale(model: Any, data: Training, callback: Any) -> PathChoice:
    """The best γ, with the best C for it or the given C."""
    base = float(model._at(gamma="scale")._kernel().resolve(data.X, data.weights).gamma)
    found: dict[float, PathChoice] = {}

    def look(power: float) -> float | None:
        gamma = base * 4.0**power
        at = model._at(gamma=gamma)
        found[gamma] = choice = _at_scale(at, rough(at, data), callback)
        return None if choice.status != "optimal" else float(np.nanmax(_path(choice).unseen))

    explore(look, HALVINGS)
    reached = [g for g, choice in found.items() if len(_path(choice).strengths)]
    status = next((c.status for c in found.values() if c.status != "optimal"), "optimal")
    if not reached:
        values = model._unchosen(status).values
        return PathChoice(values, status=status)
    gamma = max(reached, key=lambda g: np.nanmax(_path(found[g]).unseen))
    winner, gammas = found[gamma], sorted(reached)
    values, paths = {**winner.values, "gamma": gamma}, [_path(found[g]) for g in gammas]
    strengths = {"C": 1 / np.concatenate([path.strengths for path in paths])}
    at = gammas.index(gamma), winner.winner
    search = search_of(paths, gammas, at, strengths, len(paths[0].rows), METRIC)
    return replace(
        winner,
        values={name: values[name] for name in model._tuned()},
        start=None,
        paths=[_path(found[g]) for g in reached],
        on=reached.index(gamma),
        status=status,
        extra={"search_": search},
    )


def _at_scale(model: Any, data: Training, callback: Any) -> PathChoice:
    """The best C for one scale, or the given one."""
    if model._strength_name in model._tuned():
        return tune(model, data, callback)
    fitted: Fitted = fitted_of(model._at(C=1.0), data)
    path = follow(fitted, np.array([1 / model.C]), callback)
    return PathChoice({"C": float(model.C)}, paths=[path], status=path.status)


def _path(choice: PathChoice) -> ScoredPath:
    return choice.paths[0]
