"""RidgeCV and RidgeClassifierCV: a strength by exact leave-one-out, or by folds."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring, get_scorer
from sklearn.utils._metadata_requests import _routing_enabled
from sklearn.utils._param_validation import Interval, StrOptions

from ..._ground.about import Example, Examples, Formula
from ..._ground.docstrings import described
from ..._ground.stored import Declaration, Unused
from ..._ground.validation import Training
from ...problem import Parameters
from ._base import SELECT
from .cross_validated import (
    SCORING,
    Scorer,
    check_strengths,
    chosen,
    fit,
    fitted_twin,
    folds_of,
    get_metadata_routing,
    score_folds,
    scored_errors,
)
from .parameters import OF_CLASSES, OF_TARGETS, SEARCHED
from .path import SCORES, ScoredPath
from .path_choice import PathChoice
from .path_following import ridge_path
from .problems import fitted_of
from .ridge import Ridge, RidgeClassifier, squares_and_ridge
from .tasks import LinearClassifier, LinearRegressor

Array = np.ndarray


SEARCH: dict = {
    **SELECT,
    "alphas": ["array-like", Interval(Real, 0, None, closed="neither")],
    "scoring": SCORING,
    "cv": ["cv_object"],
    "store_cv_results": ["boolean"],
}


def _scorer(self):
    """The scorer, or the default one of the class, which then takes weights."""
    if _routing_enabled() and self.scoring is None:
        return get_scorer(self._default_scoring).set_score_request(sample_weight=True)
    return check_scoring(self, self.scoring, allow_none=True)


def _check_parameters(self):
    """Refuse parameters that need leave-one-out if folds are given."""
    if self.cv is not None:
        for name in ("store_cv_results", "alpha_per_target"):
            if getattr(self, name, False):
                raise ValueError(f"cv!=None and {name}=True are incompatible; leave one out.")


def _choose(self, data, callback):
    """The best of `alphas` by exact leave-one-out, or by folds with `cv`."""
    return RidgeSearch(self, data).choice()


class RidgeSearch:
    """The search of RidgeCV or RidgeClassifierCV on its data."""

    def __init__(self, model: Any, data: Training):
        self.model, self.data, self.unit = model, data, model._at(alpha=1.0)
        given = [model.alphas] if np.ndim(model.alphas) == 0 else list(model.alphas)
        # In the given order.
        self.alphas = check_strengths(given, "neither" if model.cv is None else "left")
        self.is_per_target = getattr(model, "alpha_per_target", False)

    def choice(self) -> PathChoice:
        """The best strength, or the best for each target."""
        model, alphas = self.model, self.alphas
        path = self._by_leave_one_out() if model.cv is None else self._by_folds()
        at = chosen(path, model.select)
        extra: dict[str, Any] = {"best_score_": float(path.unseen[at])}
        alpha: Any = float(alphas[at])
        start = path.parameters[at]
        if self.is_per_target and self.data.y.ndim == 2:
            alpha, extra["best_score_"], start = self._per_target(path)
        if model.store_cv_results:
            extra["cv_results_"] = self._results(path)
        winner = at if np.ndim(alpha) == 0 else -1
        by = model.scoring or (None if model.cv is None else model._default_scoring)
        targets = self.data.y if self.data.classes is None else None
        shown = path.shown(alphas, at, by or SCORES["squared"], targets)
        return PathChoice(
            {"alpha": alpha}, start, shown, [path], 0, winner, extra=extra, scoring=by
        )

    def _by_leave_one_out(self) -> ScoredPath:
        """Exact held-out predictions for all strengths, scored by the scorer if there is one."""
        model, data = self.model, self.data
        keep = model.scoring is not None or model.store_cv_results or self.is_per_target
        path = ridge_path(self.unit._problems(data)[0], self.alphas, keep=keep)
        if model.scoring is None:
            return path
        twin = self._twin(data)
        unseen = self._scores(Scorer(model.scoring, data.classes), twin, data, path.z)
        errors = np.full(len(unseen), np.nan)
        if model.select == "1se":
            errors = scored_errors(twin, fitted_of(self.unit, data), path, model.scoring)
        return replace(path, unseen=unseen, standard_errors=errors)

    def _scores(self, scorer: Scorer, twin: Any, data: Training, z: Array) -> Array:
        """A scorer's scores for predictions (n, m, K) of all rows, (m,)."""
        rows, params = np.arange(len(z)), self.model._routed[1]
        return np.array(
            [
                scorer.score(twin._standing_in(of_rows), data, rows, params, X=rows[:, None])
                for of_rows in z.swapaxes(0, 1)
            ]
        )

    def _by_folds(self) -> ScoredPath:
        """Scores averaged over folds, and the models of all rows."""
        model, data = self.model, self.data
        splitting, scoring = model._routed
        folds = folds_of(model.cv, data, classifier=is_classifier(model), params=splitting)
        scorer = Scorer(model.scoring or model._default_scoring, data.classes)
        found = score_folds(self.unit, data, self.alphas, folds, scorer, scoring)
        return replace(
            ridge_path(self.unit._problems(data)[0], self.alphas),
            z=found.z,
            unseen=found.scores.mean(axis=0),
            standard_errors=found.standard_errors,
            method=f"{len(folds)}-fold",
        )

    def _twin(self, data: Training):
        """A plain model that can be scored, whatever it predicts."""
        problems = self.unit._problems(data)
        return fitted_twin(self.unit, data, problems, [p.null for p in problems])

    def _per_target(self, path: ScoredPath):
        """The best alpha of each target, its score, and the coefficients."""
        y, s = self.data.y, self.data.weights
        scores = -np.einsum("i,imk->mk", s, (path.z - y[:, None, :]) ** 2) / s.sum()
        if self.model.scoring is not None:
            scorer, parts = Scorer(self.model.scoring, None), [replace(self.data, y=c) for c in y.T]
            columns = [
                self._scores(scorer, self._twin(part), part, path.z[:, :, [k]])
                for k, part in enumerate(parts)
            ]
            scores = np.stack(columns, axis=1)
        best = scores.argmax(axis=0)
        start = [
            Parameters(path.parameters[i][0].w[:, k], np.asarray(path.parameters[i][0].b[k]))
            for k, i in enumerate(best)
        ]
        return path.strengths[best], scores.max(axis=0), start

    def _results(self, path: ScoredPath) -> Array:
        """Squared errors times weights, or predictions if a scorer was given; (n[, K], m)."""
        data, z = self.data, path.z.swapaxes(1, 2)
        if self.model.scoring is None:
            y = self.unit._problems(data)[0].y.reshape(len(z), -1)
            z = data.weights[:, None, None] * (z - y[:, :, None]) ** 2
        is_flat = data.y.ndim == 1 and not is_classifier(self.model)
        return (z[:, 0] if is_flat else z).astype(data.X.dtype)


