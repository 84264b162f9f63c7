"""Models that learn a few rows at a time keep their promises, in every form of their steps."""

import copy
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

import gapless
from gapless._ground import interrupt
from gapless._ground.threads import threads
from gapless.losses import Logistic
from gapless.models.stochastic import _base as base
from gapless.models.stochastic import descent as steps
from gapless.penalties import Box, ElasticNet, Group
from gapless.solvers import Momentum, solve_many
from public_estimators import public_estimators

EPS = float(np.finfo(float).eps)
ESTIMATORS = public_estimators("stochastic")
FORMS = {
    "Perceptron": [{}, {"learning_rate": 0.1}, {"penalty": "l1"}],
    "SGDClassifier": [
        {},
        {"loss": "log_loss", "average": True, "class_weight": "balanced"},
        {"loss": "modified_huber", "penalty": "elasticnet", "alpha": 0.01},
        {"loss": "softmax", "batch_size": 8, "learning_rate": "invscaling", "eta0": 0.1},
        {"batch_size": 8, "update": Momentum(0.5), "learning_rate": "constant"},
        {"learning_rate": "pa1", "penalty": None, "fit_intercept": False},
    ],
    "SGDRegressor": [
        {},
        {"loss": "huber", "average": 20, "penalty": "l1"},
        {"loss": "quantile", "penalty": None, "learning_rate": "adaptive"},
        {"penalty": Group(1.0, groups=[0, 0, 1, 1, 1]), "alpha": 0.1, "batch_size": 8},
        {"update": "adam", "batch_size": 8, "fit_intercept": False},
    ],
}
CASES = [
    pytest.param(cls, form, id=f"{cls.__name__}-{'-'.join(f'{k}={v}' for k, v in form.items())}")
    for cls in ESTIMATORS
    for form in FORMS[cls.__name__]
]
every_form = pytest.mark.parametrize("cls, form", CASES)
every_class = pytest.mark.parametrize("cls", ESTIMATORS)


@pytest.fixture
def seed():
    return 20240607


def make_data(cls, seed, n=60, classes=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    score = X @ rng.normal(size=(5, 3)) + 2.0 * rng.normal(size=(n, 3))
    if is_classifier(cls()):
        return X, np.array(["apple", "pear", "quince"])[np.argmax(score[:, :classes], axis=1)]
    return X, score[:, 0]


def fit(model, X, y, random_state=0, **more):
    model.set_params(random_state=random_state)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y, **more)


def assert_same(one, other, rtol=1e-9):
    scale = np.max(np.abs(one.coef_))
    for name in ("coef_", "intercept_"):
        found, expected = getattr(other, name), getattr(one, name)
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * scale)


def test_every_estimator_has_its_forms():
    assert {cls.__name__ for cls in ESTIMATORS} == set(FORMS)


