"""Every nearest-neighbour estimator, in every form, keeps every promise."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import ClassifierMixin, RegressorMixin, clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

import gapless
from gapless import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors
from gapless._ground.threads import threads
from gapless.models.neighbors.searches import worthwhile_basis
from public_estimators import public_estimators

FORMS = [
    {},
    {"n_neighbors": 3, "weights": "distance", "ties": "nearest"},
    {"n_neighbors": 4, "weights": "squared_distance", "metric": "manhattan"},
    {"n_neighbors": 6, "metric": "cosine", "weights": lambda d: 1 / (1 + d)},
    {"n_neighbors": 4, "metric": "mixed", "ties": "nearest"},
    {"n_neighbors": 5, "metric": "mixed_euclidean", "weights": "distance"},
    {"n_neighbors": "loo", "p": 3},
    {"n_neighbors": "loo", "select": "1se", "ties": "nearest", "weights": "distance"},
    {"n_neighbors": 3, "metric": "canberra"},
]
CLASSES = public_estimators("neighbors", base=(ClassifierMixin, RegressorMixin))
CASES = [
    pytest.param(cls, form, id=f"{cls.__name__}-{k}")
    for cls in CLASSES
    for k, form in enumerate(FORMS)
]
every_form = pytest.mark.parametrize("cls, form", CASES)
every_class = pytest.mark.parametrize("cls", CLASSES)


def make_data(cls, n=70, d=4, seed=20240608):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    score = X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.normal(size=n)
    labels = np.array(["apple", "pear", "quince"])[np.digitize(score, [-0.5, 0.7])]
    return X, labels if is_classifier(cls()) else score


PROBES = np.random.default_rng(1).normal(size=(25, 4))


def answers(model, X=PROBES):
    return model.predict_proba(X) if is_classifier(model) else model.predict(X)


def assert_same_model(one, other):
    assert one.n_neighbors_ == other.n_neighbors_
    np.testing.assert_allclose(answers(other), answers(one), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        NearestNeighbors(),
        KNeighborsClassifier(),
        KNeighborsRegressor(),
        KNeighborsClassifier("loo", ties="nearest"),
        KNeighborsRegressor(metric="mixed"),
    ],
    ids=lambda model: repr(model),
)
def test_check_estimator_passes_with_no_expected_failures(model):
    results = check_estimator(model, on_skip=None, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert failed == {}
    assert sum(r["status"] == "passed" for r in results) > 30


# ---- the law of weights --------------------------------------------------------------------------


@every_form
def test_weight_is_repetition_and_zero_is_absence(cls, form):
    X, y = make_data(cls)
    weights = np.random.default_rng(2).integers(0, 4, size=len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    weighted = cls(**form).fit(X, y, sample_weight=weights)
    assert_same_model(cls(**form).fit(X[rows], y[rows]), weighted)


@every_form
@pytest.mark.usefixtures("no_verdict")
def test_estimate_obeys_the_law_of_weights_too(cls, form):
    X, y = make_data(cls)
    weights = np.random.default_rng(3).integers(0, 3, size=len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    one = cls(**form).fit(X, y, sample_weight=weights).generalization_
    other = cls(**form).fit(X[rows], y[rows]).generalization_
    assert one.unseen == pytest.approx(other.unseen, rel=1e-9)
    assert one.standard_error == pytest.approx(other.standard_error, rel=1e-9)


@every_class
def test_training_rows_of_weight_0_can_be_asked_for(cls):
    X, y = make_data(cls, n=40)
    weights = np.where(np.arange(40) < 4, 0, 1)
    some, whole = cls(3).fit(X[4:], y[4:]), cls(3).fit(X, y, weights)
    for of_some, of_whole in zip(some.kneighbors(), whole.kneighbors()):
        is_row = of_some.dtype.kind == "i"
        np.testing.assert_array_equal(of_whole[4:], of_some + 4 * is_row)
    np.testing.assert_array_equal(whole.kneighbors()[1][:4], whole.kneighbors(X[:4])[1])
    np.testing.assert_array_equal(whole.predict(None)[4:], some.predict(None))
    assert whole.score(None, y, weights) == pytest.approx(some.score(None, y[4:]))
    between = np.sqrt(np.sum((X[:, None] - X) ** 2, axis=2))
    given = cls(3, metric="precomputed").fit(between, y, weights)
    np.testing.assert_array_equal(given.kneighbors()[1], whole.kneighbors()[1])


@every_class
def test_parts_of_a_weight_count(cls):
    X, y = make_data(cls)
    halves = cls(4).fit(np.vstack([X, X]), np.concatenate([y, y]), np.full(2 * len(y), 0.5))
    assert_same_model(cls(4).fit(X, y), halves)


@every_form
@pytest.mark.usefixtures("no_verdict")
def test_order_of_rows_does_not_matter(cls, form):
    X, y = make_data(cls)
    order = np.random.default_rng(4).permutation(len(y))
    one, other = cls(**form).fit(X, y), cls(**form).fit(X[order], y[order])
    assert_same_model(one, other)
    assert one.generalization_.unseen == pytest.approx(other.generalization_.unseen, rel=1e-12)


@every_class
def test_order_of_equally_near_rows_does_not_matter_to_the_nearest(cls):
    rng = np.random.default_rng(5)
    X = rng.integers(0, 3, size=(60, 3)).astype(float)
    y = rng.integers(0, 3, size=60)
    order = rng.permutation(60)
    for k in (1, 4, 7):
        one = cls(k, ties="nearest").fit(X, y)
        other = cls(k, ties="nearest").fit(X[order], y[order])
        np.testing.assert_allclose(answers(one, X[:, :3]), answers(other, X[:, :3]), atol=1e-12)


# ---- both gaps -----------------------------------------------------------------------------------


@every_form
def test_leave_one_out_is_a_refit_without_each_row(cls, form):
    if form.get("n_neighbors") == "loo":
        form = form | {"n_neighbors": 7}
    X, y = make_data(cls, n=24)
    rows = np.r_[np.arange(24), [0, 5]]  # two rows that are there twice
    X, y = X[rows], y[rows]
    # Ranges of mixed rows count as given.
    extremes = np.vstack([np.full(4, -9.0), np.full(4, 9.0)])
    X = np.vstack([X, extremes])
    y = np.concatenate([y, y[:2]])
    held = cls(**form).fit(X, y)._fitted_to(X, y).held_out(None)
    for i in (0, 5, 11, 24):
        others = np.flatnonzero((X[i] != X).any(axis=1))
        refit = cls(**form).fit(X[others], y[others])
        found = answers(refit, X[i : i + 1]).reshape(1, -1)
        if held.shape[1] == found.shape[1]:
            np.testing.assert_allclose(held[i : i + 1], found, rtol=1e-12, atol=1e-12)


@every_class
def test_score_without_x_is_that_of_leave_one_out(cls):
    X, y = make_data(cls)
    model = cls().fit(X, y)
    assert model.generalization_.unseen == pytest.approx(model.score(None, y), rel=1e-12)
    assert model.generalization_.method == "loo"


@every_class
def test_certificate_says_that_nothing_is_minimised(cls):
    X, y = make_data(cls)
    model = cls().fit(X, y)
    assert model.certificate_.kind == gapless.certify(model, X, y).kind == "none"
    assert "nothing is minimised" in str(model.certificate_)
    with pytest.raises(ValueError, match="not the training data"):
        gapless.certify(model, X, y[::-1])
    with pytest.raises(ValueError, match="not the training data"):
        gapless.generalize(model, X + 1, y)


@every_class
def test_groups_and_time(cls):
    X, y = make_data(cls)
    model = cls(3).fit(X, y)
    groups = np.arange(len(y)) // 7
    found = gapless.generalize(model, X, y, groups=groups)
    # The same rows again and again look known; a group of them does not.
    repeated = np.repeat(np.arange(len(y)), 2)
    noisy = X[repeated] + 1e-9 * np.random.default_rng(0).normal(size=(2 * len(y), 4))
    twin = cls(1).fit(noisy, y[repeated])
    honest = gapless.generalize(twin, noisy, y[repeated], groups=repeated)
    assert twin.generalization_.unseen == pytest.approx(1.0)
    assert honest.unseen < 0.99
    assert found.method == "loo"
    assert gapless.generalize(model, X, y, time=np.arange(len(y))).method.startswith("forward")


# ---- choosing the number of neighbours -----------------------------------------------------------


@pytest.mark.parametrize("form", [{}, {"weights": "distance"}, {"ties": "nearest", "p": 1}])
@every_class
def test_choice_is_that_of_one_fit_for_each_number(cls, form):
    X, y = make_data(cls)
    model = cls("loo", **form).fit(X, y)
    tried = model.search_.values["n_neighbors"]
    assert tried[0] == 30 and tried[-1] == 1
    for at in (0, 13, 29):
        one = cls(int(tried[at]), **form).fit(X, y)
        if is_classifier(one):
            expected = one.score(None, y)
        else:
            expected = -np.mean((one.predict(None) - y) ** 2)
        assert model.search_.unseen[at] == pytest.approx(expected, rel=1e-9)
    best = tried[np.argmax(model.search_.unseen)]
    assert model.n_neighbors_ == best
    simple = cls("loo", select="1se", **form).fit(X, y)
    assert simple.n_neighbors_ >= best


def test_noise_stays_at_chance_after_the_choice():
    rng = np.random.default_rng(0)
    found = [
        KNeighborsClassifier("loo").fit(rng.normal(size=(60, 3)), rng.permutation(60) % 2)
        for _ in range(12)
    ]
    unseen = [model.generalization_.unseen for model in found]
    assert np.mean(unseen) < 0.5 + 3 * 0.07 / np.sqrt(12)
    assert all("corrected for selection" in model.generalization_.method for model in found)


@every_class
def test_time_limit_keeps_what_was_found(cls):
    X, y = make_data(cls, n=3000)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model = cls("loo", time_limit=1e-6).fit(X, y)
    assert model.n_neighbors_ == 5
    assert len(model.predict(PROBES)) == len(PROBES)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model = cls("loo", time_limit=1e-9).fit(X[:3], y[:3])
    assert len(model.predict(PROBES)) == len(PROBES)


# ---- data of every kind --------------------------------------------------------------------------


@every_form
def test_threads_do_not_change_a_bit(cls, form):
    X, y = make_data(cls)
    found = []
    for count in (1, 3):
        with threads(count):
            found.append(answers(cls(**form).fit(X, y)))
    np.testing.assert_array_equal(*found)


@every_class
@pytest.mark.usefixtures("no_verdict")
def test_sparse_is_dense(cls):
    X, y = make_data(cls)
    X, probes = np.where(np.abs(X) > 0.2, X, 0.0), np.where(np.abs(PROBES) > 0.2, PROBES, 0.0)
    for metric in ("euclidean", "cosine", "manhattan"):
        dense, sparse = cls(metric=metric).fit(X, y), cls(metric=metric).fit(sp.csr_matrix(X), y)
        np.testing.assert_allclose(answers(sparse, sp.csr_matrix(probes)), answers(dense, probes))
    assert sparse.generalization_.unseen == pytest.approx(dense.generalization_.unseen)


@every_class
def test_given_distances_are_those_of_rows(cls):
    X, y = make_data(cls)
    between = np.sqrt(np.sum((X[:, None] - X) ** 2, axis=2))
    to_probes = np.sqrt(np.sum((PROBES[:, None] - X) ** 2, axis=2))
    rows, given = cls().fit(X, y), cls(metric="precomputed").fit(between, y)
    np.testing.assert_allclose(answers(given, to_probes), answers(rows))
    assert given.generalization_.unseen == pytest.approx(rows.generalization_.unseen)
    weights = np.arange(len(y)) % 3
    weighted = cls(metric="precomputed").fit(between, y, weights)
    np.testing.assert_allclose(answers(weighted, to_probes), answers(cls().fit(X, y, weights)))


@every_class
def test_float32_is_nearly_float64(cls):
    X, y = make_data(cls)
    X32, probes = X.astype(np.float32), PROBES.astype(np.float32)
    one, other = cls().fit(X32, y), cls().fit(X32.astype(float), y)
    np.testing.assert_array_equal(answers(one, probes), answers(other, probes.astype(float)))


def make_table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "colour": rng.choice(["red", "green", None], size=n),
            "length": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "count": rng.integers(0, 9, size=n),
        }
    )
    return table, rng.integers(0, 2, size=n)


@pytest.mark.parametrize("metric", ["mixed", "mixed_euclidean"])
def test_tables_of_pandas_and_polars_are_alike(metric):
    table, y = make_table()
    one = KNeighborsClassifier(metric=metric).fit(table, y)
    other = KNeighborsClassifier(metric=metric).fit(pl.from_pandas(table), y)
    np.testing.assert_array_equal(
        one.predict_proba(table), other.predict_proba(pl.from_pandas(table))
    )
    assert list(one.feature_names_in_) == ["colour", "length", "count"]
    new = table.assign(colour="blue")
    np.testing.assert_allclose(one.kneighbors(new)[0].min(axis=1) >= 1, True)
    assert np.isfinite(one.generalization_.unseen)


@every_class
def test_several_outputs(cls):
    X, y = make_data(cls)
    Y = np.stack([y, y[::-1]], axis=1)
    both = cls().fit(X, Y)
    for k in range(2):
        one = cls().fit(X, Y[:, k])
        if is_classifier(both):
            np.testing.assert_array_equal(both.predict(PROBES)[:, k], one.predict(PROBES))
            np.testing.assert_array_equal(both.predict_proba(PROBES)[k], one.predict_proba(PROBES))
        else:
            np.testing.assert_allclose(both.predict(PROBES)[:, k], one.predict(PROBES), rtol=1e-12)


def test_several_outputs_of_several_classes_are_scored_together():
    X, y = make_data(KNeighborsClassifier)
    Y = np.stack([y, np.where(X[:, 0] > 0, "up", "down")], axis=1)
    for form in ({}, {"n_neighbors": "loo"}):
        model = KNeighborsClassifier(**form).fit(X, Y)
        hits = np.all(model.predict(None) == Y, axis=1)
        assert model.score(None, Y) == pytest.approx(hits.mean())
        found = model.generalization_
        assert found.metric == "accuracy" and 0.3 < found.unseen < 1
        if not form:
            assert found.unseen == pytest.approx(hits.mean())
            assert found.standard_error == pytest.approx(hits.std(ddof=1) / np.sqrt(len(hits)))
    with pytest.raises(ValueError, match="several labels"):
        model.predict_set(X)


@every_class
@pytest.mark.parametrize(
    "fitted, later",
    [
        ({"metric": "manhattan"}, {"metric": "chebyshev"}),
        ({"metric": "euclidean"}, {"metric": "mixed"}),
        ({"metric": "mixed"}, {"metric": "euclidean", "algorithm": "brute"}),
        ({"p": 1}, {"p": 3, "algorithm": "kd_tree", "leaf_size": 2}),
        ({"metric_params": {"w": np.arange(4.0)}}, {"metric_params": None}),
    ],
)
@pytest.mark.usefixtures("no_verdict")
def test_parameters_of_the_search_are_those_of_the_fit(cls, fitted, later, tmp_path):
    X, y = make_data(cls)
    model = cls(**fitted).fit(X, y)
    before, unseen = answers(model), model.generalization_.unseen
    changed = cls(**fitted).fit(X, y).set_params(**later)
    path = gapless.save(changed, tmp_path / "model")
    for other in (
        changed,
        copy.copy(changed),
        pickle.loads(pickle.dumps(changed)),
        gapless.load(path),
    ):
        np.testing.assert_array_equal(answers(other), before)
        assert gapless.generalize(other, X, y).unseen == unseen
    assert changed.generalization_.unseen == unseen
    again = changed.fit(X, y)
    np.testing.assert_array_equal(answers(again), answers(cls(**{**fitted, **later}).fit(X, y)))


@every_form
def test_copies_and_pickles_predict_the_same(cls, form):
    if callable(form.get("weights")):
        form = form | {"weights": "distance"}
    X, y = make_data(cls)
    model = cls(**form).fit(X, y)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(answers(other), answers(model))
        assert "_training" not in vars(other)
    assert set(vars(clone(model))) == set(model.get_params())


@every_class
def test_an_error_leaves_the_model_as_it_was(cls):
    X, y = make_data(cls)
    model = cls().fit(X, y)
    before = answers(model)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full_like(X, np.nan), y)
    np.testing.assert_array_equal(answers(model), before)


def test_intervals_and_sets_hold_about_as_many_as_asked():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = X[:, 0] + 0.5 * rng.normal(size=600)
    model = KNeighborsRegressor(10).fit(X[:300], y[:300])
    _, lower, upper = model.predict(X[300:], interval=0.8)
    assert 0.7 < np.mean((lower <= y[300:]) & (y[300:] <= upper)) < 0.9
    labels = (y > 0).astype(int)
    sets = KNeighborsClassifier(10).fit(X[:300], labels[:300]).predict_set(X[300:], 0.8)
    assert np.mean(sets[np.arange(300), labels[300:]]) > 0.7


def test_rows_are_projected_only_where_that_rules_out_most():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(400, 200))
    plane = rng.normal(size=(400, 5)) @ rng.normal(size=(5, 200))
    assert worthwhile_basis(noise, noise.mean(axis=0)) is None
    basis = worthwhile_basis(plane + 0.1 * noise, plane.mean(axis=0))
    assert basis is not None
    np.testing.assert_allclose(basis @ basis.T, np.eye(len(basis)), atol=1e-10)
