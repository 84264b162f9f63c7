"""The score of an ensemble on unseen rows: each row by the members that did not get it.

The predictions come with the fit; scoring, standard error and wording are those of every other
model. Intervals and sets for new rows come from the same members, without another fit.

References
----------
Breiman (1996), Out-of-bag estimation, technical report, University of California, Berkeley. Kim, Xu
and Barber (2020), Predictive inference is free with the jackknife+-after-bootstrap, Advances in
Neural Information Processing Systems 33.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from ..._ground.design import Design
from ..._ground.percent import percent
from ..._ground.validation import Outputs
from ...unseen import (
    ChangeDial,
    Changes,
    Dial,
    Estimate,
    NotAvailable,
    OnlyRefittable,
    by_formula,
    changing,
)
from ..trees import fewer_limits, larger_leaves

Array = np.ndarray

# If more rows than this part have the same x as others, a member that did not get one of them has
# learned it from its equals, and only folds of whole x measure unseen rows.
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
    """

    X: Any
    numbers: Any
    outputs: Outputs
    feature_names: Array | None = None


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows in the form of `EnsembleData.X`, tables included, with the interface of a `Design`."""

    X: Any

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])

    def rows(self, which: Any) -> Rows:
        """Some of them."""
        return Rows(_safe_indexing(self.X, which))


class EnsembleFit(OnlyRefittable):
    """The fit of an ensemble, as far as held-out predictions need it: fitting it to other rows.

    Models take `Rows`.
    """

    reason = "the ensemble must be refitted"

    def __init__(self, ensemble: Any, data: EnsembleData):
        super().__init__(Design(data.numbers), data.outputs.as_given, data.outputs.sample_weight)
        self.ensemble, self.data = ensemble, data
        self.has_classes = data.outputs.classes is not None and data.outputs.is_flat

    @property
    def targets(self) -> Array:
        """The targets as numbers; positions of the classes of one output."""
        y = self.data.outputs.y
        if not self.data.outputs.is_flat:
            return y
        return y[:, 0].astype(int) if self.has_classes else y[:, 0]

    @property
    def outputs(self) -> int:
        """The number of predictions per row."""
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
    def predictions(self) -> Array:
        """The ensemble's predictions for its training rows, (n, K)."""
        return self.model(Rows(self.data.X))

    @property
    def model(self) -> Any:
        """The ensemble itself."""
        return lambda rows: self.ensemble._mean_of_rows(rows.X)

    def fit_to(self, rows: Array) -> Any:
        """An ensemble of some of the rows."""
        other = self._refitted(self.ensemble._unfitted(), rows)
        if not self.has_classes or len(other.classes_) == self.outputs:
            return lambda new: other._mean_of_rows(new.X)
        place = np.searchsorted(self.ensemble.classes_, other.classes_)
        return lambda new: _spread(other._mean_of_rows(new.X), place, self.outputs)

    def predict(self, model: Any, rows: Array) -> Array:
        """A model's predictions for some of the rows, (rows, K)."""
        return model(Rows(self.data.X).rows(rows))

    def _dial(self, changes: ChangeDial) -> Dial:
        """Ensembles with other parameters."""

        def changed(found: Changes) -> EnsembleFit:
            other = self.ensemble._unfitted().set_params(**found)
            return type(self)(self._refitted(other, np.flatnonzero(self.is_counted)), self.data)

        return changing(changes, changed)

    def _refitted(self, ensemble: Any, rows: Array) -> Any:
        """An ensemble, fitted to some of the rows."""
        weights = self.data.outputs.sample_weight[rows]
        with warnings.catch_warnings():
            # Reported for the fit itself, if at all.
            warnings.simplefilter("ignore", UserWarning)
            return ensemble.fit(
                _safe_indexing(self.data.X, rows), self.y[rows], sample_weight=weights
            )


