"""Certificates of models on features of a kernel: which objective they concern, and the kernel's.

With r landmarks the best model of the r features is found, and the gap of the fit refers to that.
`exact_certificate` bounds the distance to the best model of the kernel itself. Called by
`with_kernel`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.utils.validation import check_is_fitted

from ...certificates import CURE, LARGEST_SHARE, MEASURED, Certificate, judged
from ...problem import EXACT, NYSTROEM, PRECOMPUTED, RANDOM, UNFINISHED, KernelFeatures, Problem
from ..linear import dense, unpack

Array = np.ndarray

# Scores of features are off by at most this many units in the last place of Σ|αⱼ|√k(zⱼ, zⱼ).
FEATURE_ROUNDING = 8
# What to do if that is too much.
ROUNDED = "the features are {}, whose rounding causes this; use a stronger penalty"


def concerning(certificate: Certificate, features: KernelFeatures | None) -> Certificate:
    """The certificate with a verdict that names its objective."""
    if features is None or features.kind == EXACT:
        return certificate
    if features.kind == UNFINISHED:
        # w = 0, and θ = 0 bounds every objective from below by the origin of P₀.
        return replace(
            certificate,
            kind="stopped",
            verdict="stopped: out of time before any kernel features were computed; raise "
            "time_limit, or set n_components.",
            dual=certificate.primal - certificate.scale,
            gap=certificate.scale + certificate.rounding,
            relative_gap=1.0,
        )
    of = "landmarks" if features.kind == NYSTROEM else "random features"
    more = f"This is about the objective with {features.rank} {of} in place of the kernel"
    if features.kind == NYSTROEM:
        more += "; certify(model, X, y, exact_kernel=True) compares with the kernel itself"
    if not features.is_enough:
        more += ". More of them would do better on unseen rows; raise n_components"
    return replace(certificate, verdict=f"{certificate.verdict} {more}.")


@dataclass(frozen=True, eq=False)
class Function:
    """A model f + b: its scores of the training rows (n, K), and ‖f‖² of each output (K,)."""

    z: Array
    squares: Array

    @classmethod
    def that_predicts(cls, model: Any, X: Any) -> Function:
        """The one that `predict` evaluates, by the same attributes."""
        kernel, Z = model.features_.kernel, model.X_fit_
        alpha = np.atleast_2d(model.dual_coef_).T
        z = kernel.times(X, Z, alpha) + model.intercept_
        among = kernel.times(X[Z] if kernel.name == PRECOMPUTED else Z, Z, alpha)
        return cls(z, np.maximum(np.sum(alpha * among, axis=0), 0.0))

    @classmethod
    def of_coefficients(cls, model: Any, X: Any) -> Function:
        """The one of `coef_`, used for held-out rows and intervals."""
        w = np.atleast_2d(dense(model.coef_)).T.astype(np.float64)
        return cls(model.features_.scores(X, w) + model.intercept_, np.sum(w**2, axis=0))

    def objective(self, problem: Problem, columns: slice) -> float:
        """P of one problem, whose outputs are in these columns."""
        penalty = problem.penalty.value(_as_vector(self.squares[columns]))
        return problem.loss_sum(_shaped(problem, self.z[:, columns])) + penalty

    def slopes(self, problem: Problem, columns: slice) -> Array:
        """How fast P changes with the scores of all rows together, (K,)."""
        slopes = problem.derivative(_shaped(problem, self.z[:, columns]))
        return np.linalg.norm(slopes.reshape(problem.n, -1), axis=0)


def of_both(certificate: Certificate, model: Any, X: Any, problems: list[Problem]) -> Certificate:
    """The worse of two certificates: that of `coef_`, which is given, and that of the predictions.

    They concern the same function up to rounding of the features. An objective below D also shows
    that they do not.
    """
    if certificate.kind not in MEASURED:
        return certificate
    primal, rounding = of_predictions(model, X, problems)
    difference, dual = abs(primal - certificate.primal), certificate.dual
    is_rounding = difference <= rounding
    found = judged(
        certificate.primal if is_rounding else dual + abs(primal - dual),
        dual,
        scale=certificate.scale,
        tol=model.tol,
        rounding=certificate.rounding + (difference if is_rounding else 0.0),
        kkt=certificate.kkt,
        method=certificate.method,
        cure=ROUNDED.format(model.features_.dtype) if is_rounding else CURE,
    )
    if found.gap <= certificate.gap or (is_rounding and certificate.kind == "stopped"):
        return certificate
    if is_rounding or difference <= certificate.tolerance:
        return found
    return replace(
        found,
        verdict="stopped: dual_coef_ and X_fit_, which make the predictions, give the objective "
        f"{primal:.9g}, but coef_ gives {certificate.primal:.9g}; one of them has changed: "
        "fit again.",
    )


def of_predictions(model: Any, X: Any, problems: list[Problem]) -> tuple[float, float]:
    """P of the predictions, and how far the P of coef_ may differ by rounding of the features."""
    function, columns = Function.that_predicts(model, X), _columns(problems)
    primal = sum(function.objective(p, at) for p, at in zip(problems, columns))
    slopes = np.concatenate([function.slopes(p, at) for p, at in zip(problems, columns)])
    return primal, float(_feature_rounding(model, X) @ slopes)


def _feature_rounding(model: Any, X: Any) -> Array:
    """How far the scores of the features may be from sums of kernel values, (K,)."""
    kernel, alpha = model.features_.kernel, np.atleast_2d(model.dual_coef_)
    sizes, Z = _sizes(kernel, X), model.X_fit_
    own = sizes[Z] if kernel.name == PRECOMPUTED else _sizes(kernel, Z)
    each = np.abs(alpha) @ own * np.max(sizes, initial=0.0)
    return FEATURE_ROUNDING * np.finfo(model.features_.dtype).eps * each


def exact_certificate(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """A bound on how far the model is from the best one of the kernel itself, whatever was fitted.

    A model on landmarks is a function f in the kernel's space, and its P is that of f. Only the
    dual changes: θᵀKθ replaces ‖Φᵀθ‖², with n² kernel values, a block at a time.
    """
    features = features_of(model)
    data = model._read(X, y, sample_weight, reset=False)
    problems = model._settled()._problems(data)
    kernel, predicting = features.kernel, Function.that_predicts(model, data.X)
    z, of_coefficients = predicting.z, Function.of_coefficients(model, data.X)
    columns = _columns(problems)
    parameters = unpack(problems, model.coef_, 0.0, model.dual_)
    points = [_dual_points(p, z[:, c], q.theta) for p, c, q in zip(problems, columns, parameters)]
    stacked = np.hstack([theta.reshape(len(z), -1) for pair in points for theta in pair])
    products = kernel.times(data.X, data.X, stacked)
    sizes = _sizes(kernel, data.X)
    certificates, start = [], 0
    for problem, at, pair in zip(problems, columns, points):
        primal = max(f.objective(problem, at) for f in (predicting, of_coefficients))
        bounds = []
        for theta in pair:
            own = slice(start, start + at.stop - at.start)
            bounds.append(_bound(problem, theta, products[:, own], sizes))
            start = own.stop
        dual, rounding = max(bounds)
        scale = problem.scale
        certificates.append(judged(primal, dual, scale=scale, tol=model.tol, rounding=rounding))
    return of_kernel(sum(certificates[1:], start=certificates[0]), features)


def features_of(model: Any) -> KernelFeatures:
    """The features of a model whose function is in the kernel's space; an error for others."""
    check_is_fitted(model)
    features = vars(model).get("features_")
    if features is None or features.kind == RANDOM:
        raise ValueError(
            "exact_kernel=True compares with the best model of the kernel, but this "
            f"{type(model).__name__} has "
            f"{'no kernel' if features is None else 'random features'}, so this cannot be "
            "compared; leave exact_kernel out."
        )
    return features


