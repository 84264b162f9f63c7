"""Local regression against its definition, point by point."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import gapless
from gapless import KernelRegression, kernels
from gapless.models.kernel_machines.smoothing import KERNELS, PROFILES


@pytest.fixture
def data():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 2)) * [1.0, 20.0] + [5.0, 0.0]
    return X, np.sin(X[:, 0]) + 0.05 * X[:, 1] + 0.1 * rng.normal(size=60)


def by_definition(X, y, weights, x, bandwidth, kernel, degree):
    """Weighted least squares at one point."""
    mean = np.average(X, axis=0, weights=weights)
    scale = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
    steps = (X - x) / scale
    u = np.linalg.norm(steps, axis=1) / bandwidth
    if kernel == "gaussian":
        k = np.exp(-0.5 * u**2)
    else:
        k = np.where(u <= 1, PROFILES[kernel](np.minimum(u, 1.0)), 0.0)
    A = np.hstack([np.ones((len(X), 1)), steps]) if degree else np.ones((len(X), 1))
    root = np.sqrt(weights * k)
    return np.linalg.lstsq(root[:, None] * A, root * y, rcond=None)[0][0]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("degree", [0, 1])
def test_predictions_are_the_definition(data, kernel, degree):
    X, y = data
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 60)
    model = KernelRegression(3.0, degree=degree, kernel=kernel).fit(X, y, weights)
    points = X[:8] + 0.1
    expected = [by_definition(X, y, weights, x, 3.0, kernel, degree) for x in points]
    np.testing.assert_allclose(model.predict(points), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("degree", [0, 1])
def test_a_line_is_followed_exactly_by_degree_one_only(degree):
    x = np.linspace(0, 1, 30)[:, None]
    model = KernelRegression(0.3, degree=degree).fit(x, 2 * x[:, 0] + 1)
    error = np.abs(model.predict(x) - (2 * x[:, 0] + 1)).max()
    assert error < 1e-4 if degree else error > 0.05


@pytest.mark.parametrize("degree", [0, 1])
def test_held_out_predictions_are_those_without_the_row(data, degree):
    X, y = data
    model = KernelRegression(1.0, degree=degree).fit(X, y)
    held = model._fitted_to(X, y).held_out(None)[:, 0]
    for i in range(0, 60, 7):
        expected = by_definition_without(X, y, i, degree)
        assert held[i] == pytest.approx(expected, rel=1e-4, abs=1e-4)


def by_definition_without(X, y, i, degree):
    """The definition with the scale of all rows, and no weight on row i."""
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    steps = np.delete(scaled, i, axis=0) - scaled[i]
    root = np.exp(-0.25 * np.sum(steps**2, axis=1))
    A = np.hstack([np.ones((len(steps), 1)), steps]) if degree else np.ones((len(steps), 1))
    return np.linalg.lstsq(root[:, None] * A, root * np.delete(y, i), rcond=None)[0][0]


def test_the_bandwidth_is_the_best_of_those_tried(data):
    X, y = data
    model = KernelRegression().fit(X, y)
    found = model.search_
    assert found.unseen[found.chosen] == found.unseen.max()
    assert model.bandwidth_ == found.values["bandwidth"][found.chosen]
    k = 5
    plain = KernelRegression(found.values["bandwidth"][k]).fit(X, y)
    held = plain._fitted_to(X, y).held_out(None)[:, 0]
    assert found.unseen[k] == pytest.approx(-np.mean((y - held) ** 2), rel=1e-9)
    simple = KernelRegression(select="1se").fit(X, y)
    assert simple.bandwidth_ > model.bandwidth_
    assert found.plot().get_xlabel() == "bandwidth"


def test_where_no_row_is_in_reach_the_nearest_decides(data):
    X, y = data
    model = KernelRegression(0.1, kernel="epanechnikov").fit(X, y)
    far = np.array([[500.0, 0.0], X[0]])
    with pytest.warns(UserWarning, match="1 of 2 rows have no training row within the bandwidth"):
        z = model.predict(far)
    nearest = np.argmin(np.linalg.norm((X - far[0]) / model.scale_, axis=1))
    assert z[0] == y[nearest]
    gaussian = KernelRegression(0.1).fit(X, y)
    assert gaussian.predict(far)[0] == pytest.approx(y[nearest])


def test_units_do_not_matter(data):
    X, y = data
    model, scaled = KernelRegression().fit(X, y), KernelRegression().fit(X * [1e6, 1e-3], y)
    assert scaled.bandwidth_ == pytest.approx(model.bandwidth_)
    np.testing.assert_allclose(scaled.predict(X * [1e6, 1e-3]), model.predict(X), rtol=1e-9)


def test_many_rows_are_judged_by_a_sample(data, monkeypatch):
    X, y = data
    monkeypatch.setattr("gapless.models.kernel_machines.local.MOST_ROWS", 30)
    model = KernelRegression().fit(X, y)
    assert "not corrected for the selection of bandwidth" in model.generalization_.method
    assert model.generalization_.unseen > 0.5


@pytest.mark.parametrize("offset", [1e3, 1e6, -1e8])
def test_lines_are_the_same_far_from_the_origin(data, offset):
    X, y = data
    near, far = (KernelRegression(0.4, degree=1).fit(X + shift, y) for shift in (0.0, offset))
    np.testing.assert_allclose(far.predict(X + offset), near.predict(X), atol=1e-12 * abs(offset))


@pytest.mark.parametrize("bandwidth", ["loo", 0.5])
@pytest.mark.parametrize("name", ["y_fit_", "bandwidth_", "X_fit_", "scale_", "weights_"])
def test_certify_looks_at_what_predicts(data, bandwidth, name):
    X, y = data
    model = KernelRegression(bandwidth).fit(X, y)
    assert gapless.certify(model, X, y).kind == "exact"
    factor = np.linspace(1, 3, len(y)) if name == "weights_" else 1.5
    setattr(model, name, factor * getattr(model, name))
    certificate = gapless.certify(model, X, y)
    assert certificate.kind == "stopped"
    assert "fit again" in certificate.verdict


@pytest.mark.parametrize("degree", [0, 1])
def test_a_time_limit_leaves_a_model_with_a_certificate_of_few_points(data, degree, monkeypatch):
    X, y = data
    for name in ("MUCH_WORK", "LITTLE_WORK"):
        monkeypatch.setattr(f"gapless.models.kernel_machines.local.{name}", 1.0)
    with pytest.warns(ConvergenceWarning, match="rule of thumb; raise time_limit"):
        model = KernelRegression(degree=degree, time_limit=1e-9).fit(X, y)
    assert model.certificate_.kind == "exact"
    assert model.score(X, y) > 0.3
    assert KernelRegression(1.0, degree=degree, time_limit=1e-9).fit(X, y).bandwidth_ == 1.0


def test_lines_are_found_some_rows_at_a_time(data, monkeypatch):
    X, y = data
    whole = KernelRegression(0.5, degree=1).fit(X, y).predict(X)
    for name, value in {"BLOCK": 64, "TOGETHER": 3, "MOST_SQUARES": 8}.items():
        monkeypatch.setattr(f"gapless.models.kernel_machines.smoothing.{name}", value)
    found = KernelRegression(0.5, degree=1).fit(X, y).predict(X)
    np.testing.assert_allclose(found, whole, rtol=1e-9)


# ---- weights that are values of a kernel ---------------------------------------------------------

KERNEL_FORMS = [
    ("rbf", {"gamma": 0.3}, kernels.Gaussian(0.3)),
    ("gaussian", {"gamma": 0.3}, kernels.Gaussian(0.3)),
    ("laplacian", {"gamma": "auto"}, kernels.Laplacian("auto")),
    ("rbf", {}, kernels.Gaussian("auto")),
    ("rbf", {"gamma": "scale"}, kernels.Gaussian("scale")),
    (kernels.Gaussian(sigma=1.5), {}, kernels.Gaussian(sigma=1.5)),
    (0.5 * kernels.Matern(3.0) * kernels.Gaussian(0.1) + 0.01, {}, None),
    (lambda x, z: 1 / (1 + np.sum((x - z) ** 2)), {}, None),
]


@pytest.mark.parametrize("degree", [0, 1])
@pytest.mark.parametrize("form", KERNEL_FORMS)
def test_weights_are_the_values_of_a_kernel_in_the_units_of_X(data, form, degree):
    kernel, parameters, same = form
    X, y = data
    X = X * [1.0, 0.05]
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 60)
    model = KernelRegression(kernel=kernel, degree=degree, **parameters).fit(X, y, weights)
    points = X[:8] + 0.1
    if callable(kernel) and not isinstance(kernel, kernels.Kernel):
        values = np.array([[kernel(x, z) for z in X] for x in points])
    else:
        values = (same or kernel).resolve(X, weights).gram(points, X)
    for x, own, found in zip(points, values, model.predict(points), strict=True):
        A = np.hstack([np.ones((60, 1)), X - x]) if degree else np.ones((60, 1))
        root = np.sqrt(weights * own)
        expected = np.linalg.lstsq(root[:, None] * A, root * y, rcond=None)[0][0]
        assert found == pytest.approx(expected, rel=1e-4, abs=1e-4)
    assert not hasattr(model, "bandwidth_")
    assert gapless.certify(model, X, y, weights).kind == "exact"


def test_the_kernel_is_the_one_of_kernel_ridge(data):
    X, y = data
    for parameters in ({"kernel": "rbf"}, {"kernel": "rbf", "gamma": 0.2}, {"kernel": "chi2"}):
        rows = np.abs(X) if parameters["kernel"] == "chi2" else X
        local = KernelRegression(**parameters).fit(rows, y)
        assert local.kernel_ == gapless.KernelRidge(**parameters).fit(rows, y).kernel_


@pytest.mark.parametrize("degree", [0, 1])
def test_gamma_and_bandwidth_are_two_units_of_one_width(data, degree):
    X, y = data
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    by_bandwidth = KernelRegression(0.7, degree=degree).fit(X, y)
    by_gamma = KernelRegression(gamma=1 / (2 * 0.7**2), degree=degree).fit(X, y)
    # Far from all rows too, where no value of the kernel is above 0 in float64.
    points = np.vstack([X[:10] + 0.05, [[200.0, -100.0]]])
    assert by_gamma.kernel_.gram(points[-1:], X).max() == 0
    rtol = 1e-9 if degree == 0 else 1e-3  # slopes are 0 by other rules where nothing is near
    np.testing.assert_allclose(
        by_gamma.predict(points[:10]), by_bandwidth.predict(points[:10]), rtol
    )
    if degree == 0:
        np.testing.assert_allclose(by_gamma.predict(points), by_bandwidth.predict(points), rtol)


def test_gamma_is_the_best_of_those_tried(data):
    X, y = data
    X = X * [1.0, 0.05]
    model = KernelRegression(kernel="rbf", gamma="loo").fit(X, y)
    found = model.search_
    assert found.unseen[found.chosen] == found.unseen.max()
    assert model.gamma_ == model.kernel_.gamma == found.values["gamma"][found.chosen]
    plain = KernelRegression(gamma=found.values["gamma"][7]).fit(X, y)
    held = plain._fitted_to(X, y).held_out(None)[:, 0]
    assert found.unseen[7] == pytest.approx(-np.mean((y - held) ** 2), rel=1e-9)
    assert KernelRegression(gamma="loo", select="1se").fit(X, y).gamma_ < model.gamma_
    assert model.generalization_.unseen > 0.5


@pytest.mark.parametrize("degree", [0, 1])
def test_held_out_predictions_of_a_kernel_are_refits(data, degree):
    X, y = data
    model = KernelRegression(kernel=kernels.Laplacian(0.2), degree=degree).fit(X, y)
    held = model._fitted_to(X, y).held_out(None)[:, 0]
    for i in (0, 17, 59):
        rest = np.delete(np.arange(60), i)
        again = KernelRegression(kernel=kernels.Laplacian(0.2), degree=degree).fit(X[rest], y[rest])
        assert held[i] == pytest.approx(again.predict(X[[i]])[0], rel=1e-6)


def test_a_kernel_without_reach_leaves_the_nearest_row(data):
    X, y = data
    model = KernelRegression(kernel=kernels.Matern(1e-3, nu=0.5)).fit(X, y)
    with pytest.warns(UserWarning, match="1 of 1 rows .* within reach of the kernel"):
        z = model.predict([[500.0, 0.0]])
    assert z[0] == y[np.argmin(np.linalg.norm(X - [500.0, 0.0], axis=1))]


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"bandwidth": 1.0, "gamma": 0.5}, "gamma or the kernel sets the width"),
        ({"bandwidth": "loo", "kernel": kernels.Gaussian(1.0)}, "sets the width"),
        ({"kernel": "boxcar", "gamma": 0.5}, "has a bandwidth and no gamma"),
        ({"kernel": "linear"}, "has values below 0 for these rows, which are no weights"),
        ({"kernel": "cosine", "gamma": "loo"}, "needs a kernel with a scale"),
        ({"kernel": "precomputed"}, "K @ y / K.sum"),
        ({"kernel": "parabola"}, "is not known; use one of gaussian, epanechnikov"),
    ],
)
def test_what_cannot_be_is_said(data, parameters, message):
    X, y = data
    with pytest.raises(ValueError, match=message.replace(".", r"\.").replace("(", r"\(")):
        KernelRegression(**parameters).fit(X - X.mean(axis=0), y)


@pytest.mark.parametrize(
    "kernel",
    [
        kernels.Gaussian(0.3),
        kernels.Laplacian(0.3),
        2.0 * kernels.Gaussian(0.3) * kernels.Laplacian(0.1) + 0.5,
        kernels.Matern(1.0),
    ],
    ids=repr,
)
def test_logarithms_of_kernels_are_those_of_their_values(data, kernel):
    X, _ = data
    X = X * [1.0, 0.05]
    logs = kernel.log_gram(X, X[:5])
    np.testing.assert_allclose(np.exp(logs), kernel.gram(X, X[:5]), rtol=1e-9)
    assert np.all(np.isfinite(kernels.Gaussian(0.3).log_gram(1e5 * X, X)))
