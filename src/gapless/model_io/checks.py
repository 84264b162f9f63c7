"""Whether what was read from a file can be what a fit has left.

Only what the compiled code behind a prediction does not check itself: places in arrays. A wrong
number elsewhere gives a wrong model or an error of Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    OneHotEncoder,
    PolynomialFeatures,
    SplineTransformer,
    TargetEncoder,
)

from ..choosing import TableModel
from ..data import Column, ReadingOptions, TableFeatures, TableProfile
from ..neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors
from ..remembering import GIVEN, as_fitted
from ..text import TextClassifier
from ..trees.asked import AskedColumns
from ..trees.bundles import Bundles
from ..trees.columns import Columns
from ..trees.compact import CompactTrees
from ..trees.multiway import MultiwayTree
from ..trees.packed import PackedTrees
from ..trees.tree import Tree
from .limits import check_limits
from .tree_checks import (
    check_array,
    check_asked,
    check_bundles,
    check_columns,
    check_compact,
    check_kinds,
    check_multiway,
    check_offsets,
    check_packed,
    check_tree,
    check_whole,
    require,
)

Array = np.ndarray

# Rows of training data and the like: as many columns as X.
WIDE = ("X_fit_", "X_train_", "support_vectors_", "_fit_X", "theta_", "var_", "means_")
MAY_MISS = ("nan_euclidean", "mixed", "mixed_euclidean")
MOST_FEATURES = np.iinfo(np.int32).max
# Columns that powers and products of columns make, and of how many columns each.
MOST_PRODUCTS, MOST_DEGREE = 1 << 24, 64


def check_sparse(data: Any, indices: Any, indptr: Any, shape: tuple[int, int], where: str) -> None:
    """The arrays of a compressed sparse matrix of `shape` (lines, places on a line)."""
    lines, across = shape
    are_arrays = all(isinstance(a, np.ndarray) and a.ndim == 1 for a in (data, indices, indptr))
    require(are_arrays and len(data) == len(indices), where, "no sparse matrix")
    is_typed = indices.dtype == indptr.dtype and indices.dtype in (np.int32, np.int64)
    require(is_typed, where, "places of an unknown type")
    check_offsets(indptr.astype(np.int64), where, lines, len(data))
    require(((indices >= 0) & (indices < across)).all(), where, "a place beyond the matrix")
    line = np.repeat(np.arange(lines), np.diff(indptr))
    falls = (np.diff(indices) <= 0) & (np.diff(line) == 0)
    require(not falls.any(), where, "places that do not rise")


def check_value(value: Any, where: str) -> None:
    """Check a value after it was built."""
    check: Callable[[Any, str], None] | None = VALUE_CHECKS.get(type(value))
    if check is not None:
        check(value, where)


def check_model(model: Any, where: str) -> None:
    """Check a model after it was built."""
    known = vars(model)
    given = known.get(GIVEN) or {}
    are_parameters = isinstance(given, dict) and given.keys() <= set(model.get_params(deep=False))
    require(are_parameters, where, "parameters of the fit that its class has not")
    check_limits(model, where)
    if "n_features_in_" in known:
        check_whole(model.n_features_in_, where, 0, MOST_FEATURES)
        _check_widths(known, model.n_features_in_, where)
        _check_trees(known, model.n_features_in_, where)
    check: Callable[[Any, str], None] | None = MODEL_CHECKS.get(type(model))
    if check is not None:
        check(model, where)


def _check_widths(known: dict[str, Any], d: int, where: str) -> None:
    names = known.get("feature_names_in_")
    is_right = names is None or (isinstance(names, np.ndarray) and names.shape == (d,))
    require(is_right, where, "names of other columns")
    for name in WIDE:
        rows: Any = known.get(name)
        is_table = isinstance(rows, np.ndarray) or sp.issparse(rows)
        if is_table and rows.ndim == 2 and rows.shape[0]:
            require(rows.shape[1] == d, f"{where}.{name}", "rows of another width than X")


def _check_trees(known: dict[str, Any], d: int, where: str) -> None:
    tree, trees, packed = (known.get(name) for name in ("tree_", "trees_", "_packed"))
    if isinstance(tree, MultiwayTree):
        require((tree.feature < d).all(), where, "a question about a column that does not exist")
    if isinstance(tree, Tree | CompactTrees) or isinstance(tree := trees, Tree | CompactTrees):
        require(tree.n_features == d, where, "trees of other columns")
    if isinstance(trees, list):
        flat = [each for of_round in trees for each in of_round]
        require(all(isinstance(each, Tree) for each in flat), where, "no trees")
        require(all(each.n_features == d for each in flat), where, "trees of other columns")
        check_kinds(flat, where)
    if isinstance(packed, PackedTrees):
        is_column = (packed.asked.feature < d).all()
        require(is_column, where, "a question about a column that does not exist")
    columns = known.get("columns_", known.get("encoding_"))
    if isinstance(columns, Columns):
        require(len(columns) == d, where, "columns other than those of X")


def _check_neighbors(model: Any, where: str) -> None:
    """Rows that are searched: their order must be one, so there may be no NaN."""
    rows = vars(model).get("_fit_X")
    if rows is None:
        return
    metric = as_fitted(model).metric
    values = rows.data if sp.issparse(rows) else rows
    require(isinstance(values, np.ndarray) and rows.ndim == 2, where, "no rows")
    if not (isinstance(metric, str) and metric in MAY_MISS):
        require(np.isfinite(values).all(), where, "rows with values that are not finite")
    kept = model._kept
    is_right = kept is None or (
        isinstance(kept, np.ndarray)
        and kept.dtype.kind == "i"
        and ((kept >= 0) & (kept < rows.shape[0])).all()
    )
    require(is_right, where, "rows to search that do not exist")


def _check_vocabulary(model: Any, where: str) -> None:
    """Words have places from 0 on, each its own."""
    vocabulary = vars(model).get("vocabulary_")
    if vocabulary is None:
        return
    require(isinstance(vocabulary, dict), where, "no vocabulary")
    places = np.array([*vocabulary.values()], dtype=object)
    are_whole = all(isinstance(place, int | np.integer) for place in places)
    is_right = are_whole and np.array_equal(np.sort(places), np.arange(len(places)))
    require(is_right, where, "words whose places are not 0, 1, 2, …")
    require(all(isinstance(word, str) for word in vocabulary), where, "words that are no text")


def _check_one_hot(encoder: OneHotEncoder, where: str) -> None:
    """Every level has a column inside those of its feature."""
    if "_n_features_outs" not in vars(encoder):
        return
    levels, outs = encoder.categories_, encoder._n_features_outs
    groups = getattr(encoder, "_default_to_infrequent_mappings", None) or [None] * len(levels)
    dropped = encoder._drop_idx_after_grouping
    dropped = [None] * len(levels) if dropped is None else dropped
    is_right = len(levels) == len(outs) == len(groups) == len(dropped) == encoder.n_features_in_
    require(is_right, where, "levels of other columns")
    for own, out, group, drop in zip(levels, outs, groups, dropped):
        require(group is None or len(group) == len(own), where, "groups of other levels")
        count = len(own) if group is None else int(np.max(group, initial=-1)) + 1
        require(group is None or np.min(group, initial=0) >= 0, where, "a group below 0")
        require(out == count - (drop is not None), where, "columns of other levels")


def _check_polynomial(features: PolynomialFeatures, where: str) -> None:
    """The sizes follow from the parameters and the number of columns."""
    if "n_features_in_" not in vars(features):
        return
    require(0 < features.n_features_in_ < 1 << 16, where, "too many columns")
    degree = features.degree
    for one in degree if isinstance(degree, tuple | list) else (degree,):
        # Counting the products of thousands of columns takes for ever.
        check_whole(one, f"{where}.degree", 0, MOST_DEGREE)
    twin = clone(features).fit(np.zeros((1, features.n_features_in_)))
    require(twin.n_output_features_ <= MOST_PRODUCTS, where, "too many products of columns")
    for name in ("n_output_features_", "_min_degree", "_max_degree", "_n_out_full"):
        is_same = vars(features).get(name) == vars(twin)[name]
        require(is_same, f"{where}.{name}", "another number than follows from the parameters")


def _check_splines(splines: SplineTransformer, where: str) -> None:
    """As many columns as the curves have, which are of the degree of the parameters."""
    if "bsplines_" not in vars(splines):
        return
    curves, d = splines.bsplines_, splines.n_features_in_
    require(len(curves) == d > 0, where, "curves of other columns")
    require(all(curve.k == splines.degree for curve in curves), where, "curves of another degree")
    check_array(curves[0].c, where, np.float64, None, None)
    bases = curves[0].c.shape[1] - (not splines.include_bias)
    require(splines.n_features_out_ == d * bases, where, "another number of columns")


def _check_target_encoder(encoder: TargetEncoder, where: str) -> None:
    """A table of encodings for each column, or for each column and class."""
    if "encodings_" not in vars(encoder):
        return
    each = len(encoder.classes_) if encoder.target_type_ == "multiclass" else 1
    is_right = len(encoder.encodings_) == each * encoder.n_features_in_
    require(is_right, where, "encodings of other columns or classes")


def _check_table_model(model: TableModel, where: str) -> None:
    """What a model of a table knows beside its pipeline is of the types that its fit leaves."""
    known = vars(model)
    if "pipeline_" not in known:
        return
    for name, types in OF_TABLE_MODELS.items():
        # What older files do not have is the class's own.
        value = known.get(name, getattr(TableModel, name, None))
        require(isinstance(value, types), f"{where}.{name}", "not what a fit leaves")
    are_columns = all(isinstance(column, Column) for column in model.columns_)
    is_regression = model.task_ == "regression"
    require(are_columns, where, "columns that are none")
    require(is_regression or model.task_ == "classification", where, "a task that is none")
    require(is_regression == (model.classes_ is None), where, "classes of another task")
    residuals = known["residuals_"]
    is_right = residuals.dtype == np.float64 and residuals.ndim == 1
    require(is_right, where, "errors of rows held out that are no numbers")
    spread = known.get("spread_")
    # The last of its columns is the prediction.
    takes_tables = spread is None or (
        len(spread.steps) > 1 and isinstance(spread[0], TableFeatures) and len(spread[0].columns)
    )
    require(takes_tables, where, "a spread of errors that takes no tables")


OF_TABLE_MODELS: dict[str, Any] = {
    "pipeline_": Pipeline,
    "target_": str,
    "task_": str,
    "metric_": str,
    "classes_": np.ndarray | None,
    "columns_": tuple,
    "rows_": int,
    "expected_": float,
    "expected_error_": float,
    "residuals_": np.ndarray,
    "spread_": Pipeline | None,
    "profile_": TableProfile,
    "record_": str,
    "reading_": ReadingOptions,
}
VALUE_CHECKS: dict[type, Any] = {
    AskedColumns: check_asked,
    Bundles: check_bundles,
    Columns: check_columns,
    CompactTrees: check_compact,
    MultiwayTree: check_multiway,
    PackedTrees: check_packed,
    Tree: check_tree,
}
MODEL_CHECKS: dict[type, Any] = {
    CountVectorizer: _check_vocabulary,
    KNeighborsClassifier: _check_neighbors,
    KNeighborsRegressor: _check_neighbors,
    NearestNeighbors: _check_neighbors,
    OneHotEncoder: _check_one_hot,
    PolynomialFeatures: _check_polynomial,
    SplineTransformer: _check_splines,
    TableModel: _check_table_model,
    TargetEncoder: _check_target_encoder,
    TextClassifier: _check_vocabulary,
    TfidfVectorizer: _check_vocabulary,
}
