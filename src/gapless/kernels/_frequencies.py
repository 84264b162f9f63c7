"""Random directions for the spectra of kernels that depend on x − z alone."""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def orthogonal_normals(rng: np.random.Generator, d: int, count: int) -> Array:
    """Standard normal vectors in the columns of (d, count), orthogonal in blocks of d.

    Each alone is a normal vector; orthogonality within a block makes averages over them more
    accurate (Yu et al. 2016, Orthogonal random features, NIPS 29). The first columns are the same
    whatever the count.
    """
    blocks = []
    for _ in range(-(-count // d)):
        normals = rng.standard_normal((d, d))
        lengths = np.sqrt(rng.chisquare(d, size=d))
        Q, R = np.linalg.qr(normals)
        # With the signs of R's diagonal, Q is uniform among the rotations (Mezzadri 2007).
        blocks.append(Q * np.where(np.diag(R) < 0, -1.0, 1.0) * lengths)
    return np.hstack(blocks)[:, :count]