# What both classes describe alike.
RIDGE_SEARCH = """
alphas : array-like of shape (n_alphas,)
    Strengths α > 0 to try.
cv : int, splitter or iterable
    Folds, as in scikit-learn; None leaves out one distinct x at a time, exactly and in about the
    time of one fit.
store_cv_results : bool
    Whether to keep the errors (with `scoring`: the predictions) of all rows in `cv_results_`.
tol : float
    The certificate is "optimal" up to this duality gap, relative to the objective at w = 0.
max_iter : int
    Largest number of steps of the last fit; None leaves it to the solver.
alpha_ : float
    The chosen strength.
best_score_ : float
    Its score on unseen rows, not yet corrected for the choice: that is `generalization_`.
"""


@described(RIDGE_SEARCH, OF_TARGETS, SEARCHED)
class RidgeCV(LinearRegressor):
    """Ridge regression that chooses its strength, by default by exact leave-one-out.

    Minimises  ½ Σᵢ sᵢ (yᵢ − xᵢᵀw − b)² + ½α‖w‖²  for the α among `alphas` that predicts rows best
    which the model has not seen.

    Parameters
    ----------
    scoring : str or callable, default=None
        A scorer of scikit-learn. None is minus the mean squared error, or R² with `cv`.
    gcv_mode : {"auto", "svd", "eigen"}, default=None
        Accepted for scikit-learn's sake; which decomposition keeps the digits is decided here.
    alpha_per_target : bool, default=False
        Whether each target gets an α of its own.

    Attributes
    ----------
    alpha_ : float or ndarray of shape (n_targets,)
        The chosen strength.
    best_score_ : float or ndarray of shape (n_targets,)
        Its score on unseen rows, not yet corrected for the choice: that is `generalization_`.
    cv_results_ : ndarray of shape (n_samples, n_alphas) or (n_samples, n_targets, n_alphas)
        With `store_cv_results`, squared errors times weights, or predictions.

    Notes
    -----
    Costs n·d² once (n²·d for n < d), and n·d for every few strengths. Rows of one x are left out
    together, so that weight 2 means the row twice for the choice as well.

    References
    ----------
    Allen (1974), The relationship between variable selection and data augmentation and a method
    for prediction, Technometrics 16.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from gapless import RidgeCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RidgeCV(alphas=[1e-3, 1e-2, 1e-1, 1]).fit(X, y)
    >>> model.alpha_
    0.01
    """

    _examples: ClassVar[Examples] = (Example("diabetes", {"alphas": np.geomspace(0.1, 1000, 30)}),)

    _guide = "tuning"
    _plain = Ridge
    # The score of folds if none is given.
    _default_scoring = "r2"
    _flattens_one_column = True
    _stored: ClassVar[Declaration] = {
        **LinearRegressor._stored,
        "alpha_": Unused(),
        "best_score_": Unused(),
        "cv_results_": Unused(),
        "path_": Unused(),
    }
    _parameter_constraints: ClassVar[dict] = {
        **LinearRegressor._parameter_constraints,
        **SEARCH,
        "gcv_mode": [StrOptions({"auto", "svd", "eigen"}), None],
        "alpha_per_target": ["boolean"],
    }

    def __init__(
        self,
        alphas=(0.1, 1.0, 10.0),
        *,
        fit_intercept=True,
        scoring=None,
        cv=None,
        gcv_mode=None,
        store_cv_results=False,
        alpha_per_target=False,
        tol=1e-6,
        max_iter=None,
        solver="auto",
        warm_start=False,
        time_limit=None,
        select="min",
    ):
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.scoring = scoring
        self.cv = cv
        self.gcv_mode = gcv_mode
        self.store_cv_results = store_cv_results
        self.alpha_per_target = alpha_per_target
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.select = select

    fit = fit
    get_metadata_routing = get_metadata_routing
    _scorer = _scorer
    _check_parameters = _check_parameters
    _choose = _choose

    def _read(self, X, y, sample_weight, *, reset=True):
        if reset and self.gcv_mode == "svd" and sp.issparse(X):
            warnings.warn(
                "The 'svd' mode is not supported for sparse X, and an error in scikit-learn 1.11; "
                "leave gcv_mode out.",
                FutureWarning,
                stacklevel=5,
            )
        return super()._read(X, y, sample_weight, reset=reset)

    def _formula(self) -> Formula:
        return squares_and_ridge(self)


