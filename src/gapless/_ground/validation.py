"""The entrance of every estimator: X, y and weights become arrays, or an error that names the row.

Called by estimators, metrics and evaluation, once per call; after that nothing is checked again.
Reuses scikit-learn's checks of shapes, types and feature names, and adds the place and the cure to
its messages.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from numbers import Number
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array, check_consistent_length, get_tags
from sklearn.utils._missing import is_pandas_na
from sklearn.utils._unique import attach_unique
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target, unique_labels
from sklearn.utils.validation import _check_sample_weight, column_or_1d, validate_data

from .named import OF_STRINGS
from .tables import (
    IN_PARTS,
    is_file_of_rows,
    readable,
    refuse_complex,
    refuse_equal_names,
    refuse_no_numbers,
)
from .threads import single_blas

Array = np.ndarray

# By how many units in the last place two computations of the same rows may differ.
ROUNDING = 64

# Beyond this, sums of squares overflow in float64, and no objective can be computed.
LARGEST = 1e140
# Differences below this vanish when they are squared.
SMALLEST = 1e-140
# BLAS sums squares twice as fast as NumPy, but keeping it to one thread takes 10 µs, which only
# larger arrays make up for.
FEW_ENTRIES = 1 << 15
# The sum of the weights, and its inverse, leave room for squares of values and of weights.
LARGEST_SUM = 1e100
NOT_BALANCED = (
    "class_weight 'balanced' is not supported for partial_fit. In order to use 'balanced' weights, "
    "use compute_class_weight('balanced', classes=classes, y=y). In place of y you can use a large "
    "enough sample of the full training set target to properly estimate the class frequency "
    "distributions. Pass the resulting weights as the class_weight parameter."
)


class Overflow(ValueError):
    """A value is finite, but its square is not."""


@dataclass(frozen=True, eq=False)
class Training:
    """Validated training data.

    X is a contiguous array or a canonical CSR or CSC matrix in float64 or float32. y holds floats,
    or for classifiers the position of each row's class in `classes`. `sample_weight` and `weights`
    are float64; the latter include the class weights. If X has only some of the given columns,
    `columns` are their positions.
    """

    X: Any
    y: Array
    sample_weight: Array
    weights: Array
    classes: Array | None = None
    feature_names: Array | None = None
    columns: Array | None = None


def read_rows(estimator: Any, X: Any) -> Any:
    """X for `predict`, with the features of the fit."""
    return _read_matrix(estimator, X, reset=False)


def _reader(estimator: Any, reset: bool) -> Any:
    """Where validation sets the features: on a copy. Without `reset` it only reads them."""
    return copy.copy(estimator) if reset else estimator


def read_numbers(
    estimator: Any, X: Any, *, reset: bool, takes_infinity: bool = False
) -> tuple[Any, Array | None]:
    """X in which NaN means a missing value, and its feature names, set on a copy."""
    reader = _reader(estimator, reset)
    X = _read_matrix(reader, X, reset=reset, has_missing=True, takes_infinity=takes_infinity)
    return X, getattr(reader, "feature_names_in_", None)


def read_names(estimator: Any, X: Any, *, reset: bool) -> Array | None:
    """The feature names of a table of any columns, checked against those of the fit."""
    refuse_equal_names(X)
    reader = _reader(estimator, reset)
    validate_data(reader, X, reset=reset, skip_check_array=True)
    if not X.shape[0] or not X.shape[1]:
        raise _too_small(X)
    return getattr(reader, "feature_names_in_", None)


def read_for_learner(
    estimator: Any, X: Any, *, reset: bool, **options: Any
) -> tuple[Any, Array | None]:
    """X with entries of any type, which a learner will check, and its feature names."""
    X = readable(X)
    refuse_equal_names(X)
    refuse_complex(X, name="X")
    columns = getattr(X, "columns", None)
    if columns is not None and not len(columns):
        raise _too_small(X)
    reader = _reader(estimator, reset)
    with naming_text(X, "X", columns):
        X = validate_data(
            reader, X, reset=reset, accept_sparse=["csr", "csc"], dtype=None, **options
        )
    return X, getattr(reader, "feature_names_in_", None)


def _too_small(X: Any) -> ValueError:
    what = "0 sample(s)" if not X.shape[0] else "0 feature(s)"
    return ValueError(
        f"Found array with {what} (shape={tuple(X.shape)}) while a minimum of 1 is required."
    )


def read_table(
    estimator: Any, X: Any, sample_weight: Any = None, *, reset: bool = True
) -> Training:
    """X and weights without a target; y is 0 in all rows."""
    X, names = _read_training_matrix(estimator, X, X, reset)
    weights = _read_summable(sample_weight, X)
    return Training(X, np.zeros(X.shape[0]), weights, weights, feature_names=names)


def read_regression(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    multi_output: bool = False,
    reset: bool = True,
) -> Training:
    """X, targets and weights of a regression; y is (n,) or, with `multi_output`, also (n, K)."""
    X, names = _read_training_matrix(estimator, X, y, reset)
    y = _read_target_numbers(y)
    with naming_text(y, "y"):
        if multi_output:
            y = check_array(
                y, ensure_2d=False, dtype=np.float64, ensure_all_finite=False, input_name="y"
            )
        else:
            y = column_or_1d(y, dtype=np.float64, warn=True, input_name="y")
    check_consistent_length(X, y)
    check_values(y, "y", None)
    weights = _read_summable(sample_weight, X)
    return Training(X, y, weights, weights, feature_names=names)


def read_classification(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    class_weight: Any = None,
    *,
    fewest: int = 2,
    reset: bool = True,
) -> Training:
    """X, class positions and weights; a class whose rows all have weight 0 does not exist."""
    X, names = _read_training_matrix(estimator, X, y, reset)
    y = read_labels(y, X)
    weights = given = _read_summable(sample_weight, X)
    classes = np.unique(y[weights > 0])
    if class_weight is not None:
        present = np.isin(y, classes)
        factors = compute_class_weight(
            class_weight, classes=classes, y=y[present], sample_weight=weights[present]
        )
        weights = weights * np.where(present, factors[_position(classes, y)], 0.0)
        _check_not_negative(weights, "class_weight")
        _check_sum(weights, "class_weight")
        classes = np.unique(y[weights > 0])
    if len(classes) < fewest:
        found = (
            f"only one class: {classes.tolist()[0]!r}"
            if len(classes)
            else "none with a positive weight"
        )
        raise ValueError(
            "This solver needs samples of at least 2 classes in the data, but the data contains "
            f"{found}; add rows of another class, or check sample_weight and class_weight."
        )
    return Training(X, _position(classes, y), given, weights, classes, names)


def read_multilabel(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    class_weight: Any = None,
    *,
    reset: bool = True,
) -> Training:
    """X, a 0/1 matrix with one column per label, and weights."""
    X, names = _read_training_matrix(estimator, X, y, reset)
    y = readable_target(y)
    y = check_array(y, accept_sparse="csr", dtype=np.float64, input_name="y")
    y = y.toarray() if sp.issparse(y) else y
    check_consistent_length(X, y)
    if class_weight is not None:
        raise ValueError(
            "class_weight is not defined for several labels per row; pass sample_weight instead."
        )
    weights = _read_summable(sample_weight, X)
    return Training(X, y, weights, weights, np.arange(y.shape[1]), names)


@dataclass(frozen=True, eq=False)
class Outputs:
    """Validated targets of one or more outputs, with their weights.

    y is (n, outputs) in float64: numbers, or for each output the position of a row's class in its
    entry of `classes`. `weights` include the class weights, `sample_weight` does not; both are
    float64. `is_flat` says that the caller's y had one dimension, or one column.
    """

    y: Array
    sample_weight: Array
    weights: Array
    classes: list[Array] | None
    is_flat: bool

    @property
    def as_given(self) -> Array:
        """The targets as the caller gave them: labels or numbers, (n,) or (n, outputs)."""
        if self.classes is None:
            return self.y[:, 0] if self.is_flat else self.y
        labels = [own[at.astype(int)] for own, at in zip(self.classes, self.y.T)]
        return labels[0] if self.is_flat else np.column_stack(labels)


def read_outputs(
    y: Any,
    X: Any,
    sample_weight: Any = None,
    class_weight: Any = None,
    *,
    has_classes: bool,
) -> Outputs:
    """Targets for rows X of any kind with a shape; classes without weight do not exist."""
    weights = given = read_weights(sample_weight, X)
    if has_classes:
        labels = _read_label_columns(y, X)
        weights = given * _class_weights(class_weight, labels, given)
        _check_not_negative(weights, "class_weight")
        classes = [np.unique(column[weights > 0]) for column in labels]
        columns = [_position(own, column) for own, column in zip(classes, labels)]
        numbers = np.column_stack(columns).astype(np.float64)
        return Outputs(numbers, given, weights, classes, len(classes) == 1)
    y = _read_target_numbers(y)
    with naming_text(y, "y"):
        numbers = check_array(
            y, ensure_2d=False, dtype=np.float64, ensure_all_finite=False, input_name="y"
        )
    check_consistent_length(X, numbers)
    check_values(numbers, "y", None)
    numbers = np.ascontiguousarray(numbers.reshape(len(numbers), -1))
    return Outputs(numbers, given, weights, None, numbers.shape[1] == 1)


def check_given(estimator: Any, y: Any) -> None:
    """Refuse a fit without targets, in the words that scikit-learn's checks look for."""
    if y is None:
        name = type(estimator).__name__
        raise ValueError(
            f"{name} requires y to be passed, but the target y is None; call fit(X, y)."
        )


