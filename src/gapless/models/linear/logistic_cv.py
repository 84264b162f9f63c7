"""LogisticRegressionCV: C and the share of L1 penalty, by folds or by leave-one-out."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import get_scorer
from sklearn.utils import metadata_routing
from sklearn.utils._metadata_requests import (
    _raise_for_params,
    _routing_enabled,
    process_routing,
)
from sklearn.utils._param_validation import Hidden, Interval, StrOptions

from ..._ground.about import Example, Examples
from ..._ground.docstrings import described
from ..._ground.stored import Declaration, Unused
from ...problem import Parameters
from ...unseen import LOO
from .cross_validated import (
    SCORING,
    Scorer,
    chosen,
    fit,
    fitted_twin,
    fold_path,
    folds_of,
    get_metadata_routing,
    part_of,
    score_folds,
    scored_errors,
)
from .logistic import LogisticRegression
from .parameters import OF_CLASSES, SEARCHED
from .path import SCORES, ScoredPath
from .path_choice import PathChoice
from .path_following import follow
from .problems import fitted_of, pack

Array = np.ndarray


@described(OF_CLASSES, SEARCHED)
class LogisticRegressionCV(LogisticRegression):
    """Logistic regression that chooses C, and its share of L1 penalty, by folds or leave-one-out.

    Minimises  C Σᵢ sᵢ log(1 + exp(−tᵢ(xᵢᵀw + b))) + ρ‖w‖₁ + ½(1−ρ)‖w‖²  with t = ±1; for more
    classes the loss is −log softmax(Wᵀxᵢ + b)_y.

    Parameters
    ----------
    Cs : int or array-like, default=10
        Values of C to try, or how many from 1e-4 to 1e4.
    l1_ratios : array-like, default="warn"
        Shares ρ of the L1 penalty to try, between 0 (ridge) and 1 (lasso). None means 0, as does
        "warn", which warns that scikit-learn will change its default.
    cv : int, splitter, iterable or "loo", default=None
        Folds, as in scikit-learn; None means 5, and with a number of folds the rows of one x stay
        together. "loo" leaves out one distinct x at a time, in about the time of a few fits.
    dual : bool, default=False
        Accepted for scikit-learn's sake; see `solver`.
    penalty : {"l1", "l2", "elasticnet"}, default="deprecated"
        Deprecated in scikit-learn 1.8: use `l1_ratios`.
    scoring : str or callable, default="warn"
        A scorer of scikit-learn. None is accuracy for folds, and for "loo" minus the log loss, as
        is "warn", which warns that scikit-learn will change its default.
    solver : str or Solver, default="auto"
        A solver of gapless by name, "auto", or a value such as `LBFGS(memory=20)`. scikit-learn's
        names are understood.
    max_iter : int, default=100
        Largest number of steps.
    refit : bool, default=True
        Whether to fit all rows with the chosen C. If False, the coefficients and C are the means of
        the best of each fold, which is not a minimum, and the certificate says so.
    use_legacy_attributes : bool, default="warn"
        Whether `C_`, `l1_ratio_`, `coefs_paths_`, `scores_` and `n_iter_` have the shapes of before
        scikit-learn 1.8: dictionaries by class, and arrays that repeat a number. "warn" is True,
        and warns that scikit-learn will change its default.
    select : {"min", "1se"}, default="min"
        The best C, or the smallest within one standard error of it.

    Attributes
    ----------
    C_ : ndarray of shape (1,) or (n_classes,), or float
        The chosen C.
    l1_ratio_ : ndarray of shape (1,) or (n_classes,), or float
        The chosen share of the L1 penalty.
    Cs_ : ndarray of shape (n_cs,)
        The values of C that were tried.
    l1_ratios_ : ndarray of shape (n_l1_ratios,)
        The shares that were tried.
    scores_ : dict of ndarray of shape (n_folds, n_cs[, n_l1_ratios]), or ndarray
        Scores of the test rows; "loo" is one fold. Without the legacy attributes an array of shape
        (n_folds, n_l1_ratios, n_cs).
    coefs_paths_ : dict of ndarray of shape (n_folds, n_cs[, n_l1_ratios], n_dof), or ndarray
        Coefficients, and bias, of the models of each fold; for "loo", of all rows. Without the
        legacy attributes of shape (n_folds, n_l1_ratios, n_cs, n_classes, n_dof).
    path_ : Path
        The models of all rows along C, and their scores on unseen rows.
    n_iter_ : ndarray of shape (1, n_folds, n_cs[, n_l1_ratios]) or (n_folds, n_l1_ratios, n_cs)
        Numbers of steps.

    Notes
    -----
    A path of solutions for every fold and one for all rows, each beginning where the last one
    ended; "loo" needs the latter alone.

    References
    ----------
    Rad and Maleki (2020), A scalable estimate of the out-of-sample prediction error via approximate
    leave-one-out cross-validation, J. R. Stat. Soc. B 82.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gapless import LogisticRegressionCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegressionCV(
    ...     l1_ratios=(0,), cv="loo", scoring="neg_log_loss", use_legacy_attributes=False
    ... ).fit(X, y)
    >>> round(model.C_, 1)
    21.5
    """

    _examples: ClassVar[Examples] = (
        Example(
            "breast_cancer",
            {"l1_ratios": (0.0,), "scoring": "accuracy", "use_legacy_attributes": False},
        ),
    )

    # As in scikit-learn: `score` takes weights by name, without a request of its own.
    __metadata_request__score: ClassVar[dict] = {"sample_weight": metadata_routing.UNUSED}

    _guide = "tuning"
    _plain = LogisticRegression
    _chosen = ("C", "l1_ratio")
    _scoring_methods = ("fit", "score")
    fit = fit
    get_metadata_routing = get_metadata_routing
    _stored: ClassVar[Declaration] = {
        **LogisticRegression._stored,
        "Cs_": Unused(),
        "l1_ratios_": Unused(),
        "scores_": Unused(),
        "coefs_paths_": Unused(),
    }
    _parameter_constraints: ClassVar[dict] = {
        **{
            name: values
            for name, values in LogisticRegression._parameter_constraints.items()
            if name not in ("C", "l1_ratio")
        },
        "Cs": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "l1_ratios": ["array-like", None, Hidden(StrOptions({"warn"}))],
        "cv": ["cv_object", StrOptions({LOO})],
        "scoring": [*SCORING, Hidden(StrOptions({"warn"}))],
        "refit": ["boolean"],
        "penalty": [
            StrOptions({"l1", "l2", "elasticnet"}),
            Hidden(StrOptions({"deprecated"})),
        ],
        "use_legacy_attributes": ["boolean", Hidden(StrOptions({"warn"}))],
    }

    def __init__(
        self,
        *,
        Cs=10,
        l1_ratios="warn",
        fit_intercept=True,
        cv=None,
        dual=False,
        penalty="deprecated",
        scoring="warn",
        solver="auto",
        tol=1e-6,
        max_iter=100,
        class_weight=None,
        n_jobs=None,
        verbose=0,
        refit=True,
        intercept_scaling=1.0,
        random_state=None,
        use_legacy_attributes="warn",
        warm_start=False,
        time_limit=None,
        select="min",
    ):
        self.Cs = Cs
        self.l1_ratios = l1_ratios
        self.fit_intercept = fit_intercept
        self.cv = cv
        self.dual = dual
        self.penalty = penalty
        self.scoring = scoring
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.refit = refit
        self.intercept_scaling = intercept_scaling
        self.random_state = random_state
        self.use_legacy_attributes = use_legacy_attributes
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.select = select

    def score(self, X, y, *, sample_weight=None, **score_params):
        """Score by the `scoring` of the search.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to score.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        **score_params : dict
            Further parameters of the scorer, with metadata routing.

        Returns
        -------
        score : float
            Higher is better.
        """
        _raise_for_params(score_params, self, "score")
        if sample_weight is not None:
            score_params["sample_weight"] = sample_weight
        if _routing_enabled():
            score_params = process_routing(self, "score", **score_params).scorer.score
        return self._scorer()(self, X, y, **score_params)

    def _scorer(self):
        default = "accuracy" if self.scoring in (None, "warn") else self.scoring
        return get_scorer(default)

    # ---- what is tried ---------------------------------------------------------------------------

    def _check_parameters(self):
        self._warn_of_defaults()
        ratios = self._ratios()
        for ratio in ratios:
            if not (isinstance(ratio, Real) and 0 <= ratio <= 1):
                raise ValueError(
                    "l1_ratios must be an array-like of numbers between 0 and 1; got "
                    f"(l1_ratios={self.l1_ratios!r})."
                )
        for ratio in ratios:
            self._at(C=1.0, l1_ratio=float(ratio))._check_solver()

    def _warn_of_defaults(self):
        """The warnings of scikit-learn 1.8 and 1.9, so that both warn about the same calls."""
        said = []
        if isinstance(self.l1_ratios, str):
            said.append(
                "The default value for l1_ratios will change from None to (0.0,) in scikit-learn "
                "1.10; set l1_ratios=(0,) now."
            )
        elif self.l1_ratios is None and self.penalty == "deprecated":
            said.append("'l1_ratios=None' was deprecated in scikit-learn 1.8; use l1_ratios=(0,).")
        if self.penalty != "deprecated":
            said.append(
                "'penalty' was deprecated in scikit-learn 1.8; use l1_ratios=(0,) for 'l2', "
                "l1_ratios=(1,) for 'l1', and values between for 'elasticnet'."
            )
        if self.scoring == "warn" and self.cv != LOO:
            said.append(
                "The default value of the parameter 'scoring' will change from None, i.e. "
                "accuracy, to 'neg_log_loss' in scikit-learn 1.11; set scoring."
            )
        if self.use_legacy_attributes == "warn":
            said.append(
                "The fitted attributes of LogisticRegressionCV will be simplified in scikit-learn "
                "1.10. The default value of use_legacy_attributes will change from True to False; "
                "set it to have the new ones now, or to keep the old ones."
            )
        for text in said:
            warnings.warn(text, FutureWarning, stacklevel=6)
        if self.penalty in ("l1", "l2") and not (
            self.l1_ratios is None or isinstance(self.l1_ratios, str)
        ):
            warnings.warn(
                "l1_ratios parameter is only used when penalty is 'elasticnet'. "
                f"Got (penalty={self.penalty})",
                UserWarning,
                stacklevel=5,
            )

    def _ratios(self) -> list:
        """The shares of the L1 penalty to try."""
        if self.penalty in ("l1", "l2"):
            return [float(self.penalty == "l1")]
        given = None if isinstance(self.l1_ratios, str) else self.l1_ratios
        if self.penalty == "elasticnet" and (given is None or not len(given)):
            raise ValueError(
                "l1_ratios must be an array-like of numbers between 0 and 1 with "
                f"penalty='elasticnet'; got (l1_ratios={given!r})."
            )
        return [0.0] if given is None else list(given)

    def _at(self, **values):
        if values.get("l1_ratio", 0.0) is None:
            values["l1_ratio"] = 0.0
        return super()._at(**({"penalty": "deprecated", "n_jobs": None} | values))

    def _settled(self):
        ratio = np.ravel(self.l1_ratio_)[0]
        ratio = self._ratios()[0] if ratio is None else float(ratio)
        return self._at(C=float(np.ravel(self.C_)[0]), l1_ratio=ratio)

    # ---- the search ------------------------------------------------------------------------------

    def _choose(self, data, callback):
        Cs = np.logspace(-4, 4, self.Cs) if isinstance(self.Cs, Integral) else np.array(self.Cs)
        Cs, ratios = np.asarray(Cs, dtype=float), self._ratios()
        search = self._by_leave_one_out if self.cv == LOO else self._by_folds
        units = [self._at(C=1.0, l1_ratio=float(ratio)) for ratio in ratios]
        paths, tables = zip(*(search(unit, data, Cs, callback) for unit in units))
        status = paths[-1].status
        scores = np.stack([table.scores for table in tables], axis=2)
        mean = np.mean(scores, axis=0)
        if not np.any(np.isfinite(mean)):
            return PathChoice({"C": Cs[0], "l1_ratio": ratios[0]}, paths=[*paths], status=status)
        at, k = np.unravel_index(np.nanargmax(mean), mean.shape)
        path = paths[k]
        if self.select == "1se":
            at = chosen(path, "1se")
        values = {"C": float(Cs[at]), "l1_ratio": float(ratios[k])}
        by = None if self.scoring in (None, "warn") else self.scoring
        if by is None and self.cv != LOO:
            by = "accuracy"
        shown = path.shown(Cs, int(at), by or SCORES["logistic"], None)
        extra = self._attributes(data, Cs, tables, scores, values)
        start = path.parameters[at]
        if not self.refit:
            start, extra, values = self._averaged(data, Cs, tables, scores, extra, ratios)
            status, at = "averaged", -1  # no model of the paths
        return PathChoice(values, start, shown, [*paths], int(k), int(at), status, extra, by)

    def _by_leave_one_out(self, unit, data, Cs, callback):
        """One path of all rows for a share of L1, and its held-out scores."""
        fitted = fitted_of(unit, data)
        path = follow(fitted, 1 / np.sort(Cs), callback)
        path = _placed(path, 1 / Cs, fitted.problems)
        if self.scoring not in (None, "warn"):
            path = self._scored(data, unit, fitted, path)
        coefs = _dof(fitted.problems, path.parameters, self.fit_intercept)
        steps = np.ones(len(Cs), dtype=int)
        return path, Table(path.unseen[None], coefs[None], steps[None])

    def _scored(self, data, unit, fitted, path: ScoredPath) -> ScoredPath:
        """The path with the scores of held-out rows by the scorer."""
        twin = fitted_twin(unit, data, fitted.problems, [p.null for p in fitted.problems])
        scorer, rows = Scorer(self.scoring, data.classes), path.rows
        part = replace(part_of(data, rows), sample_weight=path.weights)
        at, params = np.arange(len(rows)), {"sample_weight": path.weights}
        scores = np.full(len(path.strengths), np.nan)
        for k in np.flatnonzero(np.isfinite(path.unseen)):
            model = twin._standing_in(path.z[:, k])
            scores[k] = scorer.score(model, part, at, params, X=at[:, None])
        errors = np.full(len(scores), np.nan)
        if self.select == "1se":
            errors = scored_errors(twin, fitted, path, self.scoring)
        return replace(path, unseen=scores, standard_errors=errors)

    def _by_folds(self, unit, data, Cs, callback):
        """One path for each fold and one of all rows, for a share of L1, with scores of folds."""
        splitting, scoring = self._routed
        folds = folds_of(self.cv, data, classifier=True, params=splitting)
        by = "accuracy" if self.scoring in (None, "warn") else self.scoring
        scorer = Scorer(by, data.classes)
        found = score_folds(unit, data, 1 / Cs, folds, scorer, scoring, callback)
        whole = fold_path(unit, data, 1 / Cs, callback)
        coefs = [_dof(path.problems, path.parameters, self.fit_intercept) for path in found.paths]
        steps = np.array([path.steps for path in found.paths])
        path = ScoredPath(
            strengths=1 / Cs,
            gaps=whole.gaps,
            parameters=whole.parameters,
            rows=np.arange(len(data.y)),
            weights=data.weights,
            z=found.z,
            unseen=found.scores.mean(axis=0),
            standard_errors=found.standard_errors,
            method=f"{len(folds)}-fold",
        )
        return path, Table(found.scores, np.array(coefs), steps)

    # ---- attributes as scikit-learn has them -----------------------------------------------------

    def _attributes(self, data, Cs, tables, scores, values) -> dict[str, Any]:
        """Everything except the coefficients; `tables` has one entry per share of L1."""
        given = None if isinstance(self.l1_ratios, str) else self.l1_ratios
        coefs = np.stack([table.coefs for table in tables], axis=2)  # folds, Cs, ratios, K, dof
        steps = np.stack([table.steps for table in tables], axis=2)
        ratios = np.array(
            [None] if given is None and self.penalty == "deprecated" else self._ratios()
        )
        known = {"Cs_": Cs, "l1_ratios_": ratios}
        if self.use_legacy_attributes is False:
            return known | {
                "C_": values["C"],
                "l1_ratio_": values["l1_ratio"],
                "scores_": scores.swapaxes(1, 2),
                "coefs_paths_": coefs.swapaxes(1, 2),
                "n_iter_": steps.swapaxes(1, 2),
            }
        if given is None:
            scores, coefs, steps = scores[:, :, 0], coefs[:, :, 0], steps[:, :, 0]
        labels = data.classes[1:] if len(data.classes) == 2 else data.classes
        ratio = values["l1_ratio"] if given is not None else ratios[0]
        return known | {
            "C_": np.full(len(labels), values["C"]),
            "l1_ratio_": np.array([ratio] * len(labels)),
            "scores_": dict.fromkeys(labels, scores),
            "coefs_paths_": {label: coefs[..., k, :] for k, label in enumerate(labels)},
            "n_iter_": steps[None],
        }

    def _averaged(self, data, Cs, tables, scores, extra, ratios):
        """The means over folds of the best model of each, for refit=False."""
        flat = scores.reshape(len(scores), -1).argmax(axis=1)
        at, k = np.unravel_index(flat, scores.shape[1:])
        best = np.mean([tables[j].coefs[f, i] for f, (i, j) in enumerate(zip(at, k))], axis=0)
        d = data.X.shape[1]
        w, b = best[:, :d], best[:, d] if self.fit_intercept else np.zeros(len(best))
        single = len(data.classes) == 2
        start = [Parameters(w[0], np.asarray(b[0])) if single else Parameters(w.T.copy(), b)]
        values = {"C": float(np.mean(Cs[at])), "l1_ratio": float(np.mean(np.array(ratios)[k]))}
        legacy = self.use_legacy_attributes is not False
        count = 1 if single else len(data.classes)
        means = {f"{name}_": np.full(count, v) if legacy else v for name, v in values.items()}
        return start, extra | means, values

    def _specifics(self, data, learned, solutions, certificates):
        return {"classes_": data.classes}

    def _warn_if_stopped(self, problem, solutions):
        if self.refit:
            super()._warn_if_stopped(problem, solutions)


@dataclass(frozen=True, eq=False)
class Table:
    """For each fold and C: scores (folds, m), coefficients (folds, m, K, dof), steps (folds, m)."""

    scores: Array
    coefs: Array
    steps: Array


def _dof(problems, parameters, fit_intercept: bool) -> Array:
    """Coefficients of each model, the bias last if there is one: (m, K, dof)."""
    packed = [pack(problems, p)[:2] for p in parameters]
    return np.array([np.column_stack([w, b]) if fit_intercept else w for w, b in packed])


def _placed(path: ScoredPath, strengths: Array, problems) -> ScoredPath:
    """A path in the order of the requested values; nan for those not reached."""
    m = len(strengths)
    # The same value may have been requested twice.
    found, reached = np.nonzero(path.strengths[:, None] == strengths)
    reached, first = np.unique(reached, return_index=True)
    found = found[first]

    def spread(values: Array, fill: float, axis: int = 0) -> Array:
        whole = np.full((*values.shape[:axis], m, *values.shape[axis + 1 :]), fill)
        whole[(slice(None),) * axis + (reached,)] = np.take(values, found, axis)
        return whole

    models = [[problem.null for problem in problems] for _ in range(m)]
    for k, i in zip(found, reached):
        models[i] = path.parameters[k]
    return replace(
        path,
        strengths=strengths,
        gaps=spread(path.gaps, np.inf),
        parameters=models,
        z=None if path.z is None else spread(path.z, np.nan, axis=1),
        unseen=spread(path.unseen, np.nan),
        standard_errors=spread(path.standard_errors, np.nan),
    )