@every_class
def test_check_estimator_passes_with_no_expected_failures(cls):
    results = check_estimator(cls(), on_skip=None, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    passed = [r for r in results if r["status"] == "passed"]
    assert failed == {}
    assert len(passed) > 40
    assert any("sample_weight_equivalence" in r["check_name"] for r in passed)


# ---- rows and weights ----------------------------------------------------------------------------


@every_form
def test_weight_two_is_the_row_repeated_and_zero_removed(cls, form, seed):
    X, y = make_data(cls, seed)
    weights = np.random.default_rng(seed).integers(0, 4, size=len(X))
    repeated = np.repeat(np.arange(len(X)), weights)
    weighted = fit(cls(**form), np.where(weights[:, None], X, 1e6), y, sample_weight=weights)
    assert_same(fit(cls(**form), X[repeated], y[repeated]), weighted)


@every_form
def test_row_order_does_not_matter(cls, form, seed):
    X, y = make_data(cls, seed)
    order = np.random.default_rng(seed).permutation(len(X))
    assert_same(fit(cls(**form), X, y), fit(cls(**form), X[order], y[order]))


def test_without_shuffling_rows_come_in_their_order(seed):
    X, y = make_data(gapless.SGDClassifier, seed)
    model = gapless.SGDClassifier(shuffle=False, max_iter=2, tol=None)
    assert np.any(fit(model, X, y).coef_ != fit(clone(model), X[::-1], y[::-1]).coef_)
    weights = (np.arange(len(X)) % 3 > 0).astype(float)
    kept = weights > 0
    assert_same(fit(model, X[kept], y[kept]), fit(clone(model), X, y, sample_weight=weights))


@every_form
def test_same_seed_same_bits_for_any_number_of_threads(cls, form, seed):
    X, y = make_data(cls, seed, n=3000)
    models = []
    for count in (1, 3):
        with threads(count):
            models.append(fit(cls(**form, max_iter=3), X, y))
    for name in ("coef_", "intercept_"):
        np.testing.assert_array_equal(*(getattr(model, name) for model in models))


@every_form
def test_sparse_is_dense(cls, form, seed):
    X, y = make_data(cls, seed)
    X[np.abs(X) < 0.5] = 0
    dense = fit(cls(**form, max_iter=4), X, y)
    # Long steps multiply rounding: by how much is seen when X changes in its last digit.
    noise = 1 + EPS * np.random.default_rng(seed).choice([-1.0, 1.0], X.shape)
    shaken = fit(cls(**form, max_iter=4), X * noise, y)
    rtol = 1e-11 + 10 * np.max(np.abs(shaken.coef_ - dense.coef_)) / np.max(np.abs(dense.coef_))
    if form.get("penalty") == "l1" and form.get("average"):
        # Averages miss what the L1 penalty takes late, with the next row that has an entry.
        rtol = 1e-3
    for container in (sp.csr_matrix, sp.csc_array):
        assert_same(dense, fit(cls(**form, max_iter=4), container(X), y), rtol=rtol)


# ---- steps ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["hinge", "log_loss", "huber", "epsilon_insensitive"])
@pytest.mark.parametrize("penalty", ["l2", "l1", "elasticnet", None])
def test_compiled_steps_are_those_of_the_batches_of_one_row(loss, penalty, seed, monkeypatch):
    X, y = make_data(gapless.SGDClassifier, seed)
    form = {"loss": loss, "penalty": penalty, "average": 50, "alpha": 0.01, "max_iter": 3}
    compiled = fit(gapless.SGDClassifier(**form), X, y)
    monkeypatch.setattr(steps.RowSlopes, "of", lambda *parts: None)
    assert_same(fit(gapless.SGDClassifier(**form), X, y), compiled)


def test_first_steps_by_hand():
    # Squared loss, η = 0.1, α = 0.5: z = 0, r = −2, w = 0 + 0.1·2·1 = 0.2, b = 0.2; then
    # z = 2·0.2 + 0.2 = 0.6, r = −0.4, w = (1 − 0.05)·0.2 + 0.1·0.4·2 = 0.27, b = 0.24.
    options = {"learning_rate": "constant", "eta0": 0.1, "alpha": 0.5, "shuffle": False}
    model = gapless.SGDRegressor(**options, max_iter=1, tol=None).fit([[1.0], [2.0]], [2.0, 1.0])
    np.testing.assert_allclose([model.coef_[0], model.intercept_[0]], [0.27, 0.24], rtol=1e-15)


def test_a_batch_of_all_rows_is_a_step_of_gradient_descent(seed):
    X, y = make_data(gapless.SGDRegressor, seed)
    options = {"learning_rate": "constant", "eta0": 0.1, "alpha": 0.1, "max_iter": 7, "tol": None}
    model = fit(gapless.SGDRegressor(**options, batch_size=len(X)), X, y)
    w, b = np.zeros(5), 0.0
    for _ in range(7):
        r = X @ w + b - y
        w, b = w - 0.1 * (X.T @ r / len(X) + 0.1 * w), b - 0.1 * r.mean()
    np.testing.assert_allclose(model.coef_, w, rtol=1e-12)
    np.testing.assert_allclose(model.intercept_, [b], rtol=1e-12)


@pytest.mark.parametrize("kind, length", [("pa1", 0.3), ("pa2", 2.0 / (5.0 + 1 / 0.6))])
def test_passive_aggressive_steps_are_as_long_as_the_row_needs(kind, length):
    options = {"learning_rate": kind, "eta0": 0.3, "penalty": None, "fit_intercept": False}
    model = gapless.SGDRegressor("epsilon_insensitive", epsilon=0.0, shuffle=False, **options)
    model.set_params(max_iter=1, tol=None).fit([[1.0, 2.0]], [2.0])
    np.testing.assert_allclose(model.coef_, length * np.array([1.0, 2.0]), rtol=1e-14)


@pytest.mark.parametrize("update", ["momentum", "averaged_momentum", "nesterov", "adam"])
@pytest.mark.parametrize("penalty", ["l2", ElasticNet(1.0, 0.3), Box(-0.2, 0.2)])
def test_every_update_rule_descends_on_the_same_objective(update, penalty, seed):
    X, y = make_data(gapless.SGDRegressor, seed)
    eta0 = 0.5 if update == "averaged_momentum" else 0.05
    model = gapless.SGDRegressor(
        penalty=penalty, alpha=0.1, update=update, eta0=eta0, batch_size=len(X), max_iter=1000
    )
    model = fit(model.set_params(tol=None, learning_rate="constant"), X, y)
    assert model.certificate_.relative_gap < 2e-3


def test_a_loss_of_ones_own_is_stepped_on(seed):
    class Doubled(Logistic):
        name = "doubled"
        sigmoid_height = 0.0

        def value(self, y, z):
            return 2 * super().value(y, z)

        def gradient(self, y, z):
            return 2 * super().gradient(y, z)

    try:
        X, y = make_data(gapless.SGDClassifier, seed)
        options = {"alpha": 0.01, "learning_rate": "constant", "eta0": 0.1, "max_iter": 3}
        one = gapless.SGDClassifier(Doubled(), **options | {"alpha": 0.02, "eta0": 0.05})
        assert_same(fit(gapless.SGDClassifier("log_loss", **options), X, y), fit(one, X, y))
    finally:
        type(one.loss).registry.pop("doubled", None)


def test_early_stopping_learns_from_the_other_rows_alone(seed):
    X, y = make_data(gapless.SGDClassifier, seed, n=300)
    model = fit(gapless.SGDClassifier(early_stopping=True, validation_fraction=0.3), X, y)
    assert model.n_iter_ < model.max_iter
    assert model.t_ == 1 + model.n_iter_ * 210


@pytest.mark.parametrize("cls", [gapless.SGDClassifier, gapless.SGDRegressor])
def test_rows_to_stop_by_count_by_their_joint_weight(cls, seed):
    X, y = make_data(cls, seed)
    weights = np.random.default_rng(seed).integers(0, 6, size=len(y))
    again = np.repeat(np.arange(len(y)), weights)
    form = {"early_stopping": True, "validation_fraction": 0.3, "random_state": 0}
    one = fit(cls(**form), X, y, sample_weight=weights)
    other = fit(cls(**form), X[again], y[again])
    assert one.n_iter_ == other.n_iter_
    assert_same(one, other)


# ---- parts ---------------------------------------------------------------------------------------


@every_form
def test_partial_fit_is_fit_over_the_same_order(cls, form, seed):
    if form.get("class_weight") == "balanced":
        form = {**form, "class_weight": {"apple": 2.0, "pear": 1.0, "quince": 0.5}}
    if form.get("learning_rate") == "adaptive":
        form = {**form, "learning_rate": "invscaling"}
    X, y = make_data(cls, seed)
    is_weighted = form.get("class_weight") is not None
    whole = fit(cls(**form, shuffle=False, max_iter=3).set_params(tol=None), X, y)
    parts = cls(**form, shuffle=False)
    more = {"classes": np.unique(y)} if is_classifier(parts) else {}
    for _ in range(3):
        for rows in (slice(0, 24), slice(24, 48), slice(48, 60)):
            if form.get("batch_size", 1) == 1:
                parts.partial_fit(X[rows], y[rows], **more)
        if form.get("batch_size", 1) > 1:
            parts.partial_fit(X, y, **more)
    assert parts.t_ == whole.t_ or cls is gapless.Perceptron
    if not is_weighted:  # in a fit weights are relative to their mean, which a part does not know
        assert_same(whole, parts)


def test_parts_say_what_is_not_known(seed):
    X, y = make_data(gapless.SGDClassifier, seed)
    model = gapless.SGDClassifier(random_state=0).partial_fit(X, y, classes=np.unique(y))
    assert model.certificate_.kind == "none"
    assert "parts" in str(model.certificate_)
    with pytest.raises(AttributeError, match="no longer holds"):
        model.generalization_  # noqa: B018
    assert gapless.certify(model, X, y).kind == "stopped"
    assert gapless.generalize(model, X, y).unseen > 0
    with pytest.raises(ValueError, match="classes must be passed"):
        gapless.SGDClassifier().partial_fit(X, y)
    with pytest.raises(ValueError, match=r"label\(s\).*do not exist"):
        model.partial_fit(X[:1], ["plum"])


@pytest.mark.parametrize("how", [pickle, gapless])
def test_a_copy_continues_where_the_model_has_ended(how, seed, tmp_path):
    X, y = make_data(gapless.SGDRegressor, seed)
    model = gapless.SGDRegressor(shuffle=False).partial_fit(X, y)
    if how is pickle:
        again = pickle.loads(pickle.dumps(model))
    else:
        gapless.save(model, tmp_path / "model.gapless")
        again = gapless.load(tmp_path / "model.gapless")
    assert_same(model.partial_fit(X, y), again.partial_fit(X, y))


# ---- both gaps -----------------------------------------------------------------------------------


@every_form
def test_the_gap_bounds_how_far_the_fit_is_from_the_best(cls, form, seed):
    X, y = make_data(cls, seed)
    model = fit(cls(**form, max_iter=20), X, y)
    again = gapless.certify(model, X, y)
    assert again.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
    assert again.gap == pytest.approx(model.certificate_.gap, rel=1e-9)
    if cls is gapless.Perceptron:
        return
    data = model._read(X, y, None)
    best = sum(gapless.solve(problem, tol=1e-9).primal for problem in model._problems(data))
    assert model.certificate_.dual <= best * (1 + 1e-6)
    assert model.certificate_.primal >= best * (1 - 1e-6)


@every_form
def test_the_trace_has_the_objective_of_each_epoch(cls, form, seed):
    X, y = make_data(cls, seed)
    model = fit(cls(**form, max_iter=6), X, y)
    trace = model.trace_
    assert trace.steps == model.n_iter_ == len(trace.primal) == len(trace.seconds)
    problems = model._problems(model._read(X, y, None))
    w, b = np.atleast_2d(model.coef_), model.intercept_
    if problems[0].outputs is None:
        found = sum(p.primal(w[k], b[k]) for k, p in enumerate(problems))
    else:
        found = problems[0].primal(w.T, b)
    assert trace.primal[-1] == pytest.approx(found, rel=1e-6)
    certificate = model.certificate_
    assert trace.gap[-1] == certificate.gap


@pytest.mark.parametrize("cls", [gapless.SGDClassifier, gapless.SGDRegressor])
def test_the_certificate_is_computed_when_it_is_read(cls, seed):
    X, y = make_data(cls, seed)
    model = fit(cls(random_state=0), X, y)
    plain = copy.copy(model)
    assert "certificate_" not in vars(model)
    assert "certificate_" in dir(model)
    assert np.isnan(model.trace_.gap[-1])
    # Later parameters are those of the next fit.
    model.set_params(alpha=10.0)
    expected = fit(cls(random_state=0), X, y).certificate_
    assert str(model.certificate_) == str(expected)
    assert str(pickle.loads(pickle.dumps(model)).certificate_) == str(expected)
    with pytest.raises(AttributeError, match=r"call gapless\.certify"):
        _ = plain.certificate_


def test_a_copy_takes_the_certificate_along(seed):
    X, y = make_data(gapless.SGDClassifier, seed)
    model = fit(gapless.SGDClassifier(random_state=0), X, y)
    copied = pickle.loads(pickle.dumps(model))
    assert str(copied.certificate_) == str(model.certificate_)


def test_data_that_have_changed_are_not_certified(seed):
    X, y = make_data(gapless.SGDRegressor, seed)
    model = fit(gapless.SGDRegressor(random_state=0), X, y)
    X *= 2
    with pytest.raises(ValueError, match="does not match its data"):
        _ = model.certificate_


@every_class
def test_a_bootstrap_takes_the_steps_again_on_the_rows_drawn(cls, seed):
    X, y = make_data(cls, seed)
    random = np.random.default_rng(seed)
    counts, times = random.choice([1, 2], len(y)), random.choice([0.0, 1.0, 3.0], len(y))
    model = fit(cls(max_iter=20), X, y, sample_weight=counts)
    fitted = model._remembered("")
    w, b = model._refit_to_draws(fitted)(times)
    again = fit(cls(max_iter=20), X, y, fitted.seed, sample_weight=times)
    np.testing.assert_allclose(w, np.atleast_2d(again.coef_), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(b, again.intercept_, rtol=1e-6, atol=1e-9)
    repeated = fit(cls(max_iter=20), np.repeat(X, counts, axis=0), np.repeat(y, counts))
    for one, other in zip(*(_bootstrapped(found) for found in (model, repeated))):
        assert one.standard_error == pytest.approx(other.standard_error, rel=1e-5, abs=1e-9)


def _bootstrapped(model):
    vars(model)["generalization_"] = None  # which has tests of its own
    return model.summary(bootstrap=3).coefficients


def test_class_weights_stay_with_their_rows_in_a_bootstrap(seed):
    X, y = make_data(gapless.SGDClassifier, seed, classes=2)
    model = fit(gapless.SGDClassifier("log_loss", class_weight={"apple": 3.0}), X, y)
    times = np.random.default_rng(seed).choice([0.0, 1.0, 3.0], len(y))
    fitted = model._remembered("")
    w, _ = model._refit_to_draws(fitted)(times)
    again = fit(clone(model), X, y, fitted.seed, sample_weight=times)
    np.testing.assert_allclose(w, again.coef_, rtol=1e-6)


def test_a_copy_without_a_certificate_is_summarised_from_its_data(seed):
    X, y = make_data(gapless.SGDRegressor, seed)
    twin = copy.copy(fit(gapless.SGDRegressor(), X, y))
    assert "certificate_" not in vars(twin)
    assert twin.summary(X, y).certificate.kind in ("optimal", "stopped")
    with pytest.raises(ValueError, match="does not match"):
        copy.copy(fit(gapless.SGDRegressor(), X, y)).summary(X, 2 * y)


def test_small_steps_on_a_strong_penalty_become_optimal(seed):
    X, y = make_data(gapless.SGDClassifier, seed, n=200, classes=2)
    model = gapless.SGDClassifier("log_loss", alpha=0.1, average=2000, max_iter=300, tol=1e-3)
    model = fit(model.set_params(n_iter_no_change=300), X, y)
    assert model.certificate_.kind == "optimal"
    exact = gapless.LogisticRegression(C=1 / (0.1 * 200)).fit(X, y)
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=0.02)


def test_a_mistake_makes_the_perceptron_s_certificate_stopped(seed):
    X, y = make_data(gapless.Perceptron, seed, classes=2)
    model = fit(gapless.Perceptron(), X, y)
    certificate = model.certificate_
    wrong = np.count_nonzero(model.predict(X) != y)
    assert (certificate.kind, certificate.primal, certificate.dual) == ("stopped", wrong, 0)
    assert f"{wrong} of 60" in certificate.verdict
    assert model.geometric_margin_ < 0
    assert model.mistake_bound().plane == "none"


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_mistakes_never_exceed_novikoff_s_bound(fit_intercept, seed):
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(80, 3)), np.array([1.0, -2.0, 0.5])
    X = X[np.abs(X @ w) > 0.3]
    y = X @ w > 0
    model = gapless.Perceptron(fit_intercept=fit_intercept, tol=None).fit(X, y)
    bound = model.mistake_bound(X, y)
    plane = np.append(model.coef_[0], model.intercept_) if fit_intercept else model.coef_[0]
    rows = np.column_stack([X, np.ones(len(X))]) if fit_intercept else X
    found = np.min(np.where(y, 1, -1) * (rows @ plane)) / np.linalg.norm(plane)
    assert bound.radius == pytest.approx(np.linalg.norm(rows, axis=1).max())
    assert 0 < found <= bound.geometric_margin * (1 + 1e-9)
    assert 0 < model.mistakes_ <= bound.mistakes
    assert model.geometric_margin_ > 0


