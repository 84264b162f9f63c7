"""Distances between rows, as far apart as they may be."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist


def distances(X: Any, Z: Any, metric: Literal["sqeuclidean", "cityblock"]) -> np.ndarray:
    """The distances between all rows of X and Z, float64."""
    dense = (part.toarray() if sp.issparse(part) else np.asarray(part) for part in (X, Z))
    return cdist(*dense, metric)