def readable_target(y: Any) -> Any:
    """Targets in a readable form: see `readable`; rows of a list must have one length."""
    y = readable(y, name="y")
    refuse_complex(y, name="y")
    if isinstance(y, list | tuple):
        lengths = [len(row) if isinstance(row, list | tuple | np.ndarray) else None for row in y]
        other = next((k for k, length in enumerate(lengths) if length != lengths[0]), None)
        if other is not None:
            raise ValueError(
                f"rows 0 and {other} of y differ in length; give one label or number for each row, "
                "or the same number of them."
            )
    return y


def _read_target_numbers(y: Any) -> Any:
    """Targets of a regression in a readable form; dates and complex numbers are refused."""
    y = readable_target(y)
    refuse_no_numbers(y, name="y")
    return y


def _read_label_columns(y: Any, X: Any) -> list[Array]:
    """Class labels, one array (n,) for each output."""
    y = readable_target(y)
    labels = check_array(y, ensure_2d=False, dtype=None, ensure_all_finite=False, input_name="y")
    if labels.ndim < 2 or labels.shape[1] == 1:
        return [read_labels(labels.ravel(), X)]
    return [read_labels(column, X) for column in labels.T]


def _class_weights(class_weight: Any, labels: list[Array], weights: Array) -> Array:
    """The product of the class weights over all outputs, for each row."""
    factors = np.ones(len(weights))
    if class_weight is None:
        return factors
    several = isinstance(class_weight, list)
    if several and len(class_weight) != len(labels):
        raise ValueError(
            "The number of elements in class_weight should match number of outputs: got "
            f"{len(class_weight)} for {len(labels)}."
        )
    if not several and len(labels) > 1 and class_weight != "balanced":
        raise ValueError(
            'For several outputs, class_weight should be a list of dicts, or the string "balanced".'
        )
    for k, column in enumerate(labels):
        classes = np.unique(column[weights > 0])
        present = np.isin(column, classes)
        of_class = compute_class_weight(
            class_weight[k] if several else class_weight,
            classes=classes,
            y=column[present],
            sample_weight=weights[present],
        )
        factors *= np.where(present, of_class[_position(classes, column)], 0.0)
    return factors