@pytest.mark.parametrize("shuffle", [True, False])
def test_mistakes_of_weighted_and_repeated_rows_are_bounded_too(shuffle):
    X, y, weights = np.array([[1.0], [-1.0]]), np.array([1, -1]), np.array([5, 3])
    model = gapless.Perceptron(fit_intercept=False, shuffle=shuffle)
    weighted = clone(model).fit(X, y, sample_weight=weights)
    repeated = clone(model).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert 0 < weighted.mistakes_ <= weighted.mistake_bound().mistakes == pytest.approx(5)
    assert "s = 5, the largest weight" in str(weighted.mistake_bound())
    expected = 5 if shuffle else 1
    assert 0 < repeated.mistakes_ <= repeated.mistake_bound().mistakes == pytest.approx(expected)


def test_a_loose_bound_says_that_it_is_of_the_plane_found():
    bound = gapless.models.stochastic.MistakeBound(2.0, 0.5, "found")
    assert bound.mistakes == 16
    assert "plane found" in str(bound)


@every_class
def test_unseen_rows_are_predicted_by_the_same_steps_on_the_others(cls, seed):
    X, y = make_data(cls, seed)
    model = fit(cls(), X, y)
    found = model.generalization_
    assert "fold" in found.method
    fitted = model._fitted(*vars(model)["_training"])
    rows = np.arange(10, 60)
    alone = cls(random_state=np.random.RandomState(fitted.seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        alone.fit(X[rows], y[rows])
    expected = alone._scores(X[:10]).reshape(10, -1)
    np.testing.assert_allclose(fitted.fit_to(rows)(fitted.design.rows(np.arange(10))), expected)


# ---- limits --------------------------------------------------------------------------------------


@every_form
def test_a_time_limit_keeps_what_was_reached(cls, form, seed):
    X, y = make_data(cls, seed)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model = cls(**form, time_limit=1e-9, random_state=0).fit(X, y)
    assert model.certificate_.kind in ("stopped", "none")
    assert np.all(np.isfinite(model.coef_))


def test_an_interrupt_keeps_the_best_epoch(seed, monkeypatch):
    X, y = make_data(gapless.SGDRegressor, seed)
    whole = steps.Descent.epoch

    def interrupted(self, state, order):
        whole(self, state, order)
        if state.steps > 1 + 5 * len(order):
            state.w += 100.0  # half a step
            raise KeyboardInterrupt

    monkeypatch.setattr(steps.Descent, "epoch", interrupted)
    model = gapless.SGDRegressor(random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    monkeypatch.undo()
    best = 1 + int(np.argmin(model.trace_.primal))
    assert model.n_iter_ == 5
    assert_same(fit(gapless.SGDRegressor(max_iter=best, tol=None), X, y), model)


def test_an_interrupted_compiled_call_leaves_nothing_of_use_behind(seed, monkeypatch):
    X, y = make_data(gapless.SGDRegressor, seed)
    compiled = steps.core.row_steps

    def late(*arguments):
        compiled(*arguments)
        arguments[8][0][:] = np.nan  # as after a stop half-way
        raise interrupt.TimeLimit

    monkeypatch.setattr(steps.core, "row_steps", late)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model = gapless.SGDRegressor(random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.coef_, np.zeros(5))


def test_an_interrupt_while_the_gap_is_computed_is_not_lost(seed, monkeypatch):
    X, y = make_data(gapless.SGDRegressor, seed)

    def interrupted(problems, **options):
        return [replace(found, status="interrupted") for found in solve_many(problems, **options)]

    monkeypatch.setattr(base, "solve_many", interrupted)
    model = fit(gapless.SGDRegressor(random_state=0), X, y)
    with pytest.raises(KeyboardInterrupt):
        _ = model.certificate_
    monkeypatch.undo()
    expected = fit(gapless.SGDRegressor(random_state=0), X, y)
    assert_same(expected, model)
    assert str(model.certificate_) == str(expected.certificate_)


def test_an_interrupted_bound_is_computed_when_it_is_read_again(seed, monkeypatch):
    X, y = make_data(gapless.SGDRegressor, seed)
    model = fit(gapless.SGDRegressor(random_state=0), X, y)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(base, "certify_all", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _ = model.certificate_
    monkeypatch.undo()
    assert model.certificate_.kind != "none"


@pytest.mark.parametrize("shape, is_cheap", [((60, 5), True), ((600, 500), False)])
def test_a_better_gap_is_sought_within_the_time_limit_and_only_if_cheap(
    shape, is_cheap, seed, monkeypatch
):
    rng, deadlines = np.random.default_rng(seed), []

    def late(problems, **options):
        deadlines.append(interrupt.deadline())
        raise interrupt.TimeLimit

    monkeypatch.setattr(base, "solve_many", late)
    X = rng.normal(size=shape)
    model = gapless.SGDRegressor(max_iter=1, time_limit=100.0)
    model = fit(model, X, X[:, 0])
    assert np.isfinite(model.certificate_.gap)
    assert len(deadlines) == is_cheap and np.all(np.isfinite(deadlines))


def test_errors_leave_the_model_as_it_was(seed):
    X, y = make_data(gapless.SGDRegressor, seed)
    model = fit(gapless.SGDRegressor(), X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="under-/overflow occurred at epoch"):
        model.set_params(eta0=1e200).fit(X, y)
    model.set_params(eta0=before["eta0"])
    assert {k: v for k, v in vars(model).items() if v is not before[k]} == {}


def test_steps_that_diverge_say_so(seed):
    X, y = make_data(gapless.SGDRegressor, seed)
    with pytest.warns(ConvergenceWarning, match="seems to diverge.*StandardScaler"):
        gapless.SGDRegressor(random_state=0).fit(100 * X, y)


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"alpha": 0.0}, "alpha must be > 0 since"),
        ({"penalty": "elasticnet", "l1_ratio": None}, "l1_ratio must be set"),
        ({"loss": "squared_hinge", "learning_rate": "pa1"}, "needs the loss"),
        ({"loss": "hing"}, "hing"),
        ({"loss": "zero_one"}, "can only be evaluated"),
        ({"loss": "poisson"}, "for nonnegative numbers, not for classes"),
        ({"batch_size": 0}, "batch_size"),
        ({"update": "fast"}, "update"),
    ],
)
def test_wrong_parameters_are_named(parameters, message, seed):
    X, y = make_data(gapless.SGDClassifier, seed)
    with pytest.raises(ValueError, match=message):
        gapless.SGDClassifier(**parameters).fit(X, y)


