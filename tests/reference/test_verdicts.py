"""What is over-fitted, under-fitted or balanced is called so, on data whose truth is clear."""

import numpy as np
import pytest
from verdict_cases import CASES, OVER, UNDER, verdict

import gapless
from gapless.kernels import Constant, Linear
from gapless.unseen.lack_of_fit import by_same_x

OPPOSITE = {OVER: UNDER, UNDER: OVER}
# The part of the cases that may be missed. The suite checks one seed of each; `python
# tests/reference/verdict_cases.py` counts over ten.
MISSED = 0.05


@pytest.fixture(scope="module")
def verdicts(some_of):
    return {name: verdict(name, 0) for name in some_of(list(CASES))}


def test_clear_cases_are_called_by_their_names(verdicts):
    wrong = {name: found.kind for name, found in verdicts.items() if found.kind != CASES[name][0]}
    # Of a share of the cases one may be missed.
    assert len(wrong) <= max(1, MISSED * len(verdicts)), wrong


def test_no_verdict_is_the_opposite_of_the_truth(verdicts):
    wrong = [name for name, found in verdicts.items() if found.kind == OPPOSITE.get(CASES[name][0])]
    assert not wrong


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("line_through_parabola", "would give"),
        ("ridge_far_too_strong", "penalty would give"),
        ("one_neighbour_with_noise", "n_neighbors="),
    ],
)
def test_a_version_that_does_better_is_named_with_its_score(name, said):
    assert said in verdict(name, 0).verdict


# ---- what held-out rows alone do not tell --------------------------------------------------------


def bits(seed, n=1000, noise=0.03):
    """Six bits, all 64 of them many times, and the parity of three, some of it flipped."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(n, 6)).astype(float)
    parity = (X[:, :3].sum(axis=1) % 2).astype(int)
    return X, np.where(rng.uniform(size=n) < noise, 1 - parity, parity)


def test_a_model_that_lacks_fit_is_not_over_fitted_where_no_x_can_be_left_out():
    # Without one of eight combinations the other seven are against it, so that a tree that can
    # learn nothing scores far below a guess.
    X, y = bits(1000)
    found = gapless.DecisionTreeClassifier(max_depth=2).fit(X, y).generalization_
    assert found.unseen < 0.4 and found.kind == UNDER
    rng = np.random.default_rng(1001)
    X, y = bits(1001, 800, 0.0)
    y = 4.0 * y - 2 + rng.normal(size=800)
    found = gapless.DecisionTreeRegressor(max_depth=2).fit(X, y).generalization_
    assert found.unseen < -0.1 and found.kind == UNDER
    assert "other rows with the same x" in found.verdict


def test_freedom_that_is_right_for_x_that_come_again_is_not_over_fitted():
    X, y = bits(1000)
    found = gapless.DecisionTreeClassifier(max_depth=6).fit(X, y).generalization_
    assert found.kind == "balanced" and "for new x" in found.verdict


def test_copies_of_rows_do_not_speak_for_each_other():
    y, x = np.array([[1.0], [1.0], [2.0], [4.0], [4.0]]), np.array([0, 0, 1, 1, 1])
    distinct = np.array([0, 0, 1, 2, 2])
    found = by_same_x(y, np.ones(5), x, distinct)
    # The first x has one target alone; of the second the two copies stay together.
    np.testing.assert_array_equal(found[:, 0], [np.nan, np.nan, 4.0, 2.0, 2.0])
    classes = np.eye(2)[[0, 0, 1, 1]]
    assert np.all(np.isnan(by_same_x(classes, np.ones(4), np.array([0, 0, 1, 1]), None)))


def test_weight_two_is_a_row_twice_for_what_the_same_x_says():
    y, x = np.eye(2)[[0, 1, 1, 1, 0]], np.array([0, 0, 0, 1, 1])
    twice = by_same_x(y[[0, 1, 1, 2, 3, 4]], np.ones(6), x[[0, 1, 1, 2, 3, 4]], None)
    weighted = by_same_x(y, np.array([1.0, 2.0, 1.0, 1.0, 1.0]), x, None)
    np.testing.assert_allclose(weighted, twice[[0, 1, 3, 4, 5]])


def test_one_neighbour_that_is_right_loses_nothing_by_having_no_probabilities():
    X = np.random.default_rng(1003).uniform(-2, 2, size=(600, 2))
    model = gapless.KNeighborsClassifier(1).fit(X, np.floor(X).sum(axis=1) % 2)
    assert model.generalization_.kind == "balanced"


def test_a_stump_on_exclusive_or_is_under_fitted_though_two_levels_do_no_better():
    X = np.random.default_rng(1002).uniform(-1, 1, size=(500, 4))
    model = gapless.DecisionTreeClassifier(max_depth=1).fit(X, X[:, 0] * X[:, 1] > 0)
    assert model.generalization_.kind == UNDER


def test_a_machine_that_is_too_free_in_two_ways_is_over_fitted():
    rng = np.random.default_rng(1008)
    X = rng.uniform(-1, 1, size=(200, 3))
    y = np.sin(4 * X[:, 0]) + X[:, 1] + 0.7 * rng.normal(size=200)
    found = gapless.SVR(C=1e4, gamma=30.0).fit(X, y).generalization_
    assert found.kind == OVER and " and a kernel " in found.verdict


def test_other_rows_of_an_x_have_probabilities_whatever_the_weights(rng):
    units, classes = rng.integers(0, 5, 60), rng.integers(0, 2, 60)
    for weights in (np.ones(60), np.full(60, 0.3), rng.uniform(0.1, 3.0, 60)):
        found = by_same_x(np.eye(2)[classes], weights, units, None)
        assert np.all((found >= -1e-12) & (found <= 1 + 1e-12))
        np.testing.assert_allclose(found.sum(axis=1), 1.0)


# ---- what a family says of itself ----------------------------------------------------------------


def test_solvers_of_one_discriminant_have_one_verdict():
    # One that reads the shrinkage of the other solver as 0 would call it over-fitted.
    rng = np.random.default_rng(0)
    y, z = rng.integers(0, 2, 300), rng.normal(size=300)
    X = np.column_stack([z + 0.6 * y, z]) + 0.3 * rng.normal(size=(300, 2))
    for solver in ("eigen", "lsqr"):
        model = gapless.LinearDiscriminantAnalysis(solver=solver, shrinkage=0.9).fit(X, y)
        assert model.generalization_.kind == UNDER, solver


def test_neighbours_weighted_by_distance_are_not_judged_by_their_own_rows():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (300, 1))
    smooth = np.sin(6 * x[:, 0]) + 0.1 * rng.normal(size=300)
    many = gapless.KNeighborsRegressor(150, weights="distance").fit(x, smooth)
    assert many.generalization_.train == 1.0 and many.generalization_.kind == UNDER
    few = gapless.KNeighborsRegressor(2, weights="distance").fit(x, rng.normal(size=300))
    assert few.generalization_.kind == OVER


def test_a_bias_in_a_kernel_gives_a_line_no_curve():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (200, 1))
    y = x[:, 0] ** 2 + 0.05 * rng.normal(size=200)
    model = gapless.KernelRidge(kernel=Linear() + Constant(1.0)).fit(x, y)
    assert model.generalization_.kind == UNDER
    assert "correcting its errors with squares and products" in model.generalization_.verdict
