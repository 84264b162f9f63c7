"""RidgeCV and RidgeClassifierCV: a strength by exact leave-one-out, or by folds."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import check_scoring, get_scorer
from sklearn.utils._metadata_requests import (
    MetadataRouter,
    MethodMapping,
    _routing_enabled,
)
from sklearn.utils._param_validation import Interval, StrOptions

from ..._ground.about import Example, Examples, Formula
from ..._ground.stored import Declaration, Unused
from ...problem import Parameters
from ._base import SELECT
from .cross_validated import (
    SCORING,
    CrossValidated,
    Scorer,
    all_rows,
    check_strengths,
    chosen,
    fitted_twin,
    fold_path,
    folds_of,
    part_of,
    scored_errors,
)
from .path import SCORES, ScoredPath
from .path_choice import PathChoice
from .path_following import ridge_path
from .ridge import Ridge, RidgeClassifier, squares_and_ridge
from .tasks import LinearClassifier, LinearRegressor
from .tuning import fitted_of

Array = np.ndarray


class RidgeSearch(CrossValidated):
    """Base of RidgeCV and RidgeClassifierCV: exact leave-one-out, or folds with `cv`."""

    _parameter_constraints: ClassVar[dict] = {
        **SELECT,
        "alphas": ["array-like", Interval(Real, 0, None, closed="neither")],
        "scoring": SCORING,
        "cv": ["cv_object"],
        "store_cv_results": ["boolean"],
    }
    # The score of folds where none is asked for.
    _default_scoring: ClassVar[str]
    _is_classifier: ClassVar[bool]
    alphas: Any
    scoring: Any
    select: str
    cv: Any
    store_cv_results: bool

    def _settled(self):
        return self._at(alpha=self.alpha_)

    def get_metadata_routing(self):
        """What is passed on to the scorer and the splitter.

        Returns
        -------
        routing : MetadataRouter
            As scikit-learn has it.
        """
        scoring = MethodMapping().add(caller="fit", callee="score")
        splitting = MethodMapping().add(caller="fit", callee="split")
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(scorer=self._scorer(), method_mapping=scoring)
            .add(splitter=self.cv, method_mapping=splitting)
        )

    def _scorer(self):
        """The scorer, or the default one of the class, which then takes weights."""
        if _routing_enabled() and self.scoring is None:
            return get_scorer(self._default_scoring).set_score_request(sample_weight=True)
        return check_scoring(self, self.scoring, allow_none=True)

    def _check_parameters(self):
        super()._check_parameters()
        if self.cv is not None:
            for name in ("store_cv_results", "alpha_per_target"):
                if getattr(self, name, False):
                    raise ValueError(f"cv!=None and {name}=True are incompatible; leave one out.")

    def _strengths(self) -> Array:
        """The alphas to try, in the order in which they were given."""
        given = [self.alphas] if np.ndim(self.alphas) == 0 else list(self.alphas)
        return check_strengths(given, "neither" if self.cv is None else "left")

    def _read(self, X, y, sample_weight, *, reset=True):
        if reset and getattr(self, "gcv_mode", None) == "svd" and sp.issparse(X):
            warnings.warn(
                "The 'svd' mode is not supported for sparse X, and an error in scikit-learn 1.11; "
                "leave gcv_mode out.",
                FutureWarning,
                stacklevel=5,
            )
        return super()._read(X, y, sample_weight, reset=reset)

    def _choose(self, data, callback):
        alphas = self._strengths()
        trail = (self._by_leave_one_out if self.cv is None else self._by_folds)(data, alphas)
        at = chosen(trail, self.select)
        extra: dict[str, Any] = {"best_score_": float(trail.unseen[at])}
        alpha: Any = float(alphas[at])
        start = trail.parameters[at]
        if getattr(self, "alpha_per_target", False) and data.y.ndim == 2:
            alpha, extra["best_score_"], start = self._per_target(data, trail)
        if self.store_cv_results:
            extra["cv_results_"] = self._results(data, trail)
        winner = at if np.ndim(alpha) == 0 else -1
        by = self.scoring or (None if self.cv is None else self._default_scoring)
        path = trail.shown(alphas, at, by or SCORES["squared"])
        return PathChoice(
            {"alpha": alpha}, start, path, [trail], 0, winner, extra=extra, scoring=by
        )

    def _by_leave_one_out(self, data, alphas) -> ScoredPath:
        """Exact held-out predictions for all strengths, scored by the scorer if there is one."""
        problem = self._at(alpha=1.0)._problems(data)[0]
        keep = self.scoring is not None or self.store_cv_results
        keep = keep or getattr(self, "alpha_per_target", False)
        trail = ridge_path(problem, alphas, keep=keep)
        if self.scoring is None:
            return trail
        scorer, twin = Scorer(self.scoring, data.classes), self._twin(data)
        params, rows = self._routed[1], np.arange(problem.n)
        unseen = [
            scorer.score(twin._standing_in(z), data, rows, params, X=rows[:, None])
            for z in trail.z.swapaxes(0, 1)
        ]
        errors = np.full(len(alphas), np.nan)
        if self.select == "1se":
            errors = scored_errors(twin, fitted_of(self._at(alpha=1.0), data), trail, self.scoring)
        return replace(trail, unseen=np.array(unseen), standard_errors=errors)

    def _by_folds(self, data, alphas) -> ScoredPath:
        """Scores averaged over folds, and the models of all rows."""
        folds = folds_of(self.cv, data, classifier=self._is_classifier, params=self._routed[0])
        scorer = Scorer(self.scoring or self._default_scoring, data.classes)
        scores = np.empty((len(folds), len(alphas)))
        unit, z = self._at(alpha=1.0), []
        for k, (train, test) in enumerate(folds):
            part = part_of(data, train)
            path = fold_path(unit, part, alphas, None)
            models = [fitted_twin(unit, part, path.problems, p) for p in path.parameters]
            scores[k] = [scorer.score(m, data, test, self._routed[1]) for m in models]
            held = [m._scores(data.X[test]).reshape(len(test), -1) for m in models]
            z.append(np.stack(held, axis=1))
        trail = ridge_path(unit._problems(data)[0], alphas)
        error = scores.std(axis=0, ddof=1) / np.sqrt(len(folds)) if len(folds) > 1 else np.nan
        return replace(
            trail,
            z=all_rows(z, folds, data.weights),
            unseen=scores.mean(axis=0),
            standard_errors=np.broadcast_to(error, len(alphas)),
            method=f"{len(folds)}-fold",
        )

    def _twin(self, data):
        """A model of this class that can be scored, whatever it predicts."""
        problems = self._at(alpha=1.0)._problems(data)
        return fitted_twin(self._at(alpha=1.0), data, problems, [p.null for p in problems])

    def _per_target(self, data, trail: ScoredPath):
        """The best alpha of each target, its score, and the coefficients."""
        y, s = data.y, data.weights
        scores = -np.einsum("i,imk->mk", s, (trail.z - y[:, None, :]) ** 2) / s.sum()
        if self.scoring is not None:
            scorer, rows = Scorer(self.scoring, None), np.arange(len(y))
            parts = [replace(data, y=column) for column in y.T]
            twins, params = [self._twin(part) for part in parts], self._routed[1]
            scores = np.array(
                [
                    [
                        scorer.score(
                            twin._standing_in(z[:, [k]]), part, rows, params, X=rows[:, None]
                        )
                        for k, (twin, part) in enumerate(zip(twins, parts))
                    ]
                    for z in trail.z.swapaxes(0, 1)
                ]
            )
        best = scores.argmax(axis=0)
        start = [
            Parameters(trail.parameters[i][0].w[:, k], np.asarray(trail.parameters[i][0].b[k]))
            for k, i in enumerate(best)
        ]
        return trail.strengths[best], scores.max(axis=0), start

    def _results(self, data, trail: ScoredPath) -> Array:
        """Squared errors times weights, or predictions if a scorer was given; (n[, K], m)."""
        z = trail.z.swapaxes(1, 2)
        if self.scoring is None:
            y = self._at(alpha=1.0)._problems(data)[0].y.reshape(len(z), -1)
            z = data.weights[:, None, None] * (z - y[:, :, None]) ** 2
        flat = data.y.ndim == 1 and not self._is_classifier
        return (z[:, 0] if flat else z).astype(data.X.dtype)


class RidgeCV(RidgeSearch, LinearRegressor):
    """Ridge regression that chooses its strength, by default by exact leave-one-out.

    Minimises  ½ Σᵢ sᵢ (yᵢ − xᵢᵀw − b)² + ½α‖w‖²  for the α among `alphas` that predicts rows best
    which the model has not seen.

    Parameters
    ----------
    alphas : array-like of shape (n_alphas,), default=(0.1, 1.0, 10.0)
        Strengths α > 0 to try.
    fit_intercept : bool, default=True
        Whether to fit the bias b, which is not penalised.
    scoring : str or callable, default=None
        A scorer of scikit-learn. None is minus the mean squared error, or R² with `cv`.
    cv : int, splitter or iterable, default=None
        Folds, as in scikit-learn; None leaves out one distinct x at a time, exactly and in about
        the time of one fit.
    gcv_mode : {"auto", "svd", "eigen"}, default=None
        Accepted for scikit-learn's sake; which decomposition keeps the digits is decided here.
    store_cv_results : bool, default=False
        Whether to keep the errors (with `scoring`: the predictions) of all rows in `cv_results_`.
    alpha_per_target : bool, default=False
        Whether each target gets an α of its own.
    tol : float, default=1e-6
        The certificate is "optimal" up to this duality gap, relative to the objective at w = 0.
    max_iter : int, default=None
        Largest number of steps of the last fit; None leaves it to the solver.
    solver : str, default="auto"
        The solver of the last fit, which begins at the solution that the search has found.
    warm_start : bool, default=False
        Without effect, since the search finds a better start.
    time_limit : float, default=None
        Seconds after which the best that was found so far is kept.
    select : {"min", "1se"}, default="min"
        The best strength, or the strongest penalty within one standard error of it.

    Attributes
    ----------
    alpha_ : float or ndarray of shape (n_targets,)
        The chosen strength.
    best_score_ : float or ndarray of shape (n_targets,)
        Its score on unseen rows, not yet corrected for the choice: that is `generalization_`.
    cv_results_ : ndarray of shape (n_samples, n_alphas) or (n_samples, n_targets, n_alphas)
        With `store_cv_results`, squared errors times weights, or predictions.
    path_ : Path
        The models along all strengths and their scores on unseen rows.
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients w.
    intercept_ : float or ndarray of shape (n_targets,)
        Bias b.
    dual_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Dual point θ, which proves the certificate.
    certificate_ : Certificate
        How far the fit can be from the best possible one.
    trace_ : Trace or list of Trace
        Objective, gap and seconds of every step of the last fit.
    solver_ : str
        The solver of the last fit.
    n_iter_ : int
        Number of its steps.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had names.

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

    _plain = Ridge
    _default_scoring = "r2"
    _is_classifier = False
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
        **RidgeSearch._parameter_constraints,
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

    def _formula(self) -> Formula:
        return squares_and_ridge(self)


