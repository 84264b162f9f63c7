"""What a caller may demand of boosted trees: columns with a direction, and columns that meet."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_monotonic_cst

from ..._ground.columns import Columns

Array = np.ndarray


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
    """Groups of columns that may meet on one path; None where all may.

    Columns that are in no group make up one of their own.
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
