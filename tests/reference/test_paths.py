"""Paths and folds against single fits, refits and scikit-learn."""

import warnings

import matplotlib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import linear_model
from sklearn.datasets import make_regression
from sklearn.model_selection import KFold

from gapless import enet_path, lasso_path
from gapless._ground.design import Design
from gapless._ground.interrupt import time_limit
from gapless._ground.threads import threads
from gapless.certificates.certificate import certify
from gapless.losses import Logistic, Squared
from gapless.models.linear.path import Path
from gapless.penalties import L1, L2, Box, ElasticNet, Group
from gapless.problem.problem import Parameters, Problem
from gapless.solvers import lasso_folds, solve
from gapless.solvers import lasso_path as engine
from gapless.solvers.path import solve_folds, solve_path

matplotlib.use("Agg")


def wide(n=40, d=120, seed=0):
    """Correlated columns with a mean, one of them constant and two of them equal."""
    rng = np.random.default_rng(seed)
    X = np.cumsum(rng.normal(size=(n, d)), axis=1) + 3.0
    X[:, 5], X[:, 9] = 2.0, X[:, 8]
    return X, X[:, ::17] @ rng.normal(size=len(range(0, d, 17))) + rng.normal(size=n)


def problem(X, y, weights=None, fit_bias=True, outputs=None, loss=None):
    weights = np.ones(len(y)) if weights is None else weights
    return Problem(Design(X), y, loss or Squared(), L1(1.0), weights, fit_bias, outputs)


def falling(p, make, count=25, smallest=1e-3):
    """Penalties from where nothing is active, for a problem with a centred squared loss."""
    s = p.weights
    y = p.y - np.average(p.y, weights=s) if p.fit_bias else p.y
    mean = p.design.transposed_times(s) / s.sum() * p.fit_bias
    largest = np.max(np.abs(p.design.shifted(mean).transposed_times(s * y)))
    return [make(strength) for strength in np.geomspace(largest, smallest * largest, count)]


@pytest.fixture(params=["working sets", "all features"])
def both_ways(request, monkeypatch):
    """The same path on small working sets, with columns left out, or on all features."""
    if request.param == "working sets":
        monkeypatch.setattr(engine, "FEW_FEATURES", 5)
        monkeypatch.setattr(engine, "FEWEST_NEW", 4)


PENALTIES = {
    "lasso": L1,
    "elastic net": lambda strength: ElasticNet(strength, 0.4),
    "feature weights": lambda strength: L1(strength, weights=1 + np.arange(120.0) % 3),
    "signs": lambda strength: Box(lower=0.0, penalty=L1(strength)),
}


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize("make", PENALTIES.values(), ids=PENALTIES.keys())
@pytest.mark.parametrize("fit_bias", [True, False])
def test_points_of_a_path_are_single_fits(make, fit_bias):
    X, y = wide()
    weights = np.random.default_rng(1).integers(0, 4, len(y)).astype(float)
    p = problem(X, y, weights, fit_bias)
    penalties = falling(p, make)
    path = solve_path(p, penalties, tol=1e-9)
    assert path.status == "optimal"
    assert np.all(path.gaps <= 1e-9 * p.scale)
    for i in range(0, len(penalties), 6):
        part = Problem(p.design, y, p.loss, penalties[i], weights, fit_bias)
        single = solve(part, tol=1e-10)
        reached = part.primal(path.w[i], path.b[i])
        assert reached == pytest.approx(single.primal, abs=2e-9 * p.scale)
        # Predictions are unique where coefficients of equal columns are not.
        ours = part.predictions(path.w[i], path.b[i])
        theirs = part.predictions(single.parameters.w, single.parameters.b)
        np.testing.assert_allclose(ours, theirs, atol=1e-3 * np.ptp(y))


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize("ratio", [1.0, 0.5])
def test_gaps_of_a_path_are_those_of_certificates(ratio):
    X, y = wide()
    p = problem(X, y)
    penalties = falling(p, lambda strength: ElasticNet(strength, ratio))
    path = solve_path(p, penalties, tol=1e-3)
    for i, penalty in enumerate(penalties):
        part = Problem(p.design, y, p.loss, penalty, p.weights)
        gap = certify(part, Parameters(path.w[i], path.b[i])).gap
        assert path.gaps[i] <= 1e-3 * p.scale
        assert abs(gap - path.gaps[i]) <= 1e-10 * p.scale


