"""What a caller may demand of boosted trees: columns with a direction, and columns that meet."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_monotonic_cst

from ..trees.columns import Columns

Array = np.ndarray


def read_monotone(model: Any, columns: Columns, names: Array | None) -> Array:
    """+1, −1 or 0 for each column, from a list or from names."""
    reader = _Named(len(columns), names)
    found = np.asarray(_check_monotonic_cst(reader, model.monotonic_cst), dtype=int)
    is_wrong = (found != 0) & columns.is_category
    if np.any(is_wrong):
        raise ValueError(
            "Categorical features cannot have monotonic constraints: column "
            f"{int(np.argmax(is_wrong))} has one; set it to 0."
        )
    return found


class _Named:
    """The features of a fit that is under way."""

    def __init__(self, count: int, names: Array | None):
        self.n_features_in_ = count
        if names is not None:
            self.feature_names_in_ = names


def read_groups(interaction_cst: Any, d: int) -> Array | None:
    """Which columns may meet on one path: a row of 0 and 1 for each group; None where all may.

    Columns that are in no group make up one of their own.
    """
    if interaction_cst is None:
        return None
    if isinstance(interaction_cst, str):
        pairs = interaction_cst == "pairwise"
        groups = list(combinations(range(d), 2)) if pairs else [(j,) for j in range(d)]
    else:
        groups = _checked(interaction_cst, d)
        rest = set(range(d)) - {j for group in groups for j in group}
        groups += [tuple(sorted(rest))] if rest else []
    table = np.zeros((len(groups), d), dtype=np.uint8)
    for k, group in enumerate(groups):
        table[k, list(group)] = 1
    return table


def _checked(interaction_cst: Any, d: int) -> list[tuple[int, ...]]:
    try:
        groups = [tuple(group) for group in interaction_cst]
    except TypeError:
        raise ValueError(
            "Interaction constraints must be a sequence of tuples or lists, got: "
            f"{interaction_cst!r}."
        ) from None
    for group in groups:
        if not all(isinstance(j, Integral) and 0 <= j < d for j in group):
            raise ValueError(
                "Interaction constraints must consist of integer indices in [0, n_features - 1] = "
                f"[0, {d - 1}], specifying the position of features, got indices: {group!r}."
            )
    return groups


def check_levels(columns: Columns, most: int, names: Iterable[str] | None) -> None:
    """Refuse a category with more levels than there are bins."""
    names = list(names) if names is not None else None
    for j in np.flatnonzero(columns.is_category & (columns.count > most)):
        name = f"'{names[j]}'" if names is not None else f"at index {j}"
        raise ValueError(
            f"Categorical feature {name} is expected to have a cardinality <= {most} but actually "
            f"has a cardinality of {columns.count[j]}; raise max_bins, join rare levels, or leave "
            "the column out."
        )
