"""Landmarks and random features in place of a kernel: kernel ridge and support vector machines."""

import pickle

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

import gapless
from gapless import SVC, SVR, KernelRidge, RiskClassifier, RiskRegressor
from gapless._ground.design import Design
from gapless._ground.threads import threads
from gapless.kernels import Gaussian
from gapless.losses import EpsilonInsensitive, Squared
from gapless.penalties import L2
from gapless.problem.problem import Problem
from gapless.solvers import solve

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


def test_a_sample_of_many_rows_tells_the_number_of_features(monkeypatch):
    X, y = make_data(300)
    whole = ridge(approximation="nystroem").fit(X, y)
    monkeypatch.setattr("gapless.models.risk.with_kernel.MOST_ROWS", 150)
    model = ridge(approximation="nystroem").fit(X, y)
    assert [one.rank for one in model.features_.tried][:2] == [64, 128]
    assert model.score(X, y) == pytest.approx(whole.score(X, y), abs=0.01)
    weights = np.random.default_rng(1).integers(0, 3, len(X))
    repeated = np.repeat(np.arange(len(X)), weights)
    weighted = ridge(approximation="nystroem").fit(X, y, sample_weight=weights)
    plain = ridge(approximation="nystroem").fit(X[repeated], y[repeated])
    np.testing.assert_allclose(weighted.predict(X), plain.predict(X), atol=1e-5)


def test_auto_takes_the_kernel_itself_for_few_rows_and_landmarks_beyond(monkeypatch):
    X, y = make_data(80)
    assert not hasattr(ridge().fit(X, y), "features_")
    monkeypatch.setattr("gapless.models.kernel_machines.ridge.EXACT_ROWS", 50)
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
    with pytest.raises(ValueError, match="this KernelRidge has random features"):
        gapless.certify(model, X, y, exact_kernel=True)