@pytest.mark.usefixtures("both_ways")
def test_sparse_and_single_precision_give_the_same_path():
    X, y = wide()
    X = np.where(np.abs(X) > 4, np.round(4 * X) / 4, 0.0)
    p = problem(X, y)
    penalties = falling(p, L1)
    expected = solve_path(p, penalties, tol=1e-10).w
    for other in (np.asfortranarray(X), sp.csr_matrix(X), sp.csc_array(X), X.astype(np.float32)):
        w = solve_path(problem(other, y), penalties, tol=1e-10).w
        # Equal columns share their coefficient in any way.
        w[:, 8] += w[:, 9]
        np.testing.assert_allclose(w[:, 8], expected[:, 8] + expected[:, 9], atol=1e-6)
        np.testing.assert_allclose(np.delete(w, 9, 1)[:, 9:], expected[:, 10:], atol=1e-6)


@pytest.mark.usefixtures("both_ways")
def test_threads_do_not_change_the_bits():
    X, y = wide()
    p = problem(X, y)
    penalties = falling(p, L1)
    folds = list(KFold(4).split(X))
    results = []
    for count in (1, 4):
        with threads(count):
            path = solve_path(p, penalties, tol=1e-8)
            results.append((path.w, path.gaps, solve_folds(p, penalties, folds, tol=1e-8)))
    for one, four in zip(*results):
        assert np.array_equal(one, four)


def test_a_path_may_go_up_and_reach_no_penalty_at_all():
    X, y = wide(n=60, d=20)
    p = problem(X, y)
    up = [*falling(p, L1, 6)[::-1], L1(0.0), L2(1.0), ElasticNet(2.0, 0.5), L1(1e9)]
    path = solve_path(p, up, tol=1e-8)
    assert path.status == "optimal"
    assert np.all(path.gaps <= 1e-8 * p.scale)
    assert not path.w[-1].any()


@pytest.mark.parametrize("ratio", [1.0, 0.5])
def test_few_features_join_however_far_apart_the_strengths_are(ratio):
    rng = np.random.default_rng(0)
    p = problem(rng.normal(size=(60, 4000)), rng.normal(size=60))
    path = engine.LassoPath(p, 1e-5, 100)
    coordinates = [
        c.coordinates(p.d)
        for c in falling(p, lambda strength: ElasticNet(strength / ratio, ratio), count=4)
    ]
    points = []
    while len(points) < len(coordinates):
        points += path.solve(coordinates[len(points) :])
    assert all(point.is_optimal for point in points)
    # On the first few features, chosen for the largest strength, nearly all others look needed.
    assert len(path.features) < p.d / 4


@pytest.mark.parametrize("loss", [Logistic(), Squared()])
def test_other_losses_and_groups_start_from_the_last_point(loss):
    X, y = make_regression(60, 8, n_informative=3, noise=10.0, random_state=0)
    if loss.task == "binary":
        p, penalties = problem(X, np.sign(y), loss=loss), [L1(s) for s in (20.0, 5.0, 1.0)]
    else:
        p = problem(X, np.stack([y, -y], axis=1) / 50, outputs=2)
        penalties = [Group(s) for s in (50.0, 10.0, 1.0)]
    path = solve_path(p, penalties, tol=1e-9)
    assert path.w.shape == (3, *p.null.w.shape) and path.b.shape == (3, *p.null.b.shape)
    for i, penalty in enumerate(penalties):
        single = solve(Problem(p.design, p.y, loss, penalty, p.weights, True, p.outputs), tol=1e-10)
        np.testing.assert_allclose(path.w[i], single.parameters.w, atol=1e-6)


def test_what_ends_a_path_is_said_and_points_not_reached_have_no_gap():
    X, y = wide()
    p = problem(X, y)
    penalties = falling(p, L1)
    stopped = solve_path(p, penalties, callback=lambda trace, target: len(trace.gap) == 4)
    assert stopped.status == "callback"
    assert np.isfinite(stopped.gaps).tolist() == [True] * 4 + [False] * 21
    assert np.array_equal(stopped.w[-1], stopped.w[3])
    with time_limit(0.0):
        late = solve_path(p, penalties)
        assert np.isnan(solve_folds(p, penalties, list(KFold(3).split(X)))).all()
    assert late.status == "time_limit" and np.isinf(late.gaps).all() and not late.w.any()

    def interrupt(trace, target):
        raise KeyboardInterrupt

    assert solve_path(p, penalties, callback=interrupt).status == "interrupted"
    with pytest.raises(KeyboardInterrupt):
        solve_folds(p, penalties, list(KFold(3).split(X)), callback=interrupt)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("fit_bias", [True, False])
