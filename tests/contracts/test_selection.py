"""Strengths chosen by the fit: the best on unseen rows, whatever the order and weights of rows."""

import functools
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.preprocessing import StandardScaler

import gapless
from gapless._ground.design import Design
from gapless.losses import Huber, Logistic
from gapless.penalties import L2
from gapless.problem.problem import Problem
from gapless.solvers import solve
from gapless.solvers.newton_along_path import newton_path
from gapless.solvers.newton_without import predict_without

REGRESSORS = {
    "ridge": gapless.Ridge("loo"),
    "positive ridge": gapless.Ridge("loo", positive=True),
    "lasso": gapless.Lasso("loo"),
    "elastic net": gapless.ElasticNet("loo", l1_ratio=[0.3, 0.9]),
    "svr": gapless.LinearSVR(C="loo", loss="squared_epsilon_insensitive", epsilon=0.1),
    "ridge by folds": gapless.Ridge("cv"),
    "elastic net by folds": gapless.ElasticNet("cv", l1_ratio=[0.3, 0.9]),
}
CLASSIFIERS = {
    "ridge classifier": gapless.RidgeClassifier("loo"),
    "logistic": gapless.LogisticRegression(C="loo"),
    "l1 logistic": gapless.LogisticRegression(C="loo", l1_ratio=1.0),
    "svc": gapless.LinearSVC(C="loo"),
    "kernel logistic": gapless.KernelLogisticRegression(C="loo"),
    "logistic by folds": gapless.LogisticRegression(C="cv"),
    "svc by folds": gapless.LinearSVC(C="cv"),
}
every_model = pytest.mark.parametrize("model", [*REGRESSORS.values(), *CLASSIFIERS.values()])
quick_models = pytest.mark.parametrize(
    "model",
    [*(REGRESSORS[name] for name in ("ridge", "lasso", "ridge by folds")), *CLASSIFIERS.values()],
)


def make_data(model, n=60, d=6, seed=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    score = X @ [2.0, -1.0, 0.5, 0, 0, 0][:d] + 1.5 * rng.normal(size=n)
    is_classifier = model.__sklearn_tags__().estimator_type == "classifier"
    return X, np.where(score > 0, "yes", "no") if is_classifier else score


@functools.cache
def fitted_to_its_data(model):
    """The model, fitted once for all tests that only look at it."""
    return clone(model).fit(*make_data(model))


def tuned_values(model):
    return {name: getattr(model, f"{name}_") for name in model._tuned()}


@every_model
def test_fit_is_that_of_the_best_strength_on_its_path(model):
    X, y = make_data(model)
    model = fitted_to_its_data(model)
    path = model.path_
    assert path.chosen == int(np.argmax(path.unseen))
    assert np.all(np.diff(model._choice.paths[0].strengths) < 0)
    assert model.certificate_.kind in ("optimal", "exact")
    assert np.all(path.gaps >= 0)
    plain = clone(model).set_params(**tuned_values(model)).fit(X, y)
    scale = np.max(np.abs(plain.coef_))
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=2e-3 * scale)
    assert gapless.certify(model, X, y).kind in ("optimal", "exact")


@quick_models
def test_one_standard_error_takes_the_strongest_penalty_within_it(model):
    X, y = make_data(model)
    best = fitted_to_its_data(model)
    simple = clone(model).set_params(select="1se").fit(X, y)
    at, chosen = best.path_.chosen, simple.path_.chosen
    enough = best.path_.unseen[at] - best.path_.standard_errors[at]
    assert chosen <= at
    assert simple.path_.unseen[chosen] >= enough
    assert np.all(simple.path_.unseen[:chosen] < enough)


@quick_models
def test_weight_two_is_the_row_twice_for_the_choice(model):
    X, y = make_data(model)
    weights = np.random.default_rng(0).integers(0, 3, size=len(X))
    repeated = np.repeat(np.arange(len(X)), weights)
    weighted = clone(model).set_params(tol=1e-10).fit(X, y, sample_weight=weights)
    twice = clone(model).set_params(tol=1e-10).fit(X[repeated], y[repeated])
    for name, value in tuned_values(weighted).items():
        assert getattr(twice, f"{name}_") == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(twice.path_.unseen, weighted.path_.unseen, rtol=1e-5)
    np.testing.assert_allclose(
        twice.path_.standard_errors, weighted.path_.standard_errors, rtol=1e-5
    )


