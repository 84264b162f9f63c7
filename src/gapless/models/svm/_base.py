"""What all support vector machines share: fit = validate → problems → solve → certify → attributes.

An estimator defines how its data is read (`_read`), what is minimised (`_objective`) and how its
scores are arranged (`_arrangement`); the rest is here. A fit works on the distinct rows, sorted by
class; the stored attributes refer to the caller's rows, in scikit-learn's layout.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ... import kernels
from ..._ground.design import Design
from ..._ground.docstrings import described
from ..._ground.interrupt import TimeLimit, limit_name, seconds_left, time_limit
from ..._ground.parts import get_params, set_params
from ..._ground.progress import CallbackSupport, watch
from ..._ground.stored import INPUT, Declaration, Labels, Numbers, Unused, Value
from ..._ground.threads import single_blas
from ..._ground.validation import LARGEST, Training, is_same, read_rows
from ...certificates import CURE, Certificate
from ...kernels import KERNEL_INSTANCE, Kernel
from ...problem import KernelMatrix
from ...solvers import Trace
from ...unseen import JUDGED, KEPT_ROWS, LOO, Remembering, take_over
from ..linear import ABSENT, KKT_STATUS, dense
from ..risk import Expansion, ExpansionObjective
from .held_out import MachineFit
from .machine import Machine, Solved, certificate_of
from .multiclass import Arrangement, Single, blocks_of
from .objectives import BOUNDED, INACTIVE, ON_MARGIN, Objective, Point
from .support_vectors import linear_coefficients, misfit, problem_scores, support_attributes
from .training_rows import TrainingRows, compares_texts
from .tuning import Tuned, is_open, tune
from .tuning_scores import Candidates

Array = np.ndarray

PRECOMPUTED = "precomputed"
# The state of a row in words: by its multiplier α and bound C, or absent without weight.
STATUS = dict(zip((INACTIVE, ON_MARGIN, BOUNDED), KKT_STATUS))
# Kernel values in float32 take half the time and memory; what they lack is corrected afterwards.
# With fewer rows than this, or for a smaller tolerance, it does not pay.
FEW_ROWS, SHARP = 1000, 1e-5
# What the machines share, for `described`.
MACHINE = """
kernel : str, Kernel or callable
    "linear", "poly", "rbf", "sigmoid", "laplacian", "cosine", "chi2" and others, see
    `gapless.kernels`; "precomputed" if X holds kernel values; or a function of two lists of rows
    that returns their kernel values.
degree : int
    Degree of the polynomial kernel.
gamma : {"scale", "auto"} or float
    γ ≥ 0 of the kernels that have one; "scale" is 1/(n_features·Var(X)), "auto" is 1/n_features.
coef0 : float
    Constant of the polynomial and the sigmoid kernel.
shrinking : bool
    Accepted for scikit-learn's sake; the solver shrinks where that pays.
cache_size : float
    Megabytes that kernel values may take; None for as many as fit the memory.
verbose : bool
    Accepted for scikit-learn's sake; long fits show their progress on a terminal.
max_iter : int
    Largest number of steps for each problem; −1 for no limit.
time_limit : float
    Seconds after which the best solution found so far is kept.
kernel_ : Kernel
    The kernel with all its parameters as numbers.
certificate_ : Certificate
    How far the fit can be from the best possible one, over all problems.
generalization_ : Generalization
    What the machine will score on unseen rows, by leave-one-out where that is cheap, else by the
    span rule or by folds; computed on first access.
kkt_status_ : ndarray of str, shape (n_samples,)
    "inactive" (multiplier 0), "on margin" (between 0 and its bound), "bounded" (at it), or "absent"
    for a row of weight 0; the last of these in any of its problems.
kkt_violation_ : ndarray of shape (n_samples,)
    By how much the score of each row violates what its multiplier demands.
fit_status_ : int
    0 if the solver reached its tolerance, else 1.
"""
# What `fit` takes.
TRAINING = """
X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
    Training data, or kernel values (n_samples, n_samples) with kernel="precomputed", or texts for a
    kernel that reads them. Never written to.
