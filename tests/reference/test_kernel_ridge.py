"""Kernel ridge regression against scikit-learn, linear ridge regression and brute force."""

import time
from dataclasses import dataclass

import numpy as np
import pytest
import sklearn.kernel_ridge
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

import gapless
from gapless import GaussianProcessRegressor, KernelRidge, kernels
from gapless._ground.interrupt import TimeLimit
from gapless.models.kernel_machines import least_squares, tuning


@pytest.fixture
def data():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(80, 3))
    Y = np.stack([np.sin(2 * X[:, 0]) + X[:, 1], X[:, 2] ** 2], axis=1)
    return X, Y + 0.2 * rng.normal(size=Y.shape)


@pytest.mark.parametrize(
    "kernel, gamma",
    [
        *(
            (name, gamma)
            for name in ("linear", "rbf", "poly", "laplacian")
            for gamma in (None, 0.3)
        ),
        ("cosine", None),
        ("chi2", 0.3),
    ],
)
def test_coefficients_are_those_of_scikit_learn(data, kernel, gamma):
    X, Y = data
    if kernel == "chi2":
        X = np.abs(X)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    options = {"kernel": kernel, "gamma": gamma, "degree": 2, "coef0": 0.5, "alpha": [0.5, 2.0]}
    ours = KernelRidge(**options).fit(X, Y, weights)
    theirs = sklearn.kernel_ridge.KernelRidge(**options).fit(X, Y, weights)
    scale = np.max(np.abs(theirs.dual_coef_))
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, rtol=0, atol=1e-8 * scale)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-7, atol=1e-7)


def test_parameters_and_defaults_are_those_of_scikit_learn():
    theirs = sklearn.kernel_ridge.KernelRidge().get_params()
    ours = KernelRidge().get_params()
    assert {name: ours[name] for name in theirs} == theirs


def test_a_function_of_two_rows_is_a_kernel(data):
    X, Y = data

    def kernel(x, z, power=1.0):
        return (1 + x @ z) ** power

    ours = KernelRidge(kernel=kernel, kernel_params={"power": 2}).fit(X, Y)
    poly = KernelRidge(kernel="poly", gamma=1.0, degree=2).fit(X, Y)
    np.testing.assert_allclose(ours.predict(X), poly.predict(X), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_linear_kernel_is_ridge_regression(data, fit_intercept):
    X, Y = data
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    ours = KernelRidge(alpha=0.7, fit_intercept=fit_intercept).fit(X, Y, weights)
    linear = gapless.Ridge(alpha=0.7, fit_intercept=fit_intercept).fit(X, Y, weights)
    np.testing.assert_allclose(ours.predict(X), linear.predict(X), rtol=1e-9, atol=1e-9)
    assert ours.certificate_.primal == pytest.approx(linear.certificate_.primal, rel=1e-9)
    one, other = ours.generalization_, linear.generalization_
    assert one.unseen == pytest.approx(other.unseen, rel=1e-8)
    assert one.standard_error == pytest.approx(other.standard_error, rel=1e-8)


def test_precomputed_is_the_kernel_itself(data):
    X, Y = data
    new = np.random.default_rng(1).normal(size=(9, 3))
    options = {"alpha": 0.3, "fit_intercept": True}
    ours = KernelRidge(kernel="precomputed", **options).fit(rbf_kernel(X, gamma=0.4), Y)
    rbf = KernelRidge(kernel="rbf", gamma=0.4, **options).fit(X, Y)
    given = rbf_kernel(new, X, gamma=0.4)
    np.testing.assert_allclose(ours.predict(given), rbf.predict(new), rtol=1e-10, atol=1e-10)
    assert ours.generalization_.unseen == pytest.approx(rbf.generalization_.unseen, rel=1e-9)
    for one, other in zip(ours.predict(given, interval=0.8), rbf.predict(new, interval=0.8)):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8)
    with pytest.raises(ValueError, match="must be square"):
        KernelRidge(kernel="precomputed").fit(X, Y)


def test_white_noise_of_a_kernel_is_a_penalty(data):
    X, Y = data
    weights = np.random.default_rng(0).integers(1, 3, len(X))
    noisy = KernelRidge(alpha=0.3, kernel=kernels.Gaussian(0.4) + kernels.White(0.2))
    plain = KernelRidge(alpha=0.5, kernel=kernels.Gaussian(0.4))
    noisy.fit(X, Y, weights), plain.fit(X, Y, weights)
    np.testing.assert_allclose(noisy.predict(X), plain.predict(X), rtol=1e-8, atol=1e-8)
    assert noisy.generalization_.unseen == pytest.approx(plain.generalization_.unseen, rel=1e-8)


