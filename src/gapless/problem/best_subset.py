"""Which subset of the features is best: least squares with a price for each feature, and a limit.

    min over S of  ½·min_w Σ sᵢ(yᵢ − xᵢᵀw − b)² + Σ_{j ∈ S} priceⱼ,  w = 0 outside S, |S| ≤ most

The 2^d subsets are the leaves of a tree: at each node some features are in, some are out, and the
others are open. What a node can contain is bounded from below by least squares on all features that
are not out, so most of the tree is never visited. `Problem` keeps the search, the solver drives it
and a certificate checks that the nodes it was left with cover every subset.

References
----------
Furnival and Wilson (1974), Regressions by leaps and bounds, Technometrics 16.
Hazimeh, Mazumder and Saab (2022), Sparse regression at scale: branch-and-bound rooted in
first-order optimization, Mathematical Programming 196.
"""

from __future__ import annotations

import heapq
import math

import numpy as np

from .._ground.design import Design
from .._ground.interrupt import check

Array = np.ndarray
EPS = float(np.finfo(float).eps)

IN, OPEN, OUT = 1, 0, -1
# Nodes that are split at a time, and the largest number of entries of the systems that are solved
# in one call, which Ctrl-C waits for.
BATCH, ENTRIES = 64, 50_000
# Below this eigenvalue of the correlations, columns count as dependent: eigenvectors instead of an
# inverse, and none of the features involved is worth anything by itself.
DEPENDENT = 1e-9


