"""Standard errors of `summary()` against published ones and formulas; what it says of columns."""

import copy
import json
import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import scipy.special
import scipy.stats

import gapless
from gapless import (
    Lasso,
    LinearRegression,
    LogisticRegression,
    Ridge,
    RidgeCV,
    RiskClassifier,
    RiskRegressor,
)

# The estimate for unseen rows takes longer than the rest, and has tests of its own.
NOT_MEASURED = gapless.Generalization("R²", 0.0, 0.0, 0.0, 0.0, "none", None, "unknown: a test.")


def summary_of(model, **options):
    """The summary of a model, without its estimate for unseen rows."""
    vars(model)["generalization_"] = NOT_MEASURED
    return model.summary(**options)


def errors(summary):
    """Standard errors by name, or by name and output."""
    is_single = len({one.output for one in summary.coefficients}) == 1
    return {
        one.name if is_single else (one.name, one.output): one.standard_error
        for one in summary.coefficients
    }


def row(summary, name, output=None):
    (found,) = [
        one
        for one in summary.coefficients
        if one.name == name and (output is None or one.output == output)
    ]
    return found


# ---- published numbers ---------------------------------------------------------------------------


def test_a_line_through_anscombe_s_first_points():
    """Anscombe (1973): y = 3.00 + 0.500x, standard errors 1.125 and 0.118, t = 4.24, p = 0.002."""
    x = np.array([10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5.0])
    y = [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68]
    summary = summary_of(LinearRegression().fit(x[:, None], y))
    bias, slope = row(summary, "(bias)"), row(summary, "x0")
    assert [f"{one.value:.4f}" for one in (bias, slope)] == ["3.0001", "0.5001"]
    assert [f"{one.standard_error:.4f}" for one in (bias, slope)] == ["1.1247", "0.1179"]
    assert f"{slope.p_value:.5f}" == "0.00217"
    assert [f"{end:.4f}" for end in (slope.low, slope.high)] == ["0.2334", "0.7668"]
    assert "Student's t with 9 degrees" in summary.inference


def test_counts_of_dobson_s_trial():
    """Dobson (1990), as in R's help of glm: errors 0.1709, 0.2022, 0.1927, 0.2000, 0.2000."""
    y = [18.0, 17, 15, 20, 10, 20, 25, 13, 12]
    outcome, treatment = np.arange(9) % 3, np.arange(9) // 3
    X = np.column_stack([outcome == 1, outcome == 2, treatment == 1, treatment == 2]).astype(float)
    summary = summary_of(RiskRegressor("poisson", "none", tol=1e-10).fit(X, y))
    assert [f"{error:.4f}" for error in errors(summary).values()] == [
        "0.1709",
        "0.2022",
        "0.1927",
        "0.2000",
        "0.2000",
    ]
    assert f"{row(summary, 'x0').p_value:.4f}" == "0.0246"
    assert "Poisson likelihood" in summary.inference


WEIGHT = """
2.620 2.875 2.320 3.215 3.440 3.460 3.570 3.190 3.150 3.440 3.440 4.070 3.730 3.780 5.250 5.424
5.345 2.200 1.615 1.835 2.465 3.520 3.435 3.840 3.845 1.935 2.140 1.513 3.170 2.770 3.570 2.780
"""
IS_MANUAL = [1] * 3 + [0] * 14 + [1] * 3 + [0] * 5 + [1] * 7


def test_gears_of_cars_by_their_weight():
    """R: glm(am ~ wt, binomial, mtcars) has 12.040 ± 4.510 and −4.024 ± 1.436."""
    X = np.array(WEIGHT.split(), dtype=float)[:, None]
    for model in (
        LogisticRegression(C=np.inf, tol=1e-10),
        RiskClassifier(gapless.losses.Logistic(base2=True), "none", tol=1e-10),
    ):
        summary = summary_of(model.fit(X, IS_MANUAL))
        found = [(one.value, one.standard_error) for one in summary.coefficients]
        np.testing.assert_allclose(found, [(12.040, 4.510), (-4.024, 1.436)], atol=1e-3)
        assert f"{row(summary, 'x0').p_value:.4f}" == "0.0051"


# ---- formulas ------------------------------------------------------------------------------------


def make_data(rng, n=80, d=3):
    X = rng.normal(size=(n, d)) * [1.0, 10.0, 0.1][:d] + [5.0, 1000.0, 0.0][:d]
    return X, rng.normal(size=n) + (X - X.mean(axis=0)) @ [1.0, -0.1, 5.0][:d]


