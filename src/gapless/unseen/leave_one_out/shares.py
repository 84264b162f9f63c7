"""Held-out scores of classes as if the shares of the classes had not changed.

Without a row of class k the others are a little more frequent, so the bias moves away from k: the
held-out score leans against the truth. If the features say little and the classes are balanced,
that decides, and leave-one-out gets every row wrong (Parker, Günter and Bedo 2007, BMC
Bioinformatics 8, the bias of stratification). The remedy is the same as for folds: leave out the
rows of one x, and let the rest of their classes make up for them, by weights S_k/(S_k − sᵢ) where
sᵢ is the loss of class k.
"""

from __future__ import annotations

import numpy as np

from ...problem import Problem
from ._base import Array
from .distinct import sums_by


def keep_shares(problem: Problem, z: Array, classes: Array) -> Array:
    """Held-out predictions with the bias moved to where the original class shares hold it.

    Parameters
    ----------
    problem : Problem
        What was minimised.
    z : ndarray of shape (n,) or (n, K)
        Held-out predictions, as from `leave_out`.
    classes : ndarray of int, shape (n,)
        The class of each row, 0, 1, …

    Returns
    -------
    ndarray
        Like z. A result that the step cannot tell from a tie becomes a tie. Losses without
        curvature, problems without a bias and classes with one distinct x keep their z.

    Notes
    -----
    One Newton step in the bias alone, with slopes and curvatures at z: exact for the squared loss
    without features, and up to O(1/n³) for the logistic. Costs O(n).
    """
    if not (problem.fit_bias and problem.loss.has_curvature):
        return z
    scores = z.reshape(problem.n, -1)
    # Rows without weight may have no held-out score, and must not spoil the others.
    counted = np.where(problem.weights[:, None] > 0, scores, 0.0).reshape(z.shape)
    step = _step(problem, counted, classes).reshape(scores.shape)
    moved = scores + step
    # The step is right up to about its square.
    unsure = np.max(step**2, axis=1, keepdims=True) + 1e-12 * np.abs(step)
    if scores.shape[1] == 1:
        moved[np.abs(moved) <= unsure] = 0.0
    else:
        top = moved.max(axis=1, keepdims=True)
        moved = np.where(moved >= top - unsure, top, moved)
    return moved.reshape(z.shape)


def _step(problem: Problem, z: Array, classes: Array) -> Array:
    """The change of the biases (n, K) by more weight on the rest of each row's class."""
    s, n = problem.weights, problem.n
    slope = problem.loss.gradient(problem.y, z).reshape(n, -1)
    total, pull = np.bincount(classes, s), sums_by(classes, s[:, None] * slope)
    # Rows that leave together share one x, and each takes weight from its class.
    same = problem.design.equal_x
    cells, cell = np.unique(same * len(total) + classes, return_inverse=True)
    unit, k = np.divmod(cells, len(total))
    own, own_pull = np.bincount(cell, s), sums_by(cell, s[:, None] * slope)
    rest = total[k] - own
    more = np.divide(own, rest, out=np.zeros(len(cells)), where=rest > 1e-12 * total[k])
    push = sums_by(unit, more[:, None] * (pull[k] - own_pull))[same]
    a, f = problem.loss.hessian_factors(problem.y, z)
    H = np.diag(np.sum(s[:, None] * a.reshape(n, -1), axis=0))
    if f is not None:
        # A shift of all scores costs nothing, hence the pseudo-inverse.
        H -= np.einsum("n,nj,nk->jk", s, f, f)
    return -np.einsum("nk,jk->nj", push, np.linalg.pinv(H, hermitian=True))
