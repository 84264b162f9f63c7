"""Support vector machines in other units, and where pairs of variables move ever less."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from gapless import SVC, SVR, NuSVC, NuSVR, OneClassSVM, certify
from gapless.kernels import Gaussian
from gapless.models.svm import leaving_out
from gapless.models.svm.free_set import to_face_minimum
from gapless.problem.kernel_matrix import KernelMatrix
from gapless.solvers.smo import BoxProblem
from gapless.unseen.leave_one_out import NotAvailable


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def rows(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=n)


# ---- the fit -------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [1e-9, 1e-3])
@pytest.mark.parametrize("build", [lambda u: SVR(C=u, epsilon=0.05 * u), lambda u: NuSVR(C=u)])
def test_regression_does_not_depend_on_the_unit_of_its_targets(unit, build):
    X, y = rows()
    plain, other = build(1.0).fit(X, y), build(unit).fit(X, unit * y)
    assert other.certificate_.kind == "optimal"
    assert other.score(X, unit * y) == pytest.approx(plain.score(X, y), abs=1e-3)


@pytest.mark.parametrize("unit", [1e-5, 1e-2])
@pytest.mark.parametrize(
    "model", [NuSVC(nu=0.3), SVC(C=np.inf), OneClassSVM(nu=0.3)], ids=lambda m: type(m).__name__
)
def test_machines_with_a_free_margin_do_not_depend_on_the_unit_of_the_features(unit, model):
    X, _ = rows()
    X, y = X + 5, X[:, 0] > 0
    model.set_params(kernel="linear")
    expected = model.fit(X, y).predict(X)
    found = model.fit(unit * X, y)
    assert found.certificate_.kind == "optimal"
    assert np.mean(found.predict(unit * X) != expected) <= 0.05


# ---- slow pairs ----------------------------------------------------------------------------------


def test_classes_that_overlap_in_one_dimension_take_few_steps():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 1))
    y = (X[:, 0] > 0) ^ (rng.random(40) < 0.3)
    model = NuSVC(nu=0.4).fit(X, y)
    assert model.certificate_.kind == "optimal"
    assert model.n_iter_[0] < 10**5


@pytest.mark.parametrize("seed", [1, 5])
def test_more_features_than_support_vectors_and_a_large_C_take_few_steps(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(10, 6))
    y = X.sum(axis=1) + 0.3 * rng.normal(size=10)
    model = NuSVR(kernel="linear", C=1e4).fit(X, y)
    assert model.certificate_.kind == "optimal"
    assert model.n_iter_ < 10**5


def test_the_limit_of_steps_holds_between_newton_steps():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(10, 6))
    y = X.sum(axis=1) + 0.3 * rng.normal(size=10)
    with pytest.warns(ConvergenceWarning, match="max_iter=2000"):
        model = NuSVR(kernel="linear", C=1e4, max_iter=2000).fit(X, y)
    assert model.n_iter_ == 2000


@pytest.mark.parametrize("count", [30, 200])  # by eigenvalues, and by a factor
@pytest.mark.parametrize("absolute", [0.0, 0.3])
def test_newton_steps_keep_box_and_sums_and_lower_the_objective(rng, absolute, count):
    A = rng.normal(size=(count, 5))
    K, linear = A @ A.T, rng.normal(size=count)
    groups = np.arange(count) % 2
    start = rng.uniform(-1, 1, size=count) * rng.integers(0, 2, size=count)
    box = BoxProblem(linear, -np.ones(count), np.ones(count), absolute, groups=groups)
    theta = to_face_minimum(lambda rows: K[np.ix_(rows, rows)], box, start, K @ start + linear)

    def objective(t):
        return 0.5 * t @ K @ t + linear @ t + absolute * np.abs(t).sum()

    assert np.all(np.abs(theta) <= 1) and np.all(theta[start == 0] == 0) == (absolute > 0)
    np.testing.assert_allclose(np.bincount(groups, theta), np.bincount(groups, start), atol=1e-11)
    assert objective(theta) < objective(start)


def test_newton_steps_of_many_variables_end_at_the_minimum_of_their_face(rng):
    X = rng.normal(size=(120, 3))
    K, linear = KernelMatrix(Gaussian(0.5), X).whole(), 0.01 * rng.normal(size=120)
    K += 0.1 * np.eye(120)
    box = BoxProblem(linear, -np.ones(120), np.ones(120))
    start = np.repeat([0.1, -0.1], 60)
    theta = to_face_minimum(lambda rows: K[np.ix_(rows, rows)], box, start, K @ start + linear)
    slope = K @ theta + linear
    assert np.ptp(slope) < 1e-9


def test_newton_steps_leave_an_indefinite_kernel_alone(rng):
    start = np.array([0.2, -0.2])
    box = BoxProblem(np.zeros(2), -np.ones(2), np.ones(2), start=start)
    moved = to_face_minimum(lambda rows: -np.eye(2), box, start, -start)
    np.testing.assert_array_equal(moved, start)


# ---- unseen rows ---------------------------------------------------------------------------------


def unseen(model, X, y):
    return model.fit(X, y).generalization_.unseen


def test_the_forecast_of_regression_does_not_depend_on_the_unit_of_the_targets():
    X, y = rows()
    for build in (lambda u: SVR(C=u, epsilon=0.05 * u), lambda u: NuSVR(C=u)):
        expected = unseen(build(1.0), X, y)
        assert unseen(build(1e-3), X, 1e-3 * y) == pytest.approx(expected, abs=0.01)


def test_tuned_regression_does_not_depend_on_the_unit_of_the_targets():
    X, y = rows()
    model = SVR(C="loo", gamma="loo", epsilon="loo")
    expected = unseen(model, X, y)
    assert unseen(model, X, 1e-3 * y) == pytest.approx(expected, abs=0.02)
    assert 1e-4 < model.C_ < 1.0


@pytest.mark.parametrize("model", [NuSVC(nu=0.3), SVC(C=np.inf)], ids=["nu", "hard"])
def test_the_forecast_of_a_free_margin_does_not_depend_on_the_unit_of_the_features(model):
    X, _ = rows()
    y = X[:, 0] > 0
    model.set_params(kernel="linear")
    assert unseen(model, 1e-3 * X, y) == pytest.approx(unseen(model, X, y), abs=1e-9)


def test_rows_that_are_slow_to_leave_out_are_not_called_exact(monkeypatch):
    X, y = rows(120, seed=3)
    fitted = SVC(C=10.0).fit(X, y > 0)._fitted_to(X, y > 0)
    exact, _ = fitted.by_span()
    monkeypatch.setattr(leaving_out, "MOST_STEPS_OF_REFIT", 1)
    with pytest.raises(NotAvailable, match="takes too long"):
        fitted.held_out(None)
    monkeypatch.setattr(leaving_out, "BUDGET", -1.0)
    found, is_refitted = fitted.by_span()
    assert not is_refitted.any()
    assert np.mean((found > 0) == (exact > 0)) > 0.95


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_indefinite_kernels_are_judged_in_the_unit_of_the_target(factor):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = factor * (np.sin(X[:, 0]) + rng.normal(size=40))
    form = {"kernel": "sigmoid", "gamma": 1.0, "coef0": -1.0, "epsilon": 0.1 * factor, "C": factor}
    done = SVR(**form).fit(X, y)
    with pytest.warns(ConvergenceWarning):
        early = SVR(**form, max_iter=1).fit(X, y)
    assert (done.certificate_.kind, early.certificate_.kind) == ("stationary", "stopped")
    assert certify(early, X, y).kind == "stopped"
