"""Ordinary data that make solvers crawl: columns in units far apart, rows that do not curve."""

import importlib
import itertools

import numpy as np
import pytest
from sklearn.datasets import load_wine

from gapless._ground.design import Design
from gapless.certificates.certificate import certify
from gapless.losses import (
    EpsilonInsensitive,
    Huber,
    Logistic,
    Softmax,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from gapless.penalties import L1, L2, Box, ElasticNet, Group, NoPenalty
from gapless.problem import dual_points
from gapless.problem.problem import Parameters, Problem
from gapless.solvers import choose, registry, solve
from gapless.solvers._base import run
from gapless.solvers.polish import MOST_PRODUCTS, polish

# Its file; the package offers the solver by the same name.
augmented_lagrangian = importlib.import_module("gapless.solvers.augmented_lagrangian")


def make(X, y, loss, penalty, fit_bias=True):
    outputs = None if np.ndim(y) == 1 else np.shape(y)[1]
    return Problem(Design(X), y, loss, penalty, np.ones(len(X)), fit_bias, outputs)


def ill_conditioned(seed, n, d):
    """Columns whose units differ by twelve orders of magnitude, half of them in other units."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10 ** rng.uniform(-6, 6, d)
    X[:, d // 2 :] = X[:, : d - d // 2] * rng.uniform(0.5, 2)
    relevant = rng.random(d) < 0.3
    z = (X / X.std(axis=0)) @ (rng.normal(size=d) * relevant) + rng.normal(size=n)
    return X, z


PENALTIES = {
    "l1": L1(1.0),
    "l1, strong": L1(10.0),
    "elastic net": ElasticNet(1.0, 0.5),
    "signs": Box(lower=0.0),
    "group": Group(1.0),
}


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_huber_far_from_its_targets_is_certified(penalty, scaled):
    # The residuals are hundreds of times δ, so that few rows curve at the start.
    data = load_wine().data
    X, y = np.ascontiguousarray(data[:, :12]), data[:, 12]
    X = (X - X.mean(axis=0)) / X.std(axis=0) if scaled else X
    problem = make(X, y, Huber(), PENALTIES[penalty])
    solution = solve(problem)
    assert solution.status == "optimal"
    assert solution.trace.steps <= 60
    assert certify(problem, solution.parameters).kind == "optimal"


@pytest.mark.parametrize("loss", [Squared(), Huber(), SquaredEpsilonInsensitive(), SquaredHinge()])
@pytest.mark.parametrize("penalty", [L1(0.03), ElasticNet(0.1, 0.5), Box(lower=0.0)], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_units_far_apart_are_certified(loss, penalty, seed):
    X, z = ill_conditioned(seed, 60, 34)
    y = np.where(z > 0, 1.0, -1.0) if loss.task == "binary" else 100 * z
    problem = make(X, y, loss, penalty)
    solution = solve(problem)
    assert solution.status == "optimal"
    assert certify(problem, solution.parameters).kind == "optimal"


def test_zeros_are_exact_where_the_interior_point_method_ends():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 12))
    problem = make(X, 100 * (X[:, 0] + rng.normal(size=60)), Huber(), L1(10.0))
    first, second = (solve(problem, name).parameters.w for name in ("interior_point", "ista"))
    assert 0 < np.count_nonzero(first) < 12
    np.testing.assert_array_equal(first == 0, second == 0)


def test_several_outputs_are_followed_side_by_side():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 20)) * (rng.random((80, 20)) < 0.3)
    Y = X @ rng.normal(size=(20, 2)) + 0.1 * rng.normal(size=(80, 2))
    problem = make(X, Y, EpsilonInsensitive(), L1(0.1))
    assert choose(problem) == "interior_point"
    both = solve(problem)
    assert both.status == "optimal"
    for k in range(2):
        alone = solve(make(X, np.ascontiguousarray(Y[:, k]), EpsilonInsensitive(), L1(0.1)))
        np.testing.assert_allclose(both.parameters.w[:, k], alone.parameters.w, atol=1e-9)


def classes(rng, n, d, K):
    """Labels that do not depend on the data: separable where d ≥ n, hopeless elsewhere."""
    X = rng.normal(size=(n, d))
    return X, rng.integers(0, K, n)


def test_polish_takes_no_more_products_than_a_solver(monkeypatch):
    X, y = classes(np.random.default_rng(0), 40, 90, 3)
    problem = Problem(Design(X), y, Softmax(), L2(1e-6), np.ones(40), True, 3)
    solution = run(registry["newton"], problem)
    counts = []
    times = Design.times
    monkeypatch.setattr(Design, "times", lambda *a: (counts.append(1), times(*a))[1])
    polish(problem, solution.parameters)
    assert len(counts) <= 1.1 * MOST_PRODUCTS


@pytest.mark.parametrize("K", [2, 3])
def test_wide_data_without_penalty_have_no_minimiser(K, monkeypatch):
    # More than a thousand coefficients, so that no direction is searched for.
    X, y = classes(np.random.default_rng(1), 60, 400 if K == 3 else 1100, K)
    loss, outputs = (Softmax(), 3) if K == 3 else (Logistic(), None)
    y = y if K == 3 else 2.0 * y - 1
    problem = Problem(Design(X), y, loss, NoPenalty(), np.ones(60), True, outputs)
    factorised = []
    eigenvectors = dual_points.eigenvectors
    monkeypatch.setattr(
        dual_points, "eigenvectors", lambda H: (factorised.append(1), eigenvectors(H))[1]
    )
    solution = solve(problem)
    assert "no minimiser exists" in certify(problem, solution.parameters).verdict
    # Nor does it take a solution to see that.
    w = 1e-3 * np.ones_like(solution.parameters.w)
    verdict = certify(problem, Parameters(w, solution.parameters.b)).verdict
    assert "no minimiser exists" in verdict
    assert not factorised


def test_a_narrow_lead_in_every_row_proves_that_there_is_no_minimiser():
    rng = np.random.default_rng(2)
    X, w = rng.normal(size=(300, 350)), rng.normal(size=(350, 3))
    X[:, 200:] = X[:, :150]  # so that the columns do not span all rows
    scores = X @ w
    problem = Problem(
        Design(X), np.argmax(scores, axis=1), Softmax(), NoPenalty(), np.ones(300), False, 3
    )
    verdict = certify(problem, Parameters(1e-3 * w, np.zeros(3))).verdict
    assert "no minimiser exists" in verdict


def test_dual_points_of_separable_classes_are_given_up_early(monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 10))
    y = np.argmax(X[:, :3], axis=1)
    problem = Problem(Design(X), y, Softmax(), NoPenalty(), np.ones(200), True, 3)
    rounds = []
    step = dual_points._joint_step
    monkeypatch.setattr(dual_points, "_joint_step", lambda *a: (rounds.append(1), step(*a))[1])
    z = problem.predictions(np.eye(10, 3), np.zeros(3))
    bound = problem.bound(-problem.derivative(z))
    assert bound.dual == problem.origin.dual
    assert len(rounds) <= 8


def test_groups_of_columns_in_units_far_apart_never_go_uphill():
    X, z = ill_conditioned(0, 80, 30)
    problem = make(X, 100 * z, Squared(), Group(0.01, np.arange(30) // 3), fit_bias=False)
    primal = run(registry["prox_newton"], problem, max_iter=60).trace.primal
    assert np.all(np.diff(primal) <= 1e-12 * primal[0])
    best = solve(make(X, 100 * z, Squared(), NoPenalty(), fit_bias=False)).primal
    assert primal[-1] <= best + 1e-3 * problem.scale


@pytest.mark.parametrize(
    ("loss", "penalty"),
    [
        (Squared(), Group(0.5, np.arange(24) // 3)),
        (Softmax(), ElasticNet(0.1, 0.5)),
        (Softmax(), Group(0.1)),
    ],
    ids=str,
)
def test_nearly_dependent_columns_are_certified(loss, penalty):
    rng = np.random.default_rng(4)
    X = np.cumsum(rng.normal(size=(80, 24)), axis=1) + 30 * rng.normal(size=24)
    z = X[:, :3] @ rng.normal(size=(3, 3)) + rng.normal(size=(80, 3))
    is_softmax = loss.task == "multiclass"
    y = np.argmax(z - z.mean(axis=0), axis=1) if is_softmax else 10 * z[:, 0]
    problem = Problem(Design(X), y, loss, penalty, np.ones(80), True, 3 if is_softmax else None)
    solution = solve(problem)
    assert solution.status == "optimal"
    assert certify(problem, solution.parameters).kind == "optimal"


@pytest.mark.parametrize("seed", range(3))
def test_where_one_solver_cannot_go_on_another_does(seed, monkeypatch):
    X, z = ill_conditioned(seed, 70, 16)
    problem = make(X, 100 * z, EpsilonInsensitive(), L2(0.1))
    assert choose(problem) == "augmented_lagrangian"
    lengths, steps = augmented_lagrangian._exact_length, itertools.count(1)
    monkeypatch.setattr(
        augmented_lagrangian, "_exact_length", lambda *given: (next(steps), lengths(*given))[1]
    )
    solution = solve(problem)
    assert certify(problem, solution.parameters).kind == "optimal"
    # It took up to 3,113 steps before it gave up.
    assert next(steps) <= 1000


@pytest.mark.parametrize(
    "penalty", [L1(6.0), ElasticNet(6.0, 0.5), Box(lower=0.0, penalty=L1(6.0))]
)
def test_columns_far_from_the_origin_have_the_coefficients_of_those_around_it(penalty):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 4))
    y = X @ [1.0, -1.0, 0.0, 0.5] + 0.3 * rng.normal(size=60)
    near, far = (
        solve(Problem(Design(X + c), y, Squared(), penalty, np.ones(60), True)) for c in (0.0, 1e8)
    )
    assert far.status == "optimal"
    np.testing.assert_allclose(far.parameters.w, near.parameters.w, atol=1e-5)