# ---- solving in float32 --------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("alpha", [1.0, 1e-3])
def test_a_float32_factor_gives_all_digits_back(data, monkeypatch, fit_intercept, alpha):
    X, Y = data
    weights = np.random.default_rng(0).uniform(0.1, 10.0, len(X))
    options = {"alpha": alpha, "kernel": "rbf", "gamma": 0.5, "fit_intercept": fit_intercept}
    exact = KernelRidge(**options).fit(X, Y, weights)
    monkeypatch.setattr(least_squares, "SMALL", 10)
    single = KernelRidge(**options).fit(X, Y, weights)
    scale = np.max(np.abs(exact.dual_coef_))
    np.testing.assert_allclose(single.dual_coef_, exact.dual_coef_, rtol=0, atol=1e-11 * scale)
    assert single.certificate_.kind == "exact"


def test_float64_takes_over_where_float32_is_not_enough(data, monkeypatch):
    X, Y = data
    exact = KernelRidge(alpha=1e-9, kernel="rbf", gamma=0.05).fit(X, Y)
    monkeypatch.setattr(least_squares, "SMALL", 10)
    other = KernelRidge(alpha=1e-9, kernel="rbf", gamma=0.05).fit(X, Y)
    np.testing.assert_allclose(other.predict(X), exact.predict(X), rtol=1e-6, atol=1e-6)
    assert other.certificate_.kind == "exact"


def test_a_matrix_that_does_not_fit_is_refused_before_it_is_made(data, monkeypatch):
    X, Y = data
    monkeypatch.setattr("gapless.problem.kernel_matrix.free_memory", lambda: 1e4)
    monkeypatch.setattr("gapless.problem.kernel_matrix.SMALL", 0)
    for model in (KernelRidge(kernel="rbf"), GaussianProcessRegressor()):
        with pytest.raises(MemoryError, match=r"GB; use fewer rows, or RiskRegressor"):
            model.fit(X, Y)


# ---- tuning --------------------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_scores_of_a_search_are_those_of_refits(data, fit_intercept):
    X, y = data[0][:30], data[1][:30, 0]
    model = KernelRidge(alpha="loo", kernel="rbf", gamma=0.5, fit_intercept=fit_intercept)
    found = model.fit(X, y).search_
    for k in (10, 40, 60):
        plain = KernelRidge(
            alpha=found.values["alpha"][k], kernel="rbf", gamma=0.5, fit_intercept=fit_intercept
        )
        rest = [np.delete(np.arange(30), i) for i in range(30)]
        z = [plain.fit(X[r], y[r]).predict(X[[i]])[0] for i, r in enumerate(rest)]
        assert found.unseen[k] == pytest.approx(-np.mean((y - z) ** 2), rel=1e-6)
    assert found.unseen[found.chosen] == found.unseen.max()
    assert model.alpha_ == found.values["alpha"][found.chosen]


