"""The data of boosting: binned rows, targets as the loss takes them, and rows held out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_monotonic_cst, _num_samples

from ..._ground.columns import MOST_CODES, Columns, halfway, pack
from ..._ground.tables import readable
from ..._ground.validation import Outputs
from ...losses import Loss
from ...unseen import Population, equal_rows
from .losses import targets_of

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class BoostingData:
    """Validated training data; all rows have a positive weight.

    Parameters
    ----------
    F : array or sparse matrix of shape (n, d)
        Numbers, categories as level numbers, NaN for missing values.
    columns : Columns
        What the categories are called.
    outputs : Outputs
        Targets and weights.
    loss : Loss
        What is minimised.
    monotone : ndarray of int, shape (d,)
        Whether predictions must rise (1) or fall (−1) with each column, or need not (0).
    names : ndarray of str or None
        Names of the features, where X had names.
    X : Any
        As the caller gave it, less rows without weight.
    max_bins : int
        The largest number of bins of a column.
    has_weights : bool
        Whether the caller gave weights.
    """

    F: Any
    columns: Columns
    outputs: Outputs
    loss: Loss
    monotone: Array
    names: Array | None
    X: Any
    max_bins: int
    has_weights: bool = False

    def of(self, rows: Array) -> BoostingData:
        """Some of the rows alone, with their own bins; classes stay those of all."""
        if len(rows) == len(self.outputs.y):
            return self
        outputs = replace(
            self.outputs,
            y=self.outputs.y[rows],
            sample_weight=self.repeats[rows],
            weights=self.weights[rows],
        )
        return replace(self, F=self.F[rows], X=_safe_indexing(self.X, rows), outputs=outputs)

    @cached_property
    def table(self) -> BinnedTable:
        """The binned rows."""
        return BinnedTable.of(
            self.columns.coded(self.F, self.max_bins, self.repeats), self.monotone
        )

    @cached_property
    def y(self) -> Array:
        """Targets as the loss takes them, (n,)."""
        return targets_of(self.loss, self.outputs.y[:, 0], self.outputs.classes is not None)

    @property
    def classes(self) -> Array | None:
        """The classes; None for numbers."""
        return None if self.outputs.classes is None else self.outputs.classes[0]

    @property
    def weights(self) -> Array:
        """Weights of the rows in the loss."""
        return self.outputs.weights

    @property
    def repeats(self) -> Array:
        """The number of rows that each row represents."""
        return self.outputs.sample_weight

    @property
    def scores(self) -> int:
        """The number of scores per row."""
        classes = self.outputs.classes
        return len(classes[0]) if classes and self.loss.task == "multiclass" else 1

    @cached_property
    def population(self) -> Population:
        """The distinct rows (x, y), by content."""
        labels = equal_rows(self.F, self.outputs.y)
        _, first, place = np.unique(labels, return_index=True, return_inverse=True)
        return Population(first, place, np.bincount(place, self.repeats))

    def check_parts(self, weights: Array, is_aside: Array, fraction: float | int) -> None:
        """Refuse a split that leaves one of the parts without rows."""
        if not np.any((weights > 0) & ~is_aside) or not is_aside.any():
            raise ValueError(
                "The training data after the early stopping split leaves one part without any of "
                f"the {len(self.population.weights)} distinct rows; "
                f"change validation_fraction={fraction:g}."
            )

    def aside(self, fraction: float | int, seed: int, weights: Array | None = None) -> Array:
        """Which rows with a weight are held out: equal x together, stratified by class.

        A class of which no other row would be left stays in training. Drawn from the distinct rows
        by content, so that neither the order of the rows nor how often they repeat matters.
        """
        population = self.population
        repeats = population.weights
        if fraction >= 1:
            fraction = fraction / float(repeats.sum())
        strata = np.zeros(len(repeats))
        if self.outputs.classes is not None:
            strata = self.outputs.y[population.first, 0]
        order = np.random.default_rng(seed).permutation(len(repeats))
        chosen = np.zeros(len(repeats), dtype=bool)
        for stratum in np.unique(strata):
            own = order[strata[order] == stratum]
            before = np.cumsum(repeats[own]) - repeats[own]
            chosen[own] = before < fraction * repeats[own].sum() * (1 - 1e-12)
        counted = (self.weights if weights is None else weights) > 0
        if self.outputs.classes is None:
            return chosen[population.place] & counted
        # Rows of one x go together: if it has several classes, the training part would have only
        # the others, and rounds would be judged by the very rows that contradict it.
        alike = equal_rows(self.F[population.first], np.zeros((len(repeats), 1)))
        first, place = np.unique(alike, return_index=True, return_inverse=True)[1:]
        is_aside = chosen[first][place][population.place] & counted
        label = self.outputs.y[:, 0]
        return is_aside & np.isin(label, label[counted & ~is_aside])


def with_weight(X: Any, y: Array, sample_weight: Any) -> tuple[Any, Array, Any]:
    """Rows of weight 0 are dropped before anything is learned from them."""
    if sample_weight is None:
        return X, y, None
    weights = np.asarray(readable(sample_weight, name="sample_weight"))
    is_right = weights.ndim == 1 and len(weights) == len(y) == _num_samples(X)
    kept = np.flatnonzero(weights != 0) if is_right else ()
    if not is_right or len(kept) in (0, len(weights)):
        return X, y, sample_weight
    return _safe_indexing(X, kept), y[kept], weights[kept]


def check_levels(columns: Columns, most: int, names: Iterable[str] | None) -> None:
    """Refuse a category with more levels than bins."""
    names = list(names) if names is not None else None
    for j in np.flatnonzero(columns.is_category & (columns.count > most)):
        name = f"'{names[j]}'" if names is not None else f"at index {j}"
        raise ValueError(
            f"Categorical feature {name} is expected to have a cardinality <= {most} but actually "
            f"has a cardinality of {columns.count[j]}; raise max_bins, join rare levels, or leave "
            "the column out."
        )


# ---- what a caller may demand of trees -----------------------------------------------------------


def read_monotone(model: Any, columns: Columns, scores: int) -> Array:
    """+1, −1 or 0 for each column, from a list or from names."""
    found = np.asarray(_check_monotonic_cst(model, model.monotonic_cst), dtype=int)
    if np.any(found != 0) and scores > 1:
        raise ValueError(
            "monotonic constraints are not supported for multiclass classification, where a class "
            "becomes less probable as others become more; fit one model for each class."
        )
    is_wrong = (found != 0) & columns.is_category
    if np.any(is_wrong):
        raise ValueError(
            "Categorical features cannot have monotonic constraints: column "
            f"{int(np.argmax(is_wrong))} has one; set it to 0."
        )
    return found


def read_groups(interaction_cst: Any, d: int) -> list[set[int]] | None:
    """Groups of columns that may interact on one path; None if all may.

    Columns in no group form one of their own.
    """
    if interaction_cst is None:
        return None
    if isinstance(interaction_cst, str):
        size = 2 if interaction_cst == "pairwise" else 1
        return [set(group) for group in combinations(range(d), size)]
    groups = _checked(interaction_cst, d)
    rest = set(range(d)) - {j for group in groups for j in group}
    return [*groups, rest] if rest else groups


def table_of(groups: list[set[int]] | None, d: int) -> Array | None:
    """A row of 0 and 1 for each group, as the core takes them."""
    if groups is None:
        return None
    table = np.zeros((len(groups), d), dtype=np.uint8)
    for k, group in enumerate(groups):
        table[k, list(group)] = 1
    return table


def _checked(interaction_cst: Any, d: int) -> list[set[int]]:
    try:
        groups = [tuple(group) for group in interaction_cst]
    except TypeError:
        raise ValueError(
            "Interaction constraints must be a sequence of tuples or lists, got: "
            f"{interaction_cst!r}."
        ) from None
    for group in groups:
        if not all(isinstance(j, Integral) and 0 <= int(j) < d for j in group):
            raise ValueError(
                "Interaction constraints must consist of integer indices in [0, n_features - 1] = "
                f"[0, {d - 1}], specifying the position of features, got indices: {group!r}."
            )
    return [{int(j) for j in group} for group in groups]


# ---- the rows in bins ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BinnedTable:
    """Rows in bins, and where the bins of each column of numbers end.

    Parameters
    ----------
    bins : Bundles
        The rows.
    edges : list of ndarray
        For each column the thresholds between its bins; empty for categories.
    """

    bins: Bundles
    edges: Sequence[Array]

    @classmethod
    def of(cls, columns: Columns, monotone: Array) -> BinnedTable:
        """Bundle columns of at most 256 codes, including that of missing values."""
        codes = [columns.codes_of(j) for j in range(len(columns))]
        counts = (columns.count + columns.has_missing).astype(int).tolist()
        bins = Bundles.of(codes, counts, columns.has_missing, columns.is_category, monotone)
        return cls(bins, [_between(columns, j) for j in range(len(columns))])

    @cached_property
    def _ends(self) -> tuple[Array, Array]:
        ends = [np.append(own, np.inf) for own in self.edges]
        return np.concatenate(ends), np.cumsum([0, *map(len, ends)])

    def thresholds(self, column: Array, code: Array) -> Array:
        """The threshold above each code of a column; ∞ above the last, NaN for categories."""
        ends, start = self._ends
        is_number = code >= 0
        place = np.where(is_number, start[column] + code, 0)
        return np.where(is_number, ends[place], np.nan)


def _between(columns: Columns, j: int) -> Array:
    """Halfway between the values of neighbouring codes of a column of numbers."""
    if columns.is_category[j]:
        return np.zeros(0)
    own = slice(columns.values_begin[j], columns.values_begin[j] + columns.count[j])
    return halfway(columns.highest[own][:-1], columns.lowest[own][1:])


# ---- columns that share a byte -------------------------------------------------------------------
#
# The layout that boosting reads has a few bytes for each row, row after row. Columns of which at
# most one differs from its most frequent value in any row, such as the indicators of a category,
# share a byte: 44 of them cost as much as two columns (Ke et al. 2017, LightGBM). Nothing is lost
# by it.


@dataclass(frozen=True, eq=False)
class Bundles:
    """Rows of bins.

    Parameters
    ----------
    code : ndarray of uint8, shape (n, width)
        The bins.
    by_bundle : ndarray of uint8, shape (width, n)
        The same, bundle after bundle.
    start : ndarray of int32, shape (width + 1,)
        Where the bins of each bundle begin when all are counted through.
    table : ndarray of int32, shape (d, 7)
        For each column its bundle, its first bin there, its number of codes, the most frequent one
        (−1 where the column is alone), whether the last code is that of missing values, whether the
        codes are levels of a category, and whether predictions must rise (1) or fall (−1) with it.
    """

    code: Array
    by_bundle: Array
    start: Array
    table: Array

    @classmethod
    def of(
        cls,
        codes: Sequence[Array],
        counts: Sequence[int],
        has_missing: Any,
        is_categorical: Any,
        monotone: Any,
    ) -> Bundles:
        """Bundle columns of codes 0 … count − 1; the last three have an entry for each column."""
        width = np.asarray(counts)
        packing = pack(codes, counts, (width > 1) & (width < MOST_CODES))
        shared = {j for members in packing.members for j in members}
        alone = [[j] for j in np.flatnonzero(width > 1).tolist() if j not in shared]
        bundles = sorted([*packing.members, *alone])
        by_bundle = np.zeros((max(len(bundles), 1), len(codes[0])), dtype=np.uint8)
        # Columns of one code need no byte of their own: they are at their most frequent one.
        table = np.zeros((len(codes), 7), dtype=np.int32)
        table[:, 2] = counts
        sizes = [] if bundles else [1]
        for b, members in enumerate(bundles):
            if len(members) == 1:
                by_bundle[b] = codes[members[0]]
                table[members[0], :4] = b, 0, counts[members[0]], -1
                sizes.append(counts[members[0]])
                continue
            first = 1
            for j in members:
                packing.write(codes[j], j, first, by_bundle[b])
                table[j, :4] = b, first, counts[j], packing.usual[j]
                first += counts[j] - 1
            sizes.append(first)
        table[:, 4], table[:, 5], table[:, 6] = has_missing, is_categorical, monotone
        start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        return cls(np.ascontiguousarray(by_bundle.T), by_bundle, start, table)
