"""Generalised linear models, quantiles and Huber's scale against what we did not write."""

import numpy as np
import pytest
import sklearn
from scipy.optimize import linprog, minimize
from sklearn.linear_model import HuberRegressor as TheirHuber
from sklearn.metrics import d2_pinball_score, d2_tweedie_score
from sklearn.model_selection import cross_val_score

import gapless
from gapless import (
    GammaRegressor,
    HuberRegressor,
    PoissonRegressor,
    QuantileRegressor,
    RiskRegressor,
    TweedieRegressor,
)
from gapless.losses import Absolute, Tweedie
from gapless.penalties import L1, NoPenalty


@pytest.fixture
def data(rng):
    """Rows, their exposures, and amounts that depend on both."""
    X = rng.normal(size=(60, 3))
    exposure = np.exp(rng.normal(size=60))
    mean = exposure * np.exp(X @ [0.5, -0.3, 0.2] - 0.2)
    return X, exposure, rng.poisson(mean) + rng.gamma(1.0, 0.2, size=60)


GENERALIZED = [
    pytest.param(PoissonRegressor(alpha=0.1), 1.0, id="poisson"),
    pytest.param(GammaRegressor(alpha=0.1), 2.0, id="gamma"),
    pytest.param(TweedieRegressor(power=1.4, alpha=0.1), 1.4, id="tweedie"),
]


def tight(model):
    return model.set_params(tol=1e-12)


# ---- offsets -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "power"), GENERALIZED)
def test_offset_minimises_the_objective_with_the_offset_in_the_score(model, power, data):
    X, exposure, y = data
    offset = np.log(exposure)
    fitted = tight(model).fit(X, y, offset=offset)
    total = np.sum(np.exp((2 - power) * offset))

    def objective(parameters):
        z = X @ parameters[:3] + parameters[3] + offset
        return np.sum(Tweedie(power).value(y, z)) / total + 0.05 * np.sum(parameters[:3] ** 2)

    best = minimize(objective, np.zeros(4), method="BFGS", options={"gtol": 1e-9})
    found = np.append(fitted.coef_, fitted.intercept_)
    assert objective(found) <= best.fun + 1e-12
    np.testing.assert_allclose(found, best.x, atol=1e-5)


@pytest.mark.parametrize(("model", "power"), GENERALIZED)
def test_an_exposure_is_a_rate_with_a_weight(model, power, data):
    X, exposure, y = data
    weights = np.arange(60) % 3.0
    by_offset = tight(model).fit(X, y, weights, offset=np.log(exposure))
    coef, value = by_offset.coef_, by_offset.certificate_.primal
    as_rate = model.fit(X, y / exposure, sample_weight=weights * exposure ** (2 - power))
    np.testing.assert_allclose(as_rate.coef_, coef, rtol=1e-9)
    assert as_rate.certificate_.primal == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("value", "message"),
    [(-np.inf, "offset has -inf in row 2, the logarithm of an exposure of 0"), (1e3, "np.log")],
)
def test_an_offset_that_is_no_logarithm_is_refused_with_the_cure(value, message):
    with pytest.raises(ValueError, match=message):
        PoissonRegressor().fit(np.eye(4), np.ones(4), offset=[0.0, 0.0, value, 0.0])


def test_a_row_is_held_out_with_its_offset(data):
    """Leave-one-out by refits: each row's deviance at its own exposure."""
    X, exposure, y = data
    model, offset = tight(PoissonRegressor(alpha=0.1)), np.log(exposure)
    found = gapless.generalize(model.fit(X, y, offset=offset), X, y, offset=offset)
    held = np.empty(60)
    for i in range(60):
        rest = np.arange(60) != i
        # The penalty keeps its strength: it is α times the exposure that is left.
        model.fit(X[rest], y[rest], offset=offset[rest])
        held[i] = model.predict(X[[i]], offset=offset[[i]])[0]
    deviance = np.sum(Tweedie(1.0).value(y, np.log(held)))
    constant = np.log(y.sum() / exposure.sum()) + offset
    expected = 1 - deviance / np.sum(Tweedie(1.0).value(y, constant))
    assert found.metric == "D²"
    assert found.unseen == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize(("model", "power"), GENERALIZED)