@quick_models
def test_order_of_the_rows_does_not_matter_for_the_choice(model):
    X, y = make_data(model)
    order = np.random.default_rng(1).permutation(len(X))
    one, other = fitted_to_its_data(model), clone(model).fit(X[order], y[order])
    for name, value in tuned_values(one).items():
        assert getattr(other, f"{name}_") == pytest.approx(value, rel=1e-6)


def test_unseen_scores_of_ridge_are_those_of_refits():
    X, y = make_data(REGRESSORS["ridge"], n=25)
    model = gapless.Ridge("loo").fit(X, y)
    for k in (20, 50, 80):
        alpha = model.path_.strengths[k]
        held = [
            gapless.Ridge(alpha).fit(np.delete(X, i, 0), np.delete(y, i)).predict(X[[i]])[0]
            for i in range(len(X))
        ]
        error = np.mean((y - held) ** 2)
        assert model.path_.criterion[k] == pytest.approx(-error, rel=1e-8)
        assert model.path_.unseen[k] == pytest.approx(1 - error / np.var(y), rel=1e-8)


def test_unseen_scores_of_logistic_regression_are_near_those_of_refits():
    X, y = make_data(CLASSIFIERS["logistic"], n=80, d=3)
    model = gapless.LogisticRegression(C="loo").fit(X, y)
    losses = []
    for i in range(len(X)):
        rest = gapless.LogisticRegression(C=model.C_).fit(np.delete(X, i, 0), np.delete(y, i))
        losses.append(-rest.predict_log_proba(X[[i]])[0, int(y[i] == "yes")])
    chosen = model.path_.chosen
    assert model.path_.unseen[chosen] == pytest.approx(-np.mean(losses), rel=0.01)


@pytest.mark.usefixtures("no_verdict")
def test_folds_take_over_where_leave_one_out_is_refused():
    X, y = make_data(REGRESSORS["svr"], n=40)
    model = gapless.LinearSVR(C="loo", epsilon=0.5).fit(X, y)
    assert "-fold, because" in model._choice.paths[0].method
    assert "-fold, because" in model.generalization_.method
    order = np.random.default_rng(1).permutation(len(X))
    other = gapless.LinearSVR(C="loo", epsilon=0.5).fit(X[order], y[order])
    assert pytest.approx(model.C_) == other.C_


def test_noise_is_shrunk_and_signal_is_not():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(100, 20))
    noise, signal = rng.normal(size=100), X @ rng.normal(size=20)
    shrunk, full = gapless.Ridge("loo").fit(X, noise), gapless.LinearRegression().fit(X, noise)
    assert np.linalg.norm(shrunk.coef_) < 0.5 * np.linalg.norm(full.coef_)
    free = gapless.Ridge("loo").fit(X, signal)
    np.testing.assert_allclose(free.predict(X), signal, atol=1e-3)


def test_winner_is_corrected_for_the_choice():
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(60, 200)), rng.integers(0, 2, size=60)
    model = gapless.RidgeClassifier("loo").fit(X, y)
    result = model.generalization_
    assert "corrected for selection" in result.method
    assert abs(result.unseen - 0.5) <= 2 * result.standard_error
    assert result.gap == pytest.approx(result.train - result.unseen)
    kept = pickle.loads(pickle.dumps(model))
    assert kept.generalization_ == result


def test_diabetes_and_breast_cancer_choose_well():
    X, y = load_diabetes(return_X_y=True)
    ridge = gapless.Ridge("loo").fit(X, y)
    assert ridge.generalization_.unseen == pytest.approx(0.49, abs=0.01)
    X, y = load_breast_cancer(return_X_y=True)
    model = gapless.LogisticRegression(C="loo").fit(StandardScaler().fit_transform(X), y)
    assert 0.1 < model.C_ < 3
    assert model.generalization_.unseen > 0.96


def test_several_shares_of_l1_are_one_choice():
    X, y = make_data(REGRESSORS["elastic net"])
    model = gapless.ElasticNet("loo", l1_ratio="loo").fit(X, y)
    assert model.l1_ratio_ in gapless.models.linear.tuning.L1_RATIOS
    several = [trail.unseen.max() for trail in model._choice.paths]
    assert model.path_.criterion.max() == max(several)
    assert f"among {sum(len(t.strengths) for t in model._choice.paths)} models" in str(
        model.generalization_
    )