sample_weight : array-like of shape (n_samples,)
    Weights ≥ 0 of the rows. Weight 2 means the row twice, weight 0 means the row is not there.
"""
# Values of a parameter that is to be chosen.
OPEN = [StrOptions({LOO}), "array-like"]
MAX_ITER_WARNING = (
    "Solver terminated early (max_iter={max_iter}).  Consider pre-processing your data with "
    "StandardScaler or MinMaxScaler."
)
UNRESOLVED = (
    "the kernel values of these rows are so large, or differ so much in size, that float64 does "
    "not resolve the margin. Scale the features, e.g. with StandardScaler(), or lower gamma, the "
    "degree or C."
)

# What to do if a model that was optimal no longer is.
OTHER_DATA = (
    "these are not the training data, or the model was changed; pass the training data, or fit "
    "again"
)


class SupportVectorMachine(Remembering, CallbackSupport, BaseEstimator):
    """Base of the support vector machines."""

    _guide = "svm"

    _part_kinds = KERNEL_INSTANCE
    get_params, set_params = get_params, set_params

    # The parameters that can be chosen by leave-one-out.
    _tunable: ClassVar[tuple[str, ...]] = ()

    _stored: ClassVar[Declaration] = {
        "support_": Numbers("support", types="i", below="rows"),
        "support_vectors_": Numbers("support", "features", may_be_sparse=True)
        | Numbers(0, 0)
        | Labels("support"),
        "n_support_": Numbers(None, types="i", low=0),
        "dual_coef_": Numbers(None, "support", may_be_sparse=True),
        "intercept_": Numbers("problems"),
        "kernel_": Value(Kernel),
        "fit_status_": Unused(),
        "shape_fit_": Value(tuple, rows=lambda shape: shape[0]),
        "rows_fit_": Unused(),
        "n_iter_": Unused(),
        "trace_": Unused(),
        **INPUT,
        "kkt_status_": Unused(),
        "kkt_violation_": Unused(),
        **JUDGED,
    }
    _parameter_constraints: ClassVar[dict] = {
        "kernel": [str, callable, Kernel],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "shrinking": ["boolean"],
        "cache_size": [Interval(Real, 0, None, closed="neither"), None],
        "verbose": ["verbose"],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    @described(TRAINING)
    def fit(self, X, y, sample_weight=None):
        """Fit the machine.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Target values.

        Returns
        -------
        self : object
            The fitted estimator. Ctrl-C keeps the best solution found so far and raises
            KeyboardInterrupt; an error leaves the estimator as it was.
        """
        data = self._read(X, y, sample_weight)
        with single_blas(), watch(self, data.X, data.y) as callback:
            rows = TrainingRows.read(data)
            began = time.monotonic()
            choice = self._choose(data, rows)
            model = self if choice is None else self._at(**choice.values)
            machine = model._machine(data, rows)
            max_iter = None if self.max_iter < 0 else self.max_iter
            is_interrupted = choice is not None and choice.ending == "interrupted"
            seconds = 0.0 if is_interrupted else seconds_left(self.time_limit, began)
            with time_limit(seconds):
                try:
                    solved = machine.solve(self.tol, max_iter, callback)
                except TimeLimit:
                    if is_interrupted:
                        raise KeyboardInterrupt from None
                    raise ValueError(_out_of_time(self)) from None
        if is_interrupted:
            solved = [replace(one, status="interrupted") for one in solved]
        solved = self._checked(machine, solved)
        learned = self._learned(data, rows, machine, solved)
        if choice is not None:
            learned |= choice.attributes()
        # The kernel matrix of many rows is too large to keep; it can be recomputed.
        kept = machine if machine.matrix.n <= KEPT_ROWS else None
        learned["_training"] = (data, [one.point for one in solved], kept)
        learned["_choice"], learned["_calibration"] = choice, None
        take_over(self, learned)
        if any(one.status == "interrupted" for one in solved):
            raise KeyboardInterrupt
        self._warn_if_stopped(solved)
        if choice is not None:
            self._warn_if_untried(choice)
        return self

    # ---- what a subclass defines -----------------------------------------------------------------

    def _read(self, X, y, sample_weight, *, reset: bool = True) -> Training:
        """X, y and weights, validated; with reset=False the features must be those of the fit."""
        raise NotImplementedError

    def _objective(self) -> Objective:
        """What is minimised."""
        raise NotImplementedError

    def _arrangement(self, count: int) -> Arrangement:
        """How problems and scores are arranged, for `count` classes."""
        return Single()

    def _as_fitted(self) -> Any:
        """The estimator with the parameters that arrange its attributes."""
        return self

    def _fitted_arrangement(self, count: int) -> Arrangement:
        """How the scores of the fit are arranged, whatever the parameters are now."""
        return self._as_fitted()._arrangement(count)

    # ---- tuning ----------------------------------------------------------------------------------

    def _tuned(self) -> tuple[str, ...]:
        """The parameters whose values the fit chooses."""
        return tuple(name for name in self._tunable if is_open(getattr(self, name)))

    def _choose(self, data: Training, rows: TrainingRows) -> Tuned | None:
        """Choose the tuned parameters, within half of the time; None if there are none."""
        if not self._tuned():
            return None
        half = None if self.time_limit is None else 0.5 * self.time_limit
        with time_limit(half):
            return tune(self, data, rows)

    # ---- the problems ----------------------------------------------------------------------------

    def _machine(self, data: Training, rows: TrainingRows, kernel: Kernel | None = None) -> Machine:
        """The problems on the distinct rows; the kernel defaults to that of the parameters."""
        X = data.X[rows.first]
        settled = self._settled()
        if kernel is None:
            kernel = settled._kernel().resolve(X, rows.sample_weights)
        if self._is_precomputed:
            X = X[:, rows.first]
        is_small = len(rows.first) <= FEW_ROWS or self.tol < SHARP
        limit = None if self.cache_size is None else int(self.cache_size * 1e6)
        matrix = KernelMatrix(
            kernel, X, dtype=np.float64 if is_small else np.float32, memory_limit=limit
        )
        # ½‖w‖² may be as large as the square of all weights.
        if not rows.weights.sum() < LARGEST:
            raise ValueError(
                f"the weights sum to {rows.weights.sum():.3g}, whose square is too large for "
                "float64; rescale sample_weight, e.g. to a mean of 1."
            )
        y = data.y[rows.first]
        count = 1 if data.classes is None else len(data.classes)
        blocks = blocks_of(np.zeros(len(y)) if data.classes is None else y, count)
        parts = self._arrangement(count).parts(blocks, y)
        return Machine(matrix, settled._objective(), parts, rows.weights, blocks)

    def _kernel(self) -> Kernel:
        return kernels.by_name(self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0)

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == PRECOMPUTED

    def _checked(self, machine: Machine, solved: list[Solved]) -> list[Solved]:
        """Refuse problems without a solution, or without one in finite numbers.

        Of several problems some may have no margin: they predict the class of more weight.
        """
        if not all(one.judgement.is_void for one in solved):
            solved = [
                replace(one, point=machine.flat(k)) if one.judgement.is_void else one
                for k, one in enumerate(solved)
            ]
        for one in solved:
            if one.judgement.is_void and not one.point.theta.any():
                continue
            if one.status == "unbounded" or not np.isfinite(one.judgement.primal):
                if one.status == "interrupted":
                    raise KeyboardInterrupt
                if np.isnan(one.judgement.primal) or not machine.objective.missing:
                    raise ValueError(
                        f"{type(self).__name__}: the kernel has values that are not finite for "
                        "these rows; check the kernel and its parameters, or scale the features, "
                        "e.g. with StandardScaler()."
                    )
                if one.status in ("time_limit", "max_iter", "callback"):
                    raise ValueError(_out_of_time(self))
                raise ValueError(f"{type(self).__name__}: {machine.objective.missing}.")
            theta, b = machine.objective.stored(one.point)
            if not (np.all(np.isfinite(theta)) and np.isfinite(b)):
                raise ValueError(
                    "The dual coefficients or intercepts are not finite. The input data may "
                    "contain large values and need to be preprocessed, e.g. with StandardScaler()."
                )
        return solved

    # ---- what is learned -------------------------------------------------------------------------

    def _learned(
        self, data: Training, rows: TrainingRows, machine: Machine, solved: list[Solved]
    ) -> dict[str, Any]:
        """Every attribute in `_stored` that this fit has, by name."""
        count = 1 if data.classes is None else len(data.classes)
        stored = [machine.objective.stored(one.point) for one in solved]
        packed = self._arrangement(count).pack(machine.blocks, [theta for theta, _ in stored])
        status, violations = _conditions(machine, solved)
        steps = np.array([one.steps for one in solved], dtype=np.int32)
        certificate = self._certificate(machine, solved, rows)
        learned = {
            **support_attributes(data, rows, packed, machine.matrix.kernel, self._is_precomputed),
            "intercept_": np.array([b for _, b in stored]),
            "kernel_": machine.matrix.kernel,
            "fit_status_": int(certificate.kind == "stopped"),
            "shape_fit_": data.X.shape,
            "n_iter_": steps if data.classes is not None else int(steps[0]),
            "trace_": _traces(solved),
            "n_features_in_": data.X.shape[1] if data.X.ndim == 2 else 1,
            "certificate_": certificate,
            "kkt_status_": np.append(status, ABSENT)[rows.inverse],
            "kkt_violation_": np.append(violations, 0.0)[rows.inverse],
        }
        if data.feature_names is not None:
            learned["feature_names_in_"] = data.feature_names
        return learned | self._specifics(data, rows, machine, solved)

    def _specifics(
        self, data: Training, rows: TrainingRows, machine: Machine, solved: list[Solved]
    ) -> dict[str, Any]:
        """What this kind of machine adds to the learned attributes."""
        return {}

    def _certificate(
        self, machine: Machine, solved: list[Solved], rows: TrainingRows, cure: str = CURE
    ) -> Certificate:
        parts = [replace(part, rows=rows.first[part.rows]) for part in machine.parts]
        points, judgements = zip(*((one.point, one.judgement) for one in solved))
        unit = machine.score_unit
        return certificate_of(judgements, parts, points, self.tol, machine.fault, cure, unit)

    def _certified(self, X, y=None, sample_weight=None) -> Certificate:
        """The certificate, recomputed from the data and the stored model."""
        _, rows, machine, solved = self._rebuilt(X, y, sample_weight)
        is_done = self.certificate_.kind != "stopped"
        return self._certificate(machine, solved, rows, OTHER_DATA if is_done else CURE)

    def _rebuilt(self, X, y, sample_weight) -> tuple[Training, TrainingRows, Machine, list[Solved]]:
        """The problems of the fit and their solution, from the data and the stored model."""
        data = self._reread(X, y, sample_weight)
        self._check_same_data(data)
        rows = TrainingRows.read(data)
        machine = self._as_fitted()._machine(data, rows, self.kernel_)
        dual = dense(self.dual_coef_)
        coef = np.zeros((len(dual), len(data.y)))
        coef[:, self.support_] = dual
        count = 1 if data.classes is None else len(data.classes)
        thetas = self._fitted_arrangement(count).unpack(machine.blocks, rows.sums(coef.T).T)
        scores = self._scores_of_fit(data, rows, machine)
        restored = []
        for k, (part, theta) in enumerate(zip(machine.parts, thetas)):
            weights, z = machine.weights[part.rows], scores[part.rows, k]
            b = float(self.intercept_[k])
            restored.append(machine.objective.restored(part.y, weights, theta, b, z))
        points, of_rows = zip(*restored)
        judgements = machine.judge(points, of_rows)
        solved = [Solved(point, one, 0, "optimal") for point, one in zip(points, judgements)]
        return data, rows, machine, solved

    def _differentiable(self, X, y=None, sample_weight=None) -> ExpansionObjective:
        """What the fit minimises, as a function of the coefficients of its rows."""
        _, _, machine, solved = self._rebuilt(X, y, sample_weight)
        loss = machine.objective.linear_loss
        if loss is None:
            raise TypeError(
                f"the objective of this {type(self).__name__} is not a sum of losses of its rows; "
                "gradients can be checked for SVC and SVR with a finite C."
            )
        strength = 1.0 / self._settled().C
        return ExpansionObjective(
            [
                Expansion(
                    machine.matrix.block(part.rows, part.rows),
                    part.y,
                    machine.weights[part.rows],
                    loss,
                    strength,
                    one.point.theta,
                    one.point.b,
                )
                for part, one in zip(machine.parts, solved)
            ]
        )

    def _scores_of_fit(self, data: Training, rows: TrainingRows, machine: Machine) -> Array:
        """Scores of the distinct rows by the stored model, (m, problems)."""
        return self._problem_scores(data.X)[rows.first]

    def _check_same_data(self, data: Training) -> None:
        if data.X.shape != self.shape_fit_:
            raise ValueError(
                f"X has shape {data.X.shape}, but {type(self).__name__} was fitted with "
                f"{self.shape_fit_}; pass the training data."
            )
        if not (self._is_precomputed or is_same(data.X[self.support_], self.support_vectors_)):
            raise ValueError(
                "the model does not match these data: the support vectors of "
                f"{type(self).__name__} are not rows of X; pass the training data."
            )

    def _warn_if_stopped(self, solved: list[Solved]) -> None:
        """Warn that the gap is too large, and what would help."""
        if self.certificate_.kind != "stopped":
            return
        status = next((one.status for one in solved if one.status != "optimal"), "optimal")
        if any(one.judgement.is_void for one in solved):
            message = (
                f"{type(self).__name__}: {self._settled()._objective().missing}. This affects some "
                "pairs of classes; for these the class with more weight is predicted."
            )
        elif status == "unresolved":
            message = f"{type(self).__name__}: {UNRESOLVED}"
        elif status == "max_iter":
            message = MAX_ITER_WARNING.format(max_iter=self.max_iter)
        else:
            cure = {
                "time_limit": "Increase the time_limit",
                "callback": "A callback requested a stop",
            }.get(status, "Increase the tolerance, tol")
            message = (
                f"{type(self).__name__} stopped at relative gap "
                f"{self.certificate_.relative_gap:.2g} > tol {self.tol:.2g}. {cure}, or scale the "
                "features, e.g. with StandardScaler()."
            )
        warnings.warn(message, ConvergenceWarning, stacklevel=4)

    def _warn_if_untried(self, choice: Tuned) -> None:
        """Warn that nothing was chosen, and what would help."""
        if len(choice.search.unseen):
            return
        values = ", ".join(f"{name}={value:.3g}" for name, value in choice.values.items())
        warnings.warn(
            f"{type(self).__name__} chose nothing: half of {limit_name(self.time_limit)} passed "
            f"before a first model was tried, so {values} are the starting values of the search. "
            "Increase the time_limit, or set the parameters.",
            ConvergenceWarning,
            stacklevel=4,
        )

    # ---- unseen data -----------------------------------------------------------------------------

    def _fitted(
        self,
        data: Training,
        points: list[Point],
        machine: Machine | None = None,
        rows: TrainingRows | None = None,
    ) -> MachineFit:
        """The fit, as far as held-out predictions need it; what is not given is recomputed."""
        rows = TrainingRows.read(data) if rows is None else rows
        if machine is None:
            machine = self._as_fitted()._machine(data, rows, self.kernel_)
        return self._fit_type(machine)(
            machine,
            points,
            rows,
            rows.units(data.X),
            Design(data.X) if data.X.ndim == 2 else None,
            data.y if data.classes is None else data.classes[data.y],
            data.sample_weight,
            tol=self.tol,
            has_classes=data.classes is not None,
        )

    def _candidates_type(self, machine: Machine) -> type[Candidates]:
        """The class that tries such machines at many parameter values."""
        return Candidates

    def _fit_type(self, machine: Machine) -> type[MachineFit]:
        """The class that knows how such machines treat unseen rows."""
        return MachineFit

    def _fitted_to(self, X, y, sample_weight=None) -> MachineFit:
        """The fit, rebuilt from its data, or an error if they differ."""
        data, rows, machine, solved = self._rebuilt(X, y, sample_weight)
        self._check_objective(self._certificate(machine, solved, rows).primal)
        return self._fitted(data, [one.point for one in solved], machine)

    def _calibration_rows(self, X: Any) -> Design:
        """New rows for the models of a calibration, which must be rows of numbers."""
        X = self._read_rows(X)
        if self._is_precomputed or X.ndim != 2:
            raise ValueError(
                f"{type(self).__name__} has no calibrated sets or intervals for kernel values or "
                "texts; use rows of numbers."
            )
        return Design(X)

    # ---- predicting ------------------------------------------------------------------------------

    def _problem_scores(self, X: Any) -> Array:
        """Scores of all problems, (n, problems), of validated rows."""
        return problem_scores(self, X)

    def _misfit(self) -> str | None:
        """What is inconsistent in the stored attributes, in words; None if nothing is."""
        return misfit(self)

    def _scores(self, X) -> Array:
        """Scores of all problems, in the precision of X."""
        check_is_fitted(self)
        X = self._read_rows(X)
        scores = self._problem_scores(X)
        return scores.astype(X.dtype) if X.ndim == 2 else scores

    def _read_rows(self, X: Any) -> Any:
        """X for prediction."""
        if compares_texts(self, X):
            return np.asarray(X, dtype=object)
        X = read_rows(self, X)
        if sp.issparse(X) and not sp.issparse(self.support_vectors_):
            raise ValueError(
                f"cannot use sparse input in {type(self).__name__!r} trained on dense data; pass "
                "X.toarray(), or fit it to sparse rows."
            )
        if self._is_precomputed and X.shape[1] != self.shape_fit_[0]:
            raise ValueError(
                f"X.shape[1] = {X.shape[1]} should be equal to {self.shape_fit_[0]}, the number of "
                "samples at training time."
            )
        return X

    @property
    def coef_(self):
        """Coefficients w of the features, one row for each problem; linear kernels only."""
        check_is_fitted(self)
        if not self._is_linear:
            raise AttributeError("coef_ is only available when using a linear kernel")
        return linear_coefficients(self)

    @property
    def _is_linear(self) -> bool:
        return isinstance(self.kernel_, kernels.Linear)

    @property
    def _gamma(self) -> float:
        """γ as a number, where tools that read scikit-learn's models look for it."""
        return float(getattr(self.kernel_, "gamma", 0.0))

    @property
    def _n_support(self) -> Array:
        """`n_support_`, for the same tools."""
        return self.n_support_

    @property
    def _dual_coef_(self) -> Any:
        """`dual_coef_` with the sign that LIBSVM gives two classes, for the same tools."""
        return self._libsvm_sign * self.dual_coef_

    @_dual_coef_.setter
    def _dual_coef_(self, value: Any) -> None:
        self.dual_coef_ = self._libsvm_sign * value

    @property
    def _intercept_(self) -> Array:
        """`intercept_` in the same way."""
        return self._libsvm_sign * self.intercept_

    @property
    def _libsvm_sign(self) -> int:
        """LIBSVM's scores of two classes are positive for the first of them."""
        return -1 if len(getattr(self, "classes_", ())) == 2 else 1

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed
        tags.input_tags.sparse = not self._is_precomputed
        return tags


def _out_of_time(machine: SupportVectorMachine) -> str:
    """The advice for machines whose first solution takes time, where a finite C starts at 0."""
    return (
        f"{type(machine).__name__} found no solution before it was stopped; raise time_limit or "
        "max_iter."
    )


def _traces(solved: list[Solved]) -> Trace | list[Trace]:
    """The trace of each problem; one for all classes of a joint problem."""
    traces = list({id(one.trace): one.trace for one in solved}.values())
    return traces[0] if len(traces) == 1 else traces


def _conditions(machine: Machine, solved: list[Solved]) -> tuple[Array, Array]:
    """The status of each distinct row in words and its violation, the worst of all problems."""
    status = np.full(machine.matrix.n, INACTIVE)
    violations = np.zeros(machine.matrix.n)
    for part, one in zip(machine.parts, solved):
        for worst, values in (
            (status, one.judgement.status),
            (violations, one.judgement.violations),
        ):
            worst[part.rows] = np.maximum(worst[part.rows], values)
    words = np.array([STATUS[code] for code in sorted(STATUS)])
    return words[status], violations
