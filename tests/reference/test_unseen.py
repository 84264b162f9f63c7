"""Estimates for unseen data against the models that never saw it, and against the truth."""

import tracemalloc
import warnings
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, log_loss, mean_squared_error, r2_score
from sklearn.preprocessing import scale

import gapless
from gapless import (
    ElasticNet,
    KernelRidge,
    Lasso,
    LinearRegression,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    MultiTaskLasso,
    Ridge,
    RidgeClassifier,
    RidgeCV,
    RiskClassifier,
    RiskRegressor,
    solvers,
)
from gapless.losses import Huber
from gapless.penalties import L1, L2
from gapless.unseen.held_out import by_refits, folds_of


@cache
def diabetes(n=120):
    X, y = load_diabetes(return_X_y=True)
    return scale(X)[:n], y[:n] / y.std()


@cache
def two_outputs():
    X, y = diabetes()
    return X, np.stack([y, X[:, 0] + np.roll(y, 1)], axis=1)


@cache
def breast_cancer(n=100):
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X)[:n, :12], y[:n]


@cache
def wine():
    X, y = load_wine(return_X_y=True)
    return scale(X)[::2], y[::2]


def refits(model, X, y, labels, weights=None):
    """What each row is predicted by the estimator, fitted to the rows of other labels."""
    predicted = []
    weights = np.ones(len(y)) if weights is None else weights
    for label in labels:
        rest = labels != label
        predicted.append(clone(model).fit(X[rest], y[rest], weights[rest]))
    return np.array([m.predict(X[i : i + 1])[0] for i, m in enumerate(predicted)])


def true_score(model, y, predicted, weights=None):
    score = accuracy_score if is_classifier(model) else r2_score
    return score(y, predicted, sample_weight=weights)


# ---- exact ---------------------------------------------------------------------------------------


def label(value):
    """A name of a model, or of the function that loads its data, that is the same in every run."""
    return getattr(value, "__name__", None) or " ".join(str(value).split())[:60]


EXACT = [
    (LinearRegression(tol=1e-12), diabetes),
    (Ridge(alpha=10.0), diabetes),
    (Ridge(alpha=1e-12), diabetes),
    (Ridge(alpha=0.0, fit_intercept=False), diabetes),
    (Ridge(alpha=[0.1, 100.0]), two_outputs),
    (RiskRegressor("squared", "l2"), diabetes),
    (RidgeClassifier(), breast_cancer),
    (RidgeClassifier(), wine),
    (RiskClassifier("squared", "l2"), wine),
]
exact_models = pytest.mark.parametrize("model, load", EXACT, ids=label)


@exact_models
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("grouped", [False, True], ids=["rows", "groups"])
@pytest.mark.usefixtures("no_verdict")
def test_exact_estimates_are_those_of_real_refits(model, load, weighted, grouped):
    X, y = (a[:50] for a in load())
    weights = np.random.default_rng(0).uniform(0.5, 3, len(y)) if weighted else None
    groups = np.arange(len(y)) // 3 if grouped else None
    model = clone(model).fit(X, y, weights)
    result = gapless.generalize(model, X, y, weights, groups=groups)
    labels = np.arange(len(y)) if groups is None else groups
    expected = true_score(model, y, refits(model, X, y, labels, weights), weights)
    assert result.method == "loo"
    assert result.unseen == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("alpha", [0.0, 1e-12, 1e-6, 1.0])
def test_fewer_rows_than_features(alpha):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 80))
    y = X[:, 0] + 0.1 * rng.normal(size=30)
    model = Ridge(alpha=alpha).fit(X, y)
    expected = r2_score(y, refits(model, X, y, np.arange(30)))
    assert model.generalization_.method == "loo"
    assert model.generalization_.unseen == pytest.approx(expected, abs=1e-8)
    assert model.generalization_.kind == "over-fitted" or alpha > 0


