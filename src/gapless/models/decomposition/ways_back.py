"""The ways from coordinates back to rows: which of them serves a kernel, and the learned map."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import lapack
from sklearn.exceptions import NotFittedError

from ..._ground.memory import blocks
from ...kernels import Kernel
from ...problem import PRECOMPUTED
from ...solvers import blocked_cholesky
from .kernel_subspace import KernelSubspace, around
from .pre_images import (
    DISTANCES,
    FIXED_POINT,
    RIDGE,
    PreImages,
    Target,
    by_distances,
    by_fixed_point,
    given,
    has_fixed_point,
    knows_distances,
)

Array = np.ndarray


def method_for(kernel: Kernel, requested: str, *, has_map: bool) -> str:
    """How pre-images are found, or an error that says why they cannot be."""
    if kernel.name == PRECOMPUTED:
        raise ValueError(
            "a precomputed kernel has no rows to go back to; pass the rows and the kernel."
        )
    method = requested
    if method == "auto":
        method = RIDGE if has_map else FIXED_POINT
    cure = "set fit_inverse_transform=True and fit again"
    if method == FIXED_POINT and knows_distances(kernel):
        cure += ', or set pre_image="distances"'
    if method == RIDGE and not has_map:
        raise NotFittedError(f'pre_image="ridge" needs a learned map; {cure}.')
    if method == FIXED_POINT and not has_fixed_point(kernel):
        raise ValueError(f"no fixed point is known for {kernel!r}; {cure}.")
    if method == DISTANCES and not knows_distances(kernel):
        raise ValueError(f"values of {kernel!r} do not determine distances; {cure}.")
    return method


def found_by(
    method: str,
    target: Target,
    start: Array | None,
    origin: Array | None,
    inverse_coef: Array | None,
) -> PreImages:
    """The pre-images of the target's points, in its precision.

    The rows of the target, and `start`, are given around `origin`; the map leads to rows as such.
    """
    if method == FIXED_POINT:
        found = by_fixed_point(target, start)
    elif method == DISTANCES:
        found = by_distances(target)
    else:
        assert inverse_coef is not None
        fit = target.subspace.training_coordinates
        rows = target.kernel.times(target.coordinates, fit, inverse_coef)
        found = given(target, around(rows, origin), RIDGE)
    if origin is not None:
        found = replace(found, points=found.points + origin)
    return found.astype(target.dtype)


def learned_map(subspace: KernelSubspace, rows: Array, alpha: float) -> Array:
    """Coefficients C with rows ≈ k(β, βⱼ)C: the ridge regression of rows on coordinates.

    Minimises ½Σ sⱼ‖xⱼ − f(βⱼ)‖² + ½α‖f‖², so (K + αS⁻¹)C = X (Bakir, Weston and Schölkopf 2004).
    """
    fit = subspace.training_coordinates
    K = np.array(subspace.kernel.gram(fit), dtype=np.float64)
    K[np.diag_indices(len(K))] += alpha / subspace.weights
    rows = rows.astype(np.float64)
    factor = blocked_cholesky(K)
    if factor is None:
        raise ValueError(
            f"the learned map is not determined with alpha={alpha:g}; raise alpha, or set "
            'fit_inverse_transform=False and pre_image="fixed_point".'
        )
    for columns in blocks(rows.shape[1], len(rows)):
        rows[:, columns] = lapack.dpotrs(factor.T, rows[:, columns], lower=0)[0]
    return rows
