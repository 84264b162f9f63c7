"""Rows of a search: equal ones merged, dealt to folds by content, and what each of them scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...problem import Problem
from ...unseen import Distinct, Fitted, dealt, splits

Array = np.ndarray


def merged_rows(fitted: Fitted) -> tuple[Fitted, Array, Array]:
    """One row for equal ones (x, y), and none for those without weight; which they are, weights."""
    distinct = Distinct.of(fitted.distinct, fitted.fit_weights)
    if distinct.is_everything:
        return fitted, distinct.first, distinct.weights
    part = part_of(fitted, distinct.first)
    problems = [
        replace(merged, weights=distinct.sums(problem.weights))
        for merged, problem in zip(part.problems, fitted.problems)
    ]
    start = [problem.null for problem in problems]
    merged = replace(part, problems=problems, start=start, weights=distinct.sums(fitted.weights))
    return merged, distinct.first, distinct.weights


def part_of(fitted: Fitted, rows: Array) -> Fitted:
    """Some rows of a fit, with null models in place of its solution."""
    design = fitted.problems[0].design.rows(rows)
    problems = [
        replace(problem, design=design, y=problem.y[rows], weights=problem.weights[rows])
        for problem in fitted.problems
    ]
    return replace(
        fitted,
        problems=problems,
        start=[problem.null for problem in problems],
        targets=fitted.targets[rows],
        y=fitted.y[rows],
        weights=fitted.weights[rows],
    )


def folds_of_rows(fitted: Fitted) -> list[tuple[Array, Array]]:
    """The folds of a fit, stratified where it has classes."""
    strata = fitted.targets if fitted.has_classes else None
    return splits(dealt(fitted.units, strata=strata, in_turn=True))


def row_scores(problems: list[Problem], z: Array) -> Array:
    """Minus the loss of each row, or its squared error, for predictions (n, K)."""
    total, column = np.zeros(len(z)), 0
    outputs = 0
    for problem in problems:
        K = problem.outputs or 1
        part = z[:, column : column + K]
        value = problem.loss.value(problem.y, part if problem.outputs is not None else part[:, 0])
        total -= value if value.ndim == 1 else value.sum(axis=1)
        column, outputs = column + K, outputs + K
    # ℓ = ½(y − z)², summed over the outputs, and the mean squared error is the mean over both.
    return total * (2 / outputs) if problems[0].loss.name == "squared" else total
