"""What an ensemble scores on unseen rows: each row by the members that were not given it.

The predictions come with the fit; the judging, the standard error and the words are those of every
other model.

References
----------
Breiman (1996), Out-of-bag estimation, technical report, University of California, Berkeley.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._validation import Outputs
from ..design import Design
from ..generalization import Refittable
from ..generalization.fitted import LARGE_ROWS
from ..generalization.held_out import Estimate, by_formula
from ..leave_one_out import NotAvailable
from ..trees.held_out import equal_rows, units_of

Array = np.ndarray

# If more rows than this part have the same x as others, a member that was not given one of them
# has learned it by heart from its equals, and only folds of whole x tell what unseen rows get.
MOST_REPEATED = 0.1


@dataclass(frozen=True, eq=False)
class EnsembleData:
    """The data of a fit.

    Parameters
    ----------
    X : {ndarray, sparse matrix, data frame}
        The rows as members of the ensemble read them.
    numbers : {ndarray, sparse matrix}
        The rows as numbers, equal where the rows are.
    outputs : Outputs
        Targets and weights.
    feature_names : ndarray or None
        Names of the columns.
    is_numeric : bool
        Whether the members could be fitted to `numbers`, too.
    """

    X: Any
    numbers: Any
    outputs: Outputs
    feature_names: Array | None = None
    is_numeric: bool = True

    @cached_property
    def labels(self) -> Array:
        """The targets as the caller gave them, (n,) or (n, outputs)."""
        y = self.outputs.y
        if self.outputs.classes is not None:
            columns = [c[k.astype(int)] for c, k in zip(self.outputs.classes, y.T)]
            y = np.column_stack(columns) if len(columns) > 1 else columns[0][:, None]
        return y[:, 0] if self.outputs.is_flat else y


class EnsembleFit(Refittable):
    """The fit of an ensemble, as far as held-out predictions need it."""

    def __init__(self, ensemble: Any, data: EnsembleData):
        super().__init__(Design(data.numbers), data.labels, data.outputs.sample_weight)
        self.ensemble, self.data = ensemble, data
        self.has_classes = data.outputs.classes is not None and data.outputs.is_flat
        self.strength = ensemble._strength

    @property
    def targets(self) -> Array:
        """The targets as numbers."""
        return self.data.outputs.y[:, 0] if self.data.outputs.is_flat else self.data.outputs.y

    @property
    def outputs(self) -> int:
        """How many predictions a row has."""
        return int(self.predictions.shape[1])

    @cached_property
    def is_counted(self) -> Array:
        """Which rows have any weight, in the fit and in the score."""
        return (self.weights > 0) & (self.data.outputs.weights > 0)

    @cached_property
    def labels(self) -> Array:
        """Numbers of the rows (x, y), the same for equal ones, by content."""
        return self.design.equal_rows(self.targets)

    @cached_property
    def units(self) -> Array:
        """What is left out at a time: all rows of the same x, as for single trees."""
        return units_of(equal_rows(self.data.numbers), self.labels, self.is_counted)

    @property
    def is_large(self) -> bool:
        """Whether another fit takes a good part of a second."""
        return len(self.y) > LARGE_ROWS

    @property
    def model(self) -> Any:
        """The ensemble itself."""
        return lambda design: self.ensemble._mean_of_numbers(design.X)

    def fit_to(self, rows: Array) -> Any:
        """An ensemble of some of the rows."""
        other = self._refitted(self.ensemble, rows)
        return lambda design: other._mean_of_members(design.X)

    def held_out(self, groups: Array | None) -> Array:
        """Each row by the members that were not given it, (n, K); NaN where all were."""
        if groups is not None:
            raise NotAvailable("the members have seen other rows of each group")
        if not self.ensemble.bootstrap:
            raise NotAvailable("every member has seen every row, with bootstrap=False")
        if self._repeated > MOST_REPEATED:
            raise NotAvailable(f"{self._repeated:.0%} of the rows have equals, which members know")
        sums, used = self._sums
        if not np.any(used[self.is_counted] > 0):
            raise NotAvailable("all rows are in the draws of all members")
        with np.errstate(invalid="ignore"):
            return np.where(used[:, None] > 0, sums / np.maximum(used, 1)[:, None], np.nan)

    @property
    def _repeated(self) -> float:
        """The part of the weight that is in rows whose x is there twice or more."""
        of_x = np.bincount(self.units[self.is_counted], self.weights[self.is_counted])
        return float(of_x[of_x >= 2.0].sum() / of_x.sum())

    @cached_property
    def _sums(self) -> tuple[Array, Array]:
        return self.ensemble._out_of_bag(self.data)

    def without_each(self, rows: Array) -> Any:
        """There is no formula: without a row all members are drawn again."""
        raise NotAvailable("the members of an ensemble are drawn again without a row")

    def scaled(self, factor: float) -> EnsembleFit | None:
        """The fit with leaves so many times as large; None for learners without leaves."""
        smoother = self.ensemble._smoother(factor)
        if smoother is None or smoother is self.ensemble:
            return None if smoother is None else self
        refitted = self._refitted(smoother, np.arange(len(self.y)))
        numbers = replace(self.data, X=self.data.numbers, feature_names=None)
        return EnsembleFit(refitted, numbers)

    def _refitted(self, ensemble: Any, rows: Array) -> Any:
        """An ensemble of some rows as numbers, categories being level numbers."""
        if not self.data.is_numeric:
            raise NotAvailable("members cannot be fitted again to rows that are no numbers")
        weights = self.data.outputs.sample_weight[rows]
        X = self.design.rows(rows).X
        with warnings.catch_warnings():
            # Said of the fit itself, if at all.
            warnings.simplefilter("ignore", UserWarning)
            return ensemble._unfitted().fit(X, self.y[rows], sample_weight=weights)


@by_formula.register
def _by_formula(fitted: EnsembleFit, groups: Array | None = None) -> Estimate:
    z = fitted.held_out(groups)
    return Estimate(z, f"out of bag ({len(fitted.ensemble)} members)", True)


def warn_if_unpredicted(used: Array, members: str = "estimators") -> None:
    """Say that some rows were given to all members."""
    if np.any(used == 0):
        warnings.warn(
            "Some inputs do not have OOB scores. This probably means too few "
            f"{members} were used to compute any reliable oob estimates.",
            stacklevel=6,
        )
