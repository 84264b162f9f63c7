"""What linear and quadratic discriminant analysis share: priors, decisions, and covariances."""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import scipy.linalg

from ..._ground import lapack
from ..._ground.design import Design
from ..._ground.docstrings import described
from ..._ground.lapack import call_lapack
from ..._ground.stored import Declaration, Numbers, Unused
from ..._ground.validation import Training
from ...streaming import FOLDS, Spread
from ._base import ROWS, BayesClassifier
from .counting import Priors
from .in_parts import MOST_NUMBERS, refuse_in_parts
from .moments import Moments

Array = np.ndarray

DISCRIMINANT = """
shrinkage : float in [0, 1] or "auto"
    The part of each class's covariance that is replaced by the mean variance; "auto" finds it by
    Ledoit and Wolf.
priors : array-like of shape (n_classes,)
    Fixed priors of the classes; if None, they are estimated from the data.
covariance_estimator : object
    Has `fit` and `covariance_`, such as the estimators of sklearn.covariance.
means_ : ndarray of shape (n_classes, n_features)
    The means μ.
priors_ : ndarray of shape (n_classes,)
    The priors π.
generalization_ : Generalization
    What the model will score on unseen rows: by exact leave-one-out, or by folds where a covariance
    is shrunk automatically, estimated, or may have no inverse.
"""
# Parts by which covariances are shrunk, in steps.
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

    # ---- tables in parts -------------------------------------------------------------------------

    _fits_in_parts = True

    def _check_fits_in_parts(self):
        self._check_solver()
        name = type(self).__name__
        cure = "give shrinkage a number, such as one that was found on a sample of the rows"
        if self.shrinkage == AUTO:
            raise refuse_in_parts(name, 'find shrinkage="auto"', cure)
        if self.covariance_estimator is not None:
            raise refuse_in_parts(name, "use covariance_estimator, which needs all rows", cure)

    def _check_sums(self, classes: int, d: int) -> None:
        """Refuse covariances that are too large to be kept for each class and fold."""
        if classes * d * d * FOLDS > MOST_NUMBERS:
            raise ValueError(
                f"{type(self).__name__} in parts keeps {FOLDS} covariances of {d:,} columns for "
                f"each of {classes} classes, which is too much; use fewer columns, or GaussianNB."
            )

    def _class_sums(self, X, y, weights, classes):
        self._check_sums(classes, X.shape[1])
        # In the order of the classes, so that each one is a slice.
        order = np.argsort(y, kind="stable")
        ends = np.searchsorted(y[order], np.arange(classes + 1))
        picked = (order[start:end] for start, end in pairwise(ends))
        return [Spread.of(X[own], weights[own]) for own in picked]

    def _rows_and_weight(self, sums):
        return sums.rows, sums.weight

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
        """The priors that the parameters define, summing to 1."""
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

    @described(ROWS)
    def decision_function(self, X):
        """Log probabilities of the classes, up to a constant for each row.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes the difference, positive for the second.
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


AUTO = "auto"


def moments_of(spreads: list[Spread]) -> Moments:
    """The moments of the columns of each class."""
    return Moments(
        np.array([[own.weight] for own in spreads]),
        np.stack([own.mean for own in spreads]),
        np.stack([np.diag(own.products) for own in spreads]),
    )


def axes_of(S: Array) -> tuple[Array, Array]:
    """Roots of the eigenvalues of S (d, d), decreasing, and its eigenvectors in columns."""
    values, vectors = call_lapack(lapack.eigh, S.copy())
    return np.sqrt(np.maximum(values[::-1], 0.0)), vectors[:, ::-1]


def covariance_of(X: Array, weights: Array, shrinkage: Any = None, estimator: Any = None) -> Array:
    """The covariance (d, d) of rows of positive weight.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows.
    weights : ndarray of shape (n,)
        Their weights.
    shrinkage : float, "auto" or None, default=None
        The part of the covariance that is replaced by the mean variance; "auto" finds it by Ledoit
        and Wolf for columns of variance 1.
    estimator : object or None, default=None
        With `fit` and `covariance_`, used instead.
    """
    if estimator is not None:
        return _estimated(X, weights, estimator)
    centred, total = _centred(X, weights), weights.sum()
    if shrinkage != AUTO:
        return shrunk(Design(centred).gram(weights) / total, float(shrinkage or 0.0))
    scale = np.sqrt(weights @ centred**2 / total)
    scale[scale == 0] = 1.0
    S = Design(centred / scale).gram(weights) / total
    return shrunk(S, _ledoit_wolf(centred / scale, weights, S)) * np.outer(scale, scale)


def shrunk(S: Array, part: float) -> Array:
    """(1 − part)·S + part·(tr S/d)·1."""
    if not part:
        return S
    out = (1 - part) * S
    out[np.diag_indices(len(S))] += part * np.trace(S) / len(S)
    return out


def _centred(X: Array, weights: Array) -> Array:
    X = np.asarray(X, dtype=np.float64)
    return X - np.average(X, axis=0, weights=weights)


def _ledoit_wolf(X: Array, weights: Array, S: Array) -> float:
    """The shrinkage of least expected error (Ledoit and Wolf 2004, J. Multivariate Analysis 88)."""
    n, d = weights.sum(), len(S)
    mean = np.trace(S) / d
    spread = (np.sum(S**2) - d * mean**2) / d
    fourth = weights @ np.sum(X**2, axis=1) ** 2 / n
    noise = min((fourth - np.sum(S**2)) / (d * n), spread)
    return float(noise / spread) if noise > 0 and d > 1 else 0.0


def _estimated(X: Array, weights: Array, estimator: Any) -> Array:
    """By an estimator without weights: rows are repeated."""
    count = weights / weights.min()
    times = np.round(weights if np.all(weights == np.round(weights)) else count)
    if not np.allclose(times, weights) and not np.all(count == 1):
        raise ValueError(
            "covariance_estimator does not accept weights, so they must be whole numbers; use "
            "shrinkage."
        )
    repeated = X if np.all(count == 1) else np.repeat(X, times.astype(int), axis=0)
    estimator.fit(repeated)
    if not hasattr(estimator, "covariance_"):
        raise ValueError(
            f"{type(estimator).__name__} does not have a covariance_ attribute; use an estimator "
            "from sklearn.covariance."
        )
    return np.atleast_2d(np.asarray(estimator.covariance_, dtype=np.float64))


def right_singular(A: Array) -> tuple[Array, Array]:
    """Singular values, decreasing, and right singular vectors in columns, of A (n, d)."""
    values, right = call_lapack(_right_singular, A)
    return values, right.T


def _right_singular(A: Array) -> tuple[Array, Array]:
    if len(A) > 2 * A.shape[1]:
        A = scipy.linalg.qr(A, mode="r", check_finite=False)[0][: A.shape[1]]
    return np.linalg.svd(A, full_matrices=False)[1:]
