"""What the estimators that learn a few rows at a time share.

A fit makes passes over the rows, *epochs*, until the objective no longer falls. The duality gap of
where it has arrived is computed when it is first read, since it would take longer than most fits:
from the mean slope of the loss at each row or, where that is cheap, from the dual point of a few
exact steps.
"""

from __future__ import annotations

import functools
import warnings
from contextlib import suppress
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from ... import losses, penalties
from ..._ground.docstrings import described
from ..._ground.interrupt import TimeLimit, time_limit
from ..._ground.progress import watch
from ..._ground.stored import Declaration, Maybe, Number, Unused
from ..._ground.threads import single_blas
from ..._ground.validation import Training
from ...certificates import Certificate, certify_all
from ...losses import Loss
from ...penalties import ElasticNet, Penalty
from ...problem import Problem
from ...solvers import Adam, AveragedMomentum, Momentum, Nesterov, Plain, Update, solve_many
from ...unseen import as_fitted, given_to_fit, take_over
from ..linear import DATA, LinearModel, Refit, changed, dense, pack, stored_coefficients, unpack
from .descent import Descent, State
from .passes import Passes, Run, Visits, as_parameters
from .refits import StochasticFit
from .steps import Schedule, refuse_passive

Array = np.ndarray

# The gap, relative to the objective at w = 0, that counts as optimal if `tol` is None.
OPTIMAL = 1e-3
# An exact solver takes so many steps at most, and none if one would cost more than this many
# operations, n·d·min(n, d): they should take less time than most fits.
LITTLE_WORK, FEW_STEPS = 1e8, 30
# A fit that is this many times worse than no model at all has diverged.
DIVERGED = 10.0
# scikit-learn's words, so that filters of warnings keep working.
NOT_CONVERGED = (
    "Maximum number of iteration reached before convergence. Consider increasing max_iter to "
    "improve the fit"
)
ONLY_PARTS = (
    "no bound is known: the model was fitted in parts, of which it keeps none; "
    "gapless.certify(model, X, y) computes the gap for any rows."
)
# The objective after the last epoch and that of the stored coefficients differ by rounding alone.
SAME_OBJECTIVE = 1e-6
NEGATIVE_POWER = (
    "Negative values for `power_t` are deprecated: steps would grow. Use values in the range "
    "[0.0, inf) instead."
)
UPDATES: dict[str, Update] = {
    "plain": Plain(),
    "momentum": Momentum(),
    "averaged_momentum": AveragedMomentum(),
    "nesterov": Nesterov(0.9),
    "adam": Adam(),
}
# Parameters and attributes that several of the classes describe alike.
STOCHASTIC = """
shuffle : bool
    Whether to take the rows in a random order, another one in each epoch. False takes them as they
    are, as in a textbook: then equal rows count one by one, and a weight multiplies the step.
max_iter : int
    Largest number of epochs in `fit`.
random_state : int, RandomState instance or None
    Seed of the order of the rows; the same seed gives the same bits.
early_stopping : bool
    Whether to set rows aside, and to stop when the score on them no longer rises.
validation_fraction : float
    The part of the rows that is set aside for it.
n_iter_no_change : int
    Epochs without progress after which a fit ends.
warm_start : bool
    Whether to start from the coefficients of the last fit.
time_limit : float
    Seconds after which the best epoch so far is kept.
verbose : int
    Accepted for scikit-learn's sake; long fits show their progress on a terminal.
n_jobs : int
    Accepted for scikit-learn's sake; all classes take their steps together.
t_ : float
    Number of steps so far, plus 1.
n_iter_ : int
    Number of epochs.
"""


