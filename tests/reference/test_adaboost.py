"""AdaBoost against scikit-learn, its own definition, and every stump of small data."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.ensemble
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

import gapless
from gapless import AdaBoostClassifier, AdaBoostRegressor, DecisionTreeClassifier
from gapless._ground.threads import threads
from gapless.models.adaboost.margins import Margins, bound_of


def make_data(n=300, d=5, classes=2, seed=0):
    """Columns of different size, and classes that no single one of them determines."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.geomspace(0.1, 10, d)
    score = (X / np.geomspace(0.1, 10, d)) ** 2 @ rng.normal(size=d) + rng.normal(size=n)
    edges = np.quantile(score, np.arange(1, classes) / classes)
    return X, np.array(["ash", "elm", "oak"])[np.searchsorted(edges, score)]


# ---- scikit-learn --------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("rate", [1.0, 0.3])
def test_is_the_vote_of_scikit_learn(classes, rate):
    X, y = make_data(classes=classes)
    weights = np.random.default_rng(1).random(len(X))
    options = {"n_estimators": 30, "learning_rate": rate, "random_state": 0}
    ours = AdaBoostClassifier(**options).fit(X, y, weights)
    theirs = sklearn.ensemble.AdaBoostClassifier(**options).fit(X, y, weights)
    np.testing.assert_allclose(ours.estimator_weights_, theirs.estimator_weights_, rtol=1e-9)
    np.testing.assert_allclose(ours.estimator_errors_, theirs.estimator_errors_, rtol=1e-9)
    for name in ("decision_function", "predict_proba", "predict_log_proba"):
        expected = getattr(theirs, name)(X)
        np.testing.assert_allclose(getattr(ours, name)(X), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, rtol=1e-9)
    for one, other in zip(ours.staged_decision_function(X), theirs.staged_decision_function(X)):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    for one, other in zip(ours.estimators_, theirs.estimators_):
        assert one.random_state == other.random_state
        assert one.tree_.feature[0] == other.tree_.feature[0]
        assert one.tree_.threshold[0] == pytest.approx(other.tree_.threshold[0], rel=1e-6)


def test_the_fast_way_to_stumps_is_the_way_of_all_trees():
    X, y = make_data(classes=3)
    fast = AdaBoostClassifier(n_estimators=15).fit(X, y)
    # Another limit that does not bind makes it a tree like any other.
    slow = AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=1, max_leaf_nodes=9), n_estimators=15
    )
    slow.fit(X, y)
    np.testing.assert_allclose(slow.decision_function(X), fast.decision_function(X), rtol=1e-9)
    np.testing.assert_allclose(slow.trace_.loss, fast.trace_.loss, rtol=1e-9)
    assert (fast.certificate_.kind, slow.certificate_.kind) == ("bound", "none")


# ---- the exponential loss ------------------------------------------------------------------------


def test_trace_is_what_the_votes_of_two_classes_give():
    X, y = make_data()
    model = AdaBoostClassifier(n_estimators=20).fit(X, y)
    sign = np.where(y == model.classes_[1], 1.0, -1.0)
    F, total = np.zeros(len(y)), 0.0
    for k, (one, vote) in enumerate(zip(model.estimators_, model.estimator_weights_)):
        F += 0.5 * vote * np.where(one.predict(X) == model.classes_[1], 1.0, -1.0)
        total += vote
        assert model.trace_.loss[k] == pytest.approx(np.mean(np.exp(-sign * F)), rel=1e-12)
        margins = 2 * sign * F / total
        share = np.mean(margins[:, None] <= model.trace_.levels + 1e-8, axis=0)
        np.testing.assert_allclose(model.trace_.shares[k], share, atol=1e-12)
    errors = 1 - np.array(list(model.staged_score(X, y)))
    np.testing.assert_allclose(model.trace_.error, errors, atol=1e-12)
    assert np.all(model.trace_.loss >= model.trace_.error)
    # Freund and Schapire (1997), theorem 6, with equality since each step is the best one.
    e = model.estimator_errors_
    np.testing.assert_allclose(model.trace_.loss, np.cumprod(2 * np.sqrt(e * (1 - e))), rtol=1e-9)