def test_predictions_scores_and_certificates_take_the_offset(model, power, data):
    X, exposure, y = data
    offset = np.log(exposure)
    fitted = model.fit(X, y, offset=offset)
    mean = exposure * fitted.predict(X)
    np.testing.assert_allclose(fitted.predict(X, offset=offset), mean)
    rates = y / exposure, fitted.predict(X)
    expected = d2_tweedie_score(*rates, power=power, sample_weight=exposure ** (2 - power))
    assert fitted.score(X, y, offset=offset) == pytest.approx(expected)
    assert gapless.certify(fitted, X, y, offset=offset).kind == "optimal"
    assert gapless.certify(fitted, X, y).kind == "stopped"
    with pytest.raises(ValueError, match="does not match these data"):
        gapless.generalize(fitted, X, y)


@pytest.mark.parametrize(("model", "power"), GENERALIZED)
def test_intervals_take_offsets_only_where_errors_scale_as_means_do(model, power, data):
    # Of counts in a hundredth of the exposure, an interval divided by 100 held half, not 90 %.
    X, exposure, y = data
    offset = np.log(exposure)
    fitted = model.fit(X, y, offset=offset)
    if power != 2:
        with pytest.raises(ValueError, match="interval= does not go with offset="):
            fitted.predict(X[:5], interval=0.8, offset=offset[:5])
        return
    plain, lower, upper = fitted.predict(X[:5], interval=0.8)
    shifted = fitted.predict(X[:5], interval=0.8, offset=offset[:5])
    np.testing.assert_allclose(shifted, exposure[:5] * np.array([plain, lower, upper]))


def test_offsets_are_routed_like_weights(data):
    X, exposure, y = data
    with sklearn.config_context(enable_metadata_routing=True):
        model = PoissonRegressor(alpha=0.1)
        model.set_fit_request(offset=True).set_score_request(offset=True)
        scores = cross_val_score(model, X, y, cv=3, params={"offset": np.log(exposure)})
    rows = np.arange(60)
    first = rows < 20
    plain = PoissonRegressor(alpha=0.1).fit(X[~first], y[~first], offset=np.log(exposure[~first]))
    expected = plain.score(X[first], y[first], offset=np.log(exposure[first]))
    assert scores[0] == pytest.approx(expected)


def test_bad_offsets_and_targets_are_named(data):
    X, exposure, y = data
    model = PoissonRegressor()
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y, offset=np.zeros(59))
    with pytest.raises(ValueError, match=r"offset.* row 3"):
        model.fit(X, y, offset=np.where(np.arange(60) == 3, np.nan, 0.0))
    with pytest.raises(
        ValueError, match="'poisson': targets must be at least 0, and y has -1 in r"
    ):
        model.fit(X, np.where(np.arange(60) == 7, -1.0, y))
    with pytest.raises(ValueError, match="'gamma': targets must be positive, and y has 0 in row 7"):
        GammaRegressor().fit(X, np.where(np.arange(60) == 7, 0.0, y))
    with pytest.raises(ValueError, match=r"no distribution has power=0\.5"):
        TweedieRegressor(power=0.5).fit(X, y)
    with pytest.raises(ValueError, match='use link="log", or power=0'):
        TweedieRegressor(power=1.5, link="identity").fit(X, y)
    assert not hasattr(model, "coef_")
    ridge = gapless.Ridge().fit(X, y)
    with pytest.raises(TypeError, match="Ridge has no offset; leave it out"):
        gapless.certify(ridge, X, y, offset=np.log(exposure))


def test_the_squared_loss_of_power_zero_adds_its_offset(data):
    X, _, y = data
    offset = X[:, 0] * 3
    model = TweedieRegressor(alpha=0.1).fit(X, y, offset=offset)
    shifted = TweedieRegressor(alpha=0.1).fit(X, y - offset)
    np.testing.assert_allclose(model.coef_, shifted.coef_)
    np.testing.assert_allclose(model.predict(X, offset=offset), shifted.predict(X) + offset)


