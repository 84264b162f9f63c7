"""One file per library. Each has

    variants(problem) -> {name: fit}   the ways in which it can minimise that objective, if any
    fit(X, y, tol) -> Coefficients     one fit, from loose (tol = 0.1) to tight (tol = 1e-10)
    fit.prepare(X, y) -> (X, y)        optional: into the library's own format, not timed

A library imports what it needs inside `variants`, so that its import time can be measured.
"""

import warnings

import numpy as np

from ..judge import Coefficients


def fit_estimator(model, X, y, bias: str = "free") -> Coefficients:
    """Fit an estimator in the style of scikit-learn, without its warnings: the judge sees all."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return Coefficients(np.squeeze(model.coef_.T), np.squeeze(model.intercept_), bias)