def test_trace_of_many_classes_is_the_loss_of_samme():
    X, y = make_data(classes=3)
    model = AdaBoostClassifier(n_estimators=10, learning_rate=0.5).fit(X, y)
    one_hot = (y[:, None] == model.classes_) * 1.5 - 0.5  # 1 for the class, −½ for the others
    f = np.zeros((len(y), 3))
    for k, (one, vote) in enumerate(zip(model.estimators_, model.estimator_weights_)):
        # β = (K − 1)²/K·α in equation 8 of Zhu, Zou, Rosset and Hastie (2009).
        f += vote * 4 / 3 * ((one.predict(X)[:, None] == model.classes_) * 1.5 - 0.5)
        loss = np.mean(np.exp(-np.sum(one_hot * f, axis=1) / 3))
        assert model.trace_.loss[k] == pytest.approx(loss, rel=1e-12)
    errors = 1 - np.array(list(model.staged_score(X, y)))
    np.testing.assert_allclose(model.trace_.error, errors, atol=1e-12)


def test_steps_are_the_best_along_their_learner():
    X, y = make_data(classes=3)
    model = AdaBoostClassifier(n_estimators=1).fit(X, y)
    wrong = model.estimators_[0].predict(X) != y

    def loss(vote):
        return np.mean(np.exp(np.where(wrong, vote / 3, -vote * 2 / 3)))

    best = minimize(loss, 0.0, tol=1e-12).x[0]
    assert model.estimator_weights_[0] == pytest.approx(best, rel=1e-5)


def test_plot_draws_the_trace():
    import matplotlib

    matplotlib.use("Agg")
    X, y = make_data()
    trace = AdaBoostClassifier(n_estimators=12).fit(X, y).trace_
    left, right = trace.plot()
    drawn = {line.get_label(): line.get_ydata() for line in left.get_lines()}
    np.testing.assert_array_equal(drawn["exponential loss"], trace.loss)
    np.testing.assert_array_equal(drawn["training error"], trace.error)
    last = next(line for line in right.get_lines() if line.get_label() == "round 12")
    np.testing.assert_array_equal(last.get_ydata(), trace.shares[-1])
    matplotlib.pyplot.close("all")


# ---- the bound -----------------------------------------------------------------------------------


def all_stumps(X, y, classes):
    """Which rows each stump gets right, (stumps, n): all splits with all pairs of classes."""
    right = []
    for column in X.T:
        for edge in [*np.unique(column)[:-1], np.inf]:
            for left, other in itertools.product(range(classes), repeat=2):
                right.append(np.where(column <= edge, left, other) == y)
    return np.unique(np.array(right), axis=0).astype(float)


def least_loss(right, shares, classes, total):
    """The least log-loss of votes of at most this total weight, by an independent solver."""

    def log_loss(votes):
        m = votes @ (right - 1 / classes)
        e = shares * np.exp(-m)
        return np.log(e.sum()), -(right - 1 / classes) @ (e / e.sum())

    limit = {"type": "ineq", "fun": lambda v: total - v.sum(), "jac": lambda v: -np.ones_like(v)}
    found = minimize(
        log_loss,
        np.full(len(right), total / len(right)),
        jac=True,
        bounds=[(0, None)] * len(right),
        constraints=[limit],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-10},
    )
    return found.fun


@pytest.mark.parametrize("classes", [2, 3])
def test_no_vote_as_heavy_is_below_the_bound(classes):
    X, y = make_data(n=24, d=2, classes=classes)
    weights = np.random.default_rng(3).random(len(X)) + 0.5
    model = AdaBoostClassifier(n_estimators=8).fit(X, y, weights)
    position = np.searchsorted(model.classes_, y)
    shares = weights / weights.sum()
    total = model.estimator_weights_.sum()
    least = np.exp(least_loss(all_stumps(X, position, classes), shares, classes, total))
    certificate = model.certificate_
    assert certificate.kind == "bound"
    assert certificate.dual <= weights.sum() * least * (1 + 1e-6)
    assert certificate.primal >= weights.sum() * least * (1 - 1e-6)
    assert certificate.primal == pytest.approx(weights.sum() * model.trace_.loss[-1], rel=1e-12)
    assert certificate.gap >= certificate.primal - weights.sum() * least


