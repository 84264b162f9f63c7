"""Whether the contents of a file can come from a fit.

Every class declares what it stores, and values and models are checked against that; this file
covers the rest: parts of trees, and how the attributes of scikit-learn's classes fit together.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import validate_parameter_constraints

from .._ground.columns import Columns
from .._ground.stored import Checks, FittedModel, Misfit, all_finite
from ..models.trees import CompactTrees, MultiwayTree, PackedTrees, Tree
from ..unseen import GIVEN
from .container import ModelFileError
from .fields import contents
from .limits import Budget, check_limits, parameter_names
from .names import name_of
from .scikit_learn import ATTRIBUTES, OUTPUT, OUTPUT_KINDS, left_by_fit
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

# What scikit-learn accepts in place of a transformer.
NO_STEP = ("passthrough", "drop")
# The highest degree of products of columns.
MOST_DEGREE = 64


def check_sparse(data: Any, indices: Any, indptr: Any, shape: tuple[int, int], where: str) -> None:
    """The arrays of a compressed sparse matrix of `shape` (lines, places on a line)."""
    lines, across = shape
    are_arrays = all(isinstance(a, np.ndarray) and a.ndim == 1 for a in (data, indices, indptr))
    require(are_arrays and len(data) == len(indices), where, "no sparse matrix")
    is_typed = indices.dtype == indptr.dtype and indices.dtype in (np.int32, np.int64)
    require(is_typed, where, "indices of an unknown type")
    check_offsets(indptr.astype(np.int64), where, lines, len(data))
    require(((indices >= 0) & (indices < across)).all(), where, "an index beyond the matrix")
    line = np.repeat(np.arange(lines), np.diff(indptr))
    falls = (np.diff(indices) <= 0) & (np.diff(line) == 0)
    require(not falls.any(), where, "indices that do not increase")


def check_value(value: Any, name: str, where: str) -> None:
    """Check a value after it was built; `name` is its class in files."""
    kind: Any = type(value)
    if (declared := _of_fields(kind)) is not None:
        _check_declared(declared, contents(value, name), where)
    check: Callable[[Any, str], None] | None = VALUE_CHECKS.get(name)
    if check is not None:
        check(value, where)


def check_model(model: Any, name: str, learned: dict[str, Any], where: str, budget: Budget) -> None:
    """Check a model, fitted or not; `name` is its class in files."""
    cls: Any = type(model)
    check_limits(model, where)
    learned = {**learned}
    require(learned.pop(OUTPUT, {}) in OUTPUT_KINDS, where, "an unknown kind of output table")
    was_fitted = _check_declared(_of_attributes(cls), learned, where)
    _check_given(model, learned.get(GIVEN) or {}, where)
    if was_fitted and name in ATTRIBUTES:
        # scikit-learn's transformers read their parameters when they transform.
        parameters = {name: getattr(model, name) for name in parameter_names(cls)}
        rules = getattr(cls, "_parameter_constraints", {})
        validate_parameter_constraints(rules, parameters, cls.__name__)
    if was_fitted:
        fault = model._misfit() if hasattr(cls, "_misfit") else None
        require(fault is None, where, fault or "")
        _check_trees(learned, learned.get("n_features_in_", 0), where)
    check: Callable[[Any, str], None] | None = MODEL_CHECKS.get(name)
    if check is not None:
        check(model, where)
    if name in OUTPUTS and was_fitted:
        budget.spend(OUTPUTS[name](model), "columns", where)


@cache
def _of_fields(cls: Any) -> Checks | None:
    """The declared fields of a value, if any."""
    declared = getattr(cls, "_stored", None)
    return None if declared is None else Checks.of(declared)


@cache
def _of_attributes(cls: Any) -> Checks:
    """The declared attributes of a model."""
    return Checks.of(left_by_fit(cls))


def _check_declared(declared: Checks, found: dict[str, Any], where: str) -> bool:
    try:
        return declared.check(found)
    except Misfit as misfit:
        raise ModelFileError(f"{where}.{misfit}.") from None


def _check_given(model: Any, given: dict[str, Any], where: str) -> None:
    """Check the parameters that predictions read: a fit must have accepted them."""
    cls: Any = type(model)
    require(given.keys() <= parameter_names(cls), where, "parameters that its class does not have")
    rules = {name: cls._parameter_constraints[name] for name in given} if given else {}
    validate_parameter_constraints(rules, given, cls.__name__)


def _check_trees(known: dict[str, Any], d: int, where: str) -> None:
    tree, trees, packed = (known.get(name) for name in ("tree_", "trees_", "_packed"))
    if isinstance(tree, MultiwayTree):
        require((tree.feature < d).all(), where, "a split on a column that does not exist")
    if isinstance(tree, Tree | CompactTrees) or isinstance(tree := trees, Tree | CompactTrees):
        require(tree.n_features == d, where, "trees on other columns")
    if isinstance(trees, list):
        flat = [each for of_round in trees for each in of_round]
        require(all(isinstance(each, Tree) for each in flat), where, "no trees")
        require(all(each.n_features == d for each in flat), where, "trees on other columns")
        check_kinds(flat, where)
    if isinstance(packed, PackedTrees):
        is_column = (packed.asked.feature < d).all()
        require(is_column, where, "a split on a column that does not exist")
    columns = known.get("columns_", known.get("encoding_"))
    if isinstance(columns, Columns):
        require(len(columns) == d, where, "columns other than those of X")


def _check_column_transformer(transformer: Any, where: str) -> None:
    """Every transformer has columns to take, and columns of the output to fill."""
    _check_steps(transformer.transformers, where)
    if "transformers_" not in vars(transformer):
        return
    own, d = transformer.transformers_, transformer.n_features_in_
    _check_steps(own, where)
    is_right = all(len(part) == 3 for part in own)
    require(is_right, where, "transformers without columns")
    for name, model, columns in own:
        taken = transformer._transformer_to_input_indices.get(name)
        is_right = isinstance(taken, list | np.ndarray) and all(
            isinstance(place, int | np.integer) and 0 <= place < d for place in taken
        )
        require(is_right, where, "a transformer of columns that do not exist")
        names = vars(transformer).get("feature_names_in_")
        is_right = _places(columns, d, names) == [int(place) for place in taken]
        require(is_right, where, "a transformer of columns other than its own")
        filled = transformer.output_indices_.get(name)
        require(isinstance(filled, slice), where, "a transformer without output columns")
        # One without columns stays unfitted.
        if len(taken) and hasattr(type(model), "get_params"):
            fault = FittedModel("transform").fault(model, {})
            require(fault is None, where, f"a transformer that {fault}")


def _places(columns: Any, d: int, names: Array | None) -> list[int] | None:
    """Positions of some of d columns, given in any way scikit-learn accepts; None if in none."""
    known = {} if names is None else {name: place for place, name in enumerate(names.tolist())}
    if isinstance(columns, slice) and (
        isinstance(columns.start, str) or isinstance(columns.stop, str)
    ):
        first = known.get(columns.start, 0 if columns.start is None else None)
        last = known.get(columns.stop, d - 1 if columns.stop is None else None)
        if first is None or last is None:
            return None
        columns = slice(first, last + 1, columns.step)
    each = columns if isinstance(columns, list | tuple | np.ndarray) else [columns]
    if all(isinstance(one, str) for one in each):
        return [known[name] for name in each] if known.keys() >= set(each) else None
    try:
        return np.atleast_1d(np.arange(d)[columns]).tolist()
    except (IndexError, TypeError, ValueError):
        return None


def _check_steps(steps: Any, where: str) -> None:
    """Steps of a pipeline or transformers of a union: names, and models or placeholders."""
    is_list = isinstance(steps, list | tuple) and all(
        isinstance(step, tuple | list) and len(step) in (2, 3) and isinstance(step[0], str)
        for step in steps
    )
    require(is_list, where, "steps that are not pairs of a name and a model")
    for step in steps:
        is_model = hasattr(type(step[1]), "get_params")
        is_none = step[1] is None or (isinstance(step[1], str) and step[1] in NO_STEP)
        require(is_model or is_none, where, "a step that is not a model")


def _check_one_hot(encoder: Any, where: str) -> None:
    """Every level has a column inside those of its feature."""
    if "_n_features_outs" not in vars(encoder):
        return
    levels, outs = encoder.categories_, encoder._n_features_outs
    _check_groups(encoder, where)
    groups = getattr(encoder, "_default_to_infrequent_mappings", None) or [None] * len(levels)
    dropped = encoder._drop_idx_after_grouping
    dropped = [None] * len(levels) if dropped is None else dropped
    is_right = len(levels) == len(outs) == len(groups) == len(dropped) == encoder.n_features_in_
    require(is_right, where, "categories of other columns")
    for own, out, group, drop in zip(levels, outs, groups, dropped):
        require(group is None or len(group) == len(own), where, "groups of other categories")
        count = len(own) if group is None else int(np.max(group, initial=-1)) + 1
        is_group = group is None or (len(own) and np.min(group) >= 0 and np.max(group) < len(own))
        require(is_group, where, "groups of other categories")
        require(out == count - (drop is not None), where, "columns of other categories")


def _check_groups(encoder: Any, where: str) -> None:
    """Levels are in groups if rare ones share one."""
    if vars(encoder).get("_infrequent_enabled"):
        groups = vars(encoder).get("_default_to_infrequent_mappings")
        rare = vars(encoder).get("_infrequent_indices")
        are_lists = isinstance(groups, list) and isinstance(rare, list)
        require(are_lists and len(groups) == len(rare), where, "no groups of rare categories")
        for group, own in zip(groups, rare):
            is_right = (group is None) == (own is None) and (
                group is None or (len(own) and own.max() < len(group))
            )
            require(is_right, where, "rare categories that do not exist")


def _check_scaler(scaler: Any, where: str) -> None:
    """The numbers to subtract and divide by are there if needed."""
    pairs = {"with_mean": "mean_", "with_centering": "center_"}
    pairs |= {"with_std": "scale_", "with_scaling": "scale_"}
    for flag, name in pairs.items():
        if getattr(scaler, flag, False) and "n_features_in_" in vars(scaler):
            is_there = vars(scaler).get(name) is not None
            require(is_there, f"{where}.{name}", "nothing where numbers are needed")


def _check_imputer(imputer: Any, where: str) -> None:
    """The indicator of missing values is there if needed."""
    is_there = vars(imputer).get("indicator_") is not None
    is_right = is_there or not imputer.add_indicator or "statistics_" not in vars(imputer)
    require(is_right, f"{where}.indicator_", "nothing where missing values are marked")


def _check_bins(discretizer: Any, where: str) -> None:
    """Edges around every bin, and a level of the encoder for each."""
    if "bin_edges_" not in vars(discretizer):
        return
    bins = discretizer.n_bins_
    is_right = all(len(edges) == n + 1 for edges, n in zip(discretizer.bin_edges_, bins))
    require(is_right, where, "edges of other bins")
    encoder = vars(discretizer).get("_encoder")
    require(encoder is not None or discretizer.encode == "ordinal", where, "no encoder of bins")
    levels = [np.arange(n) for n in bins]
    is_right = encoder is None or (
        name_of(type(encoder)) == "sklearn.OneHotEncoder"
        and all(map(np.array_equal, encoder.categories_, levels))
    )
    require(is_right, where, "an encoder of other bins")


def _check_polynomial(features: Any, where: str) -> None:
    """The sizes follow from the parameters and the number of columns."""
    if "n_features_in_" not in vars(features):
        return
    require(0 < features.n_features_in_ < 1 << 16, where, "too many columns")
    degree = features.degree
    for one in degree if isinstance(degree, tuple | list) else (degree,):
        # Counting the products of thousands of columns takes for ever.
        check_whole(one, f"{where}.degree", 0, MOST_DEGREE)
    twin = clone(features).fit(np.zeros((1, features.n_features_in_)))
    for name in ("n_output_features_", "_min_degree", "_max_degree", "_n_out_full"):
        is_same = vars(features).get(name) == vars(twin)[name]
        require(is_same, f"{where}.{name}", "a number that contradicts the parameters")


def _check_splines(splines: Any, where: str) -> None:
    """As many columns as the curves have, which have the degree of the parameters."""
    if "bsplines_" not in vars(splines):
        return
    curves, d = splines.bsplines_, splines.n_features_in_
    require(len(curves) == d > 0, where, "curves of other columns")
    require(all(curve.k == splines.degree for curve in curves), where, "curves of another degree")
    require(curves[0].c.ndim == 2, where, "curves that are not a table of numbers")
    for curve in curves:
        check_array(curve.c, where, np.float64, *curves[0].c.shape)
        require(all_finite(curve.c), where, "curves of numbers that are NaN or infinite")
    bases = curves[0].c.shape[1] - (not splines.include_bias)
    require(splines.n_features_out_ == d * bases, where, "another number of columns")


def _check_target_encoder(encoder: Any, where: str) -> None:
    """A table of encodings for each column, or for each column and class."""
    if "encodings_" not in vars(encoder):
        return
    each = len(encoder.classes_) if encoder.target_type_ == "multiclass" else 1
    is_right = len(encoder.encodings_) == each * encoder.n_features_in_
    require(is_right, where, "encodings of other columns or classes")
    _check_groups(encoder, where)
    if encoder._infrequent_enabled:
        return
    for k, own in enumerate(encoder.encodings_):
        levels = encoder.categories_[k // each]
        require(len(own) == len(levels), where, "encodings of other categories")


def _check_table_model(model: Any, where: str) -> None:
    """What a table's model knows besides its pipeline has the types that its fit leaves."""
    known = vars(model)
    if "pipeline_" not in known:
        return
    is_regression = model.task_ == "regression"
    require(is_regression == (model.classes_ is None), where, "classes of another task")
    spread = known.get("spread_")
    # Its last column is the prediction.
    takes_tables = spread is None or (
        len(spread.steps) > 1
        and name_of(type(spread[0])) == "data.TableFeatures"
        and len(spread[0].columns)
    )
    require(takes_tables, where, "an error spread that does not accept tables")


