"""celer: lasso, elastic net, and L1 logistic regression, which has no bias there."""

import warnings

import numpy as np

from ..judge import Coefficients
from ..problems import Problem


def variants(problem: Problem) -> dict:
    import celer

    strength = problem.strength
    models = {
        ("squared", "l1"): lambda n, tol: celer.Lasso(strength / n, tol=tol),
        ("squared", "elastic_net"): lambda n, tol: celer.ElasticNet(
            strength / n, l1_ratio=problem.l1_ratio, tol=tol
        ),
        ("logistic", "l1"): lambda n, tol: celer.LogisticRegression(C=1 / strength, tol=tol),
    }
    make = models.get((problem.loss, problem.penalty))

    def fit(X, y, tol):
        X = X if isinstance(X, np.ndarray) else X.tocsc()
        model = make(X.shape[0], tol)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        bias = "none" if problem.loss == "logistic" else "free"
        return Coefficients(np.squeeze(model.coef_.T), np.squeeze(model.intercept_), bias)

    return {"default": fit} if make else {}
