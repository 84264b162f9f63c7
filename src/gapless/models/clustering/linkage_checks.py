"""The certificate of a tree: each merge is repeated on the matrix of distances, and compared.

It shares no code with the agglomeration: distances between clusters are updated in float64 by the
formula of Lance and Williams (1967) on a square matrix, and each merge of the table must join two
clusters than which no others are closer, at the height that the table says.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..._ground.interrupt import check
from ...certificates import Certificate
from .merge_trees import MergeTree

Array = np.ndarray

# Rows that a fit checks, and that `gapless.certify` checks: the cost grows with their square, and
# the memory too.
MOST_AT_FIT, MOST = 200, 4000
# Heights are promised to this part; distances that differ by less count as equal.
TOL = 1e-6
INFINITE = float("inf")


def certificate_of(
    tree: MergeTree, distances: Callable[[], Array], weights: Array, linkage: str, most: int
) -> Certificate:
    """Check the merges of a tree of rows with weights; `distances` returns those between rows."""
    if tree.leaves > most:
        return _not_repeated(tree, "merges")
    fault, excess, total = _first_fault(tree, distances(), weights, linkage)
    if fault:
        return _certificate(
            "stopped", f"{fault}; this is not the tree of these data: fit again", excess, total
        )
    return _certificate(
        "exact",
        f"{_of_all(tree, 'merge')} joined two clusters than which no others are closer by "
        f"{linkage} linkage{_inversions(tree)}",
        excess,
        total,
    )


def _of_all(tree: MergeTree, noun: str) -> str:
    """All merges or splits of a tree, in words."""
    count = len(tree.table)
    return f"the only {noun}" if count == 1 else f"each of the {count} {noun}s"


def certificate_of_splits(
    tree: MergeTree, distances: Callable[[], Array], weights: Array, most: int
) -> Certificate:
    """Check each split of a divisive tree: no row of it is nearer to the other part than its own.

    That is where DIANA stops; which row left first is not checked.
    """
    if tree.leaves > most:
        return _not_repeated(tree, "splits")
    D, heights = distances(), tree.heights
    members: list[Array] = [np.array([i]) for i in range(tree.leaves)]
    room = 1e-9 * float(D.max(initial=0.0))
    excess = 0.0
    for t, (one, other) in enumerate(tree.children.tolist()):
        parts = members[one], members[other]
        rows = np.concatenate(parts)
        members.append(rows)
        members[one] = members[other] = rows[:0]
        height = float(D[np.ix_(rows, rows)].max())
        excess = max(excess, abs(height - heights[t]))
        if abs(height - heights[t]) > TOL * height + room:
            return _certificate(
                "stopped",
                f"split {t} has another diameter; this is not the tree of these data: fit again",
                excess,
                _total(tree),
            )
        if not any(_is_settled(D, weights, *pair, room) for pair in (parts, parts[::-1])):
            return _certificate(
                "stopped",
                f"split {t} stopped too early or too late; this is not the tree of these data: fit "
                "again",
                height,
                _total(tree),
            )
    return _certificate(
        "exact",
        f"at {_of_all(tree, 'split')} no row that stayed is nearer on average to those that left, "
        "and each height is the diameter of its cluster",
        excess,
        _total(tree),
    )


def _is_settled(D: Array, weights: Array, stay: Array, leave: Array, room: float) -> bool:
    """Whether no row that stayed is nearer on average to those that left than to the others."""
    if len(stay) < 2:
        return True
    own, gone = weights[stay], weights[leave]
    inside = D[np.ix_(stay, stay)]
    # Equal rows are one row, which has no distance from itself.
    others = (inside > 0) @ own
    to_stay = np.divide(inside @ own, others, out=np.zeros(len(stay)), where=others > 0)
    return bool(np.all(to_stay <= D[np.ix_(stay, leave)] @ gone / gone.sum() + room))


def unchecked(reason: str) -> Certificate:
    """A certificate that says why nothing was checked."""
    return _certificate("none", reason)


def _not_repeated(tree: MergeTree, what: str) -> Certificate:
    cure = (
        f"gapless.certify(model, X) checks up to {MOST}"
        if tree.leaves <= MOST
        else f"a check takes a matrix of all distances and is made for up to {MOST}"
    )
    return _certificate(
        "none", f"the {len(tree.table)} {what} of {tree.leaves} rows were not repeated; {cure}"
    )


def _inversions(tree: MergeTree) -> str:
    if not (count := tree.inversions):
        return ""
    return (
        f"; {count} {'merge lies' if count == 1 else 'merges lie'} lower than one within, as can "
        "happen to centroids, so that a cut by height is not a cut by number"
    )


def _certificate(
    kind: str, words: str, excess: float = float("nan"), total: float = float("nan")
) -> Certificate:
    """With the largest excess over the closest distance, and the sum of all heights."""
    known = np.isfinite(excess)
    return Certificate(
        kind=kind,
        verdict=f"{kind}: {words}.",
        primal=total,
        dual=total - excess if known else -INFINITE,
        gap=excess if known else INFINITE,
        relative_gap=(excess / total if total > 0 else 0.0) if known else INFINITE,
        tolerance=TOL * total if known else TOL,
        scale=total if known else 1.0,
    )


def _first_fault(
    tree: MergeTree, D: Array, weights: Array, linkage: str
) -> tuple[str, float, float]:
    """What is wrong with the first merge that is, in words, the largest excess and Σ heights."""
    n = tree.leaves
    D = D.astype(np.float64)
    if linkage in ("ward", "centroid"):
        D **= 2
    if linkage == "ward":
        D *= 2 * np.outer(weights, weights) / np.add.outer(weights, weights)
    np.fill_diagonal(D, np.inf)
    weight = weights.astype(np.float64).copy()
    place = {i: i for i in range(n)}
    nearest = D.min(axis=1)
    excess, tiny = 0.0, 1e-13 * float(np.max(D[np.isfinite(D)], initial=0.0))
    for t, (one, other, height, _) in enumerate(tree.table.tolist()):
        if t % 64 == 0:
            check()
        a, b = place.pop(int(one)), place.pop(int(other))
        least, found = float(nearest.min()), float(D[a, b])
        excess = max(excess, found - least)
        own = height**2 if linkage in ("ward", "centroid") else height
        if found > least * (1 + 2 * TOL) + tiny:
            return f"merge {t} joined clusters that were not the closest", excess, _total(tree)
        if abs(own - found) > 4 * TOL * found + tiny:
            return f"merge {t} has another height", max(excess, abs(own - found)), _total(tree)
        _join(D, nearest, weight, a, b, linkage)
        place[n + t] = a
    return "", _of_heights(excess, linkage, tree), _total(tree)


def _total(tree: MergeTree) -> float:
    return float(tree.heights.sum())


def _of_heights(excess: float, linkage: str, tree: MergeTree) -> float:
    """An excess of squares as one of heights, at most."""
    return float(np.sqrt(excess)) if linkage in ("ward", "centroid") else excess


def _join(D: Array, nearest: Array, weight: Array, a: int, b: int, linkage: str) -> None:
    """Make row and column a those of the new cluster, and b infinitely far from all."""
    x, y = D[a].copy(), D[b].copy()
    new = joined_row(D, weight, a, b, linkage)
    new[[a, b]] = np.inf
    new[~np.isfinite(x) | ~np.isfinite(y)] = np.inf
    D[a], D[:, a] = new, new
    D[b], D[:, b] = np.inf, np.inf
    weight[a] += weight[b]
    # Rows whose nearest may have changed are searched again.
    stale = (nearest >= np.minimum(x, y)) & np.isfinite(new)
    nearest[:] = np.where(stale, nearest, np.minimum(nearest, new))
    rows = np.flatnonzero(stale)
    nearest[rows] = D[rows].min(axis=1)
    nearest[a], nearest[b] = new.min(), np.inf


def joined_row(D: Array, weight: Array, a: int, b: int, linkage: str) -> Array:
    """The distances of all clusters from a and b as one (Lance and Williams 1967, table 1).

    Those of Ward and centroids are squared.
    """
    p, q, r = weight[a], weight[b], weight
    x, y, between = D[a], D[b], D[a, b]
    if linkage == "single":
        return np.minimum(x, y)
    if linkage == "complete":
        return np.maximum(x, y)
    with np.errstate(invalid="ignore"):
        if linkage == "average":
            return (p * x + q * y) / (p + q)
        if linkage == "centroid":
            return (p * x + q * y) / (p + q) - p * q * between / (p + q) ** 2
        return ((p + r) * x + (q + r) * y - r * between) / (p + q + r)
