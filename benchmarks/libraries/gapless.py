"""gapless: the estimators with `solver="auto"`."""

from ..problems import EPSILON, Problem
from . import fit_estimator


def variants(problem: Problem) -> dict:
    import gapless

    strength = problem.strength

    def model(n, tol):
        if problem.loss == "squared" and problem.penalty == "l2":
            return gapless.Ridge(alpha=strength, tol=tol)
        if problem.loss == "squared":
            ratio = 1.0 if problem.penalty == "l1" else problem.l1_ratio
            return gapless.ElasticNet(alpha=strength / n, l1_ratio=ratio, tol=tol)
        if problem.loss in ("logistic", "softmax"):
            ratio = {"l1": 1.0, "l2": 0.0}.get(problem.penalty, problem.l1_ratio)
            return gapless.LogisticRegression(C=1 / strength, l1_ratio=ratio, tol=tol)
        if "epsilon" in problem.loss:
            return gapless.LinearSVR(C=1 / strength, epsilon=EPSILON, loss=problem.loss, tol=tol)
        return gapless.LinearSVC(C=1 / strength, loss=problem.loss, tol=tol)

    return {"auto": lambda X, y, tol: fit_estimator(model(X.shape[0], tol), X, y)}
