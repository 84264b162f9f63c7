"""Features of a kernel as transformers, for pipelines with any linear model after them.

`Nystroem` makes them from landmarks of the data, `RBFSampler` from random frequencies.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.metrics.pairwise import polynomial_kernel
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ... import kernels
from ..._ground.about import Examples
from ..._ground.design import Design
from ..._ground.distinct_rows import DistinctRows
from ..._ground.docstrings import FEATURES, described
from ..._ground.lapack import call_lapack, eigh
from ..._ground.parts import OfParts
from ..._ground.stored import INPUT, Declaration, Numbers, Unused, Value
from ..._ground.threads import single_blas
from ..._ground.validation import Training, read_rows, read_table
from ...kernels import KERNEL_INSTANCE, Gaussian, Kernel
from ...problem import PRECOMPUTED, RESIDUAL, Drawing, smallest, some_rows
from ...unseen import take_over

POLYNOMIAL = ("poly", "polynomial")
# Eigenvalues of the landmarks' kernel below this part of the largest are raised to it.
SMALLEST = 1e-12


# What `fit` and `transform` take, for `described`.
TRAINING = """
y : None
    Not used.
sample_weight : array-like of shape (n_samples,)
    Weights ≥ 0. Weight 2 means the row twice, weight 0 means the row is not there.
"""
ROWS = """
X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
    Rows to transform.
"""


class KernelFeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of the transformers: they fit a map of rows to features, and no targets."""

    _guide = "large_kernels"
    _examples: ClassVar[Examples] = ()

    def _keep(self, learned: dict[str, Any], table: Training) -> Any:
        """Replace what an earlier fit has left by what this one has learned."""
        learned["n_features_in_"] = table.X.shape[1]
        if table.feature_names is not None:
            learned["feature_names_in_"] = table.feature_names
        take_over(self, learned)
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _formula(self) -> None:
        """None: features are computed, and nothing is fitted to targets."""


