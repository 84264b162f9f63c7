"""Tables that are read in parts: more rows than memory holds, or the rows of a cluster.

A table is a sequence of parts, a fixed number of consecutive rows each. `in_parts` opens files,
queries, arrays and the collections of Dask as such a table; `Training` is the table with its target
and weights; `total` sums what a task says of each part, here or on the workers of a cluster, in an
order that depends on the parts alone, so that all ways give the same bits. Called by the problems
and the estimators; knows only the ground.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._ground.first_use import on_first_use

if TYPE_CHECKING:
    from .applying import applied
    from .first_look import (
        Look,
        check_features,
        checked_labels,
        checked_numbers,
        checked_weights,
        first_means,
        look_at,
    )
    from .folds import FOLDS, ByFold, Folds, fold_of
    from .parts import Parts, in_parts, is_in_parts
    from .passes import Task, each_part, total
    from .sources import Rows, Unreadable
    from .spread import Spread, SpreadOf
    from .training import Training, named_columns, opened

__getattr__, __dir__, __all__ = on_first_use(__name__)