def test_what_cannot_be_tuned_is_refused_in_words():
    X, y = make_data(REGRESSORS["ridge"])
    with pytest.raises(ValueError, match="'loo'"):
        gapless.Ridge("best").fit(X, y)
    with pytest.raises(ValueError, match='alpha="loo" too'):
        gapless.ElasticNet(0.1, l1_ratio=[0.1, 0.5]).fit(X, y)
    with pytest.raises(ValueError, match="cannot choose a strength"):
        gapless.Ridge("loo").fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="cannot choose a strength"):
        gapless.Lasso("loo").fit(X[[0, 0, 0]], y[[0, 0, 0]])
    with pytest.raises(ValueError, match="select"):
        gapless.Ridge("loo", select="best").fit(X, y)


@pytest.mark.parametrize(
    "model", [REGRESSORS["lasso"], CLASSIFIERS["logistic"], CLASSIFIERS["logistic by folds"]]
)
def test_time_limit_stops_the_search(model):
    X, y = make_data(model, n=400)
    with pytest.warns(UserWarning, match="time_limit"):
        stopped = clone(model).set_params(time_limit=1e-9).fit(X, y)
    assert stopped.certificate_.kind == "stopped"
    assert gapless.certify(stopped, X, y).gap > 0
    # Refits would concern a model that is not the stored one.
    assert stopped.generalization_.kind == "unknown"
    assert "stopped too early" in stopped.generalization_.verdict
    assert stopped.generalization_.train == stopped.score(X, y)


def test_search_reports_its_steps_and_can_be_stopped():
    from gapless.models.linear.path_following import follow
    from gapless.models.linear.problems import fitted_of

    X, y = make_data(CLASSIFIERS["logistic"])
    model = gapless.LogisticRegression()
    data = model._read(X, y, None)
    seen = []

    def callback(trace, target):
        seen.append(trace.steps)
        return len(seen) == 3

    trail = follow(fitted_of(model, data), np.geomspace(10, 0.1, 8), callback)
    assert trail.status == "callback"
    assert len(trail.strengths) == 3
    assert seen == sorted(seen)


@pytest.mark.parametrize("loss", [Logistic(), Huber(0.5)], ids=["logistic", "huber"])
@pytest.mark.parametrize("fit_bias", [True, False])
def test_newton_path_is_solved_at_every_strength(loss, fit_bias):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5)) * [1, 10, 0.1, 1, 1] + [0, 5, 0, 0, 0]
    y = np.sign(X[:, 0] + rng.normal(size=80))
    problem = Problem(Design(X), y, loss, L2(), rng.integers(0, 3, 80).astype(float), fit_bias)
    strengths = np.geomspace(1e4, 1e-4, 12)
    for strength, station in zip(strengths, newton_path(problem, strengths, tol=1e-8)):
        part = problem.with_penalty(L2(float(strength)))
        at = station.parameters
        best = solve(part, tol=1e-13)
        excess = part.primal(at.w, at.b) - best.dual
        assert excess <= station.gap + 1e-10 * problem.scale
        assert station.gap <= 1e-7 * problem.scale


@pytest.mark.parametrize("fit_bias", [True, False])
@pytest.mark.parametrize("loss", [Logistic(), Huber(0.5)])
def test_rows_are_predicted_by_the_models_that_were_fitted_without_them(loss, fit_bias):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(50, 4))
    X[0] *= 6  # one row that pulls hard, and on the wrong side
    z = X @ [1.0, -1.0, 0.5, 0.0]
    z[0] = -z[0]
    y = np.sign(z) if loss.name == "logistic" else z
    problem = Problem(Design(X), y, loss, L2(1.0), rng.uniform(0.5, 2, 50), fit_bias=fit_bias)
    [station] = newton_path(problem, [0.1], tol=1e-10)
    found = predict_without(problem, 0.1, station, np.arange(5))
    for row in range(5):
        weights = np.where(np.arange(50) == row, 0.0, problem.weights)
        part = Problem(Design(X), y, loss, L2(0.1), weights, fit_bias=fit_bias)
        refit = solve(part, tol=1e-12).parameters
        expected = part.predictions(refit.w, refit.b)[row]
        moved = abs(expected - problem.predictions(station.parameters.w, station.parameters.b)[row])
        assert abs(found[row] - expected) <= 0.01 * moved + 1e-6


