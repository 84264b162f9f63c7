"""What estimators of components share: they read rows, project them, and know both gaps."""

from __future__ import annotations

import copy
import functools
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..._ground.about import Examples
from ..._ground.design import Design
from ..._ground.docstrings import described
from ..._ground.interrupt import TimeLimit, limit_name, seconds_left, time_limit
from ..._ground.progress import CallbackSupport, watch
from ..._ground.stored import INPUT, Declaration, Numbers, Word
from ..._ground.threads import single_blas
from ..._ground.validation import Training, read_rows, read_table
from ...certificates import Certificate
from ...streaming import applied, is_in_parts
from ...unseen import JUDGED, Remembering, take_over
from .certifying import TOLERANCE, certify_components, certify_stopped
from .held_out import ComponentsFit, Space
from .in_parts import ComponentsInParts
from .leading import (
    COVARIANCE,
    LANCZOS,
    NEARLY_EXACT,
    NONE,
    SVD,
    Leading,
    leading,
    settled,
    widest_columns,
)
from .scatter import Scatter

Array = np.ndarray

NOT_FINITE = (
    "no bound is known: the rows have changed since the fit and are not finite; "
    "gapless.certify(model, X) computes one."
)

# What all of them take and learn, for their docstrings.
SHARED = """
tol : float
    If above 0, an iteration stops when every residual ‖Sv − λv‖ is at most this part of the largest
    eigenvalue. With 0 it stops when all components together could explain about a ten millionth
    more of what they leave unexplained; small tables of float64 are iterated to their rounding.
n_oversamples : int
    Accepted for compatibility with scikit-learn; the iteration chooses the width of its blocks.
power_iteration_normalizer : {"auto", "QR", "LU", "none"}
    Accepted for compatibility with scikit-learn; vectors are always orthonormal.
random_state : int, RandomState instance or None
    Where an iteration starts. It ends at the same components up to its tolerance; None is 0.
time_limit : float or None
    Seconds after which the fit stops, with the best directions so far. Ctrl-C does the same, and
    raises KeyboardInterrupt afterwards.
components_ : ndarray of shape (n_components, n_features)
    Orthonormal directions of largest variation, the largest first. The largest entry of each is
    positive.
explained_variance_ratio_ : ndarray of shape (n_components,)
    The share of the variance that each component explains.
singular_values_ : ndarray of shape (n_components,)
    Roots of the sums of squares along the components.
solver_ : str
    How they were found: "full" (singular values of the data), "covariance_eigh" (eigenvectors of
    the covariance, d × d), "gram_eigh" (of the products of rows, n × n), "lanczos" (iteration).
certificate_ : Certificate
    How much more of the sum of squares other directions could explain. Its stationarity is the
    largest eigen-residual ‖Sv − λv‖. After an iteration it is computed on first access.
generalization_ : Generalization
    The share of the variance of unseen rows that the components explain. The verdict compares the
    errors of entries, each predicted from the others of its row, with fewer and more components.
"""
OTHER_VALUES = (
    "stopped: the components are the leading ones, but the stored variances are not those of these "
    "rows; fit again."
)
ROWS = """
X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
    Rows.
"""
TRAINING = """
y : None
    Ignored.
sample_weight : array-like of shape (n_samples,), default=None
    A weight of 2 counts a row twice, 0 leaves it out; None gives all rows weight 1.
"""


def as_precise(values: Array, dtype: Any) -> Array:
    """The values in a precision, or float64 if its range is too small for them."""
    with np.errstate(over="ignore", under="ignore"):
        rounded = values.astype(dtype)
    lost = (rounded == 0) & (values != 0) | np.isinf(rounded)
    return (
        values.astype(np.float64)
        if np.any(lost[values > 1e-6 * values.max(initial=0)])
        else rounded
    )


def are_near(stored: Array, right: Array, scatter: Scatter, total: float) -> bool:
    """Whether stored numbers differ from the right ones by no more than a gap that is accepted.

    `total` is the sum of which they are parts. Squares of rounded roots err by twice their unit.
    """
    room = (TOLERANCE + scatter.rounding) * total
    precision = 4 * float(np.finfo(scatter.design.dtype).eps)
    return bool(np.all(np.abs(stored - right) <= room + precision * np.abs(right)))


