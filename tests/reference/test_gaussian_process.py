"""Gaussian processes against scikit-learn and differences."""

import numpy as np
import pytest
import sklearn.gaussian_process
from scipy.optimize import approx_fprime
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

import gapless
from gapless import GaussianProcessRegressor
from gapless.kernels import Gaussian, Linear, Matern, White

OURS = 1.0 * Gaussian(0.5) + White(0.1)
THEIRS = ConstantKernel(1.0) * RBF(1.0) + WhiteKernel(0.1)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(50, 2))
    return X, np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.2 * rng.normal(size=50)


@pytest.mark.parametrize("kernel", [OURS, THEIRS], ids=["ours", "theirs"])
@pytest.mark.parametrize("normalize_y", [False, True])
def test_the_fitted_process_is_that_of_scikit_learn(data, kernel, normalize_y):
    X, y = data
    options = {"normalize_y": normalize_y, "alpha": 1e-8}
    ours = GaussianProcessRegressor(kernel, **options).fit(X, y)
    theirs = sklearn.gaussian_process.GaussianProcessRegressor(THEIRS, **options).fit(X, y)
    value = theirs.log_marginal_likelihood_value_
    assert ours.log_marginal_likelihood_value_ == pytest.approx(value, abs=1e-4)
    new = X[:7] + 0.1
    mean, std = theirs.predict(new, return_std=True)
    for found, expected in zip(ours.predict(new, return_std=True), (mean, std)):
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
    covariance = theirs.predict(new, return_cov=True)[1]
    np.testing.assert_allclose(ours.predict(new, return_cov=True)[1], covariance, atol=1e-3)
    draws = ours.sample_y(new, 4000, random_state=1)
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=5 * std.max() / np.sqrt(4000))


@pytest.mark.parametrize("kernel", [RBF(0.7), OURS.with_log_parameters([0.1, 0.2, -1.0])], ids=str)
def test_without_a_search_all_is_exact(data, kernel):
    X, y = data
    Y = np.stack([y, y**2], axis=1)
    model = GaussianProcessRegressor(kernel, alpha=0.1, optimizer=None).fit(X, Y)
    K = kernel(X) if isinstance(kernel, RBF) else kernel.gram(X)
    K = K + 0.1 * np.eye(50)
    np.testing.assert_allclose(model.L_ @ model.L_.T, K, atol=1e-12)
    np.testing.assert_allclose(model.alpha_, np.linalg.solve(K, Y), rtol=1e-9, atol=1e-9)
    determinant = np.linalg.slogdet(K)[1]
    expected = -0.5 * (np.sum(Y * model.alpha_) + 2 * determinant + 100 * np.log(2 * np.pi))
    assert model.log_marginal_likelihood_value_ == pytest.approx(expected)
    assert model.certificate_.kind == "exact"


@pytest.mark.parametrize(
    "kernel",
    [OURS, THEIRS, 2.0 * Linear() + Matern(1.5) * Gaussian(0.3) + White(0.3)],
    ids=["ours", "theirs", "sums and products"],
)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_gradients_are_those_of_differences(data, kernel, is_weighted):
    X, y = data
    weights = np.random.default_rng(1).integers(0, 4, 50) if is_weighted else None
    model = GaussianProcessRegressor(kernel, optimizer=None).fit(X, y, weights)
    theta = getattr(model.kernel_, "theta", None)
    theta = (model.kernel_.log_parameters if theta is None else theta) + 0.2
    _, gradient = model.log_marginal_likelihood(theta, eval_gradient=True)
    differences = approx_fprime(theta, model.log_marginal_likelihood, 1e-6)
    np.testing.assert_allclose(gradient, differences, rtol=1e-4, atol=1e-3)


def test_weights_are_repeated_rows_in_the_likelihood_too(data):
    X, y = data
    weights = np.random.default_rng(1).integers(0, 4, 50)
    repeated = np.repeat(np.arange(50), weights)
    # Copies of scikit-learn's rows are rows of their own; here they are merged.
    fixed = GaussianProcessRegressor(THEIRS, alpha=0.05, optimizer=None).fit(X, y, weights)
    theirs = sklearn.gaussian_process.GaussianProcessRegressor(THEIRS, alpha=0.05, optimizer=None)
    theirs.fit(X[repeated], y[repeated])
    value = theirs.log_marginal_likelihood_value_
    assert fixed.log_marginal_likelihood_value_ == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(fixed.predict(X), theirs.predict(X[:50]), rtol=1e-8, atol=1e-8)


def test_fitted_parameters_are_said_to_be_one_maximum(data):
    model = GaussianProcessRegressor(OURS).fit(*data)
    assert model.certificate_.kind == "stationary"
    assert "the mean is exact" in str(model.certificate_)
    assert "several maxima" in str(model.certificate_)
    assert model.certificate_.gap <= model.certificate_.tolerance