@pytest.mark.parametrize("has_bias", [True, False])
def test_least_squares_by_the_textbook_formula(rng, has_bias):
    X, y = make_data(rng)
    Y = np.column_stack([y, rng.normal(size=80)])
    summary = summary_of(LinearRegression(fit_intercept=has_bias).fit(X, Y), level=0.9)
    A = np.column_stack([X, np.ones(80)]) if has_bias else X
    for k, name in enumerate(("y0", "y1")):
        beta, rest = np.linalg.lstsq(A, Y[:, k])[:2]
        sigma2 = rest[0] / (80 - A.shape[1])
        expected = np.sqrt(sigma2 * np.diag(np.linalg.inv(A.T @ A)))
        found = [row(summary, f"x{j}", name) for j in range(3)]
        found += [row(summary, "(bias)", name)] if has_bias else []
        np.testing.assert_allclose([one.standard_error for one in found], expected, rtol=1e-6)
        reach = scipy.stats.t(80 - A.shape[1]).ppf(0.95) * expected
        np.testing.assert_allclose([one.high for one in found], beta + reach, rtol=1e-6)


@pytest.mark.parametrize(
    "loss, variance",
    [("gamma", lambda mean: mean**2), (gapless.losses.Tweedie(1.5), lambda mean: mean**1.5)],
    ids=["gamma", "tweedie"],
)
def test_the_dispersion_is_pearson_s(rng, loss, variance):
    """φ = Σ (y − μ)²/V(μ)/(n − p), and the expected information is XᵀDX with D = μ²/V(μ)."""
    X = rng.normal(size=(100, 2))
    mean = np.exp(1 + X @ [0.3, -0.2])
    y = rng.gamma(3.0, mean / 3)
    model = RiskRegressor(loss, "none", tol=1e-10).fit(X, y)
    A = np.column_stack([np.ones(100), X])
    mu = model.predict(X)
    phi = np.sum((y - mu) ** 2 / variance(mu)) / 97
    expected = np.sqrt(phi * np.diag(np.linalg.inv((A.T * (mu**2 / variance(mu))) @ A)))
    np.testing.assert_allclose(list(errors(summary_of(model)).values()), expected, rtol=1e-5)


