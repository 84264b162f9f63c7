"""What Lasso, ElasticNet, MultiTaskLasso and their searches share."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils import metadata_routing
from sklearn.utils._param_validation import Interval, StrOptions

from ..._ground.design import Design
from ..._ground.stored import Declaration, Unused
from ...unseen import CV, LOO
from ._base import SELECT
from .tasks import LinearRegressor


class SparseRegressor(LinearRegressor):
    """Base of Lasso, ElasticNet and MultiTaskLasso: gaps are of the mean, as in scikit-learn."""

    _not_converged = (
        "Objective did not converge. You might want to increase the number of iterations"
    )

    _stored: ClassVar[Declaration] = {
        **LinearRegressor._stored,
        "dual_gap_": Unused(),
        "alpha_": Unused(),
        "path_": Unused(),
    }
    _averages = True
    _strength_name = "alpha"
    _flattens_one_column = True
    _parameter_constraints: ClassVar[dict] = {
        **LinearRegressor._parameter_constraints,
        **SELECT,
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({LOO, CV})],
        "copy_X": ["boolean"],
        "random_state": ["random_state"],
        "selection": [StrOptions({"cyclic", "random"})],
    }

    def _check_parameters(self):
        if self.alpha == 0:
            # The words of scikit-learn, so that filters of warnings keep working.
            warnings.warn(
                "With alpha=0, this algorithm does not converge well. You are advised to use the "
                "LinearRegression estimator, which has the same objective and a closed form.",
                UserWarning,
                stacklevel=5,
            )

    def _read(self, X, y, sample_weight, *, reset=True):
        data = super()._read(X, y, sample_weight, reset=reset)
        gram = getattr(self, "precompute", False)
        if reset and not isinstance(gram, bool | np.bool_ | str) and not sp.issparse(data.X):
            check_gram(np.asarray(gram, dtype=float), data, self.fit_intercept)
        return data

    @property
    def sparse_coef_(self):
        """The coefficients as a sparse matrix."""
        return sp.csr_matrix(np.atleast_2d(self.coef_))

    def _specifics(self, data, learned, solutions, certificates):
        # Gaps of the mean objective, as scikit-learn has them: one per problem.
        gaps = np.array([certificate.gap for certificate in certificates]) / data.weights.sum()
        steps = [solution.trace.steps for solution in solutions]
        several = len(solutions) > 1
        return super()._specifics(data, learned, solutions, certificates) | {
            "dual_gap_": gaps if several else float(gaps[0]),
            "n_iter_": steps if several else steps[0],
        }


def check_gram(gram, data, fit_bias):
    """Refuse a Gram matrix that is not XᵀSX with weights of mean 1, by its diagonal and one row.

    The fit does not need it; a wrong one means that X is not what its owner believes.
    """
    design, s = Design(data.X), data.weights / data.weights.mean()
    if gram.shape != (design.d, design.d):
        raise ValueError(
            f"precompute must have the shape {(design.d, design.d)} of XᵀX, got {gram.shape}; "
            "set precompute=False."
        )
    tolerance = 1e-4 if data.X.dtype == np.float32 else 1e-7
    norms = np.sqrt(np.maximum(design.column_square_sums(s), 0.0))
    sums = design.transposed_times(s)
    if fit_bias and np.any(np.abs(sums) > tolerance * np.sqrt(design.n) * norms):
        warnings.warn(
            "Gram matrix was provided but X was centered to fit intercept: recomputing Gram "
            "matrix. Center X before, or set precompute=False.",
            UserWarning,
            stacklevel=6,
        )
        return
    j = int(np.argmax(norms))
    row = design.transposed_times(s * design.columns(np.array([j])).dense()[:, 0])
    wrong = np.abs(gram[j] - row) > tolerance * norms[j] * norms
    wrong |= np.abs(np.diag(gram) - norms**2) > tolerance * norms**2
    if wrong.any():
        k = int(np.argmax(wrong))
        raise ValueError(
            f"Gram matrix passed in via precompute did not pass validation: its entries of feature "
            f"{k} are not those of XᵀX; set precompute=False."
        )


class PlainSparseRegressor(SparseRegressor):
    """Base of those whose `fit` takes scikit-learn's switch to skip the checks."""

    # It is no data that a pipeline could route.
    __metadata_request__fit: ClassVar[dict] = {"check_input": metadata_routing.UNUSED}

    def fit(self, X, y, sample_weight=None, check_input=True):
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training data; float32 stays float32, everything else becomes float64. Never written to.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Target values.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights ≥ 0. Weight 2 means the row twice, weight 0 means the row is not there.
        check_input : bool, default=True
            Accepted for scikit-learn's sake; the input is always checked, in two passes over X.

        Returns
        -------
        self : object
            The fitted estimator. Ctrl-C keeps the best coefficients found so far and raises
            KeyboardInterrupt; an error leaves the estimator as it was.
        """
        return super().fit(X, y, sample_weight)