@pytest.mark.parametrize("name", ["alpha_", "X_train_", "kernel_"])
def test_certify_looks_at_what_predicts(data, name):
    X, y = data
    model = GaussianProcessRegressor(OURS).fit(X, y)
    assert gapless.certify(model, X, y).kind == model.certificate_.kind == "stationary"
    if name == "kernel_":
        # The mean of another kernel, exact for that one, whose likelihood is not a maximum.
        other = GaussianProcessRegressor(1.0 * Gaussian(5.0) + White(1e-3), optimizer=None)
        model.kernel_, model.alpha_ = other.fit(X, y).kernel_, other.alpha_
    else:
        setattr(model, name, 1.1 * getattr(model, name))
    certificate = gapless.certify(model, X, y)
    assert certificate.kind == "stopped"
    if name == "kernel_":
        assert "no maximum here" in certificate.verdict
        assert certificate.gap <= certificate.tolerance
    else:
        assert certificate.gap > certificate.tolerance


def test_the_default_kernel_knows_noise_and_fits_any_unit():
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:150], y[:150]
    model = GaussianProcessRegressor().fit(X, y)
    assert model.kernel_.noise > 0
    assert model.certificate_.kind == "stationary"
    assert model.generalization_.unseen > 0.4
    other = GaussianProcessRegressor().fit(X / 1e4, 1e8 * y)
    np.testing.assert_allclose(other.predict(X / 1e4), 1e8 * model.predict(X), rtol=1e-3)


@pytest.mark.parametrize("factor", [1e-4, 1e8])
def test_the_unit_of_the_targets_does_not_matter(data, factor):
    X, y = data
    plain = GaussianProcessRegressor(OURS).fit(X, y)
    scaled = GaussianProcessRegressor(OURS).fit(X, factor * y)
    assert scaled.certificate_.kind == "stationary"
    np.testing.assert_allclose(scaled.predict(X), factor * plain.predict(X), rtol=0.01)


def test_targets_below_the_noise_and_parameters_at_their_bounds_are_said(data):
    X, y = data
    with pytest.warns(UserWarning, match="all of y counts as noise. Set normalize_y=True"):
        GaussianProcessRegressor(OURS).fit(X, 1e-8 * y)
    with pytest.warns(ConvergenceWarning, match="parameter left__factor of the kernel"):
        GaussianProcessRegressor(OURS).fit(np.ones_like(X), y - y.mean())


def test_restarts_find_no_less_and_are_repeatable(data):
    X, y = data
    far = 1.0 * Gaussian(1e4) + White(1.0)
    once = GaussianProcessRegressor(far).fit(X, y)
    options = {"n_restarts_optimizer": 3, "random_state": 0}
    more = GaussianProcessRegressor(far, **options).fit(X, y)
    again = GaussianProcessRegressor(far, **options).fit(X, y)
    assert more.log_marginal_likelihood_value_ >= once.log_marginal_likelihood_value_
    assert more.kernel_ == again.kernel_


def test_the_time_limit_keeps_the_best_so_far(data):
    with pytest.warns(ConvergenceWarning, match="time_limit of 1e-09 s"):
        model = GaussianProcessRegressor(OURS, time_limit=1e-9).fit(*data)
    np.testing.assert_allclose(model.kernel_.log_parameters, OURS.log_parameters)
    assert model.certificate_.kind == "stopped"
    assert "raise time_limit." in model.certificate_.verdict
    assert np.isfinite(model.predict(data[0])).all()


def test_ctrl_c_keeps_the_best_so_far(data):
    calls = []

    def optimizer(objective, start, bounds):
        calls.append(objective(start + 0.1))
        raise KeyboardInterrupt

    model = GaussianProcessRegressor(OURS, optimizer=optimizer)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*data)
    assert len(calls) == 1
    assert model.log_marginal_likelihood_value_ >= -calls[0][0] - 1e-9


def test_before_a_fit_the_kernel_speaks(data):
    X, _ = data
    mean, std = GaussianProcessRegressor(2.0 * Gaussian(0.5)).predict(X, return_std=True)
    np.testing.assert_array_equal(mean, 0.0)
    np.testing.assert_allclose(std, np.sqrt(2.0))


@pytest.mark.parametrize(
    "model, error, message",
    [
        (GaussianProcessRegressor("rbf"), TypeError, "kernel='rbf' is not a kernel; use one from"),
        (GaussianProcessRegressor(alpha=np.ones(3)), ValueError, "same number of entries as y"),
        (GaussianProcessRegressor(n_targets=2), ValueError, "Got 1 != 2"),
        (GaussianProcessRegressor(0.0 * Gaussian(1.0)), ValueError, "a parameter that is 0"),
        (
            GaussianProcessRegressor(Linear(), alpha=0.0),
            np.linalg.LinAlgError,
            "increasing the 'al",
        ),
    ],
    ids=repr,
)
def test_what_cannot_be_done_says_what_can(model, error, message, data):
    with pytest.raises(error, match=message):
        model.fit(*data)