class RidgeClassifierCV(RidgeSearch, RidgeClassifier):
    """Classifier by ridge regression on −1 and +1 that chooses its strength by leave-one-out.

    Minimises  ½ Σᵢ sᵢ (tᵢ − xᵢᵀw − b)² + ½α‖w‖²  with t = +1 for the class and −1 for the rest, for
    the α among `alphas` that predicts rows best which the model has not seen.

    Parameters
    ----------
    alphas : array-like of shape (n_alphas,), default=(0.1, 1.0, 10.0)
        Strengths α > 0 to try.
    fit_intercept : bool, default=True
        Whether to fit the bias b, which is not penalised.
    scoring : str or callable, default=None
        A scorer of scikit-learn. None is minus the mean squared error, or accuracy with `cv`.
    cv : int, splitter or iterable, default=None
        Folds, as in scikit-learn; None leaves out one distinct x at a time, exactly.
    class_weight : dict or "balanced", default=None
        Weights of the classes, by which the weights of their rows are multiplied.
    store_cv_results : bool, default=False
        Whether to keep the errors (with `scoring`: the predictions) of all rows in `cv_results_`.
    tol : float, default=1e-6
        The certificate is "optimal" up to this duality gap, relative to the objective at w = 0.
    max_iter : int, default=None
        Largest number of steps of the last fit; None leaves it to the solver.
    solver : str, default="auto"
        The solver of the last fit, which begins at the solution that the search has found.
    warm_start : bool, default=False
        Without effect, since the search finds a better start.
    time_limit : float, default=None
        Seconds after which the best that was found so far is kept.
    select : {"min", "1se"}, default="min"
        The best strength, or the strongest penalty within one standard error of it.

    Attributes
    ----------
    alpha_ : float
        The chosen strength.
    best_score_ : float
        Its score on unseen rows, not yet corrected for the choice: that is `generalization_`.
    cv_results_ : ndarray of shape (n_samples, n_classes, n_alphas)
        With `store_cv_results`, squared errors times weights, or predictions.
    path_ : Path
        The models along all strengths and their scores on unseen rows.
    coef_ : ndarray of shape (n_features,) or (n_classes, n_features)
        Coefficients w; a vector for two classes.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Bias b.
    classes_ : ndarray of shape (n_classes,)
        The classes; with several labels per row, the positions of the labels.
    dual_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Dual point θ, which proves the certificate.
    certificate_ : Certificate
        How far the fit can be from the best possible one.
    trace_ : Trace
        Objective, gap and seconds of every step of the last fit.
    solver_ : str
        The solver of the last fit.
    n_iter_ : int
        Number of its steps.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had names.

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

    _plain = RidgeClassifier
    _default_scoring = "accuracy"
    _is_classifier = True
    _stored: ClassVar[Declaration] = {
        **RidgeClassifier._stored,
        "best_score_": Unused(),
        "cv_results_": Unused(),
    }
    _parameter_constraints: ClassVar[dict] = {
        **LinearClassifier._parameter_constraints,
        **RidgeSearch._parameter_constraints,
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