@pytest.mark.parametrize("power", [0.0, 2.5, 3.0])
def test_powers_without_a_convex_deviance_end_where_no_change_helps(power, data):
    X, _, y = data
    model = TweedieRegressor(power=power, link="log", alpha=0.1).fit(X, y)
    assert model.certificate_.kind == "stationary"

    def objective(parameters):
        z = X @ parameters[:3] + parameters[3]
        return np.mean(Tweedie(power).value(y, z)) + 0.05 * np.sum(parameters[:3] ** 2)

    found = np.append(model.coef_, model.intercept_)
    best = minimize(objective, found, method="Nelder-Mead", options={"xatol": 1e-8})
    assert objective(found) <= best.fun + 1e-8


# ---- quantiles as linear programmes --------------------------------------------------------------


def smallest_by_programme(X, y, s, level, strength):
    """The least Σ s·max(q(y − z), (1 − q)(z − y)) + λ‖w‖₁, and its z, by SciPy's simplex method.

    In w⁺, w⁻, b⁺, b⁻ and the parts of y − z above and below 0.
    """
    n, d = X.shape
    cost = np.concatenate([np.full(2 * d, strength), [0, 0], s * level, s * (1 - level)])
    ones, eye = np.ones((n, 1)), np.eye(n)
    equal = np.hstack([X, -X, ones, -ones, eye, -eye])
    return linprog(cost, A_eq=equal, b_eq=y, method="highs-ds").fun


@pytest.mark.parametrize("strength", [0.0, 2.0, 8.0])
@pytest.mark.parametrize("level", [0.1, 0.5, 0.75])
def test_quantiles_reach_the_optimum_of_the_linear_programme(level, strength, rng):
    X, s = rng.normal(size=(80, 4)), rng.integers(1, 4, 80).astype(float)
    y = X @ [1.0, 0.0, -2.0, 0.1] + rng.standard_t(2, size=80)
    best = smallest_by_programme(X, y, s, level, strength)
    model = QuantileRegressor(quantile=level, alpha=strength / s.sum()).fit(X, y, s)
    assert model.certificate_.kind == "optimal"
    assert model.certificate_.primal == pytest.approx(best, rel=1e-9)
    assert model.certificate_.dual <= best * (1 + 1e-12)


@pytest.mark.parametrize("penalty", [NoPenalty(), L1(4.0)], ids=["none", "l1"])
def test_least_absolute_deviations_reach_the_optimum_of_the_linear_programme(penalty, rng):
    X, s = rng.normal(size=(80, 4)), np.ones(80)
    y = X @ [1.0, 0.0, -2.0, 0.1] + rng.standard_t(2, size=80)
    best = 2 * smallest_by_programme(X, y, s, 0.5, getattr(penalty, "strength", 0.0) / 2)
    model = RiskRegressor(Absolute(), penalty).fit(X, y)
    assert model.certificate_.primal == pytest.approx(best, rel=1e-9)


def test_the_score_of_quantiles_on_unseen_rows_is_of_their_own_loss(rng):
    X = rng.normal(size=(80, 2))
    y = X[:, 0] + rng.exponential(size=80)
    model = QuantileRegressor(quantile=0.8, alpha=0.01).fit(X, y)
    train = d2_pinball_score(y, model.predict(X), alpha=0.8)
    assert model.generalization_.metric == "D²"
    assert model.generalization_.train == pytest.approx(train, abs=1e-3)


# ---- Huber's scale -------------------------------------------------------------------------------


def huber_objective(X, y, s, epsilon, alpha, w, b, sigma):
    t = np.abs(X @ w + b - y) / sigma
    H = np.where(t <= epsilon, t**2, 2 * epsilon * t - epsilon**2)
    return np.sum(s * sigma * (1 + H)) + alpha * w @ w


@pytest.mark.parametrize(("epsilon", "alpha"), [(1.35, 1e-4), (1.05, 1.0), (3.0, 0.0)])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_huber_finds_scale_and_coefficients_of_scikit_learn(epsilon, alpha, fit_intercept, rng):
    X, s = rng.normal(size=(70, 3)), rng.integers(0, 3, 70).astype(float)
    y = X @ [1.0, -2.0, 0.5] + rng.standard_t(2, size=70) + 2.0
    options = {"epsilon": epsilon, "alpha": alpha, "fit_intercept": fit_intercept}
    ours = HuberRegressor(**options, tol=1e-10).fit(X, y, s)
    theirs = TheirHuber(**options, max_iter=10_000, tol=1e-9).fit(X, y, s)
    values = [
        huber_objective(X, y, s, epsilon, alpha, m.coef_, m.intercept_, m.scale_)
        for m in (ours, theirs)
    ]
    assert values[0] <= values[1] * (1 + 1e-12)
    assert ours.certificate_.kind == "optimal"
    assert ours.certificate_.primal == pytest.approx(values[0], rel=1e-10)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-3)
    assert ours.scale_ == pytest.approx(theirs.scale_, rel=2e-3)
    np.testing.assert_array_equal(
        ours.outliers_, np.abs(y - ours.predict(X)) > epsilon * ours.scale_
    )


