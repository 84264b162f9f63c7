"""scikit-learn-intelex: the models it has kernels of its own for, on dense data."""

import warnings

import numpy as np

from ..judge import Coefficients
from ..problems import Problem


def variants(problem: Problem) -> dict:
    from sklearnex import linear_model

    C = 1 / problem.strength

    def logistic(tol):
        # Its tol changes nothing for float32 data, so the ladder is one of steps: 32 at tol = 0.1,
        # 500 at 1e-7.
        steps = round(20 * tol**-0.2)
        return linear_model.LogisticRegression(C=C, tol=tol, max_iter=steps)

    models = {
        ("squared", "l2"): lambda tol: linear_model.Ridge(alpha=problem.strength, tol=tol),
        ("logistic", "l2"): logistic,
        ("softmax", "l2"): logistic,
    }
    make = models.get((problem.loss, problem.penalty))

    def fit(X, y, tol):
        model = make(tol)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        return Coefficients(np.squeeze(model.coef_.T), np.squeeze(model.intercept_))

    return {"default": fit} if make else {}