def test_rows_that_differ_in_one_output_alone_leave_together():
    X, Y = (a[:40].copy() for a in two_outputs())
    X[1], Y[1, 0] = X[0], Y[0, 0]
    model = Ridge(alpha=[0.1, 100.0]).fit(X, Y)
    expected = r2_score(Y, refits(model, X, Y, np.maximum(np.arange(40), 1)))
    assert model.generalization_.unseen == pytest.approx(expected, abs=1e-8)


# ---- approximate ---------------------------------------------------------------------------------

APPROXIMATE = [
    (Lasso(alpha=0.02), diabetes),
    (Lasso(alpha=0.2), diabetes),
    (ElasticNet(alpha=0.01), diabetes),
    (Ridge(alpha=1.0, positive=True), diabetes),
    (LinearSVR(epsilon=0.2, loss="squared_epsilon_insensitive"), diabetes),
    (RiskRegressor(Huber(0.3), L1(3.0)), diabetes),
    (MultiTaskLasso(alpha=0.05), two_outputs),
    (LogisticRegression(), breast_cancer),
    (LogisticRegression(C=100.0), breast_cancer),
    (LogisticRegression(l1_ratio=1.0), breast_cancer),
    (LinearSVC(), breast_cancer),
    (LogisticRegression(), wine),
    (RiskClassifier("squared_hinge", L1(5.0)), wine),
]


@pytest.mark.parametrize("model, load", APPROXIMATE, ids=label)
@pytest.mark.usefixtures("no_verdict")
def test_approximate_estimates_are_within_their_disagreement(model, load):
    X, y = (a[:60] for a in load())
    model = clone(model).fit(X, y)
    result = model.generalization_
    expected = true_score(model, y, refits(model, X, y, np.arange(len(y))))
    assert result.method.startswith("approximate loo")
    assert abs(result.unseen - expected) <= result.disagreement.score + 1e-9
    assert result.disagreement.score <= result.standard_error


@pytest.mark.usefixtures("no_verdict")
def test_log_loss_of_rows_left_out():
    X, y = breast_cancer()
    model = LogisticRegression().fit(X, y)
    result = gapless.generalize(model, X, y, scoring="neg_log_loss")
    rows = np.arange(len(y))
    p = [clone(model).fit(X[rows != i], y[rows != i]).predict_proba(X[[i]])[0] for i in rows]
    assert abs(result.unseen + log_loss(y, p)) <= result.disagreement.score


@pytest.mark.usefixtures("no_verdict")
def test_few_rows_are_all_refitted():
    X, y = (a[:40] for a in breast_cancer(60))
    model = LogisticRegression(l1_ratio=1.0, C=0.5).fit(X, y)
    result = gapless.generalize(model, X, y, scoring="neg_log_loss")
    rows = np.arange(len(y))
    p = [clone(model).fit(X[rows != i], y[rows != i]).predict_proba(X[[i]])[0] for i in rows]
    assert result.method == "refits (each row left out)"
    assert result.unseen == pytest.approx(-log_loss(y, p), rel=1e-4)


@pytest.mark.usefixtures("no_verdict")
def test_few_groups_are_all_refitted():
    X, y = breast_cancer()
    groups = np.arange(len(y)) % 6
    model = LinearSVC(loss="hinge").fit(X, y)
    result = gapless.generalize(model, X, y, groups=groups)
    held = np.empty_like(y)
    for group in range(6):
        rest = groups != group
        held[~rest] = clone(model).fit(X[rest], y[rest]).predict(X[~rest])
    assert result.method.startswith("refits (each group left out), because")
    assert result.unseen == accuracy_score(y, held)


def test_where_no_formula_holds_folds_are_used_and_the_text_says_why():
    X, y = breast_cancer()
    result = LinearSVC(loss="hinge").fit(X, y).generalization_
    assert result.method.startswith("5-fold, because")
    assert "more than half of the 12 coefficients" in result.method
    assert result.disagreement is None
    noise = np.random.default_rng(0).normal(size=(60, 100))
    result = Lasso(alpha=0.01).fit(noise, noise[:, 0] + y[:60]).generalization_
    assert "active coefficients are more than half of the 60 distinct rows" in result.method