def test_folds_are_refits_without_their_rows(shared, fit_bias, monkeypatch):
    monkeypatch.setattr(lasso_folds, "MOST_FEATURES", 1000 if shared else 0)
    X, y = wide(n=90, d=12)
    X[:60, 3] = 1.0  # constant in a training part
    weights = np.random.default_rng(2).integers(0, 3, len(y)).astype(float)
    p = problem(X, y, weights, fit_bias)
    overlapping = [(np.arange(60), np.arange(60, 80)), (np.arange(30, 90), np.arange(10))]
    alphas = np.geomspace(3.0, 0.01, 7)
    z = solve_folds(p, lambda total: [L1(a * total) for a in alphas], overlapping, tol=1e-11)
    assert np.isnan(z[80:]).all() and np.isnan(z[10:60]).all()
    for train, test in overlapping:
        for i, alpha in enumerate(alphas):
            model = linear_model.Lasso(alpha, fit_intercept=fit_bias, tol=1e-12, max_iter=1_000_000)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(X[train], y[train], sample_weight=weights[train])
            np.testing.assert_allclose(z[test, i], model.predict(X[test]), rtol=1e-4, atol=1e-4)


def test_paths_of_scikit_learn():
    X, y = make_regression(50, 20, noise=5.0, random_state=0)
    for targets in (y, np.stack([y, y[::-1]], axis=1)):
        for ratio in (1.0, 0.5):
            options = {"l1_ratio": ratio, "alphas": 12, "return_n_iter": True}
            ours = enet_path(X, targets, tol=1e-12, **options)
            theirs = linear_model.enet_path(X, targets, tol=1e-12, max_iter=100_000, **options)
            np.testing.assert_allclose(ours[0], theirs[0])
            np.testing.assert_allclose(ours[1], theirs[1], atol=1e-6)
            assert ours[2].shape == theirs[2].shape and len(ours[3]) == len(theirs[3])
            sparse = enet_path(sp.csr_matrix(X), targets, tol=1e-12, **options)[1]
            np.testing.assert_allclose(ours[1], sparse, atol=1e-6)
    positive = lasso_path(X, y, positive=True, alphas=[0.1, 3.0])
    theirs = linear_model.lasso_path(X, y, positive=True, alphas=[0.1, 3.0], tol=1e-12)
    np.testing.assert_allclose(positive[1], theirs[1], atol=1e-7)


def test_path_functions_refuse_what_has_no_meaning():
    X, y = make_regression(20, 5, random_state=0)
    with pytest.raises(ValueError, match="Unexpected parameters"):
        lasso_path(X, y, normalize=True)
    with pytest.raises(ValueError, match="not allowed for multi-output"):
        lasso_path(X, np.stack([y, y], axis=1), positive=True)
    with pytest.raises(ValueError, match="Automatic alpha grid"):
        enet_path(X, y, l1_ratio=0)
    with pytest.warns(FutureWarning, match="n_alphas"):
        assert len(lasso_path(X, y, n_alphas=3)[0]) == 3
    assert np.all(lasso_path(X, 0 * y, alphas=3)[1] == 0)


def test_a_path_draws_its_numbers():
    strengths, coefficients = np.geomspace(1.0, 0.01, 5), np.outer(np.arange(5.0), [1.0, 0.0, -2.0])
    unseen, error = np.linspace(0.1, 0.5, 5), np.full(5, 0.05)
    path = Path(strengths, coefficients, np.zeros(5), np.zeros(5), unseen, error, chosen=3)
    above, below = path.plot(names=["a", "b", "c"])
    drawn = {line.get_label(): line.get_ydata() for line in above.get_lines()}
    np.testing.assert_array_equal(drawn["a"], coefficients[:, 0])
    np.testing.assert_array_equal(drawn["c"], coefficients[:, 2])
    assert "b" not in drawn
    np.testing.assert_array_equal(below.get_lines()[0].get_ydata(), unseen)
    assert below.get_lines()[1].get_xdata()[0] == strengths[3]
    assert below.get_ylabel() == "score on unseen rows"
    assert len(Path(strengths, coefficients, np.zeros(5), np.zeros(5)).plot()) == 1
    matplotlib.pyplot.close("all")
