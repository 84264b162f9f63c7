"""Components of tables in parts: those of the fit in memory, certified and judged from sums."""

import pickle

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

import gapless
from gapless import PCA, TruncatedSVD, in_parts

ATTRIBUTES = (
    "components_",
    "explained_variance_",
    "explained_variance_ratio_",
    "singular_values_",
    "mean_",
    "noise_variance_",
)


@pytest.fixture
def X(rng):
    """500 rows in 6 columns, far from 0, on a plane of 3 dimensions but for noise."""
    shape = rng.normal(size=(3, 6)) * np.array([[5.0], [3.0], [2.0]])
    return rng.normal(size=(500, 3)) @ shape + 0.3 * rng.normal(size=(500, 6)) + 20.0


def assert_same(a, b, atol=1e-8):
    for name in ATTRIBUTES:
        if hasattr(a, name):
            assert np.allclose(getattr(a, name), getattr(b, name), rtol=1e-8, atol=atol), name


@pytest.mark.parametrize(
    "model",
    [
        PCA(),
        PCA(2, whiten=True),
        PCA(0.9),
        PCA("mle"),
        TruncatedSVD(2),
        TruncatedSVD(3, algorithm="arpack"),
    ],
    ids=repr,
)
def test_components_in_parts_are_those_in_memory(X, model):
    weights = np.arange(len(X)) % 3.0
    memory = clone(model).fit(X, sample_weight=weights)
    model.fit(in_parts(X, rows=64), sample_weight=weights)
    assert_same(memory, model)
    assert model.certificate_.kind == "optimal"
    assert np.isclose(model.certificate_.primal, memory.certificate_.primal, rtol=1e-8, atol=1e-6)
    assert model.solver_ == "covariance_eigh"


def test_files_give_the_bits_of_arrays(X, tmp_path):
    path = tmp_path / "rows.parquet"
    names = [f"c{j}" for j in range(6)]
    pl.DataFrame(X, schema=names).with_columns(y=pl.lit("word")).write_parquet(path)
    of_file = PCA(3).fit(in_parts(path, rows=64), "y")
    of_array = PCA(3).fit(in_parts(X, rows=64))
    assert np.array_equal(of_file.components_, of_array.components_)
    assert list(of_file.feature_names_in_) == names
    assert np.array_equal(of_file.transform(in_parts(path, rows=64)), of_array.transform(X))
    assert of_file.generalization_ == of_array.generalization_
    assert PCA(3).fit(path, "y").n_features_in_ == 6


def test_a_part_in_a_part_out(X):
    parts = in_parts(X, rows=64)
    model = PCA(3).fit(parts)
    Z = model.transform(parts)
    assert np.array_equal(Z, np.concatenate(list(parts.map(model.transform))))
    assert np.allclose(model.inverse_transform(in_parts(Z, rows=50)), model.inverse_transform(Z))
    assert np.allclose(model.score_samples(parts), model.score_samples(X))
    assert np.allclose(TruncatedSVD(2).fit_transform(parts), TruncatedSVD(2).fit_transform(X))
    assert np.allclose(PCA(2).fit_transform(parts), PCA(2).fit_transform(X))


def test_weights_are_repeated_rows(X):
    repeated = np.repeat(X, np.arange(len(X)) % 3, axis=0)
    weighted = PCA(3).fit(in_parts(X, rows=64), sample_weight=np.arange(len(X)) % 3)
    assert_same(PCA(3).fit(in_parts(repeated, rows=64)), weighted)


def test_held_out_folds_are_real_refits(X):
    rows = 64
    model = PCA(2).fit(in_parts(X, rows=rows))
    fold = np.arange(len(X)) // rows % 5
    left, plain = 0.0, 0.0
    for f in range(5):
        train, test = X[fold != f], X[fold == f]
        held = PCA(2).fit(train)
        left += np.sum((test - held.inverse_transform(held.transform(test))) ** 2)
        plain += np.sum((test - train.mean(axis=0)) ** 2)
    found = model.generalization_
    assert np.isclose(found.unseen, 1 - left / plain, rtol=1e-9)
    assert found.method == "5 folds of parts"
    assert found.kind == "under-fitted"  # the third dimension is missing
    assert PCA(3).fit(in_parts(X, rows=rows)).generalization_.kind == "balanced"


def test_cross_validation_of_the_count_by_folds_of_parts(X):
    rows = 100
    model = PCA("cv").fit(in_parts(X, rows=rows))
    assert model.n_components_ == 3
    fold = np.arange(len(X)) // rows
    expected = 0.0
    for f in range(5):
        V = PCA(2).fit(X[fold != f]).components_.T
        away = X[fold == f] - X[fold != f].mean(axis=0)
        errors = (away - away @ V @ V.T) / (1 - np.sum(V**2, axis=1))
        expected += np.sum(errors**2) / len(X)
    assert np.isclose(model.held_out_errors_[2], expected, rtol=1e-9)


def test_certify_in_parts_knows_other_rows(X):
    parts = in_parts(X, rows=64)
    model = PCA(2).fit(parts)
    assert gapless.certify(model, parts).kind == "optimal"
    assert gapless.certify(PCA(2).fit(X), parts).kind == "optimal"
    assert gapless.certify(model, in_parts(X[:, ::-1], rows=64)).kind == "stopped"
    model.components_ = model.components_[::-1] + 0.01
    assert gapless.certify(model, parts).kind == "stopped"


def test_pickles_and_later_fits_know_nothing_of_parts(X):
    model = PCA(2).fit(in_parts(X, rows=64))
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.transform(X), model.transform(X))
    with pytest.raises(AttributeError, match="no longer holds"):
        _ = copy.generalization_
    model.fit(X)
    assert model.generalization_.method == "5-fold"


def test_bad_input_is_named(X):
    X[123, 4] = np.nan
    with pytest.raises(ValueError, match="a missing value in row 123, column 4"):
        PCA().fit(in_parts(X, rows=64))
    model = PCA().fit(X[:100])
    with pytest.raises(ValueError, match="a missing value in row 123, column 4"):
        model.transform(in_parts(X, rows=64))
    with pytest.raises(ValueError, match="5 features, but PCA is expecting 6"):
        model.transform(in_parts(X[:, :5]))
    with pytest.raises(ValueError, match="must be <= n_features"):
        TruncatedSVD(9).fit(in_parts(X))
    with pytest.raises(ValueError, match="needs several parts"):
        PCA("cv").fit(in_parts(X[:50]))
    assert PCA(2).fit(in_parts(X[:50])).generalization_.kind == "unknown"


def test_few_rows_and_equal_rows():
    few = np.array([[1.0, 2.0, 4.0], [2.0, 0.0, 1.0]])
    # Of what does not vary, the root of the rounding of a square is left.
    assert_same(PCA().fit(few), PCA().fit(in_parts(few, rows=1)), atol=1e-7)
    equal = np.full((20, 3), 0.1)
    memory, parts = PCA().fit(equal), PCA().fit(in_parts(equal, rows=6))
    assert "the rows are equal, and nothing varies" in parts.certificate_.verdict
    assert np.array_equal(parts.components_, memory.components_)
