"""Principal components: the directions around the mean along which rows vary most."""

from __future__ import annotations

import copy
import time
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy import linalg
from scipy.special import gammaln
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.extmath import fast_logdet
from sklearn.utils.validation import check_is_fitted

from ..._ground.about import Example, Examples, Formula
from ..._ground.design import Design
from ..._ground.docstrings import FEATURES, described
from ..._ground.drawing import AXES, pictures
from ..._ground.interrupt import TimeLimit, limit_name, seconds_left, time_limit
from ..._ground.stored import Declaration, Maybe, Number, Numbers, Value, Whole
from ..._ground.threads import single_blas
from ..._ground.validation import Training, read_rows
from ...streaming import is_in_parts
from ...unseen import CV, GIVEN, NotAvailable, as_fitted, counted_labels, given_to_fit
from ._base import ROWS, SHARED, TRAINING, ComponentModel, are_near, stored_variances
from .held_out import CountChoice, choose_count
from .leading import COVARIANCE, GRAM, LANCZOS, SVD, Leading, solver_for
from .scatter import Scatter

Array = np.ndarray

MLE = "mle"


@described(SHARED, FEATURES)
class PCA(ComponentModel):
    """Principal component analysis: the directions along which rows vary most.

    Minimises  Σᵢ sᵢ‖(xᵢ − μ) − VVᵀ(xᵢ − μ)‖²  over V (d, k) with orthonormal columns and over μ,
    the part of the rows that their k coordinates Vᵀ(x − μ) do not explain. V are the leading
    eigenvectors of the covariance, and the leading right singular vectors of the centred rows.

    Parameters
    ----------
    n_components : int, float, "mle", "cv" or None, default=None
        How many. A number between 0 and 1 is the share of the variance to explain; "mle" is Minka's
        estimate, for at least as many rows as columns; "cv" is the number with the smallest error
        of held-out entries, each predicted from the others of its row. None keeps
        min(n_samples, n_features), a row of weight 2 counted as two samples.
    copy : bool, default=True
        Accepted for compatibility with scikit-learn; X is never changed.
    whiten : bool, default=False
        Whether coordinates are divided by their standard deviations.
    svd_solver : {"auto", "full", "covariance_eigh", "arpack", "randomized"}, default="auto"
        "full": singular values of the data. "covariance_eigh": eigenvectors of the covariance.
        "arpack" and "randomized": an iteration, nearly exact or, if tol=0, until it no longer
        pays. "auto" chooses by the shape of X; `solver_` says what.
    iterated_power : int or "auto", default="auto"
        Accepted for compatibility with scikit-learn; the iteration stops by its residuals.

    Attributes
    ----------
    explained_variance_ : ndarray of shape (n_components,)
        The variance along each component, with Σs − 1 degrees of freedom.
    mean_ : ndarray of shape (n_features,)
        μ.
    n_components_ : int
        How many components there are.
    n_samples_ : int
        Number of rows.
    noise_variance_ : float
        The mean variance along the directions left out: σ² of probabilistic PCA.
    held_out_errors_ : ndarray
        The squared error of held-out entries of a row with 0, 1, 2, … components. Only with
        n_components="cv".

    Notes
    -----
    For n rows and d columns, the covariance costs n·d² and the products of rows n²·d, whichever is
    less; an iteration about 40·n·d for each component, and it is chosen where that is less. Sparse
    rows are centred without being made dense.

    Directions are those of the largest variance: a column in larger units weighs more. Scale the
    columns first if their units do not compare. Directions that tell classes apart may have little
    variance.

    X may be a table in parts (`gapless.in_parts`, a path, a query, a Dask collection) of at most
    5,000 columns: one pass sums the covariance, and `transform` gives the coordinates part by part.
    `generalization_` leaves out folds of parts, exactly, by one more pass.

    References
    ----------
    Pearson (1901), On lines and planes of closest fit to systems of points in space.
    Tipping and Bishop (1999), Probabilistic principal component analysis, JRSS B 61.
    Minka (2000), Automatic choice of dimensionality for PCA.
    Bro, Kjeldahl, Smilde and Kiers (2008), Cross-validation of component models.

    Examples
    --------
    >>> import numpy as np
    >>> from gapless import PCA
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [-3.0, -2.0], [1.0, 1.0], [2.0, 1.0], [3.0, 2.0]])
    >>> model = PCA(n_components=1).fit(X)
    >>> print(model.explained_variance_ratio_.round(4))
    [0.9924]
    >>> print(model.certificate_.kind)
    exact
    """

    _examples: ClassVar[Examples] = (Example("wine", {"n_components": 3}),)
    _stored: ClassVar[Declaration] = {
        **ComponentModel._stored,
        GIVEN: Maybe(Value(dict)),
        "mean_": Numbers("features"),
        "n_components_": Whole(size="components"),
        "n_samples_": Whole(),
        "noise_variance_": Number(low=0),
        "held_out_errors_": Maybe(Numbers(None)),
    }
    _parameter_constraints: ClassVar[dict] = {
        **ComponentModel._parameter_constraints,
        "n_components": [
            Interval(Integral, 0, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            StrOptions({MLE, CV}),
            None,
        ],
        "copy": ["boolean"],
        "whiten": ["boolean"],
        "svd_solver": [StrOptions({"auto", "full", "covariance_eigh", "arpack", "randomized"})],
        "iterated_power": [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_components=None,
        *,
        copy=True,
        whiten=False,
        svd_solver="auto",
        tol=0.0,
        iterated_power="auto",
        n_oversamples=10,
        power_iteration_normalizer="auto",
        random_state=None,
        time_limit=None,
    ):
        self.n_components = n_components
        self.copy = copy
        self.whiten = whiten
        self.svd_solver = svd_solver
        self.tol = tol
        self.iterated_power = iterated_power
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer
        self.random_state = random_state
        self.time_limit = time_limit

    @_fit_context(prefer_skip_nested_validation=True)
    @described(ROWS, TRAINING)
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
            self._fit_in_parts(X, y, sample_weight)
            return self
        began = time.monotonic()
        data = self._read(X, y, sample_weight)
        scatter = Scatter.of(data.X, data.weights, is_centred=True)
        self._keep(*self._found(scatter, data, began))
        return self

    def _found(self, scatter, data, began, fit=None):
        solver = self._solver(scatter)
        degrees = _degrees_of_freedom(scatter)
        choice = None
        if self.n_components == CV:
            choice = self._choose(data, began) if fit is None else fit.choose_count()
        count, solver = self._count(scatter, choice, solver)
        if fit is not None:
            solver = COVARIANCE
        tol = self._tolerance(is_exact=self.svd_solver == "arpack")
        found = self._solve(scatter, count, solver, tol, data, began)
        if isinstance(self.n_components, float):
            count = _count_for_share(found.values[: found.vectors.shape[1]], self.n_components)
        elif self.n_components == MLE:
            count = _count_by_likelihood(found.values / degrees, scatter.weight)
        learned = self._learn(data, scatter, found, count, began)
        learned |= self._variances(scatter, found, count, degrees)
        learned |= given_to_fit(self, ("whiten",))
        learned["n_samples_"] = data.X.shape[0] if fit is None else fit.training.n
        if choice is not None:
            learned["held_out_errors_"] = choice.errors
        return learned, found

    def _solver(self, scatter: Scatter) -> str | None:
        """The way that was named; None if it is chosen by shape."""
        if scatter.design.is_sparse and self.svd_solver == "full":
            raise TypeError(
                'PCA only support sparse inputs with the "arpack" and "covariance_eigh" solvers, '
                'while "full" was passed: it would make the rows dense; use "auto", or '
                "X.toarray()."
            )
        is_iterated = self.svd_solver in ("arpack", "randomized")
        is_open = isinstance(self.n_components, float) or self.n_components in (MLE, CV)
        if is_iterated and is_open:
            what = "a share" if isinstance(self.n_components, float) else "a string"
            raise ValueError(
                f"n_components={self.n_components!r} cannot be {what} with "
                f"svd_solver={self.svd_solver!r}, which does not find all variances; use "
                'svd_solver="auto".'
            )
        named = {"full": SVD, "covariance_eigh": COVARIANCE}
        return LANCZOS if is_iterated else named.get(self.svd_solver)

    def _count(
        self, scatter: Scatter, choice: CountChoice | None, solver: str | None
    ) -> tuple[int, str]:
        """How many components to compute, and how."""
        wanted = self.n_components if choice is None else choice.count
        if wanted == MLE and scatter.side < scatter.design.d:
            raise ValueError(
                "n_components='mle' is only supported if n_samples >= n_features; use 'cv'."
            )
        if wanted is None and self.svd_solver == "arpack":
            wanted = max(scatter.side - 1, 1)
        if wanted is None or wanted == MLE or isinstance(wanted, float):
            return scatter.side, solver or _closed_form(scatter)
        least, most = 1 if self.svd_solver in ("arpack", "randomized") else 0, scatter.side
        if not least <= wanted <= most:
            used = _closed_form(scatter) if self.svd_solver == "auto" else self.svd_solver
            raise ValueError(
                f"n_components={wanted} must be between {least} and min(n_samples, n_features)="
                f"{most} with svd_solver={used!r}; take fewer components."
            )
        return int(wanted), solver or solver_for(scatter, int(wanted))

    def _choose(self, data: Training, began: float) -> CountChoice:
        units = counted_labels(Design(data.X).equal_x, data.weights > 0)
        try:
            with time_limit(seconds_left(self.time_limit, began)):
                return choose_count(data.X, data.weights, True, units)
        except TimeLimit:
            raise ValueError(
                f'n_components="cv" has reached {limit_name(self.time_limit)} before it could '
                "compare any numbers of components; raise it, or give a number."
            ) from None
        except NotAvailable as reason:
            raise ValueError(f'n_components="cv" needs several different rows: {reason}.') from None

    def _variances(
        self, scatter: Scatter, found: Leading, count: int, degrees: float
    ) -> dict[str, Any]:
        dtype = scatter.design.dtype
        values = found.values[:count]
        rest = max(scatter.total - float(values.sum()), 0.0)
        left_out = scatter.side - count
        if len(found.values) >= scatter.side and left_out > 0:
            rest = float(found.values[count : scatter.side].sum())
        return {
            "mean_": scatter.mean.astype(dtype),
            "n_components_": count,
            **stored_variances(scatter, values, values / degrees, degrees),
            "noise_variance_": float(rest / degrees / left_out) if left_out > 0 else 0.0,
        }

    def _has_own_values(self, scatter: Scatter) -> bool:
        degrees = _degrees_of_freedom(scatter)
        sums = self.singular_values_.astype(np.float64) ** 2
        total = scatter.total / degrees
        left_out = scatter.side - self.n_components_
        noise = (scatter.total - sums.sum()) / degrees if left_out > 0 else 0.0
        stored = self.noise_variance_ * max(left_out, 1)
        is_own = are_near(np.array([stored]), np.array([noise]), scatter, total)
        is_own &= self._has_own_variances(scatter, sums / degrees, total, total)
        return is_own and super()._has_own_values(scatter)

    # ---- coordinates -----------------------------------------------------------------------------

    def fit_transform(self, X, y=None, sample_weight=None):
        """Find the components, and the coordinates of the same rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            Coordinates.
        """
        self.fit(X, y, sample_weight)
        return self.transform(X) if is_in_parts(X) else self._coordinates(self._training[0].X)

    def _coordinates(self, X: Any) -> Array:
        Z = super()._coordinates(X)
        if as_fitted(self).whiten:
            Z /= self._deviations().astype(X.dtype)
        return Z

    def _deviations(self) -> Array:
        """Standard deviations along the components; rounding in place of 0."""
        least = np.finfo(self.explained_variance_.dtype).eps
        return np.maximum(np.sqrt(self.explained_variance_), least)

    def _unscaled(self, Z: Array) -> Array:
        if not as_fitted(self).whiten:
            return Z
        return Z * np.sqrt(self.explained_variance_).astype(Z.dtype)

    # ---- probabilistic PCA -----------------------------------------------------------------------

    def get_covariance(self):
        """The covariance of probabilistic PCA: the components' own, and noise of one size.

        Returns
        -------
        covariance : ndarray of shape (n_features, n_features)
            V(Λ − σ²I)Vᵀ + σ²I.
        """
        check_is_fitted(self)
        above = np.maximum(self.explained_variance_ - self.noise_variance_, 0.0)
        V = self.components_
        with single_blas():
            covariance = (V.T * above.astype(V.dtype)) @ V
        covariance[np.diag_indices_from(covariance)] += self.noise_variance_
        return covariance

    def get_precision(self):
        """The inverse of the covariance.

        Returns
        -------
        precision : ndarray of shape (n_features, n_features)
            By the lemma of Woodbury, without an inverse of that size.
        """
        check_is_fitted(self)
        V, noise, d = self.components_, self.noise_variance_, self.n_features_in_
        if not len(V):
            return np.eye(d) / noise
        if noise == 0.0:
            return linalg.inv(self.get_covariance())
        # 1/λ − 1/σ² along the components, and 1/σ² everywhere.
        own = np.maximum(self.explained_variance_, noise)
        with single_blas():
            precision = (V.T * (1.0 / own - 1.0 / noise).astype(V.dtype)) @ V
        precision[np.diag_indices_from(precision)] += 1.0 / noise
        return precision

    def score_samples(self, X):
        """Log-likelihood of each row under probabilistic PCA.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ll : ndarray of shape (n_samples,)
            Log-likelihoods.
        """
        check_is_fitted(self)
        if is_in_parts(X):
            return self._applied(X, copy.copy(self)._log_densities)
        return self._log_densities(read_rows(self, X))

    def _log_densities(self, X: Any) -> Array:
        """Log-likelihoods of rows that have been read."""
        precision = self.get_precision()
        with single_blas():
            distances = np.empty(X.shape[0])
            for start in range(0, X.shape[0], 1024):
                rows = X[start : start + 1024]
                Z = (rows.toarray() if sp.issparse(rows) else rows) - self.mean_
                distances[start : start + 1024] = np.einsum("ij,ij->i", Z @ precision, Z)
            constant = self.n_features_in_ * np.log(2.0 * np.pi) - fast_logdet(precision)
        return -0.5 * (distances + constant)

    def score(self, X, y=None):
        """Mean log-likelihood of rows under probabilistic PCA.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        ll : float
            The mean of `score_samples`.
        """
        return float(np.mean(self.score_samples(X)))

    # ---- pictures --------------------------------------------------------------------------------

    @described(AXES)
    def plot(self, axes=None):
        """The variance of each component, their cumulative share, and held-out errors if known.

        Parameters
        ----------
        axes : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        matplotlib Axes
        """
        check_is_fitted(self)
        errors = vars(self).get("held_out_errors_")
        return pictures().scree(self.explained_variance_ratio_, errors, axes=axes)

    @described(AXES)
    def plot_map(self, X, labels=None, axes=None):
        """Rows in the plane of the first two components, with an arrow for each column.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.
        labels : array-like of shape (n_samples,), default=None
            Groups of the rows, in colours.

        Returns
        -------
        matplotlib Axes
        """
        if len(getattr(self, "components_", ())) < 2:
            check_is_fitted(self)
            raise ValueError("a map needs two components; fit with n_components=2 or more.")
        names = getattr(self, "feature_names_in_", None)
        deviations = np.sqrt(self.explained_variance_[:2])
        return pictures().component_map(
            self.transform(X)[:, :2],
            (self.components_[:2] * deviations[:, None]).T,
            names=[f"x{j}" for j in range(self.n_features_in_)] if names is None else list(names),
            shares=self.explained_variance_ratio_[:2],
            labels=labels,
            axes=axes,
        )

    # ---- what it says about itself ---------------------------------------------------------------

    def _formula(self) -> Formula:
        return Formula("Σᵢ ‖(xᵢ − μ) − VVᵀ(xᵢ − μ)‖², VᵀV = I", {"components": self.n_components_})


def _closed_form(scatter: Scatter) -> str:
    """How to find all components."""
    solver = solver_for(scatter, min(scatter.design.n, scatter.design.d))
    if solver == LANCZOS:
        return COVARIANCE if scatter.design.d <= scatter.design.n else GRAM
    return solver


def _degrees_of_freedom(scatter: Scatter) -> float:
    """Σs − 1; weights count rows."""
    if scatter.weight > 1:
        return scatter.weight - 1
    if scatter.total > 0 and scatter.design.n > 1:
        raise ValueError(
            f"sample_weight sums to {scatter.weight:.4g}, but variances have Σs − 1 degrees of "
            "freedom: a weight of 2 is a row twice. Multiply the weights, e.g. so that their mean "
            "is 1."
        )
    return 1.0


def _count_for_share(values: Array, share: float) -> int:
    """The fewest components that explain more than a share of the variance."""
    total = float(values.sum())
    if total == 0:
        return 1
    shares = np.cumsum(values) / total
    return min(int(np.searchsorted(shares, share, side="right")) + 1, len(values))


def _count_by_likelihood(variances: Array, n: float) -> int:
    """Minka's estimate (2000, equations 79 to 81), from 1 to d − 1."""
    d = len(variances)
    if d == 1:
        return 0
    evidence = [_evidence(variances, k, n) for k in range(1, d)]
    return 1 + int(np.argmax(evidence))


def _evidence(variances: Array, k: int, n: float) -> float:
    """The log-evidence of k components, by Laplace's method."""
    d, tiny = len(variances), 1e-15
    if variances[k - 1] < tiny:
        return -np.inf
    log_volume = -k * np.log(2.0)
    i = np.arange(1, k + 1)
    log_volume += float(np.sum(gammaln((d - i + 1) / 2) - np.log(np.pi) * (d - i + 1) / 2))
    noise = max(float(variances[k:].sum()) / (d - k), tiny)
    kept = np.concatenate([variances[:k], np.full(d - k, noise)])
    likelihood = -0.5 * n * (float(np.sum(np.log(variances[:k]))) + (d - k) * np.log(noise))
    free = d * k - k * (k + 1) / 2
    # The Hessian: pairs i < j of which the first is a component.
    first, second = np.triu_indices(d, 1)
    is_own = first < k
    first, second = first[is_own], second[is_own]
    with np.errstate(divide="ignore", invalid="ignore"):
        hessian = np.log(
            (variances[first] - variances[second]) * (1 / kept[second] - 1 / kept[first])
        )
    hessian = np.sum(hessian + np.log(n))
    return float(
        log_volume
        + likelihood
        + 0.5 * np.log(2 * np.pi) * (free + k)
        - 0.5 * hessian
        - 0.5 * k * np.log(n)
    )
