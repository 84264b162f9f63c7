"""scikit-learn: its defaults, and for logistic regression its fastest solver as well."""

from ..problems import EPSILON, Problem
from . import fit_estimator

STEPS = 100_000  # never the reason to stop: the ladder of tolerances is


def variants(problem: Problem) -> dict:
    from sklearn import linear_model, svm

    strength, C = problem.strength, 1 / problem.strength

    def regression(loss, dual):
        return lambda n, tol: svm.LinearSVR(
            C=C, epsilon=EPSILON, loss=loss, dual=dual, tol=tol, max_iter=STEPS, random_state=0
        )

    made = {
        ("squared", "l2"): {
            "default": lambda n, tol: linear_model.Ridge(alpha=strength, tol=tol),
        },
        ("squared", "l1"): {
            "default": lambda n, tol: linear_model.Lasso(
                alpha=strength / n, tol=tol, max_iter=STEPS
            ),
        },
        ("squared", "elastic_net"): {
            "default": lambda n, tol: linear_model.ElasticNet(
                alpha=strength / n, l1_ratio=problem.l1_ratio, tol=tol, max_iter=STEPS
            ),
        },
        ("logistic", "l2"): _logistic(linear_model, C, 0, ["lbfgs", "newton-cholesky"]),
        ("softmax", "l2"): _logistic(linear_model, C, 0, ["lbfgs", "newton-cg"]),
        ("logistic", "l1"): _logistic(linear_model, C, 1, ["liblinear", "saga"]),
        ("softmax", "l1"): _logistic(linear_model, C, 1, ["saga"]),
        ("hinge", "l2"): {
            "default": lambda n, tol: svm.LinearSVC(
                C=C, loss="hinge", tol=tol, max_iter=STEPS, random_state=0
            ),
        },
        ("squared_hinge", "l2"): {
            "default": lambda n, tol: svm.LinearSVC(C=C, tol=tol, max_iter=STEPS, random_state=0),
            "primal": lambda n, tol: svm.LinearSVC(C=C, dual=False, tol=tol, max_iter=STEPS),
        },
        ("epsilon_insensitive", "l2"): {"default": regression("epsilon_insensitive", True)},
        ("squared_epsilon_insensitive", "l2"): {
            "default": regression("squared_epsilon_insensitive", True),
            "primal": regression("squared_epsilon_insensitive", False),
        },
    }
    models = made.get((problem.loss, problem.penalty), {})
    return {name: _fitting(make) for name, make in models.items()}


def _logistic(linear_model, C, l1_ratio, solvers):
    def maker(solver):
        return lambda n, tol: linear_model.LogisticRegression(
            C=C, l1_ratio=l1_ratio, solver=solver, tol=tol, max_iter=STEPS, random_state=0
        )

    return {solver: maker(solver) for solver in solvers}


def _fitting(make):
    def fit(X, y, tol):
        model = make(X.shape[0], tol)
        # LIBLINEAR, which is behind these, treats the bias as one more feature and penalises it.
        is_liblinear = (
            type(model).__name__ in ("LinearSVC", "LinearSVR")
            or getattr(model, "solver", "") == "liblinear"
        )
        return fit_estimator(model, X, y, "penalised" if is_liblinear else "free")

    return fit
