"""The classes with "CV" in their name: a strength from a list, by leave-one-out or by folds.

RidgeCV and RidgeClassifierCV leave one row out by default, exactly; LassoCV, ElasticNetCV,
MultiTaskLassoCV and LogisticRegressionCV use folds as scikit-learn does, and LogisticRegressionCV
leaves one out with cv="loo". Each settles on a plain estimator (`_at`), which says what is
minimised; fitting, certificates and generalisation are those of `_base`.
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import check_scoring, get_scorer, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils._metadata_requests import (
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)
from sklearn.utils._param_validation import Interval, StrOptions

from ..problem import Parameters
from ..solvers.path import solve_folds, solve_path
from ._base import SELECT, LinearClassifier, LinearRegressor, pack
from .classification import RidgeClassifier
from .folds import Scorer, fold_path, folds_of, part_of
from .regression import ElasticNet, Lasso, MultiTaskLasso, Ridge, SparseRegressor
from .selection import (
    Choice,
    Trail,
    largest_strength,
    path_of,
    ridge_trail,
    scaled,
)

Array = np.ndarray
SCORING = [StrOptions(set(get_scorer_names())), callable, None]


class CrossValidated:
    """What the classes below share: routed parameters, and the estimator that they settle on."""

    # The plain estimator, and the parameters whose values are chosen.
    _plain: ClassVar[type]
    _chosen: ClassVar[tuple[str, ...]] = ("alpha",)

    def fit(self, X, y, sample_weight=None, **params):
        """Choose the strength, and fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training data; float32 stays float32, everything else becomes float64. Never written to.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Target values.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights ≥ 0. Weight 2 means the row twice, weight 0 means the row is not there.
        **params : dict
            Further parameters for the splitter and the scorer, with metadata routing.

        Returns
        -------
        self : object
            The fitted estimator. Ctrl-C keeps the best coefficients found so far and raises
            KeyboardInterrupt; an error leaves the estimator as it was.
        """
        _raise_for_params(params, self, "fit")
        self._routed = self._route(sample_weight, params)
        try:
            return super().fit(X, y, sample_weight)
        finally:
            del self._routed

    def _route(self, sample_weight, params) -> tuple[dict, dict]:
        """What the splitter and the scorer are given."""
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        if not _routing_enabled():
            return {}, weights
        routed = process_routing(self, "fit", **weights, **params)
        scorer = routed.get("scorer", {"score": {}})
        return routed.splitter.split, scorer["score"]

    def _tuned(self):
        return self._chosen

    def _at(self, **values):
        shared = self._plain().get_params().keys() & self.get_params().keys()
        given = {name: getattr(self, name) for name in shared}
        return self._plain(**(given | {"select": "min"} | values))

    def _settled(self):
        values = {name: getattr(self, f"{name}_") for name in self._chosen}
        return self._at(**{name: _first(value) for name, value in values.items()})


def _first(value):
    """A number out of an array that repeats it for every class."""
    return float(np.ravel(value)[0]) if np.size(value) else value


# ---- ridge ---------------------------------------------------------------------------------------


class RidgeSearch(CrossValidated):
    """Base of RidgeCV and RidgeClassifierCV: exact leave-one-out, or folds with `cv`."""

    _parameter_constraints: ClassVar[dict] = {
        **SELECT,
        "alphas": ["array-like", Interval(Real, 0, None, closed="neither")],
        "scoring": SCORING,
        "cv": ["cv_object"],
        "store_cv_results": ["boolean"],
    }

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
        alphas = np.atleast_1d(np.asarray(self.alphas, dtype=float))
        lowest = "> 0" if self.cv is None else "≥ 0"
        for position, alpha in enumerate(alphas):
            if not np.isfinite(alpha) or alpha < 0 or (alpha == 0 and self.cv is None):
                name = "alphas" if len(alphas) == 1 else f"alphas[{position}]"
                raise ValueError(f"{name} == {alpha:g}, must be {lowest} and finite.")
        return alphas

    def _choose(self, data, callback):
        alphas = self._strengths()
        trail = (self._by_leave_one_out if self.cv is None else self._by_folds)(data, alphas)
        at = _chosen(trail, self.select)
        extra: dict[str, Any] = {"best_score_": float(trail.unseen[at])}
        alpha: Any = float(alphas[at])
        start = trail.parameters[at]
        if getattr(self, "alpha_per_target", False) and data.y.ndim == 2:
            alpha, extra["best_score_"], start = self._per_target(data, trail)
        if self.store_cv_results:
            extra["cv_results_"] = self._results(data, trail)
        path = path_of(trail, alphas, at)
        return Choice({"alpha": alpha}, start, path, [trail], 0, at, extra=extra)

    def _by_leave_one_out(self, data, alphas) -> Trail:
        """Exact held-out predictions for all strengths, scored by the scorer if there is one."""
        problem = self._at(alpha=1.0)._problems(data)[0]
        keep = self.scoring is not None or self.store_cv_results
        keep = keep or getattr(self, "alpha_per_target", False)
        trail = ridge_trail(problem, alphas, keep=keep)
        if self.scoring is None:
            return trail
        scorer, twin = Scorer(self.scoring, data.classes), self._twin(data)
        params, rows = self._routed[1], np.arange(problem.n)
        unseen = [
            scorer.score(twin._standing_in(z), data, rows, params, X=rows[:, None])
            for z in trail.z.swapaxes(0, 1)
        ]
        return replace(trail, unseen=np.array(unseen), standard_errors=np.full(len(alphas), np.nan))

    def _by_folds(self, data, alphas) -> Trail:
        """Scores averaged over folds, and the models of all rows."""
        folds = folds_of(self.cv, data, classifier=self._is_classifier, params=self._routed[0])
        scorer = Scorer(self.scoring or self._default_scoring, data.classes)
        scores = np.empty((len(folds), len(alphas)))
        unit = self._at(alpha=1.0)
        for k, (train, test) in enumerate(folds):
            part = part_of(data, train)
            path = fold_path(unit, part, alphas, None)
            for i, parameters in enumerate(path.parameters):
                model = fitted_twin(unit, part, path.problems, parameters)
                scores[k, i] = scorer.score(model, data, test, self._routed[1])
        trail = ridge_trail(unit._problems(data)[0], alphas)
        error = scores.std(axis=0, ddof=1) / np.sqrt(len(folds)) if len(folds) > 1 else np.nan
        return replace(
            trail,
            unseen=scores.mean(axis=0),
            standard_errors=np.broadcast_to(error, len(alphas)),
            method=f"{len(folds)}-fold",
        )

    def _twin(self, data):
        """A model of this class that can be scored, whatever it predicts."""
        problems = self._at(alpha=1.0)._problems(data)
        return fitted_twin(self._at(alpha=1.0), data, problems, [p.null for p in problems])

    def _per_target(self, data, trail: Trail):
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

    def _results(self, data, trail: Trail) -> Array:
        """Squared errors times weights, or predictions if a scorer was given; (n[, K], m)."""
        z = trail.z.swapaxes(1, 2)
        if self.scoring is None:
            y = self._at(alpha=1.0)._problems(data)[0].y.reshape(len(z), -1)
            z = data.weights[:, None, None] * (z - y[:, :, None]) ** 2
        flat = data.y.ndim == 1 and not self._is_classifier
        return (z[:, 0] if flat else z).astype(data.X.dtype)


def _chosen(trail: Trail, select: str) -> int:
    """The best in the order given, or the strongest within one standard error."""
    if select == "min":
        return int(np.nanargmax(trail.unseen))
    order = np.argsort(-trail.strengths, kind="stable")
    ranked = replace(
        trail, unseen=trail.unseen[order], standard_errors=trail.standard_errors[order]
    )
    return int(order[ranked.best(select)])


def fitted_twin(model, data, problems, parameters):
    """A copy of an estimator with these parameters, as if it had been fitted."""
    coef, intercept, _ = pack(problems, parameters)
    learned = {
        "coef_": coef,
        "intercept_": intercept,
        "n_features_in_": data.X.shape[1],
        "n_iter_": 0,
    }
    twin = model._at()
    for name, value in (learned | model._specifics(data, learned, [], [])).items():
        setattr(twin, name, value)
    return twin


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
        Folds, as in scikit-learn; None leaves out one distinct row at a time, exactly and in about
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
    Costs n·d² once (n²·d for n < d), and n·d for every few strengths. Equal rows are left out
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

    _plain = Ridge
    _default_scoring = "r2"
    _is_classifier = False
    _flattens_one_column = True
    _stored: ClassVar[tuple[str, ...]] = (
        *LinearRegressor._stored,
        "alpha_",
        "best_score_",
        "cv_results_",
        "path_",
    )
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
        Folds, as in scikit-learn; None leaves out one distinct row at a time, exactly.
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

    _plain = RidgeClassifier
    _default_scoring = "accuracy"
    _is_classifier = True
    _stored: ClassVar[tuple[str, ...]] = (*RidgeClassifier._stored, "best_score_", "cv_results_")
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


# ---- lasso and elastic net -----------------------------------------------------------------------


class SparseSearch(CrossValidated, SparseRegressor):
    """Base of LassoCV, ElasticNetCV and MultiTaskLassoCV: mean squared errors of folds."""

    _stored: ClassVar[tuple[str, ...]] = (*SparseRegressor._stored, "alphas_", "mse_path_")
    _parameter_constraints: ClassVar[dict] = {
        **{k: v for k, v in SparseRegressor._parameter_constraints.items() if k != "alpha"},
        "eps": [Interval(Real, 0, None, closed="neither")],
        "alphas": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "cv": ["cv_object"],
        "verbose": ["verbose"],
        "n_jobs": [Integral, None],
    }

    def get_metadata_routing(self):
        """What is passed on to the splitter.

        Returns
        -------
        routing : MetadataRouter
            As scikit-learn has it.
        """
        splitting = MethodMapping().add(caller="fit", callee="split")
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(splitter=check_cv(self.cv), method_mapping=splitting)
        )

    def _check_parameters(self):
        """Strengths are checked when they are read; α = 0 among them needs no warning."""

    def _read(self, X, y, sample_weight, *, reset=True):
        if np.ndim(sample_weight) == 0:  # the same weight for all rows changes nothing
            sample_weight = None
        columns = np.shape(y)[1] if np.ndim(y) == 2 else 0
        if not self._multi_output and columns > 1:
            raise ValueError(
                f"For multi-task outputs, use MultiTask{type(self).__name__}; y has shape "
                f"{np.shape(y)}, and {type(self).__name__} takes one target."
            )
        if self._multi_output and np.ndim(y) == 1:
            raise ValueError(
                f"For mono-task outputs, use {type(self).__name__.removeprefix('MultiTask')}; "
                "y must have shape (n, targets)."
            )
        return super()._read(X, y, sample_weight, reset=reset)

    def _ratios(self) -> list[float]:
        """The shares of the L1 penalty to try."""
        return [float(r) for r in np.atleast_1d(getattr(self, "l1_ratio", 1.0))]

    def _at(self, **values):
        if isinstance(getattr(self, "precompute", None), str):
            values |= {"precompute": False}
        return super()._at(**values)

    def _unit(self, ratio: float):
        """The plain estimator with α = 1."""
        given = {"l1_ratio": ratio} if "l1_ratio" in self._chosen else {}
        return self._at(alpha=1.0, **given)

    def _choose(self, data, callback):
        folds = folds_of(self.cv, data, classifier=False, params=self._routed[0])
        trails, errors = [], []
        for ratio in self._ratios():
            problem = self._unit(ratio)._problems(data)[0]
            alphas = self._alphas(problem, ratio)
            z = self._held_out(problem, alphas, folds, callback)
            mse = _fold_errors(data, z, folds)
            errors.append(mse)
            kept = _all_rows(z, folds, problem.n)
            trails.append(self._trail(problem, alphas, kept, mse, callback))
            if trails[-1].status != "optimal":
                break
        reached = [k for k, trail in enumerate(trails) if np.any(np.isfinite(trail.unseen))]
        if not reached:
            values = self._values(float(trails[0].strengths[0]), self._ratios()[0])
            return Choice(values, None, None, trails, status=trails[-1].status)
        k = max(reached, key=lambda k: np.nanmax(trails[k].unseen))
        trail = trails[k]
        at = trail.best(self.select)
        alphas = np.array([t.strengths for t in trails])
        same = len(trails) == 1 or not isinstance(self.alphas, Integral)
        extra = {
            "mse_path_": np.squeeze(np.moveaxis(np.array(errors), 1, 2)),
            "alphas_": alphas[0] if same else alphas,
        }
        values = self._values(float(trail.strengths[at]), self._ratios()[k])
        path = path_of(trail, trail.strengths, at)
        status = trails[-1].status
        return Choice(values, trail.parameters[at], path, trails, k, at, status, extra)

    def _values(self, alpha: float, ratio: float) -> dict[str, float]:
        return dict(zip(self._chosen, (alpha, ratio)))

    def _alphas(self, problem, ratio: float) -> Array:
        """The strengths to try, the largest first."""
        if not isinstance(self.alphas, Integral):
            alphas = np.sort(np.asarray(self.alphas, dtype=float))[::-1]
            for position, alpha in enumerate(np.ravel(self.alphas)):
                if not (np.isfinite(alpha) and alpha >= 0):
                    raise ValueError(f"alphas[{position}] == {alpha}, must be >= 0 and finite.")
            return alphas
        if ratio == 0:
            raise ValueError(
                "Automatic alpha grid generation is not supported for l1_ratio=0: no strength "
                "makes all coefficients 0. Please supply a grid by providing `alphas=`."
            )
        largest = largest_strength([problem], nothing=0.0)
        smallest = float(np.finfo(float).resolution)
        if largest <= smallest:
            return np.full(self.alphas, smallest)
        return np.geomspace(largest, largest * self.eps, self.alphas)

    def _held_out(self, problem, alphas: Array, folds, callback) -> list[Array]:
        """Predictions of the test rows of each fold, (rows, m, K)."""
        whole = float(problem.weights.sum())

        def penalties(total: float):
            return [scaled(problem.penalty, alpha * total / whole) for alpha in alphas]

        options = {"tol": self.tol, "max_iter": self.max_iter, "callback": callback}
        tests = np.concatenate([test for _, test in folds])
        # One call where no row is in two tests: folds then share what they can.
        together = len(np.unique(tests)) == len(tests)
        parts = [folds] if together else [[fold] for fold in folds]
        z = [solve_folds(problem, penalties, part, **options) for part in parts]
        shape = (len(alphas), -1)
        return [
            z[0 if together else k][test].reshape(len(test), *shape)
            for k, (_, test) in enumerate(folds)
        ]

    def _trail(self, problem, alphas: Array, z: Array | None, mse: Array, callback) -> Trail:
        """The models of all rows, and the errors of the folds as scores."""
        penalties = [scaled(problem.penalty, alpha) for alpha in alphas]
        status, models, gaps = "optimal", [], np.full(len(alphas), np.inf)
        if np.all(np.isfinite(mse)):
            path = solve_path(
                problem, penalties, tol=self.tol, max_iter=self.max_iter, callback=callback
            )
            models = [[Parameters(w, np.asarray(b))] for w, b in zip(path.w, path.b)]
            gaps, status = path.gaps, path.status
        if not models or status not in ("time_limit", "callback", "interrupted"):
            status = "optimal" if models else "time_limit"
        count = mse.shape[0]
        error = np.std(mse, axis=0, ddof=1) / np.sqrt(count) if count > 1 else np.zeros(len(alphas))
        models = models or [[problem.null]] * len(alphas)
        return Trail(
            strengths=alphas,
            gaps=gaps,
            parameters=models,
            rows=np.arange(problem.n),
            weights=problem.weights,
            z=z,
            unseen=-np.mean(mse, axis=0),
            standard_errors=error,
            method=f"{count}-fold",
            status=status,
        )


def _all_rows(z: list[Array], folds, n: int) -> Array | None:
    """The predictions of the folds as (n, m, K); None if some row is in two tests, or in none."""
    tests = np.concatenate([test for _, test in folds])
    if len(tests) != n or len(np.unique(tests)) != n:
        return None
    whole = np.empty((n, *z[0].shape[1:]))
    whole[tests] = np.concatenate(z)
    return whole


def _fold_errors(data, z: list[Array], folds) -> Array:
    """Mean squared errors (folds, m), weighted within a fold."""
    errors = []
    for held, (_, test) in zip(z, folds):
        y = data.y[test].reshape(len(test), 1, -1)
        of_rows = np.mean((held - y) ** 2, axis=2)
        errors.append(np.average(of_rows, axis=0, weights=data.sample_weight[test]))
    return np.array(errors)


class LassoCV(SparseSearch):
    """Lasso that chooses its strength by folds.

    Minimises  (1/2S) Σᵢ sᵢ (yᵢ − xᵢᵀw − b)² + α‖w‖₁  with S = Σsᵢ, for the α with the smallest mean
    squared error on rows that the model has not seen.

    Parameters
    ----------
    eps : float, default=1e-3
        The smallest of the α that are tried, as a part of the largest.
    alphas : int or array-like, default=100
        How many α to try, from where all coefficients are 0 downwards, or the values themselves.
    fit_intercept : bool, default=True
        Whether to fit the bias b, which is not penalised.
    precompute : bool, "auto" or array-like of shape (n_features, n_features), default="auto"
        Accepted for scikit-learn's sake; whether a Gram matrix pays is decided by the solver.
    max_iter : int, default=1000
        Largest number of steps at each strength; None leaves it to the solver.
    tol : float, default=1e-6
        Stop when the duality gap is at most `tol` times the objective at w = 0.
    copy_X : bool, default=True
        Accepted for scikit-learn's sake; X is never written to.
    cv : int, splitter or iterable, default=None
        Folds, as in scikit-learn; None means 5. With a number of folds, equal rows stay together.
    verbose : int, default=0
        Accepted for scikit-learn's sake; long fits show their progress on a terminal.
    n_jobs : int, default=None
        Accepted for scikit-learn's sake; the number of threads is GAPLESS_NUM_THREADS.
    positive : bool, default=False
        Whether to keep all coefficients ≥ 0.
    random_state : int, RandomState instance or None, default=None
        Accepted for scikit-learn's sake; nothing here is random.
    selection : {"cyclic", "random"}, default="cyclic"
        Accepted for scikit-learn's sake; the order of the features is decided by the solver.
    solver : str, default="auto"
        The solver of the last fit.
    warm_start : bool, default=False
        Without effect, since the search finds a better start.
    time_limit : float, default=None
        Seconds after which the best that was found so far is kept.
    select : {"min", "1se"}, default="min"
        The best α, or the largest within one standard error of it.

    Attributes
    ----------
    alpha_ : float
        The chosen strength.
    alphas_ : ndarray of shape (n_alphas,)
        The strengths that were tried, the largest first.
    mse_path_ : ndarray of shape (n_alphas, n_folds)
        Mean squared errors of the test rows of each fold.
    path_ : Path
        The models along all strengths and their scores on unseen rows.
    coef_ : ndarray of shape (n_features,)
        Coefficients.
    intercept_ : float
        Bias b.
    dual_gap_ : float
        Duality gap in the units of the objective above.
    dual_ : ndarray of shape (n_samples,)
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
    One path of solutions for each fold and one for all rows; for n ≫ d on Gram matrices that the
    folds share. `Lasso(alpha="loo")` leaves out one row at a time instead, and takes one path.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from gapless import LassoCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LassoCV(cv=5).fit(X, y)
    >>> round(model.alpha_, 4)
    0.0038
    """

    _plain = Lasso
    _multi_output = False
    _parameter_constraints: ClassVar[dict] = {
        **SparseSearch._parameter_constraints,
        "precompute": [StrOptions({"auto"}), "array-like", "boolean"],
        "positive": ["boolean"],
    }

    def __init__(
        self,
        *,
        eps=1e-3,
        alphas=100,
        fit_intercept=True,
        precompute="auto",
        max_iter=1000,
        tol=1e-6,
        copy_X=True,
        cv=None,
        verbose=False,
        n_jobs=None,
        positive=False,
        random_state=None,
        selection="cyclic",
        solver="auto",
        warm_start=False,
        time_limit=None,
        select="min",
    ):
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.copy_X = copy_X
        self.cv = cv
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.solver = solver
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.select = select


class ElasticNetCV(SparseSearch):
    """Elastic net that chooses its strength, and its share of L1 penalty, by folds.

    Minimises  (1/2S) Σᵢ sᵢ (yᵢ − xᵢᵀw − b)² + α(ρ‖w‖₁ + ½(1−ρ)‖w‖²)  with S = Σsᵢ, for the α and ρ
    with the smallest mean squared error on rows that the model has not seen.

    Parameters
    ----------
    l1_ratio : float or list of float, default=0.5
        Share ρ of the L1 penalty, between 0 (ridge) and 1 (lasso); a list to choose from.
    eps : float, default=1e-3
        The smallest of the α that are tried, as a part of the largest.
    alphas : int or array-like, default=100
        How many α to try, from where all coefficients are 0 downwards, or the values themselves.
    fit_intercept : bool, default=True
        Whether to fit the bias b, which is not penalised.
    precompute : bool, "auto" or array-like of shape (n_features, n_features), default="auto"
        Accepted for scikit-learn's sake; whether a Gram matrix pays is decided by the solver.
    max_iter : int, default=1000
        Largest number of steps at each strength; None leaves it to the solver.
    tol : float, default=1e-6
        Stop when the duality gap is at most `tol` times the objective at w = 0.
    copy_X : bool, default=True
        Accepted for scikit-learn's sake; X is never written to.
    cv : int, splitter or iterable, default=None
        Folds, as in scikit-learn; None means 5. With a number of folds, equal rows stay together.
    verbose : int, default=0
        Accepted for scikit-learn's sake; long fits show their progress on a terminal.
    n_jobs : int, default=None
        Accepted for scikit-learn's sake; the number of threads is GAPLESS_NUM_THREADS.
    positive : bool, default=False
        Whether to keep all coefficients ≥ 0.
    random_state : int, RandomState instance or None, default=None
        Accepted for scikit-learn's sake; nothing here is random.
    selection : {"cyclic", "random"}, default="cyclic"
        Accepted for scikit-learn's sake; the order of the features is decided by the solver.
    solver : str, default="auto"
        The solver of the last fit.
    warm_start : bool, default=False
        Without effect, since the search finds a better start.
    time_limit : float, default=None
        Seconds after which the best that was found so far is kept.
    select : {"min", "1se"}, default="min"
        The best α, or the largest within one standard error of it.

    Attributes
    ----------
    alpha_ : float
        The chosen strength.
    l1_ratio_ : float
        The chosen share of the L1 penalty.
    alphas_ : ndarray of shape (n_alphas,) or (n_l1_ratios, n_alphas)
        The strengths that were tried, the largest first.
    mse_path_ : ndarray of shape (n_l1_ratios, n_alphas, n_folds)
        Mean squared errors of the test rows of each fold.
    path_ : Path
        The models along all strengths and their scores on unseen rows.
    coef_ : ndarray of shape (n_features,)
        Coefficients.
    intercept_ : float
        Bias b.
    dual_gap_ : float
        Duality gap in the units of the objective above.
    dual_ : ndarray of shape (n_samples,)
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
    Costs as LassoCV for every ρ.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from gapless import ElasticNetCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ElasticNetCV(l1_ratio=[0.5, 0.9, 1.0]).fit(X, y)
    >>> model.l1_ratio_
    1.0
    """

    _plain = ElasticNet
    _multi_output = False
    _chosen = ("alpha", "l1_ratio")
    _stored: ClassVar[tuple[str, ...]] = (*SparseSearch._stored, "l1_ratio_")
    _parameter_constraints: ClassVar[dict] = {
        **SparseSearch._parameter_constraints,
        "precompute": [StrOptions({"auto"}), "array-like", "boolean"],
        "positive": ["boolean"],
        "l1_ratio": [Interval(Real, 0, 1, closed="both"), "array-like"],
    }

    def __init__(
        self,
        *,
        l1_ratio=0.5,
        eps=1e-3,
        alphas=100,
        fit_intercept=True,
        precompute="auto",
        max_iter=1000,
        tol=1e-6,
        cv=None,
        copy_X=True,
        verbose=False,
        n_jobs=None,
        positive=False,
        random_state=None,
        selection="cyclic",
        solver="auto",
        warm_start=False,
        time_limit=None,
        select="min",
    ):
        self.l1_ratio = l1_ratio
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.copy_X = copy_X
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.solver = solver
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.select = select


class MultiTaskLassoCV(SparseSearch):
    """Lasso for several targets that share their features, with a strength chosen by folds.

    Minimises  (1/2S) Σᵢ sᵢ ‖yᵢ − Wᵀxᵢ − b‖² + α Σⱼ ‖Wⱼ‖₂  for the α with the smallest mean squared
    error on rows that the model has not seen.

    Parameters
    ----------
    eps : float, default=1e-3
        The smallest of the α that are tried, as a part of the largest.
    alphas : int or array-like, default=100
        How many α to try, from where all coefficients are 0 downwards, or the values themselves.
    fit_intercept : bool, default=True
        Whether to fit the bias b, which is not penalised.
    max_iter : int, default=1000
        Largest number of steps at each strength; None leaves it to the solver.
    tol : float, default=1e-6
        Stop when the duality gap is at most `tol` times the objective at w = 0.
    copy_X : bool, default=True
        Accepted for scikit-learn's sake; X is never written to.
    cv : int, splitter or iterable, default=None
        Folds, as in scikit-learn; None means 5. With a number of folds, equal rows stay together.
    verbose : int, default=0
        Accepted for scikit-learn's sake; long fits show their progress on a terminal.
    n_jobs : int, default=None
        Accepted for scikit-learn's sake; the number of threads is GAPLESS_NUM_THREADS.
    random_state : int, RandomState instance or None, default=None
        Accepted for scikit-learn's sake; nothing here is random.
    selection : {"cyclic", "random"}, default="cyclic"
        Accepted for scikit-learn's sake; the order of the features is decided by the solver.
    solver : str, default="auto"
        The solver of the last fit.
    warm_start : bool, default=False
        Without effect, since the search finds a better start.
    time_limit : float, default=None
        Seconds after which the best that was found so far is kept.
    select : {"min", "1se"}, default="min"
        The best α, or the largest within one standard error of it.

    Attributes
    ----------
    alpha_ : float
        The chosen strength.
    alphas_ : ndarray of shape (n_alphas,)
        The strengths that were tried, the largest first.
    mse_path_ : ndarray of shape (n_alphas, n_folds)
        Mean squared errors of the test rows of each fold.
    path_ : Path
        The models along all strengths and their scores on unseen rows.
    coef_ : ndarray of shape (n_targets, n_features)
        Coefficients.
    intercept_ : ndarray of shape (n_targets,)
        Bias b.
    dual_gap_ : float
        Duality gap in the units of the objective above.
    dual_ : ndarray of shape (n_samples, n_targets)
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
    One path of solutions for each fold and one for all rows.

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from gapless import MultiTaskLassoCV
    >>> X, Y = make_regression(n_targets=2, n_samples=60, noise=4, random_state=0)
    >>> model = MultiTaskLassoCV(alphas=20).fit(X, Y)
    >>> model.coef_.shape
    (2, 100)
    """

    _plain = MultiTaskLasso
    _flattens_one_column = False

    def __init__(
        self,
        *,
        eps=1e-3,
        alphas=100,
        fit_intercept=True,
        max_iter=1000,
        tol=1e-6,
        copy_X=True,
        cv=None,
        verbose=False,
        n_jobs=None,
        random_state=None,
        selection="cyclic",
        solver="auto",
        warm_start=False,
        time_limit=None,
        select="min",
    ):
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.copy_X = copy_X
        self.cv = cv
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.selection = selection
        self.solver = solver
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.select = select

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = False
        return tags