def test_the_bound_is_reached_where_one_stump_is_all():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    model = AdaBoostClassifier().fit(X, [0, 0, 1, 1])
    assert len(model.estimators_) == 1
    assert model.certificate_.gap <= 1e-12 * model.certificate_.scale


def test_wrong_weights_only_lower_the_bound():
    X, y = make_data()
    model = AdaBoostClassifier(n_estimators=25).fit(X, y)
    stored = gapless.certify(model, X, y)
    assert stored.dual == pytest.approx(model.certificate_.dual, rel=1e-12)
    for wrong in (
        np.random.default_rng(0).random(len(X)),
        -model.dual_,
        np.full(len(X), np.nan),
        np.ones(3),
    ):
        model.dual_ = wrong
        again = gapless.certify(model, X, y)
        assert again.dual <= stored.dual * (1 + 1e-12)
        assert again.primal == stored.primal


def test_changed_votes_and_other_data_are_found():
    X, y = make_data()
    model = AdaBoostClassifier(n_estimators=10).fit(X, y)
    before = model.certificate_.primal
    model.estimator_weights_ = model.estimator_weights_ * 0.5
    assert gapless.certify(model, X, y).primal > before
    with pytest.raises(ValueError, match="not the training data"):
        gapless.certify(model, X, y[::-1])


def test_edges_count_every_stump():
    X, y = make_data(n=30, d=2)
    model = AdaBoostClassifier(n_estimators=5).fit(X, y)
    data = model._training[0]
    rows = model._distinct(data)
    stumps, margins = model._stumps(data, rows), model._no_votes(data, rows)
    right = all_stumps(X[rows.first], margins.y, 2)
    rng = np.random.default_rng(0)
    for _ in range(5):
        d = rng.dirichlet(np.ones(len(margins.y)) * 0.3)
        assert stumps.largest_accuracy(d) == pytest.approx(np.max(right @ d), rel=1e-12)
    assert bound_of(stumps, margins, None).log_loss == pytest.approx(0.0, abs=1e-12)


# ---- rows and weights ----------------------------------------------------------------------------

CASES = [
    pytest.param(AdaBoostClassifier(n_estimators=12), id="stumps"),
    pytest.param(
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=5), id="trees"
    ),
    pytest.param(AdaBoostClassifier(LogisticRegression(), n_estimators=4), id="logistic"),
    pytest.param(AdaBoostRegressor(n_estimators=6, random_state=3), id="regression"),
]


def targets_of(model, n=120):
    X, y = make_data(n, classes=3)
    X = np.round(X, 1)
    return X, (y if isinstance(model, AdaBoostClassifier) else X[:, 1] + (y == "elm"))


@pytest.mark.parametrize("model", CASES)
def test_weights_are_repetitions_and_order_is_nothing(model):
    X, y = targets_of(model)
    weights = np.random.default_rng(0).integers(0, 4, len(X))
    repeated = np.random.default_rng(1).permutation(np.repeat(np.arange(len(X)), weights))
    expected = model.fit(X[repeated], y[repeated])._mean_of_members(X)
    shares = model.fit(X, y, sample_weight=weights)._mean_of_members(X)
    np.testing.assert_array_equal(shares, expected)
    again = model.fit(X[::-1], y[::-1], sample_weight=weights[::-1])
    np.testing.assert_array_equal(again._mean_of_members(X), expected)


