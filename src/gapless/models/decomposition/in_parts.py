"""Components of rows that are read in parts: one pass for the covariance, one to judge them.

The first pass sums weight, mean and products of the rows, fold by fold. All else follows from
sums: the components, their certificate, and the components without each fold of parts.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..._ground.design import Design
from ..._ground.interrupt import check, time_limit
from ..._ground.progress import ProgressLine
from ..._ground.threads import single_blas
from ...streaming import (
    ByFold,
    Folds,
    Look,
    Rows,
    Spread,
    SpreadOf,
    Training,
    checked_weights,
    fold_of,
    in_parts,
    look_at,
    opened,
    total,
)
from ...unseen import Generalization, ScoreSums, described_in_parts, unknown
from .held_out import (
    DETERMINED,
    FAR_BEHIND,
    FEWER,
    MORE,
    ComponentsFit,
    CountChoice,
    Space,
)
from .leading import COVARIANCE, leading
from .scatter import Scatter

Array = np.ndarray
EPS = float(np.finfo(np.float64).eps)

# The covariance is sent and decomposed as a whole.
MOST_COLUMNS = 5000
METRIC = ComponentsFit.metric


@dataclass(frozen=True, eq=False)
class Shape:
    """What the computations need to know of rows that are not there, as of a Design."""

    n: int
    d: int
    dtype: np.dtype
    center: Array | None
    is_sparse: bool = False


@dataclass(frozen=True, eq=False)
class SummedScatter:
    """A Scatter of which only the sums are known.

    Parameters
    ----------
    spread : Spread
        The rows around their mean.
    is_centred : bool
        Whether this is the scatter around the mean, or around 0.
    dtype : dtype
        That of the rows.
    distinct : int
        The smaller side of the distinct rows, as far as it is known.
    """

    spread: Spread
    is_centred: bool
    dtype: np.dtype
    distinct: int

    single = None

    @cached_property
    def design(self) -> Shape:
        """The shape of the rows that have weight."""
        center = self.spread.mean if self.is_centred else None
        return Shape(self.spread.rows, len(self.spread.mean), self.dtype, center)

    @property
    def weight(self) -> float:
        """The sum of the weights."""
        return self.spread.weight

    @cached_property
    def mean(self) -> Array:
        """The point around which the rows are."""
        return self.spread.mean if self.is_centred else np.zeros(self.design.d)

    @cached_property
    def covariance(self) -> Array:
        """S, (d, d)."""
        if self.is_centred:
            return self.spread.products
        mean = self.spread.mean
        return self.spread.products + np.multiply.outer(self.weight * mean, mean)

    @cached_property
    def column_sums(self) -> Array:
        """The diagonal of S."""
        return np.diag(self.covariance)

    @cached_property
    def total(self) -> float:
        """The trace of S."""
        return float(self.column_sums.sum())

    @property
    def is_of_equal_rows(self) -> bool:
        """Whether what is left around the mean is no more than the rounding of the mean."""
        return self.total <= self.weight * (8 * EPS * float(np.linalg.norm(self.mean))) ** 2

    @property
    def rank(self) -> int:
        """The smaller side of the distinct rows."""
        return self.distinct

    @property
    def side(self) -> int:
        """The smaller side of the table in which each row stands as often as its weight says."""
        n, d = self.design.n, self.design.d
        repeated = int(self.weight * (1 + 4 * EPS))
        return min(repeated, d) if repeated >= min(n, d) else max(repeated, self.rank)

    @property
    def rounding(self) -> float:
        """About the rounding error of sums over S, relative to its trace."""
        return EPS * (8 + float(np.sqrt(min(self.design.n, 4096))))

    def around_mean(self) -> SummedScatter:
        """The same rows around their mean."""
        return replace(self, is_centred=True)

    def times(self, V: Array) -> Array:
        """S·V."""
        with single_blas():
            return self.covariance @ V

    def products(self, V: Array) -> tuple[Array, Array]:
        """VᵀSV and S·V."""
        SV = self.times(V)
        with single_blas():
            return V.T @ SV, SV


@dataclass(eq=False)
class ComponentsInParts:
    """Components of a table in parts: the passes, and what follows from their sums."""

    model: Any
    training: Training
    line: ProgressLine

    @classmethod
    def of(cls, model: Any, X: Any, y: Any, sample_weight: Any) -> ComponentsInParts:
        """Those of a model; a column that is named as y is not among the features."""
        parts = in_parts(X)
        if isinstance(y, str):
            parts = in_parts(parts, columns=[name for name in parts.columns if name != y])
        training = opened(parts, None, sample_weight, needs_y=False)
        if training.d > MOST_COLUMNS:
            raise ValueError(
                f"{type(model).__name__} in parts takes at most {MOST_COLUMNS:,} columns, got "
                f"{training.d:,}; choose some with in_parts(..., columns=[...])."
            )
        return cls(model, training, ProgressLine(type(model).__name__, sys.stderr))

    @cached_property
    def look(self) -> Look:
        """What the first pass has found; `more` are the spreads of all folds."""
        try:
            with time_limit(self.model.time_limit):
                task = ByFold(SpreadOf(), self.training.parts.rows)
                return look_at(self.training, more=task, line=self.line)
        finally:
            self.line.clear()

    @property
    def sums(self) -> Folds:
        """The spreads of all folds."""
        return self.look.more

    @cached_property
    def scatter(self) -> Any:
        """The scatter of all rows, in place of one of rows in memory."""
        return self.scatter_of(self.sums.whole, self._distinct)

    def scatter_of(self, spread: Spread, distinct: int | None = None) -> Any:
        """The scatter of some rows."""
        known = min(spread.rows, self.training.d) if distinct is None else distinct
        return SummedScatter(spread, self.model._is_centred, self.training.source.dtype, known)

    @property
    def _distinct(self) -> int | None:
        """The smaller side of the distinct rows, where the sample has all of them."""
        sample = self.look.sample
        if len(sample) < self.training.n:
            return None
        assert sample.weights is not None
        return Scatter.of(sample.X, sample.weights, is_centred=False).rank

    @property
    def d(self) -> int:
        """The number of columns."""
        return self.training.d

    def choose_count(self) -> CountChoice:
        """The number of components with the smallest squared error of held-out entries."""
        self._check_folds('n_components="cv"')
        most = min(self.d - 1, *(self.sums.without(f).rows - 1 for f in self.sums.used))
        runs = [self._entry_errors(fold, max(most, 1)) for fold in self.sums.used]
        errors: list[float] = []
        best = 1
        for count, found in enumerate(zip(*runs)):
            check()
            errors.append(sum(found))
            if count > 1 and errors[count] < errors[best]:
                best = count
            if count > 2 * best + FAR_BEHIND:
                break
        return CountChoice(np.array(errors) / self.sums.whole.weight, best)

    def _check_folds(self, what: str) -> None:
        if len(self.sums.used) < 2:
            raise ValueError(
                f"{what} needs several parts, and the table has one alone; open it with fewer "
                "rows in a part, by in_parts(..., rows=...)."
            )

    def _entry_errors(self, fold: int, most: int) -> Iterator[float]:
        """Errors of the entries of a fold with 0, 1, 2, … components of the others."""
        space, own = self._space(fold, most), self.sums[fold]
        shift = own.mean - space.mean
        C = own.products + np.multiply.outer(own.weight * shift, shift)
        plain = np.diag(C)
        yield float(plain.sum())
        V = space.vectors
        with single_blas():
            CV = C @ V
            G = V.T @ CV
        left, free = plain.copy(), np.ones(self.d)
        for k in range(V.shape[1]):
            v = V[:, k]
            # The diagonal of (I − P)C(I − P) for the projection P on the first k + 1 components.
            left += v * (2 * (V[:, :k] @ G[:k, k] - CV[:, k]) + v * G[k, k])
            free -= v**2
            is_predicted = free > DETERMINED
            errors = np.maximum(left, 0.0) / np.where(is_predicted, free, 1.0) ** 2
            yield float(np.where(is_predicted, errors, plain).sum())

    def _space(self, fold: int, count: int) -> Space:
        """The mean and the components without the rows of a fold."""
        scatter = self.scatter_of(self.sums.without(fold))
        found = leading(scatter, max(min(count, scatter.rank), 1), COVARIANCE)
        return Space(scatter.mean, np.asarray(found.vectors, dtype=np.float64))

    def generalization(self) -> Generalization:
        """The score on parts that the components were not fitted to, by one more pass."""
        model, used, d = self.model, self.sums.used, self.d
        if len(used) < 2:
            why = "the table has one part alone, so none can be left out"
            return unknown(METRIC, float("nan"), why)
        count = len(model.components_)
        least = min(min(self.sums.without(fold).rows for fold in used), d)
        versions = [
            (k, k < count)
            for k in (int(count * FEWER), int(np.ceil(count * MORE)))
            if 1 <= k < least and k != count
        ]
        spaces = {fold: self._space(fold, max([count, *(k for k, _ in versions)])) for fold in used}
        task = Describe(self._own_space(), count, spaces, [k for k, _ in versions], self.rows)
        try:
            found = total(self.training, task, line=self.line, what="held-out parts")
        finally:
            self.line.clear()
        named = [(f"n_components={k}", is_simpler) for k, is_simpler in versions]
        return described_in_parts(
            found,
            METRIC,
            self.scatter.total,
            [("the mean alone", True), *named],
            ComponentsFit.advantage,
            _smallest_gain,
            f"{len(used)} folds of parts",
        )

    @property
    def rows(self) -> int:
        """The rows of a part."""
        return self.training.parts.rows

    def _own_space(self) -> Space:
        model = self.model
        mean = model.mean_ if model._is_centred else np.zeros(self.d)
        return Space(mean.astype(np.float64), model.components_.T.astype(np.float64))


def _smallest_gain(before: float) -> float:
    return ComponentsFit.smallest_gain(None, before)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Describe:
    """The task that scores rows: by the components, and by those of the other folds.

    `spaces` has those without each fold, of which the first `count` are used, and as versions
    other numbers of them; parts have so many `rows`.
    """

    own: Space
    count: int
    spaces: dict[int, Space]
    versions: Sequence[int]
    rows: int

    def __call__(self, rows: Rows) -> ScoreSums:
        """The sums of one part."""
        design, weights = Design(rows.X), checked_weights(rows)
        space = self.spaces[fold_of(rows, self.rows)]
        train = self.own.describe(design, self.count)[:, 0]
        unseen, surprise = space.describe(design, self.count).T
        constant, plain = space.describe(design, 0).T
        others = [space.describe(design, count)[:, 1] for count in self.versions]
        values = np.column_stack([train, unseen, constant, surprise, plain, *others])
        return ScoreSums.of_rows(values, weights)
