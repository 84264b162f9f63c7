"""Bayes classifiers of tables in parts: those in memory, certified and judged by sums."""

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

import gapless
from gapless import (
    BernoulliNB,
    ComplementNB,
    GaussianNB,
    LinearDiscriminantAnalysis,
    MultinomialNB,
    QuadraticDiscriminantAnalysis,
    in_parts,
)
from in_one_test import for_each

N, ROWS = 400, 32
OF_COUNTS = (
    MultinomialNB(alpha=0.5),
    MultinomialNB(fit_prior=False),
    ComplementNB(),
    ComplementNB(norm=True),
    BernoulliNB(binarize=1.0),
)
OF_NUMBERS = (
    GaussianNB(),
    GaussianNB(priors=[0.2, 0.3, 0.5], var_smoothing=1e-3),
    LinearDiscriminantAnalysis(),
    LinearDiscriminantAnalysis(store_covariance=True, priors=[0.2, 0.3, 0.5]),
    LinearDiscriminantAnalysis("lsqr"),
    LinearDiscriminantAnalysis("eigen", shrinkage=0.2, priors=[0.2, 0.3, 0.5]),
    QuadraticDiscriminantAnalysis(store_covariance=True),
    QuadraticDiscriminantAnalysis(reg_param=0.1),
    QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=0.2),
)


@pytest.fixture
def rows(rng):
    """Numbers far from 0, counts, labels of which one comes late, and weights 0, 1 and 2."""
    y = np.sort(rng.integers(0, 3, N) * (np.arange(N) > 2 * ROWS))
    y[2 * ROWS :] = rng.permutation(y[2 * ROWS :])
    slope = np.array([1.0, 0.0, 0.5, 0.0])
    X = rng.normal(size=(N, 4)) + 1.5 * y[:, None] * slope + 30.0
    counts = rng.poisson(1 + 2 * y[:, None] * slope).astype(float)
    return X, counts, np.array(["a", "b", "c"])[y], rng.integers(0, 3, N).astype(float)


def learned(model):
    """The arrays that a fit leaves; axes may have either sign."""
    found = {}
    for name, value in vars(model).items():
        if name.endswith("_") and isinstance(value, np.ndarray | float | list):
            own = value if isinstance(value, list) else [value]
            if all(np.asarray(part).dtype.kind == "f" for part in own):
                is_signed = name not in ("scalings_", "rotations_")
                found[name] = [part if is_signed else np.abs(part) for part in own]
    return found


def assert_same(a, b):
    ours, theirs = learned(a), learned(b)
    assert set(ours) == set(theirs)
    for name, parts in ours.items():
        for mine, other in zip(parts, theirs[name]):
            assert np.allclose(mine, other, rtol=1e-8, atol=1e-8), name
    assert list(a.classes_) == list(b.classes_)


def test_models_in_parts_are_those_in_memory(rows):
    @for_each([*((model, 1) for model in OF_COUNTS), *((model, 0) for model in OF_NUMBERS)])
    def is_the_one_in_memory(case):
        model, kind = case
        D, y, weights = rows[kind], rows[2], rows[3]
        parts = in_parts(D, rows=ROWS)
        memory = clone(model).fit(D, y, weights)
        found = clone(model).fit(parts, y, weights)
        assert_same(memory, found)
        assert found.certificate_.kind == "exact"
        assert np.isclose(found.certificate_.primal, memory.certificate_.primal, rtol=1e-8)
        assert gapless.certify(found, parts, y, weights).kind == "exact"
        assert gapless.certify(found, in_parts(D[::-1].copy()), y, weights).kind == "stopped"
        assert np.array_equal(found.predict(parts), found.predict(D))
        assert np.allclose(found.predict_proba(parts), memory.predict_proba(D), atol=1e-8)
        repeated = np.repeat(np.arange(N), weights.astype(int))
        assert_same(found, clone(model).fit(in_parts(D[repeated], rows=ROWS), y[repeated]))

    is_the_one_in_memory()


@pytest.mark.parametrize(
    "model",
    [GaussianNB(), MultinomialNB(), LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis()],
    ids=repr,
)
def test_held_out_folds_are_real_refits(rows, model):
    X, counts, y, weights = rows
    D = counts if isinstance(model, MultinomialNB) else X
    found = clone(model).fit(in_parts(D, rows=ROWS), y, weights).generalization_
    fold = np.arange(N) // ROWS % 5
    right = np.zeros(N)
    for f in range(5):
        out = fold == f
        right[out] = clone(model).fit(D[~out], y[~out], weights[~out]).predict(D[out]) == y[out]
    assert np.isclose(found.unseen, np.average(right, weights=weights), atol=1e-12)
    assert (found.metric, found.method) == ("accuracy", "5 folds of parts")
    assert found.kind == "balanced"


def test_a_class_of_one_fold_alone_is_never_predicted_there(rows):
    X, _, y, _ = rows
    y[:ROWS] = "d"
    found = GaussianNB().fit(in_parts(X, rows=ROWS), y)
    assert list(found.classes_) == ["a", "b", "c", "d"]
    assert found.generalization_.unseen <= 1 - ROWS / N
    assert LinearDiscriminantAnalysis().fit(in_parts(X, rows=ROWS), y).generalization_.gap > 0
    assert QuadraticDiscriminantAnalysis().fit(in_parts(X, rows=ROWS), y).generalization_.gap > 0


def test_columns_of_files_are_named(rows, tmp_path):
    X, _, y, weights = rows
    names = ["p", "q", "r", "s"]
    path = tmp_path / "rows.parquet"
    pl.DataFrame(X, schema=names).with_columns(y=y, s0=weights).write_parquet(path)
    found = GaussianNB().fit(in_parts(path, rows=ROWS), "y", "s0")
    of_array = GaussianNB().fit(in_parts(X, rows=ROWS), y, weights)
    assert np.array_equal(found.theta_, of_array.theta_)
    assert np.array_equal(found.var_, of_array.var_)
    assert list(found.feature_names_in_) == names
    assert np.array_equal(found.predict(path), of_array.predict(X))
    lda = LinearDiscriminantAnalysis().fit(path, "y", "s0")
    assert np.array_equal(lda.transform(path), lda.transform(pl.DataFrame(X, schema=names)))
    assert lda.decision_function(path).shape == (N, 3)


def test_bad_input_is_named(rows):
    X, counts, y, _ = rows
    parts = in_parts(counts, rows=ROWS)
    counts[100, 2] = -1.0
    with pytest.raises(ValueError, match="row 100, column 2 has -1"):
        MultinomialNB().fit(parts, y)
    X[123, 1] = np.nan
    with pytest.raises(ValueError, match="a missing value in row 123, column 1"):
        GaussianNB().fit(in_parts(X, rows=ROWS), y)
    with pytest.raises(ValueError, match='in parts cannot choose alpha="loo"; give a number'):
        MultinomialNB(alpha="loo").fit(parts, y)
    with pytest.raises(ValueError, match='in parts cannot find shrinkage="auto"'):
        LinearDiscriminantAnalysis("eigen", shrinkage="auto").fit(parts, y)
    with pytest.raises(ValueError, match="only one class: 'a'"):
        LinearDiscriminantAnalysis().fit(parts, np.full(N, "a"))
    model = BernoulliNB().fit(parts, y)
    assert GaussianNB().fit(in_parts(counts), y).generalization_.kind == "unknown"
    with pytest.raises(ValueError, match="has the classes"):
        gapless.certify(model, parts, np.where(y == "a", "z", y))