@pytest.mark.parametrize("model", CASES)
def test_sparse_is_dense(model):
    X, y = targets_of(model)
    X[np.abs(X) < 0.5] = 0.0
    expected = model.fit(X, y)._mean_of_members(X)
    sparse = model.fit(sp.csc_array(X), y)._mean_of_members(sp.csr_array(X))
    np.testing.assert_allclose(sparse, expected, atol=1e-6)


def test_same_bits_for_any_number_of_threads():
    X, y = make_data(6000)
    models = []
    for count in (1, 3):
        with threads(count):
            models.append(AdaBoostClassifier(n_estimators=8).fit(X, y))
    np.testing.assert_array_equal(models[0].estimator_weights_, models[1].estimator_weights_)
    assert models[0].certificate_ == models[1].certificate_


def test_rows_with_vanishing_weights_keep_some():
    margins = Margins(np.array([0, 1, 1]), np.array([1.0, 2.0, 4.0]), 2)
    margins.add(2000.0, np.array([1, 1, 1]))
    d = margins.distribution()
    assert d[0] == pytest.approx(1.0)
    assert d[2] == pytest.approx(2 * d[1])
    assert d[1] > 0


def make_table(n=200):
    """Numbers and categories, some of both missing."""
    rng = np.random.default_rng(0)
    town = rng.choice(["Bonn", "Köln", "Trier", None], n, p=[0.3, 0.3, 0.3, 0.1])
    age = np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n))
    table = pd.DataFrame({"age": age, "town": pd.Categorical(town)})
    return table, ((table["age"] > 0) & (table["town"] != "Bonn")).to_numpy()


def test_the_fast_way_to_stumps_on_tables_is_the_way_of_all_trees():
    table, y = make_table()
    weights = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    y = y ^ (np.random.default_rng(2).random(len(y)) < 0.2)
    fast = AdaBoostClassifier(n_estimators=15).fit(table, y, weights)
    slow = AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=1, max_leaf_nodes=9), n_estimators=15
    ).fit(table, y, weights)
    new = pd.concat([table, pd.DataFrame({"age": [np.nan, 0.1], "town": ["Rom", None]})])
    np.testing.assert_allclose(slow.decision_function(new), fast.decision_function(new), rtol=1e-9)
    np.testing.assert_allclose(
        slow.feature_importances_, fast.feature_importances_, rtol=1e-6, atol=1e-9
    )
    assert (fast.certificate_.kind, slow.certificate_.kind) == ("bound", "none")
    assert gapless.certify(fast, table, y, weights).dual == fast.certificate_.dual


def test_the_bound_counts_every_subset_of_levels():
    rng = np.random.default_rng(0)
    towns, y = rng.choice(list("abcde"), 40), rng.integers(0, 2, 40)
    model = AdaBoostClassifier(n_estimators=6).fit(pd.DataFrame({"town": towns}), y)
    subsets = itertools.product([0, 1], repeat=5)
    right = np.array(
        [np.array(said)[np.searchsorted(list("abcde"), towns)] == y for said in subsets]
    )
    total = model.estimator_weights_.sum()
    least = np.exp(least_loss(right.astype(float), np.full(40, 1 / 40), 2, total))
    certificate = model.certificate_
    assert certificate.dual <= 40 * least * (1 + 1e-6)
    assert certificate.primal >= 40 * least * (1 - 1e-6)
    # One stump that gives each level its majority is the best of all, so that the bound is sharp.
    assert certificate.gap < 0.05 * certificate.scale


def test_missing_values_of_new_rows_go_with_the_majority():
    X, y = np.arange(10.0)[:, None], np.arange(10) > 6
    model = AdaBoostClassifier(n_estimators=1).fit(X, y)
    assert not model.predict([[np.nan]])[0]


def test_tables_with_categories_and_missing_values():
    table, y = make_table()
    model = AdaBoostClassifier(n_estimators=10).fit(table, y)
    assert model.score(table, y) > 0.9
    assert list(model.feature_names_in_) == ["age", "town"]
    assert model.generalization_.unseen > 0.8


# ---- endings -------------------------------------------------------------------------------------