def is_multilabel(y: Any) -> bool:
    """Whether y gives each row several labels."""
    if y is None:
        return False
    y = readable_target(y)
    several = sp.issparse(y) or np.asarray(y).ndim == 2
    return several and type_of_target(y).startswith("multilabel")


def _read_training_matrix(estimator: Any, X: Any, y: Any, reset: bool) -> tuple[Any, Array | None]:
    """X and its feature names, set on a copy: a failing fit leaves the estimator unchanged."""
    check_given(estimator, y)
    reader = _reader(estimator, reset)
    X = _read_matrix(reader, X, reset=reset)
    return X, getattr(reader, "feature_names_in_", None)


def _read_matrix(
    estimator: Any,
    X: Any,
    *,
    reset: bool,
    has_missing: bool = False,
    takes_infinity: bool = False,
) -> Any:
    """X as a contiguous array or a canonical sparse matrix, in float64 or float32, finite.

    With `has_missing`, NaN is an ordinary value, and finite ones may have any size.
    """
    columns = None
    # For few rows a prediction takes less time than these checks.
    if reset or not _is_as_fitted(estimator, X):
        X, columns = _checked_matrix(estimator, X, reset)
    if sp.issparse(X):
        # Sums need no order, and sorting takes longer than they do.
        takes_any_order = getattr(estimator, "_takes_any_order", False)
        if not takes_any_order and not X.has_canonical_format:
            # A change of format sorts the indices, in less time than sorting takes.
            X = X.tocsc() if X.format == "csr" else X.tocsr()
            X.sum_duplicates()
    elif not (X.flags.c_contiguous or X.flags.f_contiguous):
        X = np.ascontiguousarray(X)
    if not has_missing:
        check_values(X, "X", columns)
    elif not takes_infinity:
        check_infinite(X, columns)
    return X