def _check_level_contrasts(contrasts: Any, where: str) -> None:
    """Each column has levels with shares above 0 that add up to 1."""
    if "shares_" not in vars(contrasts):
        return
    found = contrasts.shares_
    names = list(vars(contrasts).get("feature_names_in_", ()))
    require(list(found) == names, where, "shares of other columns")
    for shares in found.values():
        are_shares = isinstance(shares, dict) and all(
            isinstance(level, str) and isinstance(share, float) and 0 < share <= 1
            for level, share in shares.items()
        )
        is_whole = are_shares and (not shares or abs(sum(shares.values()) - 1) < 1e-6)
        require(is_whole, where, "levels without shares that add up to 1")


def _check_table_map(model: Any, where: str) -> None:
    """A map takes tables, and has a name for each group and a variance for each direction."""
    if "pipeline_" not in vars(model):
        return
    steps = [name_of(type(step)) for _, step in model.pipeline_.steps]
    known = ["data.TableFeatures", "sklearn.ColumnTransformer", "decomposition.PCA"]
    require(steps == known, where, "a preparation or components that a map does not have")
    pca, clusters = model.pipeline_[-1], model.clusters_
    fits = len(model.spread_) == pca.n_components_ and len(model.noise_) == pca.n_features_in_
    require(fits, where, "variances of other components")
    require(1 <= model.shown_ <= pca.n_components_, where, "more components than it has")
    require(len(model.distances_) > 0, where, "no distances of training rows")
    groups = 1
    if clusters is not None:
        centres = getattr(clusters, "cluster_centers_", np.zeros((0, 0)))
        is_right = len(centres) > 0 and centres.shape[1] == len(model.places_) > 0
        require(is_right, where, "groups in another space")
        groups = len(centres)
    require(len(model.names_) == groups, where, "names of other groups")
    require(model.centres_.shape == (groups, pca.n_components_), where, "centres of other groups")
    require(max(model.places_, default=0) < pca.n_components_, where, "components it does not have")