@described(FEATURES)
class Nystroem(OfParts, KernelFeatureMap):
    """Features whose inner products approximate a kernel, from landmarks of the data.

    φ(x) = K(Z, Z)^(−½) k(Z, x)  for landmarks Z among the training rows. Where as many landmarks
    as distinct rows are requested, the kernel between training rows is exact.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        The kernel: a name, an instance of `gapless.kernels.Kernel`, or a function of two rows.
    gamma : float, default=None
        γ of named kernels that have one; None is 1/n_features, and 1 for chi2.
    coef0 : float, default=None
        Constant of the polynomial and the sigmoid kernel; None is 1.
    degree : int, default=None
        Degree of the polynomial kernel; None is 3.
    kernel_params : dict, default=None
        Keyword arguments for a function.
    n_components : int, default=100
        Number of landmarks; fewer where fewer explain all rows, or where there are no more rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the landmarks.
    n_jobs : int, default=None
        Accepted for scikit-learn's sake; set GAPLESS_NUM_THREADS.

    Attributes
    ----------
    components_ : {ndarray, sparse matrix} of shape (m, n_features)
        The landmarks.
    component_indices_ : ndarray of shape (m,)
        Their positions in the training data.
    normalization_ : ndarray of shape (m, m)
        K(Z, Z)^(−½), symmetric.
    kernel_ : Kernel
        The kernel, all its parameters numbers.

    Notes
    -----
    Landmarks are drawn one block after the other, each row with a probability in proportion to its
    weight and to what the landmarks before leave of k(x, x); for kernels that may have negative
    eigenvalues, in proportion to the weight alone. Fitting costs O(m³) and a sample of about 10·m
    rows; transforming n rows O(n·m·(d + m)), with no n × m matrix of kernel values held besides.
    KernelLogisticRegression and RiskClassifier choose m by leave-one-out.

    References
    ----------
    Williams and Seeger (2001), Using the Nyström method to speed up kernel machines, NIPS 13.
    Chen, Epperly, Tropp and Webber (2025), Randomly pivoted Cholesky, Comm. Pure Appl. Math. 78.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.pipeline import make_pipeline
    >>> from gapless import LinearSVC, Nystroem
    >>> X, y = load_digits(n_class=9, return_X_y=True)
    >>> model = make_pipeline(Nystroem(gamma=0.2, n_components=300, random_state=1), LinearSVC())
    >>> bool(model.fit(X / 16, y).score(X / 16, y) > 0.99)
    True
    """

    _stored: ClassVar[Declaration] = {
        "components_": Numbers("components", None, may_be_sparse=True),
        "component_indices_": Unused(),
        "normalization_": Numbers("components", "components"),
        "kernel_": Value(Kernel),
        **INPUT,
    }
    _part_kinds = KERNEL_INSTANCE
    _parameter_constraints: ClassVar[dict] = {
        "kernel": [str, Kernel, callable],
        "gamma": [Interval(Real, 0, None, closed="left"), None],
        "coef0": [Interval(Real, None, None, closed="neither"), None],
        "degree": [Interval(Real, 1, None, closed="left"), None],
        "kernel_params": [dict, None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        kernel="rbf",
        *,
        gamma=None,
        coef0=None,
        degree=None,
        kernel_params=None,
        n_components=100,
        random_state=None,
        n_jobs=None,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)
    @described(TRAINING)
    def fit(self, X, y=None, sample_weight=None):
        """Draw the landmarks.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training data; float32 stays float32.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        table = read_table(self, X, sample_weight)
        X, kernel = table.X, self._chosen().resolve(table.X, table.weights)
        distinct = DistinctRows.of(X, table.weights)
        if self.n_components > X.shape[0]:
            warnings.warn(
                f"n_components = {self.n_components} > n_samples = {X.shape[0]}. This is not "
                "possible, so all rows are landmarks and the features are exact.",
                stacklevel=2,
            )
        positions = self._draw(kernel, X, distinct)
        K = some_rows(kernel, X, positions).gram()
        learned = {
            "components_": X[positions],
            "component_indices_": positions,
            "normalization_": inverse_root(K).astype(X.dtype),
            "kernel_": kernel,
        }
        return self._keep(learned, table)

    def _misfit(self) -> str | None:
        """What is inconsistent in the stored attributes, in words; None if nothing is."""
        width = self.components_.shape[1]
        if self.kernel_.name != "precomputed" and width != self.n_features_in_:
            return f"components_ has {width} columns, and X has {self.n_features_in_}"
        return None

    @described(ROWS)
    def transform(self, X):
        """The features of rows.

        Returns
        -------
        features : ndarray of shape (n_samples, m)
            Features φ(x), in the precision of X.
        """
        check_is_fitted(self)
        X = read_rows(self, X)
        kernel = self.kernel_
        Z = self.component_indices_ if kernel.name == PRECOMPUTED else self.components_
        return kernel.times(X, Z, self.normalization_.T).astype(X.dtype, copy=False)

    @property
    def _n_features_out(self):
        return len(self.component_indices_)

    def _chosen(self) -> Kernel:
        """The kernel, with the defaults of scikit-learn's pairwise kernels."""
        given = {"coef0": self.coef0, "degree": self.degree}
        given = {name: value for name, value in given.items() if value is not None}
        is_function = callable(self.kernel) and not isinstance(self.kernel, Kernel)
        is_named = isinstance(self.kernel, str) and self.kernel != PRECOMPUTED
        if not is_named and (given or self.gamma is not None):
            raise ValueError(
                "Don't pass gamma, coef0 or degree to Nystroem if using a callable or precomputed "
                "kernel; give them to the kernel itself."
            )
        if is_function:
            return kernels.Callable(self.kernel, of_pairs=True, options=self.kernel_params)
        if self.kernel in POLYNOMIAL and given.get("degree", 3) % 1:
            # Fractional powers are not a kernel of ours, but a function of scikit-learn.
            return kernels.Callable(polynomial_kernel, options={"gamma": self.gamma} | given)
        return kernels.by_name(self.kernel, gamma=self.gamma, **given)

    def _draw(self, kernel: Kernel, X, distinct: DistinctRows):
        """Positions of the landmarks, in the order of drawing."""
        random = check_random_state(self.random_state)
        seed = int(random.randint(np.iinfo(np.int32).max))
        if not kernel.is_mercer:
            keys = np.random.default_rng(seed).standard_exponential(len(distinct.first))
            return distinct.first[smallest(keys / distinct.weights, self.n_components)]
        most = min(self.n_components, len(distinct.first))
        drawing = Drawing(kernel, X, distinct, seed, most, RESIDUAL[np.dtype(float)])
        drawing.grow(most)
        return drawing.positions[drawing.chosen]


def inverse_root(K):
    """K^(−½) of a symmetric matrix, by absolute eigenvalues if some are negative."""
    values, vectors = call_lapack(eigh, K)
    sizes = np.abs(values)
    sizes = np.maximum(sizes, SMALLEST * max(sizes.max(initial=0.0), SMALLEST))
    with single_blas():
        return (vectors / np.sqrt(sizes)) @ vectors.T


@described(FEATURES)
class RBFSampler(KernelFeatureMap):
    """Random features whose inner products are the Gaussian kernel exp(−γ‖x − z‖²) on average.

    φⱼ(x) = √(2/m) cos(ωⱼᵀx + bⱼ)  with frequencies ωⱼ ~ N(0, 2γI), orthogonal in blocks, and bⱼ
    uniform on [0, 2π]. The second half has the frequencies of the first, a quarter turn further:
    so the inner product of a pair is cos(ωⱼᵀ(x − z)), whatever x + z.

    Parameters
    ----------
    gamma : "scale" or float, default=1.0
        γ of the kernel; "scale" is 1/(d · variance of X).
    n_components : int, default=100
        Number m of features.
    random_state : int, RandomState instance or None, default=None
        Seed of the frequencies and the offsets.

    Attributes
    ----------
    random_weights_ : ndarray of shape (n_features, n_components)
        The ωⱼ in columns.
    random_offset_ : ndarray of shape (n_components,)
        The bⱼ.

    Notes
    -----
    An inner product misses the kernel by about 1/√m, whatever the data; landmarks (`Nystroem`) look
    at the data and mostly do better. Transforming n rows costs O(n·d·m). RiskClassifier with
    approximation="random_features" has them for the Laplacian and Matérn kernels too.

    References
    ----------
    Rahimi and Recht (2007), Random features for large-scale kernel machines, NIPS 20.
    Sutherland and Schneider (2015), On the error of random Fourier features, UAI 31.
    Yu, Suresh, Choromanski, Holtmann-Rice and Kumar (2016), Orthogonal random features, NIPS 29.

    Examples
    --------
    >>> from gapless import LogisticRegression, RBFSampler
    >>> X, y = [[0, 0], [1, 1], [1, 0], [0, 1]], [0, 0, 1, 1]
    >>> features = RBFSampler(gamma=1, random_state=1).fit_transform(X)
    >>> LogisticRegression(C=10.0).fit(features, y).score(features, y)
    1.0
    """

    _stored: ClassVar[Declaration] = {
        **INPUT,
        "random_weights_": Numbers("features", "components"),
        "random_offset_": Numbers("components"),
        "_gamma": Unused(),
    }
    _parameter_constraints: ClassVar[dict] = {
        "gamma": [StrOptions({"scale"}), Interval(Real, 0.0, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(self, *, gamma=1.0, n_components=100, random_state=None):
        self.gamma = gamma
        self.n_components = n_components
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    @described(TRAINING)
    def fit(self, X, y=None, sample_weight=None):
        """Draw the frequencies and the offsets.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training data, of which only the shape and, for "scale", the variance count.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights ≥ 0 of the rows in the variance.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        table = read_table(self, X, sample_weight)
        kernel = Gaussian(self.gamma).resolve(table.X, table.weights)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        rng, d, dtype = np.random.default_rng(seed), table.X.shape[1], table.X.dtype
        m = self.n_components
        half = (m + 1) // 2
        offsets = rng.uniform(0, 2 * np.pi, size=half)
        frequencies = kernel.frequencies(rng, d, half)
        learned = {
            "random_weights_": np.hstack([frequencies, frequencies])[:, :m].astype(dtype),
            "random_offset_": np.append(offsets, offsets + np.pi / 2)[:m].astype(dtype),
            "_gamma": kernel.gamma,
        }
        return self._keep(learned, table)

    @described(ROWS)
    def transform(self, X):
        """The features of rows.

        Returns
        -------
        features : ndarray of shape (n_samples, n_components)
            Features φ(x), in the precision of X.
        """
        check_is_fitted(self)
        X = read_rows(self, X)
        angles = Design(X).times(self.random_weights_.astype(X.dtype, copy=False))
        angles += self.random_offset_
        np.cos(angles, out=angles)
        angles *= np.asarray((2 / self.random_weights_.shape[1]) ** 0.5, angles.dtype)
        return angles

    @property
    def _n_features_out(self):
        return len(self.random_offset_)
