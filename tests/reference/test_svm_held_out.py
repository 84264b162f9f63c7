"""Predictions of support vector machines for unseen rows: against fits without each row."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.preprocessing import StandardScaler

import gapless
from gapless.models.svm import SVC, SVR, NuSVC, held_out, leaving_out
from gapless.solvers.smo import BoxProblem
from gapless.unseen.held_out import by_formula


def two_classes(n=60, flip=0.1, seed=0):
    X, y = make_classification(n, 6, n_informative=4, flip_y=flip, random_state=seed)
    return StandardScaler().fit_transform(X), y


def chessboard(n=120, seed=0):
    X = np.random.default_rng(seed).uniform(0, 4, size=(n, 2))
    return X, np.floor(X).sum(axis=1).astype(int) % 2


def curve(n=50, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 1))
    return X, np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=n)


def fitted_of(model, X, y, weights=None):
    return model.fit(X, y, weights)._fitted_to(X, y, weights)


def kernel_by_hand(model, X):
    """The model with a kernel whose γ does not depend on the rows."""
    return model.set_params(gamma=1 / (X.shape[1] * X.var()))


def without_each_row(model, X, y, weights=None):
    """The scores of each row by a model that was fitted without the rows of its x, (n, P)."""
    found = []
    for i in range(len(y)):
        others = np.any(X[i] != X, axis=1)
        part = None if weights is None else weights[others]
        found.append(model.fit(X[others], y[others], part)._scores(X[i : i + 1])[0])
    return np.array(found)


# ---- real refits ---------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [two_classes, chessboard])
@pytest.mark.parametrize("C", [0.3, 10.0])
def test_refits_from_the_solution_are_fits_without_the_row(data, C):
    X, y = data()
    model = kernel_by_hand(SVC(C=C, tol=1e-6), X)
    found = fitted_of(model, X, y).held_out(None)
    np.testing.assert_allclose(found, without_each_row(model, X, y), atol=1e-4)


def test_only_problems_that_a_row_takes_part_in_change():
    X, y = load_iris(return_X_y=True)
    X, y = X[::3], y[::3]
    model = kernel_by_hand(SVC(C=3.0, tol=1e-8), X)
    fitted = fitted_of(model, X, y)
    found = fitted.held_out(None)
    np.testing.assert_allclose(found, without_each_row(model, X, y), atol=1e-5)
    # The problem of classes 0 and 1 does not see rows of class 2.
    np.testing.assert_array_equal(found[y == 2, 0], fitted.predictions[y == 2, 0])


def test_one_against_the_rest():
    X, y = load_iris(return_X_y=True)
    X, y = X[::4], y[::4]
    model = kernel_by_hand(SVC(C=3.0, tol=1e-8, multi_class="ovr"), X)
    found = fitted_of(model, X, y).held_out(None)
    np.testing.assert_allclose(found, without_each_row(model, X, y), atol=1e-5)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5])
def test_regression(epsilon):
    X, y = curve()
    model = kernel_by_hand(SVR(C=3.0, epsilon=epsilon, tol=1e-8), X)
    found = fitted_of(model, X, y).held_out(None)
    np.testing.assert_allclose(found, without_each_row(model, X, y), atol=1e-5)


def test_sums_that_change_with_the_rows():
    X, y = two_classes(40)
    model = kernel_by_hand(NuSVC(nu=0.3, tol=1e-8), X)
    found = fitted_of(model, X, y).held_out(None)
    np.testing.assert_allclose(found, without_each_row(model, X, y), atol=1e-5)


def test_no_support_vector_strictly_between_its_bounds():
    # Balanced classes and a small C: all multipliers are at their bounds.
    X, y = np.array([[-1.0], [-0.9], [0.9], [1.0]]), np.array([0, 0, 1, 1])
    model = SVC(C=1e-3, kernel="linear", tol=1e-8)
    fitted = fitted_of(model, X, y)
    assert set(model.kkt_status_) == {"bounded"}
    expected = without_each_row(model, X, y)
    np.testing.assert_allclose(fitted.held_out(None), expected, atol=1e-8)
    found, is_refitted = fitted.by_span()
    np.testing.assert_allclose(found, expected, atol=1e-8)
    assert is_refitted.all()


def test_the_last_row_of_a_class():
    X, y = np.array([[0.0], [1.0], [3.0]]), np.array([0, 0, 1])
    model = SVC(C=1.0, kernel="linear", tol=1e-8)
    found = fitted_of(model, X, y).held_out(None)
    assert found[2, 0] < 0  # without it there is one class, and that is predicted


# ---- the law of weights --------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["held_out", "by_span"])
def test_weight_two_is_the_row_twice_and_weight_zero_no_row(rng, how):
    X, y = two_classes()
    counts = rng.integers(0, 3, len(y))
    twice = np.repeat(np.arange(len(y)), counts)
    model = kernel_by_hand(SVC(C=2.0, tol=1e-8), X)

    def scores(fitted):
        return fitted.held_out(None) if how == "held_out" else fitted.by_span()[0]

    one = scores(fitted_of(model, X, y, counts.astype(float)))
    other = scores(fitted_of(model, X[twice], y[twice]))
    np.testing.assert_allclose(one[twice], other, atol=1e-6)


def test_equal_rows_leave_together():
    X, y = two_classes(30)
    X, y = np.vstack([X, X[:5]]), np.append(y, y[:5])
    model = kernel_by_hand(SVC(C=2.0, tol=1e-8), X)
    found = fitted_of(model, X, y).held_out(None)
    np.testing.assert_allclose(found, without_each_row(model, X, y), atol=1e-5)
    np.testing.assert_array_equal(found[:5], found[30:])


# ---- the span rule -------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.3, 3.0, 100.0])
def test_the_span_rule_is_near_real_refits(C):
    X, y = load_digits(return_X_y=True)
    X, y = X[(y == 3) | (y == 8)], y[(y == 3) | (y == 8)]
    fitted = fitted_of(SVC(C=C, tol=1e-6), X, y)
    exact, (found, is_refitted) = fitted.held_out(None), fitted.by_span()
    missed = np.abs(found - exact).sum() / np.abs(exact - fitted.predictions).sum()
    assert missed < 0.15
    assert np.array_equal(found > 0, exact > 0)
    np.testing.assert_allclose(found[is_refitted], exact[is_refitted], atol=1e-6)


def test_rows_that_are_no_support_vectors_keep_their_scores():
    X, y = two_classes()
    fitted = fitted_of(SVC(C=1.0), X, y)
    idle = np.flatnonzero(fitted.points[0].theta == 0)
    rows = np.flatnonzero(np.isin(fitted.rows.inverse, idle))
    for held in (fitted.held_out(None), fitted.by_span()[0]):
        np.testing.assert_array_equal(held[rows], fitted.predictions[rows])


# ---- in words ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_verdict")
def test_what_is_said_of_many_rows_is_checked_by_refits(monkeypatch):
    monkeypatch.setattr(held_out, "CHEAP", 1e4)
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300]
    model = SVC().fit(X, y)
    result = model.generalization_
    assert result.method == "span"
    assert result.disagreement.refits >= 20
    assert result.disagreement.part < 0.2
    monkeypatch.setattr(held_out, "CHEAP", 1e9)
    exact = gapless.generalize(model, X, y)
    assert exact.method == "loo"
    assert exact.unseen == pytest.approx(result.unseen, abs=0.01)


def test_too_small_and_too_large_a_C_are_called_by_their_names(rng):
    X = rng.normal(size=(150, 2))
    y = X[:, 0] + 0.8 * rng.normal(size=150) > 0
    assert SVC(C=1e-3, gamma=0.1).fit(X, y).generalization_.kind == "under-fitted"
    assert SVC(C=10.0, gamma=5.0).fit(X, y).generalization_.kind == "over-fitted"
    assert SVC(C=1.0, gamma=0.1).fit(X, y).generalization_.kind == "balanced"


@pytest.mark.parametrize("model", [SVC(), SVR(), NuSVC(nu=0.3)])
def test_groups_and_time(model):
    X, y = two_classes(80)
    model.fit(X, y)
    by_group = gapless.generalize(model, X, y, groups=np.arange(80) // 8)
    assert by_group.method.startswith("refits (each group left out)")
    by_time = gapless.generalize(model, X, y, time=np.arange(80))
    assert by_time.method.startswith("forward")
    assert np.isfinite([by_group.unseen, by_time.unseen]).all()


def test_a_sample_of_the_rows_stands_for_all():
    X, y = two_classes(200)
    fitted = fitted_of(SVC(C=1.0, gamma=0.1, tol=1e-6), X, y)
    rows = np.arange(0, 200, 2)
    sample = fitted.sample(rows)
    # Half of the rows, each with twice its weight.
    direct = fitted_of(SVC(C=2.0, gamma=0.1, tol=1e-6), X[rows], y[rows])
    np.testing.assert_allclose(sample.predictions, direct.predictions, atol=1e-4)
    assert by_formula(sample).z.shape == (100, 1)


# ---- regions -------------------------------------------------------------------------------------


def test_a_region_is_asked_how_many_unseen_rows_it_holds():
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = gapless.OneClassSVM(nu=0.2, gamma=0.5, tol=1e-9)
    refits = [model.fit(np.delete(X, i, axis=0)).predict(X[[i]]) for i in range(len(X))]
    model.fit(X)
    found = model.generalization_
    assert found.metric == "share inside" and found.method == "loo"
    assert found.unseen == pytest.approx(np.mean(np.array(refits) > 0), abs=1e-12)
    assert found.train == pytest.approx(np.mean(model.predict(X) > 0), abs=1e-12)
    assert gapless.generalize(model, X, None) == found


@pytest.mark.parametrize("gamma, kind", [(0.1, "balanced"), (50.0, "over-fitted")])
def test_a_region_of_a_narrow_kernel_is_over_fitted(gamma, kind):
    X = np.random.default_rng(1).normal(size=(150, 2))
    found = gapless.OneClassSVM(nu=0.1, gamma=gamma).fit(X).generalization_
    assert found.kind == kind
    assert "the requested 0.9" in found.verdict


def test_features_that_say_nothing_score_as_a_guess():
    # Without a row its class is in the minority, and each row alone would be called the other one.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2000)), np.arange(60) % 2
    found = gapless.SVC().fit(X, y).generalization_
    assert found.method.startswith("5-fold, because leaving a row out makes its class rarer")
    assert abs(found.unseen - 0.5) < 3 * found.standard_error


@pytest.mark.parametrize("picked", [0, np.inf], ids=["picked out", "all"])
def test_gradients_where_refits_begin(picked, monkeypatch, rng):
    monkeypatch.setattr(leaving_out, "PICKED", picked)
    A = rng.standard_normal((9, 4))
    gram = A @ A.T
    # Two variables for some rows, none for others.
    rows, start = np.array([0, 2, 5, 8, 2, 5]), np.array([1.0, 0.5, 0.0, -1.0, -0.25, 0.75])
    box = BoxProblem(np.arange(6.0), np.full(6, -2.0), np.full(6, 2.0), rows=rows, start=start)
    expected = gram[np.ix_(rows, rows)] @ start + box.linear
    np.testing.assert_allclose(leaving_out._gradient(gram, box), expected, atol=1e-12)
