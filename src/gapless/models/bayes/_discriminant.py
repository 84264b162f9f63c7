"""What linear and quadratic discriminant analysis share: weights, priors and decisions."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np

from ..._ground.stored import Declaration, Numbers, Unused
from ..._ground.validation import Training
from ._base import Array, BayesClassifier
from .priors import Priors

# Parts by which covariances are shrunk, one step from each other.
SHRINKAGES = (0.0, 0.03, 0.1, 0.3, 0.6, 0.9)
# Shrunk covariances are decomposed whole, in the cube of the columns, for each part held out.
MOST_SHRUNK_COLUMNS = 500


class Discriminant(BayesClassifier):
    """Base of classifiers whose classes have Gaussian densities with covariances."""

    _stored: ClassVar[Declaration] = {
        **BayesClassifier._stored,
        "priors_": Numbers("classes", low=0.0),
        "means_": Numbers("classes", "features"),
        "covariance_": Unused(),
        "scalings_": Unused(),
    }
    _fewest_classes = 2

    def _read(self, X, y, sample_weight=None, *, reset=True):
        data = super()._read(X, y, sample_weight, reset=reset)
        self._check_solver()
        return data

    def _check_solver(self) -> None:
        """Refuse what a solver cannot do."""
        if self.solver == "svd" and self.shrinkage is not None:
            raise NotImplementedError(
                "shrinkage not supported with 'svd' solver; take solver='eigen'."
            )
        if self.solver == "svd" and self.covariance_estimator is not None:
            raise ValueError(
                "covariance estimator is not supported with svd solver: covariance_estimator is "
                "not supported with solver='svd'. Try solver='eigen' instead."
            )
        if self.covariance_estimator is not None and self.shrinkage not in (None, 0):
            raise ValueError(
                "covariance_estimator and shrinkage parameters are not None. Only one of the two "
                "can be set."
            )

    def _priors(self, classes: int) -> Priors:
        """The priors as they are asked for, summing to 1."""
        if self.priors is not None and np.any(np.asarray(self.priors, dtype=float) < 0):
            raise ValueError(f"priors must be non-negative, got {list(self.priors)}.")
        found = Priors.read(self.priors, classes, is_fitted=True, is_smoothed=False)
        if found.given is None or abs(found.given.sum() - 1.0) <= 1e-5:
            return found
        warnings.warn("The priors do not sum to 1. Renormalizing", stacklevel=2)
        return Priors(found.given / found.given.sum())

    def _smoothed(self, step):
        shrinkage = self.shrinkage if self.solver != "svd" else getattr(self, "reg_param", 0.0)
        if self.covariance_estimator is not None or isinstance(shrinkage, str):
            return None
        if self.n_features_in_ > MOST_SHRUNK_COLUMNS:
            return None
        at = int(np.searchsorted(SHRINKAGES, float(shrinkage or 0.0), side="right")) - 1 + step
        if not 0 <= at < len(SHRINKAGES) or SHRINKAGES[at] == (shrinkage or 0.0):
            return None
        values = {"solver": "eigen", "shrinkage": SHRINKAGES[at]}
        if hasattr(self, "reg_param"):
            values["reg_param"] = 0.0
        return f"shrinkage={SHRINKAGES[at]:g}", self._at(**values)

    def decision_function(self, X):
        """Log probabilities of the classes, up to a number that is the same for all of a row.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Of two classes the difference, positive for the second.
        """
        z = self._scores(X)
        return z[:, 1] - z[:, 0] if z.shape[1] == 2 else z

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


def rows_of(data: Training, k: int) -> tuple[Any, Array]:
    """The rows of a class that have a weight, and their weights."""
    rows = np.flatnonzero((data.y == k) & (data.weights > 0))
    return data.X[rows], data.weights[rows]
