"""celer: lasso, elastic net, and L1 logistic regression, which has no bias there."""

from ..problems import Problem
from . import fit_estimator


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
    bias = "none" if problem.loss == "logistic" else "free"
    return (
        {"default": lambda X, y, tol: fit_estimator(make(len(y), tol), X, y, bias)} if make else {}
    )