def _is_as_fitted(estimator: Any, X: Any) -> bool:
    """Whether X is an array that a fitted model takes as it is."""
    return (
        type(X) is np.ndarray
        and X.dtype in (np.float64, np.float32)
        and X.ndim == 2
        and len(X) > 0
        and X.shape[1] == getattr(estimator, "n_features_in_", None)
        and getattr(estimator, "feature_names_in_", None) is None
    )


def _checked_matrix(estimator: Any, X: Any, reset: bool) -> tuple[Any, Any]:
    """X as an array or a sparse matrix of floats with its features, and its columns by name."""
    X = readable(X, lambda: get_tags(estimator).input_tags.sparse)
    refuse_equal_names(X)
    refuse_no_numbers(X)
    columns = getattr(X, "columns", None)
    if columns is not None and not len(columns):
        raise _too_small(X)
    kernel = getattr(estimator, "kernel", None)
    is_plain = kernel is None or (isinstance(kernel, str) and kernel not in OF_STRINGS)
    texts = TEXTS if is_plain else OF_TEXTS
    with naming_text(X, "X", columns, texts, lambda: _cure_for_text(estimator, columns)):
        X = validate_data(
            estimator,
            _with_floats(X),
            reset=reset,
            accept_sparse=("csr", "csc"),
            dtype=(np.float64, np.float32),
            ensure_all_finite=False,
        )
    return X, columns


def _cure_for_text(estimator: Any, columns: Any) -> str:
    """Advice about text columns: models that know categories read them as they are."""
    parameters = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
    knows_categories = "categorical_features" in parameters
    if not knows_categories or parameters.get("metric", "mixed") != "mixed":
        return ENCODE["X"].replace("OneHotEncoder", getattr(estimator, "_encoder", "OneHotEncoder"))
    if columns is None:
        return "pass X as a pandas or polars table, whose text columns are categories"
    return 'set categorical_features="from_dtype" to make it a category, or drop it'


def _with_floats(X: Any) -> Any:
    """X itself, but integers of a sparse matrix as floats, on the same indices.

    SciPy would first sort the indices, in the caller's memory.
    """
    if not (sp.issparse(X) and X.format in ("csr", "csc") and X.dtype.kind in "iub"):
        return X
    return type(X)((X.data.astype(np.float64), X.indices, X.indptr), shape=X.shape)


def read_labels(y: Any, X: Any) -> Array:
    """Class labels (n,), of any type that can be sorted."""
    y = readable_target(y)
    y = column_or_1d(y, warn=True, input_name="y")
    check_consistent_length(X, y)
    if y.dtype.kind == "O":
        y = _read_objects(y)
    if y.dtype.kind == "f":
        check_values(y, "y", None)
    # Find distinct labels once, not twice: it takes long among strings.
    check_classification_targets(attach_unique(y))
    return y


def positions(labels: Array, known: Array) -> Array:
    """The positions of labels among the classes announced in the first part."""
    strange = np.setdiff1d(labels, known)
    if len(strange):
        raise ValueError(
            f"The target label(s) {strange} in y do not exist in the initial classes {known}; "
            "name all classes in the first call of partial_fit."
        )
    return np.searchsorted(known, labels)


def known_classes(estimator: Any, classes: Any) -> Array:
    """The classes of the first call, or those of this one if it is the first."""
    known = getattr(estimator, "classes_", None)
    if known is None and classes is None:
        raise ValueError("classes must be passed on the first call to partial_fit.")
    if classes is None:
        return np.asarray(known)
    given = unique_labels(classes)
    if known is not None and not np.array_equal(known, given):
        raise ValueError(
            f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {known!r}."
        )
    return given


