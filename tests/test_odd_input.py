"""Odd input to every estimator: a fit without NaN, or an error in words that say what is wrong.

Never an AttributeError, an OverflowError or a bare message of the core or of NumPy.
"""

import datetime
import decimal
import fractions
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import is_classifier

import gapless
from gapless.data import table_of
from gapless.evaluation import k_fold, partial_dependence
from public_estimators import public_estimators

N = 24
NAMES = ["a", "b", "c"]
RNG = np.random.default_rng(7)
# Numbers that all types hold, few of which have the same distance.
X = RNG.integers(0, 100, size=(N, 3)) + 0.0
LABELS = (X[:, 0] + 40 * RNG.normal(size=N) > 50).astype(int)
NUMBERS = X[:, 0] + RNG.normal(size=N)
ESTIMATORS = [
    cls.__name__
    for cls in public_estimators()
    if cls is not gapless.TextClassifier  # of texts: tests/contracts/test_text.py
]
# Messages of NumPy, pandas, nanobind and Python themselves, which do not say what to do.
BARE = re.compile(
    r"^('<' not supported|incompatible function|setting an array|float\(\) argument|"
    r"boolean value of NA|at least one array|The truth value|shape mismatch|unhashable)[^:]*$"
)


class Planned:
    """A table whose rows are not computed yet, as Dask has them."""

    def __init__(self, frame):
        self.frame, self.columns, self.dtypes = frame, frame.columns, frame.dtypes
        self.shape = (object(), frame.shape[1])

    columns = ()

    def compute(self):
        return self.frame