# The number of output columns of fitted transformers whose number varies.
OUTPUTS: dict[str, Callable[[Any], int]] = {
    "data.LevelContrasts": lambda levels: sum(len(each) for each in levels.shares_.values()),
    "sklearn.OneHotEncoder": lambda encoder: sum(encoder._n_features_outs),
    "sklearn.PolynomialFeatures": lambda features: features.n_output_features_,
    "sklearn.SplineTransformer": lambda splines: splines.n_features_out_,
}
VALUE_CHECKS: dict[str, Any] = {
    "trees.AskedColumns": check_asked,
    "trees.Bundles": check_bundles,
    "trees.Columns": check_columns,
    "trees.CompactTrees": check_compact,
    "trees.MultiwayTree": check_multiway,
    "trees.PackedTrees": check_packed,
    "trees.Tree": check_tree,
}
MODEL_CHECKS: dict[str, Any] = {
    "sklearn.ColumnTransformer": _check_column_transformer,
    "sklearn.FeatureUnion": lambda union, where: _check_steps(union.transformer_list, where),
    "sklearn.Pipeline": lambda pipeline, where: _check_steps(pipeline.steps, where),
    "sklearn.KBinsDiscretizer": _check_bins,
    "sklearn.OneHotEncoder": _check_one_hot,
    "sklearn.OrdinalEncoder": _check_groups,
    "sklearn.RobustScaler": _check_scaler,
    "sklearn.SimpleImputer": _check_imputer,
    "sklearn.StandardScaler": _check_scaler,
    "sklearn.PolynomialFeatures": _check_polynomial,
    "sklearn.SplineTransformer": _check_splines,
    "choosing.TableMap": _check_table_map,
    "choosing.TableModel": _check_table_model,
    "data.LevelContrasts": _check_level_contrasts,
    "sklearn.TargetEncoder": _check_target_encoder,
}