@described(RIDGE_SEARCH, OF_CLASSES, SEARCHED)
class RidgeClassifierCV(RidgeClassifier):
    """Classifier by ridge regression on −1 and +1 that chooses its strength by leave-one-out.

    Minimises  ½ Σᵢ sᵢ (tᵢ − xᵢᵀw − b)² + ½α‖w‖²  with t = +1 for the class and −1 for the rest, for
    the α among `alphas` that predicts rows best which the model has not seen.

    Parameters
    ----------
    scoring : str or callable, default=None
        A scorer of scikit-learn. None is minus the mean squared error, or accuracy with `cv`.

    Attributes
    ----------
    cv_results_ : ndarray of shape (n_samples, n_classes, n_alphas)
        With `store_cv_results`, squared errors times weights, or predictions.
    coef_ : ndarray of shape (n_features,) or (n_classes, n_features)
        Coefficients w; a vector for two classes.
    classes_ : ndarray of shape (n_classes,)
        The classes; with several labels per row, the positions of the labels.
    is_multilabel_ : bool
        Whether a row may have several labels.

    Notes
    -----
    Costs as RidgeCV with one target per class.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from gapless import RidgeClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RidgeClassifierCV(alphas=[1e-3, 1e-2, 1e-1, 1]).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.96
    """

    _examples: ClassVar[Examples] = (
        Example("breast_cancer", {"alphas": np.geomspace(0.1, 1000, 30)}),
    )

    _guide = "tuning"
    _plain = RidgeClassifier
    _default_scoring = "accuracy"
    _stored: ClassVar[Declaration] = {
        **RidgeClassifier._stored,
        "best_score_": Unused(),
        "cv_results_": Unused(),
    }
    _parameter_constraints: ClassVar[dict] = {
        **LinearClassifier._parameter_constraints,
        **SEARCH,
    }

    def __init__(
        self,
        alphas=(0.1, 1.0, 10.0),
        *,
        fit_intercept=True,
        scoring=None,
        cv=None,
        class_weight=None,
        store_cv_results=False,
        tol=1e-6,
        max_iter=None,
        solver="auto",
        warm_start=False,
        time_limit=None,
        select="min",
    ):
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.scoring = scoring
        self.cv = cv
        self.class_weight = class_weight
        self.store_cv_results = store_cv_results
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.select = select

    fit = fit
    get_metadata_routing = get_metadata_routing
    _scorer = _scorer
    _check_parameters = _check_parameters
    _choose = _choose