def test_the_gap_of_huber_bounds_its_excess_away_from_the_optimum(rng):
    X = rng.normal(size=(50, 3))
    y = X @ [1.0, -2.0, 0.5] + rng.standard_t(2, size=50)
    for alpha in (0.0, 0.3):
        model = HuberRegressor(alpha=alpha, tol=1e-10).fit(X, y)
        best, coef, dual = model.certificate_.primal, model.coef_, model.dual_
        for _ in range(10):
            model.coef_ = coef + 10 ** rng.uniform(-4, 1) * rng.normal(size=3)
            model.dual_ = dual * 10 ** rng.uniform(-1, 1) + 0.1 * rng.normal(size=50)
            found = gapless.certify(model, X, y)
            scales = np.geomspace(1e-3, 1e3, 2000)
            rest = (model.coef_, model.intercept_)
            value = min(huber_objective(X, y, 1.0, 1.35, alpha, *rest, each) for each in scales)
            assert best <= found.primal * (1 + 1e-12)
            assert found.primal <= value <= found.primal * (1 + 1e-3)
            assert found.gap >= found.primal - best


@pytest.mark.parametrize("size", [1e-6, 1e6])
def test_the_scale_follows_the_unit_of_the_target(size, rng):
    X = rng.normal(size=(50, 3))
    y = X @ [1.0, -2.0, 0.5] + rng.standard_t(2, size=50)
    plain, other = (HuberRegressor(alpha=0.0).fit(X, c * y) for c in (1.0, size))
    np.testing.assert_allclose(other.coef_, size * plain.coef_, rtol=1e-5)
    assert other.scale_ == pytest.approx(size * plain.scale_, rel=1e-4)


def test_a_plane_through_all_rows_has_scale_zero(rng):
    X = rng.normal(size=(30, 2))
    y = X @ [1.0, 2.0] + 3.0
    model = HuberRegressor(alpha=0.0).fit(X, y)
    np.testing.assert_allclose(model.coef_, [1.0, 2.0], atol=1e-6)
    assert model.scale_ < 1e-6 and model.certificate_.kind == "optimal"


@pytest.mark.parametrize("share", [0.6, 0.8])
def test_most_targets_may_be_equal(share, rng):
    """Then the scale of the model without features is 0, where no step could be found."""
    X = rng.normal(size=(60, 2))
    y = np.where(rng.random(60) < share, 0.0, X[:, 0] + rng.normal(size=60))
    model = HuberRegressor(tol=1e-8).fit(X, y)
    theirs = TheirHuber(max_iter=10_000, tol=1e-9).fit(X, y)
    assert model.certificate_.kind == "optimal"
    value = huber_objective(X, y, 1.0, 1.35, 1e-4, theirs.coef_, theirs.intercept_, theirs.scale_)
    assert model.certificate_.primal <= value * (1 + 1e-9)


