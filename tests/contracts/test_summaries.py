"""Every linear model, in every form of its objective, has a summary that fits together."""

import numpy as np
import pytest
import test_stochastic
from test_estimators import CASES, build, fit, make_data

import gapless

# The estimate for unseen rows has contracts of its own.
NOT_MEASURED = gapless.Generalization("score", 0.0, 0.0, 0.0, 0.0, "none", None, "unknown: a test.")


@pytest.mark.parametrize("cls, form", CASES)
def test_a_summary_says_what_was_fitted(cls, form):
    X, y = make_data(cls, 20240607)
    model = fit(build(cls, form, tol=1e-6), X, y)
    if not hasattr(model, "summary"):
        assert getattr(model, "kernel", None) is not None
        return
    check(model)


@pytest.mark.parametrize("cls, form", test_stochastic.CASES)
def test_a_summary_of_steps_has_no_standard_errors_by_theory(cls, form):
    X, y = test_stochastic.make_data(cls, 20240607)
    model = test_stochastic.fit(cls(**form), X, y)
    summary = check(model)
    assert summary.inference.startswith("none, because")
    assert "summary(bootstrap=200)" in summary.inference


def check(model):
    vars(model)["generalization_"] = NOT_MEASURED
    summary = model.summary()
    values = np.array([one.value for one in summary.coefficients if one.name != "(bias)"])
    np.testing.assert_allclose(values, np.ravel(model.coef_), rtol=1e-6, atol=1e-12)
    if model.fit_intercept:
        biases = [one.value for one in summary.coefficients if one.name == "(bias)"]
        np.testing.assert_allclose(biases, np.ravel(model.intercept_), rtol=1e-6, atol=1e-12)
    has_errors = [one.standard_error is not None for one in summary.coefficients]
    assert all(has_errors) != summary.inference.startswith("none, because")
    for text in (str(summary), summary._repr_html_()):
        assert type(model).__name__ in text and "Certificate" in text
    return summary
