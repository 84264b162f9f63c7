"""What a grown forest tells: its trees, importances, paths, nearness of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from ...unseen import Judge
from .leaves import Leaves, proximity

Array = np.ndarray


class ForestReading:
    """Questions to a fitted forest."""

    def __len__(self):
        return len(self.trees_)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self.estimators_[index]
        return self._member(self.trees_[index], self._seeds[index])

    def __iter__(self):
        return iter(self.estimators_)

    @property
    def estimator(self):
        """The kind of tree that the forest is made of, before any fit."""
        return self._template()

    @property
    def estimators_(self):
        """The trees as estimators, made when asked for; they predict positions of classes."""
        if not hasattr(self, "trees_"):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet; call fit(X, y).")
        return [self._member(tree, seed) for tree, seed in zip(self.trees_, self._seeds)]

    def _member(self, tree, seed):
        member = self._template(random_state=int(seed))
        for name in ("columns_", "n_outputs_", "n_features_in_", "max_features_"):
            setattr(member, name, getattr(self, name))
        if self.columns_.is_category.any() and hasattr(self, "feature_names_in_"):
            # Only a table has categories; of numbers, members take bare arrays, as scikit-learn's.
            member.feature_names_in_ = self.feature_names_in_
        member.tree_ = tree
        return member

    @property
    def feature_importances_(self):
        """What the splits of each feature take from the impurity, as parts of 1.

        Features with many values have more splits to choose from and look more important than they
        are; `oob_importances` does not have that fault.
        """
        check_is_fitted(self)
        each = [t.compute_feature_importances() for t in self.trees_ if t.node_count > 1]
        if not each:
            return np.zeros(self.n_features_in_)
        mean = np.mean(each, axis=0)
        return mean / max(mean.sum(), np.finfo(float).tiny)

    def apply(self, X):
        """The leaf that each row ends up in, for each tree.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_estimators)
            Numbers of nodes.
        """
        F = self._read_rows(X)
        with self._threads():
            return self._packed.apply(F)

    def decision_path(self, X):
        """Which nodes of all trees each row comes through.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        indicator : sparse matrix of shape (n_samples, n_nodes)
            1 where a row comes through a node; nodes of the trees side by side.
        n_nodes_ptr : ndarray of shape (n_estimators + 1,)
            Where the nodes of each tree begin.
        """
        F = self._read_rows(X)
        paths = [tree.decision_path(F) for tree in self.trees_]
        return sp.hstack(paths).tocsr(), self._packed.start.copy()

    def _leaves(self):
        """Which training rows are in which leaves; found when first asked for."""
        known = vars(self).get("_known_leaves")
        if known is None:
            data = self._remembered("fit again, since copies and files do not keep them").data
            known = self._known_leaves = Leaves.of(self._packed, self._training_rows(data), data)
        return known

    def __getstate__(self):
        # What can be made again is not taken along.
        state = super().__getstate__()
        return {k: v for k, v in state.items() if k != "_known_leaves"}

    def proximity(self, X, Y=None):
        """How near rows are to each other: the part of the trees in which they share a leaf.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.
        Y : like X, default=None
            Other rows; None compares X with itself.

        Returns
        -------
        shares : sparse matrix of shape (n_samples, n_samples_of_Y)
            Between 0, which is not stored, and 1.
        """
        F = self._read_rows(X)
        return proximity(self._packed, F, F if Y is None else self._read_rows(Y))

    def oob_curve(self, counts=None):
        """The score out of bag of the first trees alone, to see whether more would help.

        Parameters
        ----------
        counts : array-like of int, default=None
            Numbers of trees; None takes a dozen, at about equal ratios.

        Returns
        -------
        curve : Bunch
            With `counts`, `scores` (accuracy or R²) and `standard_errors`. Rows that all of so few
            trees have drawn are left out of a score.
        """
        fitted = self._remembered("gapless.generalize(model, X, y, sample_weight)")
        judge = Judge(self, fitted.y, fitted.weights)
        if counts is None:
            counts = np.geomspace(min(4, len(self)), len(self), 12).round()
        counts = np.unique(np.asarray(counts, dtype=int))
        if not self.bootstrap or counts[0] < 1 or counts[-1] > len(self):
            raise ValueError(
                f"oob_curve needs bootstrap=True and counts between 1 and {len(self)}, the number "
                f"of trees; got bootstrap={self.bootstrap} and {counts.tolist()}."
            )
        F, before, sums, used = self._training_rows(fitted.data), 0, 0.0, 0
        scores, errors = [], []
        for count in counts.tolist():
            bags = self._bags(fitted.distinct, slice(before, count))
            part, by = self._sums_out_of_bag(F, bags)
            sums, used, before = sums + part, used + by, count
            z = _mean(sums, used)
            scores.append(judge.score(z))
            errors.append(judge.standard_error(z, fitted.distinct))
        return Bunch(counts=counts, scores=np.array(scores), standard_errors=np.array(errors))

    def oob_importances(self, n_repeats=5, random_state=0):
        """By how much the score out of bag falls when a column is shuffled.

        Parameters
        ----------
        n_repeats : int, default=5
            How often each column is shuffled.
        random_state : int, default=0
            Seeds the shuffling.

        Returns
        -------
        importances : Bunch
            With `importances_mean` and `importances_std`, (n_features,), and `importances`,
            (n_features, n_repeats); in accuracy or R². A column that says nothing has about 0,
            whatever its number of values (Breiman 2001). Each shuffle costs a prediction of the
            training rows, which must be the same as in the fit.
        """
        fitted = self._remembered("sklearn.inspection.permutation_importance")
        judge = Judge(self, fitted.y, fitted.weights)
        before = judge.score(fitted.held_out(None))
        rng = np.random.default_rng(random_state)
        F, place = self._training_rows(fitted.data), fitted.distinct
        bags = list(self._bags(place))
        falls = np.zeros((self.n_features_in_, n_repeats))
        for j in range(self.n_features_in_):
            for r in range(n_repeats):
                # Distinct rows are shuffled, so that repeats in place of weights change nothing.
                donor = rng.permutation(len(self._rows))[place]
                shuffled = _with_column(F, j, self._rows[donor])
                sums, used = self._sums_out_of_bag(shuffled, bags)
                falls[j, r] = before - judge.score(_mean(sums, used))
        return Bunch(
            importances_mean=falls.mean(axis=1),
            importances_std=falls.std(axis=1),
            importances=falls,
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.target_tags.multi_output = True
        return tags


def _mean(sums: Array, used: Array) -> Array:
    """The mean over the trees that say something of a row; NaN where none does."""
    return np.where(used[:, None] > 0, sums / np.maximum(used, 1)[:, None], np.nan)


def _with_column(F: Any, j: int, rows: Array) -> Any:
    """F with the values of column j taken from other rows."""
    if not sp.issparse(F):
        changed = F.copy()
        changed[:, j] = F[rows, j]
        return changed
    columns = F.tocsc()
    return sp.hstack([columns[:, :j], columns[rows][:, [j]], columns[:, j + 1 :]], format="csr")
