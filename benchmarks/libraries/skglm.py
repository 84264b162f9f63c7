"""skglm: its estimators for sparse models, and its hinge."""

import warnings

import numpy as np

from ..judge import Coefficients
from ..problems import Problem


def variants(problem: Problem) -> dict:
    import skglm

    strength = problem.strength
    models = {
        ("squared", "l1"): lambda n, tol: skglm.Lasso(strength / n, tol=tol),
        ("squared", "elastic_net"): lambda n, tol: skglm.ElasticNet(
            strength / n, l1_ratio=problem.l1_ratio, tol=tol
        ),
        ("logistic", "l1"): lambda n, tol: skglm.SparseLogisticRegression(
            strength / n, tol=tol, max_iter=100
        ),
    }
    make = models.get((problem.loss, problem.penalty))

    def fit(X, y, tol):
        # It refuses CSR, which is what a text vectoriser gives; the conversion belongs to its time.
        X = X if isinstance(X, np.ndarray) else X.tocsc()
        model = make(X.shape[0], tol)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        return Coefficients(np.squeeze(model.coef_.T), np.squeeze(model.intercept_))

    return {"default": fit} if make else {}
