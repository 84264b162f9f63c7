"""Kernel PCA: principal components in the feature space of a kernel, and the way back."""

from __future__ import annotations

import functools
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import polynomial_kernel
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_psd_eigenvalues, check_is_fitted

from ... import kernels
from ..._ground.about import Examples, Formula
from ..._ground.distinct_rows import DistinctRows
from ..._ground.docstrings import FEATURES, described
from ..._ground.interrupt import TimeLimit, limit_name, time_limit
from ..._ground.parts import OfParts
from ..._ground.progress import CallbackSupport, watch
from ..._ground.stored import INPUT, Declaration, Maybe, Numbers, Unused, Value
from ..._ground.threads import single_blas
from ..._ground.validation import Training, is_same, read_rows, read_table
from ...certificates import Certificate
from ...kernels import KERNEL_INSTANCE, Kernel
from ...problem import PRECOMPUTED
from ...unseen import JUDGED, Remembering, refuse_other_data, take_over
from .eigenpairs import EigenPairs
from .kernel_certificate import (
    certificate_of_fit,
    certificate_of_many,
    certificate_of_stored,
    may_wait,
    missed_variance,
    stopped,
)
from .kernel_held_out import KernelPCAFit
from .kernel_subspace import CentredGram, KernelSubspace, around, origin_of, rounded_gram
from .pre_images import DISTANCES, FIXED_POINT, RIDGE, PreImages, Target
from .ways_back import found_by, learned_map, method_for

Array = np.ndarray

POLYNOMIAL = ("poly", "polynomial")
# Residuals ‖Av − λv‖ relative to the largest eigenvalue, unless `tol` says otherwise; float32 has
# no more digits, and its values suffice for them.
ROUNDED = 4e-6
RESIDUAL = {np.dtype(np.float64): 1e-6, np.dtype(np.float32): ROUNDED}
MOST_BLOCKS = 10_000

# What `fit` takes, for `described`.
TRAINING = """
X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
    Training data; float32 stays float32. With kernel="precomputed" its kernel values (n_samples,
    n_samples).
y : None
    Not used.
sample_weight : array-like of shape (n_samples,)
    Weights ≥ 0. Weight 2 means the row twice, weight 0 means the row is not there.
"""
ROWS = """
X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
    Rows; kernel values with the training rows if kernel="precomputed".
"""