def test_a_loss_of_classes_is_refused_by_the_regressor():
    with pytest.raises(ValueError, match="use SGDClassifier"):
        gapless.SGDRegressor(loss="hinge").fit([[0.0], [1.0]], [0.0, 1.0])


def test_the_perceptron_draws_its_weights_and_mistakes():
    X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [-1, -1, -1, 1]
    model = gapless.Perceptron(learning_rate=0.5, shuffle=False, record="rows").fit(X, y)
    upper, lower = model.trace_.plot(names=["left", "right"])
    assert [line.get_label() for line in upper.get_lines()[:3]] == ["bias", "left", "right"]
    bias = np.array(model.trace_.weights)[:, 0]
    np.testing.assert_array_equal(upper.get_lines()[0].get_ydata(), bias)
    assert [bar.get_height() for bar in lower.patches] == model.trace_.mistakes


def test_a_model_is_pickled_after_its_data_have_changed(rng):
    X = rng.normal(size=(60, 3))
    model = gapless.SGDRegressor(random_state=0).fit(X, X @ [1.0, 2.0, 3.0])
    X *= 2
    other = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(other.coef_, model.coef_)
    assert other.certificate_.kind == "none" and "had changed" in other.certificate_.verdict


def test_targets_that_are_all_zero_are_no_divergence(rng):
    X = rng.normal(size=(300, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gapless.SGDRegressor(random_state=0).fit(X, np.zeros(300), coef_init=[1e-3, 0, 0])
