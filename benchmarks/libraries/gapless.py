"""gapless: the estimators with `solver="auto"`."""

import warnings

import numpy as np

from ..judge import Coefficients
from ..problems import Problem


def variants(problem: Problem) -> dict:
    import gapless

    strength = problem.strength

    def fit(X, y, tol):
        if problem.loss == "squared" and problem.penalty == "l2":
            model = gapless.Ridge(alpha=strength, tol=tol)
        elif problem.loss == "squared":
            model = gapless.ElasticNet(
                alpha=strength / X.shape[0],
                l1_ratio=1.0 if problem.penalty == "l1" else problem.l1_ratio,
                tol=tol,
            )
        elif problem.loss in ("logistic", "softmax"):
            model = gapless.LogisticRegression(
                C=1 / strength, l1_ratio=float(problem.penalty == "l1"), solver="auto", tol=tol
            )
        else:
            model = gapless.LinearSVC(C=1 / strength, loss=problem.loss, tol=tol)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        return Coefficients(np.squeeze(model.coef_.T), np.squeeze(model.intercept_))

    return {"auto": fit}