@pytest.mark.parametrize("kernel", ["poly", "rbf"], ids=["low rank", "all eigenvectors"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_float32_chooses_the_same(data, monkeypatch, kernel, fit_intercept):
    X, y = data[0], data[1][:, 0] + np.random.default_rng(1).normal(size=80)
    weights = np.random.default_rng(0).integers(1, 3, len(X))
    options = {"kernel": kernel, "gamma": 0.5, "degree": 2, "fit_intercept": fit_intercept}
    exact = KernelRidge(alpha="loo", **options).fit(X, y, weights)
    monkeypatch.setattr(tuning, "SMALL", 10)
    single = KernelRidge(alpha="loo", **options).fit(X, y, weights)
    count = len(single.search_.unseen)
    assert 40 < count < len(exact.search_.unseen)
    near = slice(0, exact.search_.chosen + 6)
    np.testing.assert_allclose(single.search_.unseen[near], exact.search_.unseen[near], rtol=0.01)
    assert single.alpha_ == pytest.approx(exact.alpha_, rel=0.5)


def test_float32_knows_what_it_cannot_tell(data, monkeypatch):
    X, y = data[0], data[1][:, 0]
    exact = KernelRidge(alpha="loo", kernel="rbf", gamma=0.5).fit(X, y)
    monkeypatch.setattr(tuning, "SMALL", 10)
    # Without noise the weakest penalties are the best.
    smooth = np.sin(X[:, 0])
    weak = KernelRidge(alpha="loo", kernel="rbf", gamma=0.1).fit(X, smooth)
    assert len(weak.search_.unseen) == len(exact.search_.unseen)


def test_the_scale_is_looked_for_until_it_is_in_the_middle(data):
    X, y = 1000 * data[0], data[1][:, 0]
    model = KernelRidge(alpha="loo", kernel="rbf", gamma="loo").fit(X, y)
    gammas = np.unique(model.search_.values["gamma"])
    assert gammas[0] < model.gamma_ < gammas[-1]
    assert model.kernel_ == kernels.Gaussian(model.gamma_)
    assert model.generalization_.unseen > 0.7
    fixed = KernelRidge(alpha=0.1, kernel="rbf", gamma="loo").fit(X, y)
    assert not hasattr(fixed, "alpha_") and set(fixed.search_.values["alpha"]) == {0.1}


def test_many_rows_choose_by_a_sample(data, monkeypatch):
    X, y = data[0], data[1][:, 0]
    monkeypatch.setattr(tuning, "MOST_FOR_SCALES", 40)
    model = KernelRidge(alpha="loo", kernel="rbf", gamma="loo").fit(X, y)
    assert np.all(model.search_.rows == 80) and len(set(model.search_.values["gamma"])) == 1
    monkeypatch.setattr(tuning, "MOST_FOR_STRENGTHS", 60)
    model = KernelRidge(alpha="loo", kernel="rbf", gamma="loo").fit(X, y)
    assert np.all(model.search_.rows == 40)
    assert "not corrected for the selection of alpha and gamma" in model.generalization_.method
    assert model.generalization_.unseen > 0.5


def test_one_standard_error_takes_a_stronger_penalty(data):
    X, y = data[0], data[1][:, 0]
    best = KernelRidge(alpha="loo", kernel="rbf", gamma=0.5).fit(X, y)
    simple = KernelRidge(alpha="loo", kernel="rbf", gamma=0.5, select="1se").fit(X, y)
    assert simple.alpha_ > best.alpha_
    at = simple.search_
    assert (
        at.unseen[at.chosen] >= best.search_.unseen.max() - at.standard_errors[np.argmax(at.unseen)]
    )


def test_what_was_tried_can_be_drawn(data):
    X, y = data[0], data[1][:, 0]
    model = KernelRidge(alpha="loo", kernel="rbf", gamma="loo").fit(X, y)
    axes = model.search_.plot()
    dots, chosen = axes.get_lines()
    assert set(dots.get_xdata()) == set(model.search_.values["alpha"])
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("alpha", "gamma")
    assert (*chosen.get_xdata(), *chosen.get_ydata()) == (model.alpha_, model.gamma_)
    assert "alpha=" in repr(model.search_)


# ---- certificates --------------------------------------------------------------------------------


def test_gap_bounds_suboptimality_away_from_optimum(data):
    X, Y = data
    for fit_intercept in (False, True):
        options = {"alpha": 0.5, "kernel": "rbf", "fit_intercept": fit_intercept}
        model = KernelRidge(**options).fit(X, Y)
        best = model.certificate_.primal
        rng = np.random.default_rng(0)
        for size in (1e-3, 0.1, 1.0):
            noise = size * rng.normal(size=model.dual_coef_.shape)
            if fit_intercept:
                noise -= noise.mean(axis=0)
            moved = KernelRidge(**options).fit(X, Y)
            moved.dual_coef_ = moved.dual_coef_ + noise
            certificate = gapless.certify(moved, X, Y)
            assert certificate.primal > best
            assert certificate.gap >= certificate.primal - best
            assert certificate.dual <= best * (1 + 1e-12)
            assert (certificate.kind == "stopped") == (certificate.relative_gap > 1e-6)


def test_an_indefinite_kernel_has_no_minimum_and_says_so(data):
    X, Y = data
    with pytest.warns(UserWarning, match="Singular matrix"):
        model = KernelRidge(alpha=0.1, kernel="sigmoid", gamma=1.0).fit(X, Y)
    K = model.kernel_.gram(X) + 0.1 * np.eye(len(X))
    np.testing.assert_allclose(K @ model.dual_coef_, Y, atol=1e-8)
    assert model.certificate_.kind == "stationary"
    assert "negative eigenvalues" in str(model.certificate_)


@dataclass(frozen=True)
class Negated(kernels.Kernel):
    """What a user takes for a kernel."""

    sign: float = -1.0
    constant: float = 0.0

    def gram(self, X, Z=None):
        return self.sign * kernels.Linear().gram(X, Z) + self.constant

    def diagonal(self, X):
        return self.sign * kernels.Linear().diagonal(X) + self.constant


@pytest.mark.parametrize("constant", [0.0, 100.0], ids=["diagonal", "factor"])
@pytest.mark.filterwarnings("ignore:Singular matrix")
def test_a_kernel_of_the_user_is_looked_at(data, constant):
    X, Y = data
    model = KernelRidge(10.0, kernel=Negated(constant=constant)).fit(X, Y)
    assert model.certificate_.kind == "stationary"
    assert "negative eigenvalues" in model.certificate_.verdict
    assert KernelRidge(10.0, kernel=Negated(sign=1.0)).fit(X, Y).certificate_.kind == "exact"


def test_a_matrix_that_is_not_symmetric_is_refused(data):
    X, Y = data
    K = rbf_kernel(X)
    K[3, 2] += 0.4
    with pytest.raises(ValueError, match=r"not symmetric: K\[2, 3\] and K\[3, 2\] differ by 0.4"):
        KernelRidge(kernel="precomputed").fit(K, Y)


@pytest.mark.parametrize("cls", [KernelRidge, GaussianProcessRegressor])
def test_texts_are_sent_to_machines_that_take_them(cls):
    texts, y = ["banana", "bandana", "kiwi", "wiki"], np.arange(4.0)
    with pytest.raises(ValueError, match="needs rows of numbers, and got texts; use SVR"):
        cls(kernel=kernels.Spectrum(2)).fit(texts, y)
    K = kernels.Spectrum(2).gram(texts)
    assert KernelRidge(0.01, kernel="precomputed").fit(K, y).score(K, y) > 0.9


def test_a_function_of_the_user_keeps_the_time_limit(data):
    calls = []

    def slow(x, z):
        calls.append(0)
        time.sleep(1e-3)
        return float(x @ z)

    with pytest.warns(ConvergenceWarning, match="predicts a constant"):
        KernelRidge(kernel=slow, time_limit=0.01).fit(*data)
    assert len(calls) < 80 * 81 / 2


def test_ctrl_c_leaves_a_constant_with_its_honest_gap(data, monkeypatch):
    X, Y = data

    def interrupted(self, strength):
        raise KeyboardInterrupt

    monkeypatch.setattr(least_squares.KernelSquares, "solve", interrupted)
    model = KernelRidge(kernel="rbf", fit_intercept=True)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    np.testing.assert_allclose(model.predict(X), np.tile(Y.mean(axis=0), (len(X), 1)))
    assert model.certificate_.kind == "stopped"
    assert model.certificate_.gap == pytest.approx(model.certificate_.scale)


def test_the_time_limit_is_said(data):
    with pytest.warns(ConvergenceWarning, match="time_limit of 1e-09 s"):
        model = KernelRidge(alpha="loo", kernel="rbf", gamma="loo", time_limit=1e-9).fit(*data)
    assert model.certificate_.kind == "stopped"
    assert "raise time_limit." in model.certificate_.verdict
    assert np.ptp(model.predict(data[0]), axis=0).max() == 0


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_model_whose_time_was_up_is_judged_as_what_it_is(data, monkeypatch, fit_intercept):
    X, y = data[0], data[1][:, 0]
    model = KernelRidge("loo", kernel="rbf", fit_intercept=fit_intercept, time_limit=100)

    def late(self, strength):
        raise TimeLimit

    monkeypatch.setattr(least_squares.KernelSquares, "solve", late)
    with pytest.warns(ConvergenceWarning, match="predicts a constant"):
        model.fit(X, y)
    result = model.generalization_
    assert result.kind == "unknown"
    assert result.train == pytest.approx(model.score(X, y))
    others = (y.sum() - y) / (len(y) - 1) if fit_intercept else np.zeros_like(y)
    np.testing.assert_allclose(model._fitted_to(X, y).held_out(None)[:, 0], others, atol=1e-12)
    _, lower, upper = model.predict(X, interval=0.8)
    assert np.mean((lower <= y) & (y <= upper)) == pytest.approx(0.8, abs=0.15)


@pytest.mark.parametrize(
    "model, message",
    [
        (KernelRidge(alpha=[1.0, 2.0, 3.0]), "alpha has 3 entries, y has 2 columns"),
        (KernelRidge(alpha=[1.0, -2.0]), "alpha must be finite numbers ≥ 0"),
        (KernelRidge(kernel="nonsense"), "kernel='nonsense' is not known; use one of"),
        (KernelRidge(gamma="loo"), r"needs a kernel with a scale, such as \"rbf\"; Linear"),
        (KernelRidge(alpha=[1.0, 2.0], kernel="rbf", gamma="loo"), "one alpha for all targets"),
    ],
    ids=repr,
)
def test_what_cannot_be_done_says_what_can(model, message, data):
    with pytest.raises(ValueError, match=message):
        model.fit(*data)
