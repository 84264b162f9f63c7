"""Objectives in words: what a fitted model minimises, as a formula with its numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from gapless.choosing import MajorityClassifier, MeanRegressor
from gapless.models.adaboost import AdaBoostClassifier
from gapless.models.bayes import (
    BernoulliNB,
    CategoricalNB,
    GaussianNB,
    LinearDiscriminantAnalysis,
    MultinomialNB,
    NaiveBayes,
    QuadraticDiscriminantAnalysis,
)
from gapless.models.boosting import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from gapless.models.kernel_machines import (
    GaussianProcessRegressor,
    KernelLogisticRegression,
    KernelRidge,
)
from gapless.models.linear import (
    ElasticNet,
    ElasticNetCV,
    Lasso,
    LassoCV,
    LinearRegression,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    LogisticRegressionCV,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    RidgeCV,
    RiskClassifier,
    RiskRegressor,
)
from gapless.models.svm import SVC, SVR, NuSVC, NuSVR
from gapless.models.trees import DecisionTreeClassifier, DecisionTreeRegressor

# Numbers with more digits than anybody reads, as in the words of a kernel.
LONG = re.compile(r"\d+\.\d{5,}(?:e[-+]?\d+)?")
Numbers = dict[str, Any]
Said = tuple[str, Numbers]

IMPURITIES = {
    "gini": "Gini impurity",
    "entropy": "entropy",
    "log_loss": "entropy",
    "squared_error": "squared error",
}


def objective_of(model: Any) -> str | None:
    """What a fitted model minimises, as a formula and the numbers in it.

    Parameters
    ----------
    model : estimator
        A fitted model of gapless.

    Returns
    -------
    str or None
        None for models that minimise nothing, such as nearest neighbours.
    """
    say = SAID.get(type(model))
    if say is None:
        return None
    formula, numbers = say(model)
    known = [f"{name} = {_number(value)}" for name, value in numbers.items() if value is not None]
    return formula + (f"   with {', '.join(known)}" if known else "")


def _number(value: Any) -> str:
    if isinstance(value, float | int | np.number):
        return f"{value:.4g}"
    return LONG.sub(lambda found: f"{float(found[0]):.4g}", str(value))


def _found(model: Any, name: str) -> Any:
    """A parameter as the fit chose it, else as it was given; of several, the first."""
    chosen = getattr(model, f"{name}_", None)
    found = getattr(model, name, None) if chosen is None else chosen
    return np.ravel(found).tolist()[0] if isinstance(found, np.ndarray) and found.size else found


def _bias(model: Any) -> str:
    return " + b" if getattr(model, "fit_intercept", True) else ""


def _minus_bias(model: Any) -> str:
    return " − b" if getattr(model, "fit_intercept", True) else ""


# ---- linear models -------------------------------------------------------------------------------


def _ridge(model: Any) -> Said:
    formula = f"½ Σᵢ (yᵢ − xᵢᵀw{_minus_bias(model)})² + ½α‖w‖²"
    if hasattr(model, "classes_"):
        formula = formula.replace("yᵢ", "tᵢ") + ", tᵢ = ±1"
    return formula, {"α": _found(model, "alpha")}


def _least_squares(model: Any) -> Said:
    return f"½ Σᵢ (yᵢ − xᵢᵀw{_minus_bias(model)})²", {}


def _lasso(model: Any) -> Said:
    return (
        f"(1/2n) Σᵢ (yᵢ − xᵢᵀw{_minus_bias(model)})² + α‖w‖₁",
        {"α": _found(model, "alpha")},
    )


def _elastic_net(model: Any) -> Said:
    return (
        f"(1/2n) Σᵢ (yᵢ − xᵢᵀw{_minus_bias(model)})² + α(ρ‖w‖₁ + ½(1−ρ)‖w‖²)",
        {"α": _found(model, "alpha"), "ρ": _found(model, "l1_ratio")},
    )


def _logistic(model: Any) -> Said:
    many = len(model.classes_) > 2
    z = f"xᵢᵀw{_bias(model)}"
    loss = f"−log softmax(Wᵀxᵢ{_bias(model)})_yᵢ" if many else f"log(1 + exp(−tᵢ({z})))"
    penalty = _penalty_of_logistic(model, "W" if many else "w")
    numbers = {} if penalty == "" else {"C": _found(model, "C")}
    ratio = _ratio(model)
    if 0 < ratio < 1:
        numbers["ρ"] = ratio
    return f"{'C ' if penalty else ''}Σᵢ {loss}{penalty}", numbers


def _ratio(model: Any) -> float:
    if model.penalty in ("l1", "l2"):
        return 1.0 if model.penalty == "l1" else 0.0
    return float(_found(model, "l1_ratio") or 0.0)


def _penalty_of_logistic(model: Any, w: str) -> str:
    if model.penalty is None or _found(model, "C") == np.inf:
        return ""
    ratio = _ratio(model)
    if ratio == 0:
        return f" + ½‖{w}‖²"
    return f" + ‖{w}‖₁" if ratio == 1 else f" + ρ‖{w}‖₁ + ½(1−ρ)‖{w}‖²"


def _linear_svc(model: Any) -> Said:
    square = "²" if model.loss == "squared_hinge" else ""
    loss = f"max(0, 1 − tᵢ(xᵢᵀw{_bias(model)})){square}"
    penalty = "‖w‖₁" if model.penalty == "l1" else "½‖w‖²"
    return f"C Σᵢ {loss} + {penalty}{_each_class(model)}", {"C": _found(model, "C")}


def _each_class(model: Any) -> str:
    return ", for each class against the others" if len(model.classes_) > 2 else ""


def _linear_svr(model: Any) -> Said:
    square = "²" if model.loss.startswith("squared") else ""
    loss = f"max(0, |yᵢ − xᵢᵀw{_minus_bias(model)}| − ε){square}"
    return f"C Σᵢ {loss} + ½‖w‖²", {"C": _found(model, "C"), "ε": _found(model, "epsilon")}


def _risk(model: Any) -> Said:
    z = f"f(xᵢ){_bias(model)}" if model.kernel is not None else f"xᵢᵀw{_bias(model)}"
    penalty = "½λ‖f‖²" if model.kernel is not None else "R(w)"
    return f"Σᵢ ℓ(yᵢ, {z}) + {penalty}", {"ℓ": model.loss, "R": model.penalty}


# ---- kernels -------------------------------------------------------------------------------------


def _kernel(model: Any) -> Numbers:
    """The kernel with the numbers that the fit gave it."""
    return {"kernel": getattr(model, "kernel_", model.kernel)}


def _kernel_ridge(model: Any) -> Said:
    bias = " − b" if model.fit_intercept else ""
    return (
        f"½ Σᵢ (yᵢ − f(xᵢ){bias})² + ½α‖f‖²",
        {"α": _found(model, "alpha"), **_kernel(model)},
    )


def _gaussian_process(model: Any) -> Said:
    return "½ Σᵢ (yᵢ − f(xᵢ))² + ½ν‖f‖²", {"ν": model.alpha, **_kernel(model)}


def _kernel_logistic(model: Any) -> Said:
    return (
        f"Σᵢ log loss(yᵢ, f(xᵢ){_bias(model)}) + (1/2C)‖f‖²",
        {"C": _found(model, "C"), **_kernel(model)},
    )


def _svc(model: Any) -> Said:
    pairs = ", for each pair of classes" if len(model.classes_) > 2 else ""
    formula = f"½‖w‖² + C Σᵢ max(0, 1 − tᵢ(⟨w, φ(xᵢ)⟩ + b)){pairs}"
    return formula, {"C": _found(model, "C"), **_kernel(model)}


def _svr(model: Any) -> Said:
    return (
        "½‖w‖² + C Σᵢ max(0, |yᵢ − ⟨w, φ(xᵢ)⟩ − b| − ε)",
        {"C": _found(model, "C"), "ε": _found(model, "epsilon"), **_kernel(model)},
    )


def _nu_svc(model: Any) -> Said:
    return (
        "½‖w‖² − νnρ + Σᵢ max(0, ρ − tᵢ(⟨w, φ(xᵢ)⟩ + b))",
        {"ν": model.nu, **_kernel(model)},
    )


def _nu_svr(model: Any) -> Said:
    return (
        "½‖w‖² + C(νnε + Σᵢ max(0, |yᵢ − ⟨w, φ(xᵢ)⟩ − b| − ε))",
        {"C": model.C, "ν": model.nu, **_kernel(model)},
    )


# ---- trees, boosting, Bayes, constants -----------------------------------------------------------


def _tree(model: Any) -> Said:
    impurity = IMPURITIES.get(model.criterion, model.criterion)
    return f"{impurity} of the leaves + α · leaves", {
        "α": _found(model, "ccp_alpha"),
        "leaves": model.get_n_leaves(),
    }


def _boosting(model: Any) -> Said:
    rounds = len(model.trees_)
    return "Σᵢ ℓ(yᵢ, F(xᵢ)), F a sum of trees", {
        "ℓ": model.loss,
        "rounds": rounds,
        "learning rate": model.learning_rate,
    }


def _adaboost(model: Any) -> Said:
    return "Σᵢ exp(−mᵢ), mᵢ = Σₜ αₜ(1[hₜ(xᵢ) = yᵢ] − 1/K)", {"rounds": len(model.estimators_)}


def _likelihood(model: Any) -> Said:
    return "−Σᵢ log p(xᵢ, yᵢ), one distribution for each class", {}


def _counts(model: Any) -> Said:
    return "−Σᵢ log p(xᵢ, yᵢ), with α added to each count", {"α": _found(model, "alpha")}


def _one_covariance(model: Any) -> Said:
    formula = "−Σᵢ log p(xᵢ, yᵢ), a normal distribution for each class, one covariance for all"
    return formula, {"shrinkage": model.shrinkage}


def _own_covariances(model: Any) -> Said:
    formula = "−Σᵢ log p(xᵢ, yᵢ), a normal distribution for each class, with its own covariance"
    return formula, {"regularisation": model.reg_param}


def _mean(model: Any) -> Said:
    return "½ Σᵢ (yᵢ − b)²", {}


def _majority(model: Any) -> Said:
    return "−Σᵢ log p(yᵢ)", {}


SAID: dict[type, Callable[[Any], Said]] = {
    AdaBoostClassifier: _adaboost,
    BernoulliNB: _counts,
    CategoricalNB: _counts,
    DecisionTreeClassifier: _tree,
    DecisionTreeRegressor: _tree,
    ElasticNet: _elastic_net,
    ElasticNetCV: _elastic_net,
    GaussianNB: _likelihood,
    GaussianProcessRegressor: _gaussian_process,
    GradientBoostingClassifier: _boosting,
    GradientBoostingRegressor: _boosting,
    HistGradientBoostingClassifier: _boosting,
    HistGradientBoostingRegressor: _boosting,
    KernelLogisticRegression: _kernel_logistic,
    KernelRidge: _kernel_ridge,
    Lasso: _lasso,
    LassoCV: _lasso,
    LinearDiscriminantAnalysis: _one_covariance,
    LinearRegression: _least_squares,
    LinearSVC: _linear_svc,
    LinearSVR: _linear_svr,
    LogisticRegression: _logistic,
    LogisticRegressionCV: _logistic,
    MajorityClassifier: _majority,
    MeanRegressor: _mean,
    MultinomialNB: _counts,
    NaiveBayes: _likelihood,
    NuSVC: _nu_svc,
    NuSVR: _nu_svr,
    QuadraticDiscriminantAnalysis: _own_covariances,
    Ridge: _ridge,
    RidgeCV: _ridge,
    RidgeClassifier: _ridge,
    RidgeClassifierCV: _ridge,
    RiskClassifier: _risk,
    RiskRegressor: _risk,
    SVC: _svc,
    SVR: _svr,
}