class StochasticModel(LinearModel):
    """Base class of linear models that learn a few rows at a time.

    A subclass has `_problems` (the objective as a sum), `_descent` (how to take steps on it) and,
    for early stopping, `_validation_score`.
    """

    _guide = "stochastic"
    _averages = True
    _further = "raise time_limit"
    _no_errors = "theory is about the optimum, and the steps end near it, not at it"
    _stored: ClassVar[Declaration] = {
        **LinearModel._stored,
        "t_": Maybe(Number()),
        "_state": Unused(),
        "_given": Unused(),
    }
    # Whether a fit computes its certificate, which then must cost little.
    _is_certified_at_once: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict] = {
        "fit_intercept": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "shuffle": ["boolean"],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "warm_start": ["boolean"],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "penalty": [str, Penalty, None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both"), None],
        "eta0": [Interval(Real, 0, None, closed="neither")],
    }
    # Losses by scikit-learn's names; those with a number take `epsilon`.
    loss_functions: ClassVar[dict[str, tuple]] = {}
    solver = "stochastic"

    @described(DATA)
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, coef_init=None, intercept_init=None, sample_weight=None):
        """Fit the model by passes over the rows.

        Parameters
        ----------
        coef_init : array-like of the shape of coef_, default=None
            Coefficients to start from.
        intercept_init : array-like of the shape of intercept_, default=None
            Biases to start from.

        Returns
        -------
        self : object
            The fitted estimator. Ctrl-C keeps the best epoch so far and raises KeyboardInterrupt;
            an error leaves the estimator as it was.
        """
        self._check_parameters()
        data = self._read(X, y, sample_weight)
        problems = self._problems(data)
        start = self._start(problems, coef_init, intercept_init)
        random = check_random_state(self.random_state)
        run = self._run(data, problems, start, random, self.max_iter)
        learned = self._attributes(data, problems, run, -data.weights[:, None] * run.slopes)
        if self._is_certified_at_once or run.status in ("interrupted", "time_limit"):
            limit = None if run.status != "interrupted" else 0.0
            learned["certificate_"] = self._certificate(problems, learned, limit)
            _end_trace(learned)
        learned |= given_to_fit(self, self._get_param_names())
        learned["_training"] = data, _seed(random)
        take_over(self, learned)
        if run.status == "interrupted":
            raise KeyboardInterrupt
        self._warn_of(run, problems)
        return self

    # ---- the objective, and the steps on it ------------------------------------------------------

    def _check_parameters(self, is_part: bool = False) -> None:
        self._check_penalty(is_part)
        if self.learning_rate == "optimal" and self.alpha == 0:
            raise ValueError(
                'alpha must be > 0 since learning_rate is "optimal", whose steps are 1/(α(t₀ + t)) '
                'long; use "invscaling" without a penalty.'
            )
        loss = self._loss()
        if loss.refusal is not None:
            raise ValueError(f"{loss.refusal}.")
        refuse_passive(self.learning_rate, loss)
        if self.power_t < 0:
            warnings.warn(NEGATIVE_POWER, FutureWarning, stacklevel=4)

    def _check_penalty(self, is_part: bool) -> None:
        if self.early_stopping and is_part:
            raise ValueError(
                "early_stopping should be False with partial_fit; the caller decides when to stop."
            )
        if self.penalty == "elasticnet" and self.l1_ratio is None:
            raise ValueError("l1_ratio must be set when penalty is 'elasticnet'; 0.15 is usual.")

    def _loss(self) -> Loss:
        known = self.loss_functions.get(self.loss) if isinstance(self.loss, str) else None
        if known is None:
            return losses.by_name(self.loss)
        return known[0](self.epsilon) if len(known) > 1 else known[0]()

    def _penalty(self) -> Penalty:
        """α·R, beside the mean loss."""
        if self.penalty is None:
            return penalties.by_name("none")
        if isinstance(self.penalty, str) and self.penalty == "elasticnet":
            return ElasticNet(self.alpha, self.l1_ratio)
        scaled = penalties.by_name(self.penalty).scaled(self.alpha)
        if scaled is None:
            raise ValueError(
                f"alpha cannot weigh the penalty {self.penalty!r}, which has no strength; use "
                "RiskClassifier or RiskRegressor, which take it as it is."
            )
        return scaled

    @property
    def _has_relative_weights(self) -> bool:
        """Whether weights count relative to their mean, as they must beside a penalty."""
        return True

    @property
    def _strength(self) -> float:
        return 0.0 if self.penalty is None else float(self.alpha)

    def _whole_penalty(self, data: Training) -> Penalty:
        """The penalty beside the sum of the losses."""
        mean = self._penalty()
        scaled = mean.scaled(float(np.sum(data.weights)))
        return mean if scaled is None else scaled

    def _descent(self, problems, data, weights):
        schedule = Schedule(self.learning_rate, self.eta0, self.power_t, float(self.alpha))
        update = UPDATES[self.update] if isinstance(self.update, str) else self.update
        return Descent(
            problems,
            self._penalty(),
            weights,
            schedule,
            batch_size=self.batch_size,
            update=update,
            average=int(self.average),
        )

    # ---- what a subclass defines -----------------------------------------------------------------

    def _validation_score(self, data: Training, rows: Array, scores: Array) -> float:
        """How well scores (rows, K) predict these rows."""
        raise NotImplementedError

    def _level(self, descent: Descent, state: State) -> float:
        """What must fall from epoch to epoch: the mean loss of rows at their turn, plus αR(w)."""
        known = descent.shrinkage
        penalty = descent.penalty.value(state.w.T) if known is None else known.value(state.w)
        return float(descent.losses[0]) / descent.total + penalty / descent.outputs

    def _is_done(self, descent: Descent) -> bool:
        """Whether an epoch was good enough to be the last."""
        return False

    def _objective(self, problems: list[Problem]) -> float:
        """What the certificate is about, recomputed."""
        at = as_parameters(problems, *self._stored_parameters(), None)
        return sum(p.primal(q.w, q.b) for p, q in zip(problems, at))

    # ---- epochs ----------------------------------------------------------------------------------

    def _run(
        self,
        data: Training,
        problems: list[Problem],
        start: State | tuple[Array, Array],
        random: np.random.RandomState,
        epochs: int,
        *,
        steps: float = 1.0,
        is_part: bool = False,
    ) -> Run:
        """Make passes over the rows, from coefficients and biases or from a state."""
        visits = Visits.of(
            problems[0],
            data.y,
            in_order=not self.shuffle,
            is_relative=self._has_relative_weights and not is_part,
        )
        descent = self._descent(problems, data, visits.weights)
        state = start.copy() if isinstance(start, State) else descent.begin(*start, steps)
        train, held_out = visits.positions, None
        if self.early_stopping:
            train, held_out = self._split(data, train, random)
        judged = replace(data, sample_weight=visits.together(data.sample_weight))
        run = Passes(self, judged, problems, descent, state, held_out)
        with (
            single_blas(),
            np.errstate(all="ignore"),
            watch(self, data.X, data.y) as callback,
            time_limit(self.time_limit),
        ):
            status = run.through(train, random if self.shuffle else None, epochs, callback)
        return Run(run.kept(status), descent, run.trace, status, visits.everywhere(run.slopes))

    def _split(self, data: Training, rows: Array, random: Any) -> tuple[Array, Array]:
        """Rows to learn from, and rows to stop by."""
        splitter = ShuffleSplit if data.classes is None else StratifiedShuffleSplit
        parts = splitter(1, test_size=self.validation_fraction, random_state=random)
        learned, held_out = next(parts.split(rows[:, None], data.y[rows]))
        return rows[np.sort(learned)], rows[np.sort(held_out)]

    def _start(self, problems: list[Problem], coef: Any, intercept: Any) -> tuple[Array, Array]:
        """Coefficients (K, d) and biases (K,) to start from."""
        outputs = sum(problem.outputs or 1 for problem in problems)
        shape = outputs, problems[0].d
        if self.warm_start and hasattr(self, "coef_"):
            kept = np.atleast_2d(dense(self.coef_))
            if kept.shape == shape:
                coef = kept if coef is None else coef
                intercept = self.intercept_ if intercept is None else intercept
        return (
            _given(coef, shape, "coef_init"),
            _given(intercept, (outputs,), "intercept_init"),
        )

    # ---- what is learned -------------------------------------------------------------------------

    def _better_theta(self, problems: list[Problem]) -> Array | None:
        """A dual point with a higher bound, by a few steps of an exact solver; None if they
        would cost too much.

        The steps of the fit leave noise in θ, which a weak penalty multiplies: the gap would say
        little about the coefficients.
        """
        design, first = problems[0].design, problems[0]
        step = design.density * design.n * design.d * min(design.n, design.d)
        work = step * sum(problem.outputs or 1 for problem in problems)
        if work > LITTLE_WORK or not (first.has_dual and first.penalty.is_convex):
            return None
        options: dict[str, Any] = {
            "tol": 0.1 * self._gap_tolerance,
            "max_iter": FEW_STEPS,
            "polish": False,
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            # From w = 0: the coefficients of a few large steps are a worse start for most solvers.
            found = solve_many(problems, **options)
        if any(solution.status == "interrupted" for solution in found):
            raise KeyboardInterrupt
        thetas = [solution.parameters.theta for solution in found]
        better = [
            (p.origin if theta is None else p.bound(theta)).theta.reshape(p.n, -1)
            for p, theta in zip(problems, thetas)
        ]
        return np.hstack(better)

    def _attributes(
        self, data: Training, problems: list[Problem], run: Run, theta: Array
    ) -> dict[str, Any]:
        parameters = as_parameters(problems, *run.state.reported, theta)
        coef, intercept, dual = pack(problems, parameters)
        dtype = data.X.dtype
        learned = {
            "coef_": stored_coefficients(problems, coef, dtype),
            "intercept_": intercept.astype(dtype),
            "dual_": dual,
            "trace_": run.trace,
            "solver_": self.solver,
            "n_iter_": run.trace.steps,
            "n_features_in_": data.X.shape[1],
            "t_": float(run.state.steps),
            "_state": run.state,
        }
        if data.feature_names is not None:
            learned["feature_names_in_"] = data.feature_names
        return learned | self._specifics(data, learned, [], [])

    def _certificate(
        self, problems: list[Problem], learned: dict[str, Any], seconds: float | None
    ) -> Certificate:
        """The gap of the stored coefficients, or, if there is no time for it, that of no bound."""
        try:
            with time_limit(seconds):
                return self._certificate_of(problems, learned)
        except (TimeLimit, KeyboardInterrupt):
            verdict = "no bound is known: the fit was interrupted; fit again."
            return without_bound(verdict)

    def _certificate_of(self, problems: list[Problem], learned: dict[str, Any]) -> Certificate:
        """The gap of the stored coefficients."""
        at = unpack(problems, learned["coef_"], learned["intercept_"], learned["dual_"])
        first, *others = certify_all(problems, at, self._gap_tolerance)
        return sum(others, start=first)

    @functools.cached_property
    def certificate_(self) -> Certificate:  # type: ignore[override]
        """How far the objective is from the best possible one; computed on first access.

        The fit keeps a reference to its data. A copy that was made before has none: call
        `gapless.certify(model, X, y, sample_weight)`.
        """
        cure = "call gapless.certify(model, X, y, sample_weight)"
        data, *_ = self._kept_training(cure)
        return self._first_certificate(data)

    def _first_certificate(self, data: Training) -> Certificate:
        """The certificate of a fit to these data, whose gap and dual point the model keeps."""
        learned = dict(vars(self))
        found = learned["certificate_"] = as_fitted(self)._judge(data, learned)
        self._check_same(found, learned["trace_"].primal[-1])
        _end_trace(learned)
        self.dual_ = learned["dual_"]
        return found

    def _judge(self, data: Training, learned: dict[str, Any]) -> Certificate:
        """The certificate of what was learned, whose dual point it replaces by a better one."""
        problems = self._problems(data)
        theta = None
        with time_limit(self.time_limit), suppress(TimeLimit):
            theta = self._better_theta(problems)
        if theta is not None:
            learned["dual_"] = theta[:, 0] if theta.shape[1] == 1 else theta
        return self._certificate_of(problems, learned)

    def _check_same(self, found: Certificate, expected: float) -> None:
        """Refuse data that have changed since the fit, which has recorded another objective."""
        eps = float(np.finfo(np.asarray(self.intercept_).dtype).eps)
        room = max(SAME_OBJECTIVE, np.sqrt(eps)) * (abs(expected) + found.scale)
        if np.isfinite(found.primal) and not abs(found.primal - expected) <= room:
            raise ValueError(
                f"the model does not match its data: the objective is {found.primal:.9g}, and was "
                f"{expected:.9g} when {type(self).__name__} was fitted; X, y, the weights or what "
                "the model has learned have changed since. Fit again."
            )

    def __getstate__(self):
        # Copies and files have no data from which the certificate could be computed later.
        if self._holds_training:
            try:
                _ = self.certificate_
            except ValueError:
                return super().__getstate__() | {"certificate_": changed()}
        return super().__getstate__()

    def __copy__(self):
        twin = object.__new__(type(self))
        vars(twin).update(super().__getstate__())
        return twin

    @property
    def _gap_tolerance(self) -> float:
        return OPTIMAL if self.tol is None else float(self.tol)

    def _warn_of(self, run: Run, problems: list[Problem]) -> None:
        """Say what ended a fit before it had settled."""
        if run.status == "max_iter" and self.tol is not None:
            message = f"{NOT_CONVERGED}: stopped after {self.n_iter_} epochs; see certificate_."
            warnings.warn(message, ConvergenceWarning, stacklevel=3)
        if not self._is_certified_at_once and _has_diverged(problems, run.trace.primal):
            message = (
                f"{type(self).__name__} seems to diverge: its objective is more than "
                f"{DIVERGED:g} times that of w = 0. Scale the features, e.g. with "
                "StandardScaler(), or shorten the steps, eta0."
            )
            warnings.warn(message, ConvergenceWarning, stacklevel=3)
        if run.status == "time_limit":
            gap = self.certificate_.relative_gap
            message = (
                f"{type(self).__name__} stopped at relative gap {gap:.2g} after {self.n_iter_} "
                "epochs. Increase the time_limit."
            )
            warnings.warn(message, ConvergenceWarning, stacklevel=3)

    # scikit-learn's names for the last iterate and for the mean of all, which only some fits have.
    _standard_coef = property(lambda self: _behind_average(self)[0])
    _standard_intercept = property(lambda self: _behind_average(self)[1])
    _average_coef = property(lambda self: _behind_average(self)[2])
    _average_intercept = property(lambda self: _behind_average(self)[3])

    # ---- learning in parts -----------------------------------------------------------------------

    def _learn_part(self, data: Training) -> None:
        """One epoch on some rows, from where the last part ended."""
        problems = self._problems(data)
        start = vars(self).get("_state")
        if start is None:  # the first part, or a model from a file
            known = hasattr(self, "coef_")
            start = self._stored_parameters() if known else self._start(problems, None, None)
        random, steps = check_random_state(self.random_state), getattr(self, "t_", 1.0)
        run = self._run(data, problems, start, random, 1, steps=steps, is_part=True)
        learned = self._attributes(data, problems, run, np.zeros_like(run.slopes))
        learned["dual_"] = None
        learned["certificate_"] = without_bound(ONLY_PARTS)
        take_over(self, learned)
        if run.status == "interrupted":
            raise KeyboardInterrupt

    # ---- both gaps -------------------------------------------------------------------------------

    def _certified(self, X, y, sample_weight=None) -> Certificate:
        data = self._reread(X, y, sample_weight)
        return self._judge(data, dict(vars(self)))

    def _fitted_to(self, X, y, sample_weight=None) -> Any:
        seed = _seed(check_random_state(self.random_state))
        data = self._reread(X, y, sample_weight)
        if "certificate_" not in vars(self):  # a copy of a model whose certificate was never read
            self.certificate_ = self._first_certificate(data)
        return self._fitted(data, seed)

    def _fitted(self, data: Training, seed: Any) -> Any:
        self._check_objective(self._objective(self._problems(data)))
        return StochasticFit(self, data, seed)

    def _stored_parameters(self) -> tuple[Array, Array]:
        """Coefficients (K, d) and biases (K,), in float64."""
        w = np.atleast_2d(dense(self.coef_)).astype(float)
        return w, np.broadcast_to(np.asarray(self.intercept_, dtype=float), (len(w),)).copy()

    def _refit_to_draws(self, fitted: Any) -> Refit:
        # Weights of classes stay with their rows.
        shares = fitted.fit_weights / np.where(fitted.is_counted, fitted.weights, 1.0)
        return lambda times: self._refitted(
            replace(fitted.data, sample_weight=times, weights=times * shares), fitted.seed
        )

    def _refitted(self, data: Training, seed: int) -> tuple[Array, Array]:
        """Coefficients and biases of the same fit to other rows."""
        problems = self._problems(data)
        plain, random = self._at(warm_start=False), np.random.RandomState(seed)
        start = plain._start(problems, None, None)
        run = plain._run(data, problems, start, random, self.max_iter)
        if run.status == "interrupted":
            raise KeyboardInterrupt
        if run.status == "time_limit":
            raise TimeLimit
        return run.state.reported


def _behind_average(model: Any) -> tuple[Array, ...]:
    """The last iterate and the mean of all; an AttributeError if nothing is averaged."""
    state = vars(model).get("_state")
    if state is None or state.w_sum is None:
        raise AttributeError(f"this {type(model).__name__} has no average of its iterates.")
    return state.w, state.b, *state.reported


def _has_diverged(problems: list[Problem], primal: list[float]) -> bool:
    """Whether the last objective is far above that of w = 0 and b = 0, both above Σ sᵢ min ℓ."""
    if not primal:
        return False
    first, *_ = problems
    shape = (first.n,) if first.outputs is None else (first.n, first.outputs)
    smallest = sum(float(np.sum(p.weighted(p.loss.smallest(p.y)))) for p in problems)
    without = sum(p.loss_sum(np.zeros(shape)) for p in problems)
    # Where w = 0 leaves nothing, such as for targets of 0, the first epoch is the measure.
    room = without - smallest or primal[0] - smallest
    return primal[-1] - smallest > DIVERGED * room


def _end_trace(learned: dict[str, Any]) -> None:
    """Write the gap into the last entry of the trace."""
    if learned["trace_"].gap:
        learned["trace_"].gap[-1] = learned["certificate_"].gap


def without_bound(verdict: str) -> Certificate:
    """A certificate of kind "none"."""
    nothing = float("nan")
    return Certificate("none", verdict, nothing, -np.inf, np.inf, np.inf, nothing, nothing)


def _seed(random: np.random.RandomState) -> int:
    return int(random.randint(np.iinfo(np.int32).max))


def _given(values: Any, shape: tuple[int, ...], name: str) -> Array:
    """Values to start from in this shape, or zeros."""
    if values is None:
        return np.zeros(shape)
    found = np.array(values, dtype=float)
    is_alone = shape[0] == 1 and found.size == int(np.prod(shape)) and found.ndim <= len(shape)
    if found.shape != shape and not is_alone:
        raise ValueError(
            f"Provided {name} does not match dataset: it has the shape {found.shape}, but "
            f"{shape} is needed."
        )
    return found.reshape(shape)
