"""Random Fourier features of the Gaussian kernel as a transformer."""

from __future__ import annotations

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..._ground.about import Examples
from ..._ground.design import Design
from ..._ground.stored import INPUT, Declaration, Numbers, Unused
from ..._ground.validation import read_rows, read_table
from ...kernels import Gaussian
from ...unseen import take_over


class RBFSampler(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
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
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had names.

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

    _guide = "large_kernels"
    _examples: ClassVar[Examples] = ()

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
    def fit(self, X, y=None, sample_weight=None):
        """Draw the frequencies and the offsets.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training data, of which only the shape and, for "scale", the variance count.
        y : None
            Not used.
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
            "n_features_in_": d,
            "_gamma": kernel.gamma,
        }
        if table.feature_names is not None:
            learned["feature_names_in_"] = table.feature_names
        take_over(self, learned)
        return self

    def transform(self, X):
        """The features of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to transform.

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

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _formula(self) -> None:
        """None: features are computed, and nothing is fitted to targets."""
