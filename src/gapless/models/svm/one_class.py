"""The support of a distribution, found without labels: OneClassSVM."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import _num_samples

from ..._ground.about import Examples, Formula, chosen
from ..._ground.stored import Declaration, Number
from ..._ground.tables import readable
from ..._ground.validation import Training, read_regression
from ._base import SupportVectorMachine
from .held_out import MachineFit
from .nu import NU
from .objectives import Objective, OneClass
from .training_rows import check_precomputed, counted_weights, read_any


class RegionFit(MachineFit):
    """A region, which is to hold a share 1 − ν of new rows as well."""

    @property
    def expected(self) -> float:
        """The share of rows that is to be inside."""
        return 1.0 - self.machine.objective.nu  # type: ignore[attr-defined]


class OneClassSVM(OutlierMixin, SupportVectorMachine):
    """Outlier detection by the smallest region that contains most rows.

    Minimises  ½‖w‖² − νSρ + Σᵢ sᵢ max(0, ρ − ⟨w, φ(xᵢ)⟩)  over w and ρ with S = Σsᵢ. At most a
    share ν of the rows has ⟨w, φ(x)⟩ < ρ, and at least a share ν are support vectors.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        "linear", "poly", "rbf", "sigmoid", "laplacian", "cosine", "chi2" and others, see
        `gapless.kernels`; "precomputed" if X holds kernel values; or a function of two lists of
        rows that returns their kernel values.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        γ ≥ 0 of the kernels that have one; "scale" is 1/(n_features·Var(X)), "auto"
        1/n_features.
    coef0 : float, default=0.0
        The constant of the polynomial and the sigmoid kernel.
    tol : float, default=1e-3
        Stop when no optimality condition is violated by more, as LIBSVM does, or more than `tol`
        times the size of the scores where that is below 1, and when the duality gap is at most
        `tol` times ½(νS)²·max k(x, x), which ½‖w‖² cannot exceed.
    nu : float, default=0.5
        ν in (0, 1].
    shrinking : bool, default=True
        Accepted for scikit-learn's sake; the solver shrinks where that pays.
    cache_size : float, default=None
        Megabytes that kernel values may take; None for what fits the memory.
    verbose : bool, default=False
        Accepted for scikit-learn's sake; long fits show their progress on a terminal.
    max_iter : int, default=-1
        Largest number of steps; −1 for no limit.
    time_limit : float, default=None
        Seconds after which the best solution found so far is kept.

    Attributes
    ----------
    offset_ : float
        ρ: the score of a row is its ⟨w, φ(x)⟩ less this.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, kernel_
        As those of `SVR`; the multipliers sum to νS.
    kkt_status_, kkt_violation_, fit_status_, n_iter_, shape_fit_
        As those of `SVR`.
    certificate_ : Certificate
        How far the fit can be from the best possible one.
    generalization_ : Generalization
        The share of unseen rows that are inside, against 1 − ν: rows are held out one by one where
        that is cheap, else in folds.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had names.

    Notes
    -----
    The dual is  max −½θᵀKθ  with θᵢ from 0 to sᵢ and Σθ = νS.

    References
    ----------
    Schölkopf, Platt, Shawe-Taylor, Smola and Williamson (2001), Estimating the support of a
    high-dimensional distribution.

    Examples
    --------
    >>> from gapless import OneClassSVM
    >>> model = OneClassSVM(gamma="auto").fit([[0.0], [0.44], [0.45], [0.46], [1.0]])
    >>> print(model.predict([[0.45], [3.0]]))
    [ 1 -1]
    """

    _examples: ClassVar[Examples] = ()

    _stored: ClassVar[Declaration] = {**SupportVectorMachine._stored, "offset_": Number()}
    _parameter_constraints: ClassVar[dict] = {
        **SupportVectorMachine._parameter_constraints,
        "nu": [NU],
    }

    def __init__(
        self,
        *,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        tol=1e-3,
        nu=0.5,
        shrinking=True,
        cache_size=None,
        verbose=False,
        max_iter=-1,
        time_limit=None,
    ):
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.nu = nu
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.time_limit = time_limit

    def fit(self, X, y=None, sample_weight=None):
        """Find the region that holds most rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training data, or kernel values (n_samples, n_samples) with kernel="precomputed".
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights ≥ 0. Weight 2 means the row twice, weight 0 means the row is not there.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return super().fit(X, y, sample_weight)

    def _read(self, X, y, sample_weight, *, reset=True) -> Training:
        if self._is_precomputed:
            check_precomputed(X)
        sample_weight = counted_weights(sample_weight)
        # All rows are asked to be inside, which is +1.
        X = readable(X, lambda: True)
        y = np.ones(_num_samples(X))
        return read_any(read_regression, self, X, y, sample_weight, reset=reset)

    def _objective(self) -> Objective:
        return OneClass(float(self.nu))

    def _specifics(self, data, rows, machine, solved):
        return {"offset_": -solved[0].point.b}

    def _fit_type(self, machine):
        return RegionFit

    def decision_function(self, X):
        """Signed distance to the border of the region, up to a factor.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Positive inside, negative outside.
        """
        return self._scores(X)[:, 0]

    def score_samples(self, X):
        """Scores before ρ is subtracted.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            ⟨w, φ(x)⟩.
        """
        return self.decision_function(X) + self.offset_

    def predict(self, X):
        """Tell outliers from the others.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            +1 inside the region, −1 outside.
        """
        return np.where(self.decision_function(X) > 0, 1, -1).astype(np.intp)

    def _formula(self) -> Formula:
        return Formula(
            "½‖w‖² − νnρ + Σᵢ max(0, ρ − ⟨w, φ(xᵢ)⟩)",
            {"ν": self.nu, "kernel": chosen(self, "kernel")},
        )
