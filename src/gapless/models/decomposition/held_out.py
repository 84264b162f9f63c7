"""Components judged on rows that they were not fitted to, and how many of them to take.

More components always come nearer to a row, an unseen one too. What has a minimum is the error of
an entry that is predicted from the other entries of its row: with too many components an entry
mostly predicts itself. Leaving entry j out of the least-squares fit of a row to the components V
(d, k) changes its residual eⱼ to

    eⱼ / (1 − ‖vⱼ‖²),   vⱼ the j-th row of V

(Bro, Kjeldahl, Smilde and Kiers 2008, Analytical and Bioanalytical Chemistry 390; Josse and Husson
2012, Computational Statistics & Data Analysis 56), so all counts follow from one factorisation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._ground.design import Design
from ..._ground.interrupt import TimeLimit, check
from ..._ground.threads import single_blas
from ...unseen import (
    LARGE_ROWS,
    LARGE_SAMPLE,
    Dial,
    NotAvailable,
    Version,
    WithoutTargets,
    dealt,
    drawn,
    splits,
)
from .leading import leading, solver_for
from .scatter import Scatter

Array = np.ndarray

# Numbers in a dense piece of the rows.
PIECE = 1 << 21
# An entry whose leverage is this near to 1 is not predicted by the others.
DETERMINED = 1e-10
# Fewer and more components, in the verdict's steps.
FEWER, MORE = 2 / 3, 3 / 2
# The most components among which a number is chosen for rows too wide for a full decomposition.
MOST_CHOSEN, WIDE = 200, 1000
# The search ends when the best count so far is this far behind.
FAR_BEHIND = 20


@dataclass(frozen=True, eq=False)
class Space:
    """The mean and the leading directions (d, K) of some rows."""

    mean: Array
    vectors: Array

    def describe(self, design: Design, count: int) -> Array:
        """Squared distance to the reconstruction, and squared errors of entries, (rows, 2)."""
        V = self.vectors[:, :count]
        free = 1.0 - np.sum(V**2, axis=1)
        is_predicted = free > DETERMINED
        factors = np.where(is_predicted, 1 / np.where(is_predicted, free, 1.0), 0.0)
        found = np.empty((design.n, 2))
        for rows, Z in _pieces(design, self.mean):
            with single_blas():
                errors = Z - (Z @ V) @ V.T
            found[rows, 0] = np.einsum("ij,ij->i", errors, errors)
            errors *= factors
            # Nothing else says anything about the other entries: the mean stands in.
            errors[:, ~is_predicted] = Z[:, ~is_predicted]
            found[rows, 1] = np.einsum("ij,ij->i", errors, errors)
        return found

    def entry_errors(self, design: Design, weights: Array) -> Iterator[float]:
        """Σ over rows and entries of the weighted squared errors, for 0, 1, 2, … components."""
        pieces = [Z for _, Z in _pieces(design, self.mean)]
        parts = np.split(weights, np.cumsum([len(Z) for Z in pieces])[:-1])
        with single_blas():
            plain = sum(s @ Z**2 for s, Z in zip(parts, pieces))
        free = np.ones(design.d)
        yield float(plain.sum())
        for v in self.vectors.T:
            check()
            free -= v**2
            sums = np.zeros(design.d)
            with single_blas():
                for s, Z in zip(parts, pieces):
                    Z -= np.multiply.outer(Z @ v, v)
                    sums += s @ Z**2
            is_predicted = free > DETERMINED
            errors = sums / np.where(is_predicted, free, 1.0) ** 2
            yield float(np.where(is_predicted, errors, plain).sum())


def _pieces(design: Design, mean: Array) -> Iterator[tuple[slice, Array]]:
    """Rows less their mean, dense, some at a time."""
    step = max(1, PIECE // max(design.d, 1))
    for start in range(0, design.n, step):
        rows = slice(start, min(start + step, design.n))
        yield rows, np.ascontiguousarray(design.rows(rows).shifted(mean).dense())


class ComponentsFit(WithoutTargets):
    """Components of rows, and how to find them again in some of the rows.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        The rows.
    weights : ndarray of shape (n,)
        Their weights.
    count : int
        The number of components.
    is_centred : bool
        Whether the components are those around the mean, or around 0.
    own : Space
        Those of all rows.
    spaces : dict, optional
        What was found in some of the rows already, shared by versions of the fit.
    """

    advantage = "would predict entries of theirs better from the others"

    def __init__(
        self,
        X: Any,
        weights: Array,
        count: int,
        is_centred: bool,
        own: Space,
        spaces: dict[bytes, Space] | None = None,
    ):
        super().__init__(X if isinstance(X, Design) else Design(X), weights)
        self.count, self.is_centred, self.own = count, is_centred, own
        self.spaces = {} if spaces is None else spaces

    @property
    def model(self):
        """The components of all rows."""
        return lambda design: self.own.describe(design, self.count)

    def fit_to(self, rows):
        """The components of some rows; those found for another count serve for fewer too."""
        space = self._space(rows)
        return lambda design: space.describe(design, self.count)

    def constant(self, rows):
        """The mean, or 0."""
        s = self.weights[rows]
        mean = np.zeros(self.design.d)
        if self.is_centred:
            mean = self.design.rows(rows).transposed_times(s) / s.sum()
        space = Space(mean, np.zeros((self.design.d, 0)))
        return lambda design: space.describe(design, 0)

    def simpler(self) -> list[Dial]:
        """Two thirds of the components, and again."""
        return [lambda step: self._with(int(self.count * FEWER**step))]

    def richer(self) -> list[Dial]:
        """Half as many more, and again."""
        return [lambda step: self._with(int(np.ceil(self.count * MORE**step)))]

    def _with(self, count: int) -> Version | None:
        if not 1 <= count < min(self.design.d, self._fewest_rows()):
            return None
        fit = ComponentsFit(
            self.design, self.weights, count, self.is_centred, self.own, self.spaces
        )
        return Version(fit, f"n_components={count}")

    def _fewest_rows(self) -> int:
        """Rows that are certain to be left in every fold."""
        return int(np.count_nonzero(self.is_counted)) // 2

    def _space(self, rows: Array) -> Space:
        key = np.ascontiguousarray(rows).tobytes()
        known = self.spaces.get(key)
        if known is None or known.vectors.shape[1] < self.count:
            scatter = Scatter.of(self.design.rows(rows).X, self.weights[rows], self.is_centred)
            known = space_of(scatter, self.count)
            self.spaces[key] = known
        return known


def space_of(scatter: Scatter, least: int) -> Space:
    """At least so many components as the rows have, and more if they cost nothing."""
    count = scatter.rank if scatter.rank <= WIDE else min(int(least * MORE) + 1, scatter.rank)
    found = leading(scatter, max(count, 1), solver_for(scatter, max(count, 1)))
    return Space(scatter.mean, np.asarray(found.vectors, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class CountChoice:
    """Errors of held-out entries with 0, 1, 2, … components, and the count with the least."""

    errors: Array
    count: int


def choose_count(X: Any, weights: Array, is_centred: bool, units: Array) -> CountChoice:
    """The number of components with the smallest squared error of held-out entries.

    Rows are held out in five folds by their content, or in one part if there are many; at least one
    component is kept. A time limit ends the search at the best number so far.
    """
    design = Design(X)
    if units.max(initial=-1) < 1:
        raise NotAvailable("all rows are equal, so none can be left out")
    runs: list[Iterator[float]] = []
    most = design.d
    for train, test in _splits(units):
        scatter = Scatter.of(design.rows(train).X, weights[train], is_centred)
        wanted = min(scatter.rank - int(is_centred), design.d - 1)
        wanted = max(min(wanted, MOST_CHOSEN if scatter.rank > WIDE else wanted), 1)
        found = leading(scatter, wanted, solver_for(scatter, wanted))
        space = Space(scatter.mean, np.asarray(found.vectors, dtype=np.float64))
        most = min(most, wanted)
        runs.append(space.entry_errors(design.rows(test), weights[test]))
    errors: list[float] = []
    best = 1
    for count in range(most + 1):
        try:
            errors.append(sum(next(run) for run in runs))
        except TimeLimit:
            if count < 2:
                raise
            break
        if count > 1 and errors[count] < errors[best]:
            best = count
        if count > 2 * best + FAR_BEHIND:
            break
    return CountChoice(np.array(errors) / float(weights.sum()), best)


def _splits(units: Array) -> list[tuple[Array, Array]]:
    if len(units) <= LARGE_ROWS:
        return splits(dealt(units))
    is_test = np.isin(units, drawn(units, LARGE_SAMPLE))
    return [(np.flatnonzero(~is_test & (units >= 0)), np.flatnonzero(is_test))]
