"""The checks that penalties make when they are built."""

import numpy as np


def check_strength(strength: float, name: str = "strength") -> None:
    """A strength is a finite number ≥ 0."""
    if not np.isscalar(strength) or not np.isfinite(strength) or strength < 0:
        raise ValueError(f"{name} must be a finite number ≥ 0, got {strength!r}.")


def check_feature_weights(weights) -> None:
    """Feature weights are None or a vector of finite numbers ≥ 0."""
    if weights is None:
        return
    weights = np.asarray(weights)
    if weights.ndim != 1 or not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise ValueError("weights per feature must be a vector of finite numbers ≥ 0, one for each feature.")
