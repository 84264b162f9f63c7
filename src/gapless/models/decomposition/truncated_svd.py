"""Truncated singular value decomposition: directions around 0, above all of sparse rows."""

from __future__ import annotations

import time
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from ..._ground.about import Formula
from ..._ground.docstrings import FEATURES, described
from ..._ground.threads import single_blas
from ...streaming import in_parts, is_in_parts
from ._base import SHARED, TRAINING, Array, ComponentModel, coordinates, stored_variances
from .certifying import TOLERANCE
from .leading import COVARIANCE, LANCZOS, Leading, solver_for
from .scatter import Scatter


@described(SHARED, FEATURES)
class TruncatedSVD(ComponentModel):
    """Leading singular vectors of rows that are not centred: latent semantic analysis of texts.

    Minimises  Σᵢ sᵢ‖xᵢ − VVᵀxᵢ‖²  over V (d, k) with orthonormal columns.

    Parameters
    ----------
    n_components : int, default=2
        How many, at most the number of features.
    algorithm : {"arpack", "randomized"}, default="randomized"
        "arpack": an iteration until it is nearly exact. "randomized": by the shape of X, in closed
        form or by an iteration until it no longer pays; `solver_` says what.
    n_iter : int, default=5
        Accepted for compatibility with scikit-learn; the iteration stops by its residuals.

    Attributes
    ----------
    explained_variance_ : ndarray of shape (n_components,)
        The variance of the rows along each component, around their mean.

    Notes
    -----
    Costs about 40 products with X for each component, or n·d² and n²·d if that is less. Use `PCA`
    to explain the variation around the mean, which is possible for sparse rows as well. X may be a
    table in parts (`gapless.in_parts`), as for `PCA`.

    References
    ----------
    Deerwester, Dumais, Furnas, Landauer and Harshman (1990), Indexing by latent semantic analysis.

    Examples
    --------
    >>> import numpy as np
    >>> from gapless import TruncatedSVD
    >>> X = np.array([[2.0, 0.0, 0.0], [0.0, 1.0, 1.0], [4.0, 0.0, 0.0]])
    >>> model = TruncatedSVD(n_components=2).fit(X)
    >>> print(model.singular_values_.round(3))
    [4.472 1.414]
    """

    _is_centred = False
    _parameter_constraints: ClassVar[dict] = {
        **ComponentModel._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "algorithm": [StrOptions({"arpack", "randomized"})],
        "n_iter": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_components=2,
        *,
        algorithm="randomized",
        n_iter=5,
        n_oversamples=10,
        power_iteration_normalizer="auto",
        random_state=None,
        tol=0.0,
        time_limit=None,
    ):
        self.n_components = n_components
        self.algorithm = algorithm
        self.n_iter = n_iter
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer
        self.random_state = random_state
        self.tol = tol
        self.time_limit = time_limit

    @described(TRAINING)
    def fit(self, X, y=None, sample_weight=None):
        """Find the components.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if is_in_parts(X):
            self._check_width(in_parts(X).shape[1])
            self._fit_in_parts(X, y, sample_weight)
        else:
            self.fit_transform(X, y, sample_weight)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    @described(TRAINING)
    def fit_transform(self, X, y=None, sample_weight=None):
        """Find the components, and the coordinates of the same rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            Coordinates.
        """
        if is_in_parts(X):
            return self.fit(X, y, sample_weight).transform(X)
        began = time.monotonic()
        data = self._read(X, y, sample_weight)
        self._check_width(data.X.shape[1], data.X.shape)
        scatter = Scatter.of(data.X, data.weights, is_centred=False)
        learned, found = self._found(scatter, data, began)
        Z = coordinates(data.X, learned["components_"])
        shares = data.weights / data.weights.sum()
        with single_blas():
            along = shares @ Z.astype(np.float64)
            variances = shares @ (Z - along) ** 2
        learned |= self._variances(scatter, found, variances)
        self._keep(learned, found)
        return Z

    def _found(self, scatter, data, began, fit=None):
        # With fewer rows than components some singular values do not exist, as in scikit-learn.
        count = min(self.n_components, scatter.side)
        is_exact = self.algorithm == "arpack"
        solver = LANCZOS if is_exact else solver_for(scatter, count)
        if fit is not None:
            solver = COVARIANCE
        found = self._solve(scatter, count, solver, self._tolerance(is_exact), data, began)
        learned = self._learn(data, scatter, found, count, began)
        if fit is not None:
            learned |= self._variances(
                scatter, found, self._variances_of(scatter, learned["components_"])
            )
        return learned, found

    def _check_width(self, d: int, shape: tuple[int, int] | None = None) -> None:
        if d < 2:
            raise ValueError(
                f"Found array with {d} feature(s) (shape={shape}) while a minimum of 2 is "
                "required: there is nothing to reduce."
            )
        if self.n_components > d:
            raise ValueError(
                f"n_components({self.n_components}) must be <= n_features({d}); take fewer."
            )

    def _variances(self, scatter: Scatter, found: Leading, variances: Array) -> dict[str, Any]:
        """Variances along the components, as shares of that of all columns around their means."""
        around_mean = scatter.around_mean()
        values = found.values[: len(variances)]
        return stored_variances(around_mean, values, variances, around_mean.weight)

    def _variances_of(self, scatter: Scatter, components: Array) -> Array:
        """The variances along components, from the products of the rows."""
        inner = scatter.around_mean().products(components.T.astype(np.float64))[0]
        return np.diag(inner) / scatter.weight

    def _has_own_values(self, scatter: Scatter) -> bool:
        around_mean, size = scatter.around_mean(), scatter.weight
        right, total = self._variances_of(scatter, self.components_), around_mean.total / size
        # Coordinates were rounded as they are around 0.
        precision = float(np.finfo(scatter.design.dtype).eps)
        room = total + precision / TOLERANCE * scatter.total / size
        is_own = self._has_own_variances(around_mean, right, total, room)
        return is_own and super()._has_own_values(scatter)

    def _formula(self) -> Formula:
        return Formula("Σᵢ ‖xᵢ − VVᵀxᵢ‖², VᵀV = I", {"components": len(self.components_)})
