"""KMeans of tables in parts: the steps of the fit in memory, whatever reads the parts."""

import numpy as np
import polars as pl
import pytest

import gapless
from gapless import KMeans, in_parts
from gapless._ground.interrupt import TimeLimit
from gapless.streaming import first_look

N, ROWS = 600, 64


@pytest.fixture
def X(rng):
    """Four clusters in 3 columns, far from 0; those of the first part are of one cluster."""
    of = rng.integers(0, 4, N)
    of[:ROWS] = 0
    places = np.array([[0.0, 0.0, 0.0], [8.0, 0.0, 0.0], [0.0, 9.0, 0.0], [0.0, 0.0, 10.0]])
    return rng.normal(size=(N, 3)) + places[of] + 40.0


def assert_same(memory, parts):
    assert np.allclose(memory.cluster_centers_, parts.cluster_centers_, rtol=0, atol=1e-8)
    assert np.array_equal(memory.labels_, parts.labels_)
    assert np.isclose(memory.inertia_, parts.inertia_, rtol=1e-8)
    assert np.allclose(memory.inertias_, parts.inertias_, rtol=1e-8)
    assert memory.n_iter_ == parts.n_iter_
    assert np.allclose(memory.trace_.objective, parts.trace_.objective, rtol=1e-8)
    for name in ("kind", "primal", "dual", "gap"):
        ours, theirs = (getattr(model.certificate_, name) for model in (memory, parts))
        assert ours == theirs if isinstance(ours, str) else np.isclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_clusters": 4, "random_state": 0},
        {"n_clusters": 5, "random_state": 1, "tol": 0.0, "n_init": 3},
        {"n_clusters": 4, "init": "random", "n_init": 1, "random_state": 2, "max_iter": 2},
        {"n_clusters": 1},
        {"n_clusters": "auto", "random_state": 0},
    ],
    ids=str,
)
def test_steps_in_parts_are_those_in_memory(X, parameters):
    weights = np.arange(N) % 3.0
    memory = KMeans(**parameters).fit(X, sample_weight=weights)
    parts = in_parts(X, rows=ROWS)
    model = KMeans(**parameters).fit(parts, sample_weight=weights)
    assert_same(memory, model)
    assert np.all(np.diff(model.trace_.objective) <= 1e-9 * model.inertia_)
    assert gapless.certify(model, parts, None, weights).kind == model.certificate_.kind
    assert np.array_equal(model.predict(parts), model.labels_)
    assert np.allclose(model.transform(parts), memory.transform(X), atol=1e-8)
    assert model.generalization_.train == pytest.approx(memory.generalization_.train, abs=1e-8)


def test_empty_clusters_get_the_rows_that_are_farthest(X):
    X = np.vstack([X, X[-3:]])
    init = np.vstack([X[:2], np.full((2, 3), 1e4), X[0] + 1e3])
    options = {"n_clusters": 5, "init": init, "tol": 0.0}
    weights = np.r_[np.ones(N), [2.0, 0.0, 1.0]]
    memory = KMeans(**options).fit(X, sample_weight=weights)
    assert_same(memory, KMeans(**options).fit(in_parts(X, rows=ROWS), sample_weight=weights))


def test_fewer_distinct_rows_than_clusters():
    X = np.repeat([[0.0], [1.0]], 20, axis=0)
    with pytest.warns(UserWarning, match="distinct clusters"):
        model = KMeans(3, init=np.array([[0.0], [1.0], [5.0]])).fit(in_parts(X, rows=7))
    assert model.inertia_ == 0.0
    assert model.certificate_.kind == "exact"


def test_weights_are_repeated_rows_and_steps_begin_on_a_sample(X, monkeypatch):
    monkeypatch.setattr(first_look, "SAMPLE_ROWS", 100)
    for weights in (np.arange(N) % 3, np.arange(N) // 2 % 3):  # none, and most of the sample
        _check_weights(X, weights)


def _check_weights(X, weights):
    model = KMeans(4, random_state=0, tol=0.0).fit(in_parts(X, rows=ROWS), sample_weight=weights)
    best = KMeans(4, random_state=0, tol=0.0).fit(X, sample_weight=weights)
    assert np.isclose(model.inertia_, best.inertia_, rtol=1e-9)
    assert model.n_iter_ <= 4
    repeated = in_parts(np.repeat(X, weights, axis=0), rows=ROWS)
    again = KMeans(4, init=model.cluster_centers_, tol=0.0).fit(repeated)
    assert np.allclose(again.cluster_centers_, model.cluster_centers_, atol=1e-9)
    assert model.generalization_.kind == "balanced"
    assert "as a sample of" in model.generalization_.verdict


def test_files_give_the_bits_of_arrays(X, tmp_path):
    path = tmp_path / "rows.parquet"
    pl.DataFrame(X, schema=["a", "b", "c"]).with_columns(y=pl.lit("word")).write_parquet(path)
    of_file = KMeans(4, random_state=0).fit(in_parts(path, rows=ROWS), "y")
    of_array = KMeans(4, random_state=0).fit(in_parts(X, rows=ROWS))
    assert np.array_equal(of_file.cluster_centers_, of_array.cluster_centers_)
    assert of_file.generalization_ == of_array.generalization_
    assert list(of_file.feature_names_in_) == ["a", "b", "c"]
    assert np.array_equal(of_file.predict(path), of_array.labels_)


def test_held_out_centres_are_means_without_the_fold(X):
    model = KMeans(4, random_state=0, tol=0.0).fit(in_parts(X, rows=ROWS))
    fold = np.arange(N) // ROWS % 5
    left = plain = 0.0
    for f in range(5):
        own, out = fold != f, fold == f
        centers = [X[own & (model.labels_ == j)].mean(axis=0) for j in range(4)]
        left += np.sum(np.min([np.sum((X[out] - c) ** 2, axis=1) for c in centers], axis=0))
        plain += np.sum((X[out] - X[own].mean(axis=0)) ** 2)
    assert np.isclose(model.generalization_.unseen, 1 - left / plain, rtol=1e-9)


def test_many_columns_wait_for_their_certificate(rng):
    X = rng.normal(size=(200, 40))
    model = KMeans(3, random_state=0).fit(in_parts(X, rows=ROWS))
    assert "certificate_" not in vars(model)
    memory = KMeans(3, random_state=0).fit(X)
    assert np.isclose(model.certificate_.dual, memory.certificate_.dual, rtol=1e-8)


def test_limits_and_bad_input(X):
    with pytest.raises(TimeLimit):
        KMeans(4, time_limit=1e-9).fit(in_parts(X, rows=ROWS))
    with pytest.raises(ValueError, match="n_samples=64 should be >= n_clusters=70"):
        KMeans(70).fit(in_parts(X[:64]))
    with pytest.raises(ValueError, match="does not match the number of clusters"):
        KMeans(3, init=np.zeros((2, 3))).fit(in_parts(X))
    X[99, 1] = np.inf
    with pytest.raises(ValueError, match="inf in row 99, column 1"):
        KMeans(2).fit(in_parts(X, rows=ROWS))
    one = KMeans(2, random_state=0).fit(in_parts(X[:50]))
    assert one.generalization_.kind == "unknown"