@described(FEATURES)
class KernelPCA(
    OfParts,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    Remembering,
    CallbackSupport,
    BaseEstimator,
):
    """Kernel PCA: the directions of largest variance in the feature space of a kernel.

    Minimises  Σᵢ sᵢ ‖φ(xᵢ) − φ̄ − Σₖ βᵢₖvₖ‖²  over orthonormal vₖ = Σⱼ aⱼₖφ(xⱼ), φ̄ the mean of the
    features. The aⱼₖ come from the eigenvectors of the centred Gram matrix, and βᵢₖ is what
    `transform` returns.

    Parameters
    ----------
    n_components : int, default=None
        Number of components; all that have a positive eigenvalue if None.
    kernel : str, Kernel or callable, default="linear"
        The kernel: "linear", "poly", "rbf", "sigmoid", "cosine", "precomputed" or another name, an
        instance of `gapless.kernels.Kernel`, or a function of two rows.
    gamma : float, "scale" or "auto", default=None
        γ of named kernels that have one; None and "auto" are 1/n_features, and "scale" is
        1/(n_features · variance of X).
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and the sigmoid kernel.
    kernel_params : dict, default=None
        Keyword arguments for a function.
    alpha : float, default=1.0
        Strength of the ridge penalty of the map that `fit_inverse_transform` learns.
    fit_inverse_transform : bool, default=False
        Whether to learn a map from coordinates to rows, by kernel ridge regression.
    eigen_solver : {"auto", "dense", "arpack", "randomized"}, default="auto"
        "dense" finds all eigenvalues; "arpack" and "randomized" are names for block Lanczos
        iterations, which find the largest. "auto" is "dense" for few rows or many components.
    tol : float, default=0
        Iterate until ‖Av − λv‖ is at most `tol` times the largest eigenvalue, for the centred Gram
        matrix A; 0 is 1e-6, or 4e-6 for more than 1,024 rows, whose kernel values are then float32.
    max_iter : int, default=None
        The most blocks of vectors that are multiplied by the Gram matrix; None sets no limit.
    iterated_power : int or "auto", default="auto"
        Accepted for scikit-learn's sake; the iterations go on until `tol` is reached.
    remove_zero_eig : bool, default=False
        Whether components with eigenvalue 0 are left out; with n_components=None they are.
    random_state : int, RandomState instance or None, default=None
        Seed of the first vectors.
    copy_X : bool, default=True
        Accepted for scikit-learn's sake; the distinct rows are copied in any case.
    n_jobs : int, default=None
        Accepted for scikit-learn's sake; set GAPLESS_NUM_THREADS.
    pre_image : {"auto", "fixed_point", "distances", "ridge"}, default="auto"
        How `denoise` and `inverse_transform` find rows: "ridge" by the learned map, "fixed_point"
        where the gradient of the distance in feature space vanishes, "distances" from distances to
        training rows. "auto" is "ridge" with `fit_inverse_transform`, else "fixed_point" in
        `denoise`, while `inverse_transform` raises an error, as in scikit-learn.
    time_limit : float, default=None
        The most seconds to fit; the best vectors so far are kept. Ctrl-C keeps them as well, and
        raises KeyboardInterrupt afterwards.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of the centred Gram matrix, decreasing: Σᵢ sᵢβᵢₖ².
    eigenvectors_ : ndarray of shape (n_samples, n_components)
        Its eigenvectors, of length 1 with weights 1, a line for each training row of positive
        weight. The largest entry of each is positive.
    subspace_ : KernelSubspace
        The same as vectors of the feature space: the distinct rows, their coefficients and the
        kernel with all its parameters numbers.
    gamma_ : float
        γ, as used.
    X_fit_ : {ndarray, sparse matrix} of shape (n_samples, n_features)
        The training rows of positive weight; not with kernel="precomputed".
    X_transformed_fit_ : ndarray of shape (n_samples, n_components)
        Their coordinates; with `fit_inverse_transform`.
    dual_coef_ : ndarray of shape (n_samples, n_features)
        Coefficients of the learned map; with `fit_inverse_transform`.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The part of the variance in feature space that each component keeps.
    n_iter_ : int
        How many blocks of vectors were multiplied.
    certificate_ : Certificate
        How much more variance any other directions could keep, at most; beyond 2,500 distinct rows
        computed on first access.
    generalization_ : Generalization
        The part of the variance of unseen rows that the components keep, and whether fewer or more
        components, or another width of the kernel, fill in missing entries of unseen rows better.

    Notes
    -----
    For n distinct rows, of d columns, the Gram matrix takes n² numbers of the precision of X and
    n²d/2 operations, and each block of 16 vectors 32n². If it does not fit into memory, each block
    computes it anew. Projections of new rows are centred with the means of the training rows.
    PCA does the same with the linear kernel in less time.

    References
    ----------
    Schölkopf, Smola and Müller (1998), Nonlinear component analysis as a kernel eigenvalue problem,
    Neural Computation 10.
    Mika, Schölkopf, Smola, Müller, Scholz and Rätsch (1999), Kernel PCA and de-noising in feature
    spaces, NIPS 11.
    Kwok and Tsang (2004), The pre-image problem in kernel methods, IEEE Trans. Neural Networks 15.
    Bakir, Weston and Schölkopf (2004), Learning to find pre-images, NIPS 16.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_circles
    >>> from gapless import KernelPCA
    >>> X, ring = make_circles(200, factor=0.3, noise=0.05, random_state=0)
    >>> coordinates = KernelPCA(2, kernel="rbf", gamma=2.0).fit_transform(X)
    >>> inner, outer = (coordinates[ring == k, 0] for k in (1, 0))
    >>> bool(inner.min() > outer.max() or outer.min() > inner.max())
    True
    """

    _guide = "kernel_pca"
    _examples: ClassVar[Examples] = ()
    _computed = ("eigenvectors_", "certificate_")
    _keeps_certificate = True
    _stored: ClassVar[Declaration] = {
        **JUDGED,
        **INPUT,
        "eigenvalues_": Numbers("components", low=0.0),
        "explained_variance_ratio_": Numbers("components", low=0.0),
        "subspace_": Value(
            KernelSubspace,
            components=lambda value: value.coef.shape[1],
            distinct=lambda value: len(value.weights),
        ),
        "_row_numbers": Numbers("rows", types="i", below="distinct"),
        "_row_shares": Numbers("rows", low=0.0),
        "_inverse_coef": Maybe(Numbers("distinct", "features")),
        "_origin": Maybe(Numbers("features")),
        "gamma_": Unused(),
        "n_iter_": Unused(),
    }
    _part_kinds = KERNEL_INSTANCE
    # Rows near 0, and those of other kernels than the linear one, are not moved.
    _origin: Array | None = None
    _parameter_constraints: ClassVar[dict] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "kernel": [str, Kernel, callable],
        "gamma": [
            StrOptions({"scale", "auto"}),
            Interval(Real, 0, None, closed="left"),
            None,
        ],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "fit_inverse_transform": ["boolean"],
        "eigen_solver": [StrOptions({"auto", "dense", "arpack", "randomized"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "iterated_power": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "remove_zero_eig": ["boolean"],
        "random_state": ["random_state"],
        "copy_X": ["boolean"],
        "n_jobs": [None, Integral],
        "pre_image": [StrOptions({"auto", FIXED_POINT, DISTANCES, RIDGE})],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(
        self,
        n_components=None,
        *,
        kernel="linear",
        gamma=None,
        degree=3,
        coef0=1,
        kernel_params=None,
        alpha=1.0,
        fit_inverse_transform=False,
        eigen_solver="auto",
        tol=0,
        max_iter=None,
        iterated_power="auto",
        remove_zero_eig=False,
        random_state=None,
        copy_X=True,
        n_jobs=None,
        pre_image="auto",
        time_limit=None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.alpha = alpha
        self.fit_inverse_transform = fit_inverse_transform
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.iterated_power = iterated_power
        self.remove_zero_eig = remove_zero_eig
        self.random_state = random_state
        self.copy_X = copy_X
        self.n_jobs = n_jobs
        self.pre_image = pre_image
        self.time_limit = time_limit

    # ---- fitting ---------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    @described(TRAINING)
    def fit(self, X, y=None, sample_weight=None):
        """Find the components.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        data = self._read(X, None, sample_weight)
        kernel = self._kernel().resolve(data.X, data.weights)
        origin = origin_of(kernel, data.X, data.weights)
        rows = around(data.X, origin)
        distinct = DistinctRows.of(rows, data.weights)
        with single_blas(), time_limit(self.time_limit), watch(self, data.X) as callback:
            try:
                learned, pairs = self._learn(data, kernel, rows, distinct, callback)
            except TimeLimit:
                raise ValueError(
                    f"{type(self).__name__} has reached {limit_name(self.time_limit)} before the "
                    "Gram matrix was there; raise it, or use fewer rows."
                ) from None
        if origin is not None:
            learned["_origin"] = origin
        take_over(self, learned | {"_training": (data,)})
        if pairs.is_interrupted:
            raise KeyboardInterrupt
        if not pairs.is_done:
            warnings.warn(self.certificate_.verdict, ConvergenceWarning, stacklevel=2)
        return self

    def _learn(
        self, data: Training, kernel: Kernel, rows: Any, distinct: DistinctRows, callback: Any
    ) -> tuple[dict, EigenPairs]:
        """What this fit leaves besides its data, and what its solver found."""
        if kernel.noise:
            raise ValueError(
                f"{kernel!r} tells equal rows apart by noise, which no component can describe; "
                "leave White out."
            )
        gram = self._gram(kernel, rows, distinct)
        if not np.isfinite(gram.trace):
            raise ValueError(
                "the kernel has values that are not finite for these rows; check its parameters, "
                "or scale the features, e.g. with StandardScaler()."
            )
        pairs = self._eigenpairs(gram, int(np.count_nonzero(data.weights)), callback)
        subspace = gram.subspace(pairs.values, _flipped(pairs.vectors, gram.weights))
        learned: dict[str, Any] = {
            "eigenvalues_": subspace.values.astype(data.X.dtype),
            "explained_variance_ratio_": _shares(subspace.values, gram.trace).astype(data.X.dtype),
            "subspace_": subspace,
            "_row_numbers": distinct.inverse[distinct.inverse >= 0],
            "_row_shares": distinct.shares(data.weights)[distinct.inverse >= 0],
            "gamma_": getattr(kernel, "gamma", 1 / data.X.shape[1]),
            "n_iter_": pairs.iterations,
            "n_features_in_": data.X.shape[1],
        }
        if not may_wait(gram, pairs):
            learned["certificate_"] = certificate_of_fit(gram, subspace, pairs)
        if self.fit_inverse_transform:
            learned["_inverse_coef"] = learned_map(subspace, data.X[distinct.first], self.alpha)
        if data.feature_names is not None:
            learned["feature_names_in_"] = data.feature_names
        return learned, pairs

    def _gram(self, kernel: Kernel, rows: Any, distinct: DistinctRows) -> CentredGram:
        """The centred Gram matrix, in float32 where `tol` does not request more digits."""
        suits_rounding = self.eigen_solver != "dense" and (self.tol or ROUNDED) >= ROUNDED
        return (rounded_gram if suits_rounding else CentredGram)(kernel, rows, distinct)

    def _read(self, X, y, sample_weight, *, reset: bool = True) -> Training:
        """Rows and weights, validated; with reset=False the features must be those of the fit."""
        if self._is_precomputed:
            self._check_precomputed(X)
        elif self.fit_inverse_transform and sp.issparse(X):
            raise NotImplementedError(
                "Inverse transform not implemented for sparse matrices! The learned map has a "
                'number for each row and column; use pre_image="fixed_point", or X.toarray().'
            )
        return read_table(self, X, sample_weight, reset=reset)

    def _check_precomputed(self, X: Any) -> None:
        if self.fit_inverse_transform:
            raise ValueError(
                "Cannot fit_inverse_transform with a precomputed kernel: there are no rows to map "
                "to; pass the rows and the kernel."
            )
        if sp.issparse(X):
            raise TypeError("Sparse precomputed kernels are not supported; use X.toarray().")
        shape = np.shape(X)
        if len(shape) == 2 and shape[0] != shape[1]:
            raise ValueError(
                f"Precomputed matrix must be a square matrix. Input is a {shape[0]}x{shape[1]} "
                "matrix; give the kernel values between all pairs of training rows."
            )

    def _kernel(self) -> Kernel:
        """The kernel, with scikit-learn's meaning of its parameters."""
        if callable(self.kernel) and not isinstance(self.kernel, Kernel):
            return kernels.Callable(self.kernel, of_pairs=True, options=self.kernel_params)
        options = {"gamma": self.gamma, "coef0": self.coef0}
        if isinstance(self.kernel, str) and self.kernel in POLYNOMIAL and self.degree % 1:
            # Fractional powers are not a kernel of ours, but a function of scikit-learn.
            options["gamma"] = None if isinstance(self.gamma, str) else self.gamma
            return kernels.Callable(polynomial_kernel, options=options | {"degree": self.degree})
        return kernels.by_name(self.kernel, degree=int(self.degree), **options)

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == PRECOMPUTED

    def _eigenpairs(self, gram: CentredGram, rows: int, callback: Any) -> EigenPairs:
        """The largest eigenvalues, as many as requested: 0 where there are no more."""
        most = rows if self.n_components is None else min(self.n_components, rows)
        count = min(most, gram.m)
        is_dense = self.eigen_solver == "dense" or gram.prefers_dense(count)
        limit = max(self.tol or RESIDUAL[gram.dtype], 16 * np.finfo(gram.dtype).eps)

        def is_enough(values: Array, residuals: Array, beyond: float) -> bool:
            return bool(np.all(residuals <= max(limit * values[0], gram.rounding)))

        def after_step(values: Array, residuals: Array) -> bool:
            worst = residuals.max() / max(float(values[0]), np.finfo(float).tiny)
            return callback(f"largest residual {worst:.2g}, stops at {limit:.2g}", limit)

        pairs = gram.eigenpairs(
            count,
            is_dense,
            self.random_state,
            is_enough,
            self.max_iter or MOST_BLOCKS,
            after_step,
        )
        return self._checked(pairs, most, gram.dtype)

    def _checked(self, pairs: EigenPairs, most: int, dtype: np.dtype) -> EigenPairs:
        """Eigenvalues without rounding and negative ones, filled up with zeros or cut."""
        values = _check_psd_eigenvalues(pairs.values.astype(dtype), enable_warnings=False)
        values = values.astype(np.float64)
        kept = np.flatnonzero(values > 0)
        lacking = 0 if self.remove_zero_eig or self.n_components is None else most - len(kept)
        vectors = np.hstack([pairs.vectors[:, kept], np.zeros((len(pairs.vectors), lacking))])
        return EigenPairs(
            np.append(values[kept], np.zeros(lacking)),
            vectors,
            np.append(pairs.residuals[kept], np.zeros(lacking)),
            pairs.next_value if len(kept) == len(values) else 0.0,
            pairs.iterations,
            pairs.is_done,
            pairs.is_interrupted,
        )

    def fit_transform(self, X, y=None, sample_weight=None):
        """Find the components and return the coordinates of the training rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training data, as `fit` takes it.
        y : None
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights ≥ 0.

        Returns
        -------
        coordinates : ndarray of shape (n_samples, n_components)
            Coordinates, in the precision of X.
        """
        self.fit(X, y, sample_weight)
        data = vars(self)["_training"][0]
        found = np.empty((data.X.shape[0], self._n_features_out))
        is_counted = data.weights > 0
        found[is_counted] = self.subspace_.training_coordinates[self._row_numbers]
        if not is_counted.all():
            found[~is_counted] = self._coordinates(data.X[~is_counted])
        return found.astype(data.X.dtype, copy=False)

    # ---- using it --------------------------------------------------------------------------------

    @described(ROWS)
    def transform(self, X):
        """The coordinates of rows along the components.

        Returns
        -------
        coordinates : ndarray of shape (n_samples, n_components)
            Coordinates, in the precision of X.
        """
        check_is_fitted(self)
        X = read_rows(self, X)
        return self._coordinates(X).astype(X.dtype, copy=False)

    def _coordinates(self, X: Any) -> Array:
        return self.subspace_.coordinates(around(X, self._origin))

    def inverse_transform(self, X):
        """Rows that have, as nearly as possible, given coordinates.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Coordinates, as `transform` returns them.

        Returns
        -------
        rows : ndarray of shape (n_samples, n_features)
            Rows x̂ with φ(x̂) near the point of these coordinates, in the precision of X.
        """
        check_is_fitted(self)
        if self.pre_image == "auto" and "_inverse_coef" not in vars(self):
            raise NotFittedError(
                "inverse_transform needs fit_inverse_transform=True before the fit, as in "
                'scikit-learn, or pre_image="fixed_point", which needs no map.'
            )
        return self.pre_images(X).points

    @described(ROWS)
    def denoise(self, X):
        """Rows near the given ones that lie, in feature space, near the span of the components.

        Returns
        -------
        rows : ndarray of shape (n_samples, n_features)
            Rows x̂ with φ(x̂) near the projection of φ(x), in the precision of X.
        """
        check_is_fitted(self)
        X = read_rows(self, X)
        start = X.toarray() if sp.issparse(X) else X
        return self._pre_images(self._coordinates(X), start, X.dtype).points

    def pre_images(self, coordinates, start=None):
        """Rows for given coordinates, with the distance that each has to its point.

        Parameters
        ----------
        coordinates : array-like of shape (n_samples, n_components)
            Coordinates, as `transform` returns them.
        start : array-like of shape (n_samples, n_features), default=None
            Rows where the fixed point begins; the nearest training rows if None.

        Returns
        -------
        found : PreImages
            The rows as `points`, and `residuals` ‖φ(x̂) − Φ‖ in feature space.
        """
        check_is_fitted(self)
        given_type = getattr(coordinates, "dtype", None)
        beta = check_array(coordinates, dtype=np.float64, input_name="coordinates")
        if beta.shape[1] != self._n_features_out:
            raise ValueError(
                f"coordinates has {beta.shape[1]} columns, but {type(self).__name__} has "
                f"{self._n_features_out} components; pass what transform returns."
            )
        if start is not None:
            start = read_rows(self, start)
            start = start.toarray() if sp.issparse(start) else start
            if len(start) != len(beta):
                raise ValueError(
                    f"start has {len(start)} rows, and coordinates {len(beta)}; give one for each."
                )
        dtype = np.float32 if given_type == np.float32 else np.float64
        return self._pre_images(beta, start, np.dtype(dtype))

    def _pre_images(self, beta: Array, start: Array | None, dtype: np.dtype) -> PreImages:
        inverse_coef = vars(self).get("_inverse_coef")
        method = method_for(self.subspace_.kernel, self.pre_image, has_map=inverse_coef is not None)
        target = Target(self.subspace_, beta, dtype)
        begin = None if start is None else around(start, self._origin)
        return found_by(method, target, begin, self._origin, inverse_coef)

    # ---- scikit-learn's attributes ---------------------------------------------------------------

    @property
    def eigenvectors_(self) -> Array:
        """Eigenvectors of the centred Gram matrix, a line for each training row."""
        space = self._fitted_subspace("eigenvectors_")
        vectors = space.coef * np.sqrt(space.values) / space.weights[:, None]
        return vectors[self._row_numbers].astype(self.eigenvalues_.dtype, copy=False)

    @property
    def X_fit_(self) -> Any:
        """The training rows of positive weight."""
        space = self._fitted_subspace("X_fit_")
        if space.kernel.name == PRECOMPUTED:
            raise AttributeError("kernel values were given, and no rows.")
        rows = space.rows[self._row_numbers]
        return rows if self._origin is None else rows + self._origin

    @property
    def X_transformed_fit_(self) -> Array:
        """The coordinates of the training rows, with `fit_inverse_transform`."""
        space = self._fitted_subspace("X_transformed_fit_", "_inverse_coef")
        found = space.training_coordinates[self._row_numbers]
        return found.astype(self.eigenvalues_.dtype, copy=False)

    @property
    def dual_coef_(self) -> Array:
        """The coefficients of the learned map, with `fit_inverse_transform`."""
        self._fitted_subspace("dual_coef_", "_inverse_coef")
        shared = self._inverse_coef[self._row_numbers] * self._row_shares[:, None]
        return shared.astype(self.eigenvalues_.dtype, copy=False)

    def _fitted_subspace(self, name: str, needed: str = "subspace_") -> KernelSubspace:
        if needed not in vars(self):
            raise AttributeError(f"this {type(self).__name__} has no {name}.")
        return vars(self)["subspace_"]

    @property
    def _n_features_out(self):
        return len(self.eigenvalues_)

    # ---- both gaps -------------------------------------------------------------------------------

    @functools.cached_property
    def certificate_(self) -> Certificate:  # type: ignore[override]
        """How much more variance others could keep; of many rows computed on first access.

        `time_limit` holds for this computation anew.
        """
        space = self._fitted_subspace("certificate_")
        if space.kernel.name == PRECOMPUTED:
            raise AttributeError("call gapless.certify(model, K): kernel values were given.")
        distinct = DistinctRows.by(np.arange(len(space.weights)), space.weights)
        with single_blas():
            try:
                with time_limit(self.time_limit):
                    gram = self._gram(space.kernel, space.rows, distinct)
                    return certificate_of_many(gram, space)
            except TimeLimit:
                unknown = np.full(len(space.values), np.nan)
                kept = float(self.explained_variance_ratio_.sum(dtype=np.float64))
                variance = float(space.values.sum()) / kept if kept > 0 else 0.0
                return stopped(space.values, unknown, variance, space.rows.dtype)

    def _certified(self, X, y=None, sample_weight=None) -> Certificate:
        """The certificate, recomputed from the data of the fit."""
        gram = self._rebuilt(self._reread(X, None, sample_weight))
        with single_blas():
            return certificate_of_stored(gram, self.subspace_)

    def _rebuilt(self, data: Training) -> CentredGram:
        """The centred Gram matrix of the data of the fit; an error if these are others."""
        space = self.subspace_
        rows = around(data.X, self._origin)
        gram = CentredGram(space.kernel, rows, DistinctRows.of(rows, data.weights))
        if gram.m != len(space.weights) or not (
            is_same(gram.rows, space.rows) and np.allclose(gram.weights, space.weights)
        ):
            raise ValueError(
                f"the model does not match these data: {type(self).__name__} was fitted to other "
                "rows or weights; pass the training data, or fit again."
            )
        return gram

    def _fitted(self, data: Training) -> KernelPCAFit:
        """The fit, as far as held-out rows need it."""
        space = self.subspace_
        with single_blas():
            gram = self._rebuilt(data)
            missed = missed_variance(gram, space)[0]
        # A certificate that nobody has read takes longer than this check, which needs no bound.
        known = vars(self).get("certificate_")
        expected = known.primal if known else gram.trace - float(space.values.sum())
        refuse_other_data(type(self).__name__, missed, expected, gram.trace)
        count = int(np.count_nonzero(space.values))
        return KernelPCAFit.of(around(data.X, self._origin), data.weights, space.kernel, count)

    # ---- what it says about itself ---------------------------------------------------------------

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self._is_precomputed
        tags.input_tags.pairwise = self._is_precomputed
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _formula(self) -> Formula:
        return Formula(
            "Σᵢ ‖φ(xᵢ) − φ̄ − Σₖ βᵢₖvₖ‖²",
            {"components": len(self.eigenvalues_), "kernel": self.subspace_.kernel},
        )


def _flipped(vectors: Array, weights: Array) -> Array:
    """Vectors with signs as in scikit-learn: the entry of the largest size is positive."""
    of_rows = vectors / np.sqrt(weights)[:, None]
    largest = np.argmax(np.abs(of_rows), axis=0)
    signs = np.sign(vectors[largest, np.arange(vectors.shape[1])])
    return vectors * np.where(signs == 0, 1.0, signs)


def _shares(values: Array, trace: float) -> Array:
    return values / trace if trace > 0 else np.zeros_like(values)