def test_kernel_ridge_that_was_interrupted_names_a_cure_that_it_has(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    X, y = make_data(60)
    monkeypatch.setattr("gapless.models.linear._base.certify_all", interrupt)
    model = ridge(approximation="nystroem", n_components=10)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    verdict = model.certificate_.verdict
    assert "more time" in verdict
    assert "warm_start" not in verdict


def test_time_limit_of_kernel_ridge_is_kept_and_said():
    X, y = make_data(2000)
    with pytest.warns(ConvergenceWarning, match="raise time_limit"):
        model = ridge(approximation="nystroem", time_limit=1e-9).fit(X, y)
    assert model.certificate_.kind == "stopped"
    assert np.all(np.isfinite(model.predict(X)))


def test_kernel_ridge_with_landmarks_passes_check_estimator():
    results = check_estimator(ridge(approximation="nystroem"), on_skip=None, on_fail=None)
    assert [r["check_name"] for r in results if r["status"] == "failed"] == []


# ---- support vector machines ---------------------------------------------------------------------

ARRANGEMENTS = ("ovo", "ovr", "crammer_singer", "weston_watkins")


def make_classes(n=150, classes=3, seed=0):
    """Overlapping classes in three features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    score = np.stack([np.sin(2 * X[:, 0]), X[:, 1] * X[:, 2], np.full(n, 0.2)], axis=1)[:, :classes]
    return X, np.argmax(score + 0.3 * rng.normal(size=score.shape), axis=1)


@every_kind
@pytest.mark.parametrize("cls", [SVC, SVR])
def test_machine_is_the_linear_problem_on_the_features(cls, kind):
    X, y = make_classes(classes=2) if cls is SVC else make_data()
    options = {"approximation": kind, "n_components": 20, "tol": 1e-9}
    model = cls(C=2.0, gamma=0.3, **options).fit(X, y)
    if cls is SVC:
        risk = RiskClassifier("hinge", L2(0.5), kernel=Gaussian(0.3), **options).fit(X, y)
        scores = model.decision_function(X), risk.decision_function(X)
    else:
        risk = RiskRegressor(EpsilonInsensitive(0.1), L2(0.5), kernel=Gaussian(0.3), **options)
        scores = model.predict(X), risk.fit(X, y).predict(X)
    np.testing.assert_allclose(*scores, atol=1e-5)
    assert model.certificate_.primal == pytest.approx(2 * risk.certificate_.primal, rel=1e-8)
    assert "in place of the kernel" in model.certificate_.verdict
    # w is the sum over support vectors, as of any machine.
    Phi = model.features_.transform(model.support_vectors_).astype(float)
    np.testing.assert_allclose(model.dual_coef_ @ Phi, model.feature_coef_, atol=1e-6)
    assert model.kkt_violation_.max() < 1e-5


@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
def test_machines_with_all_landmarks_are_those_of_the_kernel(arrangement):
    X, y = make_classes(60)
    options = {"multi_class": arrangement, "kernel": "laplacian", "gamma": 0.3, "tol": 1e-8}
    exact = SVC(**options).fit(X, y)
    model = SVC(**options, approximation="nystroem", n_components=60).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), exact.decision_function(X), atol=1e-4)
    assert model.certificate_.primal == pytest.approx(exact.certificate_.primal, rel=1e-5)
    assert gapless.certify(model, X, y).kind == "optimal"
    found = gapless.certify(model, X, y, exact_kernel=True)
    assert found.relative_gap < 1e-5
    assert gapless.certify(exact, X, y, exact_kernel=True).kind == "optimal"
    np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))


@pytest.mark.parametrize("arrangement", ["ovo", "weston_watkins"])
def test_exact_certificate_bounds_what_landmarks_lose(arrangement):
    X, y = make_classes()
    options = {"multi_class": arrangement, "gamma": 0.5, "tol": 1e-6}
    best = SVC(**options).fit(X, y).certificate_
    few = SVC(**options, approximation="nystroem", n_components=10).fit(X, y)
    found = gapless.certify(few, X, y, exact_kernel=True)
    assert few.certificate_.kind == "optimal"
    assert found.kind == "stopped"
    assert "with 10 landmarks" in found.verdict
    assert found.dual <= best.primal <= found.primal
    assert found.gap >= found.primal - best.primal - best.gap


def test_landmarks_of_machines_grow_until_least_squares_are_level():
    X, y = make_classes(400)
    model = SVC(gamma=0.3, approximation="nystroem").fit(X, y)
    assert [one.rank for one in model.features_.tried][:2] == [64, 128]
    assert model.features_.is_enough
    exact = SVC(gamma=0.3).fit(X, y)
    assert model.score(X, y) == pytest.approx(exact.score(X, y), abs=0.02)


@pytest.mark.parametrize("cls", [SVC, SVR])
def test_machines_take_landmarks_beyond_what_a_kernel_matrix_allows(cls, monkeypatch):
    X, y = make_classes(80) if cls is SVC else make_data(80)
    assert not hasattr(cls().fit(X, y), "features_")
    monkeypatch.setattr("gapless.models.svm.on_features.EXACT_ROWS", 50)
    model = cls().fit(X, y)
    assert model.features_.kind == "nystroem"
    monkeypatch.undo()
    # What was fitted counts, not what would be.
    assert "landmarks" in gapless.certify(model, X, y).verdict
    assert gapless.generalize(model, X, y).unseen == model.generalization_.unseen


def test_many_rows_are_held_out_by_fits_of_the_linear_model(monkeypatch):
    X, y = make_classes(300)
    few = {"gamma": 0.3, "approximation": "nystroem", "n_components": 12}
    by_pairs = SVC(**few, tol=1e-8).fit(X, y).predict_proba(X)
    monkeypatch.setattr("gapless.models.svm._base.KEPT_ROWS", 50)
    monkeypatch.setattr("gapless.models.svm.on_features.WHOLE_ROWS", 50)
    model = SVC(**few, tol=1e-8).fit(X, y)
    assert "5-fold" in model.generalization_.method
    np.testing.assert_allclose(model.predict_proba(X), by_pairs, atol=0.1)
    assert model.predict_set(X[:5]).shape == (5, 3)


def test_parameters_of_machines_are_chosen_with_the_kernel_itself():
    X, y = make_classes(100)
    model = SVC(C=[0.5, 5.0], gamma=0.3, approximation="nystroem").fit(X, y)
    assert model.C_ == SVC(C=[0.5, 5.0], gamma=0.3).fit(X, y).C_
    assert hasattr(model, "features_")
    assert gapless.certify(model, X, y).kind == "optimal"


def test_hard_margins_and_linear_kernels_take_landmarks_too():
    X, y = make_classes(60, classes=2)
    y = np.where(X[:, 0] > 0, "in", "out")
    hard = SVC(C=np.inf, gamma=1.0, approximation="nystroem", n_components=50).fit(X, y)
    assert hard.certificate_.kind == "optimal"
    assert hard.score(X, y) == 1.0
    options = {"kernel": "linear", "C": 0.3, "tol": 1e-8}
    exact, linear = SVC(**options).fit(X, y), SVC(**options, approximation="nystroem").fit(X, y)
    assert linear.features_.rank == 3
    np.testing.assert_allclose(linear.coef_, exact.coef_, atol=1e-5)


def test_kernel_values_and_texts_need_no_approximation():
    X, y = make_classes(40)
    with pytest.raises(ValueError, match="X holds kernel values; use approximation=None"):
        SVC(kernel="precomputed", approximation="nystroem").fit(X @ X.T, y)
    with pytest.raises(ValueError, match="X holds texts"):
        SVC(kernel="spectrum", approximation="nystroem").fit(["ab", "cd"] * 20, y > 0)


@pytest.mark.parametrize("seed", [0, np.random.RandomState(3)])
def test_machines_survive_a_file_and_threads_do_not_matter(seed):
    X, y = make_classes()
    options = {"approximation": "nystroem", "n_components": 15, "gamma": 0.3}
    model = SVC(**options, random_state=seed).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert gapless.certify(again, X, y).primal == pytest.approx(model.certificate_.primal)
    if seed == 0:
        with threads(1):
            single = SVC(**options, random_state=0).fit(X, y)
        np.testing.assert_array_equal(single.feature_coef_, model.feature_coef_)


def test_time_limit_of_machines_on_landmarks_is_kept_and_said():
    X, y = make_classes(1500)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model = SVC(approximation="nystroem", time_limit=1e-9).fit(X, y)
    assert model.certificate_.kind == "stopped"
    assert set(model.predict(X)) <= set(y)


# With fewer landmarks the checks want a better score of the regressor.
@pytest.mark.parametrize(("cls", "landmarks"), [(SVC, 8), (SVR, 30)])
def test_machines_with_landmarks_pass_check_estimator(cls, landmarks):
    model = cls(approximation="nystroem", n_components=landmarks)
    results = check_estimator(model, on_skip=None, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert failed == {}
