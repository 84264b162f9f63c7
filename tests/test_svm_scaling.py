"""Support vector machines on data of very different sizes: solved, or told what to do."""

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

import gapless
from gapless import SVC
from gapless.models.svm import free_set


def are_separable(X, y):
    """Whether some w and b give all rows tᵢ(⟨w, xᵢ⟩ + b) ≥ 1, by a linear programme."""
    t = np.where(y == np.unique(y)[1], 1.0, -1.0)[:, None]
    limits = {"A_ub": -t * np.column_stack([X, np.ones(len(X))]), "b_ub": -np.ones(len(X))}
    return linprog(np.zeros(X.shape[1] + 1), bounds=(None, None), **limits).status == 0


# ---- hard margins --------------------------------------------------------------------------------


def test_a_margin_much_smaller_than_the_data_is_found():
    X, y = np.array([[0, 0], [100, 0], [0, 0.05], [100, 0.05]]), [0, 0, 1, 1]
    model = SVC(kernel="linear", C=np.inf).fit(X, y)
    assert model.margin_ == pytest.approx(0.05, rel=1e-9)
    assert model.certificate_.kind == gapless.certify(model, X, y).kind == "optimal"
    np.testing.assert_allclose(model.decision_function(X), [-1, -1, 1, 1], rtol=1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("wrong", [0, 1])
def test_columns_of_different_size_are_separated_exactly_if_that_is_possible(seed, wrong):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 4)) * [1, 10, 100, 1000]
    y = X[:, 0] > 0
    y[:wrong] = ~y[:wrong]
    if not are_separable(X / X.std(axis=0), y):
        with pytest.raises(ValueError, match=r"not separable.*set a finite C"):
            SVC(kernel="linear", C=np.inf).fit(X, y)
        return
    model = SVC(kernel="linear", C=np.inf).fit(X, y)
    assert model.certificate_.kind == "optimal"
    t = np.where(y, 1, -1)
    assert np.min(t * model.decision_function(X)) == pytest.approx(1, abs=1e-3)


def test_breast_cancer_can_be_separated():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    assert are_separable(X, y)
    model = SVC(kernel="linear", C=np.inf).fit(X, y)
    assert model.score(X, y) == 1.0 and model.certificate_.kind == "optimal"


# ---- polynomial kernels on features as they are --------------------------------------------------


def unscaled(n=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5)) * [1, 10, 100, 1000, 1]
    return X, (X[:, 0] + X[:, 1] / 10 + rng.normal(size=n) > 0).astype(int)


@pytest.mark.parametrize("C", [1.0, 1e3])
@pytest.mark.parametrize("coef0", [0.0, 1.0])
def test_kernel_values_of_many_sizes_are_solved(C, coef0):
    X, y = unscaled()
    model = SVC(kernel="poly", degree=6, coef0=coef0, C=C).fit(X, y)
    assert model.certificate_.kind == gapless.certify(model, X, y).kind == "optimal"


def test_the_interior_point_agrees_with_pairs(monkeypatch):
    X, y = unscaled(120)
    form = {"kernel": "poly", "degree": 3, "coef0": 1.0, "C": 10.0, "tol": 1e-7}
    by_pairs = SVC(**form).fit(X, y)
    monkeypatch.setattr(free_set, "PATIENCE", 1)
    monkeypatch.setattr(free_set, "MORE", 0)
    calls, solve = [], free_set.to_face_minimum
    monkeypatch.setattr(free_set, "to_face_minimum", lambda *at: (calls.append(1), solve(*at))[1])
    by_factor = SVC(**form).fit(X, y)
    assert len(calls) == free_set.SLACK  # the turns before the interior point, and none after it
    objectives = [model.certificate_.primal for model in (by_pairs, by_factor)]
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-6)


@pytest.mark.parametrize("coef0", [0.0, 1.0])
def test_kernel_values_beyond_float64_are_named_with_the_cure(coef0):
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match=r"does not resolve the margin. Scale the features"):
        model = SVC(kernel="poly", degree=6, gamma=1.0, coef0=coef0).fit(X, y)
    assert model.certificate_.kind == "stopped" and model.fit_status_ == 1
    # Nothing learned is better than noise: not much above the objective at w = 0.
    assert model.certificate_.relative_gap < 2
    X = StandardScaler().fit_transform(X)
    scaled = SVC(kernel="poly", degree=6, gamma="scale", coef0=coef0).fit(X, y)
    assert scaled.certificate_.kind == "optimal"


def test_kernel_values_beyond_float32_are_solved():
    X, y = unscaled(100)
    Z = X / X.std(axis=0)
    usual = SVC(kernel="poly", degree=2, gamma=1.0, C=1.0, tol=1e-8).fit(Z, y)
    # The same kernel times 1e40, with C divided by it.
    large = SVC(kernel="poly", degree=2, gamma=1e20, C=1e-40, tol=1e-8).fit(Z, y)
    np.testing.assert_allclose(1e40 * large.dual_coef_, usual.dual_coef_, rtol=1e-6)
    np.testing.assert_allclose(large.intercept_, usual.intercept_, rtol=1e-6)