@pytest.mark.usefixtures("no_verdict")
def test_the_past_alone():
    X, y = diabetes()
    model = Ridge().fit(X, y)
    time = np.repeat(np.arange(12), 10)
    result = gapless.generalize(model, X, y, time=time, scoring="neg_mean_squared_error")
    held = [
        Ridge().fit(X[time < now], y[time < now]).predict(X[time == now]) for now in range(1, 12)
    ]
    expected = -mean_squared_error(y[time > 0], np.concatenate(held))
    assert result.unseen == pytest.approx(expected, rel=1e-6)


@pytest.mark.usefixtures("no_verdict")
def test_the_past_of_a_mean_objective_has_a_smaller_penalty():
    X, y = diabetes()
    model = Lasso(alpha=0.1).fit(X, y)
    time = np.repeat(np.arange(4), 30)
    result = gapless.generalize(model, X, y, time=time)
    held = [
        Lasso(alpha=0.1).fit(X[time < now], y[time < now]).predict(X[time == now])
        for now in range(1, 4)
    ]
    assert result.unseen == pytest.approx(r2_score(y[time > 0], np.concatenate(held)), rel=1e-4)


# ---- large data ----------------------------------------------------------------------------------


@pytest.fixture
def everything_is_large(monkeypatch):
    monkeypatch.setattr("gapless.unseen.fitted.LARGE_ROWS", 1)
    for module in ("held_out", "trial"):
        monkeypatch.setattr(f"gapless.unseen.{module}.LARGE_SAMPLE", 100)


def test_large_data_is_held_out_once(everything_is_large):
    X, y = breast_cancer(569)
    result = LinearSVC(loss="hinge").fit(X, y).generalization_
    assert result.method.startswith("hold-out of 100 rows, because")
    assert result.unseen == pytest.approx(0.95, abs=0.04)


@pytest.mark.parametrize("model", [LinearSVC(), LinearSVC(loss="hinge"), RidgeClassifier()])
def test_the_part_that_is_held_out_is_predicted_by_a_model_of_the_rest(everything_is_large, model):
    X, y = wine()
    fitted = clone(model).fit(X, y)._fitted_to(X, y)
    [(train, test)], _ = folds_of(fitted, fitted.units, "row")
    z = by_refits(fitted, fitted.units, "").z
    expected = clone(model).fit(X[train], y[train]).decision_function(X[test])
    np.testing.assert_allclose(z[test], expected, rtol=1e-3, atol=1e-3)
    assert np.all(np.isnan(z[train]))


def test_classes_of_large_data_are_solved_together(everything_is_large, monkeypatch):
    sizes = []

    def solve_many(problems, **options):
        sizes.append(len(problems))
        return solvers.solve_many(problems, **options)

    monkeypatch.setattr("gapless.solvers.fold_models.solve_many", solve_many)
    X, y = wine()
    fitted = LinearSVC().fit(X, y)._fitted_to(X, y)
    by_refits(fitted, fitted.units, "")
    assert sizes == [3]


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("n", [100, 300])
def test_many_rows_of_losses_with_kinks_are_large_sooner(monkeypatch, loss, n):
    X, y = breast_cancer(n)
    monkeypatch.setattr("gapless.unseen.fitted.LARGE_WORK", 2 * X.size)
    is_large = LinearSVC(loss=loss).fit(X, y)._fitted_to(X, y).is_large
    assert is_large == (loss == "hinge" and n == 300)


