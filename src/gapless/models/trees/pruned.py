"""How decision trees of two branches are pruned, and how it is certified."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import Bunch
from sklearn.utils._param_validation import Interval, StrOptions

from ...certificates import Certificate
from .costs import node_costs, node_weights
from .data import Rows, TreeData
from .growing import Options
from .judging import RISKS, as_bound, certificate, judge
from .limits import grow_on
from .pruning import PruneTrace, cheapest, first_improvements, parents, pessimistic_errors
from .tuning import CV, Choice, choose_alpha, risk_of, sequence_of
from .validation import ERRORS, PESSIMISTIC, PRE, Validated

Array = np.ndarray


class Prunable(Validated):
    """Parameters of pruning: by a price for each leaf, or by errors."""

    criterion: str
    ccp_alpha: Any
    ccp_alpha_: float
    select: str
    monotonic_cst: Any
    _parameter_constraints: ClassVar[dict] = {
        "ccp_alpha": [Interval(Real, 0.0, None, closed="left"), StrOptions({CV})],
        **Validated._parameter_constraints,
        "select": [StrOptions({"min", "1se"})],
    }

    def _check_parameters(self) -> None:
        if self.prune is not None and self.ccp_alpha != 0.0:
            raise ValueError(
                f"prune={self.prune!r} and ccp_alpha={self.ccp_alpha!r} are two ways to prune the "
                "same tree; set prune=None or ccp_alpha=0.0."
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
        units = data.units(rows)
        if units.max() < 1:
            raise ValueError(
                f'{type(self).__name__} cannot choose ccp_alpha="cv" from n_samples = 1 distinct '
                "row; give a number."
            )

        def on(part: Array) -> Any:
            return grow_on(data, part, options, seed)

        return choose_alpha(on, data, units, tree, self.select)

    def _trace(
        self, tree: Any, data: TreeData, rows: Array, held: Rows | None, alpha: float
    ) -> PruneTrace | None:
        """What is pruned, None where nothing is to be."""
        parent = self._parents(tree)
        if self.prune is None:
            price = f"{RISKS[self.criterion]} + {alpha:.4g}·leaves"
            return cheapest(parent, risk_of(tree) + alpha, price) if alpha > 0 else None
        cost = self._errors(tree, data.rows(rows) if held is None else held)
        rule = first_improvements if self.prune == PRE else cheapest
        return rule(parent, cost, ERRORS[self.prune])

    def _parents(self, tree):
        return parents(tree.children_left, tree.children_right)

    def _errors(self, tree, rows):
        widths = tree.n_classes if is_classifier(self) else np.zeros(tree.n_outputs, dtype=int)
        errors = node_costs(tree, rows.F, rows.y, rows.weights, widths.tolist())[:, 0]
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

    def _certify(self, data: TreeData, tree: Any) -> Certificate:
        rows = np.flatnonzero(data.outputs.weights > 0)
        if self.prune is not None:
            held = self._parts(data, rows)[1]
            return self._certify_errors(tree, data.rows(rows) if held is None else held)
        part = data.rows(rows, with_class_weights=True)
        leaf = tree.apply(part.F)
        found = judge(tree, leaf, part.y, part.weights, self.criterion, max(data.widths))
        proof = certificate(self._parents(tree), found, self._price(), RISKS[self.criterion])
        # Constraints move predictions away from the best ones, which the bound does not know.
        return proof if self.monotonic_cst is None else as_bound(proof)
