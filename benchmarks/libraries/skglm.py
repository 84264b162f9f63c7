"""skglm: its estimators for sparse models."""

import scipy.sparse as sp

from ..problems import Problem
from . import fit_estimator


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
        return fit_estimator(make(X.shape[0], tol), X.tocsc() if sp.issparse(X) else X, y)

    return {"default": fit} if make else {}