def test_best_strength_is_held_out_for_real():
    """One Newton step chooses C = 8 here, where a badly predicted row has a loss of 11, not 6."""
    X, y = load_breast_cancer(return_X_y=True)
    rows = np.random.default_rng(2).permutation(len(y))[: len(y) // 2]
    X = StandardScaler().fit_transform(X[rows])
    model = gapless.LogisticRegression(C="loo").fit(X, y[rows])
    assert 0.5 < model.C_ < 1.5


@pytest.mark.parametrize("shape", [(60, 8), (20, 30)])
@pytest.mark.parametrize("cheap", [0.0, 1e9])
def test_gaps_of_a_ridge_path_are_rounding(monkeypatch, shape, cheap):
    """By the data, and by their Gram matrix, which takes over in large problems."""
    monkeypatch.setattr("gapless.unseen.leave_one_out.ridge_path.CHEAP", cheap)
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape)
    y = X[:, :5].sum(axis=1) + rng.normal(size=len(X)) + 7
    path = gapless.RidgeCV(alphas=np.geomspace(1e-3, 1e6, 20)).fit(X, y).path_
    assert np.all(path.gaps >= 0)
    assert np.max(path.gaps) <= 1e-18 * np.sum(y**2)


def test_the_path_says_in_which_metric_its_scores_are():
    X, y = make_data(REGRESSORS["ridge"], n=25)
    path = gapless.Ridge("loo").fit(X, y).path_
    assert (path.metric, path.criterion_metric) == ("R²", "neg_mean_squared_error")
    assert f"R² {path.unseen[path.chosen]:.4g} ±" in repr(path)
    assert gapless.RidgeCV(cv=3).fit(X, y).path_.metric == "R²"
    assert (
        gapless.RidgeCV(scoring="neg_mean_absolute_error").fit(X, y).path_.metric.startswith("neg")
    )
    assert gapless.LassoCV(cv=3).fit(X, y).path_.criterion_metric == "neg_mean_squared_error"
    two = y > np.median(y)
    assert gapless.LogisticRegression(C="loo").fit(X, two).path_.metric == "neg_log_loss"
    # The classes 0 and 1 are no numbers whose variance could be explained.
    for model in (gapless.RidgeClassifierCV(), gapless.RidgeClassifier("loo")):
        assert model.fit(X, two.astype(int)).path_.metric == "neg_mean_squared_error"
    by_folds = gapless.LogisticRegressionCV(
        cv=3, Cs=3, l1_ratios=(0,), use_legacy_attributes=False, scoring="accuracy"
    )
    assert by_folds.fit(X, two).path_.metric == "accuracy"


@pytest.mark.parametrize(
    "model", [gapless.Ridge("loo"), gapless.RidgeCV(), gapless.Lasso("loo"), gapless.LassoCV(cv=5)]
)
def test_the_path_of_numbers_has_the_metric_of_generalization(model):
    X, y = make_data(model, n=40)
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    path = model.fit(X, y, sample_weight=weights).path_
    found = model.generalization_
    assert path.metric == found.metric
    # Only the correction for having been chosen lies between the two.
    assert abs(path.unseen[path.chosen] - found.unseen) < found.standard_error
    spread = np.average((y - np.average(y, weights=weights)) ** 2, weights=weights)
    np.testing.assert_allclose(path.unseen, 1 + path.criterion / spread, rtol=1e-9)
    np.testing.assert_allclose(path.standard_errors, path.criterion_errors / spread, rtol=1e-9)
    constant = model.fit(X, np.ones(len(y))).path_
    assert constant.metric == constant.criterion_metric


def test_the_path_of_several_targets_is_in_the_units_of_its_criterion():
    X, y = make_data(REGRESSORS["ridge"], n=25)
    path = gapless.RidgeCV().fit(X, np.column_stack([y, 100 * y])).path_
    assert path.metric == path.criterion_metric == "neg_mean_squared_error"
    np.testing.assert_array_equal(path.unseen, path.criterion)
