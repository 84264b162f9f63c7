"""Pruning by validation rows: given ones, or a part of the training rows that is set aside."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils._param_validation import Interval

from ..._ground.validation import read_outputs
from ...certificates import Certificate
from ...unseen import drawn
from ._base import TreeModel
from .data import Rows, TreeData
from .judging import Judgement, certificate

Array = np.ndarray

PRE, REDUCED, PESSIMISTIC = "pre_pruning", "reduced_error", "pessimistic"
ON_VALIDATION = (PRE, REDUCED)
# What the costs of pruning are called.
ERRORS = {
    PRE: "error on validation rows",
    REDUCED: "error on validation rows",
    PESSIMISTIC: "pessimistic error",
}
GIVEN, DRAWN = "given", "drawn"


class Validated(TreeModel):
    """Trees that may be pruned by errors; `prune` says how.

    A subclass gives `_errors`, what each node costs as a leaf by the errors of some rows, and
    `_parents`, the tree as an array of parents.
    """

    prune: Any
    validation_fraction: float
    _parameter_constraints: ClassVar[dict] = {
        "validation_fraction": [Interval(Real, 0.0, 1.0, closed="neither")],
    }

    def _errors(self, tree: Any, rows: Rows) -> Array:
        """What each node costs as a leaf, by the errors of some rows, as parts of all of them."""
        raise NotImplementedError

    def _parents(self, tree: Any) -> Array:
        """The parent of each node, −1 for the root."""
        raise NotImplementedError

    def _with_validation(self, data: TreeData, X_val: Any, y_val: Any, weights: Any) -> TreeData:
        """The data with rows that were given to judge splits by, if there are any."""
        if X_val is None:
            return data
        if self.prune not in ON_VALIDATION:
            raise ValueError(
                f"X_val is for prune={PRE!r} and prune={REDUCED!r}, and prune is {self.prune!r}; "
                "leave X_val out, or set prune."
            )
        if y_val is None:
            raise ValueError("X_val needs the targets of its rows; pass y_val too.")
        held = self._at(**self._described(data))._read_validation(X_val, y_val, weights)
        return replace(data, validation=held)

    def _read_validation(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """Rows to judge splits by; their classes as positions in those of the training rows."""
        F = self._read_rows(X)
        found = read_outputs(y, F, sample_weight, has_classes=is_classifier(self))
        if found.y.shape[1] != self.n_outputs_:
            raise ValueError(
                f"y_val has {found.y.shape[1]} outputs, and y has {self.n_outputs_}; give both the "
                "same."
            )
        y = found.y
        if found.classes is not None:
            known = self.classes_ if isinstance(self.classes_, list) else [self.classes_]
            triples = zip(found.classes, known, found.y.T)
            y = np.column_stack([_positions(new, old, at) for new, old, at in triples])
        return Rows(F, y, found.sample_weight)

    def _parts(self, data: TreeData, rows: Array) -> tuple[Array, Rows | None]:
        """The rows to grow on, and those to judge splits by, where pruning needs them."""
        if self.prune not in ON_VALIDATION:
            return rows, None
        if data.validation is not None:
            return rows, data.validation
        units = data.units(rows)
        count = int(units.max()) + 1
        aside = round(self.validation_fraction * count)
        if not 0 < aside < count:
            raise ValueError(
                f"validation_fraction={self.validation_fraction:g} of n_samples = {count} distinct "
                f"rows sets {aside} of them aside, and both parts need rows; change it, or pass "
                "X_val and y_val."
            )
        strata = data.outputs.y[:, 0] if data.has_classes else None
        is_aside = (units >= 0) & np.isin(units, drawn(units, aside, strata))
        return np.flatnonzero((units >= 0) & ~is_aside), data.rows(np.flatnonzero(is_aside))

    def _validation_source(self, data: TreeData) -> dict[str, str]:
        """The attribute that says where the validation rows came from, if there are any."""
        if self.prune not in ON_VALIDATION:
            return {}
        return {"validation_": DRAWN if data.validation is None else GIVEN}

    @property
    def _has_given_rows(self) -> bool:
        return getattr(self, "validation_", None) == GIVEN

    # ---- both gaps -------------------------------------------------------------------------------

    def _certified(self, X, y, sample_weight=None) -> Certificate:
        if self._has_given_rows:
            return self._certify_errors(self.tree_, self._read_validation(X, y, sample_weight))
        return super()._certified(X, y, sample_weight)

    def _fitted_to(self, X, y, sample_weight=None):
        if self._has_given_rows:
            raise ValueError(
                f"{type(self).__name__} was pruned by rows that were given as X_val, which are no "
                "part of X; ask for model.generalization_ where it was fitted, or fit again with "
                "validation_fraction."
            )
        return super()._fitted_to(X, y, sample_weight)

    def _certify_errors(self, tree: Any, rows: Rows) -> Certificate:
        """The certificate of a tree that was pruned by errors of these rows."""
        risk, parent = self._errors(tree, rows), self._parents(tree)
        is_leaf = ~np.isin(np.arange(len(parent)), parent)
        found = Judgement(risk, float(risk[is_leaf].sum()))
        return certificate(parent, found, 0.0, ERRORS[self.prune])


def _positions(new: Array, known: Array, at: Array) -> Array:
    """Positions in the known classes of labels that are positions in others, −1 for new ones."""
    place = np.minimum(np.searchsorted(known, new), len(known) - 1)
    return np.where(known[place] == new, place, -1)[at.astype(int)].astype(float)