class BestSubset:
    """The search: the best subset so far, and the nodes that may contain a better one.

    Parameters
    ----------
    design, y, weights, fit_bias
        As in `Problem`.
    prices : ndarray of shape (d,)
        The price of each feature.
    most : int
        The largest number of features that are not `free`.
    free : ndarray of bool, shape (d,)
        Features that are always in.
    """

    def __init__(
        self,
        design: Design,
        y: Array,
        weights: Array,
        fit_bias: bool,
        prices: Array,
        most: int,
        free: Array,
    ):
        total = float(np.sum(weights))
        mean, middle = np.zeros(design.d), 0.0
        if fit_bias and total > 0:
            mean = design.transposed_times(weights) / total
            middle = float(np.sum(weights * y)) / total
            design = design.shifted(mean)
        self.mean, self.middle = mean, middle
        y = y - middle
        G, q = design.gram(weights), design.transposed_times(weights * y)
        units = np.sqrt(np.maximum(np.diag(G), 0.0))
        self.units = np.where(units > 0, units, 1.0)
        self.G, self.q = G / np.multiply.outer(self.units, self.units), q / self.units
        self.constant = 0.5 * float(np.sum(weights * y**2))
        self.prices, self.most, self.free = np.where(free, 0.0, prices), most, free
        self.is_regular = bool(np.linalg.eigvalsh(self.G)[0] > DEPENDENT) if len(q) else True
        self.best, self.coefficients = math.inf, np.zeros(len(q))
        self.count = 0
        self.frontier: list[tuple[float, int, Array, int]] = []
        self.closed: list[tuple[float, Array]] = []
        root = np.where(free, IN, OPEN).astype(np.int8)
        self._add(root[None])

    @property
    def d(self) -> int:
        """The number of features."""
        return len(self.q)

    @property
    def lower(self) -> float:
        """No subset is below this."""
        lowest = self.frontier[0][0] if self.frontier else math.inf
        return min(lowest, min((bound for bound, _ in self.closed), default=math.inf), self.best)

    def suggest(self, w: Array) -> None:
        """Take the features with a coefficient as a first guess, cut to the limit."""
        chosen = np.abs(w) * self.units * ~self.free
        order = np.argsort(-chosen, kind="stable")[: self.most]
        self._try((self.free | np.isin(np.arange(self.d), order[chosen[order] > 0]))[None])

    def is_done(self, tolerance: float) -> bool:
        """Whether the best subset is within `tolerance` of any other."""
        return not self.frontier or self.frontier[0][0] >= self.best - tolerance

    def split(self, tolerance: float) -> None:
        """Split the most promising nodes in two; an interrupted split leaves them whole."""
        taken: list[tuple[float, int, Array, int]] = []
        while self.frontier and len(taken) < BATCH and not self.is_done(tolerance):
            taken.append(heapq.heappop(self.frontier))
        if not taken:
            return
        children = np.repeat(np.array([state for _, _, state, _ in taken]), 2, axis=0)
        rows, places = np.arange(len(taken)), [place for *_, place in taken]
        children[2 * rows, places] = IN
        children[2 * rows + 1, places] = OUT
        try:
            self._add(children)
        except BaseException:
            for node in taken:
                heapq.heappush(self.frontier, node)
            raise

    def leaves(self) -> Array:
        """The nodes that were left, (count, d): 1 in, −1 out, 0 open. Together, every subset."""
        open_nodes = [state for _, _, state, _ in self.frontier]
        return np.array(open_nodes + [state for _, state in self.closed], dtype=np.int8)

    def _add(self, states: Array) -> None:
        """Bound new nodes, try the subsets they suggest, and keep them."""
        bounds, places, subsets = self.bounds(states)
        self._try(subsets)
        self._try(states == IN)
        for bound, place, state in zip(bounds, places, states):
            self.count += 1
            if place < 0:
                self.closed.append((float(bound), state))
            else:
                heapq.heappush(self.frontier, (float(bound), self.count, state, int(place)))

    def bounds(self, states: Array) -> tuple[Array, Array, Array]:
        """Lower bounds of nodes, the open feature that each depends on most, and a good subset.

        Without feature j the sum of squares of all features that are not out rises by
        riseⱼ = wⱼ²/(2(G⁻¹)ⱼⱼ). A subset that lacks an open feature pays the largest rise among
        those it lacks, or more; one with the k largest rises pays their prices. The best k gives
        the bound. The position is −1 if nothing is open, or the limit is reached.
        """
        is_open = states == OPEN
        value, _, rises = self._squares(states != OUT)
        rises = np.where(is_open, rises, -1.0)
        order = np.argsort(-rises, axis=1, kind="stable")
        sorted_rises = np.maximum(np.take_along_axis(rises, order, axis=1), 0.0)
        prices = np.where(np.take_along_axis(is_open, order, axis=1), self.prices[order], 0.0)
        paid = np.cumsum(np.hstack([np.zeros((len(states), 1)), prices]), axis=1)
        lacking = np.hstack([sorted_rises, np.zeros((len(states), 1))])
        k, opened = np.arange(self.d + 1), np.count_nonzero(is_open, axis=1)
        room = self.most - np.count_nonzero((states == IN) & ~self.free, axis=1)
        cost = np.where(k <= np.minimum(room, opened)[:, None], paid + lacking, np.inf)
        best = np.argmin(cost, axis=1)
        bound = (
            value + (states == IN) @ self.prices + np.take_along_axis(cost, best[:, None], 1)[:, 0]
        )
        rank = np.empty_like(order)
        np.put_along_axis(rank, order, np.broadcast_to(np.arange(self.d), order.shape), axis=1)
        subsets = (states == IN) | (is_open & (rank < best[:, None]))
        places = np.where((opened > 0) & (room > 0), order[:, 0] if self.d else -1, -1)
        is_full = (room <= 0) | (opened == 0)
        if np.any(is_full):
            exact = self._squares(states[is_full] == IN)[0]
            bound[is_full] = exact + (states[is_full] == IN) @ self.prices
        return bound, places, subsets

    def _try(self, subsets: Array) -> None:
        """Keep the best of some subsets, if it is better than the one so far."""
        allowed = np.count_nonzero(subsets & ~self.free, axis=1) <= self.most
        if not np.any(allowed):
            return
        subsets = subsets[allowed]
        value, w, _ = self._squares(subsets)
        value = value + subsets @ self.prices
        at = int(np.argmin(value))
        if value[at] < self.best:
            self.best, self.coefficients = float(value[at]), w[at] / self.units

    def _squares(self, chosen: Array) -> tuple[Array, Array, Array]:
        """Half the sums of squares with the chosen features, coefficients, and their rises."""
        if not self.d:
            return (
                np.full(len(chosen), self.constant),
                np.zeros(chosen.shape),
                np.zeros(chosen.shape),
            )
        size = max(ENTRIES // self.d**2, 1)
        parts = [self._solved(chosen[i : i + size]) for i in range(0, len(chosen), size)]
        value, w, rises = (np.concatenate(part) for part in zip(*parts))
        return value, w, rises

    def _solved(self, chosen: Array) -> tuple[Array, Array, Array]:
        """The same for a few subsets at once."""
        check()
        both = chosen[:, :, None] & chosen[:, None, :]
        G = np.where(both, self.G, 0.0)
        diagonal = np.arange(self.d)
        G[:, diagonal, diagonal] = np.where(chosen, G[:, diagonal, diagonal], 1.0)
        q = np.where(chosen, self.q, 0.0)
        if self.is_regular:
            inverse = np.linalg.inv(G)
            w = np.einsum("mij,mj->mi", inverse, q)
            own = inverse[:, diagonal, diagonal]
        else:
            values, vectors = np.linalg.eigh(G)
            kept = values > DEPENDENT
            scaled = vectors * np.where(kept, 1 / np.where(kept, values, 1.0), 0.0)[:, None, :]
            w = np.einsum("mij,mkj,mk->mi", scaled, vectors, q)
            own = np.einsum("mij,mij->mi", scaled, vectors)
            lost = np.einsum("mij,mj->mi", vectors**2, (~kept).astype(float))
            own = np.where(lost > 1e-6, np.inf, own)
        w = np.where(chosen, w, 0.0)
        value = np.maximum(self.constant - 0.5 * np.einsum("mj,mj->m", q, w), 0.0)
        return value, w, 0.5 * w**2 / own


def covers_every_subset(leaves: Array, free: Array) -> bool:
    """Whether each subset that contains the free features is in exactly one of the nodes.

    Nodes that come from splits have a feature that is in or out in all of them, unless one of them
    has nothing but open features.
    """
    if not np.all(leaves[:, free] == IN):
        return False
    todo = [list(zip(_as_bits(leaves[:, ~free] == IN), _as_bits(leaves[:, ~free] == OUT)))]
    while todo:
        check()
        nodes = todo.pop()
        if not nodes:
            return False
        common = -1
        for inside, outside in nodes:
            common &= inside | outside
        if (len(nodes) == 1) != (common == 0):
            return False
        if common:
            bit = common & -common
            todo.append([(i ^ bit, o) for i, o in nodes if i & bit])
            todo.append([(i, o ^ bit) for i, o in nodes if o & bit])
    return True


def _as_bits(rows: Array) -> list[int]:
    """Each row of truth values as the bits of a number."""
    return [int.from_bytes(row.tobytes()) for row in np.packbits(rows, axis=1)]