def read_part_of_classes(
    estimator: Any, X: Any, y: Any, classes: Any, sample_weight: Any
) -> Training:
    """X, y and weights of a part of the data, with the classes announced in the first part."""
    if estimator.class_weight == "balanced":
        raise ValueError(NOT_BALANCED)
    known = known_classes(estimator, classes)
    if len(known) < 2:
        raise ValueError(
            f"The number of classes has to be greater than one; got {len(known)} class; name all "
            "classes in the first call of partial_fit."
        )
    read = read_table(estimator, X, sample_weight, reset=not hasattr(estimator, "classes_"))
    position = positions(read_labels(y, read.X), known)
    weights = read.weights
    if estimator.class_weight is not None:
        factors = compute_class_weight(estimator.class_weight, classes=known, y=known)
        weights = weights * factors[position]
    return Training(read.X, position, read.weights, weights, known, read.feature_names)


def _read_objects(labels: Array) -> Array:
    """Labels that are Python objects: numbers as numbers, otherwise texts alone."""
    values = [label.item() if isinstance(label, np.generic) else label for label in labels]
    for row, label in enumerate(values):
        if _is_missing(label):
            raise ValueError(f"Input y contains NaN: y has no label in row {row}; drop the row.")
    kinds = {type(label) for label in values}
    if kinds <= {bool, int, float}:
        numbers = np.array(values)
        return numbers if numbers.dtype.kind in "biuf" else labels
    rows = {
        kind: next(k for k, label in enumerate(values) if type(label) is kind) for kind in kinds
    }
    first, *others = sorted(rows.values())
    if others:
        one, other = values[first], values[others[0]]
        raise ValueError(
            f"y mixes labels of type {type(one).__name__} and {type(other).__name__}, which have "
            f"no common order: {one!r} in row {first} and {other!r} in row {others[0]}; give "
            "labels of one type, e.g. [str(label) for label in y]."
        )
    if not isinstance(values[first], str | bytes | list | tuple | np.ndarray):
        raise ValueError(
            f"Unknown label type: y holds labels of type {type(values[first]).__name__}; give "
            "strings or whole numbers, e.g. [str(label) for label in y]."
        )
    return labels


def _is_missing(label: Any) -> bool:
    # pandas' NA equals nothing: a comparison returns another NA.
    return label is None or is_pandas_na(label) or (label != label) is True


def _position(classes: Array, y: Array) -> Array:
    """The position of each label in the sorted classes; any position for an unknown one."""
    return np.minimum(np.searchsorted(classes, y), len(classes) - 1)


def read_weights(sample_weight: Any, X: Any) -> Array:
    """Weights (n,) in float64: finite, ≥ 0 and not all 0."""
    if isinstance(sample_weight, str):
        raise ValueError(
            f"sample_weight={sample_weight!r} is not a vector of weights; give a number for each "
            'row, or set class_weight="balanced" for a classifier.'
        )
    if sample_weight is not None:
        sample_weight = readable(sample_weight, name="sample_weight")
        refuse_no_numbers(sample_weight, name="sample_weight")
    with naming_text(sample_weight, "sample_weight"):
        if sample_weight is not None and not isinstance(sample_weight, Number):
            sample_weight = check_array(
                sample_weight,
                ensure_2d=False,
                dtype=np.float64,
                ensure_all_finite=False,
                input_name="sample_weight",
            )
            _check_finite(sample_weight, "sample_weight", None)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
    _check_not_negative(weights, "sample_weight")
    if np.max(weights, initial=0.0) > np.finfo(np.float64).max / max(len(weights), 1):
        raise ValueError(
            f"sample_weight has {weights.max():.3g} in row {int(np.argmax(weights))}, and the sum "
            "of the weights may be too large for float64; rescale them, e.g. to a mean of 1."
        )
    return weights


def _read_summable(sample_weight: Any, X: Any) -> Array:
    """The same for an objective, whose sums over the rows must not be too large or too small."""
    weights = read_weights(sample_weight, X)
    _check_sum(weights, "sample_weight")
    return weights


def _check_sum(weights: Array, name: str) -> None:
    total = float(np.sum(weights))
    if total and not 1 / LARGEST_SUM <= total <= LARGEST_SUM:
        far = "large" if total > 1 else "small"
        raise ValueError(
            f"the weights sum to {total:.3g}, which is too {far} for an objective in float64; "
            f"rescale {name}, e.g. to a mean of 1."
        )


