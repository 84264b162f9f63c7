"""What all linear estimators share: fit = validate → problems → solve → certify → attributes.

An estimator defines how its data is read (`_read`) and what is minimised (`_problems`); the rest is
here. Several problems (one per class or per target) are solved in turn, and their certificates
summed.
"""

from __future__ import annotations

import functools
import time
import warnings
from contextlib import suppress
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..._ground.design import Design
from ..._ground.docstrings import described
from ..._ground.interrupt import TimeLimit, seconds_left, time_limit
from ..._ground.progress import CallbackSupport, watch
from ..._ground.stored import INPUT, Declaration, Number, Numbers, Unused, column_count
from ..._ground.threads import single_blas
from ..._ground.validation import Training, read_rows
from ...certificates import Certificate, certify_all, known_offset
from ...problem import Parameters, Problem
from ...solvers import Solution, Solver, Trace, choose, solve_many
from ...streaming import is_in_parts
from ...unseen import (
    CV,
    JUDGED,
    LOO,
    Fitted,
    Generalization,
    NotAvailable,
    Remembering,
    measure,
    take_over,
    uncorrected,
)
from . import summaries
from .deferred import Deferred, are_exact, changed, may_wait
from .in_parts import FitInParts, check_fits_in_parts
from .parameters import DATA
from .path_choice import PathChoice
from .problems import (
    Objective,
    dense,
    fitted_of,
    narrowed,
    pack,
    stored_coefficients,
    unpack,
    widened,
    without_empty_columns,
)
from .tasks_in_parts import scores_in_parts
from .tuning import exact_starts, tune

Array = np.ndarray

# scikit-learn's messages when a solver stops early, so that warning filters keep working.
NOT_CONVERGED = {
    "lbfgs": "lbfgs failed to converge",
    "liblinear": "Liblinear failed to converge, increase the number of iterations",
    "sag": "The max_iter was reached which means the coef_ did not converge",
    "saga": "The max_iter was reached which means the coef_ did not converge",
    "newton-cg": "newton-cg failed to converge",
    "newton-cholesky": "Newton solver did not converge after {steps} iterations",
}
# The parameter of every estimator that can choose its strength.
SELECT = {"select": [StrOptions({"min", "1se"})]}
# The part of the time limit that the certificates may take after the solver has used all of it.
FOR_CERTIFICATES = 0.1


@dataclass(frozen=True, eq=False)
class Mapped:
    """The data of problems, whose X may be features, and how they were made.

    `features` has mapped X and will map other rows, None without a map; `starts` are parameters
    near the solution, if making the features has found some, and `status` is what ended that.
    """

    data: Training
    features: Any = None
    starts: list[Parameters] | None = None
    status: str = "optimal"


def _has_columns(model: Any) -> bool:
    """Whether the coefficients are those of the columns of X, and not of features of a kernel."""
    return getattr(model, "kernel", None) is None


