"""The Python code that fits a chosen model again: the same table, rows and settings."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from ..data import BUILTIN, Column, Kind, Table
from .table_model import TableModel


def code_of(
    model: TableModel,
    kind: Kind,
    table: Table,
    columns: Sequence[Column],
    *,
    test: float,
    seed: int,
    learned: str = "",
) -> str:
    """Python code that reproduces a choice.

    Parameters
    ----------
    model : TableModel
        The chosen model.
    kind : {"numbers", "components", "table"}
        How the table is prepared for it.
    table : Table
        The table.
    columns : sequence of Column
        Its columns with their roles.
    test : float
        The part of the rows set aside for the test.
    seed : int
        The seed of the draw.
    learned : str, default=""
        The call of `Folds` for the model's training rows; "" for all.

    Returns
    -------
    str
        A script that ends by printing the test score.
    """
    names: dict[str, set[str]] = {
        "gapless.choosing": {"TableModel", "set_aside"},
        "gapless.data": {"describe_columns", "prepare", "read_target"},
    }
    reading = reading_code(table, names)
    built = _expression(model.pipeline[-1], names)
    target = model.target
    costs = "" if model.costs is None else f", costs={_expression(model.costs, names)}"
    fewer = []
    if learned:
        names["gapless.choosing"] |= {"Folds", "rows_of"}
        rows = "rows_of(table, columns, target, split.train)"
        fewer = [f"folds = Folds({rows}, {model.task!r}, seed={seed!r})"]
    fitted_rows = f"split.train[folds.{learned}]" if learned else "split.train"
    options = f"task={model.task!r}, metric={model.metric!r}{costs}"
    imports = [
        f"from {module} import {', '.join(sorted(found))}"
        for module, found in sorted(names.items())
    ]
    lines = [
        *imports,
        "",
        reading,
        f"columns = describe_columns(table, {target!r}{_roles(columns)})",
        f"target = read_target(table, {target!r}, {model.task!r})",
        f"split = set_aside(table, columns, target, test={test!r}, seed={seed!r})",
        f'pipeline = prepare(columns, "{kind}", {built})',
        f"model = TableModel(pipeline, {target!r}, {options})",
        *fewer,
        f"model.fit(table, rows={fitted_rows})",
        "print(model.measure(table, rows=split.test))",
        "",
    ]
    return "\n".join(lines)


def reading_code(table: Table, names: dict[str, set[str]]) -> str:
    """The line that reads a table; what it needs of gapless.data is added to the names."""
    if table.format == "frame":
        names["gapless.data"].add("table_of")
        return "table = table_of(frame)  # your data frame"
    if table.format == "built-in" and table.source in BUILTIN:
        names["gapless.data"].add("load_builtin")
        return f"table = load_builtin({table.source!r})"
    names["gapless.data"].add("read_table")
    source = "-" if table.source == "standard input" else table.source
    told = "".join(f", {name}={value!r}" for name, value in table.options.given().items())
    return f"table = read_table({source!r}{told})"


def _roles(columns: Sequence[Column]) -> str:
    """The arguments of describe_columns."""
    named = {role: [c.name for c in columns if c.role == role] for role in ("group", "time")}
    told = [f", {role}={found[0]!r}" for role, found in named.items() if found]
    dropped = [column.name for column in columns if column.role == "dropped"]
    return "".join([*told, f", drop={dropped!r}" if dropped else ""])


def _expression(value: Any, names: dict[str, set[str]]) -> str:
    """A value as an expression of Python; the classes it needs are added to the names."""
    if isinstance(value, Pipeline):
        names.setdefault("sklearn.pipeline", set()).add("Pipeline")
        steps = ", ".join(f"({name!r}, {_expression(step, names)})" for name, step in value.steps)
        return f"Pipeline([{steps}])"
    if isinstance(value, BaseEstimator):
        return _estimator(value, names)
    if isinstance(value, np.ndarray):
        return repr(value.tolist())
    return repr(value.item() if isinstance(value, np.generic) else value)


def _estimator(model: BaseEstimator, names: dict[str, set[str]]) -> str:
    """A model with the parameters that differ from their defaults."""
    cls = type(model)
    package, *inside = cls.__module__.split(".")
    # All gapless models have their names at its root.
    home = package if inside[0] == "models" else f"{package}.{inside[0]}"
    names.setdefault(home, set()).add(cls.__name__)
    given = model.get_params(deep=False)
    defaults = {
        name: parameter.default
        for name, parameter in _signature(cls).items()
        if parameter.default is not parameter.empty
    }
    changed = [
        f"{name}={_expression(value, names)}"
        for name, value in given.items()
        if name not in defaults or repr(defaults[name]) != repr(value)
    ]
    return f"{cls.__name__}({', '.join(changed)})"


def _signature(cls: type) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(cls).parameters
