"""Scores of classes from rows left out one by one, with the shares of the classes as they were."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from .fitted import Array
from .leave_one_out import keep_shares
from .refittable import Refittable


@singledispatch
def with_shares(fitted: Any, z: Array) -> Array:
    """Held-out scores z (n, K) of all problems, moved to where the old shares hold the biases."""
    parts, start = [], 0
    for problem in fitted.problems:
        columns = slice(start, start + (problem.outputs or 1))
        part = z[:, columns]
        held = part if problem.outputs is not None else part[:, 0]
        parts.append(keep_shares(problem, held, fitted.targets).reshape(part.shape))
        start = columns.stop
    return np.hstack(parts)


@with_shares.register
def _of_refittable(fitted: Refittable, z: Array) -> Array:
    """Without a loss there is no curvature by which a step in the biases could be found."""
    return z