def _check_not_negative(weights: Array, name: str) -> None:
    if np.any(weights < 0):
        row = int(np.argmax(weights < 0))
        raise ValueError(
            f"Negative values in data passed to `{name}`: row {row} has weight {weights[row]:g}; "
            "weights must be ≥ 0."
        )


# Words by which errors of NumPy, SciPy or scikit-learn show that an entry is not a number.
ABOUT_ENTRIES = "convert|cast|promoted|must be a string|array element|sequence"
# Characters of such an entry in an error.
MOST_LETTERS = 60
# What to do about text or dates if numbers are needed.
ENCODE = {
    "X": "encode the column, e.g. with OneHotEncoder() in a ColumnTransformer, or drop it",
    "y": "encode the target as numbers, or use a classifier if these are classes",
    "sample_weight": "give a number for each row",
}
TEXTS = "convert texts to numbers, e.g. with TfidfVectorizer()"
OF_TEXTS = (
    "only SVC and related models take texts directly, with a kernel such as Spectrum(3); here "
    'compute Spectrum(3).gram(texts) and set kernel="precomputed"'
)


@contextmanager
def naming_text(
    values: Any,
    name: str,
    columns: Any = None,
    texts: str = TEXTS,
    cure: Callable[[], str] | None = None,
) -> Iterator[None]:
    """Make errors about text or dates say where they are and what to do.

    `texts` is the advice if X is a list of texts, `cure` if one of its columns is text.
    """
    try:
        yield
    except (TypeError, ValueError, OverflowError) as error:
        if sp.issparse(values) or not re.search(ABOUT_ENTRIES, str(error)):
            raise
        entries = np.atleast_1d(np.asarray(values, dtype=object))
        if name == "X" and entries.ndim == 1:
            raise _rows_error(entries, texts, error) from error
        is_wrong = np.frompyfunc(_is_no_number, 1, 1)(entries).astype(bool)
        if not is_wrong.any():
            raise
        # By columns: the first that must be encoded.
        place = np.argwhere(is_wrong.T)[0][::-1]
        entry, where = entries[tuple(place)], _named(place, columns)
        if isinstance(entry, str | date):
            words = ENCODE[name] if cure is None else cure()
            raise ValueError(
                f"could not convert string to float: {name} has {entry!r} in {where}, which is "
                f"not a number; {words}."
            ) from error
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(
            f"{_first_line(error)}: {name} has {_shortened(entry)} in {where}, which is not a "
            "float64 number; replace it with a number, or drop the row or the column."
        ) from error


def _rows_error(rows: Array, texts: str, error: Exception) -> Exception:
    """What is wrong with a list whose entries are not rows of numbers of one length."""
    row = next((k for k, entry in enumerate(rows) if _is_no_number(entry)), None)
    if row is None:
        return error
    if is_file_of_rows(rows[row]):
        return TypeError(
            f"X is a list of paths, such as {rows[row]!r}, and this needs all rows in memory; read "
            f"them, e.g. with polars, {IN_PARTS}."
        )
    if isinstance(rows[row], str):
        return ValueError(
            f"could not convert string to float: X has {rows[row]!r} in row {row}, which is not a "
            f"number; {texts}."
        )
    lengths = [len(entry) if hasattr(entry, "__len__") else None for entry in rows]
    other = next((k for k, length in enumerate(lengths) if length != lengths[0]), None)
    if other is not None and not isinstance(rows[0], Mapping):
        return ValueError(
            f"{_first_line(error)}: the rows of X differ in length: row 0 has {lengths[0]} entries "
            f"and row {other} has {lengths[other]}; give each row a number for each column."
        )
    return TypeError(
        f"{_first_line(error)}: X has {_shortened(rows[row])} in row {row}, which is not a row of "
        "numbers; pass a table, e.g. pandas.DataFrame(X)."
    )


def _is_no_number(value: Any) -> bool:
    """Whether a value is neither a number, nor a text that reads as one, nor missing."""
    if value is None or is_pandas_na(value):
        return False
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return True
    return False


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(". ")


def _shortened(value: Any) -> str:
    """A value as written, shortened if it is long."""
    words = repr(value)
    return words if len(words) <= MOST_LETTERS else f"{words[:MOST_LETTERS]}…"


