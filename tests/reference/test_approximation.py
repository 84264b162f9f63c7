"""Landmarks and random features in place of a kernel: kernel ridge and support vector machines."""

import pickle

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

import gapless
from gapless import KernelRidge
from gapless.design import Design
from gapless.losses import Squared
from gapless.penalties import L2
from gapless.problem import Problem
from gapless.solvers import solve
from gapless.threads import threads

KINDS = ("nystroem", "random_features")
every_kind = pytest.mark.parametrize("kind", KINDS)


def make_data(n=150, targets=None, seed=0):
    """Numbers that depend smoothly on three features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.sin(X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.1 * rng.normal(size=n)
    return X, y if targets is None else np.stack([y * k for k in range(1, targets + 1)], axis=1)


def ridge(**more):
    return KernelRidge(
        **{"alpha": 0.5, "kernel": "rbf", "gamma": 0.3, "fit_intercept": True} | more
    )


# ---- kernel ridge --------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [True, False])
def test_all_landmarks_are_the_kernel_itself(bias):
    X, y = make_data(60)
    options = {"kernel": "laplacian", "fit_intercept": bias}
    exact = ridge(**options).fit(X, y)
    landmarks = ridge(**options, approximation="nystroem", n_components=60).fit(X, y)
    np.testing.assert_allclose(landmarks.predict(X), exact.predict(X), atol=1e-4)
    assert landmarks.certificate_.primal == pytest.approx(exact.certificate_.primal, rel=1e-5)
    assert gapless.certify(landmarks, X, y, exact_kernel=True).kind == "optimal"
    assert gapless.certify(exact, X, y, exact_kernel=True).kind == "exact"


@every_kind
def test_kernel_ridge_is_least_squares_on_the_features(kind):
    X, y = make_data()
    model = ridge(approximation=kind, n_components=20).fit(X, y)
    Phi = model.features_.transform(X)
    problem = Problem(Design(Phi), y, Squared(), L2(0.5), np.ones(len(y)), True)
    best = solve(problem, tol=1e-12)
    np.testing.assert_allclose(model.coef_, best.parameters.w, atol=1e-6)
    np.testing.assert_allclose(
        model.predict(X), Phi @ best.parameters.w + best.parameters.b, atol=1e-5
    )
    assert model.certificate_.kind == "exact"
    assert "in place of the kernel" in model.certificate_.verdict
    assert gapless.certify(model, X, y).primal == pytest.approx(best.primal, rel=1e-6)


@every_kind
def test_leave_one_out_of_kernel_ridge_is_that_of_refits_on_the_features(kind):
    X, y = make_data(60)
    model = ridge(approximation=kind, n_components=10).fit(X, y)
    Phi = model.features_.transform(X).astype(float)
    held = []
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        problem = Problem(Design(Phi[rest]), y[rest], Squared(), L2(0.5), np.ones(len(y) - 1), True)
        best = solve(problem).parameters
        held.append(Phi[i] @ best.w + best.b)
    errors = (y - held) ** 2
    unseen = 1 - errors.mean() / y.var()
    assert model.generalization_.unseen == pytest.approx(unseen, abs=1e-4)
    assert model.generalization_.method == "loo"


@every_kind
def test_the_number_of_features_grows_until_leave_one_out_is_level(kind):
    X, y = make_data(400)
    model = ridge(approximation=kind).fit(X, y)
    tried = model.features_.tried
    assert [one.rank for one in tried][:2] == [64, 128]
    assert model.features_.rank == tried[-1].rank
    assert model.features_.is_enough


def test_auto_takes_the_kernel_itself_for_few_rows_and_landmarks_beyond(monkeypatch):
    X, y = make_data(80)
    assert not hasattr(ridge().fit(X, y), "features_")
    monkeypatch.setattr("gapless.kernel_machines.ridge.EXACT_ROWS", 50)
    model = ridge().fit(X, y)
    assert model.features_.kind == "nystroem"
    assert "landmarks in place of the kernel" in model.certificate_.verdict
    assert not hasattr(model.set_params(approximation=None).fit(X, y), "features_")


@every_kind
def test_kernel_ridge_with_several_targets_strengths_weights_and_intervals(kind):
    X, y = make_data(120, targets=3)
    weights = np.random.default_rng(1).integers(0, 3, len(X))
    options = {"approximation": kind, "n_components": 30, "alpha": [0.1, 1.0, 10.0]}
    model = ridge(**options).fit(X, y, sample_weight=weights)
    repeated = np.repeat(np.arange(len(X)), weights)
    plain = ridge(**options).fit(X[repeated], y[repeated])
    np.testing.assert_allclose(model.predict(X), plain.predict(X), atol=1e-5)
    one = ridge(**(options | {"alpha": 1.0})).fit(X, y[:, 1], sample_weight=weights)
    np.testing.assert_allclose(model.predict(X)[:, 1], one.predict(X), atol=1e-6)
    prediction, lower, upper = model.predict(X, interval=0.9)
    assert prediction.shape == (120, 3)
    assert np.all(lower < upper)
    assert gapless.certify(model, X, y, weights).kind == "optimal"


def test_strength_and_scale_of_kernel_ridge_are_chosen_before_landmarks_are():
    X, y = make_data(200)
    model = ridge(alpha="loo", gamma="loo", approximation="nystroem").fit(X, y)
    exact = ridge(alpha="loo", gamma="loo").fit(X, y)
    assert (model.alpha_, model.gamma_) == (exact.alpha_, exact.gamma_)
    assert model.kernel_.gamma == model.gamma_
    np.testing.assert_allclose(model.predict(X), exact.predict(X), atol=0.05)


@every_kind
def test_kernel_ridge_survives_a_file_and_threads_do_not_matter(kind):
    X, y = make_data()
    model = ridge(approximation=kind).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert gapless.certify(again, X, y).kind == "optimal"
    with threads(1):
        single = ridge(approximation=kind).fit(X, y)
    np.testing.assert_array_equal(single.coef_, model.coef_)


def test_random_features_have_no_exact_kernel_to_compare_with():
    X, y = make_data(40)
    model = ridge(approximation="random_features", n_components=10).fit(X, y)
    with pytest.raises(ValueError, match="random features"):
        gapless.certify(model, X, y, exact_kernel=True)


def test_time_limit_of_kernel_ridge_is_kept_and_said():
    X, y = make_data(2000)
    with pytest.warns(ConvergenceWarning, match="raise the time_limit"):
        model = ridge(approximation="nystroem", time_limit=1e-9).fit(X, y)
    assert model.certificate_.kind == "stopped"
    assert np.all(np.isfinite(model.predict(X)))


def test_kernel_ridge_with_landmarks_passes_check_estimator():
    results = check_estimator(ridge(approximation="nystroem"), on_skip=None, on_fail=None)
    assert [r["check_name"] for r in results if r["status"] == "failed"] == []
