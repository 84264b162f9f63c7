"""Kernel PCA on unseen rows: the variance it keeps, and the entries it can fill in."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from ..._ground.design import Design
from ..._ground.distinct_rows import DistinctRows
from ..._ground.threads import single_blas
from ...kernels import Kernel
from ...problem import PRECOMPUTED
from ...unseen import Dial, Version, WithoutTargets, kernel_dial
from .kernel_subspace import CentredGram, KernelSubspace
from .pre_images import Pull, has_fixed_point

Array = np.ndarray

# Entries of a row are hidden in this many groups, one after the other.
GROUPS = 4
# Rounds of projecting a row and moving its hidden entries one step towards the pre-image.
ROUNDS = 12
# Rows whose entries are hidden, and the multiplications that this may take.
LEAST_ROWS, MOST_ROWS, MOST_WORK = 24, 60, 5e9
# The width of the kernel changes this often by a factor of two. Far narrower, rows are alone in
# feature space, and hidden entries keep their mean.
MOST_WIDTHS = 2
# Residuals relative to the largest eigenvalue, at which scores have the digits that are shown.
RESIDUAL = 1e-4


class KernelPCAFit(WithoutTargets):
    """Components in the feature space of a kernel, fitted again to some of the rows.

    The distortion is the squared distance in feature space between a row and its projection. The
    surprise is the squared error of hidden entries: a quarter of a row's entries at a time is
    replaced by the mean, and then, again and again, by those of the pre-image of the row's
    projection. It is in the units of X, so versions with other kernels compare.
    """

    advantage = "would fill in hidden entries of theirs better"
    why_unknown = (
        "hidden entries of unseen rows can only be filled in with a kernel whose pre-images have a "
        "fixed point, and with dense rows of two columns or more"
    )

    def __init__(self, design: Design, weights: Array, kernel: Kernel, count: int):
        super().__init__(design, weights)
        self.kernel, self.count = kernel, count

    @classmethod
    def of(cls, X: Any, weights: Array, kernel: Kernel, count: int) -> KernelPCAFit:
        """The fit of validated rows, or of given kernel values."""
        if kernel.name == PRECOMPUTED:
            # The last column is k(x, x), which rows among other columns do not show.
            X = np.column_stack([X, np.diagonal(X)])
        return cls(Design(X), weights, kernel, count)

    @property
    def model(self) -> Callable[[Design], Array]:
        """The model of all rows."""
        return self.fit_to(np.flatnonzero(self.is_counted))

    def fit_to(self, rows: Array) -> Callable[[Design], Array]:
        """The model of some of the rows alone."""
        return self._description(rows, self.count)

    def constant(self, rows: Array) -> Callable[[Design], Array]:
        """The mean of some of the rows."""
        return self._description(rows, 0)

    def simpler(self) -> list[Dial]:
        """Fewer components, or a wider kernel."""
        return [self._turned(0.5), *self._kernels(0.25)]

    def richer(self) -> list[Dial]:
        """More components, or a narrower kernel."""
        return [self._turned(2.0), *self._kernels(4.0)]

    def _turned(self, base: float) -> Dial:
        most = len(np.unique(self.units[self.is_counted])) // 2

        def turned(step: int) -> Version | None:
            count = int(self.count * base**step)
            if not 1 <= count <= most or count == self.count:
                return None
            fit = KernelPCAFit(self.design, self.weights, self.kernel, count)
            return Version(fit, f"n_components={count}")

        return turned

    def _kernels(self, base: float) -> list[Dial]:
        def fit_of(kernel: Kernel) -> KernelPCAFit:
            return KernelPCAFit(self.design, self.weights, kernel, self.count)

        widths = kernel_dial(self.kernel, fit_of, base)
        return [lambda step: widths(step) if step <= MOST_WIDTHS else None]

    @cached_property
    def _has_fillings(self) -> bool:
        return (
            not self.design.is_sparse
            and self.design.d > 1
            and self.kernel.name != PRECOMPUTED
            and has_fixed_point(self.kernel)
        )

    def _description(self, rows: Array, count: int) -> Callable[[Design], Array]:
        subspace = self._subspace(rows, count)

        def describe(design: Design) -> Array:
            found = np.full((design.n, 2), np.nan)
            found[:, 0] = self._distortions(subspace, design)
            if self._has_fillings:
                some = self._sample(design, len(subspace.weights))
                found[some, 1] = hidden_errors(subspace, design.X[some].astype(np.float64))
            return found

        return describe

    def _subspace(self, rows: Array, count: int) -> KernelSubspace:
        kept = np.zeros_like(self.weights)
        kept[rows] = self.weights[rows]
        X = self._values(self.design)
        with single_blas():
            gram = CentredGram(self.kernel, X, DistinctRows.of(X, kept))
            count = min(count, gram.m - 1)
            if count < 1:
                return gram.subspace(np.zeros(0), np.zeros((gram.m, 0)))
            pairs = gram.eigenpairs(count, gram.prefers_dense(count), 0, _is_enough, 1000)
            return gram.subspace(np.maximum(pairs.values, 0.0), pairs.vectors)

    def _values(self, design: Design) -> Any:
        return design.X[:, :-1] if self.kernel.name == PRECOMPUTED else design.X

    def _distortions(self, subspace: KernelSubspace, design: Design) -> Array:
        X = self._values(design)
        if self.kernel.name == PRECOMPUTED:
            diagonal = design.X[:, -1].astype(np.float64)
        else:
            diagonal = self.kernel.rows(X, np.float64).diagonal()
        beta, squares = subspace.with_squares(X, diagonal)
        return np.maximum(squares - np.sum(beta**2, axis=1), 0.0)

    def _sample(self, design: Design, training: int) -> Array:
        """Some of the rows, spread over all by content."""
        work = 4.0 * GROUPS * ROUNDS * training * design.d
        count = int(np.clip(MOST_WORK / work, LEAST_ROWS, MOST_ROWS))
        distinct = DistinctRows.of(design.X, np.ones(design.n)).first
        chosen = np.linspace(0, len(distinct) - 1, min(count, len(distinct))).round()
        return np.sort(distinct[chosen.astype(np.intp)])


def _is_enough(values: Array, residuals: Array, beyond: float) -> bool:
    return bool(np.all(residuals <= RESIDUAL * values[0]))


def hidden_errors(subspace: KernelSubspace, X: Array) -> Array:
    """The sum of squared errors of the entries of each row, hidden in groups and filled in."""
    pull = Pull(subspace, np.float32)
    n, d = X.shape
    group = np.random.default_rng(0).permutation(d) % min(GROUPS, d)
    is_hidden = np.repeat(group == np.arange(group.max() + 1)[:, None], n, axis=0)
    given = np.tile(X, (group.max() + 1, 1))
    filled = np.where(is_hidden, pull.mean, given)
    for _ in range(ROUNDS if subspace.coef.shape[1] else 0):
        coordinates = subspace.coordinates(filled, np.float32)
        nearer, is_sound = pull.step(filled, subspace.expansion(coordinates))
        filled = np.where(is_hidden & is_sound[:, None], nearer, filled)
    return np.sum((filled - given) ** 2, axis=1).reshape(-1, n).sum(axis=0)
