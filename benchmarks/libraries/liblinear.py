"""LIBLINEAR, by its own Python interface: the bias free where -R can free it, else penalised."""

import numpy as np

from ..judge import Coefficients
from ..problems import Problem

SOLVERS = {
    # name: (-s, whether -R frees the bias)
    ("logistic", "l2"): {"newton": (0, True), "dual": (7, False)},
    ("logistic", "l1"): {"newton cd": (6, True), "newton cd, penalised bias": (6, False)},
    ("hinge", "l2"): {"dual": (3, False)},
    ("squared_hinge", "l2"): {"newton": (2, True), "dual": (1, False)},
}


def variants(problem: Problem) -> dict:
    from liblinear.liblinear import problem as own_format
    from liblinear.liblinearutil import train

    known = SOLVERS.get((problem.loss, problem.penalty), {})

    def fitting(solver, is_free):
        def fit(prepared, y, tol):
            options = f"-s {solver} -c {1 / problem.strength!r} -e {tol!r} -B 1 -q"
            model = train(prepared, options + (" -R" if is_free else ""))
            return _coefficients(model, y, "free" if is_free else "penalised")

        fit.prepare = lambda X, y: (own_format(np.asarray(y, float), X, 1), y)
        return fit

    return {name: fitting(*how) for name, how in known.items()}


def _coefficients(model, y, bias: str) -> Coefficients:
    """One column per class in the order of the labels; of two classes, that of the larger label."""
    labels = np.array(model.get_labels())
    if len(labels) == 2:
        w, b = model.get_decfun(label_idx=0)
        sign = 1.0 if labels[0] == np.max(y) else -1.0
        return Coefficients(sign * np.array(w), np.array(sign * b), bias)
    columns = [
        model.get_decfun(label_idx=int(np.flatnonzero(labels == k)[0])) for k in np.unique(y)
    ]
    W = np.stack([np.array(w) for w, _ in columns], axis=1)
    return Coefficients(W, np.array([b for _, b in columns]), bias)
