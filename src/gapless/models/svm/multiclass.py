"""How several classes become problems of two, and how their scores become classes.

An arrangement defines which rows a problem has, with which sign (`parts`), how its dual variables
are stored next to those of the others (`pack`, `unpack`), which scores the stored ones give
(`scores`), and how those are read (`by_class`, `decide`). `SVC` looks it up in `ARRANGEMENTS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise

import numpy as np

from ..._ground.threads import single_blas

Array = np.ndarray
# (first, last) of the rows, or support vectors, of each class: they are sorted by class.
Blocks = Sequence[slice]
# From the rows of a block and their coefficients to their part of the scores, (n, columns).
Times = Callable[[slice, Array], Array]


@dataclass(frozen=True, eq=False)
class Part:
    """One problem: positions of its rows, and their targets: +1 and −1, or numbers."""

    rows: Array
    y: Array


class Arrangement:
    """Base of the arrangements of `count` > 2 classes."""

    def __init__(self, count: int):
        self.count = count

    @property
    def problems(self) -> int:
        """The number of problems."""
        raise NotImplementedError

    @property
    def width(self) -> int:
        """The number of dual variables of a row."""
        return self.problems

    @property
    def sides(self) -> Array | None:
        """For each problem the classes of positive and negative scores, (problems, 2).

        None if there is a score for each class.
        """
        return None

    def signs(self, y: Array) -> Array:
        """Targets ±1 of rows of classes y, (n, problems); 0 where a row is not in the problem."""
        if self.sides is None:
            return np.where(y[:, None] == np.arange(self.count), 1, -1).astype(np.int8)
        first, second = self.sides.T
        return (y[:, None] == first).astype(np.int8) - (y[:, None] == second)

    def parts(self, blocks: Blocks, y: Array) -> list[Part]:
        """The problems on rows sorted by class; y are the targets of a machine without classes."""
        raise NotImplementedError

    def pack(self, blocks: Blocks, thetas: Sequence[Array]) -> Array:
        """The dual variables of all problems, (columns, rows)."""
        raise NotImplementedError

    def unpack(self, blocks: Blocks, coef: Array) -> list[Array]:
        """The dual variables of each problem, on its rows."""
        raise NotImplementedError

    def scores(self, blocks: Blocks, coef: Array, times: Times) -> Array:
        """Scores (n, problems) without biases, by products with the rows of each class."""
        raise NotImplementedError

    def by_class(self, scores: Array) -> Array:
        """Scores of the classes, (n, count)."""
        raise NotImplementedError

    def decide(self, scores: Array) -> Array:
        """Positions of the predicted classes."""
        raise NotImplementedError


class Single(Arrangement):
    """One problem on all rows, with the targets unchanged: no classes."""

    problems = 1

    def __init__(self, count: int = 1):
        super().__init__(count)

    def parts(self, blocks: Blocks, y: Array) -> list[Part]:
        return [Part(np.arange(len(y)), y)]

    def pack(self, blocks: Blocks, thetas: Sequence[Array]) -> Array:
        return thetas[0][None, :]

    def unpack(self, blocks: Blocks, coef: Array) -> list[Array]:
        return [coef[0]]

    def scores(self, blocks: Blocks, coef: Array, times: Times) -> Array:
        return times(slice(0, coef.shape[1]), coef)

    def by_class(self, scores: Array) -> Array:
        return scores[:, 0]


class TwoClasses(Single):
    """One problem, in which the second class is the positive one."""

    @property
    def sides(self) -> Array:
        return np.array([[1, 0]])

    def parts(self, blocks: Blocks, y: Array) -> list[Part]:
        sizes = [block.stop - block.start for block in blocks]
        return [Part(np.arange(sum(sizes)), np.repeat([-1.0, 1.0], sizes))]

    def decide(self, scores: Array) -> Array:
        return (scores[:, 0] > 0).astype(np.intp)


class OneVsOne(Arrangement):
    """One problem for each pair i < j of classes, +1 for class i, in the order of LIBSVM.

    A row takes part in the problems of its class with each of the others, so its dual variables are
    a column of count − 1: the one with class j is in row j, minus one if j comes later.
    """

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """The classes of each problem."""
        return [(i, j) for i in range(self.count) for j in range(i + 1, self.count)]

    @property
    def problems(self) -> int:
        return self.count * (self.count - 1) // 2

    @property
    def width(self) -> int:
        return self.count - 1

    @cached_property
    def sides(self) -> Array:
        return np.array(self.pairs)

    def parts(self, blocks: Blocks, y: Array) -> list[Part]:
        rows = [np.arange(block.start, block.stop) for block in blocks]
        return [
            Part(
                np.concatenate([rows[i], rows[j]]),
                np.repeat([1.0, -1.0], [len(rows[i]), len(rows[j])]),
            )
            for i, j in self.pairs
        ]

    def pack(self, blocks: Blocks, thetas: Sequence[Array]) -> Array:
        coef = np.zeros((self.count - 1, blocks[-1].stop))
        for (i, j), theta in zip(self.pairs, thetas):
            first = blocks[i].stop - blocks[i].start
            coef[j - 1, blocks[i]], coef[i, blocks[j]] = theta[:first], theta[first:]
        return coef

    def unpack(self, blocks: Blocks, coef: Array) -> list[Array]:
        return [np.concatenate([coef[j - 1, blocks[i]], coef[i, blocks[j]]]) for i, j in self.pairs]

    def scores(self, blocks: Blocks, coef: Array, times: Times) -> Array:
        products = [times(block, coef[:, block]) for block in blocks]
        first, second = self.sides.T
        # As in `pack`: a class has a column for each of the others.
        by_class = np.stack(products, axis=1)
        return by_class[:, first, second - 1] + by_class[:, second, first]

    @cached_property
    def _for(self) -> Array:
        """+1 for the class of a positive score, and −1 for the other one."""
        found = np.zeros((self.problems, self.count))
        at = np.arange(self.problems)
        found[at, self.sides[:, 0]], found[at, self.sides[:, 1]] = 1.0, -1.0
        return found

    def by_class(self, scores: Array) -> Array:
        """Votes, plus a tie-breaker: the sum of confidences, squeezed into (−1/3, 1/3)."""
        with single_blas():
            sums = scores.astype(float, copy=False) @ self._for
        return self._votes(scores >= 0) + sums / (3 * (np.abs(sums) + 1))

    def decide(self, scores: Array) -> Array:
        """The class with most votes, the first one in a tie; a score of 0 is for the second."""
        return self._votes(scores > 0).argmax(axis=1)

    def _votes(self, for_first: Array) -> Array:
        """The votes of each class, given the winner of each problem."""
        with single_blas():
            lead = np.where(for_first, 1.0, -1.0) @ self._for
        return 0.5 * (lead + self.count - 1)


class OneVsRest(Arrangement):
    """One problem for each class, +1 for its rows and −1 for all others."""

    @property
    def problems(self) -> int:
        return self.count

    def parts(self, blocks: Blocks, y: Array) -> list[Part]:
        rows = np.arange(blocks[-1].stop)
        signs = np.full((self.count, len(rows)), -1.0)
        for sign, block in zip(signs, blocks):
            sign[block] = 1.0
        return [Part(rows, sign) for sign in signs]

    def pack(self, blocks: Blocks, thetas: Sequence[Array]) -> Array:
        return np.stack(list(thetas))

    def unpack(self, blocks: Blocks, coef: Array) -> list[Array]:
        return list(coef)

    def scores(self, blocks: Blocks, coef: Array, times: Times) -> Array:
        return times(slice(0, coef.shape[1]), coef)

    def by_class(self, scores: Array) -> Array:
        return scores

    def decide(self, scores: Array) -> Array:
        return scores.argmax(axis=1)


ARRANGEMENTS: dict[str, type[Arrangement]] = {"ovo": OneVsOne, "ovr": OneVsRest}


@cache
def arrange(name: str, count: int) -> Arrangement:
    """The arrangement of that name for `count` classes; one problem for all is kept by class."""
    return TwoClasses(2) if count == 2 else ARRANGEMENTS.get(name, OneVsRest)(count)


def blocks_of(classes: Array, count: int) -> list[slice]:
    """The slices of each class, for rows sorted by class."""
    ends = np.searchsorted(classes, np.arange(count + 1))
    return [slice(int(first), int(last)) for first, last in pairwise(ends)]