class LinearModel(Remembering, CallbackSupport, BaseEstimator):
    """Base class of the linear estimators.

    A subclass has `_read`, which turns X, y and weights into `Training` data, and `_problems`,
    which defines what is minimised; `_stored` lists every attribute that a fit leaves.
    """

    _guide = "solvers"

    _stored: ClassVar[Declaration] = {
        **INPUT,
        "coef_": Numbers("outputs", column_count, may_lack="outputs", may_be_sparse=True),
        "intercept_": Number() | Numbers("outputs"),
        "dual_": Unused(),
        "trace_": Unused(),
        "solver_": Unused(),
        "n_iter_": Unused(),
        **JUDGED,
    }
    _not_converged: ClassVar[str] = "{name} failed to converge"
    # How to continue after an interrupt or the time limit has ended a fit.
    _further: ClassVar[str] = "fit again with warm_start=True to continue"
    # The solvers of scikit-learn's class of this name, and their meaning here. All solvers reach
    # the same minimum, so most mean the best one; some have a relative in gapless.
    _peer_solvers: ClassVar[dict[str, str]] = {}
    # Whether the objective is a mean over the rows, so that the penalty of the sum grows with Σsᵢ.
    _averages: ClassVar[bool] = False
    # Whether the penalty is the same for all columns, so that it can be restricted to some of them.
    _treats_columns_alike: ClassVar[bool] = True
    # Why theory knows no standard errors of the coefficients, whatever the objective; "" if it may.
    _no_errors: ClassVar[str] = ""
    # Whether a fit may leave its certificate to the first reader, and what that will need.
    _defers: ClassVar[bool] = False
    _deferred: Deferred | None = None
    _on_demand: ClassVar[tuple[str, ...]] = (*Remembering._on_demand, "certificate_")
    # The parameter for the strength of the penalty, if it can be chosen by leave-one-out.
    _strength_name: ClassVar[str | None] = None
    # For a class that only chooses, such as RidgeCV: the estimator it settles on, which defines
    # what is minimised, and the parameters to choose.
    _plain: ClassVar[Any] = None
    _chosen: ClassVar[tuple[str, ...]] = ("alpha",)
    _parameter_constraints: ClassVar[dict] = {
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left"), None],
        "solver": [str, Solver],
        "warm_start": ["boolean"],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    }

    @described(DATA)
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the model.

        Returns
        -------
        self : object
            The fitted estimator. Ctrl-C keeps the best coefficients found so far and raises
            KeyboardInterrupt; an error leaves the estimator as it was.
        """
        self._check_parameters()
        if is_in_parts(X):
            return self._fit_in_parts(X, y, sample_weight)
        data = self._read(X, y, sample_weight)
        # Entered once: otherwise each product would switch all BLAS libraries to one thread and
        # back.
        with single_blas(), watch(self, data.X, data.y) as callback:
            choice, left = self._choose_in_time(data, callback)
            model = self if choice is None else self._at(**choice.values)
            mapped, left = model._map_in_time(data, callback, left)
            # Mapped data have features of their own, and a path has coefficients of all columns.
            is_plain = choice is None and mapped.data is data and self._treats_columns_alike
            narrow = without_empty_columns(data) if is_plain else data
            problems = model._problems(mapped.data if mapped.data is not data else narrow)
            for problem in problems:
                problem.keep_products()  # for the certificate
            solutions = self._solve(problems, callback, choice, left, mapped, narrow.columns)
        learned = self._learned(data, problems, solutions, mapped.features)
        for problem in problems:
            problem.forget_products()
        learned["coef_"] = widened(learned["coef_"], narrow.columns, data.X.shape[1])
        if choice is not None:
            if self._plain is not None:
                # The last fit starts from the solution of the search, which took steps to find.
                learned["n_iter_"] = max(learned["n_iter_"], 1)
            learned |= choice.attributes()
        learned["_training"], learned["_choice"] = (narrow, problems), choice
        learned["_calibration"] = None
        take_over(self, {"_deferred": None} | learned)
        if _is_interrupted(solutions):
            raise KeyboardInterrupt
        if self._deferred is None:
            self._warn_if_stopped(problems[0], solutions)
        return self

    def _fit_in_parts(self, X, y, sample_weight):
        """The same for a table in parts, which is never in memory as a whole."""
        check_fits_in_parts(self, maps=type(self)._map is not LinearModel._map)
        fit = FitInParts.of(self, X, y, sample_weight)
        learned = fit.run()
        take_over(self, {"_deferred": None, "_in_parts": fit} | learned)
        if fit.status == "interrupted":
            raise KeyboardInterrupt
        fit.warn_if_stopped(self.certificate_)
        return self

    def _certified_in_parts(self, X, y, sample_weight=None) -> Certificate:
        """The certificate, recomputed from a table in parts and the stored coefficients."""
        return self._again_in_parts(X, y, sample_weight)[1]

    def _generalized_in_parts(self, X, y, sample_weight=None) -> Generalization:
        """The score on parts that Newton steps from the stored coefficients have not seen."""
        return uncorrected(
            self._again_in_parts(X, y, sample_weight)[0].generalization(), self._tuned()
        )

    def _again_in_parts(self, X, y, sample_weight) -> tuple[FitInParts, Certificate]:
        """A fit that stands at the stored coefficients, and its certificate."""
        check_is_fitted(self)
        fit = FitInParts.of(self._settled(), X, y, sample_weight)
        fit.take_columns(self.n_features_in_, getattr(self, "feature_names_in_", None))
        coef, intercept = np.atleast_2d(dense(self.coef_)), np.atleast_1d(self.intercept_)
        return fit, fit.certify(coef, intercept)

    # ---- what a subclass defines -----------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Refuse, or warn about, inconsistent parameters."""

    def _read(self, X, y, sample_weight, *, reset: bool = True) -> Training:
        """X, y and weights, validated; with reset=False the features must be those of the fit."""
        raise NotImplementedError

    def _problems(self, data: Training) -> list[Problem]:
        """The objective: one problem, or one per class or target."""
        raise NotImplementedError

    def _map(self, data: Training, callback) -> Mapped:
        """The data of the problems: features of a kernel, or the data themselves."""
        return Mapped(data)

    def _map_late(self, data: Training) -> Mapped:
        """The same when time is up: as little as possible."""
        return Mapped(data)

    def _remap(self, data: Training) -> Training:
        """The same for the data of the fit, read again."""
        return data

    def _design(self, X) -> Design:
        """Rows to predict, in the form of the problems' training rows."""
        return Design(read_rows(self, X))

    def _calibration_rows(self, X) -> Design:
        """New rows for the models of a calibration."""
        return self._design(X)

    # ---- tuning ----------------------------------------------------------------------------------

    def _tuned(self) -> tuple[str, ...]:
        """The parameters whose values the fit chooses."""
        if self._plain is not None:
            return self._chosen
        ratio = getattr(self, "l1_ratio", None)
        is_open = {
            self._strength_name: _is_left_open(getattr(self, self._strength_name or "", None)),
            "l1_ratio": _is_left_open(ratio) or isinstance(ratio, list | tuple | np.ndarray),
        }
        return tuple(name for name, value in is_open.items() if name and value)

    def _at(self, **values) -> Any:
        """A copy with these parameter values, or the plain estimator with them."""
        if self._plain is None:
            return super()._at(**values)
        shared = self._plain._get_param_names()
        given = {name: getattr(self, name) for name in self._get_param_names() if name in shared}
        return self._plain(**(given | {"select": "min"} | values))

    def _choose(self, data: Training, callback) -> PathChoice | None:
        """Choose the tuned parameters; None if there are none."""
        tuned = self._tuned()
        if not tuned:
            return None
        if self._strength_name not in tuned:
            raise ValueError(
                "l1_ratio is chosen together with the penalty strength; set "
                f'{self._strength_name}="loo" too, or give l1_ratio a number.'
            )
        return tune(self, data, callback)

    def _unchosen(self, status: str) -> PathChoice:
        """The choice without time for one: all parameters 1, except for a share of one half."""
        values = {name: 0.5 if name == "l1_ratio" else 1.0 for name in self._tuned()}
        return PathChoice(values, status=status)

    def _choose_in_time(self, data: Training, callback) -> tuple[PathChoice | None, float | None]:
        """The choice, and the seconds left for the fit itself."""
        began = time.monotonic()
        try:
            # If numbers overflow in the search, the fit itself reports it.
            with time_limit(self.time_limit), np.errstate(all="ignore"):
                choice = self._choose(data, callback)
        except TimeLimit:
            choice = self._unchosen("time_limit")
        except KeyboardInterrupt:
            choice = self._unchosen("interrupted")
        except NotAvailable as reason:
            raise ValueError(
                f"{type(self).__name__} cannot choose a strength from n_samples = {len(data.y)}, "
                f"since {reason}; set it by hand."
            ) from None
        return choice, self.time_limit if choice is None else seconds_left(self.time_limit, began)

    # ---- solving ---------------------------------------------------------------------------------

    def _map_in_time(
        self, data: Training, callback, seconds: float | None
    ) -> tuple[Mapped, float | None]:
        """The data of the problems, and the seconds left."""
        began = time.monotonic()
        try:
            with time_limit(seconds):
                mapped = self._map(data, callback)
        except TimeLimit:
            mapped = self._map_late(data)
        return mapped, seconds_left(seconds, began)

    def _solve(
        self,
        problems: list[Problem],
        callback,
        choice: PathChoice | None,
        seconds: float | None,
        mapped: Mapped,
        columns: Array | None = None,
    ) -> list[Solution]:
        """Solve the problems; those that Ctrl-C or a time limit left out stay at their start."""
        name: str | Solver = self.solver
        if isinstance(name, str):
            name = self._peer_solvers.get(name, name)
        starts = self._starts(problems, columns) if mapped.starts is None else [*mapped.starts]
        if mapped.status in ("interrupted", "time_limit"):
            return [unsolved(p, start, mapped.status, name) for p, start in zip(problems, starts)]
        if choice is not None:
            if choice.status != "optimal":
                reached = choice.start or [problem.null for problem in problems]
                status = choice.status
                return [unsolved(p, start, status, name) for p, start in zip(problems, reached)]
            starts = [*(exact_starts(problems, choice) or starts)]
        options = {"tol": self.tol, "max_iter": self.max_iter, "callback": callback}
        solutions: list[Solution] = []
        with time_limit(seconds), suppress(TimeLimit):
            solutions = solve_many(problems, name, starts, **options)
        status = solutions[-1].status if solutions else "time_limit"
        for problem, start in list(zip(problems, starts))[len(solutions) :]:
            solutions.append(unsolved(problem, start, status, name))
        return solutions

    def _starts(
        self, problems: list[Problem], columns: Array | None = None
    ) -> list[Parameters | None]:
        """The parameters of the last fit, if they are wanted and fit the problems, else None."""
        nothing: list[Parameters | None] = [None] * len(problems)
        if not self.warm_start or not hasattr(self, "coef_"):
            return nothing
        coef = np.atleast_2d(dense(self.coef_))
        if not np.all(np.isfinite(coef)):
            raise ValueError(
                "Floating-point under-/overflow occurred: coef_ has entries that are not finite, "
                "and warm_start=True would start from them; set warm_start=False."
            )
        coef = narrowed(coef, columns)
        if coef.shape != (sum(problem.outputs or 1 for problem in problems), problems[0].d):
            return nothing
        # coef_ alone may have been set by hand.
        rest = getattr(self, "intercept_", 0.0), getattr(self, "dual_", None)
        starts = unpack(problems, coef, *rest)
        feasible = all(np.isfinite(p.penalty.value(q.w)) for p, q in zip(problems, starts))
        return [*starts] if feasible else nothing

    # ---- what is learned -------------------------------------------------------------------------

    def _learned(
        self,
        data: Training,
        problems: list[Problem],
        solutions: list[Solution],
        features: Any = None,
    ) -> dict[str, Any]:
        """Every attribute in `_stored` that this fit has, by name."""
        coef, intercept, dual = pack(problems, [s.parameters for s in solutions])
        if not (np.all(np.isfinite(coef)) and np.all(np.isfinite(intercept))):
            raise ValueError(
                f"{type(self).__name__} reached coefficients that are not finite: the values of X "
                "or y are too large; rescale them, e.g. with StandardScaler()."
            )
        dtype = data.X.dtype
        learned = {
            "coef_": stored_coefficients(problems, coef, dtype),
            "intercept_": intercept.astype(dtype),
            "dual_": dual,
            "trace_": solutions[0].trace if len(solutions) == 1 else [s.trace for s in solutions],
            "solver_": solutions[0].solver,
            "n_iter_": max(s.trace.steps for s in solutions),
            "n_features_in_": data.X.shape[1],
        }
        if data.feature_names is not None:
            learned["feature_names_in_"] = data.feature_names
        if features is not None:
            learned["features_"] = features
        stored = unpack(problems, learned["coef_"], learned["intercept_"], dual)
        certificates: list[Certificate] = []
        if self._defers and self.time_limit is None and may_wait(problems, stored, solutions):
            learned["_deferred"] = Deferred.of(self, problems, solutions)
        else:
            certificates = self._certificates(problems, solutions, stored)
            learned["certificate_"] = sum(certificates)
        return learned | self._specifics(data, learned, solutions, certificates)

    def _specifics(self, data, learned, solutions, certificates) -> dict[str, Any]:
        """What this kind of estimator adds to the learned attributes, or reshapes."""
        return {}

    def _certificates(self, problems, solutions, stored) -> list[Certificate]:
        """One certificate per problem, for the parameters as they are stored."""
        seconds = None if self.time_limit is None else FOR_CERTIFICATES * self.time_limit
        try:
            if not _is_interrupted(solutions):
                with time_limit(seconds):
                    return certify_all(problems, stored, self.tol, are_exact(solutions))
        except TimeLimit:
            pass
        except KeyboardInterrupt:
            solutions[-1] = replace(solutions[-1], status="interrupted")
        return [_unchecked(p, s, self.tol, self._further) for p, s in zip(problems, solutions)]

    @functools.cached_property
    def certificate_(self) -> Certificate:  # type: ignore[override]
        """How far the objective is from the best possible one; computed on first access.

        The fit keeps a reference to its data. If they change before, this raises a ValueError.
        """
        check_is_fitted(self)
        deferred = self._deferred
        if deferred is None:
            if "certificate_" in vars(self):  # another thread has just computed it
                return vars(self)["certificate_"]
            raise AttributeError(
                f"this {type(self).__name__} has no certificate, and no training data to compute "
                "one; call gapless.certify(model, X, y, sample_weight)."
            )
        self.__dict__["certificate_"] = found = deferred.certificate
        self._deferred = None
        return found

    def __getstate__(self):
        # Other copies and files have no data from which the certificate could be computed later.
        state = super().__getstate__()
        if self._deferred is None:
            return state
        try:
            return state | {"certificate_": self.certificate_}
        except ValueError:
            return state | {"certificate_": changed()}

    def __copy__(self):
        twin = object.__new__(type(self))
        vars(twin).update(super().__getstate__() | {"_deferred": self._deferred})
        return twin

    def _warn_if_stopped(self, problem: Problem, solutions: list[Solution]) -> None:
        """Warn that the gap is too large, or that no minimum exists, and what would help."""
        if self.certificate_.no_minimiser:
            named = summaries.endless_columns(self, problem)
            verdict = self.certificate_.verdict
            message = f"{type(self).__name__}: {verdict} {named[0].upper()}{named[1:]}"
            warnings.warn(message, ConvergenceWarning, stacklevel=4)
        is_out_of_time = any(s.status == "time_limit" for s in solutions)
        if self.certificate_.kind == "stationary" and is_out_of_time:
            warnings.warn(
                f"{type(self).__name__} reached its time_limit after {np.max(self.n_iter_)} steps. "
                "No small change improves the objective, but other minima may be lower: increase "
                "the time_limit.",
                ConvergenceWarning,
                stacklevel=4,
            )
        if self.certificate_.kind != "stopped":
            return
        status = next((s.status for s in solutions if s.status != "optimal"), "stalled")
        squares = problem.design.column_square_sums()
        squares = squares[squares > 0]
        spread = np.sqrt(squares.max() / squares.min()) if len(squares) else 1.0
        scaling = f"scale the features (largest/smallest column norm {spread:.1g})"
        told = next((s.cure for s in solutions if s.cure), "")
        cure = {
            "diverged": f"The solver diverged: {told}",
            "max_iter": f"Increase the number of iterations, max_iter, or {scaling}",
            "time_limit": f"Increase the time_limit, or {scaling}",
            "callback": "A callback requested a stop",
        }.get(status, f"Increase the tolerance, tol, or {scaling}")
        steps = np.max(self.n_iter_)
        what = self._not_converged
        if isinstance(self.solver, str):
            what = NOT_CONVERGED.get(self.solver, what)
        warnings.warn(
            f"{what.format(name=type(self).__name__, steps=steps)}: stopped at relative gap "
            f"{self.certificate_.relative_gap:.2g} > tol {self.tol:.2g} after {steps} steps. "
            f"{cure}.",
            ConvergenceWarning,
            stacklevel=4,
        )

    def _certification_problem(self, X, y, sample_weight=None) -> list[tuple[Problem, Parameters]]:
        """The problems of the fit, rebuilt from the data, each with the stored parameters."""
        data, problems = self._rebuilt(X, y, sample_weight)
        coef = narrowed(self.coef_, data.columns)
        return list(zip(problems, unpack(problems, coef, self.intercept_, self.dual_)))

    def _differentiable(self, X, y, sample_weight=None) -> Objective:
        """What the fit minimises on its data, as a function of coefficients and biases."""
        problems, parameters = zip(*self._certification_problem(X, y, sample_weight))
        return Objective(list(problems), list(parameters))

    def _rebuilt(self, X, y, sample_weight) -> tuple[Training, list[Problem]]:
        """The data of the fit, read again, and its problems."""
        data = self._reread(X, y, sample_weight)
        mapped = self._remap(data)
        if mapped is data and self._treats_columns_alike:
            narrow = without_empty_columns(data)
            # The coefficient of an empty column is 0, unless it was changed.
            if np.count_nonzero(dense(self.coef_)) == np.count_nonzero(
                narrowed(self.coef_, narrow.columns)
            ):
                data = mapped = narrow
        return data, self._settled()._problems(mapped)

    # ---- unseen data -----------------------------------------------------------------------------

    def _fitted_to(self, X, y, sample_weight=None) -> Fitted:
        """The fit, rebuilt from its data."""
        return self._fitted(*self._rebuilt(X, y, sample_weight))

    def _fitted(self, data: Training, problems: list[Problem]) -> Fitted:
        """The fit, or an error if its data has changed."""
        coef = narrowed(self.coef_, data.columns)
        parameters = unpack(problems, coef, self.intercept_, self.dual_)
        fitted = fitted_of(self, data, (problems, parameters))
        self._check_objective(fitted.objective)
        return fitted

    def _shaped(self, z: Array) -> Array:
        return z[:, 0] if self.coef_.ndim == 1 else z

    @available_if(_has_columns)
    def summary(
        self,
        X=None,
        y=None,
        sample_weight=None,
        *,
        offset=None,
        level=0.95,
        bootstrap=None,
        random_state=0,
    ) -> summaries.Summary:
        """The fitted model on one page: objective, coefficients with their errors, both gaps.

        Parameters
        ----------
        X, y, sample_weight : array-like, default=None
            The data of the fit, for a model that no longer refers to them, such as one from a file.
        offset : array-like of shape (n_samples,), default=None
            The offsets of the fit, given with the data.
        level : float, default=0.95
            Confidence level of the intervals.
        bootstrap : int, default=None
            The number of refits to rows drawn with replacement, such as 200, from which standard
            errors and intervals are taken. None uses theory, which needs a likelihood and no
            penalty.
        random_state : int, default=0
            Seeds the draws.

        Returns
        -------
        summary : Summary
            Plain data; prints as text, and as a table in notebooks.

        Notes
        -----
        Standard errors are those of least squares, or of the information matrix of a likelihood
        (logistic, softmax, Poisson, gamma, Tweedie), with weights as counts of rows. There is no
        such theory with a penalty, with a tuned strength, for losses that are not likelihoods, or
        for steps that end near an optimum and not at it; the summary then says so.
        """
        if X is None:
            fitted = self._remembered("summary(X, y, sample_weight)")
            judged = self.generalization_
        else:
            fitted = self._fitted_to(X, y, sample_weight, **known_offset(self, offset))
            known = vars(self).get("generalization_")
            judged = known or uncorrected(measure(self, fitted), self._tuned())
        with single_blas(), watch(self) as callback:
            return summaries.summarise(
                self,
                fitted,
                judged,
                level=level,
                bootstrap=bootstrap,
                random_state=random_state,
                callback=callback,
            )

    def _refit_to_draws(self, fitted: Fitted) -> summaries.Refit:
        """How the bootstrap refits the model."""
        return summaries.refit_to_draws(self, fitted)

    # ---- predicting ------------------------------------------------------------------------------

    def _scores(self, X) -> Array:
        """Xw + b, (n,) or (n, K) as the coefficients are."""
        check_is_fitted(self)
        if is_in_parts(X):
            return scores_in_parts(X, self)
        design, coef = self._design(X), dense(self.coef_)
        coef = np.ascontiguousarray(coef.T, dtype=np.result_type(coef, design.dtype))
        return design.times(coef) + self.intercept_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _is_left_open(value: Any) -> bool:
    """Whether the fit chooses the value of a parameter: by leave-one-out, or by folds."""
    return isinstance(value, str) and value in (LOO, CV)


