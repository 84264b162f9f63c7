"""What a fitted tree says of itself: its size, text, rules, and the path of a row."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from ..._ground.columns import read_new
from .outline import Outline, Rules
from .reading import Features


class Readable:
    """Base of trees that can be read; a subclass gives `outline`, `tree_` and `columns_`."""

    tree_: Any
    columns_: Any
    n_features_in_: int

    def outline(self) -> Outline:
        """The tree as plain data, from which text, rules and pictures are made."""
        raise NotImplementedError

    def _read_rows(self, X: Any) -> Any:
        """Rows to predict, as `TreeData.F` is."""
        raise NotImplementedError

    def get_depth(self):
        """The largest number of questions that a row is asked.

        Returns
        -------
        depth : int
            0 for a tree that is a single leaf.
        """
        check_is_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self):
        """The number of leaves.

        Returns
        -------
        n_leaves : int
            At least 1.
        """
        check_is_fitted(self)
        return self.tree_.n_leaves

    def to_text(self, max_depth=None):
        """The tree as text, a line for each branch.

        Parameters
        ----------
        max_depth : int, default=None
            Below it, only the number of leaves is told.

        Returns
        -------
        text : str
            Where a branch ends: what is predicted, and in parentheses the number of training rows
            there and, if it is not 0, their error.
        """
        check_is_fitted(self)
        return self.outline().to_text(max_depth)

    def rules(self) -> Rules:
        """The tree as if-then rules, one for each leaf, those for most rows first.

        Returns
        -------
        rules : tuple of Rule
            Each with its conditions, prediction, support and error; prints one on each line.
        """
        check_is_fitted(self)
        return self.outline().rules()

    def path_of(self, x):
        """Why a row is predicted so, in words.

        Parameters
        ----------
        x : array-like of shape (n_features,), or a table or matrix with one row
            The row.

        Returns
        -------
        text : str
            A line for each question on the way, with the answer, and what is predicted.
        """
        check_is_fitted(self)
        row = x if getattr(x, "ndim", np.ndim(x)) == 2 else [x]
        F = self._read_rows(row)
        if F.shape[0] != 1:
            raise ValueError(f"path_of explains one row, and got {F.shape[0]}; pass X[[i]].")
        leaf = int(self.tree_.apply(F)[0])
        return self.outline().path_in_words(leaf, self._values_of(row))

    def _values_of(self, row: Any) -> dict[str, Any]:
        """The values of one row by the names of its columns, categories by theirs."""
        F = read_new(self, self.columns_, row)
        values = np.asarray(F.toarray() if sp.issparse(F) else F)[0]
        shown: dict[str, Any] = {}
        for name, value, levels in zip(self._names(), values, self.columns_.levels):
            is_level = levels is not None and not np.isnan(value)
            shown[name] = levels[int(value)] if is_level else float(value)
        return shown

    def _features(self) -> Features:
        """What the columns are called."""
        return Features(self._names(), self.columns_.levels, self.columns_.has_missing)

    def _names(self) -> list[str]:
        """Names of the features, x0, x1, … where X had none."""
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if names is None else list(names)
