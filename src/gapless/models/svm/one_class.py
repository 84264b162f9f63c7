"""The support of a distribution, found without labels: OneClassSVM."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import _num_samples

from ..._ground.about import Examples, Formula, chosen
from ..._ground.docstrings import FEATURES, described
from ..._ground.stored import Declaration, Number
from ..._ground.tables import readable
from ..._ground.validation import Training, read_regression
from ._base import MACHINE, TRAINING, SupportVectorMachine
from .held_out import MachineFit
from .nu import NU
from .objectives import Objective, OneClass
from .support_vectors import ONE_PROBLEM, SUPPORT
from .training_rows import check_precomputed, counted_weights, read_any

ROWS = """
X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
    Rows to judge; kernel values with the training rows if kernel="precomputed".
"""


class RegionFit(MachineFit):
    """A region that should also contain a share 1 − ν of new rows."""

    @property
    def expected(self) -> float:
        """The share of rows that should be inside."""
        return 1.0 - self.machine.objective.nu  # type: ignore[attr-defined]


@described(ONE_PROBLEM, MACHINE, SUPPORT, FEATURES)
class OneClassSVM(OutlierMixin, SupportVectorMachine):
    """Outlier detection by the smallest region that contains most rows.

    Minimises  ½‖w‖² − νSρ + Σᵢ sᵢ max(0, ρ − ⟨w, φ(xᵢ)⟩)  over w and ρ with S = Σsᵢ. At most a
    share ν of the rows has ⟨w, φ(x)⟩ < ρ, and at least a share ν are support vectors.

    Parameters
    ----------
    tol : float, default=1e-3
        Stop when no optimality condition is violated by more, as LIBSVM does, or more than `tol`
        times the size of the scores where that is below 1, and when the duality gap is at most
        `tol` times ½(νS)²·max k(x, x), which ½‖w‖² cannot exceed.
    nu : float, default=0.5
        ν in (0, 1].

    Attributes
    ----------
    offset_ : float
        ρ: the score of a row is its ⟨w, φ(x)⟩ less this.
    generalization_ : Generalization
        The share of unseen rows that are inside, against 1 − ν: rows are held out one at a time if
        that is cheap, else in folds.

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

    @described(TRAINING)
    def fit(self, X, y=None, sample_weight=None):
        """Find the region that holds most rows.

        Parameters
        ----------
        y : None
            Ignored.

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
        # All rows should be inside, which is +1.
        X = readable(X, lambda: True)
        y = np.ones(_num_samples(X))
        return read_any(read_regression, self, X, y, sample_weight, reset=reset)

    def _objective(self) -> Objective:
        return OneClass(float(self.nu))

    def _specifics(self, data, rows, machine, solved):
        return {"offset_": -solved[0].point.b}

    def _fit_type(self, machine):
        return RegionFit

    @described(ROWS)
    def decision_function(self, X):
        """Signed distance to the border of the region, up to a factor.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Positive inside, negative outside.
        """
        return self._scores(X)[:, 0]

    @described(ROWS)
    def score_samples(self, X):
        """Scores before ρ is subtracted.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            ⟨w, φ(x)⟩.
        """
        return self.decision_function(X) + self.offset_

    @described(ROWS)
    def predict(self, X):
        """Tell outliers from the others.

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
