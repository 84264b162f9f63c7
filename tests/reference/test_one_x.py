"""What is left out is one x with all its rows: against real refits, where x repeat with several y.

The x are points of a small grid, so that both classes, and many numbers, occur at most of them.
"""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GroupKFold, cross_val_predict

import gapless
from gapless import losses
from gapless._ground.design import Design
from gapless.models.linear.cross_validated import folds_of
from gapless.penalties import L2, ElasticNet, Group
from gapless.problem.problem import Parameters, Problem
from gapless.solvers import solve
from gapless.unseen.held_out import by_formula
from gapless.unseen.leave_one_out import leave_out, ridge_path_leave_out
from gapless.unseen.leave_one_out.distinct import (
    MergedRows,
    by_appearance,
    mean_and_error,
    units_of,
)


def grid(n=70, d=2, levels=4, seed=0):
    """Rows on few points of a grid, numbers that depend on them, and classes 0 … 2."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, levels, (n, d)).astype(float)
    y = X[:, 0] - X[:, 1] + rng.normal(size=n)
    return X, y, np.digitize(y, [-0.7, 0.7])


def numbers_of(X):
    return np.unique(X, axis=0, return_inverse=True)[1].ravel()


def predicted_without_x(problem, parameters):
    """Each row by a fit of the problem without all rows of its x."""
    z = problem.predictions(parameters.w, parameters.b)
    units = numbers_of(problem.design.dense())
    for unit in np.unique(units):
        out = units == unit
        rest = replace(problem, weights=np.where(out, 0.0, problem.weights))
        found = solve(rest, start=Parameters(parameters.w, parameters.b), tol=1e-11).parameters
        z[out] = rest.predictions(found.w, found.b)[out]
    return z


def fitted_without_x(model, X, y, weights=None):
    """The same for an estimator: its predictions."""
    units, weights = numbers_of(X), np.ones(len(y)) if weights is None else weights
    found = np.empty(y.shape, dtype=y.dtype)
    for unit in np.unique(units):
        out = units == unit
        found[out] = clone(model).fit(X[~out], y[~out], weights[~out]).predict(X[out])
    return found


# ---- every loss ----------------------------------------------------------------------------------

LOSSES = {
    "squared": losses.Squared(),
    "huber": losses.Huber(0.7),
    "poisson": losses.Poisson(),
    "logistic": losses.Logistic(),
    "squared hinge": losses.SquaredHinge(),
    "exponential": losses.Exponential(),
    "softmax": losses.Softmax(),
}


def problem_of(name, penalty, d=2):
    X, y, classes = grid(d=d)
    weights = np.random.default_rng(1).uniform(0.3, 2.0, len(y))
    weights[3] = 0.0
    loss = LOSSES[name]
    if loss.task == "multiclass":
        return Problem(Design(X), classes, loss, penalty, weights, outputs=3)
    if loss.task == "binary":
        y = np.where(y > 0, 1.0, -1.0)
    return Problem(Design(X), np.round(y**2) if name == "poisson" else y, loss, penalty, weights)


@pytest.mark.parametrize("penalty", [L2(3.0), ElasticNet(5.0, 0.3)], ids=["l2", "elastic net"])
@pytest.mark.parametrize("name", LOSSES)
def test_slopes_and_curvatures_of_one_x_add_up(name, penalty):
    problem = problem_of(name, penalty)
    parameters = solve(problem, tol=1e-11).parameters
    held, counts = leave_out(problem, parameters), problem.weights > 0
    real = predicted_without_x(problem, parameters)
    missed, moved = held.z - real, real - problem.predictions(parameters.w, parameters.b)
    if name == "softmax":
        missed, moved = (a - a.mean(axis=1, keepdims=True) for a in (missed, moved))
    if held.method == "loo":
        assert name == "squared"
        np.testing.assert_allclose(held.z[counts], real[counts], atol=1e-9)
    assert np.abs(missed[counts]).sum() < 0.25 * np.abs(moved[counts]).sum()
    same = numbers_of(problem.design.dense())
    for unit in np.unique(same):
        of_unit = held.z[(same == unit) & counts]
        np.testing.assert_array_equal(of_unit, of_unit[:1].repeat(len(of_unit), 0))


@pytest.mark.parametrize("name", ["squared", "logistic", "softmax"])
def test_fewer_x_than_features(name):
    problem = problem_of(name, L2(5.0))
    wide = np.random.default_rng(2).normal(size=(2, 40))
    problem = replace(problem, design=Design(problem.design.dense() @ wide))
    parameters = solve(problem, tol=1e-11).parameters
    found, real = leave_out(problem, parameters).z, predicted_without_x(problem, parameters)
    missed, moved = found - real, real - problem.predictions(parameters.w, parameters.b)
    missed, moved = missed[problem.weights > 0], moved[problem.weights > 0]
    if name == "softmax":
        missed, moved = (a - a.mean(axis=1, keepdims=True) for a in (missed, moved))
    assert np.abs(missed).sum() < (1e-8 if name == "squared" else 0.3) * np.abs(moved).sum()


def test_outputs_that_meet_in_the_penalty():
    X, y, _ = grid()
    Y = np.column_stack([y, y**2])
    problem = Problem(Design(X), Y, losses.Squared(), Group(3.0), np.ones(len(y)), outputs=2)
    parameters = solve(problem, tol=1e-11).parameters
    found, real = leave_out(problem, parameters).z, predicted_without_x(problem, parameters)
    moved = real - problem.predictions(parameters.w, parameters.b)
    assert np.abs(found - real).sum() < 0.1 * np.abs(moved).sum()


@pytest.mark.parametrize("loss", [losses.Hinge(), losses.EpsilonInsensitive(0.3)], ids=str)
def test_the_span_rule_takes_the_multipliers_of_one_x_together(loss):
    # Few rows in many features, where few change places; every third x has a second target.
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 60))
    y = X[:, 0] + 0.3 * rng.normal(size=30)
    y = np.where(y > 0, 1.0, -1.0) if loss.task == "binary" else y
    rows = np.append(np.arange(30), np.arange(0, 30, 3))
    X, y = X[rows], np.append(y, -y[::3])
    problem = Problem(Design(X), y, loss, L2(60.0), rng.uniform(0.5, 2.0, len(y)))
    parameters = solve(problem, tol=1e-10).parameters
    held, real = leave_out(problem, parameters), predicted_without_x(problem, parameters)
    assert held.method == "span"
    moved = real - problem.predictions(parameters.w, parameters.b)
    assert np.abs(held.z - real).sum() < 0.1 * np.abs(moved).sum()


def test_many_strengths_at_once():
    X, y, _ = grid()
    Y, s = np.column_stack([y, y**2]), np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    strengths = np.array([10.0, 0.1])
    found = ridge_path_leave_out(Design(X), Y, s, strengths, keep=True)
    rows = np.repeat(np.arange(len(y)), s.astype(int))
    repeated = ridge_path_leave_out(Design(X[rows]), Y[rows], np.ones(len(rows)), strengths)
    np.testing.assert_allclose(repeated.errors, found.errors, rtol=1e-12)
    np.testing.assert_allclose(repeated.standard_errors, found.standard_errors, rtol=1e-12)
    units = numbers_of(X)
    for k, strength in enumerate(strengths):
        problem = Problem(Design(X), Y, losses.Squared(), L2(strength), s, outputs=2)
        real = predicted_without_x(problem, solve(problem).parameters)
        np.testing.assert_allclose(found.z[s > 0, k], real[s > 0], atol=1e-10)
        errors = np.mean((Y - real) ** 2, axis=1)
        mean = np.average(errors, weights=s)
        assert found.errors[k] == pytest.approx(mean)
        # One x, one draw; the mean is over rows.
        off = np.bincount(units, s * (errors - mean))
        count = len(np.unique(units[s > 0]))
        expected = np.sqrt(count / (count - 1) * np.sum(off**2)) / s.sum()
        assert found.standard_errors[k] == pytest.approx(expected)


# ---- every model ---------------------------------------------------------------------------------

EXACT = {
    "ridge": gapless.Ridge(1.0),
    "classes by least squares": gapless.RidgeClassifier(1.0),
    "kernel ridge": gapless.KernelRidge(0.5, kernel="rbf", gamma=0.2),
    "machine": gapless.SVC(gamma=0.2, tol=1e-8),
    "machine of pairs": gapless.SVC(C=3.0, gamma=0.2, tol=1e-8),
    "machine against the rest": gapless.SVC(gamma=0.2, tol=1e-8, multi_class="ovr"),
    "nu machine": gapless.NuSVC(nu=0.7, gamma=0.2, tol=1e-8),
    "machine of numbers": gapless.SVR(gamma=0.2, epsilon=0.2, tol=1e-8),
}
BY_REFITS = {
    "hinge": gapless.LinearSVC(loss="hinge", dual=True, tol=1e-8),
    "quantile": gapless.RiskRegressor(loss="quantile", tol=1e-8),
    "all classes at once": gapless.SVC(gamma=0.2, tol=1e-8, multi_class="crammer_singer"),
}


def targets_of(name, model):
    X, y, classes = grid(seed=4, levels=3 if name in BY_REFITS else 4)
    if not is_classifier(model):
        return X, y
    return X, classes if "pairs" in name or "rest" in name or "all" in name else (y > 0).astype(int)


@pytest.mark.parametrize("name", EXACT | BY_REFITS)
@pytest.mark.usefixtures("no_verdict")
def test_estimates_are_those_of_real_refits(name):
    model = clone((EXACT | BY_REFITS)[name])
    X, y = targets_of(name, model)
    model.fit(X, y)
    found = gapless.generalize(model, X, y)
    score = accuracy_score if is_classifier(model) else r2_score
    assert found.method.startswith("loo" if name in EXACT else "refits (each row left out)")
    assert found.unseen == pytest.approx(score(y, fitted_without_x(model, X, y)), abs=1e-6)


@pytest.mark.parametrize(
    "model",
    [
        gapless.KernelRegression(bandwidth=0.8),
        gapless.KernelRidge(0.5, kernel="laplacian"),
        gapless.OneClassSVM(nu=0.3, gamma=0.2, tol=1e-8),
    ],
    ids=lambda model: type(model).__name__,
)
def test_formulas_are_those_of_models_of_the_other_x(model):
    X, y, _ = grid(50)
    weights = np.random.default_rng(5).uniform(0.5, 2.0, 50)
    y = None if isinstance(model, gapless.OneClassSVM) else y
    fitted = clone(model).fit(X, y, sample_weight=weights)._fitted_to(X, y, weights)
    found, units = by_formula(fitted), numbers_of(X)
    assert found.method == "loo"
    for unit in np.unique(units):
        out = np.flatnonzero(units == unit)
        np.testing.assert_allclose(
            found.z[out], fitted.predict(fitted.without(out), out), atol=1e-5
        )


def test_the_span_rule_of_machines_is_near_real_refits():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(60, 40))
    rows = np.append(np.arange(60), np.arange(0, 60, 4))
    X, y = X[rows], (X[rows, 0] + rng.normal(size=75) > 0).astype(int)
    model = gapless.SVC(C=0.5, tol=1e-8, gamma=1 / 40)
    fitted = model.fit(X, y)._fitted_to(X, y)
    exact, (found, _) = fitted.held_out(None), fitted.by_span()
    assert np.abs(found - exact).sum() < 0.1 * np.abs(exact - fitted.predictions).sum()
    np.testing.assert_array_equal(found[:60:4], found[60:])


# ---- the law of weights, and what does not change ------------------------------------------------

TUNED = {
    "ridge": gapless.Ridge("loo"),
    "lasso": gapless.Lasso("loo"),
    "logistic": gapless.LogisticRegression(C="loo"),
    "softmax": gapless.LogisticRegression(C="loo"),
    "kernel ridge": gapless.KernelRidge("loo", kernel="rbf", gamma=0.2),
    "local": gapless.KernelRegression(),
    "machine": gapless.SVC(C="loo", gamma=0.2),
    "machine of pairs": gapless.SVC(C="loo", gamma=0.2),
    "folds": gapless.RidgeCV(cv=4),
}


@pytest.mark.parametrize("name", TUNED)
@pytest.mark.usefixtures("no_verdict")
def test_weight_two_is_the_row_twice_also_where_x_repeat(name):
    X, y = targets_of("pairs" if name == "softmax" else name, TUNED[name])
    weights = np.random.default_rng(7).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    one = clone(TUNED[name]).fit(X, y, sample_weight=weights)
    two = clone(TUNED[name]).fit(X[rows], y[rows])
    for attribute in ("alpha_", "C_", "bandwidth_"):
        # The alpha_ of a machine are the multipliers of its rows.
        if np.ndim(getattr(one, attribute, np.empty(0))) == 0:
            assert getattr(one, attribute) == pytest.approx(getattr(two, attribute), rel=1e-6)
    a, b = one.generalization_, two.generalization_
    assert a.method == b.method
    assert (a.unseen, a.standard_error) == pytest.approx((b.unseen, b.standard_error), rel=1e-5)


def test_units_are_numbered_by_content_as_rows_are_where_no_x_repeats(rng):
    X, y = rng.normal(size=(30, 2)), rng.integers(0, 2, 30).astype(float)
    design, counted = Design(X), rng.random(30) < 0.8
    labels = design.equal_rows(y)
    units = units_of(design.equal_x, labels, counted)
    np.testing.assert_array_equal(np.argsort(units[counted]), np.argsort(labels[counted]))
    assert np.all(units[~counted] == -1)
    assert MergedRows.units(
        Problem(design, y, losses.Squared(), L2(1.0), np.ones(30))
    ).is_everything


def test_rows_that_no_feature_tells_apart_are_left_out_one_by_one():
    y = np.array([1.0, 2.0, 4.0, 8.0, 8.0])
    problem = Problem(Design(np.ones((5, 2))), y, losses.Squared(), L2(1.0), np.ones(5))
    held = leave_out(problem, solve(problem).parameters).z
    np.testing.assert_allclose(held, [22 / 4, 21 / 4, 19 / 4, 7 / 3, 7 / 3])


# ---- what uses it --------------------------------------------------------------------------------


def test_folds_never_part_rows_of_one_x():
    X, y, classes = grid()
    for model, target in ((gapless.Ridge(), y), (gapless.LogisticRegression(), classes)):
        data = model._read(X, target, None)
        folds = folds_of(3, data, classifier=is_classifier(model))
        units = numbers_of(X)
        assert len(folds) == 3
        for train, test in folds:
            assert not set(units[train]) & set(units[test])
            assert len(train) + len(test) == len(y)


def test_labels_by_appearance():
    numbered, first = by_appearance(np.array([2, 1, 2, 0, 1]), np.array([1, 1, 1, 0, 1], bool))
    np.testing.assert_array_equal(numbered, [0, 1, 0, -1, 1])
    np.testing.assert_array_equal(first, [0, 1])


@pytest.mark.parametrize(
    "model", [gapless.Ridge(1.0), gapless.KernelRidge(0.5, kernel="rbf", gamma=0.2)], ids=str
)
def test_intervals_are_by_models_of_the_other_x(model):
    X, y, _ = grid(40)
    weights = np.random.default_rng(8).uniform(0.5, 2.0, 40)
    new = np.random.default_rng(9).normal(1.5, 1.0, (3, 2))
    units, below, above = numbers_of(X), [], []
    for i in range(40):
        rest = units != units[i]
        other = clone(model).fit(X[rest], y[rest], weights[rest])
        error = abs(y[i] - other.predict(X[i : i + 1])[0])
        below.append(other.predict(new) - error)
        above.append(other.predict(new) + error)

    def end(values):
        order = np.argsort(values, axis=0)
        sums = np.cumsum(weights[order], axis=0)
        at = np.argmax(sums >= 0.8 * (weights.sum() + weights.mean()), axis=0)
        return np.take_along_axis(values, np.take_along_axis(order, at[None], 0), 0)[0]

    _, lower, upper = clone(model).fit(X, y, weights).predict(new, interval=0.8)
    np.testing.assert_allclose(upper, end(np.array(above)), rtol=1e-8)
    np.testing.assert_allclose(lower, -end(-np.array(below)), rtol=1e-8)


def test_searches_score_rows_by_models_of_the_other_x():
    X, y, classes = grid()
    for model in (gapless.Ridge("loo"), gapless.KernelRidge("loo", kernel="rbf", gamma=0.2)):
        model.fit(X, y)
        plain = clone(model).set_params(alpha=model.alpha_)
        errors = (y - fitted_without_x(plain, X, y)) ** 2
        if hasattr(model, "path_"):
            found = model.path_.criterion[model.path_.chosen]
        else:
            found = model.search_.unseen[model.search_.chosen]
        assert found == pytest.approx(-errors.mean(), rel=1e-6)
    model = gapless.SVC(C="loo", gamma=0.2).fit(X, classes)
    plain = clone(model).set_params(C=model.C_, tol=1e-6)
    expected = np.mean(fitted_without_x(plain, X, classes) == classes)
    assert model.search_.unseen[model.search_.chosen] == pytest.approx(expected, abs=2 / len(y))


@pytest.mark.parametrize(
    "model",
    [gapless.LogisticRegression(), gapless.LinearSVC(), gapless.SVC()],
    ids=lambda model: type(model).__name__,
)
def test_categories_are_as_good_as_grouped_folds_say(model):
    # Survivors by class, sex and age in a few steps: most x have both outcomes.
    rng = np.random.default_rng(10)
    X = np.column_stack([rng.integers(0, k, 600) for k in (2, 3, 12)]) / [1.0, 2.0, 11.0]
    y = (rng.random(600) < 1 / (1 + np.exp(-3 * X[:, 0] + 2 * X[:, 1]))).astype(int)
    folds = GroupKFold(10, shuffle=True, random_state=0)
    expected = cross_val_predict(clone(model), X, y, cv=folds, groups=numbers_of(X))
    found = clone(model).fit(X, y).generalization_
    assert abs(found.unseen - np.mean(expected == y)) < 1.2 * found.standard_error


def test_noise_at_a_few_x_is_at_chance_and_not_below():
    rng = np.random.default_rng(11)
    X, y = rng.integers(0, 5, (400, 2)).astype(float), rng.integers(0, 2, 400)
    found = gapless.LogisticRegression().fit(X, y).generalization_
    assert abs(found.unseen - 0.5) < 3 * found.standard_error


def test_standard_errors_are_over_labels_and_weights_are_repeated_rows():
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=(12, 2)), np.repeat(np.arange(4), 3)
    counts = rng.integers(1, 4, size=12)
    mean, error = mean_and_error(scores, counts.astype(float), labels)
    repeated, of_label = np.repeat(scores, counts, axis=0), np.repeat(labels, counts)
    off = np.array([np.sum(repeated[of_label == k] - repeated.mean(0), axis=0) for k in range(4)])
    np.testing.assert_allclose(mean, repeated.mean(0))
    np.testing.assert_allclose(error, np.sqrt(4 / 3 * np.sum(off**2, axis=0)) / counts.sum())
    # A row of weight 0 is none, whatever it holds; without labels all rows are independent.
    alone = mean_and_error(np.append(scores[:, 0], np.nan), np.append(np.ones(12), 0.0))
    np.testing.assert_allclose(alone, (scores[:, 0].mean(), scores[:, 0].std(ddof=1) / np.sqrt(12)))