def test_softmax_errors_are_those_of_the_centred_coefficients():
    """The pseudo-inverse of the whole information, here by brute force."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = np.argmax(X @ rng.normal(size=(2, 3)) + 1.5 * rng.normal(size=(120, 3)), axis=1)
    model = LogisticRegression(C=np.inf, tol=1e-10).fit(X, y)
    A, p = np.column_stack([X, np.ones(120)]), model.predict_proba(X)
    H = np.zeros((9, 9))
    for a, q in zip(A, p):
        H += np.kron(np.diag(q) - np.outer(q, q), np.outer(a, a))
    expected = np.sqrt(np.diag(np.linalg.pinv(H, rcond=1e-10))).reshape(3, 3)
    summary = summary_of(model)
    for k in range(3):
        found = [row(summary, name, str(k)).standard_error for name in ("x0", "x1", "(bias)")]
        np.testing.assert_allclose(found, expected[k], rtol=1e-6)


def test_intervals_hold_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(200):
        X = rng.normal(size=(15, 2))
        summary = summary_of(
            LinearRegression().fit(X, 1 + X @ [2.0, 0.0] + rng.normal(size=15)), level=0.8
        )
        first = row(summary, "x0")
        inside += first.low <= 2.0 <= first.high
    assert 139 <= inside <= 180  # 160 ± 3.5 standard deviations


# ---- weights -------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"bootstrap": 20}])
@pytest.mark.parametrize("kind", ["regression", "classes"])
def test_weight_2_is_the_row_twice_and_order_does_not_matter(kind, options):
    rng = np.random.default_rng(0)
    X, y = make_data(rng, n=40)
    weights = rng.integers(0, 3, size=40)
    order = rng.permutation(int(weights.sum()))
    repeated = np.repeat(np.arange(40), weights)[order]
    model = LinearRegression() if kind == "regression" else LogisticRegression(C=np.inf)
    if kind == "classes":
        y = (y + 3 * rng.normal(size=40) > 0).astype(int)
    one = summary_of(model.fit(X, y, sample_weight=weights), **options)
    other = summary_of(copy.deepcopy(model).fit(X[repeated], y[repeated]), **options)
    assert one.rows == other.rows
    for a, b in zip(one.coefficients, other.coefficients):
        for name in ("value", "standard_error", "low", "high"):
            assert getattr(a, name) == pytest.approx(getattr(b, name), rel=1e-4, abs=1e-7)
    assert "count as repeated rows" in one.weights and other.weights == ""


def test_fractions_of_rows_are_explained(rng):
    X, y = make_data(rng)
    summary = summary_of(LinearRegression().fit(X, y, sample_weight=rng.random(80)))
    assert "precisions" in str(summary)


def test_class_weights_are_not_counts(rng):
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] + rng.normal(size=60) > 0.5).astype(int)
    summary = summary_of(LogisticRegression(C=np.inf, class_weight="balanced").fit(X, y))
    assert summary.inference.startswith("none, because class weights are not counts")


# ---- where theory does not hold ------------------------------------------------------------------


@pytest.mark.parametrize(
    "model, reason",
    [
        (Ridge(0.1), "the penalty moves the coefficients"),
        (Lasso(0.1), "the penalty moves the coefficients"),
        (LinearRegression(positive=True), "constraints move the coefficients"),
        (RidgeCV(), "alpha came from scores of the same rows"),
        (Ridge("loo"), "alpha came from scores of the same rows"),
        (RiskRegressor("huber", "none"), "the huber loss of these targets is not a likelihood"),
        (gapless.LinearSVR(), "the penalty moves"),
    ],
)
def test_the_reason_and_the_bootstrap_are_offered(rng, model, reason):
    X, y = make_data(rng)
    summary = summary_of(model.fit(X, y))
    assert reason in summary.inference and "summary(bootstrap=200)" in summary.inference
    assert all(one.standard_error is None for one in summary.coefficients)
    assert "std. error" not in str(summary)


def test_least_squares_on_classes_is_not_a_likelihood(rng):
    X = rng.normal(size=(40, 2))
    summary = summary_of(RiskClassifier("squared", "none").fit(X, (X[:, 0] > 0).astype(int)))
    assert "is not a likelihood" in summary.inference


def test_as_many_coefficients_as_rows_leave_no_noise(rng):
    summary = summary_of(LinearRegression().fit(rng.normal(size=(3, 2)), [1.0, 2.0, 4.0]))
    assert "leave nothing to measure the noise by" in summary.inference


def test_the_bootstrap_agrees_with_theory_where_there_is_one():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = 1 + X @ [1.0, -2.0] + rng.normal(size=300)
    model = LinearRegression().fit(X, y)
    theory, drawn = errors(summary_of(model)), summary_of(model, bootstrap=400, random_state=1)
    for name, error in errors(drawn).items():
        assert error == pytest.approx(theory[name], rel=0.2)
    assert "400 refits" in drawn.inference
    assert errors(summary_of(model, bootstrap=5)) == errors(summary_of(model, bootstrap=5))
    assert errors(summary_of(model, bootstrap=5)) != errors(
        summary_of(model, bootstrap=5, random_state=1)
    )


def test_bootstrap_refits_are_fits_to_the_draws(rng):
    """Each refit equals a fit of the estimator itself to the rows drawn."""
    X, y = make_data(rng, n=30)
    model = Lasso(0.2, tol=1e-10).fit(X, y)
    drawn = np.random.default_rng(3)
    order = np.argsort(model._remembered("").distinct)  # by content
    coefs = [
        Lasso(0.2, tol=1e-10).fit(X[order], y[order], sample_weight=times).coef_
        for times in drawn.multinomial(30, np.full(30, 1 / 30), size=8)
    ]
    summary = summary_of(model, bootstrap=8, random_state=3)
    expected = np.std(coefs, axis=0, ddof=1)
    found = [row(summary, f"x{j}").standard_error for j in range(3)]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-8)
    selected = [row(summary, f"x{j}").selected for j in range(3)]
    np.testing.assert_allclose(selected, np.mean(np.array(coefs) != 0, axis=0))


def test_a_tuned_strength_is_tuned_again_in_every_refit(rng, monkeypatch):
    X, y = make_data(rng, n=30)
    model = RidgeCV(alphas=[0.1, 1000.0]).fit(X, y)
    fits = []
    fit = RidgeCV.fit
    monkeypatch.setattr(RidgeCV, "fit", lambda *args, **more: fits.append(0) or fit(*args, **more))
    summary = summary_of(model, bootstrap=6)
    assert len(fits) == 6 and "chooses alpha again" in summary.inference


# ---- columns -------------------------------------------------------------------------------------


def test_collinear_columns_are_named_and_have_no_errors(rng):
    X = pd.DataFrame(rng.normal(size=(50, 3)), columns=["a", "b", "c"])
    X["d"] = X.a - 2 * X.b + 7
    X["e"] = 3.0
    summary = summary_of(LinearRegression().fit(X, X.a + rng.normal(size=50)))
    said = " ".join(summary.findings)
    # Of three columns in one combination any is made up by the two others.
    assert "collinear, so their coefficients are not unique" in said
    assert all(f"'{name}'" in summary.findings[0] for name in "abd")
    assert "'e' is constant, like the bias." in summary.findings
    found = errors(summary)
    assert found["a"] is found["b"] is found["d"] is found["e"] is None
    alone = LinearRegression().fit(X[["a", "b", "c"]], X.a + 0 * X.b)
    assert found["c"] > 0 and summary_of(alone).findings == ()


@pytest.mark.parametrize("noise, mark", [(0.0, "="), (0.01, "≈")])
def test_the_combination_has_its_factors(rng, noise, mark):
    X = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    X["c"] = 3 * X.a + noise * rng.normal(size=200)
    (found,) = summary_of(Ridge().fit(X, X.b + rng.normal(size=200))).findings
    factor = "0.333" if found.startswith("'a'") else "3"
    name, other = ("'a'", "'c'") if found.startswith("'a'") else ("'c'", "'a'")
    assert found.startswith(f"{name} {mark} {factor}") and f"·{other}" in found


def test_more_columns_than_rows_are_said_to_be_so(rng):
    X = rng.normal(size=(5, 8))
    (found,) = summary_of(LinearRegression().fit(X, rng.normal(size=5))).findings
    assert found.startswith("5 rows cannot tell 8 columns apart")


@pytest.mark.filterwarnings("ignore:.*no minimiser exists")
def test_the_columns_that_separate_are_named():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 4)), columns=["a", "b", "c", "d"])
    alone = summary_of(LogisticRegression(C=np.inf).fit(X, (X.c > 0.2).astype(int)))
    assert "'c' alone separates the data" in " ".join(alone.findings)
    assert "no minimiser exists" in alone.inference and "bootstrap" not in alone.inference
    both = summary_of(LogisticRegression(C=np.inf).fit(X, (X.a + X.b > 0).astype(int)))
    assert "'a', 'b' together separate the data" in " ".join(both.findings)
    # One of three classes: the others overlap.
    y = np.where(X.d > 0.5, 2, (X.a + rng.normal(size=60) > 0).astype(int))
    three = summary_of(LogisticRegression(C=np.inf).fit(X, y))
    assert "'d' alone separates the data" in " ".join(three.findings)


@pytest.mark.filterwarnings("ignore:.*failed to converge")
def test_counts_that_are_all_0_in_one_group_separate(rng):
    X = pd.DataFrame({"a": rng.normal(size=40), "group": np.arange(40) % 2})
    y = np.where(X.group == 1, 0, 1 + rng.poisson(3, size=40)).astype(float)
    summary = summary_of(RiskRegressor("poisson", "none").fit(X, y))
    assert "'group' alone separates rows whose targets are all alike" in " ".join(summary.findings)


# ---- the page ------------------------------------------------------------------------------------


def test_the_page_has_everything_in_text_and_in_html(rng):
    X, y = make_data(rng)
    X = pd.DataFrame(X, columns=["<b>", "age", "size"])
    model = Ridge(2.0).fit(X, y)
    summary = model.summary()
    text, page = str(summary), summary._repr_html_()
    assert text.startswith("Ridge: 80 rows, 3 columns\nminimises  ½ Σᵢ (yᵢ − xᵢᵀw − b)²")
    assert "α = 2" in text
    for said in (model.certificate_.verdict, model.generalization_.verdict, summary.inference):
        assert said in text
    assert "&lt;b&gt;" in page and "<b>" not in page.replace("<b>", "", 10)
    assert page.count("<tr>") == 1 + len(summary.coefficients)
    assert repr(summary) == "<Summary of Ridge: 80 rows, 3 columns>"
    json.dumps(summary.to_dict())


def test_long_tables_show_the_largest_effects(rng):
    X = rng.normal(size=(300, 60))
    X[:, 7] *= 1e-3
    summary = summary_of(Ridge(1e-6).fit(X, 1e4 * X[:, 7] + 1e-3 * X[:, 3]))
    assert len(summary.coefficients) == 61
    lines = str(summary).split("\n")
    assert lines[5].startswith("x7") and "and 21 more" in str(summary)


def test_a_model_without_its_data_takes_them(rng, tmp_path):
    X, y = make_data(rng)
    model = LinearRegression().fit(X, y)
    gapless.save(model, tmp_path / "model")
    again = gapless.load(tmp_path / "model")
    with pytest.raises(AttributeError, match=r"summary\(X, y, sample_weight\)"):
        again.summary()
    assert str(again.summary(X, y)) == str(model.summary())
    with pytest.raises(ValueError, match="does not match these data"):
        again.summary(X, y + 1)


def test_empty_columns_of_a_sparse_x_keep_the_names_right(rng):
    X = np.zeros((40, 10))
    X[:, [2, 7]] = rng.normal(size=(40, 2))
    y = X[:, 2] + rng.normal(size=40)
    model = LinearRegression().fit(sp.csr_matrix(X), y)
    for summary in (model.summary(), copy.copy(model).summary(sp.csr_matrix(X), y)):
        assert [one.name for one in summary.coefficients] == ["(bias)", "x2", "x7"]
        assert summary.columns == 10


@pytest.mark.parametrize(
    ("penalty", "said"),
    [
        (gapless.penalties.L1(0.25), "Σᵢ ℓ(yᵢ, xᵢᵀw + b) + λ‖w‖₁   with ℓ = huber, λ = 0.25"),
        ("l2", "Σᵢ ℓ(yᵢ, xᵢᵀw + b) + ½λ‖w‖²   with ℓ = huber, λ = 1"),
        ("none", "Σᵢ ℓ(yᵢ, xᵢᵀw + b)   with ℓ = huber"),
        ("elastic_net", "Σᵢ ℓ(yᵢ, xᵢᵀw + b) + R(w)   with ℓ = huber, R = elastic_net"),
    ],
)
def test_the_objective_of_any_risk_has_its_penalty_written_out(penalty, said, rng):
    model = RiskRegressor("huber", penalty).fit(rng.normal(size=(20, 2)), rng.normal(size=20))
    assert str(model.summary()).splitlines()[1] == f"minimises  {said}"


def test_kernels_have_no_columns_to_speak_of(rng):
    X, y = make_data(rng, n=30)
    assert not hasattr(RiskRegressor(kernel="rbf").fit(X, y), "summary")
    assert hasattr(RiskRegressor().fit(X, y), "summary")


@pytest.mark.parametrize("options", [{"level": 1.5}, {"bootstrap": 1}, {"bootstrap": 2.5}])
def test_bad_options_are_refused(rng, options):
    X, y = make_data(rng)
    (name,) = options
    with pytest.raises(ValueError, match=f"{name} must be"):
        LinearRegression().fit(X, y).summary(**options)


def test_counts_with_an_exposure_have_the_errors_of_their_rates(rng):
    """I = Σ eᵢμᵢxᵢxᵢᵀ, where eᵢμᵢ is the mean of a count in the exposure e."""
    X, exposure = rng.normal(size=(80, 2)), rng.uniform(0.2, 5.0, size=80)
    y = rng.poisson(exposure * np.exp(0.5 + X @ [0.3, -0.3])).astype(float)
    model = gapless.PoissonRegressor(alpha=0.0, tol=1e-10).fit(X, y, offset=np.log(exposure))
    summary = summary_of(model)
    A = np.column_stack([np.ones(80), X])
    mean = model.predict(X, offset=np.log(exposure))
    expected = np.sqrt(np.diag(np.linalg.inv((A.T * mean) @ A)))
    np.testing.assert_allclose(list(errors(summary).values()), expected, rtol=1e-6)
    assert "exposures" in summary.weights


# ---- the objective and its value -----------------------------------------------------------------


def _half_squares(model, X, y):
    return 0.5 * np.sum((y - X @ np.ravel(model.coef_) - model.intercept_) ** 2)


def _log_losses(model, X, y):
    return np.sum(np.log1p(np.exp(-y * (X @ np.ravel(model.coef_) + model.intercept_))))


def _hinges(model, X, y):
    z = X @ np.ravel(model.coef_) + model.intercept_
    return np.sum(np.maximum(0, 1 - y * z) ** 2)


def _pinballs(model, X, y):
    r = y - X @ model.coef_ - model.intercept_
    return np.sum(np.maximum(0.3 * r, -0.7 * r))


def _deviances(model, X, y):
    z = X @ model.coef_ + model.intercept_
    return np.sum(np.exp(z) - y + scipy.special.xlogy(y, y) - y * z)


def _l1(model):
    return np.sum(np.abs(model.coef_))


def _l2(model):
    return np.sum(np.square(model.coef_))


SQUARES = "½ Σᵢ (yᵢ − xᵢᵀw − b)²"
LOGS = "Σᵢ log(1 + exp(−tᵢ(xᵢᵀw + b)))"
HINGES = "Σᵢ max(0, 1 − tᵢ(xᵢᵀw + b))²"
PINBALLS = "Σᵢ max(q(yᵢ − zᵢ), (1 − q)(zᵢ − yᵢ))"
DEVIANCES = "Σᵢ (μᵢ − yᵢ + yᵢ log(yᵢ/μᵢ))"
# A model, the formula it prints, and the same formula's two terms, the second by hand with n = 60.
PRINTED = [
    (Lasso(alpha=0.1), f"{SQUARES} + nα‖w‖₁   with α = 0.1", _half_squares, lambda m: 6 * _l1(m)),
    (Ridge(alpha=3.0), f"{SQUARES} + ½α‖w‖²   with α = 3", _half_squares, lambda m: 1.5 * _l2(m)),
    (
        gapless.ElasticNet(alpha=0.1, l1_ratio=0.25),
        f"{SQUARES} + nα(ρ‖w‖₁ + ½(1−ρ)‖w‖²)   with α = 0.1, ρ = 0.25",
        _half_squares,
        lambda m: 6 * (0.25 * _l1(m) + 0.375 * _l2(m)),
    ),
    (
        LogisticRegression(C=4),
        f"{LOGS} + ‖w‖²/(2C)   with C = 4",
        _log_losses,
        lambda m: _l2(m) / 8,
    ),
    (
        LogisticRegression(C=4, l1_ratio=1, solver="saga"),
        f"{LOGS} + ‖w‖₁/C   with C = 4",
        _log_losses,
        lambda m: _l1(m) / 4,
    ),
    (
        LogisticRegression(C=4, l1_ratio=0.25, solver="saga"),
        f"{LOGS} + (ρ‖w‖₁ + ½(1−ρ)‖w‖²)/C   with C = 4, ρ = 0.25",
        _log_losses,
        lambda m: (0.25 * _l1(m) + 0.375 * _l2(m)) / 4,
    ),
    (gapless.LinearSVC(C=4), f"{HINGES} + ‖w‖²/(2C)   with C = 4", _hinges, lambda m: _l2(m) / 8),
    (
        gapless.QuantileRegressor(quantile=0.3, alpha=0.1),
        f"{PINBALLS} + nα‖w‖₁, zᵢ = xᵢᵀw + b   with q = 0.3, α = 0.1",
        _pinballs,
        lambda m: 6 * _l1(m),
    ),
    (
        gapless.PoissonRegressor(alpha=0.1),
        f"{DEVIANCES} + ½nα‖w‖², μᵢ = exp(xᵢᵀw + b)   with α = 0.1",
        _deviances,
        lambda m: 3 * _l2(m),
    ),
]


@pytest.mark.parametrize(
    "model, said, loss, penalty", PRINTED, ids=[type(model).__name__ for model, *_ in PRINTED]
)
def test_the_printed_objective_is_the_value_of_the_printed_formula(model, said, loss, penalty, rng):
    X = rng.normal(size=(40, 3))
    y = X @ [1.0, -2.0, 0.5] + rng.normal(size=40)
    if loss in (_log_losses, _hinges):
        y = np.where(y > 0, 1, -1)
    if loss is _deviances:
        y = np.round(np.abs(y))
    # Weight 2 is the row twice: the sums are those of 60 rows.
    weights = np.where(np.arange(40) < 20, 2, 1)
    text = str(summary_of(model.fit(X, y, sample_weight=weights)))
    title, formula, *_ = text.splitlines()
    assert (title, formula) == (
        f"{type(model).__name__}: 60 rows, 3 columns",
        f"minimises  {said}",
    )
    (printed,) = re.findall(r"objective (\S+)\)$", text, re.MULTILINE)
    value = loss(model, np.repeat(X, weights, axis=0), np.repeat(y, weights)) + penalty(model)
    # Nine digits are printed.
    assert float(printed) == pytest.approx(value, rel=1e-8)
