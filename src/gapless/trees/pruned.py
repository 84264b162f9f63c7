"""How decision trees of two branches are pruned, and how it is certified."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils import Bunch
from sklearn.utils._param_validation import Interval, StrOptions

from ..certificates import Certificate
from ..generalization.held_out import drawn
from .costs import node_costs, node_weights
from .data import Rows, TreeData
from .growing import Options
from .judging import RISKS, Judgement, certificate, judge
from .limits import grow_on
from .pruning import PruneTrace, cheapest, first_improvements, parents, pessimistic_errors
from .tuning import CV, Choice, choose_alpha, risk_of, sequence_of

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


class Prunable:
    """Parameters of pruning: by a price for each leaf, or by errors."""

    _parameter_constraints: ClassVar[dict] = {
        "ccp_alpha": [Interval(Real, 0.0, None, closed="left"), StrOptions({CV})],
        "validation_fraction": [Interval(Real, 0.0, 1.0, closed="neither")],
        "select": [StrOptions({"min", "1se"})],
    }

    def _check_parameters(self, X_val: Any) -> None:
        if self.prune is not None and self.ccp_alpha != 0.0:
            raise ValueError(
                f"prune={self.prune!r} and ccp_alpha={self.ccp_alpha!r} are two ways to prune the "
                "same tree; set prune=None or ccp_alpha=0.0."
            )
        if X_val is not None and self.prune not in ON_VALIDATION:
            raise ValueError(
                f"X_val is for prune={PRE!r} and prune={REDUCED!r}, and prune is {self.prune!r}; "
                "leave X_val out, or set prune."
            )

    def _alpha(self, choice: Choice | None) -> float:
        """The price of a leaf; 0 where none could be chosen in time."""
        if self.ccp_alpha != CV:
            return float(self.ccp_alpha)
        return 0.0 if choice is None else choice.alpha

    def _price(self):
        return float(self.ccp_alpha_ if self.ccp_alpha == CV else self.ccp_alpha)

    def _choose(
        self, data: TreeData, rows: Array, tree: Any, options: Options, seed: int
    ) -> Choice:
        units = np.full(len(data.units), -1)
        units[rows] = np.unique(data.units[rows], return_inverse=True)[1]
        if units.max() < 1:
            raise ValueError(
                f'{type(self).__name__} cannot choose ccp_alpha="cv" from n_samples = 1 distinct '
                "row; give a number."
            )

        def on(part: Array) -> Any:
            return grow_on(data, part, options, seed)

        return choose_alpha(on, data, units, tree, self.select)

    def _parts(self, data: TreeData, rows: Array) -> tuple[Array, Rows | None]:
        """The rows to grow on, and those to judge splits by, where pruning needs them."""
        if self.prune not in ON_VALIDATION:
            return rows, None
        if data.validation is not None:
            return rows, data.validation
        units = np.full(len(data.units), -1)
        units[rows] = np.unique(data.units[rows], return_inverse=True)[1]
        count = int(units.max()) + 1
        aside = round(self.validation_fraction * count)
        if not 0 < aside < count:
            raise ValueError(
                f"validation_fraction={self.validation_fraction:g} of n_samples = {count} distinct "
                f"rows sets {aside} of them aside, and both parts need rows; change it, or pass "
                "X_val and y_val."
            )
        strata = data.outputs.y[:, 0] if data.has_classes else None
        chosen = drawn(units, aside, strata)
        is_aside = (units >= 0) & np.isin(units, chosen)
        held = np.flatnonzero(is_aside)
        return np.flatnonzero((units >= 0) & ~is_aside), data.rows(held)

    def _trace(
        self, tree: Any, data: TreeData, rows: Array, held: Rows | None, alpha: float
    ) -> PruneTrace | None:
        """What is pruned, None where nothing is to be."""
        parent = parents(tree.children_left, tree.children_right)
        if self.prune is None:
            price = f"{RISKS[self.criterion]} + {alpha:.4g}·leaves"
            return cheapest(parent, risk_of(tree) + alpha, price) if alpha > 0 else None
        cost = self._errors(tree, data, held if held is not None else data.rows(rows))
        rule = first_improvements if self.prune == PRE else cheapest
        return rule(parent, cost, ERRORS[self.prune])

    def _errors(self, tree: Any, data: TreeData, rows: Rows) -> Array:
        """What each node costs as a leaf, by the errors of some rows, as parts of all of them."""
        widths = data.class_counts
        errors = node_costs(tree, rows.F, rows.y, rows.weights, widths)[:, 0]
        if self.prune == PESSIMISTIC:
            errors = pessimistic_errors(errors, node_weights(tree, rows.F, rows.weights))
        return errors / float(rows.weights.sum())

    def cost_complexity_pruning_path(self, X, y, sample_weight=None):
        """The nested sequence of subtrees that minimise R(T) + α·leaves for some α ≥ 0.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Target values.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights ≥ 0.

        Returns
        -------
        path : Bunch
            With `ccp_alphas`, 0 and the α at which each further split goes, in increasing order,
            and `impurities`, R(T) of the subtree that is left.
        """
        whole = clone(self).set_params(ccp_alpha=0.0, prune=None)
        tree = whole.fit(X, y, sample_weight=sample_weight).tree_
        sequence = sequence_of(tree)
        return Bunch(ccp_alphas=sequence.alphas, impurities=sequence.sums(risk_of(tree)))

    # ---- the certificate -------------------------------------------------------------------------

    def _fitted_to(self, X, y, sample_weight=None):
        if getattr(self, "validation_", None) == GIVEN:
            raise ValueError(
                f"{type(self).__name__} was pruned by rows that were given as X_val, which are no "
                "part of X; ask for model.generalization_ where it was fitted, or fit again with "
                "validation_fraction."
            )
        return super()._fitted_to(X, y, sample_weight)

    def _certify(self, data: TreeData, tree: Any) -> Certificate:
        rows = np.flatnonzero(data.outputs.weights > 0)
        if self.prune is not None:
            return self._certify_errors(data, tree, rows)
        part = data.rows(rows, with_class_weights=True)
        leaf = tree.apply(part.F)
        classes = max(data.widths)
        found = judge(tree, leaf, part.y, part.weights, self.criterion, classes)
        if self.monotonic_cst is not None:
            # Constraints move predictions away from the best ones, and are no matter of pruning.
            found = replace(found, stored=float(found.risk[tree.children_left < 0].sum()))
        parent = parents(tree.children_left, tree.children_right)
        return certificate(parent, found, self._price(), RISKS[self.criterion])

    def _certify_errors(self, data: TreeData, tree: Any, rows: Array) -> Certificate:
        """The same for a tree that was pruned by errors, of validation rows or pessimistic ones."""
        held: Rows | None = data.rows(rows)
        if self.prune in ON_VALIDATION and self.validation_ == DRAWN:
            held = self._parts(data, rows)[1]
        elif data.validation is not None:
            held = data.validation
        assert held is not None
        risk = self._errors(tree, data, held)
        stored = float(risk[tree.children_left < 0].sum())
        parent = parents(tree.children_left, tree.children_right)
        return certificate(parent, Judgement(risk, stored), 0.0, ERRORS[self.prune])