@pytest.mark.parametrize("groups", [None, np.arange(569) // 3])
@pytest.mark.usefixtures("no_verdict")
def test_formulas_for_large_data_are_checked_on_a_part(everything_is_large, groups):
    X, y = breast_cancer(569)
    model = LogisticRegression(C=0.1).fit(X, y)
    result = gapless.generalize(model, X, y, groups=groups, scoring="neg_log_loss")
    assert result.method == "approximate loo"
    assert result.disagreement.refits == 40
    assert 0 < result.disagreement.score < result.standard_error


# ---- few wide rows -------------------------------------------------------------------------------


def wide(n=60, d=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 1
    return X, np.argmax(X[:, :3] + 0.5 * rng.normal(size=(n, 3)), axis=1)


WIDE = [
    LogisticRegression(),
    LinearSVC(),
    LinearSVC(loss="hinge"),
    RiskClassifier(penalty=L2(2.0, np.linspace(1, 3, 300))),
]


@pytest.mark.parametrize("model", WIDE)
@pytest.mark.parametrize("classes", [2, 3])
def test_wide_rows_are_left_out_as_refits_do(model, classes):
    X, y = wide()
    y = np.minimum(y, classes - 1)
    fitted = clone(model).fit(X, y)._fitted_to(X, y)
    assert fitted.narrow is not None
    rest = np.arange(3, len(y))
    z = fitted.predict(fitted.without(np.arange(3)), np.arange(len(y)))
    assert_same_scores(clone(model).set_params(tol=1e-9).fit(X[rest], y[rest]), X, z)
    z = by_refits(fitted, fitted.units, "").z
    for train, test in folds_of(fitted, fitted.units, "row")[0]:
        refit = clone(model).set_params(tol=1e-9).fit(X[train], y[train])
        assert_same_scores(refit, X[test], z[test])


def assert_same_scores(model, X, z):
    """Scores of softmax have a constant to spare."""
    expected = model.decision_function(X).reshape(z.shape)
    if z.shape[1] > 1:
        z, expected = (scores - scores.mean(axis=1, keepdims=True) for scores in (z, expected))
    np.testing.assert_allclose(z, expected, atol=2e-3 * np.abs(expected).max())


@pytest.mark.parametrize("factor", [0.1, 10.0])
def test_wide_rows_are_fitted_with_other_penalties_as_refits_do(factor):
    X, y = wide()
    fitted = RidgeClassifier(alpha=2.0).fit(X, y)._fitted_to(X, y).scaled(factor)
    expected = RidgeClassifier(alpha=2.0 * factor).fit(X, y).decision_function(X)
    np.testing.assert_allclose(fitted.predictions, expected, atol=1e-4)


def test_only_few_dense_wide_rows_are_made_narrow():
    X, y = wide()
    for model, rows in (
        (LogisticRegression(max_iter=3), X[:, :100]),
        (LogisticRegression(max_iter=3), sp.csr_array(np.where(X > 3, X, 0.0))),
        (LogisticRegression(max_iter=3, l1_ratio=1.0), X),
        (LogisticRegression(max_iter=3, C=np.inf), X),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            assert clone(model).fit(rows, y)._fitted_to(rows, y).narrow is None


# ---- the truth -----------------------------------------------------------------------------------


def polynomials(degree, n, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, n)
    X = np.polynomial.legendre.legvander(x, degree)[:, 1:]
    return X, np.sin(4 * x) + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize(
    "degree, alpha, expected",
    [
        (15, 1e-4, "over-fitted"),
        (15, 0.1, "balanced"),
        (15, 100.0, "under-fitted"),
        (15, 1e6, "under-fitted"),
        (5, 0.0, "balanced"),
    ],
)
def test_verdicts_on_a_curve_of_known_shape(degree, alpha, expected):
    X, y = polynomials(degree, 24, seed=3)
    assert Ridge(alpha=alpha).fit(X, y).generalization_.kind == expected


@pytest.mark.parametrize("d, expected", [(3, "balanced"), (40, "over-fitted")])
def test_verdicts_without_a_penalty(d, expected):
    X, y = sparse_truth(d=d)
    assert LinearRegression().fit(X, y).generalization_.kind == expected


def sparse_truth(n=80, d=100, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, :3] @ [2.0, -2.0, 1.0] + rng.normal(size=n)


@pytest.mark.parametrize(
    "alpha, expected", [(0.005, "over-fitted"), (0.2, "balanced"), (2.0, "under-fitted")]
)
def test_verdicts_on_a_sparse_truth(alpha, expected):
    X, y = sparse_truth()
    assert Lasso(alpha=alpha).fit(X, y).generalization_.kind == expected


@pytest.mark.parametrize(
    "C, expected", [(100.0, "over-fitted"), (1.0, "balanced"), (1e-5, "under-fitted")]
)
def test_verdicts_on_classes_that_overlap(C, expected):
    X, score = sparse_truth(n=150, d=40, seed=1)
    model = LogisticRegression(C=C).fit(X, score > 0)
    result = gapless.generalize(model, X, score > 0, scoring="neg_log_loss")
    assert result.kind == expected


@pytest.mark.usefixtures("no_verdict")
def test_the_estimate_is_near_the_score_of_a_large_test_set():
    """Within 2 standard errors in nearly all runs, for a regression and a classification."""
    misses = 0
    for seed in range(15):
        X, y = sparse_truth(n=5100, d=10, seed=seed)
        for model, target in ((Ridge(), y), (LogisticRegression(), y > 0)):
            result = model.fit(X[:100], target[:100]).generalization_
            truth = model.score(X[100:], target[100:])
            misses += abs(result.unseen - truth) > 2 * result.standard_error
    assert misses <= 4


@pytest.mark.usefixtures("no_verdict")
def test_digits():
    X, y = load_digits(return_X_y=True)
    X, y = X[:300] / 16, y[:300]
    model = LogisticRegression().fit(X, y)
    result = gapless.generalize(model, X, y, scoring="neg_log_loss")
    assert result.method == "approximate loo"
    assert result.disagreement.score < 0.2 * result.standard_error


def test_many_classes_of_wide_large_data_are_held_out(monkeypatch):
    """One dense system per class with this many rows would take longer than the fits."""
    monkeypatch.setattr("gapless.unseen.held_out.LARGE_SAMPLE", 50)
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 80)) + np.eye(3, 80)[y]
    result = LinearSVC().fit(X, y).generalization_
    assert "3 dense systems of 60 rows" in result.method


def test_a_penalty_without_effect_does_not_excuse_overfitting(rng):
    """Fits that learn every row by heart whatever the penalty are not called balanced."""
    X, y = rng.normal(size=(60, 3)), 5 + rng.normal(size=60)
    model = KernelRidge(alpha=1e-9, kernel="rbf", gamma=1e6).fit(X, y)
    assert model.generalization_.kind == "over-fitted"
    assert "a constant would give" in model.generalization_.verdict


@pytest.mark.parametrize("C", [0.1, 1.0])
@pytest.mark.usefixtures("no_verdict")
def test_few_rows_count_the_same_without_those_of_no_weight(rng, C):
    X, y = rng.normal(size=(24, 2)), np.arange(24) % 2
    weights = np.where(np.arange(24) % 5 == 0, 0.0, 1.0)
    kept = weights > 0
    result = LogisticRegression(C=C).fit(X, y, weights).generalization_
    expected = LogisticRegression(C=C).fit(X[kept], y[kept]).generalization_
    assert result.unseen == expected.unseen
    assert result.standard_error == pytest.approx(expected.standard_error)
    assert result.method == expected.method


@pytest.mark.parametrize("model", [LinearRegression(), RidgeCV()], ids=label)
def test_columns_without_entries_cost_little_and_change_nothing(model):
    # Of 20,000 sparse columns 450 have entries: the table is never made dense. It would be larger
    # than the hundred vectors, as long as a row, that versions of the model take.
    rng = np.random.default_rng(3)
    narrow, y, d = rng.normal(size=(300, 450)), rng.normal(size=300), 20_000
    filled = np.sort(rng.choice(d, 450, replace=False))
    rows, columns = np.nonzero(narrow)
    wide = sp.csr_array((narrow[rows, columns], (rows, filled[columns])), shape=(300, d))
    tracemalloc.start()
    estimate = clone(model).fit(wide, y).generalization_
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < wide.shape[0] * d * wide.dtype.itemsize
    expected = clone(model).fit(narrow, y).generalization_
    assert estimate.unseen == pytest.approx(expected.unseen)
    assert estimate.standard_error == pytest.approx(expected.standard_error)
