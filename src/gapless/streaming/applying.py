"""What a fitted model says of the rows of a table in parts: a part in, a part out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .first_look import check_features
from .parts import in_parts
from .passes import each_part
from .sources import Rows
from .training import Training

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Apply:
    """The task of a prediction: a function of arrays, and the names of the columns."""

    function: Callable[[Array], Array]
    names: tuple[Any, ...]

    def __call__(self, rows: Rows) -> Array:
        """What the function says of one part."""
        check_features(rows.X, rows.first, self.names)
        return self.function(rows.X)


def applied(
    X: Any, function: Callable[[Array], Array], count: int, names: Any = None, *, name: str
) -> Array:
    """function(part) of all parts of a table, joined.

    The function can be sent elsewhere, such as a method of a copy of a model. It takes `count`
    columns, with these names if the model `name` knows any.
    """
    parts = in_parts(X, columns=None if names is None else list(names))
    if parts.shape[1] != count:
        raise ValueError(
            f"X has {parts.shape[1]} features, but {name} is expecting {count} features as input; "
            "choose them with in_parts(..., columns=[...])."
        )
    parts.source.check_features(parts.columns)
    return np.concatenate(list(each_part(Training(parts), Apply(function, parts.columns))))