def test_epsilon_one_is_least_absolute_deviations(rng):
    X = rng.normal(size=(40, 2))
    y = X @ [1.0, 2.0] + rng.standard_t(2, size=40)
    model = HuberRegressor(epsilon=1.0, alpha=0.0).fit(X, y)
    assert model.certificate_.kind == "optimal"
    best = 2 * smallest_by_programme(X, y, np.ones(40), 0.5, 0.0)
    assert model.certificate_.primal == pytest.approx(2 * best, rel=1e-5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("alpha", [0.0, 1e-4])
def test_rows_on_a_plane_are_no_outliers(alpha, dtype, rng):
    X = rng.normal(size=(80, 3)).astype(dtype)
    y = X @ np.array([1.0, 2.0, -0.5], dtype) + dtype(3.0)
    y[:10] += rng.choice([-20.0, 20.0], 10).astype(dtype)
    model = HuberRegressor(alpha=alpha).fit(X, y)
    assert np.flatnonzero(model.outliers_).tolist() == list(range(10))
    np.testing.assert_allclose(
        model.predict(X)[10:], y[10:], rtol=0, atol=1e3 * np.finfo(dtype).eps
    )
    assert model.certificate_.kind == "optimal"


# ---- any penalty, and groups without a count


@pytest.mark.parametrize("loss", ["poisson", "gamma", Tweedie(1.4)])
def test_offsets_of_any_penalty_are_rates_with_weights(loss, data):
    X, exposure, y = data
    offset, model = np.log(exposure), RiskRegressor(loss, L1(0.5), tol=1e-10)
    model.fit(X, y, offset=offset)
    targets, factors = gapless.losses.by_name(loss).without_offset(y, offset)
    rates = RiskRegressor(loss, L1(0.5), tol=1e-10).fit(X, targets, factors)
    np.testing.assert_allclose(model.coef_, rates.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.predict(X, offset=offset), exposure * model.predict(X))
    assert gapless.certify(model, X, y, offset=offset).kind == "optimal"
    train = model.score(X, y, offset=offset)
    assert train == pytest.approx(rates.score(X, targets, factors))
    assert gapless.generalize(model, X, y, offset=offset).train == pytest.approx(train)


def test_a_loss_without_offsets_says_which_have_them(data):
    class Softplus(gapless.losses.Loss):
        """log(1 + exp(z)) − yz."""

        task = "regression"

        def value(self, y, z):
            return np.logaddexp(0, z) - y * z

        def gradient(self, y, z):
            return 1 / (1 + np.exp(-z)) - y

    X, _, y = data
    with pytest.raises(ValueError, match=r"does not go with the softplus loss.*poisson"):
        RiskRegressor(Softplus()).fit(X, y, offset=y)
    model = RiskRegressor(Softplus()).fit(X, y / (1 + y))
    with pytest.raises(ValueError, match="does not go with the softplus loss"):
        model.predict(X, offset=y)
    with pytest.raises(TypeError, match="RiskRegressor has no offset"):
        gapless.certify(model, X, y, offset=y)


@pytest.mark.parametrize("power", [1.0, 1.5])
def test_a_group_of_zero_counts_has_no_minimiser_and_its_column_is_named(power, rng):
    X = rng.normal(size=(90, 3))
    X[:, 2] = np.arange(90) < 20
    y = np.where(X[:, 2] > 0, 0.0, rng.poisson(np.exp(0.3 * X[:, 0])))
    with pytest.warns(sklearn.exceptions.ConvergenceWarning, match="no minimiser.*'x2' alone"):
        model = TweedieRegressor(power=power, alpha=0.0).fit(X, y)
    assert model.certificate_.kind == "none" and model.coef_[2] < -5
    assert model.certificate_.no_minimiser == "zeros"
    page = model.summary()
    assert "no minimiser exists" in page.inference and "bootstrap" not in page.inference
    assert page.findings == (
        "'x2' alone separates rows whose targets are all alike; its coefficient grows without "
        "bound.",
    )
    # A penalty on the column, or a single count among its rows, brings the minimiser back.
    assert TweedieRegressor(power=power, alpha=0.01).fit(X, y).certificate_.kind == "optimal"
    y[0] = 1.0
    assert TweedieRegressor(power=power, alpha=0.0).fit(X, y).certificate_.kind == "optimal"


def test_huber_takes_columns_that_are_far_from_zero(rng):
    X = rng.normal(size=(300, 3))
    y = X @ [1.0, -2.0, 0.5] + rng.standard_t(2, size=300)
    near, far = HuberRegressor().fit(X, y), HuberRegressor(tol=1e-3).fit(X + 2.0**33, y)
    # Shifted, the columns themselves are rounded to 2⁻¹⁹.
    np.testing.assert_allclose(far.coef_, near.coef_, atol=1e-4)
    assert far.scale_ == pytest.approx(near.scale_, rel=1e-4)
    assert far.n_iter_ <= 20
