"""scikit-learn-intelex: the models it has kernels of its own for, on dense data."""

from ..problems import Problem
from . import fit_estimator


def variants(problem: Problem) -> dict:
    from sklearnex import linear_model

    def ridge(tol):
        return linear_model.Ridge(alpha=problem.strength, tol=tol)

    def logistic(tol):
        # Its tol changes nothing for float32 data, so the ladder is one of steps: 32 at tol = 0.1,
        # 500 at 1e-7.
        steps = round(20 * tol**-0.2)
        return linear_model.LogisticRegression(C=1 / problem.strength, tol=tol, max_iter=steps)

    models = {("squared", "l2"): ridge, ("logistic", "l2"): logistic, ("softmax", "l2"): logistic}
    make = models.get((problem.loss, problem.penalty))
    return {"default": lambda X, y, tol: fit_estimator(make(tol), X, y)} if make else {}