def stored_variances(
    scatter: Scatter, values: Array, variances: Array, degrees: float
) -> dict[str, Array]:
    """What components explain, from eigenvalues and variances around the mean of `scatter`."""
    dtype = scatter.design.dtype
    # Of equal rows rounding alone is left, which has no shares.
    total = np.inf if scatter.is_of_equal_rows else scatter.total / degrees
    return {
        "explained_variance_": as_precise(variances, dtype),
        "explained_variance_ratio_": (variances / total).astype(dtype),
        "singular_values_": as_precise(np.sqrt(values), dtype),
    }


def coordinates(X: Any, components: Array, mean: Array | None = None) -> Array:
    """The rows, less a mean, times the components (k, d): (n, k) in the precision of X."""
    Z = Design(X, mean).times(np.ascontiguousarray(components.T, dtype=X.dtype))
    return Z.astype(X.dtype, copy=False)


class ComponentModel(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, Remembering, CallbackSupport, BaseEstimator
):
    """A transformer to the coordinates along a few orthonormal directions."""

    _stored: ClassVar[Declaration] = {
        **JUDGED,
        **INPUT,
        "components_": Numbers("components", "features"),
        "explained_variance_": Numbers("components", low=0),
        "explained_variance_ratio_": Numbers("components", is_finite=False),
        "singular_values_": Numbers("components", low=0),
        "solver_": Word(),
    }
    _parameter_constraints: ClassVar[dict] = {
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_oversamples": [Interval(Integral, 1, None, closed="left")],
        "power_iteration_normalizer": [StrOptions({"auto", "QR", "LU", "none"})],
        "random_state": ["random_state"],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    }
    _on_demand: ClassVar[tuple[str, ...]] = (*Remembering._on_demand, "certificate_")
    _keeps_certificate = True
    _examples: ClassVar[Examples] = ()
    _guide: ClassVar[str] = "pca"
    # Whether the components are those around the mean.
    _is_centred: ClassVar[bool] = True

    def _read(self, X: Any, y: Any, sample_weight: Any, *, reset: bool = True) -> Training:
        return read_table(self, X, sample_weight, reset=reset)

    def _tolerance(self, is_exact: bool) -> float:
        """When the iteration stops; `is_exact` if it should be nearly exact."""
        return NEARLY_EXACT if is_exact and self.tol == 0 else self.tol

    def _fit_in_parts(self, X: Any, y: Any, sample_weight: Any) -> None:
        """The fit to a table in parts, from the sums of one pass over it."""
        began = time.monotonic()
        fit = ComponentsInParts.of(self, X, y, sample_weight)
        # In place of rows: none, of as many columns.
        none = np.empty((0, fit.d), fit.training.source.dtype)
        data = Training(none, none[:, 0], none[:, 0], none[:, 0], None, fit.training.feature_names)
        learned, found = self._found(fit.scatter, data, began, fit)
        del learned["_training"]
        self._keep(learned | {"_in_parts": fit}, found)

    def _found(
        self, scatter: Scatter, data: Training, began: float, fit: ComponentsInParts | None = None
    ) -> tuple[dict[str, Any], Leading]:
        """What is learned from a scatter; `fit` has its sums if the rows are read in parts."""
        raise NotImplementedError

    def _solve(
        self, scatter: Scatter, count: int, solver: str, tol: float, data: Any, began: float
    ) -> Leading:
        """The leading directions; the best so far, with a warning, if time is up or Ctrl-C came."""
        seed = 0 if self.random_state is None else self.random_state
        left = seconds_left(self.time_limit, began)
        try:
            with watch(self, data.X) as callback, time_limit(left):
                found = leading(
                    scatter,
                    max(count, 1),
                    solver,
                    tol=tol,
                    seed=seed,
                    after_step=lambda values, residuals: callback(
                        f"residual {residuals.max():.2g} of eigenvalues from {values[-1]:.3g}",
                        np.inf,
                    ),
                )
        except (TimeLimit, KeyboardInterrupt) as reason:
            is_interrupted = isinstance(reason, KeyboardInterrupt)
            found = replace(widest_columns(scatter, count), is_interrupted=is_interrupted)
        if not found.is_done:
            how = "took the columns of largest variance" if found.solver == NONE else "stopped"
            when = "Ctrl-C" if found.is_interrupted else limit_name(self.time_limit)
            warnings.warn(
                f"{type(self).__name__} {how} at {when}; certificate_ says "
                "how much more other directions could explain. Raise time_limit.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return found

    def _learn(
        self, data: Training, scatter: Scatter, found: Leading, count: int, began: float
    ) -> dict[str, Any]:
        """What every fit leaves, in the precision of the rows."""
        dtype = scatter.design.dtype
        # Signs as in scikit-learn: the entry of largest size is positive.
        V = settled(scatter, found, count).T
        largest = np.abs(V).argmax(axis=1)
        V = V * np.where(V[range(count), largest] < 0, -1.0, 1.0)[:, None]
        components = np.ascontiguousarray(V, dtype=dtype)
        # The proof of an iteration takes a third of its time: it waits until somebody reads it.
        is_proved_later = found.solver == LANCZOS and found.is_done
        learned = {
            "components_": components,
            "solver_": found.solver,
            "n_features_in_": scatter.design.d,
            "_training": (data, found if is_proved_later else None),
        }
        if not is_proved_later:
            learned["certificate_"] = self._certify_in_time(scatter, components, found, began)
        if data.feature_names is not None:
            learned["feature_names_in_"] = data.feature_names
        return learned

    @functools.cached_property
    def certificate_(self) -> Certificate:  # type: ignore[override]
        """How much more other directions could explain; computed on first access if iterated.

        The fit keeps a reference to its data, and `time_limit` holds for this computation anew. If
        the rows have changed since, the certificate is about those that there are now, and says so.
        """
        cure = "call gapless.certify(model, X, None, sample_weight)"
        data, found = self._kept_training(cure)
        scatter = Scatter.of(data.X, data.weights, self._is_centred)
        if not np.isfinite(scatter.total):
            no = float("nan")
            return Certificate("none", NOT_FINITE, no, -np.inf, np.inf, np.inf, no, no)
        if found is None or not self._is_fit_to(scatter):
            return self._certified_by(scatter)
        proved = self._certify_in_time(scatter, self.components_, found, time.monotonic())
        self._training = (data, None)
        return proved

    def _certify(
        self, scatter: Scatter, components: Array, found: Leading | None, *, is_new: bool = True
    ):
        """The certificate of new components, or else of those that are stored."""
        mean = scatter.mean.astype(scatter.design.dtype).astype(np.float64)
        if not is_new and self._is_centred:
            mean = self.mean_.astype(np.float64)
        is_exact = (self.solver_ if found is None else found.solver) == SVD
        return certify_components(scatter, components, mean, found, is_exact=is_exact)

    def _certify_in_time(
        self, scatter: Scatter, components: Array, found: Leading, began: float
    ) -> Certificate:
        """The certificate, or if that takes too long what the computation knows."""
        try:
            with time_limit(seconds_left(self.time_limit, began)):
                return self._certify(scatter, components, found)
        except TimeLimit:
            mean = scatter.mean.astype(scatter.design.dtype).astype(np.float64)
            return certify_stopped(scatter, components, mean, found)

    def _keep(self, learned: dict[str, Any], found: Leading) -> None:
        take_over(self, learned)
        if found.is_interrupted:
            raise KeyboardInterrupt

    # ---- coordinates -----------------------------------------------------------------------------

    @described(ROWS)
    def transform(self, X):
        """Coordinates of rows along the components.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            Coordinates.
        """
        return self._scores(X)

    def inverse_transform(self, X):
        """Rows that have these coordinates.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Coordinates.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            Rows in the space of the components, dense.
        """
        if is_in_parts(X):
            check_is_fitted(self)
            name = f"inverse_transform of {type(self).__name__}"
            return applied(X, copy.copy(self)._original, len(self.components_), name=name)
        return self._original(self._read_coordinates(X))

    def _original(self, Z: Array) -> Array:
        """The rows that have these coordinates."""
        Z = self._unscaled(Z)
        with single_blas():
            rows = Z @ self.components_.astype(Z.dtype)
        if self._is_centred:
            rows += self.mean_.astype(Z.dtype)
        return rows

    def _unscaled(self, Z: Array) -> Array:
        """Coordinates of transform in the units of the rows."""
        return Z

    def _coordinates(self, X: Any) -> Array:
        """Coordinates (n, k) of rows that have been read, in their precision."""
        mean = self.mean_.astype(np.float64) if self._is_centred else None
        return coordinates(X, self.components_, mean)

    def _read_coordinates(self, X: Any) -> Array:
        check_is_fitted(self)
        X = check_array(X, input_name="X", dtype=[np.float64, np.float32])
        if X.shape[1] != len(self.components_):
            raise ValueError(
                f"X has {X.shape[1]} columns, but there are {len(self.components_)} components; "
                "pass what transform returned."
            )
        return X

    @property
    def _n_features_out(self):
        return self.components_.shape[0]

    def _scores(self, X: Any) -> Array:
        check_is_fitted(self)
        if is_in_parts(X):
            return self._applied(X, copy.copy(self)._coordinates)
        return self._coordinates(read_rows(self, X))

    def _applied(self, X: Any, function: Callable[[Array], Array]) -> Array:
        """A function of the rows of a table in parts."""
        names = getattr(self, "feature_names_in_", None)
        return applied(X, function, self.n_features_in_, names, name=type(self).__name__)

    # ---- both gaps -------------------------------------------------------------------------------

    def _certified(self, X, y=None, sample_weight=None):
        data = self._reread(X, y, sample_weight)
        return self._certified_by(Scatter.of(data.X, data.weights, self._is_centred))

    def _certified_in_parts(self, X, y=None, sample_weight=None):
        check_is_fitted(self)
        scatter = ComponentsInParts.of(self, X, y, sample_weight).scatter
        if scatter.design.d != self.n_features_in_:
            raise ValueError(
                f"X has {scatter.design.d} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input; pass the table of the fit."
            )
        known = leading(scatter, max(len(self.components_), 1), COVARIANCE)
        return self._certified_by(scatter, known)

    def _certified_by(self, scatter: Scatter, known: Leading | None = None) -> Certificate:
        found = self._certify(scatter, self.components_, known, is_new=False)
        if found.kind not in ("exact", "optimal") or self._has_own_values(scatter):
            return found
        return replace(found, kind="stopped", verdict=OTHER_VALUES)

    def _is_fit_to(self, scatter: Scatter) -> bool:
        """Whether these are the rows of the fit, by their mean and the stored values."""
        mean = self.mean_.astype(np.float64) if self._is_centred else np.zeros(scatter.design.d)
        shift = float(np.sum((scatter.mean - mean) ** 2)) * scatter.weight
        offset = scatter.weight * float(scatter.mean @ scatter.mean)
        precision = float(np.finfo(scatter.design.dtype).eps)
        room = TOLERANCE * scatter.total + precision**2 * offset
        return shift <= room and self._has_own_values(scatter)

    def _has_own_values(self, scatter: Scatter) -> bool:
        """Whether the stored values are those of these rows, up to the tolerance of the gap.

        They are the eigenvalues of S within the plane of the components, also if those are turned
        in it: the eigen-residual shows that.
        """
        if not len(self.components_):
            return True
        inner = scatter.products(self.components_.T.astype(np.float64))[0]
        sums = np.linalg.eigvalsh(inner)[::-1]
        stored = self.singular_values_.astype(np.float64) ** 2
        return are_near(stored, sums, scatter, scatter.total)

    def _has_own_variances(self, scatter: Scatter, right: Array, total: float, room: float) -> bool:
        """Whether the stored variances around the mean, and their shares, are the right ones."""
        variances, shares = (
            values.astype(np.float64)
            for values in (self.explained_variance_, self.explained_variance_ratio_)
        )
        is_own = are_near(variances, right, scatter, room)
        if scatter.is_of_equal_rows:
            return is_own
        return is_own and are_near(shares, right / total, scatter, room / total)

    def _fitted(self, data: Training, *_: Any) -> ComponentsFit:
        mean = self.mean_ if self._is_centred else np.zeros(self.n_features_in_)
        space = Space(mean.astype(np.float64), self.components_.T.astype(np.float64))
        count = len(self.components_)
        return ComponentsFit(data.X, data.weights, count, self._is_centred, space)

    # ---- what it says about itself ---------------------------------------------------------------

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