def test_time_limit_keeps_the_rounds_that_are_done():
    X, y = make_data(2000)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model = AdaBoostClassifier(n_estimators=100_000, time_limit=0.05).fit(X, y)
    done = len(model.estimators_)
    assert 1 <= done < 100_000
    assert len(model.trace_) == done
    assert not model.estimator_weights_[done:].any()
    assert model.certificate_.verdict.startswith(f"stopped after {done} of 100000 rounds")
    assert gapless.certify(model, X, y).primal == pytest.approx(model.certificate_.primal)


class Interrupting(DecisionTreeClassifier):
    """A learner whose third fit is interrupted."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        Interrupting.fits += 1
        if Interrupting.fits == 3:
            raise KeyboardInterrupt
        return super().fit(X, y, sample_weight=sample_weight)


def test_ctrl_c_keeps_the_rounds_that_are_done():
    X, y = make_data()
    model = AdaBoostClassifier(Interrupting(max_depth=2), n_estimators=9)
    Interrupting.fits = 0
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert len(model.estimators_) == len(model.trace_) == 2
    assert gapless.certify(model, X, y).primal == pytest.approx(model.certificate_.primal)


def test_generalization_is_by_boosting_again():
    X, y = make_data()
    result = AdaBoostClassifier(n_estimators=10).fit(X, y).generalization_
    assert result.method.startswith("5-fold")
    assert 0.5 < result.unseen < result.train


# ---- numbers -------------------------------------------------------------------------------------


def test_regression_follows_its_definition():
    X, y = make_data()[0], make_data(classes=3)[0][:, 0] ** 2
    for loss in ("linear", "square", "exponential"):
        model = AdaBoostRegressor(n_estimators=8, loss=loss, random_state=0).fit(X, y)
        weights = np.full(len(X), 1 / len(X))
        for one, vote, error in zip(
            model.estimators_, model.estimator_weights_, model.estimator_errors_
        ):
            part = np.abs(one.predict(X) - y)
            part /= part.max()
            part = {"linear": part, "square": part**2, "exponential": 1 - np.exp(-part)}[loss]
            e = weights @ part
            assert error == pytest.approx(e, rel=1e-9)
            assert vote == pytest.approx(np.log((1 - e) / e), rel=1e-9)
            weights *= (e / (1 - e)) ** (1 - part)
            weights /= weights.sum()
        said = np.array([one.predict(X) for one in model.estimators_])
        votes = model.estimator_weights_[: len(said)]
        for row in range(5):
            order = np.argsort(said[:, row])
            middle = np.searchsorted(np.cumsum(votes[order]), votes.sum() / 2)
            assert model.predict(X)[row] == said[order[middle], row]
        assert [*model.staged_score(X, y)][-1] == pytest.approx(model.score(X, y))


def test_regression_scores_like_scikit_learn():
    X, y = make_data(400)[0], make_data(400, classes=3)[0][:, 0] ** 2
    ours = [AdaBoostRegressor(random_state=k).fit(X, y).score(X, y) for k in range(4)]
    theirs = [
        sklearn.ensemble.AdaBoostRegressor(random_state=k).fit(X, y).score(X, y) for k in range(4)
    ]
    assert np.mean(ours) == pytest.approx(np.mean(theirs), abs=3 * (np.std(theirs) + np.std(ours)))


# ---- errors --------------------------------------------------------------------------------------


def test_errors_say_what_to_do():
    X, y = make_data(40)
    with pytest.raises(ValueError, match="KNeighborsClassifier doesn't support sample_weight"):
        from sklearn.neighbors import KNeighborsClassifier

        AdaBoostClassifier(KNeighborsClassifier()).fit(X, y)
    with pytest.raises(ValueError, match="one output"):
        AdaBoostClassifier().fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="worse than random"):
        AdaBoostClassifier(LogisticRegression(C=1e-9)).fit([[0.0]] * 4, [0, 0, 1, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AdaBoostClassifier(n_estimators=3).fit(X, y)