class Stream:
    """A table of an unknown library that supports Arrow."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


FRAME = pd.DataFrame(X, columns=NAMES)
POLARS = pl.DataFrame(dict(zip(NAMES, X.T)))
ARROW = pa.table(dict(zip(NAMES, X.T)))


def objects(value):
    entries = X.astype(object)
    entries[2, 1] = value
    return entries


def frozen(values):
    values.flags.writeable = False
    return values


def missing(kind):
    frame = FRAME.astype(kind)
    frame.iloc[3, 0] = pd.NA
    return frame


def long_indices(matrix):
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


# The same numbers as X, in another form: all estimators fit them, and predict what they predict
# of X itself.
SAME = {
    "pandas": FRAME,
    "polars": POLARS,
    "pyarrow": ARROW,
    "pyarrow in chunks": pa.concat_tables([ARROW.slice(0, 10), ARROW.slice(10)]),
    "pyarrow batch": ARROW.to_batches()[0],
    "Arrow stream": Stream(ARROW),
    "pandas sparse": FRAME.astype(pd.SparseDtype("float", 0.0)),
    "pandas sparse, NaN": FRAME.astype(pd.SparseDtype("float", np.nan)),
    "pandas in part sparse": FRAME.astype({"b": pd.SparseDtype("float", 0.0)}),
    "pandas Float64": FRAME.astype("Float64"),
    "pandas Int64": FRAME.astype("Int64"),
    "pandas Arrow": FRAME.astype("double[pyarrow]"),
    "int8": X.astype(np.int8),
    "uint64": X.astype(np.uint64),
    "float16": X.astype(np.float16),
    "longdouble": X.astype(np.longdouble),
    "big-endian": X.astype(">f8"),
    "Fortran": np.asfortranarray(X),
    "strided": np.repeat(np.repeat(X, 2, 0), 2, 1)[::2, ::2],
    "backwards": np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "read-only": frozen(X.copy()),
    "objects": X.astype(object),
    "strings": X.astype(str),
    "masked nowhere": np.ma.masked_array(X),
    "lists": X.tolist(),
    "tuples": tuple(map(tuple, X)),
}
# What may be fitted by some estimators and must be refused in words by the others.
ODD = {
    "LazyFrame": POLARS.lazy(),
    "planned": Planned(FRAME),
    "sparse": sp.csr_array(X),
    "long indices": long_indices(sp.csr_array(X)),
    "duplicates": sp.coo_matrix((np.ones(2 * N), (np.tile(np.arange(N), 2), [0] * N + [1] * N))),
    "no entries": sp.csr_array((N, 3)),
    "explicit zeros": sp.csr_array((np.zeros(N), (np.arange(N), [1] * N)), shape=(N, 3)),
    "sparse complex": sp.csr_array(X + 1j),
    "Float64 with NA": missing("Float64"),
    "Arrow with NA": missing("double[pyarrow]"),
    "booleans": X > 50,
    "boolean with NA": (FRAME > 50).astype("boolean").where(FRAME > 0),
    "category": FRAME.assign(b=pd.Categorical(["u", "v"] * 12)),
    "text": FRAME.assign(b=["u", "v"] * 12),
    "text and numbers": FRAME.assign(b=pd.Series(["u", 1] * 12, dtype=object)),
    "bytes": FRAME.assign(b=pd.Series([b"u", b"v"] * 12, dtype=object)),
    "lists in a column": FRAME.assign(b=pd.Series([[1]] * N, dtype=object)),
    "objects in a column": FRAME.assign(b=pd.Series([object()] * N, dtype=object)),
    "intervals": FRAME.assign(b=pd.cut(FRAME.a, 3)),
    "complex column": FRAME.assign(b=FRAME.b + 1j),
    "polars list": POLARS.with_columns(pl.Series("b", [[1.0, 2.0]] * N)),
    "polars struct": POLARS.with_columns(pl.Series("b", [{"x": 1}] * N)),
    "polars object": POLARS.with_columns(pl.Series("b", [object()] * N, dtype=pl.Object)),
    "polars nothing": POLARS.with_columns(pl.Series("b", [None] * N)),
    "pyarrow null": pa.table({"a": pa.array([None, *X[1:, 0]]), "b": X[:, 1]}),
    "pyarrow text": ARROW.set_column(1, "b", pa.array(["u", "v"] * 12)),
    "pyarrow dictionary": ARROW.set_column(1, "b", pa.array(["u", "v"] * 12).dictionary_encode()),
    "pyarrow dates": ARROW.set_column(1, "b", pa.array([datetime.date(2024, 1, 1)] * N)),
    "pyarrow names twice": pa.Table.from_arrays([pa.array(c) for c in X.T], names=["a", "a", "c"]),
    "names of two types": FRAME.set_axis(["a", 1, "c"], axis=1),
    "no columns": FRAME[[]],
    "no columns of Arrow": pa.table({}),
    "None": objects(None),
    "huge integer": objects(10**400),
    "list": objects([1, 2]),
    "dict": objects({}),
    "complex entry": objects(1 + 2j),
    "fraction": objects(fractions.Fraction(1, 3)),
    "complex": X + 1j,
    "durations": np.ones((N, 3), "m8[s]"),
    "records": FRAME.to_records(index=False),
    "void": np.zeros((N, 3), "V8"),
    "masked": np.ma.masked_array(X, mask=X > 80),
    "all NaN": np.full((N, 3), np.nan),
    "constant": np.full((N, 3), 7.0),
    "huge ids": X.astype(np.int64) + 2**62,
    "largest": np.where(X > 50, 1, 0) * np.finfo(float).max,
    "scalar": np.float64(3.0),
    "one dimension": X[:, 0],
    "three dimensions": X[:, :, None],
    "ragged": [[1, 2, 3], [1, 2]] * 12,
    "list of dicts": [dict(zip(NAMES, row)) for row in X.tolist()],
    "dictionary": dict(zip(NAMES, X.T)),
    "generator": (row for row in X),
    "set": set(range(N)),
    "nothing": None,
    "number": 3,
    "a text": "hello",
    "texts": ["u", "v"] * 12,
}
DATE = datetime.date(2024, 1, 1)
TARGETS = {
    "NaN": np.where(np.arange(N) == 3, np.nan, LABELS),
    "infinite": np.where(np.arange(N) == 3, np.inf, LABELS),
    "None": [None, *LABELS[1:].tolist()],
    "two columns": np.c_[LABELS, LABELS],
    "three dimensions": LABELS[:, None, None],
    "polars frame": pl.DataFrame({"y": LABELS}),
    "pyarrow": pa.chunked_array([LABELS[:10], LABELS[10:]]),
    "pyarrow table": pa.table({"y": LABELS}),
    "lazy": pl.DataFrame({"y": LABELS}).lazy(),
    "category": pd.Series(pd.Categorical(np.where(LABELS, "u", "v"))),
    "category with NA": pd.Series(pd.Categorical([None, *np.where(LABELS, "u", "v")[1:]])),
    "text of pandas": pd.Series(np.where(LABELS, "u", "v"), dtype="string"),
    "text with NA": pd.Series([None, *np.where(LABELS, "u", "v")[1:]], dtype="string"),
    "boolean with NA": pd.Series([None, *LABELS[1:].astype(bool)], dtype="boolean"),
    "Int64": pd.Series(LABELS, dtype="Int64"),
    "sparse of pandas": pd.Series(pd.arrays.SparseArray(LABELS + 0.0)),
    "text and numbers": np.array([1 if one else "u" for one in LABELS], dtype=object),
    "text and booleans": np.array([bool(one) or "u" for one in LABELS], dtype=object),
    "tuples": [(1, 2) if one else (3,) for one in LABELS],
    "numbers as objects": LABELS.astype(object),
    "huge integers": [10**30 + int(one) for one in LABELS],
    "decimals": [decimal.Decimal(int(one)) for one in LABELS],
    "dates": [DATE + datetime.timedelta(int(one)) for one in LABELS],
    "moments": np.where(LABELS, np.datetime64("2024-01-01"), np.datetime64("2025-01-01")),
    "durations": LABELS.astype("m8[s]"),
    "complex": LABELS + 1j,
    "complex objects": np.array([1 + 2j, 2 - 1j] * 12, dtype=object),
    "bytes": np.where(LABELS, b"u", b"v"),
    "sparse": sp.csr_array(LABELS[:, None]),
    "masked": np.ma.masked_array(LABELS, mask=np.arange(N) == 3),
    "records": np.zeros(N, [("a", float)]),
    "constant": np.ones(N),
    "largest": np.where(LABELS, 1, -1) * np.finfo(float).max,
    "empty": LABELS[:0],
    "scalar": 1.0,
    "a text": "abc",
    "dictionary": dict(enumerate(LABELS.tolist())),
    "generator": (one for one in LABELS),
}
WEIGHTS = {
    "NaN": np.where(np.arange(N) == 3, np.nan, 1.0),
    "infinite": np.where(np.arange(N) == 3, np.inf, 1.0),
    "negative": np.where(np.arange(N) == 3, -1.0, 1.0),
    "all zero": np.zeros(N),
    "one row": (np.arange(N) == 3) * 1.0,
    "largest": np.full(N, np.finfo(float).max),
    "int8": np.full(N, 127, np.int8),
    "one number": 2,
    "two columns": np.ones((N, 2)),
    "text": ["a"] * N,
    "None": np.array([None, *[1.0] * (N - 1)], dtype=object),
    "NA": pd.Series([None, *[1.0] * (N - 1)], dtype="Float64"),
    "pyarrow": pa.array(np.ones(N)),
    "complex": np.ones(N) + 1j,
    "dates": np.full(N, np.datetime64("2024-01-01")),
    "masked": np.ma.masked_array(np.ones(N), mask=np.arange(N) == 3),
    "dictionary": dict.fromkeys(range(N), 1.0),
    "sparse": sp.csr_array(np.ones((N, 1))),
    "lazy": pl.DataFrame({"w": np.ones(N)}).lazy(),
}
# Of these families also sizes that no sum of squares can bear; the others have tests of their own.
COUNTING = ("trees", "bagging", "forests", "boosting", "adaboost", "neighbors", "bayes")
TINY = {
    "subnormal": X * 5e-324,
    "subnormal float32": (X * np.float32(1e-45)).astype(np.float32),
}
SIZES = {
    "1e300": np.full(N, 1e300),
    "one 1e300": np.where(np.arange(N) == 3, 1e300, 1.0),
    "subnormal": np.full(N, 5e-324),
    "one subnormal": np.where(np.arange(N) == 3, 5e-324, 1.0),
}


# Parameters with which fits are short.
FEW = {
    "n_estimators": 2,
    "n_components": 2,
    "n_neighbors": 2,
    "random_state": 0,
    "eta0": 1e-5,  # longer steps diverge on features that are not scaled
    "time_limit": 1.0,
    "Cs": 2,
    "optimizer": None,
}
PATH = {"alphas": 2, "cv": 2}
FEW_OF = {
    "LassoCV": PATH,
    "ElasticNetCV": PATH,
    "MultiTaskLassoCV": PATH,
    "LogisticRegressionCV": {"cv": 2},
    "HistGradientBoostingClassifier": {"max_iter": 2},
    "HistGradientBoostingRegressor": {"max_iter": 2},
    "LinearDiscriminantAnalysis": {"n_components": None},
}


def build(name):
    """The model, with parameters that make its fits short."""
    cls = getattr(gapless, name)
    model = cls(gapless.GaussianNB()) if name == "BayesDecision" else cls()
    few = {key: FEW[key] for key in FEW.keys() & model.get_params(deep=False).keys()}
    return model.set_params(**few | FEW_OF.get(name, {}))


def counts(name):
    """Whether the model counts, compares or averages, and solves no system of equations."""
    return getattr(gapless, name).__module__.split(".")[2] in COUNTING


def target_of(model):
    if type(model).__name__.startswith("MultiTask"):
        return np.c_[NUMBERS, -NUMBERS]
    return LABELS if is_classifier(model) else NUMBERS


def answers(model, rows):
    """All answers of a model for rows."""
    methods = ("predict", "predict_proba", "decision_function", "transform", "kneighbors")
    for method in methods:
        if hasattr(model, method):
            found = getattr(model, method)(rows)
            yield from found if isinstance(found, tuple) else (found,)


def attack(name, rows, y=None, rows_to_predict=None, **more):
    """Fit; the answers, or None where there was an error in words."""
    model = build(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        try:
            model.fit(rows, target_of(model) if y is None else y, **more)
            found = list(answers(model, rows if rows_to_predict is None else rows_to_predict))
        except (TypeError, ValueError) as error:
            words = str(error)
            assert not BARE.search(words), words
            assert "\n" not in words or "2D" in words, words
            return None
    if hasattr(model, "certificate_"):
        assert " nan" not in str(model.certificate_)
    for one in found:
        values = one.data if sp.issparse(one) else np.asarray(one)
        assert values.dtype.kind != "f" or np.all(np.isfinite(values))
    return found


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_same_numbers_in_any_form_are_the_same_model(name):
    expected = attack(name, X)
    assert expected is not None
    # Each form meets a third of the estimators, which have a handful of doors between them.
    for form, rows in list(SAME.items())[ESTIMATORS.index(name) % 3 :: 3]:
        found = attack(name, rows)
        assert found is not None, form
        # Levels of text sort otherwise than numbers do, and float16 is read as float32. The
        # probabilities of machines rest on machines for other rows, each solved to tol=1e-3 alone.
        for one, other in zip(expected, found):
            is_share = one.ndim == 2 and np.allclose(one.sum(axis=1), 1)
            rtol = 1e-3 if form == "float16" or (name in ("SVC", "NuSVC") and is_share) else 1e-6
            if one.dtype.kind == "f" and form != "strings":
                np.testing.assert_allclose(other, one, rtol=rtol, atol=rtol, err_msg=form)


def half_of(forms, name, config):
    """Half of them, by turns with the next of its family, which has the same doors.

    All of them for the only one of its family, and with --every.
    """
    family = getattr(gapless, name).__module__.split(".")[2]
    alike = [one for one in ESTIMATORS if f".{family}." in getattr(gapless, one).__module__]
    if len(alike) == 1 or config.getoption("--every"):
        return list(forms.items())
    return list(forms.items())[alike.index(name) % 2 :: 2]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_odd_rows_fit_or_are_refused_in_words(name, pytestconfig):
    for form, rows in half_of(ODD | (TINY if counts(name) else {}), name, pytestconfig):
        try:
            attack(name, rows)
        except Exception as error:
            raise AssertionError(f"X: {form}: {error!r}") from error


@pytest.mark.parametrize("name", ESTIMATORS)
def test_odd_targets_fit_or_are_refused_in_words(name, pytestconfig):
    for form, y in half_of(TARGETS, name, pytestconfig):
        try:
            attack(name, X, y)
        except Exception as error:
            raise AssertionError(f"y: {form}: {error!r}") from error


@pytest.mark.parametrize("name", ESTIMATORS)
def test_odd_weights_fit_or_are_refused_in_words(name):
    if "sample_weight" not in getattr(gapless, name).fit.__code__.co_varnames:
        return
    for form, weights in (WEIGHTS | (SIZES if counts(name) else {})).items():
        try:
            attack(name, X, sample_weight=weights)
        except Exception as error:
            raise AssertionError(f"sample_weight: {form}: {error!r}") from error


def test_tables_of_arrow_are_tables_everywhere():
    assert table_of(ARROW).frame.equals(POLARS)
    model = gapless.Ridge().fit(ARROW, NUMBERS)
    assert list(model.feature_names_in_) == NAMES
    assert gapless.certify(model, ARROW, NUMBERS).kind in ("exact", "optimal")
    assert gapless.generalize(model, ARROW, NUMBERS).unseen == model.generalization_.unseen
    by_arrow, by_pandas = (k_fold(gapless.Ridge(), X, NUMBERS, k=3) for X in (ARROW, FRAME))
    assert str(by_arrow) == str(by_pandas)
    np.testing.assert_allclose(
        partial_dependence(model, ARROW, "b").means, partial_dependence(model, FRAME, "b").means
    )


def test_what_a_table_has_to_become_is_named():
    for rows, cure in (
        (POLARS.lazy(), r"LazyFrame, whose rows are not computed yet; call \.collect\(\) first"),
        (Planned(FRAME), r"call \.compute\(\) first"),
    ):
        for name in ("KernelRidge", "RandomForestRegressor", "KNeighborsRegressor"):
            with pytest.raises(TypeError, match=cure):
                build(name).fit(rows, NUMBERS)
    labels = np.array([1 if one else "u" for one in LABELS], dtype=object)
    for name in ("LogisticRegression", "DecisionTreeClassifier", "GaussianNB"):
        with pytest.raises(ValueError, match=r"y mixes labels of type .* in row 0 and .* in row"):
            build(name).fit(X, labels)