def _is_interrupted(solutions: list[Solution]) -> bool:
    return any(solution.status == "interrupted" for solution in solutions)


def unsolved(
    problem: Problem, start: Parameters | None, status: str, solver: str | Solver
) -> Solution:
    """The start of a problem that an interrupt or the time limit left untouched.

    Ctrl-C must return at once, so nothing here touches X, unless the start is not w = 0.
    """
    at = problem.null if start is None else start
    origin = problem.origin
    z = problem.predictions(at.w, at.b) if np.any(at.w) else np.zeros_like(origin.theta) + at.b
    solution = Solution(
        Parameters(at.w, at.b, origin.theta),
        Trace(),
        status,
        problem.primal(at.w, at.b, z),
        origin.dual,
    )
    name = solver.name if isinstance(solver, Solver) else solver
    return replace(solution, solver=choose(problem) if name == "auto" else name)


def _unchecked(problem: Problem, solution: Solution, tol: float, cure: str) -> Certificate:
    """The certificate when time is up: the gap known to the solver, or the bound at w = 0."""
    dual = max(solution.dual, problem.origin.dual)
    rounding = 8 * np.finfo(float).eps * (abs(solution.primal) + problem.scale)
    gap = max(solution.primal - dual, 0.0) + rounding
    return Certificate(
        kind="stopped",
        verdict=f"stopped: out of time at a gap of {gap:.3g}; {cure}.",
        primal=solution.primal,
        dual=dual,
        gap=gap,
        relative_gap=gap / problem.scale if problem.scale > 0 else np.inf,
        tolerance=tol * problem.scale,
        scale=problem.scale,
        rounding=rounding,
    )
