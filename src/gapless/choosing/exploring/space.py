"""The rows of a table in the space of its components, and the parts of it with groups of rows.

Groups may lie across many components, hidden by none of them; or in the few that columns have in
common, hidden by the noise of the others; or along one, hidden by the larger ones. So they are
looked for in all the first components together, in the real ones, and along each alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...data import prepare
from ...models.decomposition import PCA
from .canonical import FEWEST_ROWS, ExploredTable
from .grouping import (
    MOST_GROUPS,
    Tried,
    blur_levels,
    blurred_frame,
    try_groups,
)
from .table_map import column_blocks, levels_of

Array = np.ndarray
Places = tuple[int, ...]

# Groups are looked for in so many components, or in all of fewer, and in all real ones.
LEAST_FOR_GROUPS = 10
# Along one component so many groups are looked for at most, if it carries this part of what each
# would carry if they all carried the same.
MOST_ALONE, LEAST_SHARE = 5, 0.5


@dataclass(frozen=True, eq=False)
class Space:
    """The rows to learn from, prepared, and their components.

    Attributes
    ----------
    pipeline : sklearn.pipeline.Pipeline
        The preparation, fitted.
    prepared : ndarray of shape (n, d)
        The rows.
    chosen : PCA
        The real components, or those requested; if there are none, those of the map.
    pca : PCA
        The first components.
    real : int
        How many are real, or requested.
    errors : ndarray
        The error of held-out entries with 0, 1, … components, relative to that with none.
    is_given : bool
        Whether the number was requested.
    """

    pipeline: Any
    prepared: Array
    chosen: Any
    pca: Any
    real: int
    errors: Array
    is_given: bool

    @classmethod
    def of(cls, given: ExploredTable, components: int | str) -> Space:
        """Prepare the rows of a table and find their components."""
        frame = given.frame[given.sample]
        pipeline = prepare(given.features, "factors").fit(frame)
        prepared = pipeline.transform(frame)
        rows, width = prepared.shape
        most = min(rows - 1, width)
        if not isinstance(components, str) and components > most:
            raise ValueError(f"components={components}, but the table has only {most}.")
        if most < 2:
            pca = PCA(n_components=most).fit(prepared)
            return cls(pipeline, prepared, pca, pca, 0, np.ones(1), not isinstance(components, str))
        tried = PCA(n_components="cv").fit(prepared)
        errors = np.asarray(tried.held_out_errors_)
        errors = errors / errors[0] if errors[0] > 0 else np.ones(len(errors))
        if isinstance(components, str):
            real = int(tried.n_components_) if errors[tried.n_components_] < 1.0 else 0
            kept = min(max(real, LEAST_FOR_GROUPS), most)
        else:
            real = components
            kept = min(max(real, 2), most)
        pca = PCA(n_components=kept).fit(prepared)
        is_given = not isinstance(components, str)
        chosen = tried if real == tried.n_components_ else PCA(real or min(2, most)).fit(prepared)
        return cls(pipeline, prepared, chosen, pca, real, errors, is_given)

    @cached_property
    def scores(self) -> Array:
        """The coordinates of the rows on the first components, (n, m)."""
        return np.asarray(self.pca.transform(self.prepared))

    @property
    def shares(self) -> Array:
        """The part of all variation along each of the first components."""
        return np.asarray(self.pca.explained_variance_ratio_)

    def blurred(self, given: ExploredTable, seed: int) -> Array:
        """The same rows with values spread between neighbouring ones, to look for gaps in."""
        frame = blurred_frame(given.frame[given.sample], given.features, seed)
        rows = blur_levels(self.pipeline.transform(frame), levels_of(self.pipeline), seed)
        return np.asarray(self.pca.transform(rows))

    @property
    def blocks(self) -> list[tuple[str, slice]]:
        """Each column of the table, and where it is among the prepared ones."""
        return column_blocks(self.pipeline)

    @cached_property
    def wide(self) -> list[Places]:
        """Where groups are looked for first: all the first components, and the real ones."""
        if self.is_given:
            return [tuple(range(max(self.real, 1)))]
        found = [tuple(range(self.scores.shape[1]))]
        if 0 < self.real < len(found[0]):
            found.append(tuple(range(self.real)))
        return found

    @cached_property
    def alone(self) -> list[Places]:
        """The components that are looked at one by one."""
        if self.is_given:
            return []
        usual = LEAST_SHARE / min(self.prepared.shape[1], len(self.prepared) - 1)
        places = np.flatnonzero(self.shares >= usual)
        return [(int(k),) for k in places if (int(k),) not in self.wide]


@dataclass(frozen=True, eq=False)
class Search:
    """The numbers of groups that were tried, and where.

    Attributes
    ----------
    tried : tuple of Tried
        In the components that were taken.
    chosen : Tried or None
        The groups found; None for one cloud, and if nothing could be tried.
    places : tuple of int
        The components that were taken, from 0 on.
    is_short : bool
        Whether too few rows differ to look for groups.
    """

    tried: tuple[Tried, ...]
    chosen: Tried | None
    places: Places
    is_short: bool = False

    @property
    def found(self) -> int:
        """The number of groups; 1 for one cloud."""
        return self.chosen.count if self.chosen is not None else 1


def search_groups(
    given: ExploredTable, space: Space, count: int | None, seed: int, tell: Callable[[str], None]
) -> Search:
    """Look for groups, or for a given number of them, in several parts of the space.

    The largest number of groups that passes is taken, in the widest part where it does; single
    components count only if no other part has groups. A p-value is multiplied by the number of
    parts of its kind (Bonferroni).
    """
    search = _Parts(space, space.blurred(given, seed), given, count, seed, tell)
    wide = [search.of(places, MOST_GROUPS, len(space.wide)) for places in space.wide]
    good = [one for one in wide if one.chosen is not None]
    if not good and wide[0].tried:
        alone = [search.of(one, MOST_ALONE, len(space.alone)) for one in space.alone]
        good = [one for one in alone if one.chosen is not None]
    is_short = len(np.unique(given.hashes)) < FEWEST_ROWS
    return max(good, key=lambda one: one.found) if good else replace(wide[0], is_short=is_short)


@dataclass(frozen=True, eq=False)
class _Parts:
    """Parts of a space, in which groups are looked for."""

    space: Space
    blurred: Array
    given: ExploredTable
    count: int | None
    seed: int
    tell: Callable[[str], None]

    def counts(self, most: int) -> list[int]:
        if self.count is None:
            return list(range(2, most + 1))
        return [self.count] if self.count > 1 else []

    def of(self, places: Places, most: int, parts: int) -> Search:
        """The numbers of groups in one of several parts."""
        _, units = np.unique(self.given.hashes[self.given.sample], return_inverse=True)
        rows = self.space.scores[:, places]
        tried = try_groups(rows, self.blurred, units, self.counts(most), self.seed, self.tell)
        tried = [one.among(parts) for one in tried]
        return Search(tuple(tried), _best_of(tried), places)


def _best_of(tried: Sequence[Tried]) -> Tried | None:
    """The largest number of groups that are apart and come back; None for one cloud."""
    good = [one for one in tried if one.is_apart and one.comes_back]
    return max(good, key=lambda one: one.count, default=None)
