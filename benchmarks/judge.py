"""The judge: recomputes every objective in float64 from the coefficients, and bounds it from below.

The formulas here are written out once more on purpose: a library is not judged by its own
arithmetic. The lower bound is the dual value of a fit by gapless, as `gapless.certify` computes it;
a poor fit would give a low bound and so make every excess larger, never smaller.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp

from .problems import EPSILON, Problem


@dataclass(frozen=True, eq=False)
class Coefficients:
    """What a library returns: W (d,) or (d, K), b () or (K,), and what it does with the bias.

    bias: "free" as the problem says, "penalised" like one more feature of value 1, or "none".
    """

    W: np.ndarray
    b: np.ndarray
    bias: str = "free"


class Judge:
    """Objectives and relative excesses for one problem and its data."""

    def __init__(self, problem: Problem, X, y):
        self.problem, self.X, self.y = problem, X, y
        self._bounds: dict[str, float] = {}

    def objective(self, fitted: Coefficients) -> float:
        """P of the objective that the library minimised, in float64."""
        W, b = np.asarray(fitted.W, float), np.asarray(fitted.b, float)
        z = _times(self.X, W) + b
        penalised = np.append(W, b) if fitted.bias == "penalised" else W
        return float(_loss_sum(self.problem, self.y, z) + _penalty(self.problem, penalised))

    def excess(self, fitted: Coefficients) -> float:
        """(P − D)/D for the best known lower bound D: at least the true relative excess."""
        bound = self.bound(fitted.bias)
        return (self.objective(fitted) - bound) / bound

    def bound(self, bias: str) -> float:
        """A certified lower bound of the smallest objective for that treatment of the bias."""
        if bias not in self._bounds:
            self._bounds[bias] = sum(_dual_values(self.problem, self.X, self.y, bias))
        return self._bounds[bias]


def _times(X, W):
    """X @ W in float64 by blocks of rows, so that a float32 X is never copied whole."""
    blocks = range(0, X.shape[0], 10_000)
    return np.concatenate([np.asarray(X[i : i + 10_000].astype(float) @ W) for i in blocks])


def _loss_sum(problem: Problem, y, z) -> float:
    if problem.classes == "softmax":
        return np.sum(logsumexp(z, axis=1) - z[np.arange(len(y)), y])
    if problem.classes == "one_vs_rest":
        y = np.where(y[:, None] == np.arange(z.shape[1]), 1.0, -1.0)
    if problem.loss == "squared":
        return 0.5 * np.sum((z - y) ** 2)
    if problem.loss == "logistic":
        return np.sum(np.logaddexp(0.0, -y * z))
    if problem.loss == "hinge":
        return np.sum(np.maximum(0.0, 1.0 - y * z))
    if problem.loss == "squared_hinge":
        return np.sum(np.maximum(0.0, 1.0 - y * z) ** 2)
    beyond = np.maximum(np.abs(z - y) - EPSILON, 0.0)
    if problem.loss == "epsilon_insensitive":
        return np.sum(beyond)
    if problem.loss == "squared_epsilon_insensitive":
        return np.sum(beyond**2)
    raise ValueError(f"no formula for the loss {problem.loss!r}; add it here.")


def _penalty(problem: Problem, w) -> float:
    rho = {"l1": 1.0, "l2": 0.0, "elastic_net": problem.l1_ratio}[problem.penalty]
    return problem.strength * (rho * np.abs(w).sum() + 0.5 * (1 - rho) * np.sum(w**2))


def _dual_values(problem: Problem, X, y, bias: str):
    """The certified dual value of each convex problem that the objective is a sum of."""
    from gapless._ground.design import Design
    from gapless.certificates.certificate import certify
    from gapless.losses import by_name
    from gapless.problem.problem import Problem as Convex
    from gapless.solvers import solve

    if bias == "penalised":
        ones = np.ones((X.shape[0], 1), X.dtype)
        X = sp.hstack([X, ones], format="csr") if sp.issparse(X) else np.hstack([X, ones])
    design, weights = Design(X), np.ones(X.shape[0])
    K = int(y.max()) + 1 if problem.classes != "one" else None
    targets = (
        [y] if problem.classes != "one_vs_rest" else [np.where(y == k, 1.0, -1.0) for k in range(K)]
    )
    for target in targets:
        convex = Convex(
            design,
            target,
            by_name(problem.loss),
            _gapless_penalty(problem),
            weights,
            fit_bias=bias == "free",
            outputs=K if problem.classes == "softmax" else None,
        )
        # Relative to the model without features, which may be far above the best.
        solution = solve(convex, tol=1e-12)
        yield certify(convex, solution.parameters).dual


def _gapless_penalty(problem: Problem):
    from gapless import penalties

    if problem.penalty == "elastic_net":
        return penalties.ElasticNet(problem.strength, problem.l1_ratio)
    return {"l1": penalties.L1, "l2": penalties.L2}[problem.penalty](problem.strength)