def _spread(shares: Array, place: Array, classes: int) -> Array:
    """Shares of all classes, from an ensemble that has seen only some of them."""
    of_all = np.zeros((len(shares), classes))
    of_all[:, place] = shares
    return of_all


class BagFit(EnsembleFit):
    """The fit of an ensemble whose members have seen draws of the rows."""

    def held_out(self, groups: Array | None) -> Array:
        """Each row by the members that did not get it, (n, K); NaN if all did."""
        if groups is not None:
            raise NotAvailable("the members have seen other rows of each group")
        if not self.ensemble.bootstrap:
            raise NotAvailable("every member has seen every row, with bootstrap=False")
        if self._repeated > MOST_REPEATED:
            repeated = percent(self._repeated, 0)
            raise NotAvailable(f"{repeated} of the rows have duplicates that members have seen")
        sums, used = self._sums
        if not np.any(used[self.is_counted] > 0):
            raise NotAvailable("every member has drawn every row")
        with np.errstate(invalid="ignore"):
            return np.where(used[:, None] > 0, sums / np.maximum(used, 1)[:, None], np.nan)

    @property
    def is_out_of_bag(self) -> bool:
        """Whether rows can be scored by members that did not get them."""
        try:
            self.held_out(None)
        except NotAvailable:
            return False
        return True

    @property
    def _repeated(self) -> float:
        """The part of the weight in rows whose x is repeated, or has two targets."""
        counted = np.flatnonzero(self.is_counted)
        of_x = np.bincount(self.units[counted], self.weights[counted])
        _, first = np.unique(self.distinct[counted], return_index=True)
        targets = np.bincount(self.units[counted[first]])
        return float(of_x[(of_x >= 2.0) | (targets >= 2)].sum() / of_x.sum())

    @cached_property
    def _sums(self) -> tuple[Array, Array]:
        return self.ensemble._out_of_bag(self.data)

    def without_each(self, rows: Array) -> Any:
        """Rows by the members that did not get them, and new rows by the same members.

        NaN for a row that all members got (jackknife+-after-bootstrap, Kim, Xu and Barber 2020,
        algorithm 2).
        """
        held = self.held_out(None)[rows]
        is_free = ~np.stack(list(self.ensemble._seen(self.distinct[rows])))
        share = is_free / np.maximum(is_free.sum(axis=0), 1)

        def predict(new: Rows) -> Array:
            return np.einsum("bnk,br->nrk", self.ensemble._by_member(new.X), share, optimize=True)

        return held, predict

    def simpler(self) -> list[Dial]:
        """Larger leaves."""
        parameters, rows = self.ensemble._tree_parameters(), float(self.weights.sum())
        return [self._dial_of_trees(larger_leaves(parameters, rows))]

    def richer(self) -> list[Dial]:
        """Weaker growth limits."""
        parameters, rows = self.ensemble._tree_parameters(), float(self.weights.sum())
        price = parameters.get("ccp_alpha", 0.0)
        return [
            self._dial_of_trees(
                fewer_limits(parameters, rows, float(price) if isinstance(price, Real) else 0.0)
            )
        ]

    def _dial_of_trees(self, changes: ChangeDial) -> Dial:
        """The same for the trees of the ensemble."""

        def of_ensemble(step: int) -> Changes | None:
            found = changes(step)
            return None if found is None else self.ensemble._with_trees(found)

        return self._dial(of_ensemble)


@by_formula.register
def _by_formula(fitted: BagFit, groups: Array | None = None) -> Estimate:
    z = fitted.held_out(groups)
    return Estimate(z, f"out of bag ({len(fitted.ensemble)} members)", True)


def warn_if_unpredicted(used: Array, members: str = "estimators") -> None:
    """Warn that some rows were given to all members."""
    if np.any(used == 0):
        warnings.warn(
            "Some inputs do not have OOB scores. This probably means too few "
            f"{members} were used to compute any reliable oob estimates.",
            stacklevel=6,
        )
