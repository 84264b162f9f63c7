"""The costs of decisions: tables of true class against decision, for all rows or for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

Array = np.ndarray

# What the rows of a given table are; its columns are the other.
TRUTH, DECISION = "truth", "decision"


def read_cost_matrix(cost_matrix: Any, classes: Array, rows: str = TRUTH) -> Array:
    """Costs (K, K), row i for the true class i, column j for the decision j.

    From None (1 for each error), the cost of missing each class as a vector or a mapping from
    labels, or the table itself, as an array or by names (`named_costs`), transposed if its rows are
    decisions.
    """
    K = len(classes)
    if cost_matrix is None:
        return 1.0 - np.eye(K)
    if isinstance(cost_matrix, Mapping):
        cost_matrix = _in_order(cost_matrix, classes.tolist())
    costs = _numbers(cost_matrix, "cost_matrix")
    if costs.shape == (K,):
        return costs[:, None] * (1.0 - np.eye(K))
    if costs.shape != (K, K):
        raise ValueError(
            f"cost_matrix has shape {costs.shape}, but there are {K} classes; give a {K} × {K} "
            f"table with a row for each {WHAT[rows]} and a column for each {WHAT[_other(rows)]}, "
            f"or {K} costs, one for missing each class."
        )
    return costs if rows == TRUTH else np.ascontiguousarray(costs.T)


WHAT = {TRUTH: "true class", DECISION: "decision"}


def _other(rows: str) -> str:
    return DECISION if rows == TRUTH else TRUTH


def check_cost_rows(rows: Any) -> None:
    """Raise an error unless this says what the rows of a table of costs are."""
    if rows not in WHAT:
        raise ValueError(f"cost_rows={rows!r} is not known; use {TRUTH!r} or {DECISION!r}.")


def named_costs(costs: Array, classes: Array) -> dict[Any, dict[Any, float]]:
    """Costs (K, K) by the names of true classes, then of decisions.

    So they also suit rows that lack some of the classes.
    """
    names = classes.tolist()
    return {true: dict(zip(names, row)) for true, row in zip(names, costs.tolist())}


def _in_order(costs: Mapping[Any, Any], classes: list[Any]) -> list[Any]:
    """Named costs in the order of the classes; a table may have more of them."""
    is_table = bool(costs) and all(isinstance(row, Mapping) for row in costs.values())
    unknown = [] if is_table else [label for label in costs if label not in classes]
    rows = (costs, *costs.values()) if is_table else (costs,)
    missing = [label for row in rows for label in classes if label not in row]
    if unknown or missing:
        wrong = f"{unknown[0]!r} is not a class" if unknown else f"{missing[0]!r} has no cost"
        raise ValueError(f"cost_matrix must have a cost for each class, {classes}: {wrong}.")
    if is_table:
        return [[costs[true][decision] for decision in classes] for true in classes]
    return [costs[label] for label in classes]


def read_row_costs(costs: Any, n: int, K: int, rows: str = TRUTH) -> Array:
    """Costs of each row, (n, K, K), from tables or from the costs (n, K) of missing each class.

    The rows of the tables given are true classes or decisions; those returned are true classes.
    """
    values = _numbers(costs, "costs")
    if values.shape == (n, K):
        return values[:, :, None] * (1.0 - np.eye(K))
    if values.shape != (n, K, K):
        raise ValueError(
            f"costs has shape {values.shape}, but there are {n} rows and {K} classes; give shape "
            f"({n}, {K}, {K}), a table for each row, or ({n}, {K}), the cost of missing each "
            "class."
        )
    return values if rows == TRUTH else values.transpose(0, 2, 1)


def expected_costs(probabilities: Array, costs: Array, abstain_cost: float | None) -> Array:
    """The expected cost of each decision, (n, K), or (n, K + 1) with abstaining as the last.

    `costs` is (K, K) or (n, K, K); the probabilities (n, K) are those of the true class.
    """
    if costs.ndim == 2:
        expected = probabilities @ costs
    else:
        expected = np.einsum("nk,nkj->nj", probabilities, costs)
    if abstain_cost is None:
        return expected
    return np.column_stack([expected, np.full(len(expected), float(abstain_cost))])


def cheapest(probabilities: Array, costs: Array, abstain_cost: float | None) -> Array:
    """The decision of least expected cost for each row, K for abstaining; ties go to the first.

    Only differences between the decisions count. Without the largest cost of each true class the
    0-1 costs leave −p and nothing to round, so that they give argmax p itself.
    """
    if abstain_cost is None:
        return np.argmin(
            expected_costs(probabilities, costs - costs.max(axis=-1, keepdims=True), None), axis=1
        )
    return np.argmin(expected_costs(probabilities, costs, abstain_cost), axis=1)


def realised_costs(
    true: Array, decisions: Array, costs: Array, abstain_cost: float | None
) -> Array:
    """The cost of each row, (n,), from true classes and decisions, by position (K: abstain)."""
    K = costs.shape[-1]
    decided = np.minimum(decisions, K - 1)
    at = (true, decided) if costs.ndim == 2 else (np.arange(len(true)), true, decided)
    return np.where(decisions < K, costs[at], np.nan if abstain_cost is None else abstain_cost)


def abstaining_label(classes: Array, label: Any) -> Any:
    """The label for no decision: the one given, else −1 or "abstain"."""
    is_text = classes.dtype.kind not in "iufb"
    chosen = ("abstain" if is_text else -1) if label is None else label
    if chosen in classes.tolist():
        raise ValueError(
            f'{chosen!r} is a class and cannot also mean "no decision"; choose another '
            "abstain_label."
        )
    return chosen


def _numbers(values: Any, name: str) -> Array:
    try:
        costs = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers, got {values!r}.") from error
    if not np.all(np.isfinite(costs)):
        place = tuple(np.argwhere(~np.isfinite(costs))[0].tolist())
        raise ValueError(f"{name} must be finite numbers, but it has {costs[place]} at {place}.")
    return costs