def of_kernel(certificate: Certificate, features: KernelFeatures) -> Certificate:
    """The certificate with a cure that helps if landmarks cause the gap."""
    is_told = certificate.relative_gap <= LARGEST_SHARE
    if certificate.kind != "stopped" or features.kind == EXACT or not is_told:
        return certificate
    share = 100 * certificate.relative_gap
    return replace(
        certificate,
        verdict=f"with {features.rank} landmarks at most {share:.2g} % of the objective without "
        "features above the best model of the kernel itself; raise n_components to get "
        "closer.",
    )


def _columns(problems: list[Problem]) -> list[slice]:
    """Which columns of all outputs belong to each problem."""
    ends = np.cumsum([problem.outputs or 1 for problem in problems])
    return [slice(end - (p.outputs or 1), end) for p, end in zip(problems, ends)]


def _shaped(problem: Problem, z: Array) -> Array:
    return z[:, 0] if problem.outputs is None else z


def _dual_points(problem: Problem, z: Array, stored: Array | None) -> list[Array]:
    """Feasible dual points: from the slopes of the loss, and the stored one."""
    z = _shaped(problem, z)
    points = [problem.orthogonal(-problem.derivative(z))]
    if stored is not None:
        points.append(problem.orthogonal(stored.reshape(z.shape)))
    return points


def _bound(problem: Problem, theta: Array, products: Array, sizes: Array) -> tuple[float, float]:
    """The best D(cθ) for 0 ≤ c ≤ 1 with R* from θᵀKθ, and its rounding error."""
    columns = theta.reshape(problem.n, -1)
    v = _as_vector(np.maximum(np.sum(columns * products, axis=0), 0.0))
    found = minimize_scalar(
        lambda c: -problem.dual(c * theta, c * v), bounds=(0.0, 1.0), method="bounded"
    )
    dual = max(-float(found.fun), problem.dual(theta, v), problem.origin.dual)
    largest = np.sum(sizes[:, None] * np.abs(columns), axis=0)
    walk = np.finfo(float).eps * (4 + np.sqrt(problem.n))
    rounding = walk * (problem.scale + problem.penalty.conjugate(_as_vector(largest**2)))
    return dual, rounding


def _sizes(kernel: Any, X: Any) -> Array:
    """√k(x, x) of rows."""
    return np.sqrt(np.maximum(kernel.rows(X, np.float64).diagonal(), 0.0))


def _as_vector(squares: Array) -> Array:
    """A vector with that squared norm, or several in columns: all that ½λ‖w‖² depends on."""
    return np.sqrt(squares) if len(squares) == 1 else np.sqrt(squares)[None, :]