def check_values(values: Any, name: str, columns: Any) -> None:
    """Refuse entries that are not finite, or whose square overflows; say where and what to do."""
    entries = values.data if sp.issparse(values) else values
    if entries.size == 0:
        return
    # NaN, infinities and large values show in the sum of squares: one pass, no temporary array.
    with np.errstate(over="ignore", invalid="ignore"):
        flat = entries.ravel(order="K")
        if flat.size <= FEW_ENTRIES:
            total = float(np.einsum("i,i->", flat, flat))
        else:
            with single_blas():
                total = float(np.dot(flat, flat))
        if total <= LARGEST**2:
            return
        low, high = float(entries.min()), float(entries.max())
    if max(-low, high) <= LARGEST:
        return
    _check_finite(values, name, columns)
    where = _first(values, lambda v: np.abs(v) > LARGEST, columns)
    raise Overflow(
        f"Input {name} contains a value too large to be squared in float64: {name} has "
        f"{max(-low, high):.3g} in {where}; rescale it, e.g. with StandardScaler()."
    )


def check_spread(values: Any) -> None:
    """Refuse rows that differ, but by so little that the squares of all differences vanish."""
    low, high = values.min(axis=0), values.max(axis=0)
    if sp.issparse(values):
        low, high = low.toarray(), high.toarray()
    with np.errstate(over="ignore"):
        spread = float(np.max(high - low, initial=0.0))
    if 0 < spread < SMALLEST:
        raise ValueError(
            f"the rows of X differ by at most {spread:.3g}, too little to be squared in float64; "
            "rescale X, e.g. with StandardScaler()."
        )


def _check_finite(values: Any, name: str, columns: Any) -> None:
    """Refuse NaN and infinities; say where they are and what to do."""
    entries = values.data if sp.issparse(values) else values
    if np.all(np.isfinite(entries)):
        return
    if np.any(np.isnan(entries)):
        where = _first(values, np.isnan, columns)
        cure = (
            "drop the row or impute it, e.g. with SimpleImputer()"
            if name == "X"
            else "drop the row"
        )
        raise ValueError(f"Input {name} contains NaN: {name} has NaN in {where}; {cure}.")
    raise ValueError(_infinity(values, name, columns))


def check_infinite(X: Any, columns: Any) -> None:
    """Refuse infinities if NaN means a missing value; say where and what to do."""
    entries = X.data if sp.issparse(X) else X
    # Extremes that ignore NaN, without a temporary array.
    ends = [f.reduce(entries, axis=None, initial=0.0) for f in (np.fmin, np.fmax)]
    if np.any(np.isinf(ends)):
        raise ValueError(_infinity(X, "X", columns))


def _infinity(values: Any, name: str, columns: Any) -> str:
    return (
        f"Input {name} contains infinity or a value too large for {values.dtype!r}: {name} has inf "
        f"in {_first(values, np.isinf, columns)}; drop the row or clip the value."
    )


def _first(values: Any, is_bad: Any, columns: Any) -> str:
    """Where the first bad entry is: its row and, for a matrix, its column by name if it has one."""
    if sp.issparse(values):
        entries = values.tocoo()
        k = int(np.argmax(is_bad(entries.data)))
        return _named((entries.row[k], entries.col[k]), columns)
    return _named(np.argwhere(is_bad(values))[0], columns)


def _named(place: Any, columns: Any) -> str:
    """A row, or a row and a column by its name if it has one, in words."""
    if len(place) == 1:
        return f"row {place[0]}"
    column = repr(str(columns[place[1]])) if columns is not None else str(place[1])
    return f"row {place[0]}, column {column}"


def is_same(given: Any, kept: Any) -> bool:
    """Whether two matrices, dense or sparse, are the same data up to rounding; NaN equals NaN.

    Preparing rows twice need not give the same bits: lengths of sparse rows are sums in the order
    of their entries, which differs between the fit of a vectoriser and its later use.
    """
    if given.shape != kept.shape or given.dtype.kind != kept.dtype.kind:
        return False
    if 0 in kept.shape:
        return True
    if given.dtype.kind != "f":
        differs = given != kept
        return not (differs.nnz if sp.issparse(differs) else np.any(differs))
    rounding = ROUNDING * np.finfo(kept.dtype).eps
    if sp.issparse(given) or sp.issparse(kept):
        return bool(abs(given - kept).max() <= rounding * abs(kept).max())
    return bool(np.allclose(given, kept, rtol=rounding, atol=0.0, equal_nan=True))
